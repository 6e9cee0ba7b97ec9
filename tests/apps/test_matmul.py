"""Matrix multiplication against Halide's result, the interpreter and NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl
from apps import matmul
from apps.common import photograph
from tests.apps.support import apart, functions, interpreted, noise, reference, run

pytestmark = pytest.mark.usefixtures("programs_once")

WAYS = list(matmul.SCHEDULES)


@pytest.mark.parametrize("way", WAYS)
def test_reproduces_halides_output(way: str) -> None:
    data = reference("matmul")
    images = {name: data[name] for name in ("A", "B")}
    got = run(hl, matmul.algorithm, matmul.SCHEDULES[way], images, (192, 192))
    assert apart(got, data["output"]).max() <= 1e-4


@pytest.mark.parametrize("way", WAYS)
def test_agrees_with_interpreter_numpy_and_halide(way: str) -> None:
    """Also where no dimension is a multiple of a block (Halide needs whole vectors)."""
    a, b = noise((47, 53)), noise((53, 160), seed=6)
    images, schedule = {"A": a, "B": b}, matmul.SCHEDULES[way]
    got = run(hl, matmul.algorithm, schedule, images, (160, 47))
    assert apart(got, interpreted(matmul.algorithm, images, (160, 47))).max() <= 2e-5
    assert apart(got, a.astype(np.float64) @ b).max() <= 2e-5
    halide = pytest.importorskip("halide")
    theirs = run(halide, matmul.algorithm, schedule, images, (160, 47))
    assert apart(got, theirs).max() <= 2e-5


def test_is_whole() -> None:
    assert len(functions(matmul.algorithm(hl))) == 2


def test_smooths_a_photograph() -> None:
    image = photograph()[:, 100:196, 150:250]
    out = matmul.process(image)
    assert out.shape == image.shape and out.dtype == np.uint8
    assert np.abs(np.diff(out.astype(int), axis=1)).mean() < 2
    assert np.corrcoef(out.mean(axis=0).ravel(), image.mean(axis=0).ravel())[0, 1] > 0.7
