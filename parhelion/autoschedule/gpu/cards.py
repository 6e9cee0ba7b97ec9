"""What the schedulers know of a GPU: sizes of its parts, and how fast they are.

The numbers are published ones, in a file for each family of devices, with their
sources; what nobody publishes is marked there as an estimate. None of it has been
measured by this project.
"""

from __future__ import annotations

import importlib
from dataclasses import replace

from parhelion.dataclass import dataclass
from parhelion.ir.device import Device


@dataclass(frozen=True, slots=True)
class Card:
    """One model of GPU.

    name: in words. device: the limits of one block, as code generation keeps them.
    processors: streaming multiprocessors (SMs). clock: cycles per nanosecond. lanes: of
    32-bit arithmetic in one SM. resident: threads that an SM holds at most; blocks:
    likewise. registers: of 32 bits, in one SM; a thread has at most `own`. shared:
    bytes of shared memory in one SM, of which `reserved` bytes a block are the
    system's. near: bytes a cycle between an SM and its first-level cache, or its shared
    memory. cache: bytes of the second-level cache, far: bytes a cycle that it gives to
    all SMs together. memory: bytes a nanosecond. wait: cycles until a value from memory
    is there; answer: cycles until the result of an operation is. launch: nanoseconds
    between the beginnings of two kernels that do nothing. link: bytes a nanosecond
    between the memories of the device and the host.
    """

    name: str
    device: Device
    processors: int
    clock: float
    lanes: int
    resident: int
    blocks: int
    registers: int
    own: int
    shared: int
    reserved: int
    near: float
    cache: int
    far: float
    memory: float
    wait: float
    answer: float
    launch: float
    link: float

    def within(self, device: Device) -> Card:
        """The card for kernels that are to run on another device as well: their blocks
        share no more than either has."""
        shared = min(self.device.shared, device.shared)
        return replace(self, device=replace(self.device, shared=shared))

    def resident_blocks(self, threads: int, shared: int, registers: int) -> int:
        """How many blocks of so many threads, bytes of shared memory and registers a
        thread one SM holds at once; 0 if not even one."""
        device = self.device
        if threads > device.threads or shared > device.shared or registers > self.own:
            return 0
        warps = -(-threads // device.warp)
        # Registers are given to warps in portions of 256 (occupancy calculator).
        each = -(-registers * device.warp // 256) * 256 * warps
        most = [self.blocks, self.resident // (warps * device.warp)]
        most += [self.registers // max(1, each)]
        most += [self.shared // (shared + self.reserved)]
        return min(most)


#: By the names that users say: the module of each family, and the card in it.
_CARDS = {"h100": ("hopper", "H100"), "a100": ("ampere", "A100")}
#: The names.
CARDS = tuple(_CARDS)


def card(name: str) -> Card:
    """The card of one of the names in `CARDS`."""
    module, attribute = _CARDS[name]
    found = getattr(importlib.import_module(f"{__package__}.{module}"), attribute)
    assert isinstance(found, Card)
    return found


__all__ = ["CARDS", "Card", "card"]
