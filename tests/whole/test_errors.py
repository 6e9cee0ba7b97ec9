"""What functions under `hl.jit` refuse: a sentence, at the user's line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest

import parhelion as hl
from tests.whole.support import pixels

IMAGE = pixels((5, 6, 3))


def refused(program: Callable[[], object], kind: type[hl.HalideError]) -> str:
    with pytest.raises(kind) as caught:
        program()
    assert caught.value.at is not None
    assert Path(caught.value.at.file) == Path(__file__)
    return str(caught.value)


TRACED: list[tuple[Callable[[Any], Any], str]] = [
    (lambda a: a if a[0, 0, 0] > 3 else -a, "has no truth value"),
    (lambda a: a if a.shape[0] > 3 else -a, "has no truth value"),
    (lambda a: a[a > 3], "is no index of an array"),
    (lambda a: a[1.5], "is no index of an array"),
    (lambda a: a[0, 0, 0, 0], "4 indices are given for an array of 3 axes"),
    (lambda a: a[:, :, 7], "the index 7 is outside of an axis of 3 elements"),
    (lambda a: a[:, ::0], "the step of a slice cannot be 0"),
    (lambda a: a.sum("z"), "the array has no axis 'z'; its axes are unnamed"),
    (lambda a: a.sum(3), "an array of 3 axes has no axis 3"),
    (lambda a: a.sum((0, 0)), "is given an axis twice"),
    (lambda a: np.linalg.norm(a), "np.norm has no counterpart for Arrays"),
    (lambda a: np.cbrt(a), "np.cbrt has no counterpart for Arrays"),
    (lambda a: np.add(a, a, out=IMAGE), "np.add of an Array takes no out="),
    (lambda a: np.sum(a, dtype="int8"), "np.sum of an Array takes no dtype="),
    (lambda a: np.asarray(a), "cannot become a NumPy array"),
    (lambda a: range(a.sum()), "is no Python int"),
    (lambda a: float(a.sum()), "is no Python float"),
    (lambda a: len(a), "the length of the array is known only when"),
    (lambda a: a + ["1", "2", "3"], "a list does not stand beside an array"),
    (lambda a: a + [a, a, a], "a list does not stand beside an array"),
    (lambda a: a[hl.sin(a.shape[0] * 0.1)], "as many coordinates, not 1"),
    (lambda a: a[a.shape[0]], "the index 5 is outside of an axis of 5 elements"),
    (lambda a: a[[0, 1.5]], "of float64 is no index of an array"),
    (lambda a: a[[True, False, True, False, True]], "of bool is no index"),
    (lambda a: a.reshape(-1, -1), "a shape has one -1 at most"),
    (lambda a: a.reshape(7, -1), "which has another number of elements"),
    (lambda a: a.reshape(2.5, -1), "an extent of reshape is not an integer"),
    (lambda a: a.reshape(-2, 3), "an extent is not negative, -2"),
    (lambda a: a.reshape(a.sum(), -1), "an extent of reshape"),
    (lambda a: np.full((2, 3), a, like=a), "full takes one number for all elements"),
    (lambda a: np.zeros(a.shape), "np.full(shape, 0, like=a) is an array of a shape"),
    (lambda a: np.arange(a.shape[0], a.shape[1], 0, like=a), "and not 0"),
    (lambda a: np.repeat(a, -1, axis=0), "-1 repeats are none"),
    (lambda a: np.tile(a, (2, -1)), "tiles are none"),
    (lambda a: a @ 3, "a number is none: write a * n"),
    (lambda a: a[..., 0] @ a[..., 1], "do not fit together"),
    (lambda a: np.dot(a, a), "dot takes arrays of at most two axes"),
    (lambda a: np.average(a, weights=a[0]), "weights have the axes of the array, 3"),
    (lambda a: np.median(a, axis=0), "median is of all elements, or along one axis"),
    (lambda a: np.percentile(a, 101), "percentile takes shares in [0, 100], not 101"),
    (lambda a: np.quantile(a, 0.5, method="nearest"), "quantile of an Array takes no"),
    (lambda a: np.percentile(a, a), "the shares of percentile are a number, or a list"),
    (lambda a: np.hstack([a, 3]), "concatenate takes arrays of one number of axes"),
    (lambda a: np.rot90(a, axes=(0, 0)), "rot90 is given an axis twice"),
    (lambda a: a + "1", "a str does not stand beside an array"),
    (lambda a: a + 300, "the literal 300 does not fit uint8"),
    (lambda a: a - hl.Var("x"), "a Var does not stand beside an array"),
    (lambda a: hl.sin(a), "an Array is not an expression"),
    (lambda a: a.pad(1, "mirror"), "there is no border 'mirror'"),
    (lambda a: a.pad(-1), "padded by widths that are not negative"),
    (lambda a: a.pad("wide"), "pad takes widths"),
    (lambda a: a.shift((1, 2), axis=0), "is given 2 distances for 1 axes"),
    (lambda a: a.astype("pixel"), "'pixel' is no type of the elements"),
    (lambda a: a.astype(hl.UInt(8, 4)), "an array has a scalar type"),
    (lambda a: a.astype({"x": 1}), "is no type of the elements"),
    (lambda a: a**-1, "raised to constant powers that are not negative"),
    (lambda a: (a > 1) - (a > 2), "subtract has no meaning for arrays of Bools"),
    (lambda a: (a * 1.5) & 1, "bitwise_and takes arrays of integers"),
    (lambda a: a + np.zeros((2, 3)), "do not fit together"),
    (lambda a: None, "returns nothing; a function under hl.jit returns an Array"),
    (lambda a: "text", "returns a str, 'text'"),
    (lambda a: np.where(a > 1), "where takes a condition and two arrays"),
    (lambda a: a.transpose(0, 1), "is no order of 3 axes"),
    (lambda a: np.stack([a, a], 9), "no axis 9"),
]


@pytest.mark.parametrize(("function", "said"), TRACED, ids=[t[1] for t in TRACED])
def test_while_a_function_is_traced(function: Callable[[Any], Any], said: str) -> None:
    assert said in refused(lambda: hl.jit(function)(IMAGE), hl.HalideError)


def test_an_element_is_not_assigned_to() -> None:
    @hl.jit
    def zeroed(a: Any) -> Any:
        a[0] = 0
        return a

    assert "is not assigned to" in refused(lambda: zeroed(IMAGE), hl.TypeMismatchError)


def test_in_python_functions() -> None:
    said = refused(lambda: hl.jit(lambda a: max(a, 3))(IMAGE), hl.TypeMismatchError)
    assert "has no truth value" in said and "hl.max(a, b) is the larger one" in said
    x: Any = hl.Var("x")
    said = refused(lambda: max(x, 3), hl.TypeMismatchError)
    assert "hl.max(a, b) instead of max(a, b)" in said


def test_methods_that_there_are_not() -> None:
    with pytest.raises(AttributeError, match="an Array has no 'choose': of NumPy's"):
        hl.jit(lambda a: a.choose(a))(IMAGE)


@hl.jit
def named(a: Annotated[hl.Array, "yxc"], gain: float = 1.0) -> hl.Array:
    return a * gain


CALLED: list[tuple[Callable[[], object], str]] = [
    (lambda: named(IMAGE[0]), "has the axes 'yxc', and the array given has the shape"),
    (lambda: named(3.0), "has the axes 'yxc', and the array given has the shape ()"),
    (lambda: named(), "the argument 'a' of named is missing"),
    (lambda: named(IMAGE, 1, 2), "named takes 2 arguments; 3 are given"),
    (lambda: named(IMAGE, gian=2), "'gian' is no argument of named"),
    (lambda: named(IMAGE, [1]), "'gain' is a list, which has no hash"),
    (lambda: named(IMAGE.astype(complex)), "complex128 have no matching pixel type"),
    (lambda: named(IMAGE.astype(">i4")), "in foreign order"),
    (lambda: named(IMAGE, out=IMAGE), "named returns float32, and out= is uint8"),
    (
        lambda: named(IMAGE, out=np.zeros((5, 6), np.float32)),
        "named returns the shape (5, 6, 3), and out= has (5, 6)",
    ),
    (lambda: named(IMAGE, out=3), "out= of named is a NumPy array, not 3"),
    (
        lambda: named(np.ma.masked_greater(IMAGE, 100)),
        "hides some of its elements",
    ),
    (lambda: hl.jit(lambda *a: a), "takes a variable number of arguments"),
    (lambda: hl.jit(3), "hl.jit takes a function of arrays, not 3"),  # type: ignore[call-overload]
    (lambda: hl.jit(lambda a: a, static="b"), "static= names 'b', which is no"),
    (lambda: hl.jit(lambda a: a, schedule="x = 1"), "schedule= is a function"),
]


@pytest.mark.parametrize(("program", "said"), CALLED, ids=[c[1] for c in CALLED])
def test_calls(program: Callable[[], object], said: str) -> None:
    assert said in refused(program, hl.HalideError)


def test_shapes_that_do_not_fit_are_told_with_the_line() -> None:
    @hl.jit
    def both(a: hl.Array, b: hl.Array) -> hl.Array:
        found: hl.Array = a + b[1:]  # this line
        return found

    both(pixels((4, 5)), pixels((5, 5)))
    for _ in range(2):
        said = refused(lambda: both(pixels((4, 5)), pixels((4, 5))), hl.BoundsError)
        assert "arrays of the shapes (4, 5) and (3, 5) do not fit together" in said
        assert "this line" in said


def test_names_that_do_not_fit() -> None:
    @hl.jit
    def both(a: Annotated[hl.Array, "yx"], b: Any) -> hl.Array:
        found: hl.Array = a[:, :, None] + b * a
        return found

    said = refused(lambda: both(pixels((4, 5)), 2), hl.TypeMismatchError)
    assert "counted from the last," in said


def test_an_index_that_is_outside_in_one_call() -> None:
    row = hl.jit(lambda a: a[4])
    assert row(pixels((5, 3))).shape == (3,)
    with pytest.raises(hl.BoundsError, match="the index 4 is outside of an axis of 4"):
        row(pixels((4, 3)))


def test_extremes_of_nothing() -> None:
    most = hl.jit(lambda a: a.max(axis=0))
    with pytest.raises(hl.BoundsError, match="has no elements to choose from"):
        most(np.zeros((0, 3), np.uint8))


def test_arrays_of_other_calls() -> None:
    kept: list[Any] = []

    @hl.jit
    def keeping(a: hl.Array) -> hl.Array:
        kept.append(a)
        return a

    keeping(IMAGE)
    with pytest.raises(hl.DefinitionError, match="an array of another call"):
        hl.jit(lambda a: a + kept[0])(IMAGE)


def test_annotations_that_name_no_axes() -> None:
    with pytest.raises(hl.TypeMismatchError, match="'yxq' names no axes"):

        @hl.jit
        def wrong(a: Annotated[hl.Array, "yxq"]) -> hl.Array:
            return a
