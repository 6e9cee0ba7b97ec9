"""What is to be reached, and what was found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.dynamic.contenders import INLINE, ROOT, TILES, VALUES


@dataclass(frozen=True)
class Goal:
    """A figure that is to be at most so much. median: the same of median times, where
    there are some."""

    what: str
    most: float
    found: float
    unit: str = ""
    median: float | None = None

    @property
    def met(self) -> bool:
        return self.found <= self.most

    def row(self) -> list[str]:
        median = "" if self.median is None else f"{self.median:.2f}"
        said = "met" if self.met else "MISSED"
        most, found = f"≤ {self.most:g}{self.unit}", f"{self.found:.2f}{self.unit}"
        return [self.what, most, found, median, said]


def _ratio(times: Mapping[str, Any], what: str, *over: str) -> tuple[float, float]:
    """One time over the least of others, of minima and of medians."""
    least, middle = [
        times[what][k] / min([times[name][k] for name in over])
        for k in ("min", "median")
    ]
    return least, middle


def goals(figures: Mapping[str, Any]) -> Iterator[Goal]:
    """Each goal."""
    for name, most in ((VALUES, 1.5), (TILES, 1.1)):
        found, median = _ratio(figures["full"], name, ROOT)
        what = f"all of the image, 3 x 3 window: {name} over root"
        yield Goal(what, most, found, "", median)
    for kind, words in (("windows", "windows"), ("patches", "a mask of patches")):
        found, median = _ratio(figures["covered"][kind]["0.1"], TILES, ROOT)
        what = f"a tenth of it, in {words}: tiles over root"
        yield Goal(what, 0.25, found, "", median)
    for way, each in figures["hits"].items():
        for name in (VALUES, TILES):
            what = f"reading a value again, {way}: {name} less root"
            yield Goal(what, 2.0, each[name], " ns")
    found, median = _ratio(figures["dewarp"], TILES, ROOT, INLINE)
    what = "dewarp: tiles over the better of root and inline"
    yield Goal(what, 0.8, found, "", median)


__all__ = ["Goal", "goals"]
