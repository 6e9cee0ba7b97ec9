"""Locks that a forked child finds free, whatever its parent's threads were doing.

Of its parent's threads a child has only the one that forked. A lock that another thread
held would stay held in it for ever, and what the lock guards would be half done.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from typing import Protocol


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


def _before() -> None:
    for _, lock in _locks:
        lock.acquire()


def _after() -> None:
    for _, lock in reversed(_locks):
        lock.release()


os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)

__all__ = ["COMPILER", "DATA", "LLVM", "RUNTIME", "Lock", "freed_by_forks"]
