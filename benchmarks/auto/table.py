"""What the comparison of automatic schedules found: ratios, limits, rows of tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.auto.load import CALM
from benchmarks.auto.steady import STEADY
from benchmarks.cases import all_cases
from benchmarks.report import geometric_mean

Entry = Mapping[str, Any]

#: Where the figures of the applications as they are, are kept.
PLAIN = Path("out/bench-auto.json")
#: The scheduler that the others are measured against, and what they are called.
HALIDES = "halide Mullapudi2016"
ADAMS = "halide Adams2019"
PAPERS = "parhelion Mullapudi2016"
DEFAULT = "parhelion Parhelion"
#: Rivals of applications, and the largest ratio of our default's time that is aimed at.
RIVALS = {c.name: c.aims for c in all_cases() if c.aims}
#: The schedulers, in the order of the tables.
SCHEDULERS = (HALIDES, ADAMS, PAPERS, DEFAULT)

#: The largest ratio of a kept schedule's time to that of the scheduler itself: how far
#: two times of the same code may be apart.
PINNED_LIMIT = 1.1

#: Seconds that scheduling may take, and those for the largest applications.
SCHEDULE_LIMIT = 2.0
LARGE = {"lens_blur": 10.0, "vgg": 10.0}


@dataclass(frozen=True)
class Row:
    """One application at one number of threads.

    entries: of its contenders, by label.
    """

    case: str
    threads: str
    entries: Mapping[str, Entry]

    def time(self, label: str) -> float | None:
        """Least seconds of a contender, if it ran."""
        found = self.entries.get(label, {}).get("min")
        return None if found is None else float(found)

    @property
    def best_expert(self) -> tuple[str, float] | None:
        """The fastest expert schedule of either module."""
        found = [(e, n) for n in self.entries if (e := self._expert(n)) is not None]
        return min(found)[::-1] if found else None

    def _expert(self, label: str) -> float | None:
        return self.time(label) if " expert " in label else None

    def ratio(self, label: str, over: str) -> float | None:
        """Of two contenders' times; "expert" is the fastest of them."""
        best = self.best_expert
        mine = self.time(label)
        base = (best and best[1]) if over == "expert" else self.time(over)
        return None if mine is None or base is None else mine / base


def rows(results: Entry, order: list[str]) -> Iterator[Row]:
    """All that was measured, in order."""
    for name in order:
        for threads, found in results["cases"].get(name, {}).get("threads", {}).items():
            yield Row(name, threads, found.get("contenders", {}))


def state(entry: Entry | None) -> str:
    """What stands in place of a time that is not there."""
    if entry is None:
        return "not run"
    if "absent" in entry:
        said = str(entry["absent"])
        short = said.partition(";")[0]
        return short if said.startswith(("no answer", "not ")) else "not available"
    return "FAILED" if "failed" in entry else "not measured"


def cell(row: Row, label: str) -> str:
    """Milliseconds and the multiple of the best expert's time, or why there is none."""
    taken, entry = row.time(label), row.entries.get(label)
    if taken is None or entry is None:
        return state(entry)
    ratio = row.ratio(label, "expert")
    wrong = "" if entry["same"] else " (wrong)"
    times = "" if ratio is None else f" ({ratio:.2f})"
    return f"{taken * 1e3:.2f}{times}{wrong}"


@dataclass(frozen=True)
class Limit:
    """Something that must hold: its words, what was found, whether that is enough."""

    what: str
    found: str
    verdict: str


def _means(
    over: list[Row], label: str, base: str, limit: float, what: str
) -> Iterator[Limit]:
    """A geometric mean of ratios, for each number of threads."""
    for threads in sorted({row.threads for row in over}):
        mine = [row for row in over if row.threads == threads]
        found = [r for row in mine if (r := row.ratio(label, base)) is not None]
        name = f"{what}, geometric mean, {threads} thr"
        if not found:
            yield Limit(f"{name} ≤ {limit}", "", "not measured")
            continue
        mean = geometric_mean(found)
        of = f"{mean:.3f} over {len(found)} of {len(mine)}"
        yield Limit(f"{name} ≤ {limit}", of, "ok" if mean <= limit else "MISSED")


