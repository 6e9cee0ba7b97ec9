"""Which tail strategies a split may have, and which one Auto is.

A split of ``x`` into ``xo * factor + xi`` runs ``xi`` through all of its factor, so
where that does not divide the extent of ``x`` something must happen to the iterations
beyond its end. Pure definitions allow anything, because a point may be computed twice
or in vain; updates and reductions have to run each of their points exactly once.
"""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.errors import ScheduleError, here
from parhelion.ir.build import const_int
from parhelion.ir.expr import Expr, Var
from parhelion.ir.function import Function, var_label
from parhelion.ir.stmt import ForKind
from parhelion.schedule.args import nameable
from parhelion.schedule.branches import schedules
from parhelion.schedule.directives import (
    Dim,
    DimType,
    Fuse,
    Rename,
    Split,
    StageSchedule,
    TailStrategy,
)
from parhelion.schedule.rules import KIND_WORD

_T = TailStrategy

#: Those that read what is there, and write it back where the tail is.
BLENDS = frozenset((_T.ShiftInwardsAndBlend, _T.RoundUpAndBlend))

#: Those that make the outer loop's last iterations fall back onto earlier ones.
SHIFTS = frozenset((_T.ShiftInwards, _T.ShiftInwardsAndBlend))

#: Those that store nothing beyond what was asked for.
KEEP_WRITES = frozenset((_T.GuardWithIf, _T.Predicate, _T.PredicateStores))

#: Those under which an RVar runs through its domain and no more.
_EXACT = frozenset((_T.GuardWithIf, _T.Predicate))


def choose_tail(
    schedule: StageSchedule,
    stage: int,
    dim: Dim,
    factor: Expr,
    tail: TailStrategy,
    what: str,
) -> TailStrategy:
    """`tail` if the loop `dim` of definition number `stage` may be split with it, and
    the best one for Auto.

    Pure definitions shift inwards: whatever is recomputed has the same value. Where
    the loop is itself the outer loop of such a split, of a factor at least as large,
    rounding up only repeats its last iteration. Updates must not run an iteration
    twice, so that they are guarded.

    what: the directive, for messages: ``f.update(0).split``.
    """
    if tail is _T.Auto:
        if stage > 0:
            return _T.GuardWithIf
        covered = _shifted_factor(schedule, dim.var)
        size = const_int(factor)
        if covered is not None and size is not None and covered >= size:
            return _T.RoundUp
        return _T.ShiftInwards
    reason = objection(schedule, stage, dim, tail)
    if reason:
        raise ScheduleError(
            f"{what}: TailStrategy.{tail.name} {reason}",
            at=here(),
            legal=[
                t.name
                for t in (_T.Auto, *[t for t in _T if t is not _T.Auto])
                if t is _T.Auto or not objection(schedule, stage, dim, t)
            ],
        )
    return tail


def objection(schedule: StageSchedule, stage: int, dim: Dim, tail: TailStrategy) -> str:
    """Why a loop cannot be split with `tail`; empty if it can."""
    old = var_label(dim.var)
    if dim.type is not DimType.PURE_VAR:
        if tail in _EXACT:
            return ""
        return f"would run iterations outside the domain of the RVar {old}"
    if tail is _T.ShiftInwards and stage > 0:
        return "would update some places twice"
    inner = _is_inner(schedule.transforms, dim.var)
    if tail is _T.RoundUp and stage > 0 and inner:
        return (
            f"of {old}, which is the inner loop of another split, would update some"
            " places twice"
        )
    if tail is _T.PredicateLoads and inner:
        return (
            f"of {old}, which is the inner loop of another split, would overwrite"
            " values with what was not loaded"
        )
    if tail in BLENDS:
        shared = roots(schedule).get(dim.var, frozenset((dim.var,)))
        for other in schedule.dims:
            if other.kind.threaded and _meets(schedule, other.var, shared):
                return (
                    "reads and writes back values that another task of the"
                    f" {KIND_WORD[other.kind]} loop {var_label(other.var)} may be"
                    " writing"
                )
    return ""


def check_parallel(schedule: StageSchedule, dim: Dim, what: str) -> None:
    """A loop whose tasks would blend values of each other must not be parallel."""
    mine = roots(schedule).get(dim.var, frozenset((dim.var,)))
    for t in schedule.transforms:
        if isinstance(t, Split) and t.tail in BLENDS:
            # By what the split was of when it was made: names may come again later.
            if mine & blended_roots(schedule, t):
                old = var_label(t.old)
                raise ScheduleError(
                    f"{what}: {var_label(dim.var)} cannot be parallel: {old} was split"
                    f" with TailStrategy.{t.tail.name}, which reads and writes back"
                    " values that another task may be writing",
                    at=here(),
                    detail=f"{old} was split at {t.site}" if t.site else "",
                    legal=[
                        var_label(d.var)
                        for d in schedule.dims
                        if nameable(d.var)
                        and d.type is not DimType.IMPURE_RVAR
                        and not _blended(schedule, d.var)
                    ],
                )


