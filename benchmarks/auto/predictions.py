"""Run times that our schedulers predict, beside those that were measured."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.auto.table import DEFAULT, PAPERS, Row
from benchmarks.report import geometric_mean

#: The schedulers that predict, and the colours of their points.
PREDICTING = {PAPERS: "#fdae6b", DEFAULT: "#d94801"}

HEAD = ["application", "threads", "scheduler", "operations"]
HEAD += ["predicted ms", "measured ms", "predicted / measured"]


@dataclass(frozen=True)
class Prediction:
    """Of one scheduler on one application: seconds; operations, if that is what its
    cost is counted in."""

    case: str
    threads: str
    label: str
    predicted: float
    measured: float
    operations: float | None = None

    @property
    def ratio(self) -> float:
        return self.predicted / self.measured

    @property
    def cells(self) -> list[str]:
        """For the table of `HEAD`."""
        counted = "" if self.operations is None else f"{self.operations:.3g}"
        times = [f"{t * 1e3:.2f}" for t in (self.predicted, self.measured)]
        first = [self.case, self.threads, self.label, counted]
        return [*first, *times, f"{self.ratio:.2f}"]


def operation_seconds(every: Sequence[Row]) -> Mapping[str, float]:
    """For each number of threads, what one operation of the 2016 paper's cost takes.

    Its cost (section 4.2) counts additions, and LOAD_COST for each load; it compares
    schedules of one pipeline, and has no unit of time. So this is fitted: the geometric
    mean of measured seconds over operations, of all applications.
    """
    found: dict[str, list[float]] = {}
    for row in every:
        taken, cost = row.time(PAPERS), _operations(row, PAPERS)
        if taken is not None and cost:
            found.setdefault(row.threads, []).append(taken / cost)
    return {threads: geometric_mean(ratios) for threads, ratios in found.items()}


def _operations(row: Row, label: str) -> float | None:
    entry = row.entries.get(label, {})
    counted = entry.get("unit") == "operations" and "cost" in entry
    return float(entry["cost"]) if counted else None


def predictions(every: Sequence[Row]) -> Iterator[Prediction]:
    """All that were made of what was measured, in the order of the rows."""
    each = operation_seconds(every)
    for row in every:
        for label in PREDICTING:
            entry, taken = row.entries.get(label, {}), row.time(label)
            if taken is None:
                continue
            counted = _operations(row, label)
            if "predicted" in entry:
                seconds = float(entry["predicted"])
            elif counted:
                seconds = counted * each[row.threads]
            else:
                continue
            yield Prediction(row.case, row.threads, label, seconds, taken, counted)


def told(every: Sequence[Row]) -> list[str]:
    """How good the predictions are, a sentence for each scheduler and number of
    threads, and what an operation takes."""
    found: dict[tuple[str, str], list[float]] = {}
    for one in predictions(every):
        found.setdefault((one.label, one.threads), []).append(one.ratio)
    lines = []
    for (label, threads), ratios in found.items():
        mean = geometric_mean(ratios)
        apart = [math.log(r / mean) ** 2 for r in ratios]
        spread = math.exp(math.sqrt(sum(apart) / len(apart)))
        lines.append(
            f"{label}, {threads} thr: predicted / measured has the geometric mean"
            f" {mean:.2f} and differs from it by a factor of {spread:.2f} (one standard"
            f" deviation of the logarithm), over {len(ratios)}"
        )
    for threads, seconds in operation_seconds(every).items():
        lines.append(
            f"{PAPERS}, {threads} thr: an operation of its cost is fitted to"
            f" {seconds * 1e9:.4f} ns"
        )
    return lines


def draw(every: Sequence[Row], path: Path) -> None:
    """Predicted over measured times, both logarithmic, one plot for each number of
    threads; on the line the two are the same."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    # One text for one set of figures: no date, no random names.
    matplotlib.rcParams["svg.hashsalt"] = "parhelion"
    found = list(predictions(every))
    counts = sorted({one.threads for one in found})
    figure, axes = pyplot.subplots(
        1, len(counts), figsize=(6 * len(counts), 5.5), squeeze=False
    )
    times = [t * 1e3 for one in found for t in (one.predicted, one.measured)]
    ends = [min(times) / 1.5, max(times) * 1.5]
    for axis, threads in zip(axes[0], counts, strict=True):
        axis.plot(ends, ends, color="black", linewidth=1)
        for label, colour in PREDICTING.items():
            mine = [o for o in found if (o.threads, o.label) == (threads, label)]
            x, y = [o.measured * 1e3 for o in mine], [o.predicted * 1e3 for o in mine]
            axis.scatter(x, y, label=label, color=colour, zorder=2)
            if label == DEFAULT:
                for one, at in zip(mine, zip(x, y, strict=True), strict=True):
                    offset = {"xytext": (4, -3), "textcoords": "offset points"}
                    axis.annotate(one.case, at, fontsize=7, **offset)
        axis.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
        axis.set_xlabel(f"measured ms, {threads} thread(s)")
        axis.set_ylabel("predicted ms")
        axis.legend(loc="upper left")
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
