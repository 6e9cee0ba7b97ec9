"""The reference interpreter: what an algorithm means, computed with NumPy.

It evaluates the definitions alone and ignores every schedule, so it is the oracle of
the tests: any schedule must give its answer, bit for bit. It shares nothing with the
compiler but the IR, and what is decided there of the definitions alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from parhelion.errors import TypeMismatchError
from parhelion.interp import values as V
from parhelion.interp.machine import Machine, Rounding
from parhelion.interp.values import Array
from parhelion.ir.function import Function
from parhelion.ir.symbols import BufferSym, ParamSym

#: (min, extent) of each dimension, innermost first.
Region = Sequence[tuple[int, int]]
Params = Mapping[ParamSym, int | float | bool]
#: For each input: its pixels, axes in dimension order, and its min coordinates.
Images = Mapping[BufferSym, tuple[Array, Sequence[int]]]

__all__ = ["Images", "Params", "Region", "Rounding", "interpret", "interpret_all"]


def interpret(
    func: Function,
    region: Region,
    params: Params | None = None,
    images: Images | None = None,
    rounding: Rounding = Rounding.FUSED,
) -> tuple[Array, ...]:
    """The values of `func` over a region, one array per value of its Tuple.

    region: (min, extent) of each dimension; an extent may be 0.
    params: the scalars' values; a Param that is missing keeps the value it was set to.
    images: inputs; those that are missing keep the Buffer that they were set to, or
    that the algorithm mentions.
    rounding: which machines it is to agree with.

    Arrays are indexed in dimension order (``a[x, y, c]``); bfloat16 is uint16 bits.
    Raises BoundsError where the result depends on a pixel outside of an input.
    """
    return interpret_all([(func, region)], params, images, rounding)[0]


def interpret_all(
    outputs: Sequence[tuple[Function, Region]],
    params: Params | None = None,
    images: Images | None = None,
    rounding: Rounding = Rounding.FUSED,
) -> list[tuple[Array, ...]]:
    """`interpret` for several outputs, which share what they have in common."""
    for func, region in outputs:
        if len(region) != func.dimensions:
            raise TypeMismatchError(
                f"Func {func.name!r} has {func.dimensions} dimensions, and the region "
                f"{len(region)}",
                at=func.site,
            )
    machine = Machine(params or {}, images or {}, rounding)
    with np.errstate(all="ignore"):
        results = machine.run(
            [
                (func, tuple([(low, low + n - 1) for low, n in region]))
                for func, region in outputs
            ]
        )
    return [
        tuple([V.to_storage(a, t) for a, t in zip(made, func.types, strict=True)])
        for (func, _), made in zip(outputs, results, strict=True)
    ]
