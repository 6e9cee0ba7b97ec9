"""What is wanted of the figures, and what was found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.gpu import applications, filters, grids, programs
from benchmarks.gpu.contender import AUTOMATIC, CUDA, HALIDE, HAND, LIBRARY
from benchmarks.gpu.device import NOT_MEASURED
from benchmarks.gpu.rivals import ADDS, COPY
from benchmarks.report import geometric_mean

Entry = Mapping[str, Any]
#: Parts of what limits the time: of the copy's bandwidth, of the multiply-adds.
OF_COPY, OF_ADDS = 0.85, 0.70
WORDS = {COPY: "copying", ADDS: "multiply-adds"}
#: What is not of the 2016 paper's fourteen.
SKIPPED = ("level_set",)


@dataclass(frozen=True)
class Found:
    """A line of the table. reached: None where there are no figures."""

    what: str
    wanted: str
    found: str
    reached: bool | None = None


def seconds(entry: Entry, by: str, name: str = "") -> float | None:
    """Least seconds of those that somebody made, or of the one of a name."""
    times = [
        float(c["min"])
        for c in entry.get("contenders", {}).values()
        if c["by"] == by and name in ("", c["name"]) and "min" in c
    ]
    return min(times, default=None)


def entries(results: Entry, group: str) -> Iterator[tuple[str, Entry]]:
    """Those that were measured of a group."""
    for name, entry in results.get("jobs", {}).get(group, {}).items():
        if "contenders" in entry:
            yield name, entry


def rate(entry: Entry, ceiling: str) -> float | None:
    """Bytes or operations a second, of what limits the time."""
    for c in entry.get("contenders", {}).values():
        if c["name"] == ceiling and "min" in c:
            return float(c["amount"]) / float(c["min"])
    return None


def ratios(
    results: Entry, group: str, over: Callable[[Entry], Any]
) -> dict[str, float]:
    """By job, a ratio that is known."""
    found = {name: over(entry) for name, entry in entries(results, group)}
    return {name: float(r) for name, r in found.items() if r is not None}


def _over(a: float | None, b: float | None) -> float | None:
    return a / b if a is not None and b is not None else None


def to_halide(entry: Entry) -> float | None:
    """Our fastest schedule by hand to Halide's fastest, of the same ones."""
    return _over(seconds(entry, HAND), seconds(entry, HALIDE))


def to_best(entry: Entry) -> float | None:
    """Our fastest automatic schedule to the best that is known by anybody."""
    known = [seconds(entry, by) for by in (HAND, HALIDE, AUTOMATIC)]
    times = [t for t in known if t is not None]
    return _over(seconds(entry, AUTOMATIC), min(times, default=None))


def to_hand(entry: Entry) -> float | None:
    return _over(seconds(entry, AUTOMATIC), seconds(entry, HAND))


def to_rivals(entry: Entry) -> float | None:
    """Our fastest to the fastest of CUDA's and the libraries'."""
    others = [t for t in (seconds(entry, CUDA), seconds(entry, LIBRARY)) if t]
    mine = [t for t in (seconds(entry, HAND), seconds(entry, AUTOMATIC)) if t]
    return _over(min(mine, default=None), min(others, default=None))


def of_ceiling(entry: Entry, ceiling: str, amount: str) -> float | None:
    """Which part of what limits the time our fastest reaches."""
    mine, most = seconds(entry, HAND), rate(entry, ceiling)
    if mine is None or most is None or not entry[amount]:
        return None
    return float(entry[amount]) / mine / most


def _one(what: str, wanted: str, value: float | None, good: bool | None) -> Found:
    if value is None:
        return Found(what, wanted, NOT_MEASURED)
    return Found(what, wanted, f"{value:.2f}", good)


def _at_most(what: str, limit: float, values: Iterable[float], how: str) -> Found:
    """The geometric mean, or the worst, of ratios that are to be small."""
    known = list(values)
    value = None
    if known:
        value = geometric_mean(known) if how == "mean" else max(known)
    words = {"mean": "geometric mean", "worst": "worst"}[how]
    good = None if value is None else value <= limit
    found = _one(what, f"{words} <= {limit:g}", value, good)
    # A ratio of few jobs is not one of all.
    return replace(found, found=f"{found.found} (of {len(known)})") if known else found


def _part(results: Entry, name: str, ceiling: str, amount: str, least: float) -> Found:
    found = dict(entries(results, applications.GROUP)).get(name, {})
    value = of_ceiling(found, ceiling, amount) if found else None
    good = None if value is None else value >= least
    return _one(
        f"{name}, of the rate of {WORDS[ceiling]}", f">= {least:g}", value, good
    )


def compile_ratios(results: Entry) -> dict[str, float]:
    """Ours to Halide's, processor seconds to build and compile, cold."""
    return {
        name: e["parhelion"] / e["halide"]
        for name, e in results.get("compile", {}).items()
        if "parhelion" in e and "halide" in e
    }


def goals(results: Entry) -> list[Found]:
    """All lines, in the order of what was asked for."""
    group = applications.GROUP
    halide = ratios(results, group, to_halide).values()
    rivals = ratios(results, group, to_rivals).values()
    best = ratios(results, group, to_best)
    for name in SKIPPED:
        best.pop(name, None)
    hand = ratios(results, group, to_hand).values()
    lines = ratios(results, filters.GROUP, to_rivals).values()
    compiled = compile_ratios(results)
    warm = [e["warm"] for e in results.get("compile", {}).values() if "warm" in e]
    launch = results.get("launches", {})
    return [
        _at_most("ours to Halide's CUDA, the same schedules", 1.0, halide, "mean"),
        _at_most("ours to Halide's CUDA, the same schedules", 1.15, halide, "worst"),
        _part(results, "blur", COPY, "moved", OF_COPY),
        _part(results, "unsharp", COPY, "moved", OF_COPY),
        _part(results, "matmul", ADDS, "operations", OF_ADDS),
        _at_most("ours to CUDA C++ and libraries, the rest", 1.1, rivals, "worst"),
        _at_most("automatic to the best known", 1.25, best.values(), "worst"),
        _at_most("automatic to ours by hand", 1.0, hand, "mean"),
        _at_most(
            "microseconds for a further launch, on the GPU",
            10,
            [launch["device"]["seconds"] * 1e6] if "device" in launch else [],
            "worst",
        ),
        _at_most(
            "compile cold, to Halide's CUDA (processor)",
            1.5,
            compiled.values(),
            "worst",
        ),
        _at_most("compile warm, ms (processor)", 80, [1e3 * s for s in warm], "worst"),
        _at_most("recursive filters to CUDA and CUB", 1.0, lines, "worst"),
        *_pairs(results),
    ]


def _pairs(results: Entry) -> Iterator[Found]:
    """Of two ways to do the same: which one is faster."""
    for name, by in (("whole", HAND), ("reduction", CUDA)):
        entry = dict(entries(results, grids.GROUP)).get(name, {})
        value = _over(
            seconds(entry, by, grids.ATOMICS), seconds(entry, by, grids.CELLS)
        )
        what = f"bilateral grid, {name}: atomics to a thread for each cell"
        good = None if value is None else value >= 1
        yield _one(what, "2.2 (2012 paper)", value, good)
    textured = ratios(
        results,
        programs.GROUP,
        lambda e: _over(
            seconds(e, CUDA, programs.TEXTURES), seconds(e, CUDA, programs.GLOBAL)
        ),
    )
    value = geometric_mean(textured.values()) if textured else None
    yield _one("Forma: with textures to without, geometric mean", "told", value, None)


__all__ = ["Found", "compile_ratios", "entries", "goals", "seconds"]
