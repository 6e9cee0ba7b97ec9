"""The camera pipeline against the interpreter, NumPy and Halide."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl
from apps import camera_pipe
from apps.common import Array, photograph
from tests.apps.support import functions, interpreted, noise, reference, run, stages

pytestmark = pytest.mark.usefixtures("programs_once")

MATRICES = {
    "matrix_3200": camera_pipe.MATRIX_3200,
    "matrix_7000": camera_pipe.MATRIX_7000,
}
WAYS = list(camera_pipe.SCHEDULES)


def raw(height: int, width: int) -> Array:
    """A mosaic with hot pixels, as large as an output of height x width needs."""
    left, top = camera_pipe.OFFSET
    image = noise((height + 2 * top, width + 2 * left)) * 1000 + 20
    image[17::31, 5::23] = 1023
    return image.astype(np.uint16)


@pytest.mark.parametrize("way", WAYS)
def test_reproduces_halides_output(way: str) -> None:
    data = reference("camera_pipe")
    got = run(
        hl,
        camera_pipe.algorithm,
        camera_pipe.SCHEDULES[way],
        {"input": data["input"], **MATRICES},
        data["output"].shape[::-1],
    )
    assert np.array_equal(got, data["output"])


@pytest.mark.parametrize("way", WAYS)
def test_agrees_with_interpreter_numpy_and_halide(way: str) -> None:
    height, width = (32, 256) if way == "strips" else (18, 38)
    image, size = raw(height, width), (width, height, 3)
    images = {"input": image, **MATRICES}
    schedule = camera_pipe.SCHEDULES[way]
    got = run(hl, camera_pipe.algorithm, schedule, images, size)
    assert np.array_equal(got, interpreted(camera_pipe.algorithm, images, size))
    assert np.array_equal(got, camera_pipe.with_numpy(image))
    halide = pytest.importorskip("halide")
    theirs = run(halide, camera_pipe.algorithm, schedule, images, size)
    assert np.array_equal(got, theirs)


def test_is_whole() -> None:
    app = camera_pipe.algorithm(hl)
    assert (len(functions(app)), stages(app)) == (35, 35)


def test_develops_a_photograph() -> None:
    image = photograph()[:, 100:196, 150:250]
    out = camera_pipe.process(image)
    assert out.shape == image.shape and out.dtype == np.uint8
    # What the sensor would have seen comes out much as it was, but sharper.
    assert np.corrcoef(out.ravel(), image.ravel())[0, 1] > 0.9
    mosaic = camera_pipe.mosaic(image)
    assert np.array_equal(camera_pipe.process(mosaic[None]), out)
