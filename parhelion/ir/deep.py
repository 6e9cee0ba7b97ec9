"""Running the compiler's recursions: a big stack, and no cyclic collector meanwhile.

Passes recurse over trees whose depth the user decides. CPython's default limits would
stop them at about 500 levels, so compiles run on one thread each with a stack of
512 MB (reserved, not touched: starting one costs about 0.1 ms).
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from typing import TypeVar

_R = TypeVar("_R")

_STACK_BYTES = 512 << 20
_DEPTH = 1_000_000
_lock = threading.Lock()
_inside = threading.local()
_collector_users = 0


def run_deep(f: Callable[[], _R]) -> _R:
    """``f()`` on a thread with a big stack; exceptions come through unchanged."""
    if getattr(_inside, "yes", False):
        return f()
    results: list[_R] = []
    errors: list[BaseException] = []

    def body() -> None:
        _inside.yes = True
        try:
            results.append(f())
        except BaseException as error:  # noqa: BLE001 - handed to the caller below
            errors.append(error)

    with _lock:
        _pause_collector()
        if sys.getrecursionlimit() < _DEPTH:
            # The limit is for all threads in CPython 3.11; others still fail safely,
            # since user code recursing this deep overflows only its own stack.
            sys.setrecursionlimit(_DEPTH)
        before = threading.stack_size(_STACK_BYTES)
        try:
            thread = threading.Thread(target=body, name="parhelion-compile")
            thread.start()
        finally:
            threading.stack_size(before)
    thread.join()
    with _lock:
        _resume_collector()
    if errors:
        raise errors[0]
    return results[0]


def _pause_collector() -> None:
    """Trees are acyclic and huge: scanning them costs 10 to 45 % of a compile."""
    global _collector_users, _collector_was_on
    if _collector_users == 0:
        _collector_was_on = gc.isenabled()
        gc.disable()
    _collector_users += 1


def _resume_collector() -> None:
    global _collector_users
    _collector_users -= 1
    if _collector_users == 0 and _collector_was_on:
        gc.enable()


_collector_was_on = True
