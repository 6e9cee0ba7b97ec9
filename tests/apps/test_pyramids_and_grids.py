"""Local Laplacian, bilateral grid, interpolation and max filter, each against the
interpreter, NumPy or SciPy, Halide's module, and Halide's published output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import pytest

import parhelion as hl
from apps import bilateral_grid, interpolate, local_laplacian, max_filter
from apps.common import Array, photograph
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


@dataclass(frozen=True)
class Published:
    """One application. small: makes an image for the interpreter. rival: by other
    means. count: Funcs and stages (Halide counts one more of each, its boundary
    conditions being two Funcs). limit: the largest difference, and what share of
    the values may be more than `same` apart."""

    app: ModuleType
    small: Callable[[], Array]
    channels: int
    rival: Callable[[Array], Array]
    count: tuple[int, int]
    limit: float
    share: float = 0.0
    same: float = 0.0

    def size(self, image: Array) -> tuple[int, ...]:
        flat = image.shape[:0:-1] if image.ndim == 3 else image.shape[::-1]
        return (*flat, self.channels) if self.channels else flat

    def agree(self, a: Array, b: Array) -> None:
        far = apart(a, b)
        assert far.max() <= self.limit
        if self.share:
            assert np.mean(far > self.same) <= self.share


def pierced() -> Array:
    """Premultiplied by nothing: colour, and an opacity with holes and a soft edge."""
    image = noise((4, 520, 536))
    image[3] = np.clip(noise((520, 536), 9) * 3 - 0.7, 0, 1)
    return image


APPS = {
    # An index into the table is a truncated float: an ulp moves it by a step of 257.
    "local_laplacian": Published(
        local_laplacian,
        lambda: (noise((3, 512, 512)) * 65535).astype(np.uint16),
        3,
        local_laplacian.with_numpy,
        (102, 102),
        limit=600,
        share=0.002,
        same=1,
    ),
    "bilateral_grid": Published(
        bilateral_grid,
        lambda: noise((43, 61)),
        0,
        bilateral_grid.with_numpy,
        (7, 8),
        limit=2e-6,
    ),
    "interpolate": Published(
        interpolate, pierced, 3, interpolate.with_numpy, (50, 50), limit=1e-6
    ),
    "max_filter": Published(
        max_filter,
        lambda: noise((3, 40, 280)),
        3,
        max_filter.with_scipy,
        (8, 11),
        limit=0,
    ),
}
WAYS = [(name, way) for name, p in APPS.items() for way in p.app.SCHEDULES]


@pytest.mark.parametrize(("name", "way"), WAYS)
def test_reproduces_halides_output(name: str, way: str) -> None:
    p, data = APPS[name], reference(name)
    image, rows, columns = data["input"], *data["window"]
    if name == "local_laplacian":
        image = image.astype(np.uint16) * 257
    schedule = p.app.SCHEDULES[way]
    got = run(hl, p.app.algorithm, schedule, {"input": image}, p.size(image))
    p.agree(got[..., slice(*rows), slice(*columns)], data["output"])


@pytest.mark.parametrize("name", list(APPS))
def test_agrees_with_interpreter_and_rival(name: str) -> None:
    p = APPS[name]
    image = p.small()
    exact = interpreted(p.app.algorithm, {"input": image}, p.size(image))
    assert np.ptp(exact) > 0
    p.agree(p.rival(image), exact)
    for schedule in p.app.SCHEDULES.values():
        got = run(hl, p.app.algorithm, schedule, {"input": image}, p.size(image))
        p.agree(got, exact)


@pytest.mark.parametrize("name", list(APPS))
def test_agrees_with_halides_module(name: str) -> None:
    halide = pytest.importorskip("halide")
    p = APPS[name]
    image = p.small()
    schedule = list(p.app.SCHEDULES.values())[-1]
    ours, theirs = (
        run(module, p.app.algorithm, schedule, {"input": image}, p.size(image))
        for module in (hl, halide)
    )
    p.agree(ours, theirs)


@pytest.mark.parametrize("name", list(APPS))
def test_is_whole(name: str) -> None:
    app = APPS[name].app.algorithm(hl)
    assert (len(functions(app)), stages(app)) == APPS[name].count


@pytest.mark.parametrize("name", list(APPS))
def test_processes_a_photograph(name: str) -> None:
    image = photograph()[:, 30:190, 100:420].copy()
    image[:, 50:70, 40:200] = 0
    out = APPS[name].app.process(image)
    assert out.shape == image.shape and out.dtype == np.uint8
    changed = np.abs(out.astype(int) - image).mean()
    assert 0.1 < changed < 200
