"""ARM's machines, of 64 and of 32 bits: LLVM finds their instructions by itself."""

from __future__ import annotations

from parhelion.codegen.backend import Instruction, LLVMBackend

ARM64 = LLVMBackend(
    "ARM, 64 bits",
    ("aarch64", "arm64"),
    rare_call="preserve_mostcc",
    pause=Instruction("llvm.aarch64.hint", "i32", "i32 1"),
)
ARM32 = LLVMBackend(
    "ARM, 32 bits", ("arm",), pause=Instruction("llvm.arm.hint", "i32", "i32 1")
)

__all__ = ["ARM32", "ARM64"]
