"""The back ends that there are, and which of them serves a machine."""

from __future__ import annotations

from parhelion.codegen.arm import ARM32, ARM64
from parhelion.codegen.backend import Backend
from parhelion.codegen.nvptx import NVPTX
from parhelion.codegen.x86 import X86

#: Any other machine: what LLVM makes of code that is the same for all.
GENERIC = Backend("any machine", ("",))

#: The first that serves a machine is taken: those of longer names stand before others.
BACKENDS = [X86, ARM64, ARM32, NVPTX, GENERIC]


def backend_of(arch: str) -> Backend:
    """The back end of machines whose triples have this first part."""
    return next(b for b in BACKENDS if b.serves(arch))


__all__ = ["BACKENDS", "GENERIC", "backend_of"]
