"""The derivative of each operation: what of its adjoint goes to which operand.

Conventions where a function has a kink or a step:

- ``min(a, b)`` and ``max(a, b)`` are selects (`ir.expr`): all goes to the operand whose
  value they have, and where both are equal, to `a`.
- ``select(c, a, b)``: all goes to the side that is chosen; the condition gets nothing.
- ``abs`` has the slope -1 below 0, 1 above it, and 0 at 0. ``absd(a, b)`` is the `abs`
  of ``a - b``.
- ``floor``, ``ceil``, ``round`` and ``trunc`` have the slope 0 everywhere, and so has
  whatever passes through an integer.
- ``a % b`` of floats has the slopes 1 and ``-floor(a / b)``.
- ``pow(a, b)`` has in `b` the slope 0 where `a` is not above 0.
- ``sqrt`` and others have at the ends of their domain the infinite slope that they
  have there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from parhelion.adjoint.arithmetic import (
    add,
    call,
    cast,
    div,
    mul,
    negated,
    select,
    sub,
    where,
    zero,
)
from parhelion.errors import DefinitionError, Site
from parhelion.ir import expr as E
from parhelion.ir.build import imm, lt
from parhelion.ir.expr import Expr
from parhelion.ir.intrinsics import MARKS

#: Pairs of an operand and what goes to it.
Flow = Iterator[tuple[Expr, Expr]]
_Rule = Callable[..., Flow]


def operands(n: Expr, d: Expr, site: Site | None) -> Flow:
    """The operands of a float operation that has the adjoint `d`, each with what goes
    to it; integers and conditions get nothing.

    Raises DefinitionError for an operation that has no derivative.
    """
    rule = _NODES.get(type(n))
    if rule is not None:
        yield from rule(n, d)
    elif isinstance(n, E.Intrinsic):
        yield from _intrinsic(n, d, site)
    elif not _stops(n):
        raise undifferentiable(_named(n), site)


def undifferentiable(what: str, site: Site | None) -> DefinitionError:
    return DefinitionError(
        f"{what} has no derivative, and floats that gradients are asked of go into it",
        at=site,
        hint="compute it of values that do not depend on them, or write it in"
        " operations that have derivatives (docs/differentiation.md)",
    )


def _named(n: Expr) -> str:
    if isinstance(n, E.Extern):
        return f"the C function {n.name!r}"
    if isinstance(n, E.Reinterpret):
        return "reinterpret, which reads the bits of a number as another's,"
    return f"the operation {type(n).__name__}"


def _stops(n: Expr) -> bool:
    """Whether nothing that could get an adjoint goes into an operation."""
    return not any([c.type.is_float() for c in n.children() if isinstance(c, Expr)])


# Operators.


def _cast(n: E.Cast, d: Expr) -> Flow:
    if n.a.type.is_float():
        yield n.a, cast(n.a.type, d)


def _add(n: E.Add, d: Expr) -> Flow:
    yield n.a, d
    yield n.b, d


def _sub(n: E.Sub, d: Expr) -> Flow:
    yield n.a, d
    yield n.b, negated(d)


def _mul(n: E.Mul, d: Expr) -> Flow:
    yield n.a, mul(d, n.b)
    yield n.b, mul(d, n.a)


def _div(n: E.Div, d: Expr) -> Flow:
    yield n.a, div(d, n.b)
    yield n.b, negated(mul(d, div(n, n.b)))


def _mod(n: E.Mod, d: Expr) -> Flow:
    yield n.a, d
    yield n.b, negated(mul(d, call("floor", div(n.a, n.b))))


def _min(n: E.Min, d: Expr) -> Flow:
    second = lt(n.b, n.a)
    yield n.a, select(second, zero(d.type), d)
    yield n.b, where(second, d)


def _max(n: E.Max, d: Expr) -> Flow:
    second = lt(n.a, n.b)
    yield n.a, select(second, zero(d.type), d)
    yield n.b, where(second, d)


def _select(n: E.Select, d: Expr) -> Flow:
    yield n.a, where(n.cond, d)
    yield n.b, select(n.cond, zero(d.type), d)


_NODES: dict[type[Expr], _Rule] = {
    E.Cast: _cast,
    E.Add: _add,
    E.Sub: _sub,
    E.Mul: _mul,
    E.Div: _div,
    E.Mod: _mod,
    E.Min: _min,
    E.Max: _max,
    E.Select: _select,
}


# Functions.


def _intrinsic(n: E.Intrinsic, d: Expr, site: Site | None) -> Flow:
    op, args = n.op, n.args
    if op in MARKS or op in _SAME:
        yield args[0], d
        return
    if op in _STEPS:
        return
    slope = _SLOPES.get(op)
    if slope is not None:
        yield args[0], mul(d, slope(args[0], n))
        return
    rule = _FUNCTIONS.get(op)
    if rule is not None:
        yield from rule(n, d)
    elif not _stops(n):
        raise undifferentiable(f"the function {op}", site)


#: Those that have the value of their first argument, and those of steps.
_SAME = frozenset(("strict_float", "memoize_tag", "print"))
_STEPS = frozenset(("floor", "ceil", "round", "trunc", "undef"))


def _one(x: Expr) -> Expr:
    return imm(1.0, x.type)


def _inverse(x: Expr) -> Expr:
    return div(_one(x), x)


def _sign(x: Expr) -> Expr:
    nil, one = zero(x.type), _one(x)
    return select(lt(nil, x), one, select(lt(x, nil), negated(one), nil))


def _square(x: Expr) -> Expr:
    return mul(x, x)


def _half_angle(x: Expr, sign: float) -> Expr:
    """``1 + sign * x * x``"""
    square = _square(x)
    return add(_one(x), square) if sign > 0 else sub(_one(x), square)


def _erf(x: Expr, n: Expr) -> Expr:
    bell = call("exp", negated(_square(x)))
    return mul(bell, imm(2.0 / math.sqrt(math.pi), x.type))


#: The slope of each function of one float, of its argument and of the call itself.
_SLOPES: dict[str, Callable[[Expr, Expr], Expr]] = {
    "abs": lambda x, n: _sign(x),
    "sqrt": lambda x, n: div(imm(0.5, x.type), n),
    "exp": lambda x, n: n,
    "log": lambda x, n: _inverse(x),
    "sin": lambda x, n: call("cos", x),
    "cos": lambda x, n: negated(call("sin", x)),
    "tan": lambda x, n: _half_angle(n, 1),
    "asin": lambda x, n: _inverse(call("sqrt", _half_angle(x, -1))),
    "acos": lambda x, n: negated(_inverse(call("sqrt", _half_angle(x, -1)))),
    "atan": lambda x, n: _inverse(_half_angle(x, 1)),
    "sinh": lambda x, n: call("cosh", x),
    "cosh": lambda x, n: call("sinh", x),
    "tanh": lambda x, n: _half_angle(n, -1),
    "asinh": lambda x, n: _inverse(call("sqrt", _half_angle(x, 1))),
    "acosh": lambda x, n: _inverse(call("sqrt", sub(_square(x), _one(x)))),
    "atanh": lambda x, n: _inverse(_half_angle(x, -1)),
    "erf": _erf,
    "fast_exp": lambda x, n: n,
    "fast_log": lambda x, n: _inverse(x),
    "fast_sin": lambda x, n: call("fast_cos", x),
    "fast_cos": lambda x, n: negated(call("fast_sin", x)),
    "fast_inverse": lambda x, n: negated(_square(n)),
    "fast_inverse_sqrt": lambda x, n: mul(mul(n, _square(n)), imm(-0.5, x.type)),
}


def _pow(n: E.Intrinsic, d: Expr) -> Flow:
    a, b = n.args
    log = "log" if n.op == "pow" else "fast_log"
    lower = E.Intrinsic(n.type, n.op, (a, sub(b, _one(b))))
    yield a, mul(d, mul(lower, b))
    if not isinstance(b, E.FloatImm):
        slope = where(lt(zero(a.type), a), mul(n, call(log, a)))
        yield b, mul(d, slope)


def _atan2(n: E.Intrinsic, d: Expr) -> Flow:
    y, x = n.args
    around = add(_square(x), _square(y))
    yield y, mul(d, div(x, around))
    yield x, negated(mul(d, div(y, around)))


def _absd(n: E.Intrinsic, d: Expr) -> Flow:
    a, b = n.args
    sign = _sign(sub(a, b))
    yield a, mul(d, sign)
    yield b, negated(mul(d, sign))


def _fused(sign_of_product: int, sign_of_rest: int) -> _Rule:
    def rule(n: E.Intrinsic, d: Expr) -> Flow:
        a, b, c = n.args
        product = d if sign_of_product > 0 else negated(d)
        yield a, mul(product, b)
        yield b, mul(product, a)
        yield c, d if sign_of_rest > 0 else negated(d)

    return rule


_FUNCTIONS: dict[str, _Rule] = {
    "pow": _pow,
    "fast_pow": _pow,
    "atan2": _atan2,
    "absd": _absd,
    "mul_add": _fused(1, 1),
    "mul_sub": _fused(1, -1),
    "sub_mul": _fused(-1, 1),
}

__all__ = ["Flow", "operands", "undifferentiable"]
