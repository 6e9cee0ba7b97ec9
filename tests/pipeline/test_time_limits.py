"""``timeout=`` and `time_limit`: runs, compilations and searches end in time."""

from __future__ import annotations

import contextlib
import sys
import threading
import time

import numpy as np
import pytest

import parhelion as hl
from parhelion.ir import deep
from parhelion.ir.deadline import DEADLINE

#: Far more than a computer takes to end a run, far less than the whole run takes.
PATIENCE = 60


def endless(name: str) -> hl.Func:
    """A Func of which 1000 x 1000 values take half an hour."""
    x, y = hl.vars("x y")
    r = hl.RDom([(0, 1000), (0, 1000)])
    f = hl.Func(name)
    f[x, y] = 0.0
    f[x, y] += hl.sin(hl.f32(r.x * x + r.y * y))
    return f


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_run_ends_in_time(parallel: bool, elsewhere: bool) -> None:
    f = endless("f")
    y = hl.Var("y")
    if parallel:
        f.parallel(y).update(0).parallel(y)
    f.compile_jit()
    found: list[BaseException] = []

    def run() -> None:
        try:
            f.realize([1000, 1000], timeout=0.2)
        except hl.TimeLimitError as error:
            found.append(error)

    start = time.monotonic()
    if elsewhere:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    else:
        run()
    assert time.monotonic() - start < PATIENCE
    (error,) = found
    assert "the time limit of 0.2 s is over while f was computed" in str(error)
    assert isinstance(error, TimeoutError) and isinstance(error, hl.HalideError)
    # The code and its frame serve again.
    r, i, j = np.arange(1000.0), 1, 1
    expected = np.sin(np.add.outer(r * i, r * j)).sum()
    given = f.realize([2, 2], timeout=PATIENCE)
    assert isinstance(given, hl.Buffer)
    assert np.isclose(given[1, 1], expected, rtol=0.05, atol=5)


def test_a_limit_holds_for_what_is_inside_the_block_alone() -> None:
    x = hl.Var("x")
    f = hl.Func("f")
    f[x] = x * 2
    with hl.time_limit(PATIENCE):
        outer = DEADLINE.get()
        with hl.time_limit(2 * PATIENCE):
            assert DEADLINE.get() is outer  # the earlier end holds
        call = f.compile_to_callable([])
        out = np.zeros(4, np.int32)
        call(out)
    assert DEADLINE.get() is None
    assert out.tolist() == [0, 2, 4, 6]


def test_a_compilation_ends_in_time() -> None:
    """The thread of the compiler is gone, and what is one for all threads is put
    back."""
    began = threading.Event()
    ended: list[str] = []

    def work() -> None:
        began.set()
        try:
            while True:
                pass
        finally:
            ended.append(threading.current_thread().name)

    limit = sys.getrecursionlimit()
    with pytest.raises(hl.TimeLimitError, match="while compiling"), hl.time_limit(0.1):
        deep.run_deep(work)
    assert began.is_set() and ended == ["parhelion-compile"]
    assert sys.getrecursionlimit() == limit
    assert deep.run_deep(lambda: 3) == 3


def test_what_is_ready_in_time_is_not_ended() -> None:
    """The end may come when the work is just done: nothing is lost or left."""
    for _ in range(30):
        with contextlib.suppress(hl.TimeLimitError), hl.time_limit(0.0005):
            assert deep.run_deep(lambda: sum(range(1000))) == 499500
    assert deep.run_deep(lambda: 4) == 4
    assert deep._users == 0


def test_a_search_for_a_schedule_ends_in_time() -> None:
    x, y = hl.vars("x y")
    f, g = hl.funcs("f g")
    f[x, y] = x * y
    g[x, y] = f[x, y] + f[x + 1, y + 1]
    with pytest.raises(hl.TimeLimitError):
        hl.autoschedule(g, [640, 480], timeout=0.001)
    # Nothing was scheduled, and it can be now.
    assert hl.autoschedule(g, [640, 480], timeout=PATIENCE).to_python()


@pytest.mark.parametrize("given", [0, -1, float("nan"), "3", True, None])
def test_limits_are_positive_numbers(given: object) -> None:
    with pytest.raises(hl.TypeMismatchError, match="positive number of seconds"):
        hl.time_limit(given)  # type: ignore[arg-type]
