"""The default scheduler's search: which Funcs are inlined, grouped, and where.

It begins with every Func by itself, and takes the change that gains most, by the cost
model, until none gains: a Func inlined into its readers, or a group computed inside the
loops of the one group that reads it, at one of three levels, with the best tiles for
both together. Then single decisions are looked at again in the light of all others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

import numpy as np

from parhelion.autoschedule.machine.machine import Machine
from parhelion.autoschedule.model.code_size import most_length
from parhelion.autoschedule.model.groups import Costs, Model, Tiles
from parhelion.autoschedule.model.plan import Group, Level, Loops, Packed, Tiling
from parhelion.autoschedule.pipeline.freedom import Freedom
from parhelion.autoschedule.pipeline.graph import Graph
from parhelion.autoschedule.pipeline.regions import Regions, points
from parhelion.autoschedule.pipeline.sizes import Sizes
from parhelion.autoschedule.pipeline.work import element_bytes
from parhelion.autoschedule.search.base import Descent
from parhelion.autoschedule.search.members import Inside
from parhelion.autoschedule.search.on_demand import (
    Parts,
    asking,
    in_turn,
    one_tile,
    tiled,
    values_group,
)
from parhelion.autoschedule.search.shapes import (
    apart_dimensions,
    block_choices,
    plain_loops,
    register_blocks,
    row_blocks,
    small_in_rows,
    tile_choices,
)
from parhelion.dataclass import dataclass
from parhelion.ir.function import Function

#: How many blocks of registers are looked at with all tiles.
_FEW_BLOCKS = 5


@dataclass
class Search(Descent[Model]):
    """One run of the search for a schedule of a CPU.

    ours: definitions whose directives are the scheduler's own (see `rfactor`). parts:
    of what is computed on demand, how much at a time.
    """

    outputs: tuple[Function, ...]
    sizes: Sizes
    machine: Machine
    budget: int | None = None
    ours: frozenset[tuple[Function, int]] = frozenset()
    parts: Parts = field(default_factory=dict)
    memo: dict[object, Group] = field(default_factory=dict)
    inner: dict[object, Loops] = field(default_factory=dict)
    evaluations: int = 0
    freedom: Freedom = field(init=False)
    notes: list[str] = field(default_factory=list)
    most_length: float = most_length(0)

    def __post_init__(self) -> None:
        self.freedom = Freedom(self.outputs, self.ours)
        self.freedom.given.update(self.parts)
        self.freedom.points.update([f for f, p in self.parts.items() if not p.tile])

    def modelled(self, graph: Graph, regions: Regions) -> Model:
        return Model(graph, regions, self.machine)

    def _extra(self, model: Model, f: Function) -> float:
        """Nanoseconds of computing `f` wherever it is used, beyond computing it once,
        less those of storing and loading it, on one core."""
        machine = self.machine
        (stage,) = model.graph.stages[f]
        work = model.work(stage)
        whole = model.regions.bounds
        once = float(points(whole[f]))
        uses = 0.0
        for c in model.graph.consumers[f]:
            for s in model.graph.stages[c]:
                loops = points(model.regions.loops(s, whole[c]))
                calls = 0.0
                for a in model.work(s).loads:
                    if a.source is f:
                        # What no loop changes is computed once.
                        calls += loops if a.depends else 1
                uses += calls
        lanes = machine.lanes(32)
        loads = sum(machine.load for a in work.loads)
        each = (work.arithmetic * machine.operation + loads) / lanes
        bytes_ = element_bytes(f)
        kept = once * (machine.store / lanes + 0.5 * bytes_ * machine.near_byte)
        kept += uses * machine.load / lanes
        return (uses - once) * each - kept

    def group(
        self, model: Model, root: Function, members: Mapping[Function, Level]
    ) -> Group:
        """The best loops and tiles for a group of these members."""
        stages = tuple([model.graph.stages[f] for f in (root, *members)])
        key = (root, tuple(members.items()), stages)
        found = self.memo.get(key)
        if found is None:
            found = self.memo[key] = self.best_group(model, root, members)
        return found

    def best_group(
        self, model: Model, root: Function, members: Mapping[Function, Level]
    ) -> Group:
        (best,) = self.tilings(model, root, members, 1)
        return best

    def tilings(
        self,
        model: Model,
        root: Function,
        members: Mapping[Function, Level],
        most: int,
    ) -> list[Group]:
        """The cheapest ways to tile a group and to block its registers, the cheapest
        first."""
        part = self.parts.get(root)
        if part is not None and not part.tile:
            return [values_group(model, root, part)]
        extents = tuple(model.extents(root))
        plain = plain_loops(model, root, extents)
        funcs = (root, *members)
        asked = sum([asking(model, f, self.parts) for f in funcs])
        reduces = [
            f
            for f in (root, *members)
            if f.updates and members.get(f, Level.BLOCK) is Level.BLOCK
        ]
        found: dict[object, Group] = {}
        for loops, apart in self.loop_choices(model, root, members, plain, reduces):
            length = sum([model.length(f, made) for f, made in loops.items()])
            choices = tile_choices(loops[root], extents, bool(reduces), apart)
            if part is not None:
                choices = one_tile(model, root, part, loops[root], apart)
            for tiles in choices:
                self.evaluations += 1
                costs = model.group(root, members, loops, tiles)
                costs = self.in_turn(model, root, tiles, costs)
                for k in np.argsort(costs.total, kind="stable")[:most]:
                    made = _group(root, members, loops, tiles, extents, costs, int(k))
                    made.length = length
                    if part is not None:
                        made = tiled(model, made, part, costs)
                    made.cost += asked / model.machine.threads
                    key = (made.tiling, loops[root].block)
                    if key not in found or made.cost < found[key].cost:
                        found[key] = made
        return sorted(found.values(), key=lambda g: g.cost * self.dear(g.length))[:most]

    def in_turn(
        self, model: Model, root: Function, tiles: Tiles, costs: Costs
    ) -> Costs:
        """The costs of a group with what its tasks wait for each other, where they have
        the same parts of Funcs on demand computed: one thread does what all would."""
        for g, part in self.parts.items():
            if g is root or g not in model.graph.stages:
                continue
            alone = in_turn(model, root, g, part, tiles)
            if np.any(alone):
                made = self.group(model, g, {}).cost * (model.machine.threads - 1)
                costs = replace(costs, total=costs.total + made * alone)
        return costs

    def loop_choices(
        self,
        model: Model,
        root: Function,
        members: Mapping[Function, Level],
        plain: Loops,
        reduces: Sequence[Function],
    ) -> Iterator[tuple[Mapping[Function, Loops], tuple[int, ...]]]:
        """Loops for all Funcs of a group, by the blocks of its root; and the dimensions
        of the root in which tiles are no more than a block, as these loops want it."""
        order = [root, *members]
        choices = list(block_choices(model, root, plain))
        if reduces:
            choices += register_blocks(model, root, plain, reduces)
        else:
            if Level.ROW in members.values():
                choices += small_in_rows(model, root, plain)
            if not members:
                choices += row_blocks(model, root, plain)
        made = []
        insides: dict[Loops, Inside] = {}
        for own in choices:
            inside = insides[own] = Inside(model, root, own, order, self.inner)
            loops = {m: inside.loops(m, level) for m, level in members.items()}
            made.append({root: own, **loops})
        if len(made) > _FEW_BLOCKS:
            # By what a point costs in the core alone.
            def by_core(loops: Mapping[Function, Loops]) -> float:
                block = loops[root].block
                inside = sum(
                    model.one_block(f, loops[f])
                    for f in order
                    if f is root or members[f] is Level.BLOCK
                )
                return inside / math.prod(block)

            made = sorted(made, key=by_core)[:_FEW_BLOCKS]
        for loops in made:
            yield loops, ()
            # Colour by colour, members have no blocks of several colours.
            apart = apart_dimensions(model, root, loops[root])
            inside = insides[loops[root]]
            one = {
                m: inside.loops(m, level, apart) if level is Level.TILE else loops[m]
                for m, level in members.items()
            }
            if any(one[m] != loops[m] for m in members):
                yield {root: loops[root], **one}, apart


def _group(
    root: Function,
    members: Mapping[Function, Level],
    loops: Mapping[Function, Loops],
    tiles: Tiles,
    extents: Sequence[int],
    costs: Costs,
    k: int,
) -> Group:
    """The group that candidate `k` is."""
    sizes = [int(t[k]) for t in tiles.sizes]
    tile = tuple([0 if s >= e else s for s, e in zip(sizes, extents, strict=True)])
    terms = {name: float(t[k]) for name, t in costs.terms.items()}
    return Group(
        root,
        dict(members),
        Tiling(tile, tiles.row, tiles.outer),
        loops,
        float(costs.total[k]),
        terms,
        [
            Packed(*which, int(over[k]))
            for which, over in costs.packed.items()
            if over[k] >= 0
        ],
    )


__all__ = ["Search"]
