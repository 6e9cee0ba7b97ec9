"""The simplifier of expressions.

An `ExprSimplifier` works under fixed facts and memoises by node. A node is simplified
children first; then, in this order, constants are folded, linear forms are made
canonical (`index`, `order`), the operator's rules are tried (`tables`) and constant
bounds are consulted. Whatever a step makes is simplified again, so the result is a
fixed point. Every step makes the expression smaller, or keeps its size and brings it
nearer the canonical form; none makes it larger.

What is impure (print, require) keeps its operands' order and number: only what lies
inside it is simplified.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parhelion.analysis.facts import Facts, unmarked
from parhelion.analysis.linear import Linear, add_linear
from parhelion.analysis.rank import rank, reads_data, sort_key, tree_size
from parhelion.ir.build import FALSE, TRUE, const_int, imm, is_const
from parhelion.ir.expr import (
    BINARY,
    COMPARISONS,
    EQ,
    LE,
    LT,
    NE,
    Add,
    And,
    Broadcast,
    Cast,
    Div,
    Expr,
    FloatImm,
    Imm,
    Intrinsic,
    Let,
    Load,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Ramp,
    Select,
    Shuffle,
    Sub,
    Var,
    VectorReduce,
)
from parhelion.ir.rewrite import free_vars, substitute
from parhelion.ir.rule_table import Table
from parhelion.ir.scalars import binary, cast_value
from parhelion.ir.sums import summands
from parhelion.simplify import index, intrinsics, order, vector
from parhelion.simplify.tables import BOOL_SELECT, SUMS, TABLES
from parhelion.types import Type

#: Selections of a tree that are simplified under what those around them say.
_MOST_CHOICES = 64
_COMMUTATIVE = (Add, Mul, EQ, NE, And, Or)


class ExprSimplifier:
    """Simplifies expressions under fixed facts."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.memo: dict[Expr, Expr] = {}
        self.proofs: dict[Expr, bool] = {}
        #: Serves what these facts say nothing about.
        self.root: ExprSimplifier = engine(Facts.EMPTY) if facts else self

    def go(self, n: Expr) -> Expr:
        found = self.memo.get(n)
        if found is not None:
            return found
        if type(n) is Imm:
            return n
        if self.root is not self and not self.concerned(n):
            made = self.root.go(n)
        elif not rank(n).pure:
            made = n.map(self.go)
        else:
            handler = _HANDLERS.get(type(n))
            made = handler(self, n) if handler is not None else n.map(self.go)
            if self.root is not self and made.type.is_bool():
                made = self.known(made)
        self.memo[n] = made
        if made is not n:
            self.memo[made] = made
        return made

    def concerned(self, n: Expr) -> bool:
        """Whether the facts say anything of the Vars of `n`."""
        if type(n) is Var:
            return n in self.facts.vars
        return not self.facts.vars.isdisjoint(free_vars(n))

    def known(self, cond: Expr) -> Expr:
        """A condition that the facts settle, as a constant."""
        bare = unmarked(cond)
        if bare in self.facts.truths:
            return imm(True, cond.type)
        if bare in self.facts.falsehoods:
            return imm(False, cond.type)
        return cond

    def again(self, old: Expr, made: Expr | None) -> Expr | None:
        """`made`, simplified, if it is something new."""
        return None if made is None or made is old else self.go(made)

    def settled(self, n: Expr) -> Expr:
        """`n`, or the constant that its bounds leave."""
        if n.type.is_int_or_uint():
            value = self.facts.interval(n).single()
            if value is not None:
                return imm(value, n.type)
        return n

    def binary(self, n: Any) -> Expr:
        return self.combined(type(n), self.go(n.a), self.go(n.b))

    def sum(self, n: Any) -> Expr:
        """A sum, difference or product: of indices, all its terms at once."""
        constant_factor = type(n) is not Mul or type(n.b) is Imm or type(n.a) is Imm
        if not constant_factor or not index.is_index(n):
            return self.binary(n)
        terms: dict[Expr, int] = {}
        const = self.gather(n, terms)
        form = Linear(const, {a: k for a, k in terms.items() if k})
        made = index.normal_sum(self, form, n.type)
        if made is None:
            return self.binary(n)
        if isinstance(made, Add | Sub | Mul):
            ruled = self.ruled(TABLES[type(made)], made, made.a, made.b)
            if ruled is not None:
                return ruled
        return self.settled(made)

    def gather(self, n: Any, terms: dict[Expr, int]) -> int:
        """Adds the leaves of a sum, simplified, to `terms`; returns the constant."""
        const = 0
        for leaf, k in summands(n, _parts).items():
            if type(leaf) is Imm:
                const += k * leaf.value
            elif k:
                const += add_linear(terms, self.go(leaf), k)
        return const

    def combined(self, kind: Any, a: Expr, b: Expr) -> Expr:
        """The operation on simplified operands."""
        ta, tb = type(a), type(b)
        if ta is Broadcast and tb is Broadcast:
            if a.lanes == b.lanes:  # type: ignore[attr-defined]
                value = self.combined(kind, a.value, b.value)  # type: ignore[attr-defined]
                return Broadcast(value, a.lanes)  # type: ignore[attr-defined]
        elif ta is Imm or ta is FloatImm:
            if tb is Imm or tb is FloatImm:
                folded = _folded(kind, a, b)
                if folded is not None:
                    return folded
        t = a.type
        if _goes_right(kind, a, b, t):
            a, b = b, a
        quick = _quick(kind, a, b, t)
        if quick is not None:
            return quick
        n: Expr = kind(a, b)
        if t.is_int_or_uint():
            handler = (_LINEAR if t.count == 1 else _LANES).get(kind)
            made = self.again(n, handler(self, n)) if handler is not None else None
            if made is not None:
                return made
        if kind in SUMS and not index.is_index(n):
            made = self.ruled(SUMS[kind], n, a, b)
            if made is not None:
                return made
        made = self.ruled(TABLES[kind], n, a, b)
        return made if made is not None else self.settled(n)

    def chain(self, kind: type[Min | Max], items: list[Expr]) -> Expr:
        """See `Engine`. Of what it makes it knows that its operands need no comparing
        and no sorting, each of which takes a time quadratic in their number."""
        made = items[0]
        for i, e in enumerate(items[1:], 1):
            n = kind(made, e)
            found = self.memo.get(n)
            if found is None:
                if i == 1:
                    found = self.combined(kind, made, e)
                else:
                    found = self.ruled(TABLES[kind], n, made, e) or self.settled(n)
                self.memo[n] = self.memo[found] = found
            if found is not n:
                for rest in items[i + 1 :]:
                    found = self.combined(kind, found, rest)
                return found
            made = n
        return made

    def ruled(self, table: Table, n: Expr, a: Expr, b: Expr) -> Expr | None:
        """What the rules of a table make of `n`, an operation on a and b."""
        rules = table.function((type(a), type(b)), b.type)
        return None if rules is None else self.again(n, rules(n))

    def on_sum(self, n: Any) -> Expr | None:
        return index.sum_form(self, n) if index.is_index(n) else None

    def on_quotient(self, n: Any) -> Expr | None:
        return index.quotient(self, n)

    def on_remainder(self, n: Any) -> Expr | None:
        return index.remainder(self, n)

    def on_var(self, n: Var) -> Expr:
        return self.settled(n)

    def on_not(self, n: Not) -> Expr:
        a = self.go(n.a)
        value = const_int(a)
        if value is not None:
            return imm(not value, n.a.type)
        n = Not(a)
        rules = TABLES[Not].function((type(a),), a.type)
        made = self.again(n, rules(n)) if rules else None
        if made is not None:
            return made
        if type(a) is And or type(a) is Or:
            p, q = self.go(Not(a.a)), self.go(Not(a.b))
            other: Any = Or if type(a) is And else And
            if tree_size(p) + tree_size(q) + 1 <= tree_size(n):
                return self.combined(other, p, q)
        return self.settled(n)

    def on_select(self, n: Select) -> Expr:
        cond = self.go(n.cond)
        value = const_int(cond)
        if value is not None:
            return self.go(n.a if value else n.b)
        # Each side is simplified once, with what `cond` says of it where that can
        # matter: twice would be 2 ** n times for n selections in one another.
        in_a = in_b = self
        if cond.type.count == 1 and not reads_data(cond):
            if _gains(n.a, cond):
                in_a = engine(self.facts.assume(cond))
            if _gains(n.b, cond):
                in_b = engine(self.facts.deny(cond))
        a, b = in_a.go(n.a), in_b.go(n.b)
        if a is b:
            return a
        made = Select(cond, a, b)
        if a.type.is_bool() and a.type is cond.type:
            replaced = self.again(made, BOOL_SELECT.apply(made))
            if replaced is not None:
                return replaced
        rules = TABLES[Select].function((type(cond), type(a), type(b)), a.type)
        replaced = self.again(made, rules(made)) if rules else None
        return replaced if replaced is not None else self.settled(made)

    def on_cast(self, n: Cast) -> Expr:
        a, t = self.go(n.a), n.type
        f = a.type
        if f is t:
            return a
        if type(a) is Imm or type(a) is FloatImm:
            made = _cast_constant(a, t)
            if made is not None:
                return made
        made = vector.cast(Cast(t, a))
        if made is not None:
            return self.go(made)
        if type(a) is Cast:
            inner = _cast_of_cast(t, a)
            if inner is not None:
                return self.go(inner)
        if type(a) is Select and is_const(a.a) and is_const(a.b):
            return self.go(Select(a.cond, Cast(t, a.a), Cast(t, a.b)))
        return self.settled(Cast(t, a))

    def on_let(self, n: Let) -> Expr:
        value = self.go(n.value)
        if is_const(value) or type(value) is Var:
            return self.go(substitute(n.body, {n.var: value}))
        body = self.go(n.body)
        if n.var not in free_vars(body):
            return body
        if _occurrences(body, n.var) == 1:
            return self.go(substitute(body, {n.var: value}))
        return Let(n.var, value, body)

    def on_ramp(self, n: Ramp) -> Expr:
        n = Ramp(self.go(n.base), self.go(n.stride), n.lanes)
        return self.again(n, vector.ramp(n)) or n

    def on_broadcast(self, n: Broadcast) -> Expr:
        n = Broadcast(self.go(n.value), n.lanes)
        return self.again(n, vector.broadcast(n)) or n

    def on_shuffle(self, n: Shuffle) -> Expr:
        n = n.map(self.go)
        return self.again(n, vector.shuffle(n)) or self.settled(n)

    def on_vector_reduce(self, n: VectorReduce) -> Expr:
        n = n.map(self.go)
        return self.again(n, vector.vector_reduce(n)) or self.settled(n)

    def on_load(self, n: Load) -> Expr:
        n = n.map(self.go)
        if n.predicate is not None:
            if const_int(n.predicate) == 0:
                return imm(0, n.type)
            if const_int(n.predicate) == 1:
                n = Load(n.type, n.buffer, n.index, None)
        if n.predicate is None and type(n.index) is Broadcast:
            one = Load(n.type.element_of(), n.buffer, n.index.value, None)
            return Broadcast(one, n.index.lanes)
        return n

    def on_intrinsic(self, n: Intrinsic) -> Expr:
        n = n.map(self.go)
        made = self.again(n, intrinsics.simplified(n))
        if made is not None:
            return made
        return n if n.op in intrinsics.SAME else self.settled(n)


