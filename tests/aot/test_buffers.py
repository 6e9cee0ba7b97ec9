"""What objects and C text make of the buffers that callers give them: answers to bounds
queries, and refusals."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.ir.failures import HALIDE_CODES
from tests.aot.test_features import library
from tests.codegen.c_code import asking, compiled, needs_cc, struct_of
from tests.support.structs import BufferStruct, Dimension

x, y = hl.vars("x y")
forms = pytest.mark.parametrize("form", ["object", "C"])
BAD_DIMENSIONS, NO_HOST, BAD_TYPE, DEVICE_DIRTY = -43, -34, -3, -44


def called(
    form: str, f: hl.Func, arguments: Sequence[Any], where: Path
) -> Callable[..., int]:
    if form == "C":
        return compiled(f, arguments, where)
    f.compile_to_object(where / "f.o", arguments, "f_o")
    made = library(where, where / "f.o")
    return lambda *given: int(made.f_o(*given))


def sides(b: BufferStruct) -> list[tuple[int, int, int]]:
    return [(d.min, d.extent, d.stride) for d in b.dim[: b.dimensions]]


@needs_cc
@forms
def test_the_answer_is_what_is_promised(form: str, tmp_path: Path) -> None:
    """Interleaved colours: a caller who allocates the answer is served."""
    image = hl.ImageParam(hl.UInt(8), 3, "rgb")
    image.dim(0).set_stride(3)
    image.dim(2).set_stride(1).set_bounds(0, 3)
    f = hl.Func("gray")
    f[x, y] = image[x, y, 0] / 3 + image[x, y, 1] / 3
    call = called(form, f, [image], tmp_path)
    out = hl.Buffer(hl.UInt(8), [8, 4])
    asked = asking(hl.Buffer(hl.UInt(8), [1, 1, 1]))
    assert call(ctypes.byref(asked), struct_of(out)) == 0
    assert sides(asked) == [(0, 8, 3), (0, 4, 24), (0, 3, 1)]
    pixels = np.arange(96, dtype=np.uint8).reshape(4, 8, 3)
    asked.host = pixels.ctypes.data
    assert call(ctypes.byref(asked), struct_of(out)) == 0
    expected = pixels[..., 0] // 3 + pixels[..., 1] // 3
    np.testing.assert_array_equal(np.asarray(out), expected)


@needs_cc
@forms
def test_the_answer_keeps_a_promised_min(form: str, tmp_path: Path) -> None:
    """It reaches from the promised min to the last pixel that is needed; of outputs as
    well; and a promised stride may leave a gap, over which the next one goes."""
    image = hl.ImageParam(hl.Int(32), 2, "padded")
    image.dim(0).set_min(-2)
    image.dim(1).set_stride(100)
    f = hl.Func("kept")
    f[x, y] = image[x + 1, y] + image[x + 3, y]
    f.output_buffer().dim(0).set_bounds(0, 8)
    f.output_buffer().dim(1).set_stride(16)
    call = called(form, f, [image], tmp_path)
    one, two = (asking(hl.Buffer(hl.Int(32), [8, 4])) for _ in range(2))
    assert call(ctypes.byref(one), ctypes.byref(two)) == 0
    assert sides(one) == [(-2, 13, 1), (0, 4, 100)]
    assert sides(two) == [(0, 8, 1), (0, 4, 16)]
    pixels, out = np.arange(400, dtype=np.int32), np.zeros(64, np.int32)
    one.host, two.host = pixels.ctypes.data, out.ctypes.data
    assert call(ctypes.byref(one), ctypes.byref(two)) == 0
    at = 100 * np.arange(4)[:, None] + np.arange(8) + 2
    expected = pixels[at + 1] + pixels[at + 3]
    np.testing.assert_array_equal(out.reshape(4, 16)[:, :8], expected)


@needs_cc
@forms
def test_buffers_of_other_dimensions_are_refused(form: str, tmp_path: Path) -> None:
    image = hl.ImageParam(hl.Int(32), 1, "image")
    f = hl.Func("shaped")
    f[x] = image[x] * 2
    call = called(form, f, [image], tmp_path)
    out = hl.Buffer(hl.Int(32), [4])
    pixels = (ctypes.c_int32 * 4)()
    host = ctypes.addressof(pixels)
    flat = BufferStruct(code=0, bits=32, lanes=1, dimensions=0, host=host)
    assert call(ctypes.byref(flat), struct_of(out)) == BAD_DIMENSIONS
    # There is no place for an answer, or for the numbers that it depends on.
    flat.host = None
    assert call(ctypes.byref(flat), struct_of(out)) == BAD_DIMENSIONS
    asked = asking(out)
    flat.host = ctypes.addressof(pixels)
    assert call(ctypes.byref(asked), ctypes.byref(flat)) == BAD_DIMENSIONS
    flat.dimensions = 1
    assert call(ctypes.byref(flat), struct_of(out)) == BAD_DIMENSIONS


@needs_cc
@forms
def test_what_else_is_refused(form: str, tmp_path: Path) -> None:
    image = hl.ImageParam(hl.Int(32), 1, "image")
    f = hl.Func("sized")
    f[x] = image[x]
    call = called(form, f, [image], tmp_path)
    pixels = (ctypes.c_int32 * 4)()

    def given(extent: int, device: int = 0) -> BufferStruct:
        dims = (Dimension * 1)(Dimension(0, extent, 1, 0))
        host = None if device else ctypes.addressof(pixels)
        kind = {"code": 0, "bits": 32, "lanes": 1}
        return BufferStruct(dimensions=1, dim=dims, host=host, device=device, **kind)

    good = given(4)
    assert call(ctypes.byref(good), ctypes.byref(given(4))) == 0
    assert call(ctypes.byref(good), ctypes.byref(given(0))) == 0
    negative = HALIDE_CODES["extent_negative"]
    assert call(ctypes.byref(good), ctypes.byref(given(-3))) == negative
    assert call(ctypes.byref(given(-3)), ctypes.byref(good)) == negative
    assert call(ctypes.byref(given(4, device=5)), ctypes.byref(good)) == NO_HOST
    for lanes in (0, 2):
        wide = given(4)
        wide.lanes = lanes
        assert call(ctypes.byref(wide), ctypes.byref(good)) == BAD_TYPE
        assert call(ctypes.byref(good), ctypes.byref(wide)) == BAD_TYPE
    # What is read must be in memory; what is written is so afterwards.
    for flags, expected in ((1, 0), (2, DEVICE_DIRTY), (3, DEVICE_DIRTY)):
        away = given(4)
        away.flags = flags
        assert call(ctypes.byref(away), ctypes.byref(good)) == expected
        assert call(ctypes.byref(good), ctypes.byref(away)) == 0


@needs_cc
@forms
def test_promises_that_mention_other_sides(form: str, tmp_path: Path) -> None:
    """The stride is another dimension's extent, and that the one of another image; all
    are asked at once."""
    one, two = (hl.ImageParam(hl.Int(32), 2, f"image_{k}") for k in "ab")
    two.dim(0).set_stride(two.dim(1).extent())
    two.dim(1).set_stride(1).set_extent(one.dim(0).extent())
    two.dim(0).set_min(one.dim(1).min())
    f = hl.Func("mentioning")
    f[x, y] = one[x + 1, y + 2] + two[y + 2, x]
    call = called(form, f, [one, two], tmp_path)
    out = hl.Buffer(hl.Int(32), [6, 4])
    a, b = (asking(hl.Buffer(hl.Int(32), [1, 1])) for _ in range(2))
    a.dim[0].extent = a.dim[1].min = b.dim[1].extent = -77
    assert call(ctypes.byref(a), ctypes.byref(b), struct_of(out)) == 0
    assert sides(a) == [(1, 6, 1), (2, 4, 6)]
    assert sides(b) == [(2, 4, 6), (0, 6, 1)]
    pixels = np.arange(24, dtype=np.int32)
    a.host = b.host = pixels.ctypes.data
    assert call(ctypes.byref(a), ctypes.byref(b), struct_of(out)) == 0
    np.testing.assert_array_equal(np.asarray(out), 2 * pixels.reshape(4, 6))
