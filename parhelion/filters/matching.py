"""Where an image looks like a small one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parhelion.errors import BoundsError, TypeMismatchError, here
from parhelion.filters.applied import applied
from parhelion.filters.given import one_of
from parhelion.filters.lines import lanes_of
from parhelion.filters.planes import plane_axes
from parhelion.filters.running import Image
from parhelion.filters.whole_images import run_with
from parhelion.ir import build
from parhelion.ir.build import const_int, imm, int32
from parhelion.ir.expr import Expr as Node
from parhelion.ir.function import Function
from parhelion.lang.expr import wrap
from parhelion.lang.func import Func
from parhelion.lang.pipeline import Pipeline
from parhelion.lang.rdom import RDom, of_rvar
from parhelion.lang.var import Var
from parhelion.schedule.directives import TailStrategy
from parhelion.schedule.order import callees, realization_order
from parhelion.types import Float, Int, Type, UInt
from parhelion.whole.array import Array
from parhelion.whole.core import Whole, coordinate, letters, moved
from parhelion.whole.functions import where

_METHODS = (
    "sqdiff",
    "sqdiff_normed",
    "ccorr",
    "ccorr_normed",
    "ccoeff",
    "ccoeff_normed",
)
_WIDE = Float(64)
#: Rows of bytes whose products are added at once.
_ROWS = 4
#: Pixels of a row whose sums stay in registers.
_BLOCK = 64
#: What is left of sums of squares by rounding, and the least variance of a template:
#: those of OpenCV.
_FLAT = 10 * float(np.finfo(np.float32).eps)
_LEAST = float(np.finfo(np.float64).eps)


def match_template(image: Image, template: Any, method: str = "ccoeff_normed") -> Image:
    """Returns how much an image looks like a small one at each place where that lies
    inside.

    image: (H, W) or (H, W, C), of any numbers.
    template: a NumPy array (h, w) or (h, w, C) of the image's type, not larger than it.
    method: "sqdiff" for the sum of squared differences, "ccorr" for that of products,
        "ccoeff" for that of products of what is above the means of the template and of
        the window; each with "_normed" for what is divided by the lengths of both.

    The result is (H - h + 1, W - w + 1), a float32; channels are added up. Of flat
    windows "normed" ones are as OpenCV's: 1 where the lengths are 0 for "sqdiff", and 0
    for others, but 1 for "ccoeff" with a flat template. Sums of bytes are exact, others
    are of float64. OpenCV calls it ``cv2.matchTemplate``, whose sums are of float32:
    "normed" results are apart by at most 1e-5, others by 1e-5 of the greatest square of
    a pixel for each pixel of the template. Raises BoundsError for a template that has
    no pixels or is larger than the image, and TypeMismatchError for other types,
    channels and methods.

    Formula: R. Gonzalez and R. Woods, Digital Image Processing, 4th edition, section
    12.3; OpenCV's manual, matchTemplate.

    >>> image = np.array([[1, 2, 9, 3, 1]], np.uint8)
    >>> small = np.array([[9, 3]], np.uint8)
    >>> hl.filters.match_template(image, small, "sqdiff").tolist()
    [[65.0, 85.0, 0.0, 40.0]]
    """
    word = one_of(method, _METHODS, "method")
    small = _checked(image, template)
    given = small.shape, word, not isinstance(image, Array)
    found: Image = run_with(_match, image, (small,), *given, schedule=_by_blocks)
    return found


def _checked(image: Any, template: Any) -> NDArray[Any]:
    """A template that fits an image."""
    if not isinstance(template, np.ndarray) or template.dtype.kind not in "iuf":
        raise TypeMismatchError(
            f"the template is a NumPy array of numbers, not {template!r:.60}", at=here()
        )
    if template.size == 0:
        raise BoundsError(
            f"the template has pixels, not the shape {template.shape}", at=here()
        )
    own = getattr(image, "dtype", None)
    if own is not None and own != template.dtype:
        raise TypeMismatchError(
            f"the template has the image's type, {own}, not {template.dtype}",
            at=here(),
            hint="template.astype(image.dtype) makes one",
        )
    rank = getattr(image, "ndim", template.ndim)
    if rank != template.ndim:
        raise TypeMismatchError(
            f"the template has as many axes as the image, {rank}, not {template.ndim}",
            at=here(),
        )
    if isinstance(image, np.ndarray) and image.ndim in (2, 3):
        _check_fits(image.shape, template.shape)
    return template


def _check_fits(own: Sequence[int | None], shape: tuple[int, ...]) -> None:
    """Raises BoundsError for a template that is larger than an image, as far as its
    extents are known, or has another number of channels."""
    for k, (extent, size) in enumerate(zip(own, shape, strict=True)):
        if extent is not None and (extent < size or (k == 2 and extent != size)):
            raise BoundsError(
                f"a template of the shape {shape} does not fit an image that has"
                f" {extent} {('rows', 'columns', 'channels')[k]}",
                at=here(),
                hint="it is not larger, and has as many channels",
            )


def _match(
    image: Array, template: Array, shape: tuple[int, ...], method: str, alone: bool
) -> Array:
    """alone: whether it is a program by itself, with `_by_blocks` for its schedule."""
    y, x = plane_axes(image, "match_template")
    whole = image._whole
    channels = [p for p in range(whole.rank) if p not in (y, x)]
    own = [const_int(whole.extent(p)) for p in (y, x, *channels)]
    _check_fits(own, shape)
    windows = _Windows(image, template, shape, (y, x), channels)
    kind, normed = method.removesuffix("_normed"), method.endswith("_normed")
    area, each = shape[0] * shape[1], range(shape[2]) if channels else (None,)
    few = image.type is UInt(8) and math.prod(shape) * 255 * 128 < 1 << 31
    found = windows.products_of_bytes() if alone and few else windows.products()
    if method == "ccorr":
        return found.astype("float32")
    square, squares = windows.total(2), windows.powers(2)
    if kind == "sqdiff":
        found = applied("maximum", squares - found * 2.0 + square, np.float64(0))
    if kind == "ccoeff":
        spread = squares
        for c in each:
            mean, level = windows.powers(1, c) * (1 / area), windows.total(1, c)
            found = found - mean * level
            square = square - level * level * (1 / area)
            spread = spread - mean * mean * float(area)
        # What rounding leaves of a flat window is nothing.
        least = applied("minimum", squares * _FLAT, np.float64(0.5))
        squares = where(spread <= least, 0.0, spread)
    if not normed:
        return found.astype("float32")
    length = applied("sqrt", applied("maximum", squares, np.float64(0)))
    length = length * applied("sqrt", applied("maximum", square, np.float64(0)))
    beyond = 1.0 if kind == "sqdiff" else 0.0
    amount, one = abs(found), where(found > 0.0, 1.0, -1.0)
    one = where(amount < length * 1.125, one, beyond)
    ratio = found / where(length > 0.0, length, 1.0)
    result = where(amount < length, ratio, one)
    if kind == "ccoeff":
        result = where(square * (1 / area) < _LEAST, 1.0, result)
    return result.astype("float32")


class _Windows:
    """Sums over the windows of an image that are as large as a template."""

    def __init__(
        self,
        image: Array,
        template: Array,
        shape: tuple[int, ...],
        axes: tuple[int, int],
        channels: Sequence[int],
    ) -> None:
        self.whole, self.small = image._whole, template._whole
        self.shape, self.axes, self.channels = shape, axes, channels
        self.sum_type = _sum_type(image.type, math.prod(shape))
        rank = self.whole.rank
        left = [p for p in reversed(range(rank)) if p in axes]
        self.names = tuple([self.whole.names[rank - 1 - p] for p in left])
        size_of = dict(zip(axes, shape, strict=False))
        self.extents = tuple(
            [build.sub(self.whole.extent(p), int32(size_of[p] - 1)) for p in left]
        )
        named = [Var(c) for c in letters(self.names)]
        self.args = tuple(named)
        self.y, self.x = [named[len(left) - 1 - left.index(p)] for p in axes]

    def products(self) -> Array:
        """The sums of products with the template."""
        r = RDom([(0, self.shape[1]), (0, self.shape[0]), *self._of_channels(None)])
        c = self._channel(r, 2, None)
        at = build.add(self.y._node, r[1]._node), build.add(self.x._node, r[0]._node)
        term = build.mul(self._pixel(*at, c), self._of_small(r[1]._node, r[0]._node, c))
        return self._array(self._sum("products", term))

    def products_of_bytes(self) -> Array:
        """As `products`, of bytes, four rows at a time: those of pixels lie side by
        side, less 128, so that machines add four products at once. What that takes
        away is 128 times the sum of the template."""
        rows, columns = self.shape[:2]
        k, i, j = Var("k"), Var("i"), Var("j")
        channel = [Var("c")] if self.channels else []
        c = [v._node for v in channel]
        last = build.sub(self.whole.extent(self.axes[0]), int32(1))
        row = build.minimum(build.add(self.y._node, k._node), last)
        pixel = self._pixel(row, self.x._node, c, Int(16))
        fours = Func("fours")
        fours[k, self.x, self.y, *channel] = wrap(
            build.cast(Int(8), build.sub(pixel, imm(128, Int(16))))
        )
        row = build.add(build.mul(j._node, int32(_ROWS)), k._node)
        inside = build.minimum(row, int32(rows - 1))
        level = self._of_small(inside, i._node, c, UInt(8))
        level = build.select(build.lt(row, int32(rows)), level, imm(0, UInt(8)))
        small = Func("small")
        small[k, i, j, *channel] = wrap(level)

        groups = (rows + _ROWS - 1) // _ROWS
        r = RDom([(0, _ROWS), (0, columns), (0, groups), *self._of_channels(None)])
        of = [r[3]] if channel else []
        at = r[0], self.x + r[1], self.y + r[2] * _ROWS, *of
        one, other = [
            build.cast(Int(32), read._node)
            for read in (small[r[0], r[1], r[2], *of], fours[at])
        ]
        f = Func("products")
        f[self.args] = wrap(imm(0, Int(32)))
        f[self.args] += wrap(build.mul(one, other))
        return self._array(f) + self.total(1) * 128.0

    def powers(self, power: int, channel: int | None = None) -> Array:
        """The sums of pixels or of their squares, of one channel or of all: along
        columns first."""
        r = RDom([(0, self.shape[0]), *self._of_channels(channel)])
        c = self._channel(r, 1, channel)
        row = build.add(self.y._node, r[0]._node)
        pixel = self._pixel(row, self.x._node, c)
        column = self._sum("columns", pixel if power == 1 else build.mul(pixel, pixel))
        across = RDom([(0, self.shape[1])])
        at = [v + across.x if v is self.x else v for v in self.args]
        return self._array(self._sum("rows", column[tuple(at)]._node))

    def total(self, power: int, channel: int | None = None) -> Array:
        """The sum of the template's pixels or of their squares."""
        r = RDom([(0, self.shape[1]), (0, self.shape[0]), *self._of_channels(channel)])
        c = self._channel(r, 2, channel)
        pixel = self._of_small(r[1]._node, r[0]._node, c)
        f = Func("total")
        f[()] = wrap(imm(0, self.sum_type))
        f[()] += wrap(pixel if power == 1 else build.mul(pixel, pixel))
        one = Whole(f[()]._node, (), (), self.whole.trace)
        return Array._of(one).astype("float64")

    def _of_channels(self, channel: int | None) -> list[tuple[int, int]]:
        return [(0, n) for n in self.shape[2:]] if channel is None else []

    def _channel(self, r: RDom, d: int, channel: int | None) -> list[Node]:
        if not self.channels:
            return []
        return [r[d]._node if channel is None else int32(channel)]

    def _pixel(
        self, row: Node, column: Node, c: Sequence[Node], to: Type | None = None
    ) -> Node:
        at = dict(zip((*self.axes, *self.channels), (row, column, *c), strict=True))
        return build.cast(to or self.sum_type, moved(self.whole.value, at))

    def _of_small(
        self, row: Node, column: Node, c: Sequence[Node], to: Type | None = None
    ) -> Node:
        places = reversed(range(self.small.rank))
        at = dict(zip(places, (row, column, *c), strict=True))
        return build.cast(to or self.sum_type, moved(self.small.value, at))

    def _sum(self, name: str, term: Node) -> Func:
        f = Func(name)
        f[self.args] = wrap(imm(0, self.sum_type))
        f[self.args] += wrap(term)
        return f

    def _array(self, f: Func) -> Array:
        value = f[tuple([wrap(coordinate(q)) for q in range(2)])]._node
        found = Whole(value, self.extents, self.names, self.whole.trace)
        return Array._of(found).astype("float64")


