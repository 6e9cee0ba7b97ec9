"""Forks: a child finds every lock of the process free, and can compile and run."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.ir import deep
from parhelion.runtime import after_fork, jit, memo, profile, program, threads

#: The other threads are in the middle of asking LLVM.
pytestmark = pytest.mark.usefixtures("llvm_each_time")

LOCKS: dict[str, Any] = {
    "the compiler's": program.LOCK,
    "of big stacks": deep.LOCK,
    "LLVM's": jit.LOCK,
    "of the pool": threads._LOCK,
    "of the profiler": profile._LOCK,
    "of those that watch": profile._WATCHERS._lock,
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
    after_fork._before()
    try:
        assert not is_free(lock)
    finally:
        after_fork._after()
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


def run(text: str) -> str:
    """What a program prints. The time limit is the failure of one that hangs, or whose
    child does; nothing waits for it otherwise."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", text],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
        # Not all of sys.path, to which programs that other tests run add their folders.
        env={**os.environ, "PYTHONPATH": str(Path(hl.__file__).parents[1])},
    )
    assert done.stderr == ""
    return done.stdout


FORKING = """
import os
import numpy as np
import parhelion as hl
from parhelion.runtime import profile

pids = []

def stage(out):
    np.asarray(out)[...] = 5
    if not pids:
        pids.append(os.fork())

x = hl.Var("x")
f, g = hl.Func("f"), hl.Func("g")
f.define_extern(stage, [], hl.Int(32), 1)
g[x] = f[x] + 1
f.compute_root()
"""

TOLD = """
found = g.profile([64], repeat=3)
if pids[0] == 0:
    # What is printed is the parent's; the exit status tells of the child.
    again = g.profile([64], repeat=2)
    os._exit(7 if (found.runs, again.runs) == (3, 2) else 1)
_, status = os.waitpid(pids[0], 0)
print(found.runs, os.waitstatus_to_exitcode(status))
"""


def test_a_stage_forks_while_it_is_profiled() -> None:
    """The child ends its profile, though the thread that watched it is not there."""
    assert run(FORKING + TOLD) == "3 7\n"


def test_a_fork_waits_for_the_look_of_a_watcher() -> None:
    """Its mutex is free in the child: held for the fork, and by nobody else."""
    with profile._watched(None, "p") as watcher:
        after_fork._before()
        try:
            mutex = ctypes.c_int32.from_address(watcher.address)
            assert mutex.value != 0
            assert watcher in profile._WATCHERS._live
        finally:
            after_fork._after()
    assert watcher not in profile._WATCHERS._live


SHARED = """
import os, threading
import parhelion as hl
from parhelion.runtime import profile

begun, forked = threading.Event(), threading.Event()

def other(wanted):
    with profile._watched(wanted, "p"):
        begun.set()
        forked.wait()

with profile.collect() as runs:
    wanted = profile._WANTED.get()
    thread = threading.Thread(target=other, args=(wanted,))
    thread.start()
    begun.wait()
    pid = os.fork()
    forked.set()
if pid == 0:
    os._exit(7)
thread.join()
_, status = os.waitpid(pid, 0)
print(os.waitstatus_to_exitcode(status))
"""


def test_a_fork_while_another_thread_is_profiled() -> None:
    """The child waits for no run of a thread that it does not have."""
    assert run(SHARED) == "7\n"


# The import of a module is held up inside another one, until `is_over`.
IMPORTING = """
import importlib.abc, importlib.machinery, os, sys, threading

NAME = "parhelion.runtime.profile_ir"
begun, forked = threading.Event(), threading.Event()

class Slow(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != NAME or threading.current_thread() is not thread:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        execute = spec.loader.exec_module

        def slowly(module):
            begun.set()
            while not is_over():
                pass
            execute(module)

        # Not here, where Python has its own lock of all imports, for which forks wait.
        spec.loader.exec_module = slowly
        return spec

def use():
    # With no lock of the package, all of which a fork has.
    found.append(hl.Profile.__name__)

def start():
    thread.start()
    begun.wait()

def fork():
    pid = os.fork()
    if pid == 0:
        os._exit(7 if f.profile([4]).runs == 1 else 1)
    forked.set()
    thread.join()
    _, status = os.waitpid(pid, 0)
    print(found, os.waitstatus_to_exitcode(status))

found = []
thread = threading.Thread(target=use)
sys.meta_path.insert(0, Slow())
"""

BEFORE = """
import parhelion as hl

def is_over():
    # Whether the fork waits for the import; or it is too late, and it did not.
    frame = sys._current_frames()[threading.main_thread().ident]
    while frame and "importlib" not in frame.f_code.co_filename:
        frame = frame.f_back
    return frame is not None or forked.is_set()

x = hl.Var("x")
f = hl.Func("f")
f[x] = x
f.realize([4])
assert NAME not in sys.modules
start()
fork()
"""

MEANWHILE = """
# Registered before those of the package it is called after them.
os.register_at_fork(before=lambda: start())
import parhelion as hl

is_over = forked.is_set
x = hl.Var("x")
f = hl.Func("f")
f[x] = x
f.realize([4])
assert NAME not in sys.modules
fork()
"""


def test_a_fork_waits_for_imports() -> None:
    """The child finds the whole module that another thread had begun to import."""
    assert run(IMPORTING + BEFORE) == "['Profile'] 7\n"


def test_an_import_that_begins_in_a_fork() -> None:
    """The child imports the module anew."""
    assert run(IMPORTING + MEANWHILE) == "['Profile'] 7\n"
