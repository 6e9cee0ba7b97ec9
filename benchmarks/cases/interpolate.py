"""Multi-scale interpolation, 10 levels, of 1536 x 2560 x 4 floats."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from apps import interpolate
from benchmarks.case import Case, Image, Output, Rivals, Tolerance, resized, rng


def inputs(width: int, height: int) -> Mapping[str, Image]:
    pixels = rng().uniform(0, 1, (4, height, width))
    return {"input": Image(pixels.astype(np.float32))}


def rivals(images: Mapping[str, Image]) -> Rivals:
    image = images["input"].array
    return {"NumPy": lambda: interpolate.with_numpy(image)}


def at(scale: float = 1.0) -> Case:
    width, height = resized(1536, scale), resized(2560, scale)
    return Case(
        name="interpolate",
        size=f"{width} x {height} x 3",
        algorithm=interpolate.algorithm,
        schedules={"lines": interpolate.schedule_lines},
        inputs=partial(inputs, width, height),
        outputs=(Output(np.float32, (width, height, 3)),),
        tolerance=Tolerance(1e-5),
        rivals=rivals,
        at=at,
    )


CASES = (at(),)
