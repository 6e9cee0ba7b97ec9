"""Runs an automatic scheduler on random pipelines, compared with the interpreter.

    python -m tests.fuzz.auto --cases 500 --seed 1 --scheduler Mullapudi2016

Each pipeline of `tests.fuzz.draw` is scheduled without its own directives, for the size
that the case asks for, compiled, run at that size and at others, and compared. Images
are just as large as simpler schedules need them, and outputs as large as is asked for.
With --partial one or two Funcs have a schedule of their own before, which must stay.
"""

from __future__ import annotations

import argparse
import random
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import parhelion as hl
from parhelion.schedule.legality import check_pipeline
from parhelion.schedule.rules import ScheduleWarning
from parhelion.schedule.sites import realization_order
from tests.fuzz.apply import Scheduler
from tests.fuzz.build import Program, buffer_of, build, set_plain_images
from tests.fuzz.case import Case
from tests.fuzz.draw import draw, used
from tests.fuzz.execute import Array, compare, compiled, destinations, interpreted
from tests.fuzz.run import seeds
from tests.fuzz.storage import BROKEN_PROMISES

#: No pipeline may take longer: seconds to schedule, and of the processor for all.
LIMIT = 30.0
LIMIT_ALL = 120.0

#: For each input without a boundary condition, the box that is needed of it.
Boxes = dict[int, list[tuple[int, int]]]


@dataclass(frozen=True)
class Outcome:
    """seconds: to schedule, and of the processor for all. directives: how many there
    were. failure: what went wrong; empty if nothing did. notes: what the scheduler had
    to say. kept: how many directives were there before. refused: whether they were
    wrong themselves."""

    schedule: float
    total: float
    directives: Counter[str]
    failure: str = ""
    notes: tuple[str, ...] = ()
    kept: int = 0
    refused: bool = False


def run_auto(
    case: Case, scheduler: str, partial: random.Random | None = None
) -> Outcome:
    """Schedules, compiles, runs and compares one case. partial: draws what of the
    case's own schedule is there before."""
    start = time.process_time()
    own = replace(case, schedule=())
    took, made = 0.0, Counter[str]()
    notes: tuple[str, ...] = ()
    kept = 0
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ScheduleWarning)
            sizes = [own, shrunk(own), odd(own)]
            needed = [needs(one) for one in sizes] if partial is None else []
            program = build(own)
            if partial is not None:
                kept = give_some(program, case, partial)
            before = states(program)
            outputs = program.outputs()
            began = time.monotonic()
            result = hl.autoschedule(
                outputs, sizes=list(case.extents), scheduler=scheduler
            )
            took = time.monotonic() - began
            made.update(call.method for call in result.script.calls)
            notes = tuple(result.notes)
            failure = changed(before)
            for k, sized in enumerate(sizes):
                program.case = sized
                if partial is None:
                    got = exactly(program, needed[k])
                else:
                    got = compiled(program)
                failure = failure or compare(got, interpreted(program))
    except Refused as error:
        cpu = time.process_time() - start
        return Outcome(took, cpu, made, kept=kept, refused=True, notes=(str(error),))
    except Exception as error:  # whatever it is, no scheduler should cause it
        failure = f"{type(error).__name__}: {error}"
        if partial is not None and any(one in str(error) for one in BROKEN_PROMISES):
            failure = ""
    total = time.process_time() - start
    if not failure and (took > LIMIT or total > LIMIT_ALL):
        failure = f"it took {took:.0f} s to schedule and {total:.0f} s in all"
    return Outcome(took, total, made, failure, notes, kept)


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


def needs(case: Case) -> Boxes:
    """What simpler schedules need of the inputs without a boundary condition: that
    with everything inlined, and that with everything at the root."""
    plain = [k for k, one in enumerate(case.inputs) if one.boundary % 6 == 0]
    found: Boxes = {}
    for root in (False, True) if plain else ():
        if root:
            program, pipeline = simple(case)
        elif any(s.op == "foreign" for s in case.stages):
            continue  # which needs its inputs in memory
        else:
            program = build(case)
            pipeline = hl.Pipeline(program.outputs())
        set_plain_images(program, pipeline, destinations(program))
        for k in plain:
            image = program.images[k]
            assert isinstance(image, hl.ImageParam)
            try:
                given = image.get()
            except hl.HalideError:
                continue  # nothing reads it
            if not given.defined():
                continue
            dims = [given.dim(d) for d in range(given.dimensions())]
            box = [(d.min(), d.min() + d.extent() - 1) for d in dims]
            old = found.get(k, box)
            found[k] = [
                (min(a[0], b[0]), max(a[1], b[1]))
                for a, b in zip(old, box, strict=True)
            ]
    return found


def exactly(program: Program, needed: Boxes) -> list[Array]:
    """The outputs, computed into buffers of just their size, from such images."""
    for k, box in needed.items():
        image = program.images[k]
        assert isinstance(image, hl.ImageParam)
        mins, extents = [lo for lo, _ in box], [hi - lo + 1 for lo, hi in box]
        image.set(buffer_of(program.case.inputs[k], mins, extents, k))
    pipeline = hl.Pipeline(program.outputs())
    buffers = destinations(program)
    try:
        pipeline.realize(buffers)
    except hl.BoundsError as error:
        if "output" not in str(error) or not writes_more(program.case):
            raise
        buffers = enough(program, pipeline)
        pipeline.realize(buffers)
    return [cropped(b, program.case) for b in buffers]


