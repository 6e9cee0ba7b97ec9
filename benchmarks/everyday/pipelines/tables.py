"""Histograms, tables and sums of all that is left of and above a pixel."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from apps.common import App, Array, Module
from benchmarks.case import Tolerance
from benchmarks.everyday.pipeline import Pipeline, Size, picture


def gamma_table(hl: Module) -> App:
    """Every level through a table (cv2.LUT)."""
    x, y = hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.UInt(8), 2, "input")
    table, out = hl.ImageParam(hl.UInt(8), 1, "table"), hl.Func("out")
    out[x, y] = table[hl.i32(inp[x, y])]
    return App(out, {"input": inp, "table": table}, {})


def _table_inputs(size: Size) -> Mapping[str, Array]:
    levels = np.arange(256) / 255
    table = np.rint(255 * levels ** (1 / 2.2)).astype(np.uint8)
    return {"input": picture(*size[::-1], dtype=np.uint8), "table": table}


def _gamma_table(images: Mapping[str, Array]) -> Array:
    return np.asarray(images["table"][images["input"]])


def otsu(hl: Module) -> App:
    """Black and white by Otsu's threshold (skimage.filters): a histogram, its running
    sums, the level that parts it best, and a comparison."""
    x, y, i = hl.Var("x"), hl.Var("y"), hl.Var("i")
    inp = hl.ImageParam(hl.UInt(8), 2, "input")
    r = hl.RDom([(0, inp.width()), (0, inp.height())], "r")
    count, below, mass = hl.Func("count"), hl.Func("below"), hl.Func("mass")
    count[i] = 0
    count[hl.i32(inp[r.x, r.y])] += 1
    b = hl.RDom([(1, 255)], "b")
    below[i] = hl.f32(count[0])
    below[b.x] = below[b.x - 1] + hl.f32(count[b.x])
    mass[i] = 0.0
    mass[b.x] = mass[b.x - 1] + hl.f32(count[b.x]) * hl.f32(b.x)
    between, best = hl.Func("between"), hl.Func("best")
    all_count, all_mass = below[255], mass[255]
    apart = all_mass * below[i] - all_count * mass[i]
    weight = below[i] * (all_count - below[i])
    between[i] = hl.select(weight > 0.0, apart * apart / hl.max(weight, 1.0), 0.0)
    s = hl.RDom([(1, 255)], "s")
    best[()] = (0, between[0])
    better = between[s.x] > best[()][1]
    best[()] = (
        hl.select(better, s.x, best[()][0]),
        hl.select(better, between[s.x], best[()][1]),
    )
    out = hl.Func("out")
    out[x, y] = hl.select(hl.i32(inp[x, y]) > best[()][0], hl.u8(255), hl.u8(0))
    return App(out, {"input": inp}, {})


def _otsu(images: Mapping[str, Array]) -> Array:
    import cv2

    image = images["input"]
    _, found = cv2.threshold(image, 0, 255, cv2.THRESH_BINARY + cv2.THRESH_OTSU)
    return np.asarray(found)


def integral_mean(hl: Module) -> App:
    """The mean of 31 x 31 pixels by an integral image (cv2.integral)."""
    x, y = hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.UInt(8), 2, "input")
    along, both, out = hl.Func("along"), hl.Func("both"), hl.Func("out")
    width, height = inp.width(), inp.height()
    r = hl.RDom([(1, width)], "r")
    q = hl.RDom([(1, height)], "q")
    along[x, y] = hl.u32(0)
    along[r.x, y] = along[r.x - 1, y] + hl.u32(inp[r.x - 1, hl.clamp(y, 0, height - 1)])
    both[x, y] = hl.u32(0)
    both[x, q.x] = both[x, q.x - 1] + along[x, q.x - 1]
    left, right = hl.max(x - 15, 0), hl.min(x + 16, width)
    top, bottom = hl.max(y - 15, 0), hl.min(y + 16, height)
    inside = (
        both[right, bottom] - both[left, bottom] - both[right, top] + both[left, top]
    )
    points = hl.f32((right - left) * (bottom - top))
    out[x, y] = hl.f32(inside) / points
    return App(out, {"input": inp}, {})


def _integral_mean(images: Mapping[str, Array]) -> Array:
    image = images["input"]
    both = np.pad(image.astype(np.int64).cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    h, w = image.shape
    x, y = np.arange(w), np.arange(h)[:, None]
    left, right = np.maximum(x - 15, 0), np.minimum(x + 16, w)
    top, bottom = np.maximum(y - 15, 0), np.minimum(y + 16, h)
    inside = (
        both[bottom, right] - both[bottom, left] - both[top, right] + both[top, left]
    )
    return np.asarray(inside / ((right - left) * (bottom - top)))


def equalize_tiles(hl: Module) -> App:
    """Each level by the share of lower ones in the tile of 64 x 64 around it, and
    between the tables of four tiles (the heart of cv2.createCLAHE)."""
    x, y, i = hl.Var("x"), hl.Var("y"), hl.Var("i")
    inp = hl.ImageParam(hl.UInt(8), 2, "input")
    across, down = inp.width() // 64, inp.height() // 64
    r, b = hl.RDom([(0, 64), (0, 64)], "r"), hl.RDom([(1, 255)], "b")
    count, below, out = hl.Func("count"), hl.Func("below"), hl.Func("out")
    count[i, x, y] = 0
    count[hl.i32(inp[64 * x + r.x, 64 * y + r.y]), x, y] += 1
    below[i, x, y] = hl.min(count[i, x, y], 64)
    below[b.x, x, y] += below[b.x - 1, x, y]
    level = hl.i32(inp[x, y])
    left, top = (x + 32) // 64 - 1, (y + 32) // 64 - 1
    part_x = hl.f32((x + 32) % 64) * (1 / 64) + 1 / 128
    part_y = hl.f32((y + 32) % 64) * (1 / 64) + 1 / 128

    def at(i: int, j: int) -> Module:
        tile_x, tile_y = (
            hl.clamp(left + i, 0, across - 1),
            hl.clamp(top + j, 0, down - 1),
        )
        total = hl.max(below[255, tile_x, tile_y], 1)
        return hl.f32(below[level, tile_x, tile_y]) / hl.f32(total)

    upper = at(0, 0) + (at(1, 0) - at(0, 0)) * part_x
    lower = at(0, 1) + (at(1, 1) - at(0, 1)) * part_x
    out[x, y] = hl.u8((upper + (lower - upper) * part_y) * 255.0 + 0.5)
    return App(out, {"input": inp}, {})


def _equalize_tiles(images: Mapping[str, Array]) -> Array:
    image = images["input"]
    h, w = image.shape
    tables = np.empty((h // 64, w // 64, 256))
    for j in range(h // 64):
        for i in range(w // 64):
            tile = image[64 * j : 64 * j + 64, 64 * i : 64 * i + 64]
            below = np.minimum(np.bincount(tile.ravel(), minlength=256), 64).cumsum()
            tables[j, i] = below / below[-1]
    y, x = np.indices((h, w))
    part_x, part_y = ((n + 32) % 64 / 64 + 1 / 128 for n in (x, y))

    def at(i: int, j: int) -> Array:
        tile_x = np.clip((x + 32) // 64 - 1 + i, 0, w // 64 - 1)
        tile_y = np.clip((y + 32) // 64 - 1 + j, 0, h // 64 - 1)
        return np.asarray(tables[tile_y, tile_x, image])

    upper = at(0, 0) + (at(1, 0) - at(0, 0)) * part_x
    lower = at(0, 1) + (at(1, 1) - at(0, 1)) * part_x
    return ((upper + (lower - upper) * part_y) * 255 + 0.5).astype(np.uint8)


def _gray(size: Size) -> Mapping[str, Array]:
    return {"input": picture(*size[::-1], dtype=np.uint8)}


PIPELINES = (
    Pipeline(
        "gamma_table",
        "tables",
        gamma_table,
        _table_inputs,
        lambda size: (np.uint8, size),
        size=(1024, 1024),
        small=(41, 23),
        reference=_gamma_table,
    ),
    Pipeline(
        "otsu",
        "histograms",
        otsu,
        _gray,
        lambda size: (np.uint8, size),
        size=(1536, 1024),
        small=(61, 43),
        reference=_otsu,
    ),
    Pipeline(
        "integral_mean",
        "integral images",
        integral_mean,
        _gray,
        lambda size: (np.float32, size),
        size=(1536, 1024),
        small=(61, 43),
        tolerance=Tolerance(1e-4),
        reference=_integral_mean,
    ),
    Pipeline(
        "equalize_tiles",
        "histograms, tables",
        equalize_tiles,
        _gray,
        lambda size: (np.uint8, size),
        size=(1024, 768),
        small=(192, 128),
        tolerance=Tolerance(1, 1e-2),
        reference=_equalize_tiles,
    ),
)
