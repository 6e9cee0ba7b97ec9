"""What is measured: the dictionary that `benchmarks.dynamic.page` makes a page of."""

from __future__ import annotations

from typing import Any

import numpy as np

import parhelion as hl
from apps.common import Array
from apps.lazy.dewarp import fisheye_view
from benchmarks.dynamic.choices import choices
from benchmarks.dynamic.contenders import (
    INLINE,
    ROOT,
    TILE,
    TILES,
    VALUES,
    Consumer,
    Contender,
    agree,
    contender,
    corners_of,
    looked_up,
    masked,
    patches,
    producer,
    remapped,
    repeated,
    whole,
    windows,
)
from benchmarks.runtime import measure

ALL = (ROOT, INLINE, VALUES, TILES)
#: Parts of the image that are read, of the plot.
COVERAGES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.85, 1.0)
#: Blocks of a mask: four tiles wide and high, and one pixel.
PATCH = (4 * TILE[0], 4 * TILE[1])
BLOCKS = {"patches": PATCH, "pixels": (1, 1)}
#: How often values are read again, and the image's side, to measure what a hit costs.
AGAIN, SIDE = 32, 512
Times = dict[str, dict[str, float]]


def picture(side: int) -> Array:
    """Noise on waves."""
    random = np.random.default_rng(3)
    wave = np.sin(np.arange(side) / 40)
    image = 0.5 + 0.2 * (wave[:, None] + wave) + 0.1 * random.random((side, side))
    return np.asarray(image, np.float32)


def times_of(contenders: dict[str, Contender], what: str, seconds: float) -> Times:
    """Minimum and median of each, after their results have been compared."""
    agree(contenders, what)
    return measure({n: c.run for n, c in contenders.items()}, seconds)


def full(image: Array, seconds: float) -> Times:
    """Every value is read, nine times."""
    shape = image.shape[0] - 2, image.shape[1] - 2
    made = {s: contender(image, whole, s, shape) for s in ALL}
    return times_of(made, "full coverage", seconds)


def covered(image: Array, seconds: float) -> dict[str, dict[str, Times]]:
    """Times by the kind of mask and the part that it covers."""
    shape = image.shape[0] - 2, image.shape[1] - 2
    mask = np.zeros(shape, np.uint8)
    made = {s: contender(image, masked(mask), s, shape) for s in ALL}
    found: dict[str, dict[str, Times]] = {"windows": in_windows(image, seconds)}
    for kind, size in BLOCKS.items():
        for coverage in COVERAGES:
            mask[...] = patches(shape, coverage, size)
            what = f"{kind}, {coverage}"
            times = times_of(made, what, seconds)
            times["mask"] = {"covered": float(mask.mean())}
            found.setdefault(kind, {})[str(coverage)] = times
    return found


def in_windows(image: Array, seconds: float) -> dict[str, Times]:
    """Times by the part of the image that windows show."""
    shape = image.shape[0] - 2, image.shape[1] - 2
    corners = corners_of(shape, PATCH)
    size = len(corners), PATCH[1], PATCH[0]
    made = {s: contender(image, windows(corners, shape, PATCH), s, size) for s in ALL}
    found: dict[str, Times] = {}
    for coverage in COVERAGES:
        count = max(round(coverage * len(corners)), 1)
        first = {s: c.of_first(count) for s, c in made.items()}
        shown = np.zeros(shape, bool)
        for left, top in corners[:count]:
            shown[top : top + PATCH[1], left : left + PATCH[0]] = True
        times = times_of(first, f"windows, {coverage}", seconds)
        times["mask"] = {"covered": float(shown.mean())}
        found[str(coverage)] = times
    return found


def hits(seconds: float) -> dict[str, dict[str, float]]:
    """Nanoseconds that reading a value again takes longer than at root, on one thread,
    by how it is read and what is computed at a time; and those that it takes at root.
    """
    image = picture(SIDE)
    rows, columns = np.mgrid[:SIDE, :SIDE].astype(np.int16)
    ways: dict[str, Consumer] = {
        "in order": repeated,
        "where data says": looked_up(columns, rows),
    }
    before = hl.set_num_threads(1)
    found: dict[str, dict[str, float]] = {}
    for way, consumer in ways.items():
        took: dict[int, Times] = {}
        for passes in (1, 1 + AGAIN):
            shape = passes, SIDE, SIDE
            kinds = (ROOT, VALUES, TILES)
            made = {s: contender(image, consumer, s, shape) for s in kinds}
            took[passes] = times_of(made, f"read {way}", seconds)
        points = AGAIN * image.size
        each = {
            s: (took[1 + AGAIN][s]["min"] - took[1][s]["min"]) / points * 1e9
            for s in (ROOT, VALUES, TILES)
        }
        found[way] = {s: each[s] - each[ROOT] for s in (VALUES, TILES)}
        found[way][ROOT] = each[ROOT]
    hl.set_num_threads(before)
    return found


def dewarp(image: Array, seconds: float) -> Times:
    """A view of a fisheye's image that reads 30 % of it."""
    import cv2

    cv2.setNumThreads(hl.get_num_threads())
    height, width = image.shape
    view = (height * 9 // 20, height * 4 // 5)
    map_x, map_y = fisheye_view((height, width), view, zoom=120)
    consumer = remapped(map_x, map_y, (height, width))
    made = {s: contender(image, consumer, s, view) for s in ALL}
    at_root = producer(image, ROOT)
    processed = np.zeros_like(image)
    compiled = at_root.compile_to_callable([])
    result = np.zeros(view, np.float32)
    linear, edge = cv2.INTER_LINEAR, cv2.BORDER_REPLICATE

    def beside(result: Array) -> None:
        compiled(processed)
        cv2.remap(processed, map_x, map_y, linear, result, edge)

    made["root, then cv2.remap"] = Contender(beside, result)
    times = times_of(made, "dewarp", seconds)
    lazy = producer(image, TILES)
    out = consumer(lazy)
    seen = out.profile([view[1], view[0]])[lazy.name()]
    touched = np.zeros((height, width), bool)
    j, i = map_y.astype(int).clip(0, height - 2), map_x.astype(int).clip(0, width - 2)
    for dj in (0, 1):
        for di in (0, 1):
            touched[j + dj, i + di] = True
    times["part"] = {"tiles": seen.fraction, "values": float(touched.mean())}
    return times


def all_figures(side: int, seconds: float) -> dict[str, Any]:
    """Every figure. seconds: for each comparison."""
    image = picture(side)
    return {
        "side": side,
        "threads": hl.get_num_threads(),
        "again": AGAIN,
        "full": full(image, 2 * seconds),
        "covered": covered(image, seconds),
        "hits": hits(2 * seconds),
        "dewarp": dewarp(image, 2 * seconds),
        "choices": choices(image, seconds, PATCH),
    }


__all__ = ["ALL", "COVERAGES", "all_figures"]
