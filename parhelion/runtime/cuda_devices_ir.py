"""Which of NVIDIA's GPUs works, as LLVM IR: the driver's start, and a context for each
device that is used. A part of `cuda_ir`.

A call says in its context which device it works on, by its number plus one, and 0 for
the default: the one that HL_GPU_DEVICE gives the number of. All of a device's contexts
are its primary one, which is made when the device is first used. Memory is known by its
address, whose device the driver tells; as long as one device is used, it is not asked.
"""

from __future__ import annotations

from parhelion.codegen.kernel_image import DEVICES as MOST_DEVICES
from parhelion.runtime.context import Context

DEVICES = """
; The process that has the driver ready, 0 before; how many devices there are, and which
; is the default; the contexts of those that were used, and how many these are.
@ph.cuda.process = internal global i32 0
@ph.cuda.count = internal global i64 0
@ph.cuda.default = internal global i64 0
@ph.cuda.contexts = internal global [MOST_DEVICES x ptr] zeroinitializer
@ph.cuda.started = internal global i32 0

; Makes the driver ready, once. What has failed is tried again by the next call.
define internal i32 @ph.cuda.start() {
  %process = call i32 @getpid()
  %known = load atomic i32, ptr @ph.cuda.process acquire, align 4
  %ready = icmp eq i32 %known, %process
  br i1 %ready, label %fine, label %look
fine:
  ret i32 0
look:
  %first = icmp eq i32 %known, 0
  br i1 %first, label %wait, label %forked
forked:
  %no = call i32 @ph.cuda.status(i32 3, i32 NO_DEVICE)
  ret i32 %no
wait:
  %l = call i32 @pthread_mutex_lock(ptr @ph.cuda.mutex)
  %now = load i32, ptr @ph.cuda.process
  %done = icmp eq i32 %now, %process
  br i1 %done, label %out, label %open
open:
  %opened = call i32 @ph.cuda.open()
  %good = icmp eq i32 %opened, 0
  br i1 %good, label %tell, label %out
tell:
  store atomic i32 %process, ptr @ph.cuda.process release, align 4
  br label %out
out:
  %status = phi i32 [ 0, %wait ], [ %opened, %open ], [ 0, %tell ]
  %u = call i32 @pthread_mutex_unlock(ptr @ph.cuda.mutex)
  ret i32 %status
}

define internal i32 @ph.cuda.open() {
  %count = alloca i32
  %end = alloca ptr
  %named = call ptr @getenv(ptr @ph.str.driver_variable)
  %unnamed = icmp eq ptr %named, null
  %path = select i1 %unnamed, ptr @ph.str.library, ptr %named
  %library = call ptr @dlopen(ptr %path, i32 2)
  %missing = icmp eq ptr %library, null
  br i1 %missing, label %none, label %functions
none:
  ret i32 NO_DRIVER
functions:
  %i = phi i64 [ 0, %0 ], [ %i1, %found ]
  %pname = getelementptr [FUNCTION_COUNT x ptr], ptr @ph.cuda.names, i64 0, i64 %i
  %name = load ptr, ptr %pname
  %f = call ptr @dlsym(ptr %library, ptr %name)
  %lacks = icmp eq ptr %f, null
  br i1 %lacks, label %old, label %found
old:
  ret i32 OLD_DRIVER
found:
  %pf = getelementptr [FUNCTION_COUNT x ptr], ptr @ph.cuda.functions, i64 0, i64 %i
  store ptr %f, ptr %pf
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, FUNCTION_COUNT
  br i1 %more, label %functions, label %init
init:
  %r0 = call i32 @ph.cuInit(i32 0)
  %ok0 = icmp eq i32 %r0, 0
  br i1 %ok0, label %ask, label %failed
ask:
  %r1 = call i32 @ph.cuDeviceGetCount(ptr %count)
  %ok1 = icmp eq i32 %r1, 0
  br i1 %ok1, label %choose, label %failed
choose:
  %asked = call ptr @getenv(ptr @ph.str.device_variable)
  %free = icmp eq ptr %asked, null
  br i1 %free, label %chosen, label %parse
parse:
  %given = call i64 @strtol(ptr %asked, ptr %end, i32 10)
  %stop = load ptr, ptr %end
  %rest = load i8, ptr %stop
  %number = icmp eq i8 %rest, 0
  %wanted = select i1 %number, i64 %given, i64 -1
  br label %chosen
chosen:
  %n = phi i64 [ 0, %choose ], [ %wanted, %parse ]
  %have = load i32, ptr %count
  %have64 = sext i32 %have to i64
  %exists = icmp ult i64 %n, %have64
  br i1 %exists, label %get, label %failed
get:
  %known = call i64 @llvm.smin.i64(i64 %have64, i64 MOST_DEVICES)
  store i64 %known, ptr @ph.cuda.count
  store i64 %n, ptr @ph.cuda.default
  %r2 = call i32 @ph.cuda.retain(i64 %n)
  %ok2 = icmp eq i32 %r2, 0
  br i1 %ok2, label %fine, label %failed
fine:
  ret i32 0
failed:
  %r = phi i32 [ %r0, %init ], [ %r1, %ask ], [ 101, %chosen ], [ %r2, %get ]
  %status = call i32 @ph.cuda.status(i32 %r, i32 NO_DEVICE)
  ret i32 %status
}

; Makes a device's context; the driver's result. The mutex is held.
define internal i32 @ph.cuda.retain(i64 %n) {
  %device = alloca i32
  %total = alloca i64
  %context = alloca ptr
  %inside = icmp ult i64 %n, MOST_DEVICES
  br i1 %inside, label %get, label %none
none:
  ret i32 101
get:
  %n32 = trunc i64 %n to i32
  %r2 = call i32 @ph.cuDeviceGet(ptr %device, i32 %n32)
  %ok2 = icmp eq i32 %r2, 0
  br i1 %ok2, label %retain, label %out
retain:
  %d = load i32, ptr %device
  %r3 = call i32 @ph.cuDevicePrimaryCtxRetain(ptr %context, i32 %d)
  %ok3 = icmp eq i32 %r3, 0
  br i1 %ok3, label %measure, label %out
measure:
  %r4 = call i32 @ph.cuDeviceTotalMem_v2(ptr %total, i32 %d)
  %ok4 = icmp eq i32 %r4, 0
  br i1 %ok4, label %share, label %out
share:
  %all = load i64, ptr %total
  %part = udiv i64 %all, KEPT_SHARE
  %x = cmpxchg ptr @ph.cuda.limit, i64 -1, i64 %part monotonic monotonic
  %p = getelementptr [MOST_DEVICES x ptr], ptr @ph.cuda.contexts, i64 0, i64 %n
  %made = load ptr, ptr %context
  store atomic ptr %made, ptr %p release, align 8
  %before = atomicrmw add ptr @ph.cuda.started, i32 1 monotonic
  br label %out
out:
  %r = phi i32 [ %r2, %get ], [ %r3, %retain ], [ %r4, %measure ], [ 0, %share ]
  ret i32 %r
}

; The number of the device that a call works on.
define internal i64 @ph.cuda.number(ptr %ctx) {
  %none = icmp eq ptr %ctx, null
  br i1 %none, label %default, label %ask
ask:
  %p = getelementptr i8, ptr %ctx, i64 DEVICE_OFFSET
  %told = load i32, ptr %p
  %unsaid = icmp slt i32 %told, 1
  br i1 %unsaid, label %default, label %said
said:
  %n32 = sub i32 %told, 1
  %n = sext i32 %n32 to i64
  ret i64 %n
default:
  %d = load i64, ptr @ph.cuda.default
  ret i64 %d
}

; Makes a call's context current, on top of what is; @ph.cuda.leave takes it off again.
define internal i32 @ph.cuda.enter(ptr %ctx) {
  %s = call i32 @ph.cuda.start()
  %good = icmp eq i32 %s, 0
  br i1 %good, label %choose, label %not
not:
  ret i32 %s
choose:
  %n = call i64 @ph.cuda.number(ptr %ctx)
  %r = call i32 @ph.cuda.enter_number(i64 %n)
  ret i32 %r
}

; The same for the device that memory is of.
define internal i32 @ph.cuda.enter_at(ptr %ctx, i64 %address) {
  %s = call i32 @ph.cuda.start()
  %good = icmp eq i32 %s, 0
  br i1 %good, label %choose, label %not
not:
  ret i32 %s
choose:
  %n = call i64 @ph.cuda.owner(ptr %ctx, i64 %address)
  %r = call i32 @ph.cuda.enter_number(i64 %n)
  ret i32 %r
}

define internal i32 @ph.cuda.enter_number(i64 %n) {
  %count = load i64, ptr @ph.cuda.count
  %exists = icmp ult i64 %n, %count
  br i1 %exists, label %look, label %none
none:
  %no = call i32 @ph.cuda.status(i32 101, i32 NO_DEVICE)
  ret i32 %no
look:
  %p = getelementptr [MOST_DEVICES x ptr], ptr @ph.cuda.contexts, i64 0, i64 %n
  %known = load atomic ptr, ptr %p acquire, align 8
  %new = icmp eq ptr %known, null
  br i1 %new, label %lock, label %push
lock:
  %l = call i32 @pthread_mutex_lock(ptr @ph.cuda.mutex)
  %again = load ptr, ptr %p
  %still = icmp eq ptr %again, null
  br i1 %still, label %make, label %unlock
make:
  %m = call i32 @ph.cuda.retain(i64 %n)
  br label %unlock
unlock:
  %e = phi i32 [ 0, %lock ], [ %m, %make ]
  %u = call i32 @pthread_mutex_unlock(ptr @ph.cuda.mutex)
  %fine = icmp eq i32 %e, 0
  br i1 %fine, label %push, label %failed
failed:
  %f = call i32 @ph.cuda.status(i32 %e, i32 NO_DEVICE)
  ret i32 %f
push:
  %context = load atomic ptr, ptr %p acquire, align 8
  %r = call i32 @ph.cuCtxPushCurrent_v2(ptr %context)
  %t = call i32 @ph.cuda.status(i32 %r, i32 NO_DEVICE)
  ret i32 %t
}

; The number of the device that memory is of: the call's own, unless several are in use
; and the driver knows better.
define internal i64 @ph.cuda.owner(ptr %ctx, i64 %address) {
  %number = alloca i32
  %mine = call i64 @ph.cuda.number(ptr %ctx)
  %started = load atomic i32, ptr @ph.cuda.started monotonic, align 4
  %several = icmp sgt i32 %started, 1
  %default = load i64, ptr @ph.cuda.default
  %usual = icmp eq i64 %mine, %default
  %other = xor i1 %usual, true
  %ask = or i1 %several, %other
  br i1 %ask, label %look, label %out
look:
  ; CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
  %r = call i32 @ph.cuPointerGetAttribute(ptr %number, i32 9, i64 %address)
  %good = icmp eq i32 %r, 0
  %n32 = load i32, ptr %number
  %n = sext i32 %n32 to i64
  %told = select i1 %good, i64 %n, i64 %mine
  br label %out
out:
  %owner = phi i64 [ %mine, %0 ], [ %told, %look ]
  ret i64 %owner
}

; Whether memory is of the device that a call works on.
define internal i32 @ph.cuda.here(ptr %ctx, i64 %address) {
  %owner = call i64 @ph.cuda.owner(ptr %ctx, i64 %address)
  %mine = call i64 @ph.cuda.number(ptr %ctx)
  %same = icmp eq i64 %owner, %mine
  %r = zext i1 %same to i32
  ret i32 %r
}

define internal void @ph.cuda.leave() {
  %before = alloca ptr
  %r = call i32 @ph.cuCtxPopCurrent_v2(ptr %before)
  ret void
}

; The stream of a call for memory: the default one where that is of another device.
define internal ptr @ph.cuda.stream_at(ptr %ctx, i64 %address) {
  %here = call i32 @ph.cuda.here(ptr %ctx, i64 %address)
  %own = call ptr @ph.cuda.stream(ptr %ctx)
  %mine = icmp ne i32 %here, 0
  %stream = select i1 %mine, ptr %own, ptr null
  ret ptr %stream
}

; Waits for what was done to memory of another device than the call's: nobody else will.
define internal i32 @ph.cuda.settle(ptr %ctx, i64 %address) {
  %here = call i32 @ph.cuda.here(ptr %ctx, i64 %address)
  %mine = icmp ne i32 %here, 0
  br i1 %mine, label %out, label %wait
wait:
  %r = call i32 @ph.cuStreamSynchronize(ptr null)
  ret i32 %r
out:
  ret i32 0
}
"""

#: Which stream a call works on, where its context says all.
STREAM = """
; The stream of a call: null is the default one.
define internal ptr @ph.cuda.stream(ptr %ctx) {
  %none = icmp eq ptr %ctx, null
  br i1 %none, label %default, label %ask
default:
  ret ptr null
ask:
  %p = getelementptr i8, ptr %ctx, i64 STREAM_OFFSET
  %stream = load ptr, ptr %p
  ret ptr %stream
}
"""


def names() -> dict[str, str]:
    """What DEVICES' words in capitals stand for, beside those of `cuda_ir`."""
    return {
        "MOST_DEVICES": str(MOST_DEVICES),
        "DEVICE_OFFSET": str(Context.device.offset),
        "STREAM_OFFSET": str(Context.stream.offset),
    }


__all__ = ["DEVICES", "STREAM", "names"]
