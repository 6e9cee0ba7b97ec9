"""VGG-16 of four images of 224 x 224 x 3."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from apps import vgg
from benchmarks.case import Case, Image, Output, Rivals, Tolerance, rng


def inputs() -> Mapping[str, Image]:
    pixels = rng().random(vgg.VGG16.shapes()["input"], np.float32)
    arrays = {"input": pixels, **vgg.weights()}
    return {name: Image(a) for name, a in arrays.items()}


def rivals(images: Mapping[str, Image]) -> Rivals:
    arrays = {name: image.array for name, image in images.items()}
    return {"NumPy (BLAS)": lambda: vgg.with_numpy(arrays)}


CASES = (
    Case(
        name="vgg",
        size="224 x 224 x 3 x 4",
        algorithm=vgg.algorithm,
        schedules={"registers": vgg.schedule_registers},
        inputs=inputs,
        outputs=(Output(np.float32, (1000, 4)),),
        tolerance=Tolerance(1e-5),
        rivals=rivals,
    ),
)
