"""Loop nests: the algorithm and its schedule become one imperative program.

The program is built from the outside in. At each site (the root, or the inside of a
loop) stand, in this order: the names of the regions that are needed there; the storage
of the Funcs stored there; the production of the Funcs computed there, producers first;
and whatever the site is the inside of. Bounds come from `regions`, storage from
`realizations`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from parhelion.ir.build import (
    FALSE,
    TRUE,
    add,
    block,
    conjunction,
    int32,
    is_true,
    likely,
    select,
    sub,
)
from parhelion.ir.expr import Expr, FuncCall, Intrinsic, StringImm, Var
from parhelion.ir.function import Function
from parhelion.ir.rewrite import nodes, substitute
from parhelion.ir.stmt import (
    Assert,
    For,
    ForKind,
    If,
    Produce,
    Provide,
    Realize,
    Release,
    Stmt,
)
from parhelion.ir.symbols import BufferSym
from parhelion.lower.atomic import marked
from parhelion.lower.extern import inside_check, provide, read_of, sources
from parhelion.lower.fork_async import Sync, acquired, between, in_room
from parhelion.lower.fused import shared_loop, units
from parhelion.lower.lazy import Lazies
from parhelion.lower.loops import Range, StageLoops
from parhelion.lower.prefetch import prefetches
from parhelion.lower.prologue import add_loop_checks
from parhelion.lower.realizations import Realizations
from parhelion.lower.sites import Site
from parhelion.lower.stages import LoopStage
from parhelion.schedule.directives import OUTERMOST
from parhelion.schedule.modes import by_loops
from parhelion.types import INT32, Handle


def _failure(f: Function, message: str) -> Stmt:
    """What runs in place of a branch that specialize_fail has made."""
    args = (StringImm(Handle(), f.label), StringImm(Handle(), message))
    return Assert(FALSE, "specialize_fail", args)


class NestBuilder:
    """Builds the loop nests of one program."""

    def __init__(self, realizations: Realizations) -> None:
        self.regions = regions = realizations.regions
        self.program = regions.program
        self.syncs = realizations.syncs
        self.lazies = Lazies(regions)
        self._extents = realizations.extents
        self.fusing = regions.sites.fusing
        self._conditions: dict[tuple[LoopStage, int], Expr] = {}
        self._computed_at: dict[Site, list[Function]] = {}
        self._stored_at: dict[Site, list[Function]] = {}
        self._begun_at: dict[Site, list[Function]] = {}
        sites = regions.sites
        for f in self.program.order:
            self._computed_at.setdefault(sites.compute(f), []).append(f)
            if f not in self.program.outputs:
                self._stored_at.setdefault(realizations.allocated(f), []).append(f)
                self._begun_at.setdefault(sites.store(f), []).append(f)

    def build(self) -> Stmt:
        """The whole program, except the lets and checks of the root."""
        # Before any site is closed.
        for f in self.program.order:
            for stage in self.program.stages[f]:
                add_loop_checks(self.regions, stage)
        body = self._productions(self.regions.sites.root, None)
        assert body is not None
        return body

    def _site(self, site: Site, inside: Stmt | None) -> Stmt:
        """What stands at a site. `inside` is what the site's own stage does there."""
        body = self._productions(site, inside)
        # Only now are all lets known: building the inside asks for regions.
        return block(*site.lets, *site.checks, body)

    def _productions(self, site: Site, inside: Stmt | None) -> Stmt | None:
        body = inside
        computed = self._computed_at.get(site, ())
        stored = self._stored_at.get(site, ())
        begun = [f for f in self._begun_at.get(site, ()) if f in self.syncs]
        at_hand = {*computed, *stored, *begun}
        for unit in reversed(units(self.program, self.fusing, at_hand)):
            if unit[0] in computed and len(unit) > 1:
                body = self._together(unit, body)
            elif unit[0] in computed:
                body = self._production(unit[0], self.syncs.get(unit[0]), body)
            for f in reversed(unit):
                sync = self.syncs.get(f)
                if sync is not None and f in begun:
                    assert body is not None
                    body = between(sync.slot, f, body)
                    if sync.turns is not None:
                        body = block(body, sync.turns.step())
                if f in stored:
                    assert body is not None
                    if f in self.lazies:
                        part = self._site(self.regions.sites.compute(f), None)
                        body = self.lazies.around(f, part, body)
                    body = Realize(f, self._extents[f], TRUE, body)
        return body

    def _production(self, f: Function, sync: Sync | None, body: Stmt | None) -> Stmt:
        """The production of a Func, and then what uses it."""
        made: Stmt = Produce(f, True, self._produce((f,)))
        if body is None or sync is None:
            return block(made, None if body is None else Produce(f, False, body))
        made = block(made, Release(sync.done, int32(1), f))
        use = Produce(f, False, acquired(body, sync, self.syncs))
        return in_room(sync.room, f, between(sync.turn, f, block(made, use)))

    def _together(self, unit: tuple[Function, ...], body: Stmt | None) -> Stmt:
        """The production of Funcs whose stages share loops, and then their use."""
        made = self._produce(unit)
        for f in reversed(unit):
            body = None if body is None else Produce(f, False, body)
            made = Produce(f, True, made)
        return block(made, body)

    def _produce(self, unit: tuple[Function, ...]) -> Stmt:
        if len(unit) == 1:
            definitions = self.program.definitions(unit[0])
            return block(*[self._definition(s) for s in definitions])
        leaders = self.fusing.clusters(self.program, unit)
        return block(*[self._definition(stages) for stages in leaders])

    def _definition(self, stages: Sequence[LoopStage]) -> Stmt:
        """The loops of one definition; of a specialised one, those of the first
        branch whose condition holds."""
        definition = stages[0].definition
        if not definition.schedule.specializations:
            return self._stage(stages[0])
        left = list(reversed(stages))
        made: Stmt | None = None
        for branch in reversed(self.program.resolved.branches(definition)):
            if branch.schedule is None:
                inside = _failure(stages[0].func, branch.message)
            else:
                inside = self._stage(left.pop(0))
            made = (
                inside
                if is_true(branch.condition)
                else If(branch.condition, inside, made)
            )
        assert made is not None
        return made

    def _stage(self, stage: LoopStage) -> Stmt:
        nest = self.regions.loops(stage)
        made = self._loop(stage, nest, 0)
        slid = self.regions.slid.get(stage.func)
        if slid is not None and slid.scan is not None:
            made = slid.scan.first(stage, made)
        return _alone(stage, made) if stage.schedule.single_thread else made

    def _loop(self, stage: LoopStage, nest: StageLoops, depth: int) -> Stmt:
        """The stage inside `depth` loops."""
        inside = self._rest(stage, nest, depth)
        inside = block(*self.lazies.of_boxes(stage, depth), inside)
        if depth > 0:
            inside = block(*prefetches(self.regions, stage, nest, depth), inside)
        inside = self._site(self.regions.sites.inside(stage, depth), inside)
        alike = len({g.masks for g in nest.guards if g.depth == depth}) == 1
        for guard in nest.guards:
            if guard.depth == depth:
                # Where other Funcs are computed inside, the guard is around them. And
                # one that masks only loads, say, must not make one within it look
                # redundant that masks stores.
                alone = depth == len(nest.loops) and type(inside) in (Provide, If)
                alone = alone and alike
                masks = guard.masks if alone or not guard.masks else "all"
                if nest.blends and masks == "stores":
                    masks = "all"  # What is kept is read where it is stored.
                inside = If(likely(guard.cond, masks), inside, None)
        around = self.fusing.members(stage, 1) if depth == 0 else [stage]
        return block(*[let for s in around for let in self._lets(s, depth)], inside)

    def _lets(self, stage: LoopStage, depth: int) -> list[Stmt]:
        lets = self.regions.loops(stage).lets
        return [let for level, let in lets if level == depth]

    def _rest(self, stage: LoopStage, nest: StageLoops, depth: int) -> Stmt:
        """What is left of a stage inside `depth` loops."""
        if depth == len(nest.loops):
            return self._provide(stage, nest)
        if len(self.fusing.members(stage, depth + 1)) > 1:
            return self._shared(stage, depth + 1)
        loop = nest.loops[depth]
        body = self._loop(stage, nest, depth + 1)
        return For(loop.var, loop.min, loop.extent, loop.dim.kind, body)

    # Loops that several stages share; see `lower.fused`.

    def _shared(self, owner: LoopStage, depth: int) -> Stmt:
        """Loop number `depth` of a stage and of those that follow it."""
        fusing, regions = self.fusing, self.regions
        members = fusing.members(owner, depth)
        nests = {s: regions.loops(s) for s in members}
        loops = {s: nest.loops[depth - 1] for s, nest in nests.items()}
        loop = shared_loop(fusing, owner, depth, loops)
        for stage, cond in loop.conds.items():
            self._conditions[stage, depth] = cond
        deeper = len(fusing.members(owner, depth + 1)) > 1
        inside = [self._shared(owner, depth + 1) if deeper else self._own(owner, depth)]
        for follower in fusing.followers.get(owner, ()):
            if fusing.follows[follower].depth == depth:
                inside.append(self._own(follower, depth))
        hints = [h for s in members for h in prefetches(regions, s, nests[s], depth)]
        body = self._site(regions.sites.inside(owner, depth), block(*hints, *inside))
        lets = [let for s in members for let in self._lets(s, depth)]
        kind = loops[owner].dim.kind
        body = block(*loop.lets, *lets, body)
        return For(loop.var, loop.range.lo, loop.range.extent, kind, body)

    def _own(self, stage: LoopStage, depth: int) -> Stmt:
        """What is a stage's alone, inside the innermost loop that it shares with those
        around, where its own range and guards allow it."""
        nest = self.regions.loops(stage)
        inside = self._rest(stage, nest, depth)
        follow = self.fusing.follows.get(stage)
        if follow is not None and follow.depth == depth:
            inside = self._site(self.regions.sites.inside(stage, depth), inside)
        if len(self.fusing.members(stage, depth + 1)) > 1:
            return inside  # it leads others further in, which have their own ranges
        for guard in nest.guards:
            if 1 <= guard.depth <= depth:
                inside = If(likely(guard.cond, guard.masks and "all"), inside, None)
        for d in range(depth, 0, -1):
            cond = self._conditions[stage, d]
            if not is_true(cond):
                inside = If(cond, inside, None)
        return inside

    def _provide(self, stage: LoopStage, nest: StageLoops) -> Stmt:
        if not by_loops(stage.func):
            return self._foreign(stage)
        env: dict[Var, Expr] = dict(nest.values)
        values = tuple([substitute(e, env) for e in stage.values])
        args = tuple([substitute(e, env) for e in stage.args])
        fresh = likely(conjunction(nest.blends))
        if nest.blends and not any(map(_may_skip, values)):
            kept = [FuncCall(v.type, stage.func, args, i) for i, v in enumerate(values)]
            values = tuple(map(partial(select, fresh), values, kept))
        exprs = (*stage.args, *stage.values)
        asked = self.lazies.demands(stage, exprs, env)
        body = marked(stage, Provide(stage.func, values, args, None))
        body = block(*asked, body)
        if nest.blends and any(map(_may_skip, values)):
            body = If(fresh, body, None)
        if not is_true(stage.predicate):
            asked = self.lazies.demands(stage, (stage.predicate,), env)
            body = block(*asked, If(substitute(stage.predicate, env), body, None))
        return body

    def _foreign(self, stage: LoopStage) -> Stmt:
        """Foreign code over all that its Func is needed for, with checks that what it
        reads is there."""
        regions, f = self.regions, stage.func
        site = regions.sites.compute(f)
        read = regions.foreign(stage, site)
        checks: list[Stmt] = []
        for i, (source, box) in enumerate(zip(sources(stage), read, strict=True)):
            of = read_of(source)
            if isinstance(of, Function):
                checks += inside_check(stage, i, box, regions.stored(of))
            elif site is not regions.sites.root:
                checks += inside_check(stage, i, box, _whole(of))
        return block(*checks, provide(stage, regions.computed(f), read))


def _alone(stage: LoopStage, made: Stmt) -> Stmt:
    """A stage in one thread of one block of a GPU."""
    zero, one = int32(0), int32(1)
    for kind in (ForKind.GPU_THREAD, ForKind.GPU_BLOCK):
        var = Var("single", INT32, lo=zero, hi=zero, loop=stage.loop_id(OUTERMOST))
        made = For(var, zero, one, kind, made)
    return made


def _whole(image: BufferSym) -> list[Range]:
    """All of an image."""
    one = int32(1)
    return [Range(d.min, sub(add(d.min, d.extent), one)) for d in image.dims]


def _may_skip(value: Expr) -> bool:
    """Whether a definition may leave the point as it is, by being undefined there."""
    return any(type(n) is Intrinsic and n.op == "undef" for n in nodes(value))
