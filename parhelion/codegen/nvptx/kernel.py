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
from parhelion.codegen.module import DeviceKernel
from parhelion.codegen.nvptx import refusals
from parhelion.codegen.nvptx.memories import label
from parhelion.codegen.nvptx.module import (
    KernelFunction,
    Kernels,
)
from parhelion.codegen.nvptx.statements import (
    DIMENSIONS,
    MOST_THREADS,
    bind_counter,
)
from parhelion.codegen.nvptx.wide import wide_places
from parhelion.codegen.types import value_type
from parhelion.errors import InternalError, ScheduleError
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr, Var
from parhelion.ir.rewrite import free_vars, nodes, substitute
from parhelion.ir.stmt import ForKind, Stmt
from parhelion.ir.symbols import BufferSym
from parhelion.lower.extents import most_of
from parhelion.lower.kernel_loops import block_loops, nest_of
from parhelion.lower.shared import lay_out_shared

#: Importing these registers the emitters of their nodes.
REGISTERED = (intrinsics, memory, stmt)

#: Blocks that a grid may have along x, y and z.
MOST_BLOCKS = ((1 << 31) - 1, 65535, 65535)


def write_kernel(kernels: Kernels, s: S.For) -> DeviceKernel:
    """Writes a loop over blocks into the module of kernels, a second time if its
    vectors are wider where images lie at multiples of 16 bytes.

    Raises ScheduleError for what cannot be in a kernel.
    """
    made = _written(kernels, s)
    wide = wide_places(kernels, s)
    if wide is None:
        return made
    kernels.aligned, kernels.places = frozenset(wide.buffers), wide.places
    other = _written(kernels, s)
    kernels.aligned, kernels.places = frozenset(), {}
    return replace(
        made, wide=other.name, conditions=wide.conditions, aligned=wide.buffers
    )


def _written(kernels: Kernels, s: S.For) -> DeviceKernel:
    func = computed(s)
    refusals.check(s, func, strict=kernels.strict_float)
    blocks, body = block_loops(s)
    layout = lay_out_shared(body)
    threads = _threads(body, blocks, func)
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
    given: list[Expr | BufferSym] = []
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


def computed(s: Stmt) -> str:
    """What the user calls the Func that a kernel computes for others than itself."""
    name = "a Func"
    for n in nodes(s):
        if isinstance(n, S.Store) and n.buffer.role != "internal":
            return label(n.buffer)
        if isinstance(n, S.Store):
            name = label(n.buffer)
    return name


def _uses(
    kernels: Kernels, body: Stmt, blocks: Sequence[S.For]
) -> tuple[list[Var], list[BufferSym]]:
    """What a block uses but does not bind, in the order of the program."""
    found: dict[BufferSym, tuple[str, int]] = {}
    mentioned: dict[Var, None] = {}
    for n in nodes(body):
        if isinstance(n, E.Load | S.Store):
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


# Threads.


def _threads(body: Stmt, blocks: Sequence[S.For], func: str) -> tuple[Expr, ...]:
    """How many threads a block has along each dimension, for the host: the most that a
    nest has."""
    nests: list[S.For] = []
    lets: dict[Var, Expr] = {}
    inner: set[Var] = {loop.var for loop in blocks}
    stack: list[Stmt] = [body]
    while stack:
        s = stack.pop()
        if isinstance(s, S.LetStmt):
            lets[s.var] = s.value
        elif isinstance(s, S.For):
            if s.kind is not ForKind.SERIAL:
                nests.append(s)
                continue
            inner.add(s.var)
        stack.extend([c for c in reversed(s.children()) if isinstance(c, Stmt)])
    if not nests:
        raise InternalError(f"the kernel of {func} has no threads")
    dimensions = {len(nest_of(nest)[0]) for nest in nests}
    if len(dimensions) != 1:
        raise InternalError(f"nests of {sorted(dimensions)} loops in the kernel {func}")
    counts: list[Expr | None] = [None] * dimensions.pop()
    for nest in nests:
        loops = nest_of(nest)[0]
        for d, loop in enumerate(reversed(loops)):
            more = _extent(loop, lets, inner, func)
            known = counts[d]
            counts[d] = more if known is None else _larger(known, more)
    made = [c for c in counts if c is not None]
    for d, count in enumerate(made):
        known_count = build.const_int(count)
        if known_count is not None and known_count > MOST_THREADS[d]:
            raise ScheduleError(
                f"the kernel of {func} has {known_count} threads along"
                f" {DIMENSIONS[d]}, and a block has at most {MOST_THREADS[d]} there"
            )
    return tuple(made)


def _larger(a: Expr, b: Expr) -> Expr:
    return a if a is b else build.maximum(a, b)


def _extent(loop: S.For, lets: dict[Var, Expr], inner: set[Var], func: str) -> Expr:
    """How many iterations a loop over threads has, or at most has where that depends on
    the block."""
    extent = loop.extent
    while True:
        opened = {v: lets[v] for v in free_vars(extent) if v in lets}
        if not opened:
            break
        extent = substitute(extent, opened)
    loads = any(isinstance(n, E.Load) for n in nodes(extent))
    if inner.isdisjoint(free_vars(extent)) and not loads:
        return extent
    most = most_of(extent)
    if most is None:
        raise ScheduleError(
            f"how many threads the kernel of {func} has depends on the block, and no"
            f" constant bounds it: {extent!r}",
            hint="split the loop by a constant factor, and give the inner loop to the"
            " threads",
        )
    return build.int32(max(most, 0))


__all__ = ["MOST_BLOCKS", "computed", "write_kernel"]
