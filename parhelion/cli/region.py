"""Finds which part of its output a pipeline can compute from the images given."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

import parhelion as hl
from parhelion.cli.pictures import Array
from parhelion.cli.problem import Problem, note
from parhelion.cli.programs import NamedPipeline
from parhelion.ir.build import const_int
from parhelion.ir.names import plain_name

#: How often a part that needs too much of the images is made smaller.
_MOST_ROUNDS = 12

#: Extents that a message shows.
_SOME = ("640", "480", "3", "2")


def asked_extents(
    program: NamedPipeline, images: Mapping[str, Array], size: str | None
) -> list[int]:
    """Returns the extents that ``--size`` gives, or those of the first image.

    A width and a height are enough for an output of three dimensions: the third is what
    is promised, or as many planes as the image has, or three, which a note tells.
    Extents by names, as in ``y=480,x=640``, are put in the order of the Vars of the
    output that has most. Raises Problem for a ``--size`` that does not fit the output,
    and if no size is known.
    """
    largest = max(program.pipeline.outputs(), key=lambda f: f.dimensions())
    dims = largest.dimensions()
    if size is not None and "=" in size:
        size = _by_names(largest, size)
    if size is not None:
        try:
            extents = [int(n) for n in size.split("x")]
        except ValueError as error:
            raise Problem(f"--size {size}: write WIDTHxHEIGHT") from error
        if len(extents) == 2 and dims == 3:
            extents.append(_planes(program, images))
        if len(extents) != dims:
            more = "xN" * (dims - 2)
            raise Problem(
                f"--size {size}: the output has {dims} dimensions",
                hint=f"write --size WIDTHxHEIGHT{more}, as {'x'.join(_SOME[:dims])}"
                if 2 <= dims <= len(_SOME)
                else "",
            )
        if min(extents, default=1) < 1:
            raise Problem(f"--size {size}: extents are 1 or more")
        return extents
    if dims == 0:
        return []
    if not images:
        raise Problem("the output's size is not known: give --size WIDTHxHEIGHT")
    extents = list(next(iter(images.values())).shape[::-1])[:dims]
    extents += [1] * (dims - len(extents))
    for f in program.pipeline.outputs():
        for d, promised in enumerate(promised_extents(f)):
            extents[d] = extents[d] if promised is None else promised
    return extents


def _planes(program: NamedPipeline, images: Mapping[str, Array]) -> int:
    """How many planes an output of three dimensions has."""
    for f in program.pipeline.outputs():
        promised = promised_extents(f)
        if len(promised) == 3 and promised[2] is not None:
            return promised[2]
    for pixels in images.values():
        if pixels.ndim == 3:
            return len(pixels)
    note(
        "the output has three dimensions; the third is taken to be 3 colours\n  hint:"
        " say --size WIDTHxHEIGHTxN for another number"
    )
    return 3


def _by_names(f: hl.Func, size: str) -> str:
    """A size by the names of Vars, as one in the order of a Func's dimensions."""
    words = [one.partition("=") for one in size.split(",")]
    given = {name: number for name, equals, number in words if equals}
    names = [v.name() for v in f.args()]
    if sorted(given) != sorted(names) or len(given) != len(words):
        shown = ",".join([f"{n}=N" for n in reversed(names)])
        raise Problem(
            f"--size {size}: the output has the dimensions {', '.join(names)}",
            hint=f"write --size {shown}",
        )
    return "x".join([given[n] for n in names])


def destination(
    program: NamedPipeline, mins: Sequence[int], extents: Sequence[int]
) -> list[hl.Buffer]:
    """Returns new Buffers for a part of the outputs, one for each of their values."""
    made = []
    for f in program.pipeline.outputs():
        for t in f.types():
            made.append(hl.Buffer(t, of_output(f, extents)))
            made[-1].set_min(*of_output(f, mins))
    return made


def of_output(f: hl.Func, numbers: Sequence[int]) -> list[int]:
    """Returns those of the numbers that belong to this output's dimensions.

    There is a number for each dimension of the output that has most.
    """
    return list(numbers[: f.dimensions()])


def promised_extents(f: hl.Func) -> list[int | None]:
    """Returns the extent of each dimension that the schedule or the output promises.

    It is None where there is no such promise.
    """
    found: list[int | None] = []
    own = f._function
    bounds = {b.var: b.extent for b in own.schedule.bounds if b.extent is not None}
    for var, dim in zip(own.args, own.buffers[0].dims, strict=True):
        promised = dim.fixed_extent or bounds.get(var)
        found.append(None if promised is None else const_int(promised))
    return found


