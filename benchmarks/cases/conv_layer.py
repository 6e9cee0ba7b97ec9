"""A convolution layer: 64 channels of 128 x 128 pixels to 64, four images."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from apps import conv_layer
from benchmarks.case import Case, Image, Output, Rivals, Tolerance, resized, rng


def inputs(size: int) -> Mapping[str, Image]:
    source = rng()
    shapes = {
        "input": (4, size + 2, size + 2, 64),
        "filter": (64, 3, 3, 64),
        "bias": (64,),
    }
    return {
        name: Image(source.uniform(-1, 1, shape).astype(np.float32))
        for name, shape in shapes.items()
    }


def rivals(images: Mapping[str, Image]) -> Rivals:
    arrays = [images[name].array for name in ("input", "filter", "bias")]
    return {"NumPy": lambda: conv_layer.with_numpy(*arrays)}


def at(scale: float = 1.0) -> Case:
    size = resized(128, scale)
    return Case(
        name="conv_layer",
        size=f"{size} x {size} x 64 x 4",
        algorithm=conv_layer.algorithm,
        schedules={
            "registers": conv_layer.schedule_registers,
            "published": conv_layer.schedule_published,
        },
        inputs=partial(inputs, size),
        outputs=(Output(np.float32, (64, size, size, 4)),),
        tolerance=Tolerance(2e-4),
        rivals=rivals,
        operations=2 * 9 * 64 * 64 * size * size * 4,
        at=at,
    )


CASES = (at(),)
