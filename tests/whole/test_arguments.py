"""How the arguments of functions under `hl.jit` are given, and told from each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parhelion as hl
from tests.whole.support import agree, pixels


def test_numbers_that_are_named_static() -> None:
    @hl.jit(static=["k"])
    def shifted(a: hl.Array, k: int) -> hl.Array:
        found: hl.Array = a[k:]
        return found

    a = pixels((9, 4))
    for k in (2, 3, 2, 0):
        agree(shifted(a, k), a[k:])
        agree(shifted(a, k=k), a[k:])


@pytest.mark.parametrize(
    "values",
    [
        ((1,), (1.0,), (True,), (np.float32(1),), (np.int16(1),)),
        (((1, 2),), ((1.0, 2),)),
        (frozenset([1]), frozenset([1.0])),
    ],
)
def test_equal_values_of_other_classes_are_others(values: tuple[Any, ...]) -> None:
    calls = []

    @hl.jit
    def told(a: hl.Array, k: Any) -> hl.Array:
        calls.append(k)
        return a

    for value in (*values, *values):
        told(pixels((2, 3)), value)
    assert [repr(k) for k in calls] == [repr(v) for v in values]


def test_both_zeros_and_no_number() -> None:
    calls = []

    @hl.jit(static=["k"])
    def told(a: hl.Array, k: float) -> hl.Array:
        calls.append(k)
        return a

    for k in (0.0, -0.0, float("nan"), float("nan"), 0.0, -0.0):
        told(pixels((2, 3)), k)
    assert [str(k) for k in calls] == ["0.0", "-0.0", "nan"]


def test_arguments_by_name_or_by_place_alone() -> None:
    @hl.jit
    def scaled(a: hl.Array, /, b: float = 1, *, gain: float = 2) -> hl.Array:
        found: hl.Array = a * gain + b
        return found

    @hl.jit
    def inside(a: hl.Array) -> hl.Array:
        found: hl.Array = scaled(a, gain=3) + scaled(a, 5)
        return found

    a = pixels((3, 5), "float32")
    agree(scaled(a), a * 2 + 1)
    agree(scaled(a, 4, gain=5), a * 5 + 4)
    agree(scaled(a, gain=5, b=7), a * 5 + 7)
    agree(inside(a), a * 5 + 6)
    with pytest.raises(hl.TypeMismatchError, match="takes 2 arguments by their places"):
        scaled(a, 4, 5)
    with pytest.raises(hl.TypeMismatchError, match="'a' of scaled is missing"):
        scaled(a=a)


def test_methods() -> None:
    class Gain:
        def __init__(self, by: float) -> None:
            self.by = by

        @hl.jit
        def applied(self, a: hl.Array, more: float = 0) -> hl.Array:
            found: hl.Array = a * self.by + more
            return found

    a = pixels((3, 5), "float32")
    two, three = Gain(2), Gain(3)
    for _ in range(2):
        agree(two.applied(a), a * 2)
        agree(three.applied(a, more=1), a * 3 + 1)


def test_a_part_of_another_function_has_no_arrays_of_its_own() -> None:
    part = hl.jit(lambda a: a + 1)
    whole = hl.jit(lambda a: part(a, out=a))
    with pytest.raises(hl.TypeMismatchError, match="no arrays of its own for out="):
        whole(pixels((3, 5)))
