"""Random expressions as image code has them, and points at which to try them."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

from parhelion.analysis.symbolic import SymInterval
from parhelion.ir import build as B
from parhelion.ir import expr as E
from parhelion.ir.evaluate import Value, evaluate
from parhelion.ir.expr import Expr, Var
from parhelion.ir.function import Function
from parhelion.ir.rewrite import nodes
from parhelion.ir.symbols import BufferSym
from parhelion.schedule.directives import FuncSchedule
from parhelion.types import BOOL, INT32, INT64, Float, Int, Type, UInt

NARROW = (UInt(8), Int(8), UInt(16), Int(16), UInt(32))
F32 = Float(32)
_SMALL = (-5, -3, -2, -1, 0, 1, 2, 3, 4, 5, 7, 8, 16)


class Drawing:
    """Draws expressions over the scoped `x`, `y` and the free `n`, `m`."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.x, self.y = Var("x", INT32), Var("y", INT32)
        self.n = Var("n", INT32, lo=B.int32(0))
        self.m = Var("m", INT32)
        self.t = Var("t", INT32, value=B.add(self.x, B.int32(3)))
        self.narrow = {t: Var(f"p_{t}", t) for t in NARROW}
        self.images = {
            t: BufferSym(f"in_{t}", t, 1, "input") for t in (*NARROW[:4], INT32, F32)
        }
        self.func = Function("f", FuncSchedule(), None)
        self.func.types = (INT32,)

    def leaf(self, t: Type) -> Expr:
        roll = self.rng.random()
        if t is INT32:
            if roll < 0.3:
                return B.int32(self.rng.choice(_SMALL))
            return self.rng.choice(
                [self.x, self.x, self.x, self.y, self.y, self.n, self.m, self.t]
            )
        if t.is_bool():
            return B.imm(roll < 0.5, BOOL)
        if t.is_float():
            if roll < 0.5:
                return B.imm(self.rng.choice((0.0, 0.5, 1.0, -2.0, 0.25, 10.0)), t)
            return E.Cast(t, self.leaf(INT32))
        if t is INT64:
            return E.Cast(t, self.leaf(INT32))
        if roll < 0.4:
            return B.imm(self.rng.choice((t.lowest(), t.highest(), 0, 1, 2, 7)), t)
        return self.narrow[t]

    def data(self, t: Type, depth: int) -> Expr:
        index = self.expr(INT32, min(depth, 2))
        if t is INT32 and self.rng.random() < 0.5:
            return E.FuncCall(t, self.func, (index,), 0)
        return E.ImageLoad(t, self.images[t], (index,))

    def expr(self, t: Type, depth: int) -> Expr:
        if depth <= 0 or self.rng.random() < 0.1:
            return self.leaf(t)
        if t.is_bool():
            return self.condition(depth)
        roll = self.rng.random()
        if roll < 0.55:
            return self.arithmetic(t, depth)
        if roll < 0.67:
            cond = self.condition(depth - 1)
            return E.Select(cond, self.expr(t, depth - 1), self.expr(t, depth - 1))
        if roll < 0.77:
            sources = [s for s in (*NARROW, INT32, INT64, F32) if s is not t]
            return E.Cast(t, self.expr(self.rng.choice(sources), depth - 1))
        if roll < 0.83 and t in self.images:
            return self.data(t, depth)
        if roll < 0.88 and t is INT32:
            return B.likely(self.expr(t, depth - 1))
        if roll < 0.91 and t is INT32:
            var = Var("l", INT32)
            body = self.rng.choice((E.Add, E.Sub, E.Min))
            value = self.expr(t, depth - 1)
            return E.Let(var, value, body(var, self.expr(t, depth - 2)))
        return self.intrinsic(t, depth)

    def arithmetic(self, t: Type, depth: int) -> Expr:
        kinds = [E.Add, E.Add, E.Sub, E.Sub, E.Mul, E.Div, E.Mod, E.Min, E.Max]
        kind = self.rng.choice(kinds[:5] if t.is_float() else kinds)
        a = self.expr(t, depth - 1)
        if kind in (E.Div, E.Mod, E.Mul) and self.rng.random() < 0.7:
            k = self.rng.choice((2, 3, 4, 8, 1, 5, -2, 0))
            return kind(a, B.imm(k, t))
        if self.rng.random() < 0.25:
            # Terms that meet again.
            c = E.Div(a, B.imm(2, t)) if t is INT32 else a
            return kind(a, E.Mul(c, B.imm(self.rng.choice((1, 2)), t)))
        return kind(a, self.expr(t, depth - 1))

    def intrinsic(self, t: Type, depth: int) -> Expr:
        def of(s: Type) -> Expr:
            return self.expr(s, depth - 1)

        if t.is_float():
            op = self.rng.choice(("floor", "ceil", "round", "trunc", "abs", "sqrt"))
            return E.Intrinsic(t, op, (of(t),))
        if t is UInt(32):
            if self.rng.random() < 0.5:
                return E.Intrinsic(t, "abs", (of(INT32),))
            return E.Intrinsic(t, "absd", (of(INT32), of(INT32)))
        if t in (UInt(8), UInt(16)) and self.rng.random() < 0.4:
            s = Int(t.width)
            if self.rng.random() < 0.5:
                return E.Intrinsic(t, "abs", (of(s),))
            return E.Intrinsic(t, "absd", (of(s), of(s)))
        if t.width >= 16 and t.width <= 32 and self.rng.random() < 0.4:
            s = Type(t.kind, t.width // 2)
            ops = ["widening_add", "widening_mul"] + ["widening_sub"] * t.is_int()
            return E.Intrinsic(t, self.rng.choice(ops), (of(s), of(s)))
        roll = self.rng.random()
        if roll < 0.3:
            op = self.rng.choice(("shift_left", "shift_right", "bit_and"))
            k = self.rng.choice((0, 1, 2, 3, 7))
            return E.Intrinsic(t, op, (of(t), B.imm(k, t)))
        if roll < 0.6:
            op = self.rng.choice(
                ("halving_add", "halving_sub", "rounding_halving_add", "bit_or")
                + ("saturating_add", "saturating_sub", "bit_and", "bit_xor")
                + ("div_round_to_zero", "mod_round_to_zero")
            )
            return E.Intrinsic(t, op, (of(t), of(t)))
        if roll < 0.7:
            return E.Intrinsic(t, "bit_not", (of(t),))
        if roll < 0.8:
            return E.Intrinsic(
                t, "rounding_shift_right", (of(t), B.imm(self.rng.randrange(4), t))
            )
        sources = [s for s in (*NARROW, INT32, F32) if s is not t]
        return E.Intrinsic(t, "saturating_cast", (of(self.rng.choice(sources)),))

    def condition(self, depth: int) -> Expr:
        roll = self.rng.random()
        if depth <= 0 or roll < 0.7:
            t = self.rng.choice((INT32, INT32, INT32, INT32, UInt(8), F32))
            kind = self.rng.choice((E.LT, E.LT, E.LE, E.LE, E.EQ, E.NE))
            made: Expr = kind(self.expr(t, depth - 1), self.expr(t, depth - 1))
            return B.likely(made) if roll < 0.1 else made
        if roll < 0.8:
            return E.Not(self.condition(depth - 1))
        kind2 = E.And if roll < 0.93 else E.Or
        return kind2(self.condition(depth - 1), self.condition(depth - 1))

    def scope(self) -> dict[Var, SymInterval]:
        """Intervals for x and y, some over n, some open."""
        out: dict[Var, SymInterval] = {}
        for v in (self.x, self.y):
            lo = self.rng.choice(_SMALL)
            hi: Expr = B.int32(lo + self.rng.choice((0, 1, 3, 7, 20)))
            low: Expr = B.int32(lo)
            roll = self.rng.random()
            if roll < 0.4:
                low = B.mul(self.n, B.int32(self.rng.choice((1, 4, 8))))
                hi = B.add(low, B.int32(self.rng.choice((0, 1, 3, 7))))
            elif roll < 0.5:
                hi = B.add(self.n, B.int32(20))
            out[v] = SymInterval(
                None if self.rng.random() < 0.1 else low,
                None if self.rng.random() < 0.1 else hi,
            )
        return out

    def free_point(self) -> dict[Var, Value]:
        """Values for everything that is not in the scope."""
        env: dict[Var, Value] = {
            self.n: self.rng.choice((0, 1, 2, 3, 5, 8, 13)),
            self.m: self.rng.randrange(-20, 20),
        }
        for t, v in self.narrow.items():
            ends = (t.lowest(), t.highest(), 0, 1, 3)
            env[v] = self.rng.choice((*ends, self.rng.randrange(100)))
        return env

    def inside(
        self, scope: Mapping[Var, SymInterval], env: Mapping[Var, Value]
    ) -> dict[Var, Value]:
        """`env` with values of the scoped Vars, mostly at their ends."""
        out = dict(env)
        for v, i in scope.items():
            lo = -40 if i.lo is None else int(evaluate(i.lo, env))
            hi = 40 if i.hi is None else int(evaluate(i.hi, env))
            lo, hi = min(lo, hi), max(lo, hi)
            out[v] = self.rng.choice((lo, hi, self.rng.randint(lo, hi)))
        return out


def load(e: Expr, at: tuple[int, ...]) -> Value:
    """What memory holds: anything of the type, the same each time. Floats and the
    values of Funcs stay in [0, 255]."""
    mixed = (at[0] * 2654435761 + 12345) & 0xFFFFFFFF
    if e.type.is_float():
        return float(mixed % 256)
    if isinstance(e, E.FuncCall):
        return mixed % 256
    return e.type.wrap(mixed >> 7)


def well_behaved(e: Expr, env: Mapping[Var, Value]) -> bool:
    """Whether nothing in `e` is unspecified there: index arithmetic that overflows,
    an undefined cast of a float, a NaN."""
    for n in nodes(_inlined(e)):
        if not isinstance(n, Expr) or n.type.count > 1:
            continue
        if type(n) in (E.Add, E.Sub, E.Mul) and n.type.is_int() and n.type.width >= 32:
            a = int(evaluate(n.a, env, load))  # type: ignore[attr-defined]
            b = int(evaluate(n.b, env, load))  # type: ignore[attr-defined]
            exact = {E.Add: a + b, E.Sub: a - b, E.Mul: a * b}[type(n)]  # type: ignore[index]
            if not n.type.can_represent(exact):
                return False
        elif n.type.is_float() and not math.isfinite(evaluate(n, env, load)):
            return False
        elif type(n) is E.Cast and _may_lose(n):
            value = evaluate(n.a, env, load)
            if not math.isfinite(value) or not n.type.can_represent(math.trunc(value)):
                return False
        elif type(n) is E.Intrinsic and n.op == "shift_left":
            a = int(evaluate(n.args[0], env, load))
            k = int(evaluate(n.args[1], env, load))
            wide = n.type.is_int() and n.type.width >= 32
            if wide and not n.type.can_represent(a << max(k, 0)):
                return False
    return True


def _may_lose(n: E.Cast) -> bool:
    """Whether a cast is unspecified, or taken not to happen, where it does not fit."""
    if n.type.is_int() and n.type.width >= 32:
        return True
    return n.type.is_int_or_uint() and n.a.type.is_float()


def _inlined(e: Expr) -> Expr:
    from parhelion.ir.rewrite import substitute

    while True:
        lets = {n.var: n.value for n in nodes(e) if type(n) is E.Let}
        if not lets:
            return e
        for n in nodes(e):
            if type(n) is E.Let:
                e = _replace(e, n, substitute(n.body, {n.var: n.value}))
                break


def _replace(e: Expr, old: Expr, new: Expr) -> Expr:
    memo: dict[Expr, Expr] = {old: new}

    def go(n: Expr) -> Expr:
        found = memo.get(n)
        if found is None:
            found = memo[n] = n.map(go)
        return found

    return go(e)
