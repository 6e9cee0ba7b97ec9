"""The run time of systems without POSIX threads: one thread, the C library's memory.

Parallel loops run their iterations one after the other. Functions that need a thread of
their own (`async_`) cannot run there; see `objects`.
"""

from __future__ import annotations

SERIAL = """
declare ptr @malloc(WORD)
declare void @free(ptr)
declare i32 @printf(ptr, ...)
@ph.str.text = private constant [3 x i8] c"%s\\00"
@ph.lock.dummy = internal global i32 0

define internal WORD @ph.word(i64 %n) {
  %w = NARROW64
  ret WORD %w
}

define internal i64 @ph.wide(WORD %n) {
  %w = WIDEN64
  ret i64 %w
}

; Aligned to 64 bytes; what malloc gave stands before it.
define noalias ptr @ph_own_malloc(ptr %ctx, i64 %bytes) {
  %more = add i64 %bytes, 72
  %size = call WORD @ph.word(i64 %more)
  %p = call ptr @malloc(WORD %size)
  %none = icmp eq ptr %p, null
  br i1 %none, label %out, label %align
out:
  ret ptr null
align:
  %a = ptrtoint ptr %p to i64
  %b = add i64 %a, 71
  %c = and i64 %b, -64
  %q = inttoptr i64 %c to ptr
  %before = getelementptr i8, ptr %q, i32 -8
  store ptr %p, ptr %before
  ret ptr %q
}

define void @ph_own_free(ptr %ctx, ptr %p) {
  %none = icmp eq ptr %p, null
  br i1 %none, label %out, label %give
give:
  %before = getelementptr i8, ptr %p, i32 -8
  %q = load ptr, ptr %before
  call void @free(ptr %q)
  br label %out
out:
  ret void
}

define i32 @ph_own_par_for(ptr %ctx, ptr %fn, i32 %min, i32 %extent, ptr %closure) {
  %some = icmp sgt i32 %extent, 0
  br i1 %some, label %loop, label %nothing
nothing:
  ret i32 0
loop:
  %k = phi i32 [ 0, %0 ], [ %k1, %good ]
  %i = add i32 %min, %k
  %code = call i32 %fn(ptr %ctx, i32 %i, ptr %closure)
  %ok = icmp eq i32 %code, 0
  br i1 %ok, label %good, label %out
good:
  %k1 = add i32 %k, 1
  %more = icmp slt i32 %k1, %extent
  br i1 %more, label %loop, label %out
out:
  ret i32 %code
}

; Nobody else is there to be kept out.
define ptr @ph_lock(ptr %place) {
  ret ptr @ph.lock.dummy
}

define void @ph_unlock(ptr %lock) {
  ret void
}

define i32 @ph_get_num_threads() {
  ret i32 1
}

define i32 @ph_set_num_threads(i32 %n) {
  ret i32 1
}

; Nothing is kept: memory is the C library's.
define i64 @ph_set_kept_memory(i64 %bytes) {
  ret i64 0
}

define i64 @ph_release_memory() {
  ret i64 0
}

define void @ph_print(ptr %ctx, ptr %text) {
  %slot = getelementptr i8, ptr %ctx, i64 PRINT_OFFSET
  %fn = load ptr, ptr %slot
  %pu = getelementptr i8, ptr %ctx, i64 USER_OFFSET
  %user = load ptr, ptr %pu
  call void %fn(ptr %user, ptr %text)
  ret void
}

define weak void @halide_default_print(ptr %user, ptr %text) {
  %n = call i32 (ptr, ...) @printf(ptr @ph.str.text, ptr %text)
  ret void
}

@ph.str.failed = private constant [11 x i8] c"Error: %s\\0A\\00"

define weak void @halide_default_error(ptr %user, ptr %text) {
  %n = call i32 (ptr, ...) @printf(ptr @ph.str.failed, ptr %text)
  ret void
}

define weak void @halide_shutdown_thread_pool() {
  ret void
}
"""

__all__ = ["SERIAL"]
