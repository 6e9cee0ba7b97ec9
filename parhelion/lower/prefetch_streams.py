"""Prefetches of the rows of the next tile, where the processor cannot foresee them.

A tile touches a short piece of each of many rows: in ``tile(x, y, xi, yi, 256, 32)`` of
16-bit pixels, 512 bytes of a row, then 512 bytes somewhere else. Hardware prefetchers
follow long runs of neighbouring lines; each of these runs ends before they have caught
up, so every row begins with misses, and a row that is written waits for its lines to be
read first. But the next iteration of the loop over tiles continues each of the rows.

    for tile:                          for tile:
      for y in 32:                       for y in 32:
        for x in 16:            ->         if (large) prefetch a[... + 256] for 256
          ... a[ramp(...)] ...             for x in 16:
                                             ... a[ramp(...)] ...

A hint is given for a dense row of constant length inside a loop over rows, where an
enclosing serial loop moves the row on by a constant of about its length, and where what
is fetched for one iteration of that loop fits in the caches near the core. It is not
given where a line of pixels takes so much arithmetic that the processor, which runs
ahead of a miss, hides it by itself; nor, by a condition that is evaluated at run time,
to images that fit in the cache themselves. In the last tile of a line the hint is
wasted; it is never wrong. The limits are the processor's (`ir.tuning`), measured in
docs/decisions/0008.
"""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.analysis.monotonic import slope
from parhelion.analysis.rank import reads_data, tree_size
from parhelion.dataclass import dataclass
from parhelion.ir.build import (
    add,
    block,
    cast,
    const_int,
    gt,
    int32,
    int64,
    is_true,
    mul,
)
from parhelion.ir.expr import Add, Expr, Load, Mul, Ramp, Sub, Var
from parhelion.ir.rewrite import _N, Rewriter, nodes, substitute
from parhelion.ir.stmt import (
    Allocate,
    Block,
    For,
    ForKind,
    If,
    LetStmt,
    Prefetch,
    Produce,
    Stmt,
    Store,
)
from parhelion.ir.symbols import BufferSym
from parhelion.ir.tuning import Tuning
from parhelion.simplify.simplifier import simplify
from parhelion.types import INT64

#: How many rows apart two accesses may be that are taken for one stream.
MOST_ROWS_APART = 16


def prefetch_streams(s: Stmt, tuning: Tuning | None) -> Stmt:
    """`s` with hints for the rows that tile loops come back to, where they pay."""
    return s if tuning is None else _Streams(tuning).go(s)


@dataclass(frozen=True, slots=True)
class _Row:
    """A dense run of elements that one iteration of a loop over rows touches.

    first: its first element. elements: how many. writes: whether it is stored to.
    work: how many vector operations go with each cache line of it.
    """

    buffer: BufferSym
    first: Expr
    elements: int
    writes: bool
    work: int

    def bytes(self) -> int:
        return self.elements * self.buffer.type.bytes()


