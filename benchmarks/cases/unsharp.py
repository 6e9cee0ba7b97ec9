"""Unsharp mask of 1536 x 2560 x 3 floats."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from apps import unsharp
from benchmarks.case import Case, Image, Output, Rivals, Tolerance, rng


def inputs() -> Mapping[str, Image]:
    pixels = rng().uniform(1 / 255, 1, (3, 2560, 1536))
    return {"input": Image(pixels.astype(np.float32))}


def rivals(images: Mapping[str, Image]) -> Rivals:
    image = images["input"].array
    return {"NumPy": lambda: unsharp.with_numpy(image)}


CASES = (
    Case(
        name="unsharp",
        size="1536 x 2560 x 3",
        algorithm=unsharp.algorithm,
        schedules={"tiled": unsharp.schedule_tiled, "lines": unsharp.schedule_lines},
        inputs=inputs,
        outputs=(Output(np.float32, (1536, 2560, 3)),),
        tolerance=Tolerance(2e-5),
        rivals=rivals,
    ),
)
