"""NVIDIA's GPUs as a device, as LLVM IR over the functions of the driver's library.

The library, libcuda.so.1, is loaded when a device is first used, so that code for a GPU
links and loads on computers that have none. The environment's PARHELION_CUDA_DRIVER
names another file, HL_GPU_DEVICE the number of the device (0).

All work goes to the device's primary context, which other libraries in the process use,
too, and to the stream that the call's context names, or the default stream. The current
context of the calling thread is left as it was.

In compiled modules, an *image* is { ptr text, i64 length, ptr slot }: PTX that ends
with a zero byte, and where the driver's module is kept, 0 at first. A *kernel* is
{ ptr name, ptr image, ptr slot, i32 most }: a name that ends with a zero byte, its
image, where the driver's function is kept, 0 at first, and the most bytes of shared
memory that a launch asks for.
"""

from __future__ import annotations

from parhelion.runtime.context import Context
from parhelion.runtime.cuda_pool_ir import POOL
from parhelion.runtime.cuda_pool_ir import names as pool_names
from parhelion.runtime.cuda_times_ir import TIMES

#: Environment variables: the file of the driver's library, the number of the device.
DRIVER_VARIABLE = "PARHELION_CUDA_DRIVER"
DEVICE_VARIABLE = "HL_GPU_DEVICE"
LIBRARY = "libcuda.so.1"

#: The functions of the driver, and the types of what they take. Names with a number at
#: the end are those that cuda.h means by the name without it.
FUNCTIONS: dict[str, str] = {
    "cuInit": "i32",
    "cuDeviceGetCount": "ptr",
    "cuDeviceGet": "ptr, i32",
    "cuDeviceTotalMem_v2": "ptr, i32",
    "cuDevicePrimaryCtxRetain": "ptr, i32",
    "cuCtxPushCurrent_v2": "ptr",
    "cuCtxPopCurrent_v2": "ptr",
    "cuCtxSynchronize": "",
    "cuMemAlloc_v2": "ptr, i64",
    "cuMemFree_v2": "i64",
    "cuMemcpyHtoDAsync_v2": "i64, ptr, i64, ptr",
    "cuMemcpyDtoHAsync_v2": "ptr, i64, i64, ptr",
    "cuMemcpy2DAsync_v2": "ptr, ptr",
    "cuStreamSynchronize": "ptr",
    "cuEventCreate": "ptr, i32",
    "cuEventRecord": "ptr, ptr",
    "cuEventSynchronize": "ptr",
    "cuEventElapsedTime": "ptr, ptr, ptr",
    "cuEventDestroy_v2": "ptr",
    "cuModuleLoadDataEx": "ptr, ptr, i32, ptr, ptr",
    "cuModuleUnload": "ptr",
    "cuModuleGetFunction": "ptr, ptr, ptr",
    "cuFuncSetAttribute": "ptr, i32, i32",
    "cuFuncGetAttribute": "ptr, i32, ptr",
    "cuLaunchKernel": "ptr, i32, i32, i32, i32, i32, i32, i32, ptr, ptr, ptr",
}

#: After these the context is of no use any more (cuda.h, `CUresult`).
LOST = (4, 214, 220, 700, 702, 709, *range(714, 720))

#: Kernels that ask for no more shared memory need no permission.
USUAL_SHARED = 48 << 10

#: Bytes of the driver's last complaint about code.
LOG_BYTES = 4096

#: The largest distance between rows that one copy of the driver's serves.
MOST_PITCH = (1 << 31) - 1

