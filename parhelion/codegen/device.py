"""The host's side of kernels: storage with a copy on the device, syncs and launches.

The run time's functions and what they are given are those of decision 13. What has a
copy on the device is known by a `halide_buffer_t`: the caller's for what the caller
gives, and one in the frame for storage of the pipeline's own (`memories.OnDevice`).
"""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.codegen import closures, effects
from parhelion.codegen.kernel_image import DEVICES, IMAGE
from parhelion.codegen.kernel_traffic import Uses, traffic
from parhelion.codegen.module import DeviceKernel, TextureObject
from parhelion.codegen.nvptx import refusals
from parhelion.codegen.nvptx.reports import RECORD, RECORD_BYTES, can_fail
from parhelion.codegen.structs import ON_DEVICE, READS, WRITES
from parhelion.codegen.types import memory_type
from parhelion.codegen.writer import Function, ScopeKind
from parhelion.errors import InternalError
from parhelion.ir import build
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr, StringImm, Var
from parhelion.ir.rewrite import _N, Rewriter
from parhelion.ir.stmt import ForKind, Stmt
from parhelion.ir.symbols import BufferSym
from parhelion.lower.kernel_loops import block_loops
from parhelion.lower.kernel_names import computed
from parhelion.lower.launch_sizes import threads_of
from parhelion.lower.shared import lay_out_shared
from parhelion.types import INT32, INT64, Handle

#: The bytes that an address of the device is a multiple of for the widest vectors.
_WIDEST = 16

#: What lies beyond a texture, as the driver numbers it (`CUaddress_mode`): the nearest
#: texel, and 0.
CLAMP, ZERO = 1, 3


def sync(f: Function, s: S.Sync) -> None:
    """Has the run time make the copy that is used next the one it must be."""
    if not s.device:
        _look(f)
    what = ON_DEVICE * s.device + READS * s.reads + WRITES * s.writes
    f.module.runtime("ph_device_sync")
    struct, interface = f.structs[s.buffer], _interface(f)
    status = f.op(
        f"call i32 @ph_device_sync(ptr %ctx, ptr {interface}, ptr {struct}, i32 {what})"
    )
    f.forget_loads(s.buffer)
    _check(f, status, _name(s.buffer))


def enter(f: Function, body: Stmt) -> list[tuple[BufferSym, str]]:
    """Begins the use of the caller's buffers that have a copy on the device: failures
    leave them from now on. Returns them with their structs."""
    if f.module.write_kernel is not None and any(map(can_fail, _kernels(body))):
        f.report = f.alloca("i64, align 8")
        f.entry.append(f"  store i64 0, ptr {f.report}, align 8")
        f.module.runtime("ph_device_drop")
        f.live.append((RECORD, f.report))
        f.releases[f.report] = (
            f"call void @ph_device_drop(ptr %ctx, ptr {_interface(f)}, ptr {f.report})"
        )
    kept = [(b, f.structs[b]) for b in _synced(body) if b in f.structs]
    for buffer, struct in kept:
        f.module.runtime("ph_device_leave")
        f.live.append((buffer, struct))
        f.releases[struct] = f"call i32 @ph_device_leave(ptr %ctx, ptr {struct}, i32 1)"
    return kept


def leave(f: Function, kept: list[tuple[BufferSym, str]]) -> None:
    """Ends the use of the caller's buffers: what is newest on the device is copied,
    unless a kernel has failed."""
    _look(f)
    for buffer, struct in reversed(kept):
        last = f.live.pop()
        if last != (buffer, struct):
            raise InternalError(f"{last[0].name} lives longer than the program")
        status = f.op(f"call i32 @ph_device_leave(ptr %ctx, ptr {struct}, i32 0)")
        _check(f, status, _name(buffer))
    if f.report:
        f.live.pop()
        f.out(f"  {f.releases[f.report]}")


