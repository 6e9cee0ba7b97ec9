"""What compiled code checks of a schedule's numbers, before any pixel is computed.

Directives take expressions of Params and of the sizes of images: factors, extents,
numbers of copies. Loops, storage and bounds are made of them as of constants, which
were checked when they were given. So these are checked when the code starts, before
even the region is found that it needs: a loop split by 0 would run not at all, and
storage of a negative extent would be written past its end.

Each number alone is checked by `number_checks`, in 64 bits where it is the result of
arithmetic. Of what several make together (splits of splits, fused loops, copies of
storage) `add_loop_checks` and `add_ring_check` see that it needs no more than 32 bits.
"""

from __future__ import annotations

from functools import partial

from parhelion.analysis.interval import constant_interval
from parhelion.ir.build import (
    FALSE,
    add,
    const_int,
    int64,
    is_const,
    land,
    le,
    lnot,
    lor,
    maximum,
    minimum,
    mul,
    sub,
)
from parhelion.ir.expr import LE, Cast, Expr, Imm, Min, StringImm, Var
from parhelion.ir.function import Function, var_label
from parhelion.ir.stmt import Assert
from parhelion.lower.overflow import OverflowChecks
from parhelion.lower.regions import Regions
from parhelion.lower.stages import LoopStage, StagedPipeline
from parhelion.schedule.directives import Fuse, Rename, Split
from parhelion.schedule.modes import by_loops
from parhelion.schedule.numbers import (
    Number,
    numbers_of,
    ring_key,
    transform_key,
    used_when,
)
from parhelion.schedule.rules import MOST_FACTOR
from parhelion.types import INT32, INT64, Handle

_LEAST, _MOST = -(1 << 31), (1 << 31) - 1
#: More than any loop may count, and times a factor still a number of 64 bits.
_FAR = 1 << 40
_NONE: Expr = int64(0)


def number_checks(program: StagedPipeline) -> list[Assert]:
    """Asserts that the numbers which only runs know are what their directives take."""
    known = dict.fromkeys([program.origin.get(f, f) for f in program.order])
    return [check for f in known for n in numbers_of(f) for check in _checks(n)]


def _checks(n: Number) -> list[Assert]:
    value = _wide(n.value)
    unused = lnot(n.condition)
    told = (_text(n.key), _text(n.directive), _text(n.what), _shown(n.value, value))
    low = "number_not_positive" if n.least == 1 else "number_below"
    # Built by hand: what is known of the value is not to decide about the check.
    return [
        Assert(lor(unused, LE(int64(n.least), value)), low, (*told, int64(n.least))),
        Assert(
            lor(unused, LE(value, int64(n.most))),
            "number_above",
            (*told, int64(n.most)),
        ),
    ]


def _wide(value: Expr) -> Expr:
    """A number in 64 bits: the value that the user's expression would have if 32-bit
    arithmetic did not wrap."""
    if isinstance(value, Cast) and value.a.type.is_int_or_uint():
        given = value.a
        if given.type.width == 64 and given.type.is_uint():
            given = Min(given, Imm(given.type, 1 << 62))
        if given.type is not INT32:
            return Cast(INT64, given)
        value = given
    return OverflowChecks().wide(value)


def _shown(value: Expr, wide: Expr) -> Expr:
    """What the user is told of a number: an unsigned one that 64 bits with a sign do
    not hold is told as it is."""
    given = value.a if isinstance(value, Cast) else value
    return given if given.type.is_uint() and given.type.width == 64 else wide


def _text(value: str) -> StringImm:
    return StringImm(Handle(), value)


def add_loop_checks(regions: Regions, stage: LoopStage) -> None:
    """Adds asserts that the loops of a stage count in 32 bits, where that is in doubt:
    that no fused loop is longer, and that splits of splits go no further.

    A split goes up to its factor less one beyond what was asked for, for which
    coordinates leave room (`COORDINATE_LIMIT`). A split of its outer loop multiplies
    what that goes beyond.
    """
    transforms = stage.schedule.transforms
    if not transforms or not by_loops(stage.func):
        return
    found = _Beyond(regions, stage)
    for place, t in reversed(list(enumerate(transforms))):
        found.undo(t, place)
    found.finish()