class _Streams(Rewriter):
    """Keeps the serial loops around the statement in hand, outermost first, and the
    extents of the storage allocated outside of all of them."""

    def __init__(self, tuning: Tuning) -> None:
        super().__init__()
        self.tuning = tuning
        self.loops: list[For] = []
        self.sizes: dict[BufferSym, Sequence[Expr]] = {}
        self.facts: dict[Store, tuple[list[Load], int]] = {}

    def go(self, n: _N) -> _N:
        return n if isinstance(n, Expr) else super().go(n)

    def on_allocate(self, n: Allocate) -> Stmt:
        if not self.loops:
            self.sizes[n.buffer] = n.extents
        return n

    def on_for(self, n: For) -> Stmt:
        if n.kind is ForKind.GPU_BLOCK:
            return n
        around = self.loops
        serial = n.kind is ForKind.SERIAL
        self.loops = [*around, n] if serial else []
        body = self.go(n.body)
        self.loops = around
        made = n if body is n.body else For(n.var, n.min, n.extent, n.kind, body)
        if not serial or not around:
            return made
        hints = self._hints(n)
        if not hints:
            return made
        return For(n.var, n.min, n.extent, n.kind, block(*hints, made.body))

    def _hints(self, n: For) -> list[Stmt]:
        """What to prefetch in each iteration of `n`, a loop over rows."""
        times = const_int(n.extent)
        if times is None or times <= 0 or not _is_plain(n):
            return []
        rows = self._rows_of(n, self.tuning.most_ahead // times)
        out: list[Stmt] = []
        for row in _streams(rows, n.var):
            step = self._step(row, n)
            if step is None:
                continue
            at = simplify(add(row.first, _constant(step, row.first)))
            hint = Prefetch(
                row.buffer, at, _constant(row.elements, row.first), row.writes
            )
            out.append(If(self._large(row.buffer), hint, None))
        return out

    def _rows_of(self, rows: For, most: int) -> list[_Row]:
        """The dense rows of up to `most` bytes that an iteration of `rows` touches."""
        env: dict[Var, Expr] = {}
        out: list[_Row] = []
        for item in straight(rows.body):
            if isinstance(item, LetStmt):
                env[item.var] = substitute(item.value, env)
            elif isinstance(item, Store):
                out += self._accesses(item, env, None, 1, most)
            elif isinstance(item, For):
                start = item.var, substitute(item.min, env)
                inside = dict(env)
                times = const_int(item.extent)
                assert times is not None
                for part in straight(item.body):
                    if isinstance(part, LetStmt):
                        inside[part.var] = substitute(part.value, inside)
                    elif isinstance(part, Store):
                        out += self._accesses(part, inside, start, times, most)
        return out

    def _accesses(
        self,
        s: Store,
        env: dict[Var, Expr],
        inner: tuple[Var, Expr] | None,
        times: int,
        most: int,
    ) -> list[_Row]:
        """The dense rows that a store, `times` times for values of a Var, touches."""
        read, vectors = self._facts(s)
        out: list[_Row] = []
        accesses: list[Store | Load] = [s, *read] if self._is_far(s.buffer) else [*read]
        for access in accesses:
            index, lanes = access.index, access.index.type.count
            size = access.buffer.type.bytes()
            writes = isinstance(access, Store)
            work = vectors * self.tuning.line // (lanes * size)
            if times * lanes * size > min(most, self._longest(writes)):
                continue
            if work > self.tuning.most_work:
                continue
            masked = access.predicate is not None and not is_true(access.predicate)
            if not isinstance(index, Ramp) or const_int(index.stride) != 1 or masked:
                continue
            first = substitute(index.base, env)
            if reads_data(first):
                continue
            if inner is not None:
                var, start = inner
                if slope(first, var).single() != lanes:
                    continue
                first = substitute(first, {var: start})
            out.append(_Row(access.buffer, first, times * lanes, writes, work))
        return out

    def _longest(self, writes: bool) -> int:
        return self.tuning.longest_written if writes else self.tuning.longest_read

    def _is_far(self, buffer: BufferSym) -> bool:
        """Whether a buffer is not of the tile's own storage."""
        return buffer.role != "internal" or buffer in self.sizes

    def _facts(self, s: Store) -> tuple[list[Load], int]:
        """The loads of a store from far buffers, and its vector operations."""
        found = self.facts.get(s)
        if found is None:
            parts = [n for e in s.children() for n in nodes(e)]
            far = [n for n in parts if isinstance(n, Load) and self._is_far(n.buffer)]
            found = self.facts[s] = far, vector_work(s)
        return found

    def _step(self, row: _Row, rows: For) -> int | None:
        """How far the nearest tile loop moves a row on; None if there is none."""
        shortest = self.tuning.shortest_row
        if not shortest <= row.bytes() <= self._longest(row.writes):
            return None
        down = slope(row.first, rows.var)
        if down.hi is not None and down.lo is not None:
            if max(abs(down.hi), abs(down.lo)) <= row.elements:
                return None  # one run of neighbours
        ahead = row.bytes()
        inner = rows
        for loop in reversed(self.loops):
            extent = const_int(inner.extent)
            if extent is None:
                return None
            ahead *= max(extent, 0)
            if ahead > self.tuning.most_ahead:
                return None
            step = slope(row.first, loop.var)
            if step.hi is not None and step.lo is not None and step.hi > 0 <= step.lo:
                hi = int(step.hi)
                return hi if row.elements <= 2 * hi <= 4 * row.elements else None
            inner = loop
        return None

    def _large(self, buffer: BufferSym) -> Expr:
        """Whether a buffer is too large for the caches near the core."""
        extents = self.sizes.get(buffer)
        if extents is None:
            extents = [d.extent for d in buffer.dims]
        total: Expr = int64(buffer.type.bytes())
        for extent in extents:
            total = mul(total, cast(INT64, extent))
        return simplify(gt(total, int64(self.tuning.small)))


def _constant(value: int, like: Expr) -> Expr:
    return int64(value) if like.type is INT64 else int32(value)


def _is_plain(rows: For) -> bool:
    """Whether a loop holds nothing but lets, stores, and loops over single rows."""
    for item in straight(rows.body):
        if isinstance(item, For):
            if const_int(item.extent) is None or item.kind is not ForKind.SERIAL:
                return False
            if not all(isinstance(i, LetStmt | Store) for i in straight(item.body)):
                return False
        elif not isinstance(item, LetStmt | Store):
            return False
    return True


def straight(s: Stmt) -> list[Stmt]:
    """The statements of a body, in order."""
    if isinstance(s, Produce):
        return straight(s.body)
    if isinstance(s, Block):
        return [part for item in s.items for part in straight(item)]
    return [s]


def vector_work(s: Store) -> int:
    """How many vector operations compute what is stored."""
    return sum([n.type.count > 1 for n in nodes(s.value) if isinstance(n, Expr)])


def _streams(rows: list[_Row], var: Var) -> list[_Row]:
    """The rows that must be fetched: of those that overlap, and of those that other
    iterations over `var` touch as well, the one furthest ahead."""
    out: list[_Row] = []
    for row in rows:
        for i, other in enumerate(out):
            if other.buffer is row.buffer:
                joint = _joint(other, row, var)
                if joint is not None:
                    out[i] = joint
                    break
        else:
            out.append(row)
    return out


def _joint(a: _Row, b: _Row, var: Var) -> _Row | None:
    """One row instead of two of a buffer; None if they are different streams."""
    one = _products(a.first)
    gap = _less(_products(b.first), one)
    ahead = 0
    if gap.keys() - {()}:
        step = substitute(a.first, {var: add(var, _constant(1, var))})
        down = _less(_products(step), one)
        ahead = _times(gap, down)
        gap = _less(gap, {k: n * ahead for k, n in down.items()})
    apart = gap.pop((), 0)
    if gap or abs(apart) > max(a.elements, b.elements):
        return None
    begin, end = min(0, apart), max(a.elements, apart + b.elements)
    # In terms of the row that is reached first.
    lead, start = (b, begin - apart) if ahead > 0 else (a, begin)
    first = add(lead.first, _constant(start, lead.first))
    work = max(a.work, b.work)
    return _Row(a.buffer, first, end - begin, a.writes or b.writes, work)


#: Nodes of the tree of an index that is multiplied out.
_LARGEST_INDEX = 64

#: A polynomial: integer factors of products, each a sorted tuple of what it multiplies.
_Products = dict[tuple[Expr, ...], int]


def _products(e: Expr) -> _Products:
    """An index multiplied out: rows differ by a stride that is itself a variable."""
    # Nothing is multiplied out whose terms might be too many.
    return _expanded(e) if tree_size(e) <= _LARGEST_INDEX else {(e,): 1}


def _expanded(e: Expr) -> _Products:
    if isinstance(e, Add | Sub):
        a, b = _expanded(e.a), _expanded(e.b)
        return _less(a, b if isinstance(e, Sub) else {k: -n for k, n in b.items()})
    if isinstance(e, Mul):
        out: _Products = {}
        for x, n in _expanded(e.a).items():
            for y, m in _expanded(e.b).items():
                key = tuple(sorted((*x, *y), key=id))
                out[key] = out.get(key, 0) + n * m
        return {k: n for k, n in out.items() if n}
    known = const_int(e)
    if known is not None:
        return {(): known} if known else {}
    return {(e,): 1}


def _less(a: _Products, b: _Products) -> _Products:
    """a - b"""
    out = dict(a)
    for k, n in b.items():
        left = out.pop(k, 0) - n
        if left:
            out[k] = left
    return out


def _times(gap: _Products, down: _Products) -> int:
    """The multiple of `down` that may be in `gap`; 0 if there is none."""
    for k, step in down.items():
        if k:
            n, rest = divmod(gap.get(k, 0), step)
            return n if not rest and abs(n) <= MOST_ROWS_APART else 0
    return 0
