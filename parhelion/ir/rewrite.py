"""Walking and rewriting trees: one table of handlers per class, memoised.

A handler is a method ``on_<node class in lower case>``. Nodes without one are walked
through (`Visitor`) or rebuilt with `map` (`Rewriter`). "Unchanged" is identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, TypeVar

from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.build import block
from parhelion.ir.expr import Expr, Let, Var
from parhelion.ir.node import Node
from parhelion.ir.stmt import Block, LetStmt, Stmt

_N = TypeVar("_N", Expr, Stmt)

_CLASSES: dict[str, type[Node]] = {
    c.__name__.lower(): c
    for module in (E, S)
    for c in vars(module).values()
    if isinstance(c, type) and issubclass(c, Node)
}


def _handlers(cls: type) -> dict[type[Node], Callable[[Any, Any], Any]]:
    table: dict[type[Node], Callable[[Any, Any], Any]] = {}
    for base in reversed(cls.__mro__):
        for name, method in vars(base).items():
            if name.startswith("on_"):
                table[_CLASSES[name[3:]]] = method
    return table


class Rewriter:
    """Rebuilds a tree. `go` dispatches; memoises expressions if MEMO is set.

    MEMO is right for a pass whose result for an expression depends on the node
    alone. A pass that carries scopes clears `memo` when its context changes.
    """

    MEMO: ClassVar[bool] = True
    _table: ClassVar[dict[type[Node], Callable[[Any, Any], Any]]] = {}

    def __init_subclass__(cls) -> None:
        cls._table = _handlers(cls)

    def __init__(self) -> None:
        self.memo: dict[Expr, Expr] = {}

    def go(self, n: _N) -> _N:
        kind = type(n)
        made: Any
        if self.MEMO and isinstance(n, Expr):
            made = self.memo.get(n)
            if made is not None:
                return made  # type: ignore[no-any-return]
            handler = self._table.get(kind)
            made = handler(self, n) if handler else n.map(self.go)
            self.memo[n] = made
            return made  # type: ignore[no-any-return]
        handler = self._table.get(kind)
        made = handler(self, n) if handler else n.map(self.go)
        return made  # type: ignore[no-any-return]

    def on_block(self, n: Block) -> Stmt:
        items = [self.go(item) for item in n.items]
        if all(new is old for new, old in zip(items, n.items, strict=True)):
            return n
        return block(*items)


class Visitor:
    """Walks a tree. With ONCE set, an expression node is visited a single time."""

    ONCE: ClassVar[bool] = True
    _table: ClassVar[dict[type[Node], Callable[[Any, Any], None]]] = {}

    def __init_subclass__(cls) -> None:
        cls._table = _handlers(cls)

    def __init__(self) -> None:
        self.seen: set[Node] = set()

    def go(self, n: Node) -> None:
        if self.ONCE and isinstance(n, Expr):
            if n in self.seen:
                return
            self.seen.add(n)
        handler = self._table.get(type(n))
        if handler:
            handler(self, n)
        else:
            self.walk(n)

    def walk(self, n: Node) -> None:
        """Visits the children of `n`."""
        for child in n.children():
            self.go(child)


def nodes(*roots: Node) -> Iterator[Node]:
    """Every distinct node of a tree, or of several, parents before children."""
    seen: set[Node] = set()
    stack = list(reversed(roots))
    while stack:
        n = stack.pop()
        if n in seen:
            continue
        seen.add(n)
        yield n
        stack += n.children()[::-1]


_NO_VARS: frozenset[Var] = frozenset()
_set_free = Expr._free.__set__  # type: ignore[attr-defined]


def free_vars(n: Expr) -> frozenset[Var]:
    """The Vars that an expression mentions and does not bind (cached on the node)."""
    try:
        return n._free  # type: ignore[attr-defined,no-any-return]
    except AttributeError:
        if type(n) is Var:
            return frozenset((n,))
    try:
        return _find_free(n)
    except RecursionError:
        pass  # Outside of `run_deep`: from the leaves up, so that each step is short.
    stack = [n]
    while stack:
        top = stack[-1]
        waiting = [
            c for c in top.children() if not hasattr(c, "_free") and c.children()
        ]
        if waiting:
            stack += waiting
        else:
            _find_free(stack.pop())
    return free_vars(n)


def _find_free(n: Expr) -> frozenset[Var]:
    """As `free_vars`, of a node whose free Vars are not known."""
    found: frozenset[Var]
    if isinstance(n, Var):
        # A set that holds its own node would be a cycle; it is rebuilt each time.
        return frozenset((n,))
    if isinstance(n, Let):
        found = free_vars(n.value) | (free_vars(n.body) - {n.var})
    else:
        found = _NO_VARS
        for child in n.children():
            if type(child) is Var:
                free = frozenset((child,))
            else:
                try:
                    free = child._free
                except AttributeError:
                    free = _find_free(child)
            if found is _NO_VARS:
                found = free
            elif free and not free <= found:
                found = found | free
    _set_free(n, found)
    return found


class _Substitute(Rewriter):
    def __init__(self, env: Mapping[Var, Expr]) -> None:
        super().__init__()
        self.env = env
        self.keys = frozenset(env)

    def go(self, n: _N) -> _N:
        # A memo shared with statements would keep every loop body alive.
        made: Any = self.expr(n) if isinstance(n, Expr) else self.stmt(n)
        return made  # type: ignore[no-any-return]

    def expr(self, e: Expr) -> Expr:
        if isinstance(e, Var):
            return self.env.get(e, e)
        found = self.memo.get(e)
        if found is None:
            found = e if self.keys.isdisjoint(free_vars(e)) else e.map(self.expr)
            self.memo[e] = found
        return found

    def stmt(self, s: Stmt) -> Stmt:
        if type(s) is Block:
            return self.on_block(s)
        if type(s) is LetStmt:
            return LetStmt(s.var, self.expr(s.value))
        return s.map(self.go)


def substitute(n: _N, env: Mapping[Var, Expr]) -> _N:
    """`n` with the Vars of `env` replaced. Vars are unique: nothing is captured.

    Bound Vars (of For, Let, LetStmt) are never replaced at their binding site.
    """
    return _Substitute(env).go(n) if env else n
