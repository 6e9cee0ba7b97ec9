"""Non-local means at the size of Table 1, and at that of the other applications."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from apps import nl_means
from benchmarks.case import Case, Image, Output, Rivals, Tolerance, resized, rng


def inputs(width: int, height: int) -> Callable[[], Mapping[str, Image]]:
    def make() -> Mapping[str, Image]:
        pixels = rng().uniform(0, 1, (3, height, width))
        return {"input": Image(pixels.astype(np.float32))}

    return make


def rivals(images: Mapping[str, Image]) -> Rivals:
    """OpenCV's non-local means works on 8-bit levels, so it is no rival here."""
    image = images["input"].array
    return {"NumPy": lambda: nl_means.with_numpy(image)}


def _case(name: str, width: int, height: int) -> Case:
    return Case(
        name=name,
        size=f"{width} x {height} x 3",
        algorithm=nl_means.algorithm,
        schedules={
            "offsets": nl_means.schedule_offsets,
            "published": nl_means.schedule_published,
        },
        inputs=inputs(width, height),
        outputs=(Output(np.float32, (width, height, 3)),),
        tolerance=Tolerance(3e-6),
        values={
            "patch_size": nl_means.PATCH,
            "search_area": nl_means.SEARCH,
            "sigma": nl_means.SIGMA,
        },
        rivals=rivals,
        at=lambda scale: _case(name, resized(width, scale), resized(height, scale)),
    )


CASES = (_case("nl_means", 192, 320), _case("nl_means_large", 1536, 2560))
