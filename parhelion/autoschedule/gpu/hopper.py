"""NVIDIA's Hopper family: the H100 with SXM5 board.

Sources: "NVIDIA H100 Tensor Core GPU Architecture" (whitepaper, 2022): SMs, lanes, L2
cache, shared memory, bandwidth of memory, and PCIe of generation 5 with 64 gigabytes a
second each way; "NVIDIA H100 Tensor Core GPU Datasheet": 67 TFLOPS in single precision,
which is the clock; "CUDA C++ Programming Guide", table of technical specifications for
compute capability 9.0: threads, blocks, registers, and 227 KiB that a block may share
where it asks for it. Of the second-level cache, Ultrasonics Sonochemistry 99, 106546
(2023), Table 3, has 8986 gigabytes a second at 1.755 GHz, which are 5120 bytes a cycle;
of an operation, a latency of 4 cycles.
Estimates are: the latency of memory, of which that table has 400 cycles where nothing
else is under way, and the time between launches.
"""

from __future__ import annotations

from parhelion.autoschedule.gpu.cards import Card
from parhelion.ir.device import device_of

H100 = Card(
    name="NVIDIA H100 SXM5 80 GB",
    device=device_of("sm_90"),
    processors=132,
    clock=1.98,
    lanes=128,
    resident=2048,
    blocks=32,
    registers=65536,
    own=255,
    shared=228 << 10,
    reserved=1 << 10,
    near=128,
    cache=50 << 20,
    far=5120,
    memory=3350,
    wait=600,
    answer=4,
    launch=2500,
    link=64,
)

__all__ = ["H100"]
