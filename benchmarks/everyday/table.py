"""What the everyday pipelines found: ratios, limits, rows of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.auto.load import CALM
from benchmarks.auto.table import Limit, Row, state
from benchmarks.everyday.contenders import BASELINES, HALIDES, OURS
from benchmarks.everyday.pipeline import GROUPS
from benchmarks.everyday.pipelines import all_pipelines
from benchmarks.report import geometric_mean

#: What must hold: the geometric mean over Halide's Mullapudi2016 on the last group; and
#: for each pipeline, the multiple of each baseline's time, seconds to schedule and to
#: compile, and by how much a chance that should not matter changes the time.
MEAN, EACH, SCHEDULE, COMPILE, STABLE = 0.42, 1.05, 2.0, 1.5, 1.05

#: By what is counted for each pipeline: its words, and the largest that is accepted.
_LARGEST = {
    "over": ("time over the best baseline", EACH),
    "schedule": ("seconds to schedule", SCHEDULE),
    "compile": ("seconds to compile, cold", COMPILE),
    "stability": ("time with other chances over its own", STABLE),
}


@dataclass(frozen=True)
class Found:
    """What is known of one pipeline at one number of threads.

    stability: by the variant of the scheduler, its time over the plain one's; 1 where
    the schedule is the same.
    """

    name: str
    area: str
    row: Row
    stability: Mapping[str, float]
    failed: str = ""
    others: float = 0.0

    def over(self, baseline: str) -> float | None:
        """Our time over a baseline's."""
        return self.row.ratio(OURS.label, BASELINES[baseline].label)

    def number(self, what: str) -> float | None:
        """One of `_LARGEST`."""
        if what == "over":
            ratios = [r for b in BASELINES if (r := self.over(b)) is not None]
            return max(ratios, default=None)
        if what == "stability":
            if not self.stability:
                return None
            return max(max(r, 1 / r) for r in self.stability.values())
        entry = self.row.entries.get(OURS.label, {})
        # Of scheduling, which one thread does, the processor's time is known as well:
        # the clock's where nobody else uses the computer.
        known = [float(entry[k]) for k in (what, f"{what}_cpu") if k in entry]
        return min(known, default=None)


def found(results: Mapping[str, Any], group: str) -> dict[str, list[Found]]:
    """By the number of threads, what is known of the pipelines of a group."""
    made: dict[str, list[Found]] = {}
    for p in all_pipelines():
        threads = results["cases"].get(p.name, {}).get("threads", {})
        if p.group != group:
            continue
        for count, at in threads.items():
            row = Row(p.name, count, at.get("contenders", {}))
            one = Found(
                p.name,
                p.area,
                row,
                at.get("stability", {}),
                at.get("failed", ""),
                at.get("others") or 0.0,
            )
            made.setdefault(count, []).append(one)
    return dict(sorted(made.items()))


#: Beside the name, the area and the number of threads.
HEAD = ["pipeline", "area", "thr", "ms", *BASELINES, "schedule s", "compile s", "other"]


def cells(one: Found) -> list[str]:
    """One row of the table: our time, its multiples of the baselines', the rest."""
    ours = one.row.entries.get(OURS.label)
    taken = one.row.time(OURS.label)
    made = [one.name, one.area, one.row.threads]
    made.append(state(ours) if taken is None else f"{taken * 1e3:.2f}")
    for name, contender in BASELINES.items():
        ratio = one.over(name)
        entry = one.row.entries.get(contender.label)
        wrong = entry is not None and not entry.get("same", True)
        text = _briefly(entry) if ratio is None else f"{ratio:.2f}"
        made.append(f"{text} (wrong)" if wrong else text)
    for what in ("schedule", "compile", "stability"):
        number = one.number(what)
        made.append("" if number is None else f"{number:.2f}")
    return made


def _briefly(entry: Mapping[str, Any] | None) -> str:
    """Why there is no time, in a word or two."""
    return state(entry).removeprefix("no answer: ")


