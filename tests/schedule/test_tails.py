"""Tail strategies: the same values under every legal one, and what each comes to."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

import parhelion as hl
from tests.support.checking import check

T = hl.TailStrategy
x, y, u, v, w, uo, ui, vo, vi = hl.vars("x y u v w uo ui vo vi")
ALL = [T.RoundUp, T.GuardWithIf, T.Predicate, T.PredicateLoads, T.PredicateStores]
ALL += [T.ShiftInwards, T.ShiftInwardsAndBlend, T.RoundUpAndBlend, T.Auto]
SIZES = (5, 20, 37)

Splits = Callable[[hl.Func | hl.Stage], object]


def agree(updated: bool, kind: type[np.generic], splits: Splits) -> None:
    """Whether a stored Func, its pure definition or its update split, is right."""
    t = {np.uint8: hl.UInt(8), np.int32: hl.Int(32), np.float64: hl.Float(64)}[kind]
    made, f, out = hl.funcs("made f out")
    made[x] = hl.cast(t, x * 7 % 50)
    f[x] = made[x] + 2 * made[x + 1]
    if updated:
        # It must happen once at each point.
        f[x] = 3 * f[x] + made[x]
        f.vectorize(x, 4)
    out[x] = f[x]
    made.compute_root()
    f.compute_root()
    splits(f.update(0) if updated else f)
    for size in SIZES:
        at = np.arange(size + 1)
        values = (at * 7 % 50).astype(kind)
        wanted = values[:-1] + 2 * values[1:]
        if updated:
            wanted = 3 * wanted + values[:-1]
        assert np.array_equal(np.asarray(out.realize([size])), wanted), size


@pytest.mark.parametrize("tail", ALL)
@pytest.mark.parametrize("kind", [np.uint8, np.int32, np.float64])
@pytest.mark.parametrize("updated", [False, True])
def test_one_split(
    updated: bool, kind: type[np.generic], tail: hl.TailStrategy
) -> None:
    if updated and tail is T.ShiftInwards:
        return  # refused; see tests/error
    agree(updated, kind, lambda f: f.split(x, u, v, 8, tail).vectorize(v))
    if kind is np.int32:
        agree(updated, kind, lambda f: f.split(x, u, v, 8, tail))
        agree(updated, kind, lambda f: f.unroll(x, 3, tail))
        if tail not in (T.ShiftInwardsAndBlend, T.RoundUpAndBlend):
            agree(updated, kind, lambda f: f.parallel(x, 8, tail))


def legal(updated: bool, splits: Splits) -> bool:
    f = hl.Func("f")
    f[x] = x
    f[x] += 1
    try:
        splits(f.update(0) if updated else f)
    except hl.ScheduleError:
        return False
    return True


@pytest.mark.parametrize(("first", "second"), list(itertools.product(ALL, ALL)))
@pytest.mark.parametrize("updated", [False, True])
def test_a_split_of_a_split(
    updated: bool, first: hl.TailStrategy, second: hl.TailStrategy
) -> None:
    """Of its outer and of its inner loop, by factors that do not divide: where Halide
    21 runs past the end, or stores what it has not loaded over what it had."""

    def outer(f: hl.Func | hl.Stage) -> hl.Func | hl.Stage:
        return f.split(x, u, v, 8, first).split(u, uo, ui, 3, second)

    def inner(f: hl.Func | hl.Stage) -> hl.Func | hl.Stage:
        return f.split(x, u, v, 8, first).split(v, vo, vi, 5, second)

    if legal(updated, outer):
        agree(updated, np.int32, lambda f: outer(f).vectorize(v))
        agree(updated, np.int32, lambda f: outer(f).reorder(ui, v).vectorize(ui))
    if legal(updated, inner):
        agree(updated, np.int32, lambda f: inner(f).vectorize(vi))


@pytest.mark.parametrize("tail", [T.GuardWithIf, T.Predicate, T.Auto])
def test_reduction_variables_run_through_their_domain(tail: hl.TailStrategy) -> None:
    ro, ri = hl.RVar("ro"), hl.RVar("ri")

    def make() -> tuple[hl.Func, hl.RDom]:
        f = hl.Func("f")
        r = hl.RDom([(1, 13)], "r")
        f[x] = x
        f[r] = f[r] * 2 + r
        return f, r

    def split() -> hl.Func:
        f, r = make()
        f.update(0).split(r, ro, ri, 4, tail).vectorize(ri)
        return f

    plain, _ = make()
    got, wanted = np.asarray(split().realize([20])), np.asarray(plain.realize([20]))
    assert np.array_equal(got, wanted)


def test_a_condition_on_data_is_not_asked_past_a_guarded_tail() -> None:
    """``where(table[x] …)`` is a load like any other, and stays inside the table."""
    table = hl.Buffer(np.arange(21, dtype=np.int32) % 5)

    def make() -> hl.Func:
        f = hl.Func("f")
        r = hl.RDom([(0, 21)], "r")
        r.where(table[r] > 1)
        f[x] = 0
        f[r] = table[r] * 3
        return f

    def guarded(f: hl.Func) -> None:
        f.update(0).vectorize(f.rvars(0)[0], 8, T.GuardWithIf)

    check(make, [21], [guarded])


def test_predicate_loads_of_an_output_stores_no_further_than_its_buffer() -> None:
    """Halide 21 writes past the end of it. The input need not be larger either."""
    table = hl.Buffer(np.arange(20, dtype=np.int32))
    f = hl.Func("f")
    f[x] = table[x] + 1
    f.split(x, u, v, 8, T.PredicateLoads).vectorize(v)
    out = hl.Buffer(hl.Int(32), [20])
    f.realize(out)
    assert np.array_equal(np.asarray(out), np.arange(1, 21))


def test_predicate_loads_rounds_up_the_storage_alone() -> None:
    table = hl.Buffer(np.arange(20, dtype=np.int32))
    f, g = hl.funcs("f g")
    f[x] = table[x] + 1
    g[x] = f[x] * 2
    f.compute_root().split(x, u, v, 8, T.PredicateLoads).vectorize(v)
    assert np.array_equal(np.asarray(g.realize([20])), 2 * np.arange(1, 21))


def test_predicate_stores_asks_for_whole_vectors_of_input() -> None:
    table = hl.ImageParam(hl.Int(32), 1, "table")
    f = hl.Func("f")
    f[x] = table[x] + 1
    f.split(x, u, v, 8, T.PredicateStores).vectorize(v)
    out = hl.Buffer(hl.Int(32), [20])
    table.set(np.arange(20, dtype=np.int32))
    with pytest.raises(hl.BoundsError):
        f.realize(out)
    table.set(np.arange(24, dtype=np.int32))
    f.realize(out)
    assert np.array_equal(np.asarray(out), np.arange(1, 21))


def sliding(outer: hl.TailStrategy, updates: bool) -> tuple[hl.Func, hl.Func]:
    f, g = hl.funcs("f g")
    f[x, y] = x * 3 + y
    if updates:
        f[x, y] = f[x, y] * 2 + 1
        f.update(0).unscheduled()
    g[x, y] = f[x, y] + f[x, y + 1] + f[x, y + 2]
    f.store_root().compute_at(g, y)
    f.split(y, vo, vi, 3, outer)
    return g, f


@pytest.mark.parametrize("updates", [False, True])
@pytest.mark.parametrize("tail", ALL)
def test_a_sliding_window_keeps_what_is_finished(
    tail: hl.TailStrategy, updates: bool
) -> None:
    """A tail that goes beyond the new rows must not start old ones anew."""
    a, b = np.mgrid[0:9, 0:7]

    def row(k: int) -> np.ndarray:
        value: np.ndarray = 3 * b + a + k
        return 2 * value + 1 if updates else value

    g, _ = sliding(tail, updates)
    got = np.asarray(g.realize([7, 9]))
    assert np.array_equal(got, row(0) + row(1) + row(2))


@pytest.mark.parametrize("tail", ALL)
def test_a_producer_inside_the_tail(tail: hl.TailStrategy) -> None:
    """What is computed inside the inner loop has a region there in every iteration."""

    def make() -> tuple[hl.Func, hl.Func]:
        f, g = hl.funcs("f g")
        f[x] = x * x
        g[x] = f[2 * x - 1] + f[2 * x + 2]
        return g, f

    def at_inner(g: hl.Func, f: hl.Func) -> None:
        g.split(x, u, v, 4, tail)
        f.compute_at(g, v)

    def at_vector(g: hl.Func, f: hl.Func) -> None:
        g.split(x, u, v, 4, tail).vectorize(v)
        f.compute_at(g, v)

    def at_outer(g: hl.Func, f: hl.Func) -> None:
        g.split(x, u, v, 4, tail).vectorize(v)
        f.compute_at(g, u).vectorize(x, 4, tail)

    for size in (3, 15):
        check(make, [size], [at_inner, at_vector, at_outer])


def test_a_blend_keeps_what_was_there() -> None:
    """An update of part of a Func, in vectors that reach over its end."""

    def make() -> hl.Func:
        f = hl.Func("f")
        f[x, y] = x + 10 * y
        f[x, 1] = f[x, 1] * 2
        f[x, 2] = hl.u8(7) + f[x, 1]
        return f

    def blended(f: hl.Func) -> None:
        f.update(0).vectorize(x, 8, T.RoundUpAndBlend)
        f.update(1).vectorize(x, 8, T.ShiftInwardsAndBlend)

    check(make, [13, 4], [blended])
    check(make, [3, 4], [blended])


def test_a_blend_of_a_tuple() -> None:
    def make() -> hl.Func:
        f = hl.Func("f")
        f[x] = (x, hl.f32(x) / 2)
        f[x] = (f[x][0] + 1, f[x][1] * hl.f32(f[x][0]))
        return f

    check(make, [13], [lambda f: f.update(0).vectorize(x, 8, T.ShiftInwardsAndBlend)])


@pytest.mark.parametrize(
    ("tail", "where"),
    [
        (T.ShiftInwards, "writes before its beginning"),
        (T.ShiftInwardsAndBlend, "writes before its beginning"),
        (T.RoundUp, "writes after its end"),
    ],
)
@pytest.mark.parametrize("size", [8, 9])
def test_an_inner_split_that_no_output_is_large_enough_for(
    tail: hl.TailStrategy, where: str, size: int
) -> None:
    """Of 8 pixels, which code knows of that has the one tile, and of others."""
    f = hl.Func("f")
    f[x] = x
    f.split(x, u, v, 8).vectorize(v, 16, tail)
    with pytest.raises(hl.ScheduleError, match="outside of any buffer") as error:
        f.realize([size])
    assert f"TailStrategy.{tail.name} of v, the inner loop" in str(error.value)
    assert where in str(error.value)
    assert "vectorize(v, 16, tail)" in str(error.value)


def test_the_split_that_overruns_is_the_one_blamed() -> None:
    f = hl.Func("f")
    f[x] = x
    f.split(x, u, v, 8).split(v, uo, ui, 4, T.RoundUp).split(ui, vo, vi, 3, T.RoundUp)
    with pytest.raises(hl.ScheduleError, match="RoundUp of ui, the inner loop"):
        f.realize([8])
