"""Checks that directives make when they are given.

Each raises `ScheduleError` with the user's line and the alternatives, and changes
nothing. What depends on more than one Func is checked in `schedule.legality`, when
the pipeline is lowered.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from parhelion.errors import ScheduleError, Site, here
from parhelion.ir.build import const_int
from parhelion.ir.expr import Expr, Var
from parhelion.ir.function import Definition, Function, var_label
from parhelion.ir.stmt import ForKind
from parhelion.ir.symbols import COORDINATE_LIMIT
from parhelion.ir.text import brief
from parhelion.schedule import deps
from parhelion.schedule.args import is_rvar, nameable
from parhelion.schedule.associativity import AssociativeFold, fold_of
from parhelion.schedule.branches import branch_label, branch_of, path_of
from parhelion.schedule.directives import (
    Dim,
    DimType,
    Fuse,
    Rename,
    Split,
    StageSchedule,
)
from parhelion.schedule.running_sums import is_running_sum

KIND_WORD = {
    ForKind.SERIAL: "serial",
    ForKind.PARALLEL: "parallel",
    ForKind.VECTORIZED: "vectorized",
    ForKind.UNROLLED: "unrolled",
    ForKind.GPU_BLOCK: "gpu_block",
    ForKind.GPU_THREAD: "gpu_thread",
    ForKind.GPU_LANE: "gpu_lane",
}


#: Where Python notes what it has shown, so that each warning is shown once; and of how
#: many it is known (a process may make pipelines without end, each with its own names).
_WARNED: dict[str | tuple[str, type[Warning], int], int] = {}
_MOST_WARNED = 4096

#: The largest factor of a split, and the largest alignment: extents rounded up to it
#: stay coordinates. Nor do prefetches look further ahead, or storage have more copies.
MOST_FACTOR = 1 << 20
#: The largest size that is promised of a region or of storage.
MOST_COORDINATE = COORDINATE_LIMIT


class ScheduleWarning(UserWarning):
    """The warning that a directive is legal but has no effect, or undoes another one.

    >>> import warnings
    >>> f = hl.Func("f")
    >>> f[x] = x
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", hl.ScheduleWarning)
    ...     f.never_partition()
    Traceback (most recent call last):
        ...
    parhelion.schedule.rules.ScheduleWarning: f.never_partition() has no effect: ...
    """


#: How many warnings were given: what is warned of is warned of whenever it is lowered,
#: so that its code is not kept for other processes.
given = 0


def warn(what: str, at: Site | None) -> None:
    """Warns of a directive that has no effect, at the user's line."""
    global given
    given += 1
    show_once(what, ScheduleWarning, at)


def show_once(what: str, kind: type[Warning], at: Site | None) -> None:
    """Shows a warning at the user's line, unless it was shown before."""
    if at is None:
        warnings.warn(what, kind, stacklevel=3)
        return
    if len(_WARNED) > _MOST_WARNED and (what, kind, at.line) not in _WARNED:
        _WARNED.clear()
    warnings.warn_explicit(what, kind, at.file, at.line, registry=_WARNED)


def stage_label(function: Function, stage: int) -> str:
    """``f`` for the pure definition, ``f.update(1)`` for the second update, and what
    makes a branch of it: ``f.specialize(p == 2)``."""
    label = function.label if stage == 0 else f"{function.label}.update({stage - 1})"
    stages = function.stages()
    if stage < len(stages):
        label = stages[stage].known_as or label
    if path_of(stage):
        label += branch_label(stages[stage], stage)
    return label


def definition_of(function: Function, stage: int) -> Definition:
    """The definition that a directive is for, with the schedule of the branch that
    `stage` means. Raises ScheduleError if the Func has none, or if another directive
    has moved what it computes into another Func."""
    stages = function.stages()
    if not stages:
        raise ScheduleError(
            f"{function.name} cannot be scheduled before it is defined", at=here()
        )
    by, label = stages[stage].moved_by, stage_label(function, stage)
    if by:
        raise ScheduleError(
            f"{label} cannot be scheduled any more: {by} has moved what it computes"
            " into a Func of its own, with the directives that it had",
            at=here(),
            hint=f"give {label} its directives before {by}",
        )
    return branch_of(stages[stage], stage)


def loop_label(schedule: StageSchedule, v: Var) -> str:
    """`var_label`, and for a loop that has no Var of the user's, where it is from."""
    for t in schedule.transforms:
        if isinstance(t, Split) and t.inner is v and not nameable(v):
            return f"{v.name} (split off {var_label(t.old)})"
    return var_label(v)


