"""Loads at places that a table names: mostly near each other, one after the other.

Tables of places are made to be walked along: where pixels come from when an image gets
another size, or the elements of a list that was sorted. So code asks, when it runs,
whether the places of all lanes lie between the least of the first four and the greatest
of the last four (of colours that are repeated, the first lane may be the third one of a
pixel), and whether these are at most two registers apart. Then what lies there is
loaded, no element before the first or beyond the last, and permuted: two loads and a
permutation for a register, where each lane would take three instructions by itself. Of
others, lanes are loaded one by one. To ask costs some twenty instructions, once for all
loads by the same places: those of several rows, and of pixels as far apart.
"""

from __future__ import annotations

from collections.abc import Callable

from parhelion.codegen.addresses import address, offset_pointer
from parhelion.codegen.expr import broadcast
from parhelion.codegen.types import mask_text, memory_type, value_type
from parhelion.codegen.vector import concatenate, slice_lanes, widen
from parhelion.codegen.writer import Function
from parhelion.codegen.x86.slopes import once, parted, seen
from parhelion.codegen.x86.tables import PERMUTATIONS, WIDTH, permutes
from parhelion.dataclass import dataclass
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr
from parhelion.types import INT32, Int, Type, UInt

#: Fewer lanes are not worth it.
_FEWEST = 8


def load_near(f: Function, e: E.Load) -> str | None:
    """A load at the places of a table, in its memory form; None if it is none, or the
    machine does not permute such elements."""
    t = e.type
    permutation = PERMUTATIONS.get(t.width)
    if permutation is None or not permutes(f.target):
        return None
    if t.count < _FEWEST or not f.target.has(permutation.feature):
        return None
    moving, rest = parted(f, e.index)
    if moving.type.element_of() is not INT32 or not _is_listed(f, moving):
        return None
    f.module.note_lanes(e.buffer)
    pointer, offset = address(f, e.buffer, rest)
    pointer = offset_pointer(f, pointer, t, offset)
    # Here, and not inside of what is written elsewhere.
    f.value(moving)
    per = WIDTH * 8 // t.width
    parts = []
    for start in range(0, t.count, per):
        count = min(per, t.count - start)
        name = _function(f, t.width, count, permutation.two)
        kind = f"<{count} x i{t.width}>"
        given = ", ".join(_Places(f, moving, start, count, t.width).all())
        text = f.op(f"call {kind} @{name}(ptr {pointer}, {given})")
        parts.append((text, UInt(t.width, count)))
    text, found = concatenate(f, parts)
    vt, to = value_type(found), memory_type(t)
    return text if vt == to else f.op(f"bitcast {vt} {text} to {to}")


@dataclass(frozen=True, slots=True)
class _Places:
    """What is asked of the places of some lanes, once for all loads that are made by
    them: those of several rows, and of pixels that are as far apart.

    moving: places of all lanes. start, count: which of them. width: bits of an element.
    """

    f: Function
    moving: Expr
    start: int
    count: int
    width: int

    def all(self) -> list[str]:
        """The arguments of the function that loads, with their types, but the first."""
        f, per = self.f, self.per
        at = self._once("at", self._at)
        first = self._once("first", lambda: self._extreme(at, 0, "smin"))
        begin = self._once("begin", lambda: f.op(f"sext i32 {first} to i64"))
        top = self._once("top", lambda: self._top(at, first))
        beyond = self._once(
            "beyond",
            lambda: f.op(f"sub {self.places} {at}, {broadcast(f, first, self.kind)}"),
        )
        near = self._once("near", lambda: self._near(beyond, top))
        index = self._once("index", lambda: self._index(beyond))
        low = self._once("low", lambda: self._there(top, 0))
        high = self._once("high", lambda: self._there(top, 1))
        flags = f"<{per} x i1>"
        return [
            f"{self.places} {at}",
            f"i64 {begin}",
            f"i1 {near}",
            f"<{per} x i{self.width}> {index}",
            f"{flags} {low}",
            f"{flags} {high}",
        ]

    @property
    def per(self) -> int:
        """How many elements a register holds."""
        return WIDTH * 8 // self.width

    @property
    def kind(self) -> Type:
        return Int(32, self.count)

    @property
    def places(self) -> str:
        return value_type(self.kind)

    def _once(self, what: object, make: Callable[[], str]) -> str:
        key = ("near", self.moving, self.start, self.count, self.width, what)
        return once(self.f, key, (self.moving,), make)

    def _at(self) -> str:
        text = self.f.value(self.moving)
        return slice_lanes(self.f, text, self.moving.type, self.start, self.count)

    def _extreme(self, at: str, lane: int, which: str) -> str:
        """The least or the greatest of four places."""
        f = self.f
        some = slice_lanes(f, at, self.kind, lane, 4)
        name = f"llvm.vector.reduce.{which}.v4i32"
        return f.op(
            f"call i32 {f.module.declare(name, 'i32', '<4 x i32>')}(<4 x i32> {some})"
        )

    def _top(self, at: str, first: str) -> str:
        """How far the last place is beyond the first, but no further than registers."""
        f = self.f
        last = self._extreme(at, self.count - 4, "smax")
        far = f.op(f"sub i32 {last}, {first}")
        least = f.module.declare("llvm.umin.i32", "i32", "i32, i32")
        return f.op(f"call i32 {least}(i32 {far}, i32 {2 * self.per - 1})")

    def _near(self, beyond: str, top: str) -> str:
        """Whether all places lie between the first and the last. One before the first
        is far beyond it, as an unsigned number."""
        f, count = self.f, self.count
        tops = broadcast(f, top, self.kind)
        out = f.op(f"icmp ugt {self.places} {beyond}, {tops}")
        bits = f.op(f"bitcast <{count} x i1> {out} to i{count}")
        return f.op(f"icmp eq i{count} {bits}, 0")

    def _index(self, beyond: str) -> str:
        """The places in the registers, as their elements are wide: one for each."""
        f, width = self.f, self.width
        found, kind = beyond, self.kind
        if width < 32:
            kind = Int(width, self.count)
            found = f.op(f"trunc {self.places} {beyond} to {value_type(kind)}")
        return widen(f, found, kind, self.per)

    def _there(self, top: str, k: int) -> str:
        """Which elements of the k-th register are no further than the last place."""
        f, width, per = self.f, self.width, self.per
        whole = Int(width, per)
        limit = top if width == 32 else f.op(f"trunc i32 {top} to i{width}")
        numbers = ", ".join([f"i{width} {k * per + i}" for i in range(per)])
        limits = broadcast(f, limit, whole)
        return f.op(f"icmp ule {value_type(whole)} <{numbers}>, {limits}")


