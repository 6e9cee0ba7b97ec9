"""How many threads run parallel loops, as LLVM IR: part of the pool's module."""

from __future__ import annotations

COUNT = """
@ph.pool.want = internal global i32 0
@ph.str.threads = private constant [15 x i8] c"HL_NUM_THREADS\\00"

declare i32 @sched_getaffinity(i32, WORD, ptr)
declare ptr @getenv(ptr)
declare i32 @atoi(ptr)
declare i64 @llvm.ctpop.i64(i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; The number of threads when nobody has set it: HL_NUM_THREADS, or the processors
; that this process may run on.
define internal i32 @ph.pool.default() {
  %env = call ptr @getenv(ptr @ph.str.threads)
  %unset = icmp eq ptr %env, null
  br i1 %unset, label %count, label %parse
parse:
  %given = call i32 @atoi(ptr %env)
  %good = icmp sgt i32 %given, 0
  br i1 %good, label %use, label %count
use:
  %big = icmp sgt i32 %given, 1024
  %capped = select i1 %big, i32 1024, i32 %given
  ret i32 %capped
count:
  %mask = alloca [16 x i64], align 16
  call void @llvm.memset.p0.i64(ptr %mask, i8 0, i64 128, i1 false)
  %r = call i32 @sched_getaffinity(i32 0, WORD 128, ptr %mask)
  br label %loop
loop:
  %i = phi i64 [ 0, %count ], [ %i1, %loop ]
  %sum = phi i64 [ 0, %count ], [ %sum1, %loop ]
  %p = getelementptr i64, ptr %mask, i64 %i
  %word = load i64, ptr %p
  %ones = call i64 @llvm.ctpop.i64(i64 %word)
  %sum1 = add i64 %sum, %ones
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, 16
  br i1 %more, label %loop, label %end
end:
  %n = trunc i64 %sum1 to i32
  %none = icmp slt i32 %n, 1
  %threads = select i1 %none, i32 1, i32 %n
  ret i32 %threads
}

define i32 @ph_get_num_threads() {
  %n = load atomic i32, ptr @ph.pool.want monotonic, align 4
  %unset = icmp eq i32 %n, 0
  br i1 %unset, label %first, label %known
known:
  ret i32 %n
first:
  %d = call i32 @ph.pool.default()
  %r = cmpxchg ptr @ph.pool.want, i32 0, i32 %d monotonic monotonic
  %old = extractvalue { i32, i1 } %r, 0
  %ok = extractvalue { i32, i1 } %r, 1
  %now = select i1 %ok, i32 %d, i32 %old
  ret i32 %now
}

; Sets the number of threads (0: back to the default); gives back what it was.
; Workers that are now too many leave when they have nothing to do.
define i32 @ph_set_num_threads(i32 %n) {
  %old = call i32 @ph_get_num_threads()
  store atomic i32 %n, ptr @ph.pool.want monotonic, align 4
  call void @ph.pool.enter()
  %l = call i32 @pthread_mutex_lock(ptr @ph.pool.mutex)
  %x = atomicrmw add ptr @ph.pool.pushes, i32 1 release
  %b = call i32 @pthread_cond_broadcast(ptr @ph.pool.work)
  %u = call i32 @pthread_mutex_unlock(ptr @ph.pool.mutex)
  ret i32 %old
}

; How many worker threads live now (for tests).
define i32 @ph_live_workers() {
  call void @ph.pool.enter()
  %l = call i32 @pthread_mutex_lock(ptr @ph.pool.mutex)
  %n = load i32, ptr @ph.pool.started
  %u = call i32 @pthread_mutex_unlock(ptr @ph.pool.mutex)
  ret i32 %n
}
"""