def means(every: Sequence[Found]) -> dict[str, tuple[float, int]]:
    """By baseline, the geometric mean of our times over its own, and of how many."""
    made = {}
    for name in BASELINES:
        ratios = [r for one in every if (r := one.over(name)) is not None]
        if ratios:
            made[name] = geometric_mean(ratios), len(ratios)
    return made


def summary(results: Mapping[str, Any], group: str) -> list[list[str]]:
    """Of a group as a whole, for each number of threads: means, and the largest
    figures, without names."""
    made = []
    for threads, every in found(results, group).items():
        told = means(every)
        row = [group, threads, str(len(every))]
        row += [
            f"{told[b][0]:.3f} ({told[b][1]})" if b in told else "" for b in BASELINES
        ]
        for what, (_, most) in _LARGEST.items():
            numbers = [n for one in every if (n := one.number(what)) is not None]
            beyond = sum(n > most for n in numbers)
            row.append(f"{max(numbers):.2f} ({beyond})" if numbers else "")
        made.append(row)
    return made


#: Of `summary`.
SUMMARY_HEAD = ["group", "thr", "pipelines", *[f"over {b}" for b in BASELINES]]
SUMMARY_HEAD += [f"{words} ≤ {most}" for words, most in _LARGEST.values()]


def limits(results: Mapping[str, Any], group: str, named: bool) -> list[Limit]:
    """What must hold of a group. named: whether the pipelines that miss it are told."""
    made = []
    for threads, every in found(results, group).items():
        mean = next(
            (m for b, m in means(every).items() if BASELINES[b] is HALIDES), None
        )
        what = f"{group}, {threads} thr: geometric mean over {HALIDES.label} ≤ {MEAN}"
        if mean is None:
            made.append(Limit(what, "", "not measured"))
        else:
            verdict = "ok" if mean[0] <= MEAN else "MISSED"
            made.append(Limit(what, f"{mean[0]:.3f} of {mean[1]}", verdict))
        for key, (words, most) in _LARGEST.items():
            numbers = {o.name: n for o in every if (n := o.number(key)) is not None}
            missed = {n: v for n, v in numbers.items() if v > most}
            what = f"{group}, {threads} thr: {words} ≤ {most}, each"
            if not numbers:
                made.append(Limit(what, "", "not measured"))
                continue
            text = f"largest {max(numbers.values()):.2f} of {len(numbers)}"
            told = ", ".join(f"{n} {v:.2f}" for n, v in missed.items())
            verdict = f"MISSED by {len(missed)}" + (f": {told}" if named else "")
            made.append(Limit(what, text, verdict if missed else "ok"))
    return made


def notes(results: Mapping[str, Any], group: str, named: bool) -> list[str]:
    """Failures, results that differ, and times taken on a busy computer."""
    made = []
    for threads, every in found(results, group).items():
        for one in every:
            at = f"{one.name if named else group}, {threads} thr"
            if one.failed:
                made.append(f"{at}: not measured: {one.failed}")
            if one.others > CALM:
                made.append(
                    f"{at}: other processes used {one.others:.0%} of the computer"
                )
            for label, entry in one.row.entries.items():
                if "failed" in entry:
                    made.append(f"{at}, {label}: failed: {entry['failed']}")
                elif "min" in entry and not entry["same"]:
                    made.append(
                        f"{at}, {label}: differs from the first result by"
                        f" {entry['difference']:.2e}, in {entry['differing']:.2%}"
                    )
                if "padded" in entry:
                    made.append(
                        f"{at}, {label}: reads beyond its input; measured on one that"
                        f" is larger by {entry['padded']} pixels on every side"
                    )
    return made


def wrong(results: Mapping[str, Any]) -> bool:
    """Whether something of ours failed or computed something else, or a pipeline was
    not measured. Halide's own are noted only."""
    for group in GROUPS:
        for every in found(results, group).values():
            for one in every:
                for label, entry in one.row.entries.items():
                    bad = "failed" in entry or not entry.get("same", True)
                    if bad and label.startswith("parhelion"):
                        return True
                if one.failed:
                    return True
    return False
