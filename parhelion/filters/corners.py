"""Corners: how strongly an image changes in all directions around each pixel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parhelion.errors import BoundsError, here
from parhelion.filters.applied import applied
from parhelion.filters.given import border_name, number, whole_number
from parhelion.filters.kernels import derivative
from parhelion.filters.padded import Source, values_of
from parhelion.filters.planes import Plane, array, plane, plane_axes
from parhelion.filters.running import Image, run
from parhelion.filters.sums import along, both, float_type, sum_type, weighted
from parhelion.lang.expr import wrap
from parhelion.lang.func import Func
from parhelion.lang.tuples import Tuple
from parhelion.lang.var import Var
from parhelion.types import UInt
from parhelion.whole.array import Array
from parhelion.whole.borders import BORDERS
from parhelion.whole.core import coordinate, letters, loop_order, moved
from parhelion.whole.elementwise import convert
from parhelion.whole.operands import operand
from parhelion.whole.promotion import float_for

_SIZES = (3, 5, 7)


def harris(
    image: Image,
    block_size: int = 2,
    ksize: int = 3,
    k: float = 0.04,
    border: str = "reflect",
    value: float = 0,
) -> Image:
    """Returns Harris's measure of corners: high at corners, below 0 at edges, and about
    0 where the image is flat.

    image: (H, W) or (H, W, C), of any numbers; the result has its shape, and is a
        float32 for integers of at most 16 bits, a float64 for others, and the own type
        of floats. Levels of uint8 count as parts of 255, those of other integers as
        they are.
    block_size: of the window whose gradients are summed, in pixels. One of an even size
        has one pixel more above and on the left.
    ksize: of the kernels of `sobel` that find gradients: 3, 5 or 7.
    k: how much the squared trace counts.
    border: a name of `Array.pad`'s; ``value`` is that of "constant", beyond which
        gradients are 0. Products of gradients are continued by the border as well.

    OpenCV calls it ``cv2.cornerHarris``, and computes sums as float32 whose factors are
    rounded: results are apart by at most 1e-5 of the greatest squared trace. Where it
    uses Intel's IPP, with "edge" and "constant", its windows of even sizes are one
    pixel further down and to the right. Raises BoundsError for a block_size below 1 and
    another ksize, and TypeMismatchError for what is no image, number or border.

    Formula: det(M) - k * trace(M)**2, M the sum of ``[[dx*dx, dx*dy], [dx*dy, dy*dy]]``
    over the window; C. Harris and M. Stephens, A combined corner and edge detector,
    1988.

    >>> image = np.zeros((7, 7), np.uint8)
    >>> image[3:, 3:] = 255
    >>> found = hl.filters.harris(image, 3)
    >>> [int(i) for i in np.unravel_index(found.argmax(), found.shape)]
    [3, 3]
    """
    factor = number(k, "k")
    return _measured("harris", image, block_size, ksize, factor, border, value)


def min_eigenvalue(
    image: Image,
    block_size: int = 2,
    ksize: int = 3,
    border: str = "reflect",
    value: float = 0,
) -> Image:
    """Returns Shi's and Tomasi's measure of corners: how much an image changes in the
    direction in which it changes least.

    image, block_size, ksize, border, value, and the type of the result: as of `harris`,
    which raises the same errors.

    OpenCV calls it ``cv2.cornerMinEigenVal``; results are apart by at most 1e-5 of the
    greatest trace. Raises what `harris` raises.

    Formula: the lower eigenvalue of the matrix of `harris`; J. Shi and C. Tomasi, Good
    features to track, 1994.

    >>> image = np.zeros((7, 7), np.uint8)
    >>> image[3:] = 255
    >>> float(hl.filters.min_eigenvalue(image, 3).max())
    0.0
    """
    return _measured("min_eigenvalue", image, block_size, ksize, None, border, value)


def _measured(
    what: str,
    image: Image,
    block_size: int,
    ksize: int,
    k: float | None,
    border: str,
    value: float,
) -> Image:
    block = whole_number(block_size, 1, "block_size")
    if whole_number(ksize, 1, "ksize") not in _SIZES:
        raise BoundsError(f"the ksize of {what} is 3, 5 or 7, not {ksize}", at=here())
    name, fill = border_name(border), number(value, "value")
    function = _min_eigenvalue if k is None else _harris
    given: tuple[Any, ...] = () if k is None else (k,)
    found: Image = run(function, image, block, ksize, name, fill, *given)
    return found


def _harris(
    image: Array,
    apart: int,
    block: int,
    size: int,
    border: str,
    value: float,
    k: float,
) -> Array:
    xx, xy, yy = _matrix(image, apart, block, size, border, value, "harris")
    trace = xx + yy
    found: Array = xx * yy - xy * xy - trace * trace * xx.dtype.type(k)
    return found.astype(float_for(image.type))


def _min_eigenvalue(
    image: Array, apart: int, block: int, size: int, border: str, value: float
) -> Array:
    xx, xy, yy = _matrix(image, apart, block, size, border, value, "min_eigenvalue")
    half = xx.dtype.type(0.5)
    one, other = xx * half, yy * half
    apart_by = one - other
    # Rounding may take it below 0, as it does in OpenCV.
    root = applied("sqrt", apart_by * apart_by + xy * xy)
    found: Array = (one + other) - root
    return found.astype(float_for(image.type))


def _matrix(
    image: Array,
    apart: int,
    block: int,
    size: int,
    border: str,
    value: float,
    what: str,
) -> tuple[Array, Array, Array]:
    """The sums of dx * dx, dx * dy and dy * dy over windows."""
    to = float_type(image.type).to_numpy()
    p = plane(image, apart, border, value, what, size // 2)
    dx, dy = [g.astype(to) for g in gradients(p, size)]
    # What OpenCV divides gradients by.
    by = (1 << (size - 1)) * block * (255 if image.type is UInt(8) else 1)
    ones, scale = (1,) * block, to.type(1 / by**2)
    middle = block // 2, block // 2

    def summed(product: Array) -> Array:
        q = _products(product, apart, border, what, block // 2)
        found: Array = both(q, ones, ones, middle) * scale
        return found

    return summed(dx * dx), summed(dx * dy), summed(dy * dy)


def gradients(p: Plane, size: int) -> list[Array]:
    """The derivatives across and down, as a stage."""
    smooth, slope = derivative(size, 0), derivative(size, 1)
    own, first = p.whole.type, -(size // 2)
    to = sum_type(own, [a * b for a in smooth for b in slope])
    exact = to.is_int_or_uint()
    between = [sum_type(own, w) if exact else to for w in (smooth, slope)]
    calm, steep = p.columns(
        lambda pixel: [
            weighted(pixel, w, first, t)
            for w, t in zip((smooth, slope), between, strict=True)
        ]
    )
    found = along(calm, False, slope, first, to), along(steep, False, smooth, first, to)
    return _together(found)


def _together(found: Sequence[Array]) -> list[Array]:
    """The same images as values of one stage."""
    like = found[0]._whole
    named = [Var(c) for c in letters(like.names)]
    at = tuple([named[p] for p in loop_order(like.shape)])
    to = {p: v._node for p, v in enumerate(named)}
    f = Func("gradients")
    f[at] = Tuple(*[wrap(moved(g._whole.value, to)) for g in found])
    places = [wrap(coordinate(p)) for p in loop_order(like.shape)]
    return [array(n, like) for n in values_of(f[tuple(places)])]


def _products(product: Array, apart: int, border: str, what: str, reach: int) -> Plane:
    """As `plane`, of what is cheaper to compute again than to keep. Outside of a
    constant border it is 0."""
    if not apart:
        return plane(product, 0, border, 0, what, reach)
    y, x = plane_axes(product, what)
    whole = product._whole
    fill = convert(operand(0), whole.type)
    source = Source(whole, apart, BORDERS[border], fill, reach)
    return Plane(source.rows(), whole, y, x, apart, source)


__all__ = ["gradients", "harris", "min_eigenvalue"]
