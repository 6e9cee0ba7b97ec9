"""What a measured search for the tiles of recursive filters has found."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import field

from parhelion.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Way:
    """One way to compute filters. widths: of tiles, by the names of dimensions; None
    for whole lines. apart: whether the filters of each dimension are in tiles of their
    own, as those of a cascade are."""

    widths: Mapping[str, int | None]
    apart: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it from others."""
        return (tuple(self.widths.items()), self.apart)

    def __str__(self) -> str:
        if not any(self.widths.values()):
            return "whole lines"
        told = [
            f"whole lines along {name}" if width is None else f"{name} by {width}"
            for name, width in self.widths.items()
        ]
        return ", ".join(told) + (", each in tiles of its own" if self.apart else "")


@dataclass(frozen=True)
class Tuned:
    """What `RecFilter.autotune` has found: the ways that were measured, the fastest
    first, and the least seconds that each took.

    name: of the RecFilter. left: how many ways were not measured, as the seconds were
    over. refused: why others could not run. threads: that ran. kept: whether it was
    found by an earlier search.
    """

    name: str
    ways: tuple[Way, ...]
    seconds: tuple[float, ...]
    budget: float
    threads: int
    left: int = 0
    refused: tuple[str, ...] = ()
    kept: bool = field(default=False, compare=False)

    @property
    def best(self) -> Way:
        """The way that was the fastest, and is the RecFilter's now."""
        return self.ways[0]

    def explain(self) -> str:
        """Returns a text of all ways and their times, the fastest first."""
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        before = ", kept from an earlier search" if self.kept else ""
        lines = [f"{self.name}: {counted(len(self.ways))}, on {threads}{before}"]
        times = [_told(t) for t in self.seconds]
        wide = max([len(t) for t in times])
        lines += [
            f"  {t:>{wide}}  {way}" for t, way in zip(times, self.ways, strict=True)
        ]
        if self.left:
            lines.append(f"  not measured in {self.budget:g} s: {self.left} more")
        lines += [f"  could not run: {what}" for what in self.refused]
        return "\n".join(lines)

    def __repr__(self) -> str:
        took = _told(self.seconds[0])
        count = len(self.ways)
        rank = "the only way" if count == 1 else f"the fastest of {count} ways"
        return f"<parhelion.Tuned {self.name!r}: {self.ways[0]}, {took}, {rank}>"

    # What is kept of it.

    def to_json(self) -> str:
        """As text, without names: the structure of filters is the key to it."""
        ways = [[list(w.widths.values()), w.apart] for w in self.ways]
        told = {"ways": ways, "seconds": self.seconds, "left": self.left}
        return json.dumps({**told, "budget": self.budget, "refused": self.refused})


def counted(ways: int) -> str:
    """How many ways there are, in words."""
    return "1 way" if ways == 1 else f"{ways} ways"


def _told(seconds: float) -> str:
    # Few programs ask, and it takes the automatic schedulers' modules.
    from parhelion.autoschedule.decisions import cost_text

    return cost_text(seconds, "s")


def from_json(text: str, name: str, dims: Sequence[str], threads: int) -> Tuned:
    """What was kept, for filters of these names. Raises ValueError, KeyError or
    TypeError for what is none."""
    found = json.loads(text)
    ways = [
        Way(
            {d: None if w is None else int(w) for d, w in zip(dims, each, strict=True)},
            bool(apart),
        )
        for each, apart in found["ways"]
    ]
    seconds = [float(t) for t in found["seconds"]]
    whole = len(ways) == len(seconds) > 0
    if not whole or not all([math.isfinite(t) and t > 0 for t in seconds]):
        raise ValueError("it is incomplete")
    return Tuned(
        name,
        tuple(ways),
        tuple(seconds),
        float(found["budget"]),
        threads,
        int(found["left"]),
        tuple([str(what) for what in found["refused"]]),
        kept=True,
    )


__all__ = ["Tuned", "Way", "counted", "from_json"]
