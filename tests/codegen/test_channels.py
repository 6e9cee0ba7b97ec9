"""Channels of pixels in another order: permutations of bytes."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest

import parhelion as hl
from tests.codegen.test_tables import U8, _assembly, _vbmi


def _ordered(order: Sequence[int]) -> tuple[hl.Func, hl.ImageParam]:
    """The channels of pixels with three, in another order."""
    x, c = hl.vars("x c")
    image, f = hl.ImageParam(U8, 2), hl.Func("f")
    image.dim(0).set_stride(3).dim(1).set_bounds(0, 3).set_stride(1)
    first, second, third = order
    f[x, c] = hl.select(
        c == 0, image[x, first], c == 1, image[x, second], image[x, third]
    )
    f.output_buffer().dim(0).set_stride(3).dim(1).set_bounds(0, 3).set_stride(1)
    f.bound(c, 0, 3).reorder(c, x).unroll(c).vectorize(x, 64)
    return f, image


@pytest.mark.parametrize("order", [(2, 1, 0), (1, 2, 0), (0, 0, 2)])
def test_values(order: tuple[int, ...]) -> None:
    f, image = _ordered(order)
    pixels = np.random.default_rng(0).integers(0, 256, (640, 3), np.uint8)
    image.set(pixels.T)
    out = np.empty_like(pixels)
    f.realize(hl.Buffer(out.T))
    np.testing.assert_array_equal(out, pixels[:, list(order)])


def test_each_register_is_permuted_as_it_is() -> None:
    """Three registers of pixels in and out: no more than two permutations for each."""
    text = _assembly(_ordered((2, 1, 0))[0], _vbmi())
    stores = re.findall(r"vmov(?:ntdq|dqu64)\t%zmm", text)
    assert len(stores) >= 3
    assert len(re.findall(r"\tvperm", text)) <= 2 * len(stores)
    assert not re.findall("vpalignr|vpshufb", text)
