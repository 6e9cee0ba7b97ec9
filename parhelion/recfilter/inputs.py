"""What filters with SciPy's coefficients are given: arrays, Buffers and Funcs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parhelion.dataclass import dataclass
from parhelion.errors import BoundsError, DefinitionError, TypeMismatchError, here
from parhelion.lang.arrays import UNMASKED, check_sizes, hides
from parhelion.lang.buffer import Buffer
from parhelion.lang.checked import a_kind, integer, items
from parhelion.lang.expr import Expr
from parhelion.lang.func import Func
from parhelion.lang.functions import cast
from parhelion.lang.imageparam import ImageParam
from parhelion.lang.var import Var
from parhelion.recfilter.dims import RecFilterDim
from parhelion.recfilter.gpu_schedules import OnGpu, schedule_kernels
from parhelion.recfilter.kept import KEPT
from parhelion.recfilter.schedules import schedule_points
from parhelion.recfilter.stages import free_points
from parhelion.types import Float, Type

Array = NDArray[Any]

#: The type that these filters compute in, as SciPy does. In float32 the coefficients
#: alone, rounded, make another filter: butter(4, 0.02) would be off by 1 %.
WORK = Float(64)
#: The names of dimensions by position, the innermost first.
_NAMES = ("x", "y", "z", "c", "w")
#: The types of arrays that are read as they are; others are made float32 first.
_TYPES = {f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}
_TYPES |= {"float32", "float64"}


@dataclass(frozen=True, slots=True)
class Input:
    """An image that is filtered along an axis.

    image: a Func, or an image in memory, whose pixels count from 0 in each dimension;
    while the filter is built, an ImageParam stands for it. mins: the first coordinates
    of the result if it is a Buffer; None for an array. names, extents: of its
    dimensions, the innermost first. position: the dimension that is the axis. type: of
    the result, float32 or float64.
    """

    image: Buffer | ImageParam | Func
    names: tuple[str, ...]
    extents: tuple[int, ...]
    position: int
    type: Type
    mins: tuple[int, ...] | None = None

    def dims(self) -> tuple[RecFilterDim, ...]:
        """The dimensions of an image that has pixels."""
        return tuple(map(RecFilterDim, self.names, self.extents))

    def pixel(self, at: Sequence[Var]) -> Expr:
        """The pixel at coordinates that count from 0 in each dimension, as a value of
        type `WORK`."""
        return cast(WORK, self.image[tuple(at)])

    def rounded(
        self,
        name: str,
        dims: Sequence[RecFilterDim],
        f: Func,
        at: Sequence[object],
        on_gpu: OnGpu | None = None,
    ) -> Func:
        """A Func over `dims` that reads `f` at coordinates, in the type of the
        result."""
        out = Func(name)
        out[tuple(dims)] = cast(self.type, f[tuple(at)])
        if on_gpu is None:
            schedule_points(out, dims, self.type)
        else:
            schedule_kernels(free_points(out, dims), on_gpu, self.type)
        return out

    def filtered(
        self, build: Callable[[Input], Func], key: Hashable
    ) -> Array | Buffer | Func:
        """The filtered image, of the kind that was given.

        build: makes the Func that computes it, over coordinates that count from 0. key:
        what decides which Func that is, beside the image's size and type; an image is
        filtered by what was compiled for an earlier one that is like it.
        """
        image = self.image
        if isinstance(image, Func):
            return build(self).compute_root()
        assert isinstance(image, Buffer)
        array = np.empty(self.extents[::-1], self.type.to_numpy())
        if 0 not in self.extents:
            run = KEPT.get(
                (key, self.position),
                image.type(),
                self.extents,
                lambda param: build(replace(self, image=param)),
            )
            run(image, array)
        if self.mins is None:
            return array
        made = Buffer(array)
        made.set_min(self.mins)
        return made


def given(
    inp: object, axis: int | str, sizes: Sequence[int] | None, what: str
) -> Input:
    """The image that a filter is given.

    sizes: the extents of a Func. what: the filter, for messages. Raises DefinitionError
    for sizes that do not fit the image, TypeMismatchError for what is no image of real
    numbers, and BoundsError for an axis that is not there.
    """
    if isinstance(inp, Func):
        t, names = _float(inp.type()), tuple([v.name() for v in inp.args()])
        extents, position = _sizes(inp, sizes, what), _position(axis, names, what)
        return Input(inp, names, extents, position, t)
    image, mins = _image(inp, what)
    count = image.dimensions()
    extents = tuple([image.dim(k).extent() for k in range(count)])
    if sizes is not None:
        raise DefinitionError(
            f"{what}: sizes is for Funcs; this image has extents of its own,"
            f" {list(extents)}",
            at=here(),
            hint="leave sizes out",
        )
    names = (*_NAMES, *[f"d{k}" for k in range(len(_NAMES), count)])[:count]
    position, t = _position(axis, names, what), _float(image.type())
    return Input(image, names, extents, position, t, mins)


def _image(inp: object, what: str) -> tuple[Buffer, tuple[int, ...] | None]:
    """An image in memory, from 0 on in each dimension, and where it begins if it is a
    Buffer."""
    if not isinstance(inp, Buffer):
        return Buffer(_array(inp, what)), None
    mins = [inp.dim(k).min() for k in range(inp.dimensions())]
    image = inp._view()
    image.set_min([0] * len(mins))
    return image, tuple(mins)


def _float(t: Type) -> Type:
    """The type of the result: float64 stays what it is, all else becomes float32."""
    return t if t is Float(64) else Float(32)


def _array(inp: object, what: str) -> Array:
    """An array of a type that pipelines have."""
    # NumPy would take an expression for a sequence.
    try:
        image = None if hasattr(type(inp), "_node") else np.asarray(inp)
    except ValueError as error:  # lists of several lengths
        raise TypeMismatchError(
            f"{what} filters arrays of numbers, and NumPy makes none of"
            f" {a_kind(inp)}: {error}",
            at=here(),
        ) from None
    if image is None or image.dtype.kind not in "biufc":
        raise TypeMismatchError(
            f"{what} filters arrays of real numbers, Buffers and Funcs, not"
            f" {a_kind(inp)}",
            at=here(),
            hint="an expression or an ImageParam is filtered as a Func of it, with"
            " sizes",
        )
    if image.dtype.kind == "c":
        raise TypeMismatchError(
            f"{what} filters real numbers, and the array is of {image.dtype}",
            at=here(),
            hint="filter image.real and image.imag; the results are the real and the"
            " imaginary part",
        )
    if hides(inp):
        raise TypeMismatchError(
            f"{what} filters all elements, and the array hides some of them by a mask",
            at=here(),
            hint=UNMASKED,
        )
    own = image.dtype.newbyteorder("=")
    return np.asarray(image, own if own.name in _TYPES else np.float32, "C")


def _sizes(func: Func, sizes: object, what: str) -> tuple[int, ...]:
    """The extents of a Func."""
    names = ", ".join([v.name() for v in func.args()])
    if sizes is None:
        raise DefinitionError(
            f"{what}: a Func has no extents of its own, and a recursive filter needs"
            f" them: sizes gives one for each of the dimensions {names}",
            at=here(),
            hint=f"{what}(…, sizes=[width, height]), the innermost dimension first",
        )
    found = items(sizes, f"{what}: sizes")
    if len(found) != func.dimensions():
        raise DefinitionError(
            f"{what}: sizes must have one extent for each of the dimensions {names} of"
            f" Func {func.name()!r}, and is {list(found)}",
            at=here(),
        )
    extents = check_sizes([whole(n, f"{what}: a size") for n in found], what)
    if 0 in extents:
        raise DefinitionError(
            f"{what}: each of sizes must be positive, not {list(extents)}", at=here()
        )
    return extents


def whole(value: object, what: str) -> int:
    """As `integer`, but for True and False, which Python takes for integers."""
    if isinstance(value, bool):
        raise TypeMismatchError(f"{what} is an integer, not {value}", at=here())
    return integer(value, what)


def _position(axis: int | str, names: Sequence[str], what: str) -> int:
    """The dimension that an axis is, the innermost first."""
    count = len(names)
    if isinstance(axis, str):
        if axis in names:
            return names.index(axis)
        # In a Func of x and c, "y" would be c by position: that is refused.
        if axis in _NAMES[:count] and not set(names).intersection(_NAMES):
            return _NAMES.index(axis)
    else:
        n = whole(axis, f"{what}: an axis without a name")
        if -count <= n < count:
            return count - 1 - n % count
    known = ", ".join([repr(n) for n in names])
    raise BoundsError(
        f"{what}: an image of {count} dimensions has no axis {axis!r}",
        at=here(),
        hint=f"its axes are {known}, or {-count} to {count - 1} in NumPy's order, where"
        f" -1 is {names[0]!r}"
        if names
        else "an image that is filtered has at least one dimension",
    )


__all__ = ["WORK", "Array", "Input", "given", "whole"]
