"""Memoized Funcs: storage that the cache gives, filled only if it is new.

    let f.memo = memo_find("f", "…", bytes, …, region, parameters)
    allocate f[…] in cache
    produce f:
      if (memo_missed(f.memo)) {
        …
        evaluate memo_store(f.memo)
      }

The second string tells the program: what computes `f`, as text, by its hash. Code
generation adds the address of the loaded module, so that no two programs share results.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from parhelion.dataclass import dataclass
from parhelion.errors import internal_assert
from parhelion.ir.build import block, cast, int64, mul
from parhelion.ir.expr import Expr, Intrinsic, Let, Reinterpret, StringImm, Var
from parhelion.ir.function import Function
from parhelion.ir.node import Node
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import Evaluate, For, If, LetStmt, Produce, Stmt
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.ir.text import text
from parhelion.schedule.dependencies import dependencies
from parhelion.types import BOOL, INT32, INT64, Handle, Int, Type


@dataclass(frozen=True, slots=True)
class Remembered:
    """The answer of the cache for one realization of a Func."""

    answer: Var

    def storage(self, index: int) -> Expr:
        """What `Allocate` needs of it: where the storage of a value is."""
        return Intrinsic(BOOL, "memo_storage", (self.answer, int64(index)))

    def unless_known(self, body: Stmt) -> Stmt:
        """`body` if the storage is new; then it is kept."""
        store = Intrinsic(INT32, "memo_store", (self.answer,))
        missed = Intrinsic(BOOL, "memo_missed", (self.answer,))
        return If(missed, block(body, Evaluate(store)), None)


def remembered(
    f: Function,
    region: Sequence[tuple[Expr, Expr]],
    sizes: Sequence[Expr],
    decided: Sequence[Expr],
    produced: Stmt,
) -> Remembered:
    """region: min and extent of each dimension of the storage, whose `sizes` (its
    extents in memory) may be larger. decided: see `decided_outside`. produced: what
    computes `f`."""
    total: Expr = int64(1)
    for size in sizes:
        total = mul(total, cast(INT64, size))
    bytes = [mul(total, int64(t.bytes())) for t in f.types]
    key = [e for pair in region for e in pair] + [cast(INT64, s) for s in sizes]
    key += [e for e in decided if e not in key]
    for e in dependencies(f):
        internal_assert(not isinstance(e, BufferSym), f"{f.name} depends on {e!r}")
        if isinstance(e, Expr):
            key.append(e)
    memo = f.schedule.memo
    assert memo is not None
    evicts = memo.eviction is not None
    eviction = int64(0) if memo.eviction is None else memo.eviction
    told = hashlib.blake2b(f"{f.name}\n{text(produced)}".encode(), digest_size=8)
    args = (
        StringImm(Handle(), f.label),
        StringImm(Handle(), told.hexdigest()),
        int64(len(f.types)),
        int64(int(evicts)),
        eviction,
        *bytes,
        *map(_word, key),
    )
    found = Intrinsic(Handle(), "memo_find", args)
    return Remembered(Var(f"{f.name}.memo", Handle(), value=found))


def decided_outside(f: Function, body: Stmt) -> list[Var]:
    """Names from outside of `body` by which the loops in it that compute `f` run.

    Storage alone does not tell what it holds: tails round it up, so that two regions
    may have storage of one size, each with values that the other has not computed.
    """
    bound: dict[Var, Expr | None] = {}
    waiting: list[Node] = []
    for n in nodes(body):
        if isinstance(n, LetStmt | Let):
            bound[n.var] = n.value
        elif isinstance(n, For):
            bound[n.var] = None
        elif isinstance(n, Produce) and n.producing and n.func is f:
            waiting.append(n)
    found: dict[Var, None] = {}
    seen: set[Var] = set()
    for top in waiting:  # grows while it is walked
        for v in nodes(top):
            if not isinstance(v, Var) or v in seen:
                continue
            seen.add(v)
            if v in bound:
                value = bound[v]
                waiting += [] if value is None else [value]
            elif not isinstance(v.origin, ParamSym) and not v.type.is_handle():
                found[v] = None
    return list(found)


def memo_keys(functions: Sequence[Function]) -> list[Expr]:
    """What the keys of memoized Funcs are made of besides regions. Tags may mention
    Params that no pixel needs."""
    found: list[Expr] = []
    for f in functions:
        memo = f.schedule.memo
        if memo is not None:
            found += [e for e in dependencies(f) if isinstance(e, Expr)]
            found += [] if memo.eviction is None else [memo.eviction]
    return found


def _word(e: Expr) -> Expr:
    """A number as 64 bits that differ if it does."""
    t: Type = e.type
    if t.is_float():
        return cast(INT64, Reinterpret(Int(t.width), e))
    return cast(INT64, e)


__all__ = ["Remembered", "decided_outside", "memo_keys", "remembered"]
