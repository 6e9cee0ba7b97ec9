"""The run time that object files carry, as LLVM IR: memory, threads, errors, printing.

What compiled code calls (``ph_malloc``, ``ph_par_for``, …) goes through the functions
of Halide's public run-time header, ``halide_malloc``, ``halide_do_par_for``,
``halide_error`` and ``halide_print``. Each of these is weak, so that a program may have
its own, and calls a function that ``halide_set_…`` may replace; in the beginning that
is one of the thread pool's and allocator's of this library.

Every object has a copy, of which the linker keeps one, whichever it meets first. So all
copies are for the plainest processor of their kind, whatever their objects are for.
"""

from __future__ import annotations

import re

from parhelion.aot.devices_ir import device_api, halide_table
from parhelion.aot.serial_ir import SERIAL
from parhelion.ir.failures import HALIDE_CODES
from parhelion.ir.target import Target, plainest
from parhelion.runtime.context import Context
from parhelion.runtime.device_ir import device_runtime
from parhelion.runtime.lazy_ir import SERIAL_LAZY
from parhelion.runtime.pool_ir import runtime_ir

#: (name, C parameters as LLVM types, result) of what may be replaced.
_HOOKS = (
    ("error", "ptr %a, ptr %b", "void"),
    ("print", "ptr %a, ptr %b", "void"),
    ("malloc", "ptr %a, WORD %b", "ptr"),
    ("free", "ptr %a, ptr %b", "void"),
    ("do_par_for", "ptr %a, ptr %b, i32 %c, i32 %d, ptr %e", "i32"),
)
#: The hooks whose setters have other names than halide_set_custom_NAME.
_SETTERS = {"error": "halide_set_error_handler"}