def _blended(schedule: StageSchedule, v: Var) -> bool:
    mine = roots(schedule).get(v, frozenset((v,)))
    return any(
        bool(mine & blended_roots(schedule, t))
        for t in schedule.transforms
        if isinstance(t, Split) and t.tail in BLENDS
    )


def _meets(schedule: StageSchedule, v: Var, shared: frozenset[Var]) -> bool:
    return bool(roots(schedule).get(v, frozenset((v,))) & shared)


def roots(
    schedule: StageSchedule, before: Split | None = None
) -> dict[Var, frozenset[Var]]:
    """The variables of the definition that each loop is made of; one that no transform
    has touched is made of itself, and absent. `before`: as it was before that split."""
    found: dict[Var, frozenset[Var]] = {}

    def of(v: Var) -> frozenset[Var]:
        return found.pop(v, frozenset((v,)))

    for t in schedule.transforms:
        if t is before:
            break
        if isinstance(t, Split):
            found[t.outer] = found[t.inner] = of(t.old)
        elif isinstance(t, Fuse):
            found[t.fused] = of(t.inner) | of(t.outer)
        else:
            found[t.new] = of(t.old)
    return found


def blended_roots(schedule: StageSchedule, split: Split) -> frozenset[Var]:
    """The variables of the definition that a split of the schedule is about."""
    return roots(schedule, split).get(split.old, frozenset((split.old,)))


def colliding_roots(schedule: StageSchedule) -> frozenset[Var]:
    """The variables of the definition for which two lanes of vectors may be about one
    point, as tails overlap: all whose vectorised loop is not inner all the way."""
    spread: set[Var] = set()
    for t in schedule.transforms:
        if isinstance(t, Split):
            if t.old in spread:
                spread.add(t.inner)
            else:
                spread.discard(t.inner)
            spread.add(t.outer)
        elif isinstance(t, Fuse):
            spread.add(t.fused)
        elif t.old in spread:
            spread.add(t.new)
        else:
            spread.discard(t.new)
    made_of = roots(schedule)
    out: set[Var] = set()
    for d in schedule.dims:
        if d.kind is ForKind.VECTORIZED and d.var in spread:
            out |= made_of.get(d.var, frozenset((d.var,)))
    return frozenset(out)


def _shifted_factor(schedule: StageSchedule, v: Var) -> int | None:
    """The factor of the ShiftInwards split that `v` descends from the outer loop of."""
    covered: dict[Var, int] = {}
    for t in schedule.transforms:
        if isinstance(t, Split):
            above = covered.pop(t.old, None)
            size = const_int(t.factor)
            if t.tail is _T.ShiftInwards and size is not None:
                covered[t.outer] = size
            elif above is not None:
                covered[t.outer] = covered[t.inner] = above
        elif isinstance(t, Rename):
            above = covered.pop(t.old, None)
            if above is not None:
                covered[t.new] = above
    return covered.get(v)


def overrun(name: str, outputs: Sequence[Function]) -> ScheduleError:
    """The error of a schedule that writes beyond each buffer of its outputs, however
    large: an iteration of a split writes more than all that its outer loop is for."""
    for f in outputs:
        for stage in (b for d in f.stages() for b in schedules(d.schedule)):
            for k, t in enumerate(stage.transforms):
                if isinstance(t, Split) and _overruns(stage.transforms[:k], t):
                    return _overrun(name, t)
    return ScheduleError(
        f"the schedule of {name!r} writes outside of any buffer",
        hint="give its splits TailStrategy.GuardWithIf",
    )


def _overruns(before: Sequence[Split | Fuse | Rename], split: Split) -> bool:
    """Whether a split that is made after others writes beyond its old loop, an inner
    loop of theirs."""
    if split.tail in KEEP_WRITES or not _is_inner(before, split.old):
        return False
    factor = const_int(split.factor)
    for t in reversed(before):
        if isinstance(t, Split) and t.inner is split.old:
            size = const_int(t.factor)
            return factor is None or size is None or size % factor != 0
    return True


def _overrun(name: str, split: Split) -> ScheduleError:
    old, where = var_label(split.old), "after its end"
    if split.tail in SHIFTS:
        where = "before its beginning, where the factor is more than its extent"
    return ScheduleError(
        f"the schedule of {name!r} writes outside of any buffer: TailStrategy."
        f"{split.tail.name} of {old}, the inner loop of another split, writes {where}",
        at=split.site,
        hint=f"split {old} with TailStrategy.GuardWithIf, or by a factor that divides"
        " its extent",
    )


def _is_inner(transforms: Sequence[Split | Fuse | Rename], v: Var) -> bool:
    """Whether the loop `v` comes from the inner loop of a split."""
    inner: set[Var] = set()
    for t in transforms:
        if isinstance(t, Split):
            was = t.old in inner
            inner.discard(t.old)
            inner.add(t.inner)
            if was:
                inner.add(t.outer)
        elif isinstance(t, Rename) and t.old in inner:
            inner.discard(t.old)
            inner.add(t.new)
        elif isinstance(t, Fuse) and (t.inner in inner or t.outer in inner):
            inner -= {t.inner, t.outer}
            inner.add(t.fused)
    return v in inner
