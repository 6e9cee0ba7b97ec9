"""Images whose pixels are read around each point, and beyond their edges too.

The axes of rows and columns are those called y and x, or else the first two: a filter
never crosses into the channels behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from parhelion.dataclass import dataclass
from parhelion.errors import TypeMismatchError, here
from parhelion.filters.given import called
from parhelion.filters.padded import Source, values_of
from parhelion.ir import build
from parhelion.ir.build import int32
from parhelion.ir.expr import Expr as Node
from parhelion.lang.expr import wrap
from parhelion.lang.func import Func
from parhelion.lang.functions import saturating_cast
from parhelion.lang.mathfuncs import round as rounded_expr
from parhelion.types import Type
from parhelion.whole.array import Array
from parhelion.whole.borders import BORDERS, bordered
from parhelion.whole.core import Whole, computed, coordinate, define, read
from parhelion.whole.elementwise import convert
from parhelion.whole.operands import operand

#: Makes images of the one that is so many rows below.
Columns = Callable[[Callable[[int], Array]], Sequence[Array]]


@dataclass(frozen=True, slots=True)
class Plane:
    """Pixels around each point of an image.

    func: what is read. whole: the array of it. y, x: its axes of rows and columns,
    counted from the last. apart: how many elements lie from one pixel of a row to the
    next where the filter is a program by itself; 0 where it is a part of one. source:
    the image and its border in the first case. index: which value of `func` is meant.
    """

    func: Func
    whole: Whole
    y: int
    x: int
    apart: int = 0
    source: Source | None = None
    index: int = 0

    def at(self, dy: int, dx: int) -> Array:
        """The image whose pixel at each point is the one so many rows below and columns
        to the right of it."""
        return self.moved(int32(dy), int32(dx))

    def moved(self, dy: Node, dx: Node) -> Array:
        """As `at`, by expressions."""
        step = build.mul(dx, int32(self.apart)) if self.apart > 1 else dx
        to = {
            self.y: build.add(coordinate(self.y), dy),
            self.x: build.add(coordinate(self.x), step),
        }
        if self.source is not None:
            to = {0: coordinate(0), 1: coordinate(1), **to}
            found = values_of(self.func[tuple([wrap(to[p]) for p in (0, 1)])])
            return array(found[self.index], self.whole)
        return array(read(self.func, self.whole.shape, to), self.whole)

    def columns(self, make: Columns) -> list[Plane]:
        """Images that are made of the pixels above and below each one, each as a stage
        that is read on its left and right."""
        if self.source is None:
            return [self.stage(image) for image in make(lambda down: self.at(down, 0))]

        def nodes(pixel: Callable[[int], Node]) -> list[Node]:
            made = make(lambda down: array(pixel(down), self.whole))
            return [image._whole.value for image in made]

        rows = self.source.columns(nodes)
        return [
            replace(self, func=rows, index=i, whole=replace(self.whole, value=ref))
            for i, ref in enumerate(
                values_of(rows[wrap(coordinate(0)), wrap(coordinate(1))])
            )
        ]

    def stage(self, image: Array) -> Plane:
        """Another image of the same axes as a stage of its own, which is read around
        each point without a border: it is computed beyond the edges, too."""
        whole = image._whole
        if whole.func is None:
            whole.func = define(whole, "stage")
            whole.value = read(whole.func, whole.shape)
        return replace(self, func=whole.func, whole=whole, index=0)


def array(value: Node, like: Whole) -> Array:
    """The array of a value, with the extents and axes of another."""
    return Array._of(Whole(value, like.shape, like.names, like.trace))


def plane_axes(image: Array, what: str) -> tuple[int, int]:
    """The axes of rows and columns, counted from the last.

    Raises TypeMismatchError for an array of Bools, and for one that has not two or
    three axes, and no axes called y and x.
    """
    names = image._whole.names
    rank = len(names)
    if image.type.is_bool():
        raise TypeMismatchError(
            f"{called(what)} takes an image of numbers, not of Bools",
            at=here(),
            hint="image.astype('uint8') makes one",
        )
    if "y" in names and "x" in names:
        return rank - 1 - names.index("y"), rank - 1 - names.index("x")
    if rank not in (2, 3):
        raise TypeMismatchError(
            f"{called(what)} takes an image (H, W) or (H, W, C), not an array of"
            f" {rank} {'axis' if rank == 1 else 'axes'}",
            at=here(),
            hint='Annotated[hl.Array, "zyx"] says which axes of others are y and x',
        )
    return rank - 1, rank - 2


def plane(
    image: Array, apart: int, border: str, value: float, what: str, reach: int
) -> Plane:
    """The pixels of an image and of what a border puts around it.

    apart: how many elements lie from one pixel of a row to the next in an image that is
    filtered by itself, and then (H, W * apart); 0 in a program of others. border: a
    name of `whole.borders`. value: of a constant one. reach: how many pixels are read
    on each side of one.
    """
    y, x = plane_axes(image, what)
    whole = image._whole
    condition = BORDERS[border]
    is_constant = condition == "constant_exterior"
    fill = convert(operand(value if is_constant else 0), whole.type)
    if apart:
        source = Source(computed(whole), apart, condition, fill, reach)
        return Plane(source.rows(), whole, y, x, apart, source)
    f = bordered(whole, sorted([y, x]), condition, fill)
    return Plane(f, whole, y, x)


def saturated(image: Array, to: Type) -> Array:
    """An image in another type: rounded to the nearest, of two to the even one, and
    limited to what the type holds."""
    own = image.type
    if own is to:
        return image
    value = wrap(image._whole.value)
    if own.is_float() and not to.is_float():
        value = rounded_expr(value)
    if to.is_float():
        return image.astype(to)
    return array(saturating_cast(to, value)._node, image._whole)


__all__ = ["Plane", "array", "plane", "plane_axes", "saturated"]
