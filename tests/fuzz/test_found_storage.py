"""What fuzzing found in where storage lives and how much there is, reduced."""

from __future__ import annotations

import re

import numpy as np
import pytest

import parhelion as hl
from parhelion.ir.text import text
from parhelion.lower.passes import lower
from tests.fuzz.case import Case, Directive, Input, Stage
from tests.fuzz.execute import Outcome, run_case
from tests.support.checking import check
from tests.support.spec import spec_of

FOUND = {
    # Each part is bound to more than its share of the whole; what was allocated for
    # all of them was what the whole needs: a write outside of it.
    "hoisted_and_bound": Case(
        inputs=(Input("u8", (9, 9), (0, 0), 1, True),),
        stages=(
            Stage("updates", "u8", 2, (-1, -1), (10, 72, 99, 4, 39, 81, 41, 82, 29, 6)),
            Stage("stencil", "f32", 2, (0, 0), (13, 78, 65, 94, 60, 65, 53, 89, 12)),
        ),
        outputs=(1,),
        extents=(3, 26),
        mins=(0, 0, 0),
        schedule=(
            Directive("compute_at", 0, 0, (1, 2, 16)),
            Directive("hoist_storage_root", 0),
            Directive("vectorize", 0, 0, (41, 65, 64, 76, 93, 32)),
            Directive("reorder", 0, 0, (20, 53, 3, 24, 55, 58)),
            Directive("bound_extent", 0, 0, (86, 38, 32, 16)),
        ),
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_found(name: str) -> None:
    report = run_case(FOUND[name])
    assert report.outcome is Outcome.CLEAN, report.message


@pytest.mark.parametrize("first", [-20, 0, 3])
def test_folded_by_what_a_slid_loop_inside_a_split_one_uses(first: int) -> None:
    """The rows of `p` fold by the most that an iteration of `g.y` uses, a loop that
    begins where the window of `g` has slid to. That size mentioned `h.yo`."""
    x, y, yo, yi = hl.vars("x y yo yi")

    def make() -> tuple[hl.Func, ...]:
        f, h, g, p = [hl.Func(n) for n in "fhgp"]
        p[x, y] = x + y * 3
        g[x, y] = p[x, y] * p[x, 0]
        h[x, y] = g[x, y - 1] + g[x, y + 1]
        f[x, y] = h[x, y] * 2
        return f, h, g, p

    def windows(f: hl.Func, h: hl.Func, g: hl.Func, p: hl.Func) -> None:
        h.store_root().compute_at(f, y).align_bounds(y, 8, 5)
        h.split(y, yo, yi, 16, hl.TailStrategy.GuardWithIf)
        g.store_root().compute_at(h, yo)
        p.store_root().compute_at(g, y)

    check(make, [7, 40], [windows], mins=[0, first])


def test_hoisted_out_of_a_loop_that_the_fold_depends_on() -> None:
    """The rows of `p` fold by |z| + 1; allocated once, they take the most of that."""
    x, y, z = hl.vars("x y z")

    def make() -> tuple[hl.Func, hl.Func]:
        f, p = hl.Func("f"), hl.Func("p")
        p[x, y] = x * 7 + y * y
        f[x, y, z] = p[x, y] + p[x, y + z]
        return f, p

    def hoisted(f: hl.Func, p: hl.Func) -> None:
        p.hoist_storage_root().store_at(f, z).compute_at(f, y)
        made = text(lower(spec_of(f), name="f").body)
        made = re.sub(r"\$\d+", "", made)
        assert "% (max(f.s0.z, 0) - min(f.s0.z, 0) + 1)" in made
        size = "(max(f.extent.2 + f.min.2, 1) - min(f.min.2, 0))"
        assert f"allocate p[int32 * f.extent.0 * {size}] in heap" in made

    check(make, [16, 20, 5], [hoisted])
    check(make, [16, 20, 5], [hoisted], mins=[0, 0, -3])


def test_a_rounded_loop_inside_of_runs_that_are_shifted() -> None:
    """Runs of eight that never pass the end, each in steps of five: two more are read.
    What is computed before was four more, of which the storage had two."""
    x, xo, xi, a, b = hl.vars("x xo xi a b")
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = hl.u8(x)
    f[x] *= hl.u8(2)
    g[x] = f[x] + hl.u8(1)
    g.bound(x, 0, 20)
    f.store_root().compute_at(g, hl.Var.outermost())
    f.update().split(x, xo, xi, 8, hl.TailStrategy.ShiftInwardsAndBlend)
    f.update().split(xi, a, b, 5, hl.TailStrategy.PredicateStores)
    shown = hl.Pipeline(g).lowered_text()
    assert re.search(r"allocate f\S*\[uint8 \* 22\]", shown)
    assert re.search(r"for \(f\S*\.s0\.x, 0, 22\)", shown)
    made = np.asarray(g.realize([20])).tolist()
    assert made == [2 * i + 1 for i in range(20)]


def test_a_tail_that_masks_loads_around_one_that_masks_stores() -> None:
    """The outer condition implied the inner one, which went, and its mask with it: a
    vector of 32 was stored into five elements."""
    x, xo, xi = hl.vars("x xo xi")
    for inner in (hl.TailStrategy.PredicateStores, hl.TailStrategy.Predicate):
        f, g = hl.Func("f"), hl.Func("g")
        f[x] = x
        g[x] = f[x]
        g.bound(x, 0, 4)
        f.compute_root().split(x, xo, xi, 5, hl.TailStrategy.PredicateLoads)
        f.vectorize(xi, 32, inner)
        shown = hl.Pipeline(g).lowered_text()
        assert re.search(r"f\S*\[ramp\(0, 1, 32\) if ramp\(0, 1, 32\) < ", shown)
        assert np.asarray(g.realize([4])).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("kilobytes", [255, 256])
def test_semaphores_where_the_stack_is_full(kilobytes: int) -> None:
    """They go to the heap then, where they were freed before anybody waited for them:
    a semaphore is used where it is acquired and released."""
    x = hl.Var("x")

    def make() -> tuple[hl.Func, ...]:
        f, g = hl.Func("f"), hl.Func("g")
        g[x] = hl.i64(x) * 3
        f[x] = g[x] + 1
        return f, g

    def schedule(f: hl.Func, g: hl.Func) -> None:
        g.compute_root().async_().bound_storage(x, kilobytes << 7)
        g.store_in(hl.MemoryType.Stack)

    check(make, [1000], [schedule])


def test_the_thread_of_one_async_func_inside_that_of_another() -> None:
    """What the inner one's storage waits for stayed with the outer one's consumer,
    which has none: the loops of the output read both, but not by themselves."""
    x, y = hl.vars("x y")

    def make() -> tuple[hl.Func, ...]:
        out, a, b = hl.Func("out"), hl.Func("a"), hl.Func("b")
        a[x] = x * 3
        b[x] = a[x] + 1
        out[x, y] = x
        out[x, y] += b[x + y]
        return out, a, b

    def schedule(out: hl.Func, a: hl.Func, b: hl.Func) -> None:
        b.store_root().compute_at(hl.LoopLevel(out, x, 1)).async_()
        a.hoist_storage_root().store_at(hl.LoopLevel(out, y, 1))
        a.compute_at(hl.LoopLevel(b, hl.Var.outermost())).async_()

    check(make, [5, 4], [schedule])
