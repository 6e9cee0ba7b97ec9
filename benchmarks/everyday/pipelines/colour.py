"""Colours."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from apps.common import App, Array, Module
from benchmarks.case import Tolerance
from benchmarks.everyday.pipeline import (
    Pipeline,
    Size,
    channels_beside,
    interleaved,
    picture,
    total,
)


def rgb_to_hsv(hl: Module) -> App:
    """Hue in half degrees, saturation and value, colours side by side
    (cv2.COLOR_RGB2HSV)."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    inp = channels_beside(hl.ImageParam(hl.UInt(8), 3, "input"))
    r, g, b = (hl.f32(inp[x, y, k]) for k in range(3))
    most, least = hl.max(hl.max(r, g), b), hl.min(hl.min(r, g), b)
    apart = most - least
    some = hl.select(apart > 0.0, apart, 1.0)
    turn = hl.select(
        most == r,
        (g - b) / some,
        hl.select(most == g, 2.0 + (b - r) / some, 4.0 + (r - g) / some),
    )
    hue = hl.select(turn < 0.0, turn + 6.0, turn) * 30.0
    full = hl.select(most > 0.0, 255.0 * apart / hl.max(most, 1.0), 0.0)
    out = hl.Func("out")
    out[x, y, c] = hl.u8(hl.mux(c, [hue, full, most]) + 0.5)
    channels_beside(out.output_buffer())
    return App(out, {"input": inp}, {})


def _rgb_to_hsv(images: Mapping[str, Array]) -> Array:
    import cv2

    found = cv2.cvtColor(images["input"].transpose(1, 2, 0), cv2.COLOR_RGB2HSV)
    return np.asarray(found).transpose(2, 0, 1)


