"""What profiles tell of devices: each kernel's time, size and traffic, and copies."""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.dataclass import dataclass
from parhelion.ir.names import plain_name
from parhelion.runtime.device_log import Entry
from parhelion.runtime.device_log_ir import LAUNCH, TO_DEVICE, TO_HOST


@dataclass(frozen=True, slots=True)
class KernelProfile:
    """A kernel in a Profile. All numbers are of one run, on average.

    name: as debuggers and NVIDIA's tools show it.
    func: the name of the Func that it computes.
    launches: how often it was launched.
    seconds: how long it took, all launches together: by the GPU's own clock, or by the
        host's where it is simulated.
    blocks: how many blocks the largest launch had, and threads: how many threads each.
    registers: of each thread; 0 if not known, as in a simulation.
    shared: bytes of memory that the threads of a block share.
    occupancy: how many threads a processor of the GPU can hold of them, as a part of
        those that it can hold at all, by threads, registers and shared memory; None if
        there is no GPU that could tell.
    read, written: the bytes of the device's memory that its threads read and write,
        each element once, in all launches: of each image no more than there is of it.
    bandwidth: both in a second, in bytes.
    achieved: `bandwidth` as a part of the GPU's; None if there is no GPU.

    >>> f = hl.Func("f")
    >>> f[x, y] = x + y
    >>> f = f.gpu_tile(x, y, hl.Var("tx"), hl.Var("ty"), 16, 8)
    >>> (kernel,) = f.profile([64, 64]).kernels  # doctest: +SKIP
    >>> kernel.launches, kernel.blocks, kernel.threads  # doctest: +SKIP
    (1.0, 32, 128)
    """

    name: str
    func: str
    launches: float
    seconds: float
    blocks: int
    threads: int
    registers: int
    shared: int
    occupancy: float | None
    read: float
    written: float
    bandwidth: float
    achieved: float | None


@dataclass(frozen=True, slots=True)
class CopyProfile:
    """Copies between the memories of host and device, in a Profile, of one run on
    average: how many there were one way, their bytes, and their seconds together.

    >>> f = hl.Func("f")
    >>> f[x] = hl.Buffer(np.arange(3, dtype=np.int32))[x] + x
    >>> f = f.gpu_tile(x, hl.Var("tx"), 16)
    >>> f.profile([3]).to_device  # doctest: +SKIP
    CopyProfile(copies=1.0, bytes=12.0, seconds=...)
    """

    copies: float = 0.0
    bytes: float = 0.0
    seconds: float = 0.0


def kernels_of(entries: Sequence[Entry], runs: int) -> tuple[KernelProfile, ...]:
    """The kernels that some runs have launched, in their order."""
    found: dict[str, list[Entry]] = {}
    for e in entries:
        if e.kind == LAUNCH:
            found.setdefault(e.name, []).append(e)
    return tuple([_kernel(name, launches, runs) for name, launches in found.items()])


def _kernel(name: str, launches: Sequence[Entry], runs: int) -> KernelProfile:
    largest = max(launches, key=lambda e: _product(e.grid))
    threads = _product(largest.block)
    seconds = sum([e.seconds or 0.0 for e in launches])
    read, written = sum([e.read for e in launches]), sum([e.written for e in launches])
    bandwidth = (read + written) / seconds if seconds else 0.0
    occupancy = achieved = None
    # Simulated kernels have no registers.
    if largest.registers:
        from parhelion.runtime.cuda_driver import driver

        gpu = driver().chosen()
        if gpu is not None:
            occupancy = gpu.occupancy(threads, largest.registers, largest.shared)
            achieved = bandwidth / gpu.bandwidth if gpu.bandwidth else None
    return KernelProfile(
        name,
        plain_name(largest.func),
        len(launches) / runs,
        seconds / runs,
        _product(largest.grid),
        threads,
        largest.registers,
        largest.shared,
        occupancy,
        read / runs,
        written / runs,
        bandwidth,
        achieved,
    )


def _product(sizes: Sequence[int]) -> int:
    total = 1
    for n in sizes:
        total *= max(n, 0)
    return total


def copies_of(entries: Sequence[Entry], runs: int) -> tuple[CopyProfile, CopyProfile]:
    """The copies of some runs to the device, and to the host."""
    made: list[CopyProfile] = []
    for kind in (TO_DEVICE, TO_HOST):
        mine = [e for e in entries if e.kind == kind]
        made.append(
            CopyProfile(
                len(mine) / runs,
                sum([e.read + e.written for e in mine]) / runs,
                sum([e.seconds or 0.0 for e in mine]) / runs,
            )
        )
    return made[0], made[1]


__all__ = ["CopyProfile", "KernelProfile", "copies_of", "kernels_of"]
