"""Directives that rewrite a pipeline: how cases draw them, and how they are applied.

Each of them makes something that is scheduled in turn (a wrapper, a clone, a branch, a
Func of parts); the numbers of the directive choose that schedule as well.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import parhelion as hl
from parhelion.schedule.associativity import fold_of
from parhelion.schedule.order import realization_order
from parhelion.schedule.wrappers import called
from tests.fuzz import places
from tests.fuzz.case import Choices, Directive, Numbers
from tests.fuzz.ops import Built

if TYPE_CHECKING:
    from tests.fuzz.apply import Scheduler

Call = Callable[[], object]

#: On a whole Func, and on the loops of a definition.
WHOLE_NAMES = ("in_", "clone_in")
LOOP_NAMES = ("specialize", "specialize_fail", "rfactor")


def draw_replacement(
    rng: random.Random, number: int, consumers: set[int], numbers: Callable[[], Numbers]
) -> list[Directive]:
    """Sometimes, a wrapper or a clone of a Func in one of those that read it."""
    if not consumers or rng.random() > 0.2:
        return []
    at = rng.choice(sorted(consumers))
    # The clone of a Func that only one other reads leaves nothing to the Func.
    name = "clone_in" if rng.random() < (0.7 if len(consumers) > 1 else 0.1) else "in_"
    return [Directive(name, number, 0, (at, *numbers()))]


def draw_branches(
    rng: random.Random, number: int, definition: int, numbers: Callable[[], Numbers]
) -> list[Directive]:
    """Sometimes, parts or branches of one definition."""
    made = []
    if definition and rng.random() < 0.4:
        made.append(Directive("rfactor", number, definition, numbers()))
    if rng.random() < 0.1:
        name = rng.choice(("specialize", "specialize", "specialize_fail"))
        made.append(Directive(name, number, definition, numbers()))
    return made


# Wrappers and clones.


def _reader(s: Scheduler, built: Built, choices: Choices) -> Built | None:
    """The stage that the numbers name, if one of its definitions reads `built`."""
    reader = s.program.stages[choices.upto(len(s.program.stages) - 1)]
    f, g = built.func._function, reader.func._function
    if reader is built or not any(f in called(g, d) for d in g.stages()):
        return None
    return reader


def _placed(s: Scheduler, made: hl.Func, choices: Choices) -> None:
    """Gives a wrapper or clone a place, and sometimes lanes."""
    _, place = places.choose(s.program.outputs(), made, choices, storage=False)
    place()
    args = made.args()
    if args and choices.upto(2) == 2:
        made.vectorize(args[0], (2, 4, 8)[choices.upto(2)])


def _wrap(s: Scheduler, built: Built, choices: Choices) -> Call | None:
    reader = _reader(s, built, choices)
    if reader is None:
        return None
    how = choices.upto(5)

    def call() -> None:
        if how == 0:
            built.func.in_().compute_root()
            return
        made = built.func.in_(reader.func)
        _placed(s, made, choices)
        if how == 1:
            made.in_(reader.func).compute_root()

    return call


def _clone(s: Scheduler, built: Built, choices: Choices) -> Call | None:
    reader = _reader(s, built, choices)
    if reader is None:
        return None

    def call() -> None:
        made = built.func.clone_in(reader.func)
        if choices.upto(9) < 9 or built.func.has_update_definition():
            _placed(s, made, choices)
        outputs = [o._function for o in s.program.outputs()]
        if built.func._function not in realization_order(outputs):
            s.unread.add(s.program.stages.index(built))

    return call


WHOLE: dict[str, Callable[[Scheduler, Built, Choices], Call | None]] = {
    "in_": _wrap,
    "clone_in": _clone,
}


# Branches.


def _condition(s: Scheduler, choices: Choices) -> tuple[Any, Any]:
    """A condition, and one of the same kind that holds in this run."""
    output = s.program.outputs()[0]
    kind = choices.upto(3)
    if kind < 2 and output.dimensions():
        width = output.output_buffers()[0].width()
        if kind == 0:
            return width % (2, 4, 8)[choices.upto(2)] == 0, width >= 1
        return width > (4, 16, 30)[choices.upto(2)], width >= 1
    value = choices.upto(2)
    param = hl.Param(hl.Int(32), "fuzzed", value)
    if kind == 2:
        return param == 1, param == value
    return (param > 0) & (param != 2), param >= value


def _specialize(
    s: Scheduler, built: Built, target: Any, loops: list[Any], choices: Choices
) -> Call | None:
    return _branch(s, built, target, loops, choices, False)


def _specialize_fail(
    s: Scheduler, built: Built, target: Any, loops: list[Any], choices: Choices
) -> Call | None:
    return _branch(s, built, target, loops, choices, True)


def _branch(
    s: Scheduler,
    built: Built,
    target: Any,
    loops: list[Any],
    choices: Choices,
    fail: bool,
) -> Call:
    maybe, surely = _condition(s, choices)
    how, loop = choices.upto(3), loops[choices.upto(len(loops) - 1)]
    factor = (2, 4, 8)[choices.upto(2)]
    if how < 2 and not s._affordable(built, factor):
        how = 3
    size = s.params.number(factor, free=True)
    outer, inner = s._new(built, loop), s._new(built, loop)

    def call() -> None:
        first = target.specialize(maybe)
        if how == 0:
            first.vectorize(loops[0], factor)
        elif how == 1:
            first.unroll(loop, 2)
        elif how == 2:
            first.parallel(loops[-1])
        elif size is not factor:
            guard = hl.TailStrategy.GuardWithIf
            first.split(loop, outer, inner, size, guard)
        if fail:
            target.specialize(surely).serial(loops[0])
            target.specialize_fail("no branch of this run")

    return call


# Parts.


def _rfactor(
    s: Scheduler, built: Built, target: Any, loops: list[Any], choices: Choices
) -> Call | None:
    """On updates of integers: those of floats depend on the order in the last bits."""
    if target is built.func or any(t.is_float() for t in built.func.types()):
        return None
    over = [v for v in loops if not isinstance(v, hl.Var)]
    function = built.func._function
    d = function.stages()[target._stage]
    if not over or fold_of(function, d.args, d.values) is None:
        return None
    # The outermost ones: parts that must be merged in order are, then.
    kept = over[-1 - choices.upto(len(over) - 1) :]
    how = choices.upto(3)

    def call() -> None:
        pairs = [(r, hl.Var(s._fresh())) for r in kept]
        part = target.rfactor(pairs).compute_root()
        for r in over:
            built.wrappers[r.name()] = r
        if how == 0:
            part.update().vectorize(pairs[0][1], 4)
        elif how == 1:
            part.update().parallel(pairs[-1][1])

    return call


LOOPS: dict[
    str,
    Callable[[Scheduler, Built, Any, list[Any], Choices], Call | None],
] = {
    "specialize": _specialize,
    "specialize_fail": _specialize_fail,
    "rfactor": _rfactor,
}
