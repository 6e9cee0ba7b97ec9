"""The thread pool that compiled code calls, as LLVM IR.

The pool is that of the 2012 paper, section 5.3. There is one list of tasks; a task
is a range of iterations and a closure. `ph_par_for` pushes a task, wakes workers,
and works on its own task like they do: every thread takes a few iterations at a
time ("nibbles") from an atomic cursor until none is left. A worker that meets a
nested parallel loop is simply the owner of one more task.

Rules that keep it correct:

- A task lives on its owner's stack. The owner unlinks it when the cursor is past the
  end, and leaves when `workers`, the number of other threads inside, is zero.
  Threads enter (`workers` + 1) and leave (- 1) holding the mutex, and touch the task
  no more after leaving.
- An owner that waits for others helps with tasks of the same call (same context)
  that are nested deeper than its own. So its stack is at most as deep as the loops
  are nested, and one pipeline never waits for another's iterations.
- A call may be run by fewer threads than the pool has (`most_threads` of its context).
  So many workers, less the caller, are inside its tasks at most (`helpers`); the count
  is read and written holding the mutex.
- Tasks never gain iterations. A thread that found nothing to do looks again only
  when `pushes` has changed: first it spins, then it sleeps on a condition variable.
- After a fork the child has no workers. `@ph.pool.enter` notices by the process id
  and starts afresh (mutex, conditions, list, counters, locks).
- The first iteration that returns an error is the last of each thread; its code
  is the loop's result. So does a signal that is to end the run.

Everything is plain libc and pthreads, so that object files can carry it.
"""

from __future__ import annotations

from parhelion.codegen.backends import llvm_backend
from parhelion.runtime import blocks_ir, kept_ir, memory_ir, print_ir, watch_ir
from parhelion.runtime.async_ir import ASYNC, KEPT_THREADS
from parhelion.runtime.context import Context
from parhelion.runtime.count_ir import COUNT
from parhelion.runtime.lazy_ir import DEMAND_PAUSES, DEPTH_OF_RANK, LAZY
from parhelion.runtime.lock_ir import LOCKS
from parhelion.runtime.par_for_ir import PAR_FOR

#: Rounds that an idle thread spins before it sleeps, and pauses in each round. A
#: round ends in sched_yield, so that on a crowded machine others get the core. Two
#: threads on a 2.6 GHz Zen 5: about 25 µs in all, more than the gap between two
#: loops of one pipeline, less than a sleep and a wake-up.
SPIN_ROUNDS = 20
SPIN_PAUSES = 24

#: Iterations are taken one at a time, unless there are more than this many for each
#: thread; then in chunks, so that a loop over single pixels is not all hand-outs.
CHUNKS_PER_THREAD = 64

#: Pauses before a thread that waits on a semaphore sleeps: about 20 µs.
ACQUIRE_SPINS = 400

# Offsets in a task: what all threads read lies on its first cache line, what they
# write (cursor, workers) on the second.
_TASK = """
%task = type { ptr, ptr, ptr, ptr, i64, i64, i32, i32, [8 x i8], i64, i32 }
;              0    1    2    3    4    5    6    7    8         9    10
;              next fn   ctx  clos end  chnk err  dpth pad       curs workers
"""

