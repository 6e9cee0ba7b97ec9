"""Devices in programs without Python, as LLVM IR: the functions of Halide's public
header for buffers that stay on a device, and the stream that a program asks for.

A buffer that is given a copy on a device by one of these keeps it (flag KEEPS): what
runs next finds it there and leaves its results there. All return 0, or one of Halide's
codes, of which halide_error is told.
"""

from __future__ import annotations

from parhelion.dataclass import dataclass
from parhelion.ir.device_status import Kind, explain
from parhelion.runtime.context import CONTEXT_BYTES, Context


@dataclass(frozen=True, slots=True)
class _Function:
    """name: without ``halide_``. parameters: beside the user's context and the buffer.
    code: Halide's for its failure. body: LLVM IR that leaves a status in ``%status``,
    with a context ``%ctx``. place: in the struct of Halide's header, or -1.
    """

    name: str
    parameters: str
    code: int
    body: str
    place: int = -1


_KEEP = "  call void @ph.device.flags(ptr %buffer, i64 0, i64 KEEPS)\n"

_FUNCTIONS = (
    _Function(
        "device_malloc",
        ", ptr %wish",
        -16,
        """  %interface = call ptr @ph.halide.interface(ptr %buffer, ptr %wish)
  %status = call i32 @ph_device_sync(ptr %ctx, ptr %interface, ptr %buffer, i32 1)
"""
        + _KEEP,
        0,
    ),
    _Function(
        "device_free",
        "",
        -18,
        """  call void @ph_device_free(ptr %ctx, ptr %buffer)
  call void @ph.device.flags(ptr %buffer, i64 KEEPS, i64 0)
  %status = add i32 0, 0
""",
        1,
    ),
    _Function(
        "device_sync",
        "",
        -17,
        """  %interface = call ptr @ph.halide.interface(ptr %buffer, ptr null)
  %status = call i32 @ph_device_finish(ptr %ctx, ptr %interface)
""",
        2,
    ),
    _Function(
        "copy_to_host",
        "",
        -14,
        """  %status = call i32 @ph_device_sync(ptr %ctx, ptr null, ptr %buffer, i32 2)
""",
        4,
    ),
    _Function(
        "copy_to_device",
        ", ptr %wish",
        -15,
        """  %interface = call ptr @ph.halide.interface(ptr %buffer, ptr %wish)
  %status = call i32 @ph_device_sync(ptr %ctx, ptr %interface, ptr %buffer, i32 3)
"""
        + _KEEP,
        5,
    ),
)

