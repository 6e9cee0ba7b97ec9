"""The machine that a schedule is made for: cores, vectors, caches, costs.

Times are nanoseconds on one core. They were set by hand, for one computer of a family
of processors (`families`), and are scaled to the computer at hand by what `calibration`
measures, and keeps in the user's cache folder.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from parhelion.autoschedule.machine.families import EMERALD_RAPIDS, Family, family_of
from parhelion.dataclass import dataclass
from parhelion.ir.target import Target

#: How much of the last-level cache, which others use too, still holds what was written
#: to it: of a Zen 5's 32 MB, arrays of 12 MB stay in it and such of 48 MB do not.
_HELD = 0.4


@dataclass(frozen=True, slots=True)
class Machine:
    """threads: how many run parallel loops. vector_bytes: of one register; registers:
    how many there are. l1, l2: bytes of data cache that one core has to itself.
    shared: bytes of the last-level cache.

    operation: an addition of one register. load, store: of one register, in the
    first-level cache. broadcast: of one number to all lanes. shuffle: of one register.
    lane: one lane of a gather, or a scalar load. narrow: one of less than 32 bits,
    which no instruction gathers: it is loaded and put into its place. edge: one of a
    vector at the edge of an image, where coordinates are clamped or mirrored lane by
    lane, beyond what the vector takes elsewhere. scalar: a
    scalar operation. function: how many times as many operations a function such as
    ``exp`` takes as where there are instructions for exponents and masks. again:
    adding to a register's worth of memory that was written one iteration before.
    address: fetching an address that has no register. latency: from one multiply-add
    to the next that needs it. waiting: how many operations of vectors may wait at a
    time for what they need. near_byte: one byte that comes from, or goes to, the
    second-level cache. far_byte: one read from beyond it; far_write: one written
    there; streamed: one of an output, written past the caches. lost_byte: how much more
    one costs that a thread's share of the last-level cache does not hold, either.
    block: a block of registers, whatever is in it. round: an iteration of a
    reduction's loop. forward: from storing a number to having loaded it again. ahead:
    how far a core looks ahead.
    row: beginning an innermost loop. produce: beginning a Func's loops inside
    another's. task: one iteration of a parallel loop. wake: until threads that sleep
    take part in one. piece: beginning a part of a row in far memory. fetch: waiting
    for what is there, and nobody has foreseen. page: touching one of more pages than
    the first-level translation buffer knows; far_page: than the second-level. unhidden:
    how much of the lesser of two overlapping times is not hidden by the greater.

    family: whose costs these are. permutes: whether small tables are looked up by
    permutations of registers. steps: for elements of 8, 16, 32 and 64 bits, the longest
    steps between those that are loaded densely and put together (`codegen.strided`).
    """

    threads: int
    vector_bytes: int
    registers: int
    l1: int
    l2: int
    shared: int
    operation: float = 0.18
    load: float = 0.22
    store: float = 0.35
    broadcast: float = 0.18
    shuffle: float = 0.35
    lane: float = 0.45
    narrow: float = 0.9
    edge: float = 0.28
    scalar: float = 0.15
    function: float = 1.0
    again: float = 0.57
    address: float = 0.5
    latency: float = 1.4
    waiting: float = 97.0
    near_byte: float = 0.012
    far_byte: float = 0.08
    far_write: float = 0.18
    streamed: float = 0.07
    lost_byte: float = 0.08
    block: float = 1.0
    round: float = 0.4
    forward: float = 3.5
    ahead: float = 130.0
    row: float = 14.0
    produce: float = 60.0
    task: float = 600.0
    wake: float = 1500.0
    piece: float = 25.0
    fetch: float = 170.0
    page: float = 3.0
    far_page: float = 9.0
    unhidden: float = 0.25
    family: Family = EMERALD_RAPIDS
    permutes: bool = True
    steps: tuple[int, ...] = (16, 16, 8, 4)

    def step(self, bits: int) -> int:
        """The longest step between elements of so many bits that is no gather."""
        return self.steps[(max(bits, 8) - 1).bit_length() - 3]

    def lanes(self, bits: int) -> int:
        """How many numbers of so many bits one register holds."""
        return max(1, self.vector_bytes * 8 // max(8, bits))

    def lost(self, size: float) -> float:
        """How much of an array of so many bytes, written as a whole before it is read,
        has left the last-level cache by then: a share."""
        return min(max(size / (self.shared * _HELD) - 1, 0.0), 1.0)


@cache
def caches() -> tuple[int, int, int]:
    """Bytes of the first- and second-level data cache of one core, and of the last
    level, as Linux tells; what current servers have where it does not."""
    found: dict[int, int] = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            kind = (index / "type").read_text().strip()
            level = int((index / "level").read_text())
            size = (index / "size").read_text().strip()
        except (OSError, ValueError):
            continue
        if kind in ("Data", "Unified") and size.endswith("K"):
            found[level] = int(size[:-1]) << 10
    first, second = found.get(1, 32 << 10), found.get(2, 1 << 20)
    return first, second, max(found.get(max(found, default=3), 0), 8 << 20)


def processor() -> tuple[Target, tuple[int, int, int]]:
    """What schedules are made for: this computer's instructions, and its `caches`."""
    from parhelion.codegen.target import host_target

    return host_target(), caches()


def host(threads: int | None = None) -> Machine:
    """This computer, for so many threads (by default as many as run parallel loops:
    ``HL_NUM_THREADS``, else one for each core)."""
    from parhelion.codegen.backends import llvm_backend
    from parhelion.codegen.x86.tables import permutes

    if threads is None:
        from parhelion.runtime.threads import asked_threads

        threads = asked_threads()[0]  # what is wrong with it the pool tells
    target, (first, second, last) = processor()
    family, backend = family_of(target), llvm_backend(target.arch)
    return Machine(
        threads=threads or len(os.sched_getaffinity(0)),
        vector_bytes=target.vector_bits // 8,
        registers=32 if target.has("avx512f") else 16,
        l1=first,
        l2=second,
        shared=last,
        family=family,
        permutes=permutes(target),
        steps=tuple([backend.longest_step(target, bits) for bits in (8, 16, 32, 64)]),
        **family.costs,
    )


__all__ = ["Machine", "caches", "host", "processor"]
