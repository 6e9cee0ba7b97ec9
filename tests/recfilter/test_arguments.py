"""Odd arguments of recursive filters: each ends in a sentence at the user's line."""

from __future__ import annotations

import copy
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import parhelion as hl
from parhelion.recfilter import (
    RecFilter,
    RecFilterDim,
    filtfilt,
    gaussian_weights,
    iir,
    sosfilt,
)

Array = NDArray[Any]

line = np.ones(64, np.float32)
pair = np.ones((2, 2))
SECTION = [[0.5, 0, 0, 1, -0.5, 0]]


def over(source: Array) -> tuple[RecFilter, RecFilterDim]:
    x = RecFilterDim("x", len(source))
    f = RecFilter("f")
    f[x] = hl.Buffer(source)[x]
    return f, x


def defined(value: Any) -> None:
    RecFilter("f")[RecFilterDim("x", 64)] = value


def added(*coefficients: Any) -> None:
    f, x = over(line)
    f.add_filter(+x, *coefficients)


def second_order() -> RecFilter:
    f, x = over(line)
    f.add_filter(+x, [0.15, 1.2, -0.35])
    return f


image, param = hl.Buffer(line), hl.ImageParam(hl.Float(32), 1, "param")
other, v = hl.Func("other"), hl.Var("v")
other[v] = hl.f32(v)

PIXELS = r"filters the pixels of an? (.*\n)*hint: f.x. = image.x."
NO_LIST = "must be a list of numbers"


@pytest.mark.parametrize(
    ("call", "kind", "why"),
    [
        (lambda: RecFilter(3), "TypeMismatch", "a RecFilter is a string, not 3"),  # type: ignore[arg-type]
        (lambda: RecFilter(pair), "TypeMismatch", "name of a RecFilter is a string"),  # type: ignore[arg-type]
        (lambda: RecFilter("f", pair), "Definition", "RecFilter: there is no border"),  # type: ignore[arg-type]
        (lambda: defined(image), "Definition", PIXELS),
        (lambda: defined(param), "Definition", PIXELS),
        (lambda: defined(other), "Definition", PIXELS),
        (lambda: defined(line), "Definition", PIXELS),
        (lambda: defined(over(line)[0]), "Definition", PIXELS),
        (lambda: defined((hl.f32(1), image)), "Definition", PIXELS),
        (lambda: defined(np.datetime64("2020")), "TypeMismatch", "no matching pixel"),
        (lambda: added(np.array(3.0)), "TypeMismatch", NO_LIST),
        (lambda: added(np.datetime64("2020")), "TypeMismatch", NO_LIST),
        (lambda: added({1, 0.5}), "TypeMismatch", NO_LIST),
        (lambda: added({1: 0.5}), "TypeMismatch", NO_LIST),
        (lambda: added(b"ab"), "TypeMismatch", NO_LIST),
        (lambda: added([1, 0.5], np.array(3.0)), "TypeMismatch", NO_LIST),
        (lambda: gaussian_weights(1j), "TypeMismatch", "takes a sigma, a number"),  # type: ignore[arg-type]
        (lambda: gaussian_weights(Decimal(3)), "TypeMismatch", "takes a sigma"),  # type: ignore[arg-type]
        (lambda: gaussian_weights(pair), "TypeMismatch", "takes a sigma, a number"),  # type: ignore[arg-type]
        (lambda: gaussian_weights(10**400), "Definition", "must be positive, and a"),
        (lambda: gaussian_weights(np.inf), "Definition", "must be positive, and a"),
        (lambda: gaussian_weights(1e6), "Definition", "a0 = .* float64 rounds by"),
        (lambda: iir(line, [1], [1], axis=pair), "TypeMismatch", "is an integer"),  # type: ignore[call-overload]
        (
            lambda: iir(line, [1], [1], border="edge"),
            "Definition",
            "iir: there is no b",
        ),
        (lambda: iir(line, [1], [1], reverse="no"), "TypeMismatch", "True or False"),  # type: ignore[call-overload]
        (lambda: iir(line, [1], [1], reverse=pair), "TypeMismatch", "True or False"),  # type: ignore[call-overload]
        (lambda: sosfilt(SECTION, line, border="b"), "Definition", "sosfilt: there is"),
        (lambda: sosfilt(SECTION, line, reverse=1), "TypeMismatch", "True or False"),  # type: ignore[call-overload]
        (lambda: filtfilt([1], [1], line, padlen=pair), "TypeMismatch", "an integer"),  # type: ignore[call-overload]
        (lambda: iir(line, [1], [1], axis=True), "TypeMismatch", "integer, not True"),
        (lambda: sosfilt(SECTION, line, axis=False), "TypeMismatch", "not False"),
        (
            lambda: filtfilt([1], [1], line, padlen=True),
            "TypeMismatch",
            "filtfilt: padlen is an integer, not True",
        ),
        (
            lambda: iir(other, [1], [1], sizes=[True]),
            "TypeMismatch",
            "iir: a size is an integer, not True",
        ),
        (
            lambda: iir(other, [1], [1], sizes=np.array([64])),  # type: ignore[call-overload]
            "TypeMismatch",
            r"sizes are a list, not array\(\[64\]\)\n(.*\n)*hint: \[64\]$",
        ),
        (lambda: iir([1], [1], [1, line]), "TypeMismatch", r"not array.{,60}\n"),  # type: ignore[call-overload]
        (
            lambda: defined(hl.f32(v)),
            "Definition",
            "'f' mentions the variable v, which",
        ),
        (lambda: added([hl.f32(v)]), "Definition", "coefficient 0 mentions the var"),
        (lambda: RecFilterDim("x", True), "Definition", "an integer, not True"),
        (lambda: second_order().cascade([False]), "Schedule", r"not \[False\]"),
        (lambda: second_order().cascade(), "Schedule", "empty, not no lists"),
        (lambda: second_order().factor_filter_order(True, True), "Schedule", "orders"),
        (lambda: second_order().factor_filter_order(0, 2), "Schedule", "not 0, 2"),
        (lambda: second_order().factor_filter_order(1.0, 1), "Schedule", "positive"),  # type: ignore[arg-type]
        (lambda: second_order().factor_filter_order(), "Schedule", "not none"),
        (
            lambda: second_order().factor_filter_order(1, 2),
            "Schedule",
            r"of orders \[1, 2\] do not make one of order 2, as their sum is 3",
        ),
        (lambda: second_order().intra_schedule(pair), "Schedule", "not array"),  # type: ignore[arg-type]
        (lambda: second_order().intra_schedule(1.0), "Schedule", "not 1.0"),  # type: ignore[arg-type]
        (
            lambda: second_order().draw("f.png"),
            "Halide",
            r"ends with .svg, not 'f.png'",
        ),
        (lambda: second_order().draw("f"), "Halide", r"hint: f.draw\('f.svg'\)"),
    ],
)
def test_sentences(call: Callable[[], object], kind: str, why: str) -> None:
    with pytest.raises(getattr(hl, f"{kind}Error"), match=why) as met:
        call()
    assert __file__ in str(met.value)


