"""The operators of the language on typed nodes: checks, promotion, construction.

Operands are what the user wrote (see `convert`); results are nodes. Folding here is
only what `ir.build` does. Overflow among Int(32) and Int(64) constants as written is
an error; narrower and unsigned constants wrap as their type does.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from parhelion.errors import LiteralError, TypeMismatchError, here
from parhelion.ir import build
from parhelion.ir.build import cast, imm
from parhelion.ir.expr import Expr as Node
from parhelion.ir.expr import FloatImm, Imm, Intrinsic, Mod, Mul, Sub, Var
from parhelion.ir.function import ReductionDomain
from parhelion.ir.rewrite import nodes
from parhelion.lang.convert import (
    FLOAT32,
    is_literal,
    literal_as,
    matched,
    node_of,
    node_or_none,
    pair,
    promoted,
    resolve,
)
from parhelion.types import Int, Type, UInt


def _check_overflow(a: Node, b: Node, sign: str, f: Callable[[int, int], int]) -> None:
    if not (isinstance(a, Imm) and isinstance(b, Imm)):
        return
    t = a.type
    if t.is_int() and t.width >= 32:
        exact = f(a.value, b.value)
        if not t.can_represent(exact):
            raise LiteralError(
                f"{a.value} {sign} {b.value} is {exact}, which overflows {t}",
                at=here(),
                hint="use a wider type: hl.i64(...)",
            )


def _walking(made: Node, x: Node, y: Node) -> bool:
    """Whether a constant was made of operands that mention an RVar.

    An update walks over the domain of the RVars that it mentions, so that
    ``f[x] += r * 0 + 1`` counts the points of ``r``, as in Halide. What the user has
    written keeps them; the simplifier folds it when the domain has been found.
    """
    if not isinstance(made, Imm) or (isinstance(x, Imm) and isinstance(y, Imm)):
        return False
    return mentions_rvar(x, y)


def mentions_rvar(*operands: Node) -> bool:
    """Whether an update of such operands walks over a domain."""
    return any(
        [
            isinstance(n, Var) and isinstance(n.origin, ReductionDomain)
            for n in nodes(*operands)
        ]
    )


def add(a: object, b: object) -> Node:
    x, y = matched(a, b)
    if x.type.is_bool():  # one bit wraps
        return build.ne(x, y)
    _check_overflow(x, y, "+", operator.add)
    return build.add(x, y)


def sub(a: object, b: object) -> Node:
    x, y = matched(a, b)
    if x.type.is_bool():
        return build.ne(x, y)
    _check_overflow(x, y, "-", operator.sub)
    made = build.sub(x, y)
    return Sub(x, y) if _walking(made, x, y) else made


def mul(a: object, b: object) -> Node:
    x, y = matched(a, b)
    if x.type.is_bool():
        return build.land(x, y)
    _check_overflow(x, y, "*", operator.mul)
    made = build.mul(x, y)
    return Mul(x, y) if _walking(made, x, y) else made


def div(a: object, b: object) -> Node:
    """`/`: floats divide; integers round so that the remainder is not negative."""
    x, y = matched(a, b)
    if x.type.is_bool():
        return build.land(x, y)
    _check_overflow(x, y, "/", build.floor_div)
    return build.div(x, y)


def floor_div(a: object, b: object) -> Node:
    """`//`: as `/` on integers, its floor on floats."""
    x, y = matched(a, b)
    if x.type.is_float():
        t = float_type(x.type)
        return Intrinsic(t, "floor", (cast(t, build.div(x, y)),))
    return div(a, b)


def mod(a: object, b: object) -> Node:
    """`%`: of the sign of the divisor for floats, never negative for integers."""
    x, y = matched(a, b)
    if x.type.is_float():
        floor = Intrinsic(x.type, "floor", (build.div(x, y),))
        return build.sub(x, build.mul(y, floor))
    if x.type.is_bool():
        return build.FALSE
    made = build.mod(x, y)
    return Mod(x, y) if _walking(made, x, y) else made


def minimum(a: Node, b: Node) -> Node:
    """The smaller of two nodes of one type."""
    return build.land(a, b) if a.type.is_bool() else build.minimum(a, b)


def maximum(a: Node, b: Node) -> Node:
    """The larger of two nodes of one type."""
    return build.lor(a, b) if a.type.is_bool() else build.maximum(a, b)


def neg(a: object) -> Node:
    x = node_of(a)
    if isinstance(x, FloatImm):
        return imm(-x.value, x.type)
    if x.type.is_float():
        # Exact for both zeros, which 0 - x is not.
        return build.sub(imm(-0.0, x.type), x)
    if x.type.is_bool():
        return x
    zero = imm(0, x.type)
    _check_overflow(zero, x, "-", operator.sub)
    return build.sub(zero, x)


def float_type(t: Type) -> Type:
    """The type that the float functions work in for an argument of type `t`."""
    if t.is_float() and not t.is_bfloat():
        return t
    return FLOAT32.with_lanes(t.count)


def float_call(op: str, a: object) -> Node:
    """A float function of one argument, integers converted to Float(32)."""
    x = node_of(a)
    if x.type.is_handle():
        raise TypeMismatchError(f"{op} of a value of type {x.type}", at=here())
    t = float_type(x.type)
    return Intrinsic(t, op, (cast(t, x),))


def float_call2(op: str, a: object, b: object) -> Node:
    """A float function of two arguments, in the type that the first one asks for."""
    x, y = (n for n in resolve((a, b)))
    t = float_type(x.type)
    return Intrinsic(t, op, (cast(t, x), cast(t, y)))


def integer_power(x: Node, n: int) -> Node:
    """`x` to a constant integer power by repeated squaring, in its own type."""
    if n == 0:
        return imm(1, x.type)
    if n < 0:
        return build.div(imm(1, x.type), integer_power(x, -n))
    if n == 1:
        return x
    half = integer_power(x, n // 2)
    square = build.mul(half, half)
    return build.mul(square, x) if n % 2 else square


def const_integer(a: object) -> int | None:
    """The value of an integer literal or constant, else None."""
    if isinstance(a, int) and is_literal(a):
        return int(a)
    n = node_or_none(a)
    return n.value if isinstance(n, Imm) else None


def power(a: object, b: object, op: str = "pow") -> Node:
    """A constant integer power keeps `a`'s type; any other works in floats."""
    n = const_integer(b)
    if n is not None and not (is_literal(a) and is_literal(b)):
        x = node_of(a)
        if isinstance(x, Imm) and x.type.is_int() and x.type.width >= 32 and n >= 0:
            if not x.type.can_represent(x.value**n):
                raise LiteralError(
                    f"{x.value} ** {n} is {x.value**n}, which overflows {x.type}",
                    at=here(),
                    hint="use a wider type or a float",
                )
        return integer_power(x, n)
    return float_call2(op, a, b)


