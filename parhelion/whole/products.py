"""Products of matrices: `numpy.matmul`, ``a @ b``, and its kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from parhelion.errors import TypeMismatchError, here
from parhelion.whole import indexing, reductions
from parhelion.whole.core import Whole
from parhelion.whole.elementwise import apply
from parhelion.whole.operands import operand
from parhelion.whole.reshaping import ravel
from parhelion.whole.trace import shape_of


def matmul(a: object, b: object) -> Whole:
    """`numpy.matmul`: the sums over the last axis of one and the last but one of the
    other. The axes before the last two are spread.

    A sum has the type of the products, as NumPy's, and integers wrap. Raises
    TypeMismatchError for numbers, BoundsError for extents that are not the same.
    """
    one, other = operand(a), operand(b)
    if not one.rank or not other.rank:
        raise TypeMismatchError(
            "matmul takes arrays, and a number is none: write a * n", at=here()
        )
    return _contracted(_unnamed(one), _unnamed(other))


def _contracted(one: Whole, other: Whole) -> Whole:
    """The sums of products, of which a vector has no axis in the result."""
    left = one if one.rank > 1 else indexing.take(one, (None,))
    right = other if other.rank > 1 else indexing.take(other, (slice(None), None))
    # (…, rows, 1, k) and (…, 1, columns, k).
    order = [*range(right.rank - 2), right.rank - 1, right.rank - 2]
    turned = indexing.transposed(right, order)
    product = apply(
        "multiply",
        indexing.take(left, (..., None, slice(None))),
        indexing.take(turned, (..., None, slice(None), slice(None))),
    )
    found = reductions.reduce("dot", product, -1, False)
    index: list[object] = [...]
    index.append(slice(None) if one.rank > 1 else 0)
    index.append(slice(None) if other.rank > 1 else 0)
    return indexing.take(found, tuple(index))


def _unnamed(whole: Whole) -> Whole:
    # Rows of one are columns of the other: names would be taken for the same axis.
    return Whole(whole.value, whole.shape, (None,) * whole.rank, whole.trace)


def dot(a: object, b: object) -> Whole:
    """`numpy.dot` of at most two axes each: a product of matrices, of vectors, or by a
    number."""
    one, other = operand(a), operand(b)
    if not one.rank or not other.rank:
        return apply("multiply", one, other)
    if one.rank > 2 or other.rank > 2:
        # NumPy's sums over other axes than matmul's then.
        raise TypeMismatchError(
            "dot takes arrays of at most two axes, not of the shapes"
            f" {shape_of(one.shape, {})} and {shape_of(other.shape, {})}",
            at=here(),
            hint="a @ b has the last two axes for rows and columns, and spreads others",
        )
    return matmul(a, b)


def inner(a: object, b: object) -> Whole:
    """`numpy.inner` of at most two axes each: the sums over the last axes of both."""
    other = operand(b)
    return dot(a, indexing.transposed(other, [1, 0]) if other.rank == 2 else b)


def outer(a: object, b: object) -> Whole:
    """`numpy.outer`: the products of all pairs of elements."""
    one, other = [_unnamed(ravel(x)) for x in (a, b)]
    return apply("multiply", indexing.take(one, (slice(None), None)), other)


def vdot(a: object, b: object) -> Whole:
    """`numpy.vdot` of real numbers: the sum of the products of all elements."""
    return matmul(ravel(a), ravel(b))


#: By NumPy's functions.
FUNCTIONS: dict[Any, Callable[..., Whole]] = {
    np.dot: dot,
    np.inner: inner,
    np.outer: outer,
    np.vdot: vdot,
}

__all__ = ["FUNCTIONS", "dot", "inner", "matmul", "outer", "vdot"]