_TEXT = """
declare void @halide_error(ptr, ptr)

; The interface that a function is given, or that of the buffer, or that of NVIDIA's
; GPUs.
define internal ptr @ph.halide.interface(ptr %buffer, ptr %wish) {
  %p = getelementptr %ph.buffer, ptr %buffer, i64 0, i32 1
  %own = load ptr, ptr %p
  %unsaid = icmp eq ptr %wish, null
  %said = select i1 %unsaid, ptr %own, ptr %wish
  %none = icmp eq ptr %said, null
  %r = select i1 %none, ptr @ph_device_cuda, ptr %said
  ret ptr %r
}

define weak ptr @halide_cuda_device_interface() {
  ret ptr @ph_device_cuda
}

define weak ptr @parhelion_simulated_device_interface() {
  ret ptr @ph_device_simulated
}

; Pixels on a GPU that are the program's: the address of the pixel at the mins.
define weak i32 @halide_cuda_wrap_device_ptr(ptr %user, ptr %buffer, i64 %address) {
  %known = load i64, ptr %buffer
  %free = icmp eq i64 %known, 0
  br i1 %free, label %take, label %not
not:
  call void @halide_error(ptr %user, ptr @ph.str.wrapped)
  ret i32 -32
take:
  store i64 %address, ptr %buffer
  %p = getelementptr %ph.buffer, ptr %buffer, i64 0, i32 1
  store ptr @ph_device_cuda, ptr %p
  call void @ph.device.flags(ptr %buffer, i64 OWNED, i64 KEEPS)
  ret i32 0
}

define weak i32 @halide_cuda_detach_device_ptr(ptr %user, ptr %buffer) {
  %p = getelementptr %ph.buffer, ptr %buffer, i64 0, i32 1
  store i64 0, ptr %buffer
  store ptr null, ptr %p
  call void @ph.device.flags(ptr %buffer, i64 ALL_FLAGS, i64 0)
  call void @ph.device.flags(ptr %buffer, i64 KEEPS, i64 0)
  ret i32 0
}

define weak i64 @halide_cuda_get_device_ptr(ptr %user, ptr %buffer) {
  %address = load i64, ptr %buffer
  ret i64 %address
}

; The stream that a program wants: it defines a function of this name, or sets one.
@ph.hook.stream = internal global ptr @halide_default_cuda_get_stream
define weak i32 @halide_default_cuda_get_stream(ptr %user, ptr %context, ptr %stream) {
  store ptr null, ptr %stream
  ret i32 0
}
define weak i32 @halide_cuda_get_stream(ptr %user, ptr %context, ptr %stream) {
  %f = load atomic ptr, ptr @ph.hook.stream acquire, align 8
  %r = call i32 %f(ptr %user, ptr %context, ptr %stream)
  ret i32 %r
}
define weak ptr @halide_set_cuda_get_stream(ptr %f) {
  %none = icmp eq ptr %f, null
  %new = select i1 %none, ptr @halide_default_cuda_get_stream, ptr %f
  %old = atomicrmw xchg ptr @ph.hook.stream, ptr %new acq_rel
  ret ptr %old
}

define internal ptr @ph.cuda.stream(ptr %ctx) {
  %slot = alloca ptr
  store ptr null, ptr %slot
  %none = icmp eq ptr %ctx, null
  br i1 %none, label %ask, label %look
look:
  %at = getelementptr i8, ptr %ctx, i64 USER_OFFSET
  %told = load ptr, ptr %at
  br label %ask
ask:
  %user = phi ptr [ null, %0 ], [ %told, %look ]
  %n = call i64 @ph.cuda.number(ptr %ctx)
  %p = getelementptr [MOST_DEVICES x ptr], ptr @ph.cuda.contexts, i64 0, i64 %n
  %context = load atomic ptr, ptr %p acquire, align 8
  %r = call i32 @halide_cuda_get_stream(ptr %user, ptr %context, ptr %slot)
  %stream = load ptr, ptr %slot
  ret ptr %stream
}
"""


