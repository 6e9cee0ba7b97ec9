"""The default scheduler's search on GPUs: its groups are kernels, with their members.

The descent is the one for CPUs (`search.base`). A Func may be inlined, have kernels of
its own, or be computed for another Func's kernel at one of two levels: by the threads
of a block together, in shared memory, or by each thread for itself, in registers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import ClassVar

import numpy as np

from parhelion.autoschedule.gpu.cards import Card
from parhelion.autoschedule.gpu.model import Candidates, KernelModel
from parhelion.autoschedule.kernels.roles import Roles
from parhelion.autoschedule.kernels.shape import Shape
from parhelion.autoschedule.kernels.shapes import shapes
from parhelion.autoschedule.model.code_size import most_length
from parhelion.autoschedule.model.plan import Group, Level, Tiling
from parhelion.autoschedule.pipeline.freedom import Freedom
from parhelion.autoschedule.pipeline.graph import Graph, GraphStage
from parhelion.autoschedule.pipeline.regions import Regions, points
from parhelion.autoschedule.pipeline.sizes import Sizes
from parhelion.autoschedule.pipeline.work import element_bytes
from parhelion.autoschedule.search.base import Descent
from parhelion.autoschedule.search.state import ComputeLevel
from parhelion.dataclass import dataclass
from parhelion.ir.function import Function
from parhelion.schedule.modes import by_loops
from parhelion.schedule.order import realization_order

#: A Func whose points are no more is left to the host as a whole, where one of its
#: definitions is.
_SMALL_FUNC = 1 << 16
#: A group of more members is tried with fewer shapes.
_MANY = 2
#: How many groups are evaluated at least, for each Func, and at most.
_LEAST, _EACH, _MOST = 300, 8, 800
#: Operations and loads of a kernel that are usual; more are dearer by as much.
_MOST_CODE = 1500.0
#: A thread computes no more values of one member in registers.
_MOST_VALUES = 64


@dataclass(frozen=True)
class Kernel:
    """One definition as a kernel: shape is None where it stays on the host."""

    stage: GraphStage
    roles: Roles
    shape: Shape | None


@dataclass
class KernelGroup(Group):
    """A Func and those that are computed in its kernel; it has one for each definition.
    boxes: how many points of each member a block computes, or a thread for itself."""

    kernels: Sequence[Kernel] = ()
    boxes: Mapping[Function, Sequence[int]] = field(default_factory=dict)


@dataclass
class KernelSearch(Descent[KernelModel]):
    """One run of the search for a schedule of a GPU. floats: whether sums of floats may
    be regrouped. apart: Funcs that must not be computed in others' kernels, as lowering
    has refused it."""

    outputs: tuple[Function, ...]
    sizes: Sizes
    card: Card
    floats: bool = False
    budget: int | None = None
    apart: frozenset[Function] = frozenset()
    memo: dict[object, Group] = field(default_factory=dict)
    evaluations: int = 0
    freedom: Freedom = field(init=False)
    notes: list[str] = field(default_factory=list)
    most_length: float = most_length(0)
    places: ClassVar[tuple[ComputeLevel, ...]] = (
        ComputeLevel("at", Level.TILE),
        ComputeLevel("at", Level.BLOCK),
    )
    starts: ClassVar[tuple[Level, ...]] = (Level.TILE, Level.BLOCK)

    def __post_init__(self) -> None:
        self.freedom = Freedom(self.outputs)
        if self.budget is None:
            funcs = len(realization_order(self.outputs))
            self.budget = min(max(_LEAST, _EACH * funcs), _MOST)

    def modelled(self, graph: Graph, regions: Regions) -> KernelModel:
        return KernelModel(graph, regions, self.card, self.floats)

    def may_host(self, model: KernelModel, root: Function) -> bool:
        """Members need a kernel, which is the only one of its Func."""
        stages = model.graph.stages.get(root, ())
        alone = len(stages) == 1 and root.dimensions > 0
        return alone and super().may_host(model, root)

    def may_join(self, model: KernelModel, f: Function, root: Function) -> bool:
        """The threads of a block share the work, so that all definitions need loops
        whose iterations may be threads."""
        if f in self.apart or not super().may_join(model, f, root):
            return False
        stages = model.graph.stages.get(f, ())
        return all([model.roles(s, alone=False).parallel for s in stages])

    def _extra(self, model: KernelModel, f: Function) -> float:
        """Nanoseconds of computing `f` wherever it is used, beyond computing it once,
        less those of a kernel that stores it, and of loading it."""
        card, whole = self.card, model.regions.bounds
        (stage,) = model.graph.stages[f]
        work = model.work(stage)
        once = float(points(whole[f]))
        uses = 0.0
        for c in model.graph.consumers[f]:
            for s in model.graph.stages[c]:
                loops = float(points(model.whole(s)))
                for a in model.work(s).loads:
                    if a.source is f:
                        uses += loops if a.depends else 1
        operation = 1.0 / (card.processors * card.lanes * card.clock)
        load = 4.0 / (card.processors * card.near * card.clock)
        each = work.arithmetic * operation + len(work.loads) * load
        kept = card.launch + 2 * once * element_bytes(f) / card.memory + uses * load
        return (uses - once) * each - kept

    def group(
        self, model: KernelModel, root: Function, members: Mapping[Function, Level]
    ) -> Group:
        stages = tuple([model.graph.stages[f] for f in (root, *members)])
        key = (root, tuple(members.items()), stages)
        found = self.memo.get(key)
        if found is None:
            (found,) = self.tilings(model, root, members, 1)
            self.memo[key] = found
        return found

    def tilings(
        self,
        model: KernelModel,
        root: Function,
        members: Mapping[Function, Level],
        most: int,
    ) -> Sequence[Group]:
        self.evaluations += 1
        stages = model.graph.stages[root]
        if not by_loops(root):
            return [self._on_host(model, root, members)]
        if members and len(stages) > 1:
            # As a state may be for a moment, before it is given up.
            return [self._impossible(model, root, members)]
        every = [model.roles(s, alone=True) for s in stages]
        if not all([r.parallel for r in every]):
            small = float(points(model.regions.bounds[root])) <= _SMALL_FUNC
            if small or all([not r.parallel for r in every]):
                return [self._on_host(model, root, members)]
        if len(stages) > 1:
            return [self._apart(model, root, every)]
        return self._shaped(model, stages[0], every[0], members, most)

    def _on_host(
        self, model: KernelModel, root: Function, members: Mapping[Function, Level]
    ) -> KernelGroup:
        made = self._impossible(model, root, members)
        if not members:
            made.cost = model.on_host(root)
        return made

    def _impossible(
        self, model: KernelModel, root: Function, members: Mapping[Function, Level]
    ) -> KernelGroup:
        """A group without kernels."""
        kernels = [Kernel(s, Roles(()), None) for s in model.graph.stages[root]]
        none, cost = Tiling((), -1, ()), float("inf")
        return KernelGroup(root, dict(members), none, {}, cost, kernels=kernels)

    def _apart(
        self, model: KernelModel, root: Function, every: Sequence[Roles]
    ) -> KernelGroup:
        """A Func of several definitions: a kernel for each, or the host."""
        kernels, cost = [], 0.0
        terms: Mapping[str, float] = {}
        for stage, own in zip(model.graph.stages[root], every, strict=True):
            if not own.parallel:
                kernels.append(Kernel(stage, own, None))
                cost += model.on_host(root)
                continue
            (best,) = self._shaped(model, stage, own, {}, 1)
            kernels += best.kernels
            cost += best.cost
            if not terms or best.terms["compute"] > terms["compute"]:
                terms = best.terms
        return KernelGroup(
            root, {}, Tiling((), -1, ()), {}, cost, terms, kernels=kernels
        )

    def _shaped(
        self,
        model: KernelModel,
        stage: GraphStage,
        own: Roles,
        members: Mapping[Function, Level],
        most: int,
    ) -> list[KernelGroup]:
        """The best shapes of one kernel, the cheapest first."""
        made = partial(KernelGroup, stage.func, dict(members), Tiling((), -1, ()), {})
        if not own.parallel:
            return [made(float("inf"), kernels=[Kernel(stage, own, None)])]
        run = model.extents(stage)
        inside = any(at is Level.BLOCK for at in members.values())
        wide = tuple([run[v] for v in own.parallel])
        found = shapes(
            wide, self.card.device.threads, not own.atomic, inside, len(members) > _MANY
        )
        costs = model.kernel(stage, own, Candidates.of(found), members)
        groups = []
        # Too much code takes long to compile, and leaves the cache of instructions.
        total = costs.total * np.maximum(1.0, costs.lengths / _MOST_CODE)
        for k in np.argsort(total, kind="stable")[:most]:
            terms = {name: float(t[k]) for name, t in costs.terms.items()}
            shape = found[int(k)]
            group = made(float(total[k]), terms, kernels=[Kernel(stage, own, shape)])
            if members and group.cost < float("inf"):
                group.boxes = model.boxes(stage, own, shape, members)
                values = [
                    math.prod(box)
                    for f, box in group.boxes.items()
                    if members[f] is Level.BLOCK
                ]
                if max(values, default=0) > _MOST_VALUES:
                    group.cost = float("inf")
            groups.append(group)
        return groups


__all__ = ["Kernel", "KernelGroup", "KernelSearch"]
