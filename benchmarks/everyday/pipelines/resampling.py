"""Pictures at other sizes, and looked at from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from apps.common import App, Array, Module
from benchmarks.case import Tolerance
from benchmarks.everyday.pipeline import (
    Pipeline,
    Size,
    channels_beside,
    edges,
    interleaved,
    picture,
    total,
)


def resize_bilinear(hl: Module) -> App:
    """0.6 times the size, between four pixels, colours side by side (cv2.resize)."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    inp = channels_beside(hl.ImageParam(hl.UInt(8), 3, "input"))
    f, out, rows = edges(hl, inp), hl.Func("out"), hl.Func("rows")
    at_x = (hl.f32(x) + 0.5) * float(np.float32(1 / 0.6)) - 0.5
    at_y = (hl.f32(y) + 0.5) * float(np.float32(1 / 0.6)) - 0.5
    left, top = hl.i32(hl.floor(at_x)), hl.i32(hl.floor(at_y))
    part_x, part_y = at_x - hl.floor(at_x), at_y - hl.floor(at_y)
    above = hl.f32(f[x, top, c])
    rows[x, y, c] = above + (hl.f32(f[x, top + 1, c]) - above) * part_y
    near = rows[left, y, c]
    value = near + (rows[left + 1, y, c] - near) * part_x
    out[x, y, c] = hl.u8(hl.clamp(value + 0.5, 0.0, 255.0))
    channels_beside(out.output_buffer())
    return App(out, {"input": inp}, {})


def _resize_inputs(size: Size) -> Mapping[str, Array]:
    w, h = (round(n / 0.6) for n in size[:2])
    planes = [picture(h, w, dtype=np.uint8, seed=k) for k in range(3)]
    return {"input": interleaved(np.stack(planes))}


def _resize_bilinear(images: Mapping[str, Array]) -> Array:
    import cv2

    image = images["input"].transpose(1, 2, 0)
    size = round(image.shape[1] * 0.6), round(image.shape[0] * 0.6)
    found = cv2.resize(image, size, interpolation=cv2.INTER_LINEAR)
    return np.asarray(found).transpose(2, 0, 1)


def _cubic(hl: Module, t: Module) -> list[Module]:
    """Weights of the four pixels around a place, t from the second (Keys, a = -0.5)."""
    square, cube = t * t, t * t * t
    return [
        -0.5 * cube + square - 0.5 * t,
        1.5 * cube - 2.5 * square + 1.0,
        -1.5 * cube + 2.0 * square + 0.5 * t,
        0.5 * cube - 0.5 * square,
    ]


def resize_bicubic(hl: Module) -> App:
    """1.5 times the size by cubics, separable (kornia.geometry.resize)."""
    x, y = hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.Float(32), 2, "input")
    f, rows, out = edges(hl, inp), hl.Func("rows"), hl.Func("out")
    at_x = (hl.f32(x) + 0.5) * float(np.float32(1 / 1.5)) - 0.5
    at_y = (hl.f32(y) + 0.5) * float(np.float32(1 / 1.5)) - 0.5
    left, top = hl.i32(hl.floor(at_x)), hl.i32(hl.floor(at_y))
    in_x = _cubic(hl, at_x - hl.floor(at_x))
    in_y = _cubic(hl, at_y - hl.floor(at_y))
    rows[x, y] = total([f[x, top + k - 1] * w for k, w in enumerate(in_y)])
    out[x, y] = total([rows[left + k - 1, y] * w for k, w in enumerate(in_x)])
    return App(out, {"input": inp}, {})


def _bicubic_inputs(size: Size) -> Mapping[str, Array]:
    w, h = (round(n / 1.5) for n in size)
    return {"input": picture(h, w)}


def _resize_bicubic(images: Mapping[str, Array]) -> Array:
    found = images["input"].astype(np.float64)
    for _ in range(2):
        n = found.shape[0]
        at = (np.arange(round(n * 1.5)) + 0.5) / 1.5 - 0.5
        first = np.floor(at).astype(int)
        weights = _cubic(np, at - first)
        rows = [found[np.clip(first + k - 1, 0, n - 1)] for k in range(4)]
        found = sum(r * w[:, None] for r, w in zip(rows, weights, strict=True)).T
    return np.asarray(found)


def affine(hl: Module) -> App:
    """Turned and moved, between four pixels, black outside (cv2.warpAffine)."""
    x, y = hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.UInt(8), 2, "input")
    f = hl.BoundaryConditions.constant_exterior(
        inp, hl.u8(0), [(0, inp.width()), (0, inp.height())]
    )
    out = hl.Func("out")
    at_x = hl.f32(x) * 0.96875 - hl.f32(y) * 0.21875 + 80.25
    at_y = hl.f32(x) * 0.21875 + hl.f32(y) * 0.96875 - 60.5
    left, top = hl.i32(hl.floor(at_x)), hl.i32(hl.floor(at_y))
    part_x, part_y = at_x - hl.floor(at_x), at_y - hl.floor(at_y)

    def row(k: Module) -> Module:
        near = hl.f32(f[left, top + k])
        return near + (hl.f32(f[left + 1, top + k]) - near) * part_x

    value = row(0) + (row(1) - row(0)) * part_y
    out[x, y] = hl.u8(hl.clamp(value + 0.5, 0.0, 255.0))
    return App(out, {"input": inp}, {})


