"""Random programs: loops, branches, lets bound twice, loads and stores that alias.

This is what holds the memo and the hoisting of `codegen.writer` to the language.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.build import int32
from parhelion.ir.expr import Expr, Var
from parhelion.ir.stmt import ForKind, MemoryKind, Stmt
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.types import INT32

from .harness import LIVE, Compiled, lowered
from .runner import Runner

SIZE = 16


class Programs:
    """Draws programs over a few buffers of `SIZE` elements."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.inputs = [BufferSym(f"in{i}", INT32, 1, "input") for i in range(1)]
        self.outputs = [BufferSym(f"out{i}", INT32, 1, "output") for i in range(2)]
        self.params = [ParamSym(f"p{i}", INT32) for i in range(2)]
        self.count = 0
        #: Let Vars that may be bound again, as unrolling does.
        self.spare: list[Var] = []

    def name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def index(self, scope: list[Var], buffers: list[BufferSym], depth: int) -> Expr:
        """An index within a buffer; few different ones, so that they often meet."""
        if self.rng.random() < 0.4:
            outer = [v for v in scope if v.hi is not None][:1]
            return self.rng.choice([int32(1), int32(2), self.params[1].var, *outer])
        if self.rng.random() < 0.5:
            loops = [v for v in scope if v.hi is not None]
            if loops:
                v = self.rng.choice(loops)
                return build.add(v, int32(self.rng.randint(0, 4)))
        return E.Mod(self.expr(scope, buffers, depth), int32(SIZE))

    def expr(self, scope: list[Var], buffers: list[BufferSym], depth: int) -> Expr:
        rng = self.rng
        if depth <= 0 or rng.random() < 0.2:
            pick = rng.random()
            if pick < 0.2:
                return int32(rng.randint(-9, 9))
            return rng.choice([*scope, *[p.var for p in self.params]])
        pick = rng.random()
        if pick < 0.25:
            at = self.index(scope, buffers, depth - 1)
            return E.Load(INT32, rng.choice(buffers), at, None)
        a = self.expr(scope, buffers, depth - 1)
        b = self.expr(scope, buffers, depth - 1)
        if pick < 0.35:
            c = self.expr(scope, buffers, depth - 1)
            return E.Select(E.LT(a, b), b, c)
        kind = rng.choice([E.Add, E.Sub, E.Mul, E.Add, E.Min, E.Max, E.Div, E.Mod])
        return kind(a, b)

    def stmt(self, scope: list[Var], buffers: list[BufferSym], depth: int) -> Stmt:
        rng = self.rng
        pick = rng.random()
        if depth <= 0 or pick < 0.3:
            out = rng.choice([b for b in buffers if b.role != "input"])
            index = self.index(scope, buffers, 1)
            value = self.expr(scope, buffers, 3)
            if rng.random() < 0.4:
                value = E.Add(E.Load(INT32, out, index, None), value)
            return S.Store(
                out,
                value,
                index,
                self.expr_bool(scope, buffers) if rng.random() < 0.2 else None,
            )
        if pick < 0.6:
            extent: Expr = int32(rng.randint(0, 4))
            if rng.random() < 0.4:
                extent = E.Mod(self.expr(scope, buffers, 1), int32(4))
            i = Var(self.name("i"), INT32, lo=int32(0), hi=int32(3))
            body = self.block([*scope, i], buffers, depth - 1)
            return S.For(i, int32(0), extent, ForKind.SERIAL, body)
        if pick < 0.75:
            otherwise = self.block(scope, buffers, depth - 1)
            return S.If(
                self.expr_bool(scope, buffers),
                self.block(scope, buffers, depth - 1),
                otherwise if rng.random() < 0.5 else None,
            )
        return self.block(scope, buffers, depth - 1)

    def expr_bool(self, scope: list[Var], buffers: list[BufferSym]) -> Expr:
        return E.LT(self.expr(scope, buffers, 2), self.expr(scope, buffers, 1))

    def block(self, scope: list[Var], buffers: list[BufferSym], depth: int) -> Stmt:
        scope, buffers = list(scope), list(buffers)
        items: list[Stmt] = []
        for _ in range(self.rng.randint(1, 4)):
            pick = self.rng.random()
            if pick < 0.35:
                value = self.expr(scope, buffers, 2)
                free = [v for v in self.spare if v not in scope]
                if free and self.rng.random() < 0.6:
                    var = self.rng.choice(free[-3:])
                else:
                    var = Var(self.name("t"), INT32)
                    self.spare.append(var)
                items.append(S.LetStmt(var, value))
                scope.append(var)
            elif pick < 0.45:
                made = BufferSym(self.name("m"), INT32, 1, "internal")
                extent: Expr = int32(SIZE)
                if self.rng.random() < 0.5:
                    extent = build.add(E.Mul(self.params[0].var, int32(0)), extent)
                items.append(
                    S.Allocate(made, (extent,), build.TRUE, MemoryKind.AUTO, 0)
                )
                fill = Var(self.name("f"), INT32)
                items.append(
                    S.For(
                        fill,
                        int32(0),
                        int32(SIZE),
                        ForKind.SERIAL,
                        S.Store(
                            made, self.expr([*scope, fill], buffers, 1), fill, None
                        ),
                    )
                )
                buffers.append(made)
            elif pick < 0.55 and depth > 0 and items and self.rng.random() < 0.5:
                # The same statements again, as unrolling makes them.
                items += [i for i in items if not isinstance(i, S.Allocate)]
            else:
                items.append(self.stmt(scope, buffers, depth))
        return S.Block(tuple(items))


@pytest.mark.parametrize("seed", range(60))
def test_program(seed: int) -> None:
    draw = Programs(seed)
    body = draw.block([], [*draw.inputs, *draw.outputs], 4)
    args: list[BufferSym | ParamSym] = [*draw.inputs, *draw.params, *draw.outputs]
    rng = np.random.default_rng(seed)
    inputs = [rng.integers(-50, 50, SIZE).astype(np.int32) for _ in draw.inputs]
    outs = [rng.integers(-50, 50, SIZE).astype(np.int32) for _ in draw.outputs]
    params = [int(rng.integers(-5, 20)), int(rng.integers(0, SIZE))]
    flat = dict(
        zip(
            [*draw.inputs, *draw.outputs],
            [a.tolist() for a in [*inputs, *outs]],
            strict=True,
        )
    )
    Runner(flat, dict(zip([p.var for p in draw.params], params, strict=True))).run(body)
    compiled = Compiled(lowered(body, args), optimize=seed % 2 == 0)
    assert compiled(*inputs, *params, *outs) == 0
    for buffer, got in zip(draw.outputs, outs, strict=True):
        assert got.tolist() == flat[buffer], compiled.emitted.text
    assert not LIVE