def simple(case: Case) -> tuple[Program, hl.Pipeline]:
    """The pipeline with everything at the root."""
    program = build(case)
    pipeline = hl.Pipeline(program.outputs())
    functions = [f._function for f in program.outputs()]
    for k, g in enumerate(realization_order(functions)):
        if g not in functions:
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


# Partial schedules.


class Refused(Exception):
    """The schedule that is there before is no legal one."""


#: Directives that promise something about sizes, which others do not keep.
_PROMISES = {"bound", "bound_storage", "fold_storage"}


def give_some(program: Program, case: Case, rng: random.Random) -> int:
    """Gives one or two Funcs the directives that the case has for them. Returns how
    many."""
    alive = sorted(used(case))
    chosen = set(rng.sample(alive, min(len(alive), rng.choice((1, 1, 2)))))
    some = [d for d in case.schedule if d.stage in chosen and d.name not in _PROMISES]
    program.case = replace(case, schedule=tuple(some))
    scheduler = Scheduler(program)
    try:
        scheduler.run()
        check_pipeline([f._function for f in program.outputs()])
    except hl.ScheduleError as error:
        raise Refused(str(error).split("\n")[0]) from error
    return sum(scheduler.accepted.values())


def states(program: Program) -> list[tuple[Any, ...]]:
    """What the Funcs have been given: places, and loops where there are directives."""
    found: list[tuple[Any, ...]] = []
    functions = [f._function for f in program.outputs()]
    for f in realization_order(functions):
        s = f.schedule
        if s.compute.site is not None:
            found.append((f, None, s.compute, s.store, s.hoist))
        for k, d in enumerate(f.stages()):
            if d.schedule.touched:
                loops = list(d.schedule.dims)
                found.append((f, k, list(d.schedule.transforms), loops))
    return found


def changed(before: Sequence[tuple[Any, ...]]) -> str:
    """What of the directives that were there before is not there any more."""
    for f, k, *was in before:
        if k is None:
            now = [f.schedule.compute, f.schedule.store, f.schedule.hoist]
        else:
            schedule = f.stages()[k].schedule
            now = [schedule.transforms, schedule.dims]
        if now != was:
            what = "the place" if k is None else f"definition {k}"
            return f"{what} of {f.name} is not as it was: {now}, not {was}"
    return ""


# Many.


@dataclass
class Summary:
    """What became of the cases of a run."""

    count: int = 0
    directives: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    slowest: tuple[float, int] = (0.0, 0)
    slowest_schedule: tuple[float, int] = (0.0, 0)
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
        self.slowest = max(self.slowest, (found.total, seed))
        self.slowest_schedule = max(self.slowest_schedule, (found.schedule, seed))
        if found.failure:
            self.failures.append((seed, found.failure))

    def text(self) -> str:
        lines = [
            f"{self.count} pipelines, {len(self.failures)} failures,"
            f" {sum(self.notes.values())} notes"
        ]
        if self.kept or self.refused:
            lines.append(
                f"{self.kept} directives were there before; {self.refused} more"
                " pipelines had illegal ones"
            )
        for what, (seconds, seed) in (
            ("slowest, all in all, by processor time", self.slowest),
            ("slowest to schedule", self.slowest_schedule),
        ):
            lines.append(f"{what}: {seconds:.2f} s (seed {seed})")
        lines += [f"{name:16}{n:8}" for name, n in self.directives.most_common()]
        lines += [f"note, {n} times: {text}" for text, n in self.notes.most_common(8)]
        return "\n".join(lines)


def fuzz(
    cases: int,
    seed: int,
    scheduler: str,
    jobs: int = 1,
    *,
    partial: bool = False,
    failed: Callable[[int, str], None] | None = None,
) -> Summary:
    """Runs so many cases. partial: with directives of their own. failed: is told of
    each failure at once."""
    summary = Summary()
    numbers: Iterator[int] = seeds(seed)
    lock = threading.Lock()
    started = 0

    def work() -> None:
        nonlocal started
        while True:
            with lock:
                if started - summary.refused >= cases:
                    return
                started += 1
                number = next(numbers)
            rng = random.Random(number)
            case = draw(rng)
            found = run_auto(case, scheduler, rng if partial else None)
            with lock:
                summary.add(number, found)
                if found.failure and failed is not None:
                    failed(number, found.failure)

    threads = [threading.Thread(target=work) for _ in range(jobs)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return summary


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scheduler", default="Parhelion")
    parser.add_argument(
        "--partial", action="store_true", help="with directives on one or two Funcs"
    )
    options = parser.parse_args()

    def failed(seed: int, message: str) -> None:
        print(f"seed {seed}: {message.strip().splitlines()[0]}", flush=True)

    start = time.monotonic()
    summary = fuzz(
        options.cases,
        options.seed,
        options.scheduler,
        partial=options.partial,
        failed=failed,
    )
    print(f"{options.scheduler}: {summary.text()}")
    print(f"{time.monotonic() - start:.0f} s")
    return 1 if summary.failures else 0


if __name__ == "__main__":
    sys.exit(main())
