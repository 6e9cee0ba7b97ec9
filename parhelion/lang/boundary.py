"""``hl.BoundaryConditions``: what a Func or an image is outside its bounds.

Each function takes a Buffer or an ImageParam, whose own bounds are the default, or a
Func with the bounds given: one ``(min, extent)`` pair (or `Range`) per dimension, the
innermost first; None, ``(None, None)`` or a missing one leaves the dimension alone.
The result is a new Func of the same dimensions and types. The interior is marked
likely, so that loops run there without any of this. Extents of 0 are not allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

from parhelion.errors import DefinitionError, TypeMismatchError, here
from parhelion.ir.expr import Intrinsic
from parhelion.lang.checked import a_kind, items
from parhelion.lang.convert import literal_as, node_of, node_or_none
from parhelion.lang.effects import likely
from parhelion.lang.expr import Expr, ExprLike, is_undefined, to_expr, wrap
from parhelion.lang.func import Func, Image
from parhelion.lang.functions import abs as abs_
from parhelion.lang.functions import clamp, i32, select
from parhelion.lang.functions import max as max_
from parhelion.lang.functions import min as min_
from parhelion.lang.rdom import Bounded, Range, RangeLike, pair_of
from parhelion.lang.tuples import Tuple, TupleLike, values_of
from parhelion.lang.var import Var
from parhelion.types import INT32

__all__ = [
    "constant_exterior",
    "mirror_image",
    "mirror_interior",
    "repeat_edge",
    "repeat_image",
]

Source: TypeAlias = Func | Image
Region: TypeAlias = Sequence[RangeLike | tuple[None, None] | None]
_Limits = list[tuple[Expr, Expr] | None]


def repeat_edge(f: Source, bounds: Region | None = None) -> Func:
    """Returns a Func that repeats the pixels at the edge outside of `bounds`.

    `bounds` are the (min, extent) of each dimension: see `hl.BoundaryConditions`.
    Raises TypeMismatchError if a Func has no `bounds`, and for bounds that do not fit.

    >>> image = hl.Buffer(np.array([1, 2, 3]))
    >>> around = hl.Buffer(hl.Int(64), [9]).translated(0, -3)
    >>> hl.BoundaryConditions.repeat_edge(image).realize(around)
    >>> np.asarray(around).tolist()
    [1, 1, 1, 1, 2, 3, 3, 3, 3]
    """

    def inside(x: Expr, low: Expr, extent: Expr) -> Expr:
        return clamp(likely(x), low, low + extent - 1)

    return _remapped("repeat_edge", f, bounds, inside)


def repeat_image(f: Source, bounds: Region | None = None) -> Func:
    """Returns a Func that repeats the whole image, side by side, outside of `bounds`.

    Arguments and errors are those of `repeat_edge`.

    >>> image = hl.Buffer(np.array([1, 2, 3]))
    >>> around = hl.Buffer(hl.Int(64), [9]).translated(0, -3)
    >>> hl.BoundaryConditions.repeat_image(image).realize(around)
    >>> np.asarray(around).tolist()
    [1, 2, 3, 1, 2, 3, 1, 2, 3]
    """

    def outside(x: Expr, low: Expr, extent: Expr) -> Expr:
        # A part that does not reach over an edge is needed as it is, else all.
        last = low + extent - 1
        lowest = min_(x, last - (extent - 1) * clamp(x - last, 0, 1))
        highest = max_(x, low + (extent - 1) * clamp(low - x, 0, 1))
        # Of an extent that may be negative, a remainder alone has no bounds.
        place = (x - low) % extent + low
        return _known(place, max_(lowest, low), min_(highest, last))

    return _remapped("repeat_image", f, bounds, _unless_inside(outside))


def mirror_image(f: Source, bounds: Region | None = None) -> Func:
    """Returns a Func that mirrors the image outside of `bounds`, edge pixels twice.

    Arguments and errors are those of `repeat_edge`.

    >>> image = hl.Buffer(np.array([1, 2, 3]))
    >>> around = hl.Buffer(hl.Int(64), [9]).translated(0, -3)
    >>> hl.BoundaryConditions.mirror_image(image).realize(around)
    >>> np.asarray(around).tolist()
    [3, 2, 1, 1, 2, 3, 3, 2, 1]
    """

    def outside(x: Expr, low: Expr, extent: Expr) -> Expr:
        place = (x - low) % (2 * extent)
        back = select(place >= extent, 2 * extent - 1 - place, place)
        inside = clamp(back + low, low, low + extent - 1)
        return _mirrored(inside, x, (low, low - 1), (low + extent - 1, low + extent))

    return _remapped("mirror_image", f, bounds, _unless_inside(outside))


def mirror_interior(f: Source, bounds: Region | None = None) -> Func:
    """Returns a Func that mirrors the image outside of `bounds`, edge pixels once.

    Arguments and errors are those of `repeat_edge`.

    >>> image = hl.Buffer(np.array([1, 2, 3]))
    >>> around = hl.Buffer(hl.Int(64), [9]).translated(0, -3)
    >>> hl.BoundaryConditions.mirror_interior(image).realize(around)
    >>> np.asarray(around).tolist()
    [2, 3, 2, 1, 2, 3, 2, 1, 2]
    """

    def outside(x: Expr, low: Expr, extent: Expr) -> Expr:
        limit = extent - 1
        place = (x - low) % (2 * limit)
        back = limit - i32(abs_(place - limit)) + low
        inside = clamp(back, low, low + extent - 1)
        return _mirrored(inside, x, (low, low), (low + limit, low + limit))

    return _remapped("mirror_interior", f, bounds, _unless_inside(outside))


def constant_exterior(
    f: Source, exterior: ExprLike | TupleLike, bounds: Region | None = None
) -> Func:
    """Returns a Func with the value `exterior` outside of `bounds`.

    `exterior` is of the type of `f`; a Func of several values takes a Tuple, or one
    value for all. `bounds` are as for `repeat_edge`. Raises TypeMismatchError if
    `exterior` is of another type or of another number of values.

    >>> image = hl.Buffer(np.array([1, 2, 3]))
    >>> around = hl.Buffer(hl.Int(64), [7]).translated(0, -2)
    >>> hl.BoundaryConditions.constant_exterior(image, 0).realize(around)
    >>> np.asarray(around).tolist()
    [0, 0, 1, 2, 3, 0, 0]
    """
    args, limits = _place("constant_exterior", f, bounds)
    edge = repeat_edge(f, bounds)
    outside: Expr | None = None
    for x, limit in zip(args, limits, strict=True):
        if limit is None:
            continue
        low, extent = limit
        beyond = (x < low) | (x >= low + extent)
        outside = beyond if outside is None else outside | beyond
    made = Func("constant_exterior")
    inside = edge[tuple(args)]
    columns = values_of(inside) or [inside]
    constants = values_of(exterior) or [exterior]
    if len(constants) == 1:
        constants *= len(columns)
    if len(constants) != len(columns):
        raise TypeMismatchError(
            f"constant_exterior: {len(constants)} exterior values for a Func of "
            f"{len(columns)}",
            at=here(),
        )
    values = []
    for constant, column in zip(constants, columns, strict=True):
        value = to_expr(column)
        wanted = _constant(constant, value)
        values.append(
            value if outside is None else select(outside, wanted, likely(value))
        )
    made[tuple(args)] = Tuple(*values) if len(values) > 1 else values[0]
    return made


def _constant(given: object, beside: Expr) -> Expr:
    t = beside.type()
    node = node_or_none(given)
    if node is None and isinstance(given, int | float):
        node = literal_as(given, t)
    if node is None or node.type is not t:
        shown = type(given).__name__ if node is None else str(node.type)
        raise TypeMismatchError(
            f"constant_exterior: the exterior value is of type {shown}, the image of "
            f"type {t}",
            at=here(),
            hint="cast one of them",
        )
    return wrap(node)


_Remap = Callable[[Expr, Expr, Expr], Expr]


def _unless_inside(outside: _Remap) -> _Remap:
    """A coordinate that is itself inside the bounds, `outside` of it beyond them."""

    def remap(x: Expr, low: Expr, extent: Expr) -> Expr:
        inside = likely(clamp(likely(x), low, low + extent - 1))
        return select((x < low) | (x >= low + extent), outside(x, low, extent), inside)

    return remap


_Pair = tuple[Expr, Expr]


def _mirrored(inside: Expr, x: Expr, lower: _Pair, upper: _Pair) -> Expr:
    """Returns `inside`, a coordinate in the image, with what else is known of it.

    lower, upper: two coordinates at the edge that are each other's mirror. For an x
    beyond an edge, the coordinate lies between the edge and the mirror of x at it, or
    anywhere if x is farther away than the image is large. So a tile is found to need
    as much of the image as it is large; `inside`, a remainder, would say all of it.
    """
    lowest = min_(x, upper[0] + (upper[1] - x))
    highest = max_(x, lower[0] + (lower[1] - x))
    return _known(inside, lowest, highest)


def _known(x: Expr, lowest: Expr, highest: Expr) -> Expr:
    """Returns `x`, whose bounds are found from these, as well as from what it is."""
    args = tuple([node_of(e) for e in (x, lowest, highest)])
    return wrap(Intrinsic(INT32, "known_clamped", args))


def _remapped(name: str, f: Source, bounds: Region | None, remap: _Remap) -> Func:
    args, limits = _place(name, f, bounds)
    places: list[object] = []
    for x, limit in zip(args, limits, strict=True):
        places.append(x if limit is None else remap(to_expr(x), *limit))
    made = Func(name)
    made[tuple(args)] = f[tuple(places)]
    return made


def _place(name: str, f: Source, bounds: Region | None) -> tuple[list[Var], _Limits]:
    """The Vars of the new Func, and the bounds of each dimension."""
    if isinstance(f, Func):
        if not f.defined():
            raise DefinitionError(
                f"{name} of Func {f.name()!r}, which is not defined", at=here()
            )
        if bounds is None:
            raise TypeMismatchError(
                f"{name} of a Func needs its bounds",
                at=here(),
                hint=f"hl.BoundaryConditions.{name}(f, [(0, width), (0, height)])",
            )
        args = f.args()
    elif isinstance(f, Bounded):
        args = [Var.implicit(d) for d in range(f.dimensions())]
        if bounds is None:
            dims = [f.dim(d) for d in range(f.dimensions())]
            bounds = [(d.min(), d.extent()) for d in dims]
    else:
        raise TypeMismatchError(
            f"{name} takes a Func, a Buffer or an ImageParam, not {a_kind(f)}",
            at=here(),
        )
    items(bounds, f"the bounds of {name}")
    if len(bounds) > len(args):
        raise TypeMismatchError(
            f"{name}: bounds for {len(bounds)} dimensions of {f.name()!r}, which has "
            f"{len(args)}",
            at=here(),
        )
    limits: _Limits = [_limit(name, d, one) for d, one in enumerate(bounds)]
    return args, limits + [None] * (len(args) - len(limits))


def _limit(
    name: str, d: int, one: RangeLike | tuple[None, None] | None
) -> tuple[Expr, Expr] | None:
    if one is None:
        return None
    low, extent = pair_of(one, name)
    if is_undefined(low) and is_undefined(extent):
        return None
    if is_undefined(low) or is_undefined(extent):
        raise TypeMismatchError(
            f"{name}: dimension {d} has a min without an extent, or the reverse",
            at=here(),
        )
    made = Range(cast("ExprLike", low), cast("ExprLike", extent))
    for e in (made.min, made.extent):
        if not e.type().is_int_or_uint():
            raise TypeMismatchError(
                f"{name}: the bounds of dimension {d} are of type {e.type()}; they "
                "are integers",
                at=here(),
            )
    return i32(made.min), i32(made.extent)
