"""Recursive filters on images that go on without an end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import parhelion as hl
from parhelion.recfilter import RecFilter, RecFilterDim, gaussian_weights, iir
from parhelion.recfilter.beyond import place

Array = NDArray[Any]

rng = np.random.default_rng(22)
W, H = 53, 38
image = rng.random((H, W), np.float32)
GAUSS = gaussian_weights(3.0)

#: How NumPy calls what is beyond the edges.
MODES: dict[str, Any] = {"clamp": "edge", "repeat": "wrap", "mirror": "symmetric"}
BORDERS = list(MODES)

#: A NumPy axis, whether from the first point on, [a0, a1, …], [b0, b1, …].
By = tuple[int, bool, list[float], list[float]]


def filtered(y: Array, axis: int, causal: bool, c: list[float], b: list[float]) -> Any:
    """One filter, point by point, with zeros beyond."""
    z = np.moveaxis(y.astype(np.float64), axis, 0)
    z = z if causal else z[::-1]
    made = np.zeros_like(z)
    for i in range(len(z)):
        for m, one in enumerate(b[: i + 1]):
            made[i] += c[0] * one * z[i - m]
        for k, a in enumerate(c[1 : i + 1], 1):
            made[i] += a * made[i - k]
    return np.moveaxis(made if causal else made[::-1], 0, axis)


def padded(source: Array, border: str, *filters: By, by: int = 300) -> Array:
    """By hand, on an image that goes on until all is forgotten."""
    made = np.pad(source, by, MODES[border])
    for axis, causal, c, b in filters:
        made = filtered(made, axis, causal, c, b)
    return made[tuple([slice(by, -by)] * source.ndim)]


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("splits", [(), (8,), (0, 8), (16, 4), (53, 38), (7, 100)])
def test_a_gaussian(border: str, splits: tuple[int, ...]) -> None:
    x, y = RecFilterDim("x", W), RecFilterDim("y", H)
    f, inp = RecFilter("f", border), hl.Buffer(image)
    f[x, y] = inp[x, y]
    for direction in (+x, +y, -x, -y):  # other dimensions commute
        f.add_filter(direction, GAUSS)
    for d, width in zip((x, y), splits, strict=False):
        if width:
            f.split(d, width)
    both: list[By] = [(k, way, GAUSS, [1]) for k in (1, 0) for way in (True, False)]
    wanted = padded(image, border, *both)
    np.testing.assert_allclose(np.asarray(f.realize()), wanted, atol=3e-6)


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("width", [0, 8])
@pytest.mark.parametrize("ahead", [[1.0], [0.5, -1.0, 0.25]])
def test_filters_in_turn(border: str, width: int, ahead: list[float]) -> None:
    signal = rng.standard_normal(61)
    x = RecFilterDim("x", 61)
    f, inp = RecFilter("line", border), hl.Buffer(signal)
    f[x] = inp[x]
    given: list[By] = [
        (0, True, [0.5, 0.5, -0.2], [1]),
        (0, False, [1.0, 0.4], ahead),
        (0, True, [0.3, 0.6, 0.1], ahead),
        (0, False, [0.7, 0.2, 0.1], [1]),
        (0, False, [2.0], ahead),
    ]
    for _, causal, c, b in given:
        f.add_filter(+x if causal else -x, c, feedforward=b)
    if width:
        f.split(x, width)
    wanted = padded(signal, border, *given)
    np.testing.assert_allclose(np.asarray(f.realize()), wanted, atol=1e-12)


@pytest.mark.parametrize("border", BORDERS)
def test_sums_without_feedback(border: str) -> None:
    x = RecFilterDim("x", 9)
    f, inp = RecFilter("sums", border), hl.Buffer(np.arange(9.0))
    f[x] = inp[x]
    f.add_filter(-x, [1], feedforward=[1, 2, 4])
    wanted = padded(np.arange(9.0), border, (0, False, [1.0], [1, 2, 4]))
    np.testing.assert_allclose(np.asarray(f.realize()), wanted, atol=1e-12)


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("extent", [1, 2, 3])
def test_a_few_points(border: str, extent: int) -> None:
    """Shorter than the filter's order, and than what it remembers."""
    signal = rng.standard_normal(extent)
    c = [0.2, 1.2, -0.5, 0.1]
    got = iir(signal, [0.2, 0.1], [1, -1.2, 0.5, -0.1], border=border)
    wanted = padded(signal, border, (0, True, [1.0, *c[1:]], [0.2, 0.1]))
    np.testing.assert_allclose(got, wanted, atol=1e-12)


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("pole", [0.5, 0.9999])
def test_a_long_line(border: str, pole: float) -> None:
    """Longer than what is summed up exactly over its period."""
    signal = rng.standard_normal(70_000)
    got = iir(signal, [1 - pole], [1, -pole], border=border)
    before = signal[place(border, np.arange(-400_000, 0), len(signal))]
    state = float((1 - pole) * pole ** np.arange(400_000.0) @ before[::-1])
    for at, wanted in enumerate(got[:2000]):
        state = (1 - pole) * signal[at] + pole * state
        assert abs(wanted - state) < 1e-12


