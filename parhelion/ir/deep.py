"""Running the compiler's recursions: a big stack, and no cyclic collector meanwhile.

Passes recurse over trees whose depth the user decides. CPython's default limits would
stop them at about 500 levels, so compiles run on one thread each with a stack of
512 MB (reserved, not touched: starting one costs about 0.1 ms).

The frames of Python functions are not on that stack. CPython has chunks of 16 KiB for
them, and takes the next one from the system whenever a call does not fit into the last
one, to give it back when that call returns. A loop of calls that stands at the end of a
chunk takes 100 times as long; a compile, which calls functions at all depths, took 15 %
longer. `with_room` has one large chunk for all.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
import threading
from collections.abc import Callable
from typing import TypeVar

from parhelion.errors import HalideError, OutOfMemoryError, here
from parhelion.ir import progress
from parhelion.ir.deadline import DEADLINE

_R = TypeVar("_R")

_STACK_BYTES = 512 << 20
_DEPTH = 1_000_000
#: What the frame of `with_room` takes, in words, so that its chunk, the next larger
#: power of two, has 8 MB left: room for some 40,000 frames (not touched before).
_FRAME_WORDS = 1 << 20
#: Of the interpreter's limits. Nothing else is taken under it.
LOCK = threading.Lock()
_inside = threading.local()
_users = 0


def is_deep() -> bool:
    """Whether this thread runs something deep, for another thread that waits."""
    return getattr(_inside, "yes", False)


def with_room(f: Callable[[], _R]) -> _R:
    """``f()``, with room for the frames of what it calls."""
    return f()


with_room.__code__ = with_room.__code__.replace(co_stacksize=_FRAME_WORDS)


def run_deep(f: Callable[[], _R]) -> _R:
    """``f()`` on a thread with a big stack; exceptions come through, with the line of
    the caller where they know of none."""
    if is_deep():
        return f()
    results: list[_R] = []
    errors: list[BaseException] = []
    work = progress.current()
    ending = _Ending()

    def body() -> None:
        _inside.yes = True
        progress.adopt(work)
        try:
            try:
                results.append(with_room(f))
            except BaseException as error:
                errors.append(error)
            ending.close()
        except _Ended:
            errors.append(_Ended())  # it came behind the last of the work
        finally:
            # Here and not below: an interrupted caller does not wait.
            with LOCK:
                _restore()

    with LOCK:
        _prepare()
        before = threading.stack_size(_STACK_BYTES)
        try:
            thread = threading.Thread(target=body, name="parhelion-compile")
            thread.start()
        except RuntimeError:
            _restore()
            raise OutOfMemoryError(
                f"there is no room for the compiler's stack of {_STACK_BYTES >> 20} MB",
                at=here(),
            ) from None
        finally:
            threading.stack_size(before)
    deadline = DEADLINE.get()
    if deadline is None:
        thread.join()
    else:
        thread.join(deadline.left())
        if thread.is_alive():
            ending.end(thread)
            doing = "" if work is None else work.step
            raise deadline.error(f"compiling ({doing})" if doing else "compiling")
    if errors:
        error = errors[0]
        if isinstance(error, HalideError):
            error.locate(here())
        raise error
    return results[0]


class _Ended(BaseException):
    """What ends a thread of the compiler's when its time is over."""


class _Ending:
    """A thread that may be ended from outside as long as it works, and not when it
    puts back what is one for all threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open = True

    def end(self, thread: threading.Thread) -> None:
        """Raises _Ended in the thread, and waits until it is gone."""
        while thread.is_alive():
            with self._lock:
                if self._open and thread.ident is not None:
                    ident = ctypes.c_ulong(thread.ident)
                    # Python raises it between two steps of Python code.
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(
                        ident, ctypes.py_object(_Ended)
                    )
            thread.join(1)

    def close(self) -> None:
        """The work is done. Raises _Ended here, if it is on its way."""
        with self._lock:
            self._open = False
        for _ in range(2):  # Python looks for exceptions from outside at each turn
            continue


def _prepare() -> None:
    """Trees are acyclic and huge: scanning them costs 10 to 45 % of a compile. The
    limit of recursion is one for all threads, so it is lifted only meanwhile."""
    global _users, _collector_was_on, _limit_was
    if _users == 0:
        _collector_was_on = gc.isenabled()
        gc.disable()
        _limit_was = sys.getrecursionlimit()
        sys.setrecursionlimit(max(_limit_was, _DEPTH))
    _users += 1


def _restore() -> None:
    global _users
    _users -= 1
    if _users == 0:
        if _collector_was_on:
            gc.enable()
        with contextlib.suppress(RecursionError):  # deeper already: user's own change
            sys.setrecursionlimit(_limit_was)


_collector_was_on = True
_limit_was = 1000
