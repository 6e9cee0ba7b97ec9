"""Recursive filters beside one thread for each line, and CUB (2015 paper, Figures 6 to
11)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

import parhelion as hl
from apps.common import Array
from apps.recursive import boxes, bspline, gaussian, sat
from benchmarks.case import Image, Tolerance, rng
from benchmarks.gpu import nvcc, ours
from benchmarks.gpu.contender import (
    AUTOMATIC,
    CUDA,
    LIBRARY,
    Contender,
    Images,
    Job,
    Ready,
)
from benchmarks.gpu.device import Device
from benchmarks.gpu.rivals import own
from parhelion.recfilter import gaussian_weights

GROUP = "recursive filters"
#: Edges of the images, in pixels: as in the figures, and for the simulator.
USUAL, SMALL = 4096, 96
#: The bits of `filter_float`.
ALL = 15
SIGMA, RADII = 5.0, (4, 9)


def _image(size: int, dtype: type) -> Images:
    pixels: Array = rng().integers(0, 256, (size, size)).astype(dtype)
    return {"input": Image(pixels)}


def _scanlines(weights: list[float]) -> Callable[[Any, Device, Images], Ready]:
    """Forwards and backwards along both axes, by a thread for each line. Edges are of
    zeros, not mirrored: it does less."""

    def make(library: Any, device: Device, images: Images) -> Ready:
        array = images["input"].array.astype(np.float32)
        height, width = array.shape
        data = device.copy_of(array)
        given = (ctypes.c_float * 4)(weights[0], *[-w for w in weights[1:]])

        def run() -> None:
            order = len(weights) - 1
            nvcc.checked(
                library.filter_float(data.pointer, width, height, given, order, ALL)
            )

        return Ready(run)

    return make


def _table_by_lines(library: Any, device: Device, images: Images) -> Ready:
    array = images["input"].array
    given, out = device.copy_of(array), device.room(4 * array.size)
    height, width = array.shape
    count = ctypes.c_longlong(array.size)

    def run() -> None:
        nvcc.checked(library.widened(out.pointer, given.pointer, count))
        nvcc.checked(library.summed_area(out.pointer, width, height))

    return Ready(run, lambda: out.read(array.shape, np.int32))


def _table_by_cub(library: Any, device: Device, images: Images) -> Ready:
    array = images["input"].array
    given = device.copy_of(array)
    out, other = device.room(4 * array.size), device.room(4 * array.size)
    height, width = array.shape

    def run() -> None:
        nvcc.checked(
            library.cub_summed_area(
                out.pointer, given.pointer, other.pointer, width, height
            )
        )

    return Ready(run, lambda: out.read(array.shape, np.int32))


def _alone(one: Contender, by: str = CUDA) -> Contender:
    return Contender(by, one.name, one.prepare, alone=True)


def _box(image: Array) -> hl.Func:
    out = sat.sums_of(image, sat.table_of(image).as_func(ours.CUDA), 5)
    x, y = out.args()
    return out.gpu_tile(x, y, hl.Var("tx"), hl.Var("ty"), 32, 8)


def _lines(name: str, weights: list[float]) -> Contender:
    return _alone(own("recursive", name, _scanlines(weights)))


def _gaussian(order: int, image: Array) -> hl.Func:
    return gaussian.blur_of(image, SIGMA, order).as_func(ours.CUDA)


SCANLINES = "a thread for each line"
_TABLE = [
    own("recursive", SCANLINES, _table_by_lines),
    Contender(LIBRARY, "CUB", own("library", "", _table_by_cub).prepare),
]
_SPLINE = [1 - bspline.POLE, bspline.POLE]
_Made = tuple[str, type, Callable[[Array], hl.Func], list[Contender]]
#: By name: the paper's figure, the pixels, the Func, and who else does the job.
FILTERS: Mapping[str, _Made] = {
    "summed_area": (
        "Figure 6",
        np.uint8,
        lambda image: sat.table_of(image).as_func(ours.CUDA),
        _TABLE,
    ),
    "box": ("Figure 7", np.uint8, _box, [_alone(one, one.by) for one in _TABLE]),
    "bspline": (
        "Figure 8",
        np.float32,
        lambda image: bspline.spline_of(image).as_func(ours.CUDA),
        [_lines(SCANLINES, _SPLINE)],
    ),
    **{
        f"gaussian{k}": (
            f"Figure 9, order {k}",
            np.float32,
            partial(_gaussian, k),
            [_lines(SCANLINES, [float(w) for w in gaussian_weights(SIGMA, k)])],
        )
        for k in (1, 2, 3)
    },
    "difference_of_gaussians": (
        "Figure 11",
        np.uint8,
        lambda image: boxes.by_a_table_of_three(image, RADII, ours.CUDA),
        [],
    ),
}


def names() -> list[str]:
    return list(FILTERS)


def job(name: str, *, simulated: bool = False) -> Job:
    """A filter as a job. simulated: of a small size, and ours alone."""
    figure, dtype, make, rivals = FILTERS[name]
    size = SMALL if simulated else USUAL

    def func(images: Images) -> hl.Func:
        return make(images["input"].array)

    mine = ours.of_func("the default schedule", AUTOMATIC, func)
    return Job(
        name,
        GROUP,
        f"{figure}, {size} x {size}",
        partial(_image, size, dtype),
        (mine,) if simulated else (mine, *rivals),
        Tolerance(0) if np.issubdtype(dtype, np.integer) else Tolerance(0.01),
    )


def on_host(name: str, images: Images) -> Array:
    """A filter without a GPU."""
    image = images["input"].array
    if name == "summed_area":
        return sat.summed_area_table(image)
    if name == "box":
        return sat.box_sums(image, 5)
    if name == "bspline":
        return bspline.prefilter(image)
    if name == "difference_of_gaussians":
        size = list(image.shape[::-1])
        return np.asarray(boxes.by_a_table_of_three(image, RADII).realize(size))
    return gaussian.gaussian_blur(image, SIGMA, int(name[-1]))


__all__ = ["GROUP", "SCANLINES", "job", "names", "on_host"]
