"""The figures of the benchmarks as text, and as a page with a plot."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import loaded, near
from benchmarks.case import COMPILE_LIMIT, RUN_LIMIT

Entry = Mapping[str, Any]

#: Seconds that a warm start may take beyond importing and building.
START_LIMIT = 0.06


def ratios(run: Entry) -> dict[str, float]:
    """Our time over Halide's, from one process's times.

    same: both with our schedule (medians: "median"). best: the fastest of all
    schedules that were tried, on either side.
    """
    mine, theirs = _of(run, "parhelion"), _of(run, "halide")
    ours, same = next(iter(mine.values())), next(iter(theirs.values()))
    return {
        "same": ours["min"] / same["min"],
        "median": ours["median"] / same["median"],
        "best": _least(mine) / _least(theirs),
    }


def _least(times: Mapping[str, Entry]) -> float:
    return min(float(t["min"]) for t in times.values())


def geometric_mean(values: Iterable[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, values)))


def run_lines(name: str, entry: Entry) -> str:
    """One line for each number of threads."""
    lines = []
    for threads, run in entry["run"].items():
        found = ratios(run)
        ours, theirs = list(run["times"].values())[:2]
        text = (
            f"{name:18} {threads} thr  ours {_ms(ours)}  Halide {_ms(theirs)}  "
            f"ratio {found['same']:.3f} (medians {found['median']:.3f})  "
            f"fastest schedules {found['best']:.3f}"
        )
        text += "".join(
            f"  {rival} {_ms(t)}" for rival, t in run.get("rivals", {}).items()
        )
        text += f"  difference {run['difference']:.1e}  {run_verdict(run)}"
        lines.append(text)
    return "\n".join(lines)


def run_verdict(run: Entry) -> str:
    if not run["same"]:
        return "DIFFERENT RESULTS"
    found = ratios(run)
    return "ok" if max(found["same"], found["best"]) <= RUN_LIMIT else "MISSED"


def compile_ratio(entry: Entry) -> tuple[float, float, float]:
    """Our seconds, Halide's, and their ratio (minima)."""
    ours, theirs = (
        min(r["compile"] for r in entry["compile"][m]) for m in ("parhelion", "halide")
    )
    return ours, theirs, ours / theirs


def memory(entry: Entry, module: str) -> float:
    """MB that the process had at the peak of a compile."""
    return max(float(r["peak_mb"]) for r in entry["compile"][module])


def compile_line(name: str, entry: Entry) -> str:
    ours, theirs, ratio = compile_ratio(entry)
    return (
        f"{name:18} compile  ours {ours:.3f} s  Halide {theirs:.3f} s  "
        f"ratio {ratio:.2f}  peak {memory(entry, 'parhelion'):.0f} MB "
        f"(Halide {memory(entry, 'halide'):.0f})  "
        f"{'ok' if ratio <= COMPILE_LIMIT else 'MISSED'}"
    )


def start_median(entry: Entry, start: str, what: str) -> float:
    """Seconds of a part of a start, in the median."""
    return statistics.median([float(r[what]) for r in entry["start"][start]])


def start_line(name: str, entry: Entry) -> str:
    cold, warm = (start_median(entry, s, "ready") for s in ("cold", "warm"))
    return (
        f"{name:18} start    cold {cold:.3f} s  warm {warm * 1e3:.1f} ms  "
        f"{'ok' if warm <= START_LIMIT else 'MISSED'}"
    )


def loaded_line(name: str, entry: Entry) -> str:
    return loaded.line(name, dict(entry["loaded"]))


def _loaded(results: Entry, order: Sequence[str]) -> Iterator[tuple[str, Entry]]:
    """What was found of loaded code: of applications, then of everyday pipelines."""
    for name, entry in _entries(results, order, "loaded"):
        yield name, entry["loaded"]
    for name, entry in results.get("everyday", {}).items():
        if "loaded" in entry:
            yield f"{name} (automatic)", entry["loaded"]


def _loaded_table(results: Entry, order: Sequence[str]) -> str:
    rows = []
    for name, entry in _loaded(results, order):
        found = dict(entry)
        times = [f"{found[what]['min'] * 1e3:.3f}" for what in loaded.KINDS]
        pages = f"{found['loaded']['faults']:.0f}"
        verdict = "ok" if loaded.good(found) else "MISSED"
        rows.append([name, *times, f"{loaded.ratio(found):.3f}", pages, verdict])
    return table(["", "compiled, ms", "loaded, ms", "ratio", "pages a run", ""], rows)


