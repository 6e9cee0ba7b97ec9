"""The host's side of kernels: storage with a copy on the device, syncs and launches.

The run time's functions and what they are given are those of decision 13. What has a
copy on the device is known by a `halide_buffer_t`: the caller's for what the caller
gives, and one in the frame for storage of the pipeline's own (`memories.OnDevice`).
"""

from __future__ import annotations

from parhelion.codegen import closures, effects
from parhelion.codegen.writer import Function
from parhelion.errors import InternalError
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr, StringImm, Var
from parhelion.ir.rewrite import _N, Rewriter
from parhelion.ir.stmt import ForKind, Stmt
from parhelion.ir.symbols import BufferSym
from parhelion.types import INT32, Handle

#: Bits of what `ph_device_sync` is told.
_DEVICE, _READS, _WRITES = 1, 2, 4


def sync(f: Function, s: S.Sync) -> None:
    """Has the run time make the copy that is used next the one it must be."""
    what = _DEVICE * s.device + _READS * s.reads + _WRITES * s.writes
    f.module.declare("ph_device_sync", "i32", "ptr, ptr, ptr, i32")
    struct, interface = f.structs[s.buffer], _interface(f)
    status = f.op(
        f"call i32 @ph_device_sync(ptr %ctx, ptr {interface}, ptr {struct}, i32 {what})"
    )
    f.forget_loads(s.buffer)
    _check(f, status, _name(s.buffer))


def enter(f: Function, body: Stmt) -> list[tuple[BufferSym, str]]:
    """Begins the use of the caller's buffers that have a copy on the device: failures
    leave them from now on. Returns them with their structs."""
    kept = [(b, f.structs[b]) for b in _synced(body) if b in f.structs]
    for buffer, struct in kept:
        f.module.declare("ph_device_leave", "i32", "ptr, ptr, i32", "nounwind")
        f.live.append((buffer, struct))
        f.releases[struct] = f"call i32 @ph_device_leave(ptr %ctx, ptr {struct}, i32 1)"
    return kept


def leave(f: Function, kept: list[tuple[BufferSym, str]]) -> None:
    """Ends the use of the caller's buffers: what is newest on the device is copied."""
    for buffer, struct in reversed(kept):
        last = f.live.pop()
        if last != (buffer, struct):
            raise InternalError(f"{last[0].name} lives longer than the program")
        status = f.op(f"call i32 @ph_device_leave(ptr %ctx, ptr {struct}, i32 0)")
        _check(f, status, _name(buffer))


def launch(f: Function, s: S.For) -> None:
    """Runs a kernel."""
    addresses: dict[BufferSym, tuple[str, int]] = {}
    f.module.declare("ph_device_address", "ptr", "ptr", "nounwind")
    _, buffers = closures.uses(f, s)
    for buffer in buffers:
        f.forget_loads(buffer)
        struct = f.structs[buffer]
        text = f.op(f"call ptr @ph_device_address(ptr {struct})")
        addresses[buffer] = (text, f.top)
    host = {b: f.pointers[b] for b in addresses}
    f.pointers.update(addresses)
    closures.parallel_loop(f, _simulated(s))
    f.pointers.update(host)
    for buffer in buffers:
        f.forget_loads(buffer)


def barrier(f: Function, s: S.Barrier) -> None:
    """Nothing: each nest of threads has ended before the next one begins."""


def _simulated(kernel: S.For) -> S.For:
    """A kernel as loops of the host's, the outermost one in parallel."""
    made = _Loops().go(kernel)
    assert isinstance(made, S.For)
    return S.For(made.var, made.min, made.extent, ForKind.PARALLEL, made.body)


class _Loops(Rewriter):
    def go(self, n: _N) -> _N:
        return n if isinstance(n, Expr) else super().go(n)

    def on_for(self, n: S.For) -> Stmt:
        kind = ForKind.SERIAL if n.kind.on_gpu else n.kind
        return S.For(n.var, n.min, n.extent, kind, self.go(n.body))


def _interface(f: Function) -> str:
    """The run time's functions for the device that kernels are made for."""
    return f.module.add_global("ph_device_simulated", "external global i8")


def _check(f: Function, status: str, name: str) -> None:
    told = Var("status", INT32)
    f.bind(told, status, f.top)
    good = f.op(f"icmp eq i32 {status}, 0")
    effects.unless(f, good, "device_failed", (StringImm(Handle(), name), told))


def _name(buffer: BufferSym) -> str:
    name = buffer.name if buffer.func is None else buffer.func.label
    return f"the device's copy of '{name}'"


def _synced(s: Stmt) -> list[BufferSym]:
    """The buffers that have two copies, in the order of their first use."""
    found: dict[BufferSym, None] = {}
    stack = [s]
    while stack:
        n = stack.pop()
        if isinstance(n, S.Sync):
            found[n.buffer] = None
        stack += reversed([c for c in n.children() if isinstance(c, Stmt)])
    return list(found)


__all__ = ["barrier", "enter", "launch", "leave", "sync"]