def device_api() -> str:
    """The functions, a part of the run time of devices."""
    names = {
        "CONTEXT_BYTES": str(-(-CONTEXT_BYTES // 16) * 16),
        "USER_OFFSET": str(Context.user.offset),
    }
    strings = {"wrapped": "the buffer has a copy on a device already: free it first"}
    strings |= {kind.name.lower(): _sentence(kind) for kind in Kind}
    texts = [
        f'@ph.str.{name} = private constant [{len(one.encode()) + 1} x i8] c"{one}\\00"'
        for name, one in strings.items()
    ]
    text = "\n".join([*texts, _TEXT, _told(), *map(_written, _FUNCTIONS)])
    for word, value in names.items():
        text = text.replace(word, value)
    return text


def _sentence(kind: Kind) -> str:
    what, remedy = explain(int(kind))
    return f"{what}: {remedy}".replace('"', "'")


def _told() -> str:
    """A function that tells halide_error of a status."""
    cases = " ".join([f"i32 {int(k)}, label %k{int(k)}" for k in Kind])
    blocks = "\n".join(
        [f"k{int(k)}:\n  br label %tell" for k in Kind if k is not Kind.NO_DRIVER]
    )
    first = int(Kind.NO_DRIVER)
    pairs = ", ".join([f"[ @ph.str.{k.name.lower()}, %k{int(k)} ]" for k in Kind])
    return f"""
define internal i32 @ph.halide.result(ptr %user, i32 %status, i32 %code) {{
  %good = icmp eq i32 %status, 0
  br i1 %good, label %fine, label %which
fine:
  ret i32 0
which:
  %kind = and i32 %status, 255
  switch i32 %kind, label %k{first} [ {cases} ]
k{first}:
  br label %tell
{blocks}
tell:
  %text = phi ptr {pairs}
  call void @halide_error(ptr %user, ptr %text)
  ret i32 %code
}}
"""


def _written(f: _Function) -> str:
    return f"""
define weak i32 @halide_{f.name}(ptr %user, ptr %buffer{f.parameters}) {{
  %ctx = alloca [CONTEXT_BYTES x i8], align 16
  call void @llvm.memset.p0.i64(ptr %ctx, i8 0, i64 CONTEXT_BYTES, i1 false)
  %at = getelementptr i8, ptr %ctx, i64 USER_OFFSET
  store ptr %user, ptr %at
{f.body}  %code = call i32 @ph.halide.result(ptr %user, i32 %status, i32 {f.code})
  ret i32 %code
}}
"""


def halide_table() -> str:
    """What the struct of Halide's header has, in its order; null for what there is
    not."""
    found = {f.place: f"@halide_{f.name}" for f in _FUNCTIONS if f.place >= 0}
    return "[" + ", ".join([f"ptr {found.get(i, 'null')}" for i in range(16)]) + "]"


#: What they are in C, beside what Halide's own headers declare.
HEADER = """\
#ifndef HALIDE_HALIDERUNTIME_H
#ifdef __cplusplus
extern "C" {
#endif
// Buffers on devices. What is given a copy there by halide_device_malloc or
// halide_copy_to_device keeps it: a pipeline finds it there, and leaves its results
// there until halide_copy_to_host. Others are copied by the pipeline itself, in both
// directions. Each returns 0 or an error code; a NULL interface is the buffer's own, or
// that of NVIDIA's GPUs.
int halide_device_malloc(void *user_context, struct halide_buffer_t *buffer,
                         const struct halide_device_interface_t *device);
int halide_device_free(void *user_context, struct halide_buffer_t *buffer);
int halide_device_sync(void *user_context, struct halide_buffer_t *buffer);
int halide_copy_to_host(void *user_context, struct halide_buffer_t *buffer);
int halide_copy_to_device(void *user_context, struct halide_buffer_t *buffer,
                          const struct halide_device_interface_t *device);
#ifdef __cplusplus
}
#endif
#endif
#ifndef HALIDE_HALIDERUNTIMECUDA_H
#ifdef __cplusplus
extern "C" {
#endif
const struct halide_device_interface_t *halide_cuda_device_interface(void);
// Pixels on a GPU that are the program's own, which has to free them.
int halide_cuda_wrap_device_ptr(void *, struct halide_buffer_t *, uint64_t address);
int halide_cuda_detach_device_ptr(void *, struct halide_buffer_t *);
uintptr_t halide_cuda_get_device_ptr(void *, struct halide_buffer_t *);
// The stream that a call works on: a function given to this, or one of the program's
// own called halide_cuda_get_stream, is asked for it with the call's user_context and
// the CUcontext, and stores a CUstream.
struct CUctx_st;
struct CUstream_st;
typedef int (*halide_cuda_get_stream_t)(void *, struct CUctx_st *,
                                        struct CUstream_st **);
halide_cuda_get_stream_t halide_set_cuda_get_stream(halide_cuda_get_stream_t get);
#ifdef __cplusplus
}
#endif
#endif
#ifdef __cplusplus
extern "C" {
#endif
// The simulation of a device, for code that was compiled with PARHELION_GPU=simulate.
const struct halide_device_interface_t *parhelion_simulated_device_interface(void);
#ifdef __cplusplus
}
#endif
"""

__all__ = ["HEADER", "device_api", "halide_table"]
