"""What the paper's scheduler decided, as `decisions.Decision`s that can be undone.

All costs are those of the whole pipeline: the plan's, and for an option that was not
taken, that and the difference that the scheduler saw when it decided.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from parhelion.autoschedule.decisions import Decision, Option
from parhelion.autoschedule.mullapudi.groups import Choice, Group, Merge, Tile
from parhelion.autoschedule.mullapudi.plan import Forced, Plan
from parhelion.autoschedule.pipeline.graph import GraphStage
from parhelion.autoschedule.script import Script
from parhelion.ir.function import Function, var_label
from parhelion.schedule.modes import by_loops

_INLINING = "inlining (section 4.3)"
_GROUPS = "groups (section 4.2)"
_TILES = "tiles of groups and of reductions (section 4.2)"
_ORDER = "loops outside the innermost (section 4.4)"


def decisions(plan: Plan) -> list[Decision]:
    """All inlinings, merges of groups, tiles and orders of loops."""
    return _Teller(plan).all()


class _Teller:
    def __init__(self, plan: Plan) -> None:
        self.plan, self.cost = plan, plan.cost
        self.calls = plan.script().calls

    def all(self) -> list[Decision]:
        found = [*self.inlining(), *self.merging()]
        for group in self.plan.grouping.groups.values():
            found += self.tiles(group)
        for group in self.plan.grouping.groups.values():
            found += self.orders(group)
        return found

    def option(self, label: str, more: float, forced: Forced) -> Option:
        return Option(label, self.cost + more, self.maker(forced))

    def maker(self, forced: Forced) -> Callable[[], Script]:
        plan = self.plan

        def make() -> Script:
            return plan.again(forced).script()

        return make

    def loops(self, label: str, more: float, forced: Forced) -> list[Option]:
        """Other loops of one definition; none if they are written in the same way as
        those that were chosen."""
        plan = self.plan
        if plan.with_loops(forced).calls == self.calls:
            return []
        make = partial(plan.with_loops, forced)
        return [Option(label, self.cost + more, make)]

    def taken(self, label: str) -> Option:
        return Option(label, self.cost, self.plan.script)

    def inlining(self) -> list[Decision]:
        found = []
        for one in self.plan.inlines.decisions:
            other = Forced(inlined={one.func: not one.chosen})
            labels = ("inlined", "not inlined")
            mine, others = labels if one.chosen else reversed(labels)
            more = one.benefit if one.chosen else -one.benefit
            reason = ""
            if one.trivial:
                reason = "it computes nothing but coordinates"
            chosen = self.taken(mine)
            options: tuple[Option, ...] = (chosen,)
            if one.inlined == float("inf"):
                reason = "what reads it would become too much code"
            else:
                options = (chosen, self.option(others, more, other))
            name = one.func.name
            found.append(Decision("inline", name, chosen, options, reason, _INLINING))
        return found

    def merging(self) -> list[Decision]:
        grouping = self.plan.grouping
        found = []
        for m in grouping.merges:
            chosen = self.taken(self.within(m))
            apart = self.option("at root", m.benefit, Forced(merged={m.producer: None}))
            reason = "its group joined the other when that gained the most"
            found.append(self.group(m, chosen, (chosen, apart), reason))
        for f in grouping.groups:
            left = grouping.known(f)
            if left is None or not left.choices:
                continue
            chosen = self.taken("at root")
            forced = Forced(merged={f: left.consumer})
            merged = self.option(self.within(left), -left.benefit, forced)
            found.append(self.group(left, chosen, (chosen, merged), ""))
        return found

    def within(self, m: Merge) -> str:
        return f"in tiles of {m.consumer.name}"

    def group(
        self, m: Merge, chosen: Option, options: tuple[Option, ...], reason: str
    ) -> Decision:
        return Decision("group", m.producer.name, chosen, options, reason, _GROUPS)

    def tiles(self, group: Group) -> list[Decision]:
        found = []
        for stage in self._stages(group):
            tiled = group.stages[stage.index]
            choices = self.choices(group, stage)
            if len(choices) < 2:
                continue
            options = []
            chosen = None
            for choice in choices:
                label = tile_label(stage, choice.tile)
                if choice.tile == tiled.tile:
                    chosen = self.taken(label)
                    options.append(chosen)
                else:
                    key = (group.output, stage.index)
                    more = choice.cost - tiled.cost
                    options += self.loops(label, more, Forced(tiles={key: choice.tile}))
            assert chosen is not None
            name = _name(group.output, stage)
            if len(options) > 1:
                found.append(Decision("tile", name, chosen, tuple(options), "", _TILES))
        return found

    def choices(self, group: Group, stage: GraphStage) -> Sequence[Choice]:
        """The tiles of a definition: of the last merge, or of the definition alone."""
        for m in reversed(self.plan.grouping.merges):
            if m.consumer is group.output and m.host == stage.index:
                return m.choices
        return self.plan.grouping.singles.get((group.output, stage.index), ())

    def orders(self, group: Group) -> list[Decision]:
        """Which loop is next to the innermost: that along which most is reused."""
        plan = self.plan
        found = []
        for stage in self._stages(group):
            loops = plan.movable(stage)
            if len(loops) < 2:
                continue
            reuse = plan.loop_reuse(group, stage)
            first = max(loops, key=lambda d: (reuse[d], -d))
            each = plan.params.load_cost * plan.model.points(stage)
            options, chosen = [], None
            for d in loops:
                label = f"{stage.loops[d].name} next"
                if d == first:
                    chosen = self.taken(label)
                    options.append(chosen)
                else:
                    more = each * (reuse[first] - reuse[d])
                    forced = Forced(first={(group.output, stage.index): d})
                    options += self.loops(label, more, forced)
            assert chosen is not None
            name = _name(group.output, stage)
            reason = "along it most of what is loaded was loaded by the step before"
            if len(options) > 1:
                found.append(
                    Decision("order", name, chosen, tuple(options), reason, _ORDER)
                )
        return found

    def _stages(self, group: Group) -> Sequence[GraphStage]:
        if not by_loops(group.output):
            return ()
        stages = self.plan.graph.stages[group.output]
        return [s for s in stages if not self.plan.given(s)]


def tile_label(stage: GraphStage, tile: Tile | None) -> str:
    """A tile in words: ``x 64, y 32``."""
    if tile is None:
        return "untiled"
    return ", ".join(
        [f"{var_label(v)} {n}" for v, n in zip(stage.loops, tile, strict=True)]
    )


def _name(f: Function, stage: GraphStage) -> str:
    return f"{f.name}.update({stage.index - 1})" if stage.index else f.name


__all__ = ["decisions", "tile_label"]