def _ms(times: Entry) -> str:
    return f"{times['min'] * 1e3:.2f} ms"


def _entries(
    results: Entry, order: Sequence[str], part: str
) -> Iterator[tuple[str, Entry]]:
    """The cases that have a part, in order."""
    cases = results["cases"]
    for name in [*order, *(set(cases) - set(order))]:
        if part in cases.get(name, {}):
            yield name, cases[name]


def means(results: Entry, order: Sequence[str]) -> dict[str, float]:
    """Geometric means of the ratios, by what they are of."""
    found: dict[str, list[float]] = {}
    for _, entry in _entries(results, order, "run"):
        for threads, run in entry["run"].items():
            for what, value in ratios(run).items():
                found.setdefault(f"{what}, {threads} thr", []).append(value)
    compiles = [compile_ratio(e)[2] for _, e in _entries(results, order, "compile")]
    if compiles:
        found["compile"] = compiles
    return {what: geometric_mean(values) for what, values in found.items()}


def _of(run: Entry, module: str) -> dict[str, Entry]:
    return {n: t for n, t in run["times"].items() if n.startswith(f"{module} ")}


def summary(results: Entry, order: Sequence[str]) -> str:
    """All tables as plain text."""
    lines = []
    for name, entry in _entries(results, order, "run"):
        lines.append(run_lines(name, entry))
    for name, entry in _entries(results, order, "compile"):
        lines.append(compile_line(name, entry))
    for name, entry in _entries(results, order, "start"):
        lines.append(start_line(name, entry))
    for name, entry in _loaded(results, order):
        lines.append(loaded.line(name, dict(entry)))
    for row in near.shares(results, order):
        text = "{:18} {} thr  {} of {} ({}): ours {}, Halide {}".format(
            *row[:2], row[4], *row[2:4], *row[5:7]
        )
        lines.append(
            f"{text}  {'wanted ' if row[7] else ''}{row[7]}  {row[8]}".rstrip()
        )
    lines.append("geometric means of our time over Halide's:")
    for what, value in means(results, order).items():
        lines.append(f"  {what:16} {value:.3f}")
    lines.append("what must hold:")
    for row in near.goals(results, order):
        lines.append("  {:56} {:>7}  {:24} {}".format(*row))
    for name, part, message in failures(results, order):
        lines.append(f"FAILED: {part} of {name}: {message}")
    return "\n".join(lines)


