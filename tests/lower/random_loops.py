"""Random loop bodies in the flat IR, for comparing a pass's input with its output."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from parhelion.ir.build import (
    TRUE,
    add,
    block,
    cast,
    clamp,
    int32,
    likely,
    maximum,
    minimum,
    mul,
    sub,
)
from parhelion.ir.expr import (
    LE,
    LT,
    And,
    Div,
    Expr,
    Load,
    Mod,
    Not,
    Or,
    Select,
    Var,
)
from parhelion.ir.stmt import (
    Allocate,
    For,
    ForKind,
    If,
    LetStmt,
    MemoryKind,
    Stmt,
    Store,
)
from parhelion.ir.symbols import BufferSym
from parhelion.types import INT32, Int, Type, UInt

SIZE = 48


def internal(name: str, t: Type = INT32) -> BufferSym:
    return BufferSym(name, t, 1, "internal")


@dataclass
class Draw:
    """A source of random bodies.

    scope: Vars with the values they may take. inputs: buffers of SIZE elements to
    read. An index into them is always clamped, so that it stays inside.
    """

    rng: random.Random
    scope: dict[Var, tuple[int, int]] = field(default_factory=dict)
    inputs: Sequence[BufferSym] = ()
    marks: bool = False

    def loop_var(self, name: str, low: int, extent: int) -> Var:
        v = Var(name, INT32, lo=int32(low), hi=int32(low + extent - 1))
        self.scope[v] = (low, low + extent - 1)
        return v

    def affine(self) -> Expr:
        """A small linear combination of what is in scope."""
        e: Expr = int32(self.rng.randint(-4, 8))
        for v in self.rng.sample(list(self.scope), min(2, len(self.scope))):
            e = add(e, mul(v, int32(self.rng.choice([-2, -1, 1, 1, 1, 2, 3]))))
        return e

    def mark(self, e: Expr) -> Expr:
        return likely(e) if self.marks and self.rng.random() < 0.6 else e

    def coordinate(self) -> Expr:
        e = self.affine()
        roll = self.rng.random()
        if roll < 0.2:
            e = Div(e, int32(self.rng.choice([2, 3])))
        elif roll < 0.3:
            e = Mod(e, int32(self.rng.choice([3, 8])))
        e = self.mark(e)
        for _ in range(self.rng.choice([0, 0, 1, 2])):
            a = (
                self.affine()
                if self.rng.random() < 0.5
                else int32(self.rng.randint(0, 9))
            )
            e = self.rng.choice([minimum, maximum])(*self.rng.sample([e, a], 2))
        return clamp(e, int32(0), int32(SIZE - 1))

    def value(self, depth: int = 2) -> Expr:
        roll = self.rng.random()
        if depth == 0 or roll < 0.2:
            return self.affine()
        if roll < 0.5:
            return self.read()
        a, b = self.value(depth - 1), self.value(depth - 1)
        if roll < 0.6:
            return Select(self.condition(), a, b)
        if roll < 0.68:
            return Div(a, int32(self.rng.choice([2, 5, -3])))
        op = self.rng.choice([add, sub, mul, minimum, maximum])
        return op(a, b)

    def read(self) -> Expr:
        buffer = self.rng.choice(list(self.inputs))
        return cast(INT32, Load(buffer.type, buffer, self.coordinate(), None))

    def comparison(self) -> Expr:
        kind = self.rng.choice([LT, LE])
        a, b = self.affine(), self.affine()
        if self.rng.random() < 0.2:
            a = self.read()
        return kind(a, b)

    def condition(self, depth: int = 1) -> Expr:
        roll = self.rng.random()
        if depth == 0 or roll < 0.5:
            return self.mark(self.comparison())
        if roll < 0.6:
            return Not(self.condition(depth - 1))
        kind = And if roll < 0.8 else Or
        return kind(self.condition(depth - 1), self.condition(depth - 1))


def inputs() -> dict[BufferSym, list[int]]:
    """Buffers of several types with their contents."""
    rng = random.Random(5)
    return {
        internal("in8", UInt(8)): [rng.randrange(256) for _ in range(SIZE)],
        internal("in16", Int(16)): [rng.randrange(-999, 999) for _ in range(SIZE)],
        internal("in32"): [rng.randrange(-50, 50) for _ in range(SIZE)],
    }


def output_index(terms: Sequence[tuple[Var, int, int]]) -> Expr:
    """A dense index over (var, low, stride): distinct for distinct points."""
    e: Expr = int32(0)
    for v, low, stride in terms:
        e = add(e, mul(sub(v, int32(low)), int32(stride)))
    return e


def guarded(draw: Draw, s: Stmt) -> Stmt:
    """`s` as it is, behind a condition, or in both branches of one."""
    roll = draw.rng.random()
    if roll < 0.5:
        return s
    return If(draw.mark(draw.condition()), s, s if roll > 0.9 else None)


def with_let(draw: Draw, make: object) -> Stmt:
    """A let and what follows it."""
    value = draw.value(1)
    v = Var("t", INT32, value=value)
    draw.scope[v] = (-10000, 10000)
    rest = make()  # type: ignore[operator]
    del draw.scope[v]
    return block(LetStmt(v, value), rest)


def scratch(draw: Draw, at: Expr, out: BufferSym) -> Stmt:
    """A buffer inside the loop, filled by a small loop and read back."""
    buffer = internal("scratch", draw.rng.choice([INT32, UInt(8)]))
    v = draw.loop_var("k", 0, 3)
    fill = For(
        v, int32(0), int32(3), ForKind.SERIAL, Store(buffer, _as(draw, buffer), v, None)
    )
    del draw.scope[v]
    total: Expr = int32(0)
    for k in range(3):
        total = add(total, cast(INT32, Load(buffer.type, buffer, int32(k), None)))
    from parhelion.ir.stmt import Block

    return Block(
        (
            Allocate(buffer, (int32(3),), TRUE, MemoryKind.AUTO, 0),
            fill,
            Store(out, total, at, None),
        )
    )


def _as(draw: Draw, buffer: BufferSym) -> Expr:
    return cast(buffer.type, draw.value(1))
