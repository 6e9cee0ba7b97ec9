"""Cases of one algorithm at several sizes, as in section 5.2 of the 2016 paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from apps import conv_layer, vgg
from benchmarks.case import Case, Image, Output, Tolerance, rng
from benchmarks.cases import case as application
from benchmarks.cases import harris, local_laplacian
from benchmarks.everyday.pipelines import all_pipelines


@dataclass(frozen=True)
class Series:
    """One algorithm at several sizes.

    title: what the plot says. cases: by what distinguishes them. fixed: the one that
    the single schedule is made for; "" for that which is best on average.
    """

    title: str
    cases: Mapping[str, Case]
    fixed: str = ""


def layer_inputs(
    size: int, batch: int, channels: int, outputs: int
) -> Mapping[str, Image]:
    """A layer's pixels with a margin of one on each side, its weights and biases."""
    source = rng()
    shapes = {
        "input": (batch, size + 2, size + 2, channels),
        "filter": (channels, 3, 3, outputs),
        "bias": (outputs,),
    }
    return {
        name: Image(source.uniform(-1, 1, shape).astype(np.float32))
        for name, shape in shapes.items()
    }


def _layers(net: vgg.Network = vgg.VGG16) -> Iterator[tuple[str, int, int, int]]:
    """(name, size, channels in, channels out) of the convolutions, those of one shape
    once."""
    channels, seen = 3, set()
    for b, (outputs, count) in enumerate(net.blocks):
        for k in range(1, count + 1):
            shape = (net.size >> b, channels, outputs)
            if shape not in seen:
                seen.add(shape)
                yield f"{b + 1}_{k}", *shape
            channels = outputs


def _layer(name: str, size: int, channels: int, outputs: int, batch: int) -> Case:
    return Case(
        name=f"vgg_layer@{name}",
        size=f"{size} x {size}, {channels} to {outputs} channels, {batch} images",
        algorithm=partial(conv_layer.algorithm, channels_in=channels),
        schedules={},
        inputs=partial(layer_inputs, size, batch, channels, outputs),
        outputs=(Output(np.float32, (outputs, size, size, batch)),),
        # Sums of 9 products of each channel, in any order.
        tolerance=Tolerance(1e-5 * channels),
    )


def _harris(size: int) -> Case:
    return replace(
        harris.at(),
        name=f"harris@{size}",
        size=f"{size} x {size} x 3",
        inputs=partial(harris.inputs, size, size),
        outputs=(Output(np.float32, (size, size)),),
        at=None,
    )


def _bins(levels: int) -> Case:
    made = local_laplacian.at()
    return replace(
        made,
        name=f"local_laplacian@{levels}",
        size=f"{made.size}, {levels} bins",
        values={**made.values, "levels": levels},
        at=None,
    )


SERIES: Mapping[str, Series] = {
    "vgg": Series(
        "layers of VGG-16",
        {
            name: _layer(name, size, channels, outputs, vgg.VGG16.batch)
            for name, size, channels, outputs in _layers()
        },
    ),
    "harris": Series(
        "Harris, sides of the image",
        {str(n): _harris(n) for n in (250, 500, 1000, 2000, 4000)},
        fixed="2000",
    ),
    "local_laplacian": Series(
        "local Laplacian, bins",
        {str(n): _bins(n) for n in (2, 4, 8, 16, 32)},
        fixed="8",
    ),
}


def find(name: str) -> Case:
    """The case of that name: one of a series, an everyday pipeline, an application."""
    for series in SERIES.values():
        for one in series.cases.values():
            if one.name == name:
                return one
    for pipeline in all_pipelines():
        if pipeline.name == name:
            return pipeline.case()
    return application(name)
