"""What the comparison of automatic schedules found, as plain text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.auto import predictions, table


def text(results: Mapping[str, Any], order: list[str]) -> str:
    """All tables."""
    every = list(table.rows(results, order))
    lines = [aligned([table.HEAD, *map(table.time_cells, every)])]
    lines.append("milliseconds (multiple of the best expert's)\n")
    for label, found in table.means(results, order).items():
        told = ", ".join(f"{m:.3f} at {t} thr (of {n})" for t, m, n in found)
        lines.append(f"{label}: geometric mean over the best expert {told}")
    predicted = [one.cells for one in predictions.predictions(every)]
    if predicted:
        lines += ["\npredicted times:", aligned([predictions.HEAD, *predicted])]
        lines += predictions.told(every)
    lines.append("\ntime to schedule and to compile:")
    lines.append(aligned([table.WORK_HEAD, *map(table.work_cells, every)]))
    rivals = list(table.rivals(results, order))
    if rivals:
        lines += ["\nrivals:", aligned([table.RIVAL_HEAD, *rivals])]
    pinned = list(table.pinned(results, order))
    if pinned:
        lines += ["\nkept schedules, run from their files:"]
        lines.append(aligned([table.PINNED_HEAD, *map(list, pinned)]))
    said = list(table.notes(results, order))
    if said:
        lines += ["\nto note:", *(f"  {n}" for n in said)]
    lines.append("\nwhat must hold:")
    limits = table.limits(results, order)
    lines.append(aligned([[f"  {m.what}", m.found, m.verdict] for m in limits]))
    return "\n".join(lines)


def aligned(cells: list[list[str]]) -> str:
    """Rows of as many cells each, in columns."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip()
        for line in cells
    )
