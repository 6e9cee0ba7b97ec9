"""Runs that Ctrl-C can end, as LLVM IR: part of the pool's module for this process.

Python runs the handlers of signals in its main thread, between two steps of Python
code; compiled code has none. So a thread of the run time, the *ticker*, marks what the
main thread runs every TICK_MS (a word in the run's context, 0 until then). Compiled
code and the pool look at the word in outer loops, between iterations, and where they
wait; where it is marked, the main thread asks Python whether a signal has come, which
runs its handler, whatever that is. If the handler raises, the exception waits in
`raised`, the word says stop, and all threads of the run leave. Where one thread of a
run has failed, the word tells the others as well. Nothing of the process's signals is
touched, and other threads' runs are none of Ctrl-C's business.

The same thread has memory trimmed that nobody uses (`memory_ir`). It rests when the
main thread has run nothing for a while, and nothing is kept.
"""

from __future__ import annotations

from parhelion.codegen.backends import llvm_backend
from parhelion.ir.failures import INTERRUPTED
from parhelion.runtime.context import Context
from parhelion.runtime.python_ir import API, ATTEMPTS, PYTHON

#: Where in a context the word is that is looked at, and what it says: to look for
#: signals, or to leave the run, as a handler has raised or a thread has failed.
STOP_OFFSET: int = Context.stop.offset
LOOK, STOP, FAILED = 1, 2, 3

#: How often what the main thread runs is marked, and after how many marks without a
#: run the ticker rests; how often it then looks for memory to give back.
TICK_MS = 60
REST_TICKS = 20
REST_SECONDS = 2

