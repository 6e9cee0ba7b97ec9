"""Grouping with joint tiling: the 2016 paper's section 4.2, Listings 1 and 2.

A group is a Func, its output, computed at the pipeline's root, and the Funcs that are
computed in the loops over tiles of one of its definitions. Groups are merged as long
as that pays, the greatest benefit first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import field

import numpy as np

from parhelion.autoschedule.mullapudi.model import Floats, Model, Sizes, counts
from parhelion.autoschedule.mullapudi.params import Limits
from parhelion.autoschedule.mullapudi.tiles import VECTORS, tile_sizes
from parhelion.autoschedule.pipeline.graph import GraphStage
from parhelion.dataclass import dataclass
from parhelion.ir.function import Function
from parhelion.schedule.modes import by_loops

#: The extents of a tile, one for each loop of a definition.
Tile = tuple[int, ...]


@dataclass
class Tiled:
    """The tile of one definition: None is the paper's SINGLE_ELEMENT_TILE, no tiling.
    cost: of the whole definition, with the members of its group."""

    tile: Tile | None
    cost: float


@dataclass(eq=False)
class Group:
    """output: the Func at root. stages: of each of its definitions, the tile. host:
    which definition has `members` in its tiles; they are consumers first."""

    output: Function
    stages: list[Tiled]
    host: int = 0
    members: list[Function] = field(default_factory=list)

    @property
    def cost(self) -> float:
        return sum(s.cost for s in self.stages)


@dataclass(frozen=True)
class Choice:
    """A tile that was considered, and what the definition costs under it."""

    tile: Tile | None
    cost: float


@dataclass(frozen=True)
class Merge:
    """Merging the group of `producer` into that of `consumer`, at one of its stages.

    apart: what the two cost if they are not merged. choices: the tiles that fit, the
    best first.
    """

    producer: Function
    consumer: Function
    host: int
    members: tuple[Function, ...]
    apart: float
    choices: tuple[Choice, ...]

    @property
    def benefit(self) -> float:
        return self.apart - self.choices[0].cost if self.choices else -1.0


#: Gives the sizes to try for a stage, from its extents and its reuse.
Shapes = Callable[[GraphStage, tuple[int, ...], Floats, int], Sizes]
#: Tells which tiles of loops of these extents, a row for each, may be had, whatever
#: they cost.
Allowed = Callable[[tuple[int, ...], Sizes], Sizes]
#: How many of the best tiles are kept to be shown.
KEPT = 4


class Grouping:
    """The groups of a graph.

    keep: Funcs that must stay at root. solid: Funcs whose definitions must not be
    tiled, so that they cannot have members. forced: by producer, the consumer that it
    is to be merged with, or None for not at all. shapes: the tile sizes to try.
    reductions: whether updates are tiled by themselves. allowed: which tiles may be
    had, all if None.
    """

    def __init__(
        self,
        model: Model,
        params: Limits,
        *,
        keep: Collection[Function] = (),
        solid: Collection[Function] = (),
        forced: Mapping[Function, Function | None] | None = None,
        shapes: Shapes = tile_sizes,
        reductions: bool = True,
        allowed: Allowed | None = None,
    ) -> None:
        self.allowed = allowed
        self.reductions = reductions
        self.model, self.params, self.shapes = model, params, shapes
        self.keep, self.solid = keep, solid
        self.forced = forced or {}
        self.order = {f: k for k, f in enumerate(model.graph.order)}
        #: Who tiled what at first, for `decisions`.
        self.singles: dict[tuple[Function, int], tuple[Choice, ...]] = {}
        self.groups: dict[Function, Group] = {}
        self.owner: dict[Function, Function] = {}
        self.merges: list[Merge] = []
        self._known: dict[Function, Merge | None] = {}
        for f in model.graph.order:
            self.groups[f] = Group(f, [self.single(s) for s in model.graph.stages[f]])
            self.owner[f] = f

    # Listing 1.

    def single(self, stage: GraphStage) -> Tiled:
        """A definition by itself, tiled for the reuse of its inputs if it is no pure
        one."""
        model, load_cost = self.model, self.params.load_cost
        extents = model.extents(stage)
        points = model.points(stage)
        arithmetic = model.work(stage).arithmetic * points
        untiled = points * sum(model.loads(stage).values())
        plain = Choice(None, arithmetic + load_cost * untiled)
        if not (self.reductions and stage.index and extents):
            return Tiled(None, plain.cost)
        if stage.func in self.solid:
            return Tiled(None, plain.cost)
        sizes = self._sizes(stage)
        tile = model.tile_cost(stage, (), model.tiles(stage, sizes))
        number = np.prod(counts(extents, sizes).astype(np.float64), axis=1)
        cost = arithmetic + load_cost * number * tile.loads
        fits = self._fits(stage, sizes, tile.footprint)
        choices = _best(sizes, cost, fits, plain)
        self.singles[stage.func, stage.index] = choices
        return Tiled(choices[0].tile, choices[0].cost)

    def _sizes(self, stage: GraphStage) -> Sizes:
        extents = self.model.extents(stage)
        lanes = self.params.lanes(self.model.bits(stage))
        return self.shapes(stage, extents, self.model.reuse(stage), VECTORS * lanes)

    def _fits(self, stage: GraphStage, sizes: Sizes, footprint: Floats) -> Sizes:
        """Which tiles fit into the cache, and leave enough of them to be parallel."""
        rank = len(stage.rvars)
        number = counts(self.model.extents(stage), sizes)[:, rank:]
        tasks = np.prod(number.astype(np.float64), axis=1)
        fits = (tasks >= self.params.parallelism_threshold) & (
            footprint <= self.params.cache_size
        )
        if self.allowed is not None:
            fits = fits & self.allowed(self.model.extents(stage), sizes)
        return np.asarray(fits, dtype=np.int64)

    # Listing 2.

    def candidate(self, f: Function) -> tuple[Group, int] | None:
        """The group that is the only one that consumes a Func, and the stage of its
        output in whose tiles the Func would be computed; None if there is none."""
        graph = self.model.graph
        if f in self.keep or f in graph.outputs or not by_loops(f):
            return None
        owners = {self.owner[c] for c in graph.consumers[f]}
        if len(owners) != 1:
            return None
        group = self.groups[owners.pop()]
        g = group.output
        if not by_loops(g) or g in self.solid:
            return None
        hosts = {s.index for s in graph.stages[g] if f in s.sources()}
        if group.members:
            hosts.add(group.host)
        if len(hosts) != 1:
            return None
        (host,) = hosts
        return (group, host) if graph.stages[g][host].loops else None

    def evaluate(self, producer: Group, consumer: Group, host: int) -> Merge:
        """What merging two groups costs under each tile."""
        model = self.model
        stage = model.graph.stages[consumer.output][host]
        members = [*consumer.members, producer.output, *producer.members]
        members.sort(key=lambda f: -self.order[f])
        sizes = self._sizes(stage)
        tile = model.tile_cost(stage, members, model.tiles(stage, sizes))
        number = np.prod(counts(model.extents(stage), sizes).astype(float), axis=1)
        cost = number * (tile.arithmetic + self.params.load_cost * tile.loads)
        fits = self._fits(stage, sizes, tile.footprint)
        apart = producer.cost + consumer.stages[host].cost
        return Merge(
            producer.output,
            consumer.output,
            host,
            tuple(members),
            apart,
            _best(sizes, cost, fits, None),
        )

    def run(self) -> None:
        """Merges groups until no merge pays, then those that are forced: into the very
        group that is wanted, or not at all."""
        self._merge_what_pays()
        for f in reversed(self.model.graph.order):
            wanted = self.forced.get(f)
            found = self.candidate(f) if wanted is not None else None
            if found is not None and found[0].output is wanted:
                merge = self.evaluate(self.groups[f], *found)
                if merge.choices:
                    self._merge(merge)

    def _merge_what_pays(self) -> None:
        while True:
            best: Merge | None = None
            for f in self.model.graph.order:
                merge_ = self.known(f)
                if merge_ is not None and merge_.benefit > (
                    0.0 if best is None else best.benefit
                ):
                    best = merge_
            if best is None:
                return
            self._merge(best)

    def known(self, f: Function) -> Merge | None:
        """The merge of a Func's group into its consumer's, if it is possible and
        nothing is forced upon it."""
        if self.owner[f] is not f or f in self.forced:
            return None
        if f not in self._known:
            found = self.candidate(f)
            self._known[f] = (
                None if found is None else self.evaluate(self.groups[f], *found)
            )
        return self._known[f]

    def _merge(self, merge: Merge) -> None:
        self.merges.append(merge)
        gone = self.groups.pop(merge.producer)
        group = self.groups[merge.consumer]
        group.members = list(merge.members)
        group.host = merge.host
        group.stages[merge.host] = Tiled(merge.choices[0].tile, merge.choices[0].cost)
        for f in (gone.output, *gone.members):
            self.owner[f] = merge.consumer
        # What else may have changed: merges of, and into, the group that grew.
        self._known.pop(merge.producer, None)
        self._known.pop(merge.consumer, None)
        for f, readers in self.model.graph.consumers.items():
            if any(self.owner[c] is merge.consumer for c in readers):
                self._known.pop(f, None)


def _best(
    sizes: Sizes, cost: Floats, fits: Sizes, plain: Choice | None
) -> tuple[Choice, ...]:
    """The cheapest tiles that fit, the best first; of equals the one tried first."""
    cost = np.broadcast_to(cost, len(sizes))
    which = np.nonzero(fits)[0]
    which = which[np.argsort(cost[which], kind="stable")][:KEPT]
    found = [Choice(tuple(int(n) for n in sizes[k]), float(cost[k])) for k in which]
    if plain is not None:
        at = sum(1 for c in found if c.cost < plain.cost)
        found.insert(at, plain)
    return tuple(found)


__all__ = ["Allowed", "Choice", "Group", "Grouping", "Merge", "Shapes", "Tile", "Tiled"]
