"""What may stand beside an array: numbers, NumPy arrays, Buffers, expressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parhelion.errors import TypeMismatchError, here
from parhelion.ir.build import int32
from parhelion.ir.expr import Expr as Node
from parhelion.ir.expr import ImageLoad
from parhelion.ir.rewrite import free_vars
from parhelion.ir.symbols import ParamSym
from parhelion.lang.arrays import AXIS_ORDER, array_of
from parhelion.lang.buffer import Buffer
from parhelion.lang.checked import a_kind
from parhelion.lang.convert import is_literal, node_or_none
from parhelion.whole.core import Whole, coordinate, loop_order, number
from parhelion.whole.extents import Extent, weak_whole

Names = tuple[str | None, ...]


def constant(source: object, axes: str | None = None) -> Whole:
    """The pixels of a NumPy array or a Buffer, which are part of the program.

    Raises TypeMismatchError for what is neither, and axes that do not fit.
    """
    array = array_of(source)
    names = axis_names(axes, array.ndim)
    shape = tuple([int32(n) for n in array.shape])
    order = loop_order(shape)
    turned = array.transpose([array.ndim - 1 - p for p in order])
    buffer = Buffer(turned, reverse_axes=False)
    value = ImageLoad(buffer.type(), buffer._sym, tuple([coordinate(p) for p in order]))
    return Whole(value, shape, names)


def axis_names(axes: str | None, rank: int) -> Names:
    """A name for each axis. Raises TypeMismatchError if `axes` are not as many
    different letters."""
    if axes is None:
        return (None,) * rank
    wrong = not isinstance(axes, str) or len(set(axes)) != len(axes)
    if wrong or not set(axes) <= set(AXIS_ORDER) or len(axes) != rank:
        raise TypeMismatchError(
            f"{axes!r} does not name the axes of an array of {rank} axes, one different"
            " letter each",
            at=here(),
            legal=[f"the letters of {AXIS_ORDER!r}, outermost axis first"],
        )
    return tuple(axes)


def whole_of(given: object) -> Whole | None:
    """A value as an array; None for what is none."""
    found = given if isinstance(given, Whole) else getattr(given, "_whole", None)
    if isinstance(found, Whole):
        return found
    if is_literal(given):
        assert isinstance(given, bool | int | float)
        return number(given)
    if isinstance(given, np.ndarray) and given.ndim == 0:
        given = given[()]
    if isinstance(given, np.ndarray | Buffer):
        return constant(given)
    if isinstance(given, str | Sequence):
        return None
    if isinstance(given, Extent):
        return weak_whole(given)
    node = node_or_none(given)
    if node is None or _mentions_vars(node):
        return None
    return Whole(node, (), ())


def operand(given: object) -> Whole:
    """A value as an array. Raises TypeMismatchError for what is none."""
    found = whole_of(given)
    if found is not None:
        return found
    if isinstance(given, list | tuple):
        listed = _of_numbers(given)
        if listed is not None:
            return constant(listed)
        hint = "a list of numbers does, and np.stack makes one array of several"
    elif hasattr(given, "_node") or hasattr(given, "_function"):
        hint = "array[y, x], with a Var for each axis, is its value at a point"
    else:
        hint = ""
    raise TypeMismatchError(
        f"{a_kind(given)} does not stand beside an array: {given!r:.60}",
        at=here(),
        hint=hint,
    )


def _of_numbers(given: list[object] | tuple[object, ...]) -> NDArray[Any] | None:
    """A list of numbers as NumPy's array of it; None for other lists."""
    try:
        found = np.asarray(given)
    except (TypeError, ValueError):
        return None
    return found if found.dtype.kind in "biuf" else None


def _mentions_vars(node: Node) -> bool:
    # Params, and extents of images: all else is known at a point alone.
    return not all([isinstance(v.origin, ParamSym | tuple) for v in free_vars(node)])


__all__ = ["Names", "axis_names", "constant", "operand", "whole_of"]
