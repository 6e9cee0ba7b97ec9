"""What profiled code calls, and the thread that watches it, as LLVM IR.

A call of a profiled pipeline has a *record*: a block of memory that `ph_profile_run` is
given, to which the context points. In it are

- slots, one for each thread that works for the call. A thread takes one when it begins
  (the call itself, an iteration of a parallel loop, an arm of a fork) and gives it back
  at the end; in between it keeps the number of the Func at hand there, or 0 while it
  waits for other threads. Which slots are taken is a bit each, in words on cache lines
  of their own; where a thread begins to look is told by the address of its stack, so
  that threads seldom write to one line;
- totals, two lines for each Func.

The watching thread looks at all slots once in a period. A look is worth `UNIT`, which
the Funcs share that threads are at in that moment: so the shares add up to the time
that passed, however many threads there were.

A *watcher* is such a thread and what it is told, the record of the call that runs now
among that. It stays from the first of some calls to the last (`ph_profile_start`,
`ph_profile_stop`), and its looks go on in their period whether a call runs or not: so
calls that are much shorter than a period are seen as often as is their due, which a
thread of each call would not, as it takes longer to start. The first look happens
anywhere in the first period, as the clock's last digits have it. It sleeps on a
condition that `ph_profile_stop` signals, so that its end waits for no period. A process
is forked while no watcher looks (`ph_profile_hold`): a child has the watcher's memory,
but not the thread, which could never let go of the mutex there.
"""

from __future__ import annotations

from parhelion.ir.pipeline import LAZY_WORDS
from parhelion.runtime.context import Context

#: What one look is worth.
UNIT = 1 << 20

#: How many threads can be seen at a time, in words of 64. Who comes after these works
#: in a place of its own that nobody looks at.
WORDS = 16
SLOTS = 64 * WORDS

# Offsets in a record, in bytes.
LOOKS = 0
WALL = 8
HEAP = 16
HEAP_PEAK = 24
BUSY = 64
SLOT = BUSY + 64 * WORDS
TOTALS = SLOT + 64 * (SLOTS + 1)

# Offsets in a watcher, in bytes. A mutex comes first; it guards the rest.
COND = 64
PERIOD = 128
START = 136
STOP = 144
RECORD = 152
THREAD = 160
WATCHER_BYTES = 192

#: The words of a total: what its looks are worth, how many threads they saw, how often
#: the Func was produced; how often storage was made, its bytes, those that there are
#: now, and that there were at most. The next ones are `LAZY_WORDS`.
SHARE, THREADS, CALLS, ALLOCATIONS, BYTES, CURRENT, PEAK = range(7)
COMPUTED, HITS, STORED = LAZY_WORDS.values()
TOTAL_WORDS = 16

