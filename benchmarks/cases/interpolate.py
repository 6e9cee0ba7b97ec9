"""Multi-scale interpolation, 10 levels, of 1536 x 2560 x 4 floats."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from apps import interpolate
from benchmarks.case import Case, Image, Output, Rivals, Tolerance, rng


def inputs() -> Mapping[str, Image]:
    pixels = rng().uniform(0, 1, (4, 2560, 1536))
    return {"input": Image(pixels.astype(np.float32))}


def rivals(images: Mapping[str, Image]) -> Rivals:
    image = images["input"].array
    return {"NumPy": lambda: interpolate.with_numpy(image)}


CASES = (
    Case(
        name="interpolate",
        size="1536 x 2560 x 3",
        algorithm=interpolate.algorithm,
        schedules={"lines": interpolate.schedule_lines},
        inputs=inputs,
        outputs=(Output(np.float32, (1536, 2560, 3)),),
        tolerance=Tolerance(1e-5),
        rivals=rivals,
    ),
)