def rgb_to_lab(hl: Module) -> App:
    """sRGB in floats to CIE's Lab, with the true curves (skimage.color.rgb2lab)."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    inp = hl.ImageParam(hl.Float(32), 3, "input")
    linear, lab, out = hl.Func("linear"), hl.Func("lab"), hl.Func("out")
    level = inp[x, y, c]
    curve = hl.pow((hl.max(level, 0.04045) + 0.055) * _f32(1 / 1.055), 2.4)
    linear[x, y, c] = hl.select(level > 0.04045, curve, level * _f32(1 / 12.92))
    shares = [
        total([linear[x, y, j] * _f32(w) for j, w in enumerate(row)]) for row in _XYZ
    ]
    share = hl.mux(c, shares)
    root = hl.pow(hl.max(share, 0.008856), _f32(1 / 3))
    lab[x, y, c] = hl.select(share > 0.008856, root, share * 7.787 + _f32(16 / 116))
    light = 116.0 * lab[x, y, 1] - 16.0
    green = 500.0 * (lab[x, y, 0] - lab[x, y, 1])
    blue = 200.0 * (lab[x, y, 1] - lab[x, y, 2])
    out[x, y, c] = hl.mux(c, [light, green, blue])
    return App(out, {"input": inp}, {})


def _f32(number: float) -> float:
    return float(np.float32(number))


#: From linear RGB to XYZ, over that of white.
_XYZ = (
    (0.412453 / 0.95047, 0.357580 / 0.95047, 0.180423 / 0.95047),
    (0.212671, 0.715160, 0.072169),
    (0.019334 / 1.08883, 0.119193 / 1.08883, 0.950227 / 1.08883),
)


def _rgb_to_lab(images: Mapping[str, Array]) -> Array:
    level = images["input"].astype(np.float64)
    linear = np.where(level > 0.04045, ((level + 0.055) / 1.055) ** 2.4, level / 12.92)
    share = np.tensordot(np.array(_XYZ), linear, 1)
    f = np.where(share > 0.008856, np.cbrt(share), 7.787 * share + 16 / 116)
    return np.stack([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def yuv_to_rgb(hl: Module) -> App:
    """Video's planes of luminance and half-sized colours to pixels, in fixed point
    (cv2.COLOR_YUV2RGB_I420)."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    luma = hl.ImageParam(hl.UInt(8), 2, "luma")
    chroma = hl.ImageParam(hl.UInt(8), 3, "chroma")
    level = 298 * (hl.i32(luma[x, y]) - 16) + 128
    u = hl.i32(chroma[x // 2, y // 2, 0]) - 128
    v = hl.i32(chroma[x // 2, y // 2, 1]) - 128
    red, green, blue = level + 409 * v, level - 100 * u - 208 * v, level + 516 * u
    out = hl.Func("out")
    out[x, y, c] = hl.u8(hl.clamp(hl.mux(c, [red, green, blue]) >> 8, 0, 255))
    channels_beside(out.output_buffer())
    return App(out, {"luma": luma, "chroma": chroma}, {})


def _yuv(size: Size) -> Mapping[str, Array]:
    w, h, _ = size
    colours = [picture(h // 2, w // 2, dtype=np.uint8, seed=k) for k in (1, 2)]
    return {"luma": picture(h, w, dtype=np.uint8), "chroma": np.stack(colours)}


def _yuv_to_rgb(images: Mapping[str, Array]) -> Array:
    level = 298 * (images["luma"].astype(np.int64) - 16) + 128
    wide = images["chroma"].repeat(2, 1).repeat(2, 2).astype(np.int64) - 128
    u, v = wide
    planes = np.stack([level + 409 * v, level - 100 * u - 208 * v, level + 516 * u])
    return np.asarray(np.clip(planes >> 8, 0, 255).astype(np.uint8))


def gray_world(hl: Module) -> App:
    """White balance: each colour times what makes the means of all three equal
    (cv2.xphoto.GrayworldWB)."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    inp = channels_beside(hl.ImageParam(hl.UInt(8), 3, "input"))
    r = hl.RDom([(0, inp.width()), (0, inp.height())], "r")
    sums, out = hl.Func("sums"), hl.Func("out")
    sums[c] = hl.u32(0)
    sums[c] += hl.u32(inp[r.x, r.y, c])
    mean = hl.f32(sums[0] + sums[1] + sums[2]) * _f32(1 / 3)
    gain = mean / hl.f32(hl.max(sums[c], hl.u32(1)))
    out[x, y, c] = hl.u8(hl.min(hl.f32(inp[x, y, c]) * gain + 0.5, 255.0))
    channels_beside(out.output_buffer())
    return App(out, {"input": inp}, {})


def _gray_world(images: Mapping[str, Array]) -> Array:
    image = images["input"].astype(np.float64)
    sums = image.sum((1, 2), keepdims=True)
    return np.asarray(
        np.minimum(image * (sums.mean() / sums) + 0.5, 255).astype(np.uint8)
    )


def _photograph(size: Size) -> Mapping[str, Array]:
    planes = [picture(*size[1::-1], dtype=np.uint8, seed=k) for k in range(3)]
    return {"input": interleaved(np.stack(planes))}


def _planes(size: Size) -> Mapping[str, Array]:
    return {"input": np.stack([picture(*size[1::-1], seed=k) for k in range(3)])}


PIPELINES = (
    Pipeline(
        "rgb_to_hsv",
        "colour, interleaved",
        rgb_to_hsv,
        _photograph,
        lambda size: (np.uint8, size),
        size=(1280, 960, 3),
        small=(37, 21, 3),
        # OpenCV's is in fixed point; the hue of 180 is 0 there.
        tolerance=Tolerance(180, 0.03),
        reference=_rgb_to_hsv,
        interleaved=True,
    ),
    Pipeline(
        "rgb_to_lab",
        "colour",
        rgb_to_lab,
        _planes,
        lambda size: (np.float32, size),
        size=(640, 480, 3),
        small=(37, 21, 3),
        tolerance=Tolerance(2e-2),
        reference=_rgb_to_lab,
    ),
    Pipeline(
        "yuv_to_rgb",
        "colour, interleaved",
        yuv_to_rgb,
        _yuv,
        lambda size: (np.uint8, size),
        size=(1920, 1080, 3),
        small=(38, 22, 3),
        reference=_yuv_to_rgb,
        interleaved=True,
    ),
    Pipeline(
        "gray_world",
        "colour, whole image",
        gray_world,
        _photograph,
        lambda size: (np.uint8, size),
        size=(1280, 960, 3),
        small=(37, 21, 3),
        tolerance=Tolerance(1, 1e-3),
        reference=_gray_world,
        interleaved=True,
    ),
)
