"""Minima, maxima and medians of neighbourhoods, and distances."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce

import numpy as np

from apps.common import App, Array, Module
from benchmarks.everyday.pipeline import Pipeline, Size, edges, picture


def median_bytes(hl: Module) -> App:
    """The median of 3 x 3 pixels: columns sorted once, by comparisons
    (cv2.medianBlur)."""
    x, y = hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.UInt(8), 2, "input")
    f, out = edges(hl, inp), hl.Func("out")
    low, middle, high = hl.Func("low"), hl.Func("middle"), hl.Func("high")
    a, b, c = f[x, y - 1], f[x, y], f[x, y + 1]
    low[x, y] = hl.min(hl.min(a, b), c)
    high[x, y] = hl.max(hl.max(a, b), c)
    middle[x, y] = hl.max(hl.min(hl.max(a, b), c), hl.min(a, b))

    def median(a: Module, b: Module, c: Module) -> Module:
        return hl.max(hl.min(hl.max(a, b), c), hl.min(a, b))

    out[x, y] = median(
        hl.max(hl.max(low[x - 1, y], low[x, y]), low[x + 1, y]),
        median(middle[x - 1, y], middle[x, y], middle[x + 1, y]),
        hl.min(hl.min(high[x - 1, y], high[x, y]), high[x + 1, y]),
    )
    return App(out, {"input": inp}, {})


def _median_bytes(images: Mapping[str, Array]) -> Array:
    import cv2

    return np.asarray(cv2.medianBlur(images["input"], 3))


def open_close(hl: Module) -> App:
    """An opening and a closing by 7 x 7 squares, minima and maxima along rows and
    columns (cv2.morphologyEx)."""
    x, y = hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.UInt(8), 2, "input")
    f = edges(hl, inp)
    for k, which in enumerate((hl.min, hl.max, hl.max, hl.min)):
        rows, both = hl.Func(f"rows{k}"), hl.Func(f"both{k}")
        rows[x, y] = reduce(which, [f[x + j, y] for j in range(-3, 4)])
        both[x, y] = reduce(which, [rows[x, y + j] for j in range(-3, 4)])
        f = both
    return App(f, {"input": inp}, {})


def _open_close(images: Mapping[str, Array]) -> Array:
    from scipy import ndimage

    found = np.pad(images["input"], 12, mode="edge")
    least: Callable[..., Array] = ndimage.minimum_filter
    most: Callable[..., Array] = ndimage.maximum_filter
    for which in (least, most, most, least):
        found = which(found, 7)
    return found[12:-12, 12:-12]


def reconstruction(hl: Module) -> App:
    """Eight steps of a dilation that a mask holds back (skimage.morphology)."""
    x, y = hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.UInt(16), 2, "input")
    mask, f = edges(hl, inp), hl.Func("seed")
    f[x, y] = mask[x, y] - hl.min(mask[x, y], hl.u16(4000))
    for k in range(8):
        rows, g = hl.Func(f"rows{k}"), hl.Func(f"step{k}")
        rows[x, y] = hl.max(hl.max(f[x - 1, y], f[x, y]), f[x + 1, y])
        near = hl.max(hl.max(rows[x, y - 1], rows[x, y]), rows[x, y + 1])
        g[x, y] = hl.min(near, mask[x, y])
        f = g
    return App(f, {"input": inp}, {})


def _reconstruction(images: Mapping[str, Array]) -> Array:
    from scipy import ndimage

    mask = np.pad(images["input"], 9, mode="edge")
    found = mask - np.minimum(mask, 4000)
    for _ in range(8):
        found = np.minimum(ndimage.maximum_filter(found, 3), mask)
    return np.asarray(found[9:-9, 9:-9])


def distance_city(hl: Module) -> App:
    """How many steps along rows and columns it is to the next dark pixel: scans to and
    fro along both (scipy.ndimage.distance_transform_cdt)."""
    x, y = hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.UInt(8), 2, "input")
    width, height = inp.width(), inp.height()
    rows, out = hl.Func("rows"), hl.Func("out")
    rx, ry = hl.RDom([(1, width - 1)], "rx"), hl.RDom([(1, height - 1)], "ry")
    inside = inp[hl.clamp(x, 0, width - 1), hl.clamp(y, 0, height - 1)]
    rows[x, y] = hl.select(inside < 100, hl.i32(0), hl.i32(10000))
    rows[rx.x, y] = hl.min(rows[rx.x, y], rows[rx.x - 1, y] + 1)
    back = width - 1 - rx.x
    rows[back, y] = hl.min(rows[back, y], rows[back + 1, y] + 1)
    out[x, y] = rows[x, y]
    out[x, ry.x] = hl.min(out[x, ry.x], out[x, ry.x - 1] + 1)
    up = height - 1 - ry.x
    out[x, up] = hl.min(out[x, up], out[x, up + 1] + 1)
    return App(out, {"input": inp}, {})


def _distance_city(images: Mapping[str, Array]) -> Array:
    from scipy import ndimage

    light = images["input"] >= 100
    found = ndimage.distance_transform_cdt(light, "taxicab")
    return np.asarray(found).astype(np.int32)


def _gray(size: Size) -> Mapping[str, Array]:
    return {"input": picture(*size[::-1], dtype=np.uint8)}


def _shorts(size: Size) -> Mapping[str, Array]:
    return {"input": picture(*size[::-1], dtype=np.uint16)}


PIPELINES = (
    Pipeline(
        "median_bytes",
        "morphology",
        median_bytes,
        _gray,
        lambda size: (np.uint8, size),
        size=(1920, 1080),
        small=(51, 43),
        reference=_median_bytes,
    ),
    Pipeline(
        "open_close",
        "morphology, separable",
        open_close,
        _gray,
        lambda size: (np.uint8, size),
        size=(1920, 1080),
        small=(51, 43),
        reference=_open_close,
    ),
    Pipeline(
        "reconstruction",
        "morphology, iterated",
        reconstruction,
        _shorts,
        lambda size: (np.uint16, size),
        size=(1280, 960),
        small=(51, 43),
        reference=_reconstruction,
    ),
    Pipeline(
        "distance_city",
        "distances, scans",
        distance_city,
        _gray,
        lambda size: (np.int32, size),
        size=(1024, 768),
        small=(51, 43),
        reference=_distance_city,
    ),
)
