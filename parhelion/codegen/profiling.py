"""Profiled code: what a thread computes, how often Funcs are produced, their storage.

The marks are made by `lower.profiling`; the functions that are called here are those of
`runtime.profile_ir`. Where a function leaves with a failure, nothing is said any more:
there is no profile of a run that failed.
"""

from __future__ import annotations

from parhelion.codegen.intrinsics import lowers
from parhelion.codegen.module import Module
from parhelion.codegen.writer import Function
from parhelion.ir import expr as E
from parhelion.ir.build import const_int
from parhelion.ir.function import Function as Func
from parhelion.ir.pipeline import FIRST_FUNC, LAZY_WORDS
from parhelion.ir.symbols import BufferSym


@lowers("profile_enter")
def _enter(f: Function, e: E.Intrinsic) -> str:
    f.module.runtime("ph_profile_enter")
    number = f.value(e.args[0])
    f.slot = f.op(f"call ptr @ph_profile_enter(ptr %ctx, i32 {number})")
    return "0"


@lowers("profile_at")
def _at(f: Function, e: E.Intrinsic) -> str:
    """One store; atomic, as another thread reads it meanwhile."""
    number = f.value(e.args[0])
    f.out(f"  store atomic i32 {number}, ptr {f.slot} monotonic, align 4")
    return "0"


@lowers("profile_leave")
def _leave(f: Function, e: E.Intrinsic) -> str:
    for (number, word), cell in f.tallies.items():
        _add(f, number, word, f.op(f"load i64, ptr {cell}"))
    f.module.runtime("ph_profile_leave")
    f.out(f"  call void @ph_profile_leave(ptr %ctx, ptr {f.slot})")
    return "0"


@lowers("profile_count")
def _count(f: Function, e: E.Intrinsic) -> str:
    f.module.runtime("ph_profile_count")
    number, times = f.value(e.args[0]), f.value(e.args[1])
    f.out(f"  call void @ph_profile_count(ptr %ctx, i32 {number}, i64 {times})")
    return "0"


@lowers("profile_add")
def _count_more(f: Function, e: E.Intrinsic) -> str:
    number, word = (const_int(a) for a in e.args[:2])
    assert number is not None and word is not None
    _add(f, number, word, f.value(e.args[2]))
    return "0"


def _add(f: Function, number: int, word: int, n: str) -> None:
    f.module.runtime("ph_profile_add")
    given = f"ptr %ctx, i32 {number}, i32 {word}, i64 {n}"
    f.out(f"  call void @ph_profile_add({given})")


def tally(f: Function, func: Func | None, what: str, n: str) -> None:
    """Adds `n` (int64) to what is counted of a Func on demand, if code is profiled: in
    this function's frame, until its thread's work is done."""
    number = None if func is None else f.module.profiled.get(func)
    if number is None:
        return
    key = number, LAZY_WORDS[what]
    cell = f.tallies.get(key)
    if cell is None:
        cell = f.tallies[key] = f.alloca("i64")
        f.entry.append(f"  store i64 0, ptr {cell}")
    before = f.op(f"load i64, ptr {cell}")
    after = f.op(f"add i64 {before}, {n}")
    f.out(f"  store i64 {after}, ptr {cell}")


def allocated(f: Function, buffer: BufferSym, pointer: str, bytes: str) -> None:
    """Counts storage that was made on the heap."""
    number = _number(f.module, buffer)
    if number is None:
        return
    f.module.runtime("ph_profile_allocate")
    f.out(f"  call void @ph_profile_allocate(ptr %ctx, i32 {number}, i64 {bytes})")
    f.counted[pointer] = (number, bytes)


def freed(f: Function, pointer: str) -> None:
    """Counts the end of storage that `allocated` counted; of other storage, nothing."""
    if pointer not in f.counted:
        return
    number, bytes = f.counted[pointer]
    f.module.runtime("ph_profile_free")
    f.out(f"  call void @ph_profile_free(ptr %ctx, i32 {number}, i64 {bytes})")


def on_stack(f: Function, buffer: BufferSym, size: int) -> None:
    """Notes how many bytes of the stack a buffer takes."""
    m = f.module
    if m.profiled:
        m.stack_storage[buffer] = max(size, m.stack_storage.get(buffer, 0))


def told(m: Module) -> tuple[tuple[str, int], ...]:
    """Returns the name that the user knows and the bytes on the stack of each Func.

    The Funcs are in the order of their numbers.
    """
    if not m.profiled:
        return ()
    count = max(m.profiled.values()) + 1 - FIRST_FUNC
    names, stack = [""] * count, [0] * count
    for func, number in m.profiled.items():
        names[number - FIRST_FUNC] = func.label
    for buffer, size in m.stack_storage.items():
        number_of = _number(m, buffer)
        if number_of is not None:
            stack[number_of - FIRST_FUNC] += size
    return tuple(zip(names, stack, strict=True))


def _number(m: Module, buffer: BufferSym) -> int | None:
    return None if buffer.func is None else m.profiled.get(buffer.func)


__all__ = ["allocated", "freed", "on_stack", "tally", "told"]
