"""Runs one case: the interpreter once, compiled code under the schedule, compared."""

from __future__ import annotations

import enum
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import parhelion as hl
from parhelion.errors import internal_assert
from parhelion.interp import Rounding, interpret_all
from parhelion.schedule.recomputing import RecomputeWarning
from parhelion.schedule.rules import ScheduleWarning
from tests.fuzz import build as making
from tests.fuzz.apply import Scheduler
from tests.fuzz.build import (
    Program,
    build,
    plain_images_within,
    set_plain_images,
)
from tests.fuzz.case import Case
from tests.fuzz.foreign import CALLS, TooManyCalls
from tests.fuzz.numbers import REFUSALS, Params
from tests.fuzz.places import EVICTED
from tests.fuzz.storage import BROKEN_PROMISES

Array = NDArray[Any]


POISON = 0xA5


class Outcome(enum.Enum):
    """What became of a case. All but the first three are failures."""

    CLEAN = "clean"
    REFUSED = "refused"  # as a whole, with a ScheduleError, or by `TooManyCalls`
    TRIVIAL = "trivial"  # no directive was accepted
    MISMATCH = "mismatch"
    ERROR = "error"  # an exception that no schedule should cause
    CRASH = "crash"  # the process died

    @property
    def failed(self) -> bool:
        return self in (Outcome.MISMATCH, Outcome.ERROR, Outcome.CRASH)


@dataclass
class Report:
    """The outcome of one case. `drawn` and `accepted` count directives by name."""

    outcome: Outcome
    message: str = ""
    drawn: Counter[str] = field(default_factory=Counter)
    accepted: Counter[str] = field(default_factory=Counter)


def run_case(case: Case, reference: list[Array] | None = None) -> Report:
    """Builds, schedules, compiles, runs and compares one case.

    reference: the right results, where they are known from the same algorithm.
    """
    CALLS.begin()
    try:
        return _run_case(case, reference)
    except TooManyCalls as error:
        return Report(Outcome.REFUSED, str(error))


def _run_case(case: Case, reference: list[Array] | None) -> Report:
    program = build(case)
    scheduler = Scheduler(program)
    report = Report(Outcome.ERROR, "", scheduler.drawn, scheduler.accepted)
    unlawful: list[Array] | None = None
    try:
        scheduler.run()
        pipeline = hl.Pipeline(program.outputs())
        if scheduler.params.some_unlawful:
            unlawful = refused(program, pipeline, scheduler.params)
            if unlawful is None:
                scheduler.accepted["unlawful numbers"] += 1
        got = compiled(program, pipeline)
    except hl.ScheduleError as error:
        report.outcome, report.message = Outcome.REFUSED, str(error)
        return report
    except hl.BoundsError as error:
        # A promise that is less than what another output or the schedule needs.
        if any(one in str(error) for one in BROKEN_PROMISES):
            report.outcome = Outcome.REFUSED
        report.message = f"BoundsError: {error}"
        return report
    except TooManyCalls:
        raise
    except Exception as error:  # every other exception is what is looked for
        report.message = f"{type(error).__name__}: {error}"
        return report
    try:
        # An input without a boundary covers what this schedule needs, no more and
        # no less: the interpreter must find all that it reads in there.
        plain = any(i.boundary % 6 == 0 for i in case.inputs)
        wanted = interpreted(program) if reference is None or plain else reference
    except hl.BoundsError as error:
        # It computes boxes; a guard that is never true there may spare code the read.
        try:
            wanted, other = [interpreted_around(program, salt) for salt in (101, 202)]
        except hl.BoundsError:
            other = []
        if not other or compare(other, wanted):
            report.message = f"the interpreter reads further than inferred: {error}"
            return report
    difference = compare(got, wanted)
    if unlawful is not None and not difference:
        # What is unlawful has not been used, or counts for nothing.
        difference = compare(unlawful, wanted)
    if not difference:
        difference = with_others(program, pipeline, scheduler.params, wanted)
    if scheduler.accepted["memoize"] and not difference:
        # Once more, with what the cache has kept, and with less of that.
        difference = compare(compiled(program), wanted)
        if scheduler.accepted["memoize (EvictionKey)"] and not difference:
            hl.memoization_cache_evict(EVICTED)
            difference = compare(compiled(program), wanted)
    if difference:
        report.outcome, report.message = Outcome.MISMATCH, difference
    elif scheduler.accepted:
        report.outcome = Outcome.CLEAN
    else:
        report.outcome = Outcome.TRIVIAL
    return report


def refused(
    program: Program, pipeline: hl.Pipeline, params: Params
) -> list[Array] | None:
    """Runs with unlawful numbers in the schedule: None if they are refused, as is
    wanted, else what was computed. The numbers are lawful afterwards."""
    params.unlawful()
    try:
        return compiled(program, pipeline)
    except hl.ScheduleError as error:
        if error.failure not in REFUSALS:
            raise
    finally:
        params.lawful()
    return None


