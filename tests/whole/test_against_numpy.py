"""Operators, indexing, functions and reductions of arrays, beside NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from parhelion.whole.elementwise import OPERATIONS
from tests.whole.support import compare, pixels

DTYPES = ("uint8", "int8", "uint16", "int32", "int64", "float32", "float64", "bool")
#: Without a meaning for Bools, in NumPy or here.
NOT_OF_BOOLS = {"subtract", "negative", "sign", "power", "positive", "floor_divide"}
NOT_OF_BOOLS |= {"remainder", "left_shift", "right_shift", "square", "reciprocal"}
OF_INTEGERS = {"left_shift", "right_shift", "invert"}
OF_INTEGERS |= {name for name in OPERATIONS if name.startswith("bitwise")}
#: Their results differ in the last digits, or beyond their domain.
INSIDE_ONE = {"arcsin", "arccos", "arctanh"}


def operands(name: str, dtype: str, count: int) -> list[np.ndarray]:
    found = [pixels((3, 5), dtype, seed) for seed in range(count)]
    if name in INSIDE_ONE:
        return [(a.astype("float64") % 0.9).astype(dtype) for a in found]
    if name in ("arccosh", "log", "log2", "log10", "sqrt"):
        return [np.abs(a.astype("float64") % 60 + 1).astype(dtype) for a in found]
    if name in ("exp", "sinh", "cosh", "float_power", "power"):
        return [(np.abs(a.astype("float64")) % 4 + 1).astype(dtype) for a in found]
    if name.endswith("_shift"):
        return [found[0], (np.abs(found[1].astype("int64")) % 7).astype(dtype)]
    if name == "tan":
        return [(a.astype("float64") % 1.4).astype(dtype) for a in found]
    if name == "reciprocal":
        return [np.where(a == 0, 1, a).astype(dtype) for a in found]
    return found


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_operations(name: str) -> None:
    ufunc: np.ufunc = getattr(np, name)
    for dtype in DTYPES:
        if dtype == "bool" and name in NOT_OF_BOOLS:
            continue
        if name in OF_INTEGERS and dtype.startswith("float"):
            continue
        if name in ("floor", "ceil", "trunc") and dtype == "bool":
            continue
        if name == "reciprocal" and not dtype.startswith("float"):
            continue  # NumPy's is of integers an integer
        arrays = operands(name, dtype, ufunc.nin)
        if name in ("power", "float_power"):
            compare(lambda a, b: ufunc(a, 3), *arrays)
            if not dtype.startswith("float") and name == "power":
                continue
        if ufunc.nin == 1:
            compare(lambda a: ufunc(a), *arrays)
        else:
            compare(lambda a, b: ufunc(a, b), *arrays)


A = pixels((5, 7, 3))
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "weak int": lambda a: a + 1 - 3 * a,
    "weak float": lambda a: a * 0.5 + 1,
    "reflected": lambda a: (255 - a) // 2 + 7 % (a + 1),
    "true division": lambda a: (a / 7, 1 / (a + 1.0)),
    "power": lambda a: (a**2, a**2.0, a**0.5),
    "comparison beyond": lambda a: (a < 300, a > -1, a == 1000),
    "cast": lambda a: (a.astype("float32"), a.astype(np.int16) - 300, a.astype(bool)),
    "own type": lambda a: (a * 1.5).clip(0, 255).astype(a.dtype),
    "minus": lambda a: (-a, ~a, +a, abs(a.astype("int8"))),
    "rounding": lambda a: (np.round(a / 7), np.rint(a / 2), (a / 3).round(1)),
    "where": lambda a: np.where(a > 100, a, 0),
    "where of both": lambda a: np.where((a > 50) & ~(a > 100), a * 2.0, -a / 2),
    "slices": lambda a: (a[1:-1], a[:, ::2], a[::-1, 5:1:-2, :2], a[..., 0]),
    "empty slices": lambda a: (a[4:2], a[10:], a[:0, :, 1]),
    "ends beyond": lambda a: (a[-100:3], a[2:100], a[100::-1, -9:]),
    "numbers": lambda a: (a[0], a[-1, 2], a[:, -2, 1], a[3, 4, 2]),
    "new axes": lambda a: (a[None], a[:, None, :, 0], a[..., None]),
    "slice of a slice": lambda a: a[1:][::2][:, 1:-1],
    "stencil": lambda a: a[2:] / 4 + a[1:-1] / 2 + a[:-2] / 4,
    "twice": lambda a: (lambda b: b[:, 2:] - b[:, :-2])(a[1:] * 2.0 - a[:-1]),
    "transposed": lambda a: (a.T, a.transpose(1, 0, 2), np.transpose(a, (2, 0, 1))),
    "moved": lambda a: (np.moveaxis(a, 2, 0), np.swapaxes(a, 0, 1), np.flip(a, 1)),
    "squeezed": lambda a: (np.squeeze(a[:1]), np.expand_dims(a, 1), a[:, :1] + a),
    "rolled": lambda a: (np.roll(a, 2, axis=1), np.roll(a, (1, -9), axis=(0, 1))),
    "stacked": lambda a: (np.stack([a, a * 2.0], 1), np.concatenate([a, a[:2]], 0)),
    "like": lambda a: (np.zeros_like(a), np.full_like(a, 7), np.ones_like(a[0])),
    "sums": lambda a: (a.sum(), a.sum(axis=0), a.sum(axis=(0, -1), keepdims=True)),
    "more sums": lambda a: (np.sum(a, 1), np.add.reduce(a), (a / 7).sum(axis=-1)),
    "means": lambda a: (a.mean(), np.mean(a, axis=-1), a.mean(axis=0, keepdims=True)),
    "spread": lambda a: (a.var(), np.std(a, axis=1), a.std(axis=2, ddof=1)),
    "extremes": lambda a: (a.max(), np.min(a, axis=1), a.max(axis=(0, 1))),
    "any": lambda a: ((a > 190).any(), np.all(a > 3, axis=0), (a > 9).all(axis=1)),
    "product": lambda a: (a[:2].prod(axis=0), np.prod(a / 100, axis=2)),
    "of reductions": lambda a: (a - a.mean(axis=(0, 1))) / (a.std(axis=(0, 1)) + 1),
    "normalised": lambda a: (a - a.min()) / (a.max() - a.min()),
    "clipped": lambda a: (np.clip(a, 10, 99.5), a.clip(None, 9), a.clip(5, None)),
    "with a constant": lambda a: a * np.array([1, 2, 3], np.int16) + np.float32(2),
    "with columns": lambda a: a * np.arange(5)[:, None, None],
    "nan": lambda a: np.maximum(np.where(a > 99, np.nan, a / 2), 3.0),
    "max of nan": lambda a: np.where(a > 150, np.nan, a / 2).max(axis=1),
    "min of nan": lambda a: np.where(a > 150, np.nan, a / 2).min(axis=0),
    "ignoring nan": lambda a: np.fmin(np.where(a > 150, np.nan, a / 2), a / 3),
    "one value": lambda a: np.full_like(a, 3) + 0,
    "of itself": lambda a: a,
}
for _mode in ("edge", "reflect", "symmetric", "wrap", "constant"):
    FUNCTIONS[f"pad {_mode}"] = lambda a, m=_mode: (  # type: ignore[misc]
        np.pad(a, ((2, 1), (0, 3), (0, 0)), mode=m),
        np.pad(a * 2.0 - 1, ((6, 0), (1, 9), (0, 0)), mode=m),
    )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    compare(FUNCTIONS[name], A)


@pytest.mark.parametrize("one", DTYPES)
@pytest.mark.parametrize("other", DTYPES)
def test_types_of_two_arrays(one: str, other: str) -> None:
    compare(lambda a, b: a * b, pixels((2, 3), one), pixels((3,), other, 1))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((4, 5), (5,)),
        ((4, 1), (1, 5)),
        ((1,), (3, 4)),
        ((3, 4, 2), (4, 1)),
        ((1, 1), (1, 1)),
        ((4, 5), (1, 5)),
        ((2, 3, 4, 5), (3, 1, 5)),
        ((), (3, 4)),
        ((0, 4), (1, 4)),
    ],
)
def test_broadcasting(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    a, b = pixels(one), pixels(other, "int16", 1)
    compare(lambda a, b: a - b, a, b)
    compare(lambda a, b: np.where(b > 0, a, b * 2.0), a, b)


def test_outer_products() -> None:
    v = np.arange(6, dtype=np.int16) - 2
    compare(lambda v: v[:, None] * v[None, :], v)
    compare(lambda v: v[:, None] // v[None, 3:], v)
    compare(lambda v: v[:, None] % v[None, 3:], v)


def test_constants_of_floats_are_rounded_as_numpys_are() -> None:
    compare(lambda a: a * 0.1 + 0.2, pixels((3, 4), "float32"))
    compare(lambda a: a * 0.1 + 0.2, pixels((3, 4), "float64"), tolerance=1e-12)
