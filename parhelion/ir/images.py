"""Frees images that only definitions mention which are gone.

The table of nodes holds whatever mentions an image, and the image lasts as long. A
program that defines Funcs for each frame of a video would keep all frames. So whenever
many bytes of images are new, nodes are looked through for those that nothing holds.
"""

from __future__ import annotations

import gc
from collections.abc import Callable

from parhelion.ir.bindings import SET
from parhelion.ir.cycles import sweep_cycles

#: Guards what images are bound to.
LOCK = SET.lock

#: Bytes of images that were left the last time.
_left = 0
#: Bytes that Python's collector left, the last time that it was asked: those of images
#: that something holds.
_held = 0


def freed_by(free: Callable[[], None], most: int) -> None:
    """Has a function called when there are more than `most` bytes of new images."""
    SET.relieved_by(free, _left + most)


def many(most: int) -> bool:
    """Whether there may be more than `most` bytes of new images."""
    return SET.bytes > _left + most


def free(most: int) -> None:
    """Frees images that nothing mentions, if there are more than `most` bytes of new
    ones. Call it as `sweep_cycles`, with Python's collector off.

    As a rule that looks at new nodes alone. All of them come when images have doubled,
    and then Python's collector, if that was not half of what is new: both take long
    where there is much.
    """
    global _left, _held
    now = SET.count()
    _left, _held = min(_left, now), min(_held, now)
    if now > _left + most:
        sweep_cycles(young=True)
        new = max(_held, most - _held)
        if SET.count() > _held + new:
            sweep_cycles()
            if SET.count() > _held + new // 2:
                gc.collect()
                sweep_cycles()
                _held = SET.count()
        _left = SET.count()
    SET.most = _left + most


__all__ = ["LOCK", "free", "freed_by", "many"]
