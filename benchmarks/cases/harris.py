"""Harris corner response of 1530 x 2554 pixels."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from apps import harris
from benchmarks.case import Case, Image, Output, Rivals, Tolerance, rng


def inputs() -> Mapping[str, Image]:
    pixels = rng().uniform(1 / 255, 1, (3, 2558, 1534))
    return {"input": Image(pixels.astype(np.float32), (-2, -2, 0))}


def rivals(images: Mapping[str, Image]) -> Rivals:
    image = images["input"].array
    return {"NumPy": lambda: harris.with_numpy(image)}


CASES = (
    Case(
        name="harris",
        size="1530 x 2554 x 3",
        algorithm=harris.algorithm,
        schedules={"tiled": harris.schedule_tiled, "lines": harris.schedule_lines},
        inputs=inputs,
        outputs=(Output(np.float32, (1530, 2554)),),
        tolerance=Tolerance(2e-6),
        rivals=rivals,
    ),
)
