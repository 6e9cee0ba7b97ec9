"""What compiled code calls for its buffers on a device, as LLVM IR.

A buffer (`halide_buffer_t`) has two copies once a device uses it. `device` is the
address there of the pixel that `host` points to, or would; both copies have the same
strides, so that the same flat indices serve both. The block on the device begins at
the lowest address of a pixel. `flags` say which copy is the newer one, if any.

Copies (`device_copy_ir`) wait until they are done; launches do not.

What a device is, the functions of a *device interface* know (`%ph.interface`), of which
there are two: `simulated_ir` and `cuda_ir`. All return a status (`ir.device_status`).
"""

from __future__ import annotations

from parhelion.codegen import structs
from parhelion.ir.device_status import Kind
from parhelion.runtime import (
    cuda_devices_ir,
    cuda_ir,
    device_copy_ir,
    device_log_ir,
    device_report_ir,
    simulated_ir,
)

#: What is counted, in this order (`ph_device_counters`): copies and bytes to the
#: device, those to the host, launches, and blocks that were allocated.
COUNTERS = (
    *("to_device", "bytes_to_device", "to_host", "bytes_to_host"),
    *("launches", "allocations"),
)

#: How many locks there are for buffers, whose addresses choose one.
LOCKS = 64

STRUCTS = """
; halide_buffer_t: device, interface, host, flags, type (code, bits, lanes), dimensions,
; their array, padding.
%ph.buffer = type { i64, ptr, ptr, i64, [4 x i8], i32, ptr, ptr }
; halide_dimension_t: min, extent, stride, flags.
%ph.dimension = type { i32, i32, i32, i32 }

; what Halide's public header has in its struct of this name: 15 functions, a pointer
; name
; i32 allocate(ctx, i64 bytes, ptr address): stores the address of a block
; i32 free(ctx, i64 address)
; i32 to_device(ctx, i64 to, ptr from, i64 width, i64 height, i64 pitch): rows of bytes,
;     whose beginnings are equally far from each other on both sides
; i32 to_host(ctx, ptr to, i64 from, i64 width, i64 height, i64 pitch)
; i32 launch(ctx, kernel, grid, block, i32 shared, arguments)
; i32 finish(ctx): returns when all is done
; void mark(ctx, ptr place): stores a mark of the present time of the stream's work
; i64 elapsed(i64 began, i64 ended): nanoseconds between two marks, which end with it;
;     negative where that is not known
; i32 registers(ctx, kernel): of each thread; 0 where that is not known
; i32 here(ctx, i64 address): whether memory is of the device that the call works on
; i32 texture(ctx, i64 address, i64 width, i64 rows, i64 pitch, i32 what, ptr object):
;     stores what kernels read rows of texels by, which begin where a block does
;     (`cuda_textures_ir`)
%ph.interface = type { [16 x ptr], ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, \
ptr, ptr }

declare i64 @llvm.abs.i64(i64, i1)
declare i32 @llvm.smin.i32(i32, i32)
declare i64 @llvm.smin.i64(i64, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @getpid()
declare ptr @calloc(i64, i64)
declare i32 @strcmp(ptr, ptr)
"""

