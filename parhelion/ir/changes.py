"""Notices changes: each attribute that is set of what programs are made of."""

from __future__ import annotations

import itertools
import threading

from parhelion.ir.deep import is_deep

#: Held while something is changed, and for longer by who changes what belongs together,
#: or reads a pipeline as a whole. The compiler's lock is taken before it, never inside.
CHANGES = threading.RLock()

#: Each number is an epoch's once, whichever thread is faster.
_NUMBERS = itertools.count(1)
_epoch = 0


def epoch() -> int:
    """Another number after each change: what was looked at before may be stale."""
    return _epoch


class Changing:
    """A base of classes whose attributes are noticed when they are set: a new epoch
    begins. Private attributes do not count, as they hold what is derived from others.
    The values are immutable, so that nothing changes unnoticed."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> None:
        global _epoch
        if is_deep():
            # Of copies: the thread that waits for this one may hold the lock.
            object.__setattr__(self, name, value)
            _epoch = next(_NUMBERS)
            return
        with CHANGES:
            object.__setattr__(self, name, value)
            if name[0] != "_":
                _epoch = next(_NUMBERS)


__all__ = ["CHANGES", "Changing", "epoch"]
