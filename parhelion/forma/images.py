"""What programs take: their inputs as ImageParams, their parameters as Params."""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.dataclass import dataclass
from parhelion.errors import located
from parhelion.forma.points import Values
from parhelion.forma.stages import Graph, Input, Parameter
from parhelion.forma.types import Element, Scalar, Struct
from parhelion.ir import build
from parhelion.ir.expr import Expr, ImageLoad
from parhelion.lang.expr import wrap
from parhelion.lang.imageparam import ImageParam, OutputImageParam
from parhelion.lang.param import Param
from parhelion.types import Type


def scalars_of(kind: Element) -> tuple[Scalar, ...]:
    """The types of the values of a point: one, or those of a struct's fields."""
    if isinstance(kind, Struct):
        return tuple([one for _, one in kind.fields])
    return (kind,)


def has_channels(kind: Element) -> bool:
    """Whether points are structs of one type, which lie in memory as the channels of a
    photograph do: in a dimension of their own, side by side."""
    return isinstance(kind, Struct) and len(set(scalars_of(kind))) == 1


@dataclass(frozen=True, slots=True)
class InputImage:
    """What an input is for the compiler: an ImageParam that has the fields of a struct
    as channels, or one for each field."""

    stage: Input
    params: tuple[ImageParam, ...]

    def at(self, place: tuple[Expr, ...]) -> Values:
        """The values of a point."""
        kind = self.stage.types[0]
        if not has_channels(kind):
            return tuple([_load(one, place) for one in self.params])
        image = self.params[0]
        channels = range(len(scalars_of(kind)))
        return tuple([_load(image, (*place, build.int32(c))) for c in channels])


def _load(image: ImageParam, place: tuple[Expr, ...]) -> Expr:
    return ImageLoad(image.type(), image._sym, place)


def input_image(stage: Input, sizes: Sequence[Expr]) -> InputImage:
    """The ImageParams of an input whose sizes are these."""
    kind = stage.types[0]
    scalars = scalars_of(kind)
    with located(stage.span.site()):
        if has_channels(kind):
            image = ImageParam(scalars[0].pixel, len(sizes) + 1, stage.name)
            lay_out(image, sizes, len(scalars))
            return InputImage(stage, (image,))
        names = [stage.name]
        if isinstance(kind, Struct):
            names = [f"{stage.name}_{name}" for name, _ in kind.fields]
        made = []
        for name, one in zip(names, scalars, strict=True):
            image = ImageParam(one.pixel, len(sizes), name)
            lay_out(image, sizes, 0)
            made.append(image)
        return InputImage(stage, tuple(made))


def lay_out(image: OutputImageParam, sizes: Sequence[Expr], channels: int) -> None:
    """Promises how large an image is. channels: of an image that has its last dimension
    side by side in memory; else 0."""
    for d, size in enumerate(sizes):
        image.dim(d).set_bounds(0, wrap(size))
    if channels:
        image.dim(0).set_stride(channels)
        image.dim(len(sizes)).set_bounds(0, channels).set_stride(1)


def parameter(one: Parameter) -> Param:
    """The Param of a parameter."""
    with located(one.span.site()):
        made = Param(one.type.pixel, one.name)
        if one.var is not None and one.var.lo is not None:
            made.set_min_value(wrap(one.var.lo))
        return made


def parameters_of(graph: Graph) -> dict[str, Param]:
    """The Params of a program by the names of its parameters."""
    return {one.name: parameter(one) for one in graph.parameters}


def pixels_of(kind: Element) -> tuple[Type, ...]:
    """The types of the values of a point, as the compiler has them."""
    return tuple([one.pixel for one in scalars_of(kind)])


__all__ = [
    "InputImage",
    "has_channels",
    "input_image",
    "lay_out",
    "parameters_of",
    "pixels_of",
    "scalars_of",
]
