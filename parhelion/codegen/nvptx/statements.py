"""Statements of kernels: nests of threads, barriers, atomic updates.

What one thread does stands in a nest of loops over threads. A thread goes into it if it
has an iteration of each loop; the innermost one is dimension x.
"""

from __future__ import annotations

from collections.abc import Mapping

from parhelion.codegen import atomic
from parhelion.codegen.backend import Writer
from parhelion.codegen.nvptx import reports
from parhelion.codegen.nvptx.module import KernelFunction, kernel_function
from parhelion.codegen.stmt import serial_loop
from parhelion.codegen.writer import Function, ScopeKind
from parhelion.errors import InternalError, ScheduleError
from parhelion.ir import build
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr
from parhelion.ir.stmt import ForKind, Stmt
from parhelion.lower.kernel_loops import THREADS, nest_of
from parhelion.lower.launch_sizes import DIMENSIONS, MOST_THREADS
from parhelion.types import INT32


def _for(f: Function, s: S.For) -> None:
    if s.kind is ForKind.SERIAL:
        serial_loop(f, s)
        return
    if s.kind in THREADS:
        _nest(kernel_function(f), s)
        return
    raise InternalError(f"a kernel has a {s.kind.value} loop in it")


def _nest(f: KernelFunction, s: S.For) -> None:
    """What the threads do that have an iteration of each loop."""
    loops, body = nest_of(s)
    if len(loops) != len(f.threads):
        raise InternalError(f"{len(loops)} loops over {len(f.threads)}-D threads")
    ends: list[str] = []
    for loop, d in zip(loops, reversed(range(len(loops))), strict=True):
        most = f.threads[d] or MOST_THREADS[d]
        tid = f.special(f"tid.{DIMENSIONS[d]}", most)
        extent = build.const_int(loop.extent)
        end = ""
        if extent is None or extent != f.threads[d]:
            inside = f.op(f"icmp slt i32 {tid}, {f.value(loop.extent)}")
            yes, end = f.label("thread"), f.label("end")
            f.out(f"  br i1 {inside}, label %{yes}, label %{end}")
        f.push(ScopeKind.BRANCH)
        if end:
            f.start(yes)
        bind_counter(f, loop, tid, loop.min)
        ends.append(end)
    f.write(body)
    for end in reversed(ends):
        if end:
            f.out(f"  br label %{end}")
        f.append(f.pop())
        if end:
            f.start(end)


def bind_counter(f: KernelFunction, loop: S.For, counter: str, least: Expr) -> None:
    """Lets a loop's Var be `least` and what a special register says."""
    if loop.var.type is not INT32:
        raise InternalError(f"a loop over threads of type {loop.var.type}")
    text = counter
    if build.const_int(least) != 0:
        text = f.op(f"add nsw i32 {f.value(least)}, {counter}")
    f.bind(loop.var, text, f.top)


def _barrier(f: Function, s: S.Barrier) -> None:
    at = f.module.declare(
        "llvm.nvvm.barrier.cta.sync.aligned.all", "void", "i32", "convergent nounwind"
    )
    f.out(f"  call void {at}(i32 0)")


def _atomic(f: Function, s: S.Atomic) -> None:
    if s.shared and s.locked:
        raise ScheduleError(
            f"the update of {s.func.label} is more than one word of memory can be"
            " exchanged for, so that it needs a lock, which threads of a GPU that go"
            " together cannot hold in turn",
            hint="update one value of at most 64 bits, which is read and written at"
            " the same place",
        )
    atomic.write_atomic(f, s)


STATEMENTS: Mapping[type[Stmt], Writer[Function]] = {
    S.Assert: reports.check,
    S.For: _for,
    S.Barrier: _barrier,
    S.Atomic: _atomic,
}

__all__ = ["STATEMENTS", "bind_counter"]
