"""Volumes and video: three dimensions of many points each."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from apps.common import App, Array, Module
from benchmarks.case import Tolerance
from benchmarks.everyday.pipeline import (
    Pipeline,
    Size,
    edges,
    gaussian,
    picture,
    total,
    weighted,
)

_SIGMA = 2.0
_TAPS = gaussian(4, _SIGMA)


def gaussian_volume(hl: Module) -> App:
    """A Gaussian of 9 taps along each axis of a volume (scipy.ndimage)."""
    x, y, z = hl.Var("x"), hl.Var("y"), hl.Var("z")
    inp = hl.ImageParam(hl.Float(32), 3, "input")
    f = edges(hl, inp, 3)
    along_z, along_y, out = hl.Func("along_z"), hl.Func("along_y"), hl.Func("out")
    along_z[x, y, z] = weighted(_TAPS, lambda k: f[x, y, z + k])
    along_y[x, y, z] = weighted(_TAPS, lambda k: along_z[x, y + k, z])
    out[x, y, z] = weighted(_TAPS, lambda k: along_y[x + k, y, z])
    return App(out, {"input": inp}, {})


def _gaussian_volume(images: Mapping[str, Array]) -> Array:
    from scipy import ndimage

    found = images["input"]
    for axis in range(3):
        found = ndimage.correlate1d(found, _TAPS, axis, mode="nearest")
    return found


def gradient_volume(hl: Module) -> App:
    """The magnitude of the Sobel gradient of a 16-bit volume (scipy.ndimage.sobel)."""
    x, y, z = hl.Var("x"), hl.Var("y"), hl.Var("z")
    inp = hl.ImageParam(hl.UInt(16), 3, "input")
    f, out = hl.Func("f"), hl.Func("out")
    f[x, y, z] = hl.f32(edges(hl, inp, 3)[x, y, z])

    def smooth(at: Module) -> Module:
        return at(-1) + 2 * at(0) + at(1)

    gx = smooth(
        lambda k: smooth(lambda j: f[x + 1, y + j, z + k] - f[x - 1, y + j, z + k])
    )
    gy = smooth(
        lambda k: smooth(lambda j: f[x + j, y + 1, z + k] - f[x + j, y - 1, z + k])
    )
    gz = smooth(
        lambda k: smooth(lambda j: f[x + j, y + k, z + 1] - f[x + j, y + k, z - 1])
    )
    out[x, y, z] = hl.sqrt(gx * gx + gy * gy + gz * gz)
    return App(out, {"input": inp}, {})


def _gradient_volume(images: Mapping[str, Array]) -> Array:
    from scipy import ndimage

    volume = images["input"].astype(np.float32)
    sides = [ndimage.sobel(volume, axis, mode="nearest") for axis in range(3)]
    return np.asarray(np.sqrt(sum(side * side for side in sides)))


def dilate_volume(hl: Module) -> App:
    """The greatest of 5 x 5 x 5 voxels of 8 bits (scipy.ndimage.grey_dilation)."""
    x, y, z = hl.Var("x"), hl.Var("y"), hl.Var("z")
    inp = hl.ImageParam(hl.UInt(8), 3, "input")
    f = edges(hl, inp, 3)
    in_x, in_y, out = hl.Func("in_x"), hl.Func("in_y"), hl.Func("out")

    def most(at: Module) -> Module:
        return hl.max(hl.max(hl.max(at(-2), at(-1)), hl.max(at(0), at(1))), at(2))

    in_x[x, y, z] = most(lambda k: f[x + k, y, z])
    in_y[x, y, z] = most(lambda k: in_x[x, y + k, z])
    out[x, y, z] = most(lambda k: in_y[x, y, z + k])
    return App(out, {"input": inp}, {})


def _dilate_volume(images: Mapping[str, Array]) -> Array:
    from scipy import ndimage

    return np.asarray(ndimage.grey_dilation(images["input"], 5, mode="nearest"))


def video_median(hl: Module) -> App:
    """The median of each pixel over five frames, by comparisons."""
    x, y, t = hl.Var("x"), hl.Var("y"), hl.Var("t")
    inp = hl.ImageParam(hl.UInt(8), 3, "input")
    out = hl.Func("out")
    frames = hl.BoundaryConditions.repeat_edge(
        inp, [(0, inp.width()), (0, inp.height()), (0, inp.channels())]
    )
    a, b, c, d, e = (frames[x, y, t + k] for k in range(-2, 3))
    low = hl.max(hl.min(a, b), hl.min(c, d))
    high = hl.min(hl.max(a, b), hl.max(c, d))
    out[x, y, t] = hl.max(hl.min(low, high), hl.min(hl.max(low, high), e))
    return App(out, {"input": inp}, {})


def _video_median(images: Mapping[str, Array]) -> Array:
    from scipy import ndimage

    return np.asarray(ndimage.median_filter(images["input"], (5, 1, 1), mode="nearest"))


def video_background(hl: Module) -> App:
    """A running average of the frames so far, and what is far from it (the kind of
    cv2.accumulateWeighted)."""
    x, y, t = hl.Var("x"), hl.Var("y"), hl.Var("t")
    inp = hl.ImageParam(hl.UInt(8), 3, "input")
    mean, out = hl.Func("mean"), hl.Func("out")
    r = hl.RDom([(1, inp.channels() - 1)], "r")
    mean[x, y, t] = hl.f32(inp[x, y, 0])
    before = mean[x, y, r.x - 1]
    mean[x, y, r.x] = before + (hl.f32(inp[x, y, r.x]) - before) * 0.125
    apart = hl.abs(hl.f32(inp[x, y, t]) - mean[x, y, t])
    out[x, y, t] = hl.u8(hl.select(apart > 25.0, 255, 0))
    return App(out, {"input": inp}, {})


def _video_background(images: Mapping[str, Array]) -> Array:
    frames = images["input"].astype(np.float32)
    mean = frames.copy()
    for t in range(1, len(frames)):
        mean[t] = mean[t - 1] + (frames[t] - mean[t - 1]) * np.float32(0.125)
    return np.where(np.abs(frames - mean) > 25, 255, 0).astype(np.uint8)


def video_motion(hl: Module) -> App:
    """Where a frame differs from the one before: differences summed over 5 x 5 pixels,
    beside a threshold."""
    x, y, t = hl.Var("x"), hl.Var("y"), hl.Var("t")
    inp = hl.ImageParam(hl.UInt(8), 3, "input")
    f = edges(hl, inp, 3)
    apart, rows, out = hl.Func("apart"), hl.Func("rows"), hl.Func("out")
    apart[x, y, t] = hl.u16(hl.absd(f[x, y, t], f[x, y, t - 1]))
    rows[x, y, t] = total([apart[x + k, y, t] for k in range(-2, 3)])
    sums = total([rows[x, y + k, t] for k in range(-2, 3)])
    out[x, y, t] = hl.select(sums > 25 * 12, hl.u8(255), hl.u8(0))
    return App(out, {"input": inp}, {})


def _video_motion(images: Mapping[str, Array]) -> Array:
    from scipy import ndimage

    frames = images["input"].astype(np.int32)
    apart = np.abs(np.diff(frames, axis=0, prepend=frames[:1]))
    sums = ndimage.correlate(apart, np.ones((1, 5, 5), np.int32), mode="nearest")
    # Beyond an edge both frames repeat, so that the differences do too.
    return np.where(sums > 25 * 12, 255, 0).astype(np.uint8)


def _floats(size: Size) -> Mapping[str, Array]:
    return {"input": picture(*size[::-1])}


def _bytes(size: Size) -> Mapping[str, Array]:
    return {"input": picture(*size[::-1], dtype=np.uint8)}


def _shorts(size: Size) -> Mapping[str, Array]:
    return {"input": picture(*size[::-1], dtype=np.uint16) // 16}


PIPELINES = (
    Pipeline(
        "gaussian_volume",
        "3D, separable",
        gaussian_volume,
        _floats,
        lambda size: (np.float32, size),
        size=(160, 160, 160),
        small=(20, 12, 9),
        tolerance=Tolerance(1e-5),
        reference=_gaussian_volume,
    ),
    Pipeline(
        "gradient_volume",
        "3D stencil",
        gradient_volume,
        _shorts,
        lambda size: (np.float32, size),
        size=(192, 160, 96),
        small=(21, 11, 8),
        tolerance=Tolerance(0.5),
        reference=_gradient_volume,
    ),
    Pipeline(
        "dilate_volume",
        "3D morphology",
        dilate_volume,
        _bytes,
        lambda size: (np.uint8, size),
        size=(256, 192, 96),
        small=(40, 11, 9),
        reference=_dilate_volume,
    ),
    Pipeline(
        "video_median",
        "video",
        video_median,
        _bytes,
        lambda size: (np.uint8, size),
        size=(640, 480, 24),
        small=(37, 10, 6),
        reference=_video_median,
    ),
    Pipeline(
        "video_background",
        "video, recursive",
        video_background,
        _bytes,
        lambda size: (np.uint8, size),
        size=(640, 480, 16),
        small=(35, 9, 7),
        tolerance=Tolerance(255, 1e-4),
        reference=_video_background,
    ),
    Pipeline(
        "video_motion",
        "video",
        video_motion,
        _bytes,
        lambda size: (np.uint8, size),
        size=(640, 480, 16),
        small=(36, 10, 5),
        reference=_video_motion,
    ),
)
