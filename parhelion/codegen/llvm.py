"""A lowered pipeline as the text of an LLVM module: the way in to this package.

The module defines ``i32 NAME_argv(ptr ctx, ptr argv)``. argv[i] points to the i-th
argument: a ``halide_buffer_t`` for a buffer, the value itself for a scalar. The result
is 0, or the code of the failure that the error record at `ctx` describes. Run time
calls: ``ph_malloc``, ``ph_free``, ``ph_par_for``, ``ph_print``, and the C library.
"""

from __future__ import annotations

from functools import partial

from parhelion.codegen import (
    device,
    effects,
    extern,
    intrinsics,
    memo,
    memory,
    profiling,
    stmt,
)
from parhelion.codegen.backends import llvm_backend
from parhelion.codegen.failure_site import FailureSite
from parhelion.codegen.lets import bound_twice
from parhelion.codegen.module import Emitted, Module, quoted
from parhelion.codegen.nvptx.kernel import write_kernel
from parhelion.codegen.nvptx.module import Kernels
from parhelion.codegen.streams import end_streams
from parhelion.codegen.structs import DIMENSION_BYTES, fields_of
from parhelion.codegen.types import memory_type
from parhelion.codegen.writer import Function
from parhelion.errors import InternalError
from parhelion.ir import stmt as S
from parhelion.ir.deep import run_deep
from parhelion.ir.expr import Var
from parhelion.ir.pipeline import Lowered
from parhelion.ir.stmt import Stmt
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.ir.target import Target, gpu_target
from parhelion.lower.passes import for_processor

#: Importing these registers the emitters of their nodes.
REGISTERED = (extern, intrinsics, memo, memory, profiling, stmt)

#: Byte offsets in a `halide_dimension_t`.
_DIM_FIELDS = {"min": 0, "extent": 4, "stride": 8}


def emit(lowered: Lowered, target: Target) -> str:
    """The text of the module for a lowered pipeline."""
    return emit_with_sites(lowered, target).text


def emit_with_sites(
    lowered: Lowered, target: Target, interruptible: bool = False
) -> Emitted:
    """Returns the module, and what each of its assertions reports.

    interruptible: whether a signal may end its runs, in a process with Python (see
        `polls`).
    """
    return run_deep(lambda: _emit(lowered, target, interruptible))


def _emit(lowered: Lowered, target: Target, interruptible: bool) -> Emitted:
    backend = llvm_backend(target.arch)
    module = Module(target, backend, strict_float=lowered.strict_float)
    module.interruptible = interruptible
    module.profiled = lowered.profiled
    module.recorded = lowered.recorded
    symbol = module.unique(f"{lowered.name}_argv")
    body = for_processor(lowered, target)
    module.thunks = thunks_of(body)
    kernels = None
    if lowered.device is not None and not lowered.device.simulated:
        machine = gpu_target(lowered.device.arch)
        kernels = Kernels(machine, strict_float=lowered.strict_float)
        # What kernels report is told by the host.
        kernels.failures = module.failures
        module.write_kernel = partial(write_kernel, kernels)
    f = Function(
        module,
        f"define i32 @{quoted(symbol)}(ptr noalias %ctx, ptr noalias readonly %argv)",
        symbol,
        bound_twice(body),
    )
    _bind_arguments(f, lowered, body)
    kept = device.enter(f, body)
    f.write(body)
    end_streams(f)
    device.leave(f, kept)
    f.out("  ret i32 0")
    effects.write_exits(f)
    f.finish(once=True)
    text = module.text(lowered.name)
    profiled = profiling.told(module)
    failures = tuple(module.failures)
    code = ""
    if kernels is not None and kernels.functions:
        code = kernels.text(lowered.name)
    told = (failures, module.imports, profiled, module.by_lane)
    return Emitted(text, *told, code, module.calls)


def thunks_of(s: Stmt) -> dict[BufferSym, S.OnDemand]:
    """What computes parts of Funcs on demand, by what demands name. Copies of a
    statement write the same."""
    found: dict[BufferSym, S.OnDemand] = {}
    stack: list[Stmt] = [s]
    while stack:
        n = stack.pop()
        if isinstance(n, S.OnDemand):
            found.setdefault(n.thunk, n)
        stack.extend([c for c in n.children() if isinstance(c, Stmt)])
    return found


def _bind_arguments(f: Function, lowered: Lowered, body: Stmt) -> None:
    from parhelion.codegen.closures import uses

    symbols = [arg.symbol for arg in lowered.args]
    for symbol in symbols:
        if isinstance(symbol, BufferSym):
            f.pointers[symbol] = ("", 0)
    free, buffers = uses(f, body)
    left = set(free)
    for i, symbol in enumerate(symbols):
        slot = f"getelementptr ptr, ptr %argv, i64 {i}" if i else ""
        if isinstance(symbol, ParamSym):
            if symbol.var in free:
                _bind_param(f, symbol, slot)
                left.discard(symbol.var)
            continue
        _bind_buffer(f, symbol, slot, free, symbol in buffers)
        for dim in symbol.dims:
            left -= {dim.min, dim.extent, dim.stride}
    if left:
        names = ", ".join(sorted(v.name for v in left))
        raise InternalError(f"lowered code mentions what nothing binds: {names}")


def _argument(f: Function, slot: str) -> str:
    at = f.op(slot) if slot else "%argv"
    return f.op(f"load ptr, ptr {at}, !invariant.load !4")


def _bind_param(f: Function, param: ParamSym, slot: str) -> None:
    t = param.type
    text = f.op(f"load {memory_type(t)}, ptr {_argument(f, slot)}, align {t.bytes()}")
    if t.is_bool():
        text = f.op(f"icmp ne i8 {text}, 0")
    f.bind(param.var, text, 0)


def _bind_buffer(
    f: Function, buffer: BufferSym, slot: str, free: frozenset[Var], used: bool
) -> None:
    wanted = [
        (getattr(dim, name), d * DIMENSION_BYTES + offset)
        for d, dim in enumerate(buffer.dims)
        for name, offset in _DIM_FIELDS.items()
        if getattr(dim, name) in free
    ]
    if not wanted and not used:
        del f.pointers[buffer]
        return
    struct, fields = _argument(f, slot), fields_of(f.module.target)
    f.structs[buffer] = struct
    if used:
        at = f.op(f"getelementptr i8, ptr {struct}, i64 {fields.host}")
        f.pointers[buffer] = (f.op(f"load ptr, ptr {at}"), 0)
    else:
        del f.pointers[buffer]
    if not wanted:
        return
    at = f.op(f"getelementptr i8, ptr {struct}, i64 {fields.dim}")
    dims = f.op(f"load ptr, ptr {at}")
    for var, offset in wanted:
        at = f.op(f"getelementptr i8, ptr {dims}, i64 {offset}")
        f.bind(var, f.op(f"load i32, ptr {at}, align 4"), 0)


__all__ = ["Emitted", "FailureSite", "emit", "emit_with_sites"]