def _affine(images: Mapping[str, Array]) -> Array:
    from scipy import ndimage

    image = images["input"].astype(np.float64)
    y, x = np.indices(image.shape)
    at = (x * 0.21875 + y * 0.96875 - 60.5, x * 0.96875 - y * 0.21875 + 80.25)
    # Beyond the edges zeros, which are mixed with the last pixels.
    wide = np.pad(image, 1)
    value = ndimage.map_coordinates(wide, [a + 1 for a in at], order=1)
    return np.asarray(np.clip(value + 0.5, 0, 255).astype(np.uint8))


def undistort(hl: Module) -> App:
    """A lens's barrel taken back: each pixel from where a cubic of its radius says,
    three planes (cv2.undistort)."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    inp = hl.ImageParam(hl.Float(32), 3, "input")
    f, out = edges(hl, inp), hl.Func("out")
    from_x, from_y = hl.Func("from_x"), hl.Func("from_y")
    wide, high = hl.f32(inp.width()), hl.f32(inp.height())
    dx, dy = (hl.f32(x) - wide * 0.5) / wide, (hl.f32(y) - high * 0.5) / wide
    square = dx * dx + dy * dy
    scale = 1.0 + square * (-0.25 + square * 0.0625)
    from_x[x, y] = dx * scale * wide + wide * 0.5
    from_y[x, y] = dy * scale * wide + high * 0.5
    at_x, at_y = from_x[x, y], from_y[x, y]
    left = hl.clamp(hl.i32(hl.floor(at_x)), 0, inp.width() - 1)
    top = hl.clamp(hl.i32(hl.floor(at_y)), 0, inp.height() - 1)
    part_x, part_y = at_x - hl.floor(at_x), at_y - hl.floor(at_y)

    def row(k: int) -> Module:
        near = f[left, top + k, c]
        return near + (f[left + 1, top + k, c] - near) * part_x

    out[x, y, c] = row(0) + (row(1) - row(0)) * part_y
    return App(out, {"input": inp}, {})


def _undistort(images: Mapping[str, Array]) -> Array:
    from scipy import ndimage

    _, h, w = images["input"].shape
    y, x = np.indices((h, w))
    dx, dy = (x - w / 2) / w, (y - h / 2) / w
    square = dx * dx + dy * dy
    scale = 1 + square * (-0.25 + square * 0.0625)
    at = (dy * scale * w + h / 2, dx * scale * w + w / 2)
    found = [
        ndimage.map_coordinates(plane.astype(np.float64), at, order=1, mode="nearest")
        for plane in images["input"]
    ]
    return np.stack(found)


def area_third(hl: Module) -> App:
    """A third of the size by means of 3 x 3 pixels, colours side by side as the
    innermost dimension (cv2.INTER_AREA)."""
    c, x, y = hl.Var("c"), hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.UInt(8), 3, "input")
    inp.dim(0).set_bounds(0, 3)
    out = hl.Func("out")
    sums = total(
        [hl.u16(inp[c, 3 * x + i, 3 * y + j]) for j in range(3) for i in range(3)]
    )
    out[c, x, y] = hl.u8((sums + 4) // 9)
    out.output_buffer().dim(0).set_bounds(0, 3)
    return App(out, {"input": inp}, {})


def _area_inputs(size: Size) -> Mapping[str, Array]:
    _, w, h = size
    planes = [picture(3 * h, 3 * w, dtype=np.uint8, seed=k) for k in range(3)]
    return {"input": np.ascontiguousarray(np.stack(planes, axis=-1))}


def _area_third(images: Mapping[str, Array]) -> Array:
    image = images["input"].astype(np.int64)
    h, w, _ = image.shape
    sums = image.reshape(h // 3, 3, w // 3, 3, 3).sum((1, 3))
    return np.asarray(((sums + 4) // 9).astype(np.uint8))


def _gray(size: Size) -> Mapping[str, Array]:
    return {"input": picture(*size[::-1], dtype=np.uint8)}


def _planes(size: Size) -> Mapping[str, Array]:
    return {"input": np.stack([picture(*size[1::-1], seed=k) for k in range(3)])}


PIPELINES = (
    Pipeline(
        "resize_bilinear",
        "resampling, interleaved",
        resize_bilinear,
        _resize_inputs,
        lambda size: (np.uint8, size),
        size=(960, 720, 3),
        small=(48, 36, 3),
        # OpenCV's is in fixed point.
        tolerance=Tolerance(2),
        reference=_resize_bilinear,
        interleaved=True,
    ),
    Pipeline(
        "resize_bicubic",
        "resampling, separable",
        resize_bicubic,
        _bicubic_inputs,
        lambda size: (np.float32, size),
        size=(1536, 1152),
        small=(48, 36),
        tolerance=Tolerance(1e-3),
        reference=_resize_bicubic,
    ),
    Pipeline(
        "affine",
        "resampling, gathers",
        affine,
        _gray,
        lambda size: (np.uint8, size),
        size=(1024, 768),
        small=(160, 140),
        tolerance=Tolerance(1, 1e-2),
        reference=_affine,
    ),
    Pipeline(
        "undistort",
        "resampling, gathers",
        undistort,
        _planes,
        lambda size: (np.float32, size),
        size=(1024, 768, 3),
        small=(64, 48, 3),
        tolerance=Tolerance(2e-3),
        reference=_undistort,
    ),
    Pipeline(
        "area_third",
        "resampling, interleaved",
        area_third,
        _area_inputs,
        lambda size: (np.uint8, size),
        size=(3, 640, 360),
        small=(3, 23, 17),
        reference=_area_third,
    ),
)
