"""Slices whose ends are made of extents, beside NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import parhelion as hl

Function = Callable[[Any], Any]


def stencil(a: Any) -> Any:
    """The sum of nine neighbours, as it is written with NumPy."""
    padded = np.pad(a, ((1, 1), (1, 1), (0, 0)), mode="edge")
    height, width = a.shape[0], a.shape[1]
    return sum(
        [padded[i : height + i, j : width + j] for i in range(3) for j in range(3)]
    )


SLICES: dict[str, Function] = {
    "stencil": stencil,
    "first half": lambda a: a[: a.shape[0] // 2],
    "second half": lambda a: a[a.shape[0] // 2 :],
    "backwards": lambda a: a[a.shape[0] - 2 :: -1],
    "backwards in steps": lambda a: a[: a.shape[0] // 3 : -2],
    "from behind": lambda a: a[-(a.shape[1] // 2) :],
    "of either sign": lambda a: a[a.shape[0] // 2 - 4 :, : a.shape[1] // 2 - 3 : 2],
    "differences": lambda a: a[1 : a.shape[0]] - a[: a.shape[0] - 1],
    "beyond": lambda a: a[: a.shape[0] + 5, 2 - a.shape[1] :],
    "empty": lambda a: a[a.shape[0] : a.shape[0] - 3],
}


@pytest.mark.parametrize("name", SLICES)
def test_ends_of_extents(name: str) -> None:
    function = SLICES[name]
    made = hl.jit(function)
    for shape in ((7, 9, 3), (2, 3, 3), (5, 4, 3), (12, 31, 3)):
        a = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
        np.testing.assert_array_equal(made(a), function(a))


def test_an_end_that_is_no_extent() -> None:
    a = np.arange(12).reshape(3, 4)
    v = hl.Var("v")
    for end, told in (
        (lambda a: v, "not v, of type int32"),
        (lambda a: hl.f32(a.shape[0]), "of type float32"),
        (lambda a: a[0, 0], "an end of a slice is an integer, not <parhelion.Array"),
    ):
        with pytest.raises(hl.TypeMismatchError, match=told):
            hl.jit(lambda a, end=end: a[: end(a)])(a)


def test_parts_that_do_not_fit() -> None:
    made = hl.jit(lambda a: a[1 : a.shape[0]] + a[: a.shape[0] // 2])
    with pytest.raises(hl.BoundsError, match="do not fit together"):
        made(np.arange(12).reshape(3, 4).repeat(3, 0))
