"""The page of the docs about tuning and specialising schedules, and its plot."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.auto import tuned_plot as tuned_bars
from benchmarks.auto.kept import FOLDER, Kept
from benchmarks.auto.load import CALM
from benchmarks.auto.points import KINDS, Point
from benchmarks.auto.series import SERIES
from benchmarks.auto.specialised import FILE, Gain, gains_of
from benchmarks.auto.table import PLAIN, Row, rows
from benchmarks.cases import ORDER
from benchmarks.report import geometric_mean, table

#: An application, a number of threads, and what is kept of them.
Tuned = tuple[str, int, Kept]

_HEAD = ["application", "threads", "search", "points", "schedules", "failed"]
_HEAD += ["untuned, ms", "gain", "with", "others"]

_PAGE = """# Tuning and specialising schedules

The comparisons of sections 5.1 and 5.2 of the 2016 paper, from what these commands have
measured and kept under `out`:

```sh
python -m benchmarks.auto.tune --baseline   # the scheduler that users begin with
python -m benchmarks.auto.tune --reduced    # CACHE_SIZE and LOAD_COST, 6 points
python -m benchmarks.auto.tune --polymage   # tiles of one size, 147 points
python -m benchmarks.auto.tune --full       # all four parameters, 1,152 points
python -m benchmarks.auto.specialise
```

`--apps`, `--threads`, `--seconds`, `--limit` and `--within` choose a part; `--page`
draws this page. A search that was interrupted goes on where it stopped: what is kept in
`out/tune` is not measured again. The progress bars need `tqdm` (`pip install
parhelion[bench]`).

## Tuning

Every point is scheduled, and every schedule that is new is compiled and run, in turn
with others and with `Mullapudi2016` as it is by default. The gain is that one's time
over the fastest's, both of one process: below 1, no point of the search is as fast as
what the scheduler does untuned. Failed are points without a right result;
others, the largest share of the computer that other processes used meanwhile: above a
tenth, the figures say little. Where not all points were run, those that were are spread
over the grid.

{tuned_plot}{tuned}

{lacking}

## Specialising

For each size the time with the schedule that `{scheduler}` makes for it, and with a
single one for all: for layers of VGG-16 that with the best geometric mean over all of
them, for Harris that for 2000 x 2000 pixels, for the local Laplacian filter that for 8
bins. The gain is the second over the first.

