"""Non-local means against Halide's result, the interpreter and NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl
from apps import nl_means
from apps.common import photograph
from tests.apps.support import (
    apart,
    functions,
    interpreted,
    noise,
    reference,
    run,
    stages,
)

pytestmark = pytest.mark.usefixtures("programs_once")

WAYS = list(nl_means.SCHEDULES)


@pytest.mark.parametrize("way", WAYS)
def test_reproduces_halides_output(way: str) -> None:
    data = reference("nl_means")
    size = data["output"].shape[::-1]
    values = {n: data[n].item() for n in ("patch_size", "search_area", "sigma")}
    images = {"input": data["input"]}
    schedule = nl_means.SCHEDULES[way]
    got = run(hl, nl_means.algorithm, schedule, images, size, values)
    assert apart(got, data["output"]).max() <= 3e-6


@pytest.mark.parametrize("way", WAYS)
def test_agrees_with_interpreter_numpy_and_halide(way: str) -> None:
    """Also with windows of other sizes, one of them even."""
    image, size = noise((3, 34, 70)), (70, 34, 3)
    values = {"patch_size": 5, "search_area": 4, "sigma": 0.1}
    images, schedule = {"input": image}, nl_means.SCHEDULES[way]
    got = run(hl, nl_means.algorithm, schedule, images, size, values)
    expected = interpreted(nl_means.algorithm, images, size, values)
    assert apart(got, expected).max() <= 3e-6
    assert apart(got, nl_means.with_numpy(image, 5, 4, 0.1)).max() <= 3e-6
    assert apart(got, image).max() > 0.01
    halide = pytest.importorskip("halide")
    theirs = run(halide, nl_means.algorithm, schedule, images, size, values)
    assert apart(got, theirs).max() <= 3e-6


def test_is_whole() -> None:
    """The boundary is one Func here and two in Halide, which counts 13 and 17."""
    app = nl_means.algorithm(hl)
    assert (len(functions(app)), stages(app)) == (12, 16)


def test_takes_noise_out_of_a_photograph() -> None:
    clean = photograph()[:, 100:196, 150:250]
    noisy = clean + np.random.default_rng(1).normal(0, 8, clean.shape)
    noisy = np.clip(noisy, 0, 255).astype(np.uint8)
    out = nl_means.process(noisy)
    assert out.dtype == np.uint8
    assert apart(out, clean).mean() < 0.8 * apart(noisy, clean).mean()
