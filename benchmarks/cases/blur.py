"""3x3 blur of 6400 x 4800 16-bit pixels."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from apps import blur
from benchmarks.case import (
    Case,
    Image,
    Output,
    Rivals,
    Tolerance,
    resized,
    rng,
    zeros,
)
from benchmarks.cpp.blurs import Blurs


def inputs(width: int, height: int) -> Mapping[str, Image]:
    pixels = rng().integers(0, 16320, (height + 2, width + 2))
    return {"input": Image(pixels.astype(np.uint16))}


def rivals(images: Mapping[str, Image]) -> Rivals:
    """NumPy, OpenCV (whose mean rounds to nearest, over the same window), and the C++
    of Figure 1, clean and with intrinsics."""
    import cv2

    image = images["input"].array
    height, width = image.shape
    cpp, out = Blurs(), zeros((height - 2, width - 2), image.dtype)
    expected = blur.with_numpy(image)
    for run in (cpp.clean, cpp.fast):
        run(image, out)
        if not np.array_equal(out, expected):
            raise RuntimeError(f"{run.__name__}: the C++ blur is wrong")
    return {
        "C++, clean": lambda: cpp.clean(image, out),
        "C++, intrinsics": lambda: cpp.fast(image, out),
        "OpenCV": lambda: cv2.blur(image, (3, 3)),
        "NumPy": lambda: blur.with_numpy(image),
    }


def at(scale: float = 1.0) -> Case:
    width, height = resized(6400, scale), resized(4800, scale)
    return Case(
        name="blur",
        size=f"{width} x {height}",
        algorithm=blur.algorithm,
        schedules={
            "tiled": blur.schedule_tiled,
            "sliding": blur.schedule_sliding,
            "rows": blur.schedule_rows,
        },
        inputs=partial(inputs, width, height),
        outputs=(Output(np.uint16, (width, height)),),
        tolerance=Tolerance(0),
        rivals=rivals,
        moved=((width + 2) * (height + 2) + width * height) * 2,
        shares={"copy past the caches": 0.8},
        at=at,
    )


CASES = (at(),)