_GLUE = """
@ph.str.aligned = private constant [50 x i8] \
c"the allocator's memory is not aligned to 64 bytes\\00"

; Memory in the name of a call, whose context knows the caller's.
define noalias ptr @ph_malloc(ptr %ctx, i64 %bytes) {
  %at = getelementptr i8, ptr %ctx, i64 USER_OFFSET
  %user = load ptr, ptr %at
  %word = call WORD @ph.word(i64 %bytes)
  %huge = icmp ugt i64 %bytes, LARGEST
  br i1 %huge, label %none, label %ask
none:
  ret ptr null
ask:
  %p = call ptr @halide_malloc(ptr %user, WORD %word)
  %address = ptrtoint ptr %p to WORD
  %low = and WORD %address, 63
  %good = icmp eq WORD %low, 0
  br i1 %good, label %out, label %bad
bad:
  ; The call's failure, unless it has one already: nobody else is to tell of it.
  %pair = cmpxchg ptr %ctx, i32 0, i32 NO_MEMORY acq_rel monotonic
  %first = extractvalue { i32, i1 } %pair, 1
  br i1 %first, label %tell, label %told
tell:
  call void @halide_error(ptr %user, ptr @ph.str.aligned)
  br label %told
told:
  call void @halide_free(ptr %user, ptr %p)
  ret ptr null
out:
  ret ptr %p
}

; A program's allocator knows one kind of memory.
define noalias ptr @ph_reserve(ptr %ctx, i64 %bytes) {
  %p = call ptr @ph_malloc(ptr %ctx, i64 %bytes)
  ret ptr %p
}

define void @ph_free(ptr %ctx, ptr %p) {
  %at = getelementptr i8, ptr %ctx, i64 USER_OFFSET
  %user = load ptr, ptr %at
  call void @halide_free(ptr %user, ptr %p)
  ret void
}

define weak ptr @halide_default_malloc(ptr %user, WORD %word) {
  %bytes = call i64 @ph.wide(WORD %word)
  %p = call ptr @ph_own_malloc(ptr %user, i64 %bytes)
  ret ptr %p
}

define weak void @halide_default_free(ptr %user, ptr %p) {
  call void @ph_own_free(ptr %user, ptr %p)
  ret void
}

; A parallel loop of compiled code: function, context and closure.
%ph.loop = type { ptr, ptr, ptr }

define i32 @ph_par_for(ptr %ctx, ptr %fn, i32 %min, i32 %extent, ptr %closure) {
  %at = getelementptr i8, ptr %ctx, i64 USER_OFFSET
  %user = load ptr, ptr %at
  %loop = alloca %ph.loop
  store ptr %fn, ptr %loop
  %p1 = getelementptr %ph.loop, ptr %loop, i32 0, i32 1
  store ptr %ctx, ptr %p1
  %p2 = getelementptr %ph.loop, ptr %loop, i32 0, i32 2
  store ptr %closure, ptr %p2
  %r = call i32 @halide_do_par_for(ptr %user, ptr @ph.iteration, i32 %min, \
i32 %extent, ptr %loop)
  ret i32 %r
}

; One iteration, as halide_do_par_for knows it.
define internal i32 @ph.iteration(ptr %user, i32 %i, ptr %loop) {
  %fn = load ptr, ptr %loop
  %p1 = getelementptr %ph.loop, ptr %loop, i32 0, i32 1
  %ctx = load ptr, ptr %p1
  %p2 = getelementptr %ph.loop, ptr %loop, i32 0, i32 2
  %closure = load ptr, ptr %p2
  %r = call i32 %fn(ptr %ctx, i32 %i, ptr %closure)
  ret i32 %r
}

; One iteration of a loop that is not compiled code's.
define internal i32 @ph.foreign(ptr %ctx, i32 %i, ptr %loop) {
  %fn = load ptr, ptr %loop
  %p1 = getelementptr %ph.loop, ptr %loop, i32 0, i32 1
  %user = load ptr, ptr %p1
  %p2 = getelementptr %ph.loop, ptr %loop, i32 0, i32 2
  %closure = load ptr, ptr %p2
  %r = call i32 %fn(ptr %user, i32 %i, ptr %closure)
  ret i32 %r
}

define weak i32 @halide_default_do_par_for(ptr %user, ptr %task, i32 %min, \
i32 %extent, ptr %closure) {
  %own = icmp eq ptr %task, @ph.iteration
  br i1 %own, label %straight, label %wrap
straight:
  ; The pool takes what is behind: its threads help those of the same context.
  %fn = load ptr, ptr %closure
  %p1 = getelementptr %ph.loop, ptr %closure, i32 0, i32 1
  %ctx = load ptr, ptr %p1
  %p2 = getelementptr %ph.loop, ptr %closure, i32 0, i32 2
  %inner = load ptr, ptr %p2
  %r = call i32 @ph_own_par_for(ptr %ctx, ptr %fn, i32 %min, i32 %extent, ptr %inner)
  ret i32 %r
wrap:
  %loop = alloca %ph.loop
  store ptr %task, ptr %loop
  %q1 = getelementptr %ph.loop, ptr %loop, i32 0, i32 1
  store ptr %user, ptr %q1
  %q2 = getelementptr %ph.loop, ptr %loop, i32 0, i32 2
  store ptr %closure, ptr %q2
  %s = call i32 @ph_own_par_for(ptr %loop, ptr @ph.foreign, i32 %min, i32 %extent, \
ptr %loop)
  ret i32 %s
}

define weak i32 @halide_set_num_threads(i32 %n) {
  %old = call i32 @ph_set_num_threads(i32 %n)
  ret i32 %old
}

define weak i32 @halide_get_num_threads() {
  %n = call i32 @ph_get_num_threads()
  ret i32 %n
}

define weak i64 @halide_set_kept_memory(i64 %bytes) {
  %old = call i64 @ph_set_kept_memory(i64 %bytes)
  ret i64 %old
}

define weak i64 @halide_release_memory() {
  %n = call i64 @ph_release_memory()
  ret i64 %n
}
"""


#: What writes and waits by POSIX's functions.
_POSIX = """
@ph.str.error = private constant [8 x i8] c"Error: \\00"
@ph.str.line = private constant [2 x i8] c"\\0A\\00"

define weak void @halide_default_print(ptr %user, ptr %text) {
  %n = call WORD @strlen(ptr %text)
  %w = call WORD @write(i32 1, ptr %text, WORD %n)
  ret void
}

; To the standard error, on a line. The program goes on: the call returns a code.
define weak void @halide_default_error(ptr %user, ptr %text) {
  %a = call WORD @write(i32 2, ptr @ph.str.error, WORD 7)
  %n = call WORD @strlen(ptr %text)
  %b = call WORD @write(i32 2, ptr %text, WORD %n)
  %c = call WORD @write(i32 2, ptr @ph.str.line, WORD 1)
  ret void
}

; Returns when no worker is left; the next parallel loop starts new ones.
define weak void @halide_shutdown_thread_pool() {
  %before = call i32 @ph_set_num_threads(i32 1)
  br label %look
look:
  %live = call i32 @ph_live_workers()
  %none = icmp eq i32 %live, 0
  br i1 %none, label %out, label %wait
wait:
  %y = call i32 @sched_yield()
  br label %look
out:
  %now = call i32 @ph_set_num_threads(i32 %before)
  ret void
}
"""


