"""Where coordinates lie while loops run over known ranges, in plain numbers.

`analysis.bounds` does the same with symbols, which takes longer. Here all sizes are
known, and an answer that is somewhat too wide does no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from parhelion.analysis.interval import constant_interval
from parhelion.ir.expr import (
    Add,
    Cast,
    Div,
    Expr,
    Imm,
    Intrinsic,
    Max,
    Min,
    Mod,
    Mul,
    Select,
    Sub,
    Var,
)
from parhelion.ir.intrinsics import LIKELY

#: Inclusive bounds of a coordinate; None where it may be anything.
Span = tuple[int, int] | None

#: Coordinates further out than this are no coordinates of pixels.
_FAR = 1 << 30

#: Stands for a bound that is not known.
_LIMIT = 1 << 62
_ANY = (-_LIMIT, _LIMIT)

_Range = tuple[int, int]


class Spans:
    """The spans of expressions in one scope."""

    def __init__(self, scope: Mapping[Var, Span]) -> None:
        self.scope = scope
        self.memo: dict[Expr, _Range] = {}

    def of(self, e: Expr) -> Span:
        lo, hi = self.range(e)
        return None if lo < -_FAR or hi > _FAR else (lo, hi)

    def range(self, e: Expr) -> _Range:
        found = self.memo.get(e)
        if found is None:
            handler = _TABLE.get(type(e))
            found = self.memo[e] = handler(self, e) if handler else _by_itself(e)
        return found


def _by_itself(e: Expr) -> _Range:
    """What a node tells without its scope: of pixels, the range of their type."""
    lo, hi = constant_interval(e)
    if isinstance(lo, float) or isinstance(hi, float):
        return _ANY
    return (-_LIMIT if lo is None else lo, _LIMIT if hi is None else hi)


def _imm(s: Spans, e: Imm) -> _Range:
    return e.value, e.value


def _var(s: Spans, e: Var) -> _Range:
    return s.scope.get(e) or _by_itself(e)


def _add(s: Spans, e: Add) -> _Range:
    (a, b), (c, d) = s.range(e.a), s.range(e.b)
    return a + c, b + d


def _sub(s: Spans, e: Sub) -> _Range:
    (a, b), (c, d) = s.range(e.a), s.range(e.b)
    return a - d, b - c


def _mul(s: Spans, e: Mul) -> _Range:
    (a, b), (c, d) = s.range(e.a), s.range(e.b)
    corners = (a * c, a * d, b * c, b * d)
    return min(corners), max(corners)


def _div(s: Spans, e: Div) -> _Range:
    (a, b), (c, d) = s.range(e.a), s.range(e.b)
    if c <= 0:
        return _by_itself(e)
    corners = (a // c, a // d, b // c, b // d)
    return min(corners), max(corners)


def _mod(s: Spans, e: Mod) -> _Range:
    (a, b), (c, d) = s.range(e.a), s.range(e.b)
    if c <= 0:
        return _by_itself(e)
    if c == d and a // c == b // c:
        return a % c, b % c
    return 0, d - 1


def _min(s: Spans, e: Min) -> _Range:
    (a, b), (c, d) = s.range(e.a), s.range(e.b)
    return min(a, c), min(b, d)


def _max(s: Spans, e: Max) -> _Range:
    (a, b), (c, d) = s.range(e.a), s.range(e.b)
    return max(a, c), max(b, d)


def _select(s: Spans, e: Select) -> _Range:
    (a, b), (c, d) = s.range(e.a), s.range(e.b)
    return min(a, c), max(b, d)


def _cast(s: Spans, e: Cast) -> _Range:
    itself = _by_itself(e)
    if not (e.type.is_int_or_uint() and e.a.type.is_int_or_uint()):
        return itself
    lo, hi = s.range(e.a)
    # What does not fit wraps around.
    return (lo, hi) if itself[0] <= lo and hi <= itself[1] else itself


def _intrinsic(s: Spans, e: Intrinsic) -> _Range:
    return s.range(e.args[0]) if e.op in LIKELY else _by_itself(e)


_TABLE: dict[type[Expr], Callable[..., _Range]] = {
    Imm: _imm,
    Var: _var,
    Add: _add,
    Sub: _sub,
    Mul: _mul,
    Div: _div,
    Mod: _mod,
    Min: _min,
    Max: _max,
    Select: _select,
    Cast: _cast,
    Intrinsic: _intrinsic,
}


__all__ = ["Span", "Spans"]