def with_others(
    program: Program, pipeline: hl.Pipeline, params: Params, wanted: list[Array]
) -> str:
    """Runs the same code with other numbers in the schedule: what differs, or was not
    refused, or was for no reason; empty if nothing."""
    for lawful in params.others():
        try:
            difference = compare(compiled(program, pipeline), wanted)
        except hl.ScheduleError as error:
            # A larger factor may round up without an end, which is no fault.
            if lawful and error.failure in REFUSALS:
                return f"with {params.told()}: {error}"
        except hl.BoundsError as error:
            if not any(one in str(error) for one in BROKEN_PROMISES):
                return f"with {params.told()}: {error}"
        else:
            if difference:
                return f"with {params.told()}: {difference}"
    return ""


def destinations(program: Program) -> list[Any]:
    """Output buffers for the region that the case asks for."""
    case = program.case
    made = []
    for func in program.outputs():
        for t in func.types():
            buffer = hl.Buffer(t, list(case.extents))
            array = np.asarray(buffer)
            # NumPy has no type for some, like bfloat16.
            own = hl.Buffer(making.new_array(array.shape, array.dtype))
            if own.type() == t:
                buffer = own
            buffer.set_min(list(case.mins[: len(case.extents)]))
            # What is never written must not look right by chance.
            _bytes(buffer)[...] = POISON
            made.append(buffer)
    return made


def _bytes(buffer: hl.Buffer) -> Array:
    return np.asarray(buffer).view(np.uint8)


def compiled(program: Program, pipeline: hl.Pipeline | None = None) -> list[Array]:
    """The outputs by compiled code, axes in dimension order. pipeline: that of the
    program's outputs, which keeps the code."""
    case = program.case
    pipeline = pipeline or hl.Pipeline(program.outputs())
    buffers = destinations(program)
    set_plain_images(program, pipeline, buffers)
    made: Sequence[Any] = buffers
    try:
        pipeline.realize(buffers)
    except hl.ScheduleError as error:
        if error.failure in REFUSALS:
            early = [b for b in buffers if np.any(_bytes(b) != POISON)]
            internal_assert(not early, "pixels were computed before the refusal")
        raise
    except hl.BoundsError as error:
        # RoundUp writes further than a buffer of just this size.
        if "is too small" not in str(error) or "output" not in str(error):
            raise
        if any(case.mins[: len(case.extents)]):
            return enlarged(program, pipeline)
        where = list(case.extents)
        set_plain_images(program, pipeline, where)
        result = pipeline.realize(where)
        made = result if isinstance(result, tuple) else (result,)
    return [np.asarray(b).transpose() for b in made]


def enlarged(program: Program, pipeline: hl.Pipeline) -> list[Array]:
    """The outputs, computed into buffers of the size that the schedule writes."""
    case = program.case
    runner = pipeline._ready()
    region = list(zip(case.mins, case.extents, strict=False))
    boxes = [region for _ in runner.targets]
    made = runner.allocate(boxes, runner.variant(runner.inputs()))
    for b in made:
        np.asarray(b)[...] = 1
    set_plain_images(program, pipeline, made)
    pipeline.realize(made)
    found = []
    for b in made:
        inside = [
            slice(low - b.dim(d).min(), low - b.dim(d).min() + extent)
            for d, (low, extent) in enumerate(region)
        ]
        found.append(np.asarray(b).transpose()[tuple(inside)])
    return found


def interpreted(program: Program, rounding: Rounding = Rounding.FUSED) -> list[Array]:
    """The outputs by the interpreter."""
    case = program.case
    region = list(zip(case.mins, case.extents, strict=False))
    found = interpret_all(
        [(f._function, region) for f in program.outputs()], rounding=rounding
    )
    return [a for values in found for a in values]


def interpreted_around(program: Program, salt: int) -> list[Array]:
    """The outputs by the interpreter, with other pixels around those that an input
    without a boundary covers; which ones, `salt` says."""
    with plain_images_within(program, salt):
        return interpreted(program)


def compare(got: Sequence[Array], wanted: Sequence[Array]) -> str:
    """Where the arrays differ, in bits; empty if nowhere."""
    if len(got) != len(wanted):
        return f"{len(got)} outputs, not {len(wanted)}"
    for number, (a, b) in enumerate(zip(got, wanted, strict=True)):
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"output {number} is {a.dtype} {a.shape}, not {b.dtype} {b.shape}"
        same = a == b
        if a.dtype.kind == "f":
            same = (same & (np.signbit(a) == np.signbit(b))) | (
                np.isnan(a) & np.isnan(b)
            )
        if not np.all(same):
            where = tuple([int(i[0]) for i in np.nonzero(~same)])
            count = int(np.count_nonzero(~same))
            return (
                f"output {number} differs at {count} of {a.size} points, first at "
                f"{where}: {a[where]!r}, not {b[where]!r}"
            )
    return ""


def run_quietly(case: Case) -> Report:
    """`run_case` with warnings as failures, but for those about directives that have
    no effect and about programs without any, which are drawn all the time."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ScheduleWarning)
        warnings.simplefilter("ignore", RecomputeWarning)
        return run_case(case)
