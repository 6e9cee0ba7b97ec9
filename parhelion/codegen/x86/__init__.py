"""x86-64: what its machines have of their own."""

from __future__ import annotations

from parhelion.codegen.backend import SHORT_STEP, Instruction, LLVMBackend
from parhelion.ir.target import Target

#: By the width of elements, in bits, the feature with which one instruction puts the
#: lanes of two registers into any order.
_ANY_ORDER = {8: "avx512vbmi", 16: "avx512bw", 32: "avx512f", 64: "avx512f"}
#: Steps up to so many are loaded densely where lanes can be put into any order.
_LONG_STEP = 16


def longest_step(target: Target, bits: int) -> int:
    """The longest step between elements of so many bits that is loaded densely.

    Of longer ones each lane is loaded by itself: a load and an insertion for each,
    where dense parts take a load and a permutation for each element of a step.
    """
    feature = _ANY_ORDER.get(bits, "")
    if not (feature and target.has(feature)):
        return SHORT_STEP
    return max(SHORT_STEP, min(_LONG_STEP, target.vector_bits // bits // 2))


X86 = LLVMBackend(
    "x86-64",
    ("x86_64", "amd64"),
    "parhelion.codegen.x86.attempts",
    rare_call="preserve_mostcc",
    pause=Instruction("llvm.x86.sse2.pause"),
    fence=Instruction("llvm.x86.sse.sfence"),
    longest_step=longest_step,
)

__all__ = ["X86"]
