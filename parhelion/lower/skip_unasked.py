"""What is selected under a condition is read only where something asks for it.

A consumer that selects values of a Func that is computed on demand asks for them under
the selection's condition, but reads, computes and drops them elsewhere. Where no lane
asks, only what the other arm says is computed and stored:

    demand f.part(…) if c             if (c in some lane):
    g[i] = select(c, f[j], 0)           demand f.part(…) if c
                                ->      g[i] = select(c, f[j], 0)
                                      else:
                                        g[i] = 0

So of a mask with few pixels mostly the mask is read, not the storage of `f` as well.
Other selections stay as they are: a value that is there anyway is mostly cheaper to
read than a branch is to take.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import islice
from typing import TypeVar

from parhelion.ir.build import block, lnot, lor
from parhelion.ir.expr import And, Expr, Load, Select
from parhelion.ir.node import Node
from parhelion.ir.rewrite import _N, Rewriter, nodes
from parhelion.ir.stmt import Block, Demand, If, Stmt, Store
from parhelion.ir.symbols import BufferSym
from parhelion.lower.lanes import any_lane
from parhelion.simplify.simplifier import simplify

#: What is written twice, for those that do not ask as well, has at most so many nodes.
_MOST_NODES = 64

_Kind = TypeVar("_Kind", bound=Stmt)
_Facts = frozenset[Expr]


def skip_unasked(s: Stmt) -> Stmt:
    """A program whose stores read values on demand only where some lane asks."""
    return _Skip().go(s)


class _Skip(Rewriter):
    def go(self, n: _N) -> _N:
        return n if isinstance(n, Expr) else super().go(n)

    def on_block(self, n: Block) -> Stmt:
        items = [self.go(item) for item in n.items]
        out: list[Stmt] = []
        while items:
            demands = _first(items, Demand)
            stores = _first(items[len(demands) :], Store)
            branch = _branch(demands, stores) if demands and stores else None
            if branch is None:
                out.append(items.pop(0))
                continue
            out.append(branch)
            del items[: len(demands) + len(stores)]
        if len(out) == len(n.items) and all(map(_same, out, n.items)):
            return n
        return block(*out)


def _same(a: Node, b: Node) -> bool:
    return a is b


def _first(items: Sequence[Stmt], kind: type[_Kind]) -> list[_Kind]:
    """The statements of a kind that others begin with."""
    found: list[_Kind] = []
    for item in items:
        if not isinstance(item, kind):
            break
        found.append(item)
    return found


def _branch(demands: Sequence[Demand], stores: Sequence[Store]) -> Stmt | None:
    """Demands and the stores after them, where some lane asks, and what is stored
    elsewhere. None if a demand has no condition, or stores use it nevertheless."""
    asked: dict[Expr, None] = {}
    for demand in demands:
        if demand.predicate is None:
            return None
        asked[demand.predicate] = None
    written = {store.buffer for store in stores[:-1]}
    if written & set(_loaded(asked)):
        return None  # by the later stores the condition is another
    unasked = _Unasked([frozenset(_facts(p)) for p in asked])
    others: list[Stmt] = []
    for store in stores:
        value = unasked.left(store.value, frozenset(_facts(store.predicate)))
        if value is store.value or not _is_small(value):
            return None
        others.append(Store(store.buffer, value, store.index, store.predicate))
    some = reduce(lor, map(any_lane, asked))
    return If(some, block(*demands, *stores), block(*others))


def _loaded(exprs: Iterable[Expr]) -> Iterator[BufferSym]:
    for e in exprs:
        yield from [n.buffer for n in nodes(e) if isinstance(n, Load)]


def _is_small(e: Expr) -> bool:
    return sum(1 for _ in islice(nodes(e), _MOST_NODES + 1)) <= _MOST_NODES


def _facts(cond: Expr | None) -> Iterator[Expr]:
    """The conditions that hold where `cond` does."""
    if isinstance(cond, And):
        yield from _facts(cond.a)
        yield from _facts(cond.b)
    elif cond is not None:
        yield cond


class _Unasked:
    """Expressions where none of some conjunctions holds in any lane."""

    def __init__(self, never: Sequence[_Facts]) -> None:
        self.never = never
        self.found: dict[tuple[Expr, _Facts], Expr] = {}

    def left(self, e: Expr, facts: _Facts) -> Expr:
        """What has the value of `e` where some facts hold, without the arms of
        selections that no lane chooses."""
        made = self.found.get((e, facts))
        if made is None:
            made = self.found[e, facts] = self._left(e, facts)
        return made

    def _left(self, e: Expr, facts: _Facts) -> Expr:
        if not isinstance(e, Select):
            return e.map(lambda child: self.left(child, facts))
        with_a = facts.union(_facts(e.cond))
        if self._never(with_a):
            return self.left(e.b, facts)
        with_b = facts.union(_facts(simplify(lnot(e.cond))))
        if self._never(with_b):
            return self.left(e.a, facts)
        cond, a = self.left(e.cond, facts), self.left(e.a, with_a)
        b = self.left(e.b, with_b)
        same = cond is e.cond and a is e.a and b is e.b
        return e if same else Select(cond, a, b)

    def _never(self, facts: _Facts) -> bool:
        return any([one <= facts for one in self.never])


__all__ = ["skip_unasked"]
