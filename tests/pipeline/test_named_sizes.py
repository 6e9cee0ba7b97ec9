"""Sizes by the names of Vars."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.cli.problem import Problem
from parhelion.cli.region import asked_extents

x, y, c = hl.vars("x y c")


def sums() -> hl.Func:
    f = hl.Func("sums")
    f[x, y, c] = x + 10 * y + 100 * c
    return f


def test_sizes_by_name_are_those_in_order() -> None:
    f = sums()
    want = f.realize([4, 3, 2])
    for named in ({"x": 4, "y": 3, "c": 2}, {"c": 2, "y": np.int64(3), "x": 4}):
        made = f.realize(named)
        assert isinstance(made, hl.Buffer) and made.shape == (4, 3, 2)
        assert np.array_equal(np.asarray(made), np.asarray(want))


def test_names_are_the_funcs_own() -> None:
    turned = hl.Func("turned")
    turned[c, x, y] = c + 10 * x + 100 * y
    made: Any = turned.realize({"y": 5, "x": 4, "c": 3})
    assert made.shape == (3, 4, 5)
    both = hl.Pipeline([sums(), turned]).realize({"y": 5, "x": 4, "c": 3})
    assert isinstance(both, tuple)
    assert [b.shape for b in both] == [(4, 5, 3), (3, 4, 5)]


def test_other_methods_take_them() -> None:
    f = sums()
    named = {"y": 3, "x": 4, "c": 2}
    assert f.report(named)["sums"] is not None
    assert len([e for e in f.trace(named) if e.kind == "store"]) == 24
    image = hl.ImageParam(hl.Int(32), 2)
    g = hl.Func("g")
    g[x, y] = image[x + 1, y]
    g.infer_input_bounds({"y": 3, "x": 4})
    got = image.get()
    assert got is not None and got.shape == (4, 3)
    for found in (
        hl.autoschedule(sums(), {"y": 480, "x": 640, "c": 3}),
        hl.autoschedule(sums(), sizes={"y": 480, "x": 640, "c": 3}),
    ):
        assert found.to_python() == hl.autoschedule(sums(), [640, 480, 3]).to_python()


WRONG: dict[str, tuple[Callable[[hl.Func], object], type[Exception], str]] = {
    "missing": (
        lambda f: f.realize({"x": 4, "y": 3}),
        TypeError,
        "the sizes that realize is given lack 'c'",
    ),
    "strange": (
        lambda f: f.realize({"x": 4, "y": 3, "c": 1, "t": 2}),
        TypeError,
        r"have 't'; Func 'sums\S*' has the Vars x, y, c",
    ),
    "no number": (
        lambda f: f.realize({"x": 4, "y": "3", "c": 1}),
        TypeError,
        "the extent of dimension 1",
    ),
    "negative": (
        lambda f: f.realize({"x": 4, "y": -3, "c": 1}),
        IndexError,
        "is -3, which is negative",
    ),
    "autoschedule": (
        lambda f: hl.autoschedule(f, {"x": 4}),
        TypeError,
        "the sizes that autoschedule is given lack 'y'",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_names_get_their_sentence(name: str) -> None:
    wrong, kind, told = WRONG[name]
    with pytest.raises(kind, match=told) as caught:
        wrong(sums())
    assert isinstance(caught.value, hl.HalideError) and caught.value.at is not None


def test_the_command_line_takes_them() -> None:
    program: Any = SimpleNamespace(pipeline=hl.Pipeline(sums()))
    assert asked_extents(program, {}, "y=3,x=4,c=2") == [4, 3, 2]
    for wrong in ("y=3,x=4", "y=3,x=4,c=2,t=1", "y=3,x=4,y=5,c=1", "y=3,x=4,2"):
        with pytest.raises(Problem, match="the output has the dimensions x, y, c"):
            asked_extents(program, {}, wrong)
    with pytest.raises(Problem):
        asked_extents(program, {}, "y=3,x=many,c=1")
