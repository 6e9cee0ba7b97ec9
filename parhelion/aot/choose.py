"""Several compilations of a pipeline in one library: the computer chooses at run time.

The function NAME asks once what the processor has, and calls the first of the given
functions that needs no more; the last one serves all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parhelion.aot.entry import c_argument
from parhelion.aot.interface import Interface
from parhelion.errors import HalideError, here
from parhelion.ir.target import Target

#: For x86: where CPUID tells of a feature, by LLVM's name: leaf, subleaf, register (of
#: eax, ebx, ecx, edx) and bit.
_X86: dict[str, tuple[int, int, int, int]] = {
    "sse3": (1, 0, 2, 0),
    "ssse3": (1, 0, 2, 9),
    "fma": (1, 0, 2, 12),
    "cx16": (1, 0, 2, 13),
    "sse4.1": (1, 0, 2, 19),
    "sse4.2": (1, 0, 2, 20),
    "movbe": (1, 0, 2, 22),
    "popcnt": (1, 0, 2, 23),
    "avx": (1, 0, 2, 28),
    "f16c": (1, 0, 2, 29),
    "bmi": (7, 0, 1, 3),
    "avx2": (7, 0, 1, 5),
    "bmi2": (7, 0, 1, 8),
    "avx512f": (7, 0, 1, 16),
    "avx512dq": (7, 0, 1, 17),
    "avx512ifma": (7, 0, 1, 21),
    "avx512cd": (7, 0, 1, 28),
    "avx512bw": (7, 0, 1, 30),
    "avx512vl": (7, 0, 1, 31),
    "avx512vbmi": (7, 0, 2, 1),
    "avx512vbmi2": (7, 0, 2, 6),
    "avx512vnni": (7, 0, 2, 11),
    "avx512bitalg": (7, 0, 2, 12),
    "avx512vpopcntdq": (7, 0, 2, 14),
    "avx512vp2intersect": (7, 0, 3, 8),
    "avxvnni": (7, 1, 0, 4),
    "avx512bf16": (7, 1, 0, 5),
    "lzcnt": (0x80000001, 0, 2, 5),
    "fma4": (0x80000001, 0, 2, 16),
}
#: The feature that says that XGETBV can be asked, and which parts of the registers the
#: system must save for AVX, and for AVX-512.
_OSXSAVE = (1, 0, 2, 27)
_AVX_STATE, _AVX512_STATE = 0x6, 0xE6

#: For AArch64 Linux: the bits of getauxval(AT_HWCAP) and, from 32 on, of AT_HWCAP2.
_ARM64 = {"fullfp16": 10, "dotprod": 20, "sve": 22, "sve2": 32 + 1, "neon": 1}


def chooser_text(
    interface: Interface, target: Target, choices: Sequence[tuple[str, Target]]
) -> str:
    """The module of NAME, NAME_argv and NAME_metadata, which choose among functions.

    choices: their names and targets, the best first; the last one is taken where no
    other can be. Raises HalideError for a feature that no code here can ask for.
    """
    known, reader = _reader(target)
    always = set(choices[-1][1].features)
    needs: list[tuple[str, int]] = []
    for name, of in choices[:-1]:
        asked = [f for f in of.features if f not in always]
        unknown = [f for f in asked if f not in known]
        if unknown:
            raise HalideError(
                f"whether a processor has {unknown[0]} cannot be asked at run time",
                at=here(),
                legal=sorted(known),
            )
        needs.append((name, sum([1 << known[f] for f in asked])))
    parts = [f'target triple = "{target.triple}"', reader, _CHOICE]
    parts += _functions(interface, needs, choices[-1][0])
    return "\n".join(parts) + "\n"


def _reader(target: Target) -> tuple[Mapping[str, int], str]:
    """The bit of each feature, and a function that finds those of the processor."""
    if target.is_x86():
        bits = {name: i for i, name in enumerate(_X86)}
        return bits, _x86_reader(bits)
    if target.arch == "aarch64":
        return _ARM64, _ARM64_READER
    raise HalideError(
        f"what a processor has cannot be asked on {target.triple}",
        at=here(),
        legal=["x86-64-linux", "arm-64-linux"],
    )


_ARM64_READER = """
declare i64 @getauxval(i64)
define internal i64 @choose.features() {
  %a = call i64 @getauxval(i64 16)
  %b = call i64 @getauxval(i64 26)
  %low = and i64 %a, 4294967295
  %high = shl i64 %b, 32
  %all = or i64 %low, %high
  ret i64 %all
}
"""

#: What was found, kept: 0 is not asked yet, as bit 63 is set of all that is found.
_CHOICE = """
@choose.known = internal global i64 0
define internal i64 @choose.found() {
  %k = load atomic i64, ptr @choose.known monotonic, align 8
  %none = icmp eq i64 %k, 0
  br i1 %none, label %ask, label %done
ask:
  %f = call i64 @choose.features()
  %marked = or i64 %f, -9223372036854775808
  store atomic i64 %marked, ptr @choose.known monotonic, align 8
  ret i64 %marked
done:
  ret i64 %k
}
"""


def _x86_reader(bits: Mapping[str, int]) -> str:
    four = "{ i32, i32, i32, i32 }"
    ask = (
        f'call {four} asm sideeffect "cpuid", "={{ax}},={{bx}},={{cx}},={{dx}},0,2,'
        '~{dirflag},~{fpsr},~{flags}"'
    )
    lines = ["define internal i64 @choose.features() {"]
    registers: dict[tuple[int, int, int], str] = {}
    lines.append(f"  %most = {ask}(i32 0, i32 0)")
    lines.append(f"  %leaves = extractvalue {four} %most, 0")
    leaves = dict.fromkeys([(at[0], at[1]) for at in (*_X86.values(), _OSXSAVE)])
    for leaf, sub in leaves:
        tag = f"{leaf:x}.{sub}"
        lines.append(f"  %r.{tag} = {ask}(i32 {_signed(leaf)}, i32 {sub})")
        lines.append(f"  %there.{tag} = icmp uge i32 %leaves, {leaf & 0x7FFFFFFF}")
        for k in range(4):
            lines.append(f"  %raw.{tag}.{k} = extractvalue {four} %r.{tag}, {k}")
            name = registers[leaf, sub, k] = f"%e.{tag}.{k}"
            # A leaf that is beyond the last says what another one says.
            known = "true" if leaf >> 31 else f"%there.{tag}"
            lines.append(f"  {name} = select i1 {known}, i32 %raw.{tag}.{k}, i32 0")
    leaf, sub, k, bit = _OSXSAVE
    lines += [
        f"  %os.bit = and i32 {registers[leaf, sub, k]}, {1 << bit}",
        "  %os = icmp ne i32 %os.bit, 0",
        "  br i1 %os, label %saved, label %unsaved",
        "saved:",
        '  %x = call { i32, i32 } asm sideeffect "xgetbv", "={ax},={dx},{cx},'
        '~{dirflag},~{fpsr},~{flags}"(i32 0)',
        "  %xcr = extractvalue { i32, i32 } %x, 0",
        "  br label %collect",
        "unsaved:",
        "  br label %collect",
        "collect:",
        "  %state = phi i32 [ %xcr, %saved ], [ 0, %unsaved ]",
    ]
    for name, mask in (("avx", _AVX_STATE), ("avx512", _AVX512_STATE)):
        lines.append(f"  %{name}.on = and i32 %state, {mask}")
        lines.append(f"  %{name}.ok = icmp eq i32 %{name}.on, {mask}")
    total = "0"
    for i, (name, (leaf, sub, k, bit)) in enumerate(_X86.items()):
        lines.append(
            f"  %b{i} = and i32 {registers[leaf, sub, k]}, {_signed(1 << bit)}"
        )
        lines.append(f"  %h{i} = icmp ne i32 %b{i}, 0")
        state = ""
        if name.startswith("avx512"):
            state = "avx512"
        elif name.startswith("avx") or name in ("fma", "fma4", "f16c"):
            state = "avx"
        has = f"%h{i}"
        if state:
            lines.append(f"  %s{i} = and i1 {has}, %{state}.ok")
            has = f"%s{i}"
        lines.append(f"  %w{i} = select i1 {has}, i64 {1 << bits[name]}, i64 0")
        lines.append(f"  %t{i} = or i64 {total}, %w{i}")
        total = f"%t{i}"
    lines += [f"  ret i64 {total}", "}"]
    return "\n".join(lines)


def _signed(word: int) -> int:
    return word - (1 << 32) if word >> 31 else word


def _functions(
    interface: Interface, needs: Sequence[tuple[str, int]], last: str
) -> list[str]:
    name = interface.name
    kinds = ["ptr"] if interface.user_context else []
    kinds += [c_argument(p) for p in interface.parameters]
    listed = ", ".join([f"{kind} %a{i}" for i, kind in enumerate(kinds)])
    parts: list[str] = []
    for choice in (*[n for n, _ in needs], last):
        parts.append(f"declare i32 @{choice}({', '.join(kinds)})")
        parts.append(f"declare i32 @{choice}_argv(ptr)")
        parts.append(f"declare ptr @{choice}_metadata()")
    for suffix, result, given in (
        ("", "i32", listed),
        ("_argv", "i32", "ptr %a0"),
        ("_metadata", "ptr", ""),
    ):
        lines = [f"define {result} @{name}{suffix}({given}) {{"]
        lines.append("  %f = call i64 @choose.found()")
        for i, (choice, mask) in enumerate(needs):
            lines += [
                f"  %m{i} = and i64 %f, {mask}",
                f"  %c{i} = icmp eq i64 %m{i}, {mask}",
                f"  br i1 %c{i}, label %yes{i}, label %no{i}",
                f"yes{i}:",
                f"  %r{i} = call {result} @{choice}{suffix}({given})",
                f"  ret {result} %r{i}",
                f"no{i}:",
            ]
        lines.append(f"  %r = call {result} @{last}{suffix}({given})")
        lines += [f"  ret {result} %r", "}"]
        parts.append("\n".join(lines))
    return parts


__all__ = ["chooser_text"]
