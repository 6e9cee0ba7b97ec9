"""The page of the docs about the everyday pipelines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.auto.adams import MEMORY, SECONDS
from benchmarks.everyday import table as found_in
from benchmarks.everyday.baselines import DRAWS
from benchmarks.everyday.pipeline import GROUPS, SEEN
from benchmarks.everyday.pipelines import all_pipelines
from benchmarks.report import table

_PAGE = """# Everyday pipelines, scheduled

{count} pipelines in the manner of users of OpenCV, scikit-image, scipy.ndimage and
kornia, which the default scheduler was not made on; written by
`python -m benchmarks.everyday --page docs/everyday-benchmarks.md`. Each is one
definition that runs under both modules, and a test compares the results with each other
and with NumPy, SciPy or OpenCV (`tests/apps/test_everyday.py`).

A hash of the name puts each into one of three groups. Constants of the cost model are
fit on the first (*fit*), the second is looked at pipeline by pipeline (*look*), and the
last (*final*) is only ever run as a whole: its figures are those that count, and which
pipeline has which of them is not shown. On three ({seen})
the scheduler was found wanting before there were groups: they are in the first one,
whatever their hash.

The baselines: every Func at the root, in vectors of 8 and rows in parallel (*rows*);
Halide's Mullapudi2016 and ours; Halide's Adams2019, where its search ends within
{search_seconds} s of the processor and {search_gb} GB; and the fastest of {draws}
random legal schedules. All run in turn in one process, one process for each number of
threads. Figures are multiples: our default schedule's least time over the baseline's.

## Where it ran

{machine}

## The groups as a whole

Geometric means, in brackets of how many pipelines; then the largest figure of any
pipeline, in brackets how many are beyond the limit. The last of these is how much the
time changes, up or down, when the search evaluates a fifth less or more, or takes
choices that cost the same in another order.

{summary}

## What must hold

{limits}

## Pipeline by pipeline

Of the first two groups. Times are minima in milliseconds.

{rows}

## To note

{notes}

## How to run it

```sh
python -m benchmarks.everyday --group fit look             # about {minutes} minutes
python -m benchmarks.everyday --group final                # only as a whole
python -m benchmarks.everyday --stability                  # what chances change
python -m benchmarks.everyday --search                     # the schedules that are kept
python -m benchmarks.everyday --draw --page docs/everyday-benchmarks.md
```

The schedules of Adams2019 and the best random ones are kept under
`benchmarks/schedules`, for each width of vectors; without `--search`, those that are
not there are left out.
"""


def write(results: Mapping[str, Mapping[str, Any]], path: Path) -> None:
    """Draws the page. results: by group."""
    pipelines = all_pipelines()
    took = [
        at.get("took", 0.0)
        for group in GROUPS[:-1]
        for case in results[group]["cases"].values()
        if case["group"] == group
        for at in case["threads"].values()
    ]
    rows = [
        one
        for group in GROUPS[:-1]
        for every in found_in.found(results[group], group).values()
        for one in every
    ]
    rows.sort(key=lambda one: (one.name, one.row.threads))
    limits = [
        [m.what, m.found, m.verdict]
        for group in GROUPS
        for m in found_in.limits(results[group], group, group != GROUPS[-1])
    ]
    notes = [
        f"- {n}"
        for group in GROUPS
        for n in found_in.notes(results[group], group, group != GROUPS[-1])
    ]
    facts = results[GROUPS[0]].get("machine", {})
    text = _PAGE.format(
        count=len(pipelines),
        seen=", ".join(f"`{name}`" for name in sorted(SEEN)),
        search_seconds=SECONDS,
        search_gb=MEMORY >> 30,
        draws=DRAWS,
        machine=table(["", ""], [[k, v] for k, v in facts.items()]),
        summary=table(
            found_in.SUMMARY_HEAD,
            [row for g in GROUPS for row in found_in.summary(results[g], g)],
        ),
        limits=table(["what", "found", ""], limits),
        rows=table(found_in.HEAD, map(found_in.cells, rows)),
        notes="\n".join(notes) or "Nothing.",
        minutes=max(1, round(sum(took) / 60)),
    )
    path.write_text(text)
