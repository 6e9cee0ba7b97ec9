"""Draws random cases, from a `random.Random` or anything that behaves like one."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from tests.fuzz import concurrency, fusing, rewriting, storage
from tests.fuzz.case import Case, Directive, Input, Stage
from tests.fuzz.numbers import with_params

PIXELS = ("u8", "u8", "u16", "i16", "i32", "f32", "i8", "u32")
TYPES = (*PIXELS, "u8", "u16", "i32", "f32", "f64", "u64", "i64", "f16", "bf16", "bool")

#: (kind, weight): the kinds of `ops.OPS`.
KINDS = (
    *(("pointwise", 4), ("stencil", 6), ("downsample", 3), ("upsample", 3)),
    *(("coordinates", 1), ("transpose", 1), ("mirror", 1), ("lookup", 2)),
    *(("choose", 2), ("guarded", 2), ("channels", 1), ("pair", 2)),
    *(("inline_sum", 2), ("inline_argmin", 1), ("accumulate", 4), ("scan", 3)),
    *(("histogram", 2), ("scatter", 1), ("updates", 3), ("tuple_update", 2)),
    *(("promised", 1), ("tagged", 2), ("foreign", 2)),
)
#: Kinds that do arithmetic which Bool has not.
NOT_BOOL = {
    *("inline_sum", "inline_argmin", "accumulate", "histogram", "scatter"),
    *("tuple_update", "updates", "scan", "channels", "downsample", "upsample"),
}
#: Kinds whose Func has updates, which cannot be inlined.
WITH_UPDATES = {"accumulate", "scan", "histogram", "scatter", "updates", "tuple_update"}

#: What a pass through `downsample` multiplies; more of them in a row and a region of
#: the output asks for too much of the first stage.
_MOST_DOWN = 2


def numbers(rng: random.Random, count: int, top: int = 99) -> tuple[int, ...]:
    return tuple([rng.randint(0, top) for _ in range(count)])


def draw(rng: random.Random) -> Case:
    """A pipeline with a schedule."""
    case = draw_case(rng)
    return with_params(rng, replace(case, schedule=draw_schedule(rng, case)))


def draw_wild(rng: random.Random) -> Case:
    """A pipeline with directives drawn without regard to what is legal."""
    case = draw_case(rng, 2, 6)
    made = []
    for _ in range(rng.randint(1, 14)):
        name = rng.choice(DIRECTIVES)
        stage = rng.randrange(len(case.stages))
        made.append(Directive(name, stage, rng.choice((0, 0, 1, 2)), numbers(rng, 6)))
    return with_params(rng, replace(case, schedule=tuple(made)))


def draw_numbered(rng: random.Random) -> Case:
    """A small pipeline, all numbers of whose schedule may be Params."""
    case = draw_case(rng, 1, 4)
    made = replace(case, schedule=draw_schedule(rng, case))
    return with_params(rng, made, always=True)


def draw_case(rng: random.Random, least: int = 3, most: int = 15) -> Case:
    """A pipeline of `least` to `most` stages, without a schedule."""
    inputs = tuple([draw_input(rng) for _ in range(rng.choice((1, 1, 2)))])
    count = rng.randint(least, most)
    stages: list[Stage] = []
    down: list[int] = []
    unread: list[int] = []
    for number in range(count):
        stage = draw_stage(rng, number, len(inputs), unread, down)
        stages.append(stage)
        below = [down[s] for s in stage.sources if s >= 0]
        down.append(max(below, default=0) + (stage.op == "downsample"))
        unread = [u for u in unread if u not in stage.sources] + [number]
    # Outputs: the last stage, and what shares its dimensionality, sometimes.
    last = count - 1
    outputs = [last]
    dims = stages[last].dims
    others = [n for n in range(last) if stages[n].dims == dims]
    if others and rng.random() < 0.25:
        outputs.append(rng.choice(others))
    extents = tuple([rng.randint(1, 45), rng.randint(1, 33), rng.randint(1, 4)][:dims])
    mins = (0, 0, 0)
    if rng.random() < 0.2:
        mins = (rng.randint(-9, 9), rng.randint(-9, 9), rng.randint(-1, 1))
    return Case(inputs, tuple(stages), tuple(outputs), extents, mins)


def draw_input(rng: random.Random) -> Input:
    dims = rng.choice((1, 2, 2, 2, 3))
    return Input(
        rng.choice(PIXELS),
        tuple([rng.randint(5, 40), rng.randint(5, 30), rng.randint(2, 4)][:dims]),
        tuple([rng.choice((0, 0, -3, 7)) for _ in range(dims)]),
        rng.choice((0, 1, 1, 2, 3, 4, 5)),
        rng.random() < 0.7,
    )


def draw_stage(
    rng: random.Random, number: int, inputs: int, unread: list[int], down: list[int]
) -> Stage:
    kinds = [k for k, _ in KINDS]
    kind = rng.choices(kinds, [w for _, w in KINDS])[0]
    sources = []
    for _ in range(rng.choice((1, 2, 2))):
        # Mostly something that nobody has read yet, so that few stages are dead.
        if unread and rng.random() < 0.8:
            sources.append(rng.choice(unread[-3:]))
        elif number and rng.random() < 0.5:
            sources.append(rng.randrange(number))
        else:
            sources.append(-1 - rng.randrange(inputs))
    if kind == "downsample" and any(s >= 0 and down[s] >= _MOST_DOWN for s in sources):
        kind = "stencil"
    type = rng.choice(TYPES)
    if type == "bool" and kind in NOT_BOOL:
        type = "u8"
    dims = rng.choice((1, 2, 2, 2, 2, 2, 3))
    return Stage(kind, type, dims, tuple(sources), numbers(rng, 16))


# Schedules.

#: (directive, weight). Numbers choose loops, factors and tails; see `apply`.
LOOPS = (
    *(("split", 5), ("tile", 3), ("fuse", 2), ("reorder", 3), ("vectorize", 6)),
    *(("unroll", 3), ("parallel", 3), ("serial", 1), ("rename", 1)),
    *(("allow_race_conditions", 1), ("prefetch", 2)),
    *(("partition", 1), ("never_partition", 1), ("never_partition_all", 1)),
    ("always_partition", 0.3),
)
#: Those that leave the outer loops as they are.
INNER = tuple([(name, weight) for name, weight in LOOPS if name in fusing.INNER])
WHOLE = (
    *("compute_root", "compute_inline", "compute_at", "store_root", "store_at"),
    *(
        *("place", "place_late"),
        "memoize",
        "bound",
        "reorder_storage",
        *storage.NAMES,
        *concurrency.WHOLE_NAMES,
    ),
    *rewriting.WHOLE_NAMES,
)
DIRECTIVES = (
    *(name for name, _ in LOOPS),
    "atomic",
    "compute_with",
    *rewriting.LOOP_NAMES,
    *WHOLE,
)


def draw_schedule(rng: random.Random, case: Case) -> tuple[Directive, ...]:
    """A schedule that is likely to be legal, consumers before producers."""
    made: list[Directive] = []
    inlined: set[int] = set()
    alive = used(case)
    given = {
        s % n
        for n in alive
        if case.stages[n].op == "foreign"
        for s in case.stages[n].sources
        if s >= 0 < n
    }
    joinable = [n for n in sorted(alive) if case.stages[n].op != "foreign"]
    pair = fusing.draw_pair(rng, joinable, lambda n: used(case, n))
    for number in reversed(range(len(case.stages))):
        if number not in alive:
            continue
        stage = case.stages[number]
        updates = stage.op in WITH_UPDATES
        is_output = number in case.outputs
        fixed = is_output or updates or number in given or number in pair
        if not fixed and stage.op != "foreign" and rng.random() < 0.3:
            inlined.add(number)
            if rng.random() < 0.3:
                made.append(Directive("compute_inline", number))
            continue
        made += rewriting.draw_replacement(
            rng, number, readers(case, number, inlined), lambda: numbers(rng, 6)
        )
        if not is_output:
            name = "place_late" if rng.random() < 0.2 else "place"
            first = (0,) if number in pair else ()
            made.append(Directive(name, number, 0, (*first, *numbers(rng, 12))))
        elif rng.random() < 0.1:
            made.append(Directive("compute_root", number))
        kinds = INNER if number in pair else LOOPS
        if stage.op != "foreign":
            made += draw_loops(rng, number, 0, kinds)
        if updates:
            for definition in range(1, 4):
                if rng.random() < 0.6:
                    made += draw_loops(rng, number, definition, kinds)
        if case.outputs == (number,) and rng.random() < 0.2:
            made.append(Directive("bound", number, 0, numbers(rng, 2)))
        if not is_output and rng.random() < 0.1:
            made.append(Directive("reorder_storage", number, 0, numbers(rng, 2)))
        made += storage.draw_storage(rng, number, is_output, lambda: numbers(rng, 4))
    looped = sorted(alive - inlined)
    made += fusing.draw_fusing(rng, looped, pair, lambda: numbers(rng, 4))
    return tuple(made)


def used(case: Case, *of: int) -> set[int]:
    """The stages that the outputs, or the stages given, depend on, and these."""
    found: set[int] = set()
    left = list(of or case.outputs)
    while left:
        number = left.pop()
        if number not in found:
            found.add(number)
            left += [s % number for s in case.stages[number].sources if s >= 0 < number]
    return found


def readers(case: Case, number: int, inlined: set[int]) -> set[int]:
    """The stages whose loops read stage `number`, directly or through inlined ones."""
    found: set[int] = set()
    alive = used(case)
    for later in range(number + 1, len(case.stages)):
        if later not in alive:
            continue
        stage = case.stages[later]
        if number not in [s % later for s in stage.sources if s >= 0]:
            continue
        found |= readers(case, later, inlined) if later in inlined else {later}
    return found


def draw_loops(
    rng: random.Random,
    number: int,
    definition: int,
    weighted: Sequence[tuple[str, float]] = (),
) -> list[Directive]:
    kinds = [k for k, _ in weighted or LOOPS]
    weights = [w for _, w in weighted or LOOPS]
    made = []
    if definition and rng.random() < 0.35:
        # Before what it makes legal.
        made.append(Directive("atomic", number, definition))
    made += [
        Directive(rng.choices(kinds, weights)[0], number, definition, numbers(rng, 6))
        for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 4)))
    ]
    # A loop to look ahead along must still be there at the end.
    made.sort(key=lambda d: d.name == "prefetch")
    return made + rewriting.draw_branches(
        rng, number, definition, lambda: numbers(rng, 8)
    )
