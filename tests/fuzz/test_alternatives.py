"""What the default scheduler did not choose for the blur, and how failures are told."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable
from dataclasses import replace

import pytest

from benchmarks.case import Tolerance
from benchmarks.cases import case
from tests.fuzz.alternatives import apart, failures, sizes
from tests.fuzz.guarded import Guard

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def test_every_way_to_blur() -> None:
    heard: list[str] = []
    found = list(failures(case("blur"), "Parhelion", 2, tell=heard.append))
    assert not found
    assert len(heard) >= 4


def test_what_differs_is_a_failure() -> None:
    """Nothing is as near as that."""
    strict = replace(case("blur"), tolerance=Tolerance(-1.0))
    (found,) = failures(strict, "Parhelion", 2, one_in=100)
    assert (found.app, found.option) == ("blur", "as found")
    assert found.message == f"{sizes(strict)[0]}: differs by 0 at 0.00%"
    assert "def schedule(pipeline):" in found.schedule


def dies(_: Guard) -> str:
    os.kill(os.getpid(), signal.SIGSEGV)
    return ""


def raises(_: Guard) -> str:
    raise ValueError("no")


def overruns(guard: Guard) -> str:
    at = guard.malloc(None, 3)
    assert at is not None
    ctypes.memset(at + 3, 0, 1)
    guard.free(None, at)
    return ""


@pytest.mark.parametrize(
    ("work", "told"),
    [
        (lambda _: "", ""),
        (lambda _: "differs", "differs"),
        (dies, "the process died of SIGSEGV"),
        (raises, "ValueError: no"),
        (overruns, "written up to 1 bytes after 3 bytes of data"),
    ],
)
def test_what_goes_wrong_is_told(work: Callable[[Guard], str], told: str) -> None:
    assert apart(work) == told
