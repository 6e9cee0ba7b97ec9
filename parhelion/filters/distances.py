"""How far pixels are from those that are 0."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parhelion.errors import BoundsError, here
from parhelion.filters.given import one_of
from parhelion.filters.lines import lanes_of
from parhelion.filters.planes import plane_axes
from parhelion.filters.running import Image
from parhelion.filters.whole_images import run
from parhelion.ir import build
from parhelion.ir.build import const_int, imm, int32
from parhelion.lang.effects import require
from parhelion.lang.expr import Expr, wrap
from parhelion.lang.func import Func
from parhelion.lang.functions import cast, clamp, select
from parhelion.lang.functions import max as maximum
from parhelion.lang.functions import min as minimum
from parhelion.lang.mathfuncs import sqrt
from parhelion.lang.pipeline import Pipeline
from parhelion.lang.rdom import RDom, of_rvar
from parhelion.lang.var import Var
from parhelion.schedule.directives import TailStrategy
from parhelion.schedule.order import realization_order
from parhelion.types import INT32, Float, Type, UInt
from parhelion.whole.array import Array
from parhelion.whole.core import Whole, letters, loop_order, moved, read

_METRICS = ("l2", "l1", "c")
#: Squares of distances in larger images are beyond 32 bits.
_MOST = 32767
_SHORT, _LONG = UInt(16), UInt(32)
#: Rows that a thread computes at a time, and 16-bit numbers of a register.
STRIP, _LANES = 16, 32
#: Pixels of a row that try as many columns as each other.
BLOCK = 128
#: Where there is no pixel of 0: distances and squares.
_NONE = {_SHORT: (1 << 16) - 1, _LONG: 1 << 31}


def distance_transform(image: Image, metric: str = "l2") -> Image:
    """Returns how far each pixel is from the nearest one that is 0.

    image: (H, W) or (H, W, C), of any numbers, of at most 32767 rows and columns; each
        channel is taken by itself. The result has its shape, and is a float32, in
        pixels. It is infinite if no pixel is 0.
    metric: "l2" for straight lines, "l1" for steps to the four neighbours, "c" for
        steps to the eight neighbours.

    Squares of distances are integers, and exact. OpenCV calls it
    ``cv2.distanceTransform``, with DIST_L2 and DIST_MASK_PRECISE, DIST_L1 and DIST_C;
    SciPy ``distance_transform_edt`` and ``distance_transform_cdt``. Without a pixel of
    0 these give large or other numbers. Raises BoundsError for a larger image (within a
    program a PipelineRuntimeError, where its size is only known then), and
    TypeMismatchError for what is no image, and another metric.

    Formula: the least of ``(x - i)**2 + g(i)**2`` over the pixels i of a row, g the
    distance along a column; A. Meijster, J. Roerdink and W. Hesselink, A general
    algorithm for computing distance transforms in linear time, 2000, section 2. Here
    pixels of a row are tried that are not further than the nearest one by steps.

    >>> image = np.array([[1, 1, 1], [1, 1, 1], [1, 1, 0]], np.uint8)
    >>> (hl.filters.distance_transform(image)[0] ** 2).round().tolist()
    [8.0, 5.0, 4.0]
    """
    if isinstance(image, np.ndarray):
        _check_size(image.shape[:2])
    found: Image = run(
        _distances, image, one_of(metric, _METRICS, "metric"), schedule=_by_rows
    )
    return found


def _distances(image: Array, metric: str) -> Array:
    y, x = plane_axes(image, "distance_transform")
    whole = image._whole
    _check_size([const_int(whole.extent(p)) for p in (y, x)])
    order = loop_order(whole.shape)
    named = [Var(c) for c in letters(whole.names)]
    lines = _Lines(order, named, y, x)
    height, width = wrap(whole.extent(y)), wrap(whole.extent(x))
    is_zero = build.eq(
        moved(whole.value, {p: v._node for p, v in enumerate(named)}),
        imm(0, whole.type),
    )
    down = Func("down")
    down[lines.at()] = select(wrap(is_zero), _of(0), _of(_NONE[_SHORT]))
    _scan(down, lines, y, height)
    steps = Func("steps")
    steps[lines.at()] = down[lines.at()]
    _scan(steps, lines, x, width)
    if metric == "l1":
        far = steps[lines.at()]
    else:
        column = named[x]
        found = _nearest(down, steps, lines, width, metric)
        far = found[(column % BLOCK, column / BLOCK, *lines.rows())]
    value = cast(Float(32), far)
    if metric == "l2":
        value = sqrt(value)
    infinite = wrap(imm(float("inf"), Float(32)))
    result = Func("distances")
    none = _NONE[_LONG if metric == "l2" else _SHORT]
    result[lines.at()] = select(far >= none, infinite, value)
    return Array._of(
        Whole(read(result, whole.shape), whole.shape, whole.names, whole.trace)
    )


def _check_size(extents: Sequence[int | None]) -> None:
    """Raises BoundsError for extents that are too large, as far as they are known."""
    for size in extents:
        if size is not None and size > _MOST:
            raise BoundsError(
                f"distance_transform takes an image of at most {_MOST} rows and"
                f" columns, not of {size}",
                at=here(),
                hint="resize makes a smaller one, whose distances are longer pixels",
            )


class _Lines:
    """The arguments of Funcs over an image: `order` and `named` tell its axes."""

    def __init__(self, order: Sequence[int], named: list[Var], y: int, x: int) -> None:
        self.order, self.named, self.y, self.x = order, named, y, x

    def at(self, p: int = -1, place: object = None) -> tuple[object, ...]:
        """All Vars, but for a place on one axis."""
        return tuple([place if q == p else self.named[q] for q in self.order])

    def rows(self) -> tuple[Var, ...]:
        """All Vars but that of columns."""
        return tuple([self.named[q] for q in self.order if q != self.x])


def _of(value: int, t: Type = _SHORT) -> Expr:
    return wrap(imm(value, t))


def _scan(f: Func, lines: _Lines, p: int, extent: Expr) -> None:
    """Takes steps along an axis, there and back. A run checks how many, where that is
    not known before."""
    size = extent
    if const_int(extent._node) is None:
        told = f"distance_transform takes at most {_MOST} rows and columns, not"
        size = require(extent <= _MOST, extent, told, extent)
    more = maximum(size - 1, 0)
    there, back = RDom([(1, more)]), RDom([(1, more)])
    for place, before in (
        (there.x, there.x - 1),
        (extent - 1 - back.x, extent - back.x),
    ):
        one = minimum(f[lines.at(p, before)], _of(_NONE[_SHORT] - 1)) + _of(1)
        f[lines.at(p, place)] = minimum(f[lines.at(p, place)], one)


def _nearest(down: Func, steps: Func, lines: _Lines, width: Expr, metric: str) -> Func:
    """The least of a metric's values over the pixels of a row, by blocks of pixels:
    (pixel, block, …). Those of a block try as many columns as the furthest of them may
    need."""
    squared = metric == "l2"
    t = _LONG if squared else _SHORT
    none = _of(_NONE[t], t)
    x = lines.named[lines.x]
    pixel, block = Var("pixel"), Var("block")
    reach, columns, nearest = Func("reach"), Func("columns"), Func("nearest")
    # No pixel of a block is further from the nearest 0 than by so many columns.
    r = RDom([(0, BLOCK)])
    of_block = block, *lines.rows()
    reach[of_block] = wrap(int32(0))
    far = steps[lines.at(lines.x, minimum(block * BLOCK + r.x, width - 1))]
    reached = select(far == _of(_NONE[_SHORT]), wrap(int32(0)), cast(INT32, far))
    reach[of_block] = maximum(reach[of_block], reached)
    inside = (x >= 0) & (x < width)
    own = down[lines.at(lines.x, clamp(x, 0, width - 1))]
    value = cast(t, own) * cast(t, own) if squared else own
    is_none = ~inside | (own == _of(_NONE[_SHORT]))
    columns[lines.at()] = select(is_none, none, value)
    own_x = block * BLOCK + pixel
    of_pixel = pixel, *of_block
    nearest[of_pixel] = columns[lines.at(lines.x, own_x)]
    d = RDom([(1, maximum(width - 1, 0))], "d")
    d.where(d.x <= reach[of_block])
    least = minimum(
        columns[lines.at(lines.x, own_x - d.x)], columns[lines.at(lines.x, own_x + d.x)]
    )
    apart = cast(t, d.x)
    value = least + apart * apart if squared else maximum(least, apart)
    nearest[of_pixel] = minimum(nearest[of_pixel], value)
    return nearest


def _by_rows(pipeline: Pipeline) -> None:
    """Schedules distances along columns as a whole, and all else for a row."""
    (out,) = pipeline.outputs()
    order = realization_order([out._function])
    stages = [Func._of(f) for f in order if f is not out._function]
    down, steps = [f for f in stages if len(f._function.updates) == 2]
    across, along = _scanned(steps), _scanned(down)
    x, y = out.args()[across], out.args()[along]
    strip, row = Var("strip"), Var("row")
    out.split(y, strip, row, STRIP, TailStrategy.GuardWithIf).parallel(strip)
    out.vectorize(x, lanes_of(out._function.stages()[0]), TailStrategy.GuardWithIf)
    down.compute_root().vectorize(down.args()[across], _LANES)
    for k in range(2):
        _by_pixels(down, k, across)
        steps.update(k).unscheduled()
    steps.compute_at(out, row).vectorize(steps.args()[across], _LANES)
    for one in stages:
        f = one._function
        if len(f.updates) == 2:
            continue
        one.compute_at(out, row)
        if not f.updates:
            one.vectorize(one.args()[across], lanes_of(f.stages()[0]))
        elif f.dimensions == out._function.dimensions:
            one.update(0).unscheduled()
        else:
            _by_blocks(one)


def _by_blocks(nearest: Func) -> None:
    """Keeps the pixels of a block in registers while columns are tried."""
    pixel, *others = nearest.args()
    definition = nearest._function.updates[0]
    assert definition.rdom is not None
    step = of_rvar(definition.rdom.vars[0])
    nearest.vectorize(pixel, lanes_of(nearest._function.stages()[0]))
    nearest.update(0).reorder(pixel, step, *others).vectorize(pixel, BLOCK)


def _scanned(f: Func) -> int:
    """The argument along which a Func is scanned."""
    (found,) = [
        i
        for i, (place, own) in enumerate(
            zip(f._function.updates[0].args, f._function.args, strict=True)
        )
        if place is not own
    ]
    return found


def _by_pixels(f: Func, k: int, across: int) -> None:
    """Takes the pixels of a row at once in an update."""
    definition = f._function.updates[k]
    assert definition.rdom is not None
    x = f.args()[across]
    step = of_rvar(definition.rdom.vars[0])
    # Whether a step is needed is asked for each vector: long ones ask less often.
    f.update(k).reorder(x, step).vectorize(x, 8 * lanes_of(definition))


__all__ = ["distance_transform"]
