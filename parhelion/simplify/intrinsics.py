"""Simplification of intrinsics: marks, constants, and operations that do nothing."""

from __future__ import annotations

from collections.abc import Callable

from parhelion.analysis.interval import constant_interval
from parhelion.errors import HalideError
from parhelion.ir.build import const_int, imm, is_const
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import Broadcast, Cast, Expr, Imm, Intrinsic
from parhelion.ir.intrinsics import LIKELY

#: Marks are kept around whatever is not a constant.
SAME = LIKELY | {"strict_float"}

#: Integer operations that `ir.evaluate` computes exactly.
_FOLDABLE = frozenset(
    [
        *("bit_and", "bit_or", "bit_xor", "bit_not", "shift_left", "shift_right"),
        *("popcount", "clz", "ctz", "abs", "absd"),
        *("div_round_to_zero", "mod_round_to_zero"),
        *("widening_add", "widening_sub", "widening_mul"),
        *("widening_shift_left", "widening_shift_right"),
        *("widen_right_add", "widen_right_sub", "widen_right_mul"),
        *("halving_add", "halving_sub", "rounding_halving_add"),
        *("rounding_shift_left", "rounding_shift_right"),
        *("saturating_add", "saturating_sub", "saturating_cast"),
        *("mul_shift_right", "rounding_mul_shift_right"),
    ]
)


def simplified(n: Intrinsic) -> Expr | None:
    """What the intrinsic becomes; its arguments are simplified already."""
    if n.op in SAME:
        return _mark(n)
    if n.op in _FOLDABLE and n.args and all(const_int(a) is not None for a in n.args):
        made = _folded(n)
        if made is not None:
            return made
    if n.args and all(type(a) is Broadcast and a.value.type.count == 1 for a in n.args):
        if n.op in _FOLDABLE:
            inner = tuple([a.value for a in n.args if type(a) is Broadcast])
            one = Intrinsic(n.type.element_of(), n.op, inner)
            return Broadcast(one, n.type.count)
    handler = _HANDLERS.get(n.op)
    return None if handler is None else handler(n)


def _mark(n: Intrinsic) -> Expr | None:
    a = n.args[0]
    if is_const(a):
        return a
    if type(a) is Intrinsic and a.op == n.op:
        return a
    return None


def _folded(n: Intrinsic) -> Expr | None:
    t = n.type.element_of()
    if not t.is_int_or_uint():
        return None
    args = tuple([Imm(a.type.element_of(), const_int(a) or 0) for a in n.args])
    try:
        value = evaluate(Intrinsic(t, n.op, args), {})
    except HalideError:
        return None
    return imm(value, n.type)


def _promise_clamped(n: Intrinsic) -> Expr | None:
    a, lo, hi = (constant_interval(arg) for arg in n.args)
    if a.lo is None or a.hi is None or lo.hi is None or hi.lo is None:
        return None
    return n.args[0] if lo.hi <= a.lo and a.hi <= hi.lo else None


def _abs(n: Intrinsic) -> Expr | None:
    lo = constant_interval(n.args[0]).lo
    if lo is not None and lo >= 0 and n.args[0].type.is_int_or_uint():
        return Cast(n.type, n.args[0])
    return None


def _absd(n: Intrinsic) -> Expr | None:
    return imm(0, n.type) if n.args[0] is n.args[1] and n.type.is_uint() else None


def _saturating_cast(n: Intrinsic) -> Expr | None:
    a = n.args[0]
    if a.type is n.type:
        return a
    if not a.type.is_int_or_uint() or not n.type.is_int_or_uint():
        return None
    if n.type.can_represent(a.type):
        return Cast(n.type, a)
    lo, hi = constant_interval(a)
    if lo is None or hi is None:
        return None
    if n.type.lowest() <= lo and hi <= n.type.highest():
        return Cast(n.type, a)
    return None


def _same_if_zero(n: Intrinsic) -> Expr | None:
    """Shifting by nothing."""
    return n.args[0] if is_const(n.args[1], 0) else None


def _bit_and(n: Intrinsic) -> Expr | None:
    a, b = n.args
    if a is b:
        return a
    for p, q in ((a, b), (b, a)):
        value = const_int(q)
        if value is None:
            continue
        if value == 0:
            return q
        if value == n.type.wrap(-1):
            return p
        lo, hi = constant_interval(p)
        mask = value & (value + 1) == 0 and value > 0
        if mask and lo is not None and lo >= 0 and hi is not None and hi <= value:
            return p
    return None


def _bit_or(n: Intrinsic) -> Expr | None:
    a, b = n.args
    if a is b:
        return a
    for p, q in ((a, b), (b, a)):
        if is_const(q, 0):
            return p
        if const_int(q) == n.type.wrap(-1):
            return q
    return None


def _bit_xor(n: Intrinsic) -> Expr | None:
    a, b = n.args
    if a is b:
        return imm(0, n.type)
    for p, q in ((a, b), (b, a)):
        if is_const(q, 0):
            return p
    return None


def _bit_not(n: Intrinsic) -> Expr | None:
    a = n.args[0]
    return a.args[0] if type(a) is Intrinsic and a.op == "bit_not" else None


_HANDLERS: dict[str, Callable[[Intrinsic], Expr | None]] = {
    "promise_clamped": _promise_clamped,
    "known_clamped": _promise_clamped,
    "abs": _abs,
    "absd": _absd,
    "saturating_cast": _saturating_cast,
    "shift_left": _same_if_zero,
    "shift_right": _same_if_zero,
    "rounding_shift_left": _same_if_zero,
    "rounding_shift_right": _same_if_zero,
    "bit_and": _bit_and,
    "bit_or": _bit_or,
    "bit_xor": _bit_xor,
    "bit_not": _bit_not,
}
