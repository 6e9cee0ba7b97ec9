"""NVIDIA's Hopper family: the H100 with SXM5 board.

Sources: "NVIDIA H100 Tensor Core GPU Architecture" (whitepaper, 2022): SMs, lanes, L2
cache, shared memory and bandwidth of memory; "NVIDIA H100 Tensor Core GPU Datasheet":
67 TFLOPS in single precision, which is the clock; "CUDA C++ Programming Guide", table
of technical specifications for compute capability 9.0: threads, blocks and registers.
Estimates are: what the second-level cache gives (the A100's, in bytes a cycle), the two
latencies, and the time between launches, which are of the order that microbenchmarks in
the literature report.
"""

from __future__ import annotations

from parhelion.autoschedule.gpu.cards import Card
from parhelion.ir.device import Device

H100 = Card(
    name="NVIDIA H100 SXM5 80 GB",
    device=Device("sm_90"),
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
    link=50,
)

__all__ = ["H100"]
