"""Forks and semaphores for asynchronous Funcs, as LLVM IR: part of the pool's module.

`ph_fork` runs two functions at once and returns when both have finished. The first one
has a thread to itself, not one of the pool: it may wait for the second, on a semaphore,
for as long as it likes, so that nothing is lost by its waiting, and no number of
threads is too small. Threads that have finished are kept for the next fork.

Waiting ends early where the call has failed: whoever fails has left its code in the
context, and wakes all who wait. They then leave as well, with that code.
"""

from __future__ import annotations

#: How many threads without work are kept.
KEPT_THREADS = 32

ASYNC = """
; What a fork leaves to another thread; it lies on the stack of who forked.
%fork.job = type { ptr, ptr, ptr, ptr, i32, i32, i32 }
;             0    1    2    3    4    5    6
;             next fn   ctx  clos code done depth
; "done" is a semaphore, which the one who forked waits for.

@ph.async.mutex = internal global [64 x i8] zeroinitializer, align 64
@ph.async.cond = internal global [64 x i8] zeroinitializer, align 64
@ph.async.work = internal global [64 x i8] zeroinitializer, align 64
@ph.async.queue = internal global ptr null, align 64
; Threads that wait for a job, less the jobs that wait for a thread.
@ph.async.spare = internal global i32 0
; How many wait on a semaphore, or for a job to be done.
@ph.async.waiting = internal global i32 0, align 64
; In place of a context: a wait that no failure ends.
@ph.async.never = internal constant i32 0

define internal void @ph.async.reset() {
  %a = call i32 @pthread_mutex_init(ptr @ph.async.mutex, ptr null)
  call void @ph.cond.init(ptr @ph.async.cond)
  %c = call i32 @pthread_cond_init(ptr @ph.async.work, ptr null)
  store ptr null, ptr @ph.async.queue
  store i32 0, ptr @ph.async.spare
  store i32 0, ptr @ph.async.waiting
  ret void
}

; Wakes all who wait, to look again.
define internal void @ph.async.wake() {
  %w = load atomic i32, ptr @ph.async.waiting seq_cst, align 4
  %none = icmp eq i32 %w, 0
  br i1 %none, label %out, label %some
some:
  %l = call i32 @pthread_mutex_lock(ptr @ph.async.mutex)
  %b = call i32 @pthread_cond_broadcast(ptr @ph.async.cond)
  %u = call i32 @pthread_mutex_unlock(ptr @ph.async.mutex)
  br label %out
out:
  ret void
}

; Lets %count more through a semaphore.
define void @ph_release(ptr %semaphore, i32 %count) {
  %old = atomicrmw add ptr %semaphore, i32 %count seq_cst
  call void @ph.async.wake()
  ret void
}

; Takes %count from a semaphore if it holds as much.
define internal i1 @ph.async.try(ptr %semaphore, i32 %count) {
  br label %look
look:
  %held = load atomic i32, ptr %semaphore seq_cst, align 4
  %enough = icmp sge i32 %held, %count
  br i1 %enough, label %take, label %no
take:
  %left = sub i32 %held, %count
  %r = cmpxchg ptr %semaphore, i32 %held, i32 %left seq_cst seq_cst
  %mine = extractvalue { i32, i1 } %r, 1
  br i1 %mine, label %yes, label %look
yes:
  ret i1 true
no:
  ret i1 false
}

; Waits until a semaphore holds %count, and takes it; 0, or the code of a failure of
; the call, on which nothing is taken.
define i32 @ph_acquire(ptr %ctx, ptr %semaphore, i32 %count) {
  %r = call i32 @ph.async.await(ptr %ctx, ptr %ctx, ptr %semaphore, i32 %count)
  ret i32 %r
}

; The same, ended only by what is said at %failing. The call's context is %ctx.
define internal i32 @ph.async.await(ptr %failing, ptr %ctx, ptr %semaphore, \
i32 %count) {
  br label %spin
spin:
  %k = phi i32 [ 0, %0 ], [ %k1, %pause ]
  %got = call i1 @ph.async.try(ptr %semaphore, i32 %count)
  br i1 %got, label %done, label %unlucky
unlucky:
  %code = load atomic i32, ptr %failing acquire, align 4
  %fine = icmp eq i32 %code, 0
  br i1 %fine, label %pause, label %failed
pause:
  PAUSE
  %k1 = add i32 %k, 1
  %on = icmp ult i32 %k1, ACQUIRE_SPINS
  br i1 %on, label %spin, label %slow
slow:
  %l = call i32 @pthread_mutex_lock(ptr @ph.async.mutex)
  %w0 = atomicrmw add ptr @ph.async.waiting, i32 1 seq_cst
  br label %check
check:
  %got2 = call i1 @ph.async.try(ptr %semaphore, i32 %count)
  br i1 %got2, label %leave, label %check2
check2:
  %code2 = load atomic i32, ptr %failing seq_cst, align 4
  %fine2 = icmp eq i32 %code2, 0
  br i1 %fine2, label %sleep, label %leave
sleep:
  call void @ph.watch.wait(ptr @ph.async.cond, ptr @ph.async.mutex, ptr %ctx)
  br label %check
leave:
  %result = phi i32 [ 0, %check ], [ %code2, %check2 ]
  %w1 = atomicrmw sub ptr @ph.async.waiting, i32 1 seq_cst
  %u = call i32 @pthread_mutex_unlock(ptr @ph.async.mutex)
  ret i32 %result
failed:
  ret i32 %code
done:
  ret i32 0
}

; Does a job, and says so to who forked.
define internal void @ph.async.do(ptr %job) {
  %pfn = getelementptr %fork.job, ptr %job, i64 0, i32 1
  %fn = load ptr, ptr %pfn
  %pctx = getelementptr %fork.job, ptr %job, i64 0, i32 2
  %ctx = load ptr, ptr %pctx
  %pclosure = getelementptr %fork.job, ptr %job, i64 0, i32 3
  %closure = load ptr, ptr %pclosure
  %pcode = getelementptr %fork.job, ptr %job, i64 0, i32 4
  %pdone = getelementptr %fork.job, ptr %job, i64 0, i32 5
  %pdepth = getelementptr %fork.job, ptr %job, i64 0, i32 6
  %depth = load i32, ptr %pdepth
  %key = load i32, ptr @ph.pool.key
  %depth64 = zext i32 %depth to i64
  %inner = inttoptr i64 %depth64 to ptr
  %s = call i32 @pthread_setspecific(i32 %key, ptr %inner)
  %code = call i32 %fn(ptr %ctx, i32 0, ptr %closure)
  store i32 %code, ptr %pcode
  store atomic i32 1, ptr %pdone seq_cst, align 4
  ; From here on %job may be gone.
  call void @ph.async.wake()
  ret void
}

; A thread that does jobs for as long as it is wanted.
define internal ptr @ph.async.thread(ptr %first) {
  br label %work
work:
  %job = phi ptr [ %first, %0 ], [ %taken, %take ]
  call void @ph.async.do(ptr %job)
  %l = call i32 @pthread_mutex_lock(ptr @ph.async.mutex)
  %spare = load i32, ptr @ph.async.spare
  %enough = icmp sge i32 %spare, KEPT_THREADS
  br i1 %enough, label %quit, label %stay
stay:
  %more = add i32 %spare, 1
  store i32 %more, ptr @ph.async.spare
  br label %look
look:
  %taken = load ptr, ptr @ph.async.queue
  %none = icmp eq ptr %taken, null
  br i1 %none, label %sleep, label %take
sleep:
  %c = call i32 @pthread_cond_wait(ptr @ph.async.work, ptr @ph.async.mutex)
  br label %look
take:
  %next = load ptr, ptr %taken
  store ptr %next, ptr @ph.async.queue
  %u = call i32 @pthread_mutex_unlock(ptr @ph.async.mutex)
  br label %work
quit:
  %u2 = call i32 @pthread_mutex_unlock(ptr @ph.async.mutex)
  ret ptr null
}

; Gives a job to a thread without work, or to a new one; 0 if that worked.
define internal i32 @ph.async.give(ptr %job) {
  %l = call i32 @pthread_mutex_lock(ptr @ph.async.mutex)
  %spare = load i32, ptr @ph.async.spare
  %some = icmp sgt i32 %spare, 0
  br i1 %some, label %queue, label %new
queue:
  %fewer = sub i32 %spare, 1
  store i32 %fewer, ptr @ph.async.spare
  %head = load ptr, ptr @ph.async.queue
  store ptr %head, ptr %job
  store ptr %job, ptr @ph.async.queue
  %s = call i32 @pthread_cond_signal(ptr @ph.async.work)
  %u = call i32 @pthread_mutex_unlock(ptr @ph.async.mutex)
  ret i32 0
new:
  %u2 = call i32 @pthread_mutex_unlock(ptr @ph.async.mutex)
  %r = call i32 @ph.pool.spawn(ptr @ph.async.thread, ptr %job)
  ret i32 %r
}

; Runs %first and %second at once; the code of the one that failed, or 0. -1 if there
; is no thread to be had: then neither has run.
define i32 @ph_fork(ptr %ctx, ptr %first, ptr %closure1, ptr %second, ptr %closure2) {
  %job = alloca %fork.job, align 64
  call void @ph.pool.enter()
  %key = load i32, ptr @ph.pool.key
  %outer = call ptr @pthread_getspecific(i32 %key)
  %outer64 = ptrtoint ptr %outer to i64
  %depth = trunc i64 %outer64 to i32
  %pfn = getelementptr %fork.job, ptr %job, i64 0, i32 1
  store ptr %first, ptr %pfn
  %pctx = getelementptr %fork.job, ptr %job, i64 0, i32 2
  store ptr %ctx, ptr %pctx
  %pclosure = getelementptr %fork.job, ptr %job, i64 0, i32 3
  store ptr %closure1, ptr %pclosure
  %pcode = getelementptr %fork.job, ptr %job, i64 0, i32 4
  store i32 0, ptr %pcode
  %pdone = getelementptr %fork.job, ptr %job, i64 0, i32 5
  store i32 0, ptr %pdone
  %pdepth = getelementptr %fork.job, ptr %job, i64 0, i32 6
  store i32 %depth, ptr %pdepth
  %given = call i32 @ph.async.give(ptr %job)
  %bad = icmp ne i32 %given, 0
  br i1 %bad, label %nothing, label %run
nothing:
  ret i32 -1
run:
  %code2 = call i32 %second(ptr %ctx, i32 0, ptr %closure2)
  %failed = icmp ne i32 %code2, 0
  br i1 %failed, label %tell, label %join
tell:
  call void @ph.async.wake()
  br label %join
join:
  ; Whatever has failed, the job uses this frame until it is done.
  %joined = call i32 @ph.async.await(ptr @ph.async.never, ptr %ctx, ptr %pdone, i32 1)
  %code1 = load i32, ptr %pcode
  %result = select i1 %failed, i32 %code2, i32 %code1
  ret i32 %result
}
"""