CUDA = """
@ph.str.cuda = private constant [5 x i8] c"cuda\\00"
@ph_device_cuda = constant %ph.interface {
  ptr @ph.str.cuda,
  ptr @ph.cuda.allocate,
  ptr @ph.cuda.free,
  ptr @ph.cuda.to_device,
  ptr @ph.cuda.to_host,
  ptr @ph.cuda.launch,
  ptr @ph.cuda.finish,
  ptr @ph.cuda.mark,
  ptr @ph.cuda.elapsed,
  ptr @ph.cuda.registers
}

; The process that has the driver ready, 0 before; its device, and the context there.
@ph.cuda.process = internal global i32 0
@ph.cuda.device = internal global i32 0
@ph.cuda.context = internal global ptr null
@ph.cuda.mutex = internal global [64 x i8] zeroinitializer, align 64
@ph.cuda.log = internal global [LOG_BYTES x i8] zeroinitializer

declare ptr @dlopen(ptr, i32)
declare ptr @dlsym(ptr, ptr)
declare ptr @getenv(ptr)
declare i64 @strtol(ptr, ptr, i32)

; A result of the driver's as a status.
define internal i32 @ph.cuda.status(i32 %r, i32 %kind) {
  switch i32 %r, label %other [ LOST_CASES ]
lost:
  br label %other
memory:
  br label %other
other:
  %k = phi i32 [ %kind, %0 ], [ DEVICE_LOST, %lost ], [ NO_MEMORY, %memory ]
  %good = icmp eq i32 %r, 0
  %up = shl i32 %r, 8
  %both = or i32 %up, %k
  %status = select i1 %good, i32 0, i32 %both
  ret i32 %status
}

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
  %device = alloca i32
  %end = alloca ptr
  %total = alloca i64
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
  %n32 = trunc i64 %n to i32
  %r2 = call i32 @ph.cuDeviceGet(ptr %device, i32 %n32)
  %ok2 = icmp eq i32 %r2, 0
  br i1 %ok2, label %retain, label %failed
retain:
  %d = load i32, ptr %device
  store i32 %d, ptr @ph.cuda.device
  %r3 = call i32 @ph.cuDevicePrimaryCtxRetain(ptr @ph.cuda.context, i32 %d)
  %ok3 = icmp eq i32 %r3, 0
  br i1 %ok3, label %measure, label %failed
measure:
  %r4 = call i32 @ph.cuDeviceTotalMem_v2(ptr %total, i32 %d)
  %ok4 = icmp eq i32 %r4, 0
  br i1 %ok4, label %share, label %failed
share:
  %all = load i64, ptr %total
  %part = udiv i64 %all, KEPT_SHARE
  %x = cmpxchg ptr @ph.cuda.limit, i64 -1, i64 %part monotonic monotonic
  ret i32 0
failed:
  %r = phi i32 [ %r0, %init ], [ %r1, %ask ], [ 101, %chosen ], [ %r2, %get ], \
[ %r3, %retain ], [ %r4, %measure ]
  %status = call i32 @ph.cuda.status(i32 %r, i32 NO_DEVICE)
  ret i32 %status
}

; Makes the context current, on top of what is; @ph.cuda.leave takes it off again.
define internal i32 @ph.cuda.enter() {
  %s = call i32 @ph.cuda.start()
  %good = icmp eq i32 %s, 0
  br i1 %good, label %push, label %out
push:
  %context = load ptr, ptr @ph.cuda.context
  %r = call i32 @ph.cuCtxPushCurrent_v2(ptr %context)
  %t = call i32 @ph.cuda.status(i32 %r, i32 NO_DEVICE)
  br label %out
out:
  %status = phi i32 [ %s, %0 ], [ %t, %push ]
  ret i32 %status
}

define internal void @ph.cuda.leave() {
  %before = alloca ptr
  %r = call i32 @ph.cuCtxPopCurrent_v2(ptr %before)
  ret void
}

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

define internal i32 @ph.cuda.to_device(ptr %ctx, i64 %to, ptr %from, i64 %width, \
i64 %height, i64 %pitch) {
  %r = call i32 @ph.cuda.copy(ptr %ctx, ptr %from, i64 %to, i64 %width, i64 %height, \
i64 %pitch, i1 false)
  ret i32 %r
}

define internal i32 @ph.cuda.to_host(ptr %ctx, ptr %to, i64 %from, i64 %width, \
i64 %height, i64 %pitch) {
  %r = call i32 @ph.cuda.copy(ptr %ctx, ptr %to, i64 %from, i64 %width, i64 %height, \
i64 %pitch, i1 true)
  ret i32 %r
}

; Copies rows from one side to the other.
define internal i32 @ph.cuda.copy(ptr %ctx, ptr %host, i64 %device, i64 %width, \
i64 %height, i64 %pitch, i1 %tohost) {
  %s = call i32 @ph.cuda.enter()
  %good = icmp eq i32 %s, 0
  br i1 %good, label %on, label %not
not:
  ret i32 %s
on:
  %stream = call ptr @ph.cuda.stream(ptr %ctx)
  %one = icmp eq i64 %height, 1
  %vast = icmp ugt i64 %pitch, MOST_PITCH
  %single = or i1 %one, %vast
  br i1 %single, label %rows, label %plane
rows:
  %i = phi i64 [ 0, %on ], [ %i1, %next ]
  %at = mul i64 %i, %pitch
  %h = getelementptr i8, ptr %host, i64 %at
  %d = add i64 %device, %at
  br i1 %tohost, label %back, label %forth
back:
  %rb = call i32 @ph.cuMemcpyDtoHAsync_v2(ptr %h, i64 %d, i64 %width, ptr %stream)
  br label %copied
forth:
  %rf = call i32 @ph.cuMemcpyHtoDAsync_v2(i64 %d, ptr %h, i64 %width, ptr %stream)
  br label %copied
copied:
  %r = phi i32 [ %rb, %back ], [ %rf, %forth ]
  %ok = icmp eq i32 %r, 0
  br i1 %ok, label %next, label %out
next:
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %height
  br i1 %more, label %rows, label %out
plane:
  %q = call i32 @ph.cuda.plane(ptr %host, i64 %device, i64 %width, i64 %height, \
i64 %pitch, ptr %stream, i1 %tohost)
  br label %out
out:
  %e = phi i32 [ %r, %copied ], [ 0, %next ], [ %q, %plane ]
  call void @ph.cuda.leave()
  %status = call i32 @ph.cuda.status(i32 %e, i32 COPY_FAILED)
  ret i32 %status
}

; Rows in one call. CUDA_MEMCPY2D has for each side x, y, the kind of memory (1: host,
; 2: device), the address if it is the host's, or the device's, an array, and the pitch.
define internal i32 @ph.cuda.plane(ptr %host, i64 %device, i64 %width, i64 %height, \
i64 %pitch, ptr %stream, i1 %tohost) {
  %place = ptrtoint ptr %host to i64
  %fromkind = select i1 %tohost, i64 2, i64 1
  %from = select i1 %tohost, i64 %device, i64 %place
  %tokind = select i1 %tohost, i64 1, i64 2
  %to = select i1 %tohost, i64 %place, i64 %device
  %copy = alloca [16 x i64], align 8
  call void @llvm.memset.p0.i64(ptr %copy, i8 0, i64 128, i1 false)
  %p2 = getelementptr i64, ptr %copy, i64 2
  store i64 %fromkind, ptr %p2
  %fromslot = add i64 %fromkind, 2
  %pf = getelementptr i64, ptr %copy, i64 %fromslot
  store i64 %from, ptr %pf
  %p6 = getelementptr i64, ptr %copy, i64 6
  store i64 %pitch, ptr %p6
  %p9 = getelementptr i64, ptr %copy, i64 9
  store i64 %tokind, ptr %p9
  %toslot = add i64 %tokind, 9
  %pt = getelementptr i64, ptr %copy, i64 %toslot
  store i64 %to, ptr %pt
  %p13 = getelementptr i64, ptr %copy, i64 13
  store i64 %pitch, ptr %p13
  %p14 = getelementptr i64, ptr %copy, i64 14
  store i64 %width, ptr %p14
  %p15 = getelementptr i64, ptr %copy, i64 15
  store i64 %height, ptr %p15
  %r = call i32 @ph.cuMemcpy2DAsync_v2(ptr %copy, ptr %stream)
  ret i32 %r
}

define internal i32 @ph.cuda.finish(ptr %ctx) {
  %s = call i32 @ph.cuda.enter()
  %good = icmp eq i32 %s, 0
  br i1 %good, label %on, label %not
not:
  ret i32 %s
on:
  %stream = call ptr @ph.cuda.stream(ptr %ctx)
  %r = call i32 @ph.cuStreamSynchronize(ptr %stream)
  call void @ph.cuda.leave()
  %status = call i32 @ph.cuda.status(i32 %r, i32 LAUNCH_FAILED)
  ret i32 %status
}

; The driver's module of an image, loaded at its first use; the mutex is held.
define internal i32 @ph.cuda.module(ptr %image, ptr %module) {
  %options = alloca [2 x i32]
  %values = alloca [2 x ptr]
  %pslot = getelementptr { ptr, i64, ptr }, ptr %image, i64 0, i32 2
  %slot = load ptr, ptr %pslot
  %have = load ptr, ptr %slot
  %loaded = icmp ne ptr %have, null
  br i1 %loaded, label %known, label %load
known:
  store ptr %have, ptr %module
  ret i32 0
load:
  %text = load ptr, ptr %image
  ; CU_JIT_ERROR_LOG_BUFFER and its size.
  store i32 5, ptr %options
  %o1 = getelementptr i32, ptr %options, i64 1
  store i32 6, ptr %o1
  store ptr @ph.cuda.log, ptr %values
  %v1 = getelementptr ptr, ptr %values, i64 1
  store ptr inttoptr (i64 LOG_BYTES to ptr), ptr %v1
  store i8 0, ptr @ph.cuda.log
  %r = call i32 @ph.cuModuleLoadDataEx(ptr %module, ptr %text, i32 2, ptr %options, \
ptr %values)
  %good = icmp eq i32 %r, 0
  br i1 %good, label %keep, label %out
keep:
  %m = load ptr, ptr %module
  store ptr %m, ptr %slot
  br label %out
out:
  ret i32 %r
}

; The driver's function of a kernel.
define internal i32 @ph.cuda.function(ptr %kernel, ptr %function) {
  %module = alloca ptr
  %pslot = getelementptr { ptr, ptr, ptr, i32 }, ptr %kernel, i64 0, i32 2
  %slot = load ptr, ptr %pslot
  %seen = load atomic ptr, ptr %slot acquire, align 8
  %known = icmp ne ptr %seen, null
  br i1 %known, label %have, label %lock
have:
  store ptr %seen, ptr %function
  ret i32 0
lock:
  %l = call i32 @pthread_mutex_lock(ptr @ph.cuda.mutex)
  %pimage = getelementptr { ptr, ptr, ptr, i32 }, ptr %kernel, i64 0, i32 1
  %image = load ptr, ptr %pimage
  %r0 = call i32 @ph.cuda.module(ptr %image, ptr %module)
  %ok0 = icmp eq i32 %r0, 0
  br i1 %ok0, label %find, label %out
find:
  %name = load ptr, ptr %kernel
  %m = load ptr, ptr %module
  %r1 = call i32 @ph.cuModuleGetFunction(ptr %function, ptr %m, ptr %name)
  %ok1 = icmp eq i32 %r1, 0
  br i1 %ok1, label %size, label %out
size:
  %f = load ptr, ptr %function
  %pmost = getelementptr { ptr, ptr, ptr, i32 }, ptr %kernel, i64 0, i32 3
  %most = load i32, ptr %pmost
  %large = icmp ugt i32 %most, USUAL_SHARED
  br i1 %large, label %permit, label %keep
permit:
  ; CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
  %r2 = call i32 @ph.cuFuncSetAttribute(ptr %f, i32 8, i32 %most)
  %ok2 = icmp eq i32 %r2, 0
  br i1 %ok2, label %keep, label %out
keep:
  store atomic ptr %f, ptr %slot release, align 8
  br label %out
out:
  %r = phi i32 [ %r0, %lock ], [ %r1, %find ], [ %r2, %permit ], [ 0, %keep ]
  %kind = phi i32 [ CODE_REFUSED, %lock ], [ CODE_REFUSED, %find ], \
[ LAUNCH_FAILED, %permit ], [ 0, %keep ]
  %u = call i32 @pthread_mutex_unlock(ptr @ph.cuda.mutex)
  %status = call i32 @ph.cuda.status(i32 %r, i32 %kind)
  ret i32 %status
}

define internal i32 @ph.cuda.launch(ptr %ctx, ptr %kernel, ptr %grid, ptr %block, \
i32 %shared, ptr %arguments) {
  %function = alloca ptr
  %s = call i32 @ph.cuda.enter()
  %good = icmp eq i32 %s, 0
  br i1 %good, label %on, label %not
not:
  ret i32 %s
on:
  %found = call i32 @ph.cuda.function(ptr %kernel, ptr %function)
  %there = icmp eq i32 %found, 0
  br i1 %there, label %run, label %out
run:
  %f = load ptr, ptr %function
  %gx = load i32, ptr %grid
  %pgy = getelementptr i32, ptr %grid, i64 1
  %gy = load i32, ptr %pgy
  %pgz = getelementptr i32, ptr %grid, i64 2
  %gz = load i32, ptr %pgz
  %bx = load i32, ptr %block
  %pby = getelementptr i32, ptr %block, i64 1
  %by = load i32, ptr %pby
  %pbz = getelementptr i32, ptr %block, i64 2
  %bz = load i32, ptr %pbz
  %stream = call ptr @ph.cuda.stream(ptr %ctx)
  %time = call ptr @ph.cuda.before(ptr %kernel, ptr %stream)
  %r = call i32 @ph.cuLaunchKernel(ptr %f, i32 %gx, i32 %gy, i32 %gz, i32 %bx, \
i32 %by, i32 %bz, i32 %shared, ptr %stream, ptr %arguments, ptr null)
  call void @ph.cuda.after(ptr %time, ptr %stream)
  %launched = call i32 @ph.cuda.status(i32 %r, i32 LAUNCH_FAILED)
  br label %out
out:
  %status = phi i32 [ %found, %on ], [ %launched, %run ]
  call void @ph.cuda.leave()
  ret i32 %status
}

; Ends the use of an image, when its kernels have run: for who unloads compiled code.
define void @ph_cuda_unload(ptr %image) {
  %pslot = getelementptr { ptr, i64, ptr }, ptr %image, i64 0, i32 2
  %slot = load ptr, ptr %pslot
  %module = load ptr, ptr %slot
  %unloaded = icmp eq ptr %module, null
  br i1 %unloaded, label %out, label %enter
enter:
  %s = call i32 @ph.cuda.enter()
  %good = icmp eq i32 %s, 0
  br i1 %good, label %unload, label %out
unload:
  store ptr null, ptr %slot
  %w = call i32 @ph.cuCtxSynchronize()
  %r = call i32 @ph.cuModuleUnload(ptr %module)
  call void @ph.cuda.leave()
  br label %out
out:
  ret void
}

; Makes the driver ready, and makes the device's context if it has none: a status.
define i32 @ph_cuda_start() {
  %s = call i32 @ph.cuda.start()
  ret i32 %s
}

; What the driver has said last of code that it refuses.
define ptr @ph_cuda_log() {
  ret ptr @ph.cuda.log
}
"""


