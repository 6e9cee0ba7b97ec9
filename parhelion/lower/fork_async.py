"""Asynchronous Funcs: production and use as two threads, kept in step by semaphores.

    realize f:                     realize f:
      for y:                         fork {
        produce f at y                 for y: acquire turn, produce f at y, release done
        consume f at y     ->        } and {
                                       for y: acquire done, consume f at y, release turn
                                     }

Both threads run the loops between the storage of `f` and its computation; the one keeps
what produces `f`, the other all the rest. There are up to three semaphores, most
counting iterations: *done*, from 0, says what has been computed; *turn*, from 1, keeps
the producer from computing again what its consumer still reads, where iterations
overlap (not where a window slides over each of the loops: then every value is computed
once); *slot*, from the number of slots, keeps it from storage that is used again by the
next iteration of the loops that `hoist_storage` goes out of. In storage that is folded,
*room* counts coordinates instead: those that no later iteration will read are free.

The statements that acquire and release stand in the nest from the start (`synchronise`
and `acquired`); `fork_async` then makes two of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from parhelion.dataclass import dataclass
from parhelion.errors import ScheduleError
from parhelion.ir.build import TRUE, add, block, int32, is_const, lt, select, sub
from parhelion.ir.expr import Expr, FuncCall, Load
from parhelion.ir.function import Function
from parhelion.ir.node import Node
from parhelion.ir.rewrite import _N, Rewriter, nodes, substitute
from parhelion.ir.stmt import (
    Acquire,
    Allocate,
    Assert,
    Block,
    Evaluate,
    For,
    ForKind,
    If,
    LetStmt,
    MemoryKind,
    Produce,
    Provide,
    ProvideExtern,
    Realize,
    Release,
    Stmt,
    Store,
)
from parhelion.ir.stmt import Fork as ForkStmt
from parhelion.ir.symbols import BufferSym
from parhelion.lower.instantiate import instantiate
from parhelion.lower.regions import Regions
from parhelion.lower.remove_marks import remove_marks
from parhelion.lower.ring import Turns
from parhelion.lower.sites import Sites
from parhelion.lower.sliding import Unfold, loops_between
from parhelion.schedule.rules import warn
from parhelion.simplify.simplifier import simplify
from parhelion.types import INT32

_ONE = int32(1)


@dataclass(frozen=True, slots=True)
class Room:
    """How much of folded storage is free, in coordinates of the folded dimension:
    `start` at first; each iteration takes some and, when it has been used, frees some.
    """

    semaphore: BufferSym
    start: Expr
    taken: Expr
    freed: Expr


@dataclass(frozen=True, slots=True)
class Sync:
    """The semaphores of one async Func; `slots` is what the last one starts from, and
    `turns` counts the copies that it goes with."""

    func: Function
    done: BufferSym
    turn: BufferSym | None
    slot: BufferSym | None
    slots: Expr = _ONE
    room: Room | None = None
    turns: Turns | None = None

    def starts(self) -> list[tuple[BufferSym, Expr]]:
        """Each semaphore with its first value."""
        found: list[tuple[BufferSym, Expr]] = [(self.done, int32(0))]
        if self.turn is not None:
            found.append((self.turn, _ONE))
        if self.slot is not None:
            found.append((self.slot, self.slots))
        if self.room is not None:
            found.append((self.room.semaphore, self.room.start))
        return found


Syncs = Mapping[Function, Sync]


def semaphores(
    regions: Regions, f: Function, folds: Mapping[int, Expr], turns: Turns | None
) -> Sync:
    """New semaphores for `f`, some dimensions of whose storage are folded. turns: of
    the copies of its storage, if there are several."""

    def make(what: str) -> BufferSym:
        return BufferSym(f"{f.name}.{what}", INT32, 1, "internal")

    slid = regions.slid.get(f)
    loops = loops_between(regions, f)
    once = slid is not None and all(loop.var in slid.loops for loop, _ in loops)
    # A tail that is shifted inwards computes values again; those of updates are not
    # final in between.
    again = (
        slid is not None
        and bool(f.updates)
        and not all(walk.forward for walk in slid.walks.values())
    )
    hoisted = regions.sites.hoist(f) is not regions.sites.store(f)
    turn = bool(loops) and not once or again
    room = None
    if folds and not turn:
        found = None if hoisted else _room(regions, f, folds)
        turn = found is None
        if found is not None:
            room = Room(make("room"), *found)
    slots = (f.schedule.ring or _ONE) if hoisted else _ONE
    return Sync(
        f,
        make("done"),
        make("turn") if turn else None,
        make("slot") if hoisted else None,
        slots,
        room,
        turns,
    )


def has_thread(sites: Sites, f: Function) -> bool:
    """Whether an async Func is computed by a thread of its own; warns if it is not.

    The fork stands around the storage of `f`, and the cache is asked by the thread
    that consumes: the other one cannot know which iterations are left out.
    """
    if not f.schedule.async_:
        return False
    host = sites.memoized_around(f)
    if host is None or sites.hoist(f).within(host):
        return True
    warn(
        f"{f.label}.async_ has no effect: {f.label} is computed inside the loops of"
        f" {host.label}, which is memoized, and stored outside of them; where the"
        f" result of {host.label} is known these loops do not run, and a thread of its"
        " own would wait for them",
        f.schedule.async_site,
    )
    return False


def _room(
    regions: Regions, f: Function, folds: Mapping[int, Expr]
) -> tuple[Expr, Expr, Expr] | None:
    """The start, taken and freed of a `Room`; None where it is not known how much of
    folded storage an iteration needs.

    It is where one loop moves one folded dimension on, and production writes nothing
    beyond its region. Iteration v then takes hi(v) - hi(v - 1), and lo(v + 1) - lo(v)
    are not wanted after it; so nothing is overwritten that a later one still reads.
    """
    loops = loops_between(regions, f)
    if len(folds) != 1 or len(loops) != 1:
        return None
    ((d, size),) = folds.items()
    wish = f.schedule.storage.get(d)
    if wish is None or not wish.forward:
        return None
    own = f.args[d]
    for stage in regions.program.stages[f]:
        if stage.args[d] is not own:
            return None
        reach = regions.loops(stage).writes(own)
        if not (is_const(reach.below, 0) and is_const(reach.above, 0)):
            return None
    loop = loops[0][0]
    v = loop.var
    needed = regions.required(f, regions.sites.compute(f))[d]
    unfold = Unfold(v, regions.unslid)
    lo, hi = unfold.of(needed.lo), unfold.of(needed.hi)
    step = sub(hi, substitute(hi, {v: sub(v, _ONE)}))
    whole = add(sub(hi, lo), _ONE)
    taken = select(lt(loop.min, v), step, whole)
    freed = sub(substitute(lo, {v: add(v, _ONE)}), lo)
    parts = (size, simplify(taken), simplify(freed))
    made: list[Expr] = []
    for e in parts:
        plain = remove_marks(Evaluate(e))
        assert isinstance(plain, Evaluate)
        made.append(plain.value)
    return made[0], made[1], made[2]


def between(first: BufferSym | None, f: Function, body: Stmt) -> Stmt:
    """`body` while one of a semaphore is held."""
    if first is None:
        return body
    return block(Acquire(first, _ONE, f, ()), body, Release(first, _ONE, f))


def in_room(room: Room | None, f: Function, body: Stmt) -> Stmt:
    """`body`, before which room is taken in folded storage, and after it freed."""
    if room is None:
        return body
    take = Acquire(room.semaphore, room.taken, f, ())
    return block(take, body, Release(room.semaphore, room.freed, f))


def acquired(s: Stmt, sync: Sync, syncs: Syncs) -> Stmt:
    """`s`, which uses an async Func, with a wait for its values before the first use.

    The wait goes further in as long as it is surely run once, and what comes before
    needs no wait. It stays outside of another async Func of which both threads would
    have to wait.
    """
    f = sync.func
    wait = Acquire(sync.done, _ONE, f, ())
    if isinstance(s, Block):
        for i, item in enumerate(s.items):
            if _calls(item, f):
                inner = acquired(item, sync, syncs)
                return Block((*s.items[:i], *_flat(inner), *s.items[i + 1 :]))
        return block(wait, s)
    if isinstance(s, Produce) and not s.producing:
        return Produce(s.func, False, acquired(s.body, sync, syncs))
    if isinstance(s, Realize):
        made = _productions(s.body, s.func)
        rest = [n for n in _others(s.body, made) if _is_call(n, f)]
        if s.func in syncs and rest and any(_calls(p, f) for p in made):
            return block(wait, s)
        if any(_calls(e, f) for pair in s.bounds for e in pair):
            return block(wait, s)
        return Realize(s.func, s.bounds, s.condition, acquired(s.body, sync, syncs))
    return block(wait, s)


def _flat(s: Stmt) -> tuple[Stmt, ...]:
    if type(s) is Block and not any(type(i) is Allocate for i in s.items):
        return s.items
    return (s,)


def _is_call(n: Node, f: Function) -> bool:
    return type(n) is FuncCall and n.func is f


def _calls(n: Node, f: Function) -> bool:
    return any(_is_call(e, f) for e in nodes(n))


def _stores(n: Node, f: Function) -> bool:
    return isinstance(n, (Provide, ProvideExtern)) and n.func is f


def _productions(s: Stmt, f: Function) -> list[Produce]:
    return [n for n in nodes(s) if type(n) is Produce and n.producing and n.func is f]


def _others(s: Stmt, without: Iterable[Stmt]) -> Iterable[Node]:
    """The nodes of `s` outside of some statements."""
    left = set(without)
    stack: list[Node] = [s]
    seen: set[Node] = set()
    while stack:
        n = stack.pop()
        if n in seen or n in left:
            continue
        seen.add(n)
        yield n
        stack.extend(n.children())


# The fork.


def fork_async(s: Stmt, syncs: Syncs) -> Stmt:
    """`s` with a fork around the loops of each async Func. Raises ScheduleError where
    both threads would compute the same storage."""
    return _Fork(syncs).go(s) if syncs else s


class _Fork(Rewriter):
    def __init__(self, syncs: Syncs) -> None:
        super().__init__()
        self.syncs = syncs
        self.lanes = False

    def go(self, n: _N) -> _N:
        return n if isinstance(n, Expr) else super().go(n)

    def on_for(self, n: For) -> Stmt:
        outer = self.lanes
        self.lanes = outer or n.kind is ForKind.VECTORIZED
        body = self.go(n.body)
        self.lanes = outer
        return n if body is n.body else For(n.var, n.min, n.extent, n.kind, body)

    def on_realize(self, n: Realize) -> Stmt:
        sync = self.syncs.get(n.func)
        if sync is None:
            body = self.go(n.body)
            if body is n.body:
                return n
            return Realize(n.func, n.bounds, n.condition, body)
        f = n.func
        if self.lanes:
            raise ScheduleError(
                f"{f.label}.async_: {f.label} is stored inside a vectorized loop, whose"
                " lanes cannot have threads of their own",
                at=f.schedule.async_site,
                hint=f"store {f.label} outside of that loop",
            )
        split = _Split(n.body, sync, self.syncs)
        first, second = split.first(), split.second()
        if sync.turns is not None:
            first, second = counting(sync.turns, first), counting(sync.turns, second)
        # The copies stand beside each other.
        first = instantiate(first, {}, renew=True)
        fork = ForkStmt(f, self.go(first), self.go(second))
        items: list[Stmt] = []
        for semaphore, start in sync.starts():
            items.append(Allocate(semaphore, (_ONE,), TRUE, MemoryKind.STACK, 0))
            items.append(Store(semaphore, start, int32(0), None))
        return Realize(f, n.bounds, n.condition, Block((*items, fork)))


def counting(turns: Turns, thread: Stmt) -> Stmt:
    """A thread with a count of its own of the copies of a ring buffer."""
    cell = Allocate(turns.cell, (_ONE,), TRUE, MemoryKind.STACK, 0)
    return Block((cell, turns.begin(), *_flat(thread)))


class _Split:
    """One body as two: what produces a Func, and the rest."""

    def __init__(self, body: Stmt, sync: Sync, syncs: Syncs) -> None:
        self.body, self.sync, self.f = body, sync, sync.func
        self.owner = {b: s.func for s in syncs.values() for b, _ in s.starts()}
        #: Whose copies are counted by which cells.
        self.counts = {s.turns.cell: s.func for s in syncs.values() if s.turns}
        self.made: dict[Function, list[Produce]] = {}
        self.own: set[Function] = set()
        #: Those that share loops: whoever makes one makes all.
        self.together: dict[Function, set[Function]] = {}
        for n in nodes(body):
            if type(n) is Produce and n.producing:
                self.made.setdefault(n.func, []).append(n)
                inner = n.body
                if type(inner) is Produce and inner.producing:
                    group = {n.func, inner.func}
                    for g in (n.func, inner.func):
                        group |= self.together.get(g, set())
                    self.together.update(dict.fromkeys(group, group))
            elif type(n) is Realize:
                self.own.add(n.func)
        mine = self.made.pop(self.f, [])
        #: What the Func reads, directly or through others that are computed here.
        self.needed = self._closure(_read(mine))
        # Of what is left, first all that is not made for others alone.
        skip = [*mine, *[p for g in self.needed for p in self.made.get(g, ())]]
        roots = {n.func for n in _others(body, skip) if type(n) is FuncCall}
        self.rest = self._closure(roots)
        self._check()

    def _closure(self, roots: set[Function]) -> set[Function]:
        found: set[Function] = set()
        stack = list(roots)
        while stack:
            g = stack.pop()
            if g in found:
                continue
            found.add(g)
            stack += _read(self.made.get(g, ()))
            stack += self.together.get(g, ())
        return found

    def _check(self) -> None:
        synced = {
            self.owner[n.semaphore]
            for n in nodes(self.body)
            if isinstance(n, (Acquire, Release))
        }
        for g in self.needed & self.rest:
            if g is self.f or g in self.own or not (g in self.made or g in synced):
                continue
            f = self.f.label
            raise ScheduleError(
                f"{f}.async_: {g.label} is computed inside the loops that {f} is stored"
                f" outside of, and used by {f} and by what uses {f}: both threads would"
                " compute it, in one storage",
                at=self.f.schedule.async_site,
                hint=f"compute {g.label} further out, or store it further in",
            )

    def first(self) -> Stmt:
        """What produces the Func."""
        made = self._filtered(self.body, self._in_first)
        assert made is not None
        return made

    def second(self) -> Stmt:
        """All the rest."""
        made = self._filtered(self.body, self._in_second)
        assert made is not None
        return made

    def _in_first(self, s: Stmt) -> bool | None:
        """Whether a statement belongs to the producer; None: look inside."""
        if isinstance(s, Produce):
            if s.producing and (s.func is self.f or s.func in self.needed):
                return True
            return None
        if isinstance(s, (Acquire, Release)):
            of = self.owner[s.semaphore]
            if of is not self.f:
                return of in self.needed
            return isinstance(s, Acquire) != (s.semaphore is self.sync.done)
        counted = self._counted(s)
        if counted is not None:
            return counted is self.f or counted in self.needed
        if isinstance(s, (LetStmt, Assert)):
            return True
        return None if isinstance(s, (Block, For, If, Realize)) else False

    def _in_second(self, s: Stmt) -> bool | None:
        if isinstance(s, Produce) and s.producing:
            if s.func is self.f:
                return False
            alone = s.func in self.needed and s.func not in self.rest
            return False if alone else None
        if isinstance(s, (Acquire, Release)):
            of = self.owner[s.semaphore]
            if of is not self.f:
                return of not in self.needed or of in self.rest
            return isinstance(s, Acquire) == (s.semaphore is self.sync.done)
        counted = self._counted(s)
        if counted is not None:
            return counted not in self.needed or counted in self.rest
        return None if isinstance(s, (Block, For, If, Realize, Produce)) else True

    def _counted(self, s: Stmt) -> Function | None:
        """Whose copies a statement counts, or names the count of."""
        if isinstance(s, Store):
            return self.counts.get(s.buffer)
        if isinstance(s, LetStmt) and isinstance(s.value, Load):
            return self.counts.get(s.value.buffer)
        return None

    def _filtered(self, s: Stmt, wanted: Callable[[Stmt], bool | None]) -> Stmt | None:
        verdict = wanted(s)
        if verdict is not None:
            return s if verdict else None
        if isinstance(s, Block):
            items = [self._filtered(i, wanted) for i in s.items]
            kept = [i for i in items if i is not None]
            if all(isinstance(i, (LetStmt, Assert)) for i in kept):
                return None
            return block(*kept)
        if isinstance(s, If):
            then = self._filtered(s.then, wanted)
            other = s.otherwise and self._filtered(s.otherwise, wanted)
            if then is None and other is None:
                return None
            return If(s.cond, block(then) if then is None else then, other)
        assert isinstance(s, (For, Realize, Produce))
        body = self._filtered(s.body, wanted)
        if body is None:
            return None
        if isinstance(s, For):
            return For(s.var, s.min, s.extent, s.kind, body)
        if isinstance(s, Realize):
            if not any(_stores(n, s.func) for n in nodes(body)):
                return _Unmarked(s.func).go(body)  # the other thread's alone
            return Realize(s.func, s.bounds, s.condition, body)
        return Produce(s.func, s.producing, body)


class _Unmarked(Rewriter):
    """Takes away the marks around loops that a thread runs for other Funcs than the
    one whose production or use they were."""

    def __init__(self, f: Function) -> None:
        super().__init__()
        self.f = f

    def go(self, n: _N) -> _N:
        return n if isinstance(n, Expr) else super().go(n)

    def on_produce(self, n: Produce) -> Stmt:
        body = self.go(n.body)
        if n.func is self.f:
            return body
        return n if body is n.body else Produce(n.func, n.producing, body)


def _read(s: Iterable[Produce]) -> set[Function]:
    """The Funcs that productions read themselves. What is computed within their loops
    for them reads more, which is another production's."""
    found: set[Function] = set()
    for p in s:
        fused = {p}
        inner: Stmt = p.body
        while isinstance(inner, Produce) and inner.producing:
            fused.add(inner)
            inner = inner.body
        within = [n for n in nodes(p) if type(n) is Produce and n.producing]
        others = _others(p, [n for n in within if n not in fused])
        found |= {n.func for n in others if type(n) is FuncCall}
    return found


__all__ = [
    "Sync",
    "Syncs",
    "acquired",
    "between",
    "fork_async",
    "in_room",
    "semaphores",
]
