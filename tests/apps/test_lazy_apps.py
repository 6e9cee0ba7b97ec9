"""The applications that compute on demand, against NumPy, SciPy and OpenCV.

Compared are results; how much is computed; and the memory that it takes.
"""

from __future__ import annotations

import math
import subprocess
import sys

import cv2
import numpy as np
import pytest
from scipy import ndimage

from apps.common import Array, photograph
from apps.lazy import denoise, dewarp, edges, patches, viewport
from tests.apps.support import apart, noise

TONAL = 0.2


def denoised(image: Array, tonal: float, sharpen: float = 0.5) -> Array:
    """What `apps.lazy.denoise` computes, in float64."""
    image = image.astype(np.float64)
    padded = np.pad(image, denoise.REACH, mode="edge")
    total, weights, mean = (np.zeros(image.shape) for _ in range(3))
    size = 2 * denoise.REACH + 1
    for j in range(size):
        for i in range(size):
            pixel = padded[j : j + image.shape[0], i : i + image.shape[1]]
            off = (i - denoise.REACH) ** 2 + (j - denoise.REACH) ** 2
            near = math.exp(-off / (2 * denoise.SPREAD**2))
            weight = near / (1 + ((pixel - image) / tonal) ** 2)
            total += weight * pixel
            weights += weight
            mean += pixel / size**2
    smooth = total / weights
    return np.asarray(smooth + sharpen * (smooth - mean))


def test_denoise() -> None:
    image = noise((37, 51), 3)
    got = denoise.denoise(image, TONAL)
    assert apart(got, denoised(image, TONAL)).max() < 1e-5


@pytest.mark.parametrize("shape", [(90, 131), (1, 40), (40, 1), (2, 2)])
def test_dewarp(shape: tuple[int, int]) -> None:
    """Also beyond the edges, and of images that are a line."""
    image = noise(shape, 4)
    random = np.random.default_rng(9)
    map_x, map_y = [
        random.uniform(-9, n + 8, (53, 61)).astype(np.float32) for n in shape[::-1]
    ]
    got = dewarp.dewarp(image, map_x, map_y, TONAL)
    want = denoised(image, TONAL)
    at = [map_y.astype(np.float64), map_x.astype(np.float64)]
    exact = ndimage.map_coordinates(want, at, order=1, mode="nearest")
    assert apart(got, exact).max() < 2e-5
    # Of OpenCV, weights have been multiples of 1/32.
    beside = cv2.remap(
        want.astype(np.float32),
        map_x,
        map_y,
        cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_REPLICATE,
    )
    assert apart(got, beside).max() < 2 / 32


