"""Floats that are rounded and limited to a type: conversions round by themselves.

To round a float, limit it, and cut off what is no longer there takes an instruction
more than to limit it first and to convert it to the nearest integer, of two to the even
one. As limits are integers, both find the same.
"""

from __future__ import annotations

from parhelion.codegen.intrinsics import limited
from parhelion.codegen.types import suffix, value_type
from parhelion.codegen.writer import Function
from parhelion.ir import expr as E
from parhelion.types import Type

#: Of wider types, limits are no floats.
_WIDEST = 16


def saturate_rounded(f: Function, e: E.Intrinsic) -> str | None:
    """``saturating_cast(round(a))`` of float32 or float64 to integers of at most 16
    bits; None for others."""
    rounded, new = e.args[0], e.type
    if not isinstance(rounded, E.Intrinsic) or rounded.op != "round":
        return None
    if rounded.type.is_bfloat() or rounded.type.width < 32:
        return None
    if not new.is_int_or_uint() or not 8 <= new.width <= _WIDEST:
        return None
    return limited(f, rounded.args[0], new, _nearest)


def _nearest(f: Function, text: str, old: Type, wide: Type) -> str:
    to, of = value_type(wide), value_type(old)
    name = f"llvm.lrint.{suffix(wide)}.{suffix(old)}"
    return f.op(f"call {to} {f.module.declare(name, to, of)}({of} {text})")


__all__ = ["saturate_rounded"]
