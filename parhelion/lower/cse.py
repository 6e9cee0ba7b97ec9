"""Names for values that are used more than once.

Nodes are interned: an expression that occurs twice is one node, and the code generator
emits it once for as long as its value stands. What this pass adds is a program whose
size shows the work that it does. A printed tree shows a shared node at each of its
uses, which doubles with each stage of a chain; here the larger ones get a let, within
a statement and across the statements of a block.

A value that reads memory is shared only between statements with no store to the same
buffer in between. What runs in a loop or an `if` is a block of its own: it runs more
often, or less, than what stands around it. Index sums stay whole (code generation
splits them by what varies least), and so do small trees, in which instructions are
recognised. What `strict_float` is around keeps that mark where it has a name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from parhelion.analysis.rank import is_pure, reads_data, tree_size
from parhelion.ir.expr import Broadcast, Cast, Expr, Intrinsic, Let, Load, Ramp, Var
from parhelion.ir.names import Namer
from parhelion.ir.rewrite import _N, Rewriter, free_vars, nodes
from parhelion.ir.stmt import NOP, Assert, Block, Evaluate, LetStmt, Stmt, Store
from parhelion.ir.symbols import BufferSym
from parhelion.types import INT32, INT64

#: Trees with fewer nodes are not worth a name.
SMALLEST = 12

#: Statements whose expressions are evaluated exactly once where they stand.
_STRAIGHT = (Store, LetStmt, Evaluate, Assert)


def common_subexpressions(s: Stmt) -> Stmt:
    """Names the values that a block uses more than once."""
    return _Share().go(s)


class _Share(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self.name = Namer()

    def go(self, n: _N) -> _N:
        if isinstance(n, Expr):
            return n
        if isinstance(n, _STRAIGHT):
            shared = self.share([n])
            return n if len(shared) == 1 else Block(tuple(shared))
        return super().go(n)

    def on_block(self, n: Block) -> Stmt:
        out: list[Stmt] = []
        run: list[Stmt] = []
        for item in n.items:
            if isinstance(item, _STRAIGHT):
                run.append(item)
                if not _movable_over(item):
                    out += self.share(run)
                    run = []
            else:
                out += self.share(run)
                run = []
                out.append(self.go(item))
        out += self.share(run)
        if len(out) == len(n.items) and all(
            a is b for a, b in zip(out, n.items, strict=True)
        ):
            return n
        return Block(tuple(out)) if out else NOP

    def share(self, run: Sequence[Stmt]) -> list[Stmt]:
        """Straight statements, with what they share named before its first use."""
        uses = _Uses(run)
        chosen = {e for e in uses.found if uses.worth_naming(e)}
        if not chosen:
            return list(run)
        names = _Names(chosen, self.name)
        out: list[Stmt] = []
        for s in run:
            made = s.map(names.go)
            out += names.pending
            names.pending.clear()
            out.append(made)
        return out


def _movable_over(s: Stmt) -> bool:
    """Whether values may be computed before `s`: it cannot fail, nor print."""
    return type(s) is not Assert and all(map(is_pure, s.children()))


class _Uses:
    """How often a run of statements uses each of the larger expressions in it."""

    def __init__(self, run: Sequence[Stmt]) -> None:
        self.run = run
        #: The number of uses, and the first and last statement that has one.
        self.found: dict[Expr, tuple[int, int, int]] = {}
        self.at = 0
        for self.at, s in enumerate(run):
            self.visited: set[Expr] = set()
            for e in s.children():
                self.visit(e)

    def visit(self, e: Expr) -> None:
        if tree_size(e) < SMALLEST:
            return
        count, first, _ = self.found.get(e, (0, self.at, self.at))
        self.found[e] = (count + 1, first, self.at)
        # Inside, each use counts once for each distinct node around it; a second
        # statement with the same node uses nothing more of what is inside.
        if count == 0 and type(e) is not Let:
            for child in e.children():
                self.visit(child)
        elif count:
            self.touch(e)

    def touch(self, e: Expr) -> None:
        """Notes that this statement, too, needs what is inside `e`."""
        if e in self.visited:
            return
        self.visited.add(e)
        for child in e.children():
            known = self.found.get(child)
            if known is not None:
                self.found[child] = (known[0], known[1], self.at)
                self.touch(child)

    def worth_naming(self, e: Expr) -> bool:
        count, first, last = self.found[e]
        if count < 2 or isinstance(e, (Ramp, Broadcast, Cast)):
            return False
        if e.type is INT32 or e.type is INT64:
            if not reads_data(e):
                return False  # an index
        return is_pure(e) and not self.changes(e, first, last)

    def changes(self, e: Expr, first: int, last: int) -> bool:
        """Whether the value of `e` may differ between two statements of the run."""
        between = self.run[first:last]
        bound = {s.var for s in between if isinstance(s, LetStmt)}
        if not bound.isdisjoint(free_vars(e)):
            return True
        stored: set[BufferSym] = {s.buffer for s in between if isinstance(s, Store)}
        return bool(stored) and any(
            type(n) is Load and n.buffer in stored for n in nodes(e)
        )


class _Names(Rewriter):
    """Replaces the chosen nodes by Vars, whose lets wait in `pending`."""

    def __init__(self, chosen: set[Expr], name: Namer) -> None:
        super().__init__()
        self.chosen = chosen
        self.name = name
        self.pending: list[Stmt] = []
        #: Whether `strict_float` is around, and what is known if it is (is not).
        self._strict = False
        self._other: dict[Expr, Expr] = {}

    def go(self, n: _N) -> _N:
        assert isinstance(n, Expr)
        if tree_size(n) < SMALLEST or type(n) is Let:
            return n
        found = self.memo.get(n)
        if found is None:
            found = self._strictly(n) if _is_strict(n) else n.map(self.go)
            if n in self.chosen:
                value = found
                if self._strict and not _is_strict(found) and _is_rounded(found):
                    value = Intrinsic(found.type, "strict_float", (found,))
                var = Var(self.name("t"), n.type, value=value)
                self.pending.append(LetStmt(var, value))
                found = var
            self.memo[n] = found
        return cast(_N, found)  # type: ignore[redundant-cast]

    def _strictly(self, n: Expr) -> Expr:
        """`n`, whose operations are rounded one by one."""
        if self._strict:
            return n.map(self.go)
        self._strict, self.memo, self._other = True, self._other, self.memo
        found = n.map(self.go)
        self._strict, self.memo, self._other = False, self._other, self.memo
        return found


def _is_strict(e: Expr) -> bool:
    return isinstance(e, Intrinsic) and e.op == "strict_float"


def _is_rounded(e: Expr) -> bool:
    """Whether there may be an operation on floats in it."""
    return any(isinstance(n, Expr) and n.type.is_float() for n in nodes(e))
