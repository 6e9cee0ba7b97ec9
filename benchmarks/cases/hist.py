"""Histogram equalisation of 1536 x 2560 x 3 bytes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from apps import hist
from benchmarks.case import Case, Image, Output, Rivals, Tolerance, resized, rng


def inputs(width: int, height: int) -> Mapping[str, Image]:
    pixels = rng().integers(0, 256, (3, height, width))
    return {"input": Image(pixels.astype(np.uint8))}


def rivals(images: Mapping[str, Image]) -> Rivals:
    image = images["input"].array
    return {"NumPy": lambda: hist.with_numpy(image)}


def at(scale: float = 1.0) -> Case:
    width, height = resized(1536, scale), resized(2560, scale)
    return Case(
        name="hist",
        size=f"{width} x {height} x 3",
        algorithm=hist.algorithm,
        schedules={"rows": hist.schedule_rows},
        inputs=partial(inputs, width, height),
        outputs=(Output(np.uint8, (width, height, 3)),),
        tolerance=Tolerance(2, 0.001),
        rivals=rivals,
        at=at,
    )


CASES = (at(),)
