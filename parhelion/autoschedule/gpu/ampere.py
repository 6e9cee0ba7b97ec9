"""NVIDIA's Ampere family: the A100 with SXM4 board and 80 GB.

Sources: "NVIDIA A100 Tensor Core GPU Architecture" (whitepaper, 2020): SMs, lanes,
boost clock, L2 cache and what it gives (5120 bytes a cycle), shared memory; "NVIDIA
A100 Tensor Core GPU Datasheet": bandwidth of memory; "CUDA C++ Programming Guide",
table of technical specifications for compute capability 8.0: threads, blocks and
registers.
Estimates are: the two latencies and the time between launches, which are of the order
that microbenchmarks in the literature report.
"""

from __future__ import annotations

from parhelion.autoschedule.gpu.cards import Card
from parhelion.ir.device import Device

A100 = Card(
    name="NVIDIA A100 SXM4 80 GB",
    device=Device("sm_80"),
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
    link=25,
)

__all__ = ["A100"]
