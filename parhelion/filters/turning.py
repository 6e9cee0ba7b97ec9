"""Images turned by right angles."""

from __future__ import annotations

import numpy as np

from parhelion.errors import TypeMismatchError, here
from parhelion.filters.given import number
from parhelion.filters.lines import STRIP, lanes_of
from parhelion.filters.planes import plane_axes
from parhelion.filters.whole_images import Image, run
from parhelion.ir import build
from parhelion.ir.build import int32, is_false
from parhelion.ir.expr import Expr as Node
from parhelion.lang.func import Func, Stage
from parhelion.lang.pipeline import Pipeline
from parhelion.lang.var import Var
from parhelion.schedule.directives import TailStrategy
from parhelion.simplify.simplifier import simplify
from parhelion.whole.array import Array
from parhelion.whole.core import MOST_CHANNELS, Whole, computed, coordinate, moved

#: Rows and columns of what is transposed in registers.
_SQUARE = 16


def turn(image: Image, quarters: int = 1) -> Image:
    """Returns an image turned by right angles, with the clock, pixel by pixel.

    image: (H, W) or (H, W, C), of any numbers. quarters: how many right angles; the
    result is (W, H) or (W, H, C) for an odd number of them.

    OpenCV calls it ``cv2.rotate``; NumPy's ``rot90`` turns the other way. Raises
    TypeMismatchError for what is no image and no integer.

    Formula: out[y, x] = image[H - 1 - x, y] for one right angle.

    >>> hl.filters.turn(np.array([[1, 2], [3, 4]], np.uint8)).tolist()
    [[3, 1], [4, 2]]
    """
    count = number(quarters, "quarters")
    if not isinstance(count, int):
        raise TypeMismatchError(f"quarters is an integer, not {count}", at=here())
    schedule = None
    if isinstance(image, np.ndarray) and _has_planes(image.shape):
        schedule = _by_squares if count % 2 else _by_strips
    found: Image = run(_turn, image, count % 4, schedule=schedule)
    return found


def _has_planes(shape: tuple[int, ...]) -> bool:
    """Whether loops go over rows and columns outside of the channels."""
    return len(shape) == 2 or (len(shape) == 3 and shape[2] <= MOST_CHANNELS)


def _turn(image: Array, quarters: int) -> Array:
    y, x = plane_axes(image, "turn")
    whole = computed(image._whole)
    ends = {p: build.sub(whole.extent(p), int32(1)) for p in (y, x)}
    here_y, here_x = coordinate(y), coordinate(x)
    turns: dict[int, dict[int, Node]] = {
        0: {y: here_y, x: here_x},
        1: {y: build.sub(ends[y], here_x), x: here_y},
        2: {y: build.sub(ends[y], here_y), x: build.sub(ends[x], here_x)},
        3: {y: here_x, x: build.sub(ends[x], here_y)},
    }
    shape = list(whole.shape)
    if quarters % 2:
        i, j = whole.rank - 1 - y, whole.rank - 1 - x
        shape[i], shape[j] = shape[j], shape[i]
    value = moved(whole.value, turns[quarters])
    return Array._of(Whole(value, tuple(shape), whole.names, whole.trace))


def _by_squares(pipeline: Pipeline) -> None:
    """Schedules an image whose rows become columns by squares of pixels: columns of one
    are loaded as rows, and transposed. The last squares of a row and a column begin
    before the end of those before; images that have none are computed as they are."""
    (out,) = pipeline.outputs()
    x, y, *channels = out.args()
    width, height = [out.output_buffer().dim(k).extent() for k in range(2)]
    large = (width >= _SQUARE) & (height >= _SQUARE)
    if is_false(simplify(large._node)):
        return  # an extent of 1 is a part of the program
    one = out.specialize(large)
    squares, row, block, pixel = Var("squares"), Var("row"), Var("block"), Var("pixel")
    one.split(y, squares, row, _SQUARE, TailStrategy.ShiftInwards)
    one.split(x, block, pixel, _SQUARE, TailStrategy.ShiftInwards)
    one.reorder(*channels, pixel, row, block, squares).parallel(squares)
    _unroll(one.vectorize(pixel).unroll(row), channels)


def _by_strips(pipeline: Pipeline) -> None:
    """Schedules an image whose rows stay rows, in strips of them."""
    (out,) = pipeline.outputs()
    x, y, *channels = out.args()
    strip, row = Var("strip"), Var("row")
    out.split(y, strip, row, STRIP, TailStrategy.GuardWithIf)
    out.reorder(*channels, x, row, strip).parallel(strip)
    _unroll(out.vectorize(x, lanes_of(out._function.stages()[0])), channels)


def _unroll(stage: Func | Stage, channels: list[Var]) -> None:
    for channel in channels:
        stage.unroll(channel)


__all__ = ["turn"]