class _Beyond:
    """How far the loops of a stage may go beyond what was asked for, found by undoing
    its splits and fuses from the last to the first.

    amount: of each loop, in 64 bits. deep: the loops of which that is the work of
    more than one split, with the place of the first.
    """

    def __init__(self, regions: Regions, stage: LoopStage) -> None:
        self.regions, self.stage = regions, stage
        self.nest = regions.loops(stage)
        self.checks = OverflowChecks()
        self.amount: dict[Var, Expr] = {d.var: _NONE for d in stage.schedule.dims}
        self.deep: dict[Var, int] = {}
        f = regions.program.origin.get(stage.func, stage.func)
        self.key = partial(transform_key, f, stage.index, stage.branch)
        self.label = ""
        self.unused: Expr = FALSE
        for label, schedule, used in used_when(
            f, stage.index, stage.definition.schedule
        ):
            if schedule is stage.schedule:
                self.label, self.unused = label, lnot(used)

    def undo(self, t: Split | Fuse | Rename, place: int) -> None:
        if isinstance(t, Rename):
            self._hand_on(t.new, t.old)
        elif isinstance(t, Fuse):
            self._check_fused(t, place)
            self._hand_on(t.fused, t.outer)
            self.amount[t.inner] = _NONE
        else:
            self._unsplit(t, place)

    def _hand_on(self, new: Var, old: Var) -> None:
        beyond, deep = self.amount.pop(new), self.deep.pop(new, None)
        self.amount[old] = beyond
        if deep is not None:
            self.deep[old] = deep

    def _unsplit(self, t: Split, place: int) -> None:
        outer, inner = self.amount.pop(t.outer), self.amount.pop(t.inner)
        self.deep.pop(t.outer, None), self.deep.pop(t.inner, None)
        factor = _cut(self.checks.wide(t.factor))
        more = add(mul(outer, factor), inner)
        self.amount[t.old] = _cut(add(more, sub(factor, int64(1))))
        if not (is_const(outer, 0) and is_const(inner, 0)):
            self.deep[t.old] = place

    def _check_fused(self, t: Fuse, place: int) -> None:
        beyond = self.amount[t.fused]
        total: Expr = int64(1)
        reach = 1
        for size in self.nest.fused[t]:
            total = mul(total, maximum(self.checks.wide(size), _NONE))
            reach *= self.checks.reach(size)
        known = constant_interval(beyond).hi
        if known is not None and reach + known <= _MOST:
            return
        count = add(total, beyond)
        told = (*self._told(place, t.fused), count)
        self._add(le(count, int64(_MOST)), "loop_too_long", told)

    def finish(self) -> None:
        """What the stage's own variables come to."""
        sites = self.regions.sites
        for v, place in self.deep.items():
            beyond = self.amount[v]
            known = const_int(beyond)
            if known is not None and known <= MOST_FACTOR:
                continue
            told = (*self._told(place, v), beyond)
            if sites.compute(self.stage.func) is not sites.root:
                # Of what is computed further in, so much is known before.
                fits = lor(self.unused, le(beyond, int64(_MOST)))
                sites.root.checks.append(Assert(fits, "loop_too_far", told))
            r = self.nest.nominal[v]
            low = sub(self.checks.wide(r.lo), beyond)
            high = add(self.checks.wide(r.hi), beyond)
            fits = land(le(int64(_LEAST), low), le(high, int64(_MOST)))
            self._add(fits, "loop_too_far", told)

    def _told(self, place: int, v: Var) -> tuple[Expr, ...]:
        return (_text(self.key(place)), _text(self.label), _text(var_label(v)))

    def _add(self, fits: Expr, code: str, told: tuple[Expr, ...]) -> None:
        site = self.regions.sites.compute(self.stage.func)
        site.checks.append(Assert(lor(self.unused, fits), code, told))


def _cut(e: Expr) -> Expr:
    """`e`, made so small that its product with a factor is exact in 64 bits."""
    known = constant_interval(e)
    if known.hi is not None and known.hi <= _FAR:
        return e
    return minimum(e, int64(_FAR))


def add_ring_check(regions: Regions, f: Function, size: Expr, ring: Expr) -> None:
    """Adds an assert, if it is in doubt, that the copies of a ring buffer, of `size`
    coordinates each, are together no longer than a dimension can be."""
    checks = OverflowChecks()
    if checks.reach(size) * checks.reach(ring) <= _MOST:
        return
    count, each = checks.wide(ring), checks.wide(size)
    fits = le(mul(maximum(each, _NONE), _cut(count)), int64(_MOST))
    told = (
        _text(ring_key(regions.program.origin.get(f, f))),
        _text(f.label),
        count,
        each,
    )
    regions.sites.hoist(f).checks.append(Assert(fits, "ring_too_large", told))


__all__ = ["add_loop_checks", "add_ring_check", "number_checks"]
