"""Every scheduling method of Halide 21's Func and Stage can be called here as there.

The overloads are read from Halide's own docstrings. Each is called with arguments
that fit, by position and by the names that Halide gives them.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import parhelion as hl
from tests.schedule.test_every_directive import DIRECTIVES

#: What gives loops to a GPU: tests/schedule/test_gpu.py.
GPU = {"gpu", "gpu_blocks", "gpu_lanes", "gpu_threads", "gpu_tile"} | {
    "gpu_single_thread"
}

halide = pytest.importorskip("halide")

pytestmark = pytest.mark.filterwarnings("ignore::parhelion.ScheduleWarning")

#: For other machines than CPUs: refused, as tests/error shows.
DEVICES = re.compile(r"hexagon|copy_to")
#: Not about schedules: compiling, running and asking what a Func is.
OTHER = re.compile(
    r"compile_|realize|infer_|print_|debug_|trace_|add_trace|define_extern|extern_|"
    r"is_extern|args$|defined|dimensions|has_update|name$|num_update|output|rvars|"
    r"types?$|update|values?$|dump_argument_list"
)


def overloads(owner: type, method: str) -> list[list[str]]:
    """The names of the parameters of each overload, as Halide's docstring has them."""
    found = []
    for line in (getattr(owner, method).__doc__ or "").splitlines():
        match = re.match(rf"(?:\d+\. )?{method}\(self: [\w.]+(.*)\) ->", line.strip())
        if match is None:
            continue
        rest, depth, plain = match[1], 0, ""
        for c in rest:  # without what stands in brackets, where commas mean others
            depth += c in "[<("
            plain += c if depth == 0 else ""
            depth -= c in "]>)"
        parts = [p.strip() for p in plain.split(",") if p.strip()]
        found.append([re.split(r"[:=]", p)[0].strip() for p in parts])
    return found


def cases() -> Iterator[tuple[str, str, list[str]]]:
    for owner in (halide.Func, halide.Stage):
        for method in dir(owner):
            skipped = method.startswith("_") or OTHER.match(method)
            if skipped or DEVICES.match(method):
                continue
            for names in overloads(owner, method):
                if names != ["*args"]:
                    yield owner.__name__, method, names


CASES = list(cases())


def arguments() -> tuple[hl.Func, dict[str, Any], dict[str, dict[str, Any]]]:
    """A Func, values by the names of parameters, and those that one method takes in
    another sense."""
    x, y, u = hl.vars("x y u")
    xo, yo, xi, yi, t = hl.vars("xo yo xi yi t")
    image = hl.ImageParam(hl.UInt(8), 2)
    f, beside, g = hl.Func(), hl.Func(), hl.Func()
    r = hl.RDom([(0, 8)])
    f[x, y] = hl.i32(image[x, y])
    f[x, y] += r.x * image[x, r.x]
    beside[x, y] = hl.i32(x)
    g[x, y] = f[x, y] + beside[x, y]
    level = hl.LoopLevel(g, y)
    rvar = hl.RVar("q")
    known: dict[str, Any] = {
        "x": x,
        "y": y,
        "xo": xo,
        "yo": yo,
        "xi": xi,
        "yi": yi,
        "old": x,
        "outer": xo,
        "inner": xi,
        "factor": 4,
        "xfactor": 4,
        "yfactor": 4,
        "tail": hl.TailStrategy.GuardWithIf,
        "previous": [x, y],
        "outers": [xo, yo],
        "inners": [xi, yi],
        "factors": [4, 4],
        "task_size": 4,
        "fused": t,
        "old_name": x,
        "new_name": t,
        "vars": [y, x],
        "dims": [y, x],
        "var": x,
        "dim": x,
        "min": 0,
        "extent": 8,
        "modulus": 4,
        "remainder": 0,
        "alignment": 8,
        "bound": 64,
        "estimates": [hl.Range(0, 8)] * 2,
        "f": g,
        "fs": [g],
        "rvar": rvar,
        "loop_level": level,
        "stage": hl.Stage(beside),
        "align": hl.LoopAlignStrategy.AlignStart,
        "func": beside,
        "image": image,
        "at": y,
        "from": y,
        "offset": 1,
        "strategy": hl.PrefetchBoundStrategy.Clamp,
        "fold_forward": True,
        "condition": image.width() == 8,
        "message": "no",
        "memory_type": hl.MemoryType.Heap,
        "eviction_key": hl.EvictionKey(3),
        "partition_policy": hl.Partition.Never,
        "override_associativity_test": True,
        "preserved": [(r.x, u)],
        "r": r.x,
        "v": u,
    }
    special: dict[str, dict[str, Any]] = {
        "fuse": {"inner": x, "outer": y},
        "ring_buffer": {"arg0": 3},
        "bound_storage": {"arg0": x, "arg1": 64},
    }
    return f, known, special


def of_a_gpu() -> tuple[hl.Func, dict[str, Any]]:
    """A Func with loops for three dimensions of blocks and of threads, and values by
    the names of parameters."""
    names = ("block_x", "block_y", "block_z", "thread_x", "thread_y", "thread_z")
    loops = hl.vars(" ".join(names))
    f = hl.Func()
    f[loops] = hl.i32(0)
    f[loops] += 1
    known: dict[str, Any] = dict(zip(names, loops, strict=True))
    known |= dict(zip("xyz", loops, strict=False))
    names = ("bx", "by", "bz", "tx", "ty", "tz")
    known |= dict(zip(names, hl.vars(" ".join(names)), strict=True))
    known |= dict.fromkeys(["x_size", "y_size", "z_size"], 4)
    known["tail"] = hl.TailStrategy.GuardWithIf
    known["device_api"] = hl.DeviceAPI.Default_GPU
    return f, known


@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize(("owner", "method", "names"), CASES)
def test_called_as_in_halide(
    owner: str, method: str, names: list[str], by_name: bool
) -> None:
    f, known, special = arguments()
    if method in GPU:
        f, known = of_a_gpu()
    given = {n: {**known, **special.get(method, {})}[n] for n in names}
    on: Any = f if owner == "Func" else f.update()
    call: Callable[..., Any] = getattr(on, method)
    if not by_name:
        call(*given.values())
    elif any(keyword.iskeyword(n) or re.fullmatch(r"arg\d", n) for n in names):
        pytest.skip("Halide's name of a parameter is none that Python can pass")
    else:
        call(**given)


def test_that_there_are_many() -> None:
    """The docstrings are still read: a change of their form would leave no cases."""
    assert len({(o, m) for o, m, _ in CASES}) >= 60
    assert ["stage", "var", "align"] in [n for _, m, n in CASES if m == "compute_with"]


def test_that_the_tables_of_tests_have_all() -> None:
    # The last two are not Halide's.
    others = {"reorder", "unscheduled", "tile_scan", "set_coverage"}
    assert {m for _, m, _ in CASES} | others == DIRECTIVES | GPU


def test_that_the_documentation_has_a_line_for_each() -> None:
    page = Path(__file__).parents[2] / "docs" / "schedule" / "README.md"
    text = page.read_text(encoding="utf-8")
    methods = {m.removesuffix("_all") for _, m, _ in CASES} | {"tile_scan"}
    assert [m for m in sorted(methods) if f"`{m}(" not in text] == []


def test_that_the_rest_exists() -> None:
    for name in ("Func", "Stage", "ImageParam", "OutputImageParam", "Pipeline"):
        theirs = {m for m in dir(getattr(halide, name)) if not m.startswith("_")}
        missing = theirs - set(dir(getattr(hl, name))) - {"dump_argument_list"}
        assert not missing, (name, missing)
