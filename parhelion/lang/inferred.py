"""The images that `infer_input_bounds` makes: as large as needed, and as promised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.lib.stride_tricks import as_strided

from parhelion.codegen.asked import answer, passes
from parhelion.errors import BoundsError, here
from parhelion.ir.build import int32
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import Var
from parhelion.ir.pipeline import Region
from parhelion.ir.promises import Assumptions
from parhelion.ir.symbols import BufferSym
from parhelion.lang import arrays
from parhelion.lang.buffer import Buffer
from parhelion.lang.given import Number
from parhelion.lang.placed import aligned

#: (min, extent, stride) of each dimension.
Sides = list[tuple[int, int, int]]


def told(
    needed: Mapping[BufferSym, Sequence[tuple[int, int]]], known: Mapping[Var, Number]
) -> dict[BufferSym, Sides]:
    """Returns the min, extent and stride that each image should have.

    This is the answer that a bounds query would give, for `needed` boxes of each image.

    needed: (min, extent) of each dimension.
    known: the values of the other Vars that promises mention.

    Raises BoundsError where the promised region is smaller than the needed one.
    """
    env = dict(known)
    for b, box in needed.items():
        stride = 1
        for dim, (lo, extent) in zip(b.dims, box, strict=True):
            env[dim.min], env[dim.extent], env[dim.stride] = lo, extent, stride
            stride *= extent
    assumed = Assumptions.now(needed)
    count, _ = passes(list(needed), assumed)
    for _ in range(count):
        found = {b: _sides(b, box, assumed, env) for b, box in needed.items()}
        for b, sides in found.items():
            for dim, side in zip(b.dims, sides, strict=True):
                env[dim.min], env[dim.extent], env[dim.stride] = side
    for b, sides in found.items():
        pairs = zip(needed[b], sides, strict=True)
        for d, ((lo, extent), (first, size, _)) in enumerate(pairs):
            if extent and not first <= lo <= lo + extent <= first + size:
                raise BoundsError(
                    f"the pixels {lo} to {lo + extent - 1} of dimension {d} of "
                    f"{b.name!r} are needed, and {first} to {first + size - 1} "
                    "promised",
                    at=here(),
                )
    return found


def _sides(
    b: BufferSym,
    box: Sequence[tuple[int, int]],
    assumed: Assumptions,
    env: Mapping[Var, Number],
) -> Sides:
    region = [Region(int32(lo), int32(lo + size - 1)) for lo, size in box]
    sides = answer(b, region, assumed)
    lows = [int(evaluate(side.min, env)) for side in sides]
    extents = [int(evaluate(side.extent, env)) for side in sides]
    strides = [0] * len(sides)
    for d, side in sorted(enumerate(sides), key=lambda s: s[1].late):
        dense = max([1, *[abs(strides[k]) * extents[k] for k in side.below]])
        own: dict[Var, Number] = {} if side.own is None else {side.own: dense}
        promised = side.stride
        strides[d] = (
            dense if promised is None else int(evaluate(promised, {**env, **own}))
        )
    return list(zip(lows, extents, strides, strict=True))


def laid_out(b: BufferSym, sides: Sides) -> Buffer:
    """Returns a new image with these mins, extents and strides."""
    extents = arrays.check_sizes([extent for _, extent, _ in sides], repr(b.name))
    reach = [(n - 1) * stride for n, (_, _, stride) in zip(extents, sides, strict=True)]
    some = 0 not in extents
    before = sum([-r for r in reach if r < 0]) if some else 0
    count = sum(map(abs, reach)) + 1 if some else 0
    flat = aligned(b.type.to_numpy(), count)
    steps = [stride * flat.itemsize for _, _, stride in sides]
    array = np.empty(extents, flat.dtype)
    if some:
        array = as_strided(flat[before:], extents, steps)
    return Buffer._of(b.type, array, [lo for lo, _, _ in sides], "")


__all__ = ["Sides", "laid_out", "told"]
