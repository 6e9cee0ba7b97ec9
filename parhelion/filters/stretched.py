"""An image by itself in another size: rows of pixels are blended first, and then what
lies along them.

Places and weights are tables, computed before all else: those of columns for each
element of a row, of which a pixel has as many as there are channels, so that rows are
read element by element as they lie in memory. Of a row of the result, that of blended
pixels stays in the cache, continued on both ends by as many pixels as are read there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from parhelion.filters.lines import STRIP, lanes_of, vectorize
from parhelion.filters.padded import Source
from parhelion.filters.planes import Plane, array
from parhelion.filters.sampling import (
    TAPS,
    between,
    blended,
    first,
    shares,
    table,
)
from parhelion.ir import build
from parhelion.ir.build import imm, int32
from parhelion.ir.expr import Expr as Node
from parhelion.ir.expr import ImageLoad
from parhelion.ir.function import Function
from parhelion.ir.rewrite import nodes
from parhelion.lang.effects import unsafe_promise_clamped
from parhelion.lang.expr import wrap
from parhelion.lang.func import Func
from parhelion.lang.pipeline import Pipeline
from parhelion.lang.rdom import RDom, of_rvar
from parhelion.lang.var import Var
from parhelion.schedule.directives import TailStrategy
from parhelion.schedule.order import callees, realization_order
from parhelion.types import INT32, Float
from parhelion.whole.array import Array
from parhelion.whole.core import Whole, computed, coordinate, moved

_WIDE = Float(64)


def stretched(
    image: Array,
    apart: int,
    sizes: Sequence[Node],
    steps: Sequence[Node],
    kind: str,
    to: str,
) -> Array:
    """An image (H, W * apart) with another number of rows and columns.

    sizes: how many of them. steps: from one to the next, in pixels of the image, as
    float64. kind: as of `resize`. to: the float that values are computed in. The
    result is one of such floats, but for "nearest".
    """
    whole = image._whole
    lines = [
        _Line(whole, 1, 1, sizes[0], steps[0]),
        _Line(whole, 0, apart, sizes[1], steps[1]),
    ]
    if kind == "nearest":
        value = moved(whole.value, {line.p: line.nearest() for line in lines})
    elif kind == "area":
        value = _covered(whole, lines, to)
    else:
        value = _interpolated(image, apart, lines, kind, to)
    extents = tuple([line.extent for line in lines])
    return Array._of(Whole(value, extents, whole.names, whole.trace))


class _Line:
    """The points of the result along an axis.

    p: the axis, counted from the last. apart: how many elements of it a pixel has.
    """

    def __init__(self, whole: Whole, p: int, apart: int, size: Node, step: Node):
        self.p, self.apart, self.size, self.step = p, apart, size, step
        self.trace = whole.trace
        self.pixels = build.div(whole.extent(p), int32(apart))
        self.last = build.sub(self.pixels, int32(1))
        self.extent = build.mul(size, int32(apart))

    def array(self, value: Node) -> Array:
        """An array of what is said of each point of the result."""
        return Array._of(Whole(value, (self.size,), (None,), self.trace))

    def points(self) -> Array:
        """The numbers of the points."""
        return self.array(build.cast(_WIDE, coordinate(0)))

    def by(self) -> Array:
        return Array._of(Whole(self.step, (), (), self.trace))

    def elements(self, pixel: Callable[[Node], Node], low: Node, high: Node) -> Node:
        """The element to be read for the coordinate of the axis, by a table.

        pixel: of a point of the result; it is limited to `low` and `high`.
        """
        x = Var("x")
        table = Func("place")
        table[x] = wrap(self._element(x._node, pixel, low, high))
        return self._promised(table[wrap(coordinate(self.p))]._node, low, high)

    def elements_of(
        self, pixel: Callable[[Node, Node], Node], k: Node, low: Node, high: Node
    ) -> Node:
        """As `elements`, of the `k`-th of several pixels."""
        x, n = Var("x"), Var("k")
        table = Func("place")
        place = self._element(x._node, lambda at: pixel(at, n._node), low, high)
        table[x, n] = wrap(place)
        found = table[wrap(coordinate(self.p)), wrap(k)]._node
        return self._promised(found, low, high)

    def _element(
        self, at: Node, pixel: Callable[[Node], Node], low: Node, high: Node
    ) -> Node:
        apart = int32(self.apart)
        inside = build.clamp(pixel(build.div(at, apart)), low, high)
        return build.add(build.mul(inside, apart), build.mod(at, apart))

    def _promised(self, place: Node, low: Node, high: Node) -> Node:
        """What a table says, which is in its limits as it was made."""
        apart = int32(self.apart)
        end = build.add(build.mul(high, apart), int32(self.apart - 1))
        least = build.mul(low, apart)
        return unsafe_promise_clamped(wrap(place), wrap(least), wrap(end))._node

    def spread(self, table: Whole) -> Callable[[Node], Node]:
        """The values of a table (k, points), by k, for the coordinate of the axis."""
        at = coordinate(self.p)
        if self.apart == 1:
            return lambda k: moved(table.value, {0: at, 1: k})
        x, n = Var("x"), Var("k")
        each = Func("each")
        to = {0: build.div(x._node, int32(self.apart)), 1: n._node}
        each[x, n] = wrap(moved(table.value, to))
        return lambda k: each[wrap(at), wrap(k)]._node

    def nearest(self) -> Node:
        at = (self.points() * self.by()).astype(INT32)._whole.value
        return self.elements(lambda n: moved(at, {0: n}), int32(0), self.last)


def _interpolated(
    image: Array, apart: int, lines: Sequence[_Line], kind: str, to: str
) -> Node:
    taps, low = TAPS[kind], first(kind)
    down, across = lines
    places, ratios = [], []
    for line in lines:
        one, t = between(line.points(), line.by())
        places.append(computed(one._whole, "before").value)
        ratios.append(table(kind, t.astype(to))._whole)
    # Beyond the last pixel by all taps, there are no others than that one.
    end = build.sub(across.last, int32(low))
    at = across.elements(lambda n: moved(places[1], {0: n}), int32(-1), end)
    row = moved(places[0], {0: coordinate(1)})
    reach = max(1 - low, taps - 1)
    whole = computed(image._whole)
    source = Source(whole, apart, "repeat_edge", imm(0, whole.type), reach, row=row)
    p = Plane(source.rows(), whole, 1, 0, apart, source)

    weights = [line.spread(made) for line, made in zip(lines, ratios, strict=True)]

    def blend(pixel: Callable[[int], Array]) -> list[Array]:
        by = [array(weights[0](int32(k)), whole) for k in range(taps)]
        return [blended(lambda k: pixel(k + low).astype(to), by)]

    (rows,) = p.columns(blend)

    def beside(k: int) -> Array:
        there = build.add(at, int32((k + low) * apart))
        return array(rows.func[wrap(there), wrap(coordinate(1))]._node, whole)

    by = [array(weights[1](int32(k)), whole) for k in range(taps)]
    return blended(beside, by)._whole.value


def _covered(whole: Whole, lines: Sequence[_Line], to: str) -> Node:
    """The means of what pixels of the result cover."""
    down, across = lines
    value = whole.value
    for line, name in ((down, "down"), (across, "across")):
        before, ratios, most = shares(line.points(), line.by(), to)
        r = RDom([(0, wrap(most))])
        k = r.x._node

        def pixel(n: Node, k: Node, before: Array = before) -> Node:
            return build.add(moved(before._whole.value, {0: n}), k)

        place = line.elements_of(pixel, k, int32(0), line.last)
        read = build.cast(ratios.type, moved(value, {line.p: place}))
        term = build.mul(line.spread(ratios._whole)(k), read)
        x, y = Var("x"), Var("y")
        at = {0: x._node, 1: y._node}
        total = Func(name)
        total[x, y] = wrap(imm(0, ratios.type))
        total[x, y] += wrap(moved(term, at))
        value = total[wrap(coordinate(0)), wrap(coordinate(1))]._node
    return value


def by_rows(pipeline: Pipeline) -> None:
    """Schedules tables as a whole, and all else for a row of the result."""
    (out,) = pipeline.outputs()
    x, y = out.args()
    strip, row = Var("strip"), Var("row")
    out.split(y, strip, row, STRIP, TailStrategy.GuardWithIf)
    out.parallel(strip).never_partition(strip, row)
    order = realization_order([out._function])
    images: set[Function] = set()
    for f in order:
        stage = Func._of(f)
        if _reads_pixels(f) or images & set(callees(f)):
            images.add(f)
            if f is not out._function:
                stage.compute_at(out, row)
            if f.updates and f.updates[0].args[0] is f.args[0]:
                _sum_by_lanes(stage, f)
            else:
                vectorize(stage, f)
        else:
            stage.compute_root()
            stage.vectorize(stage.args()[0], lanes_of(f.stages()[0]))


def _reads_pixels(f: Function) -> bool:
    return any(
        [isinstance(n, ImageLoad) for one in f.stages() for n in nodes(*one.values)]
    )


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


__all__ = ["by_rows", "stretched"]
