"""Camera pipeline from a raw image of 2592 x 1968 to 2560 x 1920 x 3 bytes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from apps import camera_pipe
from benchmarks.case import Case, Image, Output, Rivals, Tolerance, resized, rng


def inputs(width: int, height: int) -> Mapping[str, Image]:
    pixels = rng().integers(25, 1024, (height + 48, width + 32))
    return {
        "input": Image(pixels.astype(np.uint16)),
        "matrix_3200": Image(camera_pipe.MATRIX_3200),
        "matrix_7000": Image(camera_pipe.MATRIX_7000),
    }


def rivals(images: Mapping[str, Image]) -> Rivals:
    image = images["input"].array
    return {"NumPy": lambda: camera_pipe.with_numpy(image)}


def at(scale: float = 1.0) -> Case:
    width, height = resized(2560, scale), resized(1920, scale)
    return Case(
        name="camera",
        size=f"{width} x {height} x 3",
        algorithm=camera_pipe.algorithm,
        schedules={"strips": camera_pipe.schedule_strips},
        inputs=partial(inputs, width, height),
        outputs=(Output(np.uint8, (width, height, 3)),),
        tolerance=Tolerance(0),
        values=camera_pipe.SETTINGS,
        rivals=rivals,
        at=at,
    )


CASES = (at(),)
