"""Where a Func is computed, stored and allocated, in what thread, and whether its
results are kept: one choice, made when the loops of all its readers stand.

Given to producers after consumers. The loops to choose from are read off the schedule,
so that a place is legal by far the most often, whatever the readers have become:
updates, branches, wrappers, clones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import parhelion as hl
from parhelion.ir.expr import Var
from parhelion.ir.function import Function
from parhelion.ir.stmt import ForKind
from parhelion.ir.symbols import BufferSym
from parhelion.schedule.dependencies import dependencies
from parhelion.schedule.directives import OUTERMOST, LoopLevel, Place
from parhelion.schedule.order import realization_order
from parhelion.schedule.sites import LoopSite, Nests, Stack
from tests.fuzz.case import Choices

if TYPE_CHECKING:
    from tests.fuzz.apply import Scheduler
    from tests.fuzz.ops import Built

Call = Callable[[], object]

#: What some of the memoized results are dropped by.
EVICTED = 7

_APART = (ForKind.PARALLEL, ForKind.VECTORIZED)


@dataclass(frozen=True, slots=True)
class _Func:
    """A Func as directives take one."""

    _function: Function


@dataclass(frozen=True, slots=True)
class _Var:
    """A loop as directives take one."""

    _var: Var


def nests_down_to(outputs: list[Any], function: Function) -> Nests | None:
    """The loop nests with all that reads `function` in its place; None if a place is
    illegal or nothing reads it."""
    given = [f._function for f in outputs]
    nests = Nests(given, realization_order(given))
    if function not in nests.uses:
        return None
    for g in reversed(nests.order):
        if g is function:
            return nests
        stacks = [u.stack for u in nests.uses[g]]
        if g in nests.outputs:
            nests.place(g, [()], [()])
        elif nests.inlines(g):
            continue
        else:
            level = nests.placements[g].level()
            depths = [len(s) if level is None else _depth(s, level) for s in stacks]
            if None in depths:
                return None
            computed = [s[:d] for s, d in zip(stacks, depths, strict=True)]
            nests.place(g, computed, computed)
    return None


def _depth(stack: Stack, level: LoopLevel) -> int | None:
    """As `legality` has it: how many loops are outside of `level`."""
    if level.place is Place.ROOT:
        return 0
    return next((i for i, s in enumerate(stack, 1) if s.matches(level)), None)


def _level(site: LoopSite | None, nests: Nests, function: Function) -> Any:
    """A site as a LoopLevel; of a certain stage where all uses are in that one."""
    if site is None:
        return hl.LoopLevel.root()
    of: Any = _Func(site.func)
    var: Any = hl.Var.outermost() if site.dim.var is OUTERMOST else _Var(site.dim.var)
    stages = {
        s.stage
        for use in nests.uses[function]
        for s in use.stack
        if s.func is site.func
    }
    if len(stages) == 1 and (site.stage or site.dim.var is OUTERMOST):
        return hl.LoopLevel(of, var, site.stage)
    return hl.LoopLevel(of, var)


def _between(
    nests: Nests, f: Function, outer: LoopSite | None, inner: LoopSite | None
) -> bool:
    """Whether no iterations run at the same time from `outer` to `inner`."""

    def depth(stack: Stack, site: LoopSite | None) -> int:
        if site is None:
            return 0
        return 1 + next(
            i
            for i, s in enumerate(stack)
            if s.func is site.func and s.dim.var is site.dim.var
        )

    return not any(
        s.dim.kind in _APART
        for use in nests.uses[f]
        for s in use.stack[depth(use.stack, outer) : depth(use.stack, inner)]
    )


def choose(
    outputs: list[Any],
    func: Any,
    choices: Choices,
    *,
    storage: bool = True,
    late: bool = False,
    number: Callable[[int], Any] = int,
) -> tuple[list[str], Call]:
    """(the names to count, the call) of a place for `func`. number: makes the numbers
    that directives are given.

    late: in a loop of an update where there is one, along a reduction for choice.
    """
    f: Function = func._function
    nests = nests_down_to(outputs, f)
    sites: list[LoopSite | None] = [None]
    for site in [] if nests is None else nests.legal_sites(f):
        if site.dim.kind is ForKind.VECTORIZED:
            break
        sites.append(site)
    if late:
        sites = _late(sites) or sites
    at_root = choices.upto(9) < 2
    at = 0 if at_root else choices.upto(len(sites) - 1)
    if nests is None or not at:
        where, named = None, ["compute_root"]
        inner: Any = None
    else:
        where, named = sites[at], ["compute_at"]
        inner = _level(where, nests, f)
        named += _kind(where)
    calls: list[Call] = [func.compute_root if inner is None else _to(func, inner)]
    if nests is not None and storage:
        more, outer, hoisted = _storage(func, choices, nests, sites[: at + 1])
        named += [name for name, _ in more]
        calls += [call for _, call in more]
        found = _threads(func, choices, nests, where, outer, hoisted, number)
        if not found and not more:
            found = _memoized(func, choices, nests, where)
        named += [name for name, _ in found]
        calls += [call for _, call in found]
        lazily = _lazily(func, choices, inner)
        if lazily is not None:
            named, calls = lazily

    def call() -> None:
        for one in calls:
            one()

    return named, call


def _lazily(
    func: Any, choices: Choices, inner: Any
) -> tuple[list[str], list[Call]] | None:
    """On demand, in place of all that, for one in eight; stored where it would have
    been computed. The numbers come last, as cases that are written down have none."""
    f = func._function
    if choices.upto(7) < 7 or not func.dimensions() or f.extern is not None:
        return None
    named = ["compute_lazy"]
    tile: list[int | None] | None = None
    if choices.upto(2) or f.updates:
        named.append("compute_lazy (tile)")
        count = choices.upto(func.dimensions() - 1) + 1
        tile = [(4, 8, 1, 3, 16, 5, None)[choices.upto(6)] for _ in range(count)]
    calls: list[Call] = [lambda: func.compute_lazy(tile)]
    if inner is not None:
        named.append("compute_lazy (store_at)")
        calls.append(lambda: func.store_at(inner))
    return named, calls


def _late(sites: list[LoopSite | None]) -> list[LoopSite | None]:
    """All sites down to the last one in an update, best one of an RVar."""
    for kind in ("LoopLevel of an RVar", "LoopLevel of an update"):
        found = [i for i, s in enumerate(sites) if kind in _kind(s)]
        if found:
            return sites[: found[-1] + 1]
    return []


def _to(func: Any, level: Any) -> Call:
    return lambda: func.compute_at(level)


def _kind(site: LoopSite | None) -> list[str]:
    """What is special about a place, to be counted."""
    if site is None:
        return []
    found = []
    if site.stage:
        found.append("LoopLevel of an update")
    if site.dim.var is OUTERMOST:
        found.append("LoopLevel Var.outermost")
    elif site.stage and site.dim.var not in site.func.args:
        found.append("LoopLevel of an RVar")
    return found


def _storage(
    func: Any, choices: Choices, nests: Nests, sites: list[LoopSite | None]
) -> tuple[list[tuple[str, Call]], LoopSite | None, bool]:
    """Storage further out than the computation, allocated further out than it begins.

    Returns the directives, where the storage begins, and whether it is hoisted."""
    f = func._function
    where = sites[-1]
    made: list[tuple[str, Call]] = []
    outer = where
    kind = choices.upto(9)
    free = [s for s in sites[:-1] if _between(nests, f, s, where)]
    if free and kind < 6:
        outer = free[choices.upto(len(free) - 1)]
        if outer is None:
            made.append(("store_root", func.store_root))
        else:
            level = _level(outer, nests, f)
            made.append(("store_at", lambda: func.store_at(level)))
    further = [
        s
        for s in sites[: sites.index(outer)]
        if _between(nests, f, s, where) and _between(nests, f, s, outer)
    ]
    hoisted = bool(further) and choices.upto(1) == 0
    if hoisted:
        site = further[choices.upto(len(further) - 1)]
        if site is None:
            made.append(("hoist_storage_root", func.hoist_storage_root))
        else:
            hoist = _level(site, nests, f)
            made.append(("hoist_storage", lambda: func.hoist_storage(hoist)))
    return made, outer, hoisted


def _threads(
    func: Any,
    choices: Choices,
    nests: Nests,
    where: LoopSite | None,
    outer: LoopSite | None,
    hoisted: bool,
    number: Callable[[int], Any],
) -> list[tuple[str, Call]]:
    """Where there is something to gain from it, mostly."""
    made: list[tuple[str, Call]] = []
    ring = hoisted and func.dimensions() and choices.upto(1) == 0
    if ring:
        copies = number(1 + choices.upto(3))
        made.append(("ring_buffer", lambda: func.ring_buffer(copies)))
    apart = outer is not where or ring
    if choices.upto(2 if apart else 11) == 0 and not (
        apart and _entangled(nests, func._function)
    ):
        made.append(("async_", func.async_))
    return made


def _entangled(nests: Nests, f: Function) -> bool:
    """Whether a thread of its own for `f` is refused where its storage is further out:
    several Funcs use it, or it is inside the loops of a memoized one."""
    uses = nests.uses[f]
    return len({u.func for u in uses}) > 1 or any(
        s.func.schedule.memo is not None for u in uses for s in u.stack
    )


def _memoized(
    func: Any, choices: Choices, nests: Nests, where: LoopSite | None
) -> list[tuple[str, Call]]:
    """Results that no image decides about, and that have storage of their own."""
    f = func._function
    inside = any(
        s.dim.kind is ForKind.VECTORIZED for use in nests.uses[f] for s in use.stack
    )
    if (inside and where is not None) or choices.upto(3) or f in nests.outputs:
        return []
    if any(isinstance(e, BufferSym) for e in dependencies(f)):
        return []
    if choices.upto(2) == 2:
        both = [("memoize", _nothing), ("memoize (EvictionKey)", _evictable(func))]
        return both
    return [("memoize", func.memoize)]


def _nothing() -> None:
    pass


def _evictable(func: Any) -> Call:
    return lambda: func.memoize(hl.EvictionKey(EVICTED))


def place(s: Scheduler, built: Built, choices: Choices) -> Call | None:
    """The directive of the cases."""
    return _placed(s, built, choices, False)


def place_late(s: Scheduler, built: Built, choices: Choices) -> Call | None:
    """The same, in the loops of an update where there is one."""
    return _placed(s, built, choices, True)


def _placed(s: Scheduler, built: Built, choices: Choices, late: bool) -> Call | None:
    outputs = s.program.outputs()
    if any(o is built.func for o in outputs):
        return None
    s.named, call = choose(
        outputs,
        built.func,
        choices,
        late=late,
        number=lambda n: s.params.number(n, free=True),
    )
    return call
