"""Loop nests: the algorithm and its schedule become one imperative program.

The program is built from the outside in. At each site (the root, or the inside of a
loop) stand, in this order: the names of the regions that are needed there; the storage
of the Funcs stored there; the production of the Funcs computed there, producers first;
and whatever the site is the inside of. Bounds come from `regions`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
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
    mul,
    select,
    sub,
)
from parhelion.ir.expr import Expr, FuncCall, Intrinsic, StringImm, Var
from parhelion.ir.function import Function
from parhelion.ir.names import Namer
from parhelion.ir.rewrite import nodes, substitute
from parhelion.ir.stmt import Assert, For, If, Produce, Provide, Realize, Release, Stmt
from parhelion.ir.symbols import BufferSym
from parhelion.lower.atomic import marked
from parhelion.lower.extern import inside_check, provide, read_of, sources
from parhelion.lower.folding import (
    Origin,
    find_folds,
    hoisted_extent,
    origins,
    ring_slot,
)
from parhelion.lower.fork import Sync, acquired, between, semaphores
from parhelion.lower.loops import Range, StageLoops
from parhelion.lower.prefetch import prefetches
from parhelion.lower.regions import Regions
from parhelion.lower.sites import Site
from parhelion.lower.sliding import loops_between
from parhelion.lower.stages import Stage
from parhelion.schedule.branches import branches
from parhelion.simplify.driver import simplify
from parhelion.types import Handle


def _failure(f: Function, message: str) -> Stmt:
    """What runs in place of a branch that specialize_fail has made."""
    args = (StringImm(Handle(), f.name), StringImm(Handle(), message))
    return Assert(FALSE, "specialize_fail", args)


class NestBuilder:
    """Builds the loop nests of one program."""

    def __init__(
        self, regions: Regions, *, hoist: bool = True, threads: bool = True
    ) -> None:
        """hoist: if false, storage begins where it is allocated, to be read.
        threads: if false, async Funcs are computed where they would be without."""
        self.regions = regions
        self.program = regions.program
        self.name = Namer()
        #: What the coordinates of folded and hoisted Funcs are counted from.
        self.origins: dict[Function, tuple[Origin | None, ...]] = {}
        self._hoist = hoist
        self._threads = threads and hoist
        #: The semaphores of the async Funcs.
        self.syncs: dict[Function, Sync] = {}
        self._begun_at: dict[Site, list[Function]] = {}
        self._computed_at: dict[Site, list[Function]] = {}
        self._stored_at: dict[Site, list[Function]] = {}
        sites = regions.sites
        for f in self.program.order:
            self._computed_at.setdefault(sites.compute(f), []).append(f)
            if f not in self.program.outputs:
                at = sites.hoist(f) if hoist else sites.store(f)
                self._stored_at.setdefault(at, []).append(f)
                self._begun_at.setdefault(sites.store(f), []).append(f)

    def build(self) -> Stmt:
        """The whole program, except the lets and checks of the root."""
        # Before any site is closed: folds may add checks and names to them.
        self._extents = {
            f: self._lay_out(f)
            for f in reversed(self.program.order)
            if f not in self.program.outputs
        }
        for f in self.program.order:
            if f.schedule.async_ and f not in self.program.outputs and self._threads:
                self.syncs[f] = self._semaphores(f)
        body = self._productions(self.regions.sites.root, None)
        assert body is not None
        return body

    def _semaphores(self, f: Function) -> Sync:
        regions = self.regions
        slid = regions.slid.get(f)
        loops = loops_between(regions, f)
        once = slid is not None and all(loop.var in slid.loops for loop, _ in loops)
        # A tail that is shifted inwards computes values again; those of updates are
        # not final in between.
        again = (
            slid is not None
            and bool(f.updates)
            and not all(walk.forward for walk in slid.walks.values())
        )
        folded = any(o is not None and o.fold for o in self.origins.get(f, ()))
        turn = bool(loops) and not once or again or folded
        slots: Expr | None = None
        if regions.sites.hoist(f) is not regions.sites.store(f):
            slots = f.schedule.ring or int32(1)
        return semaphores(f, turn=turn, slots=slots)

    def _site(self, site: Site, inside: Stmt) -> Stmt:
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
        here = [f for f in self.program.order if f in at_hand]
        for f in reversed(here):
            sync = self.syncs.get(f)
            if f in computed:
                body = self._production(f, sync, body)
            if sync is not None and f in begun:
                assert body is not None
                body = between(sync.slot, f, body)
            if f in stored:
                assert body is not None
                body = Realize(f, self._extents[f], TRUE, body)
        return body

    def _production(self, f: Function, sync: Sync | None, body: Stmt | None) -> Stmt:
        """The production of a Func, and then what uses it."""
        made: Stmt = Produce(f, True, self._produce(f))
        if body is None or sync is None:
            return block(made, None if body is None else Produce(f, False, body))
        made = block(made, Release(sync.done, int32(1), f))
        use = Produce(f, False, acquired(body, sync, self.syncs))
        return between(sync.turn, f, block(made, use))

    def _lay_out(self, f: Function) -> tuple[tuple[Expr, Expr], ...]:
        """The (min, extent) of each dimension of a Func's storage. What is folded or
        allocated further out counts from 0; `origins` says what that 0 is."""
        regions = self.regions
        hoisted = self._hoist and regions.sites.hoist(f) is not regions.sites.store(f)
        region = regions.stored(f)
        folds = find_folds(regions, f)
        ring = f.schedule.ring if hoisted else None
        slot = None if ring is None else ring_slot(regions, f, ring)
        found = origins(region, folds, hoisted)
        if found is not None:
            self.origins[f] = found
        bounds: list[tuple[Expr, Expr]] = []
        for d, r in enumerate(region):
            if d in folds:
                bounds.append((int32(0), folds[d]))
            elif hoisted:
                bounds.append((int32(0), hoisted_extent(regions, f, d)))
            else:
                bounds.append((r.lo, simplify(add(sub(r.hi, r.lo), int32(1)))))
        if ring is not None and slot is not None:
            # The copies lie one after the other, along the slowest dimension.
            order = f.schedule.storage_order or list(range(f.dimensions))
            d, origin = order[-1], self.origins[f][order[-1]]
            assert origin is not None
            size = bounds[d][1]
            moved = replace(origin, shift=mul(slot, size))
            self.origins[f] = (*self.origins[f][:d], moved, *self.origins[f][d + 1 :])
            bounds[d] = (int32(0), simplify(mul(size, ring)))
        return tuple(bounds)

    def _produce(self, f: Function) -> Stmt:
        return block(*[self._definition(s) for s in self.program.definitions(f)])

    def _definition(self, stages: Sequence[Stage]) -> Stmt:
        """The loops of one definition; of a specialised one, those of the first
        branch whose condition holds."""
        schedule = stages[0].definition.schedule
        if not schedule.specializations:
            return self._stage(stages[0])
        left = list(reversed(stages))
        made: Stmt | None = None
        for branch in reversed(branches(schedule)):
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

    def _stage(self, stage: Stage) -> Stmt:
        nest = self.regions.loops(stage)
        return self._loop(stage, nest, 0)

    def _loop(self, stage: Stage, nest: StageLoops, depth: int) -> Stmt:
        """The stage inside `depth` loops."""
        if depth == len(nest.loops):
            inside = self._provide(stage, nest)
        else:
            loop = nest.loops[depth]
            inside = For(
                loop.var,
                loop.min,
                loop.extent,
                loop.dim.kind,
                self._loop(stage, nest, depth + 1),
            )
        if depth > 0:
            inside = block(*prefetches(self.regions, stage, nest, depth), inside)
        inside = self._site(self.regions.sites.inside(stage, depth), inside)
        for guard in nest.guards:
            if guard.depth == depth:
                # Where other Funcs are computed inside, the guard is around them.
                alone = depth == len(nest.loops) and type(inside) in (Provide, If)
                masks = guard.masks if alone or not guard.masks else "all"
                inside = If(likely(guard.cond, masks), inside, None)
        lets = [let for level, let in nest.lets if level == depth]
        return block(*lets, inside)

    def _provide(self, stage: Stage, nest: StageLoops) -> Stmt:
        if stage.func.extern is not None:
            return self._foreign(stage)
        env: dict[Var, Expr] = dict(nest.values)
        values = tuple([substitute(e, env) for e in stage.values])
        args = tuple([substitute(e, env) for e in stage.args])
        fresh = likely(conjunction(nest.blends))
        if nest.blends and not any(map(_may_skip, values)):
            kept = [FuncCall(v.type, stage.func, args, i) for i, v in enumerate(values)]
            values = tuple(map(partial(select, fresh), values, kept))
        body = marked(stage, Provide(stage.func, values, args, None))
        if nest.blends and any(map(_may_skip, values)):
            body = If(fresh, body, None)
        if not is_true(stage.predicate):
            body = If(substitute(stage.predicate, env), body, None)
        return body

    def _foreign(self, stage: Stage) -> Stmt:
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


def _whole(image: BufferSym) -> list[Range]:
    """All of an image."""
    one = int32(1)
    return [Range(d.min, sub(add(d.min, d.extent), one)) for d in image.dims]


def _may_skip(value: Expr) -> bool:
    """Whether a definition may leave the point as it is, by being undefined there."""
    return any(type(n) is Intrinsic and n.op == "undef" for n in nodes(value))