def _gains(side: Expr, cond: Expr) -> bool:
    """Whether one side of a selection is simplified with what the condition says.

    Both sides are always evaluated, so what they load may not change. Selections in
    one another are simplified once for every way through those around them, which for
    shared ones is exponential in their depth: hence the bound.
    """
    told = rank(side)
    return (
        not told.data
        and told.choices <= _MOST_CHOICES
        and not free_vars(side).isdisjoint(free_vars(cond))
    )


def _parts(e: Any) -> tuple[tuple[Expr, int], ...]:
    """The operands of a sum or of a constant multiple, with their factors."""
    kind = type(e)
    if kind is Add:
        return (e.a, 1), (e.b, 1)
    if kind is Sub:
        return (e.a, 1), (e.b, -1)
    if kind is Mul:
        if type(e.b) is Imm:
            return ((e.a, e.b.value),)
        if type(e.a) is Imm:
            return ((e.b, e.a.value),)
    return ()


def _goes_right(kind: Any, a: Expr, b: Expr, t: Type) -> bool:
    """Whether the operands should change places (never those of float Min, Max)."""
    if kind in _COMMUTATIVE:
        if is_const(a):
            return not is_const(b)
        # `index` and `order` sort the operands of sums and equations.
        return kind is Mul and not is_const(b) and t.is_int_or_uint() and _after(a, b)
    if (kind is Min or kind is Max) and t.is_int_or_uint():
        if is_const(a) or is_const(b):
            return not is_const(b)
        # `order.extremum` sorts the operands of a chain.
        return type(a) is not kind and type(b) is not kind and _after(a, b)
    return False


