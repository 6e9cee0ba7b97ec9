"""The thread that looks at slots, driven by hand-written LLVM text and from Python."""

from __future__ import annotations

import ctypes
import struct

from parhelion.runtime import loading, profile, profile_ir
from parhelion.runtime.context import CONTEXT_BYTES, Context

#: How many looks each phase of the program lasts.
LOOKS = 5

# Two threads' work, at Funcs 2 and 3; then both wait; then one is at Func 2.
PHASES = f"""
declare ptr @ph_profile_enter(ptr, i32)
declare void @ph_profile_leave(ptr, ptr)

define internal void @phase(ptr %ctx) {{
  %pr = getelementptr i8, ptr %ctx, i64 {Context.profile.offset}
  %r = load ptr, ptr %pr
  %p = getelementptr i8, ptr %r, i64 {profile_ir.LOOKS}
  %n0 = load volatile i64, ptr %p
  %last = add i64 %n0, {LOOKS}
  br label %loop
loop:
  %n = load volatile i64, ptr %p
  %more = icmp slt i64 %n, %last
  br i1 %more, label %loop, label %out
out:
  ret void
}}

define i32 @phases_argv(ptr %ctx, ptr %argv) {{
  %a = call ptr @ph_profile_enter(ptr %ctx, i32 2)
  %b = call ptr @ph_profile_enter(ptr %ctx, i32 3)
  call void @phase(ptr %ctx)
  store atomic i32 0, ptr %a monotonic, align 4
  store atomic i32 0, ptr %b monotonic, align 4
  call void @phase(ptr %ctx)
  call void @ph_profile_leave(ptr %ctx, ptr %b)
  store atomic i32 2, ptr %a monotonic, align 4
  call void @phase(ptr %ctx)
  call void @ph_profile_leave(ptr %ctx, ptr %a)
  ret i32 0
}}
"""


def test_looks_are_shared_by_who_works() -> None:
    compiled = loading.compile_module(PHASES, "phases")
    entry = profile.Entry(compiled.address, "phases", [("f", 0), ("g", 0)])
    context = ctypes.create_string_buffer(CONTEXT_BYTES)
    with profile.collect() as runs:
        assert entry(ctypes.addressof(context), 0) == 0
    (run,) = runs
    unit = profile_ir.UNIT
    # Of a phase's looks the last one may not be done when it ends, and belong to the
    # next phase, or may be lost at the end of the run.
    least = LOOKS - 1
    assert run.looks >= 3 * LOOKS
    assert run.total(3, profile_ir.SHARE) >= least * unit // 2
    assert run.total(2, profile_ir.SHARE) >= least * unit // 2 + least * unit
    assert run.total(0, profile_ir.SHARE) >= least * unit
    assert run.total(3, profile_ir.THREADS) >= least
    assert run.total(2, profile_ir.THREADS) >= 2 * least
    shares = [run.total(n, profile_ir.SHARE) for n in range(4)]
    assert sum(shares) == run.looks * unit
    assert run.wall > 0


def test_each_thread_has_a_slot_of_its_own() -> None:
    """Those that come after all slots are taken share one that nobody looks at."""
    found = profile.symbols()
    take = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32)(
        found["ph_profile_enter"]
    )
    give = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(
        found["ph_profile_leave"]
    )
    record = ctypes.create_string_buffer(profile_ir.TOTALS + 64)
    base = ctypes.addressof(record)
    context = ctypes.create_string_buffer(CONTEXT_BYTES)
    struct.pack_into("=Q", context, Context.profile.offset, base)
    ctx = ctypes.addressof(context)
    first, last = base + profile_ir.SLOT, base + profile_ir.TOTALS - 64
    for _ in range(2):
        slots = [take(ctx, 7) for _ in range(profile_ir.SLOTS)]
        assert sorted(slots) == list(range(first, last, 64))
        assert [take(ctx, 7), take(ctx, 7)] == [last, last]
        for slot in (*slots, last, last):
            assert ctypes.c_int32.from_address(slot).value in (7, 0)
            give(ctx, slot)
        busy = record.raw[profile_ir.BUSY : profile_ir.SLOT]
        assert busy == bytes(len(busy))
