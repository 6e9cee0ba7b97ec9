"""`infer_input_bounds` makes images that serve: laid out as promised, and as large."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import parhelion as hl

x, y = hl.vars("x y")


def pads_rows(a: hl.ImageParam) -> None:
    a.dim(1).set_stride(100)


def aligns_rows(a: hl.ImageParam) -> None:
    a.dim(1).set_stride((a.dim(1).stride() + 15) / 16 * 16)


def aligns_min(a: hl.ImageParam) -> None:
    a.dim(0).set_min(a.dim(0).min() / 4 * 4)


def aligns_extent(a: hl.ImageParam) -> None:
    a.dim(0).set_extent((a.dim(0).extent() + 15) / 16 * 16)


def fixes_min(a: hl.ImageParam) -> None:
    a.dim(0).set_min(-2)


def mirrors(a: hl.ImageParam) -> None:
    a.dim(0).set_stride(-1)


def transposes(a: hl.ImageParam) -> None:
    a.dim(0).set_stride(a.dim(1).extent())
    a.dim(1).set_stride(1)


def promises_little(a: hl.ImageParam) -> None:
    a.dim(0).set_bounds(0, 20)


def shifted(promise: Callable[[hl.ImageParam], None]) -> tuple[hl.Func, hl.ImageParam]:
    image, f = hl.ImageParam(hl.Int(32), 2, "inferred"), hl.Func("f")
    promise(image)
    f[x, y] = image[x + 3, y] * 2
    return f, image


@pytest.mark.parametrize(
    "promise, expected",
    [
        (pads_rows, [(3, 20, 1), (0, 5, 100)]),
        (aligns_rows, [(3, 20, 1), (0, 5, 32)]),
        (aligns_min, [(0, 23, 1), (0, 5, 23)]),
        (aligns_extent, [(3, 32, 1), (0, 5, 32)]),
        (fixes_min, [(-2, 25, 1), (0, 5, 25)]),
        (mirrors, [(3, 20, -1), (0, 5, 20)]),
        (transposes, [(3, 20, 5), (0, 5, 1)]),
    ],
)
def test_an_image_as_promised(
    promise: Callable[[hl.ImageParam], None], expected: list[tuple[int, int, int]]
) -> None:
    f, image = shifted(promise)
    f.infer_input_bounds([20, 5])
    made = image.get()
    dims = [made.dim(d) for d in range(2)]
    assert [(d.min(), d.extent(), d.stride()) for d in dims] == expected
    low, width = expected[0][:2]
    pixels = np.arange(5 * width, dtype=np.int32).reshape(5, width)
    for row in range(5):
        for column in range(width):
            made[low + column, row] = int(pixels[row, column])
    out = np.asarray(f.realize([20, 5]))
    np.testing.assert_array_equal(out, 2 * pixels[:, 3 - low : 23 - low])


def test_the_stride_of_an_output_that_is_given() -> None:
    f, image = shifted(lambda a: None)
    image.dim(1).set_stride(f.output_buffer().dim(1).stride() + 2)
    out = hl.Buffer(np.zeros((5, 64), np.int32)[:, :20])
    f.infer_input_bounds(out)
    assert image.get().dim(1).stride() == 66


def test_less_is_promised_than_is_needed() -> None:
    f, _ = shifted(promises_little)
    told = "the pixels 3 to 22 of dimension 0 of 'inferred' are needed, and 0 to 19 pr"
    with pytest.raises(hl.BoundsError, match=told):
        f.infer_input_bounds([20, 5])