WATCH = """
@ph.watch.run = internal global ptr null, align 64
@ph.watch.marking = internal global i32 0, align 64
; 0: no ticker lives in this process; 1: it ticks; 2: it rests.
@ph.watch.state = internal global i32 0, align 64
@ph.watch.main = internal global WORD 0
@ph.watch.mutex = internal global [64 x i8] zeroinitializer, align 64
@ph.watch.cond = internal global [64 x i8] zeroinitializer, align 64
; Functions of Python's, and the object that prints: see `python_ir`.
@ph.watch.python = internal global [PYTHON_WORDS x ptr] zeroinitializer
; The type, value and traceback of what a handler has raised.
@ph.watch.raised = internal global [3 x ptr] zeroinitializer

declare WORD @pthread_self()
declare i32 @pthread_condattr_init(ptr)
declare i32 @pthread_condattr_setclock(ptr, i32)
declare i32 @pthread_cond_timedwait(ptr, ptr, ptr)
declare i32 @nanosleep(ptr, ptr)

; Told by Python, once, and again first thing in a child: its functions, and its main
; thread. The child has no ticker; what it runs, if it was forked in a run, it still
; runs.
define void @ph_watch_begin(ptr %functions, i64 %main) {
  br label %copy
copy:
  %i = phi i64 [ 0, %0 ], [ %i1, %copy ]
  %from = getelementptr ptr, ptr %functions, i64 %i
  %f = load ptr, ptr %from
  %to = getelementptr ptr, ptr @ph.watch.python, i64 %i
  store ptr %f, ptr %to
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, PYTHON_WORDS
  br i1 %more, label %copy, label %rest
rest:
  %m = call WORD @ph.word(i64 %main)
  store WORD %m, ptr @ph.watch.main
  store i32 0, ptr @ph.watch.marking
  %a = call i32 @pthread_mutex_init(ptr @ph.watch.mutex, ptr null)
  call void @ph.cond.init(ptr @ph.watch.cond)
  store atomic i32 0, ptr @ph.watch.state seq_cst, align 4
  ret void
}

; What a handler has raised: three pointers.
define ptr @ph_watch_raised() {
  ret ptr @ph.watch.raised
}

; A condition whose waits end by a clock that nobody sets.
define internal void @ph.cond.init(ptr %cond) {
  %attribute = alloca [64 x i8], align 16
  %a = call i32 @pthread_condattr_init(ptr %attribute)
  %b = call i32 @pthread_condattr_setclock(ptr %attribute, i32 1)
  %c = call i32 @pthread_cond_init(ptr %cond, ptr %attribute)
  ret void
}

; Waits on a condition, but no longer than that; 0 if it was signalled.
define internal i32 @ph.cond.wait(ptr %cond, ptr %mutex, i64 %ms) {
  %time = alloca [2 x WORD], align 8
  %r = call i32 @clock_gettime(i32 1, ptr %time)
  %pn = getelementptr [2 x WORD], ptr %time, i64 0, i64 1
  %s = load WORD, ptr %time
  %n = load WORD, ptr %pn
  %s64 = call i64 @ph.wide(WORD %s)
  %n64 = call i64 @ph.wide(WORD %n)
  %more = mul i64 %ms, 1000000
  %sum = add i64 %n64, %more
  %carry = udiv i64 %sum, 1000000000
  %rest = urem i64 %sum, 1000000000
  %s2 = add i64 %s64, %carry
  %sw = call WORD @ph.word(i64 %s2)
  %nw = call WORD @ph.word(i64 %rest)
  store WORD %sw, ptr %time
  store WORD %nw, ptr %pn
  %w = call i32 @pthread_cond_timedwait(ptr %cond, ptr %mutex, ptr %time)
  ret i32 %w
}

; Has the ticker tick: starts or wakes it.
define internal void @ph.watch.wake() {
  %state = cmpxchg ptr @ph.watch.state, i32 0, i32 1 seq_cst seq_cst
  %none = extractvalue { i32, i1 } %state, 1
  br i1 %none, label %start, label %look
start:
  %r = call i32 @ph.pool.spawn(ptr @ph.watch.ticker, ptr null)
  %good = icmp eq i32 %r, 0
  br i1 %good, label %out, label %failed
failed:
  store atomic i32 0, ptr @ph.watch.state seq_cst, align 4
  ret void
look:
  %now = extractvalue { i32, i1 } %state, 0
  %rests = icmp eq i32 %now, 2
  br i1 %rests, label %rouse, label %out
rouse:
  %l = call i32 @pthread_mutex_lock(ptr @ph.watch.mutex)
  store atomic i32 1, ptr @ph.watch.state seq_cst, align 4
  %s = call i32 @pthread_cond_signal(ptr @ph.watch.cond)
  %u = call i32 @pthread_mutex_unlock(ptr @ph.watch.mutex)
  br label %out
out:
  ret void
}

; Memory is kept: there shall be a thread to give it back one day.
define internal void @ph.watch.kept() {
  %python = load ptr, ptr @ph.watch.python
  %none = icmp eq ptr %python, null
  %state = load atomic i32, ptr @ph.watch.state monotonic, align 4
  %ticks = icmp eq i32 %state, 1
  %needless = or i1 %none, %ticks
  br i1 %needless, label %out, label %wake
wake:
  call void @ph.watch.wake()
  br label %out
out:
  ret void
}

; Gives memory back that was not used for long; how much is left.
define internal i64 @ph.watch.trim() {
  %t = call i64 @ph_trim_memory(i64 KEEP_MS)
  %n = call i64 @ph_kept_memory()
  ret i64 %n
}

define internal ptr @ph.watch.ticker(ptr %unused) {
  %time = alloca [2 x WORD], align 8
  br label %begin
begin:
  br label %tick
tick:
  %idle = phi i32 [ 0, %begin ], [ %idle1, %ran ], [ 0, %counted ]
  store WORD 0, ptr %time
  %pn = getelementptr [2 x WORD], ptr %time, i64 0, i64 1
  store WORD TICK_NS, ptr %pn
  %s = call i32 @nanosleep(ptr %time, ptr null)
  ; Who ends a run waits until nothing is written into it any more.
  %x = atomicrmw xchg ptr @ph.watch.marking, i32 1 seq_cst
  %run = load atomic ptr, ptr @ph.watch.run seq_cst, align POINTER
  %none = icmp eq ptr %run, null
  br i1 %none, label %marked, label %mark
mark:
  %word = getelementptr i8, ptr %run, i64 STOP_OFFSET
  %c = cmpxchg ptr %word, i32 0, i32 LOOK seq_cst seq_cst
  br label %marked
marked:
  store atomic i32 0, ptr @ph.watch.marking seq_cst, align 4
  %more = add i32 %idle, 1
  %idle1 = select i1 %none, i32 %more, i32 0
  br label %ran
ran:
  %long = icmp sge i32 %more, REST_TICKS
  br i1 %long, label %count, label %tick
count:
  %left = call i64 @ph.watch.trim()
  br i1 %none, label %rest, label %counted
counted:
  br label %tick
rest:
  %l = call i32 @pthread_mutex_lock(ptr @ph.watch.mutex)
  store atomic i32 2, ptr @ph.watch.state seq_cst, align 4
  br label %check
check:
  %kept = phi i64 [ %left, %rest ], [ %kept, %waited ], [ %kept1, %looked ]
  %state = load atomic i32, ptr @ph.watch.state seq_cst, align 4
  %wanted = icmp eq i32 %state, 1
  br i1 %wanted, label %leave, label %watch
watch:
  ; A run may have begun that has not seen that this rests.
  %began = load atomic ptr, ptr @ph.watch.run seq_cst, align POINTER
  %nothing = icmp eq ptr %began, null
  br i1 %nothing, label %sleep, label %leave
sleep:
  %empty = icmp eq i64 %kept, 0
  br i1 %empty, label %wait, label %doze
wait:
  %w0 = call i32 @pthread_cond_wait(ptr @ph.watch.cond, ptr @ph.watch.mutex)
  br label %waited
doze:
  %w1 = call i32 @ph.cond.wait(ptr @ph.watch.cond, ptr @ph.watch.mutex, i64 REST_MS)
  %signalled = icmp eq i32 %w1, 0
  br i1 %signalled, label %waited, label %due
waited:
  br label %check
due:
  %u1 = call i32 @pthread_mutex_unlock(ptr @ph.watch.mutex)
  %kept1 = call i64 @ph.watch.trim()
  %l1 = call i32 @pthread_mutex_lock(ptr @ph.watch.mutex)
  br label %looked
looked:
  br label %check
leave:
  store atomic i32 1, ptr @ph.watch.state seq_cst, align 4
  %u = call i32 @pthread_mutex_unlock(ptr @ph.watch.mutex)
  br label %begin
}

; Calls a pipeline. In Python's main thread, Ctrl-C ends it.
define i32 @ph_watched(ptr %fn, ptr %ctx, ptr %argv) {
  %self = call WORD @pthread_self()
  %main = load WORD, ptr @ph.watch.main
  %ours = icmp eq WORD %self, %main
  br i1 %ours, label %watched, label %plain
plain:
  %p = call i32 %fn(ptr %ctx, ptr %argv)
  %marked = getelementptr i8, ptr %ctx, i64 STOP_OFFSET
  store i32 0, ptr %marked
  ret i32 %p
watched:
  ; What this run is part of, where a foreign stage runs a pipeline.
  %outer = load ptr, ptr @ph.watch.run
  %x = atomicrmw xchg ptr @ph.watch.run, ptr %ctx seq_cst
  %state = load atomic i32, ptr @ph.watch.state seq_cst, align 4
  %ticks = icmp eq i32 %state, 1
  br i1 %ticks, label %run, label %wake
wake:
  call void @ph.watch.wake()
  br label %run
run:
  %r = call i32 %fn(ptr %ctx, ptr %argv)
  %y = atomicrmw xchg ptr @ph.watch.run, ptr %outer seq_cst
  br label %wait
wait:
  %m = load atomic i32, ptr @ph.watch.marking seq_cst, align 4
  %busy = icmp ne i32 %m, 0
  br i1 %busy, label %yield, label %done
yield:
  %s = call i32 @sched_yield()
  br label %wait
done:
  %word = getelementptr i8, ptr %ctx, i64 STOP_OFFSET
  %said = load atomic i32, ptr %word seq_cst, align 4
  store i32 0, ptr %word
  %stop = icmp eq i32 %said, STOP
  %code = select i1 %stop, i32 INTERRUPTED, i32 %r
  ret i32 %code
}

; The code to leave a run with whose word says to: where a thread has failed, what it
; has told, as its own code may still be on its way out of the loops around it.
define internal i32 @ph.watch.why(ptr %ctx, i32 %said) {
  %failed = icmp eq i32 %said, FAILED
  %told = load atomic i32, ptr %ctx acquire, align 4
  %known = icmp ne i32 %told, 0
  %its = and i1 %failed, %known
  %code = select i1 %its, i32 %told, i32 INTERRUPTED
  ret i32 %code
}

; Whether a run is to be left: 0, INTERRUPTED, or the code of what has failed. For who
; has found its word marked.
define internal i32 @ph.watch.look(ptr %ctx) {
  %word = getelementptr i8, ptr %ctx, i64 STOP_OFFSET
  %said = load atomic i32, ptr %word acquire, align 4
  switch i32 %said, label %go [
    i32 LOOK, label %look
    i32 STOP, label %leave
    i32 FAILED, label %leave
  ]
go:
  ret i32 0
leave:
  %why = call i32 @ph.watch.why(ptr %ctx, i32 %said)
  ret i32 %why
look:
  %code = call i32 @ph_look_now(ptr %ctx)
  ret i32 %code
}

; The same for compiled code, which keeps what it has in registers meanwhile.
define KEEPING i32 @ph_look(ptr %ctx) {
  %code = call i32 @ph.watch.look(ptr %ctx)
  ret i32 %code
}

; The same, for who is about to call Python.
define i32 @ph_look_now(ptr %ctx) {
  %word = getelementptr i8, ptr %ctx, i64 STOP_OFFSET
  %said = load atomic i32, ptr %word acquire, align 4
  %over = icmp uge i32 %said, STOP
  br i1 %over, label %leave, label %whose
leave:
  %why = call i32 @ph.watch.why(ptr %ctx, i32 %said)
  ret i32 %why
whose:
  %self = call WORD @pthread_self()
  %main = load WORD, ptr @ph.watch.main
  %ours = icmp eq WORD %self, %main
  %run = load ptr, ptr @ph.watch.run
  %this = icmp eq ptr %run, %ctx
  %may = and i1 %ours, %this
  br i1 %may, label %ask, label %go
go:
  ret i32 0
ask:
  %c = cmpxchg ptr %word, i32 LOOK, i32 0 seq_cst seq_cst
  %ensure = load ptr, ptr @ph.watch.python
  %gil = call i32 %ensure()
  %p1 = getelementptr ptr, ptr @ph.watch.python, i64 1
  %check = load ptr, ptr %p1
  %raised = call i32 %check()
  %p3 = getelementptr ptr, ptr @ph.watch.python, i64 3
  %release = load ptr, ptr %p3
  %quiet = icmp eq i32 %raised, 0
  br i1 %quiet, label %on, label %stop
on:
  call void %release(i32 %gil)
  ret i32 0
stop:
  %p2 = getelementptr ptr, ptr @ph.watch.python, i64 2
  %fetch = load ptr, ptr %p2
  %value = getelementptr [3 x ptr], ptr @ph.watch.raised, i64 0, i64 1
  %trace = getelementptr [3 x ptr], ptr @ph.watch.raised, i64 0, i64 2
  call void %fetch(ptr @ph.watch.raised, ptr %value, ptr %trace)
  call void %release(i32 %gil)
  call void @ph.watch.stop(ptr %ctx)
  ret i32 INTERRUPTED
}

; Ends a run. What is to be raised is told already.
define internal void @ph.watch.stop(ptr %ctx) {
  %word = getelementptr i8, ptr %ctx, i64 STOP_OFFSET
  store atomic i32 STOP, ptr %word seq_cst, align 4
  %c = cmpxchg ptr %ctx, i32 0, i32 INTERRUPTED seq_cst seq_cst
  call void @ph.async.wake()
  ret void
}

; The same, for Python, when the time of a run is over: of whatever thread it is.
define void @ph_watch_stop(ptr %ctx) {
  call void @ph.watch.stop(ptr %ctx)
  ret void
}

; Tells the other threads of a run that it has failed, so that they leave it as well.
define internal void @ph.watch.failed(ptr %ctx) {
  %word = getelementptr i8, ptr %ctx, i64 STOP_OFFSET
  %a = cmpxchg ptr %word, i32 0, i32 FAILED seq_cst seq_cst
  %b = cmpxchg ptr %word, i32 LOOK, i32 FAILED seq_cst seq_cst
  ret void
}

; Looks, where the word is marked; for who holds a mutex, which is let go meanwhile.
define internal void @ph.watch.peek(ptr %ctx, ptr %mutex) {
  %word = getelementptr i8, ptr %ctx, i64 STOP_OFFSET
  %said = load atomic i32, ptr %word acquire, align 4
  %look = icmp eq i32 %said, LOOK
  br i1 %look, label %ask, label %out
ask:
  %u = call i32 @pthread_mutex_unlock(ptr %mutex)
  %r = call i32 @ph.watch.look(ptr %ctx)
  %l = call i32 @pthread_mutex_lock(ptr %mutex)
  br label %out
out:
  ret void
}
"""

