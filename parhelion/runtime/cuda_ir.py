"""NVIDIA's GPUs as a device, as LLVM IR over the functions of the driver's library.

The library, libcuda.so.1, is loaded when a device is first used, so that code for a GPU
links and loads on computers that have none. The environment's PARHELION_CUDA_DRIVER
names another file, HL_GPU_DEVICE the number of the device (0).

All work goes to the primary context of a device (`cuda_devices_ir`), which other
libraries in the process use, too, and to the stream that the call's context names, or
the default stream. The current context of the calling thread is left as it was.

In compiled modules, an *image* is { ptr text, i64 length, ptr slots }: PTX that ends
with a zero byte, and where the driver's module is kept for each device, 0 at first. A
*kernel* is { ptr name, ptr image, ptr slots, i32 most }: a name that ends with a zero
byte, its image, where the driver's function is kept for each device, 0 at first, and
the most bytes of shared memory that a launch asks for.
"""

from __future__ import annotations

from parhelion.runtime.cuda_devices_ir import DEVICES
from parhelion.runtime.cuda_devices_ir import names as device_names
from parhelion.runtime.cuda_pool_ir import POOL
from parhelion.runtime.cuda_pool_ir import names as pool_names
from parhelion.runtime.cuda_textures_ir import TEXTURES
from parhelion.runtime.cuda_textures_ir import names as texture_names
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
    "cuPointerGetAttribute": "ptr, i32, i64",
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
    "cuTexObjectCreate": "ptr, ptr, ptr, ptr",
    "cuTexObjectDestroy": "i64",
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
  HALIDE_TABLE,
  ptr @ph.str.cuda,
  ptr @ph.cuda.allocate,
  ptr @ph.cuda.free,
  ptr @ph.cuda.to_device,
  ptr @ph.cuda.to_host,
  ptr @ph.cuda.launch,
  ptr @ph.cuda.finish,
  ptr @ph.cuda.mark,
  ptr @ph.cuda.elapsed,
  ptr @ph.cuda.registers,
  ptr @ph.cuda.here,
  ptr @ph.cuda.texture
}

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
  %s = call i32 @ph.cuda.enter_at(ptr %ctx, i64 %device)
  %good = icmp eq i32 %s, 0
  br i1 %good, label %on, label %not
not:
  ret i32 %s
on:
  %stream = call ptr @ph.cuda.stream_at(ptr %ctx, i64 %device)
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
  %e0 = phi i32 [ %r, %copied ], [ 0, %next ], [ %q, %plane ]
  %w = call i32 @ph.cuda.settle(ptr %ctx, i64 %device)
  %went = icmp eq i32 %e0, 0
  %e = select i1 %went, i32 %w, i32 %e0
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
  %s = call i32 @ph.cuda.enter(ptr %ctx)
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
define internal i32 @ph.cuda.module(ptr %image, i64 %device, ptr %module) {
  %options = alloca [2 x i32]
  %values = alloca [2 x ptr]
  %pslot = getelementptr { ptr, i64, ptr }, ptr %image, i64 0, i32 2
  %slots = load ptr, ptr %pslot
  %slot = getelementptr ptr, ptr %slots, i64 %device
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
define internal i32 @ph.cuda.function(ptr %kernel, i64 %device, ptr %function) {
  %module = alloca ptr
  %pslot = getelementptr { ptr, ptr, ptr, i32 }, ptr %kernel, i64 0, i32 2
  %slots = load ptr, ptr %pslot
  %slot = getelementptr ptr, ptr %slots, i64 %device
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
  %r0 = call i32 @ph.cuda.module(ptr %image, i64 %device, ptr %module)
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
  %s = call i32 @ph.cuda.enter(ptr %ctx)
  %good = icmp eq i32 %s, 0
  br i1 %good, label %on, label %not
not:
  ret i32 %s
on:
  %device = call i64 @ph.cuda.number(ptr %ctx)
  %found = call i32 @ph.cuda.function(ptr %kernel, i64 %device, ptr %function)
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
  %time = call ptr @ph.cuda.before(ptr %ctx, ptr %kernel)
  %r = call i32 @ph.cuLaunchKernel(ptr %f, i32 %gx, i32 %gy, i32 %gz, i32 %bx, \
i32 %by, i32 %bz, i32 %shared, ptr %stream, ptr %arguments, ptr null)
  call void @ph.cuda.after(ptr %ctx, ptr %time)
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
  %slots = load ptr, ptr %pslot
  br label %look
look:
  %n = phi i64 [ 0, %0 ], [ %n1, %next ]
  %slot = getelementptr ptr, ptr %slots, i64 %n
  %module = load ptr, ptr %slot
  %unloaded = icmp eq ptr %module, null
  br i1 %unloaded, label %next, label %start
start:
  %s0 = call i32 @ph.cuda.start()
  %ready = icmp eq i32 %s0, 0
  br i1 %ready, label %enter, label %next
enter:
  %s = call i32 @ph.cuda.enter_number(i64 %n)
  %good = icmp eq i32 %s, 0
  br i1 %good, label %unload, label %next
unload:
  store ptr null, ptr %slot
  %w = call i32 @ph.cuCtxSynchronize()
  %r = call i32 @ph.cuModuleUnload(ptr %module)
  call void @ph.cuda.leave()
  br label %next
next:
  %n1 = add i64 %n, 1
  %more = icmp ult i64 %n1, MOST_DEVICES
  br i1 %more, label %look, label %out
out:
  ret void
}

; Makes the driver ready, and makes the device's context if it has none: a status.
define i32 @ph_cuda_start(ptr %ctx) {
  %s = call i32 @ph.cuda.enter(ptr %ctx)
  %good = icmp eq i32 %s, 0
  br i1 %good, label %leave, label %out
leave:
  call void @ph.cuda.leave()
  br label %out
out:
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
    return "\n".join((*strings, tables, *calls, CUDA, DEVICES, TIMES, POOL, TEXTURES))


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
        **texture_names(),
        **device_names(),
        "LOST_CASES": f"i32 2, label %memory {lost}",
        "FUNCTION_COUNT": str(len(FUNCTIONS)),
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
