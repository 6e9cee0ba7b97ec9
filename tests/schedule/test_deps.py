"""The dependence test of update definitions, against enumeration and by example."""

from __future__ import annotations

import itertools
import random

import pytest

from parhelion.ir.build import TRUE, add, cast, int32, maximum, mod, mul, select, sub
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import Expr, FuncCall, Intrinsic, Var
from parhelion.ir.function import Definition, DimName, Function, ReductionDomain
from parhelion.ir.names import user_var
from parhelion.schedule import deps
from parhelion.schedule.directives import FuncSchedule, StageSchedule
from parhelion.types import INT32, Float, Type, UInt


def func(dimensions: int, type: Type = INT32) -> Function:
    f = Function("f", FuncSchedule(), None)
    f.args = tuple(user_var(n) for n in "xyz"[:dimensions])
    f.types = (type,)
    return f


def domain(*ranges: tuple[int, int]) -> ReductionDomain:
    return ReductionDomain(
        tuple([DimName(n) for n in "rstu"[: len(ranges)]]),
        tuple(int32(lo) for lo, _ in ranges),
        tuple(int32(n) for _, n in ranges),
        TRUE,
    )


def free(f: Function, args: list[Expr], read: list[Expr], rdom: ReductionDomain) -> str:
    """The names of the variables that may run in any order, for
    ``f[args] = f[read] + 1``."""
    value = add(FuncCall(INT32, f, tuple(read), 0), int32(1))
    found = deps.conflicts(f, tuple(args), (value,), rdom)
    return "".join(v.name for v, conflict in found.items() if conflict is None)


def test_a_place_per_iteration_is_free() -> None:
    f, rdom = func(2), domain((0, 8), (0, 8))
    r, s = rdom.vars
    assert free(f, [r, s], [r, s], rdom) == "rs"
    # Each s meets all r in the same place.
    assert free(f, [s, int32(0)], [s, int32(0)], rdom) == "s"
    # Transposed: (r, s) reads what (s, r) writes.
    assert free(f, [r, s], [s, r], rdom) == ""


def test_a_scan_is_not() -> None:
    f, rdom = func(2), domain((1, 8), (0, 8))
    r, s = rdom.vars
    assert free(f, [r, s], [sub(r, int32(1)), s], rdom) == "s"
    assert free(f, [r, s], [add(r, int32(3)), s], rdom) == "s"
    # A distance no two iterations have.
    assert free(f, [r, s], [add(r, int32(8)), s], rdom) == "rs"


def test_pure_vars_separate_iterations() -> None:
    f, rdom = func(2), domain((0, 8))
    (r,) = rdom.vars
    x = f.args[0]
    assert free(f, [x, r], [x, r], rdom) == "r"
    assert free(f, [x, add(r, x)], [x, add(r, x)], rdom) == "r"
    assert free(f, [x, x], [x, x], rdom) == ""


def test_strides_that_never_meet() -> None:
    f, rdom = func(1), domain((0, 8))
    (r,) = rdom.vars
    two_r = mul(r, int32(2))
    assert free(f, [two_r], [add(two_r, int32(1))], rdom) == "r"
    assert free(f, [two_r], [add(two_r, int32(2))], rdom) == ""


def test_a_flattened_index_is_seen_through() -> None:
    f, rdom = func(1), domain((0, 4), (0, 6))
    r, s = rdom.vars
    flat = add(mul(s, int32(4)), r)
    assert free(f, [flat], [flat], rdom) == "rs"
    overlapping = add(mul(s, int32(3)), r)
    assert free(f, [overlapping], [overlapping], rdom) == ""


def test_data_dependent_places_conflict_unless_out_of_reach() -> None:
    f, rdom = func(1), domain((0, 8))
    (r,) = rdom.vars
    g = func(1, UInt(8))
    bin_ = cast(INT32, FuncCall(UInt(8), g, (r,), 0))
    assert free(f, [bin_], [bin_], rdom) == ""
    above = add(r, int32(256))
    assert free(f, [above], [bin_], rdom) == "r"


def test_a_single_iteration_is_free() -> None:
    f, rdom = func(1), domain((3, 1))
    assert free(f, [int32(0)], [int32(0)], rdom) == "r"


def test_symbolic_extents() -> None:
    f = func(1)
    n = Var("n", INT32, origin=object())
    rdom = ReductionDomain((DimName("r"),), (int32(0),), (n,), TRUE)
    (r,) = rdom.vars
    assert free(f, [r], [r], rdom) == "r"
    assert free(f, [add(r, n)], [add(r, n)], rdom) == "r"
    assert free(f, [add(r, n)], [r], rdom) == ""


