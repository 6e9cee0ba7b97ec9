"""Options and fixtures that tests of every area share."""

from __future__ import annotations

import gc
import importlib.util
import os
from pathlib import Path

import pytest

import parhelion
from benchmarks import halide_host
from parhelion.autoschedule.machine import machine
from parhelion.ir import names, node
from parhelion.ir.cycles import sweep_cycles
from parhelion.runtime import jit
from tests.support import objects
from tests.support.golden import Golden
from tests.support.machines import PROCESSORS
from tests.support.processor_times import ProcessorTimes

#: Schedules are found by costs set by hand, and nothing is measured or read for them;
#: in programs that tests start, too.
os.environ["HL_MACHINE"] = "default"

#: And they are found for one processor, whichever one the tests run on: what they
#: expect of a schedule is there everywhere. The fuzzer draws others.
machine.processor = lambda: PROCESSORS["znver5"]

#: Errors keep the frames of the compiler, for who repairs it.
os.environ["PARHELION_TRACEBACK"] = "full"

#: Tests change the compiler; what it makes then must not be kept.
os.environ["PARHELION_CACHE"] = "off"


#: Has LLVM asked once for each text.
_ONCE = pytest.MonkeyPatch()


def pytest_configure(config: pytest.Config) -> None:
    """Tells Halide what this computer is, where it would guess wrong; in programs that
    tests start, too. Has LLVM asked once for each text, by all workers; what it made is
    kept in pytest's cache, if there is one."""
    if not hasattr(config, "workerinput"):
        kept = getattr(config, "cache", None)
        objects.begin(None if kept is None else kept.mkdir("objects"))
    file = config.getoption("--processor-times")
    if file is not None:
        config.pluginmanager.register(ProcessorTimes(file))
    _ONCE.setattr(jit, "made_object", objects.made_once)
    if importlib.util.find_spec("halide") is not None:
        halide = importlib.import_module("halide")
        if halide_host.corrected(str(halide.get_host_target())) is not None:
            host = str(parhelion.get_host_target())
            os.environ.setdefault(halide_host.VARIABLE, host)


def pytest_unconfigure(config: pytest.Config) -> None:
    _ONCE.undo()
    if not hasattr(config, "workerinput"):
        objects.end()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write what the tests got as the new golden texts (review the diff)",
    )
    parser.addoption(
        "--processor-times",
        type=Path,
        metavar="FILE",
        help="write how many seconds of the processor folders and tests took",
    )


def pytest_collection_finish() -> None:
    """Has Python's collector pass over the modules and tests from now on: they stay to
    the end, are half a million objects, and many tests ask for a collection."""
    for _ in range(2):
        node.sweep()
        sweep_cycles()
        gc.collect()
    gc.freeze()


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compares texts with those under tests/golden/."""
    return Golden(update=bool(request.config.getoption("--update-golden")))


@pytest.fixture
def llvm_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM is asked for the code of each text, also where it was before: for tests of
    what asks it."""
    monkeypatch.setattr(jit, "made_object", objects.MADE)


@pytest.fixture
def programs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipeline that another test of this run has compiled under this fixture comes
    from a cache of their own: for tests of what pipelines compute, and not of how they
    are lowered."""
    monkeypatch.setenv("PARHELION_CACHE", str(objects.programs()))


@pytest.fixture(autouse=True)
def untaken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names are given anew in each test. Generated names depend on those taken, and
    texts and the order of terms on names; which tests ran before must not matter."""
    monkeypatch.setattr(names, "_TAKEN", {})
    monkeypatch.setattr(names, "_MADE", [])
    monkeypatch.setattr(names, "_RENAMED", {})
