"""Fusion: which stages are computed where their values are used (paper, section 3.1).

A stage is merged into the one that reads it if nothing is computed twice then: it has
one outgoing edge, and is read at one place for each point, with any offset and scale.
(The paper takes the point itself alone; of what is sampled, the rest need not even be
computed.) Boundary conditions under which the points at an edge are read several times
count as several places. Parts of a compose are such reads, and crops are none at all:
who reads a crop reads what it is of. Merging gives others a single reader, so that it
is repeated until nothing changes. What remains of the DAG are groups: the last stage of
each is stored, all others exist within it alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from parhelion.dataclass import dataclass
from parhelion.forma.accesses import reach_of
from parhelion.forma.composing import MOST_PHASES, periods
from parhelion.forma.results import computed_in_place
from parhelion.forma.sizes import Size, Sizes
from parhelion.forma.stages import (
    Apply,
    BoundaryKind,
    Compose,
    Crop,
    Graph,
    Input,
    Output,
    Source,
    Stage,
)
from parhelion.forma.terms import Access
from parhelion.ir import build
from parhelion.ir.deep import run_deep
from parhelion.ir.expr import Imm
from parhelion.simplify.simplifier import simplify

_ZERO = build.int32(0)

#: What reads a stage: another one, or an output that takes its values.
Reader = Stage | Output


#: A place along each dimension: ``offset + i * scale``.
Along = tuple[tuple[Size, int], ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Where is read, of a point. through: the part of a compose, whose own points are
    counted then, and the number of the place where that compose is read."""

    along: Along
    through: tuple[Stage, int, int] | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """A stage that is read, by whom, and where. once: whether no point is read twice.
    part: of a compose, as which it is read."""

    stage: Stage
    reader: Reader
    along: Along
    once: bool
    part: int | None


@dataclass(frozen=True, slots=True)
class Group:
    """Stages that are computed together, in order; what is stored is the last one, or
    the output that takes its values. periods: after how many points, in each dimension,
    the choices of composes in it repeat."""

    stages: tuple[Stage, ...]
    stored: Reader
    periods: tuple[int, ...]

    @property
    def name(self) -> str:
        return self.stored.name


@dataclass(frozen=True, slots=True)
class Fusion:
    """What became of a graph. groups: in the order of their last stages. passes: the
    stages that were merged in each pass over the graph."""

    groups: tuple[Group, ...]
    passes: tuple[tuple[Stage, ...], ...]

    @property
    def stages(self) -> tuple[Stage, ...]:
        """All stages that compute something."""
        return tuple([stage for group in self.groups for stage in group.stages])


def fuse(graph: Graph, merging: bool = True) -> Fusion:
    """Merges the stages of a graph until nothing can be merged. merging: whether stages
    are merged into each other; else each is a group, with the output that it is for."""
    return run_deep(lambda: _Fuser(graph).run(merging))


def edges_of(graph: Graph) -> Mapping[Stage, Sequence[Edge]]:
    """By whom each stage that computes something is read, and where."""
    return run_deep(lambda: _Fuser(graph).edges)