def covered(
    program: NamedPipeline, images: Mapping[str, Array], extents: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Returns the mins and extents of the part of the output that the images suffice
    for.

    It is a part of the `extents` pixels from 0 on. A filter without a boundary
    condition loses its edges; one that makes a smaller picture has a smaller part.
    Raises Problem if no part can be computed.

    Call it when the pipeline is scheduled: with everything inlined, the code of one of
    many stages grows beyond use.
    """
    mins, found = [0] * len(extents), list(extents)
    for _ in range(_MOST_ROUNDS):
        lack = _lack(program, images, mins, found)
        if not any(map(any, lack)):
            return mins, found
        for d, (below, above) in enumerate(lack):
            mins[d] += below
            found[d] = max(1, found[d] - below - above)
    raise Problem(
        _too_small(images, needed(program, images, mins, extents)),
        hint="--size says what is to be computed, if it is not as large as the image",
    )


def needed(
    program: NamedPipeline,
    images: Mapping[str, Array],
    mins: Sequence[int],
    extents: Sequence[int],
) -> dict[str, hl.Buffer]:
    """Returns a Buffer for each input, as large as a part of the output needs it."""
    for name in images:
        program.inputs[name].reset()
    try:
        program.pipeline.infer_input_bounds(destination(program, mins, extents))
        return {name: program.inputs[name].get() for name in images}
    finally:
        for name, pixels in images.items():
            program.inputs[name].set(hl.Buffer(pixels))


def _lack(
    program: NamedPipeline,
    images: Mapping[str, Array],
    mins: Sequence[int],
    extents: Sequence[int],
) -> list[tuple[int, int]]:
    """Returns how many pixels of the output cannot be computed, at both ends.

    There is a pair for each dimension: the pixels that read outside of an image in the
    same dimension.
    """
    lack = [(0, 0)] * len(extents)
    for name, buffer in needed(program, images, mins, extents).items():
        have = images[name].shape[::-1]
        for d in range(min(len(extents), buffer.dimensions())):
            dim = buffer.dim(d)
            if dim.extent() == 0:
                continue
            # So many pixels of the image for one of the output.
            scale = dim.extent() / extents[d]
            below = max(0, math.ceil(-dim.min() / scale))
            above = max(0, math.ceil((dim.max() - have[d] + 1) / scale))
            lack[d] = (max(lack[d][0], below), max(lack[d][1], above))
    return lack


def _too_small(images: Mapping[str, Array], wants: Mapping[str, hl.Buffer]) -> str:
    """Returns the message for images that are too small for any part of the output."""
    for name, buffer in wants.items():
        for d, have in enumerate(images[name].shape[::-1]):
            dim = buffer.dim(d)
            if dim.min() < 0 or dim.max() >= have:
                return (
                    f"the image for {name!r} is too small for an output of its size: "
                    f"{dim.min()} to {dim.max()} of its dimension {d} are needed, which"
                    f" has 0 to {have - 1}"
                )
    return "the images are too small for an output of their size"


def by_output(
    program: NamedPipeline, buffers: Sequence[hl.Buffer]
) -> list[Sequence[hl.Buffer]]:
    """Returns the buffers of `destination`, grouped by output."""
    found, start = [], 0
    for f in program.pipeline.outputs():
        found.append(buffers[start : start + len(f.types())])
        start += len(f.types())
    return found


def pictures(program: NamedPipeline, buffers: Sequence[hl.Buffer]) -> dict[str, Array]:
    """Returns the arrays that were computed, by the outputs' names.

    The values of an output of several are the planes of one array.
    """
    found: dict[str, Array] = {}
    outputs = program.pipeline.outputs()
    for f, some in zip(outputs, by_output(program, buffers), strict=True):
        arrays = [np.asarray(b) for b in some]
        name = plain_name(f.name())
        if name in found:
            name = f"{name}{len(found) + 1}"
        found[name] = arrays[0] if len(arrays) == 1 else np.stack(arrays)
    return found


__all__ = [
    "asked_extents",
    "by_output",
    "covered",
    "destination",
    "needed",
    "of_output",
    "pictures",
    "promised_extents",
]
