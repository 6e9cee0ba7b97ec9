"""Which nodes x86-64 has instructions for that LLVM does not find by itself."""

from __future__ import annotations

from parhelion.codegen.backend import GATHER, MASKED_GATHER, Attempt, Key
from parhelion.codegen.x86.dot import dot, sum_with_dot
from parhelion.codegen.x86.exponents import exp
from parhelion.codegen.x86.interleaving import three_of_bytes
from parhelion.codegen.x86.mul_shift import mul_shift
from parhelion.codegen.x86.near import load_near
from parhelion.codegen.x86.rounding import saturate_rounded
from parhelion.codegen.x86.short_products import short_product
from parhelion.codegen.x86.slopes import load_by_slope, load_some_by_slope
from parhelion.codegen.x86.tables import look_up
from parhelion.ir import expr as E

EMITTERS: dict[Key, tuple[Attempt, ...]] = {
    E.Add: (sum_with_dot,),
    E.Mul: (short_product,),
    E.VectorReduce: (dot,),
    E.Shuffle: (three_of_bytes,),
    "exp": (exp,),
    "fast_exp": (exp,),
    "rounding_mul_shift_right": (mul_shift,),
    "saturating_cast": (saturate_rounded,),
    GATHER: (load_by_slope, look_up, load_near),
    MASKED_GATHER: (load_some_by_slope,),
}

__all__ = ["EMITTERS"]
