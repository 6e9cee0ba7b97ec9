"""The guided filter, beside its formula in float64."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.ndimage as ndi

import parhelion as hl
from tests.filters.support import SHAPES, TYPES, Pixels, fused, photo, within

F = hl.filters
#: SciPy's words for borders.
BORDERS = {
    "symmetric": "reflect",
    "reflect": "mirror",
    "edge": "nearest",
    "wrap": "wrap",
}


def wanted_of(
    image: Pixels, guide: Pixels, radius: int, eps: float, mode: str
) -> Pixels:
    size = (2 * radius + 1, 2 * radius + 1, 1)[: image.ndim]

    def mean(a: Pixels) -> Pixels:
        found: Pixels = ndi.uniform_filter(a, size, mode=mode)
        return found

    p, lead = image.astype(np.float64), guide.astype(np.float64)
    slope = mean(p * lead) - mean(p) * mean(lead)
    slope /= np.maximum(mean(lead * lead) - mean(lead) ** 2, 0) + eps
    base = mean(p) - slope * mean(lead)
    found = mean(slope) * lead + mean(base)
    if image.dtype.kind == "f":
        return found.astype(image.dtype)
    limits = np.iinfo(image.dtype)
    return np.clip(np.rint(found), limits.min, limits.max).astype(image.dtype)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("radius", [2, 20])
def test_it_is_the_formula(shape: tuple[int, ...], dtype: str, radius: int) -> None:
    image = photo(shape, dtype)
    eps = 1000.0 if dtype == "uint8" else 0.01
    wanted = wanted_of(image, image, radius, eps, "reflect")
    limit = 1 if dtype == "uint8" else 1e-5
    within(F.guided(image, radius, eps), wanted, limit)


@pytest.mark.parametrize("shape", [(13, 17), (9, 11, 3)], ids=str)
@pytest.mark.parametrize("dtype", TYPES)
def test_a_guide(shape: tuple[int, ...], dtype: str) -> None:
    image, guide = photo(shape, dtype), photo(shape, "uint8", seed=1)
    wanted = wanted_of(image, guide, 3, 400, "reflect")
    limit = 1 if dtype == "uint8" else 1e-5
    within(F.guided(image, 3, 400, guide), wanted, limit)


@pytest.mark.parametrize("border", BORDERS)
def test_borders(border: str) -> None:
    image = photo((9, 12), "float64")
    wanted = wanted_of(image, image, 2, 0.02, BORDERS[border])
    within(F.guided(image, 2, 0.02, border=border), wanted, 1e-12)


def test_a_constant_border() -> None:
    # As of an image with so wide a frame that nothing beyond it is seen.
    image = photo((11, 13), "float64")
    framed = np.pad(image, 9, constant_values=0.5)
    wanted = wanted_of(framed, framed, 2, 0.02, "nearest")[9:-9, 9:-9]
    found = F.guided(image, 2, 0.02, border="constant", value=0.5)
    # Windows that are wholly inside, and so their means, are the same.
    within(found[4:-4, 4:-4], wanted[4:-4, 4:-4], 1e-12)
    flat = np.full((6, 7), 0.5)
    within(F.guided(flat, 2, 0.02, border="constant", value=0.5), flat, 1e-12)


@pytest.mark.parametrize("dtype", ["int16", "uint16"])
def test_other_types(dtype: str) -> None:
    image = photo((12, 17), dtype)
    wanted = wanted_of(image, image, 2, 1e7, "reflect")
    within(F.guided(image, 2, 1e7), wanted, 1)


def test_a_part_of_a_program() -> None:
    fused(lambda a: F.guided(a, 2, 900), photo((9, 11, 3)))
    image = photo((9, 11))
    fused(lambda a: F.guided(a, 2, 900, border="edge"), image)


def test_what_has_no_pixels() -> None:
    image = np.zeros((0, 5), np.uint8)
    assert F.guided(image, 2, 1).shape == (0, 5)