class _Fuser:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.sizes = Sizes()
        in_place = computed_in_place(graph)
        self.stages = [s for s in graph.needed() if isinstance(s, Apply | Compose)]
        #: What others may be merged into, by their reader.
        self.copies = [one for one in graph.outputs if one not in in_place]
        self.edges: dict[Stage, list[Edge]] = {stage: [] for stage in self.stages}
        for edge in self._all_edges():
            self.edges[edge.stage].append(edge)
        #: The callers' own: they are stored in any case.
        self.fixed = {one.source.stage for one in in_place}
        #: Whom a stage is merged into, and where that reads it.
        self.into: dict[Reader, tuple[Reader, Place]] = {}
        self.periods: dict[Reader, tuple[int, ...]] = {}
        self.numbers: dict[Place, int] = {}
        self.places: list[Place] = []

    def run(self, merging: bool) -> Fusion:
        for reader in (*self.stages, *self.copies):
            self.periods[reader] = _own_periods(reader)
        passes = []
        while True:
            merged = [s for s in self.stages if self._merge(s, merging)]
            if not merged:
                break
            passes.append(tuple(merged))
        members: dict[Reader, list[Stage]] = {}
        for stage in self.stages:
            members.setdefault(self._home(stage)[0], []).append(stage)
        stored: list[Reader] = [s for s in self.stages if s not in self.into]
        stored += self.copies
        return Fusion(
            tuple(
                [
                    Group(tuple(members.get(one, ())), one, self.periods[one])
                    for one in stored
                ]
            ),
            tuple(passes),
        )

    # Edges

    def _all_edges(self) -> Iterator[Edge]:
        for stage in self.stages:
            if isinstance(stage, Apply):
                yield from self._reads(stage)
            elif isinstance(stage, Compose):
                for k, part in enumerate(stage.parts):
                    point = (Access(0),) * part.source.dimensions
                    yield from self._edge(part.source, stage, point, part=k)
        for one in self.copies:
            point = (Access(0),) * one.source.dimensions
            yield from self._edge(one.source, one, point)

    def _reads(self, stage: Apply) -> Iterator[Edge]:
        for read in stage.body.reads:
            source = stage.arguments[read.source]
            kind = stage.boundaries[read.source].kind
            once = kind in (BoundaryKind.NONE, BoundaryKind.CONSTANT)
            if not once:
                along = zip(read.at, stage.sizes, source.sizes, strict=True)
                once = not any([self._leaves(*one) for one in along])
            yield from self._edge(source, stage, read.at, once)

    def _leaves(self, at: Access, own: Size, read: Size) -> bool:
        reach = reach_of(at, own, read, self.sizes)
        return reach.below or reach.above

    def _edge(
        self,
        source: Source,
        reader: Reader,
        at: Sequence[Access],
        once: bool = True,
        part: int | None = None,
    ) -> Iterator[Edge]:
        """The edge from a domain, or from what it is cut from; none from inputs. part:
        of a compose, as which it is read."""
        along: list[tuple[Size, int]] = [(build.int32(a.offset), a.scale) for a in at]
        while isinstance(source.stage, Crop):
            crop = source.stage
            along = [
                (simplify(build.add(offset, first)), scale)
                for (offset, scale), first in zip(along, crop.first, strict=True)
            ]
            source = crop.source
        if not isinstance(source.stage, Input):
            yield Edge(source.stage, reader, tuple(along), once, part)

    # Merging

    def _home(self, reader: Reader) -> tuple[Reader, Place]:
        """What a stage is in, and where that reads it."""
        path = []
        while reader in self.into:
            path.append(reader)
            reader = self.into[reader][0]
        if not path:
            return reader, Place(((_ZERO, 1),) * _dimensions(reader))
        place = self.into[path.pop()][1]
        for below in reversed(path):
            place = self._within(place, self.into[below][1])
            self.into[below] = (reader, place)
        return reader, place

    def _read_at(self, outer: Place, edge: Edge) -> Place:
        """Where is read what an edge leads to from what is read at `outer`."""
        if edge.part is None:
            return self._within(outer, Place(edge.along))
        assert isinstance(edge.reader, Compose)
        return Place(edge.along, (edge.reader, edge.part, self._number(outer)))

    def _within(self, outer: Place, inner: Place) -> Place:
        """Where is read what is read at `inner` by what is read at `outer`."""
        if inner.through is not None:
            stage, part, number = inner.through
            number = self._number(self._within(outer, self.places[number]))
            return Place(inner.along, (stage, part, number))
        along = []
        for (a, scale), (b, times) in zip(outer.along, inner.along, strict=True):
            offset = simplify(build.add(build.mul(a, build.int32(times)), b))
            along.append((offset, scale * times))
        return Place(tuple(along), outer.through)

    def _number(self, place: Place) -> int:
        """The number of a place: deep ones are compared by it."""
        number = self.numbers.setdefault(place, len(self.places))
        if number == len(self.places):
            self.places.append(place)
        return number

    def _merge(self, stage: Stage, merging: bool) -> bool:
        """Whether a stage is merged now into the one that reads it, or, if they are not
        to be merged, into an output."""
        if stage in self.into or stage in self.fixed or not self.edges[stage]:
            return False
        own = self.periods[stage]
        if isinstance(stage, Compose) and periods(stage) is None:
            return False
        places: dict[tuple[Reader, Place], None] = {}
        for edge in self.edges[stage]:
            if not edge.once or not (merging or isinstance(edge.reader, Output)):
                return False
            home, outer = self._home(edge.reader)
            places[home, self._read_at(outer, edge)] = None
            if len(places) > 1:
                return False
        ((home, place),) = places
        together = self._joined(home, place, own)
        if together is None:
            return False
        self.periods[home] = together
        self.into[stage] = (home, place)
        return True

    def _joined(
        self, home: Reader, place: Place, inner: tuple[int, ...]
    ) -> tuple[int, ...] | None:
        """The periods of a group with those of a stage that is read in it; None where
        loops cannot be unrolled by them, so that choices would be left in them."""
        before = self.periods[home]
        if all([p == 1 for p in inner]):
            return before
        if place.through is not None:
            return None
        found = []
        for p, q, (offset, scale) in zip(before, inner, place.along, strict=True):
            if q > 1 and not isinstance(offset, Imm):
                return None
            found.append(math.lcm(p, q // math.gcd(q, scale)))
        return tuple(found) if math.prod(found) <= MOST_PHASES else None


def _dimensions(reader: Reader) -> int:
    return (reader.source if isinstance(reader, Output) else reader).dimensions


def _own_periods(reader: Reader) -> tuple[int, ...]:
    found = periods(reader) if isinstance(reader, Compose) else None
    return found or (1,) * _dimensions(reader)


__all__ = ["Edge", "Fusion", "Group", "Place", "Reader", "edges_of", "fuse"]
