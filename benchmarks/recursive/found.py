"""What was measured, read from the results: the fastest of each maker, and rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.recursive.case import COPY, DEFAULT, HALIDE, OURS, PLAIN, UNTILED, Case

Results = Mapping[str, Any]
#: How the names of ours by hand begin: untiled, or in tiles of one width.
BY_HAND = (UNTILED, PLAIN, "tiles of ")


@dataclass(frozen=True)
class Point:
    """One value of a case's parameter on one number of threads.

    contenders: what was found of each, by its label.
    """

    case: str
    threads: str
    value: int
    points: int
    contenders: Mapping[str, Mapping[str, Any]]

    def fastest(
        self, by: str, which: Callable[[str], bool] = lambda _: True
    ) -> Mapping[str, Any] | None:
        """The entry with the least time of a maker, of those with such a name; results
        that lost their digits do not count."""
        entries = [
            e
            for e in self.contenders.values()
            if e["by"] == by
            and "min" in e
            and not e.get("unstable")
            and which(e["name"])
        ]
        return min(entries, key=lambda e: float(e["min"]), default=None)

    def seconds(
        self, by: str, which: Callable[[str], bool] = lambda _: True
    ) -> float | None:
        """The least time of those."""
        found = self.fastest(by, which)
        return None if found is None else float(found["min"])

    def named(self, by: str, name: str) -> float | None:
        """The least time of one contender."""
        return self.seconds(by, lambda other: other == name)

    def ours(self) -> float | None:
        return self.seconds(OURS)

    def default(self) -> float | None:
        return self.named(OURS, DEFAULT)

    def by_hand(self) -> float | None:
        """The least time of our filter untiled, by a schedule of one's own, and in
        tiles of one width."""
        return self.seconds(OURS, lambda name: name.startswith(BY_HAND))

    def halide(self) -> float | None:
        return self.seconds(HALIDE)

    def copy(self) -> float | None:
        return self.seconds(COPY)

    def per_point(self, seconds: float | None) -> float | None:
        """Nanoseconds for each pixel or sample."""
        return None if seconds is None else seconds / self.points * 1e9


def points(results: Results, case: str) -> Iterator[Point]:
    """All points of a case that could be measured, by threads and then by value."""
    for threads, values in results["cases"].get(case, {}).items():
        for value, entry in values.items():
            if "contenders" in entry:
                yield Point(
                    case, threads, int(value), entry["points"], entry["contenders"]
                )


def of_threads(results: Results, case: str) -> dict[str, list[Point]]:
    """The points of a case, by threads."""
    found: dict[str, list[Point]] = {}
    for point in points(results, case):
        found.setdefault(point.threads, []).append(point)
    return found


def measured(results: Results, cases: Mapping[str, Case]) -> list[Case]:
    """The cases that have points, in order."""
    return [c for c in cases.values() if next(points(results, c.name), None)]


def troubles(results: Results) -> Iterator[str]:
    """What was wrong, and what could not be run."""
    for case, by_threads in results["cases"].items():
        for threads, values in by_threads.items():
            for value, entry in values.items():
                where = f"{case} {value}, {threads} thread(s)"
                if "failed" in entry:
                    yield f"{where}: {entry['failed']}"
                for one in entry.get("contenders", {}).values():
                    if "wrong" in one:
                        yield f"{where}: {one['wrong']}"


__all__ = ["Point", "Results", "measured", "of_threads", "points", "troubles"]
