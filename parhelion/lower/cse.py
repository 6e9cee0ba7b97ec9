"""Values that several statements of one block use are computed once.

Nodes are interned, so an expression that occurs twice is one node, and within one
statement the code generator emits it once. Across the statements of a block it starts
anew; there this pass names what two or more of them share.

A load is shared only between statements with no store to its buffer in between. The
statements inside a loop or an `if` are a block of their own: what they compute runs
more often, or less, than what stands around them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from parhelion.ir.expr import (
    Broadcast,
    Cast,
    Expr,
    FloatImm,
    Imm,
    Intrinsic,
    Let,
    Load,
    Ramp,
    StringImm,
    Var,
)
from parhelion.ir.intrinsics import INTRINSICS
from parhelion.ir.rewrite import _N, Rewriter, nodes
from parhelion.ir.stmt import (
    Assert,
    Block,
    Evaluate,
    LetStmt,
    Stmt,
    Store,
)
from parhelion.ir.symbols import BufferSym


def common_subexpressions(s: Stmt) -> Stmt:
    """Names values that are used by more than one statement of a block."""
    return _Share().go(s)


#: Statements whose expressions are evaluated exactly once where they stand.
_STRAIGHT = (Store, LetStmt, Evaluate, Assert)

#: Nodes that cost nothing by themselves: naming them only lengthens lifetimes.
_FREE = (Var, Imm, FloatImm, StringImm, Ramp, Broadcast)


@dataclass(slots=True)
class _Use:
    """Where a node is used: by which statements, and inside which other nodes."""

    statements: set[int] = field(default_factory=set)
    parents: set[Expr | int] = field(default_factory=set)


class _Share(Rewriter):
    def go(self, n: _N) -> _N:
        return n if isinstance(n, Expr) else super().go(n)

    def on_block(self, n: Block) -> Stmt:
        items = [self.go(item) for item in n.items]
        out: list[Stmt] = []
        run: list[Stmt] = []
        for item in items:
            if isinstance(item, _STRAIGHT):
                run.append(item)
                if _splits(item):
                    out += _share(run)
                    run = []
            else:
                out += _share(run)
                run = []
                out.append(item)
        out += _share(run)
        if len(out) == len(n.items) and all(
            a is b for a, b in zip(out, n.items, strict=True)
        ):
            return n
        return Block(tuple(out))


def _splits(s: Stmt) -> bool:
    """Whether nothing may move over `s`: it can fail, or acts on the world."""
    if type(s) is Assert:
        return True
    return any(
        type(n) is Intrinsic and not INTRINSICS[n.op].pure for n in nodes(s)
    )


def _share(run: Sequence[Stmt]) -> list[Stmt]:
    """A run of straight statements with what they share named before first use."""
    if len(run) < 2:
        return list(run)
    uses = _uses(run)
    chosen = [e for e, use in uses.items() if _worth_naming(e, use, run)]
    if not chosen:
        return list(run)
    namer = _Namer(chosen, uses)
    out: list[Stmt] = []
    for s in run:
        made = s.map(namer.go)
        out += namer.pending
        namer.pending = []
        out.append(made)
    return out


def _uses(run: Sequence[Stmt]) -> dict[Expr, _Use]:
    """Every distinct expression of the run, children before parents."""
    uses: dict[Expr, _Use] = {}
    for at, s in enumerate(run):
        here: set[Expr] = set()

        def visit(e: Expr, parent: Expr | int) -> None:
            if isinstance(e, (Imm, FloatImm, StringImm)):
                return
            known = uses.get(e)
            if e not in here:
                here.add(e)
                if type(e) is not Let:  # what a Let binds is its own affair
                    for child in e.children():
                        visit(child, e)
                if known is None:
                    known = uses[e] = _Use()
                known.statements.add(at)
            assert known is not None
            known.parents.add(parent)

        for e in s.children():
            visit(e, -1 - at)
    return uses


def _worth_naming(e: Expr, use: _Use, run: Sequence[Stmt]) -> bool:
    """Whether `e` is used apart by statements, with one value for all of them."""
    if len(use.statements) < 2 or isinstance(e, _FREE):
        return False
    if len(use.parents) < 2:
        return False  # its only user is shared, and named itself
    if type(e) is Cast and isinstance(e.a, _FREE):
        return False
    return not _changes(e, min(use.statements), max(use.statements), run)


def _changes(e: Expr, first: int, last: int, run: Sequence[Stmt]) -> bool:
    """Whether the value of `e` may differ between two statements of the run."""
    stored: set[BufferSym] = set()
    bound: set[Var] = set()
    for s in run[first:last]:
        if isinstance(s, Store):
            stored.add(s.buffer)
        elif isinstance(s, LetStmt):
            bound.add(s.var)
    if not stored and not bound:
        return False
    return any(
        (isinstance(n, Load) and n.buffer in stored)
        or (isinstance(n, Var) and n in bound)
        for n in nodes(e)
    )


class _Namer(Rewriter):
    """Replaces the chosen nodes by names, which wait in `pending` to be bound."""

    def __init__(self, chosen: Sequence[Expr], uses: dict[Expr, _Use]) -> None:
        super().__init__()
        self.chosen = set(chosen)
        self.pending: list[Stmt] = []

    def go(self, n: _N) -> _N:
        if not isinstance(n, Expr):
            return super().go(n)
        found = self.memo.get(n)
        if found is None:
            found = n if type(n) is Let else n.map(self.go)
            if n in self.chosen:
                var = Var(f"t{len(self.memo)}", n.type, value=found)
                self.pending.append(LetStmt(var, found))
                found = var
            self.memo[n] = found
        return found  # type: ignore[return-value]
