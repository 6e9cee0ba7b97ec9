"""From Python values to typed nodes: the rule for literals.

A Python number is weakly typed: beside a typed operand it takes that operand's type,
and must fit it. Beside an integer a float literal is a Float(32). Alone, an int is an
Int(32) (an Int(64) if it needs to be) and a float a Float(32). NumPy scalars are
typed: they keep their own type.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from parhelion.errors import LiteralError, TypeMismatchError, here
from parhelion.ir.build import cast, imm
from parhelion.ir.expr import Expr as Node
from parhelion.lang.checked import a_kind
from parhelion.types import BOOL, Float, Int, Type, UInt, promote

FLOAT32 = Float(32)

#: The Python types whose values have no type of their own.
Literal = int | float | bool
_WEAK = (bool, int, float)


#: What names a type: hl.UInt(8), "uint8", np.uint8, np.dtype("uint8"), or bool.
TypeLike: TypeAlias = "Type | str | type | np.dtype[Any]"


def check_type(given: object, what: str) -> Type:
    """The scalar type that `given` is, or names as NumPy does; else raises
    TypeMismatchError, which says what may have been meant. what: ``an ImageParam
    has``."""
    if isinstance(given, Type):
        if given.is_scalar():
            return given
    elif names_type(given):
        return Type.from_numpy(given)
    raise TypeMismatchError(
        f"{what} a scalar type such as hl.UInt(8) or 'uint8', not {given!r:.60}",
        at=here(),
        hint=_meant(given),
    )


def names_type(given: object) -> bool:
    """Whether a value is one of NumPy's types, or the name of one, that the language
    has. Python's own int and float are not: they do not say how many bits are meant."""
    if isinstance(given, str):
        known = given in _NUMPY_NAMES
    elif isinstance(given, type):
        known = given is bool or issubclass(given, np.generic)
    else:
        known = isinstance(given, np.dtype)
    if not known:
        return False
    try:
        Type.from_numpy(given)
    except TypeError:
        return False
    return True


_NUMPY_NAMES = frozenset(
    [
        *("bool", "float16", "float32", "float64"),
        *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    ]
)


def _meant(given: object) -> str:
    """Returns a hint about the type that was meant by a value that is no type, or
    ""."""
    for make in (Int, UInt, Float):
        if given is make:
            return f"call it with the number of bits: hl.{make.__name__}(32)"
    if given is int:
        return "an integer type has a number of bits: hl.Int(32), or 'int32'"
    if given is float:
        return "a float type has a number of bits: hl.Float(32), or 'float32'"
    return ""


def is_literal(x: object) -> bool:
    """Whether `x` is a Python number (a NumPy scalar is not)."""
    return type(x) in _WEAK or (isinstance(x, int | float) and not _is_numpy(x))


def _is_numpy(x: object) -> bool:
    return isinstance(x, np.generic)


def literal_as(value: Literal, to: Type) -> Node:
    """A literal beside an operand of type `to`; raises LiteralError if it does not fit.

    A float literal beside an integer or a Bool becomes a Float(32), so the result's
    type may differ from `to`.
    """
    if to.is_handle():
        raise TypeMismatchError(
            f"a number cannot stand beside a value of type {to}", at=here()
        )
    if isinstance(value, float):
        return _float_literal(value, to if to.is_float() else FLOAT32)
    if to.can_represent(int(value)):
        return imm(int(value), to)
    shown, small = number_text(int(value)), value.bit_length() <= 128
    if to.is_float():
        near = f"write {float(value)!r} if the nearest {to} is meant" if small else ""
        what = f"the integer {shown}" if small else shown
        raise LiteralError(f"{what} is not exact in {to}", at=here(), hint=near)
    what = f"the literal {shown}" if small else shown
    wrapped = f", or wrap the literal on purpose with hl.cast({_spelled(to)}, {shown})"
    raise LiteralError(
        f"{what} does not fit {to}, which holds {to.lowest()} to {to.highest()}",
        at=here(),
        hint="cast the other operand to a wider type first, e.g. hl.i32(...)"
        + (wrapped if small else ""),
    )


def number_text(value: float) -> str:
    """A number as a message shows it: an integer of many digits is told of."""
    if isinstance(value, int) and value.bit_length() > 128:
        return f"an integer of {value.bit_length()} bits"
    return repr(value)


def _float_literal(value: float, to: Type) -> Node:
    node = imm(value, to)
    if math.isinf(node.value) and not math.isinf(value):  # type: ignore[attr-defined]
        raise LiteralError(
            f"the literal {value!r} is too large for {to}",
            at=here(),
            hint="use a wider type, e.g. hl.f64(...)",
        )
    return node