def _is_listed(f: Function, e: Expr) -> bool:
    """Whether the lanes of an index were loaded from neighbouring places of a table.
    They may be limited since."""
    e = seen(f, e)
    if isinstance(e, E.Sub):
        return isinstance(e.b, E.Broadcast) and _is_listed(f, e.a)
    if isinstance(e, E.Min | E.Max | E.Add):
        if isinstance(e.b, E.Broadcast):
            return _is_listed(f, e.a)
        return isinstance(e.a, E.Broadcast) and _is_listed(f, e.b)
    if not isinstance(e, E.Load) or e.predicate is not None:
        return False
    at = seen(f, e.index)
    return isinstance(at, E.Ramp) and build.const_int(at.stride) == 1


def _function(f: Function, width: int, count: int, two: str) -> str:
    """The name of the function that loads so many elements, of so many bits."""
    m, per = f.module, WIDTH * 8 // width
    one, whole, flags = f"i{width}", f"<{per} x i{width}>", f"<{per} x i1>"
    load = m.declare(
        f"llvm.masked.load.v{per}{one}.p0", whole, f"ptr, {flags}, {whole}"
    )
    permute = m.declare(
        f"llvm.x86.avx512.{two}.512", whole, f"{whole}, {whole}, {whole}"
    )
    lanes, places = f"<{count} x {one}>", f"<{count} x i32>"
    text = [
        "{",
        "entry:",
        f"  br i1 %near, label %at.once, label %by.lane{m.LIKELY}",
        "at.once:",
        f"  %pointer = getelementptr {one}, ptr %base, i64 %begin",
    ]
    for k in range(2):
        text += [
            f"  %pointer.{k} = getelementptr {one}, ptr %pointer, i64 {k * per}",
            f"  %part.{k} = call {whole} {load}(ptr align {width // 8} %pointer.{k},"
            f" {flags} %there.{k}, {whole} zeroinitializer)",
        ]
    text += [
        f"  %found = call {whole} {permute}({whole} %part.0, {whole} %index,"
        f" {whole} %part.1)",
        f"  %together = shufflevector {whole} %found, {whole} poison,"
        f" {mask_text(range(count))}",
        "  br label %done",
        "by.lane:",
    ]
    before = "poison"
    for i in range(count):
        text += [
            f"  %place.{i} = extractelement {places} %at, i64 {i}",
            f"  %place.{i}.64 = sext i32 %place.{i} to i64",
            f"  %there.at.{i} = getelementptr {one}, ptr %base, i64 %place.{i}.64",
            f"  %one.{i} = load {one}, ptr %there.at.{i}, align {width // 8}",
            f"  %lane.{i} = insertelement {lanes} {before}, {one} %one.{i}, i64 {i}",
        ]
        before = f"%lane.{i}"
    text += [
        "  br label %done",
        "done:",
        f"  %value = phi {lanes} [ %together, %at.once ], [ {before}, %by.lane ]",
        f"  ret {lanes} %value",
        "}",
        "",
    ]
    name = f"parhelion.near.{count}.{width}"
    given = (
        f"ptr %base, {places} %at, i64 %begin, i1 %near, {whole} %index,"
        f" {flags} %there.0, {flags} %there.1"
    )
    header = f"define internal {lanes} @{name}({given}) alwaysinline"
    return m.share(name, header, "\n".join(text))


__all__ = ["load_near"]
