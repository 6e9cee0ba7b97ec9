"""The four numbers by which the paper's scheduler knows a machine, and where from.

Automatically Scheduling Halide Image Processing Pipelines (2016), sections 4.2 and 5.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from parhelion.autoschedule.machine.machine import host
from parhelion.autoschedule.params import Parameter, Parameters
from parhelion.dataclass import dataclass
from parhelion.errors import ScheduleError, here
from parhelion.ir.device import Device


@dataclass(frozen=True, slots=True)
class Limits:
    """VECTOR_WIDTH, PARALLELISM_THRESHOLD, CACHE_SIZE and LOAD_COST.

    vector_width: lanes of 32-bit data in one vector, twice as many as a register has;
    of narrower data there are more lanes, of wider data less. parallelism_threshold:
    how many tasks there should be at least. cache_size: bytes that one tile may need.
    load_cost: what a load from memory costs, in units of one addition.
    """

    vector_width: int
    parallelism_threshold: int
    cache_size: int
    load_cost: float

    def lanes(self, bits: int) -> int:
        """Lanes of numbers of so many bits, a power of 2."""
        lanes = max(2, self.vector_width * 32 // max(8, bits))
        return 1 << (lanes.bit_length() - 1)


#: An Intel Xeon E5-2620 v3 (section 5.1) and the ARM Cortex-A57 of a Tegra X1 (5.4).
XEON = Limits(16, 12, 256 << 10, 10)
ARM = Limits(8, 8, 512 << 10, 10)
_MACHINES: Mapping[str, Limits] = {"xeon": XEON, "arm": ARM}

#: Bytes of a tile that pay for its borders, where there is a last-level cache for it.
_TILE = 1 << 20

_COUNT = 1 << 20
_BYTES = 1 << 40
#: What a user may say. The paper's names are taken in small letters too.
KNOWN = (
    Parameter("machine", ("host", *_MACHINES), "whose numbers these are"),
    Parameter("VECTOR_WIDTH", "int", "lanes of a vector of 32-bit data", 1, 1024),
    Parameter("PARALLELISM_THRESHOLD", "int", "parallel tasks at least", 1, _COUNT),
    Parameter("CACHE_SIZE", "int", "bytes of cache that a tile may need", 1, _BYTES),
    Parameter("LOAD_COST", "float", "cost of a load, in additions", 0, 1e9),
    Parameter("parallelism", "int", "processor cores", 1, _COUNT),
    Parameter("last_level_cache_size", "int", "bytes that the cores share", 1, _BYTES),
    Parameter("balance", "float", "cost of a load, in additions", 0, 1e9),
)


def of_machine(threads: int | None = None) -> Limits:
    """What the computer at hand has: twice the lanes of a register, two tasks for each
    thread that runs parallel loops, half of the second-level cache of one core, or
    1 MiB where the part of the last level that is for one thread holds twice as much.

    The paper takes all of the second level. What streams through it, results and what
    is fetched ahead, has its place there too, though: with tiles for all of a cache of
    2 MiB Harris took 18.8 ms, with tiles for half of it 10.7 (unsharp 11.1 and 9.0).
    Where it is small, what tiles compute again at their borders is dearer than what
    comes from further away: on a Zen 3, which has 512 KiB, thirteen applications took
    0.89 times as long with tiles for 1 MiB as with tiles for half of it, and 0.91 times
    as long as with tiles for all of it.

    threads: how many there are; by default what ``HL_NUM_THREADS`` says, else the
    processors of this process.
    """
    found = host(threads)
    part = min(_TILE, found.shared // (2 * found.threads))
    cache = max(found.l2 // 2, part)
    return Limits(2 * found.lanes(32), 2 * found.threads, cache, 10)


def limits(
    scheduler: str, extra: Mapping[str, str], more: tuple[Parameter, ...] = ()
) -> tuple[Limits, dict[str, int | float | bool | str]]:
    """The numbers that a user's parameters come to, and the values of `more`.

    ``machine``: "xeon" or "arm" for the paper's; by default those of the computer at
    hand. ``VECTOR_WIDTH``, ``PARALLELISM_THRESHOLD``, ``CACHE_SIZE`` (bytes) and
    ``LOAD_COST``, in capitals or in small letters, each replace one of them.

    Of Halide's, ``parallelism`` is the number of cores, so that the threshold is twice
    that; ``balance`` is how much dearer a load is than an operation, so that it is
    LOAD_COST; ``last_level_cache_size`` is shared by the cores: CACHE_SIZE is the part
    of one, but no more than it would be otherwise. The paper's own names go before.

    Raises ScheduleError for other names, for what is no such number, and for a name in
    both kinds of letters.
    """
    known = (*KNOWN, *more)
    named = _in_capitals(scheduler, known, extra)
    given = Parameters(scheduler, known).read(named)
    machine = str(given.pop("machine", "host"))
    cores = given.pop("parallelism", None)
    threads = None if cores is None else int(cores)
    if machine in _MACHINES:
        made = _MACHINES[machine]
        if threads is not None:
            made = replace(made, parallelism_threshold=2 * threads)
    else:
        made = of_machine(threads)
    shared = given.pop("last_level_cache_size", None)
    if shared is not None:
        part = max(1, 2 * int(shared) // made.parallelism_threshold)
        made = replace(made, cache_size=min(made.cache_size, part))
    cost = given.pop("balance", made.load_cost)
    made = Limits(
        int(given.pop("VECTOR_WIDTH", made.vector_width)),
        int(given.pop("PARALLELISM_THRESHOLD", made.parallelism_threshold)),
        int(given.pop("CACHE_SIZE", made.cache_size)),
        float(given.pop("LOAD_COST", cost)),
    )
    return made, given


def _in_capitals(
    scheduler: str, known: Sequence[Parameter], extra: Mapping[str, str]
) -> dict[str, str]:
    """What is given, the paper's names in capitals. Raises ScheduleError for a name in
    both kinds of letters."""
    upper = {p.name for p in known if p.name.isupper()}
    named: dict[str, str] = {}
    for name, value in extra.items():
        of = name.upper() if name.upper() in upper else name
        if of in named:
            raise ScheduleError(
                f"the parameter {of} of {scheduler} is given twice, as {named[of]!r}"
                f" and as {value!r}",
                at=here(),
                hint="small letters mean the same as capitals",
            )
        named[of] = value
    return named


# GPUs.


@dataclass(frozen=True, slots=True)
class GpuLimits(Limits):
    """The same numbers of a GPU, where a task is a block and its cache is shared memory
    (section 5.4), and two more: how many threads a block is to have at least, where
    there are points enough, and at most."""

    target_threads: int = 128
    max_threads: int = 1024


_GPU = Device()
#: An NVIDIA K40 (section 5.4). The paper lets a block have 2048 threads; no device
#: takes more than 1024.
KNOWN_OF_GPU = (
    Parameter("VECTOR_WIDTH", "int", "points of a row of a tile at least", 1, 1024),
    Parameter("PARALLELISM_THRESHOLD", "int", "blocks of a kernel at least", 1, _COUNT),
    Parameter(
        "CACHE_SIZE",
        "int",
        "bytes that a tile may need; its intermediate results are in shared memory",
        1,
        _GPU.shared,
    ),
    Parameter("LOAD_COST", "float", "cost of a load, in additions", 0, 1e9),
    Parameter("TARGET_THREADS_PER_BLOCK", "int", "threads at least", 1, _GPU.threads),
    Parameter("MAX_THREADS_PER_BLOCK", "int", "threads at most", 1, _COUNT),
)


def gpu_limits(scheduler: str, extra: Mapping[str, str]) -> GpuLimits:
    """The numbers that a user's parameters come to for a GPU; those of the paper's
    where there are none. Raises ScheduleError as `limits` does, and where a block is to
    have more threads at least than at most."""
    what = f"{scheduler} for GPUs"
    named = _in_capitals(what, KNOWN_OF_GPU, extra)
    given = Parameters(what, KNOWN_OF_GPU).read(named)
    target = int(given.get("TARGET_THREADS_PER_BLOCK", 128))
    most = min(_GPU.threads, int(given.get("MAX_THREADS_PER_BLOCK", 2048)))
    if target > most:
        raise ScheduleError(
            f"the parameter TARGET_THREADS_PER_BLOCK of {what} is {target}, which is"
            f" more than the {most} threads that a block has at most",
            at=here(),
            hint="MAX_THREADS_PER_BLOCK is 2048 by default, and no device takes more"
            f" than {_GPU.threads}",
        )
    return GpuLimits(
        int(given.get("VECTOR_WIDTH", 32)),
        int(given.get("PARALLELISM_THRESHOLD", 128)),
        int(given.get("CACHE_SIZE", _GPU.shared)),
        float(given.get("LOAD_COST", 10)),
        target,
        most,
    )


__all__ = [
    "ARM",
    "KNOWN",
    "XEON",
    "GpuLimits",
    "Limits",
    "gpu_limits",
    "limits",
    "of_machine",
]
