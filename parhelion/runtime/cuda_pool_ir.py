"""Memory of NVIDIA's GPUs, as LLVM IR: blocks that are kept from run to run.

The driver takes as long for a block as for a kernel, and waits for all kernels when it
frees one. So blocks that were freed are kept in lists by their size, up to a share of
the device's memory, and all of them are given back before an allocation is said to
fail.

What was launched before a block was freed may still use it. That does no harm where the
block is next used by the same stream, which works in order; for another one, all work
is waited for. A part of `cuda_ir`.
"""

from __future__ import annotations

#: Size classes: the first is of 1 << LEAST_SHIFT bytes, there are four to a doubling,
#: and blocks beyond the last one are not kept.
LEAST_SHIFT = 9
MOST_SHIFT = 40
CLASSES = 4 * (MOST_SHIFT - LEAST_SHIFT) + 1

#: A request is served by a block of up to so many classes above its own.
BORROW = 4

#: What is kept is at most this part of the device's memory.
KEPT_SHARE = 4

#: Lists of blocks in use; addresses choose one.
BUCKETS = 256

POOL = """
; next in its list, address, bytes, class (negative: not to be kept), the stream that
; used it last, the number of its device, its textures (`cuda_textures_ir`).
%ph.cuda.block = type { ptr, i64, i64, i32, ptr, i64, ptr }

@ph.cuda.used = internal global [BUCKETS x ptr] zeroinitializer
@ph.cuda.lists = internal global [MOST_DEVICES x [CLASSES x ptr]] zeroinitializer
@ph.cuda.kept = internal global i64 0
@ph.cuda.limit = internal global i64 -1
@ph.cuda.memory = internal global [64 x i8] zeroinitializer, align 64

declare i64 @llvm.ctlz.i64(i64, i1)
declare i64 @llvm.umax.i64(i64, i64)
declare ptr @malloc(i64)

; The class of a request, and the bytes of that class's blocks.
define internal i32 @ph.cuda.class(i64 %bytes) {
  %least = call i64 @llvm.umax.i64(i64 %bytes, i64 LEAST_BYTES)
  %m = sub i64 %least, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %m, i1 true)
  %e = sub i64 63, %zeros
  %down = sub i64 %e, 2
  %top = lshr i64 %m, %down
  %quarter = and i64 %top, 3
  %from = sub i64 %e, LEAST_SHIFT
  %four = shl i64 %from, 2
  %sum = add i64 %four, %quarter
  %class = add i64 %sum, 1
  %c = trunc i64 %class to i32
  %vast = icmp sge i32 %c, CLASSES
  %r = select i1 %vast, i32 -1, i32 %c
  ret i32 %r
}

define internal i64 @ph.cuda.bytes(i32 %class) {
  %c = zext i32 %class to i64
  %d = add i64 %c, 3
  %e = lshr i64 %d, 2
  %quarter = and i64 %d, 3
  %head = add i64 %quarter, 5
  %up = add i64 %e, LEAST_DOWN
  %bytes = shl i64 %head, %up
  ret i64 %bytes
}

; The list of blocks in use that has an address.
define internal ptr @ph.cuda.bucket(i64 %address) {
  %line = lshr i64 %address, 8
  %mixed = mul i64 %line, -7046029254386353131
  %slot = lshr i64 %mixed, BUCKET_SHIFT
  %p = getelementptr [BUCKETS x ptr], ptr @ph.cuda.used, i64 0, i64 %slot
  ret ptr %p
}

; Takes a device's kept block of a class or a little more out of its list, or null.
define internal ptr @ph.cuda.take(i64 %device, i32 %class) {
  %unkept = icmp slt i32 %class, 0
  br i1 %unkept, label %none, label %look
look:
  %up = phi i32 [ 0, %0 ], [ %up1, %larger ]
  %c = add i32 %class, %up
  %list = getelementptr [MOST_DEVICES x [CLASSES x ptr]], ptr @ph.cuda.lists, i64 0, \
i64 %device, i32 %c
  %b = load ptr, ptr %list
  %empty = icmp eq ptr %b, null
  br i1 %empty, label %larger, label %found
found:
  %next = load ptr, ptr %b
  store ptr %next, ptr %list
  %pbytes = getelementptr %ph.cuda.block, ptr %b, i64 0, i32 2
  %bytes = load i64, ptr %pbytes
  %kept = load i64, ptr @ph.cuda.kept
  %less = sub i64 %kept, %bytes
  store i64 %less, ptr @ph.cuda.kept
  ret ptr %b
larger:
  %up1 = add i32 %up, 1
  %above = add i32 %class, %up1
  %inside = icmp slt i32 %above, CLASSES
  %near = icmp sle i32 %up1, BORROW
  %on = and i1 %inside, %near
  br i1 %on, label %look, label %none
none:
  ret ptr null
}

define internal i32 @ph.cuda.allocate(ptr %ctx, i64 %bytes, ptr %address) {
  %s = call i32 @ph.cuda.enter(ptr %ctx)
  %good = icmp eq i32 %s, 0
  br i1 %good, label %on, label %not
not:
  ret i32 %s
on:
  %l = call i32 @pthread_mutex_lock(ptr @ph.cuda.memory)
  %r = call i32 @ph.cuda.give(ptr %ctx, i64 %bytes, ptr %address)
  %u = call i32 @pthread_mutex_unlock(ptr @ph.cuda.memory)
  call void @ph.cuda.leave()
  %status = call i32 @ph.cuda.status(i32 %r, i32 NO_MEMORY)
  ret i32 %status
}

; A block, kept or new; the driver's result. The context is current, the mutex held.
define internal i32 @ph.cuda.give(ptr %ctx, i64 %bytes, ptr %address) {
  %stream = call ptr @ph.cuda.stream(ptr %ctx)
  %class = call i32 @ph.cuda.class(i64 %bytes)
  %device = call i64 @ph.cuda.number(ptr %ctx)
  %b = call ptr @ph.cuda.take(i64 %device, i32 %class)
  %found = icmp ne ptr %b, null
  br i1 %found, label %again, label %new
again:
  call void @ph.cuda.fewer_textures(ptr %b)
  %plast = getelementptr %ph.cuda.block, ptr %b, i64 0, i32 4
  %last = load ptr, ptr %plast
  %same = icmp eq ptr %last, %stream
  br i1 %same, label %use, label %wait
wait:
  %waited = call i32 @ph.cuCtxSynchronize()
  %fine = icmp eq i32 %waited, 0
  br i1 %fine, label %use, label %lost
lost:
  ; The block is of a context that is lost.
  call void @ph.cuda.untextured(ptr %b)
  call void @free(ptr %b)
  ret i32 %waited
new:
  %node = call ptr @malloc(i64 56)
  %nonode = icmp eq ptr %node, null
  br i1 %nonode, label %poor, label %ask
poor:
  ret i32 2
ask:
  %unkept = icmp slt i32 %class, 0
  %ofclass = call i64 @ph.cuda.bytes(i32 %class)
  %size = select i1 %unkept, i64 %bytes, i64 %ofclass
  %r0 = call i32 @ph.cuMemAlloc_v2(ptr %address, i64 %size)
  %out = icmp eq i32 %r0, 2
  br i1 %out, label %retry, label %asked
retry:
  ; Without what is kept, and no more than is asked for.
  %freed = call i64 @ph.cuda.release(i64 %device)
  %r1 = call i32 @ph.cuMemAlloc_v2(ptr %address, i64 %bytes)
  br label %asked
asked:
  %r = phi i32 [ %r0, %ask ], [ %r1, %retry ]
  %has = phi i64 [ %size, %ask ], [ %bytes, %retry ]
  %its = phi i32 [ %class, %ask ], [ -1, %retry ]
  %ok = icmp eq i32 %r, 0
  br i1 %ok, label %made, label %failed
failed:
  call void @free(ptr %node)
  ret i32 %r
made:
  %a = load i64, ptr %address
  %n1 = getelementptr %ph.cuda.block, ptr %node, i64 0, i32 1
  store i64 %a, ptr %n1
  %n2 = getelementptr %ph.cuda.block, ptr %node, i64 0, i32 2
  store i64 %has, ptr %n2
  %n3 = getelementptr %ph.cuda.block, ptr %node, i64 0, i32 3
  store i32 %its, ptr %n3
  %n5 = getelementptr %ph.cuda.block, ptr %node, i64 0, i32 5
  store i64 %device, ptr %n5
  %n6 = getelementptr %ph.cuda.block, ptr %node, i64 0, i32 6
  store ptr null, ptr %n6
  br label %use
use:
  %block = phi ptr [ %b, %again ], [ %b, %wait ], [ %node, %made ]
  %pwhere = getelementptr %ph.cuda.block, ptr %block, i64 0, i32 1
  %where = load i64, ptr %pwhere
  store i64 %where, ptr %address
  %bucket = call ptr @ph.cuda.bucket(i64 %where)
  %first = load ptr, ptr %bucket
  store ptr %first, ptr %block
  store ptr %block, ptr %bucket
  ret i32 0
}

define internal i32 @ph.cuda.free(ptr %ctx, i64 %address) {
  %s = call i32 @ph.cuda.enter_at(ptr %ctx, i64 %address)
  %good = icmp eq i32 %s, 0
  br i1 %good, label %on, label %not
not:
  ret i32 %s
on:
  %stream = call ptr @ph.cuda.stream_at(ptr %ctx, i64 %address)
  %l = call i32 @pthread_mutex_lock(ptr @ph.cuda.memory)
  %bucket = call ptr @ph.cuda.bucket(i64 %address)
  br label %walk
walk:
  %link = phi ptr [ %bucket, %on ], [ %b, %other ]
  %b = load ptr, ptr %link
  %end = icmp eq ptr %b, null
  br i1 %end, label %out, label %compare
compare:
  %pat = getelementptr %ph.cuda.block, ptr %b, i64 0, i32 1
  %at = load i64, ptr %pat
  %it = icmp eq i64 %at, %address
  br i1 %it, label %unlink, label %other
other:
  br label %walk
unlink:
  %next = load ptr, ptr %b
  store ptr %next, ptr %link
  %pclass = getelementptr %ph.cuda.block, ptr %b, i64 0, i32 3
  %class = load i32, ptr %pclass
  %pbytes = getelementptr %ph.cuda.block, ptr %b, i64 0, i32 2
  %bytes = load i64, ptr %pbytes
  %kept = load i64, ptr @ph.cuda.kept
  %more = add i64 %kept, %bytes
  %limit = load atomic i64, ptr @ph.cuda.limit monotonic, align 8
  %over = icmp sgt i64 %more, %limit
  %unkept = icmp slt i32 %class, 0
  %drop = or i1 %over, %unkept
  br i1 %drop, label %give, label %keep
give:
  ; It waits for kernels, which may read textures.
  %r = call i32 @ph.cuMemFree_v2(i64 %address)
  call void @ph.cuda.untextured(ptr %b)
  call void @free(ptr %b)
  br label %out
keep:
  store i64 %more, ptr @ph.cuda.kept
  %plast = getelementptr %ph.cuda.block, ptr %b, i64 0, i32 4
  store ptr %stream, ptr %plast
  %pdevice = getelementptr %ph.cuda.block, ptr %b, i64 0, i32 5
  %device = load i64, ptr %pdevice
  %list = getelementptr [MOST_DEVICES x [CLASSES x ptr]], ptr @ph.cuda.lists, i64 0, \
i64 %device, i32 %class
  %head = load ptr, ptr %list
  store ptr %head, ptr %b
  store ptr %b, ptr %list
  br label %out
out:
  ; What is not in use is no block of ours: cuMemFree would say INVALID_VALUE.
  %e = phi i32 [ 1, %walk ], [ %r, %give ], [ 0, %keep ]
  %u = call i32 @pthread_mutex_unlock(ptr @ph.cuda.memory)
  call void @ph.cuda.leave()
  %status = call i32 @ph.cuda.status(i32 %e, i32 COPY_FAILED)
  ret i32 %status
}

; Gives back all that is kept of a device; how many bytes that were. Its context is
; current, the mutex held.
define internal i64 @ph.cuda.release(i64 %device) {
  br label %lists
lists:
  %c = phi i64 [ 0, %0 ], [ %c1, %emptied ]
  %sum = phi i64 [ 0, %0 ], [ %sum1, %emptied ]
  %list = getelementptr [MOST_DEVICES x [CLASSES x ptr]], ptr @ph.cuda.lists, i64 0, \
i64 %device, i64 %c
  br label %blocks
blocks:
  %sum1 = phi i64 [ %sum, %lists ], [ %sum2, %give ]
  %b = load ptr, ptr %list
  %empty = icmp eq ptr %b, null
  br i1 %empty, label %emptied, label %give
give:
  %next = load ptr, ptr %b
  store ptr %next, ptr %list
  %pat = getelementptr %ph.cuda.block, ptr %b, i64 0, i32 1
  %at = load i64, ptr %pat
  %pbytes = getelementptr %ph.cuda.block, ptr %b, i64 0, i32 2
  %bytes = load i64, ptr %pbytes
  %sum2 = add i64 %sum1, %bytes
  %r = call i32 @ph.cuMemFree_v2(i64 %at)
  call void @ph.cuda.untextured(ptr %b)
  call void @free(ptr %b)
  br label %blocks
emptied:
  %c1 = add i64 %c, 1
  %more = icmp ult i64 %c1, CLASSES
  br i1 %more, label %lists, label %out
out:
  %kept = load i64, ptr @ph.cuda.kept
  %less = sub i64 %kept, %sum1
  store i64 %less, ptr @ph.cuda.kept
  ret i64 %sum1
}

; The same of all devices, for any thread. Where the driver was never used, nothing is
; kept.
define i64 @ph_cuda_release_memory() {
  %process = call i32 @getpid()
  %known = load atomic i32, ptr @ph.cuda.process acquire, align 4
  %ready = icmp eq i32 %known, %process
  br i1 %ready, label %device, label %none
none:
  ret i64 0
device:
  %n = phi i64 [ 0, %0 ], [ %n1, %next ]
  %sum = phi i64 [ 0, %0 ], [ %sum1, %next ]
  %p = getelementptr [MOST_DEVICES x ptr], ptr @ph.cuda.contexts, i64 0, i64 %n
  %context = load atomic ptr, ptr %p acquire, align 8
  %unused = icmp eq ptr %context, null
  br i1 %unused, label %next, label %enter
enter:
  %s = call i32 @ph.cuda.enter_number(i64 %n)
  %good = icmp eq i32 %s, 0
  br i1 %good, label %on, label %next
on:
  %l = call i32 @pthread_mutex_lock(ptr @ph.cuda.memory)
  %more = call i64 @ph.cuda.release(i64 %n)
  %u = call i32 @pthread_mutex_unlock(ptr @ph.cuda.memory)
  call void @ph.cuda.leave()
  %grown = add i64 %sum, %more
  br label %next
next:
  %sum1 = phi i64 [ %sum, %device ], [ %sum, %enter ], [ %grown, %on ]
  %n1 = add i64 %n, 1
  %others = icmp ult i64 %n1, MOST_DEVICES
  br i1 %others, label %device, label %out
out:
  ret i64 %sum1
}

; How many bytes are kept.
define i64 @ph_cuda_kept_memory() {
  %n = load atomic i64, ptr @ph.cuda.kept monotonic, align 8
  ret i64 %n
}

; Sets how many bytes may be kept; what it was, -1 for a share of a device's memory.
define i64 @ph_cuda_set_kept_memory(i64 %bytes) {
  %old = atomicrmw xchg ptr @ph.cuda.limit, i64 %bytes monotonic
  %kept = load atomic i64, ptr @ph.cuda.kept monotonic, align 8
  %over = icmp sgt i64 %kept, %bytes
  br i1 %over, label %release, label %out
release:
  %n = call i64 @ph_cuda_release_memory()
  br label %out
out:
  ret i64 %old
}
"""


def names() -> dict[str, str]:
    """What POOL's words in capitals stand for, beside those of `cuda_ir`."""
    return {
        "CLASSES": str(CLASSES),
        "BORROW": str(BORROW),
        "BUCKETS": str(BUCKETS),
        "BUCKET_SHIFT": str(64 - (BUCKETS - 1).bit_length()),
        "LEAST_BYTES": str(1 << LEAST_SHIFT),
        "LEAST_SHIFT": str(LEAST_SHIFT),
        "LEAST_DOWN": str(LEAST_SHIFT - 3),
        "KEPT_SHARE": str(KEPT_SHARE),
    }


__all__ = ["BORROW", "CLASSES", "KEPT_SHARE", "POOL", "names"]
