"""Float arithmetic for derivatives: what is zero or one by construction is left out.

A zero here is the zero of a derivative that is not there: ``0 * e`` is taken for 0,
whatever `e` is, as nothing flows along that path.
"""

from __future__ import annotations

from parhelion.ir import build
from parhelion.ir.build import imm, is_const
from parhelion.ir.expr import Cast, Expr, FloatImm, Intrinsic, Mul
from parhelion.types import Type


def zero(t: Type) -> Expr:
    return imm(0.0, t)


def is_zero(e: Expr) -> bool:
    return is_const(e, 0)


def add(a: Expr, b: Expr) -> Expr:
    if is_zero(a):
        return b
    return a if is_zero(b) else build.add(a, b)


def sub(a: Expr, b: Expr) -> Expr:
    if is_zero(b):
        return a
    return negated(b) if is_zero(a) else build.sub(a, b)


def mul(a: Expr, b: Expr) -> Expr:
    """``a * b``; a constant goes behind what it multiplies."""
    if is_zero(a) or is_zero(b):
        return zero(a.type)
    for x, y in ((a, b), (b, a)):
        if is_const(x, 1):
            return y
    if isinstance(a, FloatImm):
        a, b = b, a
    if isinstance(b, FloatImm) and isinstance(a, FloatImm):
        return imm(a.value * b.value, a.type)
    return build.mul(a, b)


def div(a: Expr, b: Expr) -> Expr:
    if is_zero(a) or is_const(b, 1):
        return a
    return build.div(a, b)


def negated(a: Expr) -> Expr:
    if isinstance(a, FloatImm):
        return imm(-a.value, a.type)
    if isinstance(a, Mul) and isinstance(a.b, FloatImm):
        return mul(a.a, imm(-a.b.value, a.type))
    return build.mul(a, imm(-1.0, a.type))


def select(cond: Expr, a: Expr, b: Expr) -> Expr:
    return build.select(cond, a, b)


def where(cond: Expr, a: Expr) -> Expr:
    """`a` where the condition holds, else 0."""
    return a if is_zero(a) else build.select(cond, a, zero(a.type))


def cast(t: Type, a: Expr) -> Expr:
    return build.cast(t, a)


def call(op: str, *args: Expr) -> Expr:
    """A function of floats."""
    return Intrinsic(args[0].type, op, args)


def core_of(e: Expr) -> tuple[Expr, Expr | None]:
    """An expression as another one times a constant; None for the constant 1."""
    if isinstance(e, Mul) and isinstance(e.b, FloatImm):
        inner, factor = core_of(e.a)
        return inner, e.b if factor is None else imm(
            factor_value(factor) * e.b.value, e.type
        )
    return e, None


def factor_value(e: Expr) -> float:
    assert isinstance(e, FloatImm)
    return e.value


def uncast(e: Expr) -> Expr:
    """What casts of floats convert."""
    while isinstance(e, Cast) and e.a.type.is_float():
        e = e.a
    return e
