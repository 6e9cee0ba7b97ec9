"""Forks: a child finds every lock of the process free, and can compile and run."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.ir import deep
from parhelion.runtime import fork, jit, memo, profile, program, threads

LOCKS: dict[str, Any] = {
    "the compiler's": program.LOCK,
    "of big stacks": deep.LOCK,
    "LLVM's": jit.LOCK,
    "of the pool": threads._LOCK,
    "of the profiler": profile._LOCK,
    "of results that are kept": memo._CACHE.lock,
}


def is_free(lock: Any) -> bool:
    """Whether another thread could take it."""
    found: list[bool] = []

    def attempt() -> None:
        found.append(lock.acquire(blocking=False))
        if found[0]:
            lock.release()

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.parametrize("lock", LOCKS.values(), ids=LOCKS.keys())
def test_a_fork_has_every_lock(lock: Any) -> None:
    """No other thread is in the middle of something when the process is copied."""
    assert is_free(lock)
    fork._before()
    try:
        assert not is_free(lock)
    finally:
        fork._after()
    assert is_free(lock)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_waits_for_whoever_builds_the_runtime() -> None:
    """The child is made when the other thread is ready, and can run what needs it."""
    x, y = hl.Var("x"), hl.Var("y")
    f = hl.Func("f")
    f[x, y] = x + y
    f.parallel(y)
    f.compile_jit()
    holds, forks = threading.Event(), threading.Event()
    at_rest = np.zeros(1, np.int32)

    def build() -> None:
        with threads._LOCK:
            holds.set()
            forks.wait()
            at_rest[0] = 1

    other = threading.Thread(target=build)
    other.start()
    holds.wait()
    forks.set()
    pid = os.fork()
    if pid == 0:
        # No assertion: the child must never return into the test run.
        done = at_rest[0] == 1 and is_free(threads._LOCK)
        os._exit(0 if done and f.realize([8, 8]) is not None else 1)
    _, status = os.waitpid(pid, 0)
    other.join()
    assert os.waitstatus_to_exitcode(status) == 0