def _each(
    over: list[Row],
    value: Callable[[Row], float | None],
    limit: Callable[[Row], float],
    what: str,
) -> Limit:
    """A limit that holds for each application; the worst is told, and all misses."""
    found = {
        (r.case, r.threads): (v, limit(r)) for r in over if (v := value(r)) is not None
    }
    if not found:
        return Limit(what, "", "not measured")
    worst = max(found, key=lambda at: found[at][0] / found[at][1])
    missed = [f"{n} {t} thr {v:.2f}" for (n, t), (v, most) in found.items() if v > most]
    text = f"largest {found[worst][0]:.2f} ({worst[0]}, {worst[1]} thr)"
    text += f" of {len(found)}/{len(over)}"
    return Limit(what, text, f"MISSED: {', '.join(missed)}" if missed else "ok")


def _seconds(label: str) -> Callable[[Row], float | None]:
    """To schedule, by one scheduler."""

    def value(row: Row) -> float | None:
        taken = row.entries.get(label, {}).get("schedule")
        return None if taken is None else float(taken)

    return value


def _over(label: str, base: str) -> Callable[[Row], float | None]:
    """The ratio of two contenders' times."""
    return lambda row: row.ratio(label, base)


def _always(limit: float) -> Callable[[Row], float]:
    """One limit for all applications."""
    return lambda row: limit


def limits(results: Entry, order: list[str]) -> list[Limit]:
    """What must hold, and whether it does."""
    every = list(rows(results, order))
    found = [
        *_means(every, PAPERS, HALIDES, 1.0, "our Mullapudi2016 over Halide's"),
        *_means(every, DEFAULT, HALIDES, 0.45, "Parhelion over Halide's Mullapudi2016"),
        *_means(every, DEFAULT, ADAMS, 0.9, "Parhelion over Adams2019"),
    ]
    each = {
        "Parhelion over Adams2019, each": (ADAMS, 0.9),
        "Parhelion over the better expert, each": ("expert", 1.25),
    }
    for what, (base, limit) in each.items():
        value, most = _over(DEFAULT, base), _always(limit)
        found.append(_each(every, value, most, f"{what} ≤ {limit}"))
    for name, aims in RIVALS.items():
        mine = [row for row in every if row.case == name]
        for rival, aim in aims.items():
            value, most = _over(DEFAULT, rival), _always(aim)
            what = f"Parhelion over {rival}, {name} ≤ {aim} (aim)"
            found.append(_each(mine, value, most, what))
    for label in (PAPERS, DEFAULT):
        what = f"seconds to schedule, {label} (≤ 2; lens blur and VGG 10)"
        found.append(_each(every, _seconds(label), _schedule_limit, what))
    for label in (PAPERS, DEFAULT):
        value, most = _over(f"{label} pinned", label), _always(PINNED_LIMIT)
        what = f"kept schedule over the scheduler's own, {label} ≤ {PINNED_LIMIT}"
        if any(value(row) is not None for row in every):
            found.append(_each(every, value, most, what))
    return found


def _schedule_limit(row: Row) -> float:
    return LARGE.get(row.case, SCHEDULE_LIMIT)


def means(results: Entry, order: list[str]) -> dict[str, list[tuple[str, float, int]]]:
    """Of each scheduler: threads, the geometric mean of its multiples of the best
    expert's time, and of how many applications."""
    every = list(rows(results, order))
    found: dict[str, list[tuple[str, float, int]]] = {}
    for label in SCHEDULERS:
        for threads in sorted({row.threads for row in every}):
            ratios = [
                r
                for row in every
                if row.threads == threads
                and (r := row.ratio(label, "expert")) is not None
            ]
            if ratios:
                mean = geometric_mean(ratios)
                found.setdefault(label, []).append((threads, mean, len(ratios)))
    return found


