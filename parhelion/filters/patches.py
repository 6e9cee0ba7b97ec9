"""Non-local means: means of the pixels whose surroundings are alike."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from parhelion.errors import BoundsError, TypeMismatchError, here
from parhelion.filters.channels import colours, joined
from parhelion.filters.given import above_zero, whole_number
from parhelion.filters.lines import lanes_of
from parhelion.filters.planes import Plane, array, plane, plane_axes
from parhelion.filters.running import Image
from parhelion.filters.whole_images import run
from parhelion.ir.build import int32
from parhelion.ir.expr import Expr as Node
from parhelion.lang.expr import Expr, to_expr, wrap
from parhelion.lang.func import Func
from parhelion.lang.functions import absd, cast, clamp
from parhelion.lang.functions import min as minimum
from parhelion.lang.pipeline import Pipeline
from parhelion.lang.rdom import RDom, of_rvar
from parhelion.lang.tuples import Tuple
from parhelion.lang.var import Var
from parhelion.schedule.directives import TailStrategy
from parhelion.schedule.order import callees, realization_order
from parhelion.types import INT32, UInt
from parhelion.whole.array import Array
from parhelion.whole.core import letters, loop_order, moved, read_all

#: The largest patches and search windows: sums of them fit 32 bits.
_MOST_PATCH, _MOST_SEARCH = 21, 101
#: Weights below this part of the greatest are 0.
_LEAST = 0.001
_BYTE, _SHORT, _LONG = UInt(8), UInt(16), UInt(32)
_STRIP = 16


def nlmeans(image: Image, h: float = 3.0, patch: int = 7, search: int = 21) -> Image:
    """Returns an image without noise: each pixel is a mean of those in a window around
    it, with weights that are less the more their surroundings differ from its own.

    image: (H, W) or (H, W, C) of uint8; the result has its shape and type. All channels
        of a pixel have one weight. They are 3, or at most 4 as its last axis.
    h: in levels, above 0: how much surroundings may differ.
    patch: the size of the squares that are compared, odd, at most 21.
    search: the size of the window whose pixels are averaged, odd, at most 101.

    Beyond its edges the image is reflected. OpenCV calls it
    ``cv2.fastNlMeansDenoising``; results are equal. Weights are integers of a table, as
    there. (Its fastNlMeansDenoisingColored is this one for L, and for a and b, of Lab.)
    scikit-image's ``denoise_nl_means`` weighs the pixels of a patch by a Gaussian, and
    computes floats. Raises BoundsError for an h that is not above 0 and other sizes,
    and TypeMismatchError for what is no image of uint8 or number.

    Formula: weights ``exp(-d / h**2)`` for patches whose squared levels differ by d in
    the mean; A. Buades, B. Coll and J.-M. Morel, A non-local algorithm for image
    denoising, 2005.

    >>> step = np.array([[10, 14, 10, 14, 90, 94, 90, 94]], np.uint8)
    >>> hl.filters.nlmeans(step, 5, 1, 7).tolist()
    [[12, 13, 12, 13, 91, 92, 91, 92]]
    """
    limit = above_zero(h, "h")
    sizes = []
    for size, most, what in (
        (patch, _MOST_PATCH, "patch"),
        (search, _MOST_SEARCH, "search"),
    ):
        found = whole_number(size, 1, what)
        if found % 2 == 0 or found > most:
            raise BoundsError(
                f"{what} is an odd number up to {most}, not {found}", at=here()
            )
        sizes.append(found)
    made: Image = run(_nlmeans, image, limit, *sizes, schedule=_by_offsets)
    return made


def _nlmeans(image: Array, h: float, patch: int, search: int) -> Array:
    plane_axes(image, "nlmeans")
    if image.type is not _BYTE:
        raise TypeMismatchError(
            f"nlmeans takes an image of uint8, not of {image.type}",
            at=here(),
            hint="hl.clip(image, 0, 255).astype('uint8') makes one of levels up to 255",
        )
    parts = colours(image, "nlmeans")
    reach = patch // 2 + search // 2
    planes = []
    for part in parts:
        p = plane(part, 0, "reflect", 0, "nlmeans", reach)
        planes.append(p.stage(p.at(0, 0)))
    weights, shift = _weights(h, patch, search, len(parts))
    found = _means(planes, weights, shift, patch, search)
    return found[0] if parts == [image] else joined(found, image, "nlmeans")


def _weights(
    h: float, patch: int, search: int, channels: int
) -> tuple[NDArray[np.uint32], int]:
    """The weights of sums of squared differences that are shifted to the right, the
    last for all that are greater; and by how many bits.

    Sums of weights and levels fit 31 bits. Differences are divided by a power of 2 that
    is not below the number of pixels, which the table makes good.
    """
    area = patch * patch
    shift = (area - 1).bit_length()
    scale = (1 << shift) / area
    most = ((1 << 31) - 1) // (search * search * 255)
    # As float32, as h is one there.
    with np.errstate(over="ignore"):
        by = float(np.float32(h) * np.float32(h) * np.float32(channels))
    count = int(255 * 255 * channels / scale + 1)
    apart = np.arange(count, dtype=np.float64) * scale
    # Of an h whose square is 0, only equal patches have a weight.
    exact = np.exp(-apart / by) if by > 0 else (apart == 0).astype(np.float64)
    found = np.rint(most * exact).astype(np.uint32)
    found[found < _LEAST * most] = 0
    used = int(np.count_nonzero(found))
    return np.append(found[:used], np.zeros(2, np.uint32)), shift


def _means(
    planes: Sequence[Plane],
    weights: NDArray[np.uint32],
    shift: int,
    patch: int,
    search: int,
) -> list[Array]:
    """The mean of each channel."""
    like = planes[0].whole
    named = [Var(c) for c in letters(like.names)]
    to_named = {p: v._node for p, v in enumerate(named)}
    args = tuple([named[p] for p in loop_order(like.shape)])
    x = planes[0].x

    def pixels(dy: Node, dx: Node) -> list[Expr]:
        return [wrap(moved(p.moved(dy, dx)._whole.value, to_named)) for p in planes]

    down, across = Var("down"), Var("across")

    def squared(row: int) -> Expr:
        """How much the pixels in a row below differ from those at an offset."""
        own = pixels(int32(row), int32(0))
        other = pixels((down + row)._node, across._node)
        squares = []
        for a, b in zip(own, other, strict=True):
            apart = cast(_SHORT, absd(a, b))
            squares.append(cast(_LONG, apart * apart))
        return _sum(squares)

    half = patch // 2
    columns = Func("columns")
    columns[(*args, across, down)] = _sum(
        [squared(row) for row in range(-half, half + 1)]
    )
    around = search // 2
    r = RDom([(-around, search), (-around, search)])
    beside = [
        tuple([v + k if v is named[x] else v for v in args])
        for k in range(-half, half + 1)
    ]
    distance = _sum([to_expr(columns[(*at, r.x, r.y)]) for at in beside])
    place = minimum(distance >> cast(_LONG, shift), cast(_LONG, len(weights) - 1))
    weight = Array(weights)[clamp(cast(INT32, place), 0, len(weights) - 1)]
    sums = Func("sums")
    sums[args] = Tuple(*[cast(_LONG, 0) for _ in range(len(planes) + 1)])
    there = [cast(_LONG, v) for v in pixels(r.y._node, r.x._node)]
    before = [sums[args][i] for i in range(len(planes) + 1)]
    sums[args] = Tuple(
        *[b + weight * v for b, v in zip(before[:-1], there, strict=True)],
        before[-1] + weight,
    )
    *totals, total = [wrap(n) for n in read_all(sums, like.shape)]
    return [
        array(
            cast(_BYTE, minimum((t + total // 2) // total, cast(_LONG, 255)))._node,
            like,
        )
        for t in totals
    ]


def _sum(values: Sequence[Expr]) -> Expr:
    return reduce(lambda a, b: a + b, values)


def _by_offsets(pipeline: Pipeline) -> None:
    """Schedules means row by row: for each offset the sums of columns, and then what
    they add to all pixels of the row."""
    (out,) = pipeline.outputs()
    order = realization_order([out._function])
    (sums,) = [Func._of(f) for f in order if f.updates]
    (columns,) = [Func._of(f) for f in callees(sums._function) if f.dimensions == 4]
    x, y, *channel = out.args()
    strip, row = Var("strip"), Var("row")
    out.split(y, strip, row, _STRIP, TailStrategy.GuardWithIf).parallel(strip)
    out.reorder(*channel, x, row, strip).never_partition(strip, row)
    for c in channel:
        out.bound(c, 0, len(sums._function.stages()[0].values) - 1).unroll(c)
    lanes = lanes_of(sums._function.stages()[0])
    out.vectorize(x, lanes, TailStrategy.GuardWithIf)
    sums.compute_at(out, row).vectorize(sums.args()[0], lanes)
    domain = sums._function.updates[0].rdom
    assert domain is not None
    across, down = [of_rvar(v) for v in domain.vars]
    update = sums.update(0).reorder(sums.args()[0], across, down, sums.args()[1])
    update.vectorize(sums.args()[0], lanes, TailStrategy.GuardWithIf)
    columns.compute_at(sums, across).vectorize(columns.args()[0], lanes)
    for f in callees(columns._function):
        root = Func._of(f).compute_root()
        root.vectorize(root.args()[0], lanes_of(f.stages()[0]))


__all__ = ["nlmeans"]
