"""The back ends that there are, and which of them serves a target."""

from __future__ import annotations

from typing import Any

from parhelion.codegen.arm import ARM32, ARM64
from parhelion.codegen.backend import Backend, LLVMBackend
from parhelion.codegen.c import C
from parhelion.codegen.nvptx import NVPTX
from parhelion.codegen.x86 import X86
from parhelion.errors import InternalError

#: Any other machine: what LLVM makes of code that is the same for all.
GENERIC = LLVMBackend("any machine", ("",))

#: The first that serves a target is taken: those of longer names stand before others.
BACKENDS: list[Backend[Any, Any, Any]] = [X86, ARM64, ARM32, NVPTX, C, GENERIC]


def backend_of(arch: str) -> Backend[Any, Any, Any]:
    """The back end of targets whose triples have this first part."""
    return next(b for b in BACKENDS if b.serves(arch))


def llvm_backend(arch: str) -> LLVMBackend:
    """The same, of machines. Raises InternalError for a target that is none."""
    found = backend_of(arch)
    if not isinstance(found, LLVMBackend):
        raise InternalError(
            f"{found.name}, which serves {arch!r}, is no machine's code"
        )
    return found


__all__ = ["BACKENDS", "GENERIC", "backend_of", "llvm_backend"]
