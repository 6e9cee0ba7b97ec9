"""Conversions of colours, beside OpenCV's."""

from __future__ import annotations

from typing import Annotated, Any

import cv2
import numpy as np
import pytest

import parhelion as hl
from tests.filters.support import Pixels, photo, same, within

convert = hl.filters.convert_color
#: What OpenCV computes with the same integers.
EXACT = ["rgb2gray", "rgb2ycrcb", "ycrcb2bgr", "rgb2hsv", "bgr2lab", "lab2rgb"]


def theirs(image: Any, code: str) -> Pixels:
    word = code.upper().replace("YCRCB", "YCrCb").replace("LAB", "Lab")
    found: Pixels = cv2.cvtColor(image, getattr(cv2, f"COLOR_{word}"))
    return found


@pytest.mark.parametrize("code", [*EXACT, "bgr2rgb"])
def test_bytes_are_opencvs(code: str) -> None:
    image = photo((61, 83, 3))
    image[0] = image[0, :, :1]  # greys, black and white
    image[1, :3] = [[0], [255], [7]]
    same(convert(image, code), theirs(image, code))


def test_bytes_of_hsv_are_rounded() -> None:
    # OpenCV rounds the last pixels of a row, and cuts the others off.
    image = photo((61, 83, 3))
    within(convert(image, "hsv2rgb"), theirs(image, "hsv2rgb"), 1)
    few = photo((1, 3, 3))
    same(convert(few, "hsv2bgr"), theirs(few, "hsv2bgr"))


def test_grey_becomes_three_channels() -> None:
    for dtype in ("uint8", "uint16"):
        grey = photo((5, 7), dtype)
        same(convert(grey, "gray2bgr"), theirs(grey, "gray2bgr"))


@pytest.mark.parametrize("code", ["bgr2gray", "bgr2ycrcb", "ycrcb2rgb"])
def test_shorts_are_opencvs(code: str) -> None:
    image = photo((21, 35, 3), "uint16")
    same(convert(image, code), theirs(image, code))


#: Of floats: in units of 1e-6 how far OpenCV's results are from ours.
FLOATS = {
    "rgb2gray": 0.3,
    "rgb2ycrcb": 0.3,
    "ycrcb2bgr": 0.3,
    "rgb2hsv": 60,  # degrees of the hue
    "hsv2bgr": 0.3,
}


@pytest.mark.parametrize("code", FLOATS)
def test_floats_are_opencvs(code: str) -> None:
    image = photo((21, 35, 3), "float32")
    image[0, :4] = [[0], [1], [0.25], [0.5]]
    if code == "hsv2bgr":
        image[..., 0] *= 360
    within(convert(image, code), theirs(image, code), FLOATS[code] * 1e-6)


def lab_of(rgb: Any) -> Any:
    """CIE Lab by its definition."""
    light = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    rows = [(0.412453, 0.35758, 0.180423), (0.212671, 0.71516, 0.072169)]
    rows.append((0.019334, 0.119193, 0.950227))
    xyz = light @ np.array(rows).T / [0.950456, 1, 1.088754]
    x, y, z = np.moveaxis(
        np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116), -1, 0
    )
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], -1)


def test_lab_of_floats_is_the_definition() -> None:
    image = photo((21, 35, 3), "float64")
    image[0, :4] = [[0], [1], [0.001], [0.04]]
    exact = lab_of(image)
    within(convert(image, "rgb2lab"), exact, 1e-10)
    single = image.astype(np.float32)
    found = convert(single, "rgb2lab")
    within(found, exact.astype(np.float32), 2e-4)
    # OpenCV interpolates between 33 * 33 * 33 colours.
    within(found, theirs(single, "rgb2lab"), 1)
    # The matrices there and back have six digits.
    within(convert(found, "lab2rgb"), single, 1e-4)
    within(convert(found, "lab2rgb"), theirs(found, "lab2rgb"), 2e-4)


def test_halves() -> None:
    image = photo((5, 6, 3), "float16")
    found = convert(image, "rgb2hsv")
    wanted = convert(image.astype(np.float32), "rgb2hsv")
    same(found, wanted.astype(np.float16))


def test_parts_of_images() -> None:
    image = photo((9, 8, 3))
    view = image[::2, ::-1]
    same(convert(view, "bgr2hsv"), theirs(view.copy(), "bgr2hsv"))
    same(convert(image[:1, :1], "BGR2GRAY"), theirs(image[:1, :1].copy(), "bgr2gray"))
    same(convert(image, "COLOR_BGR2Lab"), theirs(image, "bgr2lab"))


def test_channels_wherever_they_stand() -> None:
    @hl.jit
    def planar(a: Annotated[hl.Array, "cyx"]) -> tuple[hl.Array, hl.Array]:
        calm = hl.filters.box(convert(a, "bgr2ycrcb"), 3)
        return convert(calm, "ycrcb2bgr"), convert(calm, "rgb2gray")

    image = photo((9, 11, 3))
    calm = hl.filters.box(theirs(image, "bgr2ycrcb"), 3)
    turned, grey = planar(np.ascontiguousarray(image.transpose(2, 0, 1)))
    same(turned.transpose(1, 2, 0), theirs(calm, "ycrcb2bgr"))
    same(grey, theirs(calm, "rgb2gray"))
    with pytest.raises(hl.BoundsError, match="number of channels is 3, not 4"):
        planar(np.zeros((4, 5, 6), np.uint8))


def test_what_is_refused() -> None:
    image = photo((3, 4, 3))
    with pytest.raises(hl.TypeMismatchError, match="there is no conversion 'bgr2cmyk'"):
        convert(image, "bgr2cmyk")
    with pytest.raises(hl.TypeMismatchError, match="there is no conversion 6"):
        convert(image, 6)  # type: ignore[arg-type]
    with pytest.raises(hl.TypeMismatchError, match="of uint8 or floats, not of uint16"):
        convert(image.astype("uint16"), "bgr2lab")
    with pytest.raises(hl.TypeMismatchError, match=r"an image with channels, \(H, W, "):
        convert(image[..., 0], "bgr2gray")
    with pytest.raises(hl.TypeMismatchError, match="one channel.* not an array of 3"):
        convert(image, "gray2bgr")
    with pytest.raises(hl.BoundsError, match="number of channels is 3, not 2"):
        convert(image[..., :2], "bgr2gray")
    with pytest.raises(hl.TypeMismatchError, match="not of Bools"):
        convert(image > 3, "bgr2gray")
