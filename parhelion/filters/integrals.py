"""Integral images: sums of all pixels above and to the left."""

from __future__ import annotations

from parhelion.filters.lines import lanes_of
from parhelion.filters.planes import plane_axes
from parhelion.filters.running import Image
from parhelion.filters.whole_images import run
from parhelion.ir import build
from parhelion.ir.build import const_int, imm, int32
from parhelion.ir.expr import Expr as Node
from parhelion.lang.effects import undef
from parhelion.lang.expr import wrap
from parhelion.lang.func import Func
from parhelion.lang.pipeline import Pipeline
from parhelion.lang.rdom import RDom, RVar, of_rvar
from parhelion.lang.var import Var
from parhelion.schedule.order import realization_order
from parhelion.types import INT32, Float, Int, Type
from parhelion.whole.array import Array
from parhelion.whole.core import Whole, letters, loop_order, moved, read


def integral(image: Image) -> Image:
    """Returns the sums of all pixels above and to the left of each corner of a pixel.

    image: (H, W) or (H, W, C), of any numbers. The result is (H + 1, W + 1) or (H + 1,
    W + 1, C), whose first row and column are 0: of int32 for integers of 8 bits, of
    int64 for others, and of float64 for floats. The sum of a window of pixels is
    ``s[y1, x1] - s[y0, x1] - s[y1, x0] + s[y0, x0]``.

    Sums of more than 2**23 bytes of 255 wrap, as OpenCV's do. OpenCV calls it
    ``cv2.integral``, scikit-image ``integral_image``, without the row and column of 0.
    Raises TypeMismatchError for what is no image.

    Formula: F. Crow, Summed-area tables for texture mapping, 1984.

    >>> hl.filters.integral(np.array([[1, 2], [3, 4]], np.uint8)).tolist()
    [[0, 0, 0], [0, 1, 3], [0, 4, 10]]
    """
    found: Image = run(_integral, image, schedule=_by_rows)
    return found


def _type(own: Type) -> Type:
    if own.is_float():
        return Float(64)
    return INT32 if own.width <= 8 else Int(64)


def _integral(image: Array) -> Array:
    y, x = plane_axes(image, "integral")
    whole, t = image._whole, _type(image.type)
    shape = list(whole.shape)
    for p in (y, x):
        k = whole.rank - 1 - p
        shape[k] = build.add(shape[k], int32(1))
    order = loop_order(shape)
    named = [Var(c) for c in letters(whole.names)]
    args = [named[p] for p in order]

    def at(p: int, place: object) -> tuple[object, ...]:
        return tuple([place if q == p else named[q] for q in order])

    rows, total = Func("rows"), Func("integral")
    zero = wrap(imm(0, t))
    rows[tuple(args)] = undef(t)
    rows[at(x, 0)] = zero
    r = RDom([(0, wrap(whole.extent(x)))], "r")
    to: dict[int, Node] = {p: v._node for p, v in enumerate(named)}
    to[x] = r.x._node
    pixel = wrap(build.cast(t, moved(whole.value, to)))
    rows[at(x, r.x + 1)] = rows[at(x, r.x)] + pixel
    total[tuple(args)] = undef(t)
    total[at(y, 0)] = zero
    down = RDom([(0, wrap(whole.extent(y)))], "down")
    total[at(y, down.x + 1)] = total[at(y, down.x)] + rows[at(y, down.x)]
    return Array._of(Whole(read(total, shape), tuple(shape), whole.names, whole.trace))


def _by_rows(pipeline: Pipeline) -> None:
    """Schedules the sums of a row for the row of the result that they are added to; of
    one channel, a vector of them at a time."""
    (out,) = pipeline.outputs()
    order = realization_order([out._function])
    rows, total = [Func._of(f) for f in order if f is not out._function]
    domain = total._function.updates[1].rdom
    along = rows._function.updates[1].rdom
    assert domain is not None and along is not None
    x, down = total.args()[0], of_rvar(domain.vars[0])
    lanes = lanes_of(total._function.updates[1])
    total.update(0).unscheduled()
    out.vectorize(out.args()[0], lanes)
    if len(out.args()) > 2 or const_int(along.extents[0]) in (0, 1):
        # The sums of a row are as many elements apart as there are channels; or there
        # is one at most.
        total.compute_root()
        total.update(1).reorder(x, down).vectorize(x, lanes)
        rows.compute_at(total, down)
        return
    strips, inside = Var("strips"), Var("inside")
    # A row of the result is read while it is in the nearest cache.
    total.store_root().compute_at(out, out.args()[1])
    step = total.update(1).split(x, strips, inside, lanes).vectorize(inside)
    step.reorder(inside, strips, down)
    rows.store_at(total, down).compute_at(total, strips)
    rows.update(0).unscheduled()
    outer, inner = RVar("outer"), RVar("inner")
    sums = rows.update(1).atomic().split(of_rvar(along.vars[0]), outer, inner, lanes)
    sums.vectorize(inner)


__all__ = ["integral"]
