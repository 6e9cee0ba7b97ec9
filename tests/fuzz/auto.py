"""Runs an automatic scheduler on random pipelines, compared with the interpreter.

    python -m tests.fuzz.auto --cases 500 --seed 1 --jobs 2 --scheduler Mullapudi2016

Each pipeline of `tests.fuzz.draw` is scheduled without its own directives, for the size
that the case asks for, compiled, run at that size and at others, and compared. Images
are just as large as simpler schedules need them, and outputs as large as is asked for.
With --partial one or two Funcs have a schedule of their own before, which must stay.
Of Funcs of every second case it is said how much of them is read (`set_coverage`).
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib.util
import json
import os
import random
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

import parhelion as hl
from parhelion.ir.expr import FuncCall
from parhelion.ir.rewrite import nodes
from parhelion.schedule.order import realization_order
from parhelion.schedule.rules import ScheduleWarning
from tests.fuzz.build import Program, buffer_of, build, set_plain_images
from tests.fuzz.case import Case
from tests.fuzz.draw import draw
from tests.fuzz.execute import Array, compare, compiled, destinations, interpreted
from tests.fuzz.partial import Refused, changed, give_some, legal_alone, states
from tests.fuzz.process import NoAnswer, Process
from tests.fuzz.run import seeds
from tests.fuzz.storage import BROKEN_PROMISES
from tests.support.machines import PROCESSORS, scheduling_for

#: No pipeline may take longer: seconds to schedule, and of the processor for all.
LIMIT = 30.0
LIMIT_ALL = 60.0
#: In a process of its own: seconds, however busy the computer is.
HANGS = 600.0

#: Failures beside directives of others that no choice of a scheduler brings about: an
#: output's own loops, and promises that are not kept.
NOT_THE_SCHEDULER = (*BROKEN_PROMISES, "writes outside of any buffer")

#: For each input without a boundary condition, the box that is needed of it.
Boxes = dict[int, list[tuple[int, int]]]


@dataclass(frozen=True)
class Outcome:
    """schedule: seconds to schedule. total, wall: seconds of the processor, and
    altogether, for scheduling, compiling, running and comparing. directives: how many
    there were. failure: what went wrong; empty if nothing did. notes: what the
    scheduler had to say. kept: how many directives were there before. refused: whether
    they were wrong themselves."""

    schedule: float = 0.0
    total: float = 0.0
    wall: float = 0.0
    directives: Counter[str] = field(default_factory=Counter)
    failure: str = ""
    notes: tuple[str, ...] = ()
    kept: int = 0
    refused: bool = False

    def to_json(self) -> str:
        """In one line."""
        return json.dumps({f.name: getattr(self, f.name) for f in fields(self)})

    @staticmethod
    def of_json(text: str) -> Outcome:
        """What `to_json` was called for."""
        found = json.loads(text)
        found["directives"] = Counter(found["directives"])
        found["notes"] = tuple(found["notes"])
        return Outcome(**found)


def run_auto(
    case: Case,
    scheduler: str,
    partial: random.Random | None = None,
    said: random.Random | None = None,
    target: hl.Target | None = None,
) -> Outcome:
    """Schedules, compiles, runs and compares one case. partial: draws what of the
    case's own schedule is there before. said: draws what is said of how much of Funcs
    is read, true or not. target: what the schedule is for, by default this computer."""
    cpu, wall = time.process_time(), time.monotonic()
    found = _run_auto(case, scheduler, partial, said, target)
    cpu, wall = time.process_time() - cpu, time.monotonic() - wall
    if not (found.failure or found.refused):
        if found.schedule > LIMIT or cpu > LIMIT_ALL:
            late = f"it took {found.schedule:.0f} s to schedule and {cpu:.0f} s in all"
            found = replace(found, failure=late)
    return replace(found, total=cpu, wall=wall)


def _run_auto(
    case: Case,
    scheduler: str,
    partial: random.Random | None,
    said: random.Random | None,
    target: hl.Target | None,
) -> Outcome:
    own = given = replace(case, schedule=())
    found = Outcome()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ScheduleWarning)
            sizes = [own, shrunk(own), odd(own)]
            needed = needs(sizes) if partial is None else []
            program = build(own)
            if partial is not None:
                found = replace(found, kept=give_some(program, case, partial))
                given = program.case
            outputs = program.outputs()
            if said is not None:
                estimate(outputs, said)
            before = states(program)
            began = time.monotonic()
            with np.errstate(all="warn"):
                result = hl.autoschedule(
                    outputs,
                    sizes=list(case.extents),
                    scheduler=scheduler,
                    target=target,
                )
            found = replace(
                found,
                schedule=time.monotonic() - began,
                directives=Counter(call.method for call in result.script.calls),
                notes=tuple(result.notes),
            )
            failure = changed(before) or last_resort(result, partial is not None)
            # One, so that all sizes share what is compiled.
            pipeline = hl.Pipeline(outputs)
            for k, sized in enumerate(sizes):
                program.case = sized
                if partial is None:
                    got = exactly(program, pipeline, needed[k])
                else:
                    got = compiled(program, pipeline)
                failure = failure or compare(got, interpreted(program))
    except Refused as error:
        return replace(found, refused=True, notes=(str(error),))
    except Exception as error:  # whatever it is, no scheduler should cause it
        failure = f"{type(error).__name__}: {error}"
        told = any(one in str(error) for one in NOT_THE_SCHEDULER)
        illegal = isinstance(error, hl.ScheduleError) and not legal_alone(given)
        if partial is not None and (told or illegal):
            return replace(found, refused=True, notes=(failure,))
    return replace(found, failure=failure)


def estimate(outputs: Sequence[hl.Func], choices: random.Random) -> None:
    """Says of some Funcs how much of them is read."""
    for f in realization_order([f._function for f in outputs]):
        if choices.random() < 0.5 or not f.dimensions:
            continue
        count = choices.randint(0, f.dimensions)
        patch = [choices.choice((1, 4, 30, None)) for _ in range(count)]
        fraction = choices.choice((0.001, 0.02, 0.1, 0.4, 1))
        hl.Func._of(f).set_coverage(fraction, patch or None)


def last_resort(result: hl.AutoSchedulerResults, partial: bool) -> str:
    """The note that a scheduler came to nothing, which would hide what went wrong. Only
    beside directives of others there may be no way, but for failures of ours."""
    for note in result.notes:
        refused = "the search came to no legal schedule" in note
        if (refused and not partial) or "internal error" in note:
            return note
    return ""


def shrunk(case: Case) -> Case:
    """The same pipeline for outputs of a few points: less than a tile, or a vector."""
    return replace(case, extents=tuple([max(1, n // 7) for n in case.extents]))


def odd(case: Case) -> Case:
    """The same pipeline for smaller outputs, of odd extents, somewhere else."""
    return replace(
        case,
        extents=tuple([max(1, n // 3 | 1) for n in case.extents]),
        mins=tuple([m + 2 * d - 1 for d, m in enumerate(case.mins)]),
    )


# Images.


def needs(
    sizes: Sequence[Case], given: Sequence[Sequence[Any]] | None = None
) -> list[Boxes]:
    """What simpler schedules need, at each size, of the inputs without a boundary
    condition: that with everything inlined, and that with everything at the root.
    given: Buffers for the outputs, unless they are as large as the case says."""
    found: list[Boxes] = [{} for _ in sizes]
    case = sizes[0]
    plain = [k for k, one in enumerate(case.inputs) if one.boundary % 6 == 0]
    for root in (False, True) if plain else ():
        program, pipeline = simple(case, foreign_only=not root)
        for n, (sized, boxes) in enumerate(zip(sizes, found, strict=True)):
            program.case = sized
            outputs = destinations(program) if given is None else given[n]
            set_plain_images(program, pipeline, outputs)
            for k in plain:
                _join(boxes, k, program.images[k])
    return found


def _join(boxes: Boxes, k: int, image: Any) -> None:
    """Lets the box of input `k` hold an image too."""
    try:
        given = image.get()
    except hl.HalideError:
        return  # nothing reads it
    if not given.defined():
        return
    dims = [given.dim(d) for d in range(given.dimensions())]
    box = [(d.min(), d.min() + d.extent() - 1) for d in dims]
    old = boxes.get(k, box)
    boxes[k] = [
        (min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(old, box, strict=True)
    ]


def exactly(program: Program, pipeline: hl.Pipeline, needed: Boxes) -> list[Array]:
    """The outputs, computed into buffers of just their size, from such images."""
    _set_images(program, needed)
    buffers = destinations(program)
    try:
        pipeline.realize(buffers)
    except hl.BoundsError as error:
        if "output" not in str(error) or not writes_more(program.case):
            raise
        buffers = enough(program, pipeline)
        # More of the outputs may need more of the images, however it is computed.
        _set_images(program, needs([program.case], [buffers])[0])
        pipeline.realize(buffers)
    return [cropped(b, program.case) for b in buffers]


def _set_images(program: Program, boxes: Boxes) -> None:
    for k, box in boxes.items():
        image = program.images[k]
        assert isinstance(image, hl.ImageParam)
        mins, extents = [lo for lo, _ in box], [hi - lo + 1 for lo, hi in box]
        image.set(buffer_of(program.case.inputs[k], mins, extents, k))


def simple(case: Case, foreign_only: bool = False) -> tuple[Program, hl.Pipeline]:
    """The pipeline with everything at the root; or only foreign stages, and what they
    read, which has to be in memory."""
    program = build(case)
    pipeline = hl.Pipeline(program.outputs())
    functions = [f._function for f in program.outputs()]
    order = list(realization_order(functions))
    stored = {g for g in order if not foreign_only or g.extern is not None}
    for g in order:
        if g.extern is not None and g.pure is not None:
            read = [n for e in g.pure.values for n in nodes(e)]
            stored |= {n.func for n in read if isinstance(n, FuncCall)}
    for k, g in enumerate(order):
        if g in stored and g not in functions:
            pipeline.get_func(k).compute_root()
    return program, pipeline


def writes_more(case: Case) -> bool:
    """Whether it is the algorithm that writes more of an output than is asked for:
    an update does so, or another output reads more of it."""
    program, pipeline = simple(case)
    set_plain_images(program, pipeline, destinations(program))
    region = list(zip(case.mins, case.extents, strict=False))
    for b in enough(program, pipeline):
        dims = [b.dim(d) for d in range(b.dimensions())]
        if [(d.min(), d.extent()) for d in dims] != region:
            return True
    return False


def enough(program: Program, pipeline: hl.Pipeline) -> list[Any]:
    """Buffers for what the case asks for, as large as the compiler says."""
    case = program.case
    runner = pipeline._ready()
    region = list(zip(case.mins, case.extents, strict=False))
    boxes = [region for _ in runner.targets]
    return runner.allocate(boxes, runner.variant(runner.inputs()))


def cropped(buffer: Any, case: Case) -> Array:
    """What the case asks for of a buffer, axes in dimension order."""
    inside = [
        slice(low - buffer.dim(d).min(), low - buffer.dim(d).min() + extent)
        for d, (low, extent) in enumerate(zip(case.mins, case.extents, strict=False))
    ]
    return np.asarray(buffer).transpose()[tuple(inside)]


# Many.


@dataclass
class Summary:
    """What became of the cases of a run."""

    count: int = 0
    directives: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    #: By note: the first seed that had it.
    noted: dict[str, int] = field(default_factory=dict)
    #: By seed: seconds of the processor, in all, and to schedule.
    times: dict[int, tuple[float, float, float]] = field(default_factory=dict)
    kept: int = 0
    refused: int = 0

    def add(self, seed: int, found: Outcome) -> None:
        if found.refused:
            self.refused += 1
            return
        self.count += 1
        self.kept += found.kept
        self.directives += found.directives
        self.notes.update(found.notes)
        for note in found.notes:
            self.noted.setdefault(note, seed)
        self.times[seed] = (found.total, found.wall, found.schedule)
        if found.failure:
            self.failures.append((seed, found.failure))

    def line(self) -> str:
        """In few words, while it goes on."""
        return f"{self.count} pipelines, {len(self.failures)} failures"

    def text(self) -> str:
        lines = [f"{self.line()}, {sum(self.notes.values())} notes"]
        if self.kept or self.refused:
            lines.append(
                f"{self.kept} directives were there before; {self.refused} more"
                " pipelines had illegal ones"
            )
        lines += self.slowest()
        lines += [f"{name:16}{n:8}" for name, n in self.directives.most_common()]
        lines += [
            f"note, {n} times, first of seed {self.noted[text]}: {text}"
            for text, n in self.notes.most_common(8)
        ]
        return "\n".join(lines)

    def slowest(self, most: int = 5) -> list[str]:
        """A table of the cases that took longest, all in all and to schedule."""
        if not self.times:
            return []
        columns = list(zip(*self.times.values(), strict=True))
        sums = [f"{sum(column):10.1f}" for column in columns]
        shown = sorted(self.times, key=lambda s: -self.times[s][0])[:most]
        shown += sorted(self.times, key=lambda s: -self.times[s][2])[:2]
        return [
            f"{'seconds':20}{'processor':>10}{'in all':>10}{'schedule':>10}",
            f"{'sum':20}{''.join(sums)}",
            *(
                f"seed {seed:<15}" + "".join([f"{t:10.2f}" for t in self.times[seed]])
                for seed in dict.fromkeys(shown)
            ),
        ]


def run_seed(seed: int, scheduler: str, partial: bool) -> Outcome:
    """`run_auto` on the case of a seed, scheduled for one of several processors."""
    rng = random.Random(seed)
    case = draw(rng)
    # Every second one, by numbers of their own, so that cases stay what they were.
    said = random.Random(f"said of {seed}") if seed % 2 else None
    with scheduling_for(sorted(PROCESSORS)[seed % len(PROCESSORS)]):
        return run_auto(case, scheduler, rng if partial else None, said)


def fuzz(
    cases: int,
    seed: int,
    scheduler: str,
    jobs: int = 0,
    *,
    partial: bool = False,
    told: Callable[[Summary, int, Outcome], None] | None = None,
) -> Summary:
    """Runs so many cases. jobs: in so many processes of their own, whose deaths are
    failures; 0 for none but this one. partial: with directives of their own. told: is
    called after each case."""
    summary = Summary()
    numbers: Iterator[int] = seeds(seed)
    lock = threading.Lock()
    started = 0

    def work(run: Callable[[int], Outcome]) -> None:
        nonlocal started
        while True:
            with lock:
                if started - summary.refused >= cases:
                    return
                started += 1
                number = next(numbers)
            found = run(number)
            with lock:
                summary.add(number, found)
                if told is not None:
                    told(summary, number, found)

    def work_apart() -> None:
        with Process("tests.fuzz.auto", *arguments) as process:
            work(lambda number: _asked(process, number))

    arguments = ["--answer", "--scheduler", scheduler, *["--partial"] * partial]
    if not jobs:
        work(lambda number: run_seed(number, scheduler, partial))
    threads = [threading.Thread(target=work_apart) for _ in range(jobs)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return summary


def _asked(process: Process, seed: int) -> Outcome:
    try:
        return Outcome.of_json(process.ask(str(seed), HANGS))
    except NoAnswer as error:
        return Outcome(failure=str(error))


def answer(scheduler: str, partial: bool) -> None:
    """Reads seeds, a line each, and writes what became of their cases."""
    faulthandler.enable()
    # What the compiler or a library prints must not get into the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        print(run_seed(int(line), scheduler, partial).to_json(), file=answers)
        answers.flush()


class Progress:
    """A bar on a terminal that has tqdm; else a line every now and then. Failures are
    told at once."""

    def __init__(self, cases: int, every: float = 20.0) -> None:
        self.cases, self.every = cases, every
        self.began = self.last = time.monotonic()
        self.bar: Any = None
        if sys.stderr.isatty() and importlib.util.find_spec("tqdm"):
            self.bar = importlib.import_module("tqdm").tqdm(total=cases, unit="case")

    def __call__(self, summary: Summary, seed: int, found: Outcome) -> None:
        if found.failure:
            first = found.failure.strip().splitlines()[0]
            self.write(f"seed {seed}: {first}")
        if self.bar is not None:
            self.bar.update(0 if found.refused else 1)
            return
        now = time.monotonic()
        if now - self.last >= self.every:
            self.last = now
            self.write(f"{now - self.began:.0f} s: {summary.line()} of {self.cases}")

    def write(self, line: str) -> None:
        if self.bar is not None:
            self.bar.write(line)
        else:
            print(line, flush=True)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="how many processes")
    parser.add_argument("--scheduler", default="Parhelion")
    parser.add_argument(
        "--partial", action="store_true", help="with directives on one or two Funcs"
    )
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.answer:
        answer(options.scheduler, options.partial)
        return 0
    start = time.monotonic()
    progress = Progress(options.cases)
    summary = fuzz(
        options.cases,
        options.seed,
        options.scheduler,
        max(1, options.jobs),
        partial=options.partial,
        told=progress,
    )
    progress.close()
    print(f"{options.scheduler}: {summary.text()}")
    print(f"{time.monotonic() - start:.0f} s")
    return 1 if summary.failures else 0


if __name__ == "__main__":
    sys.exit(main())
