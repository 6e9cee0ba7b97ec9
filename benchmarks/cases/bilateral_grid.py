"""Bilateral grid of 1536 x 2560 floats."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from apps import bilateral_grid
from benchmarks.case import Case, Image, Output, Rivals, Tolerance, resized, rng


def inputs(width: int, height: int) -> Mapping[str, Image]:
    pixels = rng().uniform(0, 1, (height, width))
    return {"input": Image(pixels.astype(np.float32))}


def rivals(images: Mapping[str, Image]) -> Rivals:
    image = images["input"].array
    return {"NumPy": lambda: bilateral_grid.with_numpy(image)}


def at(scale: float = 1.0) -> Case:
    width, height = resized(1536, scale), resized(2560, scale)
    return Case(
        name="bilateral_grid",
        size=f"{width} x {height}",
        algorithm=bilateral_grid.algorithm,
        schedules={"lines": bilateral_grid.schedule_lines},
        inputs=partial(inputs, width, height),
        outputs=(Output(np.float32, (width, height)),),
        tolerance=Tolerance(2e-6),
        values=bilateral_grid.SETTINGS,
        rivals=rivals,
        at=at,
    )


CASES = (at(),)
