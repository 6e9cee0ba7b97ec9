"""Locks that a forked child finds free, whatever its parent's threads were doing.

Of its parent's threads a child has only the one that forked. A lock that another thread
held would stay held in it for ever, and what the lock guards would be half done.

Python's own locks of modules are such, as the package imports much of itself where it
is first used. `importlib` offers no way to ask for the modules that threads are about
to import, so its table of locks is read here.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any, Protocol


class Lock(AbstractContextManager[object], Protocol):
    """What locks have in common."""

    def acquire(self) -> bool: ...
    def release(self) -> None: ...


#: The locks, by their place in the order in which threads take several of them.
_locks: list[tuple[int, Lock]] = []

#: Of whoever compiles; of whoever builds a part of the runtime, perhaps for that; of
#: LLVM, which both use; of data, under which nothing else is taken.
COMPILER, RUNTIME, LLVM, DATA = range(4)


def freed_by_forks(lock: Lock, place: int) -> None:
    """Has forks wait until `lock` is free."""
    _locks.append((place, lock))
    _locks.sort(key=lambda one: one[0])


#: In `_module_locks` a weak reference to the lock of each module that a thread begins
#: to import, by its name; the thread has the lock until the module is complete.
_importlib: Any = import_module("_frozen_importlib")
_PACKAGE = __name__.partition(".")[0]


def _imports_of_others() -> list[tuple[str, Any]]:
    """Modules of the package that other threads are importing, and their locks."""
    found: list[tuple[str, Any]] = []
    table = _importlib._module_locks
    for name in list(table):  # one step, as threads change the table
        reference = table.get(name)
        lock = reference and reference()
        if lock and name.partition(".")[0] == _PACKAGE:
            found.append((name, lock))
    mine = threading.get_ident()
    return [(name, lock) for name, lock in found if lock.owner != mine]


def _wait(lock: Any) -> None:
    try:
        lock.acquire()
    except _importlib._DeadlockError:
        # That import waits for one in which this thread forks: see `_in_child`.
        return
    lock.release()


def _before() -> None:
    """Takes the locks, while no import of the package is under way."""
    waited: list[Any] = []
    while True:
        for _, lock in _locks:
            lock.acquire()
        going = [lock for _, lock in _imports_of_others() if lock not in waited]
        if not going:
            return
        # Whoever imports may need what is locked.
        _after()
        for lock in going:
            _wait(lock)
        waited += going


def _after() -> None:
    for _, lock in reversed(_locks):
        lock.release()


def _in_child() -> None:
    """Forgets imports of the package that another thread had begun at the fork.

    They began in other handlers of the fork, too late for `_before` to wait for them.
    The child imports such a module anew when it needs it.
    """
    for name, _ in _imports_of_others():
        _importlib._module_locks.pop(name, None)
        spec = getattr(sys.modules.get(name), "__spec__", None)
        if getattr(spec, "_initializing", False):
            del sys.modules[name]
    _after()


os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_in_child)

__all__ = ["COMPILER", "DATA", "LLVM", "RUNTIME", "Lock", "freed_by_forks"]
