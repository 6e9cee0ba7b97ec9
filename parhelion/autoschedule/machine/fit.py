"""How much slower or faster a computer is than the cost model's own, kept on disk.

The constants of `machine.Machine` were set by hand, together, against measured times of
many pipelines on one computer: an addition there stands for what an addition costs
among others, not for the processor's manual. They are not replaced by measurements
therefore, but scaled by the pace of the core: by the time that loops take here over the
time that the same loops take there (see `calibration`). What stands out from that pace,
because it is much slower, is scaled by its own loop.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import statistics
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import TypeGuard

from parhelion.autoschedule.machine.families import EMERALD_RAPIDS, Family
from parhelion.autoschedule.machine.families.emerald_rapids import USUAL
from parhelion.autoschedule.machine.machine import Machine
from parhelion.dataclass import dataclass
from parhelion.runtime.folders import cache_folder, read_regular

#: Changes whenever kernels, their usual times or the file do.
FORMAT = 4
#: Which constants each kernel scales where it stands out; all other times go by the
#: pace of the core alone.
SCALED: Mapping[str, tuple[str, ...]] = {
    "operation": ("operation",),
    "scalar": ("scalar",),
    "load": ("load", "address"),
    "broadcast": ("broadcast",),
    "store": ("store", "again"),
    "shuffle": ("shuffle", "narrow"),
    "lane": ("lane", "edge"),
    "latency": ("latency",),
    "row": ("row", "produce"),
    "near_byte": ("near_byte",),
    # Of the last level only how fast it is beside the second is asked.
    "last_byte": (),
    "far_byte": ("far_byte", "lost_byte"),
    "far_write": ("far_write",),
    "streamed": ("streamed",),
    "fetch": ("piece", "fetch"),
    "page": ("page", "far_page"),
}
#: Factors are powers of this. On a busy computer the shortest times of two runs differ
#: by up to as much (those of writing memory); schedules should not.
STEP = 2.0
#: By this many powers a loop is slower than the core's pace, at least, where it counts
#: for itself. What is faster never does: in so short a time it may be that nobody else
#: uses the memory, and a loop that does nothing else is no measure of what memory costs
#: among other things. (A Zen 5 reads and writes it in a third to an eighth of the time
#: in such loops; by those prices non-local means took 1.5 times as long.)
_SURE = 1.25
#: The loops whose middle is the core's pace.
_CORE = ("operation", "scalar", "load", "broadcast", "store", "shuffle", "latency")
#: A pace within so many powers of the usual one is usual; others are rounded to them.
_PACE = 0.5
#: The greatest power that is believed.
MOST = 3
#: The last-level cache counts as another second-level one of the same size where a byte
#: from it takes no more than so many times as long.
_FAST = 3.0
#: A file longer than this is none of ours.
_LONGEST = 1 << 16


@dataclass(frozen=True)
class Fit:
    """measured: nanoseconds of one unit of each kernel. factors: how many times as long
    as usual that is beside the pace of the core, rounded. pace: how many times as long
    as usual the core takes. clamped: the kernels for which more, or less, was measured
    than is believed."""

    measured: Mapping[str, float]
    factors: Mapping[str, float]
    pace: float = 1.0
    clamped: tuple[str, ...] = ()

    @staticmethod
    def of(measured: Mapping[str, float], family: Family = EMERALD_RAPIDS) -> Fit:
        """What times of all kernels come to, on a processor of a family."""
        measured = {name: float(f"{measured[name]:.3g}") for name in USUAL}
        octaves = {
            name: math.log(measured[name] / expected, STEP)
            for name, expected in family.usual.items()
        }
        middle = statistics.median([octaves[name] for name in _CORE])
        middle = min(max(middle, -MOST), MOST)
        factors, clamped = {}, []
        for name, value in octaves.items():
            over = value - middle
            if abs(round(over)) > MOST:
                clamped.append(name)
            power = min(round(over), MOST) if over >= _SURE else 0
            factors[name] = round(STEP**power, 4)
        steps = round(middle / _PACE) if abs(middle) >= _PACE else 0
        pace = round(STEP ** (steps * _PACE), 4)
        return Fit(measured, factors, pace, tuple(clamped))

    def scaled(self, machine: Machine) -> Machine:
        """A machine with its hand-set costs in the proportion of this computer."""
        costs = {name: getattr(machine, name) * self.pace for name in TIMES}
        for kernel, constants in SCALED.items():
            for name in constants:
                costs[name] *= self.factors[kernel]
        l2 = machine.l2 * (2 if self._close(machine) else 1)
        return replace(machine, l2=l2, **costs)

    def _close(self, machine: Machine) -> bool:
        """Whether the last-level cache is hardly slower than the second, and has
        room."""
        fast = self.measured["last_byte"] <= _FAST * self.measured["near_byte"]
        roomy = machine.shared >= 8 * machine.l2 * machine.threads
        return fast and roomy and machine.family.pools


#: The costs that are times: a function's is a number of operations, and what is not
#: hidden is a share.
TIMES = tuple(
    f.name
    for f in fields(Machine)
    if f.type == "float" and f.name not in ("function", "unhidden")
)


# Files.


@cache
def processor() -> str:
    """Which processor this is, as far as the system tells: the same text on the same
    computer, another on one that is otherwise fast."""
    x86 = ("vendor_id", "cpu family", "model", "model name", "stepping")
    arm = ("CPU implementer", "CPU architecture", "CPU variant", "CPU part")
    fields = x86 + arm
    found: dict[str, str] = {}
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as lines:
        for line in lines:
            name, _, value = line.partition(":")
            if name.strip() in fields:
                found.setdefault(name.strip(), value.strip())
    told = [f"{name} {found[name]}" for name in fields if name in found]
    return ", ".join(told or [platform.machine(), platform.processor()])


def key(machine: Machine) -> dict[str, object]:
    """What a fit holds for: its file says so, and is named by it."""
    return {
        "format": FORMAT,
        "processor": processor(),
        "family": machine.family.name,
        "vector_bytes": machine.vector_bytes,
        "caches": [machine.l1, machine.l2, machine.shared],
    }


def place(machine: Machine) -> Path:
    """The file of this computer's fit in the user's cache folder. Raises RuntimeError
    for a user without home."""
    text = json.dumps(key(machine), sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return cache_folder() / f"machine-{digest}.json"


def read(path: Path, machine: Machine | None) -> Fit:
    """The fit that a file keeps. For a machine it must be that machine's.

    Raises FileNotFoundError, other OSErrors, and ValueError with the reason, in words,
    for what is no such file."""
    data = read_regular(path, _LONGEST + 1)
    if data is None:
        raise ValueError("it is no regular file")
    if len(data) > _LONGEST:
        raise ValueError("it is too long")
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError("it is no JSON") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ValueError("it is of another format")
    if machine is not None and any(found.get(k) != v for k, v in key(machine).items()):
        raise ValueError("it is of another computer")
    measured = _numbers(found, "measured")
    factors = _numbers(found, "factors")
    if any(abs(math.log(f, STEP)) > MOST + 0.01 for f in factors.values()):
        raise ValueError("a factor is out of range")
    pace = found.get("pace")
    if not _is_time(pace) or abs(math.log(pace, STEP)) > MOST + 0.01:
        raise ValueError("its pace is out of range")
    clamped = found.get("clamped")
    if not isinstance(clamped, list) or any(name not in [*USUAL] for name in clamped):
        raise ValueError("it is incomplete")
    return Fit(measured, factors, pace, tuple(clamped))


def _numbers(found: Mapping[str, object], name: str) -> dict[str, float]:
    part = found.get(name)
    if not isinstance(part, dict) or part.keys() != USUAL.keys():
        raise ValueError("it is incomplete")
    for value in part.values():
        if not _is_time(value):
            raise ValueError(f"{value!r:.40} is no time")
    return {k: float(v) for k, v in part.items()}


def _is_time(value: object) -> TypeGuard[float]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and value > 0


def write(path: Path, machine: Machine, fit: Fit, *, over: bool) -> None:
    """Keeps a fit, whole or not at all; where another process was quicker, only if it
    is to be written `over`. Raises OSError."""
    text = json.dumps(
        {
            **key(machine),
            "measured": dict(fit.measured),
            "factors": dict(fit.factors),
            "pace": fit.pace,
            "clamped": list(fit.clamped),
        },
        indent=1,
    )
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, made = tempfile.mkstemp(dir=path.parent, prefix=".machine-", suffix=".tmp")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        if over or not path.exists():
            os.replace(made, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(made)


__all__ = [
    "FORMAT",
    "MOST",
    "SCALED",
    "STEP",
    "TIMES",
    "USUAL",
    "Fit",
    "key",
    "place",
    "processor",
    "read",
    "write",
]
