"""Code of Callables that is run without their pipelines, and which calls it leaves."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.lang.ready import ReadyCode, ready_record
from parhelion.runtime.expr_records import NotRecordable

X, Y = hl.Var("x"), hl.Var("y")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PARHELION_CACHE", str(tmp_path))
    return tmp_path


def scaled(tile: int = 0) -> Any:
    """``image[x, y] * gain``, rounded up to tiles."""
    image, gain = hl.ImageParam(hl.UInt(16), 2, "image"), hl.Param(hl.UInt(16), "gain")
    f = hl.Func("scaled")
    f[X, Y] = image[X, Y] * gain
    if tile:
        f.vectorize(X, tile)
    return f.compile_to_callable([image, gain])


def ready(made: Any) -> ReadyCode:
    """The code as another process has it, which gets a record's text."""
    return ReadyCode(json.loads(json.dumps(ready_record(made))))


IMAGE = np.arange(40, dtype=np.uint16).reshape(5, 8)


def test_it_computes_what_the_callable_does() -> None:
    code, out = ready(scaled()), np.zeros((5, 8), np.uint16)
    assert code.run([IMAGE, 3, out])
    np.testing.assert_array_equal(out, IMAGE * 3)
    assert code.run([hl.Buffer(IMAGE), 5, hl.Buffer(out)])
    np.testing.assert_array_equal(out, IMAGE * 5)


@pytest.mark.parametrize(
    "args",
    [
        [IMAGE, 3],
        [IMAGE.astype(np.int16), 3, np.zeros((5, 8), np.uint16)],
        [IMAGE[0], 3, np.zeros((5, 8), np.uint16)],
        [IMAGE, 70_000, np.zeros((5, 8), np.uint16)],
        [IMAGE, -1, np.zeros((5, 8), np.uint16)],
        [IMAGE, "3", np.zeros((5, 8), np.uint16)],
        [IMAGE, 3, np.zeros((6, 8), np.uint16)],  # more than the image has
        [IMAGE.T, 3, np.zeros((8, 5), np.uint16)],  # of another layout
        [IMAGE[:0], 3, np.zeros((0, 8), np.uint16)],
    ],
)
def test_other_calls_are_left_to_the_callable(args: list[Any]) -> None:
    before = args[-1].copy() if isinstance(args[-1], np.ndarray) else None
    assert not ready(scaled()).run(args)
    if before is not None:
        np.testing.assert_array_equal(args[-1], before)


def test_outputs_on_top_of_inputs_are_left_to_the_callable() -> None:
    image = IMAGE.copy()
    assert not ready(scaled()).run([image, 3, image])
    np.testing.assert_array_equal(image, IMAGE)


def test_outputs_that_are_smaller_than_a_tile_are_left_to_the_callable() -> None:
    made = scaled(16)
    code, out = ready(made), np.zeros((5, 8), np.uint16)
    assert not code.run([IMAGE, 3, out])
    made(IMAGE, 3, out)
    np.testing.assert_array_equal(out, IMAGE * 3)
    large, into = np.ones((3, 33), np.uint16), np.zeros((3, 33), np.uint16)
    assert code.run([large, 7, into]) and (into == 7).all()


def embedded() -> Any:
    f = hl.Func("f")
    f[X] = hl.Buffer(np.arange(4, dtype=np.uint16))[hl.clamp(X, 0, 3)]
    return f.compile_to_callable([])


def flagged() -> Any:
    on, f = hl.Param(hl.Bool(), "on"), hl.Func("f")
    f[X] = hl.select(on, X, -X)
    return f.compile_to_callable([on])


def profiled() -> Any:
    f = hl.Func("f")
    f[X] = X
    return f.compile_to_callable([], hl.Target("host-profile"))


def unscheduled() -> Any:
    f, g = hl.Func("f"), hl.Func("g")
    f[X] = X * X
    g[X] = f[X] + f[X + 1]
    return g.compile_to_callable([])


def of_a_stride() -> Any:
    image, n, f = hl.ImageParam(hl.UInt(8), 2), hl.Param(hl.Int(32)), hl.Func("f")
    image.dim(1).set_stride(n)
    f[X, Y] = image[X, Y]
    return f.compile_to_callable([image, n])


@pytest.mark.parametrize(
    "make", [embedded, flagged, profiled, unscheduled, of_a_stride]
)
def test_what_has_to_be_looked_at_has_no_record(make: Callable[[], Any]) -> None:
    with pytest.raises(NotRecordable):
        ready_record(make())


def test_without_a_cache_there_is_no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_CACHE", "off")
    with pytest.raises(NotRecordable):
        ready_record(scaled())


def test_other_arguments_are_refused() -> None:
    told = ready_record(scaled())
    places = told["places"]
    for change in ({"places": places[1:]}, {"places": places[::-1]}, {"inputs": 0}):
        with pytest.raises(ValueError, match="other arguments"):
            ReadyCode({**told, **change})
    with pytest.raises(ValueError, match="not in the cache"):
        ReadyCode({**told, "code": "0" * 64})
