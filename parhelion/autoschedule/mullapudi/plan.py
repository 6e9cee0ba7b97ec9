"""A plan by the 2016 paper's algorithm: what it decides, and the directives.

Its steps: numbers of each Func (section 4.1, `model`), inlining (4.3, `inlining`),
grouping and tiling (4.2, `groups`), and the directives (4.4, `loopnests`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import field, replace
from math import inf

import numpy as np

from parhelion.autoschedule.calls import FuncArg
from parhelion.autoschedule.mullapudi.groups import (
    Allowed,
    Group,
    Grouping,
    Shapes,
    Tile,
)
from parhelion.autoschedule.mullapudi.inlining import Inlines
from parhelion.autoschedule.mullapudi.loopnests import Name, Wishes, write_loops
from parhelion.autoschedule.mullapudi.model import Model
from parhelion.autoschedule.mullapudi.model import Sizes as Rows
from parhelion.autoschedule.mullapudi.params import Limits
from parhelion.autoschedule.mullapudi.tiles import innermost, tile_sizes
from parhelion.autoschedule.pipeline.evaluators import Number
from parhelion.autoschedule.pipeline.freedom import Freedom
from parhelion.autoschedule.pipeline.graph import Graph, GraphStage, TooLong, can_inline
from parhelion.autoschedule.pipeline.growth import Growth
from parhelion.autoschedule.pipeline.regions import Regions, extents
from parhelion.autoschedule.pipeline.sizes import Sizes
from parhelion.autoschedule.script import Script
from parhelion.dataclass import dataclass
from parhelion.ir.expr import Var
from parhelion.ir.function import Function
from parhelion.schedule.directives import Place
from parhelion.schedule.modes import by_loops
from parhelion.schedule.order import callees, realization_order

#: The extent of what nobody knows.
GUESS = 64


@dataclass(frozen=True)
class Forced:
    """What has been decided beforehand, to see what else would come of it.

    inlined: by Func. merged: by producer, its consumer, None for not at all. tiles: by
    definition, None for no tiling. first: by definition, the loop that is next to the
    innermost.
    """

    inlined: Mapping[Function, bool] = field(default_factory=dict)
    merged: Mapping[Function, Function | None] = field(default_factory=dict)
    tiles: Mapping[tuple[Function, int], Tile | None] = field(default_factory=dict)
    first: Mapping[tuple[Function, int], int] = field(default_factory=dict)


def anything(stage: GraphStage) -> bool:
    """Of any definition."""
    return True


@dataclass(frozen=True)
class Style:
    """What of the algorithm is used; the paper's comparisons leave out parts of it.

    free_inlining: only what is computed once is inlined. merges: whether Funcs are
    grouped. tiles_reductions: whether updates are tiled by themselves. reorders:
    whether loops are. shapes: the tile sizes to try. analysed: of which definitions,
    the others are by themselves and untiled. outermost: whether just the outermost loop
    is parallel, however few tasks that makes. allowed: which tiles may be had, all if
    None.
    """

    free_inlining: bool = False
    merges: bool = True
    tiles_reductions: bool = True
    reorders: bool = True
    shapes: Shapes = tile_sizes
    analysed: Callable[[GraphStage], bool] = anything
    outermost: bool = False
    allowed: Allowed | None = None

    def tasks(self, params: Limits) -> int:
        """How many parallel iterations there are to be."""
        return 2 if self.outermost else params.parallelism_threshold


#: The paper's algorithm, whole.
PUBLISHED = Style()


class Plan:
    """What the paper's algorithm makes of a pipeline; nothing of it is applied.

    notes: what could not be analysed, a sentence each.
    """

    def __init__(
        self,
        outputs: Sequence[Function],
        sizes: Sizes,
        params: Limits,
        forced: Forced | None = None,
        style: Style = PUBLISHED,
    ) -> None:
        self.style = style
        self.outputs, self.sizes, self.params = tuple(outputs), sizes, params
        self.forced = forced or Forced()
        self.freedom = Freedom(self.outputs)
        self.notes: list[str] = []
        graph, regions = self._bounded()
        first = Model(graph, regions)
        points = {
            (f, s.index): first.points(s) for f in graph.order for s in graph.stages[f]
        }
        unread = _unread(graph)
        keep = [f for f in graph.order if not self.freedom.inline(f) or f in unread]
        self.inlines = Inlines(
            graph, points, params.load_cost, keep, self.forced.inlined
        )
        self.inlines.run(free_only=style.free_inlining)
        self.graph = self._with_inlined(graph)
        self.model = Model(self.graph, Regions(self.graph, sizes, regions, GUESS))
        self.unread = _unread(self.graph)
        self.growth = Growth(self.model.regions)
        solid = [f for f in self.graph.order if self._solid(f)]
        self.grouping = Grouping(
            self.model,
            params,
            keep=[f for f in self.graph.order if self._stays(f)],
            solid=solid,
            forced=self.forced.merged,
            shapes=style.shapes,
            reductions=style.tiles_reductions,
            allowed=style.allowed,
        )
        if style.merges:
            self.grouping.run()

    def _with_inlined(self, graph: Graph) -> Graph:
        """The graph with what pays inlined.

        Definitions share other parts when all is put together at once than when it was
        put in one after the other: where one is too long, the last decisions go.
        """
        while True:
            inlined = graph.inlined | frozenset(self.inlines.inlined)
            try:
                return Graph.of(self.outputs, inlined, graph.known)
            except TooLong:
                if not self.inlines.inlined:
                    raise
                self.inlines.take_back()

    def _bounded(self) -> tuple[Graph, Regions]:
        """The pipeline before anything is decided, and what is needed of each Func.

        Where nobody can tell that, a Func is inlined if it may be, which is always
        legal; if not, something is guessed, and a note says so.
        """
        asked = set(self.freedom.inlined)
        while True:
            graph = Graph.of(self.outputs, asked)
            regions = Regions(graph, self.sizes, guess=GUESS)
            lost = {
                f
                for f in regions.unknown
                if isinstance(f, Function) and self.freedom.inline(f)
            }
            if not lost:
                break
            for f in graph.order:
                if f in lost:
                    self.notes.append(f"{regions.unknown[f].what}, so it is inlined")
            asked |= lost
        for error in regions.unknown.values():
            self.notes.append(f"{error.what}; {GUESS} is taken for its extent")
        return graph, regions

    def _stays(self, f: Function) -> bool:
        """Whether a Func must not be computed in the tiles of another one."""
        analysed = all(map(self.style.analysed, self.graph.stages[f]))
        nested = self.freedom.nest(f) and not self.freedom.has_loops(f)
        return not (analysed and nested) or f in self.unread

    def _solid(self, f: Function) -> bool:
        """Whether the loops of a Func are given, one of its definitions' at least."""
        analysed = all(map(self.style.analysed, self.graph.stages[f]))
        return not analysed or f in self.freedom.named or self.freedom.has_loops(f)

    @property
    def cost(self) -> float:
        return sum(g.cost for g in self.grouping.groups.values())

    # Section 4.4.

    def script(self) -> Script:
        """The directives."""
        script = Script(self.outputs)
        for f in reversed(self.graph.order):
            group = self.grouping.groups.get(f)
            if group is not None:
                self._write_group(script, group)
        for f in self.unread:
            if f not in self.graph.stages and self.freedom.move(f):
                script.add(f, -1, "compute_root")
        script.acknowledge()
        return script

    def again(self, forced: Forced) -> Plan:
        """What the algorithm makes of the pipeline with this decided beforehand."""
        return type(self)(self.outputs, self.sizes, self.params, forced, self.style)

    def with_loops(self, forced: Forced) -> Script:
        """The directives with other tiles or orders of loops; what else is forced does
        not count, as the groups stay as they are."""
        other = copy(self)
        other.forced = replace(self.forced, tiles=forced.tiles, first=forced.first)
        return other.script()

    def _write_group(self, script: Script, group: Group) -> None:
        g = group.output
        if self.freedom.move(g):
            script.add(g, -1, "compute_root")
        if not by_loops(g):
            return
        at: Name | None = None
        for stage, tiled in zip(self.graph.stages[g], group.stages, strict=True):
            if (g, stage.index) in self.freedom.looped:
                continue
            tile = self.forced.tiles.get((g, stage.index), tiled.tile)
            members = group.members if stage.index == group.host else []
            wishes = Wishes(
                self.model.extents(stage),
                self.params.lanes(self.model.bits(stage)),
                tile,
                self.loop_reuse(group, stage) if self.style.reorders else None,
                0 if g in self.freedom.windows else self.style.tasks(self.params),
                self.freedom.named.get(g, ()),
                self._rounds(stage),
            )
            level = write_loops(script, stage, wishes)
            if members:
                at = level
        if group.members:
            self._write_members(script, group, at)

    def given(self, stage: GraphStage) -> bool:
        """Whether the loops of a definition are the user's."""
        f = stage.func
        return (f, stage.index) in self.freedom.looped or f in self.freedom.named

    def movable(self, stage: GraphStage) -> list[int]:
        """The loops that may be next to the innermost; reductions keep their order."""
        inner = innermost(stage)
        extents = self.model.extents(stage)
        rank = len(stage.rvars)
        last = [d for d in range(rank) if extents[d] > 1][1:]
        return [
            d
            for d, extent in enumerate(extents)
            if extent > 1 and d != inner and d not in last
        ]

    def loop_reuse(self, group: Group, stage: GraphStage) -> list[float]:
        """By loop of a group's output, how much of the group's inputs one step along it
        uses again."""
        members = group.members if stage.index == group.host else []
        reuse = [float(n) for n in self.model.overlap(stage, members, outside=True)]
        first = self.forced.first.get((group.output, stage.index))
        if first is not None:
            reuse[first] = inf
        return reuse

    def _write_members(self, script: Script, group: Group, at: Name | None) -> None:
        host = self.graph.stages[group.output][group.host]
        tile = group.stages[group.host].tile
        assert tile is not None
        tile = self.forced.tiles.get((group.output, group.host), tile) or tile
        spans = self.model.tiles(host, _row(tile))
        boxes = self.model.boxes(host, group.members, spans)
        for f in group.members:
            if at is None:
                script.add(f, -1, "compute_root")
            else:
                script.add(f, -1, "compute_at", FuncArg(group.output), at)
            if f not in boxes:
                continue
            for stage in self.graph.stages[f]:
                if (f, stage.index) in self.freedom.looped:
                    continue
                loops = extents(self.model.regions.loops(stage, boxes[f]))
                wishes = Wishes(
                    [max(1, int(_one(n))) for n in loops],
                    self.params.lanes(self.model.bits(stage)),
                    reuse=self._member_reuse(stage),
                    named=self.freedom.named.get(f, ()),
                    rounds=self._rounds(stage),
                )
                write_loops(script, stage, wishes)

    def _rounds(self, stage: GraphStage) -> list[Var]:
        """The loops of a Func with updates that may go past what is asked for."""
        f = stage.func
        if not f.updates:
            return []
        return [
            v
            for d, v in enumerate(f.args)
            if v in stage.pure and self.growth.harmless(f, d)
        ]

    def _member_reuse(self, stage: GraphStage) -> list[float] | None:
        """Of members only updates are reordered, so that vectors go inside."""
        if not stage.index or not self.style.reorders:
            return None
        return list(self.model.overlap(stage, (), outside=True))


def _unread(graph: Graph) -> list[Function]:
    """Funcs that are mentioned where their values are not used: by a value of a Tuple
    that nobody reads, say. By the rules such a mention is a use, which the graph does
    not know, so that these Funcs are best at root."""
    users: dict[Function, set[Function]] = {}
    reached: dict[Function, set[Function]] = {}
    order = realization_order(graph.outputs)
    in_memory = {g for f in order if not by_loops(f) for g in callees(f)}
    for f in order:
        found = {h for g in callees(f) for h in reached[g]}
        dead = f not in graph.stages and f not in in_memory
        dead = dead and can_inline(f, graph.outputs)
        if f in graph.inlined or (dead and f.schedule.compute.place is Place.INLINED):
            reached[f] = found
            continue
        reached[f] = {f}
        users[f] = set()
        for h in found:
            users[h].add(f)
    return [
        f
        for f in order
        if f in users
        and f not in graph.outputs
        and users[f] != set(graph.consumers.get(f, ()))
    ]


def _row(tile: Tile) -> Rows:
    return np.asarray([tile], dtype=np.int64)


def _one(n: Number) -> int:
    return int(np.max(n))


__all__ = ["Forced", "Plan", "Style"]
