"""Which box of each producer a box of a consumer needs, in numbers.

Bounds inference (the 2016 paper, sections 3.3 and 4.1) for the schedulers: symbolic
once per definition, then evaluated for as many candidate tiles at once as they like.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from parhelion.analysis.bounds import SymInterval, bounds_of
from parhelion.analysis.box import narrow
from parhelion.analysis.monotonic import Monotonic, monotonic
from parhelion.autoschedule.pipeline.boxes import boxes_needed
from parhelion.autoschedule.pipeline.edges import steady_choices
from parhelion.autoschedule.pipeline.evaluators import (
    Number,
    compiled,
    greatest,
    least,
    value_of,
)
from parhelion.autoschedule.pipeline.graph import Graph, GraphStage, Source
from parhelion.autoschedule.pipeline.sizes import FAR, Box, Sizes
from parhelion.errors import BoundsError
from parhelion.ir.expr import Expr, Var
from parhelion.ir.function import Function, ReductionDomain, var_label
from parhelion.ir.symbols import BufferSym
from parhelion.schedule.modes import by_loops
from parhelion.types import INT32

#: Inclusive bounds of one dimension, or of one loop: numbers, or arrays of numbers.
Span = tuple[Number, Number]
Spans = tuple[Span, ...]


class Reads:
    """What one definition touches of each of its sources, as a function of its loops.

    boxes(spans): for a span of each loop, in the order of `GraphStage.loops`, the spans
    of each source's dimensions; None where only a run knows. symbolic: the same as
    expressions of `ends`, Vars for the ends of each loop.
    """

    def __init__(self, stage: GraphStage, sizes: Sizes, values: Values) -> None:
        ends = [
            (Var(f"{v.name}.lo", INT32), Var(f"{v.name}.hi", INT32))
            for v in stage.loops
        ]
        scope: Mapping[Var, SymInterval] = {
            v: SymInterval(lo, hi)
            for v, (lo, hi) in zip(stage.loops, ends, strict=True)
        }
        scope = narrow(scope, stage.predicate, values.of)
        found = boxes_needed(stage.exprs, scope, values.of)
        self.symbolic, self.ends = found, dict(zip(stage.loops, ends, strict=True))
        self._ways: dict[object, dict[Source, tuple[Monotonic, ...]]] = {}
        self.sources: tuple[Source, ...] = tuple(found)
        sides = [[(side.lo, side.hi) for side in box] for box in found.values()]
        args = [v for pair in ends for v in pair]
        self._function, known = compiled(sides, args, sizes.lookup)
        #: Those of which only a run knows how far they are read.
        self.open = [s for s, sure in zip(found, known, strict=True) if not sure]
        self._near = self._function
        steady = steady_choices(stage.exprs)
        if steady != stage.exprs:
            inside = boxes_needed(steady, scope, values.of)
            if tuple(inside) == self.sources:
                sides = [[(side.lo, side.hi) for side in b] for b in inside.values()]
                self._near, _ = compiled(sides, args, sizes.lookup)

    def boxes(self, spans: Sequence[Span]) -> Iterable[tuple[Source, Spans]]:
        """The spans of each source that is touched."""
        found = self._function(*[end for span in spans for end in span])
        return zip(self.sources, found, strict=True)

    def inside(self, spans: Sequence[Span]) -> Iterable[tuple[Source, Spans]]:
        """As `boxes`, of points for which choices go the likely way: in the middle of
        an image that is mirrored beyond its edges."""
        found = self._near(*[end for span in spans for end in span])
        return zip(self.sources, found, strict=True)

    def ways(
        self, moving: Mapping[Var, Monotonic]
    ) -> dict[Source, tuple[Monotonic, ...]]:
        """How each dimension of what is touched of each source moves when these loops
        do, as a bound of the compiler's would show it."""
        key = tuple(moving.items())
        found = self._ways.get(key)
        if found is None:
            found = self._ways[key] = {
                source: tuple([self._way((side.lo, side.hi), moving) for side in box])
                for source, box in self.symbolic.items()
            }
        return found

    def _way(
        self, side: tuple[Expr | None, Expr | None], moving: Mapping[Var, Monotonic]
    ) -> Monotonic:
        found: set[Monotonic] = set()
        for e in side:
            if e is None:
                return Monotonic.UNKNOWN
            for loop, way in moving.items():
                found |= {_composed(way, monotonic(e, v)) for v in self.ends[loop]}
        return joint(found)


