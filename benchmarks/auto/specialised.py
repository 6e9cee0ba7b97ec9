"""What specialised schedules gain over a single one, from what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.auto.series import SERIES, Series
from benchmarks.report import geometric_mean

#: Where it is kept.
FILE = Path("out/specialise.json")
Entry = Mapping[str, Any]
#: Of each case, the entries of the schedules by the case that they are made for.
Found = Mapping[str, Mapping[str, Entry]]


def seconds_of(entries: Mapping[str, Entry], made_for: str) -> float | None:
    """Least seconds of a schedule on a case; None if it does not run there, or not
    right."""
    entry = entries.get(made_for, {})
    return float(entry["min"]) if "min" in entry and entry.get("same") else None


def best_on_average(found: Found) -> str | None:
    """The case whose schedule is the best one for all, by the geometric mean of its
    times; None if none runs on all."""
    means = []
    for made_for in found:
        times = [seconds_of(entries, made_for) for entries in found.values()]
        if times and None not in times:
            means.append((geometric_mean([t for t in times if t]), made_for))
    return min(means)[1] if means else None


@dataclass(frozen=True)
class Gain:
    """A case: least seconds with its own schedule and with the single one, which is
    made for `single`; why that fails; and the share of the computer that other
    processes used meanwhile."""

    case: str
    size: str
    single: str
    own: float | None
    other: float | None
    why: str = ""
    others: float = 0.0

    @property
    def gain(self) -> float | None:
        if self.own is None or self.other is None:
            return None
        return self.other / self.own


def gains(series: Series, found: Found) -> list[Gain]:
    """Of a series' cases that were run, in its order."""
    single = series.fixed or best_on_average(found)
    if single is None:
        return []
    return [
        Gain(
            name,
            case.size,
            single,
            seconds_of(found[name], name),
            seconds_of(found[name], single),
            str(found[name].get(single, {}).get("failed", "")),
            max((e.get("others") or 0.0 for e in found[name].values()), default=0.0),
        )
        for name, case in series.cases.items()
        if name in found
    ]


def gains_of(results: Mapping[str, Any]) -> dict[tuple[str, str], list[Gain]]:
    """Of a file's series, by name and number of threads."""
    return {
        (name, threads): gains(SERIES[name], found["cases"])
        for name, at in results.items()
        for threads, found in at.items()
    }