DEVICE = """
@ph.device.counters = internal global [COUNTED x i64] zeroinitializer, align 64
; Mutexes as POSIX makes them by zeros; none takes more than a line.
@ph.device.locks = internal global [LOCKS x [64 x i8]] zeroinitializer, align 64
@ph.device.process = internal global i32 0

; Where the counters are, each of 64 bits.
define ptr @ph_device_counters() {
  ret ptr @ph.device.counters
}

define internal void @ph.device.count(i64 %which, i64 %more) {
  %p = getelementptr [COUNTED x i64], ptr @ph.device.counters, i64 0, i64 %which
  %old = atomicrmw add ptr %p, i64 %more monotonic
  ret void
}

; Takes the lock of a buffer, which is the result. In a process that was forked
; meanwhile none is held.
define internal ptr @ph.device.lock(ptr %buffer) {
  %process = call i32 @getpid()
  %known = load atomic i32, ptr @ph.device.process monotonic, align 4
  %same = icmp eq i32 %process, %known
  br i1 %same, label %take, label %other
other:
  %x = cmpxchg ptr @ph.device.process, i32 %known, i32 %process monotonic monotonic
  %mine = extractvalue { i32, i1 } %x, 1
  %first = icmp eq i32 %known, 0
  %clean = xor i1 %first, true
  %reset = and i1 %mine, %clean
  br i1 %reset, label %forked, label %take
forked:
  call void @llvm.memset.p0.i64(ptr @ph.device.locks, i8 0, i64 LOCK_BYTES, i1 false)
  br label %take
take:
  %address = ptrtoint ptr %buffer to i64
  %mixed = mul i64 %address, -7046029254386353131
  %slot = lshr i64 %mixed, LOCK_SHIFT
  %lock = getelementptr [LOCKS x [64 x i8]], ptr @ph.device.locks, i64 0, i64 %slot
  %r = call i32 @pthread_mutex_lock(ptr %lock)
  ret ptr %lock
}

; Gives a buffer a copy on a device, without pixels so far.
define internal i32 @ph.device.make(ptr %ctx, ptr %interface, ptr %buffer) {
  %slot = alloca i64
  %reach = call { i64, i64 } @ph.device.reach(ptr %buffer)
  %low = extractvalue { i64, i64 } %reach, 0
  %span = extractvalue { i64, i64 } %reach, 1
  %none = icmp eq i64 %span, 0
  %bytes = select i1 %none, i64 1, i64 %span
  %pallocate = getelementptr %ph.interface, ptr %interface, i64 0, i32 2
  %allocate = load ptr, ptr %pallocate
  %r = call i32 %allocate(ptr %ctx, i64 %bytes, ptr %slot)
  %good = icmp eq i32 %r, 0
  br i1 %good, label %made, label %out
made:
  call void @ph.device.count(i64 ALLOCATIONS, i64 1)
  %block = load i64, ptr %slot
  %device = sub i64 %block, %low
  store i64 %device, ptr %buffer
  %pinterface = getelementptr %ph.buffer, ptr %buffer, i64 0, i32 1
  store ptr %interface, ptr %pinterface
  call void @ph.device.flags(ptr %buffer, i64 DEVICE_DIRTY, i64 OWNED)
  br label %out
out:
  ret i32 %r
}

; Whether two interfaces are of one device: each library of compiled code has its own.
define internal i1 @ph.device.alike(ptr %a, ptr %b) {
  %one = icmp eq ptr %a, %b
  br i1 %one, label %yes, label %look
yes:
  ret i1 true
look:
  %none = icmp eq ptr %a, null
  br i1 %none, label %no, label %compare
no:
  ret i1 false
compare:
  %pa = getelementptr %ph.interface, ptr %a, i64 0, i32 1
  %aname = load ptr, ptr %pa
  %pb = getelementptr %ph.interface, ptr %b, i64 0, i32 1
  %bname = load ptr, ptr %pb
  %order = call i32 @strcmp(ptr %aname, ptr %bname)
  %equal = icmp eq i32 %order, 0
  ret i1 %equal
}

; Clears some flags of a buffer, then sets some.
define internal void @ph.device.flags(ptr %buffer, i64 %clear, i64 %set) {
  %p = getelementptr %ph.buffer, ptr %buffer, i64 0, i32 3
  %old = load i64, ptr %p
  %mask = xor i64 %clear, -1
  %less = and i64 %old, %mask
  %new = or i64 %less, %set
  store i64 %new, ptr %p
  ret void
}

; See `structs` for what %what says. A copy that is written and not read is
; written as a whole: what the other one has that is newer is lost.
define i32 @ph_device_sync(ptr %ctx, ptr %interface, ptr %buffer, i32 %what) {
  %lock = call ptr @ph.device.lock(ptr %buffer)
  %side = and i32 %what, ON_DEVICE
  %host = icmp eq i32 %side, 0
  br i1 %host, label %there, label %here
there:
  %rh = call i32 @ph.device.for_host(ptr %ctx, ptr %buffer, i32 %what)
  br label %out
here:
  %rd = call i32 @ph.device.for_device(ptr %ctx, ptr %interface, ptr %buffer, i32 %what)
  br label %out
out:
  %r = phi i32 [ %rh, %there ], [ %rd, %here ]
  %u = call i32 @pthread_mutex_unlock(ptr %lock)
  ret i32 %r
}

define internal i32 @ph.device.for_device(ptr %ctx, ptr %interface, ptr %buffer, \
i32 %what) {
  %device = load i64, ptr %buffer
  %absent = icmp eq i64 %device, 0
  br i1 %absent, label %make, label %check
make:
  %made = call i32 @ph.device.make(ptr %ctx, ptr %interface, ptr %buffer)
  %ok = icmp eq i32 %made, 0
  br i1 %ok, label %fresh, label %lost
lost:
  ret i32 %made
fresh:
  %phost = getelementptr %ph.buffer, ptr %buffer, i64 0, i32 2
  %host = load ptr, ptr %phost
  %given = icmp ne ptr %host, null
  %newer = zext i1 %given to i64
  call void @ph.device.flags(ptr %buffer, i64 HOST_DIRTY, i64 %newer)
  br label %there
check:
  %pinterface = getelementptr %ph.buffer, ptr %buffer, i64 0, i32 1
  %its = load ptr, ptr %pinterface
  %same = call i1 @ph.device.alike(ptr %its, ptr %interface)
  br i1 %same, label %which, label %elsewhere
which:
  %phere = getelementptr %ph.interface, ptr %its, i64 0, i32 11
  %here = load ptr, ptr %phere
  %reach = call { i64, i64 } @ph.device.reach(ptr %buffer)
  %low = extractvalue { i64, i64 } %reach, 0
  %block = add i64 %device, %low
  %near = call i32 %here(ptr %ctx, i64 %block)
  %ours = icmp ne i32 %near, 0
  br i1 %ours, label %there, label %elsewhere
elsewhere:
  ret i32 OTHER_DEVICE
there:
  %r = call i32 @ph.device.current(ptr %ctx, ptr %buffer, i32 %what, i1 false)
  ret i32 %r
}

define internal i32 @ph.device.for_host(ptr %ctx, ptr %buffer, i32 %what) {
  %phost = getelementptr %ph.buffer, ptr %buffer, i64 0, i32 2
  %host = load ptr, ptr %phost
  %hostless = icmp eq ptr %host, null
  br i1 %hostless, label %nothing, label %there
nothing:
  ret i32 NO_HOST
there:
  %r = call i32 @ph.device.current(ptr %ctx, ptr %buffer, i32 %what, i1 true)
  ret i32 %r
}

; Makes one copy, which is there, what it must be for its next use: the host's, or the
; device's. What it reads is fetched from the other one where that is newer.
define internal i32 @ph.device.current(ptr %ctx, ptr %buffer, i32 %what, i1 %tohost) {
  %reads = and i32 %what, READS
  %writes = and i32 %what, WRITES
  %unread = icmp eq i32 %reads, 0
  %unwritten = icmp eq i32 %writes, 0
  %ours = select i1 %tohost, i64 HOST_DIRTY, i64 DEVICE_DIRTY
  %theirs = select i1 %tohost, i64 DEVICE_DIRTY, i64 HOST_DIRTY
  %pflags = getelementptr %ph.buffer, ptr %buffer, i64 0, i32 3
  %flags = load i64, ptr %pflags
  %dirty = and i64 %flags, %theirs
  %fresh = icmp eq i64 %dirty, 0
  %nocopy = or i1 %fresh, %unread
  br i1 %nocopy, label %write, label %need
need:
  %phost = getelementptr %ph.buffer, ptr %buffer, i64 0, i32 2
  %host = load ptr, ptr %phost
  %hostless = icmp eq ptr %host, null
  br i1 %hostless, label %nothing, label %both
nothing:
  ret i32 NO_HOST
both:
  %other = and i64 %flags, %ours
  %torn = icmp ne i64 %other, 0
  br i1 %torn, label %contradiction, label %copy
contradiction:
  ret i32 BOTH_NEWER
copy:
  %copied = call i32 @ph.device.copy(ptr %ctx, ptr %buffer, i1 %tohost)
  %fine = icmp eq i32 %copied, 0
  br i1 %fine, label %clean, label %broken
broken:
  ret i32 %copied
clean:
  call void @ph.device.flags(ptr %buffer, i64 %theirs, i64 0)
  br label %write
write:
  br i1 %unwritten, label %out, label %mark
mark:
  call void @ph.device.flags(ptr %buffer, i64 %theirs, i64 %ours)
  br label %out
out:
  ret i32 0
}

; Where the pixel at the mins is on the device.
define ptr @ph_device_address(ptr %buffer) {
  %device = load i64, ptr %buffer
  %p = inttoptr i64 %device to ptr
  ret ptr %p
}

; Stores what kernels read the copy on the device by as a texture; 0 for one without
; texels, which nobody reads.
define i32 @ph_device_texture(ptr %ctx, ptr %interface, ptr %buffer, i64 %width, \
i64 %rows, i64 %pitch, i32 %what, ptr %object) {
  store i64 0, ptr %object
  %least = call i64 @llvm.smin.i64(i64 %width, i64 %rows)
  %none = icmp slt i64 %least, 1
  br i1 %none, label %nothing, label %some
nothing:
  ret i32 0
some:
  %device = load i64, ptr %buffer
  %p = getelementptr %ph.interface, ptr %interface, i64 0, i32 12
  %f = load ptr, ptr %p
  %r = call i32 %f(ptr %ctx, i64 %device, i64 %width, i64 %rows, i64 %pitch, \
i32 %what, ptr %object)
  ret i32 %r
}

; Frees the copy on the device, if it is the run time's, and forgets it.
define void @ph_device_free(ptr %ctx, ptr %buffer) {
  %lock = call ptr @ph.device.lock(ptr %buffer)
  call void @ph.device.forget(ptr %ctx, ptr %buffer)
  %u = call i32 @pthread_mutex_unlock(ptr %lock)
  ret void
}

define internal void @ph.device.forget(ptr %ctx, ptr %buffer) {
  %device = load i64, ptr %buffer
  %absent = icmp eq i64 %device, 0
  br i1 %absent, label %out, label %look
look:
  %pinterface = getelementptr %ph.buffer, ptr %buffer, i64 0, i32 1
  %pflags = getelementptr %ph.buffer, ptr %buffer, i64 0, i32 3
  %flags = load i64, ptr %pflags
  %owned = and i64 %flags, OWNED
  %foreign = icmp eq i64 %owned, 0
  br i1 %foreign, label %forget, label %free
free:
  %interface = load ptr, ptr %pinterface
  %pfree = getelementptr %ph.interface, ptr %interface, i64 0, i32 3
  %f = load ptr, ptr %pfree
  %reach = call { i64, i64 } @ph.device.reach(ptr %buffer)
  %low = extractvalue { i64, i64 } %reach, 0
  %block = add i64 %device, %low
  %r = call i32 %f(ptr %ctx, i64 %block)
  br label %forget
forget:
  store i64 0, ptr %buffer
  store ptr null, ptr %pinterface
  call void @ph.device.flags(ptr %buffer, i64 ALL_FLAGS, i64 0)
  br label %out
out:
  ret void
}

; Ends the use of a buffer of the caller's.
define i32 @ph_device_leave(ptr %ctx, ptr %buffer, i32 %failed) {
  %lock = call ptr @ph.device.lock(ptr %buffer)
  %pflags = getelementptr %ph.buffer, ptr %buffer, i64 0, i32 3
  %flags = load i64, ptr %pflags
  %kept = and i64 %flags, KEEPS
  %its = icmp ne i64 %kept, 0
  %device = load i64, ptr %buffer
  %absent = icmp eq i64 %device, 0
  %nothing = or i1 %its, %absent
  br i1 %nothing, label %out, label %ours
ours:
  %owned = and i64 %flags, OWNED
  %mine = icmp ne i64 %owned, 0
  %wrong = icmp ne i32 %failed, 0
  br i1 %wrong, label %left, label %wanted
wanted:
  ; Pixels that the caller has on the device alone stay there.
  %phost = getelementptr %ph.buffer, ptr %buffer, i64 0, i32 2
  %host = load ptr, ptr %phost
  %there = icmp ne ptr %host, null
  %needed = or i1 %there, %mine
  br i1 %needed, label %copy, label %left
copy:
  %dirty = and i64 %flags, DEVICE_DIRTY
  %same = icmp eq i64 %dirty, 0
  br i1 %same, label %left, label %fetch
fetch:
  %copied = call i32 @ph.device.for_host(ptr %ctx, ptr %buffer, i32 READS)
  br label %left
left:
  %r = phi i32 [ 0, %ours ], [ 0, %wanted ], [ 0, %copy ], [ %copied, %fetch ]
  br i1 %mine, label %free, label %out
free:
  call void @ph.device.forget(ptr %ctx, ptr %buffer)
  br label %out
out:
  %status = phi i32 [ 0, %0 ], [ %r, %left ], [ %r, %free ]
  %u = call i32 @pthread_mutex_unlock(ptr %lock)
  ret i32 %status
}

; Runs a kernel (see `cuda_ir`) with a grid of blocks, of three dimensions both. One
; without blocks or threads is nothing to do.
define i32 @ph_device_launch(ptr %ctx, ptr %interface, ptr %kernel, ptr %grid, \
ptr %block, i32 %shared, ptr %arguments) {
  br label %look
look:
  %i = phi i64 [ 0, %0 ], [ %i1, %some ]
  %pg = getelementptr i32, ptr %grid, i64 %i
  %g = load i32, ptr %pg
  %pb = getelementptr i32, ptr %block, i64 %i
  %b = load i32, ptr %pb
  %least = call i32 @llvm.smin.i32(i32 %g, i32 %b)
  %none = icmp slt i32 %least, 1
  br i1 %none, label %nothing, label %some
nothing:
  ret i32 0
some:
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, 3
  br i1 %more, label %look, label %run
run:
  %p = getelementptr %ph.interface, ptr %interface, i64 0, i32 6
  %f = load ptr, ptr %p
  %r = call i32 %f(ptr %ctx, ptr %kernel, ptr %grid, ptr %block, i32 %shared, \
ptr %arguments)
  %good = icmp eq i32 %r, 0
  br i1 %good, label %done, label %out
done:
  call void @ph.device.count(i64 LAUNCHES, i64 1)
  br label %out
out:
  ret i32 %r
}

; Counts a launch of a kernel that the host's code runs by itself.
define void @ph_device_launched() {
  call void @ph.device.count(i64 LAUNCHES, i64 1)
  ret void
}

; Waits until all that was launched is done.
define i32 @ph_device_finish(ptr %ctx, ptr %interface) {
  %p = getelementptr %ph.interface, ptr %interface, i64 0, i32 7
  %f = load ptr, ptr %p
  %r = call i32 %f(ptr %ctx)
  ret i32 %r
}
"""


