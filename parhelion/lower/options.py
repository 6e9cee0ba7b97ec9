"""For what, and how, a pipeline is lowered, besides what its schedule says."""

from __future__ import annotations

from parhelion.dataclass import dataclass
from parhelion.ir.device import Device
from parhelion.ir.target import Target, generic_target


@dataclass(frozen=True, slots=True)
class LowerOptions:
    """The options of one lowering, the same for all its passes.

    target: the machine that the code is for. Passes ask it for what it can do.
    index64: whether places in buffers are counted in 64 bits.
    strict_float: whether every float operation is rounded by itself.
    guard_tails: splits whose tail is Auto are guarded instead of shifted inwards, so
        that images smaller than a tile can be computed.
    vectors: if false, vectorised loops stay loops, as do unrolled ones around them, and
        async Funcs have no threads, to be read.
    profile: whether threads say which Func they compute (see `lower.profiling`).
    record: whether all Funcs are traced, and their lines are handed on as records.
    device: what kernels are made for; None if the code is for a CPU alone.
    """

    target: Target = generic_target(256)
    index64: bool = False
    strict_float: bool = False
    guard_tails: bool = False
    vectors: bool = True
    profile: bool = False
    record: bool = False
    device: Device | None = None


#: Nothing asked for, and a machine that any test runs on.
PLAIN = LowerOptions()

__all__ = ["PLAIN", "LowerOptions"]