#: What the pool and semaphores do where runs are watched, and where they are not:
#: a condition's making; a wait on one, and a look after it; a look between iterations.
#: `ph.watch.seen` is the code of a run that is to be left, else 0.
WATCHED = """
define internal void @ph.watch.wait(ptr %cond, ptr %mutex, ptr %ctx) {
  %w = call i32 @ph.cond.wait(ptr %cond, ptr %mutex, i64 TICK_MS)
  call void @ph.watch.peek(ptr %ctx, ptr %mutex)
  ret void
}

define internal i32 @ph.watch.seen(ptr %ctx) {
  %word = getelementptr i8, ptr %ctx, i64 STOP_OFFSET
  %said = load atomic i32, ptr %word monotonic, align 4
  %quiet = icmp eq i32 %said, 0
  br i1 %quiet, label %go, label %look
go:
  ret i32 0
look:
  %code = call i32 @ph.watch.look(ptr %ctx)
  ret i32 %code
}
"""
UNWATCHED = """
define internal void @ph.cond.init(ptr %cond) {
  %c = call i32 @pthread_cond_init(ptr %cond, ptr null)
  ret void
}

define internal void @ph.watch.wait(ptr %cond, ptr %mutex, ptr %ctx) {
  %w = call i32 @pthread_cond_wait(ptr %cond, ptr %mutex)
  ret void
}

define internal i32 @ph.watch.seen(ptr %ctx) {
  ret i32 0
}

define internal void @ph.watch.failed(ptr %ctx) {
  ret void
}

define internal void @ph.watch.kept() {
  ret void
}
"""


def text(watched: bool) -> str:
    """The part of the module. watched: whether it is for this process, with Python."""
    return WATCH + PYTHON + WATCHED if watched else UNWATCHED


def names(architecture: str) -> dict[str, str]:
    """What the text's words in capitals stand for."""
    return {
        "KEEPING": llvm_backend(architecture).rare_call,
        "PYTHON_WORDS": str(len(API) + 1),
        "ATTEMPTS": str(ATTEMPTS),
        "STOP_OFFSET": str(STOP_OFFSET),
        "LOOK": str(LOOK),
        "STOP": str(STOP),
        "FAILED": str(FAILED),
        "INTERRUPTED": str(INTERRUPTED),
        "TICK_MS": str(TICK_MS),
        "TICK_NS": str(TICK_MS * 1_000_000),
        "REST_TICKS": str(REST_TICKS),
        "REST_MS": str(REST_SECONDS * 1000),
    }


__all__ = ["names", "text"]
