"""Vectorised loops become one pass over vectors.

Nested vectorised loops are done from the inside out: the inner one's body has vectors
already when the outer one widens them further (`lower.widen`). What cannot run on all
iterations at once (a print, an assert on varying values, narrow masked accesses) runs
lane by lane, in a serial loop around that statement alone.

A varying condition becomes a mask on loads and stores:

    for v in 0..7: if (likely(x + v < n)) f[v] = g[v]

    if (likely(x + 7 < n)) f[ramp(0, 1, 8)] = g[ramp(0, 1, 8)]
    else f[ramp(0, 1, 8)] = g[ramp(0, 1, 8)] if ramp(x, 1, 8) < n
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parhelion.dataclass import dataclass
from parhelion.errors import internal_assert
from parhelion.ir.build import (
    add,
    block,
    cast,
    const_int,
    imm,
    int32,
    land,
    likely,
    lnot,
    maximum,
    mul,
    sub,
)
from parhelion.ir.expr import (
    LT,
    Add,
    Broadcast,
    Expr,
    Intrinsic,
    Let,
    Load,
    Mul,
    Ramp,
    Select,
    StringImm,
    Sub,
    Var,
    VectorReduce,
)
from parhelion.ir.intrinsics import LIKELY
from parhelion.ir.node import Node
from parhelion.ir.rewrite import _N, Rewriter, nodes
from parhelion.ir.stmt import (
    NOP,
    Allocate,
    Assert,
    Atomic,
    Block,
    Demand,
    Evaluate,
    For,
    ForKind,
    Free,
    If,
    LetStmt,
    OnDemand,
    Prefetch,
    Produce,
    Stmt,
    Store,
)
from parhelion.ir.symbols import BufferSym
from parhelion.lower.atomic import fold_of, surely_apart, without_private_marks
from parhelion.lower.instantiate import instantiate
from parhelion.lower.lane_scans import rereads, scanned
from parhelion.lower.lanes import (
    all_lanes,
    any_lane,
    binary,
    lane_bounds,
    pieces,
    slice_lanes,
)
from parhelion.lower.side_by_side import side_by_side, versions
from parhelion.lower.unroll import constant_extent, refused
from parhelion.lower.widen import CannotVectorize, Widener, is_pure

#: Masked accesses to elements narrower than this many bits run lane by lane: x86-64
#: has masked moves of 8- and 16-bit lanes only in AVX-512BW, and elsewhere each lane
#: becomes a branch of its own.
NARROWEST_MASKED = 32

#: The most lanes of nested vectorised loops together. LLVM gives up, and takes the
#: process with it, at some 2**16.
MOST_LANES = 1 << 12

#: How many parts of Funcs that are computed on demand vectors ask for side by side.
Asked = dict[BufferSym, set[int]]


def vectorize_loops(
    s: Stmt, narrowest_masked: int = NARROWEST_MASKED, vector_bits: int = 256
) -> Stmt:
    """Replaces every VECTORIZED loop by vector code. vector_bits: width of the vectors
    in which values are computed on demand.

    Raises ScheduleError for a loop whose extent is not constant, or beyond all measure.
    """
    return without_private_marks(_VectorizeLoops(narrowest_masked, vector_bits).go(s))


class _VectorizeLoops(Rewriter):
    def __init__(self, narrowest_masked: int, vector_bits: int) -> None:
        super().__init__()
        self.narrowest = narrowest_masked
        self._bits = vector_bits
        self._lanes = 1
        #: Of parts that are computed on demand, how many are asked for side by side.
        self._asked: Asked = {}

    def go(self, n: _N) -> _N:
        return n if isinstance(n, Expr) else super().go(n)

    def on_for(self, n: For) -> Stmt:
        if n.kind is not ForKind.VECTORIZED:
            return For(n.var, n.min, n.extent, n.kind, self.go(n.body))
        extent = constant_extent(n)
        around = self._lanes
        self._lanes *= max(extent or 1, 1)
        if self._lanes > MOST_LANES:
            raise refused(
                n,
                f"is vectorized to {self._lanes} lanes, more than {MOST_LANES}",
                "a vector of a few times the machine's width is as fast as any",
            )
        body = self.go(n.body)
        self._lanes = around
        if extent is None:
            raise refused(
                n,
                "is vectorized, but its extent is not constant",
                "split it by a constant factor and vectorize the inner loop, as"
                " vectorize(x, 8) does, or bound it",
            )
        if extent <= 0:
            return NOP
        if extent == 1:
            return instantiate(body, {n.var: n.min})
        return _Vectorizer(n, body, extent, self.narrowest, self._asked).go(body)

    def on_ondemand(self, n: OnDemand) -> Stmt:
        """Gives what is computed on demand a version for each number of points that
        vectors ask for side by side."""
        body = self.go(n.body)
        lanes = versions(n, self._asked.pop(n.thunk, set()), self._bits)
        makes = tuple([self.go(side_by_side(n, times)) for times in lanes])
        return OnDemand(n.func, n.thunk, makes, lanes, n.claims, n.rank, body)


@dataclass(frozen=True, slots=True)
class _VaryingLet:
    """A let inside the loop whose value varies: as a scalar, and over all iterations.

    loads: whether the value reads memory, which may have changed since.
    """

    value: Expr
    wide: Expr
    loads: bool


class _Vectorizer:
    """Rewrites the body of one loop for all of its iterations at once."""

    def __init__(
        self, loop: For, body: Stmt, times: int, narrowest: int, asked: Asked
    ) -> None:
        self.asked = asked
        self.var, self.low, self.times = loop.var, loop.min, times
        self.pure = is_pure(body)
        self.lets: dict[Var, _VaryingLet] = {}
        #: A Bool per iteration, where set: those that store. (`widen.mask`: that load.)
        self.stores: Expr | None = None
        self.widen = Widener(times, narrowest)
        self.widen.bind(loop.var, Ramp(loop.min, imm(1, loop.min.type), times))

    def go(self, s: Stmt) -> Stmt:
        handler = _HANDLERS.get(type(s))
        internal_assert(handler, f"a {type(s).__name__} in a vectorised loop")
        assert handler is not None
        if self.is_masked:
            # A masked statement that fails makes the whole `if` run lane by lane.
            return handler(self, s)
        laned = self.widen.laned
        try:
            return handler(self, s)
        except CannotVectorize:
            self.widen.laned = laned
            return self.lane_by_lane(s)

    @property
    def is_masked(self) -> bool:
        """Whether some accesses happen only where a condition holds."""
        return self.widen.mask is not None or self.stores is not None

    def needs_lanes(self, n: Node) -> bool:
        """Whether `n` has an effect, which each iteration must have in its turn."""
        return not (self.pure or is_pure(n))

    # Scopes.

    def block(self, s: Block) -> Stmt:
        laned = self.widen.laned
        out: list[Stmt] = []
        for i, item in enumerate(s.items):
            if type(item) is not LetStmt:
                out.append(self.go(item))
                continue
            try:
                out.append(self.let(item))
            except CannotVectorize:
                if self.is_masked:
                    raise
                # What is in its scope has to run with it, iteration by iteration.
                out.append(self.lane_by_lane(block(*s.items[i:])))
                break
        # Other copies of this block allocate for themselves.
        self.widen.laned = laned
        return block(*out)

    def let(self, s: LetStmt) -> Stmt:
        if self.needs_lanes(s.value):
            raise CannotVectorize
        value = self.widen.go(s.value)
        if value is s.value:
            self.widen.bind(s.var, None)
            return s
        named, wide = self.widen.name(s.var, value)
        self.bind(s.var, s.value, wide)
        return NOP if named is None else LetStmt(*named)

    def bind(self, var: Var, value: Expr, wide: Expr) -> None:
        self.widen.bind(var, wide)
        # The latest binding comes last: `_lets_of` wants them in order.
        self.lets.pop(var, None)
        self.lets[var] = _VaryingLet(
            value, wide, any(type(n) is Load for n in nodes(value))
        )

    def allocate(self, s: Allocate) -> Stmt:
        """One copy per iteration, the copies of an element side by side."""
        extents = tuple([self.greatest(self.widen.go(e)) for e in s.extents])
        condition = any_lane(self.widen.go(s.condition))
        self.widen.laned |= {s.buffer}
        times = imm(self.times, extents[0].type if extents else int32(0).type)
        padding = s.padding * self.times
        return Allocate(s.buffer, (times, *extents), condition, s.kind, padding)

    def free(self, s: Free) -> Stmt:
        return s

    def produce(self, s: Produce) -> Stmt:
        return Produce(s.func, s.producing, self.go(s.body))

    def greatest(self, e: Expr) -> Expr:
        """A scalar that the integer `e` exceeds in no iteration that runs."""
        if e.type.count == 1:
            return e
        if self.widen.mask is None:
            _, hi = lane_bounds(e)
            if hi is not None:
                return hi
        else:
            least = imm(int(e.type.lowest()), e.type)
            e = Select(self.widen.mask, e, least)
        return VectorReduce("max", e, 1)

    # Control.

    def loop(self, s: For) -> Stmt:
        low, extent = self.widen.go(s.min), self.widen.go(s.extent)
        if low is s.min and extent is s.extent:
            return For(s.var, s.min, s.extent, s.kind, self.go(s.body))
        # Iterations that start or end apart: count from zero, up to the longest.
        t = s.var.type
        longest = maximum(self.greatest(extent), imm(0, t))
        old = s.var
        step = Var(old.name, t, lo=imm(0, t), hi=sub(longest, imm(1, t)), loop=old.loop)
        body = s.body
        if low is s.min:
            body = instantiate(body, {s.var: add(s.min, step)})
        else:
            start = self.widen.spread(s.min, low)
            wide = binary(Add, start, Broadcast(step, self.times))
            self.bind(s.var, add(s.min, step), wide)
        if extent is s.extent:
            inside = self.go(body)
        else:
            inside = self.go(If(likely(LT(step, s.extent)), body, None))
        return For(step, imm(0, t), longest, s.kind, inside)

    def branch(self, s: If) -> Stmt:
        if self.needs_lanes(s.cond):
            raise CannotVectorize
        cond = self.widen.go(s.cond)
        if cond.type.count == 1:
            other = None if s.otherwise is None else self.go(s.otherwise)
            return If(cond, self.go(s.then), other)
        if not (isinstance(s.cond, Intrinsic) and s.cond.op in LIKELY):
            return self.masked(s.cond, s.then, s.otherwise)
        masks = _masks_of(s.cond) if s.otherwise is None else ""
        plain = If(s.cond.args[0], s.then, s.otherwise)
        if self.is_masked:
            return self.masked(plain.cond, s.then, s.otherwise, masks)
        # Likely is optimised for where it holds in all iterations.
        fast = self.go(s.then)
        again = instantiate(plain, {}, renew=True)
        assert isinstance(again, If)
        return If(all_lanes(cond), fast, self.tail(again, masks))

    def tail(self, s: If, masks: str) -> Stmt:
        """`s` where its condition may fail in some iterations."""
        laned = self.widen.laned
        try:
            return self.masked(s.cond, s.then, s.otherwise, masks)
        except CannotVectorize:
            self.widen.laned = laned
            return self.lane_by_lane(s)

    def masked(
        self, cond: Expr, then: Stmt, otherwise: Stmt | None, masks: str = ""
    ) -> Stmt:
        """``if (cond) then else otherwise`` for a condition that varies. `masks`: what
        is masked even where the lanes are narrow, see `ir.intrinsics`."""
        yes = self.widen.go(cond)
        out: list[Stmt] = []
        if any(type(n) is Load for n in nodes(yes)):
            # What follows may write what the condition reads.
            name = Var("mask", yes.type, value=yes)
            out.append(LetStmt(name, yes))
            yes = name
        out.append(self.under(yes, then, masks))
        if otherwise is not None:
            out.append(self.under(lnot(yes), otherwise))
        return block(*out)

    def under(self, mask: Expr, s: Stmt, masks: str = "") -> Stmt:
        """`s` in the iterations where `mask` holds."""
        widen = self.widen
        before = widen.mask, self.stores, widen.uniform_loads, widen.narrowest
        if masks != "stores":
            widen.set_mask(mask if widen.mask is None else land(widen.mask, mask))
        if masks != "loads":
            self.stores = mask if self.stores is None else land(self.stores, mask)
        if masks:
            widen.narrowest = 0
        widen.uniform_loads = False
        try:
            body = self.go(s)
            # An access that iterations share happens only if one of them runs.
            shared = widen.uniform_loads
            needed = widen.mask if self.stores is None else self.stores
        finally:
            loads, self.stores, widen.uniform_loads, widen.narrowest = before
            widen.set_mask(loads)
        if not shared:
            return body
        assert needed is not None
        return If(any_lane(needed), body, None)

    # Leaves.

    def store(self, s: Store) -> Stmt:
        if self.needs_lanes(s):
            raise CannotVectorize
        widen = self.widen
        value, index = widen.go(s.value), widen.go(s.index)
        predicate = None if s.predicate is None else widen.go(s.predicate)
        if index is s.index and s.buffer not in widen.laned:
            return self.store_to_one_place(s, value, predicate)
        old_count = s.value.type.count
        if s.predicate is not None and predicate is not None:
            predicate = widen.predicate(s.predicate, predicate, old_count)
        if self.stores is not None:
            mask = widen.lanes_of(self.stores, old_count * self.times)
            predicate = mask if predicate is None else land(mask, predicate)
        if predicate is not None:
            widen.check_masked(s.buffer.type)
        index = widen.index(s.buffer, s.index, index)
        return store_pieces(s.buffer, widen.spread(s.value, value), index, predicate)

    def store_to_one_place(self, s: Store, value: Expr, predicate: Expr | None) -> Stmt:
        """All iterations write the same elements: the last one's value stays."""
        rereads = any(type(n) is Load and n.buffer is s.buffer for n in nodes(s))
        if rereads or predicate is not s.predicate:
            raise CannotVectorize  # an accumulation, one iteration after the other
        if value is s.value:
            # Once is enough, if there is an iteration that runs.
            self.widen.uniform_loads = True
            return s
        if self.is_masked:
            raise CannotVectorize
        n = s.value.type.count
        last = slice_lanes(value, n * (self.times - 1), n)
        return Store(s.buffer, last, s.index, s.predicate)

    def atomic(self, s: Atomic) -> Stmt:
        """Lanes that update one place are folded first, and running sums are made in
        steps; where lanes may meet, or other threads may meet one of them, they take
        turns."""
        update, widen = s.body, self.widen
        if type(update) is not Store or update.buffer in widen.laned:
            raise CannotVectorize
        index = widen.go(update.index)
        if rereads(update) and not s.shared:
            made = None if self.is_masked else scanned(update, index, widen)
            if made is None:
                raise CannotVectorize
            return Atomic(s.func, s.shared, s.locked, made)
        if s.locked:
            raise CannotVectorize
        if index is not update.index:
            if s.shared or not surely_apart(index):
                raise CannotVectorize
            return Atomic(s.func, s.shared, s.locked, self.go(update))
        if widen.mask is not None or update.value.type.count > 1:
            raise CannotVectorize
        fold = fold_of(update)
        if fold is None or update.predicate is not None:
            raise CannotVectorize
        value: Expr = fold.old
        if fold.plus is not None:
            value = fold.kind(value, VectorReduce(fold.op, widen.full(fold.plus), 1))
        if fold.minus is not None:
            value = Sub(value, VectorReduce("add", widen.full(fold.minus), 1))
        folded = Store(update.buffer, value, update.index, None)
        return Atomic(s.func, s.shared, s.locked, folded)

    def demand(self, s: Demand) -> Stmt:
        """A demand of vectors; where lanes are masked, they ask for nothing."""
        widen, (index,) = self.widen, s.index
        if index.type.count > 1 or s.table in widen.laned:
            raise CannotVectorize
        row, col, at = widen.go(s.row), widen.go(s.col), widen.go(index)
        predicate = None if s.predicate is None else widen.full(s.predicate)
        mask = widen.mask if self.stores is None else self.stores
        if mask is not None:
            predicate = mask if predicate is None else land(predicate, mask)
        if predicate is None and row is s.row and col is s.col and at is index:
            reads = s.reads * self.times
            return Demand(s.thunk, row, col, s.table, s.index, None, reads, s.waits)
        if not s.waits:
            return NOP  # it is a head start alone: what waits comes behind
        if row is s.row:
            self.asked.setdefault(s.thunk, set()).add(self.times)
        at = widen.spread(index, at)
        col = widen.spread(s.col, col)
        return Demand(s.thunk, row, col, s.table, (at,), predicate, s.reads, s.waits)

    def evaluate(self, s: Evaluate) -> Stmt:
        if self.needs_lanes(s):
            raise CannotVectorize
        return NOP

    def prefetch(self, s: Prefetch) -> Stmt:
        if any(self.widen.go(e) is not e for e in s.children() if isinstance(e, Expr)):
            raise CannotVectorize
        return s

    def check(self, s: Assert) -> Stmt:
        if self.is_masked or self.needs_lanes(s):
            raise CannotVectorize
        if any(self.widen.go(e) is not e for e in s.children()):
            raise CannotVectorize
        return s

    # Lane by lane.

    def lane_by_lane(self, s: Stmt) -> Stmt:
        """`s` as a serial loop over the iterations; unrolled where it needs a lane of
        a vector that was read from memory before."""
        used = self.lets_of(s)
        if any(let.loads for let in used.values()):
            each = [self.one_lane(s, used, i) for i in map(int32, range(self.times))]
            return block(*each)
        old, last = self.var, int32(self.times - 1)
        step = Var(old.name, old.type, lo=int32(0), hi=last, loop=old.loop)
        body = self.one_lane(s, used, step)
        return For(step, int32(0), int32(self.times), ForKind.SERIAL, body)

    def one_lane(self, s: Stmt, used: dict[Var, _VaryingLet], at: Expr) -> Stmt:
        lets: list[Stmt] = []
        for var, let in used.items():
            value = let.value
            number = const_int(at)
            if let.loads and number is not None:
                n = value.type.count
                value = slice_lanes(self.widen.spread(value, let.wide), number * n, n)
            lets.append(LetStmt(var, value))
        if self.widen.laned:
            s = _OwnCopy(self.widen.laned, self.times, at).go(s)
        return instantiate(block(*lets, s), {self.var: add(self.low, at)})

    def lets_of(self, s: Stmt) -> dict[Var, _VaryingLet]:
        """The varying lets that `s` needs from around it, in order of definition."""
        used = {n for n in nodes(s) if type(n) is Var}
        used -= {n.var for n in nodes(s) if isinstance(n, (LetStmt, For, Let))}
        for var, let in reversed(self.lets.items()):
            if var in used and not let.loads:
                used |= {n for n in nodes(let.value) if type(n) is Var}
        return {var: let for var, let in self.lets.items() if var in used}


