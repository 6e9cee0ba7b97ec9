"""Formulas over expression nodes, written with Python's operators.

`ir.mathlib` writes polynomials and range reductions with this: ``x * x + 1.5`` instead
of nested constructors. Numbers take the type of the other operand. Nothing is folded:
what is written is what is computed, operation by operation, in the order written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr, Intrinsic
from parhelion.types import Float, Int, Type

Operand: TypeAlias = "V | float | int"


class V:
    """An expression in a formula."""

    __slots__ = ("e",)

    def __init__(self, e: Expr) -> None:
        self.e = e

    @property
    def type(self) -> Type:
        return self.e.type

    def of(self, other: Operand) -> Expr:
        """`other` as an expression of this one's type."""
        if isinstance(other, V):
            return other.e
        return build.imm(other, self.e.type)

    def __add__(self, b: Operand) -> V:
        return V(E.Add(self.e, self.of(b)))

    def __sub__(self, b: Operand) -> V:
        return V(E.Sub(self.e, self.of(b)))

    def __rsub__(self, b: float | int) -> V:
        return V(E.Sub(self.of(b), self.e))

    def __mul__(self, b: Operand) -> V:
        return V(E.Mul(self.e, self.of(b)))

    def __truediv__(self, b: Operand) -> V:
        return V(E.Div(self.e, self.of(b)))

    def __rtruediv__(self, b: float | int) -> V:
        return V(E.Div(self.of(b), self.e))

    def __neg__(self) -> V:
        return self ^ _sign_mask(self.type) if self.type.is_float() else 0 - self

    def __lt__(self, b: Operand) -> V:
        return V(E.LT(self.e, self.of(b)))

    def __gt__(self, b: Operand) -> V:
        return V(E.LT(self.of(b), self.e))

    def __le__(self, b: Operand) -> V:
        return V(E.LE(self.e, self.of(b)))

    def __ge__(self, b: Operand) -> V:
        return V(E.LE(self.of(b), self.e))

    def equals(self, b: Operand) -> V:
        return V(E.EQ(self.e, self.of(b)))

    def is_nan(self) -> V:
        return V(E.NE(self.e, self.e))

    def both(self, b: V) -> V:
        return V(E.And(self.e, b.e))

    def either(self, b: V) -> V:
        return V(E.Or(self.e, b.e))

    def _bits(self, op: str, b: Operand) -> V:
        """A bit operation; of floats, on their bits."""
        if not self.type.is_float():
            return V(Intrinsic(self.type, op, (self.e, self.of(b))))
        same = self.as_int()
        other = b.as_int() if isinstance(b, V) and b.type.is_float() else b
        return same._bits(op, other).as_float()

    def __and__(self, b: Operand) -> V:
        return self._bits("bit_and", b)

    def __or__(self, b: Operand) -> V:
        return self._bits("bit_or", b)

    def __xor__(self, b: Operand) -> V:
        return self._bits("bit_xor", b)

    def __lshift__(self, b: int) -> V:
        return self._bits("shift_left", b)

    def __rshift__(self, b: int) -> V:
        return self._bits("shift_right", b)

    def to(self, t: Type) -> V:
        """Converted to the scalar type `t`, in as many lanes."""
        return V(build.cast(t.with_lanes(self.type.count), self.e))

    def as_int(self) -> V:
        """The bits of a float, as a signed integer."""
        return V(E.Reinterpret(Int(self.type.width, self.type.count), self.e))

    def as_float(self) -> V:
        """The float whose bits these are."""
        return V(E.Reinterpret(Float(self.type.width, self.type.count), self.e))

    def call(self, op: str) -> V:
        """An intrinsic of one argument and one type."""
        return V(Intrinsic(self.type, op, (self.e,)))

    def least(self, b: Operand) -> V:
        """``min(self, b)``: NaN if self is."""
        return V(E.Min(self.e, self.of(b)))

    def most(self, b: Operand) -> V:
        """``max(self, b)``: NaN if self is."""
        return V(E.Max(self.e, self.of(b)))

    def size(self) -> V:
        """The absolute value, by its bits."""
        return self & ~_sign_mask(self.type)

    def sign(self) -> V:
        """Zero with this one's sign."""
        return self & _sign_mask(self.type)


def _sign_mask(t: Type) -> int:
    return -(1 << (t.width - 1))


def choose(cond: V, a: Operand, b: Operand) -> V:
    """`a` where `cond` holds, else `b`; one of them is an expression."""
    like = a if isinstance(a, V) else b
    assert isinstance(like, V)
    return V(E.Select(cond.e, like.of(a), like.of(b)))


def horner(x: V, coefficients: Sequence[float]) -> V:
    """The polynomial with those coefficients, the constant one first."""
    total = V(x.of(coefficients[-1]))
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total


def power_of_two(k: V) -> V:
    """2 to an int32 or int64 power within the exponents of normal floats."""
    bias, shift = (127, 23) if k.type.width == 32 else (1023, 52)
    return ((k + bias) << shift).as_float()
