"""Computers of each family of processors, as the schedulers see them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from parhelion.autoschedule.machine import machine
from parhelion.ir.target import Target, make_target

_V3 = ("avx", "avx2", "bmi2", "f16c", "fma", "sse4.1")
_V4 = ("avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vbmi", "avx512vl")


def _of(
    cpu: str, features: tuple[str, ...], *kib: int
) -> tuple[Target, tuple[int, int, int]]:
    first, second, last = (size << 10 for size in kib)
    return make_target("x86_64-unknown-linux-gnu", cpu, features), (first, second, last)


#: What tells of the processor that the tests run on, for which other processes
#: schedule; `tests.conftest` has another one stand in for it.
at_hand = machine.processor

#: By LLVM's name of the processor, what `machine.processor` returns there:
#: the target, and bytes of the caches.
PROCESSORS = {
    "emeraldrapids": _of("emeraldrapids", (*_V3, *_V4), 48, 2048, 260 << 10),
    "znver5": _of("znver5", (*_V3, *_V4), 48, 1024, 32 << 10),
    "znver4": _of("znver4", (*_V3, *_V4), 32, 1024, 32 << 10),
    "znver3": _of("znver3", _V3, 32, 512, 32 << 10),
}


@contextmanager
def scheduling_for(name: str) -> Iterator[None]:
    """Schedules that are found inside are for a processor, by costs set by hand."""
    before, told = machine.processor, os.environ.get("HL_MACHINE")
    machine.processor = lambda: PROCESSORS[name]
    os.environ["HL_MACHINE"] = "default"
    try:
        yield
    finally:
        machine.processor = before
        del os.environ["HL_MACHINE"]
        if told is not None:
            os.environ["HL_MACHINE"] = told


__all__ = ["PROCESSORS", "scheduling_for"]