_POOL = """
@ph.pool.pid = internal global i32 0
@ph.pool.key = internal global i32 0
@ph.pool.has_key = internal global i32 0
@ph.pool.mutex = internal global [64 x i8] zeroinitializer, align 64
@ph.pool.work = internal global [64 x i8] zeroinitializer, align 64
@ph.pool.done = internal global [64 x i8] zeroinitializer, align 64
@ph.pool.head = internal global ptr null, align 64
@ph.pool.started = internal global i32 0
@ph.pool.idle = internal global i32 0
@ph.pool.asleep = internal global i32 0
@ph.pool.waiting = internal global i32 0
@ph.pool.pushes = internal global i32 0, align 64

declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(WORD)
declare i32 @pthread_key_create(ptr, ptr)
declare ptr @pthread_getspecific(i32)
declare i32 @pthread_setspecific(i32, ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)
declare i32 @sched_yield()
declare i32 @getpid()

; Makes the pool ready in this process: the first time, and first thing in a child.
; A pid of -1 means that another thread is just doing so.
define internal void @ph.pool.enter() {
  %me = call i32 @getpid()
  br label %check
check:
  %seen = load atomic i32, ptr @ph.pool.pid acquire, align 4
  %same = icmp eq i32 %seen, %me
  br i1 %same, label %ready, label %stale, !prof !0
ready:
  ret void
stale:
  %busy = icmp eq i32 %seen, -1
  br i1 %busy, label %wait, label %claim
wait:
  %y = call i32 @sched_yield()
  br label %check
claim:
  %r = cmpxchg ptr @ph.pool.pid, i32 %seen, i32 -1 acquire monotonic
  %mine = extractvalue { i32, i1 } %r, 1
  br i1 %mine, label %fresh, label %check
fresh:
  %a = call i32 @pthread_mutex_init(ptr @ph.pool.mutex, ptr null)
  %b = call i32 @pthread_cond_init(ptr @ph.pool.work, ptr null)
  call void @ph.cond.init(ptr @ph.pool.done)
  store ptr null, ptr @ph.pool.head
  store i32 0, ptr @ph.pool.started
  store i32 0, ptr @ph.pool.idle
  store i32 0, ptr @ph.pool.asleep
  store i32 0, ptr @ph.pool.waiting
  call void @ph.lock.reset()
  call void @ph.async.reset()
  %k = load i32, ptr @ph.pool.has_key
  %nokey = icmp eq i32 %k, 0
  br i1 %nokey, label %makekey, label %open
makekey:
  %d = call i32 @pthread_key_create(ptr @ph.pool.key, ptr null)
  store i32 1, ptr @ph.pool.has_key
  br label %open
open:
  store atomic i32 %me, ptr @ph.pool.pid release, align 4
  ret void
}

; Starts a thread; 0 if that worked. Signals are for the program's own threads.
define internal i32 @ph.pool.spawn(ptr %main, ptr %argument) {
  %all = alloca [128 x i8], align 16
  %old = alloca [128 x i8], align 16
  %thread = alloca WORD
  %a = call i32 @sigfillset(ptr %all)
  %b = call i32 @pthread_sigmask(i32 2, ptr %all, ptr %old)
  %r = call i32 @pthread_create(ptr %thread, ptr null, ptr %main, ptr %argument)
  %c = call i32 @pthread_sigmask(i32 2, ptr %old, ptr null)
  %bad = icmp ne i32 %r, 0
  br i1 %bad, label %out, label %detach
detach:
  %t = load WORD, ptr %thread
  %d = call i32 @pthread_detach(WORD %t)
  br label %out
out:
  ret i32 %r
}

; Works on a task until it has no iterations left to hand out, or an error.
define internal void @ph.pool.nibble(ptr %t) {
  %pfn = getelementptr %task, ptr %t, i64 0, i32 1
  %fn = load ptr, ptr %pfn
  %pctx = getelementptr %task, ptr %t, i64 0, i32 2
  %ctx = load ptr, ptr %pctx
  %pclosure = getelementptr %task, ptr %t, i64 0, i32 3
  %closure = load ptr, ptr %pclosure
  %pend = getelementptr %task, ptr %t, i64 0, i32 4
  %end = load i64, ptr %pend
  %pchunk = getelementptr %task, ptr %t, i64 0, i32 5
  %chunk = load i64, ptr %pchunk
  %perr = getelementptr %task, ptr %t, i64 0, i32 6
  %pcursor = getelementptr %task, ptr %t, i64 0, i32 9
  %pdepth = getelementptr %task, ptr %t, i64 0, i32 7
  %depth = load i32, ptr %pdepth
  %key = load i32, ptr @ph.pool.key
  %outer = call ptr @pthread_getspecific(i32 %key)
  %depth64 = zext i32 %depth to i64
  %inner = inttoptr i64 %depth64 to ptr
  %s0 = call i32 @pthread_setspecific(i32 %key, ptr %inner)
  br label %take
take:
  %err = load atomic i32, ptr %perr monotonic, align 4
  %failed = icmp ne i32 %err, 0
  br i1 %failed, label %leave, label %next
next:
  %first = atomicrmw add ptr %pcursor, i64 %chunk monotonic
  %none = icmp sge i64 %first, %end
  br i1 %none, label %leave, label %some
some:
  %beyond = add nsw i64 %first, %chunk
  %over = icmp sgt i64 %beyond, %end
  %last = select i1 %over, i64 %end, i64 %beyond
  br label %iterate
iterate:
  %i = phi i64 [ %first, %some ], [ %i1, %proceed ]
  %seen = call i32 @ph.watch.seen(ptr %ctx)
  %on = icmp eq i32 %seen, 0
  br i1 %on, label %one, label %error
one:
  %i32 = trunc i64 %i to i32
  %result = call i32 %fn(ptr %ctx, i32 %i32, ptr %closure)
  %ok = icmp eq i32 %result, 0
  br i1 %ok, label %good, label %error
good:
  %i1 = add nsw i64 %i, 1
  %more = icmp slt i64 %i1, %last
  br i1 %more, label %proceed, label %take
proceed:
  %err1 = load atomic i32, ptr %perr monotonic, align 4
  %failed1 = icmp ne i32 %err1, 0
  br i1 %failed1, label %leave, label %iterate
error:
  %code = phi i32 [ %seen, %iterate ], [ %result, %one ]
  %x = cmpxchg ptr %perr, i32 0, i32 %code release monotonic
  call void @ph.watch.failed(ptr %ctx)
  br label %leave
leave:
  %s1 = call i32 @pthread_setspecific(i32 %key, ptr %outer)
  ret void
}

; Whether another worker may help with a call. The mutex is held.
define internal i1 @ph.pool.room(ptr %ctx) {
  %pmost = getelementptr i8, ptr %ctx, i64 MOST_THREADS_OFFSET
  %most = load i32, ptr %pmost
  %free = icmp eq i32 %most, 0
  %phelpers = getelementptr i8, ptr %ctx, i64 HELPERS_OFFSET
  %helpers = load i32, ptr %phelpers
  %h1 = add i32 %helpers, 1
  %few = icmp slt i32 %h1, %most
  %room = or i1 %free, %few
  ret i1 %room
}

; The newest task with iterations left; with %ctx, only one of that call and nested
; deeper than %depth, else only one of a call that has room. The mutex is held.
define internal ptr @ph.pool.find(ptr %ctx, i32 %depth) {
  %any = icmp eq ptr %ctx, null
  %head = load ptr, ptr @ph.pool.head
  br label %loop
loop:
  %t = phi ptr [ %head, %0 ], [ %older, %skip ]
  %end = icmp eq ptr %t, null
  br i1 %end, label %out, label %look
look:
  %pcursor = getelementptr %task, ptr %t, i64 0, i32 9
  %cursor = load atomic i64, ptr %pcursor monotonic, align 8
  %pend = getelementptr %task, ptr %t, i64 0, i32 4
  %last = load i64, ptr %pend
  %left = icmp slt i64 %cursor, %last
  %perr = getelementptr %task, ptr %t, i64 0, i32 6
  %err = load atomic i32, ptr %perr monotonic, align 4
  %clean = icmp eq i32 %err, 0
  %open = and i1 %left, %clean
  %pctx = getelementptr %task, ptr %t, i64 0, i32 2
  %its = load ptr, ptr %pctx
  %same = icmp eq ptr %its, %ctx
  %pdepth = getelementptr %task, ptr %t, i64 0, i32 7
  %d = load i32, ptr %pdepth
  %deeper = icmp sgt i32 %d, %depth
  %child = and i1 %same, %deeper
  %room = call i1 @ph.pool.room(ptr %its)
  %allowed = select i1 %any, i1 %room, i1 %child
  %fits = and i1 %open, %allowed
  br i1 %fits, label %out, label %skip
skip:
  %older = load ptr, ptr %t
  br label %loop
out:
  ret ptr %t
}

; Enters a task, works on it and leaves. The mutex is held before and after.
; %new: 1 for a worker, which the call counts as a helper already; 0 for the owner of
; another task of the call.
define internal void @ph.pool.join(ptr %t, i32 %new) {
  %pctx = getelementptr %task, ptr %t, i64 0, i32 2
  %ctx = load ptr, ptr %pctx
  %phelpers = getelementptr i8, ptr %ctx, i64 HELPERS_OFFSET
  %pworkers = getelementptr %task, ptr %t, i64 0, i32 10
  %w0 = load i32, ptr %pworkers
  %w1 = add i32 %w0, 1
  store atomic i32 %w1, ptr %pworkers monotonic, align 4
  %u = call i32 @pthread_mutex_unlock(ptr @ph.pool.mutex)
  call void @ph.pool.nibble(ptr %t)
  %l = call i32 @pthread_mutex_lock(ptr @ph.pool.mutex)
  %h2 = load i32, ptr %phelpers
  %h3 = sub i32 %h2, %new
  store i32 %h3, ptr %phelpers
  %w2 = load i32, ptr %pworkers
  %w3 = sub i32 %w2, 1
  store atomic i32 %w3, ptr %pworkers release, align 4
  ; From here on %t and %ctx may be gone.
  %last = icmp eq i32 %w3, 0
  %waiting = load i32, ptr @ph.pool.waiting
  %anyone = icmp ne i32 %waiting, 0
  %tell = and i1 %last, %anyone
  br i1 %tell, label %wake, label %out
wake:
  %b = call i32 @pthread_cond_broadcast(ptr @ph.pool.done)
  br label %out
out:
  ret void
}

; Spins until %p no longer holds %old or (if %q) %q holds zero; false if it gave up.
define internal i1 @ph.pool.spin(ptr %p, i32 %old, ptr %q) {
  br label %round
round:
  %r = phi i32 [ 0, %0 ], [ %r1, %yield ]
  br label %pause
pause:
  %k = phi i32 [ 0, %round ], [ %k1, %again ]
  %v = load atomic i32, ptr %p acquire, align 4
  %changed = icmp ne i32 %v, %old
  br i1 %changed, label %yes, label %other
other:
  %w = load atomic i32, ptr %q acquire, align 4
  %zero = icmp eq i32 %w, 0
  br i1 %zero, label %yes, label %again
again:
  PAUSE
  %k1 = add i32 %k, 1
  %on = icmp ult i32 %k1, SPIN_PAUSES
  br i1 %on, label %pause, label %yield
yield:
  %y = call i32 @sched_yield()
  %r1 = add i32 %r, 1
  %more = icmp ult i32 %r1, SPIN_ROUNDS
  br i1 %more, label %round, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; Starts a worker where none is idle and there is more to do: the one that takes a task
; now may be what the owners of two tasks counted on. The mutex is held.
define internal void @ph.pool.follow(i32 %threads) {
  %idle = load i32, ptr @ph.pool.idle
  %none = icmp eq i32 %idle, 0
  %started = load i32, ptr @ph.pool.started
  %s1 = add i32 %started, 1
  %room = icmp slt i32 %s1, %threads
  %may = and i1 %none, %room
  br i1 %may, label %look, label %out
look:
  %t = call ptr @ph.pool.find(ptr null, i32 0)
  %nothing = icmp eq ptr %t, null
  br i1 %nothing, label %out, label %start
start:
  %r = call i32 @ph.pool.spawn(ptr @ph.pool.worker, ptr null)
  %came = icmp eq i32 %r, 0
  br i1 %came, label %more, label %out
more:
  store i32 %s1, ptr @ph.pool.started
  store i32 1, ptr @ph.pool.idle
  br label %out
out:
  ret void
}

define internal ptr @ph.pool.worker(ptr %unused) {
  %never = alloca i32
  store i32 1, ptr %never
  %l0 = call i32 @pthread_mutex_lock(ptr @ph.pool.mutex)
  br label %top
top:
  %started = load i32, ptr @ph.pool.started
  %want = call i32 @ph_get_num_threads()
  %surplus = icmp sge i32 %started, %want
  br i1 %surplus, label %quit, label %look
look:
  %seen = load atomic i32, ptr @ph.pool.pushes monotonic, align 4
  %t = call ptr @ph.pool.find(ptr null, i32 0)
  %none = icmp eq ptr %t, null
  br i1 %none, label %rest, label %work
work:
  %i0 = load i32, ptr @ph.pool.idle
  %i1 = sub i32 %i0, 1
  store i32 %i1, ptr @ph.pool.idle
  %pctx = getelementptr %task, ptr %t, i64 0, i32 2
  %ctx = load ptr, ptr %pctx
  %phelpers = getelementptr i8, ptr %ctx, i64 HELPERS_OFFSET
  %h0 = load i32, ptr %phelpers
  %h1 = add i32 %h0, 1
  store i32 %h1, ptr %phelpers
  call void @ph.pool.follow(i32 %want)
  call void @ph.pool.join(ptr %t, i32 1)
  %i2 = load i32, ptr @ph.pool.idle
  %i3 = add i32 %i2, 1
  store i32 %i3, ptr @ph.pool.idle
  br label %top
rest:
  %u1 = call i32 @pthread_mutex_unlock(ptr @ph.pool.mutex)
  %news = call i1 @ph.pool.spin(ptr @ph.pool.pushes, i32 %seen, ptr %never)
  %l1 = call i32 @pthread_mutex_lock(ptr @ph.pool.mutex)
  br label %recheck
recheck:
  %now = load atomic i32, ptr @ph.pool.pushes monotonic, align 4
  %changed = icmp ne i32 %now, %seen
  br i1 %changed, label %top, label %sleep
sleep:
  %a0 = load i32, ptr @ph.pool.asleep
  %a1 = add i32 %a0, 1
  store i32 %a1, ptr @ph.pool.asleep
  %c = call i32 @pthread_cond_wait(ptr @ph.pool.work, ptr @ph.pool.mutex)
  %a2 = load i32, ptr @ph.pool.asleep
  %a3 = sub i32 %a2, 1
  store i32 %a3, ptr @ph.pool.asleep
  br label %recheck
quit:
  %s1 = sub i32 %started, 1
  store i32 %s1, ptr @ph.pool.started
  %j0 = load i32, ptr @ph.pool.idle
  %j1 = sub i32 %j0, 1
  store i32 %j1, ptr @ph.pool.idle
  %u2 = call i32 @pthread_mutex_unlock(ptr @ph.pool.mutex)
  ret ptr null
}

!0 = !{!"branch_weights", i32 2000, i32 1}
"""


