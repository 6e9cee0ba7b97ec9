"""Reductions in registers.

An innermost loop that adds into one place of memory, ``f[i] += g(r)`` for all r, would
wait for each store before the next load. Where the index does not change in the loop,
and nothing else in it touches that buffer, the element (or vector) is loaded before
the loop, carried around it in a register, and stored after it. The loop is behind a
guard, so what it would not touch is not touched.
"""

from __future__ import annotations

from parhelion.analysis.linear import difference
from parhelion.codegen.module import EFFECT, Module
from parhelion.dataclass import dataclass
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr, Load, Var
from parhelion.ir.rewrite import free_vars, nodes
from parhelion.ir.stmt import Stmt
from parhelion.ir.symbols import BufferSym

#: No more than this many elements or vectors are kept in registers.
MOST_CELLS = 16


@dataclass(frozen=True, slots=True)
class Plan:
    """How to run a loop with its results in registers.

    cells: what is carried, as the loads that read it. lets: bindings that move before
    the loop. rest: what stays inside, stores to the cells included.
    """

    cells: tuple[Load, ...]
    lets: tuple[S.LetStmt, ...]
    rest: tuple[Stmt, ...]

    @property
    def buffers(self) -> frozenset[BufferSym]:
        return frozenset([cell.buffer for cell in self.cells])


def self_disjoint(index: Expr) -> bool:
    """Whether the lanes of an index surely differ."""
    if index.type.count == 1:
        return True
    return isinstance(index, E.Ramp) and build.const_int(index.stride) not in (None, 0)


def plan(m: Module, s: S.For) -> Plan | None:
    """A plan for the loop, or None if nothing in it accumulates in one place."""
    items = _straight(s.body)
    if items is None:
        return None
    stores = [i for i in items if isinstance(i, S.Store)]
    stored = frozenset([i.buffer for i in stores])
    inner: set[Var] = {s.var}
    lets: list[S.LetStmt] = []
    rest: list[Stmt] = []
    for item in items:
        if isinstance(item, S.LetStmt):
            value = item.value
            if inner.isdisjoint(free_vars(value)) and stored.isdisjoint(m.reads(value)):
                lets.append(item)
                continue
            inner.add(item.var)
        rest.append(item)
    if len({let.var for let in lets}) < len(lets):
        return None
    cells = _cells(m, stores, inner)
    if not cells:
        return None
    kept = _only_there(m, items, cells)
    if not kept or len(kept) > MOST_CELLS:
        return None
    return Plan(tuple(kept), tuple(lets), tuple(rest))


def _straight(s: Stmt) -> list[Stmt] | None:
    """The bindings and stores of a body that has nothing else."""
    if isinstance(s, S.Store | S.LetStmt):
        return [s]
    if isinstance(s, S.Produce):
        return _straight(s.body)
    if not isinstance(s, S.Block):
        return None
    out: list[Stmt] = []
    for item in s.items:
        inside = _straight(item)
        if inside is None:
            return None
        out += inside
    return out


def _cells(m: Module, stores: list[S.Store], inner: set[Var]) -> list[Load]:
    """What is stored to in places that stay the same throughout the loop."""
    found: dict[Load, None] = {}
    moving: set[BufferSym] = set()
    for store in stores:
        index = store.index
        if (
            (store.predicate is not None and not build.is_true(store.predicate))
            or m.reads(index)
            or not inner.isdisjoint(free_vars(index))
            or not self_disjoint(index)
        ):
            moving.add(store.buffer)
        found[Load(store.value.type, store.buffer, index, None)] = None
    return [cell for cell in found if cell.buffer not in moving]


def _only_there(m: Module, items: list[Stmt], cells: list[Load]) -> list[Load]:
    """The cells whose buffers are touched nowhere else, and that do not overlap."""
    by_buffer: dict[BufferSym, list[Load]] = {}
    for cell in cells:
        by_buffer.setdefault(cell.buffer, []).append(cell)
    loads: set[Load] = set()
    for item in items:
        for child in item.children():
            reads = m.reads(child)
            if EFFECT in reads:
                return []
            if not reads.isdisjoint(by_buffer):
                loads |= {n for n in nodes(child) if isinstance(n, Load)}
    kept: list[Load] = []
    for buffer, mine in by_buffer.items():
        others = [n for n in loads if n.buffer is buffer and n not in mine]
        if not others and _apart(mine):
            kept += mine
    # A loop that never reads what it stores gains nothing.
    return kept if any(cell in loads for cell in kept) else []


def _apart(cells: list[Load]) -> bool:
    """Whether no two cells of one buffer overlap."""
    for i, a in enumerate(cells):
        for b in cells[:i]:
            if a.type is not b.type:
                return False
            x, y = _start(a.index), _start(b.index)
            if x is None or y is None:
                return False
            gap = difference(x, y)
            if gap.terms or abs(gap.const) < a.type.count:
                return False
    return True


def _start(index: Expr) -> Expr | None:
    """The first element of a scalar or dense index."""
    if index.type.count == 1:
        return index
    if isinstance(index, E.Ramp) and build.const_int(index.stride) == 1:
        return index.base
    return None
