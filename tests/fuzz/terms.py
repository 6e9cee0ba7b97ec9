"""Random expressions of the kinds that become single instructions, as data.

A `Term` is a tree of operations on images, constants and Params, of one type. It is
built as an expression of a coordinate. As with cases of pipelines everything is total:
a term with a part replaced by another of the same type is a term, and `repr` is Python
source.

Values stay where all schedules must give the same bits: floats are strict, finite and
small, and 32- and 64-bit signed integers do not overflow, as the language leaves open
what they become then. Their bits are drawn freely, so operations on bits, shifts and
comparisons see all of them; before a sum or a product the operands are cut down.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

import parhelion as hl
from tests.fuzz.ops import TYPES

Expr = hl.Expr

SIGNED = ("i8", "i16", "i32", "i64")
UNSIGNED = ("u8", "u16", "u32", "u64")
FLOATS = ("f32", "f64")
NUMBERS = (*SIGNED, *UNSIGNED, *FLOATS)
#: Images of each type, and the pixels of each.
IMAGES, PIXELS = 3, 1200


@dataclass(frozen=True, slots=True)
class Term:
    """An operation `op` of `OPS` with a result of a type named in `TYPES`."""

    op: str
    type: str
    args: tuple[Term, ...] = ()
    numbers: tuple[int, ...] = ()


@dataclass
class Given:
    """What terms are built from: images by type, Params by type, and a coordinate.

    old: what an update finds where it writes.
    """

    images: Mapping[str, list[hl.Buffer]]
    params: Mapping[str, list[hl.Param]]
    at: hl.Expr | hl.Var | hl.RVar
    old: Expr | None = None
    built: dict[Term, tuple[Expr, int]] = field(default_factory=dict)


def width(t: str) -> int:
    return TYPES[t].bits()


def constants(t: str) -> list[int]:
    """Numbers of a type that are special to some instruction."""
    w = width(t)
    low, high = (0, (1 << w) - 1) if t[0] == "u" else (-(1 << w - 1), (1 << w - 1) - 1)
    found = [0, 1, 2, 3, 7, 8, 15, 16, 100, 127, high, high - 1, high >> 1, low]
    found += [(1 << w // 2) - 1, 0x55, 0xF0 & high]
    if t[0] == "i":
        found += [-1, -2, -4, -8, -16, low + 1, -100]
    else:
        found += [high ^ 3, high ^ 15, high ^ (high >> 1)]
    return found


def pixels(t: str, seed: int) -> np.ndarray[tuple[int], np.dtype[np.generic]]:
    """The contents of an image: numbers of all sizes, and special ones among them."""
    rng = np.random.default_rng([seed, *t.encode()])
    kind = TYPES[t].to_numpy()
    if t == "bool":
        return rng.integers(0, 2, PIXELS).astype(kind)
    if t in FLOATS:
        return (rng.integers(-4096, 4096, PIXELS) / 8).astype(kind)
    w = width(t)
    low = 0 if t[0] == "u" else -(1 << w - 1)
    free = rng.integers(low, low + (1 << w) - 1, PIXELS, dtype=kind, endpoint=True)
    few = rng.integers(max(low, -20), 20, PIXELS).astype(kind)
    special = rng.choice(np.array(constants(t), dtype=kind), PIXELS)
    return np.choose(rng.integers(0, 3, PIXELS), [free, few, special])


def given(seed: int) -> Given:
    """Images and Params; the coordinate is still to be set."""
    rng = random.Random(seed)
    images = {
        t: [hl.Buffer(pixels(t, 10 * seed + n)) for n in range(IMAGES)]
        for t in (*NUMBERS, "bool")
    }
    params: dict[str, list[hl.Param]] = {}
    for t in NUMBERS:
        params[t] = [hl.Param(TYPES[t], f"{t}_{n}") for n in range(2)]
        for p in params[t]:
            p.set(rng.choice(constants(t)) if t not in FLOATS else rng.randint(-8, 8))
    return Given(images, params, hl.Var("x"))


# Building. Each returns the expression and how many bits its size may take, which only
# matters for signed integers of 32 bits and more.
Built = tuple[Expr, int]


def build(term: Term, g: Given) -> Built:
    found = g.built.get(term)
    if found is None:
        found = g.built[term] = OPS[term.op](term, g)
    return found


def _wide_signed(t: str) -> bool:
    return t in ("i32", "i64")


def _number(term: Term, n: int = 0) -> int:
    return term.numbers[n] if n < len(term.numbers) else 0


def _constant(t: str, n: int) -> Expr:
    if t in FLOATS:
        return hl.cast(TYPES[t], (n % 33 - 16) / 4)
    choice = constants(t)
    return hl.cast(TYPES[t], choice[n % len(choice)])


def _settled(e: Expr, t: str) -> Expr:
    """A float kept small, and rounded where it is written."""
    limit = hl.cast(TYPES[t], 1024.0)
    return hl.strict_float(hl.clamp(e, -limit, limit))


def _cut(found: Built, t: str, most: int) -> Built:
    """A value of at most so many bits."""
    e, bits = found
    if not _wide_signed(t) or bits <= most:
        return found
    return e % hl.cast(TYPES[t], 1 << most), most


def _load(term: Term, g: Given) -> Built:
    image = g.images[term.type][_number(term) % IMAGES]
    offset, kind = _number(term, 1) % 5, _number(term, 2) % 8
    at = {5: g.at * 2 + offset, 6: 400 - g.at + offset, 7: g.at * 3 + offset}
    return hl.Expr(image[at.get(kind, g.at + offset)]), width(term.type)


def _one(term: Term, g: Given) -> Built:
    image = g.images[term.type][_number(term) % IMAGES]
    return hl.Expr(image[hl.i32(_number(term, 1) % 50)]), width(term.type)


def _gather(term: Term, g: Given) -> Built:
    index = hl.i32(build(term.args[0], g)[0]) % 256
    return hl.Expr(g.images[term.type][_number(term) % IMAGES][index]), width(term.type)


def _const(term: Term, g: Given) -> Built:
    return _constant(term.type, _number(term)), width(term.type)


def _param(term: Term, g: Given) -> Built:
    return hl.Expr(g.params[term.type][_number(term) % 2]), width(term.type)


def _old(term: Term, g: Given) -> Built:
    if g.old is None:
        return _load(Term("load", term.type, (), (1, 0, 0)), g)
    return g.old, width(term.type)


def _binary(term: Term, g: Given) -> Built:
    t, w = term.type, width(term.type)
    a, b = (build(arg, g) for arg in term.args)
    kind = _number(term) % 5
    if kind == 0 or kind == 1:
        a, b = (_cut(v, t, w - 3) for v in (a, b))
        bits = max(a[1], b[1]) + 1
        e = a[0] + b[0] if kind == 0 else a[0] - b[0]
    elif kind == 2:
        a, b = (_cut(v, t, (w - 2) // 2) for v in (a, b))
        e, bits = a[0] * b[0], a[1] + b[1]
    else:
        e = (hl.min if kind == 3 else hl.max)(a[0], b[0])
        bits = max(a[1], b[1])
    return (_settled(e, t) if t in FLOATS else e), bits


def _bitwise(term: Term, g: Given) -> Built:
    (a, m), (b, n) = (build(arg, g) for arg in term.args)
    kind = _number(term) % 4
    e = [a & b, a | b, a ^ b, a & ~b][kind]
    return e, max(m, n)


def _not(term: Term, g: Given) -> Built:
    a, bits = build(term.args[0], g)
    return ~a, bits


def _shift(term: Term, g: Given) -> Built:
    t, w = term.type, width(term.type)
    by = _number(term, 1) % w
    a, bits = build(term.args[0], g)
    if _number(term) % 2:
        return a >> by, bits
    a, bits = _cut((a, bits), t, max(w - 2 - by, 1))
    return a << by if bits + by < w or not _wide_signed(t) else a, min(bits + by, w)


def _variable_shift(term: Term, g: Given) -> Built:
    t, w = term.type, width(term.type)
    a, b = (build(arg, g) for arg in term.args)
    by = b[0] % hl.cast(TYPES[t], w if _number(term) % 2 else w // 4)
    if _number(term) % 2:
        return a[0] >> by, a[1]
    a = _cut(a, t, w // 2)
    return a[0] << by, w


def _divide(term: Term, g: Given) -> Built:
    a, bits = build(term.args[0], g)
    c = _constant(term.type, _number(term, 1))
    return (a / c if _number(term) % 2 else a % c), bits


def _variable_divide(term: Term, g: Given) -> Built:
    a, b = (build(arg, g) for arg in term.args)
    return (a[0] / b[0] if _number(term) % 2 else a[0] % b[0]), max(a[1], b[1])


def _select(term: Term, g: Given) -> Built:
    c, a, b = (build(arg, g) for arg in term.args)
    return hl.select(c[0], a[0], b[0]), max(a[1], b[1])


def _blend(term: Term, g: Given) -> Built:
    """Bits of two values by a constant, or by a third value."""
    (a, m), (b, n) = (build(arg, g) for arg in term.args[:2])
    if len(term.args) > 2:
        c = build(term.args[2], g)[0]
    else:
        c = _constant(term.type, _number(term, 1))
    kind = _number(term) % 3
    e = [(a & c) | (b & ~c), ((a ^ b) & c) ^ b, (a & ~c) + (b & c)][kind]
    if kind == 2 and _wide_signed(term.type):
        e = (a & ~c) | (b & c)
    return e, max(m, n)


def _cast(term: Term, g: Given) -> Built:
    t, of = term.type, term.args[0].type
    a, bits = build(term.args[0], g)
    if of in FLOATS and t not in FLOATS:
        return hl.saturating_cast(TYPES[t], a), width(t)
    e = hl.cast(TYPES[t], a)
    if t in FLOATS:
        return _settled(e, t), 0
    return e, width(t) if width(of) >= width(t) else min(bits, width(of)) + 1


def _saturate(term: Term, g: Given) -> Built:
    return hl.saturating_cast(TYPES[term.type], build(term.args[0], g)[0]), width(
        term.type
    )


_FIXED = (
    hl.saturating_add,
    hl.saturating_sub,
    hl.halving_add,
    hl.halving_sub,
    hl.rounding_halving_add,
)


def _fixed(term: Term, g: Given) -> Built:
    a, b = (build(arg, g)[0] for arg in term.args)
    return _FIXED[_number(term) % len(_FIXED)](a, b), width(term.type)


def _multiply_shift(term: Term, g: Given) -> Built:
    a, b = (build(arg, g)[0] for arg in term.args)
    w = width(term.type)
    by = hl.cast(hl.UInt(w), [w - 1, w, 3, w // 2][_number(term, 1) % 4])
    f = hl.rounding_mul_shift_right if _number(term) % 2 else hl.mul_shift_right
    return f(a, b, by), w


def _absolute(term: Term, g: Given) -> Built:
    """Of one number, or of a difference; cast to the type, where that is signed."""
    t = term.type
    parts = [_cut(build(arg, g), t, width(t) - 3) for arg in term.args]
    e = hl.abs(parts[0][0]) if len(parts) == 1 else hl.absd(parts[0][0], parts[1][0])
    return hl.cast(TYPES[t], e), width(t)


def _count(term: Term, g: Given) -> Built:
    f = (hl.popcount, hl.count_leading_zeros, hl.count_trailing_zeros)
    return f[_number(term) % 3](build(term.args[0], g)[0]), 8


def _funnel(term: Term, g: Given) -> Built:
    """A rotation, or bits shifted in from another number; of unsigned integers."""
    a, b = build(term.args[0], g)[0], build(term.args[-1], g)[0]
    w = width(term.type)
    by = _number(term) % (w - 1) + 1
    return (a << by) | (b >> (w - by)), w


def _widened(term: Term, g: Given) -> Built:
    """Part of a product, or of a sum, of twice as many bits."""
    t, w = term.type, width(term.type)
    wide = TYPES[t].with_bits(2 * w)
    a, b = (hl.cast(wide, build(arg, g)[0]) for arg in term.args)
    kind, by = _number(term) % 4, [w, w - 1, 1, w // 2][_number(term, 1) % 4]
    if _wide_signed(t):
        kind = 0
        a, b = a >> 2, b >> 2
    e = [a * b, a + b + 1, a - b, a * b + (1 << w // 2)][kind] >> by
    return hl.cast(TYPES[t], e), w


def _clamp(term: Term, g: Given) -> Built:
    a, bits = build(term.args[0], g)
    t = term.type
    low, high = (_constant(t, _number(term, n)) for n in range(2))
    return hl.max(hl.min(a, high), low), max(bits, width(t))


def _dot(term: Term, g: Given) -> Built:
    """Four products of neighbouring bytes, and their sum; of 32-bit integers."""
    kind = _number(term) % 4
    a = g.images["iuiu"[kind] + "8"][0]
    b = g.images["iiuu"[kind] + "8"][1]
    t = TYPES[term.type]
    e: Expr = hl.cast(t, 0)
    for k in range(4):
        e = e + hl.cast(t, a[g.at * 4 + k]) * hl.cast(t, b[g.at * 4 + k])
    return e, 20


def _real(term: Term, g: Given) -> Built:
    a = build(term.args[0], g)[0]
    kind = _number(term) % 6
    e = [
        lambda: hl.abs(a),
        lambda: -a,
        lambda: hl.floor(a),
        lambda: hl.ceil(a),
        lambda: hl.trunc(a),
        lambda: hl.sqrt(hl.abs(a)),
    ][kind]()
    return hl.strict_float(e), 0


def _signs(term: Term, g: Given) -> Built:
    """The size of one float with the sign of another."""
    t = term.type
    w = width(t)
    bits = hl.UInt(w)
    a, b = (hl.reinterpret(bits, build(arg, g)[0]) for arg in term.args)
    sign = hl.cast(bits, 1 << w - 1)
    e = (a & (sign - 1)) | (b & sign)
    return hl.reinterpret(TYPES[t], e), 0


# Conditions.
def _compare(term: Term, g: Given) -> Built:
    (a, _), (b, _) = (build(arg, g) for arg in term.args)
    return [a < b, a <= b, a == b, a != b, a > b, a >= b][_number(term) % 6], 0


def _logic(term: Term, g: Given) -> Built:
    a, b = build(term.args[0], g)[0], build(term.args[-1], g)[0]
    return [a & b, a | b, ~a, a & ~b][_number(term) % 4], 0


def _bit(term: Term, g: Given) -> Built:
    a = build(term.args[0], g)[0]
    c = _constant(term.args[0].type, _number(term, 1))
    return [(a & c) != 0, (a & c) == 0, a < 0, a >= 0][_number(term) % 4], 0


def _lane(term: Term, g: Given) -> Built:
    by = _number(term) % 7 + 2
    return [g.at % by == 0, g.at % by != 1, g.at < 40 + by][_number(term, 1) % 3], 0


def _flag(term: Term, g: Given) -> Built:
    image = g.images["bool"][_number(term) % IMAGES]
    return hl.Expr(image[g.at + _number(term, 1) % 5]), 0


OPS: dict[str, Callable[[Term, Given], Built]] = {
    "load": _load,
    "one": _one,
    "gather": _gather,
    "const": _const,
    "param": _param,
    "old": _old,
    "binary": _binary,
    "bitwise": _bitwise,
    "not": _not,
    "shift": _shift,
    "variable_shift": _variable_shift,
    "divide": _divide,
    "variable_divide": _variable_divide,
    "select": _select,
    "blend": _blend,
    "cast": _cast,
    "saturate": _saturate,
    "fixed": _fixed,
    "multiply_shift": _multiply_shift,
    "absolute": _absolute,
    "count": _count,
    "funnel": _funnel,
    "widened": _widened,
    "clamp": _clamp,
    "dot": _dot,
    "real": _real,
    "signs": _signs,
    "compare": _compare,
    "logic": _logic,
    "bit": _bit,
    "lane": _lane,
    "flag": _flag,
}


# Drawing.
class Drawer:
    """Draws terms. What was drawn is drawn again now and then, since instructions that
    keep lanes of a register are found where an arm of a selection is an operand too."""

    def __init__(self, rng: random.Random, old: str = "") -> None:
        """old: the type of what an update finds, if there is one."""
        self.rng = rng
        self.old = old
        self.pool: dict[str, list[Term]] = {}

    def term(self, t: str, depth: int) -> Term:
        rng, pool = self.rng, self.pool.setdefault(t, [])
        if pool and rng.random() < 0.3:
            return rng.choice(pool)
        if t == "bool":
            found = self.condition(depth)
        elif depth <= 0:
            found = self.leaf(t)
        elif t in FLOATS:
            found = self.real(t, depth)
        else:
            found = self.whole(t, depth)
        pool.append(found)
        return found

    def numbers(self, count: int) -> tuple[int, ...]:
        return tuple([self.rng.randrange(1000) for _ in range(count)])

    def leaf(self, t: str) -> Term:
        if t == self.old and self.rng.random() < 0.5:
            return Term("old", t)
        kinds = ["load"] * 6 + ["const"] * 2 + ["one", "param"]
        return Term(self.rng.choice(kinds), t, (), self.numbers(3))

    def node(self, op: str, t: str, of: tuple[str, ...], depth: int) -> Term:
        args = tuple([self.term(a, depth - 1) for a in of])
        return Term(op, t, args, self.numbers(2))

    def real(self, t: str, depth: int) -> Term:
        kind = self.rng.choice(("binary", "select", "real", "cast", "signs", "leaf"))
        if kind == "leaf":
            return self.leaf(t)
        of = {
            "binary": (t, t),
            "select": ("bool", t, t),
            "real": (t,),
            "cast": (self.rng.choice(NUMBERS),),
            "signs": (t, t),
        }[kind]
        return self.node(kind, t, of, depth)

    def whole(self, t: str, depth: int) -> Term:
        rng, w = self.rng, width(t)
        kinds: dict[str, tuple[str, ...]] = {
            "binary": (t, t),
            "bitwise": (t, t),
            "not": (t,),
            "shift": (t,),
            "variable_shift": (t, t),
            "divide": (t,),
            "variable_divide": (t, t),
            "blend": (t, t) if rng.random() < 0.6 else (t, t, t),
            "cast": (rng.choice(NUMBERS),),
            "saturate": (rng.choice(NUMBERS),),
            "fixed": (t, t),
            "absolute": (t,) if t[0] == "i" and rng.random() < 0.5 else (t, t),
            "count": (t,),
            "clamp": (t,),
            "gather": ("u8",),
        }
        if w <= 32:
            kinds["multiply_shift"] = kinds["widened"] = (t, t)
        if t[0] == "u":
            kinds["funnel"] = (t, t) if rng.random() < 0.5 else (t,)
        if t in ("i32", "u32"):
            kinds["dot"] = ()
        # Selections above all, of operations on bits above all.
        likely = rng.random()
        if likely < 0.12:
            return self.kept(t, depth)
        if likely < 0.3:
            return self.node("select", t, ("bool", t, t), depth)
        if likely < 0.5:
            op = rng.choice(("blend", "bitwise"))
            return self.node(op, t, kinds[op], depth)
        op = rng.choice(list(kinds))
        return self.node(op, t, kinds[op], depth)

    def kept(self, t: str, depth: int) -> Term:
        """A selection whose one arm joins the other, or a part of it, with something
        else: what a masked instruction does that keeps lanes of an operand."""
        rng = self.rng
        a, b = (self.term(t, depth - 2) for _ in range(2))
        if rng.random() < 0.7:
            joined = Term("blend", t, (a, b), self.numbers(2))
        else:
            inner = Term("bitwise", t, (a, b), self.numbers(1))
            other = rng.choice((a, b, self.term(t, depth - 2)))
            joined = Term("bitwise", t, (inner, other), self.numbers(1))
        rest = rng.choice((a, b, b, Term("const", t, (), self.numbers(1))))
        if joined.op == "blend" and rng.random() < 0.2:
            rest = Term("const", t, (), joined.numbers[1:])
        arms = (joined, rest) if rng.random() < 0.7 else (rest, joined)
        return Term("select", t, (self.term("bool", 1), *arms))

    def condition(self, depth: int) -> Term:
        kind = self.rng.choice(
            ("compare", "compare", "bit", "bit", "logic", "lane", "flag")
        )
        of: dict[str, tuple[str, ...]] = {"lane": (), "flag": ()}
        if depth <= 0:
            kind = self.rng.choice(("bit", "lane", "flag"))
        t = self.rng.choice(NUMBERS if kind == "compare" else SIGNED + UNSIGNED)
        of |= {"compare": (t, t), "bit": (t,), "logic": ("bool", "bool")}
        return self.node(kind, "bool", of[kind], max(depth, 1))


__all__ = ["FLOATS", "NUMBERS", "OPS", "Drawer", "Given", "Term", "build", "given"]
