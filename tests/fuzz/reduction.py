"""How a fuzzing `Case` shrinks; used by `parhelion.tools.reduce`.

A case is named by a seed (one with a wild schedule by ``wild-SEED``,
one of `draw_numbered` by ``numbered-SEED``), or by a file
that holds its `repr`.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tests.fuzz import case as case_module
from tests.fuzz.case import Case, Directive, Input, Numbers, Stage
from tests.fuzz.draw import draw, draw_numbered, draw_wild
from tests.fuzz.execute import Outcome, Report
from tests.fuzz.worker import run_apart

_PLACES = ("compute_at", "store_at", "hoist_storage", "window", "in_", "clone_in")


def load(arguments: Sequence[str]) -> Case:
    (named,) = arguments
    if named.startswith("wild-"):
        return draw_wild(random.Random(int(named.removeprefix("wild-"))))
    if named.startswith("numbered-"):
        return draw_numbered(random.Random(int(named.removeprefix("numbered-"))))
    if named.isdigit():
        return draw(random.Random(int(named)))
    return parse(Path(named).read_text())


def parse(text: str) -> Case:
    """A case from its `repr`."""
    found = eval(text, dict(vars(case_module)))
    assert isinstance(found, Case)
    return found


def failure(case: Case) -> str | None:
    return kind_of(run_apart(case))


def kind_of(report: Report) -> str | None:
    """What should stay the same about a failure while it shrinks."""
    if not report.outcome.failed:
        return None
    if report.outcome is Outcome.ERROR:
        # The exception and the first words that do not name the parts of the case.
        words = report.message.split("\n")[0].split()
        return " ".join([w for w in words if not any(c in w for c in "$0123456789'")])
    return str(report.outcome.value)


def as_test(case: Case, failure: str) -> str:
    name = hashlib.sha1(repr(case).encode()).hexdigest()[:8]
    fields = (
        ("inputs", case.inputs),
        ("stages", case.stages),
        ("outputs", case.outputs),
        ("extents", case.extents),
        ("mins", case.mins),
        ("schedule", case.schedule),
    )
    body = []
    for field, value in fields:
        if value and not isinstance(value[0], int):
            items = "".join([f"            {item!r},\n" for item in value])
            body.append(f"        {field}=(\n{items}        ),\n")
        else:
            body.append(f"        {field}={value!r},\n")
    return (
        "from tests.fuzz.case import Case, Directive, Input, Stage\n"
        "from tests.fuzz.execute import Outcome, run_case\n\n\n"
        f"def test_found_by_fuzzing_{name}() -> None:\n"
        f'    """Failed: {failure}."""\n'
        "    case = Case(\n" + "".join(body) + "    )\n"
        "    report = run_case(case)\n"
        "    assert report.outcome is Outcome.CLEAN, report.message\n"
    )


def smaller(case: Case) -> Iterator[Case]:
    yield from _fewer_directives(case)
    yield from _fewer_outputs(case)
    yield from _fewer_stages(case)
    yield from _simpler_stages(case)
    yield from _smaller_regions(case)
    yield from _simpler_inputs(case)
    yield from _simpler_numbers(case)


def _fewer_directives(case: Case) -> Iterator[Case]:
    count = len(case.schedule)
    size = count
    while size:
        for start in range(0, count, size):
            left = case.schedule[:start] + case.schedule[start + size :]
            yield replace(case, schedule=left)
        size //= 2


def _fewer_outputs(case: Case) -> Iterator[Case]:
    if len(case.outputs) > 1:
        for output in case.outputs:
            yield replace(case, outputs=(output,))
    last = max(case.outputs)
    if last + 1 < len(case.stages):
        yield _cut(case, last + 1)
    for number, stage in enumerate(case.stages[:last]):
        if stage.dims == len(case.extents):
            yield _cut(replace(case, outputs=(number,)), number + 1)


def _cut(case: Case, count: int) -> Case:
    """Only the first `count` stages."""
    return replace(
        case,
        stages=case.stages[:count],
        schedule=tuple([d for d in case.schedule if d.stage < count]),
    )


def _fewer_stages(case: Case) -> Iterator[Case]:
    for number in reversed(range(len(case.stages))):
        if number in case.outputs:
            continue
        stage = case.stages[number]
        instead = stage.sources[0] if stage.sources else -1
        yield _without(case, number, instead)
        if instead != -1:
            yield _without(case, number, -1)


def _without(case: Case, number: int, instead: int) -> Case:
    """Without stage `number`, whose readers read `instead`."""

    def moved(n: int) -> int:
        return n - 1 if n > number else n

    def source(s: int, reader: int) -> int:
        s = s % reader if s >= 0 and reader else s
        return moved(instead if s == number else s)

    stages = [
        replace(stage, sources=tuple([source(s, reader) for s in stage.sources]))
        for reader, stage in enumerate(case.stages)
        if reader != number
    ]
    schedule = []
    for d in case.schedule:
        if d.stage == number:
            continue
        numbers = d.numbers
        if d.name in _PLACES and numbers:
            at = numbers[0] % len(case.stages)
            if at == number:
                continue
            numbers = (moved(at), *numbers[1:])
        schedule.append(replace(d, stage=moved(d.stage), numbers=numbers))
    return replace(
        case,
        stages=tuple(stages),
        outputs=tuple([moved(o) for o in case.outputs]),
        schedule=tuple(schedule),
    )


def _with_stage(case: Case, number: int, stage: Stage) -> Case:
    stages = list(case.stages)
    stages[number] = stage
    return replace(case, stages=tuple(stages))


def _simpler_stages(case: Case) -> Iterator[Case]:
    for number, stage in enumerate(case.stages):
        for k in range(len(stage.sources)):
            if len(stage.sources) > 1:
                left = stage.sources[:k] + stage.sources[k + 1 :]
                yield _with_stage(case, number, replace(stage, sources=left))
            if stage.sources[k] != -1:
                changed = (*stage.sources[:k], -1, *stage.sources[k + 1 :])
                yield _with_stage(case, number, replace(stage, sources=changed))
        for op in ("coordinates", "pointwise", "stencil"):
            if stage.op != op:
                yield _with_stage(case, number, replace(stage, op=op))
            else:
                break
        for type in ("i32", "u8"):
            if stage.type != type:
                yield _with_stage(case, number, replace(stage, type=type))
            else:
                break
        if stage.dims > 1 and number not in case.outputs:
            yield _with_stage(case, number, replace(stage, dims=stage.dims - 1))
    if len(case.extents) > 1:
        fewer = case
        for output in case.outputs:
            stage = case.stages[output]
            fewer = _with_stage(fewer, output, replace(stage, dims=stage.dims - 1))
        yield replace(fewer, extents=case.extents[:-1])


def _smaller_regions(case: Case) -> Iterator[Case]:
    if any(case.mins):
        yield replace(case, mins=(0, 0, 0))
        for d in range(3):
            yield replace(case, mins=(*case.mins[:d], 0, *case.mins[d + 1 :]))
    for extents in _toward(case.extents, 1):
        yield replace(case, extents=extents)


def _simpler_inputs(case: Case) -> Iterator[Case]:
    if len(case.inputs) > 1:
        for k in range(len(case.inputs)):
            yield replace(case, inputs=case.inputs[:k] + case.inputs[k + 1 :])
    for k, one in enumerate(case.inputs):
        changes = [
            replace(one, boundary=1),
            replace(one, param=True),
            replace(one, mins=(0,) * len(one.mins)),
            replace(one, type="u8"),
        ]
        if len(one.extents) > 1:
            changes.append(replace(one, extents=one.extents[:-1], mins=one.mins[:-1]))
        changes += [replace(one, extents=e) for e in _toward(one.extents, 1)]
        for changed in changes:
            if changed != one:
                inputs = list(case.inputs)
                inputs[k] = changed
                yield replace(case, inputs=tuple(inputs))


def _simpler_numbers(case: Case) -> Iterator[Case]:
    for number, stage in enumerate(case.stages):
        for numbers in _simpler(stage.numbers):
            yield _with_stage(case, number, replace(stage, numbers=numbers))
    for k, directive in enumerate(case.schedule):
        for given in _simpler(directive.given):
            schedule = list(case.schedule)
            schedule[k] = replace(directive, given=given)
            yield replace(case, schedule=tuple(schedule))
        for numbers in _simpler(directive.numbers):
            schedule = list(case.schedule)
            schedule[k] = replace(directive, numbers=numbers)
            yield replace(case, schedule=tuple(schedule))


def _simpler(numbers: Numbers) -> Iterator[Numbers]:
    if numbers and numbers[-1] == 0:
        yield numbers[:-1]
    for size in (len(numbers), len(numbers) // 2):
        if size > 0 and any(numbers[-size:]):
            yield numbers[:-size]
    yield from _toward(numbers, 0)


def _toward(numbers: Numbers, goal: int) -> Iterator[Numbers]:
    """Each number brought nearer to `goal`, one at a time."""
    for k, n in enumerate(numbers):
        for less in dict.fromkeys((goal, (n + goal) // 2, n - 1)):
            if goal <= less < n:
                yield (*numbers[:k], less, *numbers[k + 1 :])


__all__ = ["Directive", "Input", "as_test", "failure", "load", "parse", "smaller"]
