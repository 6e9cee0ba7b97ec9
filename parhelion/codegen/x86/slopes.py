"""Loads whose lanes go up by small steps: vectors at the edges of images.

Where coordinates are clamped, ``max(min(ramp(x, 1, 16), 99), 0)``, lanes are no ramp,
but none goes back, and none goes on by more than the ramp's stride. So all of them lie
in one or two registers from the first lane's place on. These are loaded, as far as the
last lane's place and no further, and permuted: 20 to 45 instructions, where each lane
would take three by itself. Of a load under a mask, only what lies between the places of
the first and the last lane that it has is loaded. Loads from places that are just as
far apart, such as those of rows and Tuples, share what says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from parhelion.codegen.addresses import address, offset_pointer, wide_value
from parhelion.codegen.expr import broadcast
from parhelion.codegen.types import memory_type, value_type
from parhelion.codegen.vector import concatenate, slice_lanes, widen
from parhelion.codegen.writer import Function
from parhelion.dataclass import dataclass
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr
from parhelion.types import INT32, Int, Type, UInt

#: Fewer lanes are not worth it.
_FEWEST = 8


@dataclass(frozen=True, slots=True)
class _Permutation:
    """The instructions that permute elements of one width.

    feature: what the processor must have. bits: of a register. one, two: LLVM's names
    for permuting one register and two of them, if there is such a one.
    """

    feature: str
    bits: int
    one: str
    two: str = ""


_PERMUTATIONS = {
    8: (
        _Permutation(
            "avx512vbmi",
            512,
            "llvm.x86.avx512.permvar.qi.512",
            "llvm.x86.avx512.vpermi2var.qi.512",
        ),
    ),
    16: (
        _Permutation(
            "avx512bw",
            512,
            "llvm.x86.avx512.permvar.hi.512",
            "llvm.x86.avx512.vpermi2var.hi.512",
        ),
    ),
    32: (
        _Permutation(
            "avx512f",
            512,
            "llvm.x86.avx512.permvar.si.512",
            "llvm.x86.avx512.vpermi2var.d.512",
        ),
        _Permutation("avx2", 256, "llvm.x86.avx2.permd"),
    ),
}


def load_by_slope(f: Function, e: E.Load) -> str | None:
    """A load whose lanes go up by small steps, in its memory form; None if it is none,
    or the machine does not permute such elements. Lanes that its mask does not have are
    zero."""
    t = e.type
    if t.count < _FEWEST or e.index.type.element_of() is not INT32:
        return None
    by = _permutation(f, t)
    moving, rest = parted(f, e.index)
    slope = None if by is None else _slope(f, moving)
    if by is None or not slope:
        return None
    per = by.bits // t.width
    room = per * (2 if by.two else 1)
    piece = min(per, t.count)
    while slope * (piece - 1) >= room and piece >= _FEWEST:
        piece //= 2
    if piece < _FEWEST:
        return None
    one = _Pieces(f, e, by, moving, rest, slope)
    parts = [
        one.load(start, min(piece, t.count - start))
        for start in range(0, t.count, piece)
    ]
    text, found = concatenate(f, parts)
    vt, to = value_type(found), memory_type(t)
    if e.predicate is not None:
        mask = f"<{t.count} x i1> {f.value(e.predicate)}"
        text = f.op(f"select {mask}, {vt} {text}, {vt} zeroinitializer")
    return text if vt == to else f.op(f"bitcast {vt} {text} to {to}")


def load_some_by_slope(f: Function, e: E.Load) -> str | None:
    """The same under a mask, of what no instruction gathers."""
    return None if f.target.gathers(e.type.width) else load_by_slope(f, e)


def _permutation(f: Function, t: Type) -> _Permutation | None:
    wide = f.target.vector_bits
    for one in _PERMUTATIONS.get(t.width, ()):
        if one.bits <= wide and f.target.has(one.feature):
            return one
    return None


def seen(f: Function, e: Expr) -> Expr:
    """What a let of a vector stands for."""
    while isinstance(e, E.Var) and e in f.vector_lets:
        e = f.vector_lets[e]
    return e


def parted(f: Function, e: Expr) -> tuple[Expr, Expr]:
    """An index as a vector, and a number that is added to all of its lanes."""
    rest: Expr = build.imm(0, INT32)
    while True:
        e = seen(f, e)
        if isinstance(e, E.Add | E.Sub) and _even(e.b):
            add = build.add if isinstance(e, E.Add) else build.sub
            rest = add(rest, _number(e.b))
            e = e.a
        elif isinstance(e, E.Add) and _even(e.a):
            rest = build.add(rest, _number(e.a))
            e = e.b
        else:
            return e, rest


def _even(e: Expr) -> bool:
    """Whether all lanes are one number."""
    return isinstance(e, E.Broadcast) and e.value.type.count == 1


def _number(e: Expr) -> Expr:
    assert isinstance(e, E.Broadcast)
    return e.value


def _slope(f: Function, e: Expr) -> int | None:
    """The most that a lane is beyond the one before it, of a vector in which none is
    before that one; None of others. Minima and maxima keep what both their operands
    keep."""
    e = seen(f, e)
    if _even(e):
        return 0
    if isinstance(e, E.Ramp):
        step = build.const_int(e.stride)
        even = e.base.type.count == 1
        return step if even and step is not None and step >= 0 else None
    if isinstance(e, E.Min | E.Max):
        a, b = _slope(f, e.a), _slope(f, e.b)
        return None if a is None or b is None else max(a, b)
    if isinstance(e, E.Add) and (_even(e.a) or _even(e.b)):
        return _slope(f, e.b if _even(e.a) else e.a)
    if isinstance(e, E.Sub) and _even(e.b):
        return _slope(f, e.a)
    if isinstance(e, E.Mul):
        inner, factor = _scaled(e)
        found = _slope(f, inner) if factor > 0 else None
        return None if found is None else found * factor
    return None


def _scaled(e: E.Mul) -> tuple[Expr, int]:
    """A product with a constant: the other operand, and the constant (0: none)."""
    for a, b in ((e.a, e.b), (e.b, e.a)):
        if isinstance(b, E.Broadcast):
            factor = build.const_int(b.value)
            if factor is not None:
                return a, factor
    return e, 0


def _lane(f: Function, e: Expr, lane: int) -> Expr:
    """One lane of a vector that has a slope, as a number."""
    e = seen(f, e)
    if _even(e):
        return _number(e)
    if isinstance(e, E.Ramp):
        return build.add(e.base, build.mul(e.stride, build.imm(lane, INT32)))
    if isinstance(e, E.Mul):
        inner, factor = _scaled(e)
        return build.mul(_lane(f, inner, lane), build.imm(factor, INT32))
    assert isinstance(e, E.Min | E.Max | E.Add | E.Sub)
    make = _MAKE[type(e)]
    return make(_lane(f, e.a, lane), _lane(f, e.b, lane))


_MAKE: dict[type[Expr], Callable[[Expr, Expr], Expr]] = {
    E.Min: build.minimum,
    E.Max: build.maximum,
    E.Add: build.add,
    E.Sub: build.sub,
}


def once(
    f: Function, key: tuple[object, ...], of: Sequence[Expr], make: Callable[[], str]
) -> str:
    """What `make` writes of some values, or wrote before under that key: outside of the
    loops that change none of them."""
    found = f.memo.get(key)
    if found is not None:
        return found
    level = max([f.level(one) for one in of])
    before, f.out = f.out, f.scopes[f.place(level)].lines.append
    found = make()
    f.out = before
    return f.remember(key, found, level, *of)


@dataclass(frozen=True, slots=True)
class _Pieces:
    """One load, to be made in pieces of so many lanes as registers hold.

    by: what permutes. moving, rest: its index. slope: of that.
    """

    f: Function
    load_: E.Load
    by: _Permutation
    moving: Expr
    rest: Expr
    slope: int

    def load(self, start: int, count: int) -> tuple[str, Type]:
        """So many lanes from one on: their text, as unsigned integers, and its type."""
        f, t, by = self.f, self.load_.type, self.by
        whole = UInt(t.width, by.bits // t.width)
        first = _lane(f, self.moving, start)
        pointer, offset = address(f, self.load_.buffer, build.add(first, self.rest))
        pointer = offset_pointer(f, pointer, t, offset)
        farthest = self.slope * (count - 1)
        parts = range(0, farthest + 1, whole.count)
        table = [
            self._register(pointer, whole, done, self._there(whole, start, count, done))
            for done in parts
        ]
        at = self._at(whole, start, count, len(table))
        vt = value_type(whole)
        if len(table) == 1:
            name = f.module.declare(by.one, vt, f"{vt}, {vt}")
            text = f.op(f"call {vt} {name}({vt} {table[0]}, {vt} {at})")
        else:
            name = f.module.declare(by.two, vt, f"{vt}, {vt}, {vt}")
            text = f.op(
                f"call {vt} {name}({vt} {table[0]}, {vt} {at}, {vt} {table[1]})"
            )
        return slice_lanes(f, text, whole, 0, count), whole.with_lanes(count)

    def _once(self, key: tuple[object, ...], make: Callable[[], str]) -> str:
        """What `make` writes of the index and the mask, or wrote for another load."""
        e = self.load_
        of = [self.moving] if e.predicate is None else [self.moving, e.predicate]
        return once(self.f, ("slope", self.moving, e.predicate, *key), of, make)

    def _origin(self, start: int) -> str:
        """The place of the first of the lanes from `start` on, apart from `rest`."""
        first = _lane(self.f, self.moving, start)
        return wide_value(self.f, first, self.f.level(first))

    def _at(self, whole: Type, start: int, count: int, registers: int) -> str:
        """Where each lane lies in the registers that are permuted."""
        # Of bytes in two registers, places and what is before them need more bits.
        width = whole.width if registers == 1 else max(whole.width, 16)
        places = Int(width, whole.count)
        farthest = self.slope * (count - 1)

        def make() -> str:
            if width == INT32.width:
                return self._apart(start, _lane(self.f, self.moving, start), places)
            origin = self._origin(start)
            text = self._places(self.moving, start, origin, places, farthest)
            if width == whole.width:
                return text
            kinds = f"{value_type(places)} {text} to {value_type(whole)}"
            return self.f.op(f"trunc {kinds}")

        return self._once(("at", whole, start, count), make)

    def _there(self, whole: Type, start: int, count: int, done: int) -> str:
        """Which elements of a register, the `done`-th on from the first lane's place,
        lie between lanes that are loaded."""
        f, vt = self.f, value_type(whole)
        numbers = ", ".join(f"i{whole.width} {done + k}" for k in range(whole.count))

        def end(text: str) -> str:
            return broadcast(f, f.op(f"trunc i64 {text} to i{whole.width}"), whole)

        def make() -> str:
            if self.load_.predicate is None:
                last = end(self._beyond(start, count - 1))
                return f.op(f"icmp ule {vt} <{numbers}>, {last}")
            least = self._once(
                ("least", start, count), lambda: self._least(start, count)
            )
            most = self._once(("most", start, count), lambda: self._most(start, count))
            # As signed numbers: the most is less than 0 where no lane is loaded.
            above = f.op(f"icmp sge {vt} <{numbers}>, {end(least)}")
            below = f.op(f"icmp sle {vt} <{numbers}>, {end(most)}")
            return f.op(f"and <{whole.count} x i1> {above}, {below}")

        return self._once(("there", whole, start, count, done), make)

    def _beyond(self, start: int, lane: int) -> str:
        """How far the place of a lane, counted from `start`, is beyond its first."""
        last = _lane(self.f, self.moving, start + lane)
        far = wide_value(self.f, last, self.f.level(last))
        return self.f.op(f"sub i64 {far}, {self._origin(start)}")

    def _bits(self, start: int, count: int) -> str:
        """Part of the mask as an integer, the first lane lowest."""
        f, predicate = self.f, self.load_.predicate
        assert predicate is not None
        mask = slice_lanes(f, f.value(predicate), predicate.type, start, count)
        return f.op(f"bitcast <{count} x i1> {mask} to i{count}")

    def _least(self, start: int, count: int) -> str:
        """How far the first lane that the mask has is beyond the first of all."""
        bits = self._bits(start, count)
        return self._apart_at(start, self._zeros("cttz", bits, count))

    def _most(self, start: int, count: int) -> str:
        """How far the last lane that the mask has is beyond the first of all; -1 if it
        has none."""
        f, bits = self.f, self._bits(start, count)
        lane = f.op(f"sub i64 {count - 1}, {self._zeros('ctlz', bits, count)}")
        none = f.op(f"icmp eq i{count} {bits}, 0")
        return f.op(f"select i1 {none}, i64 -1, i64 {self._apart_at(start, lane)}")

    def _zeros(self, way: str, bits: str, count: int) -> str:
        """How many zeros an integer ends ("cttz") or begins with ("ctlz")."""
        f, t = self.f, f"i{count}"
        name = f.module.declare(f"llvm.{way}.{t}", t, f"{t}, i1")
        text = f.op(f"call {t} {name}({t} {bits}, i1 false)")
        return text if count == 64 else f.op(f"zext {t} {text} to i64")

    def _apart_at(self, start: int, lane: str) -> str:
        """How far the place of a lane, counted from `start`, is beyond its first; of a
        number that is known at run time."""
        lane = self.f.op(f"add i64 {lane}, {start}") if start else lane
        place = self._lane_at(self.moving, lane)
        return self.f.op(f"sub i64 {place}, {self._origin(start)}")

    def _lane_at(self, e: Expr, lane: str) -> str:
        """The place of a lane whose number is known at run time."""
        f = self.f
        e = seen(f, e)
        if _even(e):
            one = _number(e)
            return wide_value(f, one, f.level(one))
        if isinstance(e, E.Ramp):
            base = wide_value(f, e.base, f.level(e.base))
            beyond = f.op(f"mul i64 {lane}, {build.const_int(e.stride)}")
            return f.op(f"add i64 {base}, {beyond}")
        if isinstance(e, E.Mul):
            inner, factor = _scaled(e)
            return f.op(f"mul i64 {self._lane_at(inner, lane)}, {factor}")
        assert isinstance(e, E.Min | E.Max | E.Add | E.Sub)
        a, b = self._lane_at(e.a, lane), self._lane_at(e.b, lane)
        if isinstance(e, E.Add | E.Sub):
            return f.op(f"{'add' if isinstance(e, E.Add) else 'sub'} i64 {a}, {b}")
        way = "llvm.smin.i64" if isinstance(e, E.Min) else "llvm.smax.i64"
        name = f.module.declare(way, "i64", "i64, i64")
        return f.op(f"call i64 {name}(i64 {a}, i64 {b})")

    def _register(self, pointer: str, whole: Type, done: int, there: str) -> str:
        """The elements of a register from the `done`-th on, where they are there."""
        f, load = self.f, self.load_
        vt, lanes, bits = value_type(whole), whole.count, whole.width
        at = offset_pointer(f, pointer, whole, done)
        name = f.module.declare(
            f"llvm.masked.load.v{lanes}i{bits}.p0", vt, f"ptr, <{lanes} x i1>, {vt}"
        )
        where = f"ptr align {load.type.bytes()} {at}, <{lanes} x i1> {there}"
        tag = f.module.tbaa(load.buffer)
        return f.op(f"call {vt} {name}({where}, {vt} zeroinitializer){tag}")

    def _apart(self, start: int, first: Expr, t: Type) -> str:
        """How far each lane is beyond the first, where an index has as many bits."""
        f, moving = self.f, self.moving
        count = min(t.count, moving.type.count - start)
        text = slice_lanes(f, f.value(moving), moving.type, start, count)
        text = widen(f, text, t.with_lanes(count), t.count)
        return f.op(f"sub {value_type(t)} {text}, {broadcast(f, f.value(first), t)}")

    def _places(self, e: Expr, start: int, origin: str, t: Type, farthest: int) -> str:
        """How far each lane is beyond the place `origin`, for as many as `t` has.

        Operands of minima and maxima may be anywhere: what lies before the first lane
        of all, or beyond the farthest that there can be, is taken to be just there,
        which changes no result between.
        """
        f, vt = self.f, value_type(t)
        e = seen(f, e)
        if isinstance(e, E.Min | E.Max):
            a = self._places(e.a, start, origin, t, farthest)
            b = self._places(e.b, start, origin, t, farthest)
            op = "smin" if isinstance(e, E.Min) else "smax"
            at = f"llvm.{op}.v{t.count}i{t.width}"
            name = f.module.declare(at, vt, f"{vt}, {vt}")
            return f.op(f"call {vt} {name}({vt} {a}, {vt} {b})")
        inside = self._inside(e, start, t, farthest)
        first = _lane(f, e, start)
        apart = f.op(f"sub i64 {wide_value(f, first, f.level(first))}, {origin}")
        for op, bound in (("smax", -farthest - 1), ("smin", farthest + 1)):
            name = f.module.declare(f"llvm.{op}.i64", "i64", "i64, i64")
            apart = f.op(f"call i64 {name}(i64 {apart}, i64 {bound})")
        text = broadcast(f, f.op(f"trunc i64 {apart} to i{t.width}"), t)
        return f.op(f"add {vt} {text}, {inside}") if inside else text

    def _inside(self, e: Expr, start: int, t: Type, farthest: int) -> str:
        """How far each lane is beyond the first of this part of an index; nothing where
        all are there."""
        f = self.f
        e = seen(f, e)
        if _even(e):
            return ""
        if isinstance(e, E.Ramp):
            step, one = build.const_int(e.stride) or 0, t.element_of()
            places = [f"i{t.width} {one.wrap(step * k)}" for k in range(t.count)]
            return f"<{', '.join(places)}>"
        if isinstance(e, E.Add | E.Sub):
            return self._inside(e.b if _even(e.a) else e.a, start, t, farthest)
        if isinstance(e, E.Mul):
            inner, factor = _scaled(e)
            text = self._inside(inner, start, t, farthest)
            many = f"splat (i{t.width} {factor})"
            return f.op(f"mul {value_type(t)} {text}, {many}") if text else text
        first = _lane(f, e, start)
        origin = wide_value(f, first, f.level(first))
        return self._places(e, start, origin, t, farthest)


__all__ = ["load_by_slope", "load_some_by_slope", "once", "parted", "seen"]
