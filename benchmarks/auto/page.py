"""The page of the docs about automatic schedules, and its plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.auto import predictions
from benchmarks.auto import table as found_in
from benchmarks.auto.steady import STEADY
from benchmarks.auto.table import SCHEDULERS, Row
from benchmarks.report import table

#: The figures of the kept schedules, among those that lie beside the plain ones.
PINNED = "kept schedules"

#: Labels of the bars, and their colours.
BARS = {
    "expert": ("best expert", "#7f7f7f"),
    found_in.HALIDES: ("Mullapudi2016, Halide's", "#9ecae1"),
    found_in.ADAMS: ("Adams2019, Halide's", "#4292c6"),
    found_in.PAPERS: ("Mullapudi2016, ours", "#fdae6b"),
    found_in.DEFAULT: ("Parhelion", "#d94801"),
}

_PAGE = """# Automatic schedules, measured

The fourteen applications of the 2016 paper, each scheduled by Halide's own schedulers
and by ours, beside the schedules that experts wrote (all that the benchmarks know,
under both modules); written by `make bench-auto`. The contenders of one application
run in turn in one process, one process for each number of threads, and their results
are compared with each other. Times are minima in milliseconds; in brackets, the
multiple of the fastest expert schedule's. Time is taken in two rounds, and in up to
three more where the two least minima differ by more than {steady:.0%}. A scheduler is
told the sizes of the case's own arrays as estimates, and `parallelism`, the number of
threads. Adams2019 searches in a process of its own, with at most {search_seconds} s of
the processor and {search_gb} GB; what it finds is kept under
`benchmarks/schedules`, for each width of vectors, and run from there.

![Throughput relative to the fastest]({plot})

As Figure 6 of the paper: for each application the throughput relative to the fastest.

## Where it ran

{machine}

## Run time

{times}

{means}

## What must hold

{limits}

## Beside others

VGG-16 beside the CPU build of PyTorch, where the paper has Caffe; ratios are of our
times over its. It is an extra of its own: `pip install parhelion[torch]`, or `make
.venv/.stamp-torch` before `make bench-auto`.

{rivals}

## With other names, and at other sizes

The same with every Func, Var, RDom, image and Param renamed (`--renamed`), and with
both sides of the images (for VGG-16 the batch) halved and doubled (`--scale`). `--lean`
leaves out what these lines do not speak of: Adams2019, and all but the two experts that
were fastest in the plain run.

{others}

## Predicted and measured

`Parhelion`'s cost model predicts nanoseconds. The cost of `Mullapudi2016` is that of
the paper's section 4.2: it counts additions, and `LOAD_COST` of them for each load from
memory, to compare schedules of one pipeline, and says nothing of time, vectors or
threads. To put it beside the times, one of its operations is taken for as long as fits
them best: the geometric mean, over all applications, of seconds over operations, for
each number of threads. So its points lie about the line by construction; how far off it
they are shows what the cost is worth from one pipeline to another.

{predicted_plot}{told}

{predicted}

## Time to schedule and to compile

In a process that has compiled one trivial pipeline before. For Adams2019, what its
search took.

{work}

## The schedules, run from their files

What our schedulers print, `--keep` writes under `out/schedules`, and its digests under
`benchmarks/schedules`; `--pinned` runs these files in turn with the schedulers. The
ratio is the file's time over the scheduler's, and the digests tell whether the schedule
is the same.

{pinned}

## To note

{notes}

## How to run it

```sh
make bench-auto                                          # all but what follows
python -m benchmarks.auto --search                       # Adams2019's searches
python -m benchmarks.auto --lean --pinned                # the kept schedules
python -m benchmarks.auto --lean --renamed               # other names
python -m benchmarks.auto --lean --scale 0.5             # other sizes
python -m benchmarks.auto --lean --scale 2
python -m benchmarks.auto --draw --page docs/autoschedule-benchmarks.md
```

