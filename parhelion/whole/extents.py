"""Extents of arrays as the numbers that a function of arrays computes with.

In NumPy the extents of an array are Python ints: they divide to a float, and take the
type of what they stand beside. So they do here, though they are known only at a call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from parhelion.ir import build
from parhelion.ir.build import int32
from parhelion.ir.expr import Expr as Node
from parhelion.lang.convert import is_literal
from parhelion.lang.expr import Expr, wrap
from parhelion.types import INT32, Int
from parhelion.whole.core import Whole, number
from parhelion.whole.elementwise import OPERATIONS, apply

if TYPE_CHECKING:
    import numpy as np


class Extent(Expr):
    """An extent that is open until a call, or a number that is made of such.

    With Python numbers and other extents it computes as a Python number does. Whole
    numbers stay int32, so that they can be ends of slices. An array takes it as it
    takes a Python number, and other expressions by the rules of the language.
    """

    __slots__ = ()

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any
    ) -> Any:
        """NumPy's functions of an array are the array's; roots and the like of numbers
        are float64, as NumPy's."""
        if any([_is_array(one) for one in inputs]):
            return NotImplemented
        operation = OPERATIONS.get(ufunc.__name__)
        if operation is None or not operation.floats or method != "__call__":
            return super().__array_ufunc__(ufunc, method, *inputs, **options)
        if options or not all([_is_number(one) for one in inputs]):
            return super().__array_ufunc__(ufunc, method, *inputs, **options)
        return wrap(apply(ufunc.__name__, *[_operand(one) for one in inputs]).value)

    def __add__(self, other: Any) -> Any:
        return _made("add", (self, other), super().__add__)

    def __radd__(self, other: Any) -> Any:
        return _made("add", (other, self), super().__radd__)

    def __sub__(self, other: Any) -> Any:
        return _made("subtract", (self, other), super().__sub__)

    def __rsub__(self, other: Any) -> Any:
        return _made("subtract", (other, self), super().__rsub__)

    def __mul__(self, other: Any) -> Any:
        return _made("multiply", (self, other), super().__mul__)

    def __rmul__(self, other: Any) -> Any:
        return _made("multiply", (other, self), super().__rmul__)

    def __truediv__(self, other: Any) -> Any:
        return _made("divide", (self, other), super().__truediv__)

    def __rtruediv__(self, other: Any) -> Any:
        return _made("divide", (other, self), super().__rtruediv__)

    def __floordiv__(self, other: Any) -> Any:
        return _made("floor_divide", (self, other), super().__floordiv__)

    def __rfloordiv__(self, other: Any) -> Any:
        return _made("floor_divide", (other, self), super().__rfloordiv__)

    def __mod__(self, other: Any) -> Any:
        return _made("remainder", (self, other), super().__mod__)

    def __rmod__(self, other: Any) -> Any:
        return _made("remainder", (other, self), super().__rmod__)

    def __pow__(self, other: Any) -> Any:
        return _made("power", (self, other), super().__pow__)

    def __rpow__(self, other: Any) -> Any:
        return _made("power", (other, self), super().__rpow__)

    def __neg__(self) -> Extent:
        return extent(apply("negative", _operand(self)).value)

    def __abs__(self) -> Extent:
        return extent(apply("absolute", _operand(self)).value)

    def __lt__(self, other: Any) -> Any:
        return NotImplemented if _is_array(other) else super().__lt__(other)

    def __le__(self, other: Any) -> Any:
        return NotImplemented if _is_array(other) else super().__le__(other)

    def __gt__(self, other: Any) -> Any:
        return NotImplemented if _is_array(other) else super().__gt__(other)

    def __ge__(self, other: Any) -> Any:
        return NotImplemented if _is_array(other) else super().__ge__(other)

    def __eq__(self, other: Any) -> Any:
        return NotImplemented if _is_array(other) else super().__eq__(other)

    def __ne__(self, other: Any) -> Any:
        return NotImplemented if _is_array(other) else super().__ne__(other)

    __hash__ = Expr.__hash__


def extent(node: Node) -> Extent:
    """The user's handle on an extent, or on a number that is made of extents."""
    made = object.__new__(Extent)
    made._node = node
    return made


def weak_whole(given: Extent) -> Whole:
    """An extent as a number that takes the type of what it stands beside."""
    value = given._node
    return Whole(
        build.cast(Int(64), value) if value.type is INT32 else value, (), (), weak=True
    )


def _made(name: str, given: tuple[Any, Any], other: Callable[[Any], Expr]) -> Any:
    """What an operation makes of two operands, by NumPy's name of it: a number of
    numbers, what the array says of an array, and else what the language says."""
    for one in given:
        if _is_array(one):
            return NotImplemented
        if not _is_number(one):
            return other(one)
    return extent(apply(name, *[_operand(one) for one in given]).value)


def _is_array(given: object) -> bool:
    return isinstance(getattr(given, "_whole", None), Whole)


def _is_number(given: object) -> bool:
    return isinstance(given, Extent) or is_literal(given)


def _operand(given: Any) -> Whole:
    if isinstance(given, Extent):
        return Whole(given._node, (), (), weak=True)
    if isinstance(given, int) and INT32.can_represent(given):
        return Whole(int32(given), (), (), weak=True)
    return number(given)


__all__ = ["Extent", "extent", "weak_whole"]
