"""``hl.where``, ``hl.clip``, ``hl.mean``, …: of whole arrays, and of expressions too.

`sum`, `max` and `min` of expressions are what they are without arrays: a sum over an
RDom, and the larger or smaller of several values.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, overload

from parhelion.errors import TypeMismatchError, here
from parhelion.lang import functions as expressions
from parhelion.lang import inline
from parhelion.lang.checked import a_kind
from parhelion.lang.expr import Expr, ExprLike
from parhelion.lang.func import Func
from parhelion.lang.rdom import RDom

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from parhelion.whole.array import Array
    from parhelion.whole.operators import ArrayLike
    from parhelion.whole.reductions import Axes

#: Loaded at the first use of arrays: most programs have none.
_ARRAYS = "parhelion.whole.array"


def _whole(*given: object) -> bool:
    """Whether there is an Array among some values."""
    arrays = sys.modules.get(_ARRAYS)
    return arrays is not None and any([isinstance(g, arrays.Array) for g in given])


@overload
def where(
    condition: Array, x: ArrayLike | ExprLike, y: ArrayLike | ExprLike
) -> Array: ...
@overload
def where(condition: ArrayLike, x: Array, y: ArrayLike | ExprLike) -> Array: ...
@overload
def where(condition: ArrayLike, x: ArrayLike | ExprLike, y: Array) -> Array: ...
@overload
def where(condition: ExprLike, x: ExprLike, y: ExprLike) -> Expr: ...
def where(condition: Any, x: Any, y: Any) -> Any:
    """Returns `x` where a condition holds, and `y` elsewhere, as `numpy.where`.

    Of arrays it is an array, whose shape all three fit. Of expressions it is as
    `select`.

    >>> a = hl.Array(np.array([1, 5, 3], np.uint8))
    >>> np.asarray(hl.where(a > 2, a, 0).func.realize([3])).tolist()
    [0, 5, 3]
    """
    if _whole(condition, x, y):
        from parhelion.whole import assembling
        from parhelion.whole.array import Array

        return Array._of(assembling.choose(condition, x, y))
    return expressions.select(condition, x, y)


@overload
def clip(x: Array, min: ArrayLike | None, max: ArrayLike | None) -> Array: ...
@overload
def clip(x: ExprLike, min: ExprLike, max: ExprLike) -> Expr: ...
def clip(x: Any, min: Any, max: Any) -> Any:
    """Returns `x` limited to [min, max], as `numpy.clip`; of expressions as `clamp`.

    >>> a = hl.Array(np.array([1, 5, 3], np.uint8))
    >>> np.asarray(hl.clip(a, 2, 4).func.realize([3])).tolist()
    [2, 4, 3]
    """
    if _whole(x, min, max):
        from parhelion.whole.array import Array
        from parhelion.whole.operands import operand

        return Array._of(operand(x)).clip(min, max)
    return expressions.clamp(x, min, max)


def mean(x: Array, axis: Axes = None, keepdims: bool = False) -> Array:
    """Returns the mean of an array over axes: see `Array.mean`.

    Raises TypeMismatchError for what is no array.

    >>> a = hl.Array(np.array([[1, 2], [3, 5]], np.uint8), axes="yx")
    >>> np.asarray(hl.mean(a, "y").func.realize([2])).tolist()
    [2.0, 3.5]
    """
    if not _whole(x):
        raise TypeMismatchError(
            f"mean takes an Array, not {a_kind(x)}",
            at=here(),
            hint="of an expression over an RDom: hl.sum(e) / count",
        )
    return x.mean(axis, keepdims)


@overload
def sum(x: Array, axis: Axes = ..., keepdims: bool = ...) -> Array: ...
@overload
def sum(expr: ExprLike, name: str | Func = ...) -> Expr: ...
@overload
def sum(rdom: RDom, expr: ExprLike, name: str | Func = ...) -> Expr: ...
def sum(*given: Any, **named: Any) -> Any:
    """Returns the sum of an expression over all points of an RDom, or of an array over
    axes.

    ``sum(e)`` sums over the RDom whose RVars stand in `e`; ``sum(r, e)`` sums over `r`,
    and RVars of other RDoms are then free, like Vars. The sum has the type of `e` and
    wraps on overflow: convert `e` first where the type is too narrow. `name` is the
    name of the Func that computes the sum, or an undefined Func to be used for it.
    ``sum(array, axis)`` is as `Array.sum`.

    Raises DefinitionError if `e` mentions no RDom, or several and none is given, and
    TypeMismatchError for arguments of other kinds.

    >>> r = hl.RDom([(0, 4)])
    >>> f = hl.Func()
    >>> f[x] = hl.sum(x + r.x)
    >>> np.asarray(f.realize([3])).tolist()
    [6, 10, 14]
    """
    if _whole(*given[:1]):
        return given[0].sum(*given[1:], **named)
    return inline.sum(*given, **named)


@overload
def max(*values: ExprLike) -> Expr: ...
@overload
def max(x: Array, axis: Axes = None, keepdims: bool = ...) -> Array: ...
@overload
def max(x: Array, y: Array | NDArray[Any] | float | np.generic, /) -> Array: ...
@overload
def max(x: NDArray[Any] | float | np.generic, y: Array, /) -> Array: ...
def max(*values: Any, **named: Any) -> Any:
    """Returns the greatest of two or more values, promoted to one type, or the greatest
    element of an array along axes.

    ``max(a, b)`` of expressions is ``select(b > a, b, a)``, so that a NaN on either
    side gives `a`. Of two arrays, or an array and a number, it is as `numpy.maximum`;
    ``max(array)`` and ``max(array, axis=1)`` are as `Array.max`. Raises
    TypeMismatchError for fewer than two values that are no array.

    >>> hl.evaluate(hl.max(hl.i32(3), 7, 5))
    7
    """
    return _extreme("max", values, named)


@overload
def min(*values: ExprLike) -> Expr: ...
@overload
def min(x: Array, axis: Axes = None, keepdims: bool = ...) -> Array: ...
@overload
def min(x: Array, y: Array | NDArray[Any] | float | np.generic, /) -> Array: ...
@overload
def min(x: NDArray[Any] | float | np.generic, y: Array, /) -> Array: ...
def min(*values: Any, **named: Any) -> Any:
    """Returns the least of two or more values, promoted to one type, or the least
    element of an array along axes.

    ``min(a, b)`` of expressions is ``select(b < a, b, a)``, so that a NaN on either
    side gives `a`. Of arrays it is as `max`. Raises TypeMismatchError for fewer than
    two values that are no array.

    >>> hl.evaluate(hl.min(hl.i32(3), 7, 5))
    3
    """
    return _extreme("min", values, named)


def _extreme(kind: str, values: tuple[Any, ...], named: dict[str, Any]) -> Any:
    if not _whole(*values):
        return getattr(expressions, kind)(*values, **named)
    if len(values) == 1:
        return getattr(values[0], kind)(**named)
    from parhelion.whole.array import Array
    from parhelion.whole.elementwise import apply
    from parhelion.whole.operands import operand

    found = operand(values[0])
    for one in values[1:]:
        found = apply("maximum" if kind == "max" else "minimum", found, operand(one))
    return Array._of(found)


__all__ = ["clip", "max", "mean", "min", "sum", "where"]