def _composed(outer: Monotonic, inner: Monotonic) -> Monotonic:
    """How what moves in the way `inner` with something that moves in the way `outer`
    does."""
    if Monotonic.CONSTANT in (outer, inner):
        return Monotonic.CONSTANT
    if Monotonic.UNKNOWN in (outer, inner):
        return Monotonic.UNKNOWN
    return Monotonic.INCREASING if outer is inner else Monotonic.DECREASING


def joint(ways: Iterable[Monotonic]) -> Monotonic:
    """How the hull of what moves in these ways does."""
    moving = set(ways) - {Monotonic.CONSTANT}
    if not moving:
        return Monotonic.CONSTANT
    return moving.pop() if len(moving) == 1 else Monotonic.UNKNOWN


class Values:
    """Bounds of what Funcs hold, for indices that are looked up.

    known: those of another graph of the same pipeline. What a Func holds does not
    depend on what is inlined.
    """

    def __init__(self, graph: Graph, known: Values | None = None) -> None:
        self._graph = graph
        self._known: dict[tuple[GraphStage, int], SymInterval] = (
            {} if known is None else known._known
        )

    def of(self, f: Function, index: int) -> SymInterval:
        stages = self._graph.stages.get(f)
        if stages is None or len(stages) > 1 or not by_loops(f):
            return SymInterval(None, None)
        found = self._known.get((stages[0], index))
        if found is None:
            everywhere = {v: SymInterval(None, None) for v in f.args}
            found = bounds_of(stages[0].values[index], everywhere, self.of)
            self._known[stages[0], index] = found
        return found


class Regions:
    """Boxes of the Funcs and images of one graph.

    bounds: what the outputs' sizes need of each, over the whole run. unknown: where
    that cannot be told, and somebody has to guess: by source or reduction domain, the
    error that says so.
    """

    def __init__(
        self,
        graph: Graph,
        sizes: Sizes,
        known: Regions | None = None,
        guess: int = 0,
    ) -> None:
        """known: the regions of a graph of the same pipeline with fewer Funcs inlined;
        what is needed of the others is the same here. guess: the extent to take where
        there is none to be found; 0, the default, raises BoundsError there."""
        self.graph, self.sizes, self.guess = graph, sizes, guess
        self.unknown: dict[Source | ReductionDomain, BoundsError] = {}
        self._values: Values = Values(graph, None if known is None else known._values)
        self._reads: dict[GraphStage, Reads] = {} if known is None else known._reads
        self._numbers: dict[object, dict[Source, Spans]] = (
            {} if known is None else known._numbers
        )
        self._domains: dict[ReductionDomain, Spans] = (
            {} if known is None else known._domains
        )
        self.bounds: dict[Source, Box] = (
            self._whole() if known is None else known.bounds
        )

    def reads(self, stage: GraphStage) -> Reads:
        found = self._reads.get(stage)
        if found is None:
            found = self._reads[stage] = Reads(stage, self.sizes, self._values)
        return found

    def domain(self, rdom: ReductionDomain | None) -> Spans:
        """The bounds of a reduction's variables. Raises BoundsError where they depend
        on what is not known."""
        if rdom is None:
            return ()
        found = self._domains.get(rdom)
        if found is None:
            made = []
            for v in rdom.vars:
                assert v.lo is not None and v.hi is not None
                ends = [value_of(e, self.sizes.lookup) for e in (v.lo, v.hi)]
                low, high = ends
                if low is None or high is None:
                    self._missing(rdom, _endless(rdom, v))
                    low = 0 if low is None else low
                    high = low + self.guess - 1 if high is None else high
                made.append((int(low), int(high)))
            found = self._domains[rdom] = tuple(made)
        return found

    def loops(self, stage: GraphStage, box: Sequence[Span]) -> Spans:
        """The span of each loop of a stage that computes `box` of its Func."""
        return (*self.domain(stage.rdom), *[box[d] for d in stage.dimensions])

    def touched(self, stage: GraphStage, box: Sequence[Span]) -> dict[Source, Spans]:
        """What a stage needs of each source in order to compute `box` of its Func, away
        from the edges; where only a run knows, what the whole pipeline needs."""
        return self.touched_by(stage, self.loops(stage, box))

    def touched_by(
        self, stage: GraphStage, spans: Sequence[Span]
    ) -> dict[Source, Spans]:
        """As `touched`, for spans of the loops of the stage."""
        reads = self.reads(stage)
        found = dict(reads.inside(spans))
        for source in reads.open:
            found[source] = self._filled(source, found[source])
        return found

    def touched_by_points(self, stage: GraphStage, box: Spans) -> dict[Source, Spans]:
        """As `touched`, for a box of numbers, not of arrays; it is kept."""
        # Some of them may be arrays without dimensions, which are no keys.
        key = stage, tuple([(float(lo), float(hi)) for lo, hi in box])
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = self.touched(stage, box)
        return found

    def needed(
        self,
        members: Sequence[Function],
        wanted: Mapping[Function, Spans],
        keep: bool = False,
    ) -> dict[Source, Spans]:
        """What computing `wanted` needs of everything, through `members` (consumers
        before producers), which are computed just as far as needed. keep: what is known
        of each stage; for numbers only."""
        touched = self.touched_by_points if keep else self.touched
        found: dict[Source, Spans] = {}
        found.update(wanted.items())
        for f in members:
            box = found.get(f)
            if box is None:
                continue
            for stage in self.graph.stages[f]:
                for source, spans in touched(stage, found[f]).items():
                    old = found.get(source)
                    found[source] = spans if old is None else hull(old, spans)
        return found

    def _filled(self, source: Source, spans: Spans) -> Spans:
        """`spans`, with what is not known of them as the whole run needs it."""
        whole = self.bounds[source]
        return tuple(
            [
                (a if lo is None else lo, b if hi is None else hi)
                for (lo, hi), (a, b) in zip(spans, whole, strict=True)
            ]
        )

    def _whole(self) -> dict[Source, Box]:
        bounds: dict[Source, Any] = {}
        bounds.update(self.sizes.outputs.items())
        self.bounds = bounds
        for f in reversed(self.graph.order):
            if f not in bounds:
                continue
            bounds[f] = self._promised(f, bounds[f])
            for stage in self.graph.stages[f]:
                loops = self.loops(stage, bounds[f])
                for source, spans in self.reads(stage).boxes(loops):
                    known = self._known(source, spans)
                    old = bounds.get(source)
                    bounds[source] = known if old is None else hull(old, known)
        return {s: _integers(box) for s, box in bounds.items()}

    def _promised(self, f: Function, box: Spans) -> Spans:
        """What is needed of a Func, by what the user promised of it where he did."""
        made = dict(zip(f.args, box, strict=True))
        for b in f.schedule.bounds:
            if b.min is not None and b.extent is not None:
                low = value_of(b.min, self.sizes.lookup)
                extent = value_of(b.extent, self.sizes.lookup)
                if low is not None and extent is not None:
                    made[b.var] = (int(low), int(low) + int(extent) - 1)
        return tuple(made.values())

    def _known(self, source: Source, spans: Spans) -> Spans:
        """`spans`, with what bounds inference does not know from the user's estimates.

        Raises BoundsError where there is none, and nobody is to guess.
        """
        made = []
        for d, (lo, hi) in enumerate(spans):
            given = self.sizes.estimate(source, d)
            if lo is None or hi is None:
                if given is None:
                    self._missing(source, _unbounded(source, d))
                    given = (0, self.guess - 1)
                lo, hi = given
            elif isinstance(source, BufferSym) and hi - lo >= FAR and given:
                lo, hi = given
            made.append((lo, hi))
        return tuple(made)

    def _missing(self, of: Source | ReductionDomain, error: BoundsError) -> None:
        if not self.guess:
            raise error
        self.unknown.setdefault(of, error)


