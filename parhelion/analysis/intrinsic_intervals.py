"""Constant intervals of the built-in operations of `ir.intrinsics`."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

from parhelion.analysis.ranges import (
    FULL,
    Fact,
    Get,
    Interval,
    add_intervals,
    checked,
    chosen,
    mul_intervals,
    scale_interval,
    type_fact,
)
from parhelion.ir.expr import Intrinsic
from parhelion.ir.intrinsics import FUSED
from parhelion.ir.scalars import fused


def _same(n: Intrinsic, get: Get) -> Fact:
    return get(n.args[0])


def _promise_clamped(n: Intrinsic, get: Get) -> Fact:
    a, ta = get(n.args[0])
    lo, hi = get(n.args[1])[0].lo, get(n.args[2])[0].hi
    return chosen(a.intersect(Interval(lo, hi)), ta)


def _abs(n: Intrinsic, get: Get) -> Fact:
    a, _ = get(n.args[0])
    if n.type.is_float():
        if a.lo is None or a.hi is None:
            return Interval(0.0, None), False
        far = max(abs(a.lo), abs(a.hi))
        return Interval(0.0 if a.contains(0) else min(abs(a.lo), abs(a.hi)), far), False
    if a.lo is None or a.hi is None:
        return type_fact(n.type)
    near = 0 if a.contains(0) else min(abs(a.lo), abs(a.hi))
    return checked(n.type, near, max(abs(a.lo), abs(a.hi)), False)


def _bit_and(n: Intrinsic, get: Get) -> Fact:
    # With something not negative, the result lies between 0 and that.
    his = [
        i.hi
        for i in (get(n.args[0])[0], get(n.args[1])[0])
        if i.lo is not None and i.lo >= 0 and i.hi is not None
    ]
    if his:
        return Interval(0, min(his)), True
    return type_fact(n.type)


def _shift_right(n: Intrinsic, get: Get) -> Fact:
    a = get(n.args[0])[0]
    k = get(n.args[1])[0].single()
    if k is None or not 0 <= k < n.type.width:
        return type_fact(n.type)
    lo = None if a.lo is None else int(a.lo) >> int(k)
    hi = None if a.hi is None else int(a.hi) >> int(k)
    return chosen(Interval(lo, hi), False)


def _shift_left(n: Intrinsic, get: Get) -> Fact:
    a, ta = get(n.args[0])
    k = get(n.args[1])[0].single()
    if k is None or not 0 <= k < n.type.width:
        return type_fact(n.type)
    made = scale_interval(a, 1 << int(k))
    return checked(n.type, made.lo, made.hi, ta)


def _absd(n: Intrinsic, get: Get) -> Fact:
    a, b = get(n.args[0])[0], get(n.args[1])[0]
    if n.type.is_float() or None in a or None in b:
        return type_fact(n.type)
    d = add_intervals(a, scale_interval(b, -1))
    far = max(abs(d.lo), abs(d.hi))  # type: ignore[arg-type]
    near = 0 if d.contains(0) else min(abs(d.lo), abs(d.hi))  # type: ignore[arg-type]
    return checked(n.type, near, far, False)


def _widening(n: Intrinsic, get: Get) -> Fact:
    a, b = get(n.args[0])[0], get(n.args[1])[0]
    if n.type.is_float() or None in a or None in b:
        return type_fact(n.type)
    if n.op == "widening_add":
        d = add_intervals(a, b)
    elif n.op == "widening_sub":
        d = add_intervals(a, scale_interval(b, -1))
    else:
        d = mul_intervals(a, b)
    return checked(n.type, d.lo, d.hi, False)


def _halving_add(n: Intrinsic, get: Get) -> Fact:
    a, b = get(n.args[0])[0], get(n.args[1])[0]
    if n.type.is_float() or None in a or None in b:
        return type_fact(n.type)
    d = add_intervals(a, b)
    up = int(n.op == "rounding_halving_add")
    return Interval((int(d.lo) + up) >> 1, (int(d.hi) + up) >> 1), True  # type: ignore[arg-type]


def _saturate(n: Intrinsic, get: Get) -> Fact:
    known = type_fact(n.type)
    if n.op == "saturating_cast":
        a = get(n.args[0])[0]
        if n.args[0].type.is_float():
            return known
        if n.type.is_float():
            return known
    else:
        a, b = get(n.args[0])[0], get(n.args[1])[0]
        if n.type.is_float():
            return known
        a = add_intervals(a, b if n.op == "saturating_add" else scale_interval(b, -1))
    t = n.type
    if a.lo is None or a.hi is None:
        return known
    lo = min(max(a.lo, t.lowest()), t.highest())
    hi = min(max(a.hi, t.lowest()), t.highest())
    return Interval(lo, hi), True


def _fused(n: Intrinsic, get: Get) -> Fact:
    """Rounding is monotonic, so the corners bound it."""
    ends = [[float(x) for x in get(arg)[0] if x is not None] for arg in n.args]
    if any([len(e) < 2 for e in ends]):
        return FULL, False
    minus_product, minus = n.op == "sub_mul", n.op == "mul_sub"
    corners = [
        fused(-x if minus_product else x, y, -z if minus else z, n.type)
        for x, y, z in product(*ends)
    ]
    if not all(map(math.isfinite, corners)):
        return FULL, False
    return Interval(min(corners), max(corners)), False


def _quotient(n: Intrinsic, get: Get) -> Fact:
    """A quotient that is cut towards zero is largest and smallest at the ends."""
    a, b = get(n.args[0])[0], get(n.args[1])[0]
    if a.lo is None or a.hi is None or b.lo is None or b.hi is None:
        return type_fact(n.type)
    divisors = {int(k) for k in (b.lo, b.hi, -1, 1) if k and b.contains(k)}
    found = [_cut(int(x), k) for x in (a.lo, a.hi) for k in divisors]
    found += [0] if b.contains(0) else []
    return checked(n.type, min(found), max(found), False)


def _cut(a: int, b: int) -> int:
    made = abs(a) // abs(b)
    return made if (a < 0) == (b < 0) else -made


def _remainder(n: Intrinsic, get: Get) -> Fact:
    """The remainder of such a quotient has the dividend's sign."""
    a, b = get(n.args[0])[0], get(n.args[1])[0]
    if a.lo is None or a.hi is None or b.lo is None or b.hi is None:
        return type_fact(n.type)
    most = max(abs(b.lo), abs(b.hi), 1) - 1
    return Interval(max(min(a.lo, 0), -most), min(max(a.hi, 0), most)), True


def _bit_count(n: Intrinsic, get: Get) -> Fact:
    return Interval(0, n.args[0].type.width), True


INTRINSIC_FACTS: dict[str, Callable[[Intrinsic, Get], Fact]] = {
    "likely": _same,
    "likely_if_innermost": _same,
    "strict_float": _same,
    **dict.fromkeys(FUSED, _fused),
    "promise_clamped": _promise_clamped,
    "known_clamped": _promise_clamped,
    "abs": _abs,
    "absd": _absd,
    "div_round_to_zero": _quotient,
    "mod_round_to_zero": _remainder,
    "bit_and": _bit_and,
    "shift_right": _shift_right,
    "shift_left": _shift_left,
    "widening_add": _widening,
    "widening_sub": _widening,
    "widening_mul": _widening,
    "halving_add": _halving_add,
    "rounding_halving_add": _halving_add,
    "saturating_add": _saturate,
    "saturating_sub": _saturate,
    "saturating_cast": _saturate,
    "popcount": _bit_count,
    "clz": _bit_count,
    "ctz": _bit_count,
}
