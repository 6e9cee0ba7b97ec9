"""Runs lowered statements on Python lists: the tests' model of the machine.

Slow and strict: a load or store outside a buffer, a load of an element that was never
written, or a Var without a value raises, also in a branch of a select that is not
taken (the machine evaluates both).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from parhelion.ir import expr as E
from parhelion.ir.evaluate import _TABLE, Evaluator, Value
from parhelion.ir.expr import Expr, Var
from parhelion.ir.scalars import cast_value
from parhelion.ir.stmt import (
    Allocate,
    Assert,
    Block,
    Evaluate,
    For,
    Free,
    If,
    LetStmt,
    Produce,
    Stmt,
    Store,
)
from parhelion.ir.symbols import BufferSym

Lanes = tuple[Value, ...]


class OutOfBounds(Exception):
    """An access that no real buffer would forgive."""


class TooLong(Exception):
    """More statements than were allowed have run."""


class AssertFailed(Exception):
    """A failing Assert: its code and arguments."""


class _Lanes(Evaluator):
    """One evaluation of an expression, with vectors in the environment."""

    def __init__(self, machine: Machine) -> None:
        super().__init__({}, machine.load)
        self.machine = machine

    def go(self, e: Expr, lane: int) -> Value:
        key = (e, lane)
        if key not in self.memo:
            handler: Callable[..., Value] = _OWN.get(type(e)) or _TABLE[type(e)]
            self.memo[key] = handler(self, e, lane)
        return self.memo[key]

    def var(self, e: Var, lane: int) -> Value:
        if e in self.env:
            return self.env[e]
        found = self.machine.env.get(e)
        if found is None and self.machine.facts and e.value is not None:
            # A fact may speak of a let that has since been put where it was used.
            return self.go(e.value, lane)
        if found is None:
            raise AssertionError(f"{e.name} has no value here")
        return found[lane]

    def let(self, e: E.Let, lane: int) -> Value:
        wide = tuple([self.go(e.value, i) for i in range(e.value.type.count)])
        outer = self.machine.env.get(e.var)
        self.machine.env[e.var] = wide
        out = _Lanes(self.machine).go(e.body, lane)
        if outer is None:
            del self.machine.env[e.var]
        else:
            self.machine.env[e.var] = outer
        return out

    def select(self, e: E.Select, lane: int) -> Value:
        cond = self.go(e.cond, lane if e.cond.type.count > 1 else 0)
        a, b = self.go(e.a, lane), self.go(e.b, lane)
        return a if cond else b

    def intrinsic(self, e: E.Intrinsic, lane: int) -> Value:
        if e.op == "print":
            assert e.type.count == 1, "print of a vector"
            args = [
                a.value if isinstance(a, E.StringImm) else self.go(a, 0) for a in e.args
            ]
            self.machine.printed.append(tuple(args))
            return self.go(e.args[0], 0)
        return super().intrinsic(e, lane)


_OWN: dict[type[Expr], Callable[..., Value]] = {
    Var: _Lanes.var,
    E.Let: _Lanes.let,
    E.Select: _Lanes.select,
    E.Intrinsic: _Lanes.intrinsic,
}


class Machine:
    """Memory, variables and what was printed. `steps` counts statements run, of which
    no more than `most` do.

    knows_facts: whether all that bounds of loop variables mention has a value.
    """

    knows_facts = True
    #: What each kind of statement does.
    statements: ClassVar[dict[type[Stmt], Callable[[Any, Any], None]]]

    def __init__(
        self,
        memory: Mapping[BufferSym, list[Any]],
        env: Mapping[Var, Value] | None = None,
    ) -> None:
        self.memory: dict[BufferSym, list[Any]] = {
            b: list(data) for b, data in memory.items()
        }
        self.env: dict[Var, Lanes] = {v: (x,) for v, x in (env or {}).items()}
        self.printed: list[tuple[Any, ...]] = []
        self.steps, self.most = 0, math.inf
        self.facts = False
        self.allocated: dict[BufferSym, int] = {}

    def lanes(self, e: Expr) -> Lanes:
        at = _Lanes(self)
        return tuple([at.go(e, i) for i in range(e.type.count)])

    def scalar(self, e: Expr) -> Value:
        assert e.type.count == 1, f"a scalar was expected, not {e.type}"
        return self.lanes(e)[0]

    def load(self, e: Expr, at: tuple[int, ...]) -> Value:
        assert isinstance(e, E.Load)
        data = self.memory.get(e.buffer)
        if data is None:
            raise OutOfBounds(f"{e.buffer.name} is not allocated")
        if not 0 <= at[0] < len(data):
            raise OutOfBounds(f"load of {e.buffer.name}[{at[0]}] of {len(data)}")
        if data[at[0]] is None:
            raise OutOfBounds(f"{e.buffer.name}[{at[0]}] was never written")
        found: Value = data[at[0]]
        return found

    def run(self, s: Stmt) -> None:
        self.count()
        self.statements[type(s)](self, s)

    def count(self) -> None:
        """One more statement."""
        self.steps += 1
        if self.steps > self.most:
            raise TooLong

    def block(self, s: Block) -> None:
        mine: list[BufferSym] = []
        for item in s.items:
            if isinstance(item, Allocate):
                mine.append(item.buffer)
            self.run(item)
        for buffer in mine:
            self.memory.pop(buffer, None)

    def let(self, s: LetStmt) -> None:
        self.env[s.var] = self.lanes(s.value)

    def allocate(self, s: Allocate) -> None:
        assert s.buffer not in self.memory, f"{s.buffer.name} allocated twice"
        size = 1
        for e in s.extents:
            size *= int(self.scalar(e))
        if not self.scalar(s.condition):
            size = 0
        self.allocated[s.buffer] = size
        self.memory[s.buffer] = [None] * size + [0] * s.padding

    def free(self, s: Free) -> None:
        del self.memory[s.buffer]

    def loop(self, s: For) -> None:
        low, extent = int(self.scalar(s.min)), int(self.scalar(s.extent))
        for i in range(low, low + extent):
            self.env[s.var] = (i,)
            if self.knows_facts:
                self.check_facts(s.var, i)
            self.run(s.body)
        self.env.pop(s.var, None)

    def check_facts(self, v: Var, i: int) -> None:
        """A loop's variable keeps to what is known of it."""
        self.facts = True
        for fact, holds in ((v.lo, int.__le__), (v.hi, int.__ge__)):
            if fact is not None:
                bound = int(self.scalar(fact))
                assert holds(bound, i), f"{v.name} = {i} leaves its facts"
        self.facts = False

    def branch(self, s: If) -> None:
        if self.scalar(s.cond):
            self.run(s.then)
        elif s.otherwise is not None:
            self.run(s.otherwise)

    def store(self, s: Store) -> None:
        index = self.lanes(s.index)
        value = self.lanes(s.value)
        assert len(index) == len(value), "lanes of index and value differ"
        predicate: Lanes = (True,) * len(index)
        if s.predicate is not None:
            predicate = self.lanes(s.predicate)
            assert len(predicate) == len(index), "lanes of predicate and index differ"
        data = self.memory.get(s.buffer)
        if data is None:
            raise OutOfBounds(f"{s.buffer.name} is not allocated")
        for at, v, on in zip(index, value, predicate, strict=True):
            if not on:
                continue
            if not 0 <= at < len(data):
                raise OutOfBounds(f"store to {s.buffer.name}[{at}] of {len(data)}")
            data[int(at)] = cast_value(v, s.buffer.type)

    def evaluate(self, s: Evaluate) -> None:
        self.lanes(s.value)

    def check(self, s: Assert) -> None:
        if not self.scalar(s.cond):
            args = [
                a.value if isinstance(a, E.StringImm) else self.scalar(a)
                for a in s.args
            ]
            raise AssertFailed(s.code, *args)

    def produce(self, s: Produce) -> None:
        self.run(s.body)


Machine.statements = {
    Block: Machine.block,
    LetStmt: Machine.let,
    Allocate: Machine.allocate,
    Free: Machine.free,
    For: Machine.loop,
    If: Machine.branch,
    Store: Machine.store,
    Evaluate: Machine.evaluate,
    Assert: Machine.check,
    Produce: Machine.produce,
}


def execute(
    s: Stmt,
    memory: Mapping[BufferSym, list[Any]],
    env: Mapping[Var, Value] | None = None,
) -> Machine:
    """Runs `s` and returns the machine with what it left in memory."""
    machine = Machine(memory, env)
    machine.run(s)
    return machine
