"""One job on a GPU: results are compared, then all contenders run in turn.

Run as a module with a group and a job's name, it prints a JSON object.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from apps.common import Array
from benchmarks.case import Tolerance
from benchmarks.gpu.contender import Absent, Job, Ready
from benchmarks.gpu.device import Device, card
from benchmarks.gpu.jobs import job

#: The least seconds between two events: their clock has steps of half a microsecond.
LEAST = 1e-3


def apart(a: Array, b: Array) -> tuple[float, float]:
    """The largest difference of two results, NaNs being alike, and the share of values
    that differ."""
    if a.shape != b.shape:
        return float("inf"), 1.0
    x, y = a.astype(np.float64), b.astype(np.float64)
    difference = np.where(np.isnan(x) & np.isnan(y), 0.0, np.abs(x - y))
    largest = float(difference.max()) if difference.size else 0.0
    return largest, np.count_nonzero(difference) / max(difference.size, 1)


def wrong(found: tuple[float, float], most: Tolerance) -> str:
    """What is wrong about a result that is so far from another; empty if nothing."""
    largest, share = found
    if largest <= most.largest and share <= most.share:
        return ""
    return f"{largest:.3g} apart at {share:.2%} of the values"


def prepared(of: Job) -> tuple[dict[str, Ready], dict[str, dict[str, Any]]]:
    """The contenders that are ready and right, and what is said of each."""
    images = of.inputs()
    ready: dict[str, Ready] = {}
    entries: dict[str, dict[str, Any]] = {}
    first: Array | None = None
    for one in of.contenders:
        entry = entries[one.label] = {"by": one.by, "name": one.name}
        try:
            made = one.prepare(images)
        except Absent as reason:
            entry["absent"] = str(reason)
            continue
        made.run()
        if made.result is not None and not one.alone:
            got = made.result()
            first = got if first is None else first
            bad = wrong(apart(got, first), one.tolerance or of.tolerance)
            if bad:
                entry["wrong"] = bad
                continue
        entry["amount"] = made.amount
        ready[one.label] = made
    return ready, entries


def measured(device: Device, ready: Mapping[str, Ready], budget: float) -> Any:
    """Minimum and median seconds of each, taken in turn, for so many seconds in all."""
    repeat: dict[str, int] = {}
    for label, one in ready.items():
        once = min([device.seconds(one.run, 1) for _ in range(3)])
        repeat[label] = max(1, round(LEAST / max(once, 1e-7)))
    taken: dict[str, list[float]] = {label: [] for label in ready}
    spent = 0.0
    while spent < budget or min(map(len, taken.values()), default=9) < 3:
        for label, one in ready.items():
            seconds = device.seconds(one.run, repeat[label])
            taken[label].append(seconds)
            spent += seconds * repeat[label]
        if not ready:
            break
    return {
        label: {"min": min(t), "median": statistics.median(t), "runs": len(t)}
        for label, t in taken.items()
    }


def run(of: Job, budget: float) -> dict[str, Any]:
    """Times of a job's contenders, and the card that gave them. Raises Absent where
    there is none."""
    device = Device()
    ready, entries = prepared(of)
    for label, times in measured(device, ready, budget).items():
        entries[label] |= times
    facts = {"moved": of.moved, "operations": of.operations}
    return {"card": card(), "size": of.size, **facts, "contenders": entries}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("group")
    parser.add_argument("name")
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    json.dump(run(job(options.group, options.name), options.seconds), sys.stdout)