{plot}{specialised}
"""


def tuned(everything: Iterable[Tuned]) -> str:
    """The table of the searches that something is kept of."""
    rows = []
    for name, threads, known in everything:
        for kind, points in KINDS.items():
            done = [p for p in points if p.label in known.entries]
            if done:
                rows.append([name, str(threads), kind, *_cells(known, points, done)])
    return table(_HEAD, rows) if rows else "Not measured."


def lacking(everything: Iterable[Tuned]) -> str:
    """What was not run, or not to the end, of each search: a line for each number of
    threads."""
    known_of = {(name, threads): known for name, threads, known in everything}
    lines = []
    for kind, points in KINDS.items():
        for threads in (1, 2):
            none, some = [], []
            for name in ORDER:
                known = known_of.get((name, threads))
                left = len(known.missing(points)) if known else len(points)
                if left == len(points):
                    none.append(name)
                elif left:
                    some.append(name)
            parts = [
                f"{what} {'all fourteen' if names == list(ORDER) else ', '.join(names)}"
                for what, names in (("not run for", none), ("partly for", some))
                if names
            ]
            if parts:
                lines.append(f"- {kind}, {threads} thr: {'; '.join(parts)}")
    return "\n".join(lines) or "Nothing was left out."


def _cells(known: Kept, points: tuple[Point, ...], done: list[Point]) -> list[str]:
    digests = {known.entries[p.label].get("digest") for p in done} - {None}
    failed = sum(known.seconds(p) is None for p in done)
    others = [e["others"] for e in known.entries.values() if e.get("others")]
    untuned, best = known.reference, known.best(done)
    return [
        f"{len(done)} of {len(points)}",
        str(len(digests)),
        str(failed),
        "—" if untuned is None else f"{untuned * 1e3:.2f}",
        "—" if untuned is None or best is None else f"{untuned / best[1]:.2f}",
        "—" if best is None else ", ".join(f"{k} {n}" for k, n in best[0].parameters),
        "—" if not others else f"{max(others):.0%}".replace("%", " %"),
    ]


def specialised(every: Mapping[tuple[str, str], list[Gain]]) -> str:
    """The tables of the series, one for each number of threads."""
    parts = []
    for (name, threads), gains in every.items():
        head = [SERIES[name].title, "size", "own, ms", "single, ms", "gain", ""]
        rows = [
            [g.case, g.size, _ms(g.own), _ms(g.other), _number(g.gain), _note(g)]
            for g in gains
        ]
        found = [g.gain for g in gains if g.gain is not None]
        told = f"{SERIES[name].title}, {threads} thread(s)"
        if found:
            mean = geometric_mean(found)
            told += (
                f"; the single schedule is that for {gains[0].single}; geometric mean"
                f" of the gains {mean:.2f}, largest {max(found):.2f}"
            )
        others = max((g.others for g in gains), default=0.0)
        if others > CALM:
            told += f"; others used up to {others * 100:.0f} % of the computer"
        parts.append(f"{told}.\n\n{table(head, rows)}")
    return "\n\n".join(parts) or "Not measured."


def _ms(seconds: float | None) -> str:
    return "—" if seconds is None else f"{seconds * 1e3:.2f}"


def _number(value: float | None) -> str:
    return "—" if value is None else f"{value:.2f}"


def _note(gain: Gain) -> str:
    if gain.case == gain.single:
        return "the single one"
    return f"the single one fails: {gain.why}" if gain.why else ""


def _rows() -> dict[tuple[str, int], Row]:
    """What the comparison of schedulers found, where it has been run."""
    if not PLAIN.exists():
        return {}
    found = rows(json.loads(PLAIN.read_text()), list(ORDER))
    return {(row.case, int(row.threads)): row for row in found}


def write(path: Path, folder: Path = FOLDER, specialise: Path = FILE) -> None:
    """Writes the page from what is kept, and beside it the plot if there are gains."""
    everything = [
        (name, threads, Kept(name, threads, folder))
        for name in ORDER
        for threads in sorted(
            int(f.stem.rpartition("_")[2].removesuffix("t"))
            for f in folder.glob(f"{name}_*t.jsonl")
        )
    ]
    results: dict[str, Any] = {}
    if specialise.exists():
        results = json.loads(specialise.read_text())
    every = gains_of(results)
    everything_drawn = path.with_name(f"{path.stem}-searches.svg")
    tuned_plot = ""
    if tuned_bars.draw(everything, _rows(), everything_drawn):
        tuned_plot = f"![Throughput relative to the fastest]({everything_drawn.name})"
        tuned_plot += "\n\nAs Figure 6 of the paper.\n\n"
    plot = ""
    if any(g.gain is not None for gains in every.values() for g in gains):
        draw(every, path.with_suffix(".svg"))
        plot = f"![Gains of specialising]({path.with_suffix('.svg').name})\n\n"
        plot += "As Figure 7 of the paper.\n\n"
    schedulers = {f["scheduler"] for at in results.values() for f in at.values()}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        _PAGE.format(
            tuned_plot=tuned_plot,
            tuned=tuned(everything),
            lacking=lacking(everything),
            scheduler="` and `".join(sorted(schedulers)) or "Mullapudi2016",
            plot=plot,
            specialised=specialised(every),
        )
    )


def draw(every: Mapping[tuple[str, str], list[Gain]], path: Path) -> None:
    """Bars of the gains, in the manner of the paper's Figure 7: a row of axes for each
    series, a bar of each case for each number of threads."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    # One text for one set of figures: no date, no random names.
    matplotlib.rcParams["svg.hashsalt"] = "parhelion"
    names = list(dict.fromkeys(name for name, _ in every))
    figure, axes = pyplot.subplots(
        len(names), 1, figsize=(8, 2.6 * len(names)), squeeze=False
    )
    for axis, name in zip(axes[:, 0], names, strict=True):
        counts = [threads for n, threads in every if n == name]
        cases = list(dict.fromkeys(g.case for t in counts for g in every[name, t]))
        width = 0.8 / len(counts)
        for k, threads in enumerate(counts):
            shift = (k - (len(counts) - 1) / 2) * width
            found = {g.case: g.gain or 0.0 for g in every[name, threads]}
            axis.bar(
                [i + shift for i in range(len(cases))],
                [found.get(case, 0.0) for case in cases],
                width,
                label=f"{threads} thread(s)",
                color=("#fdae6b", "#d94801")[k % 2],
            )
        axis.axhline(1.0, color="black", linewidth=1)
        axis.set_xticks(range(len(cases)), cases)
        axis.set_xlabel(SERIES[name].title)
        axis.set_ylabel("gain")
    axes[0, 0].legend(ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
