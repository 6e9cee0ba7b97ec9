"""Machine code that LLVM is known to make wrong, found in what it made, and avoided.

Two faults of LLVM 22.1 that generated code reaches, both on AVX-512 alone:

* A masked vpternlog with an operand in memory, where the lanes that the mask leaves
  are those of another operand: of six orders of the operands two get each other's
  truth table (llvm-project issue 157929, mended by its pull request 209782). That
  includes constants, and a later pass may put the operand into a register.
* A sign test whose mask is moved to a general register becomes a vmovmsk, also where
  the vector is in one of the registers 16 to 31, which that instruction cannot name
  (issue 191304), and where what comes next changes the mask in place (198197).

Code is compiled as if there were no faults, for there are many ways to such
instructions, and LLVM finds most of them late (docs/decisions/0012-faults-of-llvm.md).
`suspected` looks for their bytes in the object file, 2 µs per KiB; no application of
benchmarks/ has any. Where there are some, the assembly is read, and `rewritten` gives
the module with fences between the operations that LLVM must not join: what was one
masked vpternlog is then a vpternlog and a masked move.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

#: The fence: a value that LLVM's code generator knows nothing of. It takes no
#: instruction, but there is one for floating-point types only.
FENCE = "llvm.arithmetic.fence"


def _bytes_where(holds: Callable[[int], bool]) -> bytes:
    """A class of a regular expression: the bytes for which `holds`."""
    chosen = [b"\\x%02x" % byte for byte in range(256) if holds(byte)]
    return b"[" + b"".join(chosen) + b"]"


@cache
def _suspicious() -> tuple[re.Pattern[bytes], ...]:
    """The bytes of instructions that may be wrong. They are compiled at their first
    use, in 2 ms: code from the cache has been looked through."""
    # EVEX, map 0F3A, prefix 66, a mask that merges; the opcode. An operand need not be
    # in memory any more: LLVM takes loads out of the instructions of a loop again.
    ternary = (
        b"\x62"
        + _bytes_where(lambda p0: p0 & 7 == 3)
        + _bytes_where(lambda p1: p1 & 3 == 1)
        + _bytes_where(lambda p2: p2 & 0x80 == 0 and p2 & 7 != 0)
        + b"\x25"
    )
    to_register = b"[\x50\xd7]" + _bytes_where(lambda modrm: modrm >= 0xC0)
    no_second = _bytes_where(lambda p: p & 0x78 == 0x78)
    # vmovmskps, vmovmskpd and vpmovmskb, in the two-byte and in the three-byte form:
    # one pattern each, for those that begin with one certain byte are found ten times
    # as fast.
    short = b"\xc5" + no_second + to_register
    long = b"\xc4" + _bytes_where(lambda p: p & 0x1F == 1) + no_second + to_register
    return tuple([re.compile(p, re.DOTALL) for p in (ternary, short, long)])


_TERNARY_TEXT = re.compile(r"\tvpternlog[dq]\t\$-?\d+, [^\n]*\{%k\d\}(?! *\{z\})")
_HIGH_REGISTER = re.compile(r"movmsk(?:b|ps|pd)\t%[xy]mm(?:1[6-9]|2\d|3[01]),")
_MASK_WRITTEN = re.compile(r"(%k\d)(?: \{(%k\d)\})?(?: \{z\})?$")


def suspected(code: bytes) -> bool:
    """Whether an object file may have instructions that LLVM chooses wrong.

    False is certain. True may be the accident of other bytes, or instructions that
    are right: the assembly tells.
    """
    return any([p.search(code) is not None for p in _suspicious()])


def ternary(assembly: str) -> bool:
    """Whether assembly has masked vpternlogs that keep lanes."""
    return _TERNARY_TEXT.search(assembly) is not None


def move_mask(assembly: str) -> bool:
    """Whether assembly has a vmovmsk of a register that it cannot name."""
    return _HIGH_REGISTER.search(assembly) is not None


def stale_mask(assembly: str) -> bool:
    """Whether assembly changes a mask in place where, if the vmovmsk before it in its
    basic block was a sign test into that mask, nothing is in the mask any more. It may
    as well be right: what the vmovmsk was made of cannot be told."""
    if "movmsk" not in assembly:
        return False
    #: Masks not written since the vmovmsk; None before there is one.
    untouched: set[str] | None = None
    for line in assembly.splitlines():
        if not line.startswith("\t"):
            untouched = None
        elif "movmsk" in line:
            untouched = {f"%k{n}" for n in range(8)}
        elif untouched and (found := _MASK_WRITTEN.search(line)) is not None:
            mask = found[1]
            if mask in untouched and (line.count(mask) > 1):
                return True
            untouched.discard(mask)
    return False


#: Two vpternlogs under a mask whose other lanes are those of `%p`: their third operand
#: is to be memory, and the table 2 (memory, and neither `%p` nor `%r`).
_PROBE = """target triple = "x86_64-unknown-linux-gnu"
declare <16 x i32> @llvm.x86.avx512.pternlog.d.512(\
<16 x i32>, <16 x i32>, <16 x i32>, i32 immarg)
define <16 x i32> @first(ptr %a, <16 x i32> %p, <16 x i32> %r, <16 x i1> %m) {
  %l = load <16 x i32>, ptr %a, align 4
  %t = call <16 x i32> @llvm.x86.avx512.pternlog.d.512(\
<16 x i32> %l, <16 x i32> %p, <16 x i32> %r, i32 16)
  %s = select <16 x i1> %m, <16 x i32> %t, <16 x i32> %p
  ret <16 x i32> %s
}
define <16 x i32> @second(ptr %a, <16 x i32> %p, <16 x i32> %r, <16 x i1> %m) {
  %l = load <16 x i32>, ptr %a, align 4
  %t = call <16 x i32> @llvm.x86.avx512.pternlog.d.512(\
<16 x i32> %r, <16 x i32> %l, <16 x i32> %p, i32 4)
  %s = select <16 x i1> %m, <16 x i32> %t, <16 x i32> %p
  ret <16 x i32> %s
}
"""


def ternary_mended(assembly_of: Callable[[str], str]) -> bool:
    """Whether LLVM gets masked vpternlogs right. Takes it some milliseconds.

    assembly_of: compiles a module for AVX-512, without optimising it first.
    """
    found = _TERNARY_TEXT.findall(assembly_of(_PROBE))
    return all(re.search(r"\$2,", text) for text in found)


_NAME = r'%(?:"[^"]*"|[^\s,"]+)'
_VECTOR = r"(?P<type><(?P<lanes>\d+) x i(?P<bits>8|16|32|64)>)"
_DEFINITION = re.compile(rf"^  ({_NAME}) = (\w+)")
_SELECT = re.compile(
    rf"^  (?P<name>{_NAME}) = select (?P<flags>(?:[a-z]+ )*)(?P<cond><\d+ x i1> .+?), "
    r"(?P<type><(?P<lanes>\d+) x (?P<of>i32|i64|float|double)>) "
    rf"(?P<a>.+?), (?P=type) (?P<b>{_NAME}|.+?)(?P<tail>, !.*)?$"
)
#: A selection by a constant, as LLVM's optimiser writes it.
_SHUFFLE = re.compile(
    rf"^  (?P<name>{_NAME}) = shufflevector "
    r"(?P<type><(?P<lanes>\d+) x (?P<of>i32|i64|float|double)>) "
    r"(?P<a>.+?), (?P=type) (?P<b>.+?), (?P<mask><\d+ x i32> <.+>)$"
)
_PLACE = re.compile(r"i32 (\d+|poison|undef)")
_SIGN_TEST = re.compile(
    rf"^  (?P<name>{_NAME}) = icmp (?P<test>slt|sgt) {_VECTOR} (?P<a>{_NAME}), "
    r"(?P<b>zeroinitializer|splat \(i\d+ -1\))$"
)
_LOW_BIT = re.compile(
    rf"^  (?P<name>{_NAME}) = trunc (?:nuw |nsw )*{_VECTOR} (?P<a>{_NAME}) to "
    r"<\d+ x i1>$"
)
#: What is, or becomes, an operation on bits that vpternlog does.
_BITWISE = frozenset(("and", "or", "xor", "add", "sub", "bitcast", "call"))
#: What no operation can be joined with.
_OPAQUE = frozenset(("load", "phi"))


class _Rewriter:
    """The lines of a module with fences, and the fences' declarations."""

    def __init__(self, everywhere: bool) -> None:
        self.everywhere = everywhere
        self.lines: list[str] = []
        self.declared: dict[str, str] = {}
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"%ph.apart.{self.count}"

    def fence(self, type_: str, lanes: int, bits: int, value: str) -> str:
        """Writes a fence behind a value; returns the fenced value."""
        if type_.endswith(("float>", "double>")):
            real = type_
        else:
            width = 64 if bits == 64 else 32
            real = f"<{lanes * bits // width} x {'double' if width == 64 else 'float'}>"
        count, of = real[1:-1].split(" x ")
        called = f"{FENCE}.v{count}{'f64' if of == 'double' else 'f32'}"
        self.declared[called] = f"declare {real} @{called}({real})"
        if real != type_:
            cast = self.name()
            self.lines.append(f"  {cast} = bitcast {type_} {value} to {real}")
            value = cast
        fenced = self.name()
        self.lines.append(f"  {fenced} = call {real} @{called}({real} {value})")
        if real == type_:
            return fenced
        back = self.name()
        self.lines.append(f"  {back} = bitcast {real} {fenced} to {type_}")
        return back

    def arm(self, found: re.Match[str], value: str, definitions: dict[str, str]) -> str:
        """An arm of a selection, fenced if it could become one operation with it."""
        made_by = definitions.get(value)
        if made_by is None or made_by in _OPAQUE:
            return value
        if made_by not in _BITWISE and not self.everywhere:
            return value
        bits = 64 if found["of"] in ("i64", "double") else 32
        return self.fence(found["type"], int(found["lanes"]), bits, value)

    def line(self, line: str, definitions: dict[str, str]) -> None:
        """Writes a line of a function, with fences where it needs them."""
        if (found := _SELECT.match(line)) is not None:
            a = self.arm(found, found["a"], definitions)
            b = self.arm(found, found["b"], definitions)
            type_ = found["type"]
            line = (
                f"  {found['name']} = select {found['flags']}{found['cond']}, "
                f"{type_} {a}, {type_} {b}{found['tail'] or ''}"
            )
        elif (found := _SHUFFLE.match(line)) is not None and _stays_in_lanes(found):
            a = self.arm(found, found["a"], definitions)
            b = self.arm(found, found["b"], definitions)
            type_ = found["type"]
            line = (
                f"  {found['name']} = shufflevector {type_} {a}, {type_} {b}, "
                f"{found['mask']}"
            )
        elif (found := _SIGN_TEST.match(line)) is not None:
            other = self.constant(found, found["b"])
            line = line.removesuffix(found["b"]) + other
        elif (found := _LOW_BIT.match(line)) is not None:
            one = self.constant(found, f"splat (i{found['bits']} 1)")
            low, type_ = self.name(), found["type"]
            self.lines.append(f"  {low} = and {type_} {found['a']}, {one}")
            line = f"  {found['name']} = icmp ne {type_} {low}, zeroinitializer"
        self.lines.append(line)

    def constant(self, found: re.Match[str], value: str) -> str:
        """A constant that the code generator does not see as one, so that a test is a
        comparison. Vectors of less than 32 bits in all stay as they are."""
        lanes, bits = int(found["lanes"]), int(found["bits"])
        if lanes * bits % 32:
            return value
        return self.fence(found["type"], lanes, bits, value)


