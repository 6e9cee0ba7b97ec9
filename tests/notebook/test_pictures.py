"""Buffers, ImageParams and Arrays in notebooks: pictures, ranges and histograms."""

from __future__ import annotations

import base64
import re
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.views.pictures import as_bytes, as_image
from parhelion.views.png import png
from tests.support.html_pages import Checked

x, y = hl.vars("x y")


def decoded(file: bytes) -> np.ndarray[Any, Any]:
    iio = pytest.importorskip("imageio.v3")
    return np.asarray(iio.imread(file))


def shown(page: str) -> np.ndarray[Any, Any]:
    """The picture in a page, read by another program."""
    (image,) = Checked(page).named("img")
    kind, _, data = (image["src"] or "").partition(",")
    assert kind == "data:image/png;base64"
    return decoded(base64.b64decode(data))


@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (300, 2, 3), (5, 9, 4)])
def test_files_are_read_back(shape: tuple[int, ...]) -> None:
    pixels = np.random.default_rng(3).integers(0, 256, shape).astype(np.uint8)
    assert np.array_equal(decoded(png(pixels)), pixels)


def test_a_buffer_shows_its_pixels() -> None:
    pixels = np.random.default_rng(3).integers(0, 256, (100, 120, 3)).astype(np.uint8)
    pixels[0, 0, 0], pixels[0, 1, 0] = 0, 255
    for buffer in (
        hl.Buffer(pixels, axes="yxc", name="photo"),
        hl.Buffer(np.moveaxis(pixels, 2, 0).copy(), name="photo"),
        hl.Buffer(pixels, name="photo"),
    ):
        page = buffer._repr_html_()
        assert np.array_equal(shown(page), pixels)
        said = Checked(page).said
        sizes = " × ".join(map(str, buffer.shape))
        assert f"photo {sizes} uint8" in said
        assert f"0 … 255, mean {pixels.mean():.6g}" in said
        assert "prefers-color-scheme: dark" in page and "<script" not in page
        assert len(Checked(page).named("polyline")) == 3


def test_where_a_buffer_begins_is_said() -> None:
    buffer = hl.Buffer(np.zeros((4, 6), np.int16))
    buffer.set_min([-1, 2])
    said = Checked(buffer._repr_html_()).said
    assert "6 × 4 int16, from (-1, 2)" in said
    assert "<polyline" not in buffer._repr_html_()  # all are the same


def test_what_is_black_and_white_is_said() -> None:
    floats = np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4)
    page = hl.Buffer(floats / 2)._repr_html_()
    assert "black is 0, white 1" in Checked(page).said
    assert shown(page).max() == 128
    page = hl.Buffer(floats * 3 - 1)._repr_html_()
    assert "black is -1, white 2" in Checked(page).said
    assert shown(page).min() == 0 and shown(page).max() == 255
    page = hl.Buffer(np.array([[100, 300]], np.uint16))._repr_html_()
    assert "black is 100, white 300" in Checked(page).said
    wide = np.array([[-3.4e38, 0, 3.4e38]], np.float32)
    assert shown(hl.Buffer(wide)._repr_html_())[0].tolist() == [0, 128, 255]
    wider = np.array([[-1.7e308, 0, 1.7e308]])
    assert as_bytes(wider, wider)[0].tolist() == [[0, 128, 255]]
    long = np.array([[0, 2**63 - 1, 2**64 - 1]], np.uint64)
    said = Checked(hl.Buffer(long)._repr_html_()).said
    assert f"0 … {2**64 - 1}, mean" in said


def test_values_that_are_no_numbers() -> None:
    pixels = np.array([[np.nan, np.inf, 0.0, 4.0]], np.float32)
    page = hl.Buffer(pixels)._repr_html_()
    assert "0 … 4, mean 2; 2 of 4 values are infinite or no numbers" in (
        Checked(page).said
    )
    assert shown(page)[0].tolist() == [0, 255, 0, 255]
    page = hl.Buffer(np.full((2, 2), np.nan, np.float32))._repr_html_()
    assert "4 of 4 values" in Checked(page).said


def test_images_of_other_shapes() -> None:
    line = hl.Buffer(np.arange(5, dtype=np.int32))._repr_html_()
    assert "<img" not in line and "0 … 4, mean 2" in line and "<polyline" in line
    assert "no pixels" in hl.Buffer(np.zeros((0, 3), np.uint8))._repr_html_()
    assert "without pixels" in hl.Buffer()._repr_html_()
    one = hl.Buffer(hl.Int(32), [])
    one[()] = 7
    assert "<b>7</b>" in one._repr_html_()
    stack = np.arange(2 * 5 * 6 * 7).reshape(2, 5, 6, 7)
    image, which = as_image(stack)
    assert image is not None and np.array_equal(image, stack[0, 0])
    assert which == "the first of 5 planes"
    pairs = np.arange(24).reshape(3, 4, 2)
    image, _ = as_image(pairs[:2])
    assert image is not None and np.array_equal(image, pairs[:2, :, 0])
    truth = shown(hl.Buffer(np.array([[True, False]]))._repr_html_())
    assert truth.tolist() == [[255, 0]]


def test_upper_halves_of_floats_are_shown_as_floats() -> None:
    buffer = hl.Buffer(hl.BFloat(16), [2, 1])
    f = hl.Func("f")
    f[x, y] = hl.cast(hl.BFloat(16), hl.f32(x) * 2.5 - 0.5)
    f.realize(buffer)
    assert "-0.5 … 2" in Checked(buffer._repr_html_()).said


def test_large_images_are_shown_with_fewer_pixels() -> None:
    pixels = np.random.default_rng(3).integers(0, 256, (1500, 2000)).astype(np.uint8)
    page = hl.Buffer(pixels)._repr_html_()
    assert np.array_equal(shown(page), pixels[::5, ::5])
    assert "every 5th row and column" in page
    assert len(page) < 500_000


def test_the_histogram_counts() -> None:
    pixels = np.repeat(np.array([0, 64], np.uint8), [300, 100]).reshape(20, 20)
    (line,) = Checked(hl.Buffer(pixels)._repr_html_()).named("polyline")
    heights = re.findall(r"[\d.]+,([\d.]+)", line["points"] or "")
    # 46 pixels for the most frequent value, the base at 47.
    assert [float(h) for h in heights] == [1.0, *[47.0] * 62, 31.7]


def test_image_params_show_what_is_set() -> None:
    image = hl.ImageParam("uint8", 2, "photo")
    assert "photo uint8, 2 dimensions, not set" in Checked(image._repr_html_()).said
    pixels = np.arange(12, dtype=np.uint8).reshape(3, 4)
    image.set(pixels)
    assert np.array_equal(shown(image._repr_html_()), pixels)


def test_arrays_show_what_they_are() -> None:
    pixels = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    array = hl.Array(pixels) * 2
    assert np.array_equal(shown(array._repr_html_()), pixels * 2)
    assert "parhelion.Array of shape (4, 5, 3)" in Checked(array._repr_html_()).said
    seen = []

    @hl.jit
    def twice(image: hl.Array) -> hl.Array:
        seen.append(Checked((image * 2)._repr_html_()).said)
        return image * 2

    twice(pixels)
    assert "its elements are known when the function runs" in seen[0]


def test_names_are_escaped() -> None:
    buffer = hl.Buffer(np.zeros((2, 2), np.uint8), name="a<b>")
    assert "a<b>" in Checked(buffer._repr_html_()).said
