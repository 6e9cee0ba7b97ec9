"""What functions of arrays compute, beside what NumPy computes of the same text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import parhelion as hl

Pixels = np.ndarray[Any, np.dtype[Any]]


def pixels(shape: Sequence[int], dtype: str = "uint8", seed: int = 0) -> Pixels:
    """Elements of all values that a small integer type has; of floats, in [-8, 8)."""
    made = np.random.default_rng(seed)
    if dtype.startswith("float"):
        return (made.random(tuple(shape)) * 16 - 8).astype(dtype)
    if dtype == "bool":
        return made.random(tuple(shape)) < 0.5
    low = 0 if dtype.startswith("u") else -100
    return made.integers(low, 200 if low == 0 else 100, tuple(shape)).astype(dtype)


def agree(found: Any, wanted: Any, tolerance: float = 1e-5) -> None:
    """The same shapes and elements. Types are NumPy's, but that a float32 may stand for
    a float64 or a float16."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape
    if found.dtype != wanted.dtype:
        assert found.dtype == np.float32 and wanted.dtype in (np.float64, np.float16)
    if found.dtype.kind in "biu":
        np.testing.assert_array_equal(found, wanted)
    else:
        tolerance = 4e-3 if wanted.dtype == np.float16 else tolerance
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def compare(
    function: Callable[..., Any], *arrays: Pixels, tolerance: float = 1e-5
) -> None:
    """A function gives the same under `hl.jit` and of NumPy's arrays."""
    with np.errstate(all="ignore"):
        wanted = function(*arrays)
    found = hl.jit(function)(*arrays)
    if isinstance(wanted, tuple):
        for one, other in zip(found, wanted, strict=True):
            agree(one, other, tolerance)
    else:
        agree(found, wanted, tolerance)
