"""Bilateral grid of 1536 x 2560 floats."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from apps import bilateral_grid
from benchmarks.case import Case, Image, Output, Rivals, Tolerance, rng


def inputs() -> Mapping[str, Image]:
    pixels = rng().uniform(0, 1, (2560, 1536))
    return {"input": Image(pixels.astype(np.float32))}


def rivals(images: Mapping[str, Image]) -> Rivals:
    image = images["input"].array
    return {"NumPy": lambda: bilateral_grid.with_numpy(image)}


CASES = (
    Case(
        name="bilateral_grid",
        size="1536 x 2560",
        algorithm=bilateral_grid.algorithm,
        schedules={"lines": bilateral_grid.schedule_lines},
        inputs=inputs,
        outputs=(Output(np.float32, (1536, 2560)),),
        tolerance=Tolerance(2e-6),
        values=bilateral_grid.SETTINGS,
        rivals=rivals,
    ),
)