def hull(a: Spans, b: Spans) -> Spans:
    """The smallest box around both."""
    return tuple(
        [(least(p[0], q[0]), greatest(p[1], q[1])) for p, q in zip(a, b, strict=True)]
    )


def extents(box: Spans) -> tuple[Number, ...]:
    """How long a box is in each dimension; 0 where it ends before it begins."""
    return tuple([greatest(hi - lo + 1, 0) for lo, hi in box])


def points(box: Spans) -> Number:
    """How many points a box has."""
    count: Number = 1
    for extent in extents(box):
        count = count * extent
    return count


def _integers(box: Spans) -> Box:
    return tuple([(int(lo), max(int(lo), int(hi))) for lo, hi in box])


def _endless(rdom: ReductionDomain, v: Var) -> BoundsError:
    return BoundsError(
        f"the automatic scheduler cannot tell how far {var_label(v)} runs: its bounds"
        " depend on what only a run knows",
        at=rdom.site,
        hint="give the Params and images that they mention estimates",
    )


def _unbounded(source: Source, d: int) -> BoundsError:
    name = source.name
    var = source.args[d].name if isinstance(source, Function) else f"dimension {d}"
    return BoundsError(
        f"the automatic scheduler cannot tell what region of {name} is needed in {var}:"
        " it is read where only a run knows",
        at=source.site,
        hint=f"give {name} an estimate: set_estimate or set_estimates",
    )


__all__ = ["Reads", "Regions", "Span", "Spans", "extents", "hull", "points"]