def test_a_view_of_a_fisheye_computes_what_it_sees() -> None:
    image = noise((512, 512), 5)
    maps = dewarp.fisheye_view((512, 512), (120, 160), zoom=40, pan=20)
    out, of = dewarp.dewarped(image, *maps, TONAL, 0.5)
    seen = out.profile([160, 120])[of.name()]
    tiles = {
        (int(j + dj) // dewarp.TILE[1], int(i + di) // dewarp.TILE[0])
        for i, j in zip(*[m.ravel() for m in maps], strict=True)
        for di in (0, 1)
        for dj in (0, 1)
    }
    assert seen.computed == len(tiles) * dewarp.TILE[0] * dewarp.TILE[1]
    assert seen.fraction < 0.2


def test_a_fisheye_looks_ahead() -> None:
    """The middle of a view is the middle of the image; turned by 90 degrees, its
    rim."""
    map_x, map_y = dewarp.fisheye_view((401, 401), (11, 11))
    assert (map_x[5, 5], map_y[5, 5]) == pytest.approx((200, 200))
    map_x, map_y = dewarp.fisheye_view((401, 401), (11, 11), pan=90)
    assert (map_x[5, 5], map_y[5, 5]) == pytest.approx((400.5, 200))
    map_x, map_y = dewarp.fisheye_view((401, 401), (11, 11), tilt=90)
    assert (map_x[5, 5], map_y[5, 5]) == pytest.approx((200, -0.5), abs=1e-3)


def cubic(image: Array, times: int) -> Array:
    """An image magnified along its last axis, in float64."""
    place = (np.arange(image.shape[-1] * times) + 0.5) / times - 0.5
    before = np.floor(place).astype(int)
    t = place - before
    weights = (
        t * (-0.5 + t * (1 - 0.5 * t)),
        1 + t * t * (1.5 * t - 2.5),
        t * (0.5 + t * (2 - 1.5 * t)),
        t * t * (0.5 * t - 0.5),
    )
    total = np.zeros((*image.shape[:-1], len(place)))
    for n, w in enumerate(weights):
        total += w * image[..., np.clip(before - 1 + n, 0, image.shape[-1] - 1)]
    return total


def test_windows() -> None:
    """They are those of the whole, also where they reach beyond its edges."""
    image = noise((20, 26), 6)
    corners = np.array([(5, 9), (77, 40), (-50, 30), (500, 500)], np.int32)
    got = viewport.windows(image, 5, corners, (24, 33), TONAL)
    # The magnified image goes on beyond its edges.
    large = cubic(cubic(np.pad(image, 3, mode="edge"), 5).T, 5).T
    whole = denoised(large, TONAL)[15:-15, 15:-15]
    for window, (left, top) in zip(got, corners, strict=True):
        j, i = np.clip(top, 0, 100 - 24), np.clip(left, 0, 130 - 33)
        assert apart(window, whole[j : j + 24, i : i + 33]).max() < 1e-4


#: Prints the most memory that a run takes beyond what there was, in bytes.
MEMORY = """
import re, sys
import numpy as np
from apps.lazy import viewport

def most():
    status = open("/proc/self/status").read()
    return int(re.search(r"VmHWM:\\s+(\\d+)", status)[1]) << 10

times, count = int(sys.argv[1]), int(sys.argv[2])
image = np.ones((300, 400), np.float32)
corners = np.array([(4 * k, times * 300 * k // 32) for k in range(count)], np.int32)
out, _ = viewport.windows_of(image, times, corners, 256, 256, 0.1)
run = out.compile_to_callable([])
result = np.ones((count, 256, 256), np.float32)
before = most()
run(result)
print(most() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_grows_with_what_is_seen() -> None:
    """Not with the 1920 MB that all of the magnified image would take. Memory comes in
    pages of 4 KB, of which each line of a window touches one or more."""

    def taken(times: int, count: int) -> float:
        command = [sys.executable, "-c", MEMORY, str(times), str(count)]
        made = subprocess.run(command, capture_output=True, text=True, check=True)
        return int(made.stdout) / (1 << 20)

    one, eight = taken(64, 1), taken(64, 8)
    assert one < 4
    assert eight < 8 * 4
    assert one < eight / 2


def step(best: list[Array], mine: Array, theirs: Array, u: Array, v: Array) -> None:
    """Tries other places, and keeps the better ones."""
    u = np.clip(u, 0, theirs.shape[2] - 1)
    v = np.clip(v, 0, theirs.shape[1] - 1)
    cost = np.abs(mine - theirs[:, v, u]).sum(axis=0)
    better = cost < best[2]
    best[:] = [np.where(better, n, b) for n, b in zip((u, v, cost), best, strict=True)]


def features(image: Array) -> Array:
    """The sums of gradients in the cells of the patch around each pixel."""
    cells, cell = patches.CELLS, patches.CELL
    half = cells * cell // 2
    height, width = image.shape
    padded = np.pad(image.astype(np.int64), half + cell, mode="edge")
    found = []

    def moved(i: int, j: int) -> Array:
        j, i = j + half + cell, i + half + cell
        return padded[j : j + height, i : i + width]

    for n in range(cells * cells):
        i, j = cell * (n % cells) - half, cell * (n // cells) - half
        ks = range(cell)
        found += [
            sum([moved(i + cell, j + k) - moved(i, j + k) for k in ks]),
            sum([moved(i + k, j + cell) - moved(i + k, j) for k in ks]),
        ]
    return np.array(found)


def test_nearest_patches() -> None:
    """The same places as by NumPy, to the last one."""
    photo = photograph()[1]
    image, other = photo[100:148, 110:170], photo[90:190, 98:240]
    image, other = np.ascontiguousarray(image), np.ascontiguousarray(other)
    places, cost = patches.nearest_patches(image, other, 3, seed=2)
    mine, theirs = features(image), features(other)
    first, random = patches.chances(image.shape, other.shape, 3, 2)
    zero = np.zeros(image.shape, np.int64)
    best: list[Array] = [zero, zero, zero + (1 << 31)]
    step(best, mine, theirs, *first)
    for far in random:
        last = [np.pad(b, 1, mode="edge") for b in best[:2]]
        for i, j in ((-1, 0), (0, -1), (1, 0), (0, 1)):
            rows = slice(1 + j, 1 + j + image.shape[0])
            columns = slice(1 + i, 1 + i + image.shape[1])
            u, v = [b[rows, columns] for b in last]
            step(best, mine, theirs, u - i, v - j)
        step(best, mine, theirs, best[0] + far[0], best[1] + far[1])
    np.testing.assert_array_equal(places, best[:2])
    np.testing.assert_array_equal(cost, best[2])


def test_features_are_computed_where_patches_are_tried() -> None:
    image = np.ascontiguousarray(photograph()[1, 100:116, 110:142])
    other = np.ascontiguousarray(photograph()[1])
    given = patches.chances(image.shape, other.shape, 3, 0)
    out, of = patches.field_of(image, other, *given)
    seen = out.profile(list(image.shape[::-1]))[of.name()]
    tried = image.size * (1 + 3 * 5)
    assert patches.FEATURES * image.size < seen.computed <= patches.FEATURES * tried
    assert seen.fraction < 0.05


def direction(image: Array) -> tuple[Array, Array, Array]:
    """The size of Sobel's gradient, the angle of the structure tensor's main axis, and
    how long that axis is beyond the other, all in float64."""
    reach = edges.REACH
    margin = reach + 1
    image = np.pad(image.astype(np.float64), margin, mode="edge")
    gx, gy = [ndimage.sobel(image, axis) for axis in (1, 0)]
    j, i = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    off = i * i + j * j
    weights = np.exp(-off / (2 * edges.SIGMA**2)) * (off <= reach * reach)
    xx, xy, yy = [ndimage.correlate(a, weights) for a in (gx * gx, gx * gy, gy * gy)]
    angle = 0.5 * np.arctan2(2 * xy, xx - yy)
    inner = np.s_[margin:-margin, margin:-margin]
    return np.hypot(gx, gy)[inner], angle[inner], np.hypot(2 * xy, xx - yy)[inner]


def test_edge_directions() -> None:
    image = ndimage.gaussian_filter(photograph()[1].astype(np.float32), 1)[60:200, 100:]
    got = edges.edge_directions(image, 150)
    size, angle, length = direction(image)
    clear = np.abs(size - 150) > 0.01
    on = (size > 150) & clear
    assert (got[(size < 150) & clear] == edges.NO_EDGE).all()
    assert on.mean() > 0.01
    turned = np.abs(got - angle)[on & (length > 1)]
    assert np.minimum(turned, math.pi - turned).max() < 1e-3


def test_directions_are_computed_near_edges() -> None:
    """In each tile that an edge touches, and in no other."""
    image = np.zeros((96, 128), np.float32)
    image[:, 70:] = 100
    out, of = edges.directions_of(image, 50)
    seen = out.profile([128, 96])[of.name()]
    assert seen.computed == edges.TILE[0] * 96
    got = edges.edge_directions(image, 50)
    assert (got[:, 69:71] == 0).all()
    assert (got != edges.NO_EDGE).sum() == 2 * 96
