"""Windows that would be compiled for minutes are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.filters.given import MOST_PIXELS

F = hl.filters
IMAGE = np.array([[0, 200], [100, 60]], np.uint8)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda a: F.gaussian(a, 1e9), "sigma makes a window of 6e[+]09 pixels"),
        (lambda a: F.gaussian(a, (1, 1e4)), "sigma makes a window of 60000 pixels"),
        (lambda a: F.gaussian(a, 3, truncate=1e3), "sigma makes a window of 6000"),
        (lambda a: F.unsharp(a, 1000), "sigma makes a window of 8000 pixels"),
        (lambda a: F.box(a, (3, 100000)), "size makes a window of 100000 pixels"),
        (lambda a: F.mean(a, 10000), "size makes a window of 10000 pixels"),
        (lambda a: F.std(a, 10000), "size makes a window of 10000 pixels"),
        (lambda a: F.erode(a, 5000), "size makes a window of 5000 pixels"),
        (
            lambda a: F.dilate(a, 3, iterations=1000),
            "iterations makes a window of 2001",
        ),
        (lambda a: F.guided(a, 1000, 0.1), "radius makes a window of 2001 pixels"),
    ],
)
def test_large_windows_are_refused(call: Callable[[Any], Any], told: str) -> None:
    with pytest.raises(hl.BoundsError, match=told) as caught:
        call(IMAGE)
    assert f"{MOST_PIXELS} is the most" in str(caught.value)
    with pytest.raises(hl.BoundsError, match=told):
        hl.jit(call)(IMAGE)


def test_sizes_beyond_32_bits_are_refused() -> None:
    with pytest.raises(hl.BoundsError, match="2147483648 pixels along an axis"):
        F.resize(IMAGE, (2**31, 3))
