"""The sizes that a scheduler is told of: those of a case's own arrays."""

from __future__ import annotations

from collections.abc import Mapping

from apps.common import App
from benchmarks.case import Case, Image


def boxes(extents: tuple[int, ...], origin: tuple[int, ...]) -> list[tuple[int, int]]:
    """(min, extent) for each dimension, dimension 0 first; an empty origin is 0."""
    return [
        (int(low), int(extent))
        for low, extent in zip(origin or (0,) * len(extents), extents, strict=True)
    ]


def set_estimates(case: Case, app: App, images: Mapping[str, Image]) -> None:
    """Tells every ImageParam, scalar Param and output of an application its size or its
    value, under either module."""
    for name, image in images.items():
        shape = image.array.shape[::-1]
        app.inputs[name].set_estimates(boxes(shape, image.origin))
    for name, value in case.values.items():
        app.params[name].set_estimate(value)
    (output,) = case.outputs
    app.output.set_estimates(boxes(output.size, output.origin))