def _look(f: Function) -> None:
    """Leaves if a kernel has failed."""
    if not f.report:
        return
    f.module.runtime("ph_device_look")
    record = f.alloca(f"[{RECORD_BYTES} x i8], align 8")
    status = f.op(
        f"call i32 @ph_device_look(ptr %ctx, ptr {_interface(f)}, ptr {f.report}, "
        f"ptr {record})"
    )
    _check(f, status, "what kernels report")
    code = f.op(f"load i32, ptr {record}, align 8")
    good = f.op(f"icmp eq i32 {code}, 0")
    bad, ok = f.label("reported"), f.label("ok")
    f.out(f"  br i1 {good}, label %{ok}, label %{bad}{f.module.LIKELY}")
    before = f.block
    f.push(ScopeKind.BRANCH)
    f.start(bad)
    at = f.op(f"getelementptr i8, ptr {record}, i64 4")
    site = f.op(f"load i32, ptr {at}, align 4")
    at = f.op(f"getelementptr i8, ptr {record}, i64 8")
    count = f.op(f"load i32, ptr {at}, align 8")
    values = f.op(f"getelementptr i8, ptr {record}, i64 16")
    effects.fail_with(f, code, site, count, values)
    f.cold.extend(f.pop())
    f.block = before
    f.start(ok)


def fork(f: Function, s: S.Fork) -> None:
    """Starts both threads of a fork. What their kernels report to is there before: only
    one of them would make it."""
    if f.report and any(map(can_fail, _kernels(s))):
        _make_record(f)
    closures.fork(f, s)


def launch(f: Function, s: S.For) -> None:
    """Runs a kernel: on the device, or as loops of the host's in a simulation."""
    _, buffers = closures.uses(f, s)
    for buffer in buffers:
        f.forget_loads(buffer)
    if f.module.write_kernel is None:
        strict = f.module.strict_float
        refusals.check(s, computed(s), strict=strict)
        _simulate(f, s, buffers)
    else:
        _launch(f, s, f.module.write_kernel(s))
    for buffer in buffers:
        f.forget_loads(buffer)


def _address(f: Function, buffer: BufferSym) -> str:
    """Where on the device the element of a buffer with index 0 is."""
    if buffer is RECORD:
        _make_record(f)
        return f.op(f"load ptr, ptr {f.report}, align 8")
    f.module.runtime("ph_device_address")
    return f.op(f"call ptr @ph_device_address(ptr {f.structs[buffer]})")


def _make_record(f: Function) -> None:
    f.module.runtime("ph_device_report")
    status = f.op(
        f"call i32 @ph_device_report(ptr %ctx, ptr {_interface(f)}, ptr {f.report})"
    )
    _check(f, status, "what kernels report")


def _simulate(f: Function, s: S.For, buffers: Sequence[BufferSym]) -> None:
    host = {b: f.pointers[b] for b in buffers}
    f.pointers.update({b: (_address(f, b), f.top) for b in buffers})
    f.module.runtime("ph_device_launched")
    f.out("  call void @ph_device_launched()")
    entry = _started_here(f, s) if f.module.profiled else ""
    closures.parallel_loop(f, _simulated(s))
    if entry:
        _ended(f, entry, "null")
    f.pointers.update(host)


def _started_here(f: Function, s: S.For) -> str:
    """Notes the start of a kernel that is simulated."""
    func = computed(s)
    blocks, body = block_loops(s)
    counts = [f.value(loop.extent) for loop in reversed(blocks)]
    threads = [
        f.value(build.maximum(e, build.int32(1)))
        for e in threads_of(body, blocks, func)
    ]
    name, shared = f.module.kernel_name(func), lay_out_shared(_Own().go(body)).size
    return _started(f, s, (name, func), _triple(f, counts), _triple(f, threads), shared)


def _started(
    f: Function, s: S.For, names: tuple[str, str], grid: str, block: str, shared: int
) -> str:
    """Notes that a kernel begins to run, in code that is profiled; returns the entry of
    the run time's that says so. names: the kernel's, and that of its Func."""
    m = f.module
    _, buffers = closures.uses(f, s)
    found = traffic(s)
    totals = [
        _bytes(f, {b: n for b, n in used.items() if b in buffers})
        for used in (found.reads, found.writes)
    ]
    name, func = [m.string(one) for one in names]
    m.runtime("ph_device_started")
    return f.op(
        f"call ptr @ph_device_started(ptr %ctx, ptr {_interface(f)}, ptr {name}, "
        f"ptr {func}, ptr {grid}, ptr {block}, i32 {shared}, "
        f"i64 {totals[0]}, i64 {totals[1]})"
    )


