"""Camera pipeline from a raw image of 2592 x 1968 to 2560 x 1920 x 3 bytes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from apps import camera_pipe
from benchmarks.case import Case, Image, Output, Rivals, Tolerance, rng


def inputs() -> Mapping[str, Image]:
    pixels = rng().integers(25, 1024, (1968, 2592))
    return {
        "input": Image(pixels.astype(np.uint16)),
        "matrix_3200": Image(camera_pipe.MATRIX_3200),
        "matrix_7000": Image(camera_pipe.MATRIX_7000),
    }


def rivals(images: Mapping[str, Image]) -> Rivals:
    image = images["input"].array
    return {"NumPy": lambda: camera_pipe.with_numpy(image)}


CASES = (
    Case(
        name="camera",
        size="2560 x 1920 x 3",
        algorithm=camera_pipe.algorithm,
        schedules={"strips": camera_pipe.schedule_strips},
        inputs=inputs,
        outputs=(Output(np.uint8, (2560, 1920, 3)),),
        tolerance=Tolerance(0),
        values=camera_pipe.SETTINGS,
        rivals=rivals,
    ),
)
