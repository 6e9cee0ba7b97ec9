"""A plot like the 2016 paper's Figure 6: schedulers and searches, by throughput."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from benchmarks.auto.kept import Kept
from benchmarks.auto.points import KINDS
from benchmarks.auto.table import DEFAULT, PAPERS, Row

#: Labels and colours of the bars, in the order of the paper's.
BARS = {
    "baseline": ("baseline", "#bdbdbd"),
    "polymage": ("PolyMage-like, tuned", "#9ecae1"),
    "untuned": ("Mullapudi2016", "#fdae6b"),
    "reduced": ("reduced tuning, 6 points", "#4292c6"),
    "full": ("full tuning, 1,152 points", "#08519c"),
    "expert": ("best expert", "#7f7f7f"),
    "default": ("Parhelion", "#d94801"),
}


def throughput(known: Kept, row: Row | None) -> dict[str, float]:
    """Of each bar: the fastest's time over its own; what was not run is left out.

    A search's time is that of its fastest schedule. row: of the comparison of
    schedulers, which has the experts and our default: they are placed by how much
    faster than `Mullapudi2016` they were there.
    """
    untuned = known.reference
    if untuned is None:
        return {}
    times = {"untuned": untuned}
    for kind, points in KINDS.items():
        best = known.best(points)
        if best is not None:
            times[kind] = best[1]
    if row is not None:
        expert = row.best_expert
        others = {"expert": expert and expert[0], "default": DEFAULT}
        for bar, label in others.items():
            ratio = label and row.ratio(label, PAPERS)
            if ratio:
                times[bar] = ratio * untuned
    fastest = min(times.values())
    return {bar: fastest / taken for bar, taken in times.items()}


def draw(
    everything: Iterable[tuple[str, int, Kept]],
    rows: Mapping[tuple[str, int], Row],
    path: Path,
) -> bool:
    """Draws a row of axes for each number of threads; whether there was anything."""
    found = {
        (name, threads): bars
        for name, threads, known in everything
        if len(bars := throughput(known, rows.get((name, threads)))) > 1
    }
    if not found:
        return False
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    # One text for one set of figures: no date, no random names.
    matplotlib.rcParams["svg.hashsalt"] = "parhelion"
    counts = sorted({threads for _, threads in found})
    figure, axes = pyplot.subplots(
        len(counts), 1, figsize=(12, 3.2 * len(counts)), squeeze=False
    )
    width = 0.8 / len(BARS)
    for axis, threads in zip(axes[:, 0], counts, strict=True):
        names = [name for name, t in found if t == threads]
        for k, (bar, (label, colour)) in enumerate(BARS.items()):
            shift = (k - (len(BARS) - 1) / 2) * width
            heights = [found[name, threads].get(bar, 0.0) for name in names]
            places = [i + shift for i in range(len(names))]
            axis.bar(places, heights, width, label=label, color=colour)
        axis.set_xticks(range(len(names)), names, rotation=20)
        axis.set_ylabel(f"throughput, {threads} thread(s)")
        axis.set_ylim(0, 1.05)
    axes[0, 0].legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    return True


__all__ = ["BARS", "draw", "throughput"]
