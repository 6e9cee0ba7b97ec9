"""Elements at computed coordinates, beside NumPy's integer indexing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import pytest

import parhelion as hl
from tests.whole.support import compare, pixels

A = pixels((5, 7, 3))
ROWS = np.array([[4, 0], [-1, 2], [3, -5]], np.int32)
COLUMNS = np.array([6, -7], np.int64)
TABLE = np.arange(256, dtype=np.float32) ** 2

Case = tuple[Callable[..., Any], tuple[Any, ...]]
CASES: dict[str, Case] = {
    "one axis": (lambda a, i: (a[i], a[:, i % 7], a[..., i % 3]), (A, ROWS)),
    "two axes": (
        lambda a, i, j: (a[i, j], a[i, j, :2], a[:, j, i % 3]),
        (A, ROWS, COLUMNS),
    ),
    "all axes": (lambda a, i, j: a[i, j, i % 3], (A, ROWS, COLUMNS)),
    "axes between": (
        lambda a, i, j: (a[i, :, j % 3], a[i, ..., None, j % 3]),
        (A, ROWS, COLUMNS),
    ),
    "beside slices": (lambda a, i: (a[1:4, i % 3, ::-1], a[i % 2, 1::2]), (A, ROWS)),
    "numbers beside": (
        lambda a, i: (a[2, i], a[i, 3], a[0, :, i % 3], a[1, i, 2]),
        (A, ROWS),
    ),
    "new axes": (lambda a, i: (a[None, i], a[i, None, :, 1:]), (A, ROWS)),
    "a constant": (
        lambda a: (a[np.array([1, -1])], a[np.array([[0], [2]]), np.array([3, 4])]),
        (A,),
    ),
    "of a table": (lambda a, t: t[a] + 1, (A, TABLE)),
    "take": (
        lambda a, i: (np.take(a, i, axis=1), np.take(a, i % 3, axis=-1)),
        (A, ROWS),
    ),
    "take of a row": (lambda t, a: np.take(t, a), (TABLE, A)),
    "unsigned": (lambda t, a: t[a], (TABLE, A.astype(np.uint32))),
    "what is computed": (lambda a, i: (a * 2.0)[i // 2, (i + 5) % 7], (A, ROWS)),
    "one coordinate": (lambda a, i: a[i.sum() % 5], (A, ROWS)),
}


@pytest.mark.parametrize("name", list(CASES))
def test_gathered(name: str) -> None:
    function, arrays = CASES[name]
    compare(function, *arrays)


def test_outside_is_the_edge() -> None:
    f = hl.jit(lambda a, i: a[i])
    a = np.array([3, 5, 8], np.uint8)
    for dtype in ("int8", "int32", "int64"):
        at = np.array([-100, -4, -3, 2, 3, 100], dtype)
        assert f(a, at).tolist() == [3, 3, 3, 8, 8, 8]
    far = np.array([2**63, 2**40, 0], np.uint64)
    assert f(a, far).tolist() == [8, 8, 3]
    assert f(a, np.array([-(2**40), 2**40])).tolist() == [3, 8]


def test_axes_keep_their_names() -> None:
    @hl.jit
    def sorted_by(
        image: Annotated[hl.Array, "yxc"], rows: Annotated[hl.Array, "n"]
    ) -> hl.Array:
        found = image[rows]
        assert found.axes == "nxc"
        return found - image.min("y")

    found = sorted_by(A, np.array([1, 1]))
    np.testing.assert_array_equal(found, (A[[1, 1]] - A.min(0)))


def test_large_arrays() -> None:
    image = pixels((150, 140))

    @hl.jit
    def turned(a: hl.Array, ys: hl.Array, xs: hl.Array) -> hl.Array:
        return (a // 2)[ys, xs] + a[xs % 150, ys % 140]

    ys, xs = np.mgrid[:150, :140][:, ::-1].astype(np.int32)
    wanted = (image // 2)[ys, xs] + image[xs % 150, ys % 140]
    np.testing.assert_array_equal(turned(image, ys, xs), wanted)


def test_what_is_refused() -> None:
    floats = np.zeros(3, np.float32)
    with pytest.raises(hl.TypeMismatchError, match="of float32 is no index"):
        hl.jit(lambda a, i: a[i])(A, floats)
    with pytest.raises(hl.TypeMismatchError, match="is no index of an array"):
        hl.jit(lambda a: a[a > 3])(A)
    with pytest.raises(hl.TypeMismatchError, match="take is told the axis"):
        hl.jit(lambda a, i: np.take(a, i))(A, ROWS)
    with pytest.raises(hl.BoundsError, match="do not fit together"):
        hl.jit(lambda a, i, j: a[i, j])(A, ROWS, np.arange(5))
    with pytest.raises(hl.TypeMismatchError, match="4 indices are given"):
        hl.jit(lambda a, i: a[i, i, i, i])(A, ROWS)
