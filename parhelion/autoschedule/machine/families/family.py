"""What is known of a family of processors, beside what is measured on the one at hand.

Each family has a file of its own: what its vendor's manuals say of it, the scheduler's
costs that were set by hand on one of it, and what `kernels` shows there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from parhelion.dataclass import dataclass
from parhelion.ir.target import Target


@dataclass(frozen=True, slots=True)
class Family:
    """cpus: LLVM's names of its processors. needs: what code has to be made for so that
    the costs are those of its instructions.

    costs: of `machine.Machine`'s, those that are otherwise than there. usual: of each
    of `kernels`, nanoseconds of one unit.
    streams: whether what an output writes past the caches has a price of its own
    wherever the array lies: stores fill whole lines.
    pools: whether a last-level cache that is hardly slower than the second counts as
    more of it, which was compared on the family.
    """

    name: str
    cpus: frozenset[str]
    needs: frozenset[str]
    usual: Mapping[str, float]
    costs: Mapping[str, float] = field(default_factory=dict)
    streams: bool = True
    pools: bool = True

    def __hash__(self) -> int:
        return hash(self.name)

    def fits(self, target: Target) -> bool:
        """Whether code for a target has the instructions that the costs are of."""
        return all(target.has(feature) for feature in self.needs)


__all__ = ["Family"]
