"""Rounding errors of recursive filters, and coefficients that cannot be."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import parhelion as hl
from parhelion.recfilter import (
    RecFilter,
    RecFilterDim,
    RecFilterWarning,
    gaussian_weights,
    iir,
)
from parhelion.recfilter.coefficients import continuation, filtered

Array = NDArray[Any]

rng = np.random.default_rng(17)
line = rng.random(400).astype(np.float32)


def over(source: Array, border: str = "zero") -> tuple[RecFilter, RecFilterDim]:
    x = RecFilterDim("x", len(source))
    f = RecFilter("f", border)
    f[x] = hl.Buffer(source)[x]
    return f, x


def poles(*given: float) -> list[float]:
    return [1.0, *[-float(a) for a in np.poly(given)[1:]]]


# Poles near to the unit circle.


@pytest.mark.parametrize("split", [0, 32, 512])
@pytest.mark.parametrize("border", ["zero", "clamp", "mirror"])
@pytest.mark.parametrize("sigma", [20.0, 50.0, 200.0])
def test_wide_gaussians_in_float32(sigma: float, border: str, split: int) -> None:
    """Rounded coefficients would make another filter: at a sigma of 200, constants
    would lose a quarter."""
    n = int(30 * sigma)
    f, x = over(np.full(n, 7.5, np.float32), border)
    for direction in (+x, -x):
        f.add_filter(direction, gaussian_weights(sigma))
    f.split(x, split or n)
    middle = np.asarray(f.realize())[n // 3 : 2 * n // 3]
    np.testing.assert_allclose(middle, 7.5, rtol=1e-3)


def test_a_lowpass_of_high_order_in_float32() -> None:
    signal = pytest.importorskip("scipy.signal")
    b, a = signal.butter(6, 0.01)
    source = rng.random(3000)
    f, x = over(source.astype(np.float32))
    f.add_filter(+x, [1, *-a[1:]], b)
    wanted = signal.lfilter(b, a, source)
    np.testing.assert_allclose(np.asarray(f.realize()), wanted, atol=5e-3)


def test_what_float32_cannot_do_is_warned_of() -> None:
    f, x = over(line)
    with pytest.warns(RecFilterWarning, match="rounded to float32, the filter's resp"):
        f.add_filter(+x, gaussian_weights(2000.0))
    g, x = over(line.astype(np.float64))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        g.add_filter(+x, gaussian_weights(2000.0))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("sigma", [2.0, 8.0, 40.0])
@pytest.mark.parametrize("split", [0, 32, 256])
def test_random_images(kind: Any, sigma: float, split: int) -> None:
    """Against the same filters in float64, point by point.

    Errors of a filter of order 3 are some last digits times the third power of what it
    remembers; in float32, wide ones are computed as filters of orders 1 and 2.
    """
    source = rng.standard_normal(2000)
    f, x = over(source.astype(kind))
    w = gaussian_weights(sigma)
    wanted = source.astype(kind).astype(np.float64)
    for causal in (True, False):
        f.add_filter(+x if causal else -x, w)
        wanted = filtered(wanted[:, None], w[0], w[1:], causal)[:, 0]
    f.split(x, split or 2000)
    error = np.abs(np.asarray(f.realize()) - wanted).max()
    size = 40 * sigma if kind is np.float32 else 100 * sigma**3
    assert error < size * np.finfo(kind).eps


# Sums of sums.


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([1, 2, -1], "grow by 33 in it, .* by 1.97e.03 up to the end of 1000 points"),
        ([1, -2, -1], "grow by 33 in it"),
        ([1, 0, -2, 0, -1], "factor_filter_order.1, 1, 1, 1. makes them"),
        ([1, 1], None),
        ([1, 0, 1], None),
        ([1, 1, 0], None),
        (gaussian_weights(20.0), None),
    ],
)
def test_tiles_that_never_forget_are_warned_of(
    given: list[float], told: str | None
) -> None:
    f, x = over(rng.random(1000).astype(np.float32))
    f.add_filter(+x, given)
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        f.split(x, 16)
    assert len(met) == (told is not None)
    if told is not None:
        assert met[0].category is RecFilterWarning
        assert re.search(told, str(met[0].message))
        assert met[0].filename == __file__
    g, x = over(rng.random(1000))
    g.add_filter(+x, given)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        g.split(x, 16)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_factors_of_sums_of_sums_are_exact(order: int) -> None:
    """As the warning says: 1,000 times the digits, and without one."""
    source = rng.random(4096).astype(np.float32) - np.float32(0.5)
    f, x = over(source)
    f.add_filter(+x, poles(*[1.0] * order))
    wanted = source.astype(float)
    for _ in range(order):
        wanted = np.cumsum(wanted)
    parts = f.factor_filter_order(*[1] * order)
    last = parts[0].overlap(*parts[1:])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        last.split(x, 32)
    error = np.abs(np.asarray(last.realize()) - wanted).max()
    assert error < 100 * np.finfo(np.float32).eps * np.abs(wanted).max()


def test_sums_of_sums_on_long_lines_are_in_no_tiles_unasked() -> None:
    f, x = over(rng.random(40_000).astype(np.float32))
    f.add_filter(+x, [1, 2, -1])
    assert "in whole lines" in f.explain()
    g, x = over(np.ones(40_000, np.int32))
    g.add_filter(+x, [1, 2, -1])
    assert "in 40 tiles of 1024 points" in g.explain()
    n = np.arange(1, 40_001, dtype=np.int64)
    wanted = (n * (n + 1) // 2).astype(np.int32)
    np.testing.assert_array_equal(np.asarray(g.realize()), wanted)


# Factors.


@pytest.mark.parametrize(
    ("given", "orders"),
    [
        ([1, 0, 1], (1, 1)),
        ([1, 1, -1], (2,)),
        ([1, 3, -3, 1], (1, 2)),
        ([2, 3, -3, 1], (1, 1, 1)),
        ([3, 1, 0, 0, 1, -1], (2, 3)),
    ],
)
def test_factors_of_integers_are_integers(
    given: list[int], orders: tuple[int, ...]
) -> None:
    source = rng.integers(-100, 100, 300).astype(np.int32)
    (f, x), (g, u) = over(source), over(source)
    f.add_filter(+x, given)
    g.add_filter(+u, given)
    parts = f.factor_filter_order(*orders)
    got, wanted = np.asarray(parts[-1].realize()), np.asarray(g.realize())
    np.testing.assert_array_equal(got, wanted)


def test_integers_without_such_factors() -> None:
    f, x = over(np.arange(9, dtype=np.int32))
    f.add_filter(+x, [1, 0, 0, 0, -1])  # of order 4, with the poles of z^4 = -1
    with pytest.raises(hl.ScheduleError, match="no factors of orders .2, 2. with int"):
        f.factor_filter_order(2, 2)


def test_repeated_poles_have_factors() -> None:
    (f, x), (g, u) = over(line), over(line)
    for one, v in ((f, x), (g, u)):
        one.add_filter(+v, [0.125, 1.5, -0.75, 0.125])  # 1/2, three times
    got = np.asarray(f.factor_filter_order(1, 1, 1)[-1].realize())
    np.testing.assert_allclose(got, np.asarray(g.realize()), atol=1e-5)


def test_factors_of_nothing() -> None:
    f, x = over(line)
    f.add_filter(+x, [0, 0.5, 0.1])
    assert not np.asarray(f.factor_filter_order(1, 1)[-1].realize()).any()


# Tables of wide tiles are found fast, and are the same.


@pytest.mark.parametrize("width", [64, 65, 255, 256, 257, 1000])
def test_wide_tables(width: int) -> None:
    feedback = [1.2, -0.5, 0.1]
    state = continuation(feedback, width, False)
    columns = rng.standard_normal((width, 4))
    for c in range(3):
        y = dict.fromkeys(range(-3, 0), 0.0) | {-1 - c: 1.0}
        for i in range(width):
            y[i] = sum(a * y[i - j] for j, a in enumerate(feedback, 1))
        np.testing.assert_allclose(
            state[:, c], [y[i] for i in range(width)], atol=1e-12
        )
    for causal in (True, False):
        wanted = (columns if causal else columns[::-1]) * 0.5
        for i in range(width):
            for j in range(1, min(i, 3) + 1):
                wanted[i] += feedback[j - 1] * wanted[i - j]
        got = filtered(columns, 0.5, feedback, causal)
        np.testing.assert_allclose(got, wanted if causal else wanted[::-1], atol=1e-12)


def test_wide_tables_of_high_orders() -> None:
    """A filter reads back over more than one block of rows."""
    feedback = [0.0] * 299 + [0.5]
    columns = rng.standard_normal((1000, 2))
    wanted = columns.copy()
    for i in range(300, 1000):
        wanted[i] += 0.5 * wanted[i - 300]
    got = filtered(columns, 1, feedback, True)
    np.testing.assert_allclose(got, wanted, atol=1e-12)


def test_wide_tables_of_integers() -> None:
    """They have no limit."""
    found = continuation([2, -1], 5000, True)
    assert found[-1].tolist() == [5001, -5000]


# What cannot be.


def adding(coefficients: Any, **more: Any) -> Callable[[], object]:
    def add() -> None:
        f, x = over(line)
        f.add_filter(+x, coefficients, **more)

    return add


@pytest.mark.parametrize(
    ("call", "kind", "why"),
    [
        (adding([10**400, 1]), hl.DefinitionError, "finite as float32, not inf"),
        (adding([1e300, 0.5]), hl.DefinitionError, "finite as float32, not 1e.300"),
        (adding([1e30, 0.5], feedforward=[1e30]), hl.DefinitionError, "not 1e.60"),
        (adding([1, np.nan]), hl.DefinitionError, "finite as float32, not nan"),
        (lambda: iir(line, [1], [1e-320, 1]), hl.DefinitionError, "iir: a: a coeff"),
        (lambda: iir(line, [1e300], [1e-20]), hl.DefinitionError, "iir: b: a coeff"),
        (lambda: iir([[1, 2], [3]], [1], [1]), hl.TypeMismatchError, "NumPy makes no"),  # type: ignore[call-overload]
        (lambda: gaussian_weights("5"), hl.TypeMismatchError, "takes a sigma, a num"),  # type: ignore[arg-type]
        (lambda: gaussian_weights(5, [3]), hl.TypeMismatchError, "an integer, not 5"),  # type: ignore[arg-type]
        (adding(poles(1.008, 0.5, 0.4, 0.3, 0.2, 0.1)), hl.DefinitionError, "1.008"),
        (adding(poles(1.3, *[0.1] * 29)), hl.DefinitionError, "magnitude 1.3"),
        (adding(poles(1.0005, 0.3)), hl.DefinitionError, "magnitude 1.0005"),
    ],
)
def test_coefficients_that_cannot_be(
    call: Callable[[], object], kind: type[Exception], why: str
) -> None:
    with pytest.raises(kind, match=why):
        call()


@pytest.mark.parametrize("order", [1, 2, 3, 4, 6])
def test_sums_of_sums_are_stable(order: int) -> None:
    adding(poles(*[1.0] * order))()


def test_filters_that_come_after_a_split_are_checked() -> None:
    f, x = over(line)
    f.add_filter(+x, [1, 0.5])
    f.split(x, 3)
    with pytest.raises(hl.ScheduleError, match="narrower than 5, the order"):
        f.add_filter(+x, [1, 0.1, 0.1, 0.1, 0.1, 0.1])
    with pytest.raises(hl.ScheduleError, match="a filter along x are expressions"):
        f.add_filter(+x, [hl.f32(0.5), hl.f32(x) / 400])
    assert len(f.filters()) == 1


def test_a_cascade_keeps_its_tiles() -> None:
    x, y = RecFilterDim("x", 60), RecFilterDim("y", 40)
    f = RecFilter("f")
    f[x, y] = hl.f32(x + y)
    for direction in (+x, -x, +y):
        f.add_filter(direction, [0.5, 0.3, 0.1])
    f.split(x, 16, y, 8)
    first, second = f.cascade(range(2), np.array([2]).tolist())
    assert "along x, in 4 tiles of 16 points" in first.explain()
    assert "along y, in 5 tiles of 8 points" in second.explain()


@pytest.mark.parametrize("given", [0, [0.0], "0", [[0]], []])
def test_a_cascade_of_what_are_no_lists(given: Any) -> None:
    f, x = over(line)
    f.add_filter(+x, [1, 0.5])
    with pytest.raises(
        hl.ScheduleError, match="must be in one list, and no list empty"
    ):
        f.cascade(given)


@pytest.mark.parametrize("given", [3, "a", None])
def test_what_is_no_filter_is_not_overlapped(given: Any) -> None:
    f, x = over(line)
    f.add_filter(+x, [1, 0.5])
    for method in (f.overlap, f.overlap_filter_order):
        with pytest.raises(hl.ScheduleError, match="does not filter what f makes"):
            method(given)
    why = f"orders are positive integers, not {given!r}"
    if given == 3:
        why = "do not make one of order 1, as their sum is 3"
    with pytest.raises(hl.ScheduleError, match=why):
        f.factor_filter_order(given)