def failures(results: Entry, order: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Name, part and the last line of what it said, of all that could not be run."""
    for name in order:
        failed = results["cases"].get(name, {}).get("failed", {})
        for part, message in failed.items():
            yield name, part, str(message).strip().splitlines()[-1]


# The page.

_PAGE = """# Benchmarks

Every application under Parhelion and under Halide 21, from one definition and with
one schedule; written by `make bench`. The two run in turn in one process, one process
for each number of threads. Times are minima; a ratio below 1 means that Parhelion is
faster. "Fastest" compares the fastest of all the schedules that the benchmark knows,
Halide's published one among them, on either side.

![Our time over Halide's]({plot})

## Where it ran

{machine}

## Run time

{run}

Geometric means: {means}.

## Against the machine

What the fastest schedules reach of limits that ran in turn with them: of copying, for
the bytes that must be read and written (a copy reads and writes each byte once), and of
multiply-adds on registers. Outputs begin a cache line, as the memory of `Buffer`s does;
large arrays of NumPy's begin 16 bytes past one, and are not written past the caches.

{shares}

## What must hold

{goals}

## Others doing the same job

{rivals}

## Compile time and memory

A cold compile in a fresh process that has compiled one trivial pipeline before;
memory is that of the whole process at its peak, NumPy and the compiler included.

{compile}

## Starting again

A program that was run before on this computer compiles nothing: its code comes from the
persistent cache. Medians of fresh processes; "ready" is all that `compile_jit` takes,
loading LLVM's library included, beyond importing the library and building the Funcs. At
most {start_limit} ms are wanted of a warm start.

{start}

## Code from the cache

The same code in a process that compiled it and in one that loaded it, in turn, on one
thread: minima, and pages of memory that a run faults after the third. At most a ratio
of {loaded_limit} and no page are wanted. Everyday pipelines have automatic schedules.

{loaded}

## Our compile time by step

Milliseconds, in a fresh process; steps that never take a hundredth of the time are
left out. "lines" are those of the LLVM text before LLVM's own passes.

{passes}
"""


def write_page(results: Entry, order: Sequence[str], path: Path) -> None:
    """Writes the page, and its plot beside it."""
    from benchmarks.plot import draw

    plot = path.with_suffix(".svg")
    draw(results, [n for n, _ in _entries(results, order, "run")], plot)
    found = ", ".join(f"{w} {v:.3f}" for w, v in means(results, order).items())
    path.write_text(
        _PAGE.format(
            plot=plot.name,
            machine=table(["", ""], results["machine"].items()),
            run=_run_table(results, order),
            means=found,
            rivals=_rival_table(results, order),
            shares=table(near.SHARE_HEAD, near.shares(results, order)),
            goals=table(near.GOAL_HEAD, near.goals(results, order)),
            compile=_compile_table(results, order),
            passes=_pass_table(results, order),
            start=_start_table(results, order),
            start_limit=f"{START_LIMIT * 1e3:.0f}",
            loaded=_loaded_table(results, order),
            loaded_limit=loaded.LIMIT,
        )
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def _run_table(results: Entry, order: Sequence[str]) -> str:
    head = ["application", "size", "threads", "Parhelion, ms", "Halide, ms"]
    head += ["ratio", "medians", "fastest", "largest difference", ""]
    rows = []
    for name, entry in _entries(results, order, "run"):
        for threads, run in entry["run"].items():
            ours, theirs = list(run["times"].values())[:2]
            found = ratios(run)
            rows.append(
                [name, entry["size"], threads]
                + [f"{t['min'] * 1e3:.2f}" for t in (ours, theirs)]
                + [f"{found[k]:.3f}" for k in ("same", "median", "best")]
                + [f"{run['difference']:.1e}", run_verdict(run)]
            )
    return table(head, rows)


def _rival_table(results: Entry, order: Sequence[str]) -> str:
    rows = []
    for name, entry in _entries(results, order, "run"):
        for threads, run in entry["run"].items():
            for rival, t in run.get("rivals", {}).items():
                times = f"{t['min'] / run['fastest']['parhelion']['min']:.2f}"
                rows.append([name, threads, rival, f"{t['min'] * 1e3:.2f}", times])
    return table(["application", "threads", "by", "ms", "times ours"], rows)


def _compile_table(results: Entry, order: Sequence[str]) -> str:
    rows = []
    for name, entry in _entries(results, order, "compile"):
        ours, theirs, ratio = compile_ratio(entry)
        peaks = [f"{memory(entry, m):.0f}" for m in ("parhelion", "halide")]
        verdict = "ok" if ratio <= COMPILE_LIMIT else "MISSED"
        rows.append(
            [name, f"{ours:.3f}", f"{theirs:.3f}", f"{ratio:.2f}", *peaks, verdict]
        )
    head = ["application", "Parhelion, s", "Halide, s", "ratio"]
    return table([*head, "Parhelion, MB", "Halide, MB", ""], rows)


def _start_table(results: Entry, order: Sequence[str]) -> str:
    rows = []
    for name, entry in _entries(results, order, "start"):
        warm = start_median(entry, "warm", "ready")
        shown = [
            start_median(entry, start, what) * 1e3
            for start, what in (
                ("cold", "ready"),
                ("warm", "ready"),
                ("warm", "import"),
                ("warm", "build"),
            )
        ]
        verdict = "ok" if warm <= START_LIMIT else "MISSED"
        rows.append([name, *[f"{ms:.1f}" for ms in shown], verdict])
    head = ["application", "cold: ready, ms", "warm: ready, ms"]
    return table([*head, "import, ms", "build, ms", ""], rows)


def _pass_table(results: Entry, order: Sequence[str]) -> str:
    entries = list(_entries(results, order, "compile"))
    seconds = {n: e["compile"]["passes"]["seconds"] for n, e in entries}
    steps = list(dict.fromkeys(s for found in seconds.values() for s in found))
    kept = [
        s
        for s in steps
        if any(f.get(s, 0) > 0.01 * sum(f.values()) for f in seconds.values())
    ]
    rows = []
    for name, entry in entries:
        found = seconds[name]
        rows.append(
            [name]
            + [f"{found.get(s, 0) * 1e3:.0f}" for s in kept]
            + [str(entry["compile"]["passes"]["llvm_lines"])]
        )
    return table(["application", *kept, "lines"], rows)
