"""Simplification of statements.

Conditions that are known choose their branch, loops of no or one iteration go, lets
that are trivial, dead or used once are dropped or put where they are used, and every
expression is simplified under what encloses it: the conditions of ifs, the asserts
before, the bounds of loops whose variables do not carry them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

from parhelion.analysis.facts import Facts
from parhelion.analysis.interval import is_index_type
from parhelion.analysis.rank import is_pure, reads_data
from parhelion.dataclass import dataclass
from parhelion.ir.build import add, block, const_int, imm, is_const, lnot, sub
from parhelion.ir.expr import Add, Broadcast, Expr, Imm, Intrinsic, Load, Ramp, Var
from parhelion.ir.intrinsics import LIKELY
from parhelion.ir.node import Node
from parhelion.ir.rewrite import free_vars, substitute
from parhelion.ir.stmt import (
    NOP,
    Acquire,
    Allocate,
    Assert,
    Atomic,
    Block,
    Demand,
    Evaluate,
    For,
    Fork,
    ForKind,
    Free,
    If,
    LetStmt,
    OnDemand,
    Prefetch,
    Produce,
    Provide,
    Realize,
    Release,
    RunExtern,
    Stmt,
    Store,
)
from parhelion.ir.symbols import BufferSym
from parhelion.simplify.driver import engine

#: Simplifying can make further lets dead or used once; more rounds are never needed
#: in practice.
_ROUNDS = 4


def simplify_stmt(s: Stmt, facts: Facts) -> Stmt:
    """`s` simplified where `facts` hold."""
    for _ in range(_ROUNDS):
        uses = _Uses()
        uses.stmt(s, 0)
        made = _StmtSimplifier(uses).go(s, facts)
        if made is s:
            break
        s = made
    return s


@dataclass(slots=True)
class _Use:
    """How a let is used: by how many statements, and in a loop that it is not in."""

    defined: int
    places: int = 0
    in_loop: bool = False
    root: Expr | None = None


@dataclass(slots=True)
class _Uses:
    """Counts the uses of lets and buffers."""

    lets: dict[Var, _Use] = field(default_factory=dict)
    buffers: set[BufferSym] = field(default_factory=set)
    seen: set[Expr] = field(default_factory=set)

    def stmt(self, n: Stmt, depth: int) -> None:
        kind = type(n)
        if isinstance(n, Block):
            for item in n.items:
                self.stmt(item, depth)
        elif isinstance(n, LetStmt):
            self.expr(n.value, depth)
            known = self.lets.get(n.var)
            if known is None:
                self.lets[n.var] = _Use(depth)
            else:
                # Bound twice (a copied body): left alone.
                known.places = 2
        elif isinstance(n, For):
            self.expr(n.min, depth)
            self.expr(n.extent, depth)
            self.stmt(n.body, depth + 1)
        else:
            if isinstance(n, (Acquire, Release)):
                self.buffers.add(n.semaphore)
            elif isinstance(n, Demand) and isinstance(n.table, BufferSym):
                self.buffers.add(n.table)
            if kind is Store or kind is Free or kind is Prefetch:
                self.buffers.add(n.buffer)  # type: ignore[attr-defined]
            elif isinstance(n, RunExtern):
                self.buffers.update(n.inputs, n.outputs)
            for child in n.children():
                if isinstance(child, Expr):
                    self.expr(child, depth)
                else:
                    self.stmt(child, depth)

    def expr(self, e: Expr, depth: int) -> None:
        for v in free_vars(e):
            use = self.lets.get(v)
            if use is not None:
                use.places += 1
                use.in_loop = use.in_loop or depth > use.defined
                use.root = e
        if reads_data(e) and e not in self.seen:
            self.loads(e)

    def loads(self, e: Expr) -> None:
        stack = [e]
        while stack:
            n = stack.pop()
            if n in self.seen:
                continue
            self.seen.add(n)
            if type(n) is Load:
                self.buffers.add(n.buffer)
            stack.extend([c for c in n.children() if reads_data(c)])

    def inlinable(self, n: LetStmt, value: Expr) -> bool:
        """Whether a let's only use can hold its value instead.

        Not into a loop, where it would be computed again and again; nor past a store,
        so values that read memory stay.
        """
        use = self.lets[n.var]
        if use.places != 1 or use.in_loop or reads_data(value) or not is_pure(value):
            return False
        return use.root is not None and _references(use.root, n.var) == 1


def _references(root: Expr, var: Var) -> int:
    """How many distinct nodes of `root` refer to `var`, counting each reference."""
    if root is var:
        return 1
    count = 0
    seen: set[Node] = {root}
    stack = [root]
    while stack:
        for child in stack.pop().children():
            if child is var:
                count += 1
            elif child not in seen and var in free_vars(child):
                seen.add(child)
                stack.append(child)
    return count


class _StmtSimplifier:
    def __init__(self, uses: _Uses) -> None:
        self.uses = uses
        #: What takes the place of lets and loop variables that are gone.
        self.gone: dict[Var, Expr] = {}

    def expr(self, e: Expr, facts: Facts) -> Expr:
        if self.gone and not self.gone.keys().isdisjoint(free_vars(e)):
            e = substitute(e, self.gone)
        return engine(facts).go(e)

    def go(self, n: Stmt, facts: Facts) -> Stmt:
        handler = _HANDLERS.get(type(n))
        if handler is not None:
            return handler(self, n, facts)
        return n.map(lambda c: self.child(c, facts))

    def child(self, n: Any, facts: Facts) -> Any:
        return self.expr(n, facts) if isinstance(n, Expr) else self.go(n, facts)

    def on_block(self, n: Block, facts: Facts) -> Stmt:
        items: list[Stmt] = []
        for item in n.items:
            if isinstance(item, LetStmt):
                kept = self.let(item, facts)
                if kept is None:
                    continue
                made: Stmt = kept
            else:
                made = self.go(item, facts)
            if made is NOP:
                continue
            items.append(made)
            if type(made) is Assert:
                facts = facts.assume(made.cond)
        items = self.trimmed(items)
        if len(items) == len(n.items) and all(
            a is b for a, b in zip(items, n.items, strict=True)
        ):
            return n
        return block(*items)

    def let(self, n: LetStmt, facts: Facts) -> LetStmt | None:
        """The let if it stays, None if its uses take its value.

        A let that stays has a Var whose `value` is what it is bound to, in terms of
        Vars that are in scope, so expressions may see through it.
        """
        use = self.uses.lets[n.var]
        if use.places == 0 and is_pure(n.value):
            return None
        value = self.expr(n.value, facts)
        if _shorthand(value) or self.uses.inlinable(n, value):
            self.gone[n.var] = value
            return None
        if type(value) is Ramp and is_const(value.stride):
            return self.base(n, value, use)
        if value is n.var.value:
            return n if value is n.value else LetStmt(n.var, value)
        fresh = self.renewed(n.var, value)
        self.uses.lets[fresh] = use
        return LetStmt(fresh, value)

    def base(self, n: LetStmt, value: Ramp, use: _Use) -> LetStmt:
        """The let of a vector of coordinates becomes that of the first of them, so that
        loads and stores at these show that they are dense, or have a stride."""
        first = Var(n.var.name, value.base.type, value=value.base)
        self.gone[n.var] = Ramp(first, value.stride, value.lanes)
        self.uses.lets[first] = use
        return LetStmt(first, value.base)

    def renewed(self, var: Var, value: Expr | None) -> Var:
        """A Var in place of `var`, whose facts speak of Vars in scope."""
        lo, hi = (
            None if b is None else engine(Facts.EMPTY).go(substitute(b, self.gone))
            for b in (var.lo, var.hi)
        )
        fresh = Var(
            var.name,
            var.type,
            lo=lo,
            hi=hi,
            value=value,
            origin=var.origin,
            loop=var.loop,
        )
        self.gone[var] = fresh
        return fresh

    def trimmed(self, items: list[Stmt]) -> list[Stmt]:
        """Without lets and allocations at the end that serve nothing after them."""
        while items and (
            type(items[-1]) is LetStmt
            and is_pure(items[-1].value)
            or type(items[-1]) is Allocate
        ):
            items.pop()
        return [
            item
            for item in items
            if not (type(item) is Allocate and item.buffer not in self.uses.buffers)
        ]

    def on_let(self, n: LetStmt, facts: Facts) -> Stmt:
        # A let alone, with nothing after it, only serves if its value does something.
        value = self.expr(n.value, facts)
        return NOP if is_pure(value) else LetStmt(n.var, value)

    def on_for(self, n: For, facts: Facts) -> Stmt:
        low, extent = self.expr(n.min, facts), self.expr(n.extent, facts)
        lo, hi = facts.interval(extent)
        asked = n.kind is ForKind.ON_DEMAND  # its variable is given, whatever it may be
        if hi is not None and hi <= 0 and not asked:
            return NOP
        # A kernel stays one, with the dimensions that it has.
        if lo == 1 and hi == 1 and not asked and not n.kind.on_gpu:
            return self.once(n, low, facts)
        var = self.loop_var(n.var, low, extent)
        body = self.go(n.body, facts)
        if body is NOP and not asked:
            return NOP
        if var is n.var and low is n.min and extent is n.extent and body is n.body:
            return n
        return For(var, low, extent, n.kind, body)

    def loop_var(self, var: Var, low: Expr, extent: Expr) -> Var:
        """The loop's Var, or another if its bounds are missing or out of date."""
        if var.lo is None or var.hi is None:
            last = engine(Facts.EMPTY).go(sub(add(low, extent), imm(1, low.type)))
            fresh = Var(
                var.name, var.type, lo=low, hi=last, origin=var.origin, loop=var.loop
            )
            self.gone[var] = fresh
            return fresh
        gone = self.gone.keys()
        if gone.isdisjoint(free_vars(var.lo)) and gone.isdisjoint(free_vars(var.hi)):
            return var
        return self.renewed(var, None)

    def once(self, n: For, low: Expr, facts: Facts) -> Stmt:
        """The body of a loop of one iteration."""
        if is_const(low) or type(low) is Var:
            self.gone[n.var] = low
            return self.go(n.body, facts)
        var = Var(n.var.name, n.var.type, value=low)
        self.gone[n.var] = var
        body = self.go(n.body, facts)
        return NOP if body is NOP else block(LetStmt(var, low), body)

    def on_if(self, n: If, facts: Facts) -> Stmt:
        cond = self.expr(n.cond, facts)
        value = const_int(cond)
        if value is not None:
            if value:
                return self.go(n.then, facts)
            return NOP if n.otherwise is None else self.go(n.otherwise, facts)
        then = self.go(n.then, facts.assume(cond))
        otherwise: Stmt | None = None
        if n.otherwise is not None:
            otherwise = self.go(n.otherwise, facts.deny(cond))
            if otherwise is NOP:
                otherwise = None
        if is_pure(cond):
            if then is NOP and otherwise is None:
                return NOP
            if then is otherwise:
                return then
        # Loops are split, and vectors made, where a marked condition holds.
        marked = isinstance(cond, Intrinsic) and cond.op in LIKELY
        if then is NOP and otherwise is not None and not marked:
            return If(engine(facts).go(lnot(cond)), otherwise, None)
        if cond is n.cond and then is n.then and otherwise is n.otherwise:
            return n
        return If(cond, then, otherwise)

    def on_assert(self, n: Assert, facts: Facts) -> Stmt:
        cond = self.expr(n.cond, facts)
        if const_int(cond) == 1:
            return NOP
        args = tuple([self.expr(a, facts) for a in n.args])
        return n if cond is n.cond and args == n.args else Assert(cond, n.code, args)

    def on_evaluate(self, n: Evaluate, facts: Facts) -> Stmt:
        value = self.expr(n.value, facts)
        return NOP if is_pure(value) else Evaluate(value)

    def on_store(self, n: Store, facts: Facts) -> Stmt:
        value, at = self.expr(n.value, facts), self.expr(n.index, facts)
        mask = None if n.predicate is None else self.expr(n.predicate, facts)
        if mask is not None and const_int(mask) is not None:
            if const_int(mask) == 0:
                return NOP
            mask = None
        if _undefined(value):
            return NOP
        if value is n.value and at is n.index and mask is n.predicate:
            return n
        return Store(n.buffer, value, at, mask)

    def on_provide(self, n: Provide, facts: Facts) -> Stmt:
        n = n.map(lambda c: self.expr(c, facts))
        if n.predicate is not None and const_int(n.predicate) is not None:
            if const_int(n.predicate) == 0:
                return NOP
            return Provide(n.func, n.values, n.args, None)
        return NOP if all(_undefined(v) for v in n.values) else n

    def on_produce(self, n: Produce, facts: Facts) -> Stmt:
        body = self.go(n.body, facts)
        if body is NOP:
            return NOP
        return n if body is n.body else Produce(n.func, n.producing, body)

    def on_atomic(self, n: Atomic, facts: Facts) -> Stmt:
        body = self.go(n.body, facts)
        if body is NOP:
            return NOP
        return n if body is n.body else Atomic(n.func, n.shared, n.locked, body)

    def on_fork(self, n: Fork, facts: Facts) -> Stmt:
        first, second = self.go(n.first, facts), self.go(n.second, facts)
        if first is NOP or second is NOP:
            return second if first is NOP else first
        same = first is n.first and second is n.second
        return n if same else Fork(n.func, first, second)

    def on_ondemand(self, n: OnDemand, facts: Facts) -> Stmt:
        made = n.map(lambda c: self.child(c, facts))
        return NOP if made.body is NOP else made

    def on_realize(self, n: Realize, facts: Facts) -> Stmt:
        made = n.map(lambda c: self.child(c, facts))
        return NOP if made.body is NOP else made


