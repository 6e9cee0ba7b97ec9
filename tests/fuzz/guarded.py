"""Memory with edges, so that a write outside a buffer is a failure.

In a guarded process, the storage of Funcs (on the heap, all of it), images and outputs
end where a page begins that nobody may touch. What surrounds them in their own pages
holds a pattern, which must still be there when storage is freed and when a case has
run. Not guarded are what `store_in` has put on the stack, storage in the cache of
memoized Funcs, and outputs that `realize` makes itself.
"""

from __future__ import annotations

import ctypes
import mmap
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parhelion.lower import allocate
from parhelion.runtime import threads
from tests.fuzz import build
from tests.fuzz.execute import POISON, Outcome, Report

_PAGE = mmap.PAGESIZE
_CACHE_LINE = 64
#: Compiled code asks for more than this where the size has overflowed.
_MOST = 1 << 40

_LIBC = ctypes.CDLL(None)
_LIBC.mmap.restype = ctypes.c_void_p
_LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3]
_LIBC.mmap.argtypes += [ctypes.c_long]
_LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_FAILED = ctypes.c_void_p(-1).value

_Malloc = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
_Free = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


@dataclass(frozen=True, slots=True)
class Block:
    """Pages of memory, the first and the last of which nobody may touch.

    start, end: of the pages between. at, size: the bytes in there that are data.
    """

    start: int
    end: int
    at: int
    size: int

    @classmethod
    def new(cls, size: int, alignment: int) -> Block:
        """A block whose data end at its last page, or as near as `alignment` lets
        them. Raises MemoryError."""
        used = -(-max(size, 1) // alignment) * alignment
        room = -(-used // _PAGE) * _PAGE
        access = mmap.PROT_READ | mmap.PROT_WRITE
        kind = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        first = _LIBC.mmap(None, room + 2 * _PAGE, access, kind, -1, 0)
        if first == _FAILED:
            raise MemoryError(f"no {size} bytes")
        start, end = first + _PAGE, first + _PAGE + room
        ctypes.memset(start, POISON, room)
        made = cls(start, end, end - used, size)
        for edge in (first, end):
            if _LIBC.mprotect(edge, _PAGE, 0):
                made.release()
                raise MemoryError("no more pages can be protected")
        return made

    def spoilt(self) -> str:
        """What was written around the data; empty if nothing was."""
        stop = self.at + self.size
        before = ctypes.string_at(self.start, self.at - self.start)
        after = ctypes.string_at(stop, self.end - stop)
        pattern = bytes([POISON])
        found = []
        if before.strip(pattern):
            found.append(f"{len(before.lstrip(pattern))} bytes before")
        if after.strip(pattern):
            found.append(f"{len(after.rstrip(pattern))} bytes after")
        where = " and ".join(found)
        return f"written up to {where} {self.size} bytes of data" if found else ""

    def release(self) -> None:
        _LIBC.munmap(self.start - _PAGE, self.end - self.start + 2 * _PAGE)


class Guard:
    """Guards the memory of this process's pipelines, from its making on."""

    def __init__(self) -> None:
        self.storage: dict[int, Block] = {}
        self.arrays: list[Block] = []
        self.found: list[str] = []
        # Compiled code keeps the addresses of these.
        self._malloc, self._free = _Malloc(self.malloc), _Free(self.free)
        allocate.MOST_ON_STACK = 0
        build.new_array = self.array
        for name, function in (
            ("ph_malloc", self._malloc),
            ("ph_reserve", self._malloc),
            ("ph_free", self._free),
        ):
            address = ctypes.cast(function, ctypes.c_void_p).value
            assert address is not None
            threads.symbols()[name] = address

    def malloc(self, _context: int | None, size: int) -> int | None:
        if not 0 <= size <= _MOST:
            return None
        try:
            block = Block.new(size, _CACHE_LINE)
        except MemoryError:
            return None
        self.storage[block.at] = block
        return block.at

    def free(self, _context: int | None, at: int | None) -> None:
        if at is None:
            return
        block = self.storage.pop(at, None)
        if block is None:
            self.found.append("freed what is not allocated")
            return
        self._look_at(block)
        block.release()

    def array(self, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """An array for an image or an output of the case that runs."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        block = Block.new(size, 1)
        self.arrays.append(block)
        raw = (ctypes.c_uint8 * size).from_address(block.at)
        return np.ndarray(shape, dtype, raw)

    def end(self, report: Report) -> None:
        """Ends a case, whose arrays are no longer: what was written around them, and
        around storage, makes its report one of a crash."""
        for block in self.arrays:
            self._look_at(block)
            block.release()
        if self.found:
            report.outcome, report.message = Outcome.CRASH, "; ".join(self.found)
        self.arrays, self.found = [], []

    def _look_at(self, block: Block) -> None:
        found = block.spoilt()
        if found:
            self.found.append(found)