_TEXT = """
declare i32 @ph_watched(ptr, ptr, ptr)
declare i32 @clock_gettime(i32, ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_destroy(ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_condattr_init(ptr)
declare i32 @pthread_condattr_setclock(ptr, i32)
declare i32 @pthread_condattr_destroy(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_destroy(ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_cond_timedwait(ptr, ptr, ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)
declare i64 @llvm.cttz.i64(i64, i1)
declare ptr @llvm.frameaddress.p0(i32)

; Nanoseconds of the clock that nobody sets.
define internal i64 @ph.profile.now() {
  %t = alloca [2 x i64]
  %r = call i32 @clock_gettime(i32 1, ptr %t)
  %secs = load i64, ptr %t
  %p = getelementptr i64, ptr %t, i64 1
  %nanos = load i64, ptr %p
  %whole = mul i64 %secs, 1000000000
  %now = add i64 %whole, %nanos
  ret i64 %now
}

; One word of the totals of a Func.
define internal ptr @ph.profile.total(ptr %r, i32 %func, i64 %word) {
  %n = zext i32 %func to i64
  %first = mul i64 %n, @TOTAL_WORDS@
  %at = add i64 %first, %word
  %totals = getelementptr i8, ptr %r, i64 @TOTALS@
  %p = getelementptr i64, ptr %totals, i64 %at
  ret ptr %p
}

define internal void @ph.profile.add(ptr %r, i32 %func, i64 %word, i64 %n) {
  %p = call ptr @ph.profile.total(ptr %r, i32 %func, i64 %word)
  %x = atomicrmw add ptr %p, i64 %n monotonic
  ret void
}

define internal ptr @ph.profile.record(ptr %ctx) {
  %p = getelementptr i8, ptr %ctx, i64 @CONTEXT@
  %r = load ptr, ptr %p
  ret ptr %r
}

; Takes a slot for this thread, which is at a Func.
define ptr @ph_profile_enter(ptr %ctx, i32 %func) {
  %r = call ptr @ph.profile.record(ptr %ctx)
  %frame = call ptr @llvm.frameaddress.p0(i32 0)
  %address = ptrtoint ptr %frame to i64
  %block = lshr i64 %address, 20
  %mixed = mul i64 %block, -7046029254386353131
  %begin = lshr i64 %mixed, 32
  br label %word
word:
  %k = phi i64 [ 0, %0 ], [ %k1, %full ]
  %spread = add i64 %begin, %k
  %w = urem i64 %spread, @WORDS@
  %line = shl i64 %w, 6
  %offset = add i64 %line, @BUSY@
  %p = getelementptr i8, ptr %r, i64 %offset
  %first = load atomic i64, ptr %p monotonic, align 8
  br label %try
try:
  %busy = phi i64 [ %first, %word ], [ %seen, %take ]
  %open = xor i64 %busy, -1
  %none = icmp eq i64 %open, 0
  br i1 %none, label %full, label %take
take:
  %b = call i64 @llvm.cttz.i64(i64 %open, i1 true)
  %bit = shl i64 1, %b
  %with = or i64 %busy, %bit
  %x = cmpxchg ptr %p, i64 %busy, i64 %with monotonic monotonic
  %seen = extractvalue { i64, i1 } %x, 0
  %mine = extractvalue { i64, i1 } %x, 1
  br i1 %mine, label %got, label %try
full:
  %k1 = add i64 %k, 1
  %more = icmp ult i64 %k1, @WORDS@
  br i1 %more, label %word, label %got
got:
  %index0 = phi i64 [ %b, %take ], [ 0, %full ]
  %base = phi i64 [ %line, %take ], [ @SLOTS@, %full ]
  %index = add i64 %base, %index0
  %bytes = shl i64 %index, 6
  %place = add i64 %bytes, @SLOT@
  %slot = getelementptr i8, ptr %r, i64 %place
  store atomic i32 %func, ptr %slot monotonic, align 4
  ret ptr %slot
}

; Gives the slot of this thread back.
define void @ph_profile_leave(ptr %ctx, ptr %slot) {
  store atomic i32 0, ptr %slot monotonic, align 4
  %r = call ptr @ph.profile.record(ptr %ctx)
  %slots = getelementptr i8, ptr %r, i64 @SLOT@
  %a = ptrtoint ptr %slot to i64
  %z = ptrtoint ptr %slots to i64
  %bytes = sub i64 %a, %z
  %index = lshr i64 %bytes, 6
  %seen = icmp ult i64 %index, @SLOTS@
  br i1 %seen, label %give, label %out
give:
  %w = lshr i64 %index, 6
  %line = shl i64 %w, 6
  %offset = add i64 %line, @BUSY@
  %p = getelementptr i8, ptr %r, i64 %offset
  %b = and i64 %index, 63
  %bit = shl i64 1, %b
  %rest = xor i64 %bit, -1
  %x = atomicrmw and ptr %p, i64 %rest monotonic
  br label %out
out:
  ret void
}

define void @ph_profile_count(ptr %ctx, i32 %func, i64 %n) {
  %r = call ptr @ph.profile.record(ptr %ctx)
  call void @ph.profile.add(ptr %r, i32 %func, i64 @CALLS@, i64 %n)
  ret void
}

define void @ph_profile_add(ptr %ctx, i32 %func, i32 %word, i64 %n) {
  %r = call ptr @ph.profile.record(ptr %ctx)
  %w = zext i32 %word to i64
  call void @ph.profile.add(ptr %r, i32 %func, i64 %w, i64 %n)
  ret void
}

; Adds to what there is now of storage, and raises what there was at most.
define internal void @ph.profile.grow(ptr %now, ptr %most, i64 %bytes) {
  %old = atomicrmw add ptr %now, i64 %bytes monotonic
  %new = add i64 %old, %bytes
  %x = atomicrmw max ptr %most, i64 %new monotonic
  ret void
}

define void @ph_profile_allocate(ptr %ctx, i32 %func, i64 %bytes) {
  %none = icmp eq i64 %bytes, 0
  br i1 %none, label %out, label %some
some:
  %r = call ptr @ph.profile.record(ptr %ctx)
  call void @ph.profile.add(ptr %r, i32 %func, i64 @ALLOCATIONS@, i64 1)
  call void @ph.profile.add(ptr %r, i32 %func, i64 @BYTES@, i64 %bytes)
  %now = call ptr @ph.profile.total(ptr %r, i32 %func, i64 @CURRENT@)
  %most = call ptr @ph.profile.total(ptr %r, i32 %func, i64 @PEAK@)
  call void @ph.profile.grow(ptr %now, ptr %most, i64 %bytes)
  %all = getelementptr i8, ptr %r, i64 @HEAP@
  %peak = getelementptr i8, ptr %r, i64 @HEAP_PEAK@
  call void @ph.profile.grow(ptr %all, ptr %peak, i64 %bytes)
  br label %out
out:
  ret void
}

define void @ph_profile_free(ptr %ctx, i32 %func, i64 %bytes) {
  %r = call ptr @ph.profile.record(ptr %ctx)
  %less = sub i64 0, %bytes
  call void @ph.profile.add(ptr %r, i32 %func, i64 @CURRENT@, i64 %less)
  %all = getelementptr i8, ptr %r, i64 @HEAP@
  %x = atomicrmw add ptr %all, i64 %less monotonic
  ret void
}

; Looks at all slots.
define internal void @ph.profile.look(ptr %r, ptr %found) {
  %plooks = getelementptr i8, ptr %r, i64 @LOOKS@
  %looks = load i64, ptr %plooks
  %looks1 = add i64 %looks, 1
  store i64 %looks1, ptr %plooks
  br label %word
word:
  %w = phi i64 [ 0, %0 ], [ %w1, %done ]
  %n = phi i64 [ 0, %0 ], [ %n2, %done ]
  %line = shl i64 %w, 6
  %offset = add i64 %line, @BUSY@
  %p = getelementptr i8, ptr %r, i64 %offset
  %busy = load atomic i64, ptr %p monotonic, align 8
  br label %bits
bits:
  %left = phi i64 [ %busy, %word ], [ %left1, %bit ]
  %n2 = phi i64 [ %n, %word ], [ %n3, %bit ]
  %none = icmp eq i64 %left, 0
  br i1 %none, label %done, label %bit
bit:
  %b = call i64 @llvm.cttz.i64(i64 %left, i1 true)
  %less = sub i64 %left, 1
  %left1 = and i64 %left, %less
  %index = add i64 %line, %b
  %bytes = shl i64 %index, 6
  %place = add i64 %bytes, @SLOT@
  %slot = getelementptr i8, ptr %r, i64 %place
  %func = load atomic i32, ptr %slot monotonic, align 4
  %at = getelementptr i32, ptr %found, i64 %n2
  store i32 %func, ptr %at
  %works = icmp ne i32 %func, 0
  %one = zext i1 %works to i64
  %n3 = add i64 %n2, %one
  br label %bits
done:
  %w1 = add i64 %w, 1
  %more = icmp ult i64 %w1, @WORDS@
  br i1 %more, label %word, label %count
count:
  %any = icmp ne i64 %n2, 0
  br i1 %any, label %share, label %idle
idle:
  call void @ph.profile.add(ptr %r, i32 0, i64 @SHARE@, i64 @UNIT@)
  ret void
share:
  %each = udiv i64 @UNIT@, %n2
  br label %give
give:
  %i = phi i64 [ 0, %share ], [ %i1, %give ]
  %its = getelementptr i32, ptr %found, i64 %i
  %f = load i32, ptr %its
  call void @ph.profile.add(ptr %r, i32 %f, i64 @SHARE@, i64 %each)
  call void @ph.profile.add(ptr %r, i32 %f, i64 @THREADS@, i64 1)
  %i1 = add i64 %i, 1
  %on = icmp ult i64 %i1, %n2
  br i1 %on, label %give, label %out
out:
  ret void
}

; The watching thread.
define internal ptr @ph.profile.watch(ptr %w) {
  %until = alloca [2 x i64], align 16
  %found = alloca [@SLOTS@ x i32], align 16
  %cond = getelementptr i8, ptr %w, i64 @COND@
  %pstop = getelementptr i8, ptr %w, i64 @STOP@
  %pcurrent = getelementptr i8, ptr %w, i64 @RECORD@
  %pperiod = getelementptr i8, ptr %w, i64 @PERIOD@
  %period = load i64, ptr %pperiod
  %pstart = getelementptr i8, ptr %w, i64 @START@
  %start = load i64, ptr %pstart
  %mixed = mul i64 %start, -7046029254386353131
  %high = lshr i64 %mixed, 32
  %phase = urem i64 %high, %period
  %first = add i64 %start, %phase
  %l = call i32 @pthread_mutex_lock(ptr %w)
  br label %next
next:
  %due = phi i64 [ %first, %0 ], [ %due2, %after ]
  %secs = udiv i64 %due, 1000000000
  %nanos = urem i64 %due, 1000000000
  store i64 %secs, ptr %until
  %p1 = getelementptr i64, ptr %until, i64 1
  store i64 %nanos, ptr %p1
  br label %check
check:
  %s0 = load i32, ptr %pstop
  %stop0 = icmp ne i32 %s0, 0
  br i1 %stop0, label %quit, label %wait
wait:
  %woke = call i32 @pthread_cond_timedwait(ptr %cond, ptr %w, ptr %until)
  %s1 = load i32, ptr %pstop
  %stop1 = icmp ne i32 %s1, 0
  br i1 %stop1, label %quit, label %on
on:
  %signalled = icmp eq i32 %woke, 0
  br i1 %signalled, label %check, label %due_now
due_now:
  %r = load ptr, ptr %pcurrent
  %none = icmp eq ptr %r, null
  br i1 %none, label %after, label %look
look:
  call void @ph.profile.look(ptr %r, ptr %found)
  br label %after
after:
  %due1 = add i64 %due, %period
  %now = call i64 @ph.profile.now()
  %late = icmp slt i64 %due1, %now
  %anew = add i64 %now, %period
  %due2 = select i1 %late, i64 %anew, i64 %due1
  br label %next
quit:
  %u = call i32 @pthread_mutex_unlock(ptr %w)
  ret ptr null
}

; Starts a watcher. Whether there is a thread for it.
define i32 @ph_profile_start(ptr %w) {
  %attribute = alloca [64 x i8], align 16
  %all = alloca [128 x i8], align 16
  %old = alloca [128 x i8], align 16
  %cond = getelementptr i8, ptr %w, i64 @COND@
  %a = call i32 @pthread_condattr_init(ptr %attribute)
  %b = call i32 @pthread_condattr_setclock(ptr %attribute, i32 1)
  %c = call i32 @pthread_cond_init(ptr %cond, ptr %attribute)
  %d = call i32 @pthread_condattr_destroy(ptr %attribute)
  %e = call i32 @pthread_mutex_init(ptr %w, ptr null)
  %pstart = getelementptr i8, ptr %w, i64 @START@
  %start = call i64 @ph.profile.now()
  store i64 %start, ptr %pstart
  %thread = getelementptr i8, ptr %w, i64 @THREAD@
  ; Signals are for the program's own threads.
  %f = call i32 @sigfillset(ptr %all)
  %g = call i32 @pthread_sigmask(i32 2, ptr %all, ptr %old)
  %h = call i32 @pthread_create(ptr %thread, ptr null, ptr @ph.profile.watch, ptr %w)
  %i = call i32 @pthread_sigmask(i32 2, ptr %old, ptr null)
  %good = icmp eq i32 %h, 0
  br i1 %good, label %started, label %failed
started:
  ret i32 1
failed:
  %m = call i32 @pthread_cond_destroy(ptr %cond)
  %n = call i32 @pthread_mutex_destroy(ptr %w)
  ret i32 0
}

; Ends a watcher.
define void @ph_profile_stop(ptr %w) {
  %cond = getelementptr i8, ptr %w, i64 @COND@
  %l = call i32 @pthread_mutex_lock(ptr %w)
  %pstop = getelementptr i8, ptr %w, i64 @STOP@
  store i32 1, ptr %pstop
  %s = call i32 @pthread_cond_signal(ptr %cond)
  %u = call i32 @pthread_mutex_unlock(ptr %w)
  %thread = getelementptr i8, ptr %w, i64 @THREAD@
  %id = load i64, ptr %thread
  %j = call i32 @pthread_join(i64 %id, ptr null)
  %m = call i32 @pthread_cond_destroy(ptr %cond)
  %n = call i32 @pthread_mutex_destroy(ptr %w)
  ret void
}

; Keeps a watcher from looking, and lets it look again.
define void @ph_profile_hold(ptr %w) {
  %l = call i32 @pthread_mutex_lock(ptr %w)
  ret void
}

define void @ph_profile_let(ptr %w) {
  %u = call i32 @pthread_mutex_unlock(ptr %w)
  ret void
}

; Says which call runs. A look that has begun is over when it returns.
define internal void @ph.profile.tell(ptr %w, ptr %r) {
  %l = call i32 @pthread_mutex_lock(ptr %w)
  %pcurrent = getelementptr i8, ptr %w, i64 @RECORD@
  store ptr %r, ptr %pcurrent
  %u = call i32 @pthread_mutex_unlock(ptr %w)
  ret void
}

; Calls a pipeline, watched. What it returns.
define i32 @ph_profile_run(ptr %w, ptr %r, ptr %fn, ptr %ctx, ptr %argv) {
  %pctx = getelementptr i8, ptr %ctx, i64 @CONTEXT@
  store ptr %r, ptr %pctx
  call void @ph.profile.tell(ptr %w, ptr %r)
  %from = call i64 @ph.profile.now()
  %code = call i32 @ph_watched(ptr %fn, ptr %ctx, ptr %argv)
  %to = call i64 @ph.profile.now()
  call void @ph.profile.tell(ptr %w, ptr null)
  %wall = sub i64 %to, %from
  %pwall = getelementptr i8, ptr %r, i64 @WALL@
  store i64 %wall, ptr %pwall
  store ptr null, ptr %pctx
  ret i32 %code
}
"""


def profile_ir() -> str:
    """The whole module, for this computer."""
    names = {
        "CONTEXT": Context.profile.offset,
        "UNIT": UNIT,
        "WORDS": WORDS,
        "SLOTS": SLOTS,
        "COND": COND,
        "PERIOD": PERIOD,
        "LOOKS": LOOKS,
        "START": START,
        "WALL": WALL,
        "STOP": STOP,
        "HEAP": HEAP,
        "HEAP_PEAK": HEAP_PEAK,
        "RECORD": RECORD,
        "THREAD": THREAD,
        "BUSY": BUSY,
        "SLOT": SLOT,
        "TOTALS": TOTALS,
        "TOTAL_WORDS": TOTAL_WORDS,
        "SHARE": SHARE,
        "THREADS": THREADS,
        "CALLS": CALLS,
        "ALLOCATIONS": ALLOCATIONS,
        "BYTES": BYTES,
        "CURRENT": CURRENT,
        "PEAK": PEAK,
    }
    text = _TEXT
    for name, number in names.items():
        text = text.replace(f"@{name}@", str(number))
    return text


__all__ = ["profile_ir"]
