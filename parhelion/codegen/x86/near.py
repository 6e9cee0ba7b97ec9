"""Loads at places that a table names: mostly near each other, one after the other.

Tables of places are made to be walked along: where pixels come from when an image gets
another size, or the elements of a list that was sorted. So code asks, when it runs,
whether the places of all lanes lie between the least of the first four and the greatest
of the last four (of colours that are repeated, the first lane may be the third one of a
pixel), and whether these are at most two registers apart, or four. Then what lies there
is loaded, no element before the first or beyond the last, and permuted: a load or two
and a permutation for a register, where each lane would take three instructions by
itself. Of others, lanes are loaded one by one.

To ask costs some twenty instructions, once for all loads by the same places: those of
several rows, and of pixels beside each other. What the latter load is loaded together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from parhelion.codegen.addresses import address, offset_pointer
from parhelion.codegen.expr import broadcast
from parhelion.codegen.neighbours import offsets_of_alike
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
    # Here, and not inside of what is written elsewhere.
    f.value(moving)
    per = WIDTH * 8 // t.width
    window = _window(f, e, moving, pointer, offset, per)
    parts = []
    for start in range(0, t.count, per):
        count = min(per, t.count - start)
        name = _function(f, t.width, count, permutation.two)
        kind = f"<{count} x i{t.width}>"
        places = _Places(f, moving, start, count, t.width)
        given = ", ".join(places.all(e, pointer, offset, window))
        text = f.op(f"call {kind} @{name}({given})")
        parts.append((text, UInt(t.width, count)))
    text, found = concatenate(f, parts)
    vt, to = value_type(found), memory_type(t)
    return text if vt == to else f.op(f"bitcast {vt} {text} to {to}")


def _window(
    f: Function, e: E.Load, moving: Expr, pointer: str, offset: int, per: int
) -> tuple[int, int]:
    """The least and the greatest offset past `pointer` of loads by the same places, of
    which that one is among: what they load is loaded together. It is less than a
    register, as most places must fit into the rest of two."""

    def base_of(n: E.Load) -> Expr | None:
        other, rest = parted(f, n.index)
        return rest if other is moving else None

    found = {offset, *offsets_of_alike(f, e, pointer, moving, base_of)}
    low = high = min(found)
    for one in sorted(found):
        if one - low >= per:
            if offset < one:
                break
            low = one
        high = one
    return low, high


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

    def all(
        self, e: E.Load, pointer: str, offset: int, window: tuple[int, int]
    ) -> list[str]:
        """The arguments of the function that loads, with their types.

        offset: of the load, past `pointer`. window: those that are loaded together.
        """
        f = self.f
        low, wide = window[0], window[1] - window[0]
        at = self._once("at", self._at)
        first = self._once("first", lambda: self._extreme(at, 0, "smin"))
        begin = self._once("begin", lambda: f.op(f"sext i32 {first} to i64"))
        far = self._once("far", lambda: self._far(at, first))
        beyond = self._once(
            "beyond",
            lambda: f.op(f"sub {self.places} {at}, {broadcast(f, first, self.kind)}"),
        )
        near, few = self._reach(beyond, far, 2, wide)
        within, most = self._reach(beyond, far, 4, wide)
        index = self._once("index", lambda: self._index(beyond))
        moved = index
        if offset != low:
            by = f"splat (i{self.width} {offset - low})"
            moved = self._once(
                ("moved", offset - low), lambda: f.op(f"add {self.whole} {index}, {by}")
            )
        low_ones = self._once(("there", wide, 0), lambda: self._there(few, 0))
        high_ones = self._once(("there", wide, 1), lambda: self._there(few, 1))
        flags = f"<{self.per} x i1>"
        asked = [
            f"ptr {offset_pointer(f, pointer, e.type, low)}",
            f"i64 {begin}",
            f"i1 {near}",
            f"{flags} {low_ones}",
            f"{flags} {high_ones}",
            f"i1 {within}",
            f"i32 {most}",
        ]
        return [
            f"ptr {offset_pointer(f, pointer, e.type, offset)}",
            f"{self.places} {at}",
            f"i1 {near}",
            f"i1 {within}",
            f"{self.whole} {moved}",
            *[f"{self.whole} {part}" for part in self._parts(e, asked)],
        ]

    def _reach(
        self, beyond: str, far: str, registers: int, wide: int
    ) -> tuple[str, str]:
        """Whether all that is loaded lies in so many registers, and how far the last
        element of it is beyond the first, if so. wide: by how much more than places."""
        most = registers * self.per - 1 - wide
        top = self._once(("top", most), lambda: self._least(far, most))
        within = self._once(("within", most), lambda: self._within(beyond, top))
        last = self._once(
            ("last", most, wide), lambda: self.f.op(f"add i32 {top}, {wide}")
        )
        return within, last

    def _parts(self, e: E.Load, asked: Sequence[str]) -> list[str]:
        """The registers that are permuted, for all loads by the same places from there.

        asked: what `_registers` is given.
        """
        f = self.f
        name = _registers(f, self.width)
        four = f"{{ {', '.join([self.whole] * 4)} }}"

        def make() -> str:
            made = f.op(f"call {four} @{name}({', '.join(asked)})")
            return " ".join(
                [f.op(f"extractvalue {four} {made}, {k}") for k in range(4)]
            )

        key = ("near parts", self.moving, self.start, *asked)
        return once(f, key, (self.moving, e), make).split()

    @property
    def per(self) -> int:
        """How many elements a register holds."""
        return WIDTH * 8 // self.width

    @property
    def whole(self) -> str:
        return f"<{self.per} x i{self.width}>"

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

    def _far(self, at: str, first: str) -> str:
        """How far the last place is beyond the first."""
        last = self._extreme(at, self.count - 4, "smax")
        return self.f.op(f"sub i32 {last}, {first}")

    def _least(self, far: str, limit: int) -> str:
        f = self.f
        least = f.module.declare("llvm.umin.i32", "i32", "i32, i32")
        return f.op(f"call i32 {least}(i32 {far}, i32 {limit})")

    def _within(self, beyond: str, top: str) -> str:
        """Whether no place is further beyond the first one. One before the first is far
        beyond it, as an unsigned number."""
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

    def _there(self, last: str, k: int) -> str:
        """Which elements of the k-th register are no further than the last one."""
        f, width = self.f, self.width
        limit = last if width == 32 else f.op(f"trunc i32 {last} to i{width}")
        limits = broadcast(f, limit, Int(width, self.per))
        numbers = _numbers(width, k * self.per, self.per)
        return f.op(f"icmp ule {self.whole} {numbers}, {limits}")


def _numbers(width: int, first: int, count: int) -> str:
    """A vector of numbers that follow each other."""
    return f"<{', '.join([f'i{width} {first + i}' for i in range(count)])}>"


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


def _registers(f: Function, width: int) -> str:
    """The name of the function that loads what lies near: two registers, or four."""
    m, per = f.module, WIDTH * 8 // width
    one, whole, flags = f"i{width}", f"<{per} x i{width}>", f"<{per} x i1>"
    load = m.declare(
        f"llvm.masked.load.v{per}{one}.p0", whole, f"ptr, {flags}, {whole}"
    )

    def loaded(word: str, count: int) -> list[str]:
        found = [f"  %{word}.at = getelementptr {one}, ptr %base, i64 %begin"]
        for k in range(count):
            found += [
                f"  %{word}.at.{k} = getelementptr {one}, ptr %{word}.at,"
                f" i64 {k * per}",
                f"  %{word}.{k} = call {whole} {load}(ptr align {width // 8}"
                f" %{word}.at.{k}, {flags} %{word}.there.{k},"
                f" {whole} zeroinitializer)",
            ]
        return found

    short = "add i32 %most, 0" if width == 32 else f"trunc i32 %most to {one}"
    text = [
        "{",
        "entry:",
        f"  br i1 %near, label %two, label %further{m.LIKELY}",
        "two:",
        *loaded("two", 2),
        "  br label %done",
        "further:",
        "  br i1 %within, label %four, label %done",
        "four:",
        f"  %most.0 = {short}",
        f"  %most.1 = insertelement {whole} poison, {one} %most.0, i64 0",
        f"  %limits = shufflevector {whole} %most.1, {whole} poison,"
        f" <{per} x i32> zeroinitializer",
        *[
            f"  %four.there.{k} = icmp ule {whole} {_numbers(width, k * per, per)},"
            " %limits"
            for k in range(4)
        ],
        *loaded("four", 4),
        "  br label %done",
        "done:",
    ]
    kinds, made = f"{{ {', '.join([whole] * 4)} }}", "poison"
    for k in range(4):
        two = f"%two.{k}" if k < 2 else "poison"
        text.append(
            f"  %part.{k} = phi {whole} [ {two}, %two ], [ poison, %further ],"
            f" [ %four.{k}, %four ]"
        )
    for k in range(4):
        text.append(f"  %all.{k} = insertvalue {kinds} {made}, {whole} %part.{k}, {k}")
        made = f"%all.{k}"
    text += [f"  ret {kinds} {made}", "}", ""]
    given = (
        f"ptr %base, i64 %begin, i1 %near, {flags} %two.there.0,"
        f" {flags} %two.there.1, i1 %within, i32 %most"
    )
    name = f"parhelion.near.registers.{width}"
    header = f"define internal {kinds} @{name}({given}) alwaysinline"
    return m.share(name, header, "\n".join(text))


def _function(f: Function, width: int, count: int, two: str) -> str:
    """The name of the function that takes so many elements, of so many bits, out of
    these registers."""
    m, per = f.module, WIDTH * 8 // width
    one, whole, flags = f"i{width}", f"<{per} x i{width}>", f"<{per} x i1>"
    permute = m.declare(
        f"llvm.x86.avx512.{two}.512", whole, f"{whole}, {whole}, {whole}"
    )
    lanes, places = f"<{count} x {one}>", f"<{count} x i32>"
    some = mask_text(range(count))

    def permuted(name: str, first: int) -> str:
        return (
            f"  %{name} = call {whole} {permute}({whole} %part.{first}, {whole} %index,"
            f" {whole} %part.{first + 1})"
        )

    text = [
        "{",
        "entry:",
        f"  br i1 %near, label %two, label %further{m.LIKELY}",
        "two:",
        permuted("of.two", 0),
        f"  %by.two = shufflevector {whole} %of.two, {whole} poison, {some}",
        "  br label %done",
        "further:",
        "  br i1 %within, label %four, label %by.lane",
        "four:",
        permuted("low", 0),
        permuted("high", 2),
        f"  %bit = and {whole} %index, splat ({one} {2 * per})",
        f"  %is.high = icmp ne {whole} %bit, zeroinitializer",
        f"  %of.four = select {flags} %is.high, {whole} %high, {whole} %low",
        f"  %by.four = shufflevector {whole} %of.four, {whole} poison, {some}",
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
        f"  %value = phi {lanes} [ %by.two, %two ], [ %by.four, %four ],"
        f" [ {before}, %by.lane ]",
        f"  ret {lanes} %value",
        "}",
        "",
    ]
    name = f"parhelion.near.{count}.{width}"
    parts = ", ".join([f"{whole} %part.{k}" for k in range(4)])
    given = f"ptr %base, {places} %at, i1 %near, i1 %within, {whole} %index, {parts}"
    header = f"define internal {lanes} @{name}({given}) alwaysinline"
    return m.share(name, header, "\n".join(text))


__all__ = ["load_near"]
