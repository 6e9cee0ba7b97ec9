"""NVIDIA's Ampere family: the A100 with SXM4 board and 80 GB.

Sources: "NVIDIA A100 Tensor Core GPU Architecture" (whitepaper, 2020): SMs, lanes,
boost clock, L2 cache and what it gives (5120 bytes a cycle), shared memory; "NVIDIA
A100 Tensor Core GPU Datasheet": bandwidth of memory, and PCIe of generation 4 with 64
gigabytes a second, 32 each way; "CUDA C++ Programming Guide", table of technical
specifications for compute capability 8.0: threads, blocks, registers, and 163 KiB that
a block may share where it asks for it. Ultrasonics Sonochemistry 99, 106546 (2023),
Table 3: the latency of an operation, 4 cycles.
Estimates are: the latency of memory, of which that table has 400 cycles where nothing
else is under way, and the time between launches.
"""

from __future__ import annotations

from parhelion.autoschedule.gpu.cards import Card
from parhelion.ir.device import device_of

A100 = Card(
    name="NVIDIA A100 SXM4 80 GB",
    device=device_of("sm_80"),
    processors=108,
    clock=1.41,
    lanes=64,
    resident=2048,
    blocks=32,
    registers=65536,
    own=255,
    shared=164 << 10,
    reserved=1 << 10,
    near=128,
    cache=40 << 20,
    far=5120,
    memory=2039,
    wait=500,
    answer=4,
    launch=2500,
    link=32,
)

__all__ = ["A100"]
