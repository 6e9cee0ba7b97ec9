"""What the simulator finds that its order of threads would hide: planted mistakes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import parhelion as hl
from parhelion.ir.device import SIMULATED
from parhelion.ir.expr import Expr
from parhelion.ir.rewrite import _N, Rewriter
from parhelion.ir.stmt import NOP, Barrier, For, ForKind, Stmt
from parhelion.lower import passes
from parhelion.lower.barriers import place_barriers
from parhelion.lower.kernel_loops import block_loops, leaves
from parhelion.lower.options import LowerOptions
from parhelion.schedule.spec import PipelineSpec

x, y, tx, ty = hl.vars("x y tx ty")


@pytest.fixture(autouse=True)
def simulator(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PARHELION_GPU", "simulate")
    monkeypatch.setenv("PARHELION_CACHE", str(tmp_path))


def blurred() -> hl.Func:
    blur_x, blur_y = hl.Func("blur_x"), hl.Func("blur_y")
    blur_x[x, y] = x + 10 * y
    blur_y[x, y] = blur_x[x, y - 1] + blur_x[x + 1, y + 1]
    blur_y.gpu_tile(x, y, tx, ty, 16, 8)
    blur_x.compute_at(blur_y, x).gpu_threads(x, y)
    return blur_y


def updated_in_place(far: int) -> hl.Func:
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = x
    f[x] = f[x] * 3
    g[x] = f[x] + f[x + far]
    g.gpu_tile(x, tx, 16)
    f.compute_at(g, x).gpu_threads(x)
    f.update().gpu_threads(x)
    return g


def lowered(f: hl.Func) -> Stmt:
    spec = PipelineSpec.of([f._function], ())
    options = LowerOptions(device=SIMULATED)
    trace = passes.Trace()
    passes.lower(spec, name="f", options=options, trace=trace)
    return {name: s for name, s, _ in trace}["place_barriers"]


def kernels(s: Stmt) -> list[For]:
    if isinstance(s, For) and s.kind is ForKind.GPU_BLOCK:
        return [s]
    return [k for c in s.children() if isinstance(c, Stmt) for k in kernels(c)]


def barriers(s: Stmt) -> int:
    below = [barriers(c) for c in s.children() if isinstance(c, Stmt)]
    return sum(below) + isinstance(s, Barrier)


class _Without(Rewriter):
    """Takes barriers away, or nests of threads that store."""

    def __init__(self, gone: Callable[[Stmt], bool]) -> None:
        super().__init__()
        self.gone = gone

    def go(self, n: _N) -> _N:
        if isinstance(n, Expr):
            return n
        return NOP if self.gone(n) else super().go(n)


def test_a_barrier_that_is_missing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "place_barriers", lambda s: s)
    with pytest.raises(hl.PipelineRuntimeError, match="of the storage of blur_x") as e:
        blurred().realize([32, 16])
    assert e.value.failure == "kernel_race"


def test_an_element_that_is_not_written_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = place_barriers

    def without_first(s: Stmt) -> Stmt:
        s = place(s)
        (kernel,) = kernels(s)
        first = next(leaves(block_loops(kernel)[1]))
        made: Stmt = _Without(lambda n: n is first).go(s)
        return made

    monkeypatch.setattr(passes, "place_barriers", without_first)
    with pytest.raises(hl.PipelineRuntimeError) as e:
        blurred().realize([32, 16])
    assert e.value.failure == "kernel_unwritten"


def test_what_stays_in_a_thread_needs_no_barrier() -> None:
    """The update reads in each thread what the thread has written, and so does the
    consumer of one that reads nothing of its neighbours."""
    (kernel,) = kernels(lowered(updated_in_place(0)))
    assert len(list(leaves(block_loops(kernel)[1]))) == 3
    assert barriers(kernel) == 0
    (kernel,) = kernels(lowered(updated_in_place(1)))
    assert barriers(kernel) == 1


@pytest.mark.parametrize("far", [0, 1])
def test_the_results_without_barriers_are_right(far: int) -> None:
    got = updated_in_place(far).realize([50])
    assert np.array_equal(np.asarray(got), 6 * np.arange(50) + 3 * far)


def test_a_loop_needs_one_for_its_next_iteration() -> None:
    """Of storage that each iteration fills again, the last reads of one and the first
    stores of the next are kept apart."""
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = x + y
    g[x, y] = f[x, y] + f[x + 1, y]
    g.tile(x, y, tx, ty, 16, 8).gpu_blocks(x, y).gpu_threads(tx)
    f.compute_at(g, ty).gpu_threads(x)
    (kernel,) = kernels(lowered(g))
    assert barriers(kernel) == 2
    expected = np.add.outer(2 * np.arange(20), 2 * np.arange(40) + 1)
    assert np.array_equal(np.asarray(g.realize([40, 20])), expected)
