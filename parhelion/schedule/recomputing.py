"""How often a pipeline without a schedule computes the same values again.

Nothing scheduled means that everything is inlined, which newcomers find out by its
slowness. The factor of a Func is how many of its values the outputs of given sizes
compute, over how many `compute_root` would compute: those of the box that is needed.
It is found from the definitions alone, before anything is compiled, in time linear in
their size (`footprint`).
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterable, Mapping, Sequence

from parhelion.dataclass import dataclass
from parhelion.errors import ScheduleError, Site
from parhelion.ir.deep import run_deep
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import Var
from parhelion.ir.function import Definition, Function
from parhelion.ir.names import plain_name
from parhelion.ir.rewrite import free_vars
from parhelion.schedule.directives import FuncSchedule, StageSchedule
from parhelion.schedule.footprint import Box, Tracer, hull, is_known, volume, work
from parhelion.schedule.order import realization_order
from parhelion.schedule.placement import placement_of
from parhelion.schedule.rules import show_once
from parhelion.schedule.spans import Span

#: What is recomputed more often than this is warned of.
MOST_OFTEN = 16

#: Operations and loads that are no dearer than the load that would replace them.
_CHEAP = 1

#: At how many iterations a reduction's condition is tried.
_TRIALS = 64
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)

#: The first output of each pipeline that has been warned of.
_WARNED_OF: weakref.WeakSet[Function] = weakref.WeakSet()


class RecomputeWarning(UserWarning):
    """The warning that a pipeline without any schedule computes the same values many
    times over.

    >>> import warnings
    >>> f, g = hl.funcs("f g")
    >>> f[x] = hl.sqrt(x) / 2
    >>> g[x] = hl.sum(f[x + hl.RDom([(0, 50)])])
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", hl.RecomputeWarning)
    ...     g.realize([100])
    Traceback (most recent call last):
        ...
    parhelion.schedule.recomputing.RecomputeWarning: ...
    """


@dataclass(frozen=True, slots=True)
class Recomputed:
    """A Func, and how many times as many of its values are computed as are needed."""

    func: Function
    factor: float


def unscheduled(functions: Iterable[Function]) -> bool:
    """Whether no directive at all was given, to none of the Funcs."""
    return all(
        _is_plain(f) and not any(_has_directives(d.schedule) for d in f.stages())
        for f in functions
    )


def _is_plain(f: Function) -> bool:
    s = f.schedule
    # Estimates and tracing say nothing about where and when to compute.
    return s == FuncSchedule(
        storage_order=tuple(range(f.dimensions)),
        estimates=s.estimates,
        coverage=s.coverage,
        trace_stores=s.trace_stores,
        trace_loads=s.trace_loads,
        trace_realizations=s.trace_realizations,
        trace_tags=s.trace_tags,
    )


def _has_directives(s: StageSchedule) -> bool:
    return s.touched or bool(
        s.transforms or s.specializations or s.prefetches or s.fused_with
    )


def recomputed(
    outputs: Sequence[Function],
    boxes: Mapping[Function, Box],
    constants: Mapping[Var, int],
) -> dict[Function, float]:
    """The factor of each Func of an unscheduled pipeline, where it is known.

    boxes: the region of each output. constants: integer Params, the bounds of images.
    """
    return run_deep(lambda: _Factors(outputs, boxes, constants).found())


def worst(
    outputs: Sequence[Function],
    boxes: Mapping[Function, Box],
    constants: Mapping[Var, int],
) -> tuple[Recomputed | None, float]:
    """What is recomputed most, if it is more than `MOST_OFTEN` times, and how many
    values are computed in all beyond those that are needed. Funcs that are as cheap to
    compute as to load do not count."""

    def find() -> tuple[Recomputed | None, float]:
        factors = _Factors(outputs, boxes, constants)
        found = factors.found()
        often = [f for f, n in found.items() if n > MOST_OFTEN and factors.is_dear(f)]
        if not often:
            return None, 0.0
        most = max(often, key=found.__getitem__)
        return Recomputed(most, found[most]), sum([factors.excess[f] for f in often])

    return run_deep(find)


class _Factors:
    """The count of everything, consumers first."""

    def __init__(
        self,
        outputs: Sequence[Function],
        boxes: Mapping[Function, Box],
        constants: Mapping[Var, int],
    ) -> None:
        order = [f for f in reversed(realization_order(outputs)) if f.defined]
        self.outputs = frozenset(outputs)
        self.looped = frozenset(
            [f for f in order if not placement_of(f, outputs).substituted]
        )
        self.order = order
        self.tracer = Tracer(order, self.looped, constants)
        self.boxes: dict[Function, Box] = dict(boxes)
        self._find_boxes()
        self._costs: dict[Function, int] = {}
        #: How many values of each Func are computed beyond those that are needed; known
        #: when the factors are.
        self.excess: dict[Function, float] = {}

    def _find_boxes(self) -> None:
        """What is needed of each Func in all: bounds inference, in numbers."""
        for f in self.order:
            if f not in self.boxes:
                continue
            for d in f.stages():
                scope = self._scope(f, d, self.boxes[f])
                if self._trips(d) == 0:
                    continue
                for g, box in self.tracer.demand(f, d, scope).items():
                    known = self.boxes.get(g)
                    self.boxes[g] = box if known is None else hull(known, box)

    def cost(self, f: Function) -> int:
        """The operations and loads of a value of an inlined Func, counted until they
        are more than `_CHEAP`."""
        found = self._costs.get(f)
        if found is None:
            assert f.pure is not None
            found = work(f.pure.values)
            for g, _ in self.tracer.reads(f, f.pure).calls:
                if found > _CHEAP:
                    break
                found += 1 if g in self.looped else self.cost(g)
            self._costs[f] = found
        return found

    def is_dear(self, f: Function) -> bool:
        """Whether computing a value is more than loading it would be."""
        return f in self.looped or self.cost(f) > _CHEAP

    def _scope(self, f: Function, d: Definition, box: Box) -> dict[Var, Span]:
        """Where the Vars of a definition lie."""
        scope: dict[Var, Span] = dict(zip(f.args, box, strict=True))
        if d.rdom is not None:
            for v in d.rdom.vars:
                assert v.lo is not None and v.hi is not None
                lo, hi = self.tracer.constant(v.lo), self.tracer.constant(v.hi)
                scope[v] = None if lo is None or hi is None else (lo[0], hi[1])
        return scope

    def _trips(self, d: Definition) -> float:
        """The iterations of the reduction domain; 1 for what is not known."""
        total = 1.0
        for extent in () if d.rdom is None else d.rdom.extents:
            span = self.tracer.constant(extent)
            total *= 1 if span is None else max(span[0], 0)
        return total

    def _share(self, f: Function, d: Definition, scope: Mapping[Var, Span]) -> float:
        """The part of the iterations that the reduction's condition lets through; none
        if pixels decide that, so that what is warned of is sure."""
        cond = self.tracer.reads(f, d).predicate
        known = self.tracer.known
        spans = {v: s for v, s in {**known, **scope}.items() if v in free_vars(cond)}
        if (
            None in spans.values()
            or len(spans) > len(_PRIMES)
            or not is_known(cond, spans)
        ):
            return 0.0
        if not spans:
            return float(bool(evaluate(cond, {})))
        held = 0
        for k in range(_TRIALS):
            # Spread evenly, each Var by an irrational step of its own.
            at = {
                v: s[0] + int((k + 0.5) * math.sqrt(prime) % 1 * (s[1] - s[0] + 1))
                for prime, (v, s) in zip(_PRIMES, spans.items(), strict=False)
                if s is not None
            }
            held += bool(evaluate(cond, at))
        return held / _TRIALS

    def found(self) -> dict[Function, float]:
        """The factors."""
        values: dict[Function, float] = {}
        #: How often each Func with loops is computed, by the extents that are.
        times: dict[Function, dict[tuple[int, ...], float]] = {}
        factors: dict[Function, float] = {}
        for f in self.outputs:
            box = self.boxes[f]
            times[f] = {tuple([_extent(s) for s in box]): 1.0}
        for f in self.order:
            if f not in self.boxes:
                continue
            box = self.boxes[f]
            if f not in self.looped:
                points = volume(box)
                if points and f in values:
                    factors[f] = values[f] / points
                    self.excess[f] = values[f] - points
                continue
            if f not in times:
                continue
            for k, d in enumerate(f.stages()):
                pure = [
                    n for n, v in enumerate(f.args) if k == 0 or d.args[n] is v
                ]  # the dimensions whose loops the stage has
                count = sum(
                    n * math.prod([extents[i] for i in pure])
                    for extents, n in times[f].items()
                )
                at_once = volume(tuple([box[i] for i in pure]))
                if at_once and f not in self.outputs:
                    factors[f] = max(factors.get(f, 0.0), count / at_once)
                scope = self._scope(f, d, box)
                iterations = self._trips(d) * self._share(f, d, scope)
                if f not in self.outputs:
                    more = (count - at_once) * iterations
                    self.excess[f] = self.excess.get(f, 0.0) + more
                count *= iterations
                if not count:
                    continue
                middle = {v: _middle(s) for v, s in scope.items()}
                taken = self.tracer.footprint(f, d, middle, scope)
                for g, n in taken.counts.items():
                    values[g] = values.get(g, 0.0) + count * n
                for g, extents in taken.boxes.items():
                    mine = times.setdefault(g, {})
                    if g not in self.outputs:
                        mine[extents] = mine.get(extents, 0.0) + count
        return factors


def _extent(s: Span) -> int:
    return 1 if s is None else max(s[1] - s[0] + 1, 0)


def _middle(s: Span) -> int:
    return 0 if s is None else (s[0] + s[1]) // 2


def check_recomputed(
    outputs: Sequence[Function],
    boxes: Mapping[Function, Box],
    constants: Mapping[Var, int],
    at: Site | None,
    repair: str,
    limit: int,
) -> None:
    """Warns at the user's line, once for each pipeline, if it recomputes too much.

    repair: the call that schedules the whole pipeline, where there is one. limit: how
    many values may be computed beyond those that are needed; above it, raises
    ScheduleError.
    """
    found, excess = worst(outputs, boxes, constants)
    if found is None:
        return
    if excess > limit:
        raise ScheduleError(
            f"{_diagnosis(outputs[0], found)}, which is {shown(excess)} values more"
            f" than are needed; the limit is {limit:,}",
            at=at,
            hint=f"one call repairs it: {_repair(found, repair)}; or raise the limit:"
            f" hl.set_recompute_limit({_above(excess)})",
        )
    if outputs[0] not in _WARNED_OF:
        _WARNED_OF.add(outputs[0])
        show_once(message(outputs[0], found, repair), RecomputeWarning, at)


def _above(excess: float) -> str:
    """A round number above it."""
    return f"10 ** {math.ceil(math.log10(excess))}"


def message(output: Function, found: Recomputed, repair: str = "") -> str:
    """What the warning says. `compute_root` repairs the worst and may leave the next
    one, so that a call that schedules all is named in its place."""
    return f"{_diagnosis(output, found)}; one call repairs it: {_repair(found, repair)}"


def _diagnosis(output: Function, found: Recomputed) -> str:
    return (
        f"{output.label} has no schedule, so that everything is computed where it is"
        f" used: {found.func.label} about {shown(found.factor)} times for each of its"
        " values"
    )


def _repair(found: Recomputed, whole: str) -> str:
    """The call that helps: one that schedules all, where there is one."""
    return whole or f"{plain_name(found.func.label)}.compute_root()"


def shown(factor: float) -> str:
    """A factor in two digits, or as it is to the next whole number."""
    if factor < 100:
        return str(round(factor))
    digits = 1 - math.floor(math.log10(factor))
    return f"{round(factor, digits):,.0f}"


__all__ = [
    "MOST_OFTEN",
    "RecomputeWarning",
    "Recomputed",
    "check_recomputed",
    "recomputed",
    "unscheduled",
    "worst",
]
