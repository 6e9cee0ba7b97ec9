"""Copies and pickles of Buffers: images of their own, whatever mentions the other."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest

import parhelion as hl

x = hl.Var("x")


def first(b: hl.Buffer, at: int = 0) -> list[int]:
    f = hl.Func("f")
    f[x] = b[x + at]
    made: list[int] = np.asarray(f.realize([3])).tolist()
    return made


def used() -> hl.Buffer:
    """Has been mentioned in an expression."""
    b = hl.Buffer(np.arange(10, dtype=np.int32), "b")
    assert first(b) == [0, 1, 2]
    return b


@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda b: pickle.loads(pickle.dumps(b)), hl.Buffer.copy],
)
def test_pixels_of_a_copy_are_its_own(copied: Callable[[hl.Buffer], hl.Buffer]) -> None:
    b = used()
    other = copied(b)
    other.fill(99)
    assert first(other) == [99, 99, 99] and first(b) == [0, 1, 2]
    other.set_min([100])
    assert first(other, 100) == [99, 99, 99] and first(b) == [0, 1, 2]
    assert other.name() == b.name() or copied is hl.Buffer.copy


def test_places_of_a_shallow_copy_are_its_own() -> None:
    b = used()
    other = copy.copy(b)
    other.translate([5])
    assert first(other, 5) == [0, 1, 2] and first(b) == [0, 1, 2]
    b.fill(7)
    assert first(other, 5) == [7, 7, 7], "the pixels are shared"


def test_a_buffer_that_lost_a_dimension_is_refused() -> None:
    b = hl.Buffer(np.zeros((4, 5), np.int32), "b")
    f, y = hl.Func("f"), hl.Var("y")
    f[x, y] = b[x, y]
    b.slice(0, 3)
    pipeline = hl.Pipeline(f)
    for program in (
        pipeline.infer_arguments,
        lambda: pipeline.lowered_text(),
        lambda: f.realize([3, 3]),
    ):
        with pytest.raises(hl.TypeMismatchError, match="dimension"):
            program()
