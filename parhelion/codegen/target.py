"""The computer at hand as a target."""

from __future__ import annotations

import functools

from parhelion.ir.target import Target, make_target


@functools.cache
def host_target() -> Target:
    """This machine. Loads llvmlite at the first call."""
    import llvmlite.binding as llvm

    triple = llvm.get_default_triple()
    found = llvm.get_host_cpu_features()
    return make_target(
        triple,
        llvm.get_host_cpu_name(),
        [name for name, on in found.items() if on],
        [name for name, on in found.items() if not on],
    )
