"""Products of 16-bit numbers in 32 bits, one of which all lanes share.

``vpmulld`` multiplies 32 bits by 32 in two steps. Of numbers that fit into 16 bits,
``vpmaddwd`` gives the product in one, and where the machine has VNNI, LLVM makes it
and a sum one instruction. LLVM finds it where it sees both numbers widened; what all
lanes share is widened outside the loop, where it does not look.
"""

from __future__ import annotations

from parhelion.codegen.types import value_type
from parhelion.codegen.vector import concatenate, slice_lanes
from parhelion.codegen.writer import Function
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr
from parhelion.types import INT32, Int, Type, UInt

#: By the number of 32-bit lanes: the feature that is needed, and the intrinsic, which
#: adds the products of neighbours.
_PMADDWD = {
    4: ("sse2", "llvm.x86.sse2.pmadd.wd"),
    8: ("avx2", "llvm.x86.avx2.pmadd.wd"),
    16: ("avx512bw", "llvm.x86.avx512.pmaddw.d.512"),
}


def _is_short(e: Expr) -> bool:
    """Whether `e` is widened from a type whose numbers are 16-bit signed ones."""
    if not isinstance(e, E.Cast):
        return False
    t = e.a.type
    return (t.is_int() and t.width <= 16) or (t.is_uint() and t.width <= 8)


def short_product(f: Function, e: E.Mul) -> str | None:
    """`e` by ``vpmaddwd``; None if it is no such product, or not on this machine."""
    t = e.type
    if t is not Int(32, t.count) or t.count < 2:
        return None
    for vector, shared in ((e.a, e.b), (e.b, e.a)):
        if not isinstance(shared, E.Broadcast) or not _is_short(shared.value):
            continue
        if shared.value.type is INT32 and _is_short(vector):
            return _product(f, t, vector, shared.value)
    return None


def _product(f: Function, t: Type, vector: Expr, shared: Expr) -> str | None:
    lanes = min(t.count, f.target.vector_bits // 32)
    feature, name = _PMADDWD.get(lanes, ("", ""))
    if not name or not f.target.has(feature) or t.count % lanes:
        return None
    # The upper half of each lane is a number of its own to the instruction: it is
    # multiplied by zero.
    low = E.Cast(INT32, E.Cast(UInt(16), shared))
    part, halves = t.with_lanes(lanes), value_type(Int(16, 2 * lanes))
    pt = value_type(part)
    factor = f.value(build.broadcast(low, lanes))
    factor = f.op(f"bitcast {pt} {factor} to {halves}")
    at = f.module.declare(name, pt, f"{halves}, {halves}")
    whole = f.value(vector)
    parts: list[tuple[str, Type]] = []
    for start in range(0, t.count, lanes):
        piece = slice_lanes(f, whole, t, start, lanes)
        piece = f.op(f"bitcast {pt} {piece} to {halves}")
        made = f.op(f"call {pt} {at}({halves} {piece}, {halves} {factor})")
        parts.append((made, part))
    return concatenate(f, parts)[0]
