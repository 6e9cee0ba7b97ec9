"""Images in arithmetic: lifted point by point, except where NumPy takes part."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from tests.support.realized import single

PIXELS = np.arange(1, 7, dtype=np.int32).reshape(2, 3)


def test_an_image_param_is_lifted() -> None:
    image = hl.ImageParam(hl.Int(32), 2, "lifted")
    f = hl.Func(2 * image + 1)
    g = hl.Func(hl.f32(image) / 4)
    image.set(PIXELS)
    assert f.dimensions() == 2
    assert np.array_equal(np.asarray(f.realize([3, 2])), 2 * PIXELS + 1)
    assert np.array_equal(np.asarray(g.realize([3, 2])), PIXELS.astype(np.float32) / 4)


def test_a_buffer_is_lifted() -> None:
    buffer = hl.Buffer(PIXELS)
    f = hl.Func(buffer * buffer - buffer)
    assert np.array_equal(np.asarray(f.realize([3, 2])), PIXELS * PIXELS - PIXELS)
    g = hl.Func(hl.select(buffer > 3, buffer, 0))
    assert np.array_equal(
        np.asarray(g.realize([3, 2])), np.where(PIXELS > 3, PIXELS, 0)
    )
    h = hl.Func(-buffer + hl.Func(buffer))
    assert not np.any(np.asarray(h.realize([3, 2])))


def test_a_buffer_without_dimensions() -> None:
    point = hl.Buffer(hl.Int(32), [])
    point[()] = 5
    f = hl.Func(point + 2)
    assert f.dimensions() == 0
    out = single(f.realize([]))
    assert out[()] == 7


@pytest.mark.parametrize("op", [operator.add, operator.sub, operator.mul, operator.lt])
@pytest.mark.parametrize("other", [np.ones((2, 3), np.int32), np.int32(3)])
def test_numpy_computes_with_its_own(op: Callable[..., Any], other: Any) -> None:
    buffer = hl.Buffer(PIXELS)
    for got, expected in (
        (op(buffer, other), op(PIXELS, other)),
        (op(other, buffer), op(other, PIXELS)),
    ):
        assert isinstance(got, np.ndarray)
        assert np.array_equal(got, expected)


def test_numpy_functions_take_buffers() -> None:
    buffer = hl.Buffer(PIXELS)
    assert np.array_equal(np.abs(-2 - np.asarray(buffer)), np.abs(-2 - PIXELS))
    assert np.array_equal(np.maximum(buffer, 3), np.maximum(PIXELS, 3))
    assert np.sum(buffer) == PIXELS.sum()
    assert np.allclose(buffer, PIXELS)
    assert np.array_equal(buffer == PIXELS, np.ones_like(PIXELS, bool))
    total = PIXELS.copy()
    total += buffer
    assert np.array_equal(total, 2 * PIXELS)
    # NumPy's annotations know no other outputs than its own arrays.
    into: Any = hl.Buffer(np.zeros_like(PIXELS))
    np.add(buffer, 1, out=into)
    assert np.array_equal(into, PIXELS + 1)
