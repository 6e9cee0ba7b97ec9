"""Regions that grow along neighbours: as a walk over the pixels of an image.

A walk needs a place to be at, and the way back. Both are in one line of cells, a cell
for each pixel and one more: an update over steps reads the last cell, which says where
the walk is, and writes one cell at a time.
"""

from __future__ import annotations

from collections.abc import Callable

from parhelion.dataclass import dataclass
from parhelion.filters.lines import STRIP, lanes_of
from parhelion.filters.planes import array, plane_axes
from parhelion.ir.function import Function
from parhelion.lang.expr import Expr, ExprLike, to_expr, wrap
from parhelion.lang.func import Func
from parhelion.lang.functions import cast, clamp, select
from parhelion.lang.functions import max as maximum
from parhelion.lang.pipeline import Pipeline
from parhelion.lang.rdom import RDom, of_rvar
from parhelion.lang.var import Var
from parhelion.schedule.directives import TailStrategy
from parhelion.schedule.order import callees, realization_order
from parhelion.types import INT32, UInt
from parhelion.whole.array import Array
from parhelion.whole.core import computed, coordinate, moved

#: What a pixel is: nothing, what a region may grow to, and what is in one.
NOTHING, OPEN, TAKEN = range(3)
#: Directions, as 3 * row + column: to the eight neighbours, and to the pixel itself.
_NEIGHBOURS, _STAY = (0, 1, 2, 3, 5, 6, 7, 8), 4
_BYTE = UInt(8)

#: What the pixel of a column and a row is.
_Kind = Callable[[ExprLike, ExprLike], Expr]


def grown(kinds: Array) -> Array:
    """255 where a pixel is TAKEN, or OPEN and joined to such a one by a path of OPEN
    pixels, each a neighbour, of eight, of the next; 0 elsewhere.

    kinds: (H, W) of uint8: NOTHING, OPEN or TAKEN.

    The walk begins at the last TAKEN pixel. A step goes to an OPEN neighbour, which is
    TAKEN from then on and remembers where the walk came from; without one, it goes back
    there. Pixels that are TAKEN at first remember the one before them in the order of
    rows: so the walk comes to all. As each pixel is entered once at most, and left for
    good once, two steps for each pixel are enough for every image.
    """
    y, x = plane_axes(kinds, "grown")
    whole = computed(kinds._whole, "kinds")
    cells = _Cells(wrap(whole.extent(x)), wrap(whole.extent(y)))

    def kind(column: ExprLike, row: ExprLike) -> Expr:
        to = {x: to_expr(column)._node, y: to_expr(row)._node}
        return wrap(moved(whole.value, to))

    walk = _walk(cells, kind)
    state = walk[cells.at(wrap(coordinate(x)), wrap(coordinate(y)))][1]
    found = select(state == TAKEN, cast(_BYTE, 255), cast(_BYTE, 0))
    return array(found._node, whole)


