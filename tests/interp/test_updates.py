"""Update definitions, against a walk of single points in the domain's own order."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from parhelion.interp import Rounding, interpret
from parhelion.interp import update as update_module
from parhelion.interp.order import order_of
from parhelion.ir import build as B
from parhelion.ir.build import int32
from parhelion.ir.expr import Cast, Expr, Intrinsic
from parhelion.ir.function import Function
from parhelion.types import INT32, Float, UInt
from tests.support.handmade import call, define, domain, update, variables
from tests.support.pointwise import Pointwise

x, y = variables("x y")
F32 = Float(32)


def noise(*args: Expr) -> Expr:
    """A number in 0..96 that looks random."""
    e: Expr = int32(17)
    for k, a in enumerate(args):
        e = B.add(B.mul(e, int32(31)), B.mul(a, B.add(a, int32(5 + k))))
    return B.mod(e, int32(97))


def agree(
    func: Function,
    box: list[tuple[int, int]],
    others: dict[Function, list[tuple[int, int]]] | None = None,
) -> None:
    """The interpreter, one step at a time or many, gives what the slow walk gives.

    box: wide enough for all that the updates read of `func`; others: the Funcs that it
    reads, over wide enough boxes."""
    slow = Pointwise({func: box} | (others or {})).table(func)
    for steps in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            if steps:
                patch.setattr(update_module, "_PURE_POINTS_TO_STEP", 1)
                patch.setattr(update_module, "_MOST_POINTS", 3)
            got = interpret(func, box, rounding=Rounding.STRICT)
        for point in itertools.product(*[range(n) for _, n in box]):
            at = tuple([p + low for p, (low, _) in zip(point, box, strict=True)])
            # By text, so that NaN is NaN and -0.0 is not 0.0.
            assert str([a[point].item() for a in got]) == str(slow[at]), (at, steps)


def test_histogram_and_scan() -> None:
    src = define("src", [x, y], noise(x, y))
    hist = define("hist", [x], int32(0))
    r = domain((0, 12), (0, 9))
    place = B.mod(call(src, *r.vars), int32(10))
    update(hist, [place], B.add(call(hist, place), int32(1)), rdom=r)
    order = order_of(hist, hist.updates[0])
    assert order.folds is not None and order.independent == frozenset()
    agree(hist, [(0, 10)], {src: [(0, 12), (0, 9)]})
    want = np.zeros(10, np.int32)
    (pixels,) = interpret(src, [(0, 12), (0, 9)])
    np.add.at(want, (pixels % 10).ravel(), 1)
    assert np.array_equal(interpret(hist, [(0, 10)])[0], want)

    cdf = define("cdf", [x], call(hist, x))
    s = domain((1, 9))
    at = s.vars[0]
    update(cdf, [at], B.add(call(cdf, B.sub(at, int32(1))), call(cdf, at)), rdom=s)
    assert order_of(cdf, cdf.updates[0]).independent == frozenset()
    assert np.array_equal(interpret(cdf, [(0, 10)])[0], np.cumsum(want))
    # A part of it still needs all that came before.
    assert np.array_equal(interpret(cdf, [(6, 3)])[0], np.cumsum(want)[6:9])


def test_scans_over_rows_and_columns() -> None:
    for dim in (0, 1):
        f = define("f", [x, y], noise(x, y))
        r = domain((0, 5), (0, 6))
        rx, ry = r.vars
        before: list[Expr] = [rx, ry]
        before[dim] = B.sub(before[dim], int32(1))
        value = B.add(B.mul(call(f, *before), int32(3)), call(f, rx, ry))
        update(f, [rx, ry], value, rdom=r)
        assert order_of(f, f.updates[0]).independent == {r.vars[1 - dim]}
        agree(f, [(-1, 7), (-1, 8)])


def test_a_diagonal_recurrence_has_no_independent_dimension() -> None:
    f = define("f", [x, y], noise(x, y))
    r = domain((0, 5), (0, 6))
    rx, ry = r.vars
    north_west = call(f, B.sub(rx, int32(1)), B.sub(ry, int32(1)))
    north_east = call(f, B.add(rx, int32(1)), B.sub(ry, int32(1)))
    update(f, [rx, ry], B.sub(B.add(north_west, north_east), call(f, rx, ry)), rdom=r)
    assert order_of(f, f.updates[0]).independent == frozenset()
    agree(f, [(-1, 7), (-1, 8)])


def test_pure_dimensions_beside_a_reduction() -> None:
    src = define("src", [x, y], B.cast(F32, noise(x, y)))
    f = define("f", [x], B.imm(0.1, F32))
    r = domain((0, 8))
    update(
        f,
        [x],
        B.add(call(f, x), B.div(call(src, x, r.vars[0]), B.imm(3.7, F32))),
        rdom=r,
    )
    wide = [(0, 12)]
    slow = Pointwise({f: wide, src: [(0, 12), (0, 8)]}).table(f)
    made = interpret(f, wide, rounding=Rounding.STRICT)[0].tolist()
    assert made == [slow[i,][0] for i in range(12)]


@pytest.mark.parametrize("op", [B.add, B.sub, B.mul, B.minimum, B.maximum])
@pytest.mark.parametrize("type", [UInt(8), INT32, F32, Float(16)], ids=str)
def test_folds_of_every_kind(op, type) -> None:  # type: ignore[no-untyped-def]
    f = define("f", [x], B.imm(3, type))
    r = domain((0, 7), (0, 5))
    rx, ry = r.vars
    place = B.mod(noise(rx, ry), int32(4))
    value = B.div(Cast(type, noise(ry, rx)), B.imm(7, type))
    update(f, [place], op(call(f, place), value), rdom=r)
    agree(f, [(0, 4)])


def test_the_fold_may_stand_on_the_right() -> None:
    f = define("f", [x], int32(1))
    r = domain((0, 9))
    place = B.mod(noise(r.vars[0]), int32(3))
    update(f, [place], B.add(noise(r.vars[0]), call(f, place)), rdom=r)
    g = define("g", [x], int32(1))
    update(g, [place], B.sub(noise(r.vars[0]), call(g, place)), rdom=r)
    assert order_of(f, f.updates[0]).folds is not None
    assert order_of(g, g.updates[0]).folds is None
    agree(f, [(0, 3)])
    agree(g, [(0, 3)])


def test_the_last_write_counts() -> None:
    f = define("f", [x], int32(-1))
    r = domain((0, 6), (0, 5))
    rx, ry = r.vars
    update(f, [B.mod(noise(rx, ry), int32(7))], B.add(B.mul(ry, int32(10)), rx), rdom=r)
    agree(f, [(0, 7)])


def test_where_skips_points() -> None:
    f = define("f", [x, y], int32(0))
    r = domain((0, 6), (0, 6))
    rx, ry = r.vars
    r.predicate = B.le(B.add(rx, ry), int32(7))
    update(f, [x, ry], B.add(B.mul(call(f, x, ry), int32(2)), B.mul(rx, x)), rdom=r)
    agree(f, [(0, 4), (0, 6)])


def test_a_predicate_on_pixels_and_on_the_func_itself() -> None:
    f = define("f", [x], noise(x))
    r = domain((1, 9))
    at = r.vars[0]
    r.predicate = B.lt(call(f, B.sub(at, int32(1))), call(f, at))
    update(f, [at], B.sub(call(f, at), call(f, B.sub(at, int32(1)))), rdom=r)
    agree(f, [(0, 10)])


def test_several_updates_and_a_tuple() -> None:
    f = define("f", [x], int32(1000), int32(-1))
    r = domain((0, 20))
    at = r.vars[0]
    value = noise(at, x)
    better = B.lt(value, call(f, x, value=0))
    update(
        f,
        [x],
        B.select(better, value, call(f, x, value=0)),
        B.select(better, at, call(f, x, value=1)),
        rdom=r,
    )
    # Both values are read before either is written.
    update(f, [x], call(f, x, value=1), call(f, x, value=0))
    agree(f, [(0, 5)])


def test_reads_further_than_the_region_asked_for() -> None:
    f = define("f", [x], noise(x))
    r = domain((0, 5))
    at = r.vars[0]
    update(
        f,
        [at],
        B.add(call(f, B.add(at, int32(7))), call(f, B.sub(int32(-3), at))),
        rdom=r,
    )
    (wide,) = interpret(f, [(-10, 30)])
    (narrow,) = interpret(f, [(2, 2)])
    assert np.array_equal(wide[12:14], narrow)
    agree(f, [(-10, 30)])


def test_reads_of_itself_at_places_that_pixels_decide() -> None:
    where = define("where", [x], B.mod(noise(x), int32(25)))
    f = define("f", [x], B.mul(x, x))
    r = domain((0, 9))
    at = r.vars[0]
    update(f, [at], B.add(call(f, call(where, at)), int32(1)), rdom=r)
    agree(f, [(0, 25)], {where: [(0, 25)]})
    assert np.array_equal(interpret(f, [(3, 2)])[0], interpret(f, [(0, 25)])[0][3:5])


def test_swaps_in_a_sort() -> None:
    f = define("f", [x], noise(x))
    r = domain((0, 7), (0, 7))
    a, b = call(f, r.vars[0]), call(f, B.add(r.vars[0], int32(1)))
    update(f, [r.vars[0]], B.minimum(a, b), rdom=r)
    agree(f, [(0, 8)])


def test_an_empty_domain_changes_nothing() -> None:
    f = define("f", [x], x)
    r = domain((0, 5), (0, 0))
    update(f, [r.vars[0]], int32(99), rdom=r)
    assert interpret(f, [(0, 4)])[0].tolist() == [0, 1, 2, 3]


def test_a_store_of_undef_is_dropped() -> None:
    undef = Intrinsic(INT32, "undef", ())
    f = define("f", [x], B.mul(x, int32(10)))
    update(f, [x], B.select(B.eq(B.mod(x, int32(2)), int32(0)), int32(-1), undef))
    assert interpret(f, [(0, 5)])[0].tolist() == [-1, 10, -1, 30, -1]
    g = define("g", [x], x)
    update(g, [x], B.add(undef, int32(1)))
    assert interpret(g, [(0, 3)])[0].tolist() == [0, 1, 2]


def test_a_minimum_over_a_domain_that_begins_below_zero() -> None:
    # Halide 21 loses the first iteration of this one.
    a = define("a", [x], noise(x))
    f = define("f", [x], call(a, x))
    r = domain((-1, 3))
    update(
        f,
        [x],
        B.minimum(call(f, x), B.sub(B.mul(r.vars[0], int32(90)), call(a, x))),
        rdom=r,
    )
    (got,) = interpret(f, [(0, 10)])
    (base,) = interpret(a, [(0, 10)])
    assert np.array_equal(got, np.minimum(base, -90 - base))