@pytest.mark.parametrize("seed", range(40))
def test_what_is_free_never_conflicts(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(25):
        rdom = domain(*[(rng.randint(-2, 2), rng.randint(1, 4)) for _ in range(2)])
        f = func(rng.randint(1, 2))

        args = [_index(rng, rdom) for _ in f.args]
        read = [_index(rng, rdom) for _ in f.args]
        claimed = free(f, args, read, rdom)
        for i, v in enumerate(rdom.vars):
            if v.name in claimed:
                assert not _meets(rdom, i, args, read), (args, read, rdom.extents)


def _index(rng: random.Random, rdom: ReductionDomain) -> Expr:
    e: Expr = int32(rng.randint(-2, 2))
    for v in rdom.vars:
        e = add(e, mul(v, int32(rng.choice((-2, -1, 0, 0, 1, 1, 2, 3)))))
    if rng.random() < 0.15:
        e = mod(e, int32(rng.randint(1, 3)))
    elif rng.random() < 0.15:
        e = maximum(e, int32(rng.randint(-1, 1)))
    return e


def _meets(rdom: ReductionDomain, i: int, args: list[Expr], read: list[Expr]) -> bool:
    """Whether two iterations that differ in variable `i` touch one place, one of
    them writing it."""
    spans = [
        range(int(evaluate(lo, {})), int(evaluate(lo, {})) + int(evaluate(n, {})))
        for lo, n in zip(rdom.mins, rdom.extents, strict=True)
    ]
    touched = []
    for point in itertools.product(*spans):
        env = dict(zip(rdom.vars, point, strict=True))
        write = tuple(evaluate(a, env) for a in args)
        reads = tuple(evaluate(a, env) for a in read)
        touched.append((point, write, reads))
    return any(
        p[i] != q[i] and write in (other, reads)
        for p, write, _ in touched
        for q, other, reads in touched
    )


def _order_free(f: Function, args: list[Expr], value: Expr) -> bool:
    rdom = domain((0, 4), (0, 4))
    made = Definition(tuple(args), (value,), rdom, StageSchedule(), None)
    return deps.order_free(f, made)


def test_exact_folds_are_order_free() -> None:
    f = func(1)
    g = func(1)
    r = Var("r", INT32)
    old = FuncCall(INT32, f, (int32(0),), 0)
    e = FuncCall(INT32, g, (r,), 0)
    at: list[Expr] = [int32(0)]
    assert _order_free(f, at, add(old, e))
    assert _order_free(f, at, add(e, add(old, e)))
    assert _order_free(f, at, sub(old, e))
    assert not _order_free(f, at, sub(e, old))
    assert _order_free(f, at, maximum(e, old))
    assert _order_free(f, at, Intrinsic(INT32, "bit_xor", (old, e)))
    assert not _order_free(f, at, add(old, old))
    assert not _order_free(f, at, add(mul(old, int32(2)), e))
    assert not _order_free(f, at, maximum(add(old, e), old))
    assert _order_free(f, at, select(TRUE_ISH, add(old, e), old))
    assert not _order_free(f, at, select(TRUE_ISH, add(old, e), e))


TRUE_ISH = Var("c", TRUE.type)


def test_float_folds_are_not_order_free() -> None:
    f, g = func(1, Float(32)), func(1, Float(32))
    old = FuncCall(Float(32), f, (int32(0),), 0)
    e = FuncCall(Float(32), g, (Var("r", INT32),), 0)
    assert not _order_free(f, [int32(0)], add(old, e))


def test_saturating_sums_of_unsigned_are_order_free() -> None:
    f, g = func(1, UInt(8)), func(1, UInt(8))
    old = FuncCall(UInt(8), f, (int32(0),), 0)
    e = FuncCall(UInt(8), g, (Var("r", INT32),), 0)
    value = Intrinsic(UInt(8), "saturating_add", (old, e))
    assert _order_free(f, [int32(0)], value)


def test_constants_are_order_free_and_positions_are_not() -> None:
    f, rdom = func(1), domain((0, 4), (0, 4))
    r, s = rdom.vars
    place: list[Expr] = [mod(add(r, s), int32(3))]

    def stores(args: list[Expr], value: Expr) -> bool:
        made = Definition(tuple(args), (value,), rdom, StageSchedule(), None)
        return deps.order_free(f, made)

    assert stores(place, int32(7))
    assert not stores(place, s)
    # The place tells r, and thereby the value.
    assert stores([r], mul(r, int32(2)))
    assert not stores([r], s)
