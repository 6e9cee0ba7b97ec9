"""Operations on arrays element by element, by the names that NumPy has for them.

Each says of what types its operands and its result are, and makes the node of one
element from those of the operands, which are of one type already.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce

from parhelion.dataclass import dataclass
from parhelion.errors import TypeMismatchError, here
from parhelion.ir import build
from parhelion.ir.build import const_int, imm
from parhelion.ir.expr import Expr as Node
from parhelion.ir.expr import FloatImm, Intrinsic
from parhelion.ir.rewrite import free_vars
from parhelion.ir.symbols import ParamSym
from parhelion.lang import ops
from parhelion.lang.convert import literal_as
from parhelion.lang.expr import wrap
from parhelion.types import BOOL, Int, Type
from parhelion.whole import floats
from parhelion.whole.align import together
from parhelion.whole.core import Whole
from parhelion.whole.promotion import FLOAT64, float_for, result_type
from parhelion.whole.trace import Fits


@dataclass(frozen=True, slots=True)
class Operation:
    """How one operation is computed.

    make: the node of an element. floats: whether it works in floats alone. takes: what
    types it has a meaning for: "numbers" (not Bool), "integers" (or Bool) or "any".
    logical: whether the operands are made Bools first. gives: the type of the result,
    if it is another one than that of the operands. counts: whether Bools are taken for
    int8, as NumPy does.
    """

    make: Callable[..., Node]
    floats: bool = False
    takes: str = "any"
    logical: bool = False
    gives: Type | None = None
    counts: bool = False


# What the types of operands are.


def convert(w: Whole, to: Type) -> Node:
    """The value of an array in another type, which a weak number must fit."""
    value = w.value
    if value.type is to:
        return value
    if w.weak:
        if isinstance(value, FloatImm):
            return (
                literal_as(value.value, to) if to.is_float() else build.cast(to, value)
            )
        constant = const_int(value)
        if constant is not None:
            return literal_as(constant, to)
        if w.trace is not None and not to.is_float() and not to.is_bool():
            origins = [v.origin for v in free_vars(value)]
            if all([isinstance(o, ParamSym) for o in origins]):
                w.trace.fits.append(Fits(value, to, here()))
            elif all([isinstance(o, tuple) for o in origins]):
                w.trace.check(Fits(value, to, here()))
    return truth(value) if to.is_bool() else build.cast(to, value)


def truth(value: Node) -> Node:
    """Whether a value is not 0."""
    if value.type.is_bool():
        return value
    return build.ne(value, imm(0, value.type))


def common_type(wholes: Sequence[Whole]) -> tuple[Type, bool]:
    """The type of operands that stand together, and whether it is weak."""
    found = [(w.type, w.weak) for w in wholes]
    return reduce(lambda a, b: result_type(*a, *b), found)


def apply(name: str, *operands: Whole) -> Whole:
    """The array of an operation, by NumPy's name of it.

    Raises TypeMismatchError for operands of types that it has no meaning for, and what
    `align.together` and `convert` raise.
    """
    operation = OPERATIONS[name]
    if operation.logical:
        fitted = together(operands)
        return _made(fitted, operation.make(*[truth(w.value) for w in fitted]), False)
    t, weak = common_type(operands)
    if name in _COMPARISONS and len(unfit := [_unfit(w, t) for w in operands]) == 2:
        if unfit[0] or unfit[1]:
            # A number that the other's type cannot hold is beyond all that it can.
            held = [imm(n, Int(8)) for n in (unfit if unfit[0] else [0, unfit[1]])]
            return _made(together(operands), operation.make(*held), False)
    if operation.counts and t.is_bool():
        t = Int(8)
    if operation.floats and not t.is_float():
        t = FLOAT64 if weak else float_for(t)
    _check_type(name, operation, t)
    fitted = together(operands)
    nodes = [convert(w, t) for w in fitted]
    return _made(fitted, operation.make(*nodes), weak and operation.gives is None)


def _made(fitted: Sequence[Whole], value: Node, weak: bool) -> Whole:
    first = fitted[0]
    return Whole(value, first.shape, first.names, first.trace, weak)


def _unfit(w: Whole, t: Type) -> int:
    """1 for a number above all that a type of integers holds, -1 for one below it, and
    else 0."""
    constant = const_int(w.value) if w.weak else None
    if constant is None or not t.is_int_or_uint() or t.can_represent(constant):
        return 0
    return 1 if constant > 0 else -1


def _check_type(name: str, operation: Operation, t: Type) -> None:
    if operation.takes == "numbers" and t.is_bool():
        raise TypeMismatchError(
            f"{name} has no meaning for arrays of Bools",
            at=here(),
            hint="~a inverts, a ^ b tells where they differ",
        )
    if operation.takes == "integers" and not t.is_int_or_uint():
        raise TypeMismatchError(
            f"{name} takes arrays of integers or Bools, not of {t}",
            at=here(),
            hint="array.astype('int32') makes one",
        )


def cast(w: Whole, to: Type) -> Whole:
    """An array in another type. Floats are truncated, integers wrap."""
    value = truth(w.value) if to.is_bool() else build.cast(to, w.value)
    return Whole(value, w.shape, w.names, w.trace)


def where(condition: Whole, one: Whole, other: Whole) -> Whole:
    """`one` where a condition holds, and `other` elsewhere."""
    t, _ = common_type([one, other])
    c, a, b = together([condition, one, other])
    value = build.select(truth(c.value), convert(a, t), convert(b, t))
    return _made([c], value, False)


def clip(w: Whole, low: Whole | None, high: Whole | None) -> Whole:
    """An array limited to a range; NaN stays."""
    for step, limit in (("maximum", low), ("minimum", high)):
        if limit is not None:
            w = apply(step, w, limit)
    return w


# What they do to one element.


def _add(a: Node, b: Node) -> Node:
    return build.lor(a, b) if a.type.is_bool() else build.add(a, b)


def _multiply(a: Node, b: Node) -> Node:
    return build.land(a, b) if a.type.is_bool() else build.mul(a, b)


def _floor_divide(a: Node, b: Node) -> Node:
    if a.type.is_float():
        return floats.floor_divide(a, b)
    quotient = build.div(a, b)
    if _not_negative(b):
        return quotient
    # The language's remainder is never negative; NumPy's has the divisor's sign.
    return build.sub(quotient, build.cast(a.type, _turned(a, b)))


def _remainder(a: Node, b: Node) -> Node:
    if a.type.is_float():
        return floats.remainder(a, b)
    rest = build.mod(a, b)
    if _not_negative(b):
        return rest
    return build.select(_turned(a, b), build.add(rest, b), rest)


def _not_negative(b: Node) -> bool:
    known = const_int(b)
    return b.type.is_uint() or (known is not None and known >= 0)


def _turned(a: Node, b: Node) -> Node:
    zero = imm(0, a.type)
    return build.land(build.lt(b, zero), build.ne(build.mod(a, b), zero))


def _power(a: Node, b: Node) -> Node:
    n = const_int(b)
    if isinstance(b, FloatImm) and float(b.value).is_integer() and abs(b.value) <= 64:
        n = int(b.value)
    if a.type.is_float():
        if isinstance(b, FloatImm) and b.value == 0.5:
            return Intrinsic(a.type, "sqrt", (a,))
        if n is not None:
            return ops.integer_power(a, n)
        return ops.power(wrap(a), wrap(b))
    if n is None or n < 0:
        raise TypeMismatchError(
            f"integers of type {a.type} are raised to constant powers that are not"
            " negative, and to no others",
            at=here(),
            hint="array.astype('float32') has all powers",
        )
    return ops.integer_power(a, n)


def _shift(op: str) -> Callable[[Node, Node], Node]:
    def make(a: Node, b: Node) -> Node:
        n, bits = const_int(b), a.type.width
        shifted = Intrinsic(a.type, op, (a, b))
        if n is not None and 0 <= n < bits:
            return shifted
        # Beyond the width nothing is left but the sign, as in NumPy.
        rest: Node = imm(0, a.type)
        if op == "shift_right" and a.type.is_int():
            rest = build.select(build.lt(a, rest), imm(-1, a.type), rest)
        limit = imm(bits, Int(64))
        within = build.lt(build.cast(Int(64), b), limit)
        return build.select(within, shifted, rest)

    return make


def _bits(op: str) -> Callable[[Node, Node], Node]:
    logical = {"bit_and": build.land, "bit_or": build.lor, "bit_xor": build.ne}

    def make(a: Node, b: Node) -> Node:
        return logical[op](a, b) if a.type.is_bool() else Intrinsic(a.type, op, (a, b))

    return make


def _invert(a: Node) -> Node:
    return build.lnot(a) if a.type.is_bool() else Intrinsic(a.type, "bit_not", (a,))


def _absolute(a: Node) -> Node:
    return build.cast(a.type, ops.magnitude(wrap(a)))


def _extreme(
    keeps_nan: bool, step: Callable[[Node, Node], Node]
) -> Callable[..., Node]:
    """The larger or smaller of two, of which `step` gives the first where it is NaN."""

    def make(a: Node, b: Node) -> Node:
        if not a.type.is_float():
            return step(a, b)
        chosen = step(a, b)
        if not keeps_nan:
            return build.select(build.ne(a, a), b, chosen)
        if isinstance(b, FloatImm) and not math.isnan(b.value):
            return chosen
        return build.select(build.ne(b, b), b, chosen)

    return make


def _sign(a: Node) -> Node:
    zero, one = imm(0, a.type), imm(1, a.type)
    above = build.select(build.lt(zero, a), one, build.select(build.ne(a, a), a, zero))
    if a.type.is_uint():
        return above
    return build.select(build.lt(a, zero), imm(-1, a.type), above)


def _rounded(op: str) -> Callable[[Node], Node]:
    def make(a: Node) -> Node:
        return Intrinsic(a.type, op, (a,)) if a.type.is_float() else a

    return make


def _float(op: str) -> Callable[..., Node]:
    return lambda *args: Intrinsic(args[0].type, op, args)


def _told(op: str, otherwise: bool) -> Callable[[Node], Node]:
    def make(a: Node) -> Node:
        if a.type.is_float():
            return Intrinsic(BOOL, op, (a,))
        return imm(otherwise, BOOL)

    return make


_COMPARISONS: dict[str, Callable[[Node, Node], Node]] = {
    "less": build.lt,
    "less_equal": build.le,
    "greater": build.gt,
    "greater_equal": build.ge,
    "equal": build.eq,
    "not_equal": build.ne,
}
_FLOATS = {
    **{n: n for n in ("sqrt", "exp", "log", "sin", "cos", "tan", "sinh", "cosh")},
    **{f"arc{n}": f"a{n}" for n in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "tanh": "tanh",
    "arctan2": "atan2",
}

#: By NumPy's names.
OPERATIONS: dict[str, Operation] = {
    "add": Operation(_add),
    "subtract": Operation(build.sub, takes="numbers"),
    "multiply": Operation(_multiply),
    "divide": Operation(build.div, floats=True),
    "floor_divide": Operation(_floor_divide, takes="numbers", counts=True),
    "remainder": Operation(_remainder, takes="numbers", counts=True),
    "power": Operation(_power, takes="numbers", counts=True),
    "float_power": Operation(_power, floats=True),
    "left_shift": Operation(_shift("shift_left"), takes="integers", counts=True),
    "right_shift": Operation(_shift("shift_right"), takes="integers", counts=True),
    "bitwise_and": Operation(_bits("bit_and"), takes="integers"),
    "bitwise_or": Operation(_bits("bit_or"), takes="integers"),
    "bitwise_xor": Operation(_bits("bit_xor"), takes="integers"),
    "invert": Operation(_invert, takes="integers"),
    "negative": Operation(lambda a: ops.neg(wrap(a)), takes="numbers"),
    "positive": Operation(lambda a: a),
    "absolute": Operation(_absolute),
    "fabs": Operation(_absolute, floats=True),
    "square": Operation(lambda a: _multiply(a, a), counts=True),
    "reciprocal": Operation(lambda a: build.div(imm(1, a.type), a), floats=True),
    "sign": Operation(_sign, takes="numbers"),
    "maximum": Operation(_extreme(True, ops.maximum)),
    "minimum": Operation(_extreme(True, ops.minimum)),
    "fmax": Operation(_extreme(False, ops.maximum)),
    "fmin": Operation(_extreme(False, ops.minimum)),
    "floor": Operation(_rounded("floor")),
    "ceil": Operation(_rounded("ceil")),
    "trunc": Operation(_rounded("trunc")),
    "rint": Operation(_rounded("round"), floats=True),
    "isnan": Operation(_told("is_nan", False), gives=BOOL),
    "isinf": Operation(_told("is_inf", False), gives=BOOL),
    "isfinite": Operation(_told("is_finite", True), gives=BOOL),
    "log2": Operation(floats.log2, floats=True),
    "log10": Operation(floats.log10, floats=True),
    "hypot": Operation(floats.hypot, floats=True),
    "logical_and": Operation(build.land, logical=True, gives=BOOL),
    "logical_or": Operation(build.lor, logical=True, gives=BOOL),
    "logical_xor": Operation(build.ne, logical=True, gives=BOOL),
    "logical_not": Operation(build.lnot, logical=True, gives=BOOL),
    **{name: Operation(make, gives=BOOL) for name, make in _COMPARISONS.items()},
    **{name: Operation(_float(op), floats=True) for name, op in _FLOATS.items()},
}

__all__ = [
    "OPERATIONS",
    "apply",
    "cast",
    "clip",
    "common_type",
    "convert",
    "truth",
    "where",
]