def _ended(f: Function, entry: str, record: str) -> None:
    f.module.runtime("ph_device_ended")
    f.out(
        f"  call void @ph_device_ended(ptr %ctx, ptr {_interface(f)}, "
        f"ptr {entry}, ptr {record})"
    )


def _bytes(f: Function, uses: Uses) -> str:
    """The bytes of elements that are used, of each buffer at most all that it has."""
    total = "0"
    f.module.runtime("ph_device_bytes")
    for buffer, count in uses.items():
        text = f.op(f"call i64 @ph_device_bytes(ptr {f.structs[buffer]})")
        if count is not None:
            asked = f.value(build.mul(count, build.int64(buffer.type.bytes())))
            at = f.module.declare("llvm.smin.i64", "i64", "i64, i64")
            text = f.op(f"call i64 {at}(i64 {text}, i64 {asked})")
        total = text if total == "0" else f.op(f"add i64 {total}, {text}")
    return total


def _launch(f: Function, s: S.For, kernel: DeviceKernel) -> None:
    """Asks the run time for a kernel, unless the grid has no blocks."""
    counts = [f.value(e) for e in kernel.grid]
    some = "true"
    for text in counts:
        one = f.op(f"icmp sgt i32 {text}, 0")
        some = one if some == "true" else f.op(f"and i1 {some}, {one}")
    threads = [f.value(build.maximum(e, build.int32(1))) for e in kernel.threads]
    grid, block = _triple(f, counts), _triple(f, threads)
    places = [_given(f, p) for p in kernel.parameters]
    record = _record(f, kernel, kernel.name)
    if kernel.wide:
        wide = _record(f, kernel, kernel.wide)
        good = _is_wide(f, kernel, places)
        record = f.op(f"select i1 {good}, ptr {wide}, ptr {record}")
    run, done = f.label("launch"), f.label("launched")
    f.out(f"  br i1 {some}, label %{run}, label %{done}")
    f.push(ScopeKind.BRANCH)
    f.start(run)
    given = f.alloca(f"[{max(len(places), 1)} x ptr], align 8")
    for i, (p, text) in enumerate(zip(kernel.parameters, places, strict=True)):
        kind = "i64" if isinstance(p, TextureObject) else "ptr"
        if isinstance(p, Expr):
            kind = memory_type(p.type)
        if isinstance(p, Expr) and p.type.is_bool():
            text = f.op(f"zext i1 {text} to i8")
        cell = f.alloca(f"{kind}, align 8")
        f.out(f"  store {kind} {text}, ptr {cell}, align 8")
        place = f.op(f"getelementptr ptr, ptr {given}, i64 {i}") if i else given
        f.out(f"  store ptr {cell}, ptr {place}, align 8")
    f.module.runtime("ph_device_launch")
    entry = ""
    if f.module.profiled:
        names = kernel.name, kernel.func
        entry = _started(f, s, names, grid, block, kernel.shared)
    status = f.op(
        f"call i32 @ph_device_launch(ptr %ctx, ptr {_interface(f)}, "
        f"ptr {record}, ptr {grid}, ptr {block}, "
        f"i32 {kernel.shared}, ptr {given})"
    )
    if entry:
        _ended(f, entry, record)
    _check(f, status, f"the kernel of '{kernel.func}'")
    f.out(f"  br label %{done}")
    f.append(f.pop())
    f.start(done)


def _given(f: Function, p: Expr | BufferSym | TextureObject) -> str:
    """What a parameter of a kernel gets."""
    if isinstance(p, BufferSym):
        return _address(f, p)
    return _texture(f, p) if isinstance(p, TextureObject) else f.value(p)


def _texture(f: Function, p: TextureObject) -> str:
    """What the run time has kernels read a texture by."""
    f.module.runtime("ph_device_texture")
    size = p.buffer.type.bytes()
    pitch = build.mul(build.cast(INT64, p.pitch), build.int64(size))
    sizes = [f.value(build.cast(INT64, e)) for e in (p.width, p.rows)]
    # The number that the driver has for integers of so many bytes, and what is beyond.
    what = size.bit_length() | (ZERO if p.zero else CLAMP) << 8
    place = f.alloca("i64, align 8")
    status = f.op(
        f"call i32 @ph_device_texture(ptr %ctx, ptr {_interface(f)}, "
        f"ptr {f.structs[p.buffer]}, i64 {sizes[0]}, i64 {sizes[1]}, "
        f"i64 {f.value(pitch)}, i32 {what}, ptr {place})"
    )
    name = p.buffer.name if p.buffer.func is None else p.buffer.func.label
    _check(f, status, f"the texture of '{name}'")
    return f.op(f"load i64, ptr {place}, align 8")