def loop_names(schedule: StageSchedule) -> list[str]:
    """The loops of a stage that a user can name, innermost first."""
    return [var_label(d.var) for d in schedule.dims if nameable(d.var)]


def loops_line(schedule: StageSchedule) -> str:
    names = loop_names(schedule)
    return "loops, innermost first: " + (", ".join(names) if names else "none")


def find_dim(function: Function, stage: int, v: Var, directive: str) -> int:
    """The position of the loop `v` in the stage, innermost being 0."""
    schedule = definition_of(function, stage).schedule
    for i, d in enumerate(schedule.dims):
        if d.var is v:
            return i
    label = stage_label(function, stage)
    raise ScheduleError(
        f"{label}.{directive}: {label} has no loop {var_label(v)}",
        at=here(),
        legal=loop_names(schedule) or ["(it has no loops)"],
        hint=gone_hint(schedule, v),
    )


def commutes(function: Function, d: Definition, *, exact: bool = True) -> bool:
    """Whether the update folds integers with an operation of which any order gives
    the same, perhaps on several values together; unless `exact`, also floats, whose
    last bits depend on the order."""
    if deps.order_free(function, d, exact=exact):
        return True
    if exact and any(t.is_float() for t in function.types):
        return False
    fold = None if deps.self_calls(function, d.guard) else folded(function, d)
    return fold is not None and fold.commutative


def folded(function: Function, d: Definition) -> AssociativeFold | None:
    """The operation by which an update folds, as far as its values tell."""
    return fold_of(function, d.args, d.values)


def gone_hint(schedule: StageSchedule, v: Var) -> str:
    """What became of a loop that an earlier directive replaced; empty if there was none
    such."""
    for t in reversed(schedule.transforms):
        where = f" at {t.site}" if t.site is not None else ""
        if isinstance(t, Split) and t.old is v:
            made = f"{var_label(t.outer)} and {var_label(t.inner)}"
            by = "" if t.directive == "split" else f" by {t.directive}"
            return f"{var_label(v)} was split into {made}{by}{where}"
        if isinstance(t, Fuse) and v in (t.inner, t.outer):
            return f"{var_label(v)} was fused into {t.fused.name}{where}"
        if isinstance(t, Rename) and t.old is v:
            return f"{var_label(v)} was renamed to {t.new.name}{where}"
    same = [d.var for d in schedule.dims if d.var.name == v.name]
    if same:
        kinds = ("an RVar", "a Var") if is_rvar(same[0]) else ("a Var", "an RVar")
        if is_rvar(same[0]) != is_rvar(v):
            return f"the loop {var_label(v)} is {kinds[0]}; {kinds[1]} was given"
        return f"another RDom's variable of the same name {var_label(v)} is a loop here"
    return ""


def check_new_var(
    function: Function, stage: int, new: Var, old: Sequence[Var], directive: str
) -> None:
    """A name made by split, fuse or rename must not be a loop of the stage yet."""
    schedule = definition_of(function, stage).schedule
    if any(d.var is new for d in schedule.dims) and all(new is not o for o in old):
        label = stage_label(function, stage)
        raise ScheduleError(
            f"{label}.{directive}: {var_label(new)} is already a loop of {label}",
            at=here(),
            detail=loops_line(schedule),
            hint="give the new loop a name of its own",
        )


def check_same_kind(
    function: Function, stage: int, old: Var, new: Var, directive: str
) -> None:
    """RVars become RVars, and Vars become Vars."""
    if is_rvar(old) == is_rvar(new):
        return
    label = stage_label(function, stage)
    one, other = ("RVar", "Var") if is_rvar(old) else ("Var", "RVar")
    raise ScheduleError(
        f"{label}.{directive}: the {one} {var_label(old)} cannot become the {other}"
        f" {var_label(new)}",
        at=here(),
        hint=f"make it with hl.{one}({new.name!r})",
    )


def check_factor(function: Function, stage: int, factor: Expr, directive: str) -> None:
    """A constant factor must be positive, and small enough to round up to."""
    value = const_int(factor)
    if value is not None and value > MOST_FACTOR:
        raise ScheduleError(
            f"{stage_label(function, stage)}.{directive}: the factor {value} is more "
            f"than {MOST_FACTOR}",
            at=here(),
        )
    if value is not None and value <= 0:
        raise ScheduleError(
            f"{stage_label(function, stage)}.{directive}: the factor must be positive,"
            f" not {value}",
            at=here(),
        )


