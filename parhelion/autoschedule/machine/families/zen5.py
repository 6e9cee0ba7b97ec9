"""AMD's Zen 5 (family 1Ah) with registers of 512 bits.

All cores of a complex write into one last-level cache at 32 bytes a cycle (AMD's
optimisation guide for the family), so that writing beyond the second level costs less
here beside what the core does. Settled by the fourteen applications, timed; schedules
of 24 pipelines, timed as well, pointed that way. The second-level cache and far memory
at lower prices, which the kernels show as well, shorten some pipelines, but lengthen
others: camera by 1.09, non-local means by 1.46, local Laplacian by 1.18.
"""

from parhelion.autoschedule.machine.families.emerald_rapids import EMERALD_RAPIDS
from parhelion.autoschedule.machine.families.family import Family

ZEN5 = Family(
    "Zen 5",
    cpus=frozenset(("znver5",)),
    needs=EMERALD_RAPIDS.needs,
    # On a virtual machine with two cores of an EPYC of 2024.
    usual={
        "operation": 0.135,
        "scalar": 0.27,
        "load": 0.137,
        "broadcast": 0.134,
        "store": 0.265,
        "shuffle": 0.168,
        "lane": 0.25,
        "latency": 1.06,
        "row": 1.25,
        "near_byte": 0.0085,
        "last_byte": 0.0126,
        "far_byte": 0.021,
        "far_write": 0.019,
        "streamed": 0.0192,
        "fetch": 161.0,
        "page": 1.6,
    },
    # But for that one, all in the proportion of `machine.Machine`.
    costs={
        "operation": 0.127,
        "load": 0.156,
        "store": 0.247,
        "broadcast": 0.127,
        "shuffle": 0.247,
        "lane": 0.318,
        "narrow": 0.636,
        # Fifteen taps of floats, 16 and 8 bits: 3.1, 3.4, 3.9 ns for each 16 lanes.
        "edge": 0.2,
        "scalar": 0.106,
        "again": 0.403,
        "address": 0.354,
        "latency": 0.99,
        # Three schedulers of 38 operations, and 96 in the queue before them.
        "waiting": 210.0,
        "near_byte": 0.0085,
        "far_byte": 0.0566,
        "far_write": 0.09,
        "streamed": 0.0495,
        "lost_byte": 0.0566,
        "block": 0.707,
        "round": 0.283,
        "forward": 2.47,
        "ahead": 92.0,
        "row": 9.9,
        "produce": 42.4,
        "task": 424.0,
        "piece": 17.7,
        "fetch": 120.0,
        "page": 2.12,
        "far_page": 6.36,
    },
)

__all__ = ["ZEN5"]
