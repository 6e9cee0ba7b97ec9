"""NVIDIA's GPUs: kernels, which become PTX through LLVM."""

from __future__ import annotations

from parhelion.codegen.backend import LLVMBackend

NVPTX = LLVMBackend(
    "NVIDIA's GPUs",
    ("nvptx64",),
    "parhelion.codegen.nvptx.attempts",
    storage="parhelion.codegen.nvptx.memories",
    statements="parhelion.codegen.nvptx.statements",
    # The run time is the host's.
    symbols="",
    # Registers have 32 bits.
    word="i32",
    generic_pointers=True,
)

__all__ = ["NVPTX"]
