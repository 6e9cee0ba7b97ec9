"""The computer at hand as a target, and its device for kernels."""

from __future__ import annotations

import functools
import os

from parhelion.errors import HalideError, here
from parhelion.ir.device import SIMULATED, Device, device_of
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


def named_device() -> Device | None:
    """What PARHELION_GPU says that kernels are made for: "simulate", or a GPU that need
    not be there ("sm_80"). None if it is not set. Raises HalideError for a name that
    means nothing."""
    named = os.environ.get("PARHELION_GPU", "")
    if named == "":
        return None
    if named == "simulate":
        return SIMULATED
    if named.startswith("sm_"):
        return device_of(named)
    raise HalideError(
        f"PARHELION_GPU is {named!r}, which is no device",
        at=here(),
        legal=["simulate", "sm_80"],
    )