def test_numbers_of_numpy_are_numbers() -> None:
    wanted = gaussian_weights(5.0, 2)
    assert gaussian_weights(np.float64(5), np.int64(2)) == wanted  # type: ignore[arg-type]
    assert gaussian_weights(np.array(5), 2) == wanted  # type: ignore[arg-type]
    halves = second_order().factor_filter_order(np.int64(1), np.int8(1))  # type: ignore[arg-type]
    assert [one.filters()[0].order for one in halves] == [1, 1]
    back = np.True_
    backwards = iir(line, [0.5], [1, -0.5], reverse=True)
    assert (iir(line, [0.5], [1, -0.5], reverse=back) == backwards).all()  # type: ignore[call-overload]


# Integers wrap, and so do coefficients.


@pytest.mark.parametrize("kind", ["uint8", "uint16", "uint32", "int8", "int32"])
@pytest.mark.parametrize("split", [0, 16])
def test_coefficients_wrap(kind: str, split: int) -> None:
    """-1 is 255 in 8 bits; sums, differences, and sums of sums of those."""
    t = np.dtype(kind)
    top, source = 1 << 8 * t.itemsize, np.arange(50, 114).astype(t)
    f, x = over(source)
    f.add_filter(+x, [1, top - 1])
    f.add_filter(+x, [1, 2, top - 1])
    f.add_filter(-x, [top + 1, 1, top], feedforward=[1, top - 1])
    assert [one.order for one in f.filters()] == [1, 2, 1]
    f.split(x, split or 64)
    wanted = source.astype(object)
    for i in range(1, 64):
        wanted[i] -= wanted[i - 1]
    for i in range(1, 64):
        wanted[i] += 2 * wanted[i - 1] - (wanted[i - 2] if i > 1 else 0)
    # A difference, and its sum.
    np.testing.assert_array_equal(
        np.asarray(f.realize()).astype(object) % top, wanted % top
    )


def test_coefficients_that_wrap_to_unstable_ones() -> None:
    f, x = over(np.ones(9, np.uint8))
    with pytest.raises(hl.DefinitionError, match="pole of magnitude 56"):
        f.add_filter(+x, [1, 200])


def test_a_split_is_made_as_a_whole_or_not_at_all() -> None:
    x, y = RecFilterDim("x", 64), RecFilterDim("y", 48)
    f = RecFilter("f")
    f[x, y] = hl.f32(x + y)
    f.add_filter(+x, [0.5, 0.5])
    f.add_filter(+y, [0.5, 0.5])
    with pytest.raises(hl.ScheduleError, match="tiles of 0 points along y"):
        f.split(x, 16, y, 0)
    assert "tile" not in f.explain()


def test_a_refused_picture_leaves_the_filter_open() -> None:
    f, x = over(line)
    with pytest.raises(hl.HalideError, match="ends with .svg"):
        f.draw("f.png")
    f.add_filter(+x, [0.5, 0.5])


# Copies.


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copies_are_independent(copied: Callable[[RecFilter], RecFilter]) -> None:
    f, x = over(line)
    f.add_filter(+x, [1, 0.5])
    g = copied(f)
    g.add_filter(-x, [1, 0.5])
    g.split(x, 16)
    assert (len(f.filters()), len(g.filters())) == (1, 2)
    assert "whole lines" in f.explain()
    first = np.asarray(f.realize())
    h = copied(f)  # which is not made yet
    h.add_filter(-x, [1, 0.5])
    np.testing.assert_allclose(np.asarray(h.realize()), np.asarray(g.realize()))
    np.testing.assert_array_equal(np.asarray(f.realize()), first)


# What never ended.


def test_a_filter_is_no_list_of_values() -> None:
    f, _ = over(line)
    with pytest.raises(hl.TypeMismatchError, match="has no elements to iterate over"):
        list(f)


def test_orders_beyond_all_use() -> None:
    f, x = over(line)
    with pytest.raises(hl.DefinitionError, match="order 1000 reads more than 512"):
        f.add_filter(+x, [1, *[0.5 / 1000] * 1000])
