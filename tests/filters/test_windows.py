"""Statistics of windows, and the pixels at places in their order."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.ndimage as ndi

import parhelion as hl
from tests.filters.support import SHAPES, Pixels, fused, photo, same

F = hl.filters


def window_of(size: int | tuple[int, int], image: Pixels) -> tuple[int, ...]:
    """The window as SciPy takes it, which has one for channels."""
    rows, columns = (size, size) if isinstance(size, int) else size
    return (rows, columns, 1)[: image.ndim]


def near(found: Pixels, wanted: Pixels, limit: float, dtype: str) -> None:
    """Apart by at most a part of the greatest value."""
    assert found.dtype == dtype
    apart = np.abs(found.astype(np.float64) - wanted)
    assert apart.max() <= limit * max(float(np.abs(wanted).max()), 1e-300)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64"])
@pytest.mark.parametrize("size", [3, (2, 20)], ids=str)
def test_mean_variance_and_std(dtype: str, size: int | tuple[int, int]) -> None:
    for shape in SHAPES:
        check_statistics(photo(shape, dtype), dtype, size)


def check_statistics(image: Pixels, dtype: str, size: int | tuple[int, int]) -> None:
    wide = image.astype(np.float64)
    window = window_of(size, image)
    mean = ndi.uniform_filter(wide, window, mode="mirror")
    # SciPy's sums run along rows, and lose more than ours.
    second = ndi.uniform_filter(wide * wide, window, mode="mirror")
    to, limit = ("float64", 1e-12) if dtype == "float64" else ("float32", 1e-6)
    near(F.mean(image, size), mean, limit, to)
    scale = float(second.max()) / max(float((second - mean * mean).max()), 1e-300)
    spread = np.maximum(second - mean * mean, 0)
    near(F.variance(image, size), spread, limit + 1e-14 * scale, to)
    found = F.std(image, size)
    near(found.astype(np.float64) ** 2, spread, 4 * (limit + 1e-14 * scale), "float64")


def test_variance_of_bytes_is_exact() -> None:
    image = np.full((9, 40), 255, np.uint8)
    image[:, 20:] = 254
    found = F.variance(image, (1, 2))
    same(found[:, :20], np.zeros((9, 20), np.float32))
    same(found[:, 20], np.full(9, 0.25, np.float32))
    # Windows whose sums 32 bits do not hold.
    wide = photo((40, 41))
    padded = np.pad(wide.astype(np.float64), 20, "reflect")
    windows = np.lib.stride_tricks.sliding_window_view(padded, (41, 41))
    near(F.variance(wide, 41), windows.var((-2, -1)), 1e-6, "float32")


def test_borders_of_windows() -> None:
    image = photo((6, 7), "float64")
    found = F.variance(image, 3, border="constant", value=0.5)
    padded = np.pad(image, 1, constant_values=0.5)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3))
    near(found, windows.var((-2, -1)), 1e-12, "float64")


@pytest.mark.parametrize(
    ("dtype", "size", "positions"),
    [
        ("uint8", 3, (0, 1, 4, -2)),
        ("float32", (2, 4), (0, 3)),
        ("int16", (7, 1), (2,)),
        ("uint8", 5, (7,)),
    ],
    ids=str,
)
def test_rank(
    dtype: str, size: int | tuple[int, int], positions: tuple[int, ...]
) -> None:
    for shape in SHAPES:
        image = photo(shape, dtype)
        window = window_of(size, image)
        for position in positions:
            wanted = ndi.rank_filter(image, position, window, mode="reflect")
            same(F.rank(image, position, size, border="symmetric"), wanted)


@pytest.mark.parametrize("position", range(12))
def test_all_places_of_a_grid(position: int) -> None:
    # A network that orders all zeros and ones orders all numbers (D. Knuth, The Art of
    # Computer Programming 3, section 5.3.4).
    grids = ((np.arange(1 << 12)[:, None] >> np.arange(12)) & 1).astype(np.uint8)
    wanted = np.sort(grids, axis=1)[:, position]
    image = grids.reshape(-1, 4)
    found = F.rank(image, position, (3, 4), border="edge")
    same(found[1::3, 2], wanted)


@pytest.mark.parametrize("percent", [12.5, 100])
def test_percentile(percent: float) -> None:
    image = photo((12, 13))
    wanted = ndi.percentile_filter(image, percent, 5, mode="nearest")
    same(F.percentile(image, percent, 5, border="edge"), wanted)


def test_they_are_parts_of_programs() -> None:
    image = photo((9, 11, 3))
    fused(lambda a: F.variance(a, 3), image)
    fused(lambda a: F.std(a, (1, 5)), image)
    fused(lambda a: F.mean(a, 4), image)
    fused(lambda a: F.rank(a, 2, 3), image)


def test_what_is_refused() -> None:
    image = photo((5, 6))
    with pytest.raises(hl.BoundsError, match="at most 49 pixels, not 8 by 7"):
        F.rank(image, 0, (8, 7))
    with pytest.raises(hl.BoundsError, match="3 by 3 pixels has no position 9"):
        F.rank(image, 9)
    with pytest.raises(hl.BoundsError, match="position is at least -9, not -10"):
        F.rank(image, -10)
    with pytest.raises(hl.BoundsError, match="percent is in .0, 100., not 101"):
        F.percentile(image, 101)
    with pytest.raises(hl.BoundsError, match="size is at least 1, not 0"):
        F.variance(image, 0)
    with pytest.raises(hl.TypeMismatchError, match="variance takes an image of num"):
        F.variance(image > 3, 3)