def _shorthand(value: Expr) -> bool:
    """Whether a let's value is as good as a name: a constant, or a Var plus one; or a
    vector of coordinates that begins with such a value."""
    if type(value) is Var or is_const(value):
        return True
    if type(value) is Ramp and is_const(value.stride):
        return _shorthand(value.base)
    if type(value) is not Add or type(value.b) is not Imm:
        return False
    return type(value.a) is Var and is_index_type(value.type)


def _undefined(e: Expr) -> bool:
    if type(e) is Broadcast:
        return _undefined(e.value)
    return type(e) is Intrinsic and e.op == "undef"


_HANDLERS: dict[type[Stmt], Callable[[_StmtSimplifier, Any, Facts], Stmt]] = {
    Block: _StmtSimplifier.on_block,
    LetStmt: _StmtSimplifier.on_let,
    For: _StmtSimplifier.on_for,
    If: _StmtSimplifier.on_if,
    Assert: _StmtSimplifier.on_assert,
    Evaluate: _StmtSimplifier.on_evaluate,
    Store: _StmtSimplifier.on_store,
    Provide: _StmtSimplifier.on_provide,
    Produce: _StmtSimplifier.on_produce,
    Atomic: _StmtSimplifier.on_atomic,
    Fork: _StmtSimplifier.on_fork,
    OnDemand: _StmtSimplifier.on_ondemand,
    Realize: _StmtSimplifier.on_realize,
}

__all__ = ["simplify_stmt"]
