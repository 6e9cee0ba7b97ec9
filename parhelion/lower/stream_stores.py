"""Outputs larger than the caches are written past them.

A store to a line that is not in the cache makes the processor read the line first, and
later write it back: an image that is only written moves through memory twice. A
non-temporal store of whole lines moves it once, and leaves the cache to the inputs. It
pays only if the output does not fit in the cache, and only for lines that are written
whole, one vector after the other. Both are known when the pipeline runs:

    for x:                          if (the output is large, and the row starts a line):
      out[ramp(x*32, 1, 32)] = v      for x:
                              ->        out[ramp(x*32, 1, 32)] = streamed(v)
                                    else:
                                      for x:
                                        out[ramp(x*32, 1, 32)] = v

A processor gathers what goes past the caches in a few buffers of a line each. Where a
register holds a line, a store fills its buffer at once. With narrower ones some buffers
are open for a while, and on a Zen 3 a load from an address with the same last 12 bits
empties them half full: three rows written in turn beside rows that lie a multiple of
4 KiB away, as those of images of one size do, take 10 times as long as rows 64 bytes
further, and those 0.6 times as long as through the caches. So a loop that writes
several rows is also asked, where it begins a row, whether none of the rows that it
reads is so near to one that it writes.

Both loops are there only where memory is what the loop waits for (see
`lower.prefetch_streams`, whose hints for writing move to the second one), and only for
outputs that nothing reads and no update changes. A scan along columns reads what it has
written, but several rows at a time all but the first of them from registers
(`lower.kept_values`): that row is read from memory again, which costs less than to read
each line before it is written, if it is one of `_ROWS_FOR_ONE` or more. This comes
after lowering, since it is a choice of instructions: the lowered program, and C made of
it, have the loop once. The limits are the processor's (`ir.tuning`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from functools import cached_property

from parhelion.analysis.linear import difference
from parhelion.analysis.monotonic import slope
from parhelion.analysis.rank import loads, reads_data
from parhelion.dataclass import dataclass
from parhelion.ir.build import (
    block,
    cast,
    conjunction,
    const_int,
    gt,
    int32,
    int64,
    is_true,
    mul,
)
from parhelion.ir.expr import Expr, Intrinsic, Load, Ramp, Var
from parhelion.ir.function import Function
from parhelion.ir.rewrite import _N, Rewriter, nodes, substitute
from parhelion.ir.stmt import (
    Block,
    For,
    ForKind,
    If,
    LetStmt,
    Prefetch,
    Stmt,
    Store,
)
from parhelion.ir.symbols import BufferSym
from parhelion.ir.target import Target
from parhelion.ir.tuning import Tuning
from parhelion.lower.instantiate import instantiate
from parhelion.lower.kept_values import Kept, hold, kept_values
from parhelion.lower.prefetch_streams import straight, vector_work
from parhelion.simplify.simplifier import simplify
from parhelion.types import INT64, Bool

#: At most so many pairs of rows are compared.
_MOST_PAIRS = 128
#: How many rows of an output are written for each one that is read again, at least.
_ROWS_FOR_ONE = 4


def stream_stores(s: Stmt, outputs: Iterable[Function], target: Target) -> Stmt:
    """The body of a program, with a second version of the loops that write large
    outputs, where the processor has stores that bypass its caches."""
    if target.tuning is None:
        return s
    updated = {b for f in outputs if not _is_written_once(f) for b in f.buffers}
    return _Streams(s, updated, target.vector_bits // 8, target.tuning).go(s)


def _is_written_once(f: Function) -> bool:
    """Whether one definition alone stores values, maybe an update."""
    if not f.updates:
        return True
    nothing = [
        isinstance(v, Intrinsic) and v.op == "undef" for v in f.stages()[0].values
    ]
    return len(f.updates) == 1 and all(nothing)


@dataclass(frozen=True, slots=True)
class _Plan:
    """buffers: whose stores bypass the caches. starts: the first element of each row
    that must begin a line. read: those of rows that are read and must be elsewhere than
    these in a page, and not so many bytes before: so far loads run ahead. large: the
    most bytes of an output that is left to the caches. kept: what the loop reads of
    what it has just written."""

    buffers: tuple[BufferSym, ...]
    starts: tuple[Load, ...]
    read: tuple[Load, ...]
    ahead: int
    large: int
    kept: Kept

    def condition(self) -> Expr:
        large = [_is_larger(b, self.large) for b in self.buffers]
        aligned = [Intrinsic(Bool(), "line_aligned", (at,)) for at in self.starts]
        apart = [
            Intrinsic(Bool(), "lines_apart", (row, at, int32(self.ahead)))
            for row in self.read
            for at in self.starts
        ]
        return conjunction([*large, *aligned, *apart, *self.kept.conditions])


class _Streams(Rewriter):
    def __init__(
        self, s: Stmt, updated: Set[BufferSym], register_bytes: int, tuning: Tuning
    ) -> None:
        super().__init__()
        self.line_in_register = register_bytes >= tuning.line
        self.tuning = tuning
        self.program = s
        #: The outputs with several definitions.
        self.updated = updated

    @cached_property
    def read(self) -> set[BufferSym]:
        """The outputs that are read elsewhere than in the loops that store to them."""
        return _read_elsewhere(self.program)

    def go(self, n: _N) -> _N:
        return n if isinstance(n, Expr) else super().go(n)

    def on_for(self, n: For) -> Stmt:
        if n.kind is ForKind.GPU_BLOCK:
            return n
        plan = self._plan(n)
        return n.map(self.go) if plan is None else _versions(n, plan, ())

    def on_block(self, n: Block) -> Stmt:
        """A loop with two versions takes the hints before it along, to the second."""
        items: list[Stmt] = []
        for item in n.items:
            plan = self._plan(item) if isinstance(item, For) else None
            if plan is None:
                items.append(self.go(item))
                continue
            assert isinstance(item, For)
            hints = [i for i in items if _is_hint(i, plan.buffers)]
            items = [i for i in items if i not in hints]
            items.append(_versions(item, plan, hints))
        if all(a is b for a, b in zip(items, n.items, strict=False)):
            return n
        return items[0] if len(items) == 1 else Block(tuple(items))

    def _plan(self, n: For) -> _Plan | None:
        if n.kind is not ForKind.SERIAL:
            return None
        body = straight(n.body)
        if not all(isinstance(i, LetStmt | Store) for i in body):
            return None
        stores: list[tuple[Store, Ramp]] = []
        for item in body:
            if isinstance(item, Store) and self._may_stream(item):
                assert isinstance(item.index, Ramp)
                stores.append((item, item.index))
        if not stores:
            return None
        kept = kept_values(n.var, body)
        if any(self._rereads(n, body, s.buffer, kept.loads) for s, _ in stores):
            return None
        env: dict[Var, Expr] = {}
        for item in body:
            if isinstance(item, LetStmt):
                env[item.var] = substitute(item.value, env)
        starts: list[Load] = []
        for s, index in stores:
            start = self._start(s, index, n, env, starts)
            if start is None:
                return None
            starts += start
        if not starts:
            return None
        read: list[Load] | None = []
        if not self.line_in_register and len(starts) > 1:
            read = _rows_read(n, body, stores[0][0], self.tuning.line, kept.loads)
        most = _most_pairs(n, stores, self.tuning.line)
        if read is None or len(read) * len(starts) > most:
            return None
        buffers = tuple(dict.fromkeys([s.buffer for s, _ in stores]))
        ahead, large = self._ahead(stores), self.tuning.large
        return _Plan(buffers, tuple(starts), tuple(read), ahead, large, kept)

    def _rereads(
        self, n: For, body: Sequence[Stmt], b: BufferSym, kept: Set[Load]
    ) -> bool:
        """Whether a loop reads more of an output that it writes than pays, or what it
        has written itself: other rows alone, at its own pace. kept: what it need not
        read."""
        again = {e for e in _loads(body) if e.buffer is b and e not in kept}
        stores = [i for i in body if isinstance(i, Store) and i.buffer is b]
        read = sum([e.type.count for e in again])
        if read * _ROWS_FOR_ONE > sum([i.value.type.count for i in stores]):
            return True
        env: dict[Var, Expr] = {}
        for item in body:
            if isinstance(item, LetStmt):
                env[item.var] = substitute(item.value, env)
        rows = [_row(n, s.index, env) for s in stores]
        found = [_row(n, e.index, env) for e in again]
        return any(a is None or b is None or a.meets(b) for a in found for b in rows)

    def _may_stream(self, s: Store) -> bool:
        """Whether a store is dense, unconditional, and to an output that this store
        alone decides."""
        b = s.buffer
        line, most = self.tuning.line, self.tuning.most_work
        size = s.value.type.count * b.type.bytes()
        return (
            b.role == "output"
            and b not in self.updated
            and (s.predicate is None or is_true(s.predicate))
            and isinstance(s.index, Ramp)
            and const_int(s.index.stride) == 1
            and (size in (16, 32) or size % line == 0)
            and vector_work(s) * line // size <= most
            and b not in self.read
        )

    def _start(
        self,
        s: Store,
        index: Ramp,
        n: For,
        env: dict[Var, Expr],
        before: Sequence[Load],
    ) -> list[Load] | None:
        """What must begin a line so that the stores of all iterations fill lines;
        nothing if that follows for a store from those before; None if they do not."""
        first = substitute(index.base, env)
        lanes = s.value.type.count
        step = slope(first, n.var).single()
        if step is None or reads_data(first) or step != lanes:
            return None
        rows = const_int(n.extent)
        shortest = self.tuning.shortest_streamed
        if rows is not None and rows * lanes * s.buffer.type.bytes() < shortest:
            return None
        start = simplify(substitute(first, {n.var: n.min}))
        one = Load(s.buffer.type, s.buffer, start, None)
        for other in before:
            if other.buffer is s.buffer and difference(other.index, start).is_const():
                return None
        return [one]

    def _ahead(self, stores: Sequence[tuple[Store, Ramp]]) -> int:
        """How many bytes loads run ahead of the stores of the same row, at most."""
        tuning = self.tuning
        work, step = 0, tuning.line
        for s, _ in stores:
            size = s.value.type.count * s.buffer.type.bytes()
            work += (vector_work(s) + 2) * -(-size // tuning.narrow_register)
            step = max(step, size)
        return min(tuning.furthest * tuning.line, max(1, tuning.window // work) * step)


def _read_elsewhere(s: Stmt) -> set[BufferSym]:
    """The outputs that are read outside of the innermost loops that store to them, and
    of iterations of theirs that stand before them."""
    read = [n for n in loads(s) if n.buffer.role == "output"]
    if not read:
        return set()
    inside: dict[BufferSym, set[Load]] = {}
    for n in nodes(s):
        if isinstance(n, Block):
            items = [i for i in n.items if isinstance(i, LetStmt | Store)]
            written = {i.buffer for i in items if isinstance(i, Store)}
            for kept in _loads(items):
                if kept.buffer in written:
                    inside.setdefault(kept.buffer, set()).add(kept)
        if not isinstance(n, For) or _has_loops(n.body):
            continue
        body = list(nodes(n.body))
        stored = {i.buffer for i in body if isinstance(i, Store)}
        for load in body:
            if isinstance(load, Load) and load.buffer in stored:
                inside.setdefault(load.buffer, set()).add(load)
    return {n.buffer for n in read if n not in inside.get(n.buffer, ())}


def _has_loops(s: Stmt) -> bool:
    if isinstance(s, For):
        return True
    return any([isinstance(c, Stmt) and _has_loops(c) for c in s.children()])


def _loads(body: Iterable[Stmt]) -> list[Load]:
    """What the values are read from that lets and stores have."""
    values = [i.value for i in body if isinstance(i, LetStmt | Store)]
    return [n for v in values for n in loads(v)]


@dataclass(frozen=True, slots=True)
class _Row:
    """What a loop goes through of a buffer, in vectors side by side. length: elements,
    if it is known."""

    start: Expr
    length: int | None

    def meets(self, other: _Row) -> bool:
        """Whether the two may have an element in common that both come to: rows a
        distance apart that is not known are those of different lines."""
        apart = difference(self.start, other.start)
        if not apart.is_const():
            return False
        lengths = [one.length for one in (self, other)]
        return any(one is None or abs(apart.const) < one for one in lengths)


def _row(n: For, index: Expr, env: dict[Var, Expr]) -> _Row | None:
    """The row of a dense index; None if it is none."""
    if not isinstance(index, Ramp) or const_int(index.stride) != 1:
        return None
    first = substitute(index.base, env)
    step = slope(first, n.var).single()
    if step is None or reads_data(first) or step != index.type.count:
        return None
    times = const_int(n.extent)
    start = simplify(substitute(first, {n.var: n.min}))
    length = None if times is None else times * index.type.count
    return _Row(start, length)


def _rows_read(
    n: For, body: Sequence[Stmt], store: Store, line: int, kept: Set[Load]
) -> list[Load] | None:
    """The first elements of the rows that a loop reads, those that are neighbours once,
    but for what is kept; None if it reads anything otherwise than at the pace of a
    store."""
    env: dict[Var, Expr] = {}
    found: list[Load] = []
    pace = store.value.type.count * store.buffer.type.bytes()
    for item in body:
        if not isinstance(item, LetStmt | Store):
            return None
        for load in nodes(item.value):
            if not isinstance(load, Load) or load.type.count == 1 or load in kept:
                continue
            if not isinstance(load.index, Ramp) or const_int(load.index.stride) != 1:
                return None
            first, size = substitute(load.index.base, env), load.buffer.type.bytes()
            step = slope(first, n.var).single()
            if step is None or reads_data(first) or step * size != pace:
                return None
            start = simplify(substitute(first, {n.var: n.min}))
            one = Load(load.buffer.type, load.buffer, start, None)
            if not any(_neighbours(one, other, line) for other in found):
                found.append(one)
        if isinstance(item, LetStmt):
            env[item.var] = substitute(item.value, env)
    return found


def _neighbours(a: Load, b: Load, line: int) -> bool:
    """Whether two elements are known to be less than a line apart."""
    if a.buffer is not b.buffer:
        return False
    apart = difference(a.index, b.index)
    return apart.is_const() and abs(apart.const) * a.buffer.type.bytes() < line


def _most_pairs(n: For, stores: Sequence[tuple[Store, Ramp]], line: int) -> int:
    """How many pairs of rows may be compared: their number must not matter beside what
    the loop writes, as far as its length is known."""
    times = const_int(n.extent)
    if times is None:
        return _MOST_PAIRS
    lines = [s.value.type.count * s.buffer.type.bytes() // line for s, _ in stores]
    return min(_MOST_PAIRS, times * max(1, sum(lines)) // 8)


def _is_hint(s: Stmt, buffers: Sequence[BufferSym]) -> bool:
    hint = s.then if isinstance(s, If) and s.otherwise is None else s
    return isinstance(hint, Prefetch) and hint.writes and hint.buffer in buffers


def _versions(n: For, plan: _Plan, hints: Sequence[Stmt]) -> Stmt:
    old = n.var
    var = Var(old.name, old.type, lo=old.lo, hi=old.hi, loop=old.loop)
    items = straight(instantiate(n.body, {n.var: var}))
    items = hold(items, kept_values(var, items), set(plan.buffers))
    body = _Mark(plan.buffers).go(block(*items))
    past = For(var, n.min, n.extent, n.kind, body)
    return If(plan.condition(), past, block(*hints, n))


class _Mark(Rewriter):
    """Marks what is stored to some buffers."""

    def __init__(self, buffers: Sequence[BufferSym]) -> None:
        super().__init__()
        self.buffers = buffers

    def go(self, n: _N) -> _N:
        return n if isinstance(n, Expr) else super().go(n)

    def on_store(self, n: Store) -> Stmt:
        if n.buffer not in self.buffers:
            return n
        value = Intrinsic(n.value.type, "streamed", (n.value,))
        return Store(n.buffer, value, n.index, n.predicate)


def _is_larger(b: BufferSym, size: int) -> Expr:
    total: Expr = int64(b.type.bytes())
    for d in b.dims:
        total = mul(total, cast(INT64, d.extent))
    return simplify(gt(total, int64(size)))
