"""Counts changes: each attribute that is set of the objects that programs consist
of."""

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
    """Returns a number that is another one after each change."""
    return _epoch


class Changing:
    """A base of classes whose public attributes begin a new epoch when they are set.

    Attributes that begin with an underscore are derived from others and do not count.
    All values are immutable, so that no change goes unnoticed.
    """

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
