"""Notices changes: each attribute that is set of what programs are made of."""

from __future__ import annotations

_epoch = 0


def epoch() -> int:
    """Grows with each change: what was looked at under another epoch may be stale."""
    return _epoch


class Changing:
    """Has an epoch begin when an attribute is set, but for private ones, which hold
    what is found anew from the others. What attributes hold is immutable, so that
    nothing changes unnoticed."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> None:
        global _epoch
        object.__setattr__(self, name, value)
        if name[0] != "_":
            _epoch += 1


__all__ = ["Changing", "epoch"]
