"""The device that kernels are made for, and what one block of it can have."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU, or the simulation of one.

    arch: as NVIDIA calls it, "sm_80"; of a simulation "", which runs the same kernels
        on the CPU.
    threads: the most threads of a block. shared: the most bytes of memory that the
        threads of a block share. warp: how many threads go together.
    """

    arch: str = ""
    threads: int = 1024
    shared: int = 48 << 10
    warp: int = 32

    @property
    def simulated(self) -> bool:
        """Whether kernels run on the CPU."""
        return not self.arch


#: Kernels as any GPU runs them, on the CPU.
SIMULATED = Device()

__all__ = ["SIMULATED", "Device"]
