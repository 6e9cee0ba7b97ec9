"""The simulated device, as LLVM IR: memory of its own, and copies to and from it.

Its kernels are loops of the host's code that use the addresses of the device's copies.
So a copy that was forgotten shows: what nobody has written there is GARBAGE.
"""

from __future__ import annotations

#: Each byte of a new block.
GARBAGE = 0xA5

#: Blocks begin at multiples of so many bytes, as those of CUDA do.
ALIGNMENT = 256

SIMULATED = """
@ph.str.simulated = private constant [10 x i8] c"simulated\\00"
@ph_device_simulated = constant %ph.interface {
  HALIDE_TABLE,
  ptr @ph.str.simulated,
  ptr @ph.simulated.allocate,
  ptr @ph.simulated.free,
  ptr @ph.simulated.to_device,
  ptr @ph.simulated.to_host,
  ptr @ph.simulated.launch,
  ptr @ph.simulated.finish,
  ptr @ph.simulated.mark,
  ptr @ph.simulated.elapsed,
  ptr @ph.simulated.registers,
  ptr @ph.simulated.here,
  ptr @ph.simulated.texture
}

declare i32 @posix_memalign(ptr, i64, i64)
declare void @free(ptr)
declare i32 @clock_gettime(i32, ptr)

define internal i32 @ph.simulated.allocate(ptr %ctx, i64 %bytes, ptr %address) {
  %slot = alloca ptr
  %r = call i32 @posix_memalign(ptr %slot, i64 SIMULATED_ALIGNMENT, i64 %bytes)
  %good = icmp eq i32 %r, 0
  br i1 %good, label %made, label %none
none:
  ret i32 NO_MEMORY
made:
  %p = load ptr, ptr %slot
  call void @llvm.memset.p0.i64(ptr %p, i8 GARBAGE, i64 %bytes, i1 false)
  %block = ptrtoint ptr %p to i64
  store i64 %block, ptr %address
  ret i32 0
}

define internal i32 @ph.simulated.free(ptr %ctx, i64 %block) {
  %p = inttoptr i64 %block to ptr
  call void @free(ptr %p)
  ret i32 0
}

define internal i32 @ph.simulated.to_device(ptr %ctx, i64 %to, ptr %from, i64 %width, \
i64 %height, i64 %pitch) {
  %p = inttoptr i64 %to to ptr
  call void @ph.simulated.rows(ptr %p, ptr %from, i64 %width, i64 %height, i64 %pitch)
  ret i32 0
}

define internal i32 @ph.simulated.to_host(ptr %ctx, ptr %to, i64 %from, i64 %width, \
i64 %height, i64 %pitch) {
  %p = inttoptr i64 %from to ptr
  call void @ph.simulated.rows(ptr %to, ptr %p, i64 %width, i64 %height, i64 %pitch)
  ret i32 0
}

define internal void @ph.simulated.rows(ptr %to, ptr %from, i64 %width, i64 %height, \
i64 %pitch) {
  br label %row
row:
  %i = phi i64 [ 0, %0 ], [ %i1, %row ]
  %at = mul i64 %i, %pitch
  %t = getelementptr i8, ptr %to, i64 %at
  %f = getelementptr i8, ptr %from, i64 %at
  call void @llvm.memcpy.p0.p0.i64(ptr %t, ptr %f, i64 %width, i1 false)
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %height
  br i1 %more, label %row, label %out
out:
  ret void
}

define internal i32 @ph.simulated.launch(ptr %ctx, ptr %kernel, ptr %grid, ptr %block, \
i32 %shared, ptr %arguments) {
  ret i32 NO_LAUNCH
}

define internal i32 @ph.simulated.texture(ptr %ctx, i64 %address, i64 %width, \
i64 %rows, i64 %pitch, i32 %what, ptr %object) {
  ret i32 NO_LAUNCH
}

define internal i32 @ph.simulated.finish(ptr %ctx) {
  ret i32 0
}

; Nanoseconds of the clock that nobody sets.
define internal void @ph.simulated.mark(ptr %ctx, ptr %place) {
  %t = alloca [2 x i64]
  %r = call i32 @clock_gettime(i32 1, ptr %t)
  %secs = load i64, ptr %t
  %p = getelementptr i64, ptr %t, i64 1
  %nanos = load i64, ptr %p
  %whole = mul i64 %secs, 1000000000
  %now = add i64 %whole, %nanos
  store i64 %now, ptr %place
  ret void
}

define internal i64 @ph.simulated.elapsed(i64 %began, i64 %ended) {
  %failed = icmp eq i64 %ended, 0
  %took = sub i64 %ended, %began
  %r = select i1 %failed, i64 -1, i64 %took
  ret i64 %r
}

define internal i32 @ph.simulated.here(ptr %ctx, i64 %address) {
  ret i32 1
}

define internal i32 @ph.simulated.registers(ptr %ctx, ptr %kernel) {
  ret i32 0
}
"""


def names() -> dict[str, str]:
    """What SIMULATED's words in capitals stand for, beside those of `device_ir`."""
    return {
        "GARBAGE": str(GARBAGE - 256),
        "SIMULATED_ALIGNMENT": str(ALIGNMENT),
    }


__all__ = ["ALIGNMENT", "GARBAGE", "SIMULATED", "names"]
