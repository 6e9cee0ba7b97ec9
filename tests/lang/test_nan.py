"""What NaN does to conditions: compiled code and the interpreter agree."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import parhelion as hl
from tests.support.checking import check

VALUES = [0.0, -0.0, 0.5, 1.0, 2.0, math.inf, -math.inf, math.nan]

CONDITIONS: dict[str, Callable[[hl.Expr, hl.Expr], hl.Expr]] = {
    "(a < 1) | (a >= 1)": lambda a, b: (a < 1) | (a >= 1),
    "(a <= 1) | (a > 1)": lambda a, b: (a <= 1) | (a > 1),
    "(a < b) | (b <= a)": lambda a, b: (a < b) | (b <= a),
    "(a <= b) | (b <= a)": lambda a, b: (a <= b) | (b <= a),
    "(a < b) | (b < a)": lambda a, b: (a < b) | (b < a),
    "(a < b) | (a != b)": lambda a, b: (a < b) | (a != b),
    "~(a < b)": lambda a, b: ~(a < b),
    "~(a < b) & ~(b <= a)": lambda a, b: ~(a < b) & ~(b <= a),
    "~((a < b) | (b <= a))": lambda a, b: ~((a < b) | (b <= a)),
    "(a == a) & (b == b)": lambda a, b: (a == a) & (b == b),
    "a - a == 0": lambda a, b: a - a == 0,
    "a * 0 == 0": lambda a, b: a * 0 == 0,
    "a / a == 1": lambda a, b: a / a == 1,
    "a == b, or else": lambda a, b: hl.select(a == b, a, b) != b,
    "max(a, b) >= a": lambda a, b: hl.max(a, b) >= a,
    "min(a, b) <= b": lambda a, b: hl.min(a, b) <= b,
    "min(a, b) == min(b, a)": lambda a, b: hl.min(a, b) == hl.min(b, a),
    "1 / min(a, b) of zeros": lambda a, b: 1 / hl.min(a, b) < 0,
}


@pytest.mark.parametrize("strict", [False, True], ids=["", "strict"])
@pytest.mark.parametrize("bits", [16, 32, 64])
@pytest.mark.parametrize("name", CONDITIONS)
def test_conditions(name: str, bits: int, strict: bool) -> None:
    array = np.array(VALUES, getattr(np, f"float{bits}"))
    v = hl.Buffer(array)
    n = len(VALUES)
    x, y = hl.Var("x"), hl.Var("y")

    def make() -> hl.Func:
        f = hl.Func("f")
        cond = CONDITIONS[name](hl.Expr(v[x]), hl.Expr(v[y]))
        chosen = hl.select(cond, hl.f32(1), hl.f32(2))
        f[x, y] = hl.strict_float(chosen) if strict else chosen
        return f

    check(make, [n, n], [lambda f: f.vectorize(x, 8), lambda f: f.unroll(x, 2)])