def _sum_type(own: Type, count: int) -> Type:
    """The type of sums of so many products."""
    if own is UInt(8):
        return UInt(32) if count * 255**2 < 1 << 32 else UInt(64)
    return _WIDE


def _by_blocks(pipeline: Pipeline) -> None:
    """Schedules sums of a few pixels of a row, which stay in registers."""
    (out,) = pipeline.outputs()
    x, y = out.args()
    strip, row, block, pixel = Var("strip"), Var("row"), Var("block"), Var("pixel")
    out.split(y, strip, row, 16, TailStrategy.GuardWithIf).parallel(strip)
    out.split(x, block, pixel, _BLOCK, TailStrategy.GuardWithIf)
    out.vectorize(pixel, 8)
    for f in realization_order([out._function]):
        stage = Func._of(f)
        if f is out._function:
            continue
        if f.dimensions < 2:
            stage.compute_root()
            continue
        if not f.updates:
            # Bytes of which four are added at once: of the template, and of pixels.
            k, *others = stage.args()
            stage.bound(k, 0, _ROWS)
            if y.name in [v.name for v in others]:
                stage.store_at(out, strip).compute_at(out, row)
                stage.unroll(k).vectorize(others[0], lanes_of(f.stages()[0]))
            else:
                stage.compute_root().vectorize(k)
            continue
        # Sums along columns are read by others, for a whole row.
        stage.compute_at(out, block if f in callees(out._function) else row)
        _sum_in_registers(stage, f)


def _sum_in_registers(stage: Func, f: Function) -> None:
    first, other = stage.args()
    lanes = lanes_of(f.updates[0])
    stage.vectorize(first, lanes)
    domain = f.updates[0].rdom
    assert domain is not None
    steps = [of_rvar(v) for v in domain.vars]
    group, lane = Var("group"), Var("lane")
    one = stage.update(0)
    if any([not g.updates for g in callees(f) if g is not f]):
        four, *steps = steps
        one.split(first, group, lane, _BLOCK, TailStrategy.GuardWithIf)
        one.reorder(four, lane, *steps, group, other).atomic()
        one.vectorize(four).vectorize(lane)
        return
    one.split(first, group, lane, lanes, TailStrategy.GuardWithIf)
    one.reorder(lane, *steps, group, other).vectorize(lane)


__all__ = ["match_template"]
