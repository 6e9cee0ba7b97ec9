"""Compiles run on threads of their own, where recursion is deep and calls are cheap."""

from __future__ import annotations

import resource
from collections.abc import Callable

import pytest

from parhelion.ir.deep import run_deep, with_room


def _nothing() -> None:
    return None


def _calls_at_all_depths() -> int:
    """How often memory is asked for, of the system, by calls at 400 depths."""

    def at(depth: int) -> None:
        if depth:
            at(depth - 1)
        else:
            for _ in range(1000):
                _nothing()

    at(400)  # the stack itself grows
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for depth in range(400):
        at(depth)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


@pytest.mark.parametrize("run", [run_deep, with_room])
def test_calls_take_no_memory_of_the_system(
    run: Callable[[Callable[[], int]], int],
) -> None:
    """A call that began a chunk of frames asked for its memory each time: 1000 times at
    each such depth, of which there are several."""
    assert run(_calls_at_all_depths) < 500


def test_room_is_for_what_returns_and_for_what_raises() -> None:
    assert with_room(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        with_room(lambda: 1 // 0)
