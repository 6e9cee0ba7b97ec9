"""AMD's Zen 3, and whatever has no AVX-512: registers hold half a line of the cache.

Functions have no instructions for exponents and masks; twice as many instructions for
each byte hide most of what comes from the second-level cache, and half of what comes
from beyond it; loads wait for more stores to what was just written; and gathering takes
an instruction of the core's own for each lane (AMD's optimisation guide for family 19h:
39 macro-operations for eight lanes).
"""

from parhelion.autoschedule.machine.families.emerald_rapids import USUAL
from parhelion.autoschedule.machine.families.family import Family

ZEN3 = Family(
    "Zen 3",
    cpus=frozenset(("znver3",)),
    needs=frozenset(),
    usual={
        **USUAL,
        "lane": 0.46,
        "far_byte": 0.039,
        "far_write": 0.064,
        "streamed": 0.033,
    },
    costs={
        "function": 1.75,
        # Two schedulers of 32 operations, and 64 in the queue before them.
        "waiting": 128.0,
        "near_byte": 0.003,
        "far_byte": 0.04,
        "far_write": 0.09,
        "streamed": 0.035,
        "lost_byte": 0.04,
        "lane": 0.9,
        "edge": 0.56,
        "again": 2.0,
    },
    # It depends on where arrays lie, and schedules were never compared for the other.
    streams=False,
    pools=False,
)

__all__ = ["ZEN3"]
