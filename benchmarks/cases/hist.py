"""Histogram equalisation of 1536 x 2560 x 3 bytes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from apps import hist
from benchmarks.case import Case, Image, Output, Rivals, Tolerance, rng


def inputs() -> Mapping[str, Image]:
    pixels = rng().integers(0, 256, (3, 2560, 1536))
    return {"input": Image(pixels.astype(np.uint8))}


def rivals(images: Mapping[str, Image]) -> Rivals:
    image = images["input"].array
    return {"NumPy": lambda: hist.with_numpy(image)}


CASES = (
    Case(
        name="hist",
        size="1536 x 2560 x 3",
        algorithm=hist.algorithm,
        schedules={"rows": hist.schedule_rows},
        inputs=inputs,
        outputs=(Output(np.uint8, (1536, 2560, 3)),),
        tolerance=Tolerance(2, 0.001),
        rivals=rivals,
    ),
)
