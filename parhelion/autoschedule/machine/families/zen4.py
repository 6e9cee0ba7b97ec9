"""AMD's Zen 4 (family 19h) with AVX-512: registers of 512 bits, in two passes.

AMD's optimisation guide for the family: an operation of 512 bits takes both halves of a
256-bit unit, one load of 64 bytes a cycle and one store every other one, and 32 bytes a
cycle from the second-level cache. So the core takes longer for each byte than the Xeon
whose costs `machine.Machine` has, and more of what comes from the second-level cache is
hidden behind it; a row costs less, as kernels show too. Settled by what other costs do
to schedules of 37 everyday pipelines and the fourteen applications
(``python -m benchmarks.everyday.costs``), timed on two cores of an EPYC of 2022: 0.98
of the time in the geometric mean. Of the applications, Harris takes 0.88 of it, lens
blur and the maximum filter 0.94, and camera 1.08.
"""

from parhelion.autoschedule.machine.families.emerald_rapids import EMERALD_RAPIDS
from parhelion.autoschedule.machine.families.family import Family

ZEN4 = Family(
    "Zen 4",
    cpus=frozenset(("znver4",)),
    needs=EMERALD_RAPIDS.needs,
    usual={
        "operation": 0.274,
        "scalar": 0.277,
        "load": 0.295,
        "broadcast": 0.15,
        "store": 0.545,
        "shuffle": 0.274,
        "lane": 0.365,
        "latency": 1.09,
        "row": 2.26,
        "near_byte": 0.0115,
        "last_byte": 0.0145,
        "far_byte": 0.0237,
        "far_write": 0.0164,
        "streamed": 0.0176,
        "fetch": 150.0,
        "page": 3.2,
    },
    costs={
        "row": 4.2,
        "near_byte": 0.006,
        "far_byte": 0.05,
        "lost_byte": 0.05,
        # Two schedulers of 32 operations, and 64 in the queue before them.
        "waiting": 128.0,
    },
)

__all__ = ["ZEN4"]
