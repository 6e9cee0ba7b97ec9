"""The words of Forma in Python: types, boundary conditions, math functions, places.

They stand in functions that are read, not run, and do nothing by themselves. For tools
that check types they are what is close to them in Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from parhelion.errors import FormaError, here

_T = TypeVar("_T")


class Word:
    """A word of Forma's, by its name there."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *args: object) -> Any:
        raise unread(f"'{self.name}'")

    def __repr__(self) -> str:
        return f"forma.{self.name}"


class TypeWord(Word):
    """A type of numbers, which converts where it is called."""


class MathWord(Word):
    """A math function."""


class BoundaryWord(Word):
    """A boundary condition of the argument that it is put around."""


def unread(what: str) -> FormaError:
    """The error that a word runs as Python, where it does nothing."""
    return FormaError(
        f"{what} has a meaning in functions of Forma alone, which Python does not run",
        at=here(),
        hint="write it under @forma.stencil, @forma.vector or @forma.program",
    )


if TYPE_CHECKING:
    int8 = int
    int16 = int
    double = float
else:
    int8 = TypeWord("int8")
    int16 = TypeWord("int16")
    double = TypeWord("double")

constant = BoundaryWord("constant")
clamped = BoundaryWord("clamped")
mirror = BoundaryWord("mirror")
wrap = BoundaryWord("wrap")

abs = MathWord("abs")
acos = MathWord("acos")
asin = MathWord("asin")
atan = MathWord("atan")
atan2 = MathWord("atan2")
ceil = MathWord("ceil")
cos = MathWord("cos")
cosh = MathWord("cosh")
exp = MathWord("exp")
floor = MathWord("floor")
log = MathWord("log")
max = MathWord("max")
min = MathWord("min")
pow = MathWord("pow")
round = MathWord("round")
sin = MathWord("sin")
sinh = MathWord("sinh")
sqrt = MathWord("sqrt")
tan = MathWord("tan")
tanh = MathWord("tanh")
trunc = MathWord("trunc")


class Vector(Any, Generic[_T]):  # type: ignore[misc]  # as it stands for its points
    """A domain: as the type of an argument, ``X: Vector2[float]``, and called with its
    sizes an input of a program, ``photo = Vector2[float](M, N)``."""

    dimensions: int

    def __new__(cls, *sizes: object) -> Self:
        raise unread(f"'Vector{cls.dimensions}'")


class Vector1(Vector[_T]):
    """A domain of one dimension."""

    dimensions = 1


class Vector2(Vector[_T]):
    """A domain of two dimensions: an image."""

    dimensions = 2


class Vector3(Vector[_T]):
    """A domain of three dimensions."""

    dimensions = 3


class Vector4(Vector[_T]):
    """A domain of four dimensions."""

    dimensions = 4


class Vector5(Vector[_T]):
    """A domain of five dimensions."""

    dimensions = 5


class Vector6(Vector[_T]):
    """A domain of six dimensions."""

    dimensions = 6


class Vector7(Vector[_T]):
    """A domain of seven dimensions."""

    dimensions = 7


class Vector8(Vector[_T]):
    """A domain of eight dimensions."""

    dimensions = 8


class Places:
    """Where the points of a domain go: ``at[(0, 2), 0]`` puts point i to 0 + 2 * i, and
    ``at[3:, 5:]`` behind three columns and five rows.

    One domain is put there by ``wide = at[(0, 2), 0](x)``, several are composed by a
    dictionary: ``{at[(0, 2), 0]: even(x), at[(1, 2), 0]: odd(x)}``.
    """

    def __getitem__(self, place: object) -> Word:
        raise unread("'at'")

    def __repr__(self) -> str:
        return "forma.at"


at = Places()

__all__ = [
    "BoundaryWord",
    "MathWord",
    "Places",
    "TypeWord",
    "Vector",
    "Vector1",
    "Vector2",
    "Vector3",
    "Vector4",
    "Vector5",
    "Vector6",
    "Vector7",
    "Vector8",
    "Word",
    "abs",
    "acos",
    "asin",
    "at",
    "atan",
    "atan2",
    "ceil",
    "clamped",
    "constant",
    "cos",
    "cosh",
    "double",
    "exp",
    "floor",
    "int16",
    "int8",
    "log",
    "max",
    "min",
    "mirror",
    "pow",
    "round",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
    "unread",
    "wrap",
]
