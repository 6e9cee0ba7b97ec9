"""How long kernels take on NVIDIA's GPUs, as LLVM IR: an event before each, one after.

Events stand in the stream and cost it little, so that what is measured is what runs
without them. They are read when all has been launched. They are the marks of which
`device_log_ir` makes profiles. A part of `cuda_ir`.
"""

from __future__ import annotations

TIMES = """
; next, the kernel's name (malloc's), the marks before and after.
%ph.cuda.time = type { ptr, ptr, i64, i64 }

@ph.cuda.timing = internal global i32 0
@ph.cuda.times = internal global ptr null

declare ptr @strdup(ptr)

; Begins to measure kernels, or ends it.
define void @ph_cuda_time_kernels(i32 %on) {
  store atomic i32 %on, ptr @ph.cuda.timing monotonic, align 4
  ret void
}

; Begins to measure a kernel that is about to be launched; null if that is not wanted,
; or if it cannot be done.
define internal ptr @ph.cuda.before(ptr %ctx, ptr %kernel) {
  %on = load atomic i32, ptr @ph.cuda.timing monotonic, align 4
  %off = icmp eq i32 %on, 0
  br i1 %off, label %none, label %make
none:
  ret ptr null
make:
  %t = call ptr @malloc(i64 32)
  %poor = icmp eq ptr %t, null
  br i1 %poor, label %none, label %mark
mark:
  %p2 = getelementptr %ph.cuda.time, ptr %t, i64 0, i32 2
  call void @ph.cuda.mark(ptr %ctx, ptr %p2)
  %began = load i64, ptr %p2
  %lost = icmp eq i64 %began, 0
  br i1 %lost, label %drop, label %tell
drop:
  call void @free(ptr %t)
  ret ptr null
tell:
  %name = load ptr, ptr %kernel
  %copy = call ptr @strdup(ptr %name)
  %p1 = getelementptr %ph.cuda.time, ptr %t, i64 0, i32 1
  store ptr %copy, ptr %p1
  ret ptr %t
}

; Ends the measurement, if there is one.
define internal void @ph.cuda.after(ptr %ctx, ptr %t) {
  %none = icmp eq ptr %t, null
  br i1 %none, label %out, label %mark
mark:
  %p3 = getelementptr %ph.cuda.time, ptr %t, i64 0, i32 3
  call void @ph.cuda.mark(ptr %ctx, ptr %p3)
  br label %try
try:
  %first = load atomic ptr, ptr @ph.cuda.times monotonic, align 8
  store ptr %first, ptr %t
  %x = cmpxchg ptr @ph.cuda.times, ptr %first, ptr %t release monotonic
  %ok = extractvalue { ptr, i1 } %x, 1
  br i1 %ok, label %out, label %try
out:
  ret void
}

; Waits for the kernels that were measured and tells of each, the last one first:
; void told(user, name, i64 nanoseconds), negative where it is not known.
define i32 @ph_cuda_take_times(ptr %told, ptr %user) {
  %s = call i32 @ph_cuda_start(ptr null)
  %good = icmp eq i32 %s, 0
  br i1 %good, label %take, label %out
take:
  %list = atomicrmw xchg ptr @ph.cuda.times, ptr null acquire
  br label %look
look:
  %t = phi ptr [ %list, %take ], [ %next, %some ]
  %end = icmp eq ptr %t, null
  br i1 %end, label %out, label %some
some:
  %next = load ptr, ptr %t
  %p1 = getelementptr %ph.cuda.time, ptr %t, i64 0, i32 1
  %name = load ptr, ptr %p1
  %p2 = getelementptr %ph.cuda.time, ptr %t, i64 0, i32 2
  %began = load i64, ptr %p2
  %p3 = getelementptr %ph.cuda.time, ptr %t, i64 0, i32 3
  %ended = load i64, ptr %p3
  %nanos = call i64 @ph.cuda.elapsed(i64 %began, i64 %ended)
  call void %told(ptr %user, ptr %name, i64 %nanos)
  call void @free(ptr %name)
  call void @free(ptr %t)
  br label %look
out:
  ret i32 %s
}

; Puts an event into the stream; 0 where that cannot be done.
define internal void @ph.cuda.mark(ptr %ctx, ptr %place) {
  store i64 0, ptr %place
  %s = call i32 @ph.cuda.enter(ptr %ctx)
  %good = icmp eq i32 %s, 0
  br i1 %good, label %make, label %not
not:
  ret void
make:
  %slot = alloca ptr
  %r = call i32 @ph.cuEventCreate(ptr %slot, i32 0)
  %made = icmp eq i32 %r, 0
  br i1 %made, label %record, label %out
record:
  %event = load ptr, ptr %slot
  %stream = call ptr @ph.cuda.stream(ptr %ctx)
  %q = call i32 @ph.cuEventRecord(ptr %event, ptr %stream)
  %number = ptrtoint ptr %event to i64
  store i64 %number, ptr %place
  br label %out
out:
  call void @ph.cuda.leave()
  ret void
}

; Nanoseconds between two events, which end with it.
define internal i64 @ph.cuda.elapsed(i64 %began, i64 %ended) {
  %ms = alloca float
  store float -1.0, ptr %ms
  %s = call i32 @ph.cuda.enter(ptr null)
  %good = icmp eq i32 %s, 0
  br i1 %good, label %look, label %not
not:
  ret i64 -1
look:
  %before = inttoptr i64 %began to ptr
  %after = inttoptr i64 %ended to ptr
  %no1 = icmp eq i64 %began, 0
  %no2 = icmp eq i64 %ended, 0
  %no = or i1 %no1, %no2
  br i1 %no, label %first, label %wait
wait:
  %w = call i32 @ph.cuEventSynchronize(ptr %after)
  %waited = icmp eq i32 %w, 0
  br i1 %waited, label %measure, label %first
measure:
  %e = call i32 @ph.cuEventElapsedTime(ptr %ms, ptr %before, ptr %after)
  br label %first
first:
  br i1 %no1, label %second, label %drop1
drop1:
  %d1 = call i32 @ph.cuEventDestroy_v2(ptr %before)
  br label %second
second:
  br i1 %no2, label %out, label %drop2
drop2:
  %d2 = call i32 @ph.cuEventDestroy_v2(ptr %after)
  br label %out
out:
  call void @ph.cuda.leave()
  %value = load float, ptr %ms
  %wide = fpext float %value to double
  %scaled = fmul double %wide, 1000000.0
  %nanos = fptosi double %scaled to i64
  ret i64 %nanos
}

; The registers of each thread of a kernel that was launched; 0 if it is not known.
define internal i32 @ph.cuda.registers(ptr %ctx, ptr %kernel) {
  %n = alloca i32
  store i32 0, ptr %n
  %pslot = getelementptr { ptr, ptr, ptr, i32 }, ptr %kernel, i64 0, i32 2
  %slots = load ptr, ptr %pslot
  %device = call i64 @ph.cuda.number(ptr %ctx)
  %slot = getelementptr ptr, ptr %slots, i64 %device
  %f = load atomic ptr, ptr %slot acquire, align 8
  %unknown = icmp eq ptr %f, null
  br i1 %unknown, label %not, label %enter
not:
  ret i32 0
enter:
  %s = call i32 @ph.cuda.enter(ptr %ctx)
  %good = icmp eq i32 %s, 0
  br i1 %good, label %ask, label %not
ask:
  ; CU_FUNC_ATTRIBUTE_NUM_REGS
  %r = call i32 @ph.cuFuncGetAttribute(ptr %n, i32 4, ptr %f)
  call void @ph.cuda.leave()
  %told = load i32, ptr %n
  ret i32 %told
}
"""

__all__ = ["TIMES"]
