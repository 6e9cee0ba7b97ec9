"""Functions of arrays that gave other results than NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from tests.whole.support import compare, pixels

BYTES = pixels((5, 7))
INTS = pixels((5, 7), "int32")
LARGE = np.array([2**63, 1, 2**64 - 1], np.uint64)
SIGNED = np.array([-5, 7, 2**62, 2**62], np.int64)

Case = tuple[Callable[..., Any], tuple[Any, ...]]
CASES: dict[str, Case] = {
    "numbers that where chooses from": (
        lambda a: np.where(a > 100, 300, 0) + a,
        (BYTES,),
    ),
    "above all signed": (lambda a: a < 2**63, (SIGNED,)),
    "above all unsigned": (lambda a: np.greater_equal(2**64, a), (LARGE,)),
    "below all unsigned": (lambda a: a > -1, (LARGE,)),
    "below all bytes": (lambda a: a != -1, (BYTES,)),
    "the greatest": (lambda a: a == 2**64 - 1, (LARGE,)),
    "numbers of 64 bits": (lambda a: a - 2**63, (LARGE,)),
    "numbers of more": (lambda a: a * 2**70, (np.arange(4.0),)),
    "mean of unsigned": (lambda a: a.mean(), (LARGE,)),
    "mean of signed": (lambda a: a.mean(), (SIGNED,)),
    "one axis rolled twice": (lambda a: np.roll(a, (1, 2), axis=0), (BYTES,)),
    "an axis named twice": (lambda a: np.roll(a, (1, 2, 1), axis=(0, 1, 0)), (BYTES,)),
    "rolled by a NumPy number": (lambda a: np.roll(a, np.int64(3), -1), (BYTES,)),
    "nothing behind": (lambda a, b: np.concatenate([a, b]), (BYTES, BYTES[:0])),
    "tens": (lambda a: np.round(a, -1), (INTS,)),
    "digits of integers": (lambda a: a.round(2), (INTS,)),
    "shifted Bools": (lambda a: (a > 5) << (a > 9), (BYTES,)),
    "square of Bools": (lambda a: np.square(a > 5), (BYTES,)),
    "quotient of Bools": (lambda a: (a > 5) // (a >= 0), (BYTES,)),
}


@pytest.mark.parametrize("name", list(CASES))
def test_found(name: str) -> None:
    function, arrays = CASES[name]
    compare(function, *arrays)
    assert hl.jit(function)(*arrays).dtype == function(*arrays).dtype


def test_only_arrays_of_one_shape_are_stacked() -> None:
    f = hl.jit(lambda a, b: np.stack([a, b]))
    with pytest.raises(hl.BoundsError, match="do not fit together"):
        f(BYTES, BYTES[:1])
    with pytest.raises(hl.TypeMismatchError, match="stack takes arrays of one shape"):
        f(BYTES, BYTES[0])


def test_what_is_made_of_numbers_fits() -> None:
    f = hl.jit(lambda a, n: a + n * 100)
    assert np.array_equal(f(BYTES, 2), BYTES + np.uint8(200))
    with pytest.raises(hl.LiteralError, match="is 300, which does not fit the uint8"):
        f(BYTES, 3)


def _twos(a: Any) -> Any:
    return np.ones_like(a) + np.ones_like(a)


#: Of a value that is a constant, or in which the place has cancelled out.
CONSTANT: dict[str, Callable[[Any], Any]] = {
    "sum of the last axis": lambda a: _twos(a).sum(axis=-1),
    "sum": lambda a: _twos(a).sum(),
    "sum of what cancels out": lambda a: (a - a + 3).sum(axis=1),
    "prod": lambda a: _twos(a).prod(axis=0),
    "mean": lambda a: _twos(a).mean(axis=1),
    "mean of all": lambda a: _twos(a).mean(keepdims=True),
    "var": lambda a: _twos(a).var(axis=0),
    "std": lambda a: _twos(a).std(),
    "max": lambda a: _twos(a).max(axis=1),
    "min": lambda a: _twos(a).min(axis=0),
    "any": lambda a: (a == a).any(axis=0),
    "all": lambda a: (a != a).all(),
    "count": lambda a: (a <= a).sum(axis=1),
    "outer": lambda a: (_twos(a)[..., None] * _twos(a)[..., None, :]).sum(-1),
    "running sum": lambda a: np.cumsum(_twos(a), axis=0),
}


@pytest.mark.parametrize("name", list(CONSTANT))
@pytest.mark.parametrize("dtype", ["uint8", "int32", "float64"])
def test_constants_are_reduced_over_all_elements(name: str, dtype: str) -> None:
    f = CONSTANT[name]
    for shape in ((5, 7), (1, 1), (4, 1)):
        compare(f, pixels(shape, dtype))


@pytest.mark.parametrize("name", ["histogram", "equalize_hist", "threshold_otsu"])
def test_constants_are_counted_in_every_element(name: str) -> None:
    of = getattr(hl.filters, name)
    found = hl.jit(lambda a: of(np.ones_like(a) * 5))(BYTES)
    assert np.array_equal(found, of(np.full_like(BYTES, 5)))


def test_histograms_of_tiles_count_constants_in_every_element() -> None:
    image = pixels((24, 32))
    found = hl.jit(lambda a: hl.filters.clahe(np.ones_like(a) * 5))(image)
    assert np.array_equal(found, hl.filters.clahe(np.full_like(image, 5)))


@pytest.mark.parametrize("n", [3, 4, 33, 40])
def test_every_second_element_turned(n: int) -> None:
    a = np.arange(n, dtype=np.uint16)
    found = hl.jit(lambda a: np.roll(a[2::2], -3))(a)
    np.testing.assert_array_equal(found, np.roll(a[2::2], -3))
