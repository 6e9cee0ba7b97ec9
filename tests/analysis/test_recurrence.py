"""Recurrences: what is found of updates, against the interpreter."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.analysis.recurrence import (
    NoRecurrence,
    Recurrence,
    find_recurrence,
)
from parhelion.interp import interpret
from parhelion.ir.text import text
from parhelion.lang.expr import wrap

x, y = hl.vars("x y")


def found(f: hl.Func, update: int = 0) -> Recurrence | NoRecurrence:
    return find_recurrence(f._function, f._function.updates[update])


def recurrence(f: hl.Func, update: int = 0) -> Recurrence:
    it = found(f, update)
    assert isinstance(it, Recurrence), it
    return it


def scan(
    update: Callable[[hl.Func, hl.RDom], Any], width: int = 12, t: Any = None
) -> hl.Func:
    """A Func of floats with one update along its first dimension."""
    f, r = hl.Func("f"), hl.RDom([(0, width)], "r")
    f[x, y] = hl.cast(hl.Float(32) if t is None else t, x + 3 * y)
    f[r, y] = update(f, r)
    return f


def test_a_filter_of_second_order() -> None:
    f = scan(lambda f, r: 0.5 * f[r, y] + 0.3 * f[r - 1, y] - 0.1 * f[r - 2, y])
    it = recurrence(f)
    (value,) = it.values
    assert (it.position, it.step, it.order, it.causal) == (0, 1, 2, True)
    assert value.own is not None and text(value.own) == "0.5f"
    shown = [None if a is None else text(a) for a in value.feedback]
    assert shown[0] == "0.3f" and "0.1f" in (shown[1] or "")
    assert value.rest is None


def test_an_anticausal_sum_of_another_func() -> None:
    g = hl.Func("g")
    g[x, y] = x * y
    f, r = hl.Func("f"), hl.RDom([(0, 12)], "r")
    f[x, y] = 0
    f[x, 11 - r] = g[11 - r, x] + f[x, 12 - r]
    it = recurrence(f)
    assert (it.position, it.step, it.order) == (1, -1, 1)
    assert it.values[0].own is None
    assert it.values[0].rest is not None and "g" in text(it.values[0].rest)


def test_coefficients_of_pixels_and_conditions() -> None:
    w = hl.ImageParam(hl.Float(32), 2, "w")
    f = scan(
        lambda f, r: (
            f[r, y] * (1 - w[r, y]) + w[r, y] * hl.select(r > 0, f[r - 1, y], 0.0)
        )
    )
    (value,) = recurrence(f).values
    assert value.feedback[0] is not None and "select" in text(value.feedback[0])
    assert value.own is not None and "w" in text(value.own)


def test_a_tuple_of_two() -> None:
    f, r = hl.Func("f"), hl.RDom([(0, 9)], "r")
    f[x] = hl.Tuple(x, hl.f32(x))
    f[r] = hl.Tuple(f[r][0] + f[r - 1][0], f[r][1] + f[r - 3][1] / 2)
    it = recurrence(f)
    assert [len(v.feedback) for v in it.values] == [1, 3]
    assert it.values[1].feedback[:2] == (None, None)


@pytest.mark.parametrize(
    "update, why",
    [
        (lambda f, r: f[r, y] + 1, "reads no earlier value"),
        (lambda f, r: f[r + 1, y], "come later"),
        (lambda f, r: f[r - 1, y] * f[r, y], "with each other"),
        (lambda f, r: hl.max(f[r - 1, y], 0.0), "not a sum of multiples"),
        (lambda f, r: hl.f32(hl.i32(f[r - 1, y])), "a conversion"),
        (lambda f, r: f[r - r, y], "not a constant"),
        (lambda f, r: hl.select(f[r - 1, y] > 0, 1.0, 2.0), "what it chooses"),
        (lambda f, r: hl.strict_float(f[r - 1, y] + f[r, y]), "not a sum"),
        (lambda f, r: 1.0 / f[r - 1, y], "with each other"),
    ],
)
def test_what_is_none(update: Any, why: str) -> None:
    it = found(scan(update))
    assert isinstance(it, NoRecurrence) and why in it.reason, it


def test_domains_that_are_no_scan() -> None:
    f, r = hl.Func("f"), hl.RDom([(0, 9)], "r")
    f[x] = x
    r.where(r > 3)
    f[r] = f[r - 2]
    assert "leaves out" in str(found(f))
    g, r = hl.Func("g"), hl.RDom([(0, 9)], "r")
    g[x] = x
    g[2 * r] = g[2 * r - 2]
    assert "does not advance by one" in str(found(g))
    h = hl.Func("h")
    h[x, y] = x
    h[x, 3] = h[x, 2]
    assert "no reduction domain" in str(found(h))
    k, r = hl.Func("k"), hl.RDom([(0, 9)], "r")
    k[x, y] = x
    k[r, r] = k[r - 1, r]
    assert "more than one of its coordinates" in str(found(k))
    m, r = hl.Func("m"), hl.RDom([(0, 9), (0, 9)], "r")
    m[x, y] = x
    m[r.x, r.y] += m[r.x - 1, r.y] + m[r.x, r.y - 1]
    assert "more than one dimension" in str(found(m))


# Random updates: what is found of them computes the same.


def drawn(rng: random.Random) -> tuple[hl.Func, bool]:
    """A Func with one affine update, and whether it is of integers."""
    whole = rng.random() < 0.5
    t = rng.choice([hl.Int(32), hl.UInt(16), hl.Int(8)]) if whole else hl.Float(64)
    causal, along = rng.random() < 0.5, rng.randrange(2)
    width = 9
    f, r = hl.Func("f"), hl.RDom([(0, width)], "r")
    image = hl.Buffer(np.arange(40, dtype=np.int32) % 7)
    f[x, y] = hl.cast(t, 2 * x - 3 * y + image[hl.clamp(x, 0, 39)])
    at = r + 1 if causal else width - r

    def read(lag: int) -> Any:
        c = at - lag if causal else at + lag
        return f[c, y] if along == 0 else f[x, c]

    def number() -> Any:
        free = [hl.cast(t, y if along == 0 else x), hl.cast(t, r)]
        small = rng.randrange(-3, 4) if whole else rng.uniform(-0.6, 0.6)
        return rng.choice([hl.cast(t, small), hl.cast(t, small), *free])

    def term(depth: int) -> Any:
        kind = rng.randrange(7 if depth else 2)
        if kind == 0:
            return read(rng.randrange(0, 5))
        if kind == 1:
            return number()
        if kind == 2:
            return term(depth - 1) + term(depth - 1)
        if kind == 3:
            return term(depth - 1) - term(depth - 1)
        if kind == 4:
            a, b = term(depth - 1), number()
            return a * b if rng.random() < 0.5 else b * a
        if kind == 5:
            return hl.select(r % 3 == 1, term(depth - 1), term(depth - 1))
        return hl.likely(term(depth - 1))

    value = term(3) + read(rng.randrange(1, 4))
    if along == 0:
        f[at, y] = value
    else:
        f[x, at] = value
    return f, whole


def rebuilt(f: hl.Func, it: Recurrence) -> hl.Func:
    """The same Func, its update written as the recurrence says."""
    g = hl.Func("g")
    function = f._function
    assert function.pure is not None
    pure = [wrap(v) for v in function.pure.values]
    g[x, y] = pure[0]
    (d,) = function.updates
    args = [wrap(a) for a in d.args]
    (value,) = it.values
    total: Any = None
    coefficients = [value.own, *value.feedback]
    for lag, c in enumerate(coefficients):
        if c is None:
            continue
        at = list(args)
        at[it.position] = at[it.position] - it.step * lag
        product = wrap(c) * g[tuple(at)]
        total = product if total is None else total + product
    if value.rest is not None:
        total = total + wrap(value.rest)
    g[tuple(args)] = total
    return g


@pytest.mark.parametrize("seed", range(60))
def test_the_recurrence_computes_the_same(seed: int) -> None:
    f, whole = drawn(random.Random(seed))
    it = recurrence(f)
    box = [(0, 11), (0, 11)]
    wanted = interpret(f._function, box)[0]
    got = interpret(rebuilt(f, it)._function, box)[0]
    if whole:
        np.testing.assert_array_equal(got, wanted)
    else:
        scale = np.abs(wanted).max() + 1
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9 * scale)
