"""The device that kernels are made for, and what one block of it can have."""

from __future__ import annotations

from parhelion.dataclass import dataclass


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


#: How far from the element with index 0 those may be that kernels use, where indices
#: are int32: registers of a GPU have 32 bits, and this leaves room for constants up to
#: `FURTHEST` that are added to an index apart from its other terms.
INDEX_LIMIT = (1 << 31) - (1 << 20)
FURTHEST = (1 << 20) - 1

#: Kernels as any GPU runs them, on the CPU.
SIMULATED = Device()

#: KiB that the threads of a block may share, by compute capability (CUDA C++
#: Programming Guide, "Technical Specifications per Compute Capability").
_SHARED = {75: 64, 80: 163, 86: 99, 87: 163, 89: 99, 90: 227, 100: 227, 120: 99}


def device_of(arch: str) -> Device:
    """What is known of a GPU by its architecture ("sm_80"); of one that is newer than
    all that are known, what the newest of these has."""
    number = arch.removeprefix("sm_").rstrip("af")
    older = [n for n in _SHARED if number.isdecimal() and n <= int(number)]
    return Device(arch, shared=_SHARED[max(older)] << 10 if older else 48 << 10)


__all__ = ["FURTHEST", "INDEX_LIMIT", "SIMULATED", "Device", "device_of"]
