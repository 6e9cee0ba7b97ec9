"""NumPy's functions of expressions: the language's own, or refused."""

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
        (lambda e: np.fmax(e, 3), "hl.max(a, b)"),
        (lambda e: np.cbrt(e), "hl.pow(e, 1 / 3)"),
        (lambda e: np.expm1(e), ""),
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


def test_functions_are_those_of_ufuncs() -> None:
    for name in [*ufuncs.FUNCTIONS, *ufuncs._INSTEAD]:
        assert isinstance(getattr(np, name), np.ufunc)


@pytest.mark.parametrize("name", sorted(ufuncs.FUNCTIONS))
def test_functions_compute_what_numpys_do(name: str) -> None:
    function: np.ufunc = getattr(np, name)
    wants_bool = name.startswith("logical")
    wants_int = name in ("invert", "bitwise_count")
    small = np.array([0.25, 0.5, 0.75], np.float32) + (name == "arccosh")
    values: np.ndarray = small
    if wants_bool:
        values = np.array([True, False, True])
    elif wants_int:
        values = np.array([3, 250, 7], np.uint8)
    image = hl.Buffer(values)
    e = image[x]
    operands = (e,) * function.nin
    f = hl.Func("f")
    f[x] = function(*operands)
    found = np.asarray(f.realize([3]))
    np.testing.assert_allclose(found, function(*(values,) * function.nin), rtol=1e-6)


def test_functions_take_funcs_and_images() -> None:
    image = hl.ImageParam("float32", 2)
    image.set(np.array([[4, 9]], np.float32))
    f, g = hl.funcs("f g")
    f[x, y] = np.sqrt(image[x, y])
    g[x, y] = np.maximum(f[x, y], np.float32(2.5))  # type: ignore[call-overload]
    assert np.asarray(hl.Func(np.sqrt(image)).realize([2, 1])).tolist() == [[2, 3]]
    assert np.asarray(g.realize([2, 1])).tolist() == [[2.5, 3]]


def test_plain_functions() -> None:
    e = hl.f32(x)
    assert repr(np.clip(e, 0, 1)) == repr(hl.clamp(e, 0, 1))
    assert repr(np.where(e > 1, e, 0)) == repr(hl.select(e > 1, e, 0))
    error = refused(lambda: np.sort(e))
    assert error.what.startswith("np.sort does not take expressions")


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


@pytest.mark.parametrize(
    "program",
    [
        lambda a, e: a[e],
        lambda a, e: a[e, e],
        lambda a, e: a[0, e + 1],
        lambda a, e: a[..., e],
    ],
)
def test_arrays_are_not_indexed(program: Callable[[Any, Any], object]) -> None:
    a = np.zeros((3, 4))
    for e in (x, hl.RDom([(0, 3)]), hl.RDom([(0, 3)]).x, hl.Param(hl.Int(32)), x * 2):
        error = refused(lambda e=e: program(a, e))  # type: ignore[misc]
        assert "cannot index a NumPy array" in error.what
        assert "hl.Buffer(array)" in error.hint


def test_elements_at_vars_are_not_assigned_to() -> None:
    a: Any = np.zeros((3, 4))

    def program() -> None:
        a[x, 0] = 1

    assert "cannot index a NumPy array" in refused(program).what


def test_arrays_of_expressions_are_arrays_of_objects() -> None:
    assert np.array([x, y * 2]).dtype == object
    assert np.array({"of": [x]}["of"]).dtype == object
    assert not hasattr(x, "__array__") and not hasattr(x + 1, "__array__")


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