@dataclass(frozen=True, slots=True)
class _Cells:
    """The cells of an image's pixels, in rows, with one more on each side: so that all
    pixels have eight neighbours."""

    width: Expr
    height: Expr

    @property
    def stride(self) -> Expr:
        return self.width + 2

    @property
    def last(self) -> Expr:
        """The cell behind those of pixels, which says where the walk is. To be there
        itself is the walk's end."""
        return self.stride * (self.height + 2)

    def at(self, column: ExprLike, row: ExprLike) -> Expr:
        """The cell of a pixel."""
        return to_expr(column) + 1 + (to_expr(row) + 1) * self.stride

    def inside(self, cell: Expr) -> Expr:
        """A cell that is a pixel's, in a form whose limits are known."""
        return clamp(cell, self.stride + 1, self.last - self.stride - 2)

    def step(self, direction: ExprLike) -> Expr:
        """How far a neighbour's cell is."""
        to = to_expr(direction)
        return (to // 3 - 1) * self.stride + to % 3 - 1


def _walk(cells: _Cells, kind: _Kind) -> Func:
    """Cells, of two values: where the walk came from, and what the pixel is. Of the
    last cell: where the walk is, and in which direction it went."""
    along, above = _before(cells, kind)
    step = Func("step")
    direction = Var("direction")
    step[direction] = cells.step(direction)
    walk = Func("walk")
    cell = Var("cell")
    walk[cell] = 0, cast(_BYTE, NOTHING)
    r = RDom([(0, cells.width), (0, cells.height)])
    before = along[r.x - 1, r.y]
    walk[cells.at(r.x, r.y)] = (
        select(before >= 0, before, above[r.y - 1]),
        kind(r.x, r.y),
    )
    walk[cells.last] = above[cells.height - 1], cast(_BYTE, _STAY)
    # Of the two parts of a step the first moves on, and the second marks the pixel that
    # was reached, if it is a new one.
    steps = RDom([(0, 2), (0, cells.width), (0, cells.height), (0, 2)])
    place, came = walk[cells.last][0], walk[cells.last][1]
    is_move = steps[0] == 0
    steps.where(place != cells.last)
    steps.where(is_move | (came != _STAY))
    at = cells.inside(place)
    to = cast(_BYTE, _STAY)
    for k in reversed(_NEIGHBOURS):
        to = select(walk[at + cells.step(k)][1] == OPEN, cast(_BYTE, k), to)
    on = select(to == _STAY, walk[at][0], at + step[clamp(cast(INT32, to), 0, 8)])
    back = at - step[clamp(cast(INT32, came), 0, 8)]
    walk[select(is_move, cells.last, at)] = (
        select(is_move, on, back),
        select(is_move, to, cast(_BYTE, TAKEN)),
    )
    return walk


def _before(cells: _Cells, kind: _Kind) -> tuple[Func, Func]:
    """The cell of the last TAKEN pixel up to each one of its row, or -1; and that of
    the last one up to each row, or the last cell."""
    column, row = Var("column"), Var("row")
    along, above = Func("along"), Func("above")
    is_taken = kind(clamp(column, 0, cells.width - 1), row) == TAKEN
    along[column, row] = select((column >= 0) & is_taken, cells.at(column, row), -1)
    r = RDom([(0, cells.width)])
    along[r.x, row] = maximum(along[r.x, row], along[r.x - 1, row])
    ends = Func("ends")
    ends[row] = along[cells.width - 1, row]
    above[row] = cells.last
    rows = RDom([(0, cells.height)])
    above[rows.x] = select(ends[rows.x] >= 0, ends[rows.x], above[rows.x - 1])
    return along, above


def by_walk(pipeline: Pipeline) -> None:
    """Schedules a walk, and what comes before it in strips of rows: what is read around
    each point is computed for each row, and what kind a pixel is as a whole."""
    (out,) = pipeline.outputs()
    order = realization_order([out._function])
    (walk,) = [f for f in order if len(f.updates) == 3]
    (along,) = [f for f in callees(walk) if f.dimensions == 2 and f.updates]
    before = [f for f in callees(along) if f.dimensions == 2]
    _in_strips(out)
    _schedule_walk(Func._of(walk))
    rows = Func._of(along).compute_root()
    rows.parallel(rows.args()[1]).vectorize(rows.args()[0], _lanes(along))
    rows.update(0).parallel(rows.args()[1])
    for f in callees(walk):
        if f.dimensions == 1:
            Func._of(f).compute_root()
            if f.updates:
                Func._of(f).update(0).unscheduled()
    for kinds in before:
        _schedule_kinds(kinds)


def _schedule_kinds(kinds: Function) -> None:
    root = Func._of(kinds).compute_root()
    strip, row = _in_strips(root)
    for f in realization_order([kinds]):
        if f is not kinds:
            stage = Func._of(f).store_at(root, strip).compute_at(root, row)
            stage.vectorize(stage.args()[0], _lanes(f))


def _schedule_walk(walk: Func) -> None:
    walk.compute_root().vectorize(walk.args()[0], _lanes(walk._function))
    walk.update(0).unscheduled()
    walk.update(1).unscheduled()
    domain = walk._function.updates[2].rdom
    assert domain is not None
    walk.update(2).unroll(of_rvar(domain.vars[0]))


def _in_strips(stage: Func) -> tuple[Var, Var]:
    """Divides an image into strips of its rows, which threads share: the loops over
    these, and over rows."""
    strip, row = Var("strip"), Var("row")
    x, y = stage.args()
    stage.split(y, strip, row, STRIP, TailStrategy.GuardWithIf).parallel(strip)
    stage.never_partition(strip, row).vectorize(x, _lanes(stage._function))
    return strip, row


def _lanes(f: Function) -> int:
    return lanes_of(f.stages()[0])


__all__ = ["NOTHING", "OPEN", "TAKEN", "by_walk", "grown"]
