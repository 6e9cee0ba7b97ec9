"""Lens blur of a stereo pair of 992 x 1024 x 3 bytes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from apps import lens_blur
from benchmarks.case import Case, Image, Output, Tolerance, resized, rng


def inputs(width: int, height: int) -> Mapping[str, Image]:
    """Smooth shapes under some noise, so that there are depths to be found."""
    source = rng()
    coarse = source.uniform(0, 240, (3, height // 16, width // 16))
    left = np.repeat(np.repeat(coarse, 16, axis=1), 16, axis=2)
    left = (left + source.uniform(0, 15, left.shape)).astype(np.uint8)
    return {
        "left_im": Image(left),
        "right_im": Image(lens_blur.second_view(left)),
    }


def at(scale: float = 1.0) -> Case:
    # Its shapes are of 16 x 16 pixels.
    width, height = (resized(n, scale) // 16 * 16 for n in (992, 1024))
    return Case(
        name="lens_blur",
        size=f"{width} x {height} x 3",
        algorithm=lens_blur.algorithm,
        schedules={
            "lines": lens_blur.schedule_lines,
            "published": lens_blur.schedule_published,
        },
        inputs=partial(inputs, width, height),
        outputs=(Output(np.float32, (width, height, 3)),),
        # A pixel whose depth is as good as another one may differ altogether.
        tolerance=Tolerance(1.0, 0.001),
        values={
            "slices": lens_blur.SLICES,
            "focus_depth": lens_blur.FOCUS,
            "blur_radius_scale": lens_blur.SCALE,
            "aperture_samples": lens_blur.SAMPLES,
        },
        at=at,
    )


CASES = (at(),)
