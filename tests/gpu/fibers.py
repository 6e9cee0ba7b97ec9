"""The threads of a block of a GPU on the CPU: each has a stack of its own, and hands
the processor on at barriers (`swapcontext` of the C library).

No Python runs in them. What a thread asks of the GPU (which it is, where it waits, what
its lane shows to others) are functions in LLVM's language beside the kernel's, which
find the thread's record at the bottom of its stack. A round runs each thread up to its
next barrier; then this module says which of them go on.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import re
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

#: Bytes of a stack, which begins at a multiple of them: a record, a page that nothing
#: may touch, and what calls take, downwards from the end.
STACK = 256 << 10
_PAGE = mmap.PAGESIZE

# The record: words of 32 bits, pointers, and what `swapcontext` saves.
_TID, _BLOCK, _WAITS, _MASK, _CLAMP, _LANE, _FROM = 0, 3, 6, 7, 8, 9, 10
_SCHEDULER, _SHOWN, _ARGUMENTS = 48, 56, 64  # bytes
_CONTEXT = 1024

#: What a thread waits for.
_ENDED, _OF_BLOCK, _OF_WARP = 0, 1, 2

#: Lanes of a warp.
_LANES = 32

#: Threads of the CPU for those of a block that update memory together.
_AT_ONCE = 4

_ASKS = "\n".join(
    f"""
define i32 @sim_{what}_{axis}() {{
  %fiber = call ptr @sim_fiber()
  %at = getelementptr i32, ptr %fiber, i64 {first + d}
  %value = load i32, ptr %at
  ret i32 %value
}}"""
    for what, first in (("tid", _TID), ("ctaid", _BLOCK))
    for d, axis in enumerate("xyz")
)

#: What kernels call, and what runs threads.
_FUNCTIONS = f"""
declare i32 @swapcontext(ptr, ptr)
declare ptr @llvm.frameaddress.p0(i32)

define ptr @sim_fiber() {{
  %frame = call ptr @llvm.frameaddress.p0(i32 0)
  %here = ptrtoint ptr %frame to i64
  %base = and i64 %here, {-STACK}
  %fiber = inttoptr i64 %base to ptr
  ret ptr %fiber
}}
{_ASKS}

define void @sim_wait(ptr %fiber, i32 %what) {{
  %waits = getelementptr i32, ptr %fiber, i64 {_WAITS}
  store i32 %what, ptr %waits
  %scheduler_at = getelementptr i8, ptr %fiber, i64 {_SCHEDULER}
  %scheduler = load ptr, ptr %scheduler_at
  %context = getelementptr i8, ptr %fiber, i64 {_CONTEXT}
  %done = call i32 @swapcontext(ptr %context, ptr %scheduler)
  ret void
}}

define void @sim_barrier(i32 %number) {{
  %fiber = call ptr @sim_fiber()
  call void @sim_wait(ptr %fiber, i32 {_OF_BLOCK})
  ret void
}}

define i32 @sim_shuffle(i32 %mask, i32 %value, i32 %lane, i32 %clamp) {{
  %fiber = call ptr @sim_fiber()
  %me_at = getelementptr i32, ptr %fiber, i64 {_LANE}
  %me = load i32, ptr %me_at
  %shown_at = getelementptr i8, ptr %fiber, i64 {_SHOWN}
  %shown = load ptr, ptr %shown_at
  %mine = getelementptr i32, ptr %shown, i32 %me
  store i32 %value, ptr %mine
  %above = lshr i32 %clamp, 8
  %apart = and i32 %above, 31
  %within = xor i32 %apart, 31
  %kept = and i32 %me, %apart
  %asked = and i32 %lane, %within
  %from = or i32 %kept, %asked
  %mask_at = getelementptr i32, ptr %fiber, i64 {_MASK}
  store i32 %mask, ptr %mask_at
  %clamp_at = getelementptr i32, ptr %fiber, i64 {_CLAMP}
  store i32 %clamp, ptr %clamp_at
  %from_at = getelementptr i32, ptr %fiber, i64 {_FROM}
  store i32 %from, ptr %from_at
  call void @sim_wait(ptr %fiber, i32 {_OF_WARP})
  %there = getelementptr i32, ptr %shown, i32 %from
  %taken = load i32, ptr %there
  call void @sim_wait(ptr %fiber, i32 {_OF_WARP})
  ret i32 %taken
}}

