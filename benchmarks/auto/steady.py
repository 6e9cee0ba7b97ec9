"""Least times that were found more than once.

On a computer that others use too, a minimum may be one that a neighbour spoiled from
beginning to end. So time is taken in rounds, and a contender whose two least rounds
differ gets more of them.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.runtime import measure

#: The two least rounds of a contender may differ by this share.
STEADY = 0.05
#: How many rounds there are, and how many more at most.
ROUNDS, MORE = 2, 3

Times = Mapping[str, float]


def spread(minima: list[float]) -> float:
    """How much greater the second least is than the least, as a share; 0 of one."""
    least, *rest = sorted(minima)
    return rest[0] / least - 1 if rest else 0.0


def steady(
    runs: Mapping[str, Callable[[], object]],
    budget: float,
    measure: Callable[
        [Mapping[str, Callable[[], object]], float], Mapping[str, Times]
    ] = measure,
) -> dict[str, dict[str, float]]:
    """Least and median seconds of each, in rounds in which all take their turns.

    budget: seconds of the first `ROUNDS` rounds together. Those whose two least rounds
    differ by more than `STEADY` take part in `MORE` rounds at most. "spread" says by
    how much they differ in the end.
    """
    if not runs:
        return {}
    rounds: dict[str, list[Times]] = {name: [] for name in runs}
    part = budget / ROUNDS / len(runs)
    taking = dict(runs)
    for k in range(ROUNDS + MORE):
        for name, times in measure(taking, part * len(taking)).items():
            rounds[name].append(times)
        if k + 1 >= ROUNDS:
            apart = {n: spread([t["min"] for t in rounds[n]]) for n in taking}
            taking = {n: run for n, run in taking.items() if apart[n] > STEADY}
        if not taking:
            break
    return {
        name: {
            "min": min(t["min"] for t in each),
            "median": statistics.median(t["median"] for t in each),
            "runs": sum(t["runs"] for t in each),
            "spread": spread([t["min"] for t in each]),
        }
        for name, each in rounds.items()
    }


def lesser(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """One row of the table, measured twice: what the new one says, with the lesser of
    the two times of each contender whose schedule, where it was found by a scheduler,
    is the same."""
    before = old.get("contenders", {})
    if "contenders" not in new:
        return dict(old if before else new)
    made = {
        n: _lesser(before.get(n, {}), entry) for n, entry in new["contenders"].items()
    }
    return {**new, "contenders": {**before, **made}}


def _lesser(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    times = sorted(
        (entry for entry in (old, new) if "min" in entry), key=lambda e: e["min"]
    )
    if len(times) < 2 or old.get("digest") != new.get("digest"):
        return dict(new)
    least, other = times
    apart = [other["min"] / least["min"] - 1]
    apart += [least["spread"]] if "spread" in least else []
    runs = old["runs"] + new["runs"]
    kept = {"min": least["min"], "median": least["median"], "runs": runs}
    return {**new, **kept, "spread": min(apart)}


__all__ = ["STEADY", "lesser", "spread", "steady"]
