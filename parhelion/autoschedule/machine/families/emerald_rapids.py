"""Intel's servers with AVX-512 and wide second-level caches: Sapphire, Emerald Rapids.

The hand-set costs of `machine.Machine` are this family's: they were set on a virtual
machine with 512-bit registers on a Xeon of 2023. Intel's manual: two loads and one
store of 64 bytes a cycle; 64 bytes a cycle from the second-level cache, 48 sustained.
"""

from parhelion.autoschedule.machine.families.family import Family

#: The middle of what the kernels show as the computer's neighbours come and go.
USUAL = {
    "operation": 0.21,
    "scalar": 0.39,
    "load": 0.27,
    "broadcast": 0.25,
    "store": 0.42,
    "shuffle": 0.375,
    "lane": 0.23,
    "latency": 1.45,
    "row": 3.6,
    "near_byte": 0.0135,
    "last_byte": 0.078,
    "far_byte": 0.078,
    "far_write": 0.128,
    "streamed": 0.0665,
    "fetch": 172.0,
    "page": 6.9,
}

EMERALD_RAPIDS = Family(
    "Emerald Rapids",
    cpus=frozenset(("sapphirerapids", "emeraldrapids", "graniterapids")),
    needs=frozenset(("avx512bw",)),
    usual=USUAL,
)

__all__ = ["EMERALD_RAPIDS", "USUAL"]