def notes(results: Entry, order: list[str]) -> Iterator[str]:
    """Failures, results that differ from the experts', and times that are not sure, a
    line each."""
    for row in rows(results, order):
        for label, entry in row.entries.items():
            at = f"{row.case}, {row.threads} thr, {label}"
            if "padded" in entry:
                yield (
                    f"{at}: reads beyond its input; measured on one that is larger by"
                    f" {entry['padded']} pixels on every side"
                )
            if "failed" in entry:
                yield f"{at}: failed: {entry['failed']}"
            elif entry.get("spread", 0.0) > STEADY and (
                label in SCHEDULERS or label == (row.best_expert or ("",))[0]
            ):
                yield (
                    f"{at}: the second least time is {entry['spread']:.0%} above the"
                    " least"
                )
            said = str(entry.get("absent", ""))
            if ";" in said:
                yield f"{at}: {said}"
            if "min" in entry and not entry["same"]:
                yield (
                    f"{at}: differs from the first expert's result by"
                    f" {entry['difference']:.2e}, in {entry['differing']:.2%} of values"
                )
    for name in order:
        for threads, found in results["cases"].get(name, {}).get("threads", {}).items():
            if "failed" in found:
                yield f"{name}, {threads} thr: not measured: {found['failed']}"
            elif (share := found.get("others") or 0.0) > CALM:
                yield (
                    f"{name}, {threads} thr: other processes used {share:.0%} of the"
                    " computer meanwhile"
                )


def wrong(results: Entry, order: list[str]) -> bool:
    """Whether something of ours failed or computed something else, or a case was not
    measured. Halide's own are noted only."""
    for row in rows(results, order):
        for label, entry in row.entries.items():
            bad = "failed" in entry or not entry.get("same", True)
            if bad and label.startswith("parhelion"):
                return True
    every = (results["cases"].get(name, {}).get("threads", {}) for name in order)
    return any("failed" in found for case in every for found in case.values())


#: The columns of the tables of times, times to schedule and predictions.
HEAD = ["application", "threads", "best expert", *SCHEDULERS]


def time_cells(row: Row) -> list[str]:
    """Times: the best expert's, then the schedulers'."""
    best = row.best_expert
    expert = "" if best is None else f"{best[1] * 1e3:.2f} {best[0]}"
    return [row.case, row.threads, expert, *(cell(row, n) for n in SCHEDULERS)]


#: The columns of what is known of each scheduler's work besides the run time.
WORK_HEAD = [
    "application",
    "threads",
    *(
        f"{label}, {what}"
        for label in SCHEDULERS
        for what in ("schedule s", "compile s")
    ),
]


def work_cells(row: Row) -> list[str]:
    """Seconds to schedule and to compile."""
    cells = [row.case, row.threads]
    for label in SCHEDULERS:
        entry = row.entries.get(label, {})
        scheduled = entry.get("search", entry.get("schedule"))
        for seconds in (scheduled, entry.get("compile")):
            cells.append("" if seconds is None else f"{seconds:.2f}")
    return cells


#: The columns of `rivals`.
RIVAL_HEAD = [
    *("application", "threads", "rival", "ms"),
    *("best expert over it", PAPERS, DEFAULT),
]


def rivals(results: Entry, order: list[str]) -> Iterator[list[str]]:
    """Of each rival that ran: its time, and the multiples of it that the best expert
    and our schedulers take."""
    for row in rows(results, order):
        for rival in RIVALS.get(row.case, {}):
            taken, best = row.time(rival), row.best_expert
            if taken is None:
                continue
            over = [best[1] / taken if best else None]
            over += [row.ratio(label, rival) for label in (PAPERS, DEFAULT)]
            cells = ["" if ratio is None else f"{ratio:.2f}" for ratio in over]
            yield [row.case, row.threads, rival, f"{taken * 1e3:.2f}", *cells]


#: The columns of `pinned`.
PINNED_HEAD = ["application", "threads", "scheduler", "its own ms", "the file's ms"]
PINNED_HEAD += ["ratio", "same schedule"]


def pinned(results: Entry, order: list[str]) -> Iterator[tuple[str, ...]]:
    """Of each schedule that was run from its file as well: application, threads,
    scheduler, its time and the file's in milliseconds, the second over the first, and
    whether the scheduler still finds what was kept."""
    for row in rows(results, order):
        for label in (PAPERS, DEFAULT):
            file = f"{label} pinned"
            ratio = row.ratio(file, label)
            if ratio is not None:
                times = [f"{(row.time(n) or 0.0) * 1e3:.2f}" for n in (label, file)]
                entry = row.entries[label]
                same = "yes" if entry.get("as_kept") else "no"
                yield row.case, row.threads, label, *times, f"{ratio:.3f}", same