def _masks_of(cond: Intrinsic) -> str:
    """What the mark of an `If` says to mask; empty for as is best."""
    how = cond.args[1] if len(cond.args) > 1 else None
    return how.value if isinstance(how, StringImm) else ""


_HANDLERS: dict[type[Stmt], Callable[[_Vectorizer, Any], Stmt]] = {
    Block: _Vectorizer.block,
    LetStmt: _Vectorizer.let,
    Allocate: _Vectorizer.allocate,
    Free: _Vectorizer.free,
    Produce: _Vectorizer.produce,
    Atomic: _Vectorizer.atomic,
    For: _Vectorizer.loop,
    If: _Vectorizer.branch,
    Store: _Vectorizer.store,
    Demand: _Vectorizer.demand,
    Evaluate: _Vectorizer.evaluate,
    Prefetch: _Vectorizer.prefetch,
    Assert: _Vectorizer.check,
}


class _OwnCopy(Rewriter):
    """Accesses of iteration `at` to buffers that have a copy per iteration."""

    def __init__(self, buffers: frozenset[BufferSym], times: int, at: Expr) -> None:
        super().__init__()
        self.buffers, self.times, self.at = buffers, times, at

    def index(self, e: Expr) -> Expr:
        t = e.type.element_of()
        times, own = imm(self.times, t), cast(t, self.at)
        if e.type.count == 1:
            return add(mul(e, times), own)
        count = e.type.count
        scaled = binary(Mul, e, Broadcast(times, count))
        return binary(Add, scaled, Broadcast(own, count))

    def on_load(self, n: Load) -> Expr:
        n = n.map(self.go)
        if n.buffer not in self.buffers:
            return n
        return Load(n.type, n.buffer, self.index(n.index), n.predicate)

    def on_store(self, n: Store) -> Stmt:
        n = n.map(self.go)
        if n.buffer not in self.buffers:
            return n
        return Store(n.buffer, n.value, self.index(n.index), n.predicate)


def store_pieces(
    buffer: BufferSym, value: Expr, index: Expr, predicate: Expr | None
) -> Stmt:
    """A store; where the index is a concatenation of ramps, one store for each."""
    parts = pieces(index)
    if len(parts) == 1 or not all(type(p) is Ramp for p in parts):
        return Store(buffer, value, index, predicate)
    name = Var(f"{buffer.name}.value", value.type, value=value)
    out: list[Stmt] = [LetStmt(name, value)]
    if predicate is not None:
        mask = Var(f"{buffer.name}.mask", predicate.type, value=predicate)
        out.append(LetStmt(mask, predicate))
        predicate = mask
    at = 0
    for part in parts:
        n = part.type.count
        only = None if predicate is None else slice_lanes(predicate, at, n)
        out.append(Store(buffer, slice_lanes(name, at, n), part, only))
        at += n
    return block(*out)


__all__ = ["NARROWEST_MASKED", "vectorize_loops"]