@pytest.mark.parametrize("border", BORDERS)
def test_a_pole_of_many(border: str) -> None:
    """What it remembers dies out late: powers times a polynomial."""
    c = [float(a) for a in -np.poly([0.9] * 5)[1:]]
    signal = rng.standard_normal(40)
    got = iir(signal, [1e-5], [1, *[-a for a in c]], border=border)
    wanted = padded(signal, border, (0, True, [1e-5, *c], [1]), by=1500)
    np.testing.assert_allclose(got, wanted, atol=1e-9)


@pytest.mark.parametrize("border", BORDERS)
def test_iir(border: str) -> None:
    got = iir(image, [0.2], [1, -0.8], 0, border=border)
    wanted = padded(image, border, (0, True, [0.2, 0.8], [1]))
    np.testing.assert_allclose(got, wanted, atol=1e-5)


def test_constants_stay_what_they_are() -> None:
    for border in BORDERS:
        got = iir(np.full((5, 300), 7.5), [0.1], [1, -0.9], border=border)
        np.testing.assert_allclose(got, 7.5, rtol=1e-14)


def test_a_border_that_is_none() -> None:
    with pytest.raises(hl.DefinitionError, match="there is no border 'wrap'") as e:
        RecFilter("g", "wrap")
    assert "- mirror" in str(e.value)


def test_sums_do_not_go_on_for_ever() -> None:
    x = RecFilterDim("x", W)
    for border in BORDERS:
        f = RecFilter("f", border)
        f[x] = hl.f32(x)
        with pytest.raises(hl.DefinitionError, match="has no end: it has a pole of"):
            f.add_filter(+x, [1, 1])


def test_what_is_forgotten_too_slowly() -> None:
    with pytest.raises(hl.DefinitionError, match="0.9999985 forgets too slowly"):
        iir(np.ones(10), [1, 1], [1, -0.9999985], border="clamp")


def test_integers_do_not_go_on() -> None:
    x = RecFilterDim("x", W)
    whole = RecFilter("whole", "repeat")
    whole[x] = hl.i32(x)
    with pytest.raises(hl.DefinitionError, match="have the border 'zero' alone"):
        whole.add_filter(+x, [1, 0])


def test_a_dimension_is_not_taken_apart() -> None:
    x, y = RecFilterDim("x", W), RecFilterDim("y", H)
    f, inp = RecFilter("f", border="mirror"), hl.Buffer(image)
    f[x, y] = inp[x, y]
    for direction in (+x, -x, +y):
        f.add_filter(direction, [0.5, 0.5])
    with pytest.raises(hl.ScheduleError, match="the filters along x must be in one"):
        f.cascade([0], [1, 2])
    ys, xs = f.cascade([2], [1, 0])
    c = [0.5, 0.5]
    both: list[By] = [(0, True, c, [1]), (1, True, c, [1]), (1, False, c, [1])]
    wanted = padded(image, "mirror", *both)
    np.testing.assert_allclose(np.asarray(xs.realize()), wanted, atol=1e-5)
