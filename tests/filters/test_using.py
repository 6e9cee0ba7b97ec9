"""Filters as parts of functions under `hl.jit`, on their own, and what they refuse."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest

import parhelion as hl
from tests.filters.support import photo, same

IMAGE = photo((9, 11, 3))


def test_a_part_of_a_function() -> None:
    @hl.jit
    def edges(image: hl.Array, gain: float = 0.5) -> hl.Array:
        smooth = hl.filters.gaussian(image, 1.0)
        across, down = hl.filters.sobel(smooth, 1, 0), hl.filters.sobel(smooth, 0, 1)
        return hl.clip(gain * (abs(across) + abs(down)), 0, 255).astype("uint8")

    smooth = hl.filters.gaussian(IMAGE, 1.0)
    across, down = hl.filters.sobel(smooth, 1, 0), hl.filters.sobel(smooth, 0, 1)
    total = np.abs(across) + np.abs(down)
    same(edges(IMAGE), np.clip(np.float32(0.5) * total, 0, 255).astype(np.uint8))
    # It is one pipeline: the stages of all filters are in its loop nest.
    assert len(edges.pipeline(IMAGE).outputs()) == 1


def test_under_the_automatic_scheduler() -> None:
    image = photo((150, 160))
    want = hl.filters.median(hl.filters.gaussian(image[:100], 1.5), 3)

    @hl.jit
    def both(a: hl.Array) -> hl.Array:
        return hl.filters.median(hl.filters.gaussian(a, 1.5), 3)

    # Rows far from the lower edge do not depend on what is below them.
    same(both(image)[:80], want[:80])


def test_axes_by_name() -> None:
    @hl.jit
    def planar(a: Annotated[hl.Array, "cyx"]) -> hl.Array:
        return hl.filters.erode(hl.filters.box(a, (3, 5)), (2, 3))

    wanted = hl.filters.erode(hl.filters.box(IMAGE, (3, 5)), (2, 3))
    same(
        planar(np.ascontiguousarray(IMAGE.transpose(2, 0, 1))).transpose(1, 2, 0),
        wanted,
    )


def test_channels_do_not_mix() -> None:
    image = np.zeros((6, 7, 3), np.uint8)
    image[..., 1] = 200
    for found in (
        hl.filters.gaussian(image, 2.0, border="constant", value=0),
        hl.filters.box(image, 5),
        hl.filters.median(image, 5),
        hl.filters.dilate(image, 5),
        hl.filters.correlate(image, np.ones((5, 5)) / 25),
    ):
        assert not found[..., [0, 2]].any()
        assert found[3, 3, 1] > 0


def test_what_is_given_is_kept() -> None:
    image = photo((6, 7))
    view = image[::2, 1::2]
    same(hl.filters.box(view, 3), hl.filters.box(view.copy(), 3))
    same(image, photo((6, 7)))
    buffer: Any = hl.Buffer(image)
    same(hl.filters.box(buffer, 3), hl.filters.box(image, 3))


def test_images_without_pixels() -> None:
    for shape in ((0, 5), (5, 0, 3)):
        for found in (
            hl.filters.gaussian(np.zeros(shape, np.uint8), 1.0),
            hl.filters.median(np.zeros(shape, np.uint8)),
            hl.filters.opening(np.zeros(shape, np.uint8)),
        ):
            assert found.shape == shape and found.dtype == np.uint8


def test_they_are_loaded_when_they_are_used() -> None:
    program = (
        "import sys, parhelion as hl\n"
        "assert 'parhelion.filters' not in sys.modules\n"
        "assert 'filters' in dir(hl)\n"
        "hl.filters.gaussian\n"
        "assert 'parhelion.filters' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


F: Any = hl.filters
REFUSED: list[tuple[Callable[[Any], Any], str]] = [
    (lambda a: F.gaussian(a, -1), "sigma is at least 0, not -1"),
    (lambda a: F.gaussian(a, "wide"), "sigma is a number, not a str, 'wide'"),
    (lambda a: F.gaussian(a, (1, 2, 3)), "sigma has two values, of rows and of"),
    (lambda a: F.gaussian(a, float("nan")), "sigma is a finite number, not nan"),
    (lambda a: F.gaussian(a, 1, truncate=-2), "truncate is at least 0, not -2"),
    (lambda a: F.gaussian(a, 1, border="transparent"), "no border 'transparent'"),
    (lambda a: F.gaussian(a[0, 0], 1), "(H, W) or (H, W, C), not an array of the"),
    (lambda a: F.gaussian(a > 3, 1), "an image of numbers, not of Bools"),
    (lambda a: F.threshold(a > 3, 1), "threshold takes an image of numbers, not of"),
    (lambda a: F.gaussian([[1, 2]], 1), "gaussian takes an Array or a NumPy array"),
    (lambda a: F.box(a, 0), "size is at least 1, not 0"),
    (lambda a: F.box(a, 2.5), "size is an integer, not 2.5"),
    (lambda a: F.box(a, 3, "constant", 300), "the literal 300 does not fit uint8"),
    (lambda a: F.correlate(a, [1, 2]), "weights is an array of numbers with 2 axes"),
    (lambda a: F.correlate(a, np.ones((0, 3))), "weights has elements"),
    (lambda a: F.convolve(a, [[1, np.inf]]), "weights has elements, and finite ones"),
    (lambda a: F.convolve(a, [[1], [1, 2]]), "weights is an array of numbers with 2"),
    (lambda a: F.separable(a, [[1]], [1]), "down is an array of numbers with 1 axes"),
    (lambda a: F.sobel(a, 0, 0), "sobel differentiates once or twice"),
    (lambda a: F.sobel(a, 1, 0, 4), "the size of sobel is 3, 5 or 7, not 4"),
    (lambda a: F.sobel(a, 1, 0, dtype="pixel"), "dtype= takes a scalar type"),
    (lambda a: F.scharr(a, 1, 1), "scharr differentiates once, across or down"),
    (lambda a: F.laplacian(a, 2), "the size of laplacian is 1, 3, 5 or 7, not 2"),
    (lambda a: F.bilateral(a, 5, 0, 1), "sigma_color is above 0, not 0"),
    (lambda a: F.bilateral(a, 5, 1, -2), "sigma_space is above 0, not -2"),
    (lambda a: F.bilateral(a, 2.5, 1, 1), "d is an integer, not 2.5"),
    (lambda a: F.bilateral(a, 5, 1, 1, "open"), "there is no border 'open'"),
    (lambda a: F.bilateral(a > 3, 5, 1, 1), "bilateral takes an image of numbers, not"),
    (lambda a: F.guided(a, 0, 1), "radius is at least 1, not 0"),
    (lambda a: F.guided(a, 2, 0), "eps is above 0, not 0"),
    (lambda a: F.guided(a > 3, 2, 1), "guided takes an image of numbers, not of"),
    (lambda a: F.guided(a, 2, 1, IMAGE[..., 0]), "guide of guided has the image's sh"),
    (lambda a: F.median(a, 8), "the size of median is 3, 5 or 7, or for uint8 an"),
    (lambda a: F.erode(a, 3, "star"), "shape is one of some words, not 'star'"),
    (lambda a: F.erode(a, element=[[0, 0]]), "an element covers a pixel at least"),
    (lambda a: F.erode(a, iterations=0), "iterations is at least 1, not 0"),
]


@pytest.mark.parametrize(("call", "said"), REFUSED, ids=[r[1] for r in REFUSED])
def test_refused(call: Callable[[Any], Any], said: str) -> None:
    traced: Any = hl.jit(call)
    for one in (call, traced):
        with pytest.raises(hl.HalideError) as caught:
            one(IMAGE)
        assert said in str(caught.value)
        assert caught.value.at is not None
        assert Path(caught.value.at.file) == Path(__file__)


def test_a_number_of_the_call_is_no_part_of_the_program() -> None:
    @hl.jit
    def smooth(image: hl.Array, sigma: float) -> hl.Array:
        return hl.filters.gaussian(image, sigma)

    with pytest.raises(hl.TypeMismatchError, match="is known only when the function"):
        smooth(IMAGE, 2.0)
    function: Any = getattr(smooth, "__wrapped__")  # noqa: B009
    fixed = hl.jit(function, static=["sigma"])
    same(fixed(IMAGE, 2.0), hl.filters.gaussian(IMAGE, 2.0))


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda a: F.box(a, 3), "box"),
        (lambda a: F.erode(a, 3), "erode"),
        (lambda a: F.std(a, 3), "std"),
        (lambda a: F.sobel(a, 1, 0), "sobel"),
        (lambda a: F.convolve(a, [[1]]), "convolve"),
        (lambda a: F.gaussian_pyramid(a, 1), "gaussian_pyramid"),
        (lambda a: F.adaptive_threshold(a, 3), "adaptive_threshold"),
        (lambda a: F.percentile(a, 50), "percentile"),
        (F.equalize_hist, "equalize_hist"),
        (F.threshold_otsu, "threshold_otsu"),
    ],
)
def test_messages_have_the_name_that_was_called(
    call: Callable[[Any], Any], name: str
) -> None:
    with pytest.raises(hl.TypeMismatchError, match=f"^{name} takes an Array or a Num"):
        call([[1, 2], [3, 4]])
    line = np.zeros(3, np.uint8)
    wanted = rf"^{name} takes an image \(H, W\) or \(H, W, C\), not an array of 1 axis"
    for one in (call, hl.jit(call)):
        with pytest.raises(hl.TypeMismatchError, match=wanted):
            one(line)
