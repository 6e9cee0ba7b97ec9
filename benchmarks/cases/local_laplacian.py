"""Local Laplacian filter, 8 levels, of 1536 x 2560 x 3 16-bit pixels."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from apps import local_laplacian
from benchmarks.case import Case, Image, Output, Tolerance, resized, rng


def inputs(width: int, height: int) -> Mapping[str, Image]:
    pixels = rng().integers(0, 65536, (3, height, width))
    return {"input": Image(pixels.astype(np.uint16))}


def at(scale: float = 1.0) -> Case:
    width, height = resized(1536, scale), resized(2560, scale)
    return Case(
        name="local_laplacian",
        size=f"{width} x {height} x 3",
        algorithm=local_laplacian.algorithm,
        schedules={"lines": local_laplacian.schedule_lines},
        inputs=partial(inputs, width, height),
        outputs=(Output(np.uint16, (width, height, 3)),),
        # An index into the table is a truncated float: one ulp moves it by a step.
        tolerance=Tolerance(600, 0.02),
        values=local_laplacian.SETTINGS,
        at=at,
    )


CASES = (at(),)
