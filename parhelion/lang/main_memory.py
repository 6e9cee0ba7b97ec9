"""Halide's names for copies of an image on a device: here all are in main memory."""

from __future__ import annotations


class MainMemory:
    """What a Buffer answers that is asked about devices."""

    __slots__ = ()

    def has_device_allocation(self) -> bool:
        """Returns False: the pixels are always in main memory."""
        return False

    def host_dirty(self) -> bool:
        """Returns False: there is no copy on a device that could be older."""
        return False

    def device_dirty(self) -> bool:
        """Returns False: there is no copy on a device that could be newer."""
        return False

    def set_host_dirty(self, dirty: bool = True) -> None:
        """Does nothing: there is no copy on a device that could be older."""

    def set_device_dirty(self, dirty: bool = True) -> None:
        """Does nothing: there is no copy on a device that could be newer."""

    def copy_to_host(self) -> int:
        """Does nothing, as the pixels are in main memory; returns 0."""
        return 0

    def device_sync(self) -> int:
        """Does nothing, as no device computes; returns 0."""
        return 0


__all__ = ["MainMemory"]