def _hook(name: str, parameters: str, result: str) -> str:
    """The function, what it calls, and how that is replaced."""
    setter = _SETTERS.get(name, f"halide_set_custom_{name}")
    call = f"call {result} %f({parameters})"
    back = "ret void" if result == "void" else f"ret {result} %r"
    if result != "void":
        call = f"%r = {call}"
    return f"""
@ph.hook.{name} = internal global ptr @halide_default_{name}
define weak {result} @halide_{name}({parameters}) {{
  %f = load atomic ptr, ptr @ph.hook.{name} acquire, align POINTER
  {call}
  {back}
}}
define weak ptr @{setter}(ptr %f) {{
  %none = icmp eq ptr %f, null
  %new = select i1 %none, ptr @halide_default_{name}, ptr %f
  %old = atomicrmw xchg ptr @ph.hook.{name}, ptr %new acq_rel
  ret ptr %old
}}
"""


def aot_runtime(target: Target, needed: bool = False) -> str:
    """The module. needed: whether all of it is kept, though nothing in its own object
    calls it.

    Linux and Android have the thread pool; other systems run on one thread, by what
    every C library has.
    """
    hooks = "".join([_hook(*h) for h in _HOOKS])
    if has_threads(target):
        own = runtime_ir(
            target.arch,
            Context.print_fn.offset,
            Context.user.offset,
            target.bits,
            watched=False,
        )
        for name in ("malloc", "reserve", "free", "par_for"):
            own = re.sub(rf"@ph_{name}\b", f"@ph_own_{name}", own)
        glue = _GLUE + hooks + _POSIX
    else:
        own, glue = "", SERIAL + SERIAL_LAZY + _GLUE + hooks
    names = {
        "NARROW64": "add i64 %n, 0" if target.bits == 64 else "trunc i64 %n to i32",
        "WIDEN64": "add i64 %n, 0" if target.bits == 64 else "zext i32 %n to i64",
        "PRINT_OFFSET": str(Context.print_fn.offset),
        "LARGEST": str(2**62 if target.bits == 64 else 2**31 - 1),
        "USER_OFFSET": str(Context.user.offset),
        "POINTER": str(target.bits // 8),
        "WORD": f"i{target.bits}",
        "NO_MEMORY": str(HALIDE_CODES["out_of_memory"]),
    }
    for name, text in names.items():
        glue = glue.replace(name, text)
    text = _shared(own + glue, "weak_odr" if needed else "linkonce_odr")
    return _for_all(text, plainest(target.triple))


def aot_devices(target: Target, needed: bool = False) -> str:
    """The module for devices, which only code with kernels calls. needed: as for
    `aot_runtime`."""
    text = device_runtime(device_api(), halide_table())
    text = _shared(text, "weak_odr" if needed else "linkonce_odr")
    return _for_all(text, plainest(target.triple))


def has_devices(target: Target) -> bool:
    """Whether the run time knows devices there: drivers are for such systems alone."""
    return has_threads(target) and target.bits == 64


def has_threads(target: Target) -> bool:
    """Whether the run time has a thread pool there."""
    return "linux" in target.triple


def _shared(text: str, linkage: str) -> str:
    """Definitions of which the linker keeps one, and other libraries see none."""
    kind = f"{linkage} hidden"
    text = re.sub(r"^define internal ", f"define {kind} ", text, flags=re.M)
    text = re.sub(
        r"^define (?=(noalias )?\w+ @ph_)", f"define {kind} ", text, flags=re.M
    )
    text = re.sub(r"= internal (global|constant)", rf"= {kind} \1", text)
    text = re.sub(r"^(@ph_\w+ =) (?=constant)", rf"\1 {kind} ", text, flags=re.M)
    return text


def _for_all(text: str, plain: Target) -> str:
    """Functions that are compiled for `plain`, whatever their module is for."""
    text = re.sub(r"^(define [^\n]*)\{$", r"\1#0 {", text, flags=re.M)
    features = f'"target-features"="{plain.feature_string()}"'
    return f'{text}\nattributes #0 = {{ "target-cpu"="{plain.cpu}" {features} }}\n'


__all__ = ["aot_devices", "aot_runtime", "has_devices", "has_threads"]
