"""`Tuple`: several values for one point of a grid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import TypeAlias, cast, overload

import numpy as np

from parhelion.errors import BoundsError, TypeMismatchError, here
from parhelion.lang.expr import Expr, ExprLike, to_expr


class Tuple:
    """Several values for one point of a grid: ``f[x] = hl.Tuple(a, b)``.

    It is made from several expressions, from one Python sequence of them, or from a
    reference to a Func with several values. Its elements are Exprs, ``t[0]``, ``t[1]``,
    …. Raises TypeMismatchError if there are none.

    >>> f = hl.Func()
    >>> f[x] = hl.Tuple(x, x * x)
    >>> numbers, squares = f.realize([3])
    >>> np.asarray(squares).tolist()
    [0, 1, 4]
    """

    __slots__ = ("_elements",)

    def __init__(self, *values: ExprLike | Iterable[ExprLike]) -> None:
        elements: Iterable[object] = values
        if len(values) == 1:
            inside = values_of(values[0])
            if inside is not None:
                elements = inside
        self._elements = tuple(to_expr(v) for v in elements)
        if not self._elements:
            raise TypeMismatchError("a Tuple has at least one value", at=here())

    def size(self) -> int:
        """Returns the number of values."""
        return len(self._elements)

    def __len__(self) -> int:
        return len(self._elements)

    def __iter__(self) -> Iterator[Expr]:
        return iter(self._elements)

    @overload
    def __getitem__(self, index: int) -> Expr: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Expr, ...]: ...
    def __getitem__(self, index: int | slice) -> Expr | tuple[Expr, ...]:
        try:
            return self._elements[index]
        except IndexError:
            raise BoundsError(
                f"a Tuple of {len(self._elements)} values has no element {index}",
                at=here(),
            ) from None

    def __repr__(self) -> str:
        return f"<parhelion.Tuple ({', '.join(map(repr, self._elements))})>"


#: What stands for several values: a Tuple, or a Python sequence of them.
TupleLike: TypeAlias = Tuple | tuple[ExprLike, ...] | list[ExprLike]


def values_of(x: object) -> list[object] | None:
    """The elements of a Tuple, a Python sequence, or a reference to a Func with
    several values; None for a single value."""
    if isinstance(x, Tuple):
        return list(x._elements)
    if isinstance(x, tuple | list):
        return cast("list[object]", list(x))
    several = getattr(x, "_several", None)
    if several is not None:
        return cast("list[object] | None", several())
    if _is_sequence(x):
        return [x[i] for i in range(len(x))]  # type: ignore[index, arg-type]
    return None


def _is_sequence(x: object) -> bool:
    """Whether a user's own class acts as a sequence of values (a complex number)."""
    kind = type(x)
    return (
        hasattr(kind, "__getitem__")
        and hasattr(kind, "__len__")
        and not hasattr(kind, "_node")
        and not hasattr(kind, "_sym")
        and not isinstance(x, str | bytes | dict | np.ndarray | np.generic)
        and not isinstance(x, Enum | type)  # whose members are a sequence
    )