def integers(what: str, *nodes: Node) -> None:
    """Raises unless all nodes are integers (or Bool)."""
    for n in nodes:
        if not n.type.is_int_or_uint():
            raise TypeMismatchError(
                f"{what} takes integers, not a value of type {n.type}", at=here()
            )


def _bitwise(a: object, b: object, op: str, sign: str) -> Node:
    x, y = pair(a, b)
    integers(sign, x, y)
    if x.type.is_int() != y.type.is_int():
        raise TypeMismatchError(
            f"{x.type} {sign} {y.type}: one operand is signed and the other is not",
            at=here(),
            hint="cast one of them to the other's type",
        )
    x, y = promoted(x, y)
    if x.type.is_bool():
        if op == "bit_and":
            return build.land(x, y)
        if op == "bit_or":
            return build.lor(x, y)
        return build.ne(x, y)
    return Intrinsic(x.type, op, (x, y))


def bit_and(a: object, b: object) -> Node:
    return _bitwise(a, b, "bit_and", "&")


def bit_or(a: object, b: object) -> Node:
    return _bitwise(a, b, "bit_or", "|")


def bit_xor(a: object, b: object) -> Node:
    return _bitwise(a, b, "bit_xor", "^")


def bit_not(a: object) -> Node:
    x = node_of(a)
    integers("~", x)
    return build.lnot(x) if x.type.is_bool() else Intrinsic(x.type, "bit_not", (x,))


def magnitude(a: object) -> Node:
    """``abs(a)``: unsigned for signed integers."""
    n = node_of(a)
    t = n.type
    if t.is_uint():
        return n
    if t.is_handle():
        raise TypeMismatchError(f"abs of a value of type {t}", at=here())
    return Intrinsic(UInt(t.width) if t.is_int() else t, "abs", (n,))


def shift_operands(a: object, b: object, what: str) -> tuple[Node, Node]:
    """The operands of a shift at the wider one's width, each with its own sign.

    A literal amount takes the shifted value's type (signed if it is negative).
    """
    na, nb = node_or_none(a), node_or_none(b)
    if na is not None and nb is None and isinstance(b, int):
        integers(what, na)
        width = max(na.type.width, 8)
        nb = literal_as(b, Int(width) if b < 0 else na.type.with_bits(width))
    elif nb is not None and na is None and isinstance(a, int):
        integers(what, nb)
        na = literal_as(a, nb.type)
    else:
        na, nb = resolve((a, b))
    integers(what, na, nb)
    width = max(na.type.width, nb.type.width)
    return cast(na.type.with_bits(width), na), cast(nb.type.with_bits(width), nb)


def shift(a: object, b: object, op: str, what: str) -> Node:
    """A shift in both directions: a negative amount goes the other way."""
    x, y = shift_operands(a, b, what)
    if x.type.is_bool():
        byte = x.type.with_bits(8)
        moved = Intrinsic(byte, op, (cast(byte, x), cast(byte, y)))
        return build.ne(Intrinsic(byte, "bit_and", (moved, imm(1, byte))), imm(0, byte))
    return Intrinsic(x.type, op, (x, y))


def compare(make: Callable[[Node, Node], Node], a: object, b: object) -> Node:
    return make(*matched(a, b))