def _after(a: Expr, b: Expr) -> bool:
    """Whether `b` comes before `a` in the canonical order."""
    return sort_key(b) < sort_key(a)


def _quick(kind: Any, a: Expr, b: Expr, t: Type) -> Expr | None:
    """Neutral and absorbing constants on the right."""
    if kind is And or kind is Or:
        value = const_int(b)
        if value is None:
            return a if a is b else None
        return a if value == (kind is And) else b
    if t.is_float():
        return None
    value = const_int(b)
    if value is None:
        if kind is Div or kind is Mod:
            return a if is_const(a, 0) else None
        return None
    if kind is Add:
        return a if value == 0 else None
    if kind is Sub:
        if value == 0:
            return a
        return None
    if kind is Mul:
        return b if value == 0 else a if value == 1 else None
    if kind is Div:
        return a if value == 1 else b if value == 0 else None
    if kind is Mod:
        return imm(0, t) if value == 1 or value == 0 else None
    return None


def _minus_constant(s: ExprSimplifier, n: Any) -> Expr | None:
    """``x - 3`` as ``x + -3`` for signed types, so that constants meet."""
    made = s.on_sum(n)
    if made is not None:
        return made
    t = n.a.type
    if type(n.b) is Imm and t.is_int() and n.b.value != t.lowest():
        return Add(n.a, Imm(t, -n.b.value))
    return None