def _triple(f: Function, counts: Sequence[str]) -> str:
    """The address of three numbers, of which those that are missing are 1."""
    at = f.alloca("[3 x i32], align 4")
    for d, text in enumerate([*counts, "1", "1"][:3]):
        place = f.op(f"getelementptr i32, ptr {at}, i64 {d}") if d else at
        f.out(f"  store i32 {text}, ptr {place}, align 4")
    return at


def _is_wide(f: Function, kernel: DeviceKernel, places: Sequence[str]) -> str:
    """Whether the version of a kernel for wide vectors can run. places: what its
    parameters are given."""
    good = "true"
    for p, text in zip(kernel.parameters, places, strict=True):
        if p in kernel.aligned:
            address = f.op(f"ptrtoint ptr {text} to i64")
            low = f.op(f"and i64 {address}, {_WIDEST - 1}")
            good = f.op(f"and i1 {good}, {f.op(f'icmp eq i64 {low}, 0')}")
    for condition in kernel.conditions:
        good = f.op(f"and i1 {good}, {f.value(condition)}")
    return good


def _record(f: Function, kernel: DeviceKernel, called: str) -> str:
    """What the run time must know to find a kernel in the image (`runtime.cuda_ir`)."""
    m = f.module
    name = m.string(called)
    slots = f"internal global [{DEVICES} x i64] zeroinitializer"
    slot = m.add_global(f"{called}.slots", slots)
    return m.add_global(
        f"{called}.record",
        "private constant { ptr, ptr, ptr, i32 } "
        f"{{ ptr {name}, ptr @{IMAGE}, ptr {slot}, i32 {kernel.shared} }}",
    )


def barrier(f: Function, s: S.Barrier) -> None:
    """Nothing: each nest of threads has ended before the next one begins."""


def _simulated(kernel: S.For) -> S.For:
    """A kernel as loops of the host's, the outermost one in parallel."""
    made = _Loops().go(kernel)
    assert isinstance(made, S.For)
    return S.For(made.var, made.min, made.extent, ForKind.PARALLEL, made.body)


class _Own(Rewriter):
    """Leaves out storage that is nobody's: the simulation's, for its checks."""

    def go(self, n: _N) -> _N:
        return n if isinstance(n, Expr) else super().go(n)

    def on_allocate(self, n: S.Allocate) -> Stmt:
        return S.NOP if n.buffer.func is None else n


class _Loops(Rewriter):
    def go(self, n: _N) -> _N:
        return n if isinstance(n, Expr) else super().go(n)

    def on_for(self, n: S.For) -> Stmt:
        kind = ForKind.SERIAL if n.kind.on_gpu else n.kind
        return S.For(n.var, n.min, n.extent, kind, self.go(n.body))


def _interface(f: Function) -> str:
    """The run time's functions for the device that kernels are made for."""
    simulated = f.module.write_kernel is None
    name = "ph_device_simulated" if simulated else "ph_device_cuda"
    return f.module.add_global(name, "external global i8")


def _check(f: Function, status: str, name: str) -> None:
    told = Var("status", INT32)
    f.bind(told, status, f.top)
    good = f.op(f"icmp eq i32 {status}, 0")
    effects.unless(f, good, "device_failed", (StringImm(Handle(), name), told))


def _name(buffer: BufferSym) -> str:
    name = buffer.name if buffer.func is None else buffer.func.label
    return f"the device's copy of '{name}'"


def _kernels(s: Stmt) -> list[S.For]:
    if isinstance(s, S.For) and s.kind is ForKind.GPU_BLOCK:
        return [s]
    return [k for c in s.children() if isinstance(c, Stmt) for k in _kernels(c)]


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


__all__ = ["barrier", "enter", "fork", "launch", "leave", "sync"]
