"""Powers of two as factors, by one instruction.

``exp`` ends with ``p * 2**k``, in two products of which the first is exact, since the
result may be subnormal or overflow (`ir.mathlib`). ``vscalefps`` rounds once, too, and
takes ``k`` as the float that it was: nine instructions less for each vector.
``fast_exp`` has one such product, and three less.
"""

from __future__ import annotations

from parhelion.codegen.types import value_type
from parhelion.codegen.vector import concatenate, slice_lanes
from parhelion.codegen.writer import Function
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr
from parhelion.ir.rewrite import nodes
from parhelion.ir.rounding import expanded
from parhelion.types import Type

#: By the bits of a register: the feature that is needed, and what the call ends with.
_SCALEF = {512: ("avx512f", ", i32 4"), 256: ("avx512vl", "")}


def exp(f: Function, e: E.Intrinsic) -> str | None:
    """``exp`` or ``fast_exp`` of vectors; None where none of a machine that has the
    instruction is full."""
    t = e.type
    if not t.is_float() or t.width not in (32, 64):
        return None
    bits = min(t.count * t.width, f.target.vector_bits)
    feature, end = _SCALEF.get(bits, ("", ""))
    if not feature or not f.target.has(feature) or t.count * t.width % bits:
        return None
    whole = expanded(e, strict=f.module.strict_float)
    parts = None if whole is None else _parts(whole)
    if parts is None:
        return None
    a, k = [f.value(part) for part in parts]
    part = t.with_lanes(bits // t.width)
    return concatenate(
        f,
        [
            (
                _scaled(
                    f,
                    part,
                    slice_lanes(f, a, t, start, part.count),
                    slice_lanes(f, k, t, start, part.count),
                    end,
                ),
                part,
            )
            for start in range(0, t.count, part.count)
        ],
    )[0]


def _parts(e: Expr) -> tuple[Expr, Expr] | None:
    """``p`` and ``k``, a whole number as a float, of ``p * 2**k`` in products."""
    factors: list[Expr] = []
    while isinstance(e, E.Mul) and isinstance(e.b, E.Reinterpret):
        factors.append(e.b)
        e = e.a
    found = {
        n.a
        for b in factors
        for n in nodes(b)
        if isinstance(n, E.Cast) and n.a.type.is_float()
    }
    return (e, found.pop()) if len(found) == 1 else None


def _scaled(f: Function, t: Type, a: str, k: str, end: str) -> str:
    vt, mask = value_type(t), f"i{max(8, t.count)}"
    kind = "ps" if t.width == 32 else "pd"
    name = f"llvm.x86.avx512.mask.scalef.{kind}.{t.count * t.width}"
    more = ", i32" if end else ""
    at = f.module.declare(name, vt, f"{vt}, {vt}, {vt}, {mask}{more}")
    return f.op(
        f"call {vt} {at}({vt} {a}, {vt} {k}, {vt} zeroinitializer, {mask} -1{end})"
    )


__all__ = ["exp"]
