"""Values that lanes of a warp hand on to each other: what goes from register to
register, what stays in shared memory, and that it is right."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import parhelion as hl
from parhelion.ir.device import Device
from parhelion.ir.stmt import MemoryKind
from parhelion.lower.options import LowerOptions
from parhelion.lower.passes import lower
from tests.gpu.harness import assembled
from tests.gpu.test_pipelines import kernels
from tests.gpu.test_registers import image, places, same
from tests.support.spec import spec_of

x, y, xi, yi, xo = hl.vars("x y xi yi xo")

Read = Callable[[hl.Func], hl.Expr]


@pytest.fixture(autouse=True)
def simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_GPU", "simulate")


def lanes(read: Read, kind: hl.Type | None = None, across: int = 32) -> hl.Func:
    """Lines of a block over lanes: of a producer, and of what reads it."""
    f, g = hl.Func("f"), hl.Func("g")
    value = image(160, 40)[x, y] * 2
    f[x, y] = value if kind is None else hl.cast(kind, value + 16)
    g[x, y] = read(f)
    g.tile(x, y, xi, yi, across, 8).gpu_blocks(x, y).gpu_threads(yi).gpu_lanes(xi)
    f.compute_at(g, yi).split(x, xo, xi, across, hl.TailStrategy.GuardWithIf)
    f.unroll(xo).gpu_lanes(xi)
    return g


def ptx_of(f: hl.Func) -> str:
    made = lower(spec_of(f), name="f", options=LowerOptions(device=Device("sm_80")))
    ptx, told = assembled(*kernels(made.body))
    assert {(k.frame, k.spill_loads) for k in told} == {(0, 0)}
    return ptx


@pytest.mark.parametrize("across", [8, 16, 32])
def test_a_stencil_along_a_line(across: int) -> None:
    g = lanes(lambda f: f[x, y] + f[x + 1, y] * 3 - f[x + 2, y], across=across)
    assert places(g)["f"] == (MemoryKind.REGISTER, 2)
    ptx = ptx_of(g)
    # Of both registers for each neighbour, and the other one for its own.
    assert 4 <= ptx.count("shfl.sync.idx") <= 6
    assert "bar.sync" not in ptx and "shared" not in ptx
    same(g, [64, 24])


@pytest.mark.parametrize(
    "kind",
    [hl.Int(32), hl.UInt(8), hl.Int(16), hl.Float(16), hl.UInt(32)],
    ids=str,
)
def test_types(kind: hl.Type) -> None:
    g = lanes(lambda f: f[x, y] + f[x + 1, y], kind)
    assert places(g)["f"][0] is MemoryKind.REGISTER
    assert "shfl.sync.idx" in ptx_of(g)
    same(g, [64, 16])


def test_one_lane_for_all() -> None:
    """The first value of each line."""
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = image(64, 40)[x, y] * 2
    g[x, y, xo] = f[x, y] * f[xo * 0, y]
    g.bound(x, 0, 32).split(y, y, yi, 4).gpu_blocks(y, xo)
    g.gpu_threads(yi).gpu_lanes(x)
    f.compute_at(g, yi).gpu_lanes(x)
    assert places(g)["f"] == (MemoryKind.REGISTER, 1)
    assert ptx_of(g).count("shfl.sync.idx") == 1
    same(g, [32, 8, 2])


def shared_type() -> hl.Func:
    return lanes(lambda f: f[x, y] + f[x + 1, y], hl.Float(64))


def gathered() -> hl.Func:
    return lanes(lambda f: f[x + hl.clamp(hl.i32(image(160, 40)[x, y]), 0, 2), y] + 1)


def other_lines() -> hl.Func:
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = image(160, 40)[x, y] * 2
    g[x, y] = f[x, y] + f[x, y + 1]
    g.tile(x, y, xi, yi, 32, 4).gpu_blocks(x, y).gpu_threads(yi).gpu_lanes(xi)
    f.compute_at(g, x).gpu_threads(y).gpu_lanes(x)
    return g


def a_value_of_another_line(second: bool) -> hl.Func:
    """Lines are as long in memory as there are lanes, and one, so that what the next
    line has stored lies as far away as what a lane of the same line would have in a
    second register, if it had one. It was taken from there: garbage."""
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = image(160, 40)[x, y] * 2
    g[x, y] = (f[x, y] if second else f[x + 1, y]) + f[x + int(second), y + 1]
    g.tile(x, y, xi, yi, 32, 4).gpu_blocks(x, y).gpu_threads(yi).gpu_lanes(xi)
    tail = hl.TailStrategy.GuardWithIf
    f.compute_at(g, x).split(x, xo, xi, 32, tail)
    f.split(y, y, yi, 4, tail).reorder(xo, y, xi, yi).unroll(xo).unroll(y)
    f.gpu_threads(yi).gpu_lanes(xi)
    return g


def of_the_next_line() -> hl.Func:
    return a_value_of_another_line(False)


def of_the_next_lane_there() -> hl.Func:
    return a_value_of_another_line(True)


def a_condition() -> hl.Func:
    """Lanes that are beyond the image do not come to the read."""
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = image(160, 40)[x, y] * 2
    g[x, y] = f[x, y] + f[x + 1, y]
    tail = hl.TailStrategy.GuardWithIf
    g.split(x, x, xi, 32, tail).split(y, y, yi, 4).reorder(xi, yi, x, y)
    g.gpu_blocks(x, y).gpu_threads(yi).gpu_lanes(xi)
    f.compute_at(g, x).bound_extent(x, 33).split(x, xo, xi, 32, tail).unroll(xo)
    f.gpu_threads(y).gpu_lanes(xi)
    return g


def by_wish() -> hl.Func:
    g, f = hl.Func("g"), hl.Func("f")
    f[x, y] = image(160, 40)[x, y] * 2
    g[x, y] = f[x, y] + f[x + 1, y]
    g.tile(x, y, xi, yi, 32, 4).gpu_blocks(x, y).gpu_threads(yi).gpu_lanes(xi)
    f.compute_at(g, yi).split(x, xo, xi, 32, hl.TailStrategy.GuardWithIf)
    f.unroll(xo).gpu_lanes(xi).store_in(hl.MemoryType.GPUShared)
    return g


@pytest.mark.parametrize(
    "build",
    [
        *(shared_type, gathered, other_lines, of_the_next_line, of_the_next_lane_there),
        *(a_condition, by_wish),
    ],
)
def test_what_stays_in_shared_memory(build: Callable[[], hl.Func]) -> None:
    g = build()
    assert places(g)["f"][0] is MemoryKind.SHARED
    assert "shfl" not in ptx_of(g)
    same(g, [61, 13] if build is a_condition else [64, 16])


def test_a_thread_that_may_end_is_not_asked() -> None:
    g = lanes(lambda f: hl.require(f[x, y] < 100, f[x, y] + f[x + 1, y], "too large"))
    assert places(g)["f"][0] is MemoryKind.SHARED
