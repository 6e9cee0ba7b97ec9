"""A computer to oneself: processes that prepare together, and measure one by one."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Gate:
    """A file that processes lock. Nobody who goes through it prepares while another
    one is alone."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def together(self) -> Iterator[None]:
        """With others that are in here too, as soon as nobody is alone."""
        yield from self._locked(fcntl.LOCK_SH)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """As soon as no other is inside."""
        yield from self._locked(fcntl.LOCK_EX)

    def _locked(self, how: int) -> Iterator[None]:
        with self.path.open("a") as file:
            fcntl.flock(file, how)
            yield


__all__ = ["Gate"]
