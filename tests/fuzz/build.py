"""Makes the Funcs and images of a `Case`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import parhelion as hl
from tests.fuzz.case import Case, Input
from tests.fuzz.ops import TYPES, Built, make

Array = NDArray[Any]

#: Makes the array for an image or an output; `guarded` puts another one here.
new_array: Callable[[tuple[int, ...], Any], Array] = np.empty

BOUNDARIES = (
    None,
    hl.BoundaryConditions.repeat_edge,
    hl.BoundaryConditions.repeat_image,
    hl.BoundaryConditions.mirror_image,
    hl.BoundaryConditions.mirror_interior,
    lambda image: hl.BoundaryConditions.constant_exterior(image, 3),
)


@dataclass
class Program:
    """The Funcs of a case, by the numbers of its stages, and its images."""

    case: Case
    stages: list[Built]
    images: list[hl.ImageParam | hl.Buffer]

    def outputs(self) -> list[hl.Func]:
        return [self.stages[o].func for o in self.case.outputs]


def pixels(of: Input, mins: Sequence[int], extents: Sequence[int], salt: int) -> Array:
    """A hash of the coordinates as an image, axes in dimension order."""
    axes = np.meshgrid(
        *[np.arange(low, low + n) for low, n in zip(mins, extents, strict=True)],
        indexing="ij",
    )
    mixed = np.full(tuple(extents), 0x9E3779B97F4A7C15 + salt, np.uint64)
    for axis in axes:
        mixed = (mixed ^ axis.astype(np.int64).astype(np.uint64)) * np.uint64(
            0xBF58476D1CE4E5B9
        )
        mixed ^= mixed >> np.uint64(29)
    t = TYPES[of.type]
    if t.is_bool():
        return np.asarray((mixed >> np.uint64(40)) & np.uint64(1)).astype(np.bool_)
    if t.is_float():
        return ((mixed >> np.uint64(40)) % np.uint64(2048)).astype(t.to_numpy()) / 8
    if t.is_int() and t.bits() >= 32:
        return ((mixed >> np.uint64(32)) % np.uint64(1000)).astype(t.to_numpy())
    return (mixed >> np.uint64(24)).astype(t.to_numpy())


def buffer_of(of: Input, mins: Sequence[int], extents: Sequence[int], salt: int) -> Any:
    made = pixels(of, mins, extents, salt).transpose()
    array = new_array(made.shape, made.dtype)
    array[...] = made
    buffer = hl.Buffer(array)
    buffer.set_min(list(mins))
    return buffer


def build(case: Case) -> Program:
    """The algorithm of a case, without its schedule; images with a boundary
    condition are set."""
    images: list[hl.ImageParam | hl.Buffer] = []
    read: list[Built] = []
    for k, one in enumerate(case.inputs):
        dims = len(one.extents)
        boundary = BOUNDARIES[one.boundary % len(BOUNDARIES)]
        image: Any
        if one.param or boundary is None:
            image = hl.ImageParam(TYPES[one.type], dims, f"input{k}")
            if boundary is not None:
                image.set(buffer_of(one, one.mins, one.extents, k))
        else:
            image = buffer_of(one, one.mins, one.extents, k)
        images.append(image)
        if boundary is None:
            func = hl.Func(f"plain{k}")
            at = [hl.Var(n) for n in "xyc"[:dims]]
            func[tuple(at)] = image[tuple(at)]
        else:
            func = boundary(image)
        read.append(Built(func, dims, TYPES[one.type], stage=False))
    stages: list[Built] = []
    for number, stage in enumerate(case.stages):
        sources = [
            read[(-1 - s) % len(read)] if s < 0 or not stages else stages[s % number]
            for s in stage.sources
        ]
        stages.append(make(f"f{number}", stage, sources or [read[0]]))
    return Program(case, stages, images)


def _plain(program: Program) -> list[int]:
    """The inputs without a boundary condition."""
    return [
        k
        for k, one in enumerate(program.case.inputs)
        if one.boundary % len(BOUNDARIES) == 0
    ]


#: How many pixels are put around an image without a boundary condition.
_AROUND = 64


@contextmanager
def plain_images_within(program: Program, salt: int) -> Iterator[None]:
    """Inside, images without a boundary condition go on beyond what they cover, with
    other pixels for each salt."""
    before: dict[int, Any] = {}
    for k in _plain(program):
        image = program.images[k]
        assert isinstance(image, hl.ImageParam)
        inner = image.get()
        if inner is None or not inner.defined():
            continue
        before[k] = inner
        dims = [inner.dim(d) for d in range(inner.dimensions())]
        larger = buffer_of(
            program.case.inputs[k],
            [d.min() - _AROUND for d in dims],
            [d.extent() + 2 * _AROUND for d in dims],
            salt + k,
        )
        middle = tuple([slice(_AROUND, -_AROUND) for _ in dims])
        np.asarray(larger)[middle] = np.asarray(inner)
        image.set(larger)
    try:
        yield
    finally:
        for k, inner in before.items():
            program.images[k].set(inner)  # type: ignore[union-attr]


def set_plain_images(program: Program, pipeline: hl.Pipeline, where: Any) -> None:
    """Gives each input without a boundary condition an image of just what realizing
    `where` needs, by the pipeline's own account."""
    plain = _plain(program)
    if not plain:
        return
    for k in plain:
        program.images[k].reset()  # type: ignore[union-attr]
    pipeline.infer_input_bounds(where)
    for k in plain:
        image = program.images[k]
        assert isinstance(image, hl.ImageParam)
        of = program.case.inputs[k]
        try:
            wanted = image.get()
        except hl.HalideError:
            wanted = None  # nothing reads it
        if wanted is None or not wanted.defined():
            continue
        dims = [wanted.dim(d) for d in range(wanted.dimensions())]
        image.set(buffer_of(of, [d.min() for d in dims], [d.extent() for d in dims], k))
