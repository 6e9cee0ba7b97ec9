"""What a RecFilter is defined over, and what it filters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parhelion.errors import DefinitionError, here
from parhelion.lang.buffer import Buffer
from parhelion.lang.checked import a_kind
from parhelion.lang.expr import Expr, to_expr
from parhelion.lang.func import Func
from parhelion.lang.imageparam import ImageParam
from parhelion.lang.tuples import values_of
from parhelion.lang.var import Var
from parhelion.recfilter.dims import RecFilterDim
from parhelion.recfilter.filters import check_mentions


def dimensions_of(dims: object, what: str) -> tuple[RecFilterDim, ...]:
    """The dimensions that a filter is defined over. Raises DefinitionError for others.
    what: names the filter, in errors."""
    places = dims if isinstance(dims, tuple) else (dims,)
    found = tuple([d for d in places if isinstance(d, RecFilterDim)])
    if len(found) != len(places) or not found:
        raise DefinitionError(
            f"{what} is defined over RecFilterDims, not {', '.join(map(str, places))}",
            at=here(),
            hint='x = RecFilterDim("x", width)',
        )
    if len({d.name() for d in found}) != len(found):
        raise DefinitionError(f"{what}: a dimension is given twice", at=here())
    return found


def filtered_values(value: object, dims: Sequence[Var], what: str) -> tuple[Expr, ...]:
    """The values of one type that are filtered: one, or those of a Tuple, in the
    dimensions of the image and in Params. Raises DefinitionError for others."""
    values = values_of(value)
    given = [value] if values is None else values
    exprs = tuple([_value_at_point(one, what) for one in given])
    for e in exprs:
        check_mentions(e._node, dims, what)
    types = [e.type() for e in exprs]
    for t in types:
        if not (t.is_float() or t.is_int_or_uint()) or t.is_bool():
            raise DefinitionError(
                f"{what} filters numbers, not values of type {t}", at=here()
            )
    if len(set(types)) != 1:
        raise DefinitionError(
            f"{what} filters values of one type, not"
            f" {', '.join(map(str, types)) or 'none'}",
            at=here(),
        )
    return exprs


def _value_at_point(given: object, what: str) -> Expr:
    """A value that a filter is given, at a point. Raises DefinitionError for a whole
    image, of which a pixel is meant, and TypeMismatchError for what is no value.

    what: the filter, for messages.
    """
    image = isinstance(given, np.ndarray) and given.ndim > 0
    if isinstance(given, Func | Buffer | ImageParam):
        image = given.dimensions() > 0
    if image or hasattr(given, "as_func"):
        raise DefinitionError(
            f"{what} filters the pixels of {a_kind(given)}, which is read at"
            " coordinates",
            at=here(),
            hint="f[x] = image[x], where an array is wrapped: hl.Buffer(array)",
        )
    return to_expr(given)


__all__ = ["dimensions_of", "filtered_values"]
