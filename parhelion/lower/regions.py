"""Bounds inference: what region of each Func is needed, at each place in the program.

The question is always "what of `f` does everything inside this site use?". A consumer
whose own loops enclose the site answers from the points and runs of its loops there; a
consumer that is computed further in answers from the region needed of *it*. Answers
are symbolic intervals over loop variables, the outputs' extents and parameters; each
is named by a let at its site at once, so expressions stay small.

Regions flow from consumers to producers, lazily: `required` asks `stage_scopes`, which
asks `required` of the consumer. The call graph has no cycles, so neither has this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parhelion.analysis.bounds import SymInterval, bounds_of
from parhelion.analysis.box import Box, boxes_touched, narrow, union
from parhelion.analysis.symbolic import is_empty, shifted
from parhelion.errors import BoundsError, internal_assert
from parhelion.ir.build import (
    add,
    div,
    int32,
    is_const,
    le,
    maximum,
    minimum,
    mod,
    mul,
    sub,
)
from parhelion.ir.expr import Expr, Var
from parhelion.ir.function import Function
from parhelion.ir.promises import Assumptions
from parhelion.ir.rewrite import free_vars, substitute
from parhelion.ir.stmt import LetStmt
from parhelion.ir.symbols import BufferSym
from parhelion.lower import extern
from parhelion.lower.checks import bound_check
from parhelion.lower.hulls import Region, hulls, together
from parhelion.lower.loops import Loop, Range, Reach, StageLoops
from parhelion.lower.options import PLAIN, LowerOptions
from parhelion.lower.outwards import greatest_outside
from parhelion.lower.parts import Grid, grid_of
from parhelion.lower.sites import Site, Sites
from parhelion.lower.sliding import Slid, slide
from parhelion.lower.stages import LoopStage, StagedPipeline
from parhelion.lower.textures import is_textured
from parhelion.schedule.directives import Bound
from parhelion.schedule.modes import by_loops
from parhelion.simplify.simplifier import can_prove, simplify
from parhelion.types import INT32

_ONE = int32(1)

Scope = Mapping[Var, SymInterval]


class Regions:
    """The answers for one program. All methods are memoised."""

    def __init__(self, program: StagedPipeline, options: LowerOptions = PLAIN) -> None:
        self.program = program
        self.options = options
        self.sites = Sites(program)
        self._required: dict[tuple[Function, Site], Region] = {}
        self._computed: dict[Function, Region] = {}
        self._scopes: dict[tuple[Function, Site], dict[LoopStage, Scope]] = {}
        self._stores: dict[tuple[Function, Site], dict[LoopStage, Scope]] = {}
        self._loops: dict[LoopStage, StageLoops] = {}
        self._boxes: dict[tuple[LoopStage, Site], dict[Function | BufferSym, Box]] = {}
        self._values: dict[tuple[Function, int], SymInterval] = {}
        self._touches: dict[tuple[LoopStage, Site], Region] = {}
        self._names: dict[Expr, tuple[Var, Site]] = {}
        self._foreign: dict[tuple[LoopStage, Site], list[Region]] = {}
        self._let_sites: dict[Var, Site] = {}
        self._grids: dict[Function, Grid] = {}
        #: What names of bounds are of, as the user calls it: a Func, an image, a Var.
        self.owners: dict[Var, str] = {}
        #: Bounds that a sliding window has moved, with what they were before; those
        #: that are lower bounds; and the loops over which each Func's window slides.
        self.unslid: dict[Var, Expr] = {}
        self.raised: set[Var] = set()
        self.slid: dict[Function, Slid] = {}
        #: Why dimensions of storage that lives outside of loops are not folded.
        self.unfolded: dict[tuple[Function, int], str] = {}

    # What is asked for.

    def required(self, f: Function, site: Site) -> Region:
        """The region of `f` that everything inside `site` uses."""
        key = (f, site)
        found = self._required.get(key)
        if found is None:
            found = self._named(f, site, self._find_required(f, site))
            self._required[key] = found
        return found

    def computed(self, f: Function) -> Region:
        """The region that one production of `f` computes: what is required at its
        compute site, less what a sliding window still has from before."""
        found = self._computed.get(f)
        if found is None:
            site = self.sites.compute(f)
            needed = found = self.required(f, site)
            store = self.sites.store(f)
            if site is not store and site.part_of is not f:
                needed = found = self._within(f, site, needed, store)
                slid = slide(self, f, needed)
                if slid is not None:
                    self.slid[f] = slid
                    found = self._named(f, site, slid.region)
                    for new, old in zip(found, needed, strict=True):
                        self._remember(new.lo, old.lo)
                        self._remember(new.hi, old.hi)
                        if new.lo is not old.lo and isinstance(new.lo, Var):
                            self.raised.add(new.lo)
            self._computed[f] = found
        return found

    def _within(self, f: Function, site: Site, needed: Region, store: Site) -> Region:
        """`needed`, cut to what the storage further out was made for.

        Both are bounds of the same points, found by different ways; nothing may be
        written outside of the storage where the inner way is the looser one.
        """
        whole = self.required(f, store)
        out: list[Range] = []
        for r, w in zip(needed, whole, strict=True):
            lo = r.lo if can_prove(le(w.lo, r.lo)) else maximum(r.lo, w.lo)
            hi = r.hi if can_prove(le(r.hi, w.hi)) else minimum(r.hi, w.hi)
            out.append(Range(simplify(lo), simplify(hi)))
        return self._named(f, site, tuple(out))

    def _remember(self, new: Expr, old: Expr) -> None:
        if new is not old and isinstance(new, Var):
            self.unslid[new] = old

    def nest(self, stage: LoopStage, nominal: Mapping[Var, Range]) -> StageLoops:
        """The loop nest of a stage over given regions of its variables."""
        return StageLoops(
            stage,
            nominal,
            guard=self.options.guard_tails or is_textured(stage.func),
            given=stage.func in self.program.outputs,
            shared=self.sites.fusing.shared(stage),
        )

    def loops_at(self, site: Site) -> list[Loop]:
        """The loop that a site is the inside of, once for each stage that shares it."""
        if site.stage is None or not site.depth:
            return []
        fusing = self.sites.fusing
        follow = fusing.follows.get(site.stage)
        if follow is not None and follow.depth == site.depth:
            return []  # it is that of the leader's site around this one
        stages = fusing.members(site.stage, site.depth)
        return [self.loops(s).loops[site.depth - 1] for s in stages]

    def loops(self, stage: LoopStage) -> StageLoops:
        """The loop nest of a stage."""
        if stage not in self._loops:
            self.scopes(stage.func, self.sites.compute(stage.func))
        return self._loops[stage]

    def stored(self, f: Function) -> Region:
        """The region for which `f` needs storage."""
        return self.touched(f, self.sites.store(f))

    def touched(self, f: Function, site: Site) -> Region:
        """All of `f` that is touched inside a site: its store site or further out."""
        return self._touched_by_stages(f, site, self.scopes(f, site))

    def footprint(self, f: Function, site: Site) -> Region:
        """All of `f` that is touched inside `site`, which is its compute site or
        further out, if its own window did not slide. What iterations of the loops
        in there leave to later ones is part of it."""
        region = self.required(f, site)
        out = region
        for stage in reversed(self.program.stages[f]):
            nominal, loops = self.nominal(stage, region), self.loops(stage)
            scope = {
                v: self._span(v, loops.reads(v), nominal[v], False) for v in nominal
            }
            touched = self._find_touch(f, stage, scope)
            out = hulls(out, touched)
            if any(loops.writes(v) is not loops.reads(v) for v in nominal):
                store = {
                    v: self._span(v, loops.writes(v), nominal[v], False)
                    for v in nominal
                }
                out = hulls(out, self._written(f, stage, store))
            region = hulls(region, touched)
        return out

    def image(self, image: BufferSym) -> Region | None:
        """What the whole program reads of an input image; None if nothing."""
        found = []
        for f in self.program.order:
            for s in self.program.stages[f]:
                box = self.boxes(s, self.sites.root).get(image)
                if box is not None:
                    found.append((s, self._bounded(box, image, s)))
        return together(found)

    # How it is found.

    def grid(self, f: Function) -> Grid:
        """The parts of a Func that is computed on demand."""
        found = self._grids.get(f)
        if found is None:
            site = self.sites.store(f)
            found = self._grids[f] = grid_of(f, self.required(f, site), site)
        return found

    def _find_required(self, f: Function, site: Site) -> Region:
        if site.part_of is f:
            return self.grid(f).part()
        found = []
        for consumer in self.program.consumers.get(f, ()):
            if not self.inside(consumer, site):
                continue
            box = self.boxes(consumer, site).get(f)
            if box is not None:
                found.append((consumer, self._bounded(box, f, consumer)))
        out = together(found)
        if f in self.program.outputs and site is self.sites.root:
            asked = _buffer_region(f, self.program.assumptions)
            out = asked if out is None else hulls(asked, out)
        internal_assert(out is not None, f"nothing inside {site} uses {f.name}")
        assert out is not None
        outside = site is not self.sites.store(f) and site.contains(self.sites.store(f))
        for bound in f.schedule.bounds:
            if outside and bound.min is None and bound.remainder is None:
                out = self._beyond(f, site, out, bound)
            else:
                out = self._apply_bound(f, site, out, bound)
        return out

    def _beyond(self, f: Function, site: Site, region: Region, bound: Bound) -> Region:
        """The region seen from outside of the storage of `f`, an extent of which is
        bound or aligned where it begins. Each one inside goes on from where it begins
        itself, so that together they may reach further than this one would."""
        d = f.args.index(bound.var)
        home = self.sites.store(f)
        last = greatest_outside(self, self.required(f, home)[d].hi, home, site)
        if last is None:
            size = bound.extent
            if size is None:
                assert bound.modulus is not None
                size = int32(bound.modulus)
            last = sub(add(region[d].hi, size), _ONE)
        r = region[d]
        hi = r.hi if can_prove(le(last, r.hi)) else maximum(r.hi, last)
        return (*region[:d], Range(r.lo, simplify(hi)), *region[d + 1 :])

    def _apply_bound(
        self, f: Function, site: Site, region: Region, bound: Bound
    ) -> Region:
        d = f.args.index(bound.var)
        r = region[d]
        if bound.extent is not None:
            lo = r.lo if bound.min is None else bound.min
            given = Range(lo, simplify(sub(add(lo, bound.extent), _ONE)))
            site.checks += bound_check(f, d, given, r)
            r = given
        if bound.modulus is not None:
            m, lo = int32(bound.modulus), r.lo
            if bound.remainder is not None:
                # As quotients, of which it shows that they grow with r.
                first = int32(bound.remainder)
                lo = add(mul(div(sub(lo, first), m), m), first)
                last = add(mul(div(sub(r.hi, first), m), m), add(first, m))
                hi = sub(last, _ONE)
            else:
                size = add(sub(r.hi, lo), _ONE)
                rounded = add(size, mod(sub(int32(0), size), m))
                hi = sub(add(lo, rounded), _ONE)
            r = Range(simplify(lo), simplify(hi))
        return (*region[:d], r, *region[d + 1 :])

    def inside(self, consumer: LoopStage, site: Site) -> bool:
        """Whether the stage's loops run inside `site`, at least from some depth on."""
        if site.stage is not None and site.stage.func is consumer.func:
            return site.stage is consumer
        if self.sites.shares(consumer, site):
            return True
        return site.contains(self.sites.compute(consumer.func))

    def boxes(self, stage: LoopStage, site: Site) -> dict[Function | BufferSym, Box]:
        """What one stage reads, of each Func and image, inside `site`."""
        key = (stage, site)
        found = self._boxes.get(key)
        if found is None:
            if not by_loops(stage.func):
                found = self._asked(stage, site)
            else:
                found = self._read(stage, self.scope(stage, site))
            self._boxes[key] = found
        return found

    def _asked(self, stage: LoopStage, site: Site) -> dict[Function | BufferSym, Box]:
        """What foreign code says that it reads."""
        found: dict[Function | BufferSym, Box] = {}
        regions = self.foreign(stage, site)
        for source, region in zip(extern.sources(stage), regions, strict=True):
            read = extern.read_of(source)
            box = tuple([SymInterval(r.lo, r.hi) for r in region])
            found[read] = union(found[read], box) if read in found else box
        return found

    def foreign(self, stage: LoopStage, site: Site) -> list[Region]:
        """What a foreign stage reads of each of its sources, inside `site`."""
        key = (stage, site)
        found = self._foreign.get(key)
        if found is None:
            scope = self.scope(stage, site)
            box = tuple([scope[v] for v in stage.func.args])
            region = self._named(
                stage.func, site, self._bounded(box, stage.func, stage)
            )
            asked = extern.query(stage, region)
            assert asked.value is not None
            site.lets.append(LetStmt(asked, asked.value))
            found = self._foreign[key] = [
                self._named(read, site, part)
                for read, part in zip(
                    map(extern.read_of, extern.sources(stage)),
                    extern.answers(stage, asked),
                    strict=True,
                )
            ]
        return found

    def _read(self, stage: LoopStage, scope: Scope) -> dict[Function | BufferSym, Box]:
        found = boxes_touched(
            stage.exprs, narrow(scope, stage.predicate), self.value_bounds
        )
        if not is_const(stage.predicate):
            for key, box in boxes_touched(
                (stage.predicate,), scope, self.value_bounds
            ).items():
                found[key] = union(found[key], box) if key in found else box
        return found

    def scope(self, stage: LoopStage, site: Site) -> Scope:
        """The interval of each variable of a stage inside `site`."""
        if site.stage is stage or self.sites.shares(stage, site):
            return self.loops(stage).region(site.depth)
        return self.scopes(stage.func, site)[stage]

    def scopes(self, f: Function, site: Site) -> dict[LoopStage, Scope]:
        """The intervals of the variables of each stage of `f`, seen from a site that
        is its compute site or further out."""
        key = (f, site)
        found = self._scopes.get(key)
        if found is None:
            found = self._scopes[key] = self._find_scopes(f, site)
        return found

    def _find_scopes(self, f: Function, site: Site) -> dict[LoopStage, Scope]:
        at_home = site is self.sites.compute(f)
        region = self.computed(f) if at_home else self.required(f, site)
        scopes: dict[LoopStage, Scope] = {}
        stores: dict[LoopStage, Scope] = {}
        for branches in reversed(self.program.definitions(f)):
            for stage in branches:
                nominal = self.nominal(stage, region)
                if at_home:
                    nominal |= self._left_to_scan(stage)
                    loops = self._loops[stage] = self.nest(stage, nominal)
                else:
                    loops = self.loops(stage)
                scopes[stage] = stores[stage] = {
                    v: self._span(v, loops.reads(v), nominal[v], at_home, site)
                    for v in nominal
                }
                if any(loops.writes(v) is not loops.reads(v) for v in nominal):
                    stores[stage] = {
                        v: self._span(v, loops.writes(v), nominal[v], at_home, site)
                        for v in nominal
                    }
            if branches[0].index > 0:
                region = self._before(f, site, branches, scopes, region)
        self._stores[f, site] = stores
        return scopes

    def _span(
        self,
        v: Var,
        reach: Reach,
        nominal: Range,
        at_home: bool,
        site: Site | None = None,
    ) -> SymInterval:
        """Where the loops go, of a variable: at home, or seen from further out, where
        `nominal` is what all their runs are asked for. A site further out gives
        closer bounds than none, for loops that run over what is asked for there."""
        if at_home:
            return SymInterval(reach.covered.lo, reach.covered.hi)
        below, above = reach.below, reach.above
        if site is not None:
            less, more = reach.rounding
            below = self._seen(v, less, below, site)
            above = self._seen(v, more, above, site)
        return SymInterval(
            simplify(sub(nominal.lo, below)), simplify(add(nominal.hi, above))
        )

    def _seen(self, v: Var, e: Expr, otherwise: Expr, site: Site) -> Expr:
        """`e`, by which `v` is rounded, in names known at `site` and not further in;
        or `otherwise`, if `e` depends on loops that are not around the site."""
        if is_const(otherwise, 0):
            return otherwise
        found = self._outside(e, site, {})
        if found is None:
            return otherwise
        return self._name(v.name, "rounding", simplify(found), site)

    def _outside(
        self, e: Expr, site: Site, known: dict[Var, Expr | None]
    ) -> Expr | None:
        """`e` in names known at `site`; None if there is no such expression. `known`
        gets what is found of the Vars that it mentions."""
        env: dict[Var, Expr] = {}
        for var in free_vars(e):
            if var not in known:
                home = self._let_sites.get(var)
                if home is not None and home.contains(site):
                    known[var] = var
                elif var.value is not None:
                    known[var] = self._outside(var.value, site, known)
                else:
                    known[var] = var if var.origin is not None else None
            found = known[var]
            if found is None:
                return None
            env[var] = found
        return substitute(e, env)

    def nominal(self, stage: LoopStage, region: Region) -> dict[Var, Range]:
        own = dict(zip(stage.func.args, region, strict=True))
        out = {v: own[v] for v in stage.pure_vars}
        if stage.rdom is not None:
            for v in stage.rdom.vars:
                assert v.lo is not None and v.hi is not None
                out[v] = Range(v.lo, v.hi)
        return out

    def _left_to_scan(self, stage: LoopStage) -> dict[Var, Range]:
        """What a production leaves out of a scan: see `lower.scan_windows`."""
        slid = self.slid.get(stage.func)
        left = None if slid is None else slid.scan
        if left is None or left.stage is not stage:
            return {}
        return {left.var: left.range}

    def _before(
        self,
        f: Function,
        site: Site,
        branches: Sequence[LoopStage],
        scopes: Mapping[LoopStage, Scope],
        region: Region,
    ) -> Region:
        """What must be there before an update runs: what is required after it and
        what it reads itself, or writes where it reads."""
        touched = together([(s, self._touch(f, site, s, scopes[s])) for s in branches])
        assert touched is not None
        return self._named(f, site, hulls(region, touched))

    def _touch(self, f: Function, site: Site, stage: LoopStage, scope: Scope) -> Region:
        """All of `f` that one of its own stages reads or writes within `scope`."""
        key = (stage, site)
        found = self._touches.get(key)
        if found is None:
            found = self._touches[key] = self._find_touch(f, stage, scope)
        return found

    def _find_touch(self, f: Function, stage: LoopStage, scope: Scope) -> Region:
        return self._with_own(f, stage, scope, self._written(f, stage, scope))

    def _with_own(
        self, f: Function, stage: LoopStage, scope: Scope, region: Region
    ) -> Region:
        """`region`, and what a stage reads of its own Func within `scope`."""
        own = self._read(stage, scope).get(f)
        return region if own is None else hulls(region, self._bounded(own, f, stage))

    def _touched_by_stages(
        self, f: Function, site: Site, scopes: Mapping[LoopStage, Scope]
    ) -> Region:
        stores = self._stores[f, site]
        touched = together(
            [
                (s, self._stored_by(f, site, s, scopes[s], stores[s]))
                for s in self.program.stages[f]
            ]
        )
        assert touched is not None
        return self._named(f, site, hulls(self.required(f, site), touched))

    def _stored_by(
        self, f: Function, site: Site, stage: LoopStage, scope: Scope, store: Scope
    ) -> Region:
        """The storage of a stage that is evaluated in `scope` and stored in `store`."""
        if store is scope:
            return self._touch(f, site, stage, scope)
        return self._with_own(f, stage, scope, self._written(f, stage, store))

    def _written(self, f: Function, stage: LoopStage, scope: Scope) -> Region:
        """All of `f` that a stage stores within `scope`."""
        narrowed = narrow(scope, stage.predicate)
        written = tuple([bounds_of(a, narrowed, self.value_bounds) for a in stage.args])
        return self._bounded(written, f, stage)

    def value_bounds(self, f: Function, index: int) -> SymInterval:
        """Bounds of a Func's value wherever it is evaluated; open if unknown."""
        key = (f, index)
        found = self._values.get(key)
        if found is not None:
            return found
        stages = self.program.stages.get(f)
        out = SymInterval(None, None)
        if stages is not None and len(stages) == 1:
            everywhere = {v: SymInterval(None, None) for v in f.args}
            out = bounds_of(stages[0].values[index], everywhere, self.value_bounds)
        self._values[key] = out
        return out

    # Names.

    def _named(self, f: Function | BufferSym, site: Site, region: Region) -> Region:
        """`region` with each bound that is more than a name named by a let."""
        names = (
            [v.name for v in f.args] if isinstance(f, Function) else range(len(f.dims))
        )
        known = f.label if isinstance(f, Function) else f.name
        out: list[Range] = []
        for v, r in zip(names, region, strict=True):
            lo = self._name(known, f"{v}.min", r.lo, site)
            if is_empty(SymInterval(r.lo, r.hi)):
                # That there is nothing shall show from the names.
                out.append(Range(lo, shifted(lo, -1)))
            else:
                out.append(Range(lo, self._name(known, f"{v}.max", r.hi, site)))
        return tuple(out)

    def _name(self, owner: str, what: str, e: Expr, site: Site) -> Expr:
        if isinstance(e, Var) or not e.children():
            return e
        known = self._names.get(e)
        if known is not None and known[1].contains(site):
            return known[0]
        var = Var(f"{owner}.{what}", INT32, value=e)
        self.owners[var] = owner
        site.lets.append(LetStmt(var, e))
        self._names[e] = var, site
        self._let_sites[var] = site
        return var

    def _bounded(self, box: Box, of: Function | BufferSym, user: LoopStage) -> Region:
        out: list[Range] = []
        for d, i in enumerate(box):
            if i.lo is None or i.hi is None:
                name = of.label if isinstance(of, Function) else of.name
                side = "below" if i.lo is None else "above"
                raise BoundsError(
                    f"{user.func.label!r} reads or writes {name!r} at unbounded "
                    f"coordinates: {_dimension(of, d)} has no bound {side}",
                    at=user.definition.site,
                    hint="wrap the index in hl.clamp(index, low, high)",
                )
            out.append(Range(simplify(i.lo), simplify(i.hi)))
        return tuple(out)


def _dimension(of: Function | BufferSym, d: int) -> str:
    """A dimension in the user's words: a Func's have the names of its Vars."""
    name = f" ({of.args[d].name})" if isinstance(of, Function) else ""
    return f"dimension {d}{name}"


def _buffer_region(f: Function, assumptions: Assumptions) -> Region:
    """What the caller asks of an output: the region of its buffer."""
    region = []
    for d in f.buffers[0].dims:
        low, extent = assumptions.min(d), assumptions.extent(d)
        region.append(Range(low, simplify(sub(add(low, extent), _ONE))))
    return tuple(region)


__all__ = ["Region", "Regions", "Scope"]
