"""Local Laplacian filter, 8 levels, of 1536 x 2560 x 3 16-bit pixels."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from apps import local_laplacian
from benchmarks.case import Case, Image, Output, Tolerance, rng


def inputs() -> Mapping[str, Image]:
    pixels = rng().integers(0, 65536, (3, 2560, 1536))
    return {"input": Image(pixels.astype(np.uint16))}


CASES = (
    Case(
        name="local_laplacian",
        size="1536 x 2560 x 3",
        algorithm=local_laplacian.algorithm,
        schedules={"lines": local_laplacian.schedule_lines},
        inputs=inputs,
        outputs=(Output(np.uint16, (1536, 2560, 3)),),
        # An index into the table is a truncated float: one ulp moves it by a step.
        tolerance=Tolerance(600, 0.02),
        values=local_laplacian.SETTINGS,
    ),
)
