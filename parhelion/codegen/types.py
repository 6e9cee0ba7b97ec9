"""How types and constants are spelled in LLVM's assembly language.

A Bool is ``i1`` in registers and a byte in memory. A BFloat is an ``i16``: its
arithmetic is done in float32 (see `expr`), because LLVM lowers ``bfloat`` to library
calls on machines that lack it. A Handle is ``ptr``.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from parhelion.ir.expr import Expr, FloatImm, Imm
from parhelion.types import Type, TypeCode

_VALUE: dict[Type, str] = {}
_MEMORY: dict[Type, str] = {}
_SUFFIX: dict[Type, str] = {}

_FLOAT = {16: "half", 32: "float", 64: "double"}


def _scalar(t: Type) -> str:
    if t.kind is TypeCode.Float:
        return _FLOAT[t.width]
    if t.is_handle():
        return "ptr"
    return f"i{t.width}"


def value_type(t: Type) -> str:
    """The LLVM type of values of type `t` in registers."""
    found = _VALUE.get(t)
    if found is None:
        found = _scalar(t)
        if t.count > 1:
            found = f"<{t.count} x {found}>"
        _VALUE[t] = found
    return found


def memory_type(t: Type) -> str:
    """The LLVM type of values of type `t` in memory (a Bool is a byte)."""
    found = _MEMORY.get(t)
    if found is None:
        found = "i8" if t.is_bool() else _scalar(t)
        if t.count > 1:
            found = f"<{t.count} x {found}>"
        _MEMORY[t] = found
    return found


def suffix(t: Type) -> str:
    """The mangled name of a value type in overloaded intrinsics: ``v8f32``, ``i16``."""
    found = _SUFFIX.get(t)
    if found is None:
        if t.kind is TypeCode.Float:
            found = f"f{t.width}"
        elif t.is_handle():
            found = "p0"
        else:
            found = f"i{t.width}"
        if t.count > 1:
            found = f"v{t.count}{found}"
        _SUFFIX[t] = found
    return found


def int_text(value: int, t: Type) -> str:
    """An integer or Bool constant of scalar type `t`."""
    if t.width == 1:
        return "true" if value else "false"
    return str(value)


def float_text(bits: int, t: Type) -> str:
    """A float constant of scalar type `t`, by its own bits."""
    if t.is_bfloat():
        return str(bits)
    if t.width == 16:
        return f"0xH{bits:04X}"
    if t.width == 32:
        # LLVM spells a float by the bits of the double of the same value. Widening
        # keeps a NaN's payload as far as LLVM reads it back.
        exponent = bits >> 23 & 0xFF
        if exponent == 0xFF:
            sign, fraction = bits >> 31, bits & 0x7FFFFF
            return f"0x{sign << 63 | 0x7FF << 52 | fraction << 29:016X}"
        value = struct.unpack("<f", struct.pack("<I", bits))[0]
        return "0x" + struct.pack(">d", value).hex().upper()
    return f"0x{bits:016X}"


def constant(e: Expr) -> str | None:
    """The text of a scalar constant, else None."""
    if type(e) is Imm:
        if e.type.width == 1:
            return "true" if e.value else "false"
        return "null" if e.type.is_handle() and not e.value else str(e.value)
    if type(e) is FloatImm:
        return float_text(e.bits, e.type)
    return None


def splat(text: str, t: Type) -> str:
    """A constant of vector type `t`, every lane `text`."""
    if text in ("0", "false"):
        return "zeroinitializer"
    return f"splat ({_scalar(t)} {text})"


def zero(t: Type) -> str:
    """The zero of a value type."""
    if t.count > 1:
        return "zeroinitializer"
    if t.kind is TypeCode.Float:
        return "0.0" if t.width > 16 else "0xH0000"
    if t.is_handle():
        return "null"
    return int_text(0, t)


def integers(t: Type, value: int) -> str:
    """The integer constant `value` of type `t`, in every lane if it is a vector."""
    text = int_text(t.wrap(value), t)
    return splat(text, t) if t.count > 1 else text


def mask_text(indices: Sequence[int]) -> str:
    """A shuffle mask with its type; a negative index is a lane that nobody reads."""
    lanes = ", ".join([f"i32 {i}" if i >= 0 else "i32 poison" for i in indices])
    return f"<{len(indices)} x i32> <{lanes}>"
