"""Random expressions and points for the fuzz tests of the simplifier and analyses."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from functools import partial

from parhelion.analysis.rank import tree_size
from parhelion.ir import build as B
from parhelion.ir import expr as E
from parhelion.ir.evaluate import Value, evaluate_lanes
from parhelion.ir.expr import Expr, Intrinsic, Load, Var
from parhelion.ir.rewrite import free_vars
from parhelion.ir.scalars import binary
from parhelion.ir.symbols import BufferSym
from parhelion.types import BOOL, INT32, INT64, BFloat, Float, Int, Type, UInt

NARROW = (Int(8), UInt(8), Int(16), UInt(16), UInt(32))
FLOATS = (Float(32), Float(64))
EVERY_FLOAT = (*FLOATS, Float(16), BFloat(16))
SPECIAL_FLOATS = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 0.5, 3.25)
#: Of each float type the least number, the greatest subnormal one and the least and
#: the greatest normal one.
_ENDS = {
    Float(16): (2.0**-24, 2.0**-14 - 2.0**-24, 2.0**-14, 65504.0),
    BFloat(16): (2.0**-133, 2.0**-126 - 2.0**-133, 2.0**-126, 2.0**128 - 2.0**120),
    Float(32): (2.0**-149, 2.0**-126 - 2.0**-149, 2.0**-126, 2.0**128 - 2.0**104),
    Float(64): (5e-324, 2.0**-1022 - 5e-324, 2.0**-1022, 1.7976931348623157e308),
}


def special_floats(t: Type) -> tuple[float, ...]:
    """Numbers of the float type on which rules break: zeros, infinities, NaN, ends."""
    ends = _ENDS[t.element_of()]
    return (*SPECIAL_FLOATS, *ends, *[-x for x in ends])


ARITHMETIC = (E.Add, E.Sub, E.Mul, E.Div, E.Mod, E.Min, E.Max)


def index_vars() -> list[Var]:
    """int32 Vars: unbounded, bounded by constants, by each other, and a let."""
    n = Var("n", INT32, lo=B.int32(0))
    x, y = Var("x", INT32), Var("y", INT32)
    xi = Var("xi", INT32, lo=B.int32(0), hi=B.int32(7))
    w = Var("w", INT32, lo=B.int32(-3), hi=B.int32(4))
    i = Var("i", INT32, lo=B.int32(0), hi=B.add(n, B.int32(3)))
    v = Var("v", INT32, value=B.add(B.mul(x, B.int32(2)), B.int32(1)))
    return [n, x, y, xi, w, i, v]


class Generator:
    """Draws expressions and values from one seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.index = index_vars()
        self.buffers: dict[Type, BufferSym] = {}
        self.narrow: dict[Type, list[Var]] = {}
        self.bools = [Var(f"b{i}", BOOL) for i in range(3)]

    # Expressions.

    def leaf(self, t: Type) -> Expr:
        if t.is_bool():
            return self.rng.choice([*self.bools, B.imm(self.rng.random() < 0.5, t)])
        if t is INT32:
            if self.rng.random() < 0.3:
                small = [-8, -4, -3, -2, -1, 0, 1, 2, 3, 4, 7, 8, 12, 16]
                return B.int32(self.rng.choice(small))
            return self.rng.choice(self.index)
        if t.is_float() and self.rng.random() < 0.4:
            return B.imm(self.rng.choice(special_floats(t)), t)
        if self.rng.random() < 0.3 and not t.is_float():
            ends: list[int | float] = [0, 1, 2, 3, 5, 8]
            if t is not INT64:  # 64-bit indices are taken not to overflow
                ends += [t.lowest(), t.highest()]
            return B.imm(self.rng.choice(ends), t)
        names = self.narrow.get(t)
        if names is None:
            names = self.narrow[t] = [
                Var(f"{t}_a", t),
                Var(f"{t}_b", t),
                Var(f"{t}_c", t, lo=B.imm(1, t), hi=B.imm(9, t)),
            ]
        return self.rng.choice(names)

    def load(self, t: Type, depth: int) -> Expr:
        """A pixel of any value: its arithmetic wraps."""
        buffer = self.buffers.setdefault(t, BufferSym(f"in_{t}", t, 1, "input"))
        return Load(t, buffer, self.expr(INT32, min(depth, 1)), None)

    def expr(self, t: Type, depth: int) -> Expr:
        """A scalar expression of type `t`, at most `depth` operations deep."""
        if depth <= 0 or self.rng.random() < 0.08:
            return self.leaf(t)
        if t.is_bool():
            return self.condition(depth)
        kinds: list[Callable[[], Expr]] = [partial(self.arithmetic, t, depth)] * 8
        kinds += [
            partial(self.select, t, depth),
            partial(self.cast, t, depth),
            partial(self.load, t, depth),
        ]
        if t is INT32:
            kinds += [partial(self.shared, t, depth)] * 2
            kinds += [partial(self.marked, t, depth)]
        return self.rng.choice(kinds)()

    def arithmetic(self, t: Type, depth: int) -> Expr:
        kind = self.rng.choice(ARITHMETIC)
        if t.is_float() and kind is E.Mod:
            kind = E.Sub
        a = self.expr(t, depth - 1)
        if kind in (E.Mul, E.Div, E.Mod) and t.is_int_or_uint():
            # Mostly by constants, which also keeps indices small.
            if t is INT32 or self.rng.random() < 0.6:
                k = self.rng.choice([1, 2, 3, 4, 6, 8, -1, -2, 0])
                return kind(a, B.imm(k, t))
        b = self.expr(t, depth - 1)
        return kind(a, b)

    def select(self, t: Type, depth: int) -> Expr:
        cond = self.condition(depth - 1)
        return E.Select(cond, self.expr(t, depth - 1), self.expr(t, depth - 1))

    def cast(self, t: Type, depth: int) -> Expr:
        if t is INT32:
            source = self.rng.choice(NARROW[:4])
        elif t.is_float():
            source = self.rng.choice((*NARROW, INT32, *FLOATS))
        else:
            source = self.rng.choice((*NARROW, INT32, INT64))
        return E.Cast(t, self.expr(source, depth - 1))

    def shared(self, t: Type, depth: int) -> Expr:
        """Sums whose terms meet again, which is where most rewriting happens."""
        parts = [self.expr(t, depth - 2) for _ in range(2)]
        made = self.rng.choice(parts)
        for _ in range(4):
            kind = self.rng.choice((E.Add, E.Sub, E.Add, E.Sub, E.Min, E.Max))
            other = self.rng.choice(parts)
            if self.rng.random() < 0.4:
                k = self.rng.choice([2, 4, 8, -1, 3])
                other = self.rng.choice((E.Mul, E.Div, E.Mod))(other, B.imm(k, t))
            elif self.rng.random() < 0.3:
                other = B.imm(self.rng.randrange(-9, 10), t)
            made = kind(made, other)
        return made

    def marked(self, t: Type, depth: int) -> Expr:
        return B.likely(self.expr(t, depth - 1))

    def condition(self, depth: int) -> Expr:
        if depth <= 0 or self.rng.random() < 0.1:
            return self.leaf(BOOL)
        roll = self.rng.random()
        if roll < 0.6:
            t = self.rng.choice([INT32, INT32, INT32, *NARROW, *FLOATS])
            kind = self.rng.choice(E.COMPARISONS)
            a = self.expr(t, depth - 1)
            if self.rng.random() < 0.4:
                b: Expr = B.imm(self.rng.randrange(0, 9), t)
            else:
                b = self.expr(t, depth - 1)
            return kind(a, b)
        if roll < 0.7:
            return E.Not(self.condition(depth - 1))
        if roll < 0.75:
            return B.likely(self.condition(depth - 1))
        joined = self.rng.choice((E.And, E.Or))
        return joined(self.condition(depth - 1), self.condition(depth - 1))

    def related(self, t: Type) -> Expr:
        """A few comparisons of the same two or three operands, in either order."""
        operands = [self.expr(t, 1) for _ in range(2)]
        operands.append(B.imm(self.rng.randrange(0, 3), t))
        made: Expr | None = None
        for _ in range(self.rng.randrange(2, 4)):
            a, b = self.rng.sample(operands[: self.rng.choice((2, 2, 3))], 2)
            one: Expr = self.rng.choice(E.COMPARISONS)(a, b)
            one = E.Not(one) if self.rng.random() < 0.2 else one
            made = one if made is None else self.rng.choice((E.And, E.Or))(made, one)
            made = E.Not(made) if self.rng.random() < 0.1 else made
        assert made is not None
        return made

    def vector(self, t: Type, depth: int, lanes: int) -> Expr:
        """A vector of ramps, broadcasts, shuffles and arithmetic on them."""
        roll = self.rng.random()
        if depth <= 0 or roll < 0.3:
            k = B.imm(self.rng.choice([0, 1, 1, 2, 4, 8, -1]), t)
            if t.is_float() or self.rng.random() < 0.4:
                return E.Broadcast(self.expr(t, depth - 1), lanes)
            return E.Ramp(self.expr(t, depth - 1), k, lanes)
        if roll < 0.8:
            kind = self.rng.choice(ARITHMETIC)
            if kind is E.Mod and t.is_float():
                kind = E.Add
            a = self.vector(t, depth - 1, lanes)
            if kind in (E.Mul, E.Div, E.Mod) and not t.is_float():
                return kind(a, B.imm(self.rng.choice([1, 2, 4, 8, 16]), a.type))
            return kind(a, self.vector(t, depth - 1, lanes))
        if roll < 0.9:
            cond: Expr = self.condition(depth - 1)
            if self.rng.random() < 0.5:
                p, q = (self.vector(t, depth - 1, lanes) for _ in range(2))
                cond = self.rng.choice(E.COMPARISONS)(p, q)
            return E.Select(
                cond,
                self.vector(t, depth - 1, lanes),
                self.vector(t, depth - 1, lanes),
            )
        parts = tuple(
            [self.vector(t, depth - 1, self.rng.choice((2, 3))) for _ in range(2)]
        )
        total = sum([p.type.count for p in parts])
        picks = tuple([self.rng.randrange(total) for _ in range(lanes)])
        return E.Shuffle(parts, picks)

    # Points.

    def point(self, e: Expr) -> dict[Var, Value]:
        """Values in bounds for the Vars of `e`, lets aside."""
        at: dict[Var, Value] = {}
        for v in sorted(_all_vars(e), key=lambda v: v.name):
            self.value(v, at)
        return at

    def value(self, v: Var, at: dict[Var, Value]) -> None:
        if v in at or v.value is not None:
            return
        t = v.type
        if t.is_bool():
            at[v] = self.rng.random() < 0.5
        elif t.is_float():
            special = self.rng.choice(special_floats(t))
            at[v] = (
                special
                if self.rng.random() < 0.6
                else float(self.rng.randrange(-50, 50))
            )
        else:
            lo, hi = (
                (-40, 40)
                if t in (INT32, INT64)
                else (int(t.lowest()), int(t.highest()))
            )
            if v.lo is not None:
                lo = self.bound(v.lo, at)
                hi = lo + 40 if t is INT32 else hi
            if v.hi is not None:
                hi = self.bound(v.hi, at)
            at[v] = self.rng.choice([lo, hi, *[self.rng.randint(lo, hi)] * 3])

    def bound(self, e: Expr, at: dict[Var, Value]) -> int:
        for v in free_vars(e):
            self.value(v, at)
        return int(evaluate_lanes(e, at)[0])

    def loader(self) -> Callable[[Expr, tuple[int, ...]], Value]:
        """Memory full of arbitrary pixels, the same at each call."""
        salt = self.rng.randrange(1 << 30)

        def load(e: Expr, at: tuple[int, ...]) -> Value:
            t = e.type.element_of()
            rng = random.Random(f"{salt} {at} {t}")
            if t.is_float():
                return rng.choice(special_floats(t))
            lo, hi = int(t.lowest()), int(t.highest())
            return rng.choice([lo, hi, 0, 1, rng.randint(lo, hi), rng.randint(lo, hi)])

        return load


