"""The operators of whole arrays: NumPy's functions, under Python's signs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeAlias

from parhelion.lang.expr import Arithmetic
from parhelion.whole.core import Whole
from parhelion.whole.elementwise import apply
from parhelion.whole.operands import operand
from parhelion.whole.products import matmul

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: What stands beside an array.
ArrayLike: TypeAlias = (
    "Operators | int | float | np.generic | NDArray[Any] | Arithmetic"
)


class Operators:
    """Python's operators for a class that holds a `Whole`, applied to all elements."""

    __slots__ = ("_whole",)
    _whole: Whole

    @classmethod
    def _of(cls, whole: Whole) -> Self:
        made = cls.__new__(cls)
        made._whole = whole
        return made

    def _applied(self, name: str, *given: object) -> Self:
        """What an operation makes of its operands, by NumPy's name of it."""
        return self._of(apply(name, *[operand(g) for g in given]))

    def __add__(self, other: ArrayLike) -> Self:
        return self._applied("add", self, other)

    def __radd__(self, other: ArrayLike) -> Self:
        return self._applied("add", other, self)

    def __sub__(self, other: ArrayLike) -> Self:
        return self._applied("subtract", self, other)

    def __rsub__(self, other: ArrayLike) -> Self:
        return self._applied("subtract", other, self)

    def __mul__(self, other: ArrayLike) -> Self:
        return self._applied("multiply", self, other)

    def __rmul__(self, other: ArrayLike) -> Self:
        return self._applied("multiply", other, self)

    def __truediv__(self, other: ArrayLike) -> Self:
        return self._applied("divide", self, other)

    def __rtruediv__(self, other: ArrayLike) -> Self:
        return self._applied("divide", other, self)

    def __floordiv__(self, other: ArrayLike) -> Self:
        return self._applied("floor_divide", self, other)

    def __rfloordiv__(self, other: ArrayLike) -> Self:
        return self._applied("floor_divide", other, self)

    def __mod__(self, other: ArrayLike) -> Self:
        return self._applied("remainder", self, other)

    def __rmod__(self, other: ArrayLike) -> Self:
        return self._applied("remainder", other, self)

    def __pow__(self, other: ArrayLike) -> Self:
        return self._applied("power", self, other)

    def __rpow__(self, other: ArrayLike) -> Self:
        return self._applied("power", other, self)

    def __and__(self, other: ArrayLike) -> Self:
        return self._applied("bitwise_and", self, other)

    def __rand__(self, other: ArrayLike) -> Self:
        return self._applied("bitwise_and", other, self)

    def __or__(self, other: ArrayLike) -> Self:
        return self._applied("bitwise_or", self, other)

    def __ror__(self, other: ArrayLike) -> Self:
        return self._applied("bitwise_or", other, self)

    def __xor__(self, other: ArrayLike) -> Self:
        return self._applied("bitwise_xor", self, other)

    def __rxor__(self, other: ArrayLike) -> Self:
        return self._applied("bitwise_xor", other, self)

    def __lshift__(self, other: ArrayLike) -> Self:
        return self._applied("left_shift", self, other)

    def __rlshift__(self, other: ArrayLike) -> Self:
        return self._applied("left_shift", other, self)

    def __rshift__(self, other: ArrayLike) -> Self:
        return self._applied("right_shift", self, other)

    def __rrshift__(self, other: ArrayLike) -> Self:
        return self._applied("right_shift", other, self)

    def __matmul__(self, other: ArrayLike) -> Self:
        return self._of(matmul(self, other))

    def __rmatmul__(self, other: ArrayLike) -> Self:
        return self._of(matmul(other, self))

    def __lt__(self, other: ArrayLike) -> Self:
        return self._applied("less", self, other)

    def __le__(self, other: ArrayLike) -> Self:
        return self._applied("less_equal", self, other)

    def __gt__(self, other: ArrayLike) -> Self:
        return self._applied("greater", self, other)

    def __ge__(self, other: ArrayLike) -> Self:
        return self._applied("greater_equal", self, other)

    def __eq__(self, other: ArrayLike) -> Self:  # type: ignore[override]
        return self._applied("equal", self, other)

    def __ne__(self, other: ArrayLike) -> Self:  # type: ignore[override]
        return self._applied("not_equal", self, other)

    #: By identity, as ``==`` makes an Array.
    __hash__ = object.__hash__

    def __neg__(self) -> Self:
        return self._applied("negative", self)

    def __pos__(self) -> Self:
        return self

    def __invert__(self) -> Self:
        return self._applied("invert", self)

    def __abs__(self) -> Self:
        return self._applied("absolute", self)


__all__ = ["ArrayLike", "Operators"]
