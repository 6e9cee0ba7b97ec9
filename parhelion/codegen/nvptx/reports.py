"""What fails in a kernel: the first thread that finds so says it in a record in memory
of the device, which the host reads when it next waits for the device.

The record is laid out as the head of the run time's context is (`runtime.context`), so
that the host takes it for its own. A thread that has failed ends: the others of its
block no longer wait for it at barriers (CUDA C++ Programming Guide, "Independent Thread
Scheduling": from compute capability 7.0 on, all threads that have not exited have to
come to a barrier), and none of what they compute is used.
"""

from __future__ import annotations

from parhelion.codegen.effects import told
from parhelion.codegen.failure_site import FailureSite
from parhelion.codegen.module import MAX_FAILURE_ARGS
from parhelion.codegen.nvptx.module import KernelFunction, kernel_function
from parhelion.codegen.vector import all_lanes
from parhelion.codegen.writer import Function, ScopeKind
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr
from parhelion.ir.failures import CODES
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import Stmt
from parhelion.ir.symbols import BufferSym
from parhelion.types import INT64

#: The record, as a parameter of a kernel; the host has it as storage of its own.
RECORD = BufferSym("failure", INT64, 1, "internal")
#: Its bytes: four numbers of 32 bits, and the values that the failure tells.
RECORD_BYTES = 16 + 8 * MAX_FAILURE_ARGS


def can_fail(s: Stmt) -> bool:
    """Whether something in a kernel may fail."""
    return any(
        isinstance(n, S.Assert) or (isinstance(n, E.Intrinsic) and n.op == "require")
        for n in nodes(s)
    )


def check(f: Function, s: S.Assert) -> None:
    """Ends the thread unless a condition holds. Where it is one of block level, it says
    the same in all threads of a block, which end together."""
    _unless(kernel_function(f), f.value(s.cond), s.code, s.args)


def require(f: Function, e: E.Intrinsic) -> str:
    """``args[1]``, unless ``args[0]`` fails in some lane: then the thread ends."""
    k = kernel_function(f)
    cond = e.args[0]
    _unless(k, all_lanes(f, f.value(cond), cond.type), "require", e.args[2:])
    return f.value(e.args[1])


def _unless(f: KernelFunction, cond: str, code: str, args: tuple[Expr, ...]) -> None:
    fail, ok = f.label("fail"), f.label("ok")
    f.out(f"  br i1 {cond}, label %{ok}, label %{fail}{f.module.LIKELY}")
    before = f.block
    f.push(ScopeKind.BRANCH)
    f.start(fail)
    _tell(f, code, args)
    f.cold.extend(f.pop())
    f.block = before
    f.start(ok)


def _tell(f: KernelFunction, code: str, args: tuple[Expr, ...]) -> None:
    kinds, texts = told(f, args)
    site = len(f.module.failures)
    f.module.failures.append(FailureSite(code, tuple(kinds)))
    record = f.pointers[RECORD][0]
    pair = f.op(
        f'cmpxchg ptr {record}, i32 0, i32 {CODES[code]} syncscope("device") '
        "monotonic monotonic"
    )
    first = f.op(f"extractvalue {{ i32, i1 }} {pair}, 1")
    write, done = f.label("tell"), f.label("failed")
    f.out(f"  br i1 {first}, label %{write}, label %{done}")
    f.start(write)
    for offset, number in ((4, site), (8, len(texts))):
        at = f.op(f"getelementptr i8, ptr {record}, i64 {offset}")
        f.out(f"  store i32 {number}, ptr {at}, align 4")
    for i, text in enumerate(texts):
        at = f.op(f"getelementptr i8, ptr {record}, i64 {16 + 8 * i}")
        f.out(f"  store i64 {text}, ptr {at}, align 8")
    f.out(f"  br label %{done}")
    f.start(done)
    f.out("  ret void")


__all__ = ["RECORD", "RECORD_BYTES", "can_fail", "check", "require"]
