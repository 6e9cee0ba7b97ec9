"""Photographs of few pixels, and what filters of them are compared by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

import parhelion as hl
from parhelion.interp import interpret
from parhelion.whole.core import loop_order

Pixels = np.ndarray[Any, np.dtype[Any]]

#: Odd sizes, one row, one column, one pixel, and channels.
SHAPES = [(23, 37), (17, 29, 3), (1, 9), (7, 1), (1, 1), (5, 4, 1)]
TYPES = ["uint8", "float32"]


def photo(shape: tuple[int, ...], dtype: str = "uint8", seed: int = 0) -> Pixels:
    """Pixels of all values of uint8; those of other integers to 60000, or what they
    hold; floats in [0, 1)."""
    made = np.random.default_rng(seed)
    if dtype.startswith("float"):
        return made.random(shape).astype(dtype)
    most = min(int(np.iinfo(dtype).max), 60000)
    low = max(int(np.iinfo(dtype).min), -1000)
    return made.integers(low, most + 1, shape).astype(dtype)


def same(found: Any, wanted: Any) -> None:
    """Equal bits. OpenCV drops a last axis of one channel."""
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted.reshape(found.shape))


def within(found: Any, wanted: Any, levels: float) -> None:
    """At most so many levels apart."""
    assert found.dtype == wanted.dtype
    apart = np.abs(found.astype(np.float64) - wanted.reshape(found.shape))
    assert apart.max(initial=0) <= levels


def rounding(image: Pixels, weights: Any) -> float:
    """How far two sums with weights, of floats of the image's type, are apart at most.

    A sum of n products, in any order, is off by n * eps times the sum of the absolute
    products (N. Higham, Accuracy and Stability, section 3.1); n is taken with two more
    for the rounding of weights and of the result.
    """
    table = np.abs(np.asarray(weights, np.float64))
    eps = float(np.finfo(image.dtype if image.dtype.kind == "f" else np.float32).eps)
    most = float(np.abs(image.astype(np.float64)).max(initial=0))
    return 2 * (table.size + 2) * eps * float(table.sum()) * most


def fused(call: Callable[[Any], Any], image: Pixels) -> None:
    """A filter gives the same as a part of a program, which computes its image first,
    and with named axes in another order."""

    @hl.jit
    def part(a: hl.Array) -> Any:
        return call(a + 0)

    same(part(image), call(image))
    if image.ndim == 3:

        @hl.jit
        def planar(a: Annotated[hl.Array, "cyx"]) -> Any:
            return call(a)

        found = planar(np.ascontiguousarray(image.transpose(2, 0, 1)))
        same(found.transpose(1, 2, 0), call(image))


def interpreted(made: hl.Array, wanted: Pixels) -> None:
    """The reference interpreter finds the same pixels of an Array, which is made of
    ones that are known."""
    order = loop_order(made._whole.shape)
    last = wanted.ndim - 1
    region = [(0, wanted.shape[last - p]) for p in order]
    (found,) = interpret(made.func._function, region)
    same(found.transpose([order.index(last - k) for k in range(last + 1)]), wanted)
