"""How much slower or faster a computer is than the cost model's own, kept on disk.

The constants of `machine.Machine` were set by hand, together, against measured times of
many pipelines on one computer: an addition there stands for what an addition costs
among others, not for the processor's manual. They are not replaced by measurements
therefore, but scaled: by the time that a loop takes here over the time that the same
loop takes there (see `calibrate`).
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from parhelion.autoschedule.machine import Machine
from parhelion.runtime.folders import cache_folder

#: Changes whenever kernels, their usual times or the file do.
FORMAT = 2
#: Which constants each kernel scales. Not measured are `task`, which depends on the
#: number of threads and on who else is running, and the sizes of caches, which the
#: system tells.
SCALED: Mapping[str, tuple[str, ...]] = {
    "operation": ("operation",),
    "scalar": ("scalar",),
    "load": ("load", "address"),
    "broadcast": ("broadcast",),
    "store": ("store", "again"),
    "shuffle": ("shuffle", "narrow"),
    "lane": ("lane",),
    "latency": ("latency",),
    "row": ("row", "produce"),
    "near_byte": ("near_byte",),
    "far_byte": ("far_byte", "lost_byte"),
    "far_write": ("far_write",),
    "streamed": ("streamed",),
    "fetch": ("piece", "fetch"),
    "page": ("page", "far_page"),
}
#: Nanoseconds of one unit of each kernel on the computer for which the constants were
#: set: a virtual machine with 512-bit registers on a Xeon of 2023 (Emerald Rapids), the
#: middle of what it shows as its neighbours come and go.
USUAL: Mapping[str, float] = {
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
    "far_byte": 0.078,
    "far_write": 0.128,
    "streamed": 0.0665,
    "fetch": 172.0,
    "page": 6.9,
}
#: Factors are powers of this, so that what takes 0.7 to 1.4 times as long counts as
#: usual. On a busy computer the shortest times of two runs differ by as much (those of
#: writing memory, on the one for which the costs were set, by 2); schedules should not.
STEP = 2.0
#: How fast a core is by itself depends on its clock, and differs little from one to the
#: next: less than this power is taken for usual, so that two measurements agree.
_SURE = 1.0
_CORE = (
    "operation",
    "scalar",
    "load",
    "broadcast",
    "store",
    "shuffle",
    "latency",
    "row",
    "page",
)
#: The greatest power that is believed. Of what is faster than usual, a single one is:
#: in so short a time it may be that nobody else uses the memory.
MOST, _FASTER = 3, 1
#: A file longer than this is none of ours.
_LONGEST = 1 << 16


@dataclass(frozen=True)
class Fit:
    """measured: nanoseconds of one unit of each kernel. factors: how many times as long
    as usual that is, rounded. clamped: the kernels for which more, or less, was
    measured than is believed."""

    measured: Mapping[str, float]
    factors: Mapping[str, float]
    clamped: tuple[str, ...] = ()

    @staticmethod
    def of(measured: Mapping[str, float]) -> Fit:
        """What times of all kernels come to."""
        measured = {name: float(f"{measured[name]:.3g}") for name in USUAL}
        factors, clamped = {}, []
        for name, usual in USUAL.items():
            octaves = math.log(measured[name] / usual, STEP)
            power = round(octaves)
            if name in _CORE and abs(octaves) < _SURE:
                power = 0
            if abs(power) > MOST:
                clamped.append(name)
                power = int(math.copysign(MOST, power))
            factors[name] = round(STEP ** max(power, -_FASTER), 4)
        return Fit(measured, factors, tuple(clamped))

    def scaled(self, machine: Machine) -> Machine:
        """A machine with its hand-set costs in the proportion of this computer."""
        costs = {
            constant: getattr(machine, constant) * self.factors[name]
            for name, constants in SCALED.items()
            for constant in constants
        }
        return replace(machine, **costs)


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
    with open(path, "rb") as file:
        data = file.read(_LONGEST + 1)
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
    clamped = found.get("clamped")
    if not isinstance(clamped, list) or any(name not in [*USUAL] for name in clamped):
        raise ValueError("it is incomplete")
    return Fit(measured, factors, tuple(clamped))


def _numbers(found: Mapping[str, object], name: str) -> dict[str, float]:
    part = found.get(name)
    if not isinstance(part, dict) or part.keys() != USUAL.keys():
        raise ValueError("it is incomplete")
    for value in part.values():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (number and math.isfinite(value) and value > 0):
            raise ValueError(f"{value!r:.40} is no time")
    return {k: float(v) for k, v in part.items()}


def write(path: Path, machine: Machine, fit: Fit, *, over: bool) -> None:
    """Keeps a fit, whole or not at all; where another process was quicker, only if it
    is to be written `over`. Raises OSError."""
    text = json.dumps(
        {
            **key(machine),
            "measured": dict(fit.measured),
            "factors": dict(fit.factors),
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
    "USUAL",
    "Fit",
    "key",
    "place",
    "processor",
    "read",
    "write",
]
