"""What remains where a schedule is refused: one that is legal for any pipeline.

For schedules of a pipeline without directives it is meant never to be needed. Beside
directives of the user's there may be no other way: some are refused only once a place
or a size is decided, when the pipeline is lowered. A note of the result says what was
left out, and why.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from parhelion.autoschedule.calls import MAKERS, Call, FuncArg, LevelArg, Made, var_arg
from parhelion.autoschedule.pipeline.freedom import Freedom
from parhelion.autoschedule.result import AutoSchedulerResults
from parhelion.autoschedule.script import Script
from parhelion.errors import HalideError, TimeLimitError
from parhelion.ir.function import Function
from parhelion.lang.machines import gpu_of
from parhelion.lang.runner import Runner
from parhelion.lang.target_api import Target, TargetFeature, strict
from parhelion.runtime.program import Options
from parhelion.schedule.legality import check_strict, resolve
from parhelion.schedule.order import realization_order
from parhelion.schedule.recomputing import unscheduled
from parhelion.schedule.spec import PipelineSpec


def refused(script: Script, target: Target | None = None) -> HalideError | None:
    """Why a script cannot be applied to its Funcs; None if it can. They stay as they
    are.

    target: what to lower the pipeline for, to the end. Some directives are refused only
    then; those that the schedulers give are not.
    """
    try:
        outputs = script.tried().outputs
        resolve(PipelineSpec.of(outputs))
        if target is not None:
            _lower(outputs, target)
    except TimeLimitError:
        raise
    except HalideError as error:
        return error
    return None


def _lower(outputs: Sequence[Function], target: Target) -> None:
    runner = Runner(outputs, outputs[0].name)
    runner.refresh()
    if strict(target):
        check_strict(realization_order(outputs))
    variant = runner.variant({}, Options(strict(target)))
    if target.has_feature(TargetFeature.CUDA):
        variant = replace(variant, device=gpu_of(target))
    with runner.lowered(variant):
        pass


def fallback(
    outputs: Sequence[Function],
    unbounded: Collection[Function] = (),
    target: Target | None = None,
) -> Script:
    """Everything at the root with the outermost loop in parallel, or, where that is
    refused, what the user has scheduled and no more.

    unbounded: Funcs that stay inline, as nobody knows how much of them is needed.
    target: as `refused` takes it.
    """
    freedom = Freedom(outputs)
    script = Script(tuple(outputs))
    for f in realization_order(outputs):
        if freedom.inline(f) and f in unbounded:
            continue
        if freedom.move(f):
            script.add(f, -1, "compute_root")
        if freedom.move(f) or f in outputs:
            _parallel(script, freedom, f)
    script.acknowledge()
    if refused(script, target) is None:
        return script
    return Script(tuple(outputs))


def _parallel(script: Script, freedom: Freedom, f: Function) -> None:
    for k, d in enumerate(f.stages()):
        outermost = d.schedule.dims[-1].var if d.schedule.dims else None
        if outermost in f.args and f.dimensions > 1 and freedom.loops(f, k):
            script.add(f, k, "parallel", var_arg(outermost))


# Beside directives of the user's.


def settled(result: AutoSchedulerResults) -> AutoSchedulerResults:
    """The result, or, where its schedule and the directives that are there before do
    not go together, as much of it as does, with a note.

    Raises what those directives raise that are refused by themselves, and with whatever
    is added.
    """
    script, target = result.script, result.target
    if unscheduled(script.order):
        return result
    error = refused(script, target)
    if error is None:
        return result
    for left in _suspects(script):
        shorter = _without(script, left)
        if shorter is not None and refused(shorter, target) is None:
            names = ", ".join([f.name for f in left])
            return _instead(
                result, shorter, f"what it has for {names} is left out", error
            )
    last = fallback(script.outputs, target=target)
    what = "everything is computed at the root, in simple loops"
    if not last.calls:
        what = "nothing is added to them"
        own = refused(last, target)
        if own is not None:
            raise own
    return _instead(result, last, what, error)


def _instead(
    result: AutoSchedulerResults, script: Script, what: str, error: HalideError
) -> AutoSchedulerResults:
    told = (
        "the schedule that was found is refused beside the directives that are there"
        f" before, so that {what} ({error.what})"
    )
    return replace(
        result,
        script=script,
        decisions=(),
        notes=(*result.notes, told),
        cost=None,
        predicted_seconds=None,
        unpredicted="",
    )


def _suspects(script: Script) -> Iterator[tuple[Function, ...]]:
    """The Funcs that the user gave directives to, and those in whose loops he placed
    others: one at a time, and all together."""
    mine = dict.fromkeys([c.function for c in script.calls])
    theirs = {f for f in script.order if not unscheduled([f])}
    for s in [f.schedule for f in theirs]:
        levels = (s.compute, s.store, s.hoist)
        theirs |= {at.func for at in levels if at is not None and at.func is not None}
    found = [f for f in script.order if f in mine and f in theirs]
    for f in reversed(found):
        yield (f,)
    if len(found) > 1:
        yield tuple(found)


def _without(script: Script, left: Sequence[Function]) -> Script | None:
    """The script without the directives on some Funcs, and on those that it computes in
    their loops; None if calls are about what others return."""
    if any(isinstance(c.function, Made) or c.method in MAKERS for c in script.calls):
        return None
    gone = set(left)
    count = 0
    while count != len(gone):
        count = len(gone)
        for c in script.calls:
            if isinstance(c.function, Function) and not gone.isdisjoint(_named(c)):
                gone.add(c.function)
    made = script.copy()
    made.calls = [c for c in script.calls if c.function not in gone]
    return made


def _named(call: Call) -> Iterator[Function]:
    """The Funcs that a directive mentions: where the loops are that it means."""
    for a in call.args:
        of = a.function if isinstance(a, FuncArg | LevelArg) else None
        if isinstance(of, Function):
            yield of


__all__ = ["fallback", "refused", "settled"]
