"""What passes know of a family of processors beside its instructions: measured sizes.

A pass that is tuned takes its numbers from `Target.tuning`, and does nothing for a
machine that has none. They decide how fast code is, never what it computes.
"""

from __future__ import annotations

from parhelion.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Tuning:
    """How processors move rows of pixels between their caches and memory, in bytes.

    line: of a cache line. small: buffers up to this size are found in the second-level
    cache anyway. large: outputs up to this size are left to the caches: whoever reads
    them next finds them there.

    For prefetches of rows: shortest_row: shorter ones have too few lines to be worth a
    branch. longest_read, longest_written: along longer ones the hardware keeps up by
    itself: sooner for loads, which it foresees, than for stores. most_work: the vector
    operations for each cache line from which on a loop is not held up by memory.
    most_ahead: what one iteration of a loop over tiles may fetch of one buffer, as it
    must still be in the cache when the next iteration comes.

    For stores past the caches: shortest_streamed: a row has partly written lines at its
    ends, and shorter ones are mostly that. window: so many instructions a core looks
    ahead, about. narrow_register: of a register that is narrower than a line.
    furthest: so many lines loads run ahead of the stores at most.
    """

    line: int
    small: int
    large: int
    shortest_row: int
    longest_read: int
    longest_written: int
    most_work: int
    most_ahead: int
    shortest_streamed: int
    window: int
    narrow_register: int
    furthest: int


#: Measured on x86-64 (docs/decisions/0008: Sapphire Rapids and Zen 3). Other machines
#: with instructions for both have not been measured, and get the same numbers.
MEASURED = Tuning(
    line=64,
    small=1 << 20,
    large=12 << 20,
    shortest_row=128,
    longest_read=768,
    longest_written=2048,
    most_work=40,
    most_ahead=128 << 10,
    shortest_streamed=512,
    window=160,
    narrow_register=32,
    furthest=7,
)

#: The first part of the triples of machines that prefetch, and store past caches.
_TUNED = ("x86_64", "amd64", "i386", "i686", "aarch64", "arm")


def tuning_of(arch: str) -> Tuning | None:
    """The numbers for machines whose triple begins so; None where nothing is known."""
    return MEASURED if arch.startswith(_TUNED) else None


__all__ = ["MEASURED", "Tuning", "tuning_of"]
