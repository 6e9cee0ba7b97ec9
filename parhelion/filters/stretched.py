"""An image of pixels in another size: rows of pixels are blended first, and then what
lies along them.

Places and weights are tables that the code is given, so that one program does for all
sizes; those of columns are of each element of a row, of which a pixel has as many as
there are channels, so that rows are read element by element as they lie in memory.
Several rows of the result are computed together, as their pixels come from the same
places. Of them, the rows of blended pixels stay in the cache, continued on both ends by
as many pixels as are read there.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from parhelion.filters.line_tables import (
    Line,
    Tables,
    all_places,
    element_tables,
    reach,
    tables,
)
from parhelion.filters.lines import STRIP, lanes_of, vectorize
from parhelion.filters.planes import array, plane_axes, saturated
from parhelion.filters.sampling import blended, work_type
from parhelion.ir import build
from parhelion.ir.build import imm, int32
from parhelion.ir.expr import Expr as Node
from parhelion.ir.function import Function
from parhelion.lang.arrays import pixel_type
from parhelion.lang.effects import undef, unsafe_promise_clamped
from parhelion.lang.expr import wrap
from parhelion.lang.func import Func
from parhelion.lang.pipeline import Pipeline
from parhelion.lang.rdom import RDom, of_rvar
from parhelion.lang.var import Var
from parhelion.schedule.directives import TailStrategy
from parhelion.schedule.order import realization_order
from parhelion.whole.array import Array
from parhelion.whole.core import Whole, coordinate, moved
from parhelion.whole.jit import jit
from parhelion.whole.jitted import Jitted

Pixels = np.ndarray[Any, np.dtype[Any]]
#: For how many kinds and numbers of channels code is kept in memory.
_MOST_KEPT = 128
#: How many rows of the result are computed together, by the pixels that each one of
#: theirs is made of along a row: with more of these there is less in common.
_TOGETHER = {1: 4, 2: 4, 4: 4, 8: 2}


def stretched(rows: Pixels, apart: int, lines: tuple[Line, Line], kind: str) -> Pixels:
    """An image of pixels with another number of rows and columns.

    rows: (H, W * apart), the elements of a pixel side by side. lines: down, and across.
    kind: as of `resize`.
    """
    to = _work_type(rows.dtype)
    down = tables(lines[0], kind, to)
    across = element_tables(lines[1], kind, to, apart)
    if kind == "nearest":
        found: Pixels = _program("nearest", apart, 0, 1)(
            rows, down.places, across.places
        )
        return found
    how, first, count = "blended", *reach(kind)
    if kind == "area":
        how = "of two" if _is_of_two(down) and _is_of_two(across) else "covered"
    if how == "covered":
        # Points are made of as many pixels as tables say.
        down, across = [
            all_places(line, kind, to, n)
            for line, n in zip(lines, (1, apart), strict=True)
        ]
    found = _program(how, apart, first, count)(
        rows, down.places, down.weights, across.places, across.weights
    )
    return found


@lru_cache(_MOST_KEPT)
def _work_type(dtype: np.dtype[Any]) -> str:
    return work_type(pixel_type(np.empty(0, dtype))[0])


def _is_of_two(one: Tables) -> bool:
    return one.weights is not None and len(one.weights) == 2


@lru_cache(_MOST_KEPT)
def _program(how: str, apart: int, first: int, count: int) -> Jitted[Pixels]:
    """The code for images whose pixels have so many elements, and its schedule."""
    if how == "nearest":

        def resize(image: Array, down: Array, across: Array) -> Array:
            return _nearest(image, down, across)

        return jit(resize, schedule=lambda p: by_rows(p, _TOGETHER[count]))
    if how != "covered":

        def resize_by_weights(
            image: Array, down: Array, by: Array, across: Array, along: Array
        ) -> Array:
            given = [(down, by), (across, along)]
            # Means of areas are sums over a domain elsewhere: there the first product
            # is rounded by itself, and of two terms that are written out, the second.
            order = [1, 0] if how == "of two" else list(range(count))
            return _blended(image, given, apart, first, order)

        return jit(resize_by_weights, schedule=lambda p: by_rows(p, _TOGETHER[count]))

    def resize_by_area(
        image: Array, down: Array, by: Array, across: Array, along: Array
    ) -> Array:
        return _covered(image, [(down, by), (across, along)])

    return jit(resize_by_area, schedule=lambda p: by_rows(p, 1))


def _nearest(image: Array, down: Array, across: Array) -> Array:
    plane_axes(image, "resize")
    whole = image._whole
    to = {}
    for p, places in ((1, down), (0, across)):
        last = build.sub(whole.extent(p), int32(1))
        to[p] = _promised(_of_line(places, p), int32(0), last)
    return _sized(moved(whole.value, to), image, down, across)


def _blended(
    image: Array,
    given: list[tuple[Array, Array]],
    apart: int,
    first: int,
    order: list[int],
) -> Array:
    """Sums of some pixels along both axes, in an order, with their weights."""
    plane_axes(image, "resize")
    (down, by), (across, along) = given
    whole = image._whole
    to, count = by.dtype, len(order)
    last = build.sub(whole.extent(1), int32(1))
    row = _of_line(down, 1)

    def pixel(k: int) -> Array:
        down_by = int32(order[k] + first)
        place = build.clamp(build.add(row, down_by), int32(0), last)
        return array(moved(whole.value, {1: place}), whole).astype(to)

    ratios = [array(_of_pixel(by, 1, int32(k)), whole) for k in order]
    # A point may lie before the first pixel, or behind the last.
    before = 1 - first
    rows = _continued(blended(pixel, ratios)._whole, apart, before, count)
    # Of rows that begin with pixels before the first one, so that no place is below 0.
    most = build.sub(whole.extent(0), int32(1))
    end = build.add(most, int32(before * apart))
    start = _promised(_of_line(across, 0), int32(0), end)

    def beside(k: int) -> Array:
        at = build.add(start, int32(order[k] * apart))
        return array(rows[wrap(at), wrap(coordinate(1))]._node, whole)

    ratios = [array(_of_pixel(along, 0, int32(k)), whole) for k in order]
    value = saturated(blended(beside, ratios), image.type)._whole.value
    return _sized(value, image, down, across)


def _continued(whole: Whole, apart: int, before: int, count: int) -> Func:
    """Rows, with the first pixel of each as many times before it as is said, and the
    last one as many times behind it as pixels are read."""
    width = wrap(whole.extent(0))
    rows = Func("rows")
    x, y = Var("x"), Var("y")
    rows[x, y] = undef(whole.type)
    inside = RDom([(0, width)], "inside")
    start = before * apart
    to = {0: inside.x._node, 1: y._node}
    rows[inside.x + start, y] = wrap(moved(whole.value, to))
    beside = RDom([(0, start)], "before")
    rows[beside.x, y] = rows[beside.x % apart + start, y]
    beside = RDom([(0, count * apart)], "behind")
    last = width + (start - apart)
    rows[beside.x + width + start, y] = rows[beside.x % apart + last, y]
    return rows


def _covered(image: Array, given: list[tuple[Array, Array]]) -> Array:
    """Sums of as many pixels along each axis as its table of weights has."""
    plane_axes(image, "resize")
    whole = image._whole
    value = whole.value
    for (places, weights), p, name in ((given[0], 1, "down"), (given[1], 0, "across")):
        r = RDom([(0, wrap(weights._whole.extent(1)))])
        k = r.x._node
        last = build.sub(whole.extent(p), int32(1))
        place = _promised(_of_pixel(places, p, k), int32(0), last)
        read = build.cast(weights.type, moved(value, {p: place}))
        term = build.mul(_of_pixel(weights, p, k), read)
        x, y = Var("x"), Var("y")
        at = {0: x._node, 1: y._node}
        total = Func(name)
        total[x, y] = wrap(imm(0, weights.type))
        total[x, y] += wrap(moved(term, at))
        value = total[wrap(coordinate(0)), wrap(coordinate(1))]._node
    done = saturated(array(value, whole), image.type)._whole.value
    return _sized(done, image, given[0][0], given[1][0])


def _of_line(table: Array, p: int) -> Node:
    """What a table says for the coordinate of an axis, which is counted from the
    last."""
    return moved(table._whole.value, {0: coordinate(p)})


def _of_pixel(table: Array, p: int, k: Node) -> Node:
    """What a table says of the k-th pixel for the coordinate of an axis."""
    return moved(table._whole.value, {0: coordinate(p), 1: k})


def _promised(place: Node, low: Node, high: Node) -> Node:
    """What a table says, which is in its limits as it was made."""
    return unsafe_promise_clamped(wrap(place), wrap(low), wrap(high))._node


def _sized(value: Node, image: Array, down: Array, across: Array) -> Array:
    whole = image._whole
    # Places are given as (points,) or as (pixels, points).
    extents = (down._whole.extent(0), across._whole.extent(0))
    return Array._of(Whole(value, extents, whole.names, whole.trace))


def by_rows(pipeline: Pipeline, together: int) -> None:
    """Schedules all stages for some rows of the result, which are computed together:
    whatever they have in common is computed once for all of them."""
    (out,) = pipeline.outputs()
    x, y = out.args()
    strip, group, row = Var("strip"), Var("group"), Var("row")
    out.split(y, strip, group, STRIP, TailStrategy.GuardWithIf)
    out.split(group, group, row, together, TailStrategy.GuardWithIf)
    out.reorder(row, x, group, strip).unroll(row)
    out.vectorize(x, lanes_of(out._function.stages()[0]))
    out.parallel(strip).never_partition(strip)
    for f in realization_order([out._function]):
        stage = Func._of(f)
        if f is out._function:
            continue
        stage.compute_at(out, group)
        if f.updates[0].args[0] is f.args[0]:
            _sum_by_lanes(stage, f)
        else:
            vectorize(stage, f)


def _sum_by_lanes(stage: Func, f: Function) -> None:
    """Sums of the elements of one register are kept there."""
    lanes = lanes_of(f.updates[0])
    x, _ = stage.args()
    stage.vectorize(x, lanes)
    domain = f.updates[0].rdom
    assert domain is not None
    group, lane = Var("group"), Var("lane")
    one = stage.update(0).split(x, group, lane, lanes, TailStrategy.GuardWithIf)
    one.reorder(lane, *[of_rvar(v) for v in domain.vars], group).vectorize(lane)


__all__ = ["stretched"]
