"""The lens blur against Halide's result, the interpreter and NumPy."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import imageio.v3 as iio
import numpy as np
import pytest

import parhelion as hl
from apps import lens_blur
from apps.common import Array, photograph
from tests.apps.support import (
    REFERENCE,
    functions,
    interpreted,
    noise,
    reference,
    run,
    stages,
)

pytestmark = pytest.mark.usefixtures("programs_once")

WAYS = ["published", "lines"]
#: A small scene whose coarsest level still has 8 x 6 pixels.
SMALL: dict[str, Any] = {
    "slices": 6,
    "focus_depth": 2,
    "blur_radius_scale": 1.0,
    "aperture_samples": 9,
}
small = functools.partial(lens_blur.algorithm, levels=4)


def scene(height: int, width: int) -> dict[str, Array]:
    """A stereo pair whose upper half lies nearer than the lower."""
    left = (noise((3, height, width)) * 255).astype(np.uint8)
    right = np.roll(left, 2, axis=2)
    right[:, : height // 2] = np.roll(left, 9, axis=2)[:, : height // 2]
    return {"left_im": left, "right_im": right}


class Plane:
    """Pixels of a box of coordinates, asked for by coordinates, (…, y, x)."""

    def __init__(self, pixels: Array, x0: int, y0: int, clamped: bool = False) -> None:
        self.pixels, self.x0, self.y0, self.clamped = pixels, x0, y0, clamped

    def at(self, x: Array, y: Array) -> Array:
        x, y = x - self.x0, y - self.y0
        if self.clamped:
            x = np.clip(x, 0, self.pixels.shape[-1] - 1)
            y = np.clip(y, 0, self.pixels.shape[-2] - 1)
        assert x.min() >= 0 and y.min() >= 0
        return np.asarray(self.pixels[..., y[:, None], x[None, :]])


def with_numpy(
    left: Array,
    right: Array,
    slices: int,
    focus_depth: int,
    blur_radius_scale: float,
    aperture_samples: int,
    levels: int,
) -> tuple[Array, Array]:
    """The blurred picture and the depth, by array operations."""
    height, width = left.shape[1:]
    largest = int(max(slices - focus_depth, focus_depth) * blur_radius_scale)
    f32 = np.float32
    x = np.arange(-largest - 1, width + largest + 1)
    y = np.arange(-largest - 1, height + largest + 1)
    edge = {
        name: Plane(a, 0, 0, clamped=True)
        for name, a in (("left", left), ("right", right))
    }

    def absd(a: Array, b: Array) -> Array:
        return np.asarray(np.abs(a.astype(int) - b.astype(int)))

    here = edge["left"].at(x, y)
    diff = [
        np.minimum(
            absd(here, edge["right"].at(x + 2 * z, y)),
            absd(here, edge["right"].at(x + 2 * z + 1, y)),
        )
        for z in range(slices)
    ]
    cost = np.stack([(d**2).sum(axis=0) for d in diff]).astype(f32)
    mean = (cost / f32(slices)).sum(axis=0)
    sure = (cost * cost).sum(axis=0) / f32(slices) - mean * mean
    both = np.stack([cost * sure, np.broadcast_to(sure, cost.shape)])

    def halved(near: Sequence[Array]) -> Array:
        a, b, c, d = near
        return np.asarray((a + 3 * (b + c) + d) / f32(8))

    push = [Plane(both, x[0], y[0])]
    w, h = width, height
    for _ in range(1, levels):
        w, h = w // 2, h // 2
        lx, ly, finer = 2 * np.arange(w), np.arange(2 * h + 2) - 1, push[-1]
        every = [finer.at(lx + i, ly) for i in range(-1, 3)]
        rows = halved(every)
        down = halved([rows[..., 1 + i : 1 + i + 2 * h : 2, :] for i in range(-1, 3)])
        push.append(Plane(down, 0, 0, clamped=True))

    boxes = [(x[1], x[-2], y[1], y[-2])]
    for _ in range(1, levels):
        x0, x1, y0, y1 = boxes[-1]
        boxes.append((x0 // 2 - 1, x1 // 2 + 1, y0 // 2 - 1, y1 // 2 + 1))
    pull: Plane | None = None
    for (x0, x1, y0, y1), level in zip(reversed(boxes), reversed(push), strict=True):
        px, py = np.arange(x0, x1 + 1), np.arange(y0, y1 + 1)
        own = level.at(px, py)
        if pull is not None:
            near_x, near_y = px // 2 - 1 + 2 * (px % 2), py // 2 - 1 + 2 * (py % 2)
            far, near = [
                f32(0.25) * pull.at(near_x, rows) + f32(0.75) * pull.at(px // 2, rows)
                for rows in (near_y, py // 2)
            ]
            larger = f32(0.25) * far + f32(0.75) * near
            own = (larger + own) * f32(0.5)
        pull = Plane(own, x0, y0)
    assert pull is not None
    depth = np.argmin(pull.pixels[0] / pull.pixels[1], axis=0).astype(np.int32)

    radius = np.abs(depth - focus_depth).astype(f32) * f32(blur_radius_scale)
    window = np.lib.stride_tricks.sliding_window_view(radius, (2 * largest + 1,) * 2)
    worst = window.max(axis=(2, 3))
    mx, my = np.meshgrid(np.arange(width), np.arange(height))
    inside = Plane(depth, -largest, -largest)
    pixel_depth = depth[largest:-largest, largest:-largest]
    pixel_radius = radius[largest:-largest, largest:-largest]
    total = np.concatenate([left, np.full((1, height, width), 255)]).astype(f32)
    for s in range(aperture_samples):
        u, v = (_offset(seeds, mx, my, s, worst, largest) for seeds in lens_blur.SEEDS)
        there = inside.pixels[my + v + largest, mx + u + largest]
        there_radius = radius[my + v + largest, mx + u + largest]
        distance = (u * u + v * v).astype(f32)
        counts = (distance < pixel_radius**2) | (there < pixel_depth)
        weight = (counts & (distance < there_radius**2)).astype(f32)
        sx, sy = np.clip(mx + u, 0, width - 1), np.clip(my + v, 0, height - 1)
        total[:3] += weight * left[:, sy, sx]
        total[3] += weight * f32(255)
    return total[:3] / total[3], pixel_depth


def _offset(
    seeds: tuple[int, ...], x: Array, y: Array, s: int, worst: Array, largest: int
) -> Array:
    k2, k1, k0 = map(np.uint32, lens_blur.HASH)
    a, b, d = map(np.uint32, seeds)
    x, y = x.astype(np.uint32), y.astype(np.uint32)
    z: Array = np.full_like(x, s)
    h: Array = k2 * z * z + a * z + y
    h = k2 * h * h + b * h + d + x
    h = np.asarray(k2 * h * h + k1 * h + k0, np.uint32)
    h = h ^ (h >> np.uint32(16))
    f = (np.uint32(0x3F800000) | (h >> np.uint32(9))).view(np.float32) - np.float32(1)
    offset = np.trunc((f - np.float32(0.5)) * np.float32(2) * worst).astype(int)
    return np.asarray(np.clip(offset, -largest, largest))


@pytest.mark.parametrize("way", WAYS)
def test_reproduces_halides_output(way: str) -> None:
    """Bit for bit: every sum is one of whole numbers, if the depth is the same."""
    data = reference("lens_blur")
    images = {}
    for name in ("left_im", "right_im"):
        image = iio.imread(REFERENCE / f"lens_blur_{name}.png")
        images[name] = np.ascontiguousarray(np.moveaxis(image, -1, 0))
    app = lens_blur.algorithm(hl)
    lens_blur.SCHEDULES[way](hl, app)
    for name, image in images.items():
        app.inputs[name].set(hl.Buffer(image))
    expected, (x, y) = data["output"], data["origin"]
    out = hl.Buffer(np.zeros_like(expected))
    out.set_min([int(x), int(y), 0])
    app.output.realize(out)
    assert np.mean(np.asarray(out) != expected) < 0.001


@pytest.mark.parametrize("way", WAYS)
def test_agrees_with_interpreter_and_numpy(way: str) -> None:
    images, size = scene(48, 64), (64, 48, 3)
    got = run(hl, small, lens_blur.SCHEDULES[way], images, size, SMALL)
    # A depth that is as good as another one may come out either way.
    expected = interpreted(small, images, size, SMALL)
    assert np.mean(got != expected) < 0.01
    other, depth = with_numpy(images["left_im"], images["right_im"], **SMALL, levels=4)
    assert np.mean(got != other) < 0.01
    assert {1, 4} <= set(np.unique(depth).tolist())
    assert 0.1 < np.mean(np.rint(got * 255) != images["left_im"]) < 0.99


def test_agrees_with_halide() -> None:
    halide = pytest.importorskip("halide")
    images, size = scene(48, 64), (64, 48, 3)
    ways = lens_blur.SCHEDULES["published"], SMALL
    got = run(hl, small, ways[0], images, size, ways[1])
    theirs = run(halide, small, ways[0], images, size, ways[1])
    assert np.array_equal(got, theirs)


def test_is_whole() -> None:
    """A boundary is one Func here and two in Halide, which counts 74 and 80."""
    app = lens_blur.algorithm(hl)
    assert (len(functions(app)), stages(app)) == (74 - 9, 80 - 9)


def test_blurs_a_photograph() -> None:
    image = photograph()[:, ::2, ::2]
    out = lens_blur.process(image)
    assert out.shape == image.shape and out.dtype == np.uint8
    assert 0.3 < np.mean(out != image) < 0.99
    assert np.corrcoef(out.ravel(), image.ravel())[0, 1] > 0.9
