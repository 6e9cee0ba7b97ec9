"""VGG-16 of four images of 224 x 224 x 3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from apps import vgg
from benchmarks.case import Case, Image, Output, Rivals, Tolerance, resized, rng


def inputs(net: vgg.Network) -> Mapping[str, Image]:
    pixels = rng().random(net.shapes()["input"], np.float32)
    arrays = {"input": pixels, **vgg.weights(net)}
    return {name: Image(a) for name, a in arrays.items()}


def rivals(net: vgg.Network, images: Mapping[str, Image]) -> Rivals:
    arrays = {name: image.array for name, image in images.items()}
    return {"NumPy (BLAS)": lambda: vgg.with_numpy(arrays, net)}


def at(scale: float = 1.0) -> Case:
    net = replace(vgg.VGG16, batch=resized(vgg.VGG16.batch, scale))
    return Case(
        name="vgg",
        size=f"{net.size} x {net.size} x 3 x {net.batch}",
        algorithm=partial(vgg.algorithm, net=net),
        schedules={"registers": vgg.schedule_registers},
        inputs=partial(inputs, net),
        outputs=(Output(np.float32, (1000, net.batch)),),
        tolerance=Tolerance(1e-5),
        rivals=partial(rivals, net),
        at=at,
    )


CASES = (at(),)
