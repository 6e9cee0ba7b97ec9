"""Answers to bounds queries where a promise mentions the side that it is about, and
what cannot be answered."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import parhelion as hl
from tests.aot.test_buffers import called, forms, sides
from tests.codegen.c_code import asking, needs_cc, struct_of

x, y = hl.vars("x y")
PROMISED_LESS = -7


def rounded_extent(a: hl.ImageParam) -> None:
    a.dim(0).set_extent((a.dim(0).extent() + 15) / 16 * 16)


def rounded_stride(a: hl.ImageParam) -> None:
    a.dim(1).set_stride((a.dim(1).stride() + 15) / 16 * 16)


def rounded_min(a: hl.ImageParam) -> None:
    a.dim(0).set_min(a.dim(0).min() / 4 * 4)


def all_rounded(a: hl.ImageParam) -> None:
    rounded_min(a)
    rounded_extent(a)
    rounded_stride(a)


def mirrored(a: hl.ImageParam) -> None:
    a.dim(0).set_stride(-1)


@needs_cc
@forms
@pytest.mark.parametrize("before", [0, 100, -7])
@pytest.mark.parametrize(
    "promise, expected",
    [
        (rounded_extent, [(3, 32, 1), (0, 5, 32)]),
        (rounded_stride, [(3, 20, 1), (0, 5, 32)]),
        (rounded_min, [(0, 23, 1), (0, 5, 23)]),
        (all_rounded, [(0, 32, 1), (0, 5, 32)]),
        (mirrored, [(3, 20, -1), (0, 5, 20)]),
    ],
)
def test_a_promise_of_its_own_side(
    promise: Callable[[hl.ImageParam], None],
    expected: list[tuple[int, int, int]],
    before: int,
    form: str,
    tmp_path: Path,
) -> None:
    """Whatever the struct said before; and who allocates the answer is served."""
    image = hl.ImageParam(hl.Int(32), 2, "own")
    promise(image)
    f = hl.Func("shifted")
    f[x, y] = image[x + 3, y] * 2
    call = called(form, f, [image], tmp_path)
    out = hl.Buffer(hl.Int(32), [20, 5])
    asked = asking(hl.Buffer(hl.Int(32), [1, 1]))
    for d in range(2):
        side = asked.dim[d]
        side.min, side.extent, side.stride = before, before, before
    assert call(ctypes.byref(asked), struct_of(out)) == 0
    assert sides(asked) == expected
    pixels = np.arange(200, dtype=np.int32)
    first = 19 if promise is mirrored else 0
    asked.host = pixels.ctypes.data + 4 * first
    assert call(ctypes.byref(asked), struct_of(out)) == 0
    (low, _, one), (_, _, row) = expected
    at = first + row * np.arange(5)[:, None] + one * (np.arange(20) + 3 - low)
    np.testing.assert_array_equal(np.asarray(out), 2 * pixels[at])


@needs_cc
@forms
def test_promises_of_less_than_is_needed(form: str, tmp_path: Path) -> None:
    image = hl.ImageParam(hl.Int(32), 1, "short")
    image.dim(0).set_extent(image.dim(0).extent() / 16 * 16)
    f = hl.Func("from_less")
    f[x] = image[x]
    call = called(form, f, [image], tmp_path)
    for extent, expected in [(32, 0), (20, PROMISED_LESS), (0, 0)]:
        out = hl.Buffer(hl.Int(32), [max(extent, 1)])
        asked, given = asking(out), struct_of(out)
        given._obj.dim[0].extent = extent
        assert call(ctypes.byref(asked), given) == expected
