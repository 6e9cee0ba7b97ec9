"""Directives on storage and regions: how cases draw them, and how they are applied.

Registered in `draw` and `apply`. Numbers choose dimensions, factors and loops.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import parhelion as hl
from parhelion.ir.stmt import ForKind
from tests.fuzz.case import Choices, Directive, Numbers
from tests.fuzz.ops import Built

if TYPE_CHECKING:
    from tests.fuzz.apply import Scheduler

Call = Callable[[], object]

#: (directive, how likely it is where it may have an effect).
SPACE: dict[str, float] = {
    "fold_storage": 0.12,
    "align_storage": 0.12,
    "bound_storage": 0.08,
    "store_in": 0.15,
    "align_bounds": 0.08,
    "align_extent": 0.08,
    "bound_extent": 0.03,
    "set_estimate": 0.1,
}
#: Those that come after a place.
PLACES = ("hoist_storage", "hoist_storage_root", "window")
NAMES = (*SPACE, *PLACES)

MEMORIES = (
    hl.MemoryType.Heap,
    hl.MemoryType.Stack,
    hl.MemoryType.Auto,
    hl.MemoryType.Register,
)


def draw_storage(
    rng: random.Random, number: int, is_output: bool, numbers: Callable[[], Numbers]
) -> list[Directive]:
    """Directives on the storage of a Func that is not inlined, or on its region."""
    made = []
    for name, chance in SPACE.items():
        if is_output and name not in ("align_bounds", "align_extent", "set_estimate"):
            continue
        if rng.random() < chance:
            made.append(Directive(name, number, 0, numbers()))
    return made


def _dimension(built: Built, choices: Choices) -> hl.Var | None:
    """A dimension, mostly the outermost: that is the one that loops slide along."""
    if not built.dims:
        return None
    args = built.func.args()
    return args[-1 - choices.upto(built.dims - 1)]


def _fold(s: Scheduler, built: Built, choices: Choices) -> Call | None:
    v = _dimension(built, choices)
    if v is None:
        return None
    size = (64, 40, 16, 8, 5)[choices.upto(4)]
    forward = choices.upto(7) < 7
    extent = s.params.number(size)
    return lambda: built.func.fold_storage(v, extent, forward)


def _align(s: Scheduler, built: Built, choices: Choices) -> Call | None:
    v = _dimension(built, choices)
    by = s.params.constant((8, 16, 3, 32)[choices.upto(3)])
    return None if v is None else lambda: built.func.align_storage(v, by)


def _bound_storage(s: Scheduler, built: Built, choices: Choices) -> Call | None:
    v = _dimension(built, choices)
    size = s.params.number((128, 64, 200, 48)[choices.upto(3)])
    return None if v is None else lambda: built.func.bound_storage(v, size)


def _store_in(s: Scheduler, built: Built, choices: Choices) -> Call:
    memory = MEMORIES[(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3)[choices.upto(11)]]
    s.also = [f"MemoryType.{memory.name}"]
    if memory is not hl.MemoryType.Register:
        return lambda: built.func.store_in(memory)

    def both() -> None:
        """Registers need a constant size."""
        for v, size in zip(built.func.args(), (64, 64, 4), strict=False):
            built.func.bound_storage(v, size)
        built.func.store_in(memory)

    return both


def _align_bounds(s: Scheduler, built: Built, choices: Choices) -> Call | None:
    v = _dimension(built, choices)
    by = (2, 4, 8, 3)[choices.upto(3)]
    rest = choices.upto(by - 1)
    modulus = s.params.constant(by)
    return None if v is None else lambda: built.func.align_bounds(v, modulus, rest)


def _align_extent(s: Scheduler, built: Built, choices: Choices) -> Call | None:
    v = _dimension(built, choices)
    by = s.params.constant((2, 4, 8, 3)[choices.upto(3)])
    return None if v is None else lambda: built.func.align_extent(v, by)


def _bound_extent(s: Scheduler, built: Built, choices: Choices) -> Call | None:
    v = _dimension(built, choices)
    size = s.params.number((96, 64, 128)[choices.upto(2)], 0)
    return None if v is None else lambda: built.func.bound_extent(v, size)


def _estimate(s: Scheduler, built: Built, choices: Choices) -> Call | None:
    v = _dimension(built, choices)
    if v is None:
        return None
    if choices.upto(1):
        s.named = ["set_estimates"]
        ranges = [(0, 100)] * built.dims
        return lambda: built.func.set_estimates(ranges)
    return lambda: built.func.set_estimate(v, 0, 100)


def _window(s: Scheduler, built: Built, choices: Choices) -> Call | None:
    """Computes a Func inside a loop, and stores it outside of that and of some of the
    serial loops around it."""
    consumer = s.program.stages[choices.upto(len(s.program.stages) - 1)]
    if consumer is built:
        return None
    last = consumer.func.num_update_definitions()
    stage = last if choices.upto(4) == 4 else 0
    dims = consumer.func._function.stages()[stage].schedule.dims
    known = {v._var: v for v in s._loops(consumer, stage)}
    at = [i for i, d in enumerate(dims) if d.var in known]
    if not at:
        return None
    inner = at[choices.upto(len(at) - 1)]
    outer = [i for i in at if i > inner]
    parallel = [i for i, d in enumerate(dims) if d.kind is ForKind.PARALLEL]
    outer = [i for i in outer if not any(inner <= p < i for p in parallel)]
    level = consumer.func, known[dims[inner].var]
    which = choices.upto(len(outer))
    if which == len(outer):
        if any(p >= inner for p in parallel):
            return lambda: built.func.compute_at(*level)
        return lambda: built.func.store_root().compute_at(*level)
    store = consumer.func, known[dims[outer[which]].var]
    return lambda: built.func.store_at(*store).compute_at(*level)


def _hoist(s: Scheduler, built: Built, choices: Choices) -> Call | None:
    level = s._level(built, choices)
    return None if level is None else lambda: built.func.hoist_storage(*level)


WHOLE: dict[str, Any] = {
    "fold_storage": _fold,
    "align_storage": _align,
    "bound_storage": _bound_storage,
    "store_in": _store_in,
    "align_bounds": _align_bounds,
    "align_extent": _align_extent,
    "bound_extent": _bound_extent,
    "set_estimate": _estimate,
    "hoist_storage": _hoist,
    "window": _window,
    "hoist_storage_root": lambda s, b, c: b.func.hoist_storage_root,
}

#: What a run may say of a promise that a case has drawn too small.
BROKEN_PROMISES = (
    "is bound in dimension",
    "is folded in dimension",
)
