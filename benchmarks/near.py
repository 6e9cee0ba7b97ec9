"""How near the applications come to what is asked of them, and to the machine's limits.

Two tables of the report: the shares of measured limits, and every figure that must be
reached with what was found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks import overhead
from benchmarks.case import COMPILE_LIMIT, RUN_LIMIT

Entry = Mapping[str, Any]

#: Largest acceptable geometric mean of our times over Halide's.
MEAN_LIMIT = 1.0
#: Largest acceptable memory of a process that compiles, in MB.
MEMORY_LIMIT = 500.0
#: Largest acceptable seconds of Python to lower the local Laplacian.
LOWERING_LIMIT = 1.5
#: Threads of the runs.
THREADS = ("1", "2")

_SHARE_HEAD = ("application", "threads", "of", "the limit", "in a run", "Parhelion")
SHARE_HEAD = (*_SHARE_HEAD, "Halide", "wanted", "")
GOAL_HEAD = ("what", "limit", "found", "")


def _runs(
    results: Entry, order: Sequence[str]
) -> Iterator[tuple[str, str, Entry, Entry]]:
    """Name, threads, the case's entry, and its run, of all that ran."""
    for name in order:
        entry = results["cases"].get(name, {})
        for threads, run in entry.get("run", {}).items():
            yield name, threads, entry, run


def _share(entry: Entry, run: Entry, limit: str, module: str) -> float:
    """What of a limit the fastest schedule of a module reached beside it."""
    measured = run["limits"][limit]
    amount = entry["operations" if "flop" in measured["unit"] else "moved"]
    rate = measured["amount"] / measured["min"]
    return float(amount / run["fastest"][module]["min"] / rate)


def shares(results: Entry, order: Sequence[str]) -> Iterator[list[str]]:
    """Rows of the first table."""
    for name, threads, entry, run in _runs(results, order):
        for limit, measured in run.get("limits", {}).items():
            of_flops = "flop" in measured["unit"]
            amount = entry["operations" if of_flops else "moved"] / 1e6
            rate = measured["amount"] / measured["min"] / 1e9
            reached = [
                f"{_share(entry, run, limit, m):.0%} ({run['fastest'][m]['name']})"
                for m in ("parhelion", "halide")
            ]
            wanted = entry.get("shares", {}).get(limit)
            row = [name, threads, limit, f"{rate:.1f} {measured['unit']}"]
            row += [f"{amount:.0f} M{'flop' if of_flops else 'B'}", *reached]
            if wanted is None:
                yield [*row, "", ""]
            else:
                found = _share(entry, run, limit, "parhelion")
                yield [*row, f"{wanted:.0%}", _verdict(found >= wanted)]


def _verdict(reached: bool) -> str:
    return "ok" if reached else "MISSED"


def _most(what: str, limit: float, found: float, note: str = "") -> list[str]:
    """A row of what must be at most `limit`."""
    shown = f"{found:.3g}{note}"
    return [what, f"≤ {limit:g}", shown, _verdict(found <= limit)]


def goals(results: Entry, order: Sequence[str]) -> Iterator[list[str]]:
    """Rows of the second table: what, its limit, what was found, whether it holds."""
    yield from _against_halide(results, order)
    yield from _against_machine(results, order)
    yield from _compiling(results, order)
    if "import" in results:
        spent = results["import"]
        what = "import beyond NumPy, s"
        yield _most(
            what, spent["limit"], spent["min"], f" (median {spent['median']:.3f})"
        )
    for name, limit in overhead.LIMITS.items():
        if name in results.get("overhead", {}):
            found = results["overhead"][name]["min"]
            yield _most(f"{name.replace('_', ' ')}, µs", limit, found)


def _against_halide(results: Entry, order: Sequence[str]) -> Iterator[list[str]]:
    from benchmarks.report import geometric_mean, ratios

    every = [(n, k, ratios(r)) for n, k, _, r in _runs(results, order)]
    for kind, words in (("same", "same schedule"), ("best", "fastest schedules")):
        for threads in THREADS:
            found = {n: r[kind] for n, k, r in every if k == threads}
            if not found:
                continue
            what = f"run time over Halide's, {words}, {threads} thread(s)"
            mean = geometric_mean(found.values())
            yield _most(f"{what}: mean of {len(found)}", MEAN_LIMIT, mean)
            worst = max(found, key=lambda n: found[n])
            yield _most(f"{what}: largest", RUN_LIMIT, found[worst], f" ({worst})")


def _against_machine(results: Entry, order: Sequence[str]) -> Iterator[list[str]]:
    for name, threads, entry, run in _runs(results, order):
        if "fastest" not in run:
            continue
        for limit, wanted in entry.get("shares", {}).items():
            found = _share(entry, run, limit, "parhelion")
            what = f"{name}, {threads} thread(s), of {limit}"
            yield [what, f"≥ {wanted:.0%}", f"{found:.0%}", _verdict(found >= wanted)]
        ours = run["fastest"]["parhelion"]["min"]
        for rival in entry.get("ahead_of", ()):
            found = ours / run["rivals"][rival]["min"]
            yield _most(f"{name}, {threads} thread(s), time over {rival}'s", 1.0, found)


def _compiling(results: Entry, order: Sequence[str]) -> Iterator[list[str]]:
    from benchmarks.report import compile_ratio, geometric_mean, memory

    entries = {
        n: results["cases"][n]
        for n in order
        if "compile" in results["cases"].get(n, {})
    }
    if not entries:
        return
    found = {n: compile_ratio(e)[2] for n, e in entries.items()}
    worst = max(found, key=lambda n: found[n])
    what = "cold compile over Halide's"
    mean = geometric_mean(found.values())
    reached = "ok" if mean <= MEAN_LIMIT else "above the aim"
    yield [f"{what}: mean of {len(found)}", "aim ≤ 1", f"{mean:.3g}", reached]
    yield _most(f"{what}: largest", COMPILE_LIMIT, found[worst], f" ({worst})")
    peaks = {n: memory(e, "parhelion") for n, e in entries.items()}
    worst = max(peaks, key=lambda n: peaks[n])
    yield _most("memory of a compile, MB", MEMORY_LIMIT, peaks[worst], f" ({worst})")
    if "local_laplacian" in entries:
        seconds = entries["local_laplacian"]["compile"]["passes"]["seconds"]
        python = sum(s for step, s in seconds.items() if "LLVM" not in step)
        yield _most("local Laplacian lowered, s of Python", LOWERING_LIMIT, python)
