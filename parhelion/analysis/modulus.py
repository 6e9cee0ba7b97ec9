"""Alignment: what an integer expression is known to be modulo a constant.

``alignment(e) == (m, r)`` says that ``e % m == r``; ``m == 0`` that e is the constant
r, ``m == 1`` that nothing is known. Where an operation may wrap, only the powers of
two that survive the wrapping are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import Any

from parhelion.analysis.interval import tame
from parhelion.ir.expr import (
    Add,
    Broadcast,
    Cast,
    Div,
    Expr,
    Imm,
    Intrinsic,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Ramp,
    Select,
    Sub,
    Var,
)
from parhelion.ir.intrinsics import MARKS

Alignment = tuple[int, int]
UNKNOWN: Alignment = (1, 0)

_set_modulus = Expr._modulus.__set__  # type: ignore[attr-defined]


def alignment(e: Expr) -> Alignment:
    """(modulus, remainder) of each lane of an integer expression, cached on it."""
    try:
        return e._modulus  # type: ignore[attr-defined,no-any-return]
    except AttributeError:
        pass
    handler = _HANDLERS.get(type(e))
    made = UNKNOWN
    if handler is not None and e.type.is_int_or_uint():
        made = handler(e)
        if made[0] != 1 and type(e) in _MAY_WRAP and not tame(e):
            made = _wrapped(made, e.type.width)
    _set_modulus(e, made)
    return made


def _normal(m: int, r: int) -> Alignment:
    m = abs(m)
    return (m, r % m if m else r)


def _wrapped(a: Alignment, width: int) -> Alignment:
    """What is left of `a` after reducing the value modulo 2**width."""
    m, r = a
    return _normal(gcd(m, 1 << width), r)


def _unify(a: Alignment, b: Alignment) -> Alignment:
    """What holds of either."""
    m = gcd(a[0], b[0], a[1] - b[1])
    return _normal(m, a[1])


def _imm(e: Imm) -> Alignment:
    return 0, e.value


def _var(e: Var) -> Alignment:
    if e.value is not None:
        return alignment(e.value)
    if e.lo is not None and e.lo is e.hi:
        return alignment(e.lo)
    return UNKNOWN


def _add(e: Add) -> Alignment:
    (m, r), (n, s) = alignment(e.a), alignment(e.b)
    return _normal(gcd(m, n), r + s)


def _sub(e: Sub) -> Alignment:
    (m, r), (n, s) = alignment(e.a), alignment(e.b)
    return _normal(gcd(m, n), r - s)


def _mul(e: Mul) -> Alignment:
    (m, r), (n, s) = alignment(e.a), alignment(e.b)
    # (m*i + r) * (n*j + s) = m*n*i*j + m*s*i + n*r*j + r*s
    return _normal(gcd(m * n, m * s, n * r), r * s)


def _div(e: Div) -> Alignment:
    (m, r), (n, d) = alignment(e.a), alignment(e.b)
    if n == 0 and d > 0 and m % d == 0:
        return _normal(m // d, r // d)
    return UNKNOWN


def _mod(e: Mod) -> Alignment:
    (m, r), (n, d) = alignment(e.a), alignment(e.b)
    if n == 0 and d != 0:
        if m % d == 0:
            return 0, r % abs(d)
        return _normal(gcd(m, d), r)
    return UNKNOWN


def _either(e: Min | Max | Select) -> Alignment:
    return _unify(alignment(e.a), alignment(e.b))


def _cast(e: Cast) -> Alignment:
    if not e.a.type.is_int_or_uint() or e.type.is_bool():
        return UNKNOWN
    a = alignment(e.a)
    return a if e.type.can_represent(e.a.type) else _wrapped(a, e.type.width)


def _ramp(e: Ramp) -> Alignment:
    (m, r), (n, s) = alignment(e.base), alignment(e.stride)
    return _normal(gcd(m, n, s), r)


def _broadcast(e: Broadcast) -> Alignment:
    return alignment(e.value)


def _let(e: Let) -> Alignment:
    return alignment(e.body)


def _intrinsic(e: Intrinsic) -> Alignment:
    if e.op in MARKS:
        return alignment(e.args[0])
    if e.op == "shift_left":
        (m, r), (n, k) = alignment(e.args[0]), alignment(e.args[1])
        if n == 0 and 0 <= k < e.type.width:
            return _normal(m << k, r << k)
    return UNKNOWN


_MAY_WRAP = (Add, Sub, Mul, Div, Ramp, Intrinsic)

_HANDLERS: dict[type[Expr], Callable[[Any], Alignment]] = {
    Imm: _imm,
    Var: _var,
    Add: _add,
    Sub: _sub,
    Mul: _mul,
    Div: _div,
    Mod: _mod,
    Min: _either,
    Max: _either,
    Select: _either,
    Cast: _cast,
    Ramp: _ramp,
    Broadcast: _broadcast,
    Let: _let,
    Intrinsic: _intrinsic,
}