def text() -> str:
    """The part of the module, with words in capitals."""
    texts = {
        **{name: name for name in FUNCTIONS},
        "driver_variable": DRIVER_VARIABLE,
        "device_variable": DEVICE_VARIABLE,
        "library": LIBRARY,
    }
    strings = [
        f'@ph.str.{name} = private constant [{len(one) + 1} x i8] c"{one}\\00"'
        for name, one in texts.items()
    ]
    count = len(FUNCTIONS)
    named = ", ".join([f"ptr @ph.str.{name}" for name in FUNCTIONS])
    tables = (
        f"@ph.cuda.names = internal constant [{count} x ptr] [{named}]\n"
        f"@ph.cuda.functions = internal global [{count} x ptr] zeroinitializer\n"
    )
    calls = [_call(i, *one) for i, one in enumerate(FUNCTIONS.items())]
    return "\n".join((*strings, tables, *calls, CUDA, TIMES, POOL))


def _call(place: int, name: str, types: str) -> str:
    """A function that calls the driver's of that name."""
    kinds = types.split(", ") if types else []
    taken = ", ".join([f"{kind} %a{i}" for i, kind in enumerate(kinds)])
    return f"""\
define internal i32 @ph.{name}({taken}) {{
  %p = getelementptr ptr, ptr @ph.cuda.functions, i64 {place}
  %f = load ptr, ptr %p
  %r = call i32 %f({taken})
  ret i32 %r
}}
"""


def names() -> dict[str, str]:
    """What the words in capitals stand for, beside those of `device_ir`."""
    lost = " ".join([f"i32 {number}, label %lost" for number in LOST])
    return {
        **pool_names(),
        "LOST_CASES": f"i32 2, label %memory {lost}",
        "FUNCTION_COUNT": str(len(FUNCTIONS)),
        "STREAM_OFFSET": str(Context.stream.offset),
        "USUAL_SHARED": str(USUAL_SHARED),
        "LOG_BYTES": str(LOG_BYTES),
        "MOST_PITCH": str(MOST_PITCH),
    }


__all__ = [
    "DEVICE_VARIABLE",
    "DRIVER_VARIABLE",
    "FUNCTIONS",
    "LIBRARY",
    "LOG_BYTES",
    "LOST",
    "names",
    "text",
]