def check_order(
    function: Function, stage: int, new: Sequence[Dim], directive: str
) -> None:
    """Impure reduction loops may only change their order where that is proven safe.

    new: the loops as they would stand, innermost first, under their present names.
    """
    definition = definition_of(function, stage)
    schedule = definition.schedule
    if schedule.allow_race_conditions or (schedule.atomic and not schedule.keeps_order):
        return
    impure = [d for d in new if d.type is DimType.IMPURE_RVAR]
    place = {d.var: i for i, d in enumerate(schedule.dims)}
    for i, a in enumerate(impure):
        for b in impure[i + 1 :]:
            if place[a.var] < place[b.var]:
                continue
            if commutes(function, definition):
                return
            label = stage_label(function, stage)
            raise ScheduleError(
                f"{label}.{directive}: {var_label(a.var)} cannot move inside"
                f" {var_label(b.var)}: the order of their iterations decides the"
                " result",
                at=here(),
                detail=_reason(function, definition),
                hint="RVars may be reordered where their iterations touch different"
                " places, or where the update folds integers with +, *, min, max,"
                " &, | or ^; allow_race_conditions() takes the responsibility",
            )


def check_lanes(function: Function, stage: int, v: Var, directive: str) -> None:
    """A loop to vectorize or unroll must not have a length known only at run time."""
    schedule = definition_of(function, stage).schedule
    for t in reversed(schedule.transforms):
        if isinstance(t, Split) and t.inner is v and const_int(t.factor) is None:
            label = stage_label(function, stage)
            raise ScheduleError(
                f"{label}.{directive}: {v.name} has the length of the split that made"
                " it, which is not a constant",
                at=here(),
                detail=f"{var_label(t.old)} was split at {t.site}" if t.site else "",
            )
        if v in _made_by(t):
            return


def _made_by(t: Split | Fuse | Rename) -> tuple[Var, ...]:
    if isinstance(t, Split):
        return (t.outer, t.inner)
    return (t.fused,) if isinstance(t, Fuse) else (t.new,)


def check_kind(
    function: Function, stage: int, dim: Dim, kind: ForKind, directive: str
) -> None:
    """A loop whose iterations depend on each other runs one iteration at a time."""
    definition = definition_of(function, stage)
    if (
        dim.type is not DimType.IMPURE_RVAR
        or not kind.concurrent
        or definition.schedule.allow_race_conditions
    ):
        return
    order_kept = definition.schedule.keeps_order
    if definition.schedule.atomic and (not order_kept or kind is ForKind.VECTORIZED):
        return
    label = stage_label(function, stage)
    raise ScheduleError(
        f"{label}.{directive}: {var_label(dim.var)} cannot be {KIND_WORD[kind]}:"
        " its iterations depend on each other",
        at=here(),
        detail=_reason(function, definition),
        legal=[
            var_label(d.var)
            for d in definition.schedule.dims
            if d.type is not DimType.IMPURE_RVAR and nameable(d.var)
        ],
        hint=_ways_out(function, definition, kind),
    )


def _ways_out(function: Function, definition: Definition, kind: ForKind) -> str:
    """What makes a loop parallel whose iterations depend on each other."""
    if kind is ForKind.VECTORIZED and is_running_sum(function, definition):
        return "atomic(), given before, sums a vector in steps"
    if commutes(function, definition, exact=False):
        return "atomic(), given before, makes each update happen as a whole"
    return "allow_race_conditions() takes the responsibility"


def _reason(function: Function, definition: Definition) -> str:
    """A sentence on the first two conflicting accesses of an update."""
    found = deps.conflicts(
        function, definition.args, definition.values, definition.rdom
    )
    for conflict in found.values():
        if conflict is None:
            continue
        write = _place(function, conflict.write)
        if conflict.reads:
            other = _place(function, conflict.other)
            if conflict.other == conflict.write:
                return f"iterations may read and write the same {write}"
            return f"one iteration writes {write}, another may read it as {other}"
        return f"several iterations may write the same {write}"
    return "fused or split loops inherit the order of the RVars they came from"


def _place(function: Function, args: tuple[Expr, ...]) -> str:
    return f"{function.name}[{', '.join(brief(a, 60) for a in args)}]"
