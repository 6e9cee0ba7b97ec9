"""Finding the conditions that a loop may be partitioned by.

A mark speaks for the nearest condition around it: `likely(x)` inside a Min says which
side the Min mostly takes; inside a Select's or an If's condition, that it mostly holds;
inside one branch of a Select, that this branch is mostly taken.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence

from parhelion.analysis.rank import is_small
from parhelion.dataclass import dataclass
from parhelion.ir.build import const_int, imm
from parhelion.ir.expr import (
    LE,
    Add,
    And,
    Broadcast,
    Expr,
    Extern,
    Intrinsic,
    Let,
    Load,
    Max,
    Min,
    Mul,
    Not,
    Or,
    Select,
    Sub,
    Var,
)
from parhelion.ir.intrinsics import INTRINSICS, LIKELY
from parhelion.ir.rewrite import free_vars
from parhelion.ir.stmt import (
    Allocate,
    Block,
    For,
    ForKind,
    If,
    LetStmt,
    Stmt,
    Store,
)
from parhelion.lower.solve import EVERYWHERE, Solution, Solver, both, inexact


class Rate(enum.Enum):
    """How often a condition is evaluated in one iteration of the loop in question:
    once; once before a long loop inside; or in each iteration of a loop inside."""

    ONCE = enum.auto()
    BEFORE = enum.auto()
    EACH = enum.auto()


#: Fewer iterations do not make up for a clamp before their loop.
_LONG = 16


@dataclass(frozen=True, slots=True)
class Candidate:
    """`node` is `steady` where `solution` holds, and surely `other` beyond its exact
    bounds."""

    node: Expr
    steady: Expr
    other: Expr
    solution: Solution
    rate: Rate


def find_candidates(loop: For, innermost: bool) -> list[Candidate]:
    """The conditions in the loop's body that its variable can be solved for."""
    finder = _Finder(loop, innermost)
    finder.statement(loop.body, whole=innermost and loop.kind is ForKind.SERIAL)
    return finder.found


def runs_loops(s: Stmt) -> bool:
    """Whether a loop that runs at run time (not a vectorised or unrolled one) is in
    `s`."""
    stack: list[Stmt] = [s]
    while stack:
        n = stack.pop()
        if type(n) is For and n.kind in (ForKind.SERIAL, ForKind.PARALLEL):
            return True
        stack.extend([c for c in n.children() if isinstance(c, Stmt)])
    return False


