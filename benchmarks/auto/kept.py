"""Results of points on disk: one JSON object a line, added to as they are found."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.auto.points import REFERENCE, Point

Entry = Mapping[str, Any]
#: Where the files are, of one application at one number of threads each.
FOLDER = Path("out/tune")


class Kept:
    """What is known of the points of one application at one number of threads.

    An entry has "label", and "digest" and "schedule" (the seconds that took) once the
    schedule was made; "min" and "reference" (least seconds, of the schedule and of the
    reference in the same process) and "python" where this point was the first with its
    schedule; "failed" with the reason.
    """

    def __init__(self, case: str, threads: int, folder: Path = FOLDER) -> None:
        path = folder / f"{case}_{threads}t.jsonl"
        self.path = path
        self.entries: dict[str, Entry] = {}
        self._measured: dict[str, Entry] = {}
        if path.exists():
            text = path.read_text()
            # An interruption may have cut the last line: that point is run again.
            end = text.rfind("\n") + 1
            if end < len(text):
                path.write_text(text[:end])
            for line in text[:end].splitlines():
                self._take(json.loads(line))

    def _take(self, entry: Entry) -> None:
        self.entries[entry["label"]] = entry
        if "digest" in entry and ("min" in entry or "failed" in entry):
            if "min" in entry or entry["digest"] not in self._measured:
                self._measured[entry["digest"]] = entry

    def add(self, entries: Iterable[Entry]) -> None:
        """Takes entries, and appends them to the file."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            for entry in entries:
                file.write(json.dumps(entry) + "\n")
                self._take(entry)

    @property
    def digests(self) -> list[str]:
        """Of the schedules that need not be run again."""
        return list(self._measured)

    def missing(self, points: Sequence[Point]) -> list[Point]:
        """Those of these points that nothing is known of."""
        return [p for p in points if p.label not in self.entries]

    def measured(self, point: Point) -> Entry | None:
        """The entry of the point whose times are this one's, or that says why there are
        none; None if it has not been run."""
        entry = self.entries.get(point.label)
        if entry is None or "min" in entry or "digest" not in entry:
            return entry
        return self._measured.get(entry["digest"], entry)

    def seconds(self, point: Point) -> float | None:
        """Least seconds, None where it failed. As those of different processes are not
        the same, they are scaled by what the reference took beside it, if it ran."""
        entry = self.measured(point)
        if entry is None or "min" not in entry or not entry["same"]:
            return None
        beside, usual = entry.get("reference"), self.reference
        scale = 1.0 if beside is None or usual is None else usual / float(beside)
        return float(entry["min"]) * scale

    def best(self, points: Sequence[Point]) -> tuple[Point, float] | None:
        """The fastest of these points, and its seconds."""
        found = [(t, p) for p in points if (t := self.seconds(p)) is not None]
        if not found:
            return None
        seconds, point = min(found, key=lambda pair: pair[0])
        return point, seconds

    @property
    def reference(self) -> float | None:
        """Least seconds of the reference."""
        entry = self.entries.get(REFERENCE.label, {})
        return float(entry["min"]) if "min" in entry else None


__all__ = ["FOLDER", "Entry", "Kept"]
