"""compute_with: stages of different Funcs that share their outer loops.

`FusingLoops` has the directive; `check_fused` says, when the pipeline is lowered,
whether the stages may share loops. `shared_prefix` is how many loops they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, Protocol, Self, overload, runtime_checkable

from parhelion.errors import ScheduleError, here
from parhelion.ir.expr import Var
from parhelion.ir.function import Function, var_label
from parhelion.schedule import rules
from parhelion.schedule.args import HasLevel, HasVar, to_var
from parhelion.schedule.directives import (
    OUTERMOST,
    Dim,
    FusedWith,
    LoopAlignStrategy,
)
from parhelion.schedule.modes import modes
from parhelion.schedule.order import callees
from parhelion.schedule.rules import KIND_WORD, stage_label

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parhelion.schedule.sites import Nests


@runtime_checkable
class HasStage(Protocol):
    """A Func, which stands for its pure definition, or a Stage."""

    @property
    def _function(self) -> Function: ...

    @property
    def _stage(self) -> int: ...


Align = LoopAlignStrategy | Sequence[tuple[HasVar, LoopAlignStrategy]]


class FusingLoops:
    """Directives that join the loops of two stages."""

    __slots__ = ()
    _function: Function
    _stage: int

    @overload
    def compute_with(
        self, stage: HasStage, var: HasVar, align: Align = ...
    ) -> Self: ...

    @overload
    def compute_with(self, loop_level: HasLevel, align: Align = ...) -> Self: ...

    def compute_with(self, *given: object, **named: object) -> Self:
        """Shares the outer loops of another stage: ``for y: f`` and ``for y: g`` become
        ``for fused.y: f; g``.

        This stage shares the loops of `stage` (another Func's, or its Stage) from the
        outermost to `var`, and runs after it in each of their iterations. Both need the
        same loops there, of the same kinds, and their Funcs must be computed at the
        same place and not depend on each other. Producers are computed at the loops of
        `stage`.

        The shared loops run over what either stage needs. align says, for all of them
        or as pairs (Var, LoopAlignStrategy) for some, which iterations meet: those of
        the same number (Auto, NoAlign), the first of both (AlignStart) or the last of
        both (AlignEnd).

        Takes a LoopLevel in place of `stage` and `var`. Raises ScheduleError for other
        arguments, for a loop that is not there and for loops of the same Func, and when
        the pipeline is lowered, if the stages cannot share loops. From: Halide's
        compute_with.

        >>> f, g, h = hl.funcs("f g h")
        >>> f[x, y], g[x, y] = x + y, x - y
        >>> h[x, y] = f[x, y] * g[x, y]
        >>> f, g = f.compute_root(), g.compute_root().compute_with(f, y)
        >>> h.print_loop_nest()
        produce f:
          produce g:
            for fused.y:
              for x:
                f(...) = ...
              for x:
                g(...) = ...
        consume f:
          consume g:
            produce h:
              for y:
                for x:
                  h(...) = ...
        """
        function, k = self._function, self._stage
        label = stage_label(function, k)
        definition = rules.definition_of(function, k)
        values = list(given) + [
            named[n] for n in ("stage", "loop_level", "var", "align") if n in named
        ]
        leader, var, rest = _target(values, label)
        align = rest[0] if rest else LoopAlignStrategy.Auto
        if leader[0] is function:
            raise ScheduleError(
                f"{label}.compute_with: {function.name} cannot share loops with itself",
                at=here(),
            )
        rules.find_dim(function, k, var, "compute_with")
        everywhere, each = _alignment(align, label)
        for v, _ in each:
            rules.find_dim(function, k, v, "compute_with")
        before = definition.schedule.fused_with
        if before is not None:
            rules.warn(
                f"{label}.compute_with: it was to share the loops of"
                f" {stage_label(before.func, before.stage)} and now does those of"
                f" {stage_label(*leader)} only",
                here(),
            )
        definition.schedule.fused_with = FusedWith(
            leader[0], leader[1], var, everywhere, tuple(each), here()
        )
        definition.schedule.touched = True
        return self


def _target(
    values: list[object], label: str
) -> tuple[tuple[Function, int], Var, list[object]]:
    """(the stage to run with, the innermost loop to share, what else was given)."""
    if values and isinstance(values[0], HasLevel) and len(values) <= 2:
        level = values[0]._level
        if level.func is not None and level.var is not None:
            return (level.func, max(level.stage, 0)), level.var, values[1:]
    elif len(values) in (2, 3) and isinstance(values[0], HasStage):
        one = values[0]
        var = to_var(values[1], f"{label}.compute_with")
        return (one._function, one._stage), var, values[2:]
    raise ScheduleError(
        f"{label}.compute_with takes a Func or Stage and one of its loops, or a"
        " LoopLevel, and then an alignment",
        at=here(),
    )


def _alignment(
    align: object, label: str
) -> tuple[LoopAlignStrategy, list[tuple[Var, LoopAlignStrategy]]]:
    if isinstance(align, LoopAlignStrategy):
        return align, []
    pairs = list(align.items()) if isinstance(align, dict) else align
    if isinstance(pairs, list | tuple) and all(
        isinstance(p, list | tuple)
        and len(p) == 2
        and isinstance(p[1], LoopAlignStrategy)
        for p in pairs
    ):
        return LoopAlignStrategy.Auto, [
            (to_var(v, f"{label}.compute_with"), how) for v, how in pairs
        ]
    raise ScheduleError(
        f"{label}.compute_with: the alignment is a LoopAlignStrategy, or a list of"
        f" (Var, LoopAlignStrategy), not {align!r}",
        at=here(),
    )


def stage_loops(function: Function, stage: int) -> list[Dim]:
    """The loops of a stage, outermost first."""
    return list(reversed(function.stages()[stage].schedule.dims))


def shared_prefix(function: Function, stage: int, var: Var) -> int | None:
    """How many loops of a stage there are down to `var`; None if it has not that."""
    for i, d in enumerate(stage_loops(function, stage), 1):
        if d.var is var:
            return i
    return None


def fused_stages(
    functions: Sequence[Function],
) -> Iterator[tuple[Function, int, FusedWith]]:
    """The stages that run with another one."""
    for f in functions:
        for k, d in enumerate(f.stages()):
            if d.schedule.fused_with is not None:
                yield f, k, d.schedule.fused_with


# Legality, when all is known.


def check_fused(nests: Nests) -> None:
    """Raises ScheduleError for stages that cannot share loops."""
    found = list(fused_stages(nests.order))
    for f, k, to in found:
        _check_pair(nests, f, k, to)
    if found:
        _check_dependence(nests, found)
        _check_order(found)


def _fail(
    f: Function, k: int, to: FusedWith, why: str, hint: str = ""
) -> ScheduleError:
    what = f"{stage_label(f, k)}.compute_with({stage_label(to.func, to.stage)}, "
    return ScheduleError(f"{what}{var_label(to.var)}): {why}", at=to.site, hint=hint)


def _check_pair(nests: Nests, f: Function, k: int, to: FusedWith) -> None:
    g = to.func
    if g not in nests.order:
        raise _fail(f, k, to, f"{g.name} is not part of the pipeline")
    if to.stage >= len(g.stages()):
        raise _fail(f, k, to, f"{g.name} has no stage {to.stage}")
    for one, stage in ((f, k), (g, to.stage)):
        if nests.inlines(one):
            raise _fail(
                f,
                k,
                to,
                f"{one.name} is inlined and has no loops",
                f"compute it: {one.name}.compute_root(), or compute_at",
            )
        for mode in modes(one):
            raise _fail(f, k, to, mode.alone)
        if one.stages()[stage].schedule.specializations:
            raise _fail(f, k, to, f"{stage_label(one, stage)} is specialized")
    if not (nests.computed[f] or nests.computed[g]):
        return  # nothing reads them, and nothing is computed
    if nests.computed[f] != nests.computed[g] or len(nests.computed[f]) != 1:
        raise _fail(
            f,
            k,
            to,
            f"{f.name} is computed {_place(nests, f)}, and {g.name} {_place(nests, g)}",
            "compute both at the same place",
        )
    own, theirs = (
        shared_prefix(one, stage, to.var) for one, stage in ((f, k), (g, to.stage))
    )
    if to.var is OUTERMOST or own is None or theirs is None:
        lacks = stage_label(*((f, k) if own is None else (g, to.stage)))
        raise _fail(f, k, to, f"{lacks} has no loop {var_label(to.var)}")
    if own != theirs:
        raise _fail(
            f,
            k,
            to,
            f"{var_label(to.var)} is loop {own} of {stage_label(f, k)}, counted from"
            f" the outermost, and loop {theirs} of {stage_label(g, to.stage)}",
        )
    pairs = zip(stage_loops(f, k)[:own], stage_loops(g, to.stage)[:own], strict=True)
    for a, b in pairs:
        if a.var.name != b.var.name:
            raise _fail(
                f,
                k,
                to,
                f"the loop {var_label(a.var)} of {stage_label(f, k)} meets the loop"
                f" {var_label(b.var)} of {stage_label(g, to.stage)}",
                "reorder or rename one of them",
            )
        if a.kind is not b.kind:
            raise _fail(
                f,
                k,
                to,
                f"the loop {var_label(a.var)} is {KIND_WORD[a.kind]} in"
                f" {stage_label(f, k)} and {KIND_WORD[b.kind]} in"
                f" {stage_label(g, to.stage)}",
            )


def _place(nests: Nests, f: Function) -> str:
    stacks = nests.computed[f]
    if len(stacks) > 1:
        return f"in {len(stacks)} places"
    if not stacks:
        return "nowhere, as nothing that is computed reads it"
    if not stacks[0]:
        return "at the root"
    last = stacks[0][-1]
    where = stage_label(last.func, last.stage)
    if last.dim.var is OUTERMOST:
        return f"outside the loops of {where}"
    return f"in the loop {var_label(last.dim.var)} of {where}"


def check_circles(functions: Sequence[Function]) -> None:
    """Raises ScheduleError if a stage shares loops with itself by way of others."""
    for f, k, to in fused_stages(functions):
        seen = {(f, k)}
        at: FusedWith | None = to
        while at is not None:
            if (at.func, at.stage) in seen:
                raise _fail(f, k, to, "stages share each other's loops in a circle")
            seen.add((at.func, at.stage))
            stages = at.func.stages()
            known = at.stage < len(stages)
            at = stages[at.stage].schedule.fused_with if known else None


def groups(found: Sequence[tuple[Function, int, FusedWith]]) -> list[list[Function]]:
    """The Funcs that are computed together, because stages of theirs share loops."""
    group: dict[Function, list[Function]] = {}
    for f, _, to in found:
        one, two = group.setdefault(to.func, [to.func]), group.setdefault(f, [f])
        if one is not two:
            one += two
            group.update(dict.fromkeys(two, one))
    unique = {id(g): g for g in group.values()}
    return list(unique.values())


def _check_dependence(
    nests: Nests, found: Sequence[tuple[Function, int, FusedWith]]
) -> None:
    needs: dict[Function, set[Function]] = {}
    for f in nests.order:
        direct = set(callees(f))
        needs[f] = direct.union(*[needs.get(g, set()) for g in direct])
    for group in groups(found):
        for a in group:
            for b in group:
                if b in needs[a]:
                    f, k, to = next(
                        one
                        for one in found
                        if a in (one[0], one[2].func) or b in (one[0], one[2].func)
                    )
                    raise _fail(f, k, to, f"{a.name} depends on {b.name}")
    _check_groups(nests, found, needs)


def _check_groups(
    nests: Nests,
    found: Sequence[tuple[Function, int, FusedWith]],
    needs: Mapping[Function, Set[Function]],
) -> None:
    """Groups at one place run one after the other."""

    def waits(group: list[Function], other: list[Function]) -> bool:
        together = nests.computed[group[0]] == nests.computed[other[0]]
        return together and any(g in needs[f] for f in group for g in other)

    left = groups(found)
    while left:
        free = [g for g in left if not any(waits(g, h) for h in left if h is not g)]
        if not free:
            f, k, to = next(one for one in found if one[0] in left[0])
            sets = "; ".join([", ".join([m.name for m in g]) for g in left])
            raise _fail(
                f,
                k,
                to,
                "of the Funcs that share loops, each of these sets needs values of"
                f" another one: {sets}",
            )
        left = [g for g in left if g not in free]


def _check_order(found: Sequence[tuple[Function, int, FusedWith]]) -> None:
    """The definitions of each Func must still come in their order."""
    leads = {(f, k): (to.func, to.stage) for f, k, to in found}

    def leader(one: tuple[Function, int]) -> tuple[Function, int]:
        while one in leads:
            one = leads[one]
        return one

    for group in groups(found):
        after: dict[tuple[Function, int], set[tuple[Function, int]]] = {}
        for f in group:
            stages = [leader((f, k)) for k in range(len(f.stages()))]
            for a, b in zip(stages, stages[1:], strict=False):
                after.setdefault(a, set()).add(b)
        left = {
            s for f in group for s in [leader((f, k)) for k in range(len(f.stages()))]
        }
        while left:
            free = {s for s in left if not any(s in after.get(t, ()) for t in left)}
            if not free:
                f, k, to = next(one for one in found if one[0] in group)
                raise _fail(
                    f, k, to, "the definitions of a Func would run in another order"
                )
            left -= free


__all__ = [
    "FusingLoops",
    "check_circles",
    "check_fused",
    "fused_stages",
    "groups",
    "shared_prefix",
]
