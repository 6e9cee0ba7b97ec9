"""Harris corner response of 1530 x 2554 pixels."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from apps import harris
from benchmarks.case import Case, Image, Output, Rivals, Tolerance, resized, rng


def inputs(width: int, height: int) -> Mapping[str, Image]:
    pixels = rng().uniform(1 / 255, 1, (3, height + 4, width + 4))
    return {"input": Image(pixels.astype(np.float32), (-2, -2, 0))}


def rivals(images: Mapping[str, Image]) -> Rivals:
    image = images["input"].array
    return {"NumPy": lambda: harris.with_numpy(image)}


def at(scale: float = 1.0) -> Case:
    width, height = resized(1530, scale), resized(2554, scale)
    return Case(
        name="harris",
        size=f"{width} x {height} x 3",
        algorithm=harris.algorithm,
        schedules={"tiled": harris.schedule_tiled, "lines": harris.schedule_lines},
        inputs=partial(inputs, width, height),
        outputs=(Output(np.float32, (width, height)),),
        tolerance=Tolerance(2e-6),
        rivals=rivals,
        at=at,
    )


CASES = (at(),)
