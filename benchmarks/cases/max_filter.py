"""Maximum over a disc of radius 26, of 1536 x 2560 x 3 floats."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from apps import max_filter
from benchmarks.case import Case, Image, Output, Tolerance, rng


def inputs() -> Mapping[str, Image]:
    pixels = rng().uniform(0, 1, (3, 2560, 1536))
    return {"input": Image(pixels.astype(np.float32))}


CASES = (
    Case(
        name="max_filter",
        size="1536 x 2560 x 3",
        algorithm=max_filter.algorithm,
        schedules={"strips": max_filter.schedule_strips},
        inputs=inputs,
        outputs=(Output(np.float32, (1536, 2560, 3)),),
        tolerance=Tolerance(0),
    ),
)
