"""Level-set segmentation: each pipeline against the interpreter, NumPy, SciPy and
Halide, and the whole on shapes that are known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

import parhelion as hl
from apps import level_set
from apps.common import Array
from tests.apps.support import apart, functions, interpreted, run

pytestmark = pytest.mark.usefixtures("programs_once")

HEIGHT, WIDTH = 44, 57
SIZE = (WIDTH, HEIGHT)


def disc(radius: float, noise: float = 3.0) -> tuple[Array, Array]:
    """A bright disc on a dark ground, and where it is."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    inside = np.hypot(x - 27, y - 21) < radius
    grain = np.random.default_rng(2).normal(0, noise, inside.shape)
    return (60 + 120 * inside + grain).astype(np.float32), inside


def inputs() -> dict[str, Array]:
    """What an iteration reads: a phi with slopes on both sides of one."""
    image, _ = disc(12)
    edges = run(
        hl, level_set.edge_indicator, level_set.schedule_set_up, {"input": image}, SIZE
    )
    given = {"edges": edges}
    slope = run(hl, level_set.gradient, level_set.schedule_set_up, given, (*SIZE, 2))
    grain = np.random.default_rng(3).normal(0, 1, edges.shape)
    phi = (gaussian_filter(grain, 1.5) * 8).astype(np.float32)
    return {"phi": phi, "edges": edges, "gradient": slope}


def test_edge_indicator_and_gradient() -> None:
    image, _ = disc(12)
    images = {"input": image}
    edges = run(hl, level_set.edge_indicator, level_set.schedule_set_up, images, SIZE)
    exact = interpreted(level_set.edge_indicator, images, SIZE)
    assert apart(edges, exact).max() <= 5e-5
    radius = level_set.REACH / level_set.SIGMA
    smooth = np.pad(image, 1, mode="edge").astype(np.float64)
    smooth = gaussian_filter(smooth, level_set.SIGMA, mode="nearest", truncate=radius)
    down, across = np.gradient(smooth)
    wanted = (1 / (1 + across**2 + down**2))[1:-1, 1:-1]
    assert apart(edges, wanted)[1:-1, 1:-1].max() <= 1e-4

    images = {"edges": edges}
    slope = run(hl, level_set.gradient, level_set.schedule_set_up, images, (*SIZE, 2))
    assert np.array_equal(slope, interpreted(level_set.gradient, images, (*SIZE, 2)))
    down, across = np.gradient(edges)
    assert apart(slope[0], across)[:, 1:-1].max() <= 1e-6
    assert apart(slope[1], down)[1:-1].max() <= 1e-6


@pytest.mark.parametrize("way", list(level_set.SCHEDULES))
def test_iteration(way: str) -> None:
    given = inputs()
    schedule = level_set.SCHEDULES[way]
    got = run(hl, level_set.iteration, schedule, given, SIZE)
    assert apart(got, interpreted(level_set.iteration, given, SIZE)).max() <= 2e-5
    numpy = level_set.with_numpy(given["phi"], given["edges"], given["gradient"])
    assert apart(got, numpy).max() <= 2e-5
    assert apart(got, given["phi"]).max() > 1


def test_iteration_agrees_with_halides_module() -> None:
    halide = pytest.importorskip("halide")
    given = inputs()
    ours, theirs = (
        run(module, level_set.iteration, level_set.schedule_root, given, SIZE)
        for module in (hl, halide)
    )
    assert apart(ours, theirs).max() <= 2e-5


def test_is_whole() -> None:
    counts = [
        len(functions(build(hl)))
        for build in (level_set.edge_indicator, level_set.gradient, level_set.iteration)
    ]
    assert counts == [6, 4, 21]


def test_the_contour_settles_on_a_disc() -> None:
    image, inside = disc(12)
    start = np.zeros(image.shape, bool)
    start[4:-4, 4:-4] = True
    found = level_set.segment(hl, image, start)
    assert 20 < found.iterations < 400
    wrong = np.count_nonzero((found.phi < 0) != inside)
    assert wrong < 0.1 * np.count_nonzero(inside)
    # Near the contour, phi has kept the slope of a distance.
    down, across = np.gradient(found.phi)
    near = np.abs(found.phi) < 1
    assert abs(np.median(np.hypot(across, down)[near]) - 1) < 0.15
