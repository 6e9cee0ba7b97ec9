"""How much of the computer processes that are not ours used meanwhile."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

#: The largest share of the computer that others may use without a note.
CALM = 0.1


class Others:
    """Watches from its making on; only where the kernel tells (Linux)."""

    def __init__(self) -> None:
        self._start = self._now()

    def share(self) -> float | None:
        """Of the processors' time since the beginning, what processes other than this
        one and those that it started, once they have ended, used, from 0 to 1; None
        where the kernel does not tell."""
        start, now = self._start, self._now()
        if start is None or now is None:
            return None
        busy, own, wall = (b - a for a, b in zip(start, now, strict=True))
        cores = os.cpu_count() or 1
        return min(max((busy - own) / (wall * cores), 0.0), 1.0)

    @staticmethod
    def _now() -> tuple[float, float, float] | None:
        """Seconds that all processes used, that this one did, and of the clock."""
        stat = Path("/proc/stat")
        if not stat.exists():
            return None
        busy = used(stat.read_text().splitlines()[0])
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        own = time.process_time() + children.ru_utime + children.ru_stime
        return busy / os.sysconf("SC_CLK_TCK"), own, time.monotonic()


def used(line: str) -> int:
    """Ticks in the first line of /proc/stat that processes used: all but idle ones,
    those that waited for disks, and those that guests had, which are users' too."""
    user, nice, system = (int(n) for n in line.split()[1:4])
    return user + nice + system
