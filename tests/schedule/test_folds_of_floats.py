"""Folds of floats that may be NaN: done in parts, they give what they do in a row."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret_all

x, u = hl.vars("x u")
ro, ri = hl.RVar("ro"), hl.RVar("ri")
NAN, INF = float("nan"), float("inf")

#: All sequences of four, as columns.
STEPS = np.array(
    list(product([1.0, 3.0, NAN, INF, -INF], repeat=4)), np.float32
).T.copy()

Values = Callable[[Any, Any, Any], tuple[Any, ...]]


def _pair(c: Any, old: Any, e: Any, k: Any) -> tuple[Any, ...]:
    return hl.select(c, e, old[0]), hl.select(c, k, old[1])


#: Updates of values `old` with the float `e` of step `k`.
FOLDS: dict[str, Values] = {
    "min": lambda old, e, k: (hl.min(old[0], e),),
    "max": lambda old, e, k: (hl.max(old[0], e),),
    "max of several": lambda old, e, k: (hl.max(hl.max(old[0], e), e / 2),),
    "max of a max": lambda old, e, k: (hl.max(old[0], hl.max(e, e / 2)),),
    "chosen if less": lambda old, e, k: (hl.select(e < old[0], e, old[0]),),
    "chosen if not less": lambda old, e, k: (hl.select(~(e < old[0]), old[0], e),),
    "chosen if no more": lambda old, e, k: (hl.select(e <= old[0], e, old[0]),),
    "first least": lambda old, e, k: _pair(e < old[0], old, e, k),
    "last least": lambda old, e, k: _pair(e <= old[0], old, e, k),
    "last greatest": lambda old, e, k: _pair(e >= old[0], old, e, k),
    "kept unless less": lambda old, e, k: (
        hl.select(~(e < old[0]), old[0], e),
        hl.select(~(e < old[0]), old[1], k),
    ),
    "greatest, and a count": lambda old, e, k: (hl.max(old[0], e), old[1] + 1),
    "first greatest, and a count": lambda old, e, k: (
        *_pair(e > old[0], old, e, k),
        old[2] + 1,
    ),
}

#: Updates that take a NaN, and lose it to the next step.
TAKE_NAN: dict[str, Values] = {
    "min": lambda old, e, k: (hl.min(e, old[0]),),
    "max": lambda old, e, k: (hl.max(e, old[0]),),
    "max of a max": lambda old, e, k: (hl.max(hl.max(e, old[0]), e / 2),),
    "chosen if not less": lambda old, e, k: (hl.select(old[0] < e, old[0], e),),
    "not less": lambda old, e, k: (hl.select(~(old[0] < e), e, old[0]),),
    "least": lambda old, e, k: _pair(~(e > old[0]), old, e, k),
    "kept where less": lambda old, e, k: (
        hl.select(old[0] < e, old[0], e),
        hl.select(old[0] < e, old[1], k),
    ),
}


def made(
    values: Values, start: float = 2.0, dtype: Any = np.float32
) -> tuple[hl.Func, hl.RDom]:
    """The fold of the column x of `STEPS`, each in four steps."""
    steps = STEPS
    if dtype is not np.float32:
        steps = np.nan_to_num(STEPS, nan=2, posinf=100, neginf=-100)
    image, f, r = hl.Buffer(steps.astype(dtype)), hl.Func("f"), hl.RDom([(0, 4)], "r")
    e, k = image[x, r.x], hl.i32(r.x)
    first = hl.cast(e.type(), start)
    count = len(values([first, k, k], e, k))
    if count == 1:
        f[x] = first
        f[x] = values([f[x]], e, k)[0]
    else:
        f[x] = hl.Tuple(first, *[hl.i32(-1)] * (count - 1))
        f[x] = hl.Tuple(*values(f[x], e, k))
    return f, r


def results(f: hl.Func) -> list[Any]:
    got = f.realize([STEPS.shape[1]])
    return [np.asarray(b) for b in (got if isinstance(got, tuple) else (got,))]


def wanted(f: hl.Func) -> list[Any]:
    (found,) = interpret_all([(f._function, [(0, STEPS.shape[1])])])
    return list(found)


def in_halves(f: hl.Func, r: hl.RDom) -> None:
    f.update().split(r.x, ro, ri, 2)
    f.update().rfactor(ro, u).compute_root()


@pytest.mark.parametrize("start", [2.0, INF, -INF, NAN])
@pytest.mark.parametrize("name", FOLDS)
def test_parts_give_the_whole(name: str, start: float) -> None:
    f, r = made(FOLDS[name], start)
    want = wanted(f)
    in_halves(f, r)
    for a, b in zip(results(f), want, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", TAKE_NAN)
def test_what_takes_a_nan_is_no_fold(name: str) -> None:
    f, r = made(TAKE_NAN[name])
    f.update().split(r.x, ro, ri, 2)
    with pytest.raises(hl.ScheduleError, match="among floats the update is not assoc"):
        f.update().rfactor(ro, u)
    with pytest.raises(hl.ScheduleError, match="it is not proven that the updates may"):
        f.update().atomic()


@pytest.mark.parametrize("name", TAKE_NAN)
def test_integers_are_all_numbers(name: str) -> None:
    f, r = made(TAKE_NAN[name], dtype=np.int32)
    want = wanted(f)
    in_halves(f, r)
    for a, b in zip(results(f), want, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("start", [2.0, NAN])
@pytest.mark.parametrize("name", ["min", "max", "max of several", "max of a max"])
def test_threads_and_lanes_in_any_order(name: str, start: float) -> None:
    f, r = made(FOLDS[name], start)
    want = wanted(f)
    f.update().atomic().reorder(x, r.x).parallel(r.x).vectorize(x, 8)
    for a, b in zip(results(f), want, strict=True):
        np.testing.assert_array_equal(a, b)


def test_values_that_begin_at_different_steps_are_no_fold() -> None:
    """Where a NaN is passed over, another value may have begun already."""
    f, r = made(
        lambda old, e, k: (
            *_pair(e <= old[0], old, e, k),
            old[2] + k,
        )
    )
    f.update().split(r.x, ro, ri, 2)
    with pytest.raises(hl.ScheduleError, match="not known to fold"):
        f.update().rfactor(ro, u)
