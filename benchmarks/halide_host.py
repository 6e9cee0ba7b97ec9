"""What Halide is told of this computer, where it would take it for another one.

Halide 21 takes the vector instructions of AMD processors from the number of the model.
On a virtual machine that hides AVX-512 its code for the host then ends in an illegal
instruction, so it is told the target by the environment's ``HL_JIT_TARGET``.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

import parhelion

#: Where Halide looks for the target of code that runs in its process.
VARIABLE = "HL_JIT_TARGET"


def corrected(claimed: str) -> str | None:
    """The target that Halide claims without what this computer has not; None if it has
    everything.

    What parhelion has no name for, as the processor that is tuned for, stays.
    """
    known = {f.value for f in parhelion.TargetFeature}
    has = str(parhelion.get_host_target()).split("-")
    parts = claimed.split("-")
    kept = [p for p in parts if p not in known or p in has]
    return None if kept == parts else "-".join(kept)


def tell(halide: Any) -> None:
    """Tells the Halide of this process: nothing that is started from here, nor
    parhelion, which reads the same variable by Python."""
    if VARIABLE not in os.environ:
        target = corrected(str(halide.get_host_target()))
        if target is not None:
            ctypes.CDLL(None).setenv(VARIABLE.encode(), target.encode(), 1)


def target_of(hl: Any) -> Any:
    """This computer, as a target of `halide` or `parhelion`."""
    host = hl.get_host_target()
    target = corrected(str(host))
    return host if target is None else hl.Target(target)


__all__ = ["VARIABLE", "corrected", "target_of", "tell"]
