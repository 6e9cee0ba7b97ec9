"""Expressions in operators, for tables of test cases."""

from __future__ import annotations

from collections.abc import Callable

from parhelion.ir import build as B
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr, Var
from parhelion.types import BOOL, INT32, Type

Operand = "N | int | float | bool"


class N:
    """An expression with Python's operators; numbers take the other side's type."""

    __slots__ = ("node",)

    def __init__(self, node: Expr) -> None:
        self.node = node

    def lift(self, other: object) -> Expr:
        if isinstance(other, N):
            return other.node
        assert isinstance(other, int | float)
        return B.imm(other, self.node.type)

    def op(
        self, kind: Callable[[Expr, Expr], Expr], other: object, swap: bool = False
    ) -> N:
        a, b = self.node, self.lift(other)
        return N(kind(b, a) if swap else kind(a, b))

    def __add__(self, other: object) -> N:
        return self.op(E.Add, other)

    def __radd__(self, other: object) -> N:
        return self.op(E.Add, other, True)

    def __sub__(self, other: object) -> N:
        return self.op(E.Sub, other)

    def __rsub__(self, other: object) -> N:
        return self.op(E.Sub, other, True)

    def __mul__(self, other: object) -> N:
        return self.op(E.Mul, other)

    def __rmul__(self, other: object) -> N:
        return self.op(E.Mul, other, True)

    def __truediv__(self, other: object) -> N:
        return self.op(E.Div, other)

    def __rtruediv__(self, other: object) -> N:
        return self.op(E.Div, other, True)

    def __mod__(self, other: object) -> N:
        return self.op(E.Mod, other)

    def __lt__(self, other: object) -> N:
        return self.op(E.LT, other)

    def __le__(self, other: object) -> N:
        return self.op(E.LE, other)

    def __gt__(self, other: object) -> N:
        return self.op(E.LT, other, True)

    def __ge__(self, other: object) -> N:
        return self.op(E.LE, other, True)

    def __and__(self, other: object) -> N:
        return self.op(E.And, other)

    def __or__(self, other: object) -> N:
        return self.op(E.Or, other)

    def __invert__(self) -> N:
        return N(E.Not(self.node))

    def __eq__(self, other: object) -> N:  # type: ignore[override]
        return self.op(E.EQ, other)

    def __ne__(self, other: object) -> N:  # type: ignore[override]
        return self.op(E.NE, other)

    __hash__ = None  # type: ignore[assignment]


def var(name: str, type: Type = INT32, lo: object = None, hi: object = None) -> N:
    """A fresh Var, with bounds given as numbers or expressions."""
    ends = [
        b.node if isinstance(b, N) else None if b is None else B.imm(int(b), type)  # type: ignore[call-overload]
        for b in (lo, hi)
    ]
    return N(Var(name, type, lo=ends[0], hi=ends[1]))


def let(name: str, value: N) -> N:
    """A Var that a let binds to `value`."""
    return N(Var(name, value.node.type, value=value.node))


def const(value: int | float, type: Type = INT32) -> N:
    return N(B.imm(value, type))


def _pair(a: object, b: object) -> tuple[Expr, Expr]:
    if isinstance(a, N):
        return a.node, a.lift(b)
    assert isinstance(b, N)
    return b.lift(a), b.node


def minimum(a: object, b: object) -> N:
    return N(E.Min(*_pair(a, b)))


def maximum(a: object, b: object) -> N:
    return N(E.Max(*_pair(a, b)))


def select(cond: N, a: object, b: object) -> N:
    return N(E.Select(cond.node, *_pair(a, b)))


def cast(type: Type, a: N) -> N:
    return N(E.Cast(type, a.node))


def likely(a: N) -> N:
    return N(B.likely(a.node))


def ramp(base: N, stride: object, lanes: int) -> N:
    return N(E.Ramp(base.node, base.lift(stride), lanes))


def spread(a: N, lanes: int) -> N:
    return N(E.Broadcast(a.node, lanes))


def boolean(name: str) -> N:
    return N(Var(name, BOOL))
