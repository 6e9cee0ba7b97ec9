"""The product of two matrices of 2048 x 2048 floats."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from apps import matmul
from benchmarks.case import Case, Image, Output, Rivals, Tolerance, rng

SIZE = 2048


def inputs() -> Mapping[str, Image]:
    source = rng()
    return {
        name: Image(source.uniform(0, 1, (SIZE, SIZE)).astype(np.float32))
        for name in ("A", "B")
    }


def rivals(images: Mapping[str, Image]) -> Rivals:
    a, b = images["A"].array, images["B"].array
    return {"NumPy (BLAS)": lambda: a @ b}


CASES = (
    Case(
        name="matmul",
        size="2048 x 2048",
        algorithm=matmul.algorithm,
        schedules={"packed": matmul.schedule_packed},
        inputs=inputs,
        outputs=(Output(np.float32, (SIZE, SIZE)),),
        tolerance=Tolerance(5e-3),
        rivals=rivals,
        operations=2 * SIZE**3,
        shares={"multiply-adds": 0.85},
        ahead_of=("NumPy (BLAS)",),
    ),
)
