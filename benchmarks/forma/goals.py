"""What is to be reached, and what was found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.forma.contenders import (
    CPP,
    FORMA,
    GENERATED,
    HALIDE,
    NEW,
    NUMPY,
    OPENCV,
)
from benchmarks.forma.experts import EXPERTS
from benchmarks.report import geometric_mean

Results = Mapping[str, Any]

#: Table 1: how much faster than NumPy on two threads. Half of what the paper found on
#: four cores; the aim is twice that.
OVER_NUMPY = {
    "emboss": 2.6,
    "exposure_fusion": 4.7,
    "rician_2d": 5.6,
    "rician_3d": 4.4,
}
#: Table 2: how much faster than OpenCV, or than loops in C++.
OVER_OPENCV = {"emboss": 0.75, "rician_2d": 2.2, "rician_3d": 2.7}
#: Table 1 and Table 2 of the paper, milliseconds: Python, NumPy, Forma; OpenCV, Forma.
PAPER_1 = {
    "emboss": (9335.371, 20.806, 4.033),
    "exposure_fusion": (84158.143, 142.704, 15.307),
    "rician_2d": (9526.096, 7.889, 0.706),
    "rician_3d": (10149.112, 9.669, 1.091),
}
PAPER_2 = {
    "emboss": (4.065, 2.701),
    "rician_2d": (66.558, 15.120),
    "rician_3d": (49.314, 9.120),
}
#: Over Halide's time: the geometric mean, and each.
MEAN, MOST = 1.0, 1.2
#: The time of generated C over that of machine code, each.
C_OVER_CODE = 1.3
#: Seconds: of exposure fusion cold and warm, and of any program to be scheduled.
COLD, WARM, SCHEDULE = 2.0, 0.06, 0.2


@dataclass(frozen=True)
class Goal:
    """A figure that is to be at least or at most so much. median: of median times."""

    what: str
    wanted: float
    found: float
    median: float | None = None
    is_least: bool = False

    @property
    def met(self) -> bool:
        return self.found >= self.wanted if self.is_least else self.found <= self.wanted

    def row(self) -> list[str]:
        median = "" if self.median is None else f"{self.median:.2f}"
        wanted = f"{'≥' if self.is_least else '≤'} {self.wanted:g}"
        said = "met" if self.met else "MISSED"
        return [self.what, wanted, f"{self.found:.2f}", median, said]


def times_of(results: Results, threads: str, name: str) -> Mapping[str, Any]:
    """Times by contender; none where they could not be measured."""
    found = results["times"].get(threads, {}).get(name, {})
    return found.get("times", {}) if isinstance(found, Mapping) else {}


def halide(times: Mapping[str, Any], what: str = "min") -> float | None:
    """The time of the fastest of Halide's schedules."""
    found = [t[what] for who, t in times.items() if who.startswith(HALIDE)]
    return min(found) if found else None


def over_halide(results: Results, threads: str, what: str = "min") -> dict[str, float]:
    """Forma's time over Halide's, by program."""
    found = {}
    for name in EXPERTS:
        times = times_of(results, threads, name)
        theirs = halide(times, what)
        if theirs is not None:
            found[name] = times[FORMA][what] / theirs
    return found


def _ratio(times: Mapping[str, Any], slow: str, fast: str) -> tuple[float, float]:
    return (
        times[slow]["min"] / times[fast]["min"],
        times[slow]["median"] / times[fast]["median"],
    )


def goals(results: Results) -> Iterator[Goal]:
    """Each goal that there are figures for."""
    for name, least in OVER_NUMPY.items():
        times = times_of(results, "2", name)
        if times:
            found = _ratio(times, NUMPY, NEW)
            what = f"{name}, 2 threads: times faster than NumPy"
            yield Goal(what, least, *found, is_least=True)
    for name, least in OVER_OPENCV.items():
        times = times_of(results, "2", name)
        who = OPENCV if OPENCV in times else CPP
        if who in times:
            found = _ratio(times, who, FORMA)
            what = f"{name}, 2 threads: times faster than {who}"
            yield Goal(what, least, *found, is_least=True)
    for threads in sorted(results["times"]):
        least_, middle = (
            over_halide(results, threads, what) for what in ("min", "median")
        )
        if not least_:
            continue
        mean = geometric_mean(least_.values())
        median = geometric_mean(middle.values())
        what = f"time over Halide's, {threads} thread(s): geometric mean"
        yield Goal(what, MEAN, mean, median)
        worst = max(least_, key=lambda name: least_[name])
        what = f"time over Halide's, {threads} thread(s): the most, {worst}"
        yield Goal(what, MOST, least_[worst], middle[worst])
    for threads in sorted(results["times"]):
        ratios = {}
        for name in results["times"][threads]:
            times = times_of(results, threads, name)
            if GENERATED in times:
                ratios[name] = _ratio(times, GENERATED, FORMA)
        if ratios:
            worst = max(ratios, key=lambda name: ratios[name][0])
            what = (
                f"generated C over machine code, {threads} thread(s): the most, {worst}"
            )
            yield Goal(what, C_OVER_CODE, *ratios[worst])
    compile_ = {n: c for n, c in results["compile"].items() if "compile" in c}
    if "exposure_fusion" in compile_:
        one = compile_["exposure_fusion"]
        yield Goal("exposure_fusion: compiled cold, s", COLD, one["compile"])
        yield Goal("exposure_fusion: compiled warm, s", WARM, one["warm"])
    if compile_:
        slow = max(compile_, key=lambda name: float(compile_[name]["schedule"]))
        what = f"merged and scheduled, the most, {slow}, s"
        yield Goal(what, SCHEDULE, compile_[slow]["schedule"])


__all__ = [
    "PAPER_1",
    "PAPER_2",
    "Goal",
    "goals",
    "halide",
    "over_halide",
    "times_of",
]
