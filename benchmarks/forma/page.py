"""The page of the docs, its plot, and what was found as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from apps.forma import counts
from benchmarks.forma.contenders import (
    AUTOMATIC,
    CPP,
    FORMA,
    GENERATED,
    NEW,
    NUMPY,
    OPENCV,
    PAPER,
)
from benchmarks.forma.experts import EXPERTS
from benchmarks.forma.figures import failures
from benchmarks.forma.goals import (
    PAPER_1,
    PAPER_2,
    Results,
    goals,
    halide,
    times_of,
)
from benchmarks.report import table

_GOALS = ["what", "wanted", "found", "by medians", ""]
#: Bars of the plot: who, and on how many threads.
_BARS = (
    ("Halide", "1", "#b0b0b0"),
    ("Halide", "2", "#707070"),
    ("Forma", "1", "#8fb8de"),
    ("Forma", "2", "#2f6f9f"),
)

TEXT = """\
# Forma, measured

Written by `python -m benchmarks.forma --page docs/forma-benchmarks.md`: the tables and
figures of the Forma paper, with the programs in `apps/forma/` ([what they
are](apps.md#forma)) on this machine. All contenders of one program run in turn in one
process, one process for each number of threads, after their results have been compared.
Times are minima, in milliseconds. The arrays that all of them write, Halide's too,
begin away from the inputs in a page of memory, by the rule that Parhelion places new
arrays by: where both begin alike, rows of some widths have their lines in one place of
the cache, and to whom that happens is chance.

{machine}
## What is to be reached

{goals}

## Table 1: Python, NumPy and Forma

On two threads, of which NumPy uses one. Each returns new arrays. Python's loops run on
a small image, and their time is scaled by the number of pixels. In brackets, times
faster than NumPy. The paper's figures are from four cores of a Core i7-4820; it does
not give its images' sizes, except for emboss.

{table1}

## Table 2: OpenCV and Forma

On two threads, both into arrays that are there. Emboss is `cv2.filter2D` from Python,
which is what a C++ program calls too. OpenCV has no denoising of this kind: as in the
paper, the rival is a loop in C++ (`benchmarks/cpp/rician.cpp`), built by gcc with -O3
for this machine, on one thread.

{table2}

## Figure 5: Halide and Forma

How many times faster than Halide on one thread. Halide has definitions of its own with
schedules by hand (`benchmarks/forma/stages.py`, `multiscale.py`): the camera pipeline
is that of `apps/camera_pipe.py`. The fastest of two or three schedules is shown. Its
pyramids have the edges of Halide's applications. `pyramid_mirror` is compared with
Halide's pyramid too, as in the paper. Halide reads and writes colours as planes, Forma
as structs. What programs in Forma get by default is the scheduler `Strips`; `Forma` is
the paper's, which stores each group of stages whole, and `Parhelion` the autoscheduler
of other pipelines.

![times faster than Halide on one thread]({plot})

{figure5}

Figure 6 is of GPUs.

## Figure 8: edges

A corner of an image of 320 x 320 pixels, fused by pyramids: left without boundary
conditions, right with mirrors, as `apps/forma/exposure_pyramid.forma` has them. What is
missing at the edge of a level is missing from a wider stripe of each finer one.

![exposure fusion without and with boundary conditions](images/forma_boundaries.jpg)

## Generated C

The C that Forma writes, built by gcc with -O3 for this machine, beside its own machine
code. That of `exposure_pyramid` takes gcc minutes and is left out.

{generated}

## Compile time

Seconds of `forma.compile` in fresh processes, for code that is new (cold) and for code
that is in the cache (warm), and of these for merging stages and making the schedule.
Groups are what remains of the stages.

{compile}

## Sizes of the programs

In brackets those that the paper gives.

{sizes}
{failed}"""


def _ms(times: Mapping[str, Any], who: str) -> str:
    return f"{times[who]['min'] * 1e3:.2f}" if who in times else ""


def _table1(results: Results) -> str:
    rows = []
    for name, (python, numpy, forma) in PAPER_1.items():
        times = times_of(results, "2", name)
        if not times:
            continue
        loops = results["times"].get("1", {}).get(name, {}).get("python")
        faster = times[NUMPY]["min"] / times[NEW]["min"]
        rows.append(
            [
                name,
                _size(results, name),
                "" if loops is None else f"{loops * 1e3:.0f}",
                _ms(times, NUMPY),
                f"{_ms(times, NEW)} ({faster:.1f})",
                f"{python:.0f}",
                f"{numpy:.2f}",
                f"{forma:.2f} ({numpy / forma:.1f})",
            ]
        )
    head = ["program", "size", "Python", "NumPy", "Forma"]
    return table([*head, "paper: Python", "NumPy", "Forma"], rows)


def _size(results: Results, name: str) -> str:
    for programs in results["times"].values():
        if "size" in programs.get(name, {}):
            return " x ".join([str(extent) for extent in programs[name]["size"]])
    return ""


def _table2(results: Results) -> str:
    rows = []
    for name, (theirs, ours) in PAPER_2.items():
        times = times_of(results, "2", name)
        who = OPENCV if OPENCV in times else CPP
        if who not in times:
            continue
        faster = times[who]["min"] / times[FORMA]["min"]
        rows.append(
            [
                name,
                who,
                _ms(times, who),
                f"{_ms(times, FORMA)} ({faster:.1f})",
                f"{theirs:.2f}",
                f"{ours:.2f} ({theirs / ours:.1f})",
            ]
        )
    return table(["program", "rival", "rival", "Forma", "paper: rival", "Forma"], rows)


def _speedups(results: Results) -> dict[str, dict[tuple[str, str], float]]:
    """By program, how many times faster than Halide on one thread."""
    found: dict[str, dict[tuple[str, str], float]] = {}
    for name in EXPERTS:
        base = halide(times_of(results, "1", name))
        if base is None:
            continue
        found[name] = {}
        for who, threads, _ in _BARS:
            times = times_of(results, threads, name)
            one = halide(times) if who == "Halide" else times.get(FORMA, {}).get("min")
            if one is not None:
                found[name][who, threads] = base / one
    return found


def _figure5(results: Results) -> str:
    rows = []
    for name, found in _speedups(results).items():
        row = [name, _size(results, name)]
        row += [f"{found.get((who, n), 0):.2f}" for who, n, _ in _BARS]
        for threads in ("1", "2"):
            times = times_of(results, threads, name)
            row += [_ms(times, who) for who in (FORMA, PAPER, AUTOMATIC)]
            least = halide(times)
            row.append("" if least is None else f"{least * 1e3:.2f}")
        rows.append(row)
    head = ["program", "size"] + [f"{who}, {n} thr" for who, n, _ in _BARS]
    for threads in ("1", "2"):
        head += [f"ms, {threads} thr: Strips", "Forma", "Parhelion", "Halide"]
    return table(head, rows)


def _generated(results: Results) -> str:
    rows = []
    for name in results["programs"]:
        row = [name]
        for threads in ("1", "2"):
            times = times_of(results, threads, name)
            ratio = ""
            if GENERATED in times:
                ratio = f"{times[GENERATED]['min'] / times[FORMA]['min']:.2f}"
            row += [_ms(times, FORMA), _ms(times, GENERATED), ratio]
        rows.append(row)
    head = ["program"]
    for threads in ("1", "2"):
        head += [f"ms, {threads} thr: machine code", "generated C", "ratio"]
    return table(head, rows)


def _compile(results: Results) -> str:
    rows = [
        [
            name,
            str(one["stages"]),
            str(one["groups"]),
            *[f"{one[what]:.3f}" for what in ("compile", "warm", "schedule")],
        ]
        for name, one in results["compile"].items()
        if "compile" in one
    ]
    head = ["program", "stages", "groups", "cold", "warm", "scheduling"]
    return table(head, rows)


def draw(results: Results, path: Path) -> None:
    """Draws Figure 5."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    # One text for one set of figures: no date, no random names.
    matplotlib.rcParams["svg.hashsalt"] = "parhelion"
    speedups = _speedups(results)
    figure, axes = pyplot.subplots(figsize=(11, 4.2))
    width = 0.2
    for k, (who, threads, colour) in enumerate(_BARS):
        at = [i + (k - 1.5) * width for i in range(len(speedups))]
        heights = [found.get((who, threads), 0) for found in speedups.values()]
        label = f"{who}, {threads} thread{'s' if threads != '1' else ''}"
        axes.bar(at, heights, width, label=label, color=colour)
    axes.axhline(1, color="#444444", linewidth=0.8)
    axes.set_xticks(range(len(speedups)), list(speedups), rotation=15)
    axes.set_ylabel("times faster than Halide on one thread")
    axes.grid(visible=True, axis="y", alpha=0.25)
    axes.legend()
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def _failed(results: Results) -> Iterator[str]:
    found = failures(dict(results))
    if found:
        yield "\n## What could not be measured\n"
        yield from [f"- {one}" for one in found]


def page(results: Results, plot: str) -> str:
    """The page as text."""
    machine: Mapping[str, str] = results.get("machine", {})
    where = table(["", ""], [list(fact) for fact in machine.items()])
    failed = "\n".join(_failed(results))
    return TEXT.format(
        machine=f"{where}\n" if machine else "",
        goals=table(_GOALS, [g.row() for g in goals(results)]),
        table1=_table1(results),
        table2=_table2(results),
        figure5=_figure5(results),
        plot=plot,
        generated=_generated(results),
        compile=_compile(results),
        sizes=counts.table(),
        failed=f"{failed}\n" if failed else "",
    )


def write(results: Results, path: Path) -> Sequence[Path]:
    """Writes the page, and its plot beside it."""
    plot = path.with_suffix(".svg")
    draw(results, plot)
    path.write_text(page(results, plot.name))
    return [path, plot]


def summary(results: Results) -> str:
    """What was found, as text."""
    rows = [_GOALS, *[g.row() for g in goals(results)]]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join([c.ljust(w) for c, w in zip(row, widths, strict=True)]).rstrip()
        for row in rows
    ]
    return "\n".join([*lines, *_failed(results)])


__all__ = ["draw", "page", "summary", "write"]
