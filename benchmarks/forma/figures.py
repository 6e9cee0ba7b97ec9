"""What is measured, in processes of their own: what `benchmarks.forma.page` shows."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterable
from typing import Any

from apps.forma.programs import PROGRAMS
from benchmarks.forma.contenders import SMALL
from benchmarks.process import Failed, child

#: How many fresh processes find compiled code in the cache.
WARM = 3
#: What is compiled to write the byte code.
_SMALLEST = "emboss"
#: Seconds after which one program is given up.
PATIENCE = 900.0


def measured(
    name: str, threads: int, seconds: float, scale: float, is_automatic: bool
) -> dict[str, Any]:
    """Times of one program, or why there are none."""
    command = ["-m", "benchmarks.forma.times", name]
    command += ["--seconds", str(seconds), "--scale", str(scale)]
    if is_automatic:
        command.append("--automatic")
    if name in SMALL and threads == 1:
        command.append("--python")
    try:
        text = child(*command, threads=threads, timeout=PATIENCE)
    except Failed as error:
        return {"failed": str(error)}
    found: dict[str, Any] = json.loads(text)
    return found


def compiles(name: str) -> dict[str, Any]:
    """Seconds to compile a program that is new, and one whose code is in the cache. The
    library's byte code is on disk for both."""
    command = ["-m", "benchmarks.forma.compiletime", name]
    try:
        with (
            tempfile.TemporaryDirectory() as bytecode,
            tempfile.TemporaryDirectory() as code,
        ):
            kept = {
                "PYTHONDONTWRITEBYTECODE": "",
                "PYTHONPYCACHEPREFIX": bytecode,
            }
            child(*command[:-1], _SMALLEST, setting=kept)
            kept["PARHELION_BENCH_CACHE"] = code
            first, *others = (
                json.loads(child(*command, setting=kept)) for _ in range(1 + WARM)
            )
    except Failed as error:
        return {"failed": str(error)}
    warm = sorted([one["compile"] for one in others])[WARM // 2]
    found: dict[str, Any] = {**first, "warm": warm}
    return found


def take(
    results: dict[str, Any],
    names: Iterable[str],
    threads: Iterable[int],
    seconds: float,
    scale: float,
    is_automatic: bool,
) -> None:
    """Measures programs, into the results."""
    for name in names:
        start = time.perf_counter()
        for count in threads:
            found = measured(name, count, seconds, scale, is_automatic)
            results["times"].setdefault(str(count), {})[name] = found
        results["compile"][name] = compiles(name)
        took = time.perf_counter() - start
        print(f"{name} [{took:.0f} s]", file=sys.stderr, flush=True)


def empty() -> dict[str, Any]:
    """Results before anything is measured."""
    return {"times": {}, "compile": {}, "programs": list(PROGRAMS)}


def failures(results: dict[str, Any]) -> list[str]:
    """What could not be measured, and the last line of what it said."""
    found = []
    for threads, programs in results["times"].items():
        for name, one in programs.items():
            if "failed" in one:
                found.append(f"{name}, {threads} thread(s): {_last(one)}")
    for name, one in results["compile"].items():
        if "failed" in one:
            found.append(f"{name}, compile: {_last(one)}")
    return found


def _last(one: dict[str, Any]) -> str:
    return str(one["failed"]).strip().splitlines()[-1]


__all__ = ["compiles", "empty", "failures", "measured", "take"]