def _all_vars(e: Expr) -> set[Var]:
    out: set[Var] = set()
    todo = [e]
    while todo:
        for v in free_vars(todo.pop()) - out:
            out.add(v)
            todo += [b for b in (v.lo, v.hi, v.value) if b is not None]
    return out


def same_value(a: Value, b: Value) -> bool:
    """Whether two results are equal, NaN to NaN and zeros by sign."""
    if isinstance(a, float) and isinstance(b, float):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return a == b and math.copysign(1.0, a) == math.copysign(1.0, b)
    return a == b


def show(e: Expr) -> str:
    """A short text of an expression, for failure messages."""
    if isinstance(e, Var):
        return e.name
    if isinstance(e, E.Imm | E.FloatImm):
        return f"{e.value}:{e.type}"
    name = e.op if isinstance(e, Intrinsic) else type(e).__name__
    extra = ""
    if isinstance(e, E.Cast):
        extra = f"<{e.type}>"
    elif isinstance(e, E.Ramp | E.Broadcast):
        extra = f"<{e.lanes}>"
    elif isinstance(e, E.Shuffle):
        extra = str(e.indices)
    return f"{name}{extra}({', '.join(map(show, e.children()))})"


__all__ = ["Generator", "binary", "index_vars", "same_value", "show", "tree_size"]
