"""The types of pixels: a kind, a width in bits and a number of vector lanes.

Types are interned: two equal types are one object, so ``is`` compares them.
"""

from __future__ import annotations

import enum
import math
from typing import TYPE_CHECKING

from parhelion.errors import TypeMismatchError, here

if TYPE_CHECKING:
    import numpy as np

    from parhelion.lang.expr import Expr


class TypeCode(enum.IntEnum):
    """The kinds of number, with the values that Halide's public header gives them."""

    Int = 0
    UInt = 1
    Float = 2
    Handle = 3
    BFloat = 4


#: The kinds again: to look up a member of an enumeration takes CPython 3.11 as long as
#: a call, and types are asked for their kind hundreds of thousands of times a compile.
_INT, _UINT, _FLOAT = TypeCode.Int, TypeCode.UInt, TypeCode.Float
_HANDLE, _BFLOAT = TypeCode.Handle, TypeCode.BFloat


class Type:
    """The type of a pixel or a vector of them; made by `Int`, `UInt`, `Float`, `Bool`,
    ….

    Equal types are one object: ``hl.Int(8) is hl.Int(8)``. The compiler reads the slots
    ``kind``, ``width`` (bits of one lane) and ``count`` (lanes); the methods are
    Halide's. ``hl.Type()`` is the type of nothing: of 0 bits and 0 lanes. Raises
    TypeMismatchError for widths that there are not, and for less than one lane.

    >>> hl.UInt(8).bits(), hl.UInt(8).highest(), hl.UInt(8).with_bits(16)
    (8, 255, <parhelion.Type uint16>)
    """

    __slots__ = ("kind", "width", "count", "_range", "__weakref__")
    kind: TypeCode
    width: int
    count: int
    _range: tuple[int | float, int | float]

    _table: dict[tuple[int, int, int], Type] = {}

    def __new__(
        cls, code: TypeCode = TypeCode.Handle, bits: int = 0, lanes: int | None = None
    ) -> Type:
        if lanes is None:
            lanes = 0 if bits == 0 and code == TypeCode.Handle else 1
        key = (code, bits, lanes)
        found = cls._table.get(key)
        if found is not None:
            return found
        for what, number in (("code", code), ("width", bits), ("lanes", lanes)):
            if not hasattr(type(number), "__index__"):
                raise TypeMismatchError(
                    f"the {what} of a type is an integer, not {number!r:.60}", at=here()
                )
        nothing = (code, bits, lanes) == (TypeCode.Handle, 0, 0)
        if bits not in _WIDTHS[TypeCode(code)] and not nothing:
            raise TypeMismatchError(
                f"there is no {bits}-bit {TypeCode(code).name} type; "
                f"the widths are {', '.join(map(str, _WIDTHS[TypeCode(code)]))}",
                at=here(),
            )
        if lanes < 1 and not nothing:
            raise TypeMismatchError(
                f"a type has at least one lane, not {lanes}", at=here()
            )
        made = object.__new__(cls)
        made.kind, made.width, made.count = TypeCode(code), bits, lanes
        made._range = _range_of(made.kind, bits)
        return cls._table.setdefault(key, made)

    def __reduce__(self) -> tuple[type[Type], tuple[TypeCode, int, int]]:
        return Type, (self.kind, self.width, self.count)

    def __copy__(self) -> Type:
        return self

    def __deepcopy__(self, memo: object) -> Type:
        return self

    # The public accessors (Halide's names).
    def code(self) -> TypeCode:
        """Returns the kind: Int, UInt, Float, BFloat or Handle."""
        return self.kind

    def bits(self) -> int:
        """Returns the width of one lane in bits."""
        return self.width

    def bytes(self) -> int:
        """Returns the storage of one lane in bytes; a Bool takes one."""
        return (self.width + 7) // 8

    def lanes(self) -> int:
        """Returns the number of lanes: 1 for a scalar."""
        return self.count

    def is_int(self) -> bool:
        """Returns whether this is a signed integer."""
        return self.kind is _INT

    def is_uint(self) -> bool:
        """Returns whether this is an unsigned integer, as a Bool is."""
        return self.kind is _UINT

    def is_bool(self) -> bool:
        """Returns whether this is a Bool."""
        return self.kind is _UINT and self.width == 1

    def is_float(self) -> bool:
        """Returns whether this is a float of any kind."""
        return self.kind is _FLOAT or self.kind is _BFLOAT

    def is_bfloat(self) -> bool:
        """Returns whether this is a brain float."""
        return self.kind is _BFLOAT

    def is_handle(self) -> bool:
        """Returns whether this is a pointer."""
        return self.kind is _HANDLE

    def is_int_or_uint(self) -> bool:
        """Returns whether this is an integer or a Bool."""
        return self.kind is _INT or self.kind is _UINT

    def is_scalar(self) -> bool:
        """Returns whether there is one lane."""
        return self.count == 1

    def is_vector(self) -> bool:
        """Returns whether there are several lanes."""
        return self.count > 1

    def same_handle_type(self, other: Type) -> bool:
        """Returns whether both are pointers."""
        return self.is_handle() and other.is_handle()

    def element_of(self) -> Type:
        """Returns the type of one lane."""
        return self if self.count == 1 else Type(self.kind, self.width, 1)

    def with_bits(self, bits: int) -> Type:
        """Returns the same kind of type with another width in bits."""
        return Type(self.kind, bits, self.count)

    def with_lanes(self, lanes: int) -> Type:
        """Returns the same type with another number of lanes."""
        return self if lanes == self.count else Type(self.kind, self.width, lanes)

    def with_code(self, code: TypeCode) -> Type:
        """Returns the type of the same width and another kind."""
        return Type(code, self.width, self.count)

    # Ranges. The limits are Python numbers; `lang` wraps them for users.
    def lowest(self) -> int | float:
        """Returns the least value of one lane; minus infinity for floats."""
        return self._range[0]

    def highest(self) -> int | float:
        """Returns the greatest value of one lane; infinity for floats."""
        return self._range[1]

    def is_max(self, value: int) -> bool:
        """Returns whether a value is the greatest of one lane; False for floats."""
        return self.is_int_or_uint() and value == self._range[1]

    def is_min(self, value: int) -> bool:
        """Returns whether a value is the least of one lane; False for floats.

        >>> hl.Int(8).is_min(-128), hl.UInt(8).is_max(127)
        (True, False)
        """
        return self.is_int_or_uint() and value == self._range[0]

    if TYPE_CHECKING:  # `lang.functions` provides them: they build expressions

        def min(self) -> Expr:
            """Returns the least value of one lane, as an expression."""

        def max(self) -> Expr:
            """Returns the greatest value of one lane, as an expression."""

    def can_represent(self, value: Type | int | float) -> bool:
        """Returns whether every value of a type, or one number, is exact in this
        type."""
        if isinstance(value, Type):
            return self._can_represent_type(value)
        if self.is_int_or_uint():
            if isinstance(value, float) and not value.is_integer():
                return False
            return self.lowest() <= value <= self.highest()
        if self.is_handle():
            return False
        return round_float(value, self) == value or value != value

    def _can_represent_type(self, other: Type) -> bool:
        if other is self:
            return True
        if self.is_handle() or other.is_handle() or self.count != other.count:
            return False
        if self.is_int_or_uint():
            if not other.is_int_or_uint():
                return False
            return self.lowest() <= other.lowest() and other.highest() <= self.highest()
        mantissa = _MANTISSA[self.kind, self.width]
        if other.is_int_or_uint():
            return other.width - (1 if other.is_int() else 0) <= mantissa and (
                self.width > 16 or other.width <= 11
            )
        return mantissa >= _MANTISSA[other.kind, other.width] and not (
            self.kind is _FLOAT and self.width == 16 and other.kind is _BFLOAT
        )

    def wrap(self, value: int) -> int:
        """Returns `value` modulo two to the width, in the range of this integer
        type."""
        value &= (1 << self.width) - 1
        if self.kind is _INT and value >> (self.width - 1):
            value -= 1 << self.width
        return value

    def to_numpy(self) -> np.dtype:
        """Returns the NumPy dtype of one lane; uint16 for BFloat(16), which NumPy
        lacks."""
        import numpy as np

        if self.is_bool():
            return np.dtype(np.bool_)
        if self.kind is _HANDLE:
            return np.dtype(np.uint64)
        if self.kind is _BFLOAT:
            return np.dtype(np.uint16)
        letter = {TypeCode.Int: "i", TypeCode.UInt: "u", TypeCode.Float: "f"}
        return np.dtype(f"{letter[self.kind]}{self.width // 8}")

    @staticmethod
    def from_numpy(dtype: object) -> Type:
        """Returns the type of an array's elements. Raises TypeMismatchError if none
        fits.

        >>> hl.Type.from_numpy(np.uint8)
        <parhelion.Type uint8>
        """
        import numpy as np

        dt = np.dtype(dtype)  # type: ignore[call-overload]
        if dt.kind == "b":
            return Bool()
        codes = {"i": TypeCode.Int, "u": TypeCode.UInt, "f": TypeCode.Float}
        code = codes.get(dt.kind)
        if code is None or dt.itemsize * 8 not in _WIDTHS[code]:
            raise TypeMismatchError(
                f"arrays of dtype {dt} have no matching pixel type",
                at=here(),
                hint="pixels are integers, floats or bools: array.astype(np.float32), "
                "if its elements are real numbers",
            )
        return Type(code, dt.itemsize * 8)

    def __str__(self) -> str:
        if self.is_bool():
            name = "bool"
        elif self.is_handle():
            name = "handle"
        else:
            name = f"{self.kind.name.lower()}{self.width}"
        if self.count == 0:
            return "handle0"  # as Halide calls it
        return name if self.count == 1 else f"{name}x{self.count}"

    def __repr__(self) -> str:
        return f"<parhelion.Type {self}>"


