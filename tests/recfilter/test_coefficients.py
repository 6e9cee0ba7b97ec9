"""The numbers of recursive filters against filters that are run point by point."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.recfilter import RecFilterWarning, gaussian_weights
from parhelion.recfilter.coefficients import (
    continuation,
    crossings,
    entering,
    filtered,
    growth,
    largest_pole,
    tail,
    together,
)

Filter = tuple[list[float], list[float], bool]


def test_gaussian_weights_are_those_of_the_paper() -> None:
    """Of van Vliet, Young and Verbeek, for a sigma of 5 and order 3."""
    wanted = [0.02264327, 2.29634657, -1.79971013, 0.48072029]
    np.testing.assert_allclose(gaussian_weights(5.0), wanted, atol=1e-8)


@pytest.mark.parametrize("sigma", [2.0, 5.0, 17.5])
def test_gaussian_weights_keep_constants_and_width(sigma: float) -> None:
    gain, *back = gaussian_weights(sigma)
    assert len(back) == 3 and largest_pole(back) < 1
    impulse = np.zeros((2001, 1))
    impulse[1000] = 1
    response = filtered(filtered(impulse, gain, back, True), gain, back, False)[:, 0]
    assert response.sum() == pytest.approx(1)
    at = np.arange(-1000, 1001)
    width = np.sqrt((response * at**2).sum())
    assert width == pytest.approx(sigma, rel=0.07 if sigma == 2 else 0.01)


def test_gaussian_weights_of_lower_orders_are_factors() -> None:
    one, two = gaussian_weights(4.0, 1), gaussian_weights(4.0, 2)
    assert (len(one), len(two)) == (2, 3)
    np.testing.assert_allclose(together(one, two), gaussian_weights(4.0), rtol=1e-12)


def test_gaussian_weights_of_small_sigmas_are_warned_of() -> None:
    with pytest.warns(RecFilterWarning, match="9 to 38 % off"):
        gaussian_weights(1.25)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gaussian_weights(2.0)


@pytest.mark.parametrize(
    "given, why",
    [((5.0, 4), "order 1, 2 and 3"), ((0.0,), "positive"), ((float("nan"),), "posit")],
)
def test_gaussian_weights_that_there_are_none_of(given: Any, why: str) -> None:
    with pytest.raises(hl.DefinitionError, match=why):
        gaussian_weights(*given)


def test_a_tail_goes_on_as_the_filter_does() -> None:
    back = [0.5, -0.3, 0.2]
    rows = continuation(back, 7, False)
    y = np.zeros(10)
    y[:3] = [0.7, -1.1, 0.4]
    for i in range(3, 10):
        y[i] = sum(a * y[i - j] for j, a in enumerate(back, 1))
    np.testing.assert_allclose(rows @ y[2::-1], y[3:])


MIXED: list[Filter] = [
    ([0.7], [0.5, -0.2], True),
    ([1.3], [0.4], False),
    ([0.9], [0.3, 0.1, 0.05], False),
    ([1.0], [0.6], True),
]
SUMS: list[Filter] = [([1], [2, -1], True), ([2], [1], False), ([1], [-1], True)]
#: Each but the first of a direction reads some of what the one before it has made.
SECTIONS: list[Filter] = [
    ([0.7], [0.5, -0.2], True),
    ([0.4, 0.3, -0.2], [0.4], True),
    ([0.9, -0.5], [0.3, 0.1, 0.05], True),
    ([1.1], [0.6, -0.1], False),
    ([0.5, 0.2, 0.3], [-0.3], False),
]


def run(y: Any, one: Filter) -> Any:
    """A column filtered from zeros on, point by point."""
    forward, back, causal = one
    x = y[:, 0] if causal else y[::-1, 0]
    made = np.zeros_like(x)
    for i in range(len(x)):
        made[i] = sum([b * x[i - m] for m, b in enumerate(forward) if i >= m])
        made[i] += sum([a * made[i - j] for j, a in enumerate(back, 1) if i >= j])
    return (made if causal else made[::-1])[:, None]


@pytest.mark.parametrize("size", [24, 37, 41])
@pytest.mark.parametrize("width", [4, 8, 13])
@pytest.mark.parametrize(
    "filters", [MIXED, SUMS, SECTIONS], ids=["floats", "integers", "sections"]
)
def test_tails_cross_tiles(filters: list[Filter], size: int, width: int) -> None:
    """Completed from tile to tile, they are the values that whole lines have."""
    whole = filters is SUMS
    rng = np.random.default_rng(size * width)
    x = rng.integers(-9, 9, size).astype(object if whole else float)
    lines, y = [], x[:, None]
    for one in filters:
        y = run(y, one)
        lines.append(y[:, 0])
    count = -(-size // width)
    padded = np.concatenate([x, np.zeros(count * width - size, x.dtype)])
    starts = np.concatenate([[0], np.cumsum([len(b) for _, b, _ in filters])])
    tails, tables = [], []
    for o in range(count):
        valid = min(width, size - o * width)
        y, mine = padded[o * width : (o + 1) * width, None], []
        for one in filters:
            y = run(y, one)
            mine.append(tail(y, len(one[1]), one[2])[:, 0])
            y = y.copy()
            y[valid:] = 0
        tails.append(np.concatenate(mine))
        tables.append(crossings(filters, width, valid, whole))
    found = np.array(tails)
    for n, (_, back, causal) in enumerate(filters):
        own = slice(starts[n], starts[n + 1])
        for o in range(count) if causal else reversed(range(count)):
            for m in range(n + 1):
                other = o - 1 if filters[m][2] else o + 1
                if 0 <= other < count:
                    theirs = slice(starts[m], starts[m + 1])
                    more = tables[o][own, theirs] @ found[other, theirs]
                    found[o, own] = found[o, own] + more
        for o, q in itertools.product(range(count), range(len(back))):
            i = (o + 1) * width - 1 - q if causal else o * width + q
            if i < size and whole:
                assert found[o, starts[n] + q] == lines[n][i]
            elif i < size:
                assert found[o, starts[n] + q] == pytest.approx(lines[n][i], abs=1e-13)


@pytest.mark.parametrize("last", range(1, 5))
def test_what_enters_an_image_without_end(last: int) -> None:
    filters = [*MIXED, ([0.5], [0.2, 0.3], False)][:last]
    n, far = 25, 400
    x = np.random.default_rng(last).standard_normal(n)
    y, lines = np.pad(x, far, "edge")[:, None], []
    for (gain,), back, causal in filters:
        y = filtered(y, gain, back, causal)
        lines.append(y[:, 0])
    _, back, causal = filters[-1]
    base, weights = entering(filters)
    at = [np.arange(far, far + 9), np.arange(far + n - 1, far + n - 10, -1)]
    values = [
        lines[m][at[not causal][: len(b)]]
        for m, (_, b, c) in enumerate(filters[:-1])
        if c != causal
    ]
    edge = x[0] if causal else x[-1]
    got = base * edge + weights @ np.concatenate([np.zeros(0), *values])
    k = len(back)
    before = lines[-1][far - k : far][::-1] if causal else lines[-1][far + n :][:k]
    np.testing.assert_allclose(got, before, atol=1e-13)


def test_two_filters_as_one() -> None:
    one, two = [0.5, 0.4, -0.1], [2.0, 0.3]
    x = np.random.default_rng(3).standard_normal((30, 1))
    wanted = filtered(filtered(x, one[0], one[1:], True), two[0], two[1:], True)
    both = together(one, two)
    np.testing.assert_allclose(filtered(x, both[0], both[1:], True), wanted)


def test_poles_and_growth() -> None:
    assert largest_pole([0.5]) == 0.5 and largest_pole([0.0]) == 0.0
    assert largest_pole([1.8, -0.81]) == pytest.approx(0.9)
    assert growth([1.0], 32) == 1.0 and growth([2.0, -1.0], 8) == 17.0
    assert growth([], 8) == 0.0
