"""Kernels: an outermost loop over blocks becomes a function of the device's.

What is in it has the normal form of `lower.kernels` (docs/decisions/0013): loops over
blocks, then what all threads of a block go through together, with nests of loops over
threads as its leaves. The host is told what it must know for a launch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from parhelion.codegen import closures, intrinsics, memory, stmt
from parhelion.codegen.lets import bound_twice
from parhelion.codegen.module import DeviceKernel, TextureObject
from parhelion.codegen.nvptx import refusals
from parhelion.codegen.nvptx.module import (
    KernelFunction,
    Kernels,
)
from parhelion.codegen.nvptx.reports import RECORD, can_fail
from parhelion.codegen.nvptx.statements import bind_counter
from parhelion.codegen.nvptx.textures import name_textures, only_textured
from parhelion.codegen.nvptx.wide import wide_places
from parhelion.codegen.types import value_type
from parhelion.errors import InternalError
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr, Var
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import Stmt
from parhelion.ir.symbols import BufferSym
from parhelion.lower.kernel_loops import block_loops
from parhelion.lower.kernel_names import computed
from parhelion.lower.launch_sizes import (
    DIMENSIONS,
    MOST_BLOCKS,
    MOST_THREADS,
    threads_of,
)
from parhelion.lower.shared import lay_out_shared

#: Importing these registers the emitters of their nodes.
REGISTERED = (intrinsics, memory, stmt)


def write_kernel(kernels: Kernels, s: S.For) -> DeviceKernel:
    """Writes a loop over blocks into the module of kernels, a second time if its
    vectors are wider where images lie at multiples of 16 bytes.

    Raises ScheduleError for what cannot be in a kernel.
    """
    s, textures = name_textures(s)
    made = _written(kernels, s, textures)
    wide = wide_places(kernels, s)
    if wide is None:
        return made
    kernels.aligned, kernels.places = frozenset(wide.buffers), wide.places
    other = _written(kernels, s, textures)
    kernels.aligned, kernels.places = frozenset(), {}
    return replace(
        made, wide=other.name, conditions=wide.conditions, aligned=wide.buffers
    )


def _written(
    kernels: Kernels, s: S.For, textures: Sequence[TextureObject]
) -> DeviceKernel:
    func = computed(s)
    refusals.check(s, func, strict=kernels.strict_float)
    blocks, body = block_loops(s)
    layout = lay_out_shared(body)
    threads = threads_of(body, blocks, func)
    counts = [build.const_int(t) for t in threads]
    free, buffers = _uses(kernels, body, blocks)
    mins: dict[Var, Expr] = {}
    for loop in blocks:
        if build.const_int(loop.min) != 0:
            mins[loop.var] = loop.min
    kernels.shared = frozenset(layout.offsets)
    kernels.sizes.clear()
    written = kernels.writes(s)
    # Where threads hand values on to each other in memory of the device, the barrier
    # between changes what a thread finds there.
    handed = _has_barrier(body)
    given: list[Expr | BufferSym | TextureObject] = []
    texts: list[str] = []
    inside: list[tuple[BufferSym, str]] = []
    for buffer in buffers:
        text = f"%b{len(given)}"
        marks = [] if buffer in written and handed else ["noalias"]
        if buffer not in written:
            marks.append("readonly")
        marks.append(f"align {kernels.base_alignment(buffer)}")
        texts.append(f"ptr addrspace(1) {' '.join(marks)} {text}")
        inside.append((buffer, text))
        given.append(buffer)
    if can_fail(body):
        texts.append(f"ptr addrspace(1) align 8 %b{len(given)}")
        inside.append((RECORD, f"%b{len(given)}"))
        given.append(RECORD)
    objects: list[str] = []
    for texture in textures:
        objects.append(f"%t{len(given)}")
        texts.append(f"i64 {objects[-1]}")
        given.append(texture)
    numbers: list[tuple[Var, str]] = []
    for var, value in [*[(v, v) for v in free], *mins.items()]:
        if var.type.is_handle():
            raise InternalError(f"a kernel is given the address {var.name}")
        text = f"%n{len(given)}"
        texts.append(f"{value_type(value.type)} {text}")
        numbers.append((var, text))
        given.append(value)
    name = kernels.kernel_name(func)
    f = KernelFunction(
        kernels,
        f"define ptx_kernel void @{name}({', '.join(texts)}){_bounds(counts)}",
        name,
        bound_twice(body),
        counts,
        layout.offsets,
    )
    f.textures = objects
    # Nobody asks for the place of what is read as a texture.
    f.pointers.update({t.buffer: ("null", 0) for t in textures})
    for buffer, text in inside:
        generic = f.op(f"addrspacecast ptr addrspace(1) {text} to ptr")
        f.pointers[buffer] = (generic, 0)
    least: dict[Var, str] = {}
    for var, text in numbers:
        if var in mins:
            least[var] = text
        else:
            f.bind(var, text, 0)
    _bind_blocks(f, blocks, least)
    f.write(body)
    f.out("  ret void")
    f.finish()
    grid = tuple([loop.extent for loop in reversed(blocks)])
    return DeviceKernel(name, func, tuple(given), grid, threads, layout.size)


def _uses(
    kernels: Kernels, body: Stmt, blocks: Sequence[S.For]
) -> tuple[list[Var], list[BufferSym]]:
    """What a block uses but does not bind, in the order of the program."""
    found: dict[BufferSym, tuple[str, int]] = {}
    textured = only_textured(body)
    mentioned: dict[Var, None] = {}
    for n in nodes(body):
        if isinstance(n, E.Load | S.Store):
            if n.buffer not in textured:
                found[n.buffer] = ("", 0)
        elif isinstance(n, Var):
            mentioned[n] = None
    reader = KernelFunction(kernels, "", "", (), (), {})
    reader.pointers = found
    free, buffers = closures.uses(reader, body)
    bound = {loop.var for loop in blocks}
    return [v for v in mentioned if v in free and v not in bound], list(buffers)


def _has_barrier(s: Stmt) -> bool:
    return any(isinstance(n, S.Barrier) for n in nodes(s))


def _bounds(threads: Sequence[int | None]) -> str:
    """What ptxas shares the registers out by: the threads of a block, or the most that
    there may be."""
    known = [n for n in threads if n is not None]
    if len(known) < len(threads):
        told = f'"nvvm.maxntid"="{MOST_THREADS[0]}"'
    else:
        sizes = [*[max(n, 1) for n in known], 1, 1][:3]
        told = f'"nvvm.reqntid"="{",".join(map(str, sizes))}"'
    # By the threads alone ptxas has some kernels spill a few registers where more of
    # them would do: one block is to fit a processor, and that is all.
    return f' {told} "nvvm.minctasm"="1"'


def _bind_blocks(
    f: KernelFunction, blocks: Sequence[S.For], least: dict[Var, str]
) -> None:
    for loop, d in zip(blocks, reversed(range(len(blocks))), strict=True):
        ctaid = f.special(f"ctaid.{DIMENSIONS[d]}", MOST_BLOCKS[d])
        if loop.var not in least:
            bind_counter(f, loop, ctaid, build.int32(0))
            continue
        text = f.op(f"add nsw i32 {least[loop.var]}, {ctaid}")
        f.bind(loop.var, text, 0)


__all__ = ["write_kernel"]