def _stays_in_lanes(found: re.Match[str]) -> bool:
    """Whether each lane of a shuffle is the same lane of one of its operands."""
    lanes = int(found["lanes"])
    places = _PLACE.findall(found["mask"].partition("> ")[2])
    return len(places) == lanes and all(
        [not at.isdigit() or int(at) % lanes == i for i, at in enumerate(places)]
    )


def rewritten(text: str, everywhere: bool) -> str:
    """A module, as LLVM prints it, with fences around masked operations on bits (or
    around all masked ones) and in sign tests. It computes the same."""
    made = _Rewriter(everywhere)
    function: list[str] = []
    definitions: dict[str, str] = {}
    inside = False
    for line in text.splitlines():
        if not inside:
            inside = line.startswith("define ")
            made.lines.append(line)
        elif line == "}":
            for one in function:
                made.line(one, definitions)
            made.lines.append(line)
            function, definitions, inside = [], {}, False
        else:
            function.append(line)
            if (found := _DEFINITION.match(line)) is not None:
                definitions[found[1]] = "call" if found[2] == "tail" else found[2]
    present = set(re.findall(rf"^declare .* @({re.escape(FENCE)}\.\w+)\(", text, re.M))
    new = [line for name, line in made.declared.items() if name not in present]
    return "\n".join([*made.lines, *new, ""])


__all__ = [
    "move_mask",
    "rewritten",
    "stale_mask",
    "suspected",
    "ternary",
    "ternary_mended",
]