def device_runtime(api: str = "", table: str = "zeroinitializer") -> str:
    """The whole module, for processors with pointers of 64 bits.

    api: the text of functions for programs without Python, which define what stream a
    call works on; "" where the call's context says all. table: those that Halide's
    struct has, as the first field of an interface.
    """
    parts = (
        STRUCTS,
        DEVICE,
        device_copy_ir.COPY,
        device_log_ir.LOG,
        device_report_ir.REPORT,
        simulated_ir.SIMULATED,
        cuda_ir.text(),
        api or cuda_devices_ir.STREAM,
    )
    text = "\n".join(parts)
    words = names() | simulated_ir.names() | cuda_ir.names() | device_log_ir.names()
    words |= device_report_ir.names() | {"HALIDE_TABLE": f"[16 x ptr] {table}"}
    for word in sorted(words, key=len, reverse=True):
        text = text.replace(word, words[word])
    return text


def names() -> dict[str, str]:
    """What DEVICE's words in capitals stand for."""
    return {
        "COUNTED": str(len(COUNTERS)),
        "TO_DEVICE": str(COUNTERS.index("to_device")),
        "TO_HOST": str(COUNTERS.index("to_host")),
        "LAUNCHES": str(COUNTERS.index("launches")),
        "ALLOCATIONS": str(COUNTERS.index("allocations")),
        "LOCKS": str(LOCKS),
        "LOCK_BYTES": str(64 * LOCKS),
        "LOCK_SHIFT": str(64 - (LOCKS - 1).bit_length()),
        "ON_DEVICE": str(structs.ON_DEVICE),
        "READS": str(structs.READS),
        "WRITES": str(structs.WRITES),
        "HOST_DIRTY": str(structs.HOST_DIRTY),
        "DEVICE_DIRTY": str(structs.DEVICE_DIRTY),
        "KEEPS": str(structs.KEEPS),
        "OWNED": _signed(structs.OWNED),
        "ALL_FLAGS": _signed(structs.OWNED | structs.HOST_DIRTY | structs.DEVICE_DIRTY),
        **{kind.name: str(int(kind)) for kind in Kind},
    }


def _signed(flags: int) -> str:
    """64 bits as LLVM spells them."""
    return str(flags - (1 << 64) if flags >> 63 else flags)


__all__ = [
    "COUNTERS",
    "DEVICE",
    "LOCKS",
    "STRUCTS",
    "device_runtime",
    "names",
]