define void @sim_resume(ptr %scheduler, ptr %fibers, i64 %count) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = getelementptr ptr, ptr %fibers, i64 %i
  %fiber = load ptr, ptr %at
  %context = getelementptr i8, ptr %fiber, i64 {_CONTEXT}
  %done = call i32 @swapcontext(ptr %scheduler, ptr %context)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %end
end:
  ret void
}}
"""


def with_fibers(text: str) -> str:
    """A module of kernels, with the functions that they call defined, and of each
    kernel K ``sim_run_K``, which a thread begins with."""
    runs = [
        _run(name, [one.split()[0] for one in given.split(", ") if one])
        for name, given in re.findall(r"^define void @(\w+)\((.*)\)", text, re.M)
    ]
    text = re.sub(r"^declare .*@sim_\w+\(.*$", "", text, flags=re.M)
    return "\n".join([text, _FUNCTIONS, *runs])


def _run(name: str, kinds: Sequence[str]) -> str:
    lines = [
        "  %fiber = call ptr @sim_fiber()",
        f"  %given = getelementptr i8, ptr %fiber, i64 {_ARGUMENTS}",
        "  %arguments = load ptr, ptr %given",
    ]
    for k, kind in enumerate(kinds):
        lines.append(f"  %at{k} = getelementptr i64, ptr %arguments, i64 {k}")
        lines.append(f"  %a{k} = load {kind}, ptr %at{k}")
    passed = ", ".join([f"{kind} %a{k}" for k, kind in enumerate(kinds)])
    lines += [
        f"  call void @{name}({passed})",
        f"  %waits = getelementptr i32, ptr %fiber, i64 {_WAITS}",
        f"  store i32 {_ENDED}, ptr %waits",
        "  ret void",
    ]
    return "\n".join([f"define void @sim_run_{name}() {{", *lines, "}"])


_LIBC = ctypes.CDLL(None)
_LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_LIBC.getcontext.argtypes = [ctypes.c_void_p]
_LIBC.makecontext.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]
_LIBC.makecontext.restype = None

# Of `ucontext_t` on Linux, in words of 64 bits: where to go on at the end, the stack's
# address, flags, and its size.
_LINK, _SP, _SIZE = 1, 2, 4


class _Stacks:
    """Memory for the threads of one block."""

    def __init__(self, count: int) -> None:
        self.memory = mmap.mmap(
            -1, (count + 1) * STACK, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        )
        start = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        skipped = -start % STACK
        self.base = start + skipped
        size = count * STACK
        view = np.frombuffer(self.memory, np.uint8, size, skipped).reshape(count, STACK)
        self.words, self.wide = view.view(np.int32), view.view(np.uint64)
        for k in range(count):
            fiber = self.base + k * STACK
            if _LIBC.mprotect(fiber + _PAGE, _PAGE, 0):
                raise MemoryError("a page below a stack cannot be protected")
            _LIBC.getcontext(fiber + _CONTEXT)
        #: What a round goes back to, one for each thread of the CPU.
        self.schedulers = np.zeros((_AT_ONCE, _PAGE), np.uint8)


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_AT_ONCE, "fibers")


class Fibers:
    """Runs the threads of blocks, one block at a time."""

    def __init__(self, resume: int, at_once: bool) -> None:
        """resume: where ``sim_resume`` is. at_once: whether threads are shared out to
        several of the CPU's, which run at once: for those that update memory together.
        """
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
        self.resume = call(resume)
        self.shares = _AT_ONCE if at_once else 1
        self._of = threading.local()

    def _stacks(self, count: int) -> _Stacks:
        """This thread's, of at least so many."""
        known: _Stacks | None = getattr(self._of, "stacks", None)
        if known is None or len(known.words) < count:
            known = self._of.stacks = _Stacks(count)
        return known

    def block(
        self,
        run: int,
        arguments: int,
        block: Sequence[int],
        threads: Sequence[Sequence[int]],
    ) -> None:
        """Runs one block. run: where ``sim_run_K`` is. arguments: where those of the
        kernel are, 8 bytes apart. threads: which they are.

        Raises AssertionError if threads wait for others that do not come, or a shuffle
        is none that PTX has."""
        count = len(threads)
        stacks = self._stacks(count)
        words, wide = stacks.words[:count], stacks.wide[:count]
        words[:, _TID : _TID + 3] = threads
        words[:, _BLOCK : _BLOCK + 3] = block
        words[:, _LANE] = np.arange(count) % _LANES
        shown = np.zeros(count + _LANES, np.int32)
        warps = np.arange(count) // _LANES
        wide[:, _SHOWN // 8] = shown.ctypes.data + warps * (4 * _LANES)
        wide[:, _ARGUMENTS // 8] = arguments
        schedulers = stacks.schedulers
        back = schedulers.ctypes.data + self._share(count) * _PAGE
        wide[:, _SCHEDULER // 8] = back
        fibers = stacks.base + np.arange(count, dtype=np.uint64) * np.uint64(STACK)
        first = _CONTEXT // 8
        wide[:, first + _LINK] = back
        wide[:, first + _SP] = fibers + np.uint64(2 * _PAGE)
        wide[:, first + _SIZE] = STACK - 2 * _PAGE
        for k in range(count):
            _LIBC.makecontext(int(fibers[k]) + _CONTEXT, run, 0)
        self._rounds(words, fibers, schedulers)

    def _rounds(self, words: Any, fibers: Any, schedulers: Any) -> None:
        waits, count = words[:, _WAITS], len(fibers)
        going = np.arange(count)
        while len(going):
            self._resume(fibers, going, schedulers)
            self._check_shuffles(words, waits == _OF_WARP)
            alive = waits != _ENDED
            if (waits[alive] == _OF_BLOCK).all():
                # Backwards in every second round: a barrier that lacks shows in one.
                going = np.nonzero(alive)[0][:: 1 if going[0] else -1]
            else:
                ready = [
                    np.arange(k, min(k + _LANES, count))
                    for k in range(0, count, _LANES)
                    if (waits[k : k + _LANES] == _OF_WARP).all()
                ]
                assert ready, "threads wait for others, which wait elsewhere"
                going = np.concatenate(ready)

    def _resume(self, fibers: Any, going: Any, schedulers: Any) -> None:
        share_of = self._share(len(fibers))[going]
        shares = [
            (
                schedulers[k].ctypes.data,
                np.ascontiguousarray(fibers[going[share_of == k]]),
            )
            for k in np.unique(share_of)
        ]
        if len(shares) == 1:
            self._run(*shares[0])
        else:
            list(_pool().map(lambda one: self._run(*one), shares))

    def _share(self, count: int) -> Any:
        """For each thread of a block, which of the CPU's runs it."""
        return np.arange(count) * self.shares // count

    def _run(self, scheduler: int, share: Any) -> None:
        self.resume(scheduler, share.ctypes.data, len(share))

    @staticmethod
    def _check_shuffles(words: Any, shuffling: Any) -> None:
        if not shuffling.any():
            return
        there = np.minimum(
            _LANES, len(words) - np.arange(len(words)) // _LANES * _LANES
        )
        assert (words[shuffling, _MASK] == -1).all()
        assert (words[shuffling, _CLAMP] & 31 == 31).all()
        assert (words[shuffling, _FROM] < there[shuffling]).all()
