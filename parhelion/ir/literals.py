"""Constants as text: integers, floats in the fewest digits, and strings."""

from __future__ import annotations

import math

from parhelion.ir import expr as E
from parhelion.ir.expr import FloatImm, float_bits
from parhelion.types import TypeCode

SHORT: dict[tuple[TypeCode, int], str] = {
    **{(TypeCode.Int, w): f"i{w}" for w in (8, 16, 32, 64)},
    **{(TypeCode.UInt, w): f"u{w}" for w in (1, 8, 16, 32, 64)},
    **{(TypeCode.Float, w): f"f{w}" for w in (16, 32, 64)},
    (TypeCode.BFloat, 16): "bf16",
    (TypeCode.Handle, 64): "handle64",
}


def integer(e: E.Imm) -> str:
    t = e.type
    if t.is_int() and t.width == 32:
        return str(e.value)
    if t.is_bool() and e.value in (0, 1):
        return "true" if e.value else "false"
    return f"{SHORT[t.kind, t.width]}({e.value})"


def quoted(s: str) -> str:
    import json  # here, since importing the package need not load it

    return json.dumps(s, ensure_ascii=False)


def floating(e: FloatImm) -> str:
    value = e.value
    if math.isnan(value):
        digits = "nan" if e.bits == float_bits(math.nan, e.type) else hex(e.bits)
    elif math.isinf(value):
        digits = "inf" if value > 0 else "-inf"
    else:
        digits = _shortest(value, e)
    if e.type.kind is TypeCode.Float and e.type.width == 32 and math.isfinite(value):
        return digits + "f"
    return f"{SHORT[e.type.kind, e.type.width]}({digits})"


def _shortest(value: float, e: FloatImm) -> str:
    """The fewest digits that read back as the same float."""
    for precision in range(1, 10):
        digits = f"{value:.{precision}g}"
        if float_bits(float(digits), e.type) == e.bits:
            break
    else:
        digits = repr(value)
    # At least one digit after the point, so that it looks like a float.
    return repr(float(digits))


__all__ = ["SHORT", "floating", "integer", "quoted"]
