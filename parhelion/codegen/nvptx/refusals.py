"""What cannot be in a kernel, and what is said of it."""

from __future__ import annotations

from parhelion.codegen.intrinsics import library_call
from parhelion.codegen.nvptx.attempts import EMITTERS
from parhelion.errors import InternalError, ScheduleError
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr
from parhelion.ir.intrinsics import INTRINSICS
from parhelion.ir.node import Node
from parhelion.ir.stmt import ForKind, MemoryKind, Stmt
from parhelion.lower.kernel_names import label

_ON_CPU = "compute {} on the CPU: give none of the loops around it to a GPU"

#: What users ask for and only the host can do, by the statement.
_OF_THE_HOST: dict[type[Stmt], str] = {
    S.RunExtern: "is computed by foreign code",
    S.Fork: "is computed by a thread of its own (async_)",
    S.Acquire: "waits for another thread (async_)",
    S.Release: "waits for another thread (async_)",
    S.OnDemand: "is computed on demand (compute_lazy)",
    S.Demand: "is computed on demand (compute_lazy)",
    S.Prefetch: "prefetches what it reads, which threads of a GPU need not: they wait"
    " for memory by turns",
}
#: Kinds of memory that a kernel's own storage can be in.
_OWN = (MemoryKind.SHARED, MemoryKind.STACK, MemoryKind.REGISTER, MemoryKind.AUTO)


def check(s: Stmt, func: str, *, strict: bool) -> None:
    """Raises ScheduleError for the first of what cannot be in a kernel. func: what the
    user calls the Func that the kernel computes, where nothing else is known."""
    seen: set[Node] = set()
    stack: list[tuple[Node, str]] = [(s, func)]
    while stack:
        n, name = stack.pop()
        if n in seen:
            continue
        seen.add(n)
        if isinstance(n, S.Produce):
            name = n.func.label if n.producing else name
        elif isinstance(n, S.Store):
            name = label(n.buffer)
        if isinstance(n, Stmt):
            _check_stmt(n, name)
        elif isinstance(n, Expr):
            _check_expr(n, name, strict)
        stack.extend([(c, name) for c in reversed(n.children())])


def _refuse(name: str, what: str) -> None:
    raise ScheduleError(
        f"{name}, which is computed in a kernel of a GPU, {what}",
        hint=_ON_CPU.format(name),
    )


def _check_stmt(s: Stmt, name: str) -> None:
    what = _OF_THE_HOST.get(type(s))
    if what is not None:
        _refuse(name, f"{what}; kernels cannot")
    if isinstance(s, S.For) and s.kind is ForKind.PARALLEL:
        _refuse(name, f"has a parallel loop ({s.var.name}), which only the CPU has")
    if isinstance(s, S.Allocate) and s.kind not in _OWN:
        _refuse(
            label(s.buffer),
            f"is stored in memory of the kind {s.kind.value!r}, which a kernel cannot"
            " ask for",
        )
    if isinstance(s, S.Sync):
        raise InternalError("a kernel has a Sync in it")


def _check_expr(e: Expr, name: str, strict: bool) -> None:
    if isinstance(e, E.Extern):
        _refuse(name, f"calls the C function {e.name}, which is not on the device")
    if e.type.is_handle() and not isinstance(e, E.StringImm):
        _refuse(name, "uses an address of the host")
    if not isinstance(e, E.Intrinsic):
        return
    if e.op in ("streamed", "line_aligned", "lines_apart"):
        raise InternalError(f"a kernel has stores past the caches ({e.op})")
    if not INTRINSICS[e.op].pure and e.op != "require":
        what = "is traced or prints" if e.op == "trace" else f"has {e.op!r}"
        _refuse(name, f"{what}, which only code of the CPU can do")
    called = None if e.op in EMITTERS else library_call(e, strict)
    if called is not None:
        _refuse(
            name,
            f"uses {called} of {e.args[0].type if e.args else e.type}, which is a"
            " function of the C library; there is none on the device",
        )


__all__ = ["check"]
