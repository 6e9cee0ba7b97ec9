"""Which loops of a definition can be threads, and what is done in each of them.

Loops over a Func's own Vars are independent of each other. Of an update, so are those
over dimensions of its RDom whose iterations touch different places; and all of them
where the updates of one place may happen in any order, each as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from parhelion.autoschedule.pipeline.graph import GraphStage
from parhelion.dataclass import dataclass
from parhelion.ir.expr import Var
from parhelion.schedule import deps
from parhelion.schedule.modes import by_loops
from parhelion.schedule.rules import commutes, stage_label

#: So many threads are enough for a GPU: no more loops are made parallel, nor atomic.
ENOUGH = 1 << 14
#: Operations on one place of memory take so much longer than those in a register, that
#: threads which take turns must be so many times as many.
_TURNS = 16
#: A dimension of at most so many points is small: a colour, not a coordinate.
SMALL = 4


@dataclass(frozen=True)
class Roles:
    """parallel: the loops whose iterations may be threads, that which is innermost in
    memory first. inside: those that each thread goes through, innermost first. atomic:
    whether threads update the same places."""

    parallel: tuple[Var, ...]
    inside: tuple[Var, ...] = ()
    atomic: bool = False


def roles(
    stage: GraphStage, extents: Sequence[int], *, alone: bool, floats: bool = False
) -> Roles:
    """The roles of the loops of a definition.

    extents: of its loops, as they are in `stage.loops`. alone: whether it has a kernel
    of its own; else it is computed by the threads of another one, of which there are
    enough. floats: whether sums of floats may be regrouped.
    """
    own = sorted(stage.pure, key=stage.func.args.index)
    if not stage.rvars:
        return Roles(tuple(own))
    extent = dict(zip(stage.loops, extents, strict=True))
    count = math.prod([extent[v] for v in own])
    plain = Roles(tuple(own), stage.rvars)
    if not alone or count >= ENOUGH:
        return plain
    free = _independent(stage)
    if free:
        parallel = (*own, *free)
        inside = tuple([r for r in stage.rvars if r not in free])
        plain = Roles(parallel, inside)
        count = math.prod([extent[v] for v in parallel])
    steps = math.prod([extent[r] for r in plain.inside])
    if count < ENOUGH and steps >= _TURNS and any_order(stage, floats):
        return Roles((*own, *stage.rvars), atomic=True)
    return plain


def _independent(stage: GraphStage) -> list[Var]:
    """The dimensions of an update's RDom whose iterations touch different places."""
    it = stage.definition
    found = deps.conflicts(stage.func, it.args, it.values, it.rdom)
    return [r for r in stage.rvars if found[r] is None]


def any_order(stage: GraphStage, floats: bool) -> bool:
    """Whether a device can update places as wholes, in any order: one number of 32 bits
    at each."""
    f, it = stage.func, stage.definition
    if len(f.types) != 1 or f.types[0].width != 32:
        return False
    if deps.self_calls(f, it.args):
        return False
    return commutes(f, it, exact=not floats)


def host_note(stage: GraphStage, *, parallel: bool) -> str:
    """Why a definition stays on the CPU, as a sentence. parallel: whether it could be a
    kernel by itself."""
    label = stage_label(stage.func, stage.index)
    if not by_loops(stage.func):
        why = "it is computed by foreign code"
    elif parallel:
        why = "another definition of it does, and it is small"
    elif not stage.loops:
        why = "it is a single number"
    else:
        why = "no two of its iterations are independent"
    return f"{label} stays on the CPU, as {why}"


__all__ = ["ENOUGH", "SMALL", "Roles", "any_order", "host_note", "roles"]