_LINEAR: dict[type[Expr], Callable[[ExprSimplifier, Any], Expr | None]] = {
    Add: ExprSimplifier.on_sum,
    Sub: _minus_constant,
    Mul: ExprSimplifier.on_sum,
    Div: ExprSimplifier.on_quotient,
    Mod: ExprSimplifier.on_remainder,
    Min: order.extremum,
    Max: order.extremum,
    LT: order.inequality,
    LE: order.inequality,
    EQ: order.equality,
    NE: order.equality,
    And: order.conjunction,
    Or: order.disjunction,
}


_LANES: dict[type[Expr], Callable[[ExprSimplifier, Any], Expr | None]] = {
    LT: order.lanes_inequality,
    LE: order.lanes_inequality,
    Min: order.lanes_extremum,
    Max: order.lanes_extremum,
}


def _folded(kind: type[Expr], a: Any, b: Any) -> Expr | None:
    """The operation on two constants, by the language's semantics."""
    t: Type = a.type
    if t.is_float() and kind is Mod:
        return None
    value = binary(kind, t, a.value, b.value)
    if kind in COMPARISONS:
        return TRUE if value else FALSE
    # The sign and payload of a new NaN are the machine's choice.
    return None if value != value else imm(value, t)


def _cast_constant(a: Imm | FloatImm, t: Type) -> Expr | None:
    if t.is_handle() or a.type.is_handle():
        return None
    value = a.value
    if isinstance(value, float) and not t.is_float() and not t.is_bool():
        # Out of range is unspecified: left to the machine.
        if value != value or not t.lowest() <= value <= t.highest():
            return None
    return imm(cast_value(value, t), t)


