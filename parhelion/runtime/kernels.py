"""The code of kernels: PTX, as a constant of the module that launches them."""

from __future__ import annotations

from parhelion.codegen.kernel_image import image
from parhelion.codegen.module import Emitted
from parhelion.ir.device import Device
from parhelion.ir.target import gpu_target
from parhelion.runtime import jit


def ptx_of(emitted: Emitted, device: Device | None) -> str:
    """The PTX of a program's kernels; "" if it has none, or if they are simulated."""
    if not emitted.kernels or device is None:
        return ""
    return jit.assembly_text(emitted.kernels, gpu_target(device.arch))


def text_with_kernels(emitted: Emitted, device: Device | None) -> str:
    """The text of a module, with the code of its kernels in it."""
    ptx = ptx_of(emitted, device)
    return f"{emitted.text}\n{image(ptx)}" if ptx else emitted.text


__all__ = ["ptx_of", "text_with_kernels"]
