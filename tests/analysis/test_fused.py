"""Fused operations: what they give, and what the analyses say of them."""

from __future__ import annotations

import ctypes
import math
import random

import numpy as np
import pytest

from parhelion.analysis.bounds import bounds_of
from parhelion.analysis.interval import constant_interval, never_nan
from parhelion.analysis.monotonic import Monotonic, monotonic
from parhelion.analysis.symbolic import SymInterval
from parhelion.interp.operations import OPERATIONS
from parhelion.ir import build as B
from parhelion.ir import expr as E
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import Expr, Intrinsic, Var
from parhelion.ir.intrinsics import FUSED
from parhelion.ir.rounding import Decision, unfused
from parhelion.ir.scalars import fused
from parhelion.types import INT32, Float, Type
from tests.simplify.generator import same_value, special_floats

F32, F64 = Float(32), Float(64)


def _library(t: Type) -> ctypes._CFuncPtr:  # type: ignore[name-defined]
    kind = ctypes.c_float if t is F32 else ctypes.c_double
    found = ctypes.CDLL("libm.so.6")["fmaf" if t is F32 else "fma"]
    found.restype, found.argtypes = kind, [kind] * 3
    return found


def _draw(rng: random.Random, t: Type) -> float:
    if rng.random() < 0.3:
        return rng.choice(special_floats(t))
    scale = rng.choice([0, 0, 1, 20, -20, 60, -60, -120])
    value = rng.choice([rng.gauss(0, 1), rng.randrange(-9, 10)]) * 2.0**scale
    return float(t.to_numpy().type(value))


@pytest.mark.parametrize("t", [F32, F64], ids=str)
def test_values_are_those_of_the_c_library(t: Type) -> None:
    rng = random.Random(t.width)
    library = _library(t)
    points = [[_draw(rng, t) for _ in "abc"] for _ in range(6000)]
    # Sums that nearly cancel, and those half way between two numbers.
    with np.errstate(all="ignore"):
        for p in points[::3]:
            p[2] = float(t.to_numpy().type(-p[0] * p[1]))
    with np.errstate(all="ignore"):
        columns = [np.array(c, t.to_numpy()) for c in zip(*points, strict=True)]
        vectors = OPERATIONS["mul_add"](columns, [t] * 3, t).tolist()
    for k, (a, b, c) in enumerate(points):
        want = library(a, b, c)
        assert same_value(fused(a, b, c, t), want), (a, b, c)
        assert same_value(vectors[k], want), (a, b, c)


@pytest.mark.parametrize("op", FUSED)
def test_signs(op: str) -> None:
    args = [B.imm(v, F32) for v in (3.0, 5.0, 2.0)]
    e = Intrinsic(F32, op, tuple(args))
    assert evaluate(e, {}) == evaluate(unfused(e), {})
    zero = Intrinsic(F32, op, (B.imm(0.0, F32), B.imm(1.0, F32), B.imm(0.0, F32)))
    assert same_value(evaluate(zero, {}), evaluate(unfused(zero), {}))


def _case(rng: random.Random, op: str) -> tuple[Expr, list[Var], list[range]]:
    """A fused operation of numbers by way of integers in ranges."""
    names, ranges, args = [], [], []
    for k in range(3):
        low = rng.randrange(-40, 20)
        span = range(low, low + rng.choice([1, 2, 9, 30]))
        v = Var(f"v{k}", INT32, lo=B.int32(span[0]), hi=B.int32(span[-1]))
        arg: Expr = E.Cast(F32, v)
        if rng.random() < 0.7:
            arg = E.Mul(arg, B.imm(rng.uniform(-3, 3), F32))
        names.append(v)
        ranges.append(span)
        args.append(arg)
    return Intrinsic(F32, op, tuple(args)), names, ranges


@pytest.mark.parametrize("op", FUSED)
def test_bounds_contain_every_value(op: str) -> None:
    rng = random.Random(op)
    for _ in range(150):
        e, names, ranges = _case(rng, op)
        assert never_nan(e)
        known = constant_interval(e)
        scope = {
            v: SymInterval(B.int32(r[0]), B.int32(r[-1]))
            for v, r in zip(names, ranges, strict=True)
        }
        found = bounds_of(e, scope)
        assert found.lo is not None and found.hi is not None
        low, high = evaluate(found.lo, {}), evaluate(found.hi, {})
        for at in range(12):
            env = {
                v: rng.choice(r) if at > 7 else r[-(at >> k & 1)]
                for k, (v, r) in enumerate(zip(names, ranges, strict=True))
            }
            value = evaluate(e, env)
            assert known.contains(value)
            assert low <= value <= high


def test_directions() -> None:
    x = Var("x", INT32)
    v: Expr = E.Cast(F32, x)
    two, one = B.imm(2.0, F32), B.imm(1.0, F32)
    up, down = Monotonic.INCREASING, Monotonic.DECREASING
    assert monotonic(Intrinsic(F32, "mul_add", (v, two, one)), x) is up
    assert monotonic(Intrinsic(F32, "mul_sub", (one, two, v)), x) is down
    assert monotonic(Intrinsic(F32, "sub_mul", (v, two, one)), x) is down
    assert monotonic(Intrinsic(F32, "sub_mul", (v, two, v)), x) is Monotonic.UNKNOWN


def test_deciding_twice_is_deciding_once() -> None:
    v = [E.Cast(F32, Var(n, INT32)) for n in "abcd"]
    e: Expr = E.Add(E.Mul(v[0], v[1]), E.Div(E.Mul(v[2], v[3]), B.imm(3.0, F32)))
    e = E.Sub(E.Intrinsic(F32, "exp", (e,)), Intrinsic(F32, "strict_float", (e,)))
    once = Decision().go(e)
    assert Decision().go(once) is once
    assert math.isfinite(
        float(evaluate(once, {x: 1 for x in (c.a for c in v) if isinstance(x, Var)}))
    )
