"""The product of two matrices of 2048 x 2048 floats."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from apps import matmul
from benchmarks.case import Case, Image, Output, Rivals, Tolerance, resized, rng


def inputs(size: int) -> Mapping[str, Image]:
    source = rng()
    return {
        name: Image(source.uniform(0, 1, (size, size)).astype(np.float32))
        for name in ("A", "B")
    }


def rivals(images: Mapping[str, Image]) -> Rivals:
    a, b = images["A"].array, images["B"].array
    return {"NumPy (BLAS)": lambda: a @ b}


def at(scale: float = 1.0) -> Case:
    size = resized(2048, scale)
    return Case(
        name="matmul",
        size=f"{size} x {size}",
        algorithm=matmul.algorithm,
        schedules={"packed": matmul.schedule_packed},
        inputs=partial(inputs, size),
        outputs=(Output(np.float32, (size, size)),),
        tolerance=Tolerance(5e-3),
        rivals=rivals,
        operations=2 * size**3,
        shares={"multiply-adds": 0.85},
        ahead_of=("NumPy (BLAS)",),
        at=at,
    )


CASES = (at(),)
