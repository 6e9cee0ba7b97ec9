"""Calls of Python functions from compiled code, as LLVM IR: part of the pool's module.

Compiled code calls a Python function by the address of its object, with one number: the
address of what it takes and gives. The handler of a signal may raise in the main thread
before the function's first step, where nothing in the function could catch it; so what
a function raises there is taken here, and comes out of the run (see `watch_ir`). What
one raises in another thread is a fault of ours, or of the program's ``sys.stdout``:
Python prints it.
"""

from __future__ import annotations

#: The functions of Python's that the run time calls, in the order of their table;
#: behind them is the object that prints (see `print_ir`).
API = (
    *("PyGILState_Ensure", "PyErr_CheckSignals", "PyErr_Fetch", "PyGILState_Release"),
    *("PyLong_FromVoidPtr", "PyObject_CallOneArg", "Py_DecRef"),
    "PyErr_WriteUnraisable",
)
#: How often a call that must be made is tried.
ATTEMPTS = 100

PYTHON = """
; Calls a Python function. 1 if it returned, 0 if it raised.
define i32 @ph_python(ptr %function, ptr %told) {
  %found = alloca [3 x ptr], align 8
  %value = getelementptr [3 x ptr], ptr %found, i64 0, i64 1
  %trace = getelementptr [3 x ptr], ptr %found, i64 0, i64 2
  %p3 = getelementptr ptr, ptr @ph.watch.python, i64 3
  %p4 = getelementptr ptr, ptr @ph.watch.python, i64 4
  %p5 = getelementptr ptr, ptr @ph.watch.python, i64 5
  %p6 = getelementptr ptr, ptr @ph.watch.python, i64 6
  %ensure = load ptr, ptr @ph.watch.python
  %release = load ptr, ptr %p3
  %number.of = load ptr, ptr %p4
  %apply = load ptr, ptr %p5
  %drop = load ptr, ptr %p6
  %gil = call i32 %ensure()
  %number = call ptr %number.of(ptr %told)
  %none = icmp eq ptr %number, null
  br i1 %none, label %raised, label %call
call:
  %result = call ptr %apply(ptr %function, ptr %number)
  call void %drop(ptr %number)
  %bad = icmp eq ptr %result, null
  br i1 %bad, label %raised, label %good
good:
  call void %drop(ptr %result)
  call void %release(i32 %gil)
  ret i32 1
raised:
  %self = call WORD @pthread_self()
  %main = load WORD, ptr @ph.watch.main
  %ours = icmp eq WORD %self, %main
  %run = load ptr, ptr @ph.watch.run
  %runs = icmp ne ptr %run, null
  %may = and i1 %ours, %runs
  br i1 %may, label %take, label %tell
tell:
  %p7 = getelementptr ptr, ptr @ph.watch.python, i64 7
  %print = load ptr, ptr %p7
  call void %print(ptr %function)
  call void %release(i32 %gil)
  ret i32 0
take:
  %p2 = getelementptr ptr, ptr @ph.watch.python, i64 2
  %fetch = load ptr, ptr %p2
  call void %fetch(ptr %found, ptr %value, ptr %trace)
  %a = load ptr, ptr %found
  %b = load ptr, ptr %value
  %c = load ptr, ptr %trace
  %before = load ptr, ptr @ph.watch.raised
  %first = icmp eq ptr %before, null
  br i1 %first, label %keep, label %forget
keep:
  %to.b = getelementptr [3 x ptr], ptr @ph.watch.raised, i64 0, i64 1
  %to.c = getelementptr [3 x ptr], ptr @ph.watch.raised, i64 0, i64 2
  store ptr %a, ptr @ph.watch.raised
  store ptr %b, ptr %to.b
  store ptr %c, ptr %to.c
  br label %stop
forget:
  call void %drop(ptr %a)
  call void %drop(ptr %b)
  call void %drop(ptr %c)
  br label %stop
stop:
  call void %release(i32 %gil)
  call void @ph.watch.stop(ptr %run)
  ret i32 0
}

; The same for a function that must do its work, whatever signals come meanwhile. It is
; called again if it raised, and knows how far it came.
define void @ph_python_surely(ptr %function, ptr %told) {
  br label %again
again:
  %i = phi i32 [ 0, %0 ], [ %i1, %raised ]
  %good = call i32 @ph_python(ptr %function, ptr %told)
  %done = icmp ne i32 %good, 0
  br i1 %done, label %out, label %raised
raised:
  %i1 = add i32 %i, 1
  %more = icmp ult i32 %i1, ATTEMPTS
  br i1 %more, label %again, label %out
out:
  ret void
}
"""


__all__ = ["API", "ATTEMPTS", "PYTHON"]
