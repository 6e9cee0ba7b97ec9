"""The memories of processors: what each takes, and how storage is had and left.

What a block has
allocated is given up where the block ends (`end`), the latest first.
"""

from __future__ import annotations

from parhelion.codegen import effects, memo, profiling
from parhelion.codegen.addresses import index_value
from parhelion.codegen.extern import fill_struct
from parhelion.codegen.storage import Memory, constant_size
from parhelion.codegen.structs import DIMENSION_BYTES, fields_of
from parhelion.codegen.types import memory_type
from parhelion.codegen.writer import Function
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr, Var
from parhelion.ir.stmt import HEAPS, MemoryKind
from parhelion.lower.allocate import MOST_IN_FRAME, MOST_ON_STACK
from parhelion.types import INT32, INT64


class Cached(Memory[Function]):
    """The cache of memoized Funcs, which has found the storage already."""

    def takes(self, f: Function, s: S.Allocate, size: int | None) -> bool:
        return s.kind is MemoryKind.CACHE

    def allocate(self, f: Function, s: S.Allocate, size: int | None) -> None:
        memo.allocate(f, s)


class Stack(Memory[Function]):
    """The frame of the function, for what is small and of a known size, or is asked to
    be there."""

    def takes(self, f: Function, s: S.Allocate, size: int | None) -> bool:
        if size is None or s.kind in HEAPS:
            return False
        wanted = s.kind is MemoryKind.STACK or size <= MOST_ON_STACK
        return wanted and f.frame + size <= MOST_IN_FRAME

    def allocate(self, f: Function, s: S.Allocate, size: int | None) -> None:
        assert size is not None
        buffer = s.buffer
        one = memory_type(buffer.type)
        count = max(size // buffer.type.bytes(), 1)
        pointer = f.alloca(f"[{count} x {one}], align 64")
        f.frame += (size + 63) // 64 * 64
        at = f.module.declare("llvm.lifetime.start.p0", "void", "ptr")
        f.out(f"  call void {at}(ptr {pointer})")
        f.on_stack.append((buffer, pointer))
        profiling.on_stack(f, buffer, size)
        f.pointers[buffer] = (pointer, 0)


class Heap(Memory[Function]):
    """Memory from the run time, for everything else; it is checked that there is some,
    and a size beyond 63 bits counts as too much."""

    def takes(self, f: Function, s: S.Allocate, size: int | None) -> bool:
        return s.kind is not MemoryKind.CACHE

    def allocate(self, f: Function, s: S.Allocate, size: int | None) -> None:
        buffer = s.buffer
        sizes = [index_value(f, e) for e in s.extents]
        total, wrong = str(buffer.type.bytes()), "false"
        pair = "{ i64, i1 }"
        times = f.module.declare("llvm.smul.with.overflow.i64", pair, "i64, i64")
        for text in sizes:
            at = f.module.declare("llvm.smax.i64", "i64", "i64, i64")
            text = f.op(f"call i64 {at}(i64 {text}, i64 0)")
            both = f.op(f"call {pair} {times}(i64 {total}, i64 {text})")
            total = f.op(f"extractvalue {pair} {both}, 0")
            over = f.op(f"extractvalue {pair} {both}, 1")
            wrong = over if wrong == "false" else f.op(f"or i1 {wrong}, {over}")
        # Neither the padding may wrap nor the slack that the run time rounds up by.
        extra = s.padding * buffer.type.bytes()
        large = f.op(f"icmp ugt i64 {total}, {(1 << 62) - extra}")
        wrong = large if wrong == "false" else f.op(f"or i1 {wrong}, {large}")
        if extra:
            total = f.op(f"add i64 {total}, {extra}")
        total = f.op(f"select i1 {wrong}, i64 -1, i64 {total}")
        if not build.is_true(s.condition):
            cond = f.value(s.condition)
            total = f.op(f"select i1 {cond}, i64 {total}, i64 0")
        given = "ph_reserve" if s.kind is MemoryKind.SPARSE else "ph_malloc"
        f.module.runtime(given)
        f.module.runtime("ph_free")
        # All ones is never asked of the allocator.
        refused = f.op(f"icmp eq i64 {total}, -1")
        asked = f.op(f"select i1 {refused}, i64 9223372036854775744, i64 {total}")
        pointer = f.op(f"call ptr @{given}(ptr %ctx, i64 {asked})")
        missing = f.op(f"icmp eq ptr {pointer}, null")
        unwanted = f.op(f"icmp eq i64 {total}, 0")
        ok = f.op(f"xor i1 {missing}, true")
        ok = f.op(f"or i1 {ok}, {unwanted}")
        name = buffer.func.label if buffer.func is not None else buffer.name
        amount = Var("bytes", INT64)
        f.bind(amount, total, f.top)
        effects.unless(f, ok, "out_of_memory", (E.StringImm(INT32, name), amount))
        f.live.append((buffer, pointer))
        f.pointers[buffer] = (pointer, f.top)
        profiling.allocated(f, buffer, pointer, total)


class OnDevice(Memory[Function]):
    """The device's memory, and main memory if the host's code uses it as well. The copy
    on the device is made at its first use."""

    def takes(self, f: Function, s: S.Allocate, size: int | None) -> bool:
        return s.kind in (
            MemoryKind.DEVICE,
            MemoryKind.MIRRORED,
            MemoryKind.CACHE_MIRRORED,
        )

    def allocate(self, f: Function, s: S.Allocate, size: int | None) -> None:
        buffer = s.buffer
        host = "null"
        if s.kind is MemoryKind.MIRRORED:
            Heap().allocate(f, s, size)
            host = f.pointers[buffer][0]
        elif s.kind is MemoryKind.CACHE_MIRRORED:
            memo.allocate(f, s)
            host = f.pointers[buffer][0]
        else:
            # Nobody asks for the place of what the host does not use.
            f.pointers[buffer] = ("null", f.top)
        fields = fields_of(f.module.target)
        struct = f.alloca(f"[{fields.size} x i8], align 8")
        shape = _shape(f, s)
        dims = f.alloca(f"[{max(DIMENSION_BYTES * len(shape), 1)} x i8], align 8")
        fill_struct(f, struct, host, buffer.type, dims, shape)
        f.structs[buffer] = struct
        f.module.runtime("ph_device_free")
        f.live.append((buffer, struct))
        f.releases[struct] = f"call void @ph_device_free(ptr %ctx, ptr {struct})"


def _shape(f: Function, s: S.Allocate) -> list[tuple[str, str, str]]:
    """Min, extent and stride of each dimension of storage, the densest first."""
    shape: list[tuple[str, str, str]] = []
    stride: Expr = build.int64(1)
    for e in s.extents:
        extent = index_value(f, e)
        if extent.startswith("%"):
            extent = f.op(f"trunc i64 {extent} to i32")
        step = index_value(f, stride)
        if step.startswith("%"):
            step = f.op(f"trunc i64 {step} to i32")
        shape.append(("0", extent, step))
        stride = build.mul(stride, build.cast(INT64, e))
    return shape


#: Those of processors, in the order in which they are asked.
MEMORIES: tuple[Memory[Function], ...] = (Cached(), OnDevice(), Stack(), Heap())


def allocate(f: Function, s: S.Allocate) -> None:
    """Writes an allocation. Raises InternalError if no memory of the back end takes
    it, which a pass was to see to."""
    f.forget_loads(s.buffer)
    # Copies of a body allocate one buffer in several places, not always alike.
    f.module.sizes.pop(s.buffer, None)
    size = constant_size(s)
    if size is not None and s.kind is not MemoryKind.CACHE:
        f.module.sizes[s.buffer] = size
    f.module.tables.allocate(f, s, size)


#: What is allocated at a place: on the heap, and on the stack.
Mark = tuple[int, int]


def mark(f: Function) -> Mark:
    """Returns how much is allocated now, for `end`."""
    return len(f.live), len(f.on_stack)


def end(f: Function, before: Mark) -> None:
    """Frees what was allocated since `before`, the latest first."""
    while len(f.on_stack) > before[1]:
        buffer, pointer = f.on_stack.pop()
        at = f.module.declare("llvm.lifetime.end.p0", "void", "ptr")
        f.out(f"  call void {at}(ptr {pointer})")
        f.pointers.pop(buffer, None)
    while len(f.live) > before[0]:
        _release(f)


def free(f: Function, s: S.Free) -> None:
    """Frees an allocation before its block ends, if it is the latest of this construct.

    The storage of an enclosing construct stays, as the code after that construct frees
    it.
    """
    f.forget_loads(s.buffer)
    if f.live and f.live[-1][0] is s.buffer:
        if f.pointers[s.buffer][1] == f.top:
            _release(f)


def _release(f: Function) -> None:
    """Frees the latest storage on the heap."""
    buffer, pointer = f.live.pop()
    profiling.freed(f, pointer)
    f.out(f"  {f.release(pointer)}")
    f.pointers.pop(buffer, None)


__all__ = ["MEMORIES"]