def runtime_ir(
    architecture: str,
    print_offset: int,
    user_offset: int,
    bits: int = 64,
    watched: bool = True,
) -> str:
    """The whole module, for a processor family ("x86_64", "aarch64", "arm", …) and
    Linux.

    print_offset, user_offset: where the context keeps its print function and the
    pointer to pass it, in bytes. bits: of a pointer. watched: whether it is for this
    process, with Python: signals end what its main thread runs (see `watch_ir`).
    """
    pause = llvm_backend(architecture).pause
    names = {
        "PAUSE": "; no pause instruction" if pause is None else pause.call,
        "SPIN_ROUNDS": str(SPIN_ROUNDS),
        "SPIN_PAUSES": str(SPIN_PAUSES),
        "CHUNKS_PER_THREAD": str(CHUNKS_PER_THREAD),
        "ACQUIRE_SPINS": str(ACQUIRE_SPINS),
        "KEPT_THREADS": str(KEPT_THREADS),
        "DEPTH_OF_RANK": str(DEPTH_OF_RANK),
        "DEMAND_PAUSES": str(DEMAND_PAUSES),
        "PRINT_OFFSET": str(print_offset),
        "USER_OFFSET": str(user_offset),
        "MOST_THREADS_OFFSET": str(Context.most_threads.offset),
        "HELPERS_OFFSET": str(Context.helpers.offset),
        **memory_ir.names(bits),
        **watch_ir.names(architecture),
    }
    parts = (
        "" if pause is None else pause.declaration,
        _TASK,
        COUNT,
        _POOL,
        PAR_FOR,
        LOCKS,
        ASYNC,
        LAZY,
        memory_ir.MEMORY,
        blocks_ir.BLOCKS,
        kept_ir.LIMIT,
        watch_ir.text(watched),
        print_ir.text(watched),
    )
    text = "\n".join(parts)
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, names[name])
    return text
