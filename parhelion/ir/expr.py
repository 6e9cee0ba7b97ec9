"""The expressions of the intermediate representation, and what they mean.

Semantics:

- Every expression has a `Type`; both operands of a binary node have the same one.
  Vectors work lane by lane; nothing broadcasts by itself.
- Integers wrap at their width. `Div` and `Mod` of integers: the remainder is never
  negative; dividing by zero gives 0, and so does `Mod` by zero.
- Arithmetic on int32 loop variables and what is computed from them for indexing may
  be assumed not to overflow: `lower.overflow` checks that it does not. Values of pixels
  that may go so far are computed without sign (`lower.pin_casts`), and wrap.
- Float `Min(a, b)` is ``select(b < a, b, a)`` and `Max(a, b)` is
  ``select(b > a, b, a)``: their operands do not commute.
- `Select`, `And` and `Or` evaluate all operands; none of them traps.
- `Cast` float to int truncates, out of range is unspecified but never traps; int to
  narrower int wraps; to Bool is ``x != 0``.
- There is no `GT` or `GE`: ``a > b`` is built as ``b < a``.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, ClassVar

from parhelion.errors import TypeMismatchError, here, internal_assert
from parhelion.ir.node import Node, node
from parhelion.tracebacks import leave
from parhelion.types import Bool, Type, round_float

if TYPE_CHECKING:
    from parhelion.ir.function import Function
    from parhelion.ir.symbols import BufferSym


class Expr(Node):
    """Base of expression nodes.

    The slots that begin with an underscore cache facts about the node; the module
    that computes a fact names its slot and is the only one that writes it, through
    ``Expr._slot.__set__(node, value)``. A fact never refers to its own node.
    """

    __slots__ = ("_free", "_interval", "_linear", "_modulus", "_rank", "_digest")
    type: Type


@node
class Imm(Expr):
    """An integer or Bool constant, already wrapped to its type."""

    type: Type
    value: int


@node
class FloatImm(Expr):
    """A float constant, kept by the bits of its own format (so -0.0 is not 0.0)."""

    type: Type
    bits: int

    @property
    def value(self) -> float:
        if self.type.is_bfloat():
            return float(struct.unpack("f", struct.pack("I", self.bits << 16))[0])
        code = {16: "He", 32: "If", 64: "Qd"}[self.type.width]
        return float(struct.unpack(code[1], struct.pack(code[0], self.bits))[0])


def float_bits(value: int | float, to: Type) -> int:
    """The bits of `value` rounded to the float type `to`."""
    rounded = round_float(value, to)
    if to.is_bfloat():
        return int(struct.unpack("I", struct.pack("f", rounded))[0]) >> 16
    code = {16: "He", 32: "If", 64: "Qd"}[to.width]
    return int(struct.unpack(code[0], struct.pack(code[1], rounded))[0])


@node
class StringImm(Expr):
    """A string constant: only an argument of `Intrinsic` calls such as print."""

    type: Type
    value: str


class Var(Expr):
    """A named scalar: loop variable, let, run-time parameter or a user's pure Var.

    Each Var is a unique object (two Vars with one name differ), so substitution
    never captures. `name` is for eyes; generated names are unique in a compile.

    lo, hi: inclusive bounds that hold wherever the Var is in scope, or None.
    value: for a let, the expression that it stands for.
    origin: what it belongs to: a `ParamSym`, an `(image, "extent", 0)` triple, a
        `ReductionDomain`, or None.
    loop: of a lowered loop, which one of the schedule it is (a `LoopId`), or None.
    """

    __slots__ = ("type", "name", "lo", "hi", "value", "origin", "loop", "__weakref__")
    type: Type
    name: str
    lo: Expr | None
    hi: Expr | None
    value: Expr | None
    origin: Any
    loop: Any
    FIELDS: ClassVar[tuple[str, ...]] = ("type", "name")
    __match_args__ = ("type", "name")

    def __new__(
        cls,
        name: str,
        type: Type,
        *,
        lo: Expr | None = None,
        hi: Expr | None = None,
        value: Expr | None = None,
        origin: Any = None,
        loop: Any = None,
    ) -> Var:
        made = object.__new__(cls)
        set_slot = object.__setattr__
        set_slot(made, "name", name)
        set_slot(made, "type", type)
        set_slot(made, "lo", lo)
        set_slot(made, "hi", hi)
        set_slot(made, "value", value)
        set_slot(made, "origin", origin)
        set_slot(made, "loop", loop)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """Refused: another process would have a Var that no Func of it knows."""
        try:
            raise TypeMismatchError(
                "a Var, and what is made of Vars, an expression, an RDom, a Param, an"
                " ImageParam or an Array, does not pickle by itself: where it is read"
                " it would belong to no Func",
                at=here(),
                hint="pickle the Func or the Pipeline, with which its images and Params"
                " go; pipeline.get_image(0) is the first image of what is read;"
                " np.asarray(array) has the numbers of an Array",
            )
        except TypeMismatchError as error:
            leave(error)
            raise

    def __repr__(self) -> str:
        return f"<Var {self.name}: {self.type}>"


class _Binary(Expr):
    """Two operands of one type."""

    __slots__ = ()
    a: Expr
    b: Expr

    def CHECK(self) -> None:
        if self.a.type is not self.b.type:
            internal_assert(
                False,
                f"{type(self).__name__} of {self.a.type} and {self.b.type}",
            )


@node
class Cast(Expr):
    """`a` converted to `type`."""

    type: Type
    a: Expr


@node
class Reinterpret(Expr):
    """The bits of `a` read as `type` (the same number of bits in all)."""

    type: Type
    a: Expr


@node
class Add(_Binary):
    TYPE = "a.type"
    a: Expr
    b: Expr


@node
class Sub(_Binary):
    TYPE = "a.type"
    a: Expr
    b: Expr


@node
class Mul(_Binary):
    TYPE = "a.type"
    a: Expr
    b: Expr


@node
class Div(_Binary):
    """Integers: rounds so that the remainder is not negative; by zero gives 0."""

    TYPE = "a.type"
    a: Expr
    b: Expr


@node
class Mod(_Binary):
    """Integers: never negative, less than ``abs(b)``; by zero gives 0."""

    TYPE = "a.type"
    a: Expr
    b: Expr


@node
class Min(_Binary):
    """``select(b < a, b, a)``"""

    TYPE = "a.type"
    a: Expr
    b: Expr


@node
class Max(_Binary):
    """``select(b > a, b, a)``"""

    TYPE = "a.type"
    a: Expr
    b: Expr


@node
class EQ(_Binary):
    TYPE = "Bool(a.type.count)"
    a: Expr
    b: Expr


@node
class NE(_Binary):
    TYPE = "Bool(a.type.count)"
    a: Expr
    b: Expr


@node
class LT(_Binary):
    TYPE = "Bool(a.type.count)"
    a: Expr
    b: Expr


@node
class LE(_Binary):
    TYPE = "Bool(a.type.count)"
    a: Expr
    b: Expr


@node
class And(_Binary):
    TYPE = "a.type"
    a: Expr
    b: Expr


@node
class Or(_Binary):
    TYPE = "a.type"
    a: Expr
    b: Expr


@node
class Not(Expr):
    TYPE = "a.type"
    a: Expr


@node
class Select(Expr):
    """`a` where `cond` holds, else `b`. A scalar `cond` may choose whole vectors."""

    TYPE = "a.type"
    cond: Expr
    a: Expr
    b: Expr

    def CHECK(self) -> None:
        internal_assert(
            self.a.type is self.b.type
            and self.cond.type.is_bool()
            and self.cond.type.count in (1, self.a.type.count),
            f"select({self.cond.type}, {self.a.type}, {self.b.type})",
        )


@node
class Let(Expr):
    """`body`, in which `var` stands for `value`."""

    TYPE = "body.type"
    var: Var
    value: Expr
    body: Expr


@node
class Load(Expr):
    """Elements of a flat buffer at `index` (in elements; a vector loads lanes).

    `predicate`, where given, is a Bool per lane: masked-off lanes are not touched
    and read as zero.
    """

    type: Type
    buffer: BufferSym
    index: Expr
    predicate: Expr | None


@node
class Ramp(Expr):
    """``base, base + stride, base + 2 * stride, …``: `lanes` scalars in a vector."""

    TYPE = "base.type.with_lanes(lanes)"
    base: Expr
    stride: Expr
    lanes: int


@node
class Broadcast(Expr):
    """`lanes` copies of a scalar."""

    TYPE = "value.type.with_lanes(lanes)"
    value: Expr
    lanes: int


@node
class Shuffle(Expr):
    """Lanes chosen by `indices` from the concatenation of `vectors`."""

    TYPE = "vectors[0].type.with_lanes(len(indices))"
    vectors: tuple[Expr, ...]
    indices: tuple[int, ...]


@node
class VectorReduce(Expr):
    """Groups of adjacent lanes folded by `op` ("add", "mul", "min", "max", "and",
    "or") into `lanes` lanes."""

    TYPE = "value.type.with_lanes(lanes)"
    op: str
    value: Expr
    lanes: int


@node
class FuncCall(Expr):
    """The `index`-th value of a Func at integer coordinates. Gone after flattening."""

    type: Type
    func: Function
    args: tuple[Expr, ...]
    index: int


@node
class ImageLoad(Expr):
    """A pixel of an input image at coordinates. Gone after flattening."""

    type: Type
    image: BufferSym
    args: tuple[Expr, ...]


@node
class Intrinsic(Expr):
    """A built-in operation of `ir.intrinsics.INTRINSICS`, by name."""

    type: Type
    op: str
    args: tuple[Expr, ...]


@node
class Extern(Expr):
    """A call of the C function `name`, taken to be pure."""

    type: Type
    name: str
    args: tuple[Expr, ...]


BINARY = (Add, Sub, Mul, Div, Mod, Min, Max, EQ, NE, LT, LE, And, Or)
COMPARISONS = (EQ, NE, LT, LE)

__all__ = [
    "BINARY",
    "COMPARISONS",
    "EQ",
    "LE",
    "LT",
    "NE",
    "Add",
    "And",
    "Bool",
    "Broadcast",
    "Cast",
    "Div",
    "Expr",
    "Extern",
    "FloatImm",
    "FuncCall",
    "ImageLoad",
    "Imm",
    "Intrinsic",
    "Let",
    "Load",
    "Max",
    "Min",
    "Mod",
    "Mul",
    "Not",
    "Or",
    "Ramp",
    "Reinterpret",
    "Select",
    "Shuffle",
    "StringImm",
    "Sub",
    "Var",
    "VectorReduce",
    "float_bits",
]
