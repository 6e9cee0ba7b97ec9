"""The page of the docs, its plot, and the same tables as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.dynamic.choices import BY_HAND, CHOSEN, lines_of
from benchmarks.dynamic.contenders import INLINE, ROOT, TILE, TILES, VALUES
from benchmarks.dynamic.goals import goals
from benchmarks.report import table

_COLOURS = {ROOT: "#444444", INLINE: "#b0b0b0", VALUES: "#e0913a", TILES: "#2f6f9f"}
_TITLES = {
    "windows": "windows of four by four tiles",
    "patches": "a mask of four by four tiles",
    "pixels": "a mask of single pixels",
}
_CHOICES = ["", "read", *BY_HAND, CHOSEN, "which is", "over the best"]
_GOALS = ["what", "wanted", "found", "by medians", ""]

TEXT = """\
# Computing on demand, measured

Written by `python -m benchmarks.dynamic --page docs/dynamic-benchmarks.md`. The same
definitions under four schedules: the producer at root, inlined, or computed on demand,
one value at a time (`compute_lazy()`, "values") or in tiles (`compute_lazy({tile})`,
"tiles"). The producer is `apps/lazy/denoise.py`, 220 operations for each pixel of an
image of {side} x {side} pixels in float32. At root, inlined and in tiles it is
vectorized, and at root parallel; consumers are vectorized and parallel under all.

All contenders of one comparison run in turn in one process, on {threads} thread(s);
times are minima. Before they are timed, their results are compared.

{machine}
## What is to be reached

{goals}

What reading a value again costs is measured on one thread: a consumer reads all values
{again} times more, and the time is that beyond the same of values at root, whose
reading takes {root}.

## Times over the part that is read

A consumer adds up 3 x 3 values: in windows whose corners are in an array, or where a
mask says so, and zero elsewhere. Windows and the patches of a mask do not begin where
tiles do. Here the nine values are asked for one by one at each pixel, which is what
takes the time where all are there: indices or conditions depend on data. Where they do
not, as in "All of the image" below, whole boxes are asked for. Milliseconds:

![times over coverage]({plot})

{covered}

## Dewarp

`apps/lazy/dewarp.py`: a view of a fisheye's image, denoised. It reads {values} of the
values, which are in {tiles} of the tiles.

{dewarp}

## All of the image

{full}

## What the scheduler chooses

The same by `hl.autoschedule`, which is told how much is read (`set_coverage`), and
schedules everything anew. The last column is its time over the best of the four by
hand. What its cost model knows of computing on demand is from tiles of eleven sizes
over all of an image, and from reading again what is there; three faults of the model
were found by looking at windows and at the mask of patches. Milliseconds:

{choices}
"""


def draw(figures: Mapping[str, Any], path: Path) -> None:
    """Draws times over coverage, for windows and both kinds of mask."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    # One text for one set of figures: no date, no random names.
    matplotlib.rcParams["svg.hashsalt"] = "parhelion"
    figure, panels = pyplot.subplots(1, 3, figsize=(12, 4.2), sharey=True)
    for axes, (kind, rows) in zip(panels, figures["covered"].items(), strict=True):
        parts = [times["mask"]["covered"] for times in rows.values()]
        for name, colour in _COLOURS.items():
            values = [times[name]["min"] * 1e3 for times in rows.values()]
            axes.plot(parts, values, marker="o", label=name, color=colour)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_title(_TITLES[kind])
        axes.set_xlabel("part of the image that is read")
        axes.grid(visible=True, which="both", alpha=0.25)
        ticks = [0.02, 0.05, 0.1, 0.2, 0.5, 1]
        axes.set_xticks(ticks, [f"{t:.0%}" for t in ticks])
        axes.minorticks_off()
    panels[0].set_ylabel("ms (less is faster)")
    panels[0].legend()
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def crossover(rows: Mapping[str, Any], name: str) -> float | None:
    """Up to which part a contender is faster than the better of root and inline; None
    if it is at none, and 1 if it is at all."""
    last: tuple[float, float] | None = None
    for times in rows.values():
        part = times["mask"]["covered"]
        ratio = times[name]["min"] / min(times[ROOT]["min"], times[INLINE]["min"])
        if ratio > 1:
            if last is None:
                return None
            before, below = last
            return float(before + (part - before) * (1 - below) / (ratio - below))
        last = part, ratio
    return 1.0


def _covered(figures: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """A title, a table, and what it says."""
    for kind, rows in figures["covered"].items():
        head = ["part that is read", *_COLOURS]
        lines = [
            [
                f"{times['mask']['covered']:.1%}",
                *[f"{times[name]['min'] * 1e3:.2f}" for name in _COLOURS],
            ]
            for times in rows.values()
        ]
        said = []
        for name in (VALUES, TILES):
            at = crossover(rows, name)
            until = "nowhere" if at is None else f"up to {at:.0%}"
            said.append(f"{name} are faster than root and inline {until}")
        yield _TITLES[kind], table(head, lines), f"{'; '.join(said)}."


def _times(times: Mapping[str, Any]) -> str:
    rows = [
        [name, f"{t['min'] * 1e3:.2f}", f"{t['median'] * 1e3:.2f}"]
        for name, t in times.items()
        if "min" in t
    ]
    return table(["", "ms", "median"], rows)


def _headed(title: str, text: str, said: str) -> str:
    return f"### {title[0].upper()}{title[1:]}\n\n{text}\n\n{said[0].upper()}{said[1:]}"


def page(figures: Mapping[str, Any], plot: str) -> str:
    """The page as text."""
    part = figures["dewarp"]["part"]
    reading = [f"{each[ROOT]:.2f} ns {way}" for way, each in figures["hits"].items()]
    machine: Mapping[str, str] = figures.get("machine", {})
    where = table(["", ""], [list(fact) for fact in machine.items()])
    return TEXT.format(
        tile=TILE,
        side=figures["side"],
        threads=figures["threads"],
        machine=f"{where}\n" if machine else "",
        goals=table(_GOALS, [g.row() for g in goals(figures)]),
        again=figures["again"],
        root=" and ".join(reading),
        plot=plot,
        covered="\n\n".join([_headed(*one) for one in _covered(figures)]),
        values=f"{part['values']:.0%}",
        tiles=f"{part['tiles']:.0%}",
        dewarp=_times(figures["dewarp"]),
        full=_times(figures["full"]),
        choices=table(_CHOICES, lines_of(figures["choices"])),
    )


def write(figures: Mapping[str, Any], path: Path) -> Sequence[Path]:
    """Writes the page, and its plot beside it."""
    plot = path.with_suffix(".svg")
    draw(figures, plot)
    path.write_text(page(figures, plot.name))
    return [path, plot]


def summary(figures: Mapping[str, Any]) -> str:
    """What was found, as text."""
    rows = [_GOALS, *[g.row() for g in goals(figures)]]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join([c.ljust(w) for c, w in zip(row, widths, strict=True)]).rstrip()
        for row in rows
    ]
    lines += [f"{title}: {said}" for title, _, said in _covered(figures)]
    return "\n".join(lines)


__all__ = ["crossover", "draw", "page", "summary", "write"]
