"""What a profiled call does on devices, noted launch by launch, as LLVM IR: a part of
`device_ir`.

The context of such a call points to the first of its *entries*, of which each is a
launch or a copy. When it began and when it ended are what the device's interface marks:
the time of the host's clock in a simulation, an event on NVIDIA's GPUs, which stands in
the stream and costs it little. Marks are read when the call is over.
"""

from __future__ import annotations

from parhelion.runtime.context import Context

#: What an entry is.
LAUNCH, TO_DEVICE, TO_HOST = range(3)

#: The bytes of an entry.
_ENTRY_BYTES = 104

LOG = """
; next; name and Func of a kernel; what it is; bytes read and written; grid and block;
; shared memory; registers of a thread (0: not known); marks; interface.
%ph.device.entry = type { ptr, ptr, ptr, i64, i64, i64, [6 x i32], i32, i32, i64, i64, \
ptr }

; Where the entries of a call are, null if nobody asks for them.
define internal ptr @ph.device.log(ptr %ctx) {
  %none = icmp eq ptr %ctx, null
  br i1 %none, label %out, label %ask
ask:
  %p = getelementptr i8, ptr %ctx, i64 LOG_OFFSET
  %log = load ptr, ptr %p
  br label %out
out:
  %r = phi ptr [ null, %0 ], [ %log, %ask ]
  ret ptr %r
}

; Begins an entry, which is null if nobody asks for one or there is no memory.
define internal ptr @ph.device.begin(ptr %ctx, ptr %interface, i64 %kind, i64 %read, \
i64 %written) {
  %log = call ptr @ph.device.log(ptr %ctx)
  %unasked = icmp eq ptr %log, null
  br i1 %unasked, label %none, label %make
none:
  ret ptr null
make:
  %e = call ptr @calloc(i64 1, i64 ENTRY_BYTES)
  %poor = icmp eq ptr %e, null
  br i1 %poor, label %none, label %fill
fill:
  %p3 = getelementptr %ph.device.entry, ptr %e, i64 0, i32 3
  store i64 %kind, ptr %p3
  %p4 = getelementptr %ph.device.entry, ptr %e, i64 0, i32 4
  store i64 %read, ptr %p4
  %p5 = getelementptr %ph.device.entry, ptr %e, i64 0, i32 5
  store i64 %written, ptr %p5
  %p11 = getelementptr %ph.device.entry, ptr %e, i64 0, i32 11
  store ptr %interface, ptr %p11
  br label %try
try:
  %first = load atomic ptr, ptr %log monotonic, align 8
  store ptr %first, ptr %e
  %x = cmpxchg ptr %log, ptr %first, ptr %e release monotonic
  %ok = extractvalue { ptr, i1 } %x, 1
  br i1 %ok, label %mark, label %try
mark:
  %p9 = getelementptr %ph.device.entry, ptr %e, i64 0, i32 9
  call void @ph.device.mark(ptr %ctx, ptr %interface, ptr %p9)
  ret ptr %e
}

; Ends an entry, if there is one.
define internal void @ph.device.end(ptr %ctx, ptr %interface, ptr %e) {
  %none = icmp eq ptr %e, null
  br i1 %none, label %out, label %mark
mark:
  %p10 = getelementptr %ph.device.entry, ptr %e, i64 0, i32 10
  call void @ph.device.mark(ptr %ctx, ptr %interface, ptr %p10)
  br label %out
out:
  ret void
}

define internal void @ph.device.mark(ptr %ctx, ptr %interface, ptr %place) {
  %p = getelementptr %ph.interface, ptr %interface, i64 0, i32 8
  %f = load ptr, ptr %p
  call void %f(ptr %ctx, ptr %place)
  ret void
}

; Notes that a kernel is about to run: its name, the Func that it computes, its grid of
; blocks, and the bytes of the device's memory that it reads and writes.
define ptr @ph_device_started(ptr %ctx, ptr %interface, ptr %name, ptr %func, \
ptr %grid, ptr %block, i32 %shared, i64 %read, i64 %written) {
  %e = call ptr @ph.device.begin(ptr %ctx, ptr %interface, i64 0, i64 %read, \
i64 %written)
  %none = icmp eq ptr %e, null
  br i1 %none, label %out, label %tell
tell:
  %p1 = getelementptr %ph.device.entry, ptr %e, i64 0, i32 1
  store ptr %name, ptr %p1
  %p2 = getelementptr %ph.device.entry, ptr %e, i64 0, i32 2
  store ptr %func, ptr %p2
  %p6 = getelementptr %ph.device.entry, ptr %e, i64 0, i32 6
  call void @llvm.memcpy.p0.p0.i64(ptr %p6, ptr %grid, i64 12, i1 false)
  %p6b = getelementptr %ph.device.entry, ptr %e, i64 0, i32 6, i64 3
  call void @llvm.memcpy.p0.p0.i64(ptr %p6b, ptr %block, i64 12, i1 false)
  %p7 = getelementptr %ph.device.entry, ptr %e, i64 0, i32 7
  store i32 %shared, ptr %p7
  br label %out
out:
  ret ptr %e
}

; Notes that it has been launched. kernel: its record (see `cuda_ir`), null where it is
; simulated.
define void @ph_device_ended(ptr %ctx, ptr %interface, ptr %e, ptr %kernel) {
  call void @ph.device.end(ptr %ctx, ptr %interface, ptr %e)
  %unasked = icmp eq ptr %e, null
  %unknown = icmp eq ptr %kernel, null
  %nothing = or i1 %unasked, %unknown
  br i1 %nothing, label %out, label %ask
ask:
  %p = getelementptr %ph.interface, ptr %interface, i64 0, i32 10
  %f = load ptr, ptr %p
  %n = call i32 %f(ptr %ctx, ptr %kernel)
  %p8 = getelementptr %ph.device.entry, ptr %e, i64 0, i32 8
  store i32 %n, ptr %p8
  br label %out
out:
  ret void
}

; The bytes of all pixels of a buffer.
define i64 @ph_device_bytes(ptr %buffer) {
  %pn = getelementptr %ph.buffer, ptr %buffer, i64 0, i32 5
  %n = load i32, ptr %pn
  %size = call i64 @ph.device.pixel(ptr %buffer)
  br label %head
head:
  %d = phi i32 [ 0, %0 ], [ %d1, %side ]
  %bytes = phi i64 [ %size, %0 ], [ %more, %side ]
  %in = icmp slt i32 %d, %n
  br i1 %in, label %side, label %out
side:
  %pair = call { i64, i64 } @ph.device.side(ptr %buffer, i32 %d)
  %e = extractvalue { i64, i64 } %pair, 0
  %more = mul i64 %bytes, %e
  %d1 = add i32 %d, 1
  br label %head
out:
  ret i64 %bytes
}

; Tells of the entries, the last one first, and frees them:
; void told(user, i64 kind, name, func, i64 read, i64 written, sizes, i32 shared,
; i32 registers, i64 nanoseconds), the last of them negative where it is not known.
define void @ph_device_take_log(ptr %log, ptr %told, ptr %user) {
  %first = atomicrmw xchg ptr %log, ptr null acquire
  br label %look
look:
  %e = phi ptr [ %first, %0 ], [ %next, %some ]
  %end = icmp eq ptr %e, null
  br i1 %end, label %out, label %some
some:
  %next = load ptr, ptr %e
  %p1 = getelementptr %ph.device.entry, ptr %e, i64 0, i32 1
  %name = load ptr, ptr %p1
  %p2 = getelementptr %ph.device.entry, ptr %e, i64 0, i32 2
  %func = load ptr, ptr %p2
  %p3 = getelementptr %ph.device.entry, ptr %e, i64 0, i32 3
  %kind = load i64, ptr %p3
  %p4 = getelementptr %ph.device.entry, ptr %e, i64 0, i32 4
  %read = load i64, ptr %p4
  %p5 = getelementptr %ph.device.entry, ptr %e, i64 0, i32 5
  %written = load i64, ptr %p5
  %p6 = getelementptr %ph.device.entry, ptr %e, i64 0, i32 6
  %p7 = getelementptr %ph.device.entry, ptr %e, i64 0, i32 7
  %shared = load i32, ptr %p7
  %p8 = getelementptr %ph.device.entry, ptr %e, i64 0, i32 8
  %registers = load i32, ptr %p8
  %p9 = getelementptr %ph.device.entry, ptr %e, i64 0, i32 9
  %began = load i64, ptr %p9
  %p10 = getelementptr %ph.device.entry, ptr %e, i64 0, i32 10
  %ended = load i64, ptr %p10
  %p11 = getelementptr %ph.device.entry, ptr %e, i64 0, i32 11
  %interface = load ptr, ptr %p11
  %pe = getelementptr %ph.interface, ptr %interface, i64 0, i32 9
  %elapsed = load ptr, ptr %pe
  %nanos = call i64 %elapsed(i64 %began, i64 %ended)
  call void %told(ptr %user, i64 %kind, ptr %name, ptr %func, i64 %read, \
i64 %written, ptr %p6, i32 %shared, i32 %registers, i64 %nanos)
  call void @free(ptr %e)
  br label %look
out:
  ret void
}
"""


def names() -> dict[str, str]:
    """What LOG's words in capitals stand for, beside those of `device_ir`."""
    return {
        "LOG_OFFSET": str(Context.log.offset),
        "ENTRY_BYTES": str(_ENTRY_BYTES),
    }


__all__ = ["LAUNCH", "LOG", "TO_DEVICE", "TO_HOST", "names"]
