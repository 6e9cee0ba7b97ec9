"""The page of the docs: what is wanted and found, and a table for each group."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator, Sequence
from ctypes.util import find_library
from pathlib import Path
from typing import Any

from benchmarks.gpu import applications, simulate
from benchmarks.gpu.contender import CEILING
from benchmarks.gpu.device import NOT_MEASURED
from benchmarks.gpu.goals import Entry, compile_ratios, goals
from benchmarks.gpu.jobs import GROUPS
from benchmarks.report import geometric_mean, table

PAGE = """# Kernels beside Halide's CUDA, CUDA C++ and libraries

Written by `make bench-gpu`, which is `python -m benchmarks.gpu --page {page}`. {cards}

Times are of the GPU's own clock, by events before and after runs of a contender, which
take turns in one process; images are on the device beforehand, and results stay.
A figure is the least of many runs in milliseconds, and the median after it. Halide's
CUDA target compiles the same algorithm under the same schedule, ahead of time, and
works in the same context and stream. Results are compared before anything is timed.
[What the kernels take](gpu-kernels.md) of registers and shared memory is known from
`ptxas` without a GPU.

## What is wanted, and what was found

{goals}

## Not installed where this was written

{missing}

## On the simulator

{simulated}

## Compiling

Milliseconds of the processor, least of {runs}, each in a fresh process: to build the
definition and its first schedule for a GPU, and to compile host code and PTX for sm_80.
No GPU is needed, and what the driver makes of PTX is not in it. *Warm* is the same
where the compiler's cache has the code.

{compile}

## Launches

{launches}

{groups}"""


def write(results: Entry, path: Path) -> None:
    """Writes the page."""
    groups = [_group(results, group) for group in GROUPS]
    path.write_text(
        PAGE.format(
            page=path,
            cards=_cards(results),
            goals=_goals(results),
            missing=_missing(),
            simulated=_simulated(results),
            runs=_runs(results),
            compile=_compile(results),
            launches=_launches(results),
            groups="\n".join(groups),
        )
    )


def _jobs(results: Entry) -> Iterator[Entry]:
    for jobs in results.get("jobs", {}).values():
        yield from [e for e in jobs.values() if "card" in e]


def _cards(results: Entry) -> str:
    cards = sorted({e["card"] for e in _jobs(results)})
    if not cards:
        return (
            "**Speed on a GPU is unmeasured: no device was at hand.** What needs none"
            " was measured, and rows without figures say so."
        )
    if len(cards) == 1:
        return f"All times on a GPU are of one card: {cards[0]}."
    return "Each row says which card gave it."


def _goals(results: Entry) -> str:
    words = {None: "", True: "yes", False: "**no**"}
    return table(
        ["what", "wanted", "found", "reached"],
        [[g.what, g.wanted, g.found, words[g.reached]] for g in goals(results)],
    )


def missing() -> list[str]:
    """What contenders need that is not here."""
    found = []
    if shutil.which("nvcc") is None:
        found.append("nvcc: CUDA C++ of our own, CUB, and programs in Forma")
    for module in ("halide", "torch", "cupy"):
        if importlib.util.find_spec(module) is None:
            found.append(module)
    if find_library("cublas") is None:
        found.append("cuBLAS")
    return found


def _missing() -> str:
    found = missing()
    return "\n".join([f"- {one}" for one in found]) or "Nothing."


def _simulated(results: Entry) -> str:
    found = results.get("simulated", {})
    if not found:
        return "Not run: `python -m benchmarks.gpu --simulate`."
    every = [bad for one in found.values() for bad in one.values()]
    failed = [
        f"- {name}, {label}: {bad}"
        for name, one in found.items()
        for label, bad in one.items()
        if bad
    ]
    text = (
        f"{len(every) - len(failed)} of {len(every)} of our contenders, of"
        f" {len(found)} jobs at small sizes, compute on the simulator what the CPU"
        " does, within the job's tolerance (`--simulate`). Nothing of it is timed."
    )
    left = [name for _, name in simulate.every() if name not in found]
    if left:
        text += f" Not run yet: {', '.join(left)}."
    return "\n".join([text, *([""] if failed else []), *failed])


def _runs(results: Entry) -> str:
    """How often each compile was run: a number, or from which to which."""
    found = {e["runs"] for e in results.get("compile", {}).values()} or {0}
    return " to ".join(map(str, sorted({min(found), max(found)})))


def _compile(results: Entry) -> str:
    rows = []
    for name, e in results.get("compile", {}).items():
        cells = [f"{1e3 * e[k]:.0f}" if k in e else "" for k in ("parhelion", "halide")]
        ratio = e["parhelion"] / e["halide"] if "halide" in e else None
        cells.append(f"{ratio:.2f}" if ratio else e.get("absent", ""))
        rows.append([name, *cells, f"{1e3 * e['warm']:.1f}"])
    if not rows:
        return "Not measured yet."
    left = [n for n in applications.names() if n not in results["compile"]]
    rows += [[name, "", "", "not measured yet", ""] for name in left]
    mean = geometric_mean(compile_ratios(results).values())
    rows.append(["geometric mean", "", "", f"{mean:.2f}", ""])
    return table(["application", "ours, cold", "Halide", "ratio", "ours, warm"], rows)


def _launches(results: Entry) -> str:
    found = results.get("launches", {})
    rows = []
    if "simulated" in found:
        us = found["simulated"]["seconds"] * 1e6
        rows.append(["simulated (processor)", f"{us:.2f}"])
    if "device" in found:
        device = found["device"]
        rows.append([device["card"], f"{device['seconds'] * 1e6:.2f}"])
    else:
        rows.append(["on a GPU", NOT_MEASURED])
    text = "Microseconds for each further kernel of one thread in a pipeline.\n\n"
    return text + table(["where", "us"], rows)


def _group(results: Entry, group: str) -> str:
    """A section: a row for each contender of each job."""
    rows: list[Sequence[str]] = []
    for name in GROUPS[group].names():
        entry = results.get("jobs", {}).get(group, {}).get(name, {})
        if "contenders" not in entry:
            rows.append([name, "", "", entry.get("failed", NOT_MEASURED), ""])
            continue
        for label, c in entry["contenders"].items():
            rows.append([name, entry["size"], label, _told(c), entry["card"]])
    head = ["job", "size", "contender", "ms, least (median)", "card"]
    return f"## {group[0].upper()}{group[1:]}\n\n{table(head, rows)}\n"


def _told(c: dict[str, Any]) -> str:
    if "min" not in c:
        return str(c.get("absent") or f"wrong: {c.get('wrong')}")
    if c["by"] == CEILING:
        return f"{c['amount'] / c['min']:.3g} a second"
    return f"{c['min'] * 1e3:.4f} ({c['median'] * 1e3:.4f})"


__all__ = ["missing", "write"]
