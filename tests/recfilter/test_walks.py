"""Whole lines: scans that keep values in registers, and both dimensions in one pass."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

import parhelion as hl
from parhelion.recfilter import RecFilter, RecFilterDim
from tests.support.pages import at_page_end, at_page_start

SUM, DECAY = [1, 1], [0.25, 0.75]


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = hl.get_num_threads()
    yield
    hl.set_num_threads(before)


def filtered(
    image: np.ndarray, directions: str, weights: Sequence[float], border: str = "zero"
) -> tuple[np.ndarray, str]:
    """What filters make of an image, and the loops that they run in."""
    height, width = image.shape
    x, y = RecFilterDim("x", width), RecFilterDim("y", height)
    made = RecFilter("made", border)
    made[x, y] = hl.Buffer(image)[x, y]
    named = {"+x": +x, "-x": -x, "+y": +y, "-y": -y}
    for direction in directions.split():
        made.add_filter(named[direction], weights)
    f, loops = made.as_func(), io.StringIO()
    with contextlib.redirect_stdout(loops):
        f.print_loop_nest()
    return np.asarray(f.realize([width, height])), loops.getvalue()


def cumulated(image: np.ndarray, directions: str) -> np.ndarray:
    """Sums along lines, of integers that wrap."""
    made = image
    for direction in directions.split():
        axis = {"x": 1, "y": 0}[direction[1]]
        turned = made if direction[0] == "+" else np.flip(made, axis)
        turned = np.cumsum(turned, axis, dtype=image.dtype)
        made = turned if direction[0] == "+" else np.flip(turned, axis)
    return made


SIZES = [(1, 1), (40, 3), (9, 17), (64, 64), (67, 61)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", ["u1", "i4"])
@pytest.mark.parametrize("directions", ["+x", "-y", "+x +y", "-x -y"])
def test_integers(size: tuple[int, int], dtype: str, directions: str) -> None:
    image = np.random.default_rng(3).integers(0, 99, size).astype(dtype)
    for count in (2, 5):
        hl.set_num_threads(count)
        found, _ = filtered(image, directions, SUM)
        np.testing.assert_array_equal(found, cumulated(image, directions))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("directions", ["-x +y", "+x -y"])
def test_one_pass_gives_the_same_bits(size: tuple[int, int], directions: str) -> None:
    image = np.random.default_rng(4).random(size, np.float32)
    hl.set_num_threads(1)
    one, _ = filtered(image, directions, DECAY)
    hl.set_num_threads(8)
    two, _ = filtered(image, directions, DECAY)
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("border", ["zero", "clamp", "mirror"])
def test_one_pass_is_for_few_threads_and_the_border_zero(border: str) -> None:
    image = np.random.default_rng(5).random((64, 64), np.float32)
    loops = []
    for count in (2, 8):
        hl.set_num_threads(count)
        loops.append(filtered(image, "+x +y", DECAY, border)[1])
    assert ("made_0_rows" in loops[0]) == (border == "zero")
    assert "parallel" in loops[1] and "made_0_rows" not in loops[1]


@pytest.mark.parametrize("place", [at_page_start, at_page_end])
@pytest.mark.parametrize("size", [(64, 64), (9, 61)])
@pytest.mark.parametrize("directions", ["+x -y", "+x -x +y -y"])
def test_nothing_beside_the_image_is_read(
    directions: str, size: tuple[int, int], place: object
) -> None:
    image = np.random.default_rng(6).random(size, np.float32)
    guarded = place(image)  # type: ignore[operator]
    for count in (1, 8):
        hl.set_num_threads(count)
        there, _ = filtered(guarded, directions, DECAY)
        here, _ = filtered(image, directions, DECAY)
        np.testing.assert_array_equal(there, here)


def test_rows_of_a_power_of_two_are_kept_apart() -> None:
    """Their pixels would be rivals in the caches."""
    x, y = RecFilterDim("x", 1024), RecFilterDim("y", 32)
    made = RecFilter("made")
    made[x, y] = hl.f32(x + y)
    for direction in (+x, -x, +y, -y):
        made.add_filter(direction, DECAY)
    text = hl.Pipeline(made.as_func()).lowered_text()
    assert "made_0_out[float32 * 1040 * 32]" in text