class _Finder:
    def __init__(self, loop: For, innermost: bool) -> None:
        self.solver = Solver(loop)
        self.marks = LIKELY if innermost else frozenset(("likely",))
        self.innermost = innermost
        self.found: list[Candidate] = []
        self._seen: set[tuple[Expr, bool]] = set()
        self._tried: set[tuple[Expr, Expr]] = set()
        self._worth: dict[Expr, bool] = {}
        self._marked: dict[tuple[Expr, bool], bool] = {}
        #: The loops inside that are around the place looked at.
        self._around: list[For] = []

    # Statements.

    def statement(self, s: Stmt, whole: bool = False) -> None:
        """`whole`: nothing but names is beside `s` in the loop's body."""
        if isinstance(s, Block):
            acting = [i for i in s.items if type(i) not in (LetStmt, Allocate)]
            for item in s.items:
                self.statement(item, whole and len(acting) == 1)
        elif isinstance(s, LetStmt):
            self.expression(s.value, False)
            self.bind(s.var, s.value)
        elif isinstance(s, For):
            self.expression(s.min, False)
            self.expression(s.extent, False)
            if s.var in self.solver.inner:
                self.forget()
            self.solver.enter(s)
            self._around.append(s)
            self.statement(s.body)
            self._around.pop()
        elif isinstance(s, If):
            self.condition(s.cond)
            if whole and s.otherwise is None:
                self.trim(s.cond)
            self.expression(s.cond, False)
            self.statement(s.then, whole and s.otherwise is None)
            if s.otherwise is not None:
                self.statement(s.otherwise)
        elif isinstance(s, Store):
            self.expression(s.value, False)
            self.expression(s.index, True)
            if s.predicate is not None:
                self.expression(s.predicate, False)
        else:
            for child in s.children():
                if isinstance(child, Stmt):
                    self.statement(child)
                else:
                    self.expression(child, False)

    def bind(self, var: Var, value: Expr) -> None:
        if var in self.solver.lets:
            self.forget()
        self.solver.let(var, value)

    def forget(self) -> None:
        """A Var is bound anew in a sibling scope: look at everything again."""
        self._seen.clear()
        self._tried.clear()

    # Expressions.

    def worth(self, e: Expr) -> bool:
        """Whether a mark or (in an innermost loop) a clamp is anywhere inside."""
        found = self._worth.get(e)
        if found is None:
            kind = type(e)
            found = (
                (kind is Intrinsic and e.op in self.marks)  # type: ignore[attr-defined]
                or (self.innermost and kind in (Min, Max))
                or any([self.worth(c) for c in _computed(e)])
            )
            self._worth[e] = found
        return found

    def expression(self, e: Expr, in_index: bool) -> None:
        """Looks for candidates in `e`; `in_index`: it selects what is accessed."""
        key = e, in_index
        if key in self._seen or not self.worth(e):
            return
        self._seen.add(key)
        if isinstance(e, Load):
            in_index = True
        elif isinstance(e, (Min, Max)):
            self.clamp(e, in_index)
        elif isinstance(e, Select):
            self.choice(e)
        elif isinstance(e, Let):
            self.bind(e.var, e.value)
        for child in _computed(e):
            self.expression(child, in_index)

    def marked(self, e: Expr, captured: bool) -> bool:
        """Whether a mark in `e` speaks for the operation around `e`; with `captured`,
        also one that already speaks for a Min, Max or Select inside."""
        key = e, captured
        found = self._marked.get(key)
        if found is None:
            found = self._marked[key] = self.worth(e) and self._speaks(e, captured)
        return found

    def _speaks(self, e: Expr, captured: bool) -> bool:
        if isinstance(e, Intrinsic):
            if e.op in self.marks:
                return True
            if not INTRINSICS[e.op].pure:
                return False
        if isinstance(e, (Load, Extern)):
            return False
        if isinstance(e, (Min, Max)) and not captured:
            return False
        if isinstance(e, Select):
            return captured and (
                self.marked(e.a, captured) or self.marked(e.b, captured)
            )
        return any([self.marked(c, captured) for c in _computed(e)])

    def clamp(self, e: Min | Max, in_index: bool) -> None:
        if (e, e) in self._tried:
            return
        self._tried.add((e, e))
        sides = self.likely_side(e, in_index)
        if sides is None:
            return
        value, found, _ = self.through(e, in_index)
        if found is not None and (found.bounded or found.everywhere):
            self.found.append(Candidate(e, value, sides[1], found, self.rate(e)))

    def likely_side(self, e: Min | Max, in_index: bool) -> tuple[Expr, Expr] | None:
        """(the likely side, the other side) of a clamp."""
        a, b = self.marked(e.a, False), self.marked(e.b, False)
        if not (a or b):
            a, b = self.marked(e.a, True), self.marked(e.b, True)
        if not (a or b) and in_index and self.innermost:
            a, b = self.moves(e.a), self.moves(e.b)
        if a is b:
            return None
        return (e.a, e.b) if a else (e.b, e.a)

    def through(
        self, e: Expr, in_index: bool
    ) -> tuple[Expr, Solution | None, frozenset[type[Expr]]]:
        """What is left of nested clamps where none of them does anything, where that
        is, and their kinds: ``max(min(x, n), 0)`` is x in [0, n], whatever n is. Marks
        lie between them where what reads a clamped image is itself read at clamped
        places."""
        none: frozenset[type[Expr]] = frozenset()
        if isinstance(e, Intrinsic) and e.op in LIKELY and e.type.is_int():
            inner = self.through(e.args[0], in_index)
            return inner if inner[2] else (e, EVERYWHERE, none)
        if not isinstance(e, (Min, Max)):
            return e, EVERYWHERE, none
        sides = self.likely_side(e, in_index)
        if sides is None:
            return e, EVERYWHERE, none
        likely, other = sides
        value, inside, kinds = self.through(likely, in_index)
        if inside is None:
            value, inside, kinds = likely, EVERYWHERE, none
        low, high = (value, other) if isinstance(e, Min) else (other, value)
        own = self.solver.solve(LE(low, high))
        if (own is None or own.guards) and is_small(value):
            flat, clear = self.flat(value, in_index)
            if flat is not value:
                low, high = (flat, other) if isinstance(e, Min) else (other, flat)
                simpler = self.solver.solve(LE(low, high))
                simpler = both(simpler, clear)
                if simpler is not None and (own is None or not simpler.guards):
                    value, own = flat, inexact(simpler)
        if own is None:
            return e, None, kinds
        if type(e) in kinds:
            own = inexact(own)  # the other clamp of this kind may have the say
        return value, both(own, inexact(inside)), kinds | {type(e)}

    def flat(self, e: Expr, in_index: bool) -> tuple[Expr, Solution]:
        """A sum or a product without the clamps in it, and where none of these does
        anything: ``max(min(x, n), 0) * 2`` is ``x * 2`` for x in [0, n]. The clamps say
        nothing of x there, so that what bounds them is no question any more."""
        clear: Solution | None = EVERYWHERE
        if isinstance(e, Min | Max):
            value, clear, kinds = self.through(e, in_index)
            return (e, EVERYWHERE) if clear is None or not kinds else (value, clear)
        marks = isinstance(e, Intrinsic) and e.op in LIKELY
        if not (marks or isinstance(e, Add | Sub | Mul | Broadcast)):
            return e, EVERYWHERE
        parts: dict[Expr, Expr] = {}
        for part in e.children():
            parts[part], within = self.flat(part, in_index)
            clear = both(clear, within)
        assert clear is not None
        return e.map(parts.__getitem__), clear

    def rate(self, e: Min | Max) -> Rate:
        """How often a clamp is evaluated: not in loops that leave it the same."""
        if not self._around:
            return Rate.ONCE
        told = self.solver.told(e)
        runs = 1
        for inner in reversed(self._around):
            count = const_int(inner.extent)
            if inner.var in told:
                break
            runs *= _LONG if count is None else count
        return Rate.BEFORE if runs >= _LONG else Rate.EACH

    def moves(self, e: Expr) -> bool:
        return not self.solver.varying.isdisjoint(free_vars(e))

    def choice(self, e: Select) -> None:
        if self.condition(e.cond):
            return
        a, b = self.marked(e.a, False), self.marked(e.b, False)
        if a is not b:
            for leaf, want in _leaves(e.cond, a):
                self.decide(leaf, want)

    # Conditions.

    def condition(self, cond: Expr) -> bool:
        """Takes the marked parts of a Bool as candidates; whether there were any."""
        found = False
        stack: list[tuple[Expr, bool]] = [(cond, True)]
        seen: set[tuple[Expr, bool]] = set()
        while stack:
            c, want = stack.pop()
            if (c, want) in seen:
                continue
            seen.add((c, want))
            if isinstance(c, Intrinsic) and c.op in self.marks:
                found = True
                for leaf, value in _leaves(c.args[0], True):
                    self.decide(leaf, value)
            elif isinstance(c, (And, Or)):
                stack += [(c.b, want), (c.a, want)]
            elif isinstance(c, Not):
                stack.append((c.a, not want))
            elif self.marked(c, False):
                found = True
                self.decide(c, want)
        return found

    def decide(self, leaf: Expr, want: bool) -> None:
        self.consider(leaf, imm(want, leaf.type), imm(not want, leaf.type), leaf, want)

    def trim(self, cond: Expr) -> None:
        """An unmarked condition around the whole body, if it only cuts iterations."""
        for leaf, want in _leaves(cond, True):
            found = self.solver.solve(leaf, want)
            if found is None or found.guards:
                continue
            if all(b.exact for b in (*found.lows, *found.highs)):
                self.decide(leaf, want)

    def consider(
        self, node: Expr, steady: Expr, other: Expr, holds: Expr, want: bool
    ) -> None:
        if (node, steady) in self._tried:
            return
        self._tried.add((node, steady))
        found = self.solver.solve(holds, want)
        if found is not None and (found.bounded or found.everywhere):
            rate = Rate.EACH if self._around else Rate.ONCE
            self.found.append(Candidate(node, steady, other, found, rate))


def _computed(e: Expr) -> Sequence[Expr]:
    """Its operands, but for what is only known of a value, as of a coordinate in a
    mirrored image: no code is made of that, so that no loop need be cut for it."""
    if isinstance(e, Intrinsic) and e.op == "known_clamped":
        return e.args[:1]
    return e.children()


def _leaves(cond: Expr, want: bool) -> list[tuple[Expr, bool]]:
    """The parts that each must have a value for `cond` to be `want`."""
    found: dict[tuple[Expr, bool], None] = {}
    seen: set[tuple[Expr, bool]] = set()
    stack = [(cond, want)]
    while stack:
        e, value = key = stack.pop()
        if key in seen:
            continue
        seen.add(key)
        if isinstance(e, And) and value or isinstance(e, Or) and not value:
            stack += [(e.b, value), (e.a, value)]
        elif isinstance(e, Not):
            stack.append((e.a, not value))
        elif isinstance(e, Intrinsic) and e.op in LIKELY:
            stack.append((e.args[0], value))
        else:
            found[key] = None
    return list(found)
