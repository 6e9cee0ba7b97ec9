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

#: Bytes of images that were left the last time, and when all nodes had been looked at.
_left = _left_of_all = 0


def freed_by(free: Callable[[], None], most: int) -> None:
    """Has a function called when there are more than `most` bytes of new images."""
    SET.relieved_by(free, _left + most)


def many(most: int) -> bool:
    """Whether there may be more than `most` bytes of new images."""
    return SET.bytes > _left + most


def free(most: int) -> None:
    """Frees images that nothing mentions, if there are more than `most` bytes of new
    ones. Call it as `sweep_cycles`, with Python's collector off.

    As a rule that looks at new nodes alone. All of them, and what Python's collector
    alone can free, come when images have doubled: that takes long where there is much.
    """
    global _left, _left_of_all
    now = SET.count()
    _left, _left_of_all = min(_left, now), min(_left_of_all, now)
    if now > _left + most:
        sweep_cycles(young=True)
        enough = max(2 * _left_of_all, most)
        if SET.count() > enough:
            sweep_cycles()
            if SET.count() > enough:
                gc.collect()
                sweep_cycles()
            _left_of_all = SET.count()
        _left = SET.count()
    SET.most = _left + most


__all__ = ["LOCK", "free", "freed_by", "many"]
