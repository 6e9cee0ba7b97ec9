"""Maximum over a disc of radius 26, of 1536 x 2560 x 3 floats."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from apps import max_filter
from benchmarks.case import Case, Image, Output, Tolerance, resized, rng


def inputs(width: int, height: int) -> Mapping[str, Image]:
    pixels = rng().uniform(0, 1, (3, height, width))
    return {"input": Image(pixels.astype(np.float32))}


def at(scale: float = 1.0) -> Case:
    width, height = resized(1536, scale), resized(2560, scale)
    return Case(
        name="max_filter",
        size=f"{width} x {height} x 3",
        algorithm=max_filter.algorithm,
        schedules={"strips": max_filter.schedule_strips},
        inputs=partial(inputs, width, height),
        outputs=(Output(np.float32, (width, height, 3)),),
        tolerance=Tolerance(0),
        at=at,
    )


CASES = (at(),)
