"""3x3 blur of 6400 x 4800 16-bit pixels."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from apps import blur
from benchmarks.case import Case, Image, Output, Rivals, Tolerance, rng, zeros
from benchmarks.cpp.blurs import Blurs


def inputs() -> Mapping[str, Image]:
    pixels = rng().integers(0, 16320, (4802, 6402))
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


CASES = (
    Case(
        name="blur",
        size="6400 x 4800",
        algorithm=blur.algorithm,
        schedules={
            "tiled": blur.schedule_tiled,
            "sliding": blur.schedule_sliding,
            "rows": blur.schedule_rows,
        },
        inputs=inputs,
        outputs=(Output(np.uint16, (6400, 4800)),),
        tolerance=Tolerance(0),
        rivals=rivals,
        moved=(6402 * 4802 + 6400 * 4800) * 2,
        shares={"copy past the caches": 0.8},
    ),
)
