"""Where a stage in Python fails, all threads of the run leave it at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import parhelion as hl

x, y = hl.vars("x y")
THREADS = 4
#: Calls that the other threads may begin until they are told; without being told they
#: make hundreds.
MORE = 100


class Counted:
    """A stage inside a parallel loop, one pixel at a time, that fails at one call."""

    def __init__(self, error: BaseException, fails_at: int) -> None:
        self.calls, self.error, self.fails_at = 0, error, fails_at
        source, self.func = hl.Func("source"), hl.Func("func")
        source.define_extern(self.stage, [], hl.Float(32), [x, y])
        self.func[x, y] = source[x, y] + 1
        source.compute_at(self.func, x)
        self.func.parallel(y)

    def stage(self, out: Any) -> None:
        self.calls += 1
        mine = self.calls
        time.sleep(0.0002)  # another thread runs meanwhile
        if mine == self.fails_at:
            raise self.error
        np.asarray(out)[...] = 1


@pytest.fixture(autouse=True)
def four_threads() -> Iterator[None]:
    before = hl.get_num_threads()
    hl.set_num_threads(THREADS)
    yield
    hl.set_num_threads(before)


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("size", [(300, 4), (50, 400), (4000, 4000)], ids=str)
def test_no_thread_goes_on(error: BaseException, size: tuple[int, int]) -> None:
    it = Counted(error, 60)
    it.func.realize([2, 2])
    before = it.calls
    with pytest.raises(type(error)):
        it.func.realize(list(size))
    assert it.calls <= 60 + MORE
    # What failed runs again, and to its end.
    it.fails_at = -1
    assert (np.array(it.func.realize([9, 7])) == 2).all()
    assert before == 4


def test_on_a_thread_of_the_users() -> None:
    it = Counted(ValueError("no"), 60)
    it.func.compile_jit()
    found: list[object] = []

    def run() -> None:
        for fails_at in (60, -1):
            it.calls, it.fails_at = 0, fails_at
            try:
                found.append((np.array(it.func.realize([40, 30])) == 2).all())
            except ValueError as error:
                found.extend([str(error), it.calls <= 60 + MORE])

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == ["no", True, True]


@pytest.mark.parametrize("lazy", [False, True], ids=["loops", "on demand"])
def test_who_is_told_of_it_in_a_loop_around_says_the_same(lazy: bool) -> None:
    """Threads of the outer loop may leave it before the failure's own code is there."""
    it = Counted(ValueError("no"), 5)
    out = hl.Func("out")
    out[x, y] = it.func[x, y] + it.func[x, hl.clamp(y * x, 0, 39)]
    if lazy:
        it.func.compute_lazy((8, 4))
    else:
        it.func.compute_at(out, y)
    it.func.parallel(x)
    out.parallel(y)
    out.compile_jit()
    for _ in range(40):
        it.calls = 0
        with pytest.raises(ValueError, match="no"):
            out.realize([8, 40])
