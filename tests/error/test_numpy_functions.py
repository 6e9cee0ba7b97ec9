"""NumPy's functions of expressions: operators hold, others name the language's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.lang import ufuncs

x, y = hl.vars("x y")


def refused(program: Callable[[], object]) -> hl.TypeMismatchError:
    with pytest.raises(hl.TypeMismatchError) as caught:
        program()
    assert caught.value.at is not None
    assert Path(caught.value.at.file) == Path(__file__)
    return caught.value


@pytest.mark.parametrize(
    ("called", "instead"),
    [
        (lambda e: np.sqrt(e), "hl.sqrt(e)"),
        (lambda e: np.maximum(e, 3), "hl.max(a, b)"),
        (lambda e: np.minimum(3, e), "hl.min(a, b)"),
        (lambda e: np.arctan2(e, 3), "hl.atan2(a, b)"),
        (lambda e: np.isnan(e), "hl.is_nan(e)"),
        (lambda e: np.negative(e), "-e"),
        (lambda e: np.cbrt(e), ""),
        (lambda e: np.add.reduce(e), ""),
        (lambda e: np.divmod(e, 3), ""),
        (lambda e: np.ones(3) @ e, ""),
    ],
)
def test_what_the_language_has_instead(
    called: Callable[[Any], object], instead: str
) -> None:
    image = hl.ImageParam(hl.Float(32), 2)
    f = hl.Func("f")
    f[x, y] = image[x, y]
    for e in (x, f[x, y], f, image, image[x, y] + 1, hl.Param(hl.Float(32))):
        error = refused(lambda e=e: called(e))  # type: ignore[misc]
        assert (
            error.what.startswith("np.") and "does not take expressions" in error.what
        )
        assert error.hint == (f"{instead} does" if instead else "")


def test_what_is_named_instead_is_there() -> None:
    for name, instead in ufuncs._INSTEAD.items():
        assert isinstance(getattr(np, name), np.ufunc)
        if instead.startswith("hl."):
            assert callable(getattr(hl, instead[3:].split("(")[0]))


@pytest.mark.parametrize(
    ("function", "operator"),
    [
        (np.add, lambda a, b: a + b),
        (np.subtract, lambda a, b: a - b),
        (np.divide, lambda a, b: a / b),
        (np.power, lambda a, b: a**b),
        (np.left_shift, lambda a, b: a << b),
        (np.less, lambda a, b: a < b),
        (np.greater_equal, lambda a, b: a >= b),
        (np.not_equal, lambda a, b: a != b),
    ],
)
def test_operators_are_the_languages(
    function: np.ufunc, operator: Callable[[Any, Any], Any]
) -> None:
    """NumPy asks for its scalars' operators as for its functions."""
    e = hl.u8(x) + 1
    two = np.uint8(2)
    for a, b in ((e, two), (two, e), (e, e + 1)):
        assert repr(operator(a, b)) == repr(function(a, b))
        if function is not np.not_equal:  # Python asks the second operand
            expected = operator(hl.Expr(a), hl.Expr(b))
            assert repr(operator(a, b)) == repr(expected)


def test_arrays_are_no_operands() -> None:
    a: Any = np.arange(3)
    for program in (lambda: a * x, lambda: x - a, lambda: a < x, lambda: a == x):
        error = refused(program)
        assert error.what == "a NumPy array of shape (3,) is not an expression"
    error = refused(lambda: a.__iadd__(x))
    assert "cannot be stored in an array" in error.what
    f = hl.Func("f")
    assert (a == f) is False and (a != f) is True
    many = np.array([x, y]) + np.array([1, 2])
    assert [repr(e) for e in many] == [repr(x + 1), repr(y + 2)]