Figures are kept under `out`; `--resume` goes on where a run was interrupted, and
`--update --apps NAME` measures an application again. Tuning and specialising have [a
page of their own](autoschedule-tuning.md).
"""


def write(
    results: Mapping[str, Any],
    order: list[str],
    path: Path,
    others: Mapping[str, Mapping[str, Any]],
) -> None:
    """Writes the page, and its plot beside it. others: what was measured with other
    names and sizes, by what that is."""
    from benchmarks.auto import adams

    plot = path.with_suffix(".svg")
    every = list(found_in.rows(results, order))
    draw(every, plot)
    predicted = [one.cells for one in predictions.predictions(every)]
    predicted_plot = ""
    if predicted:
        beside = path.with_name(f"{path.stem}-predicted.svg")
        predictions.draw(every, beside)
        predicted_plot = f"![Predicted over measured times]({beside.name})\n\n"
    means = [
        [label, threads, f"{mean:.3f}", str(count)]
        for label, found in found_in.means(results, order).items()
        for threads, mean, count in found
    ]
    limits = [[m.what, m.found, m.verdict] for m in found_in.limits(results, order)]
    notes = [f"- {note}" for note in found_in.notes(results, order)]
    rivals = list(found_in.rivals(results, order))
    pinned = list(found_in.pinned(others.get(PINNED, results), order))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        _PAGE.format(
            steady=STEADY,
            search_seconds=adams.SECONDS,
            search_gb=adams.MEMORY >> 30,
            plot=plot.name,
            machine=table(["", ""], results["machine"].items()),
            times=table(found_in.HEAD, [found_in.time_cells(row) for row in every]),
            means=table(
                ["geometric mean over the best expert", "threads", "", "applications"],
                means,
            ),
            limits=table(["", "", ""], limits),
            rivals=table(found_in.RIVAL_HEAD, rivals) if rivals else "Not measured.",
            others=_others(others, order),
            predicted_plot=predicted_plot,
            told="\n".join(f"- {line}" for line in predictions.told(every)),
            predicted=table(predictions.HEAD, predicted)
            if predicted
            else "Not measured.",
            work=table(found_in.WORK_HEAD, [found_in.work_cells(row) for row in every]),
            pinned=table(found_in.PINNED_HEAD, pinned) if pinned else "Not measured.",
            notes="\n".join(notes) or "Nothing.",
        )
    )


def _others(others: Mapping[str, Mapping[str, Any]], order: list[str]) -> str:
    """What must hold of run times, for each of them."""
    kept = [
        [what, m.what, m.found, m.verdict]
        for what, results in others.items()
        for m in found_in.limits(results, order)
        if not m.what.startswith("seconds") and m.verdict != "not measured"
    ]
    return table(["", "", "", ""], kept) if kept else "Not measured."


def throughput(row: Row) -> dict[str, float]:
    """Of each bar: the fastest's time over its own; those that did not run are left
    out."""
    best = row.best_expert
    times = {label: t for label in SCHEDULERS if (t := row.time(label)) is not None}
    if best is not None:
        times["expert"] = best[1]
    fastest = min(times.values(), default=0.0)
    return {label: fastest / taken for label, taken in times.items()}


def draw(every: Sequence[Row], path: Path) -> None:
    """A plot for each number of threads, in the manner of the paper's Figure 6."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    # One text for one set of figures: no date, no random names.
    matplotlib.rcParams["svg.hashsalt"] = "parhelion"
    counts = sorted({row.threads for row in every})
    figure, axes = pyplot.subplots(
        len(counts), 1, figsize=(12, 3.2 * len(counts)), squeeze=False
    )
    width = 0.8 / len(BARS)
    for axis, threads in zip(axes[:, 0], counts, strict=True):
        mine = [row for row in every if row.threads == threads]
        found = [throughput(row) for row in mine]
        for k, (label, (name, colour)) in enumerate(BARS.items()):
            places = [i + (k - (len(BARS) - 1) / 2) * width for i in range(len(mine))]
            heights = [bars.get(label, 0.0) for bars in found]
            axis.bar(places, heights, width, label=name, color=colour)
        axis.set_xticks(range(len(mine)), [row.case for row in mine], rotation=20)
        axis.set_ylabel(f"throughput, {threads} thread(s)")
        axis.set_ylim(0, 1.05)
    axes[0, 0].legend(ncols=len(BARS), loc="lower center", bbox_to_anchor=(0.5, 1.0))
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
