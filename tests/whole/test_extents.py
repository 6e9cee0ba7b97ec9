"""Extents in arithmetic: they are Python numbers to NumPy, and to a traced function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import parhelion as hl

Function = Callable[[Any], Any]

USES: dict[str, Function] = {
    "quotient": lambda a: a / a.shape[0],
    "product": lambda a: a * a.shape[0],
    "before the array": lambda a: a.shape[0] - 1 - a[::-1],
    "half of an odd one": lambda a: a * (a.shape[1] / 2),
    "reciprocal": lambda a: a * (1.0 / a.shape[0]),
    "aspect": lambda a: a.shape[0] / a.shape[1] * a,
    "quotient by a negative": lambda a: a.astype("int64") + a.shape[1] // -2,
    "remainder by a negative": lambda a: a.astype("int64") + a.shape[1] % -4,
    "negative": lambda a: -a.shape[0] + a.astype("int64"),
    "square": lambda a: a + (a.shape[0] ** 2 - a.shape[0] * a.shape[0]),
    "mean": lambda a: a.astype("float64").sum() / a.size,
    "choice": lambda a: np.where(a > 2, a.shape[0], 0),
    "beside a Bool": lambda a: (a > 3) * a.shape[1],
    "smaller": lambda a: np.minimum(a, a.shape[1]),
    "comparisons": lambda a: (a.shape[0] > a) | (a.shape[0] / 2 == a),
    "functions": lambda a: np.maximum(a.shape[0], a) + abs(a.shape[1] - 9) * a,
    "root": lambda a: a.astype("float64") * np.sqrt(a.shape[1]),
    "order": lambda a: (a.shape[1] <= a) ^ (a.shape[1] != a),
}


@pytest.mark.parametrize("name", USES)
def test_extents_are_numbers(name: str) -> None:
    """One type for all shapes: an extent of 1 is a Python int in the trace, too."""
    function = USES[name]
    made = hl.jit(function)
    for shape in ((3, 5), (1, 5), (4, 1), (7, 2)):
        for kind in (np.int16, np.uint64, np.float16, np.float32, np.float64):
            a = np.arange(np.prod(shape)).reshape(shape).astype(kind)
            wanted = np.asarray(function(a))
            if (
                kind is np.int16
                and wanted.dtype == np.float64
                and name not in ("mean", "root")
            ):
                wanted = wanted.astype(np.float32)
            found = np.asarray(made(a))
            assert found.dtype == wanted.dtype
            tolerance = 4 * np.finfo(found.dtype).eps if found.dtype.kind == "f" else 0
            np.testing.assert_allclose(found, wanted, rtol=tolerance)


def test_an_extent_that_does_not_fit() -> None:
    made = hl.jit(lambda a: a * a.shape[0])
    assert made(np.ones((255, 2), np.uint8)).dtype == np.uint8
    with pytest.raises(hl.LiteralError, match=r"made of extents, .* is 256"):
        made(np.ones((256, 2), np.uint8))


def test_extents_among_expressions() -> None:
    """Beside expressions of other kinds an extent has the rules of the language."""

    @hl.jit
    def turned(a: hl.Array) -> hl.Array:
        half = hl.i32(a.shape[1]) / 2
        assert half.type() == hl.Int(32)
        assert (a.shape[1] + hl.u8(3)).type() == hl.Int(32)
        return a + half

    a = np.ones((4, 5), np.float64)
    np.testing.assert_array_equal(turned(a), a + 2)
