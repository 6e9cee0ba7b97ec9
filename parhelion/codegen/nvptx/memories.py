"""The memories that storage of a kernel can be in: the block's, and each thread's."""

from __future__ import annotations

from parhelion.codegen.nvptx.module import WIDEST, kernel_function
from parhelion.codegen.storage import Memory
from parhelion.codegen.types import memory_type
from parhelion.codegen.writer import Function
from parhelion.errors import ScheduleError
from parhelion.ir import stmt as S
from parhelion.ir.stmt import MemoryKind
from parhelion.ir.symbols import BufferSym
from parhelion.lower.kernel_names import label

#: What one thread may have, in bytes: a GPU has as much for each that runs.
THREAD_LIMIT = 512 << 10


class Shared(Memory[Function]):
    """A part of the memory that the threads of a block share, where `lower.shared` has
    laid it."""

    def takes(self, f: Function, s: S.Allocate, size: int | None) -> bool:
        return s.kind is MemoryKind.SHARED

    def allocate(self, f: Function, s: S.Allocate, size: int | None) -> None:
        buffer = s.buffer
        _constant(buffer, size)
        offset = kernel_function(f).offsets[buffer]
        array = kernel_function(f).module.shared_array()
        key = ("shared", buffer)
        pointer = f.memo.get(key)
        if pointer is None:
            pointer = f.memo[key] = f.name()
            f.entry.append(
                f"  {pointer} = getelementptr i8, ptr addrspacecast "
                f"(ptr addrspace(3) {array} to ptr), i64 {offset}"
            )
        f.pointers[buffer] = (pointer, 0)


class Thread(Memory[Function]):
    """The thread's own: registers where all indices are constant, else memory."""

    def takes(self, f: Function, s: S.Allocate, size: int | None) -> bool:
        return s.kind in (MemoryKind.STACK, MemoryKind.REGISTER, MemoryKind.AUTO)

    def allocate(self, f: Function, s: S.Allocate, size: int | None) -> None:
        buffer = s.buffer
        bytes = _constant(buffer, size)
        if f.frame + bytes > THREAD_LIMIT:
            raise ScheduleError(
                f"the storage of {label(buffer)} in each thread of a kernel, with all"
                f" else that a thread has, takes more than {THREAD_LIMIT} bytes",
                hint="compute it further out, or in smaller parts",
            )
        count = max(bytes // buffer.type.bytes(), 1)
        pointer = f.alloca(f"[{count} x {memory_type(buffer.type)}], align {WIDEST}")
        f.frame += (bytes + WIDEST - 1) // WIDEST * WIDEST
        at = f.module.declare("llvm.lifetime.start.p0", "void", "ptr")
        f.out(f"  call void {at}(ptr {pointer})")
        f.on_stack.append((buffer, pointer))
        f.pointers[buffer] = (pointer, 0)


def _constant(buffer: BufferSym, size: int | None) -> int:
    if size is None:
        raise ScheduleError(
            f"the storage of {label(buffer)} in a kernel has no constant size",
            hint=f"{label(buffer)}.bound_extent or bound_storage gives it one",
        )
    return size


MEMORIES: tuple[Memory[Function], ...] = (Shared(), Thread())

__all__ = ["MEMORIES", "THREAD_LIMIT"]
