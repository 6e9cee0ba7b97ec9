"""3x3 blur of 6400 x 4800 16-bit pixels."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from apps import blur
from benchmarks.case import Case, Image, Output, Rivals, Tolerance, rng


def inputs() -> Mapping[str, Image]:
    pixels = rng().integers(0, 16320, (4802, 6402))
    return {"input": Image(pixels.astype(np.uint16))}


def rivals(images: Mapping[str, Image]) -> Rivals:
    image = images["input"].array
    return {"NumPy": lambda: blur.with_numpy(image)}


CASES = (
    Case(
        name="blur",
        size="6400 x 4800",
        algorithm=blur.algorithm,
        schedules={"tiled": blur.schedule_tiled, "sliding": blur.schedule_sliding},
        inputs=inputs,
        outputs=(Output(np.uint16, (6400, 4800)),),
        tolerance=Tolerance(0),
        rivals=rivals,
    ),
)
