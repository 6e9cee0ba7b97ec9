"""The plot of the benchmarks' page: our time over Halide's, a bar for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def draw(results: Mapping[str, Any], names: Sequence[str], path: Path) -> None:
    """Draws the ratios of run times, same schedule, for each number of threads."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from benchmarks.report import ratios

    # One text for one set of figures: no date, no random names.
    matplotlib.rcParams["svg.hashsalt"] = "parhelion"
    figure, axes = pyplot.subplots(figsize=(9, 0.9 + 0.34 * len(names)))
    height = 0.38
    for k, colour in (("1", "#2f6f9f"), ("2", "#e0913a")):
        shift = (-0.5 if k == "1" else 0.5) * height
        values = [
            ratios(results["cases"][name]["run"][k])["same"]
            if k in results["cases"][name]["run"]
            else 0
            for name in names
        ]
        places = [i + shift for i in range(len(names))]
        axes.barh(places, values, height, label=f"{k} thread(s)", color=colour)
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel("our time over Halide's, same schedule (less is faster)")
    axes.legend(loc="lower right")
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