def _cast_of_cast(t: Type, a: Cast) -> Expr | None:
    """Two casts in a row as one, where that gives the same value."""
    u, f = a.type, a.a.type
    if u.is_handle() or f.is_handle() or t.is_handle():
        return None
    if u.can_represent(f) and not f.is_handle():
        # An exact step in between; to Bool and from Bool too.
        return Cast(t, a.a)
    if t.is_bool() or u.is_bool():
        return None
    integers = t.is_int_or_uint() and u.is_int_or_uint() and f.is_int_or_uint()
    if integers and t.width <= u.width:
        return Cast(t, a.a)
    return None


def _occurrences(body: Expr, var: Var) -> int:
    """How many distinct places of the shared tree mention `var`."""
    count = 0
    seen: set[Expr] = set()
    stack = [body]
    while stack:
        n = stack.pop()
        if n is var:
            count += 1
            continue
        if n in seen or var not in free_vars(n):
            continue
        seen.add(n)
        stack.extend(n.children())
    return count


_HANDLERS: dict[type[Expr], Callable[[ExprSimplifier, Any], Expr]] = {
    **dict.fromkeys(BINARY, ExprSimplifier.binary),
    Add: ExprSimplifier.sum,
    Sub: ExprSimplifier.sum,
    Mul: ExprSimplifier.sum,
    Var: ExprSimplifier.on_var,
    Not: ExprSimplifier.on_not,
    Select: ExprSimplifier.on_select,
    Cast: ExprSimplifier.on_cast,
    Let: ExprSimplifier.on_let,
    Ramp: ExprSimplifier.on_ramp,
    Broadcast: ExprSimplifier.on_broadcast,
    Shuffle: ExprSimplifier.on_shuffle,
    VectorReduce: ExprSimplifier.on_vector_reduce,
    Load: ExprSimplifier.on_load,
    Intrinsic: ExprSimplifier.on_intrinsic,
}

#: Simplifiers by facts, so that their memos serve every pass of a compile. (Of large
#: pipelines each of a thousand checks leaves facts, and what is simplified under the
#: last is asked again by all passes.)
_ENGINES: dict[Facts, ExprSimplifier] = {}
_MOST_ENGINES = 4096
#: Nodes that the memo may keep alive between compiles.
_MOST_MEMO = 200_000


def engine(facts: Facts) -> ExprSimplifier:
    """The simplifier that works under `facts`."""
    found = _ENGINES.get(facts)
    if found is None:
        if len(_ENGINES) >= _MOST_ENGINES:
            root = _ENGINES.get(Facts.EMPTY)
            _ENGINES.clear()
            if root is not None:
                _ENGINES[Facts.EMPTY] = root
        found = _ENGINES[facts] = ExprSimplifier(facts)
    return found


def ready(facts: Facts) -> ExprSimplifier:
    """As `engine`, for somebody who begins: memos that have grown are dropped."""
    if len(engine(Facts.EMPTY).memo) > _MOST_MEMO:
        forget()
    return engine(facts)


def forget() -> None:
    """Drops all memos. Call it before `node.sweep`, which frees unheld nodes only."""
    root = _ENGINES.get(Facts.EMPTY)
    _ENGINES.clear()
    if root is not None:  # which refers to itself
        root.memo.clear()
        root.proofs.clear()
    Facts.EMPTY.forget()