def _spelled(t: Type) -> str:
    if t.is_bool():
        return "hl.Bool()"
    return f"hl.{t.kind.name}({t.width})"


def default_type(value: Literal) -> Type:
    """The type of a literal that stands alone."""
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, float):
        return FLOAT32
    for bits in (32, 64):
        if Int(bits).can_represent(value):
            return Int(bits)
    raise LiteralError(
        f"{number_text(int(value))} does not fit a 64-bit integer",
        at=here(),
        hint="an explicit cast wraps: hl.u64(...)",
    )


def node_or_none(x: object) -> Node | None:
    """The node of a typed value; None for a literal or what is no value at all."""
    node = getattr(x, "_node", None)
    if isinstance(node, Node):
        return node
    if isinstance(x, np.generic) or (isinstance(x, np.ndarray) and x.ndim == 0):
        t = Type.from_numpy(x.dtype)
        return imm(float(x) if t.is_float() else int(x), t)
    return None


def node_of(x: object) -> Node:
    """The node of any value, literals at their default type."""
    node = node_or_none(x)
    if node is not None:
        return node
    if isinstance(x, int | float):
        return literal_as(x, default_type(x))
    raise not_a_value(x)


def not_a_value(x: object) -> TypeMismatchError:
    """The error for an object that is no expression."""
    if isinstance(x, str):
        return TypeMismatchError(
            f"the string {x!r} is not a value; strings are for hl.print and hl.require",
            at=here(),
        )
    if isinstance(x, tuple | list):
        return TypeMismatchError(
            "several values stand where one expression is expected",
            at=here(),
            hint="a Func with several values is defined with hl.Tuple or a Python "
            "tuple, and its values are taken with f[x][0], f[x][1], …",
        )
    if isinstance(x, np.ndarray):
        return TypeMismatchError(
            f"a NumPy array of shape {x.shape} is not an expression",
            at=here(),
            hint="wrap it, hl.Buffer(array), and index it: buffer[x, y]",
        )
    hint = ""
    if hasattr(x, "_whole"):
        hint = (
            "NumPy's functions take Arrays, np.sqrt(a); a[y, x] is the value at a point"
        )
    return TypeMismatchError(
        f"{a_kind(x)} is not an expression: {x!r:.60}", at=here(), hint=hint
    )


def resolve(values: Sequence[object]) -> list[Node]:
    """The nodes of operands that stand together, each literal beside the others.

    Literals take the promotion of the typed operands' types; if there is none, the
    promotion of their default types. Typed operands stay as they are.
    """
    nodes = [node_or_none(v) for v in values]
    beside: Type | None = None
    for n in nodes:
        if n is not None:
            beside = n.type if beside is None else promote_types(beside, n.type)
    if beside is None:
        for v in values:
            t = default_type(v) if isinstance(v, int | float) else BOOL
            beside = t if beside is None else promote_types(beside, t)
    out: list[Node] = []
    for v, n in zip(values, nodes, strict=True):
        if n is not None:
            out.append(n)
        elif isinstance(v, int | float):
            assert beside is not None
            out.append(literal_as(v, beside))
        else:
            raise not_a_value(v)
    return out


def pair(a: object, b: object) -> tuple[Node, Node]:
    """`resolve` for two operands."""
    na, nb = node_or_none(a), node_or_none(b)
    if na is not None and nb is not None:
        return na, nb
    if na is not None and isinstance(b, int | float):
        return na, literal_as(b, na.type)
    if nb is not None and isinstance(a, int | float):
        return literal_as(a, nb.type), nb
    first, second = resolve((a, b))
    return first, second


def promote_types(a: Type, b: Type) -> Type:
    """`types.promote`, its error at the user's line."""
    try:
        return promote(a, b)
    except TypeMismatchError as e:
        raise TypeMismatchError(e.what, at=here()) from None


def promoted(a: Node, b: Node) -> tuple[Node, Node]:
    """Both nodes cast to their common type."""
    if a.type is b.type:
        return a, b
    t = promote_types(a.type, b.type)
    return cast(t, a), cast(t, b)


def matched(a: object, b: object) -> tuple[Node, Node]:
    """Two operands, literals resolved, cast to their common type."""
    return promoted(*pair(a, b))


def matched_all(values: Sequence[object]) -> list[Node]:
    """All operands, literals resolved, cast to their common type."""
    nodes = resolve(values)
    t = nodes[0].type
    for n in nodes[1:]:
        t = promote_types(t, n.type)
    return [cast(t, n) for n in nodes]
