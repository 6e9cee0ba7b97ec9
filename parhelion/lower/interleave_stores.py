"""Stores to every second, third or fourth element, together one dense store.

An interleaved image is written a channel at a time, each vector to every third byte:
lane by lane, as no instruction stores with a stride. All channels together fill a dense
run of memory:

    rgb[ramp(x*3, 3, 16)] = a
    rgb[ramp(x*3 + 1, 3, 16)] = b       ->   rgb[ramp(x*3, 1, 48)] = a0 b0 c0 a1 b1 c1 …
    rgb[ramp(x*3 + 2, 3, 16)] = c

The stores may be written in any order, with lets and stores to other buffers between
them. They move to the place of the last one, so nothing between may read their buffer,
and none of the values may read what is stored between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from parhelion.analysis.linear import difference
from parhelion.analysis.rank import loads
from parhelion.dataclass import dataclass
from parhelion.ir.build import block, const_int, imm, is_true
from parhelion.ir.expr import Expr, Ramp, Shuffle
from parhelion.ir.node import Node
from parhelion.ir.rewrite import _N, Rewriter
from parhelion.ir.stmt import Block, Evaluate, LetStmt, Produce, Stmt, Store
from parhelion.ir.symbols import BufferSym

#: The most stores that are put together.
MOST_STREAMS = 4


def interleave_stores(s: Stmt) -> Stmt:
    """Puts strided stores that fill a dense run together."""
    return _Interleave().go(s)


@dataclass(slots=True)
class _Group:
    """Stores that may become one.

    at: where the members stand in their block. offsets: of each, in elements, from the
    first member. reads: the buffers that their values read.
    """

    first: Ramp
    step: int
    at: list[int]
    offsets: list[int]
    reads: set[BufferSym] = field(default_factory=set)


class _Interleave(Rewriter):
    def go(self, n: _N) -> _N:
        return n if isinstance(n, Expr) else super().go(n)

    def on_block(self, n: Block) -> Stmt:
        whole = [self.go(item) for item in n.items]  # once: blocks nest deeply
        items = _level(whole)
        groups = _complete_groups(items)
        if not groups:
            same = all(new is old for new, old in zip(whole, n.items, strict=True))
            return n if same else block(*whole)
        gone = {at for g in groups for at in g.at}
        joint = {max(g.at): _joined(g, items) for g in groups}
        out = [
            joint.get(at, item)
            for at, item in enumerate(items)
            if at in joint or at not in gone
        ]
        return out[0] if len(out) == 1 else Block(tuple(out))


def _level(items: Sequence[Stmt]) -> list[Stmt]:
    """Consumption around nothing but a straight line of code is left out."""
    out: list[Stmt] = []
    for item in items:
        if isinstance(item, Produce) and not item.producing:
            inside = item.body.items if isinstance(item.body, Block) else (item.body,)
            if all(isinstance(i, Store) for i in inside):
                out += inside
                continue
        out.append(item)
    return out


def _complete_groups(items: list[Stmt]) -> list[_Group]:
    """The groups of stores that fill dense runs and may be moved together."""
    out: list[_Group] = []
    open_: dict[BufferSym, list[_Group]] = {}
    for at, item in enumerate(items):
        if not isinstance(item, Store | LetStmt | Evaluate):
            open_.clear()
            continue
        for buffer in _reads(item):
            open_.pop(buffer, None)
        if not isinstance(item, Store):
            continue
        mine = open_.pop(item.buffer, [])
        for buffer in [b for b, gs in open_.items() if _stale(gs, item.buffer)]:
            del open_[buffer]
        step = _step(item)
        if step is None:
            continue
        kept = _with(mine, at, item, step)
        last = kept[-1]
        if len(last.at) == step:
            out.append(kept.pop())
        if kept:
            open_[item.buffer] = kept
    return out


def _stale(groups: list[_Group], stored: BufferSym) -> bool:
    return any(stored in g.reads for g in groups)


def _with(groups: list[_Group], at: int, s: Store, step: int) -> list[_Group]:
    """The open groups of a buffer that one more store leaves open, its own last.

    Groups that it might overlap without belonging to them are closed.
    """
    index = s.index
    assert isinstance(index, Ramp)
    reads = _reads(s.value)
    kept: list[_Group] = []
    own: _Group | None = None
    for g in groups:
        gap = difference(index.base, g.first.base)
        if not gap.is_const():
            continue
        apart = gap.const
        low, high = min(g.offsets), max(g.offsets)
        if (
            step == g.step
            and index.type is g.first.type
            and max(high, apart) - min(low, apart) < step
            and apart not in g.offsets
            and own is None
        ):
            g.at.append(at)
            g.offsets.append(apart)
            g.reads |= reads
            own = g
        elif (
            apart >= high + g.step * g.first.lanes or apart <= low - step * index.lanes
        ):
            kept.append(g)
    if own is None:
        own = _Group(index, step, [at], [0], reads)
    return [*kept, own]


def _step(s: Store) -> int | None:
    """The stride of a store that may belong to a group."""
    if s.predicate is not None and not is_true(s.predicate):
        return None
    if not isinstance(s.index, Ramp) or s.index.base.type.count != 1:
        return None
    step = const_int(s.index.stride)
    return step if step is not None and 2 <= step <= MOST_STREAMS else None


def _reads(n: Node) -> set[BufferSym]:
    return {e.buffer for e in loads(n)}


def _joined(g: _Group, items: list[Stmt]) -> Store:
    """One dense store in place of a group's."""
    members = sorted(zip(g.offsets, g.at, strict=True))
    stores = [items[at] for _, at in members]
    first = stores[0]
    assert isinstance(first, Store) and isinstance(first.index, Ramp)
    lanes, count = first.value.type.count, len(stores)
    values = tuple([s.value for s in stores if isinstance(s, Store)])
    turns = tuple([c * lanes + i for i in range(lanes) for c in range(count)])
    base = first.index.base
    index = Ramp(base, imm(1, base.type), lanes * count)
    return Store(first.buffer, Shuffle(values, turns), index, None)
