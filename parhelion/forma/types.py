"""The types of Forma: numbers, structs of them, and domains of either."""

from __future__ import annotations

import enum

from parhelion.dataclass import dataclass
from parhelion.types import BOOL, Float, Int, Type


class Scalar(enum.Enum):
    """The types of numbers, the narrowest first. Integers are signed.

    A condition is what comparisons give; as a number it is the int 0 or 1.
    """

    CONDITION = "condition"
    INT8 = "int8"
    INT16 = "int16"
    INT = "int"
    FLOAT = "float"
    DOUBLE = "double"

    @property
    def is_float(self) -> bool:
        return self in (Scalar.FLOAT, Scalar.DOUBLE)

    @property
    def rank(self) -> int:
        """How wide the type is: each holds, perhaps rounded, what those below do."""
        return _RANK[self]

    @property
    def pixel(self) -> Type:
        """The type as the rest of Parhelion has it."""
        return _PIXEL[self]

    def holds(self, value: int) -> bool:
        """Whether an integer is a value of the type; floats round it."""
        if self.is_float:
            return True
        pixel = self.pixel
        return pixel.wrap(value) == value if self is not Scalar.CONDITION else False

    def __str__(self) -> str:
        return self.value


_RANK = {one: rank for rank, one in enumerate(Scalar)}
_PIXEL = {
    Scalar.CONDITION: BOOL,
    Scalar.INT8: Int(8),
    Scalar.INT16: Int(16),
    Scalar.INT: Int(32),
    Scalar.FLOAT: Float(32),
    Scalar.DOUBLE: Float(64),
}


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct of the program's: its fields in their order, and their types."""

    name: str
    fields: tuple[tuple[str, Scalar], ...]

    def type_of(self, field: str) -> Scalar | None:
        """The type of a field, None where there is none of that name."""
        return next((kind for name, kind in self.fields if name == field), None)

    def __str__(self) -> str:
        return self.name


#: What a point of a domain is.
Element = Scalar | Struct


def article(kind: Element) -> str:
    """The type as sentences have it: ``an int8``, ``a struct RGB``."""
    if isinstance(kind, Struct):
        return f"a struct {kind}"
    return f"{'an' if kind.value[0] == 'i' else 'a'} {kind}"


def promoted(a: Scalar, b: Scalar = Scalar.INT) -> Scalar:
    """The type in which arithmetic on two numbers is done: as in C, at least int."""
    return max(a, b, Scalar.INT, key=lambda one: one.rank)


__all__ = ["Element", "Scalar", "Struct", "article", "promoted"]
