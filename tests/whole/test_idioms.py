"""What people write of NumPy's arrays: lists, extents as indices, shapes, products of
matrices, places of extremes, percentiles; beside NumPy itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import pytest

import parhelion as hl
from tests.whole.support import agree, compare, pixels

GREY, RGB = pixels((6, 9)), pixels((6, 8, 3), seed=1)
FLOATS = pixels((6, 9), "float32")
SIGNED = pixels((6, 9), "int16", 2)
WIDE = pixels((6, 9), "float64", 3)
VECTOR = pixels((9,), "float32", 4)
MATRIX = pixels((3, 4), "float32", 5)

Case = tuple[Callable[..., Any], tuple[Any, ...]]
CASES: dict[str, Case] = {
    "index of extents": (
        lambda a: (
            a[a.shape[0] // 2],
            a[-(a.shape[0] // 3), a.shape[1] - 1],
            a[1:, -1],
        ),
        (GREY,),
    ),
    "lists as indices": (
        lambda a: (a[..., [2, 1, 0]], a[[0, -1]], a[[[0, 1], [2, 3]], 1], a[:, []]),
        (RGB,),
    ),
    "lists beside arrays": (
        lambda a: (
            (a - [1, 2, 3]) * (0.5, 1, 2),
            [3, 2, 1] + a,
            a > [[10], [20]][0][0],
        ),
        (RGB,),
    ),
    "types": (
        lambda a: (a.astype("f4"), a.astype(float), a.astype(int), a.astype(None)),
        (GREY,),
    ),
    "take a list": (lambda a: np.take(a, [2, 0], axis=-1), (RGB,)),
    "differences": (
        lambda a: (np.diff(a), np.diff(a, 2, 0), np.diff(a > 3), np.diff(a, 0)),
        (SIGNED,),
    ),
    "places": (
        lambda a, b: (
            *(a.argmax(), a.argmin(), np.argmax(a, axis=1), np.argmin(a, 0)),
            *(b.argmax(-1), b.argmin(axis=0, keepdims=True), b.argmax()),
        ),
        (RGB, FLOATS),
    ),
    "first of equals": (
        lambda a: ((a > 50).argmax(), (a // 100).argmax(1), (a // 100).argmin(0)),
        (GREY,),
    ),
    "matrices": (
        lambda a, v, c, m: (a @ a.T, a @ v, v @ a.T, v @ v, c @ m, np.matmul(a.T, a)),
        (FLOATS, VECTOR, RGB.astype("float32"), MATRIX),
    ),
    "many matrices": (
        lambda a, b: (a @ b, a[0] @ b, a @ b[0]),
        (pixels((4, 2, 3), "float32"), pixels((4, 3, 5), "float32")),
    ),
    "integers wrap": (lambda a, b: (a @ b, a.T @ a), (GREY, GREY.T.copy())),
    "Bools": (lambda a, b: a @ b, (GREY > 99, GREY.T > 120)),
    "dot and kin": (
        lambda a, v: (
            *(np.dot(a, v), np.dot(v, v), a.dot(2), np.inner(a, a), np.inner(v, v)),
            *(np.outer(v, a[0]), np.vdot(a, a)),
        ),
        (FLOATS, VECTOR),
    ),
    "rows of all": (
        lambda a, c: (a.reshape(-1), a.ravel(), c.flatten()[::7], c.reshape(-1, 3)),
        (GREY, RGB),
    ),
    "binned": (
        lambda a: (
            a.reshape(a.shape[0] // 2, 2, a.shape[1] // 3, 3).mean((1, 3)),
            a.reshape(-1, 3, a.shape[1]).sum(1),
        ),
        (GREY,),
    ),
    "other shapes": (
        lambda a: (
            *(a.reshape(9, 6), np.reshape(a, (2, -1)), a.reshape(54, 1)),
            *(a.reshape((a.shape[1], a.shape[0])), a.reshape(1, -1, 1)),
        ),
        (GREY,),
    ),
    "there and back": (
        lambda a: (
            (a.reshape(-1, 3) @ np.eye(3)[::-1]).reshape(a.shape),
            a[::2].ravel(),
        ),
        (RGB,),
    ),
    "repeated": (
        lambda a: (
            *(np.repeat(a, 3, axis=1), np.repeat(a, 2), a.repeat(2, 0).repeat(2, 1)),
            *(np.tile(a, (2, 3)), np.tile(a, 2), np.tile(a[0], (3, 1, 2))),
            np.repeat(a, 0, axis=0),
        ),
        (GREY,),
    ),
    "beside each other": (
        lambda a: (
            *(np.hstack([a, a[:, :2]]), np.vstack([a, a[0]]), np.dstack([a, a + 1])),
            *(np.hstack([a[0], a[1]]), np.atleast_3d(a), np.atleast_2d(a[0])),
            np.atleast_3d(a[0]),
        ),
        (GREY,),
    ),
    "turned": (
        lambda a: (
            *(np.rot90(a), np.rot90(a, 2), np.rot90(a, -1), np.rot90(a, 4)),
            *(np.fliplr(a), np.flipud(a), np.rot90(a, axes=(1, 0))),
        ),
        (RGB,),
    ),
    "spread": (lambda a: np.broadcast_to(a[0], a.shape) - a, (FLOATS,)),
    "made": (
        lambda a: (
            *(np.ones((a.shape[0], 2), np.uint8, like=a), np.zeros(3, like=a)),
            *(np.full(a.shape, 7, like=a), np.full(a.shape, 0.5, "f4", like=a) + a),
            *(np.arange(a.shape[1], like=a) * a, np.arange(0, 1, 0.1, like=a)),
            *(np.arange(a.shape[0], -1, -2, like=a), np.arange(2, 9, 3, like=a)),
        ),
        (FLOATS,),
    ),
    "spans and counts": (
        lambda a: (np.ptp(a, axis=0), np.ptp(a), np.count_nonzero(a > 100, axis=1)),
        (GREY,),
    ),
    "averages": (
        lambda a, w: (
            *(np.average(a, axis=0), np.average(a, weights=w)),
            np.average(a, 1, w),
        ),
        (FLOATS, GREY.astype("float32") + 1),
    ),
    "medians": (
        lambda a, b, c, d: (np.median(a), np.median(b), np.median(c), np.median(d)),
        (GREY, FLOATS, SIGNED, WIDE),
    ),
    "percentiles": (
        lambda a, b: (
            *(np.percentile(a, [0, 2, 50, 98, 100]), np.quantile(b, 0.3)),
            np.percentile(b, 33, keepdims=True) + b,
        ),
        (RGB, FLOATS),
    ),
    "medians of several": (
        lambda a, b: (
            np.median(np.stack([a, a[::-1], a * 2, a + 9]), axis=0),
            np.percentile(np.stack([a, b, a - b]), (10, 90), axis=0),
            np.median(np.stack([b, a], -1), axis=-1, keepdims=True),
        ),
        (FLOATS, FLOATS[:, ::-1] + 1),
    ),
}


@pytest.mark.parametrize("name", list(CASES))
def test_idiom(name: str) -> None:
    function, arrays = CASES[name]
    compare(function, *arrays, tolerance=2e-5)


def test_nan_is_the_place_and_the_median() -> None:
    a = FLOATS.copy()
    a[3, 4] = a[2, 7] = np.nan
    compare(lambda a: (a.argmax(), a.argmin(0), np.median(a)), a)
    several = np.stack([a, FLOATS, FLOATS])
    compare(lambda s: np.median(np.stack([s[0], s[1], s[2]]), axis=0), several)


def test_infinities_are_in_order() -> None:
    a = FLOATS.copy()
    a[0, :4], a[1, :3], a[2, 0] = np.inf, -np.inf, -0.0
    found = hl.jit(lambda a: np.percentile(a, [0, 3, 50, 100]))(a)
    # NumPy's line between two infinities is NaN; its lower one of both is not.
    wanted = [-np.inf, -np.inf, np.percentile(a, 50), np.inf]
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_shares_that_are_given_at_each_call() -> None:
    stretch = hl.jit(lambda a, low: np.percentile(a, low))
    for low in (0.0, 2.0, 50.0, 99.5):
        agree(stretch(GREY, low), np.percentile(GREY, low))
    agree(stretch(GREY, 250.0), np.float64(GREY.max()))


@pytest.mark.parametrize("n", [1, 2, 3, 100, 1000])
def test_percentiles_of_many_sizes(n: int) -> None:
    a = np.random.default_rng(n).integers(-(2**31), 2**31, n).astype(np.int32)
    found = hl.jit(lambda a: np.percentile(a, (0, 37, 100)))(a)
    # In int32 NumPy's differences of two elements wrap.
    np.testing.assert_allclose(found, np.percentile(a.astype(float), (0, 37, 100)))


def test_a_shape_of_other_sizes_is_checked_at_each_call() -> None:
    binned = hl.jit(
        lambda a: a.reshape(a.shape[0] // 2, 2, a.shape[1] // 2, 2).max((1, 3))
    )
    for h, w in ((4, 6), (2, 8), (150, 140)):
        a = pixels((h, w))
        agree(binned(a), a.reshape(h // 2, 2, w // 2, 2).max((1, 3)))
    with pytest.raises(hl.BoundsError, match=r"\(5, 6\) cannot be reshaped to \(2, 2"):
        binned(pixels((5, 6)))


def test_a_split_axis_does_not_hide_another_number() -> None:
    # 4 rows of 10 are 5 rows of 8, though 5 // 2 * 2 is not 5.
    odd = hl.jit(lambda a, b: a.reshape(a.shape[0] // 2, 2, b.shape[0]))
    a = pixels((5, 8))
    agree(odd(a, np.zeros(10, np.uint8)), a.reshape(2, 2, 10))


def test_axes_keep_their_names() -> None:
    @hl.jit
    def rows(image: Annotated[hl.Array, "yxc"]) -> hl.Array:
        flat = image.reshape(-1, image.shape[2])
        assert flat.axes == "?c"
        assert image.reshape(image.shape[0], -1).axes == "y?"
        assert image.repeat(2, axis="x").axes == "yxc"
        return flat.mean("c")

    agree(rows(RGB), RGB.reshape(-1, 3).mean(1))


def test_an_expression_is_a_point_for_a_func() -> None:
    a = hl.Array(np.array([3, 5, 8], np.int32))
    f, x = hl.Func("f"), hl.Var("x")
    f[x] = a[hl.i32(2)] + a[x]
    assert np.asarray(f.realize([3])).tolist() == [11, 13, 16]


def test_a_func_is_no_array() -> None:
    f = hl.Func("bright")
    x, y = hl.Var("x"), hl.Var("y")
    f[x, y] = x + y
    with pytest.raises(hl.TypeMismatchError, match="'bright' has no pixels") as caught:
        np.asarray(f)
    assert "bright.realize([width, height])" in str(caught.value)
