"""What the kernels of a lowered program are: threads, shared memory, launches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from parhelion.dataclass import dataclass
from parhelion.ir.build import const_int
from parhelion.ir.function import Function
from parhelion.ir.stmt import Allocate, For, ForKind, MemoryKind, Stmt
from parhelion.lang.machines import gpu_of
from parhelion.lang.runner import Runner
from parhelion.lang.target_api import Target, strict
from parhelion.lower.kernel_loops import block_loops, leaves, nest_of
from parhelion.lower.shared import bytes_of, lay_out_shared
from parhelion.runtime.program import Options
from parhelion.schedule.legality import check_strict
from parhelion.schedule.order import realization_order


@dataclass(frozen=True)
class Kernel:
    """name: of its outermost loop. threads: of a block along each dimension, the
    innermost first. shared: bytes of shared memory of a block. storage: by name, the
    bytes of what is in it. around: the loops of the host that it is launched in."""

    name: str
    threads: tuple[int, ...]
    shared: int
    storage: tuple[tuple[str, int], ...]
    around: tuple[str, ...] = ()


def kernels_for(outputs: Sequence[Function], target: Target) -> list[Kernel]:
    """Lowers a pipeline as it is scheduled, for a target with CUDA, and returns its
    kernels in their order. Raises what lowering raises."""
    runner = Runner(outputs, outputs[0].name)
    runner.refresh()
    if strict(target):
        check_strict(realization_order(outputs))
    variant = runner.variant({}, Options(strict(target)))
    with runner.lowered(replace(variant, device=gpu_of(target))) as lowered:
        return kernels_in(lowered.body)


def kernels_in(body: Stmt) -> list[Kernel]:
    """The kernels of a lowered program in their order."""
    return [_described(*one) for one in _kernels(body, ())]


def _kernels(s: Stmt, around: tuple[For, ...]) -> Iterator[tuple[For, tuple[For, ...]]]:
    if isinstance(s, For):
        if s.kind is ForKind.GPU_BLOCK:
            yield s, around
            return
        around = (*around, s)
    for c in s.children():
        if isinstance(c, Stmt):
            yield from _kernels(c, around)


def _described(kernel: For, around: tuple[For, ...]) -> Kernel:
    _, body = block_loops(kernel)
    most: dict[int, int] = {}
    for leaf in leaves(body):
        for d, loop in enumerate(reversed(nest_of(leaf)[0])):
            most[d] = max(most.get(d, 1), const_int(loop.extent) or 1)
    layout = lay_out_shared(body)
    return Kernel(
        kernel.var.name,
        tuple([most[d] for d in sorted(most)]),
        layout.size,
        tuple(_storage(body)),
        tuple([loop.var.name for loop in around]),
    )


def _storage(s: Stmt) -> Iterator[tuple[str, int]]:
    if isinstance(s, Allocate) and s.kind is MemoryKind.SHARED:
        name = s.buffer.name if s.buffer.func is None else s.buffer.func.name
        yield name, bytes_of(s)
    for c in s.children():
        if isinstance(c, Stmt):
            yield from _storage(c)


__all__ = ["Kernel", "kernels_for", "kernels_in"]