def _range_of(kind: TypeCode, width: int) -> tuple[int | float, int | float]:
    """The least and the greatest value of one lane."""
    if kind is _INT:
        return -(1 << (width - 1)), (1 << (width - 1)) - 1
    if kind is _UINT:
        return 0, (1 << width) - 1
    return -math.inf, math.inf


_WIDTHS: dict[TypeCode, tuple[int, ...]] = {
    TypeCode.Int: (8, 16, 32, 64),
    TypeCode.UInt: (1, 8, 16, 32, 64),
    TypeCode.Float: (16, 32, 64),
    TypeCode.Handle: (64,),
    TypeCode.BFloat: (16,),
}

#: Bits of significand, the hidden one included.
_MANTISSA: dict[tuple[TypeCode, int], int] = {
    (TypeCode.Float, 16): 11,
    (TypeCode.Float, 32): 24,
    (TypeCode.Float, 64): 53,
    (TypeCode.BFloat, 16): 8,
}


def round_float(value: int | float, to: Type) -> float:
    """`value` rounded once, to the nearest number of the float type `to`; ties to
    even."""
    import struct

    if isinstance(value, int):
        value = _as_double(value, to)
    if to.width == 64:
        return value
    if to.kind is _BFLOAT:
        return _round_to_bfloat16(value)
    code = "e" if to.width == 16 else "f"
    try:
        return float(struct.unpack(code, struct.pack(code, value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _as_double(value: int, to: Type) -> float:
    """An integer as a float64 that is rounded to `to` next. What is dropped shows in
    its last bit, which is odd then: the next rounding is the only one."""
    excess = value.bit_length() - 53
    kept = abs(value)
    if to.width < 64 and excess > 0:
        kept >>= excess
        kept = (kept | 1 if kept << excess != abs(value) else kept) << excess
    try:
        return float(kept if value >= 0 else -kept)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _round_to_bfloat16(value: float) -> float:
    if value == 0.0 or not math.isfinite(value):
        return value
    if abs(value) >= 2.0**128:
        return math.copysign(math.inf, value)
    # In units of the last of 8 digits, or of the least number that there is.
    unit = max(math.frexp(value)[1] - 8, -133)
    rounded = math.ldexp(round(math.ldexp(value, -unit)), unit)
    if rounded == 0.0:
        return math.copysign(0.0, value)
    return rounded if abs(rounded) < 2.0**128 else math.copysign(math.inf, value)


def Int(bits: int, lanes: int = 1) -> Type:
    """Returns a signed integer type of 8, 16, 32 or 64 bits.

    Raises TypeMismatchError for other widths.

    >>> hl.Int(16)
    <parhelion.Type int16>
    """
    return Type(TypeCode.Int, bits, lanes)


def UInt(bits: int, lanes: int = 1) -> Type:
    """Returns an unsigned integer type of 1 (Bool), 8, 16, 32 or 64 bits.

    Raises TypeMismatchError for other widths.

    >>> hl.UInt(8)
    <parhelion.Type uint8>
    """
    return Type(TypeCode.UInt, bits, lanes)


def Float(bits: int, lanes: int = 1) -> Type:
    """Returns an IEEE float type of 16, 32 or 64 bits.

    Raises TypeMismatchError for other widths.

    >>> hl.Float(32)
    <parhelion.Type float32>
    """
    return Type(TypeCode.Float, bits, lanes)


def BFloat(bits: int = 16, lanes: int = 1) -> Type:
    """Returns the 16-bit brain float type: a Float(32) without its low 16 bits.

    >>> hl.BFloat()
    <parhelion.Type bfloat16>
    """
    return Type(TypeCode.BFloat, bits, lanes)


def Bool(lanes: int = 1) -> Type:
    """Returns the type of comparisons: one bit, which is stored in one byte.

    >>> hl.Bool()
    <parhelion.Type bool>
    """
    return Type(TypeCode.UInt, 1, lanes)


def Handle(lanes: int = 1) -> Type:
    """Returns the type of pointers, of 64 bits.

    >>> hl.Handle()
    <parhelion.Type handle>
    """
    return Type(TypeCode.Handle, 64, lanes)


BOOL = Bool()
INT32 = Int(32)
INT64 = Int(64)


def promote(a: Type, b: Type) -> Type:
    """The common type of two scalar operands (DESIGN, Semantics, promotion).

    Two ints of one signedness: the wider. Mixed signedness: signed, of the wider
    width. An int with a float: that float. Two floats: the wider.
    """
    if a is b:
        return a
    if a.is_handle() or b.is_handle():
        raise TypeMismatchError(f"no arithmetic between {a} and {b}")
    if a.is_float() and b.is_float():
        if a.width == b.width:  # float16 with bfloat16: neither holds the other
            return Float(32, a.count)
        return a if a.width > b.width else b
    if a.is_float():
        return a
    if b.is_float():
        return b
    width = max(a.width, b.width)
    if a.kind is b.kind:
        return Type(a.kind, width, a.count)
    if width == 1:
        return Bool(a.count)
    return Int(width, a.count)
