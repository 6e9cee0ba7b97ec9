"""The plots of the page: time for a pixel by size, for a sample by order, variants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.recursive.case import (
    LFILTER,
    OPENCV,
    OURS,
    SCIPY,
    UNTILED,
    Case,
)
from benchmarks.recursive.found import Point, Results, of_threads
from benchmarks.recursive.variants import VARIANTS

#: Lines of the plots of images: name, colour, seconds of a point.
Line = tuple[str, str, Callable[[Point], float | None]]
IMAGE_LINES: tuple[Line, ...] = (
    ("Parhelion, default", "#2f6f9f", Point.default),
    ("Parhelion, fastest", "#7fb2d6", Point.ours),
    ("Halide, fastest by hand", "#e0913a", Point.halide),
    ("SciPy, lfilter", "#777777", lambda p: p.named(SCIPY, LFILTER)),
    ("OpenCV", "#3a9a5b", lambda p: p.seconds(OPENCV)),
    ("copy", "#bbbbbb", Point.copy),
)


def tiled(p: Point) -> float | None:
    """All filters in the same tiles, of the best width."""
    return p.seconds(OURS, _begins("tiles of "))


def cascaded(p: Point) -> float | None:
    """Each filter of order 2 in tiles of its own."""
    return p.seconds(OURS, _begins("factors of order 2, cascaded", "each cascaded"))


def joined(p: Point) -> float | None:
    """Factors in the same tiles, or all filters in two halves."""
    return p.seconds(OURS, _begins("factors of order 2, overlapped", "two halves"))


SIGNAL_LINES: tuple[Line, ...] = (
    ("default", "#2f6f9f", Point.default),
    ("untiled", "#111111", lambda p: p.named(OURS, UNTILED)),
    ("in the same tiles", "#7fb2d6", tiled),
    ("order 2, each cascaded", "#9a5bbf", cascaded),
    ("order 2 overlapped, or in two halves", "#cf5b7a", joined),
    ("Halide, serial", "#e0913a", Point.halide),
    ("SciPy, lfilter", "#777777", lambda p: p.named(SCIPY, LFILTER)),
    ("copy", "#bbbbbb", Point.copy),
)


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    # One text for one set of figures: no date, no random names.
    matplotlib.rcParams["svg.hashsalt"] = "parhelion"
    return pyplot


def _save(pyplot: Any, figure: Any, path: Path) -> None:
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def draw_lines(
    results: Results, cases: Sequence[Case], lines: Sequence[Line], path: Path
) -> None:
    """A row for each case, a column for each number of threads; both axes are
    logarithmic for images, whose sizes double."""
    pyplot = _pyplot()
    by_case = {c.name: of_threads(results, c.name) for c in cases}
    columns = sorted({k for found in by_case.values() for k in found})
    figure, axes = pyplot.subplots(
        len(cases),
        len(columns),
        figsize=(4.8 * len(columns), 2.9 * len(cases)),
        squeeze=False,
    )
    for row, case in zip(axes, cases, strict=True):
        for one, threads in zip(row, columns, strict=True):
            _draw_one(one, case, by_case[case.name].get(threads, []), lines)
            one.set_title(f"{case.title}, {threads} thread(s)", fontsize=8)
    handles, labels = axes[0][0].get_legend_handles_labels()
    axes[0][0].legend(handles, labels, fontsize=6)
    _save(pyplot, figure, path)


def _draw_one(axes: Any, case: Case, found: Sequence[Point], lines: Any) -> None:
    values = [p.value for p in found]
    for name, colour, seconds in lines:
        times = [p.per_point(seconds(p)) for p in found]
        shown = [(v, t) for v, t in zip(values, times, strict=True) if t is not None]
        if shown:
            axes.plot(*zip(*shown, strict=True), "o-", label=name, color=colour, ms=3)
    if case.kind == "image":
        axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(values, [str(v) for v in values], minor=False)
    axes.set_xticks([], minor=True)
    axes.set_xlabel(case.parameter, fontsize=7)
    axes.set_ylabel("ns each", fontsize=7)
    axes.tick_params(labelsize=7)
    axes.grid(which="both", alpha=0.25)


def best_of_variants(p: Point) -> dict[str, Mapping[str, Any]]:
    """Of each variant, the entry of the fastest width."""
    every = {name: p.fastest(OURS, _begins(f"{name}, ")) for name in VARIANTS}
    return {name: entry for name, entry in every.items() if entry is not None}


def _begins(*beginnings: str) -> Callable[[str], bool]:
    """Whether a contender's name begins with one of these."""
    return lambda name: name.startswith(beginnings)


def draw_variants(found: Sequence[Point], path: Path) -> None:
    """Bars for each variant, one for each size, as in the paper's Figure 2."""
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(figsize=(8, 3.2))
    width = 0.8 / max(1, len(found))
    for k, p in enumerate(found):
        best = best_of_variants(p)
        times = [p.per_point(best[n]["min"]) if n in best else 0 for n in VARIANTS]
        places = [i + (k - (len(found) - 1) / 2) * width for i in range(len(VARIANTS))]
        label = f"{p.value} x {p.value}, {p.threads} thread(s)"
        axes.bar(places, times, width, label=label)
    axes.set_xticks(range(len(VARIANTS)), list(VARIANTS))
    axes.set_ylabel("ns for a pixel")
    axes.legend(fontsize=7)
    _save(pyplot, figure, path)


__all__ = [
    "IMAGE_LINES",
    "SIGNAL_LINES",
    "best_of_variants",
    "draw_lines",
    "draw_variants",
]
