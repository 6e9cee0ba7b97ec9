"""Ctrl-C while a pipeline runs: it ends, and everything can be used afterwards.

Each program runs in a process of its own, with pipelines that would take days; that it
ends at all is the test, and nothing is asserted of how long that takes. The signal
comes when the pipeline has written its first pixel, or after a while, of the processor,
where all of what takes long comes before.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import parhelion as hl
from parhelion.codegen import polls
from parhelion.runtime.context import Context
from parhelion.runtime.watch_ir import STOP_OFFSET

HEAD = """
import os, signal, sys, threading, time
import numpy as np
import parhelion as hl
from parhelion.runtime import memo, threads

hl.set_num_threads(THREADS)
x, y, xi = hl.vars("x y xi")
size, times = hl.Param(hl.Int(32), "size", 8), hl.Param(hl.Int(32), "times", 2)
LONG = 2**31 - 1
begun = np.zeros(64, np.int32)

def signals(number=signal.SIGINT):
    # However busy the computer is, the pipeline has run for so long.
    spent = time.process_time()
    while not begun.any() and time.process_time() < spent + 0.3:
        time.sleep(0.01)
    os.kill(os.getpid(), number)

def small(f, *more):
    times.set(2)
    return np.asarray(f.realize([64], *more)).copy()

def interrupted(f, error=KeyboardInterrupt, number=signal.SIGINT, run=None):
    times.set(LONG)
    begun[:] = 0
    out = hl.Buffer(begun)
    helper = threading.Thread(target=signals, args=(number,))
    helper.start()
    try:
        (run or f.realize)(out)
    except error as found:
        return found
    finally:
        helper.join()
    raise SystemExit("it was not interrupted")

def work(v, r):
    return hl.i32(hl.sqrt(hl.f32(v + r.x * 3 + r.y)))

def twice(f):
    '''Interrupts, runs, interrupts and runs again: the same results, and no memory
    is lost.'''
    first = small(f)
    before = threads.used_memory()
    handler = signal.getsignal(signal.SIGINT)
    for _ in range(2):
        interrupted(f)
        assert threads.used_memory() == before, (before, threads.used_memory())
        assert (small(f) == first).all()
    assert signal.getsignal(signal.SIGINT) is handler
    print("good")
"""

PROGRAMS = {
    # A reduction in one place, over two loops.
    "serial": """
f = hl.Func("f")
r = hl.RDom([(0, times), (0, times)])
f[x] = 1
f[x] += work(x, r)
twice(f)
""",
    "one_loop": """
f = hl.Func("f")
r = hl.RDom([(0, times), (0, 1)])
f[x] = 1
f[x] += work(x, r)
f.update().reorder(x, r.x)
# 2**31 iterations of a loop in registers: a second or so. Often, as it is one loop.
g = hl.Func("g")
g[x] = 1
q = hl.RDom([(0, times), (0, times)])
g[0] += work(q.x * 7, q)
twice(f)
twice(g)
""",
    "vectorised": """
f = hl.Func("f")
r = hl.RDom([(0, times), (0, times)])
f[x] = 1
f[x] += work(x, r)
f.vectorize(x, 8)
f.update().reorder(x, r.x, r.y).vectorize(x, 8)
twice(f)
""",
    "atomic_vectors": """
f = hl.Func("f")
r = hl.RDom([(0, 8 * hl.max(times, 1) // 8 * 8), (0, times)])
f[x] = 1
f[x] += work(x, r)
ro, ri = hl.RVar("ro"), hl.RVar("ri")
f.update().split(r.x, ro, ri, 8).atomic().vectorize(ri)
times.set(3)
first = np.asarray(f.realize([16])).copy()
before = threads.used_memory()
times.set(2**27)
begun[:] = 0
helper = threading.Thread(target=signals)
helper.start()
try:
    f.realize(hl.Buffer(begun))
except KeyboardInterrupt:
    times.set(3)
    assert threads.used_memory() == before, (before, threads.used_memory())
    assert (np.asarray(f.realize([16])) == first).all()
    print("good")
helper.join()
""",
    "parallel": """
f = hl.Func("f")
r = hl.RDom([(0, times), (0, times)])
f[x] = 1
f[x] += work(x, r)
f.parallel(x)
f.update().reorder(r.x, r.y, x).parallel(x)
twice(f)
""",
    # Long loops of iterations that are short, which the pool hands out.
    "parallel_pixels": """
g = hl.Func("g")
g[x, y] = x * y
g.compute_root().parallel(x)
f = hl.Func("f")
f[x] = 1
r = hl.RDom([(0, times), (0, times)])
f[x] += work(g[x % 3, r.x % 100], r)
twice(f)
""",
    "nested_parallel": """
g = hl.Func("g")
r = hl.RDom([(0, times), (0, times)])
g[x, y] = 1
g[x, y] += work(x + y, r)
f = hl.Func("f")
f[x] = hl.select(x == 0, 1, g[x, 0] + g[x, 1])
f.parallel(x)
g.compute_at(f, x).parallel(y).parallel(x)
g.update().reorder(r.x, r.y, x, y).parallel(y)
twice(f)
""",
    # Storage on the heap at each level, all of which is given back.
    "storage": """
a, b, f = hl.Func("a"), hl.Func("b"), hl.Func("f")
a[x, y] = x + y
r = hl.RDom([(0, times), (0, times)])
b[x] = a[x, 0]
b[x] += work(a[x, r.x % 100], r)
f[x] = 1
f[x] += b[x] + b[x + 1000]
a.compute_root()
b.compute_at(f, x)
a.bound_extent(y, 100)
twice(f)
""",
    "async_": """
p, f = hl.Func("p"), hl.Func("f")
r = hl.RDom([(0, times), (0, times)])
p[x, y] = x + y
f[x] = 1
f[x] += work(p[x, r.x % 100], r)
p.compute_root().async_()
c, g = hl.Func("c"), hl.Func("g")
c[x, y] = x + y
q = hl.RDom([(0, times), (0, times)])
c[x, y] += work(x, q)
g[x] = 1
g[x] += c[x, x % 2]
c.compute_root().async_()
twice(f)
twice(g)
""",
    "ring_buffer": """
p, f = hl.Func("p"), hl.Func("f")
r = hl.RDom([(0, times)])
p[x, y] = x + y
f[x] = 1
f[x] += p[x, r.x % 1000]
p.compute_at(f, r.x).hoist_storage_root().async_().ring_buffer(2)
f.update().reorder(x, r.x)
twice(f)
""",
    "memoize": """
p, f = hl.Func("p"), hl.Func("f")
r = hl.RDom([(0, times), (0, times)])
p[x] = 1
p[x] += work(x, r)
f[x] = 1
f[x] += p[x]
p.compute_root().memoize()
twice(f)
assert not memo._CACHE.used
assert memo.memoization_cache_statistics().entries == 1
""",
    "foreign": """
calls = []
def stage(n, out):
    calls.append(n)
    np.asarray(out)[...] = n
s, f = hl.Func("s"), hl.Func("f")
s.define_extern(stage, [times], hl.Int(32), 1)
r = hl.RDom([(0, times), (0, times)])
g = hl.Func("g")
g[x, y] = s[x] * y
g.compute_root().parallel(y)
s.compute_at(g, y)
f[x] = g[x, 0] + g[x, 20]
f[x] += work(g[x, r.x % 20], r)
twice(f)
assert len(calls) > 5 * 20
""",
    # A stage that runs a pipeline: both end, and the exception comes out of both.
    "within": """
inner = hl.Func("inner")
r = hl.RDom([(0, times), (0, times)])
inner[x] = 1
inner[x] += work(x, r)
inner.compile_jit()
def stage(out):
    a = np.asarray(out)
    if times.get() > 2:
        inner.realize(hl.Buffer(begun))
    a[...] = 3
s, f = hl.Func("s"), hl.Func("f")
s.define_extern(stage, [], hl.Int(32), 1)
f[x] = s[x] + 1
s.compute_root()
twice(f)
""",
    "locks": """
f = hl.Func("f")
r = hl.RDom([(0, times), (0, times)])
f[x] = hl.Tuple(1, 2)
i = r.x % 3
f[i] = hl.Tuple(f[i][0] + f[i][1] + r.y, f[i][0] - f[i][1])
f.update().reorder(r.x, r.y).atomic(True).parallel(r.y)
times.set(2)
first = [np.asarray(b).copy() for b in f.realize([16])]
times.set(LONG)
two = [hl.Buffer(begun), hl.Buffer(hl.Int(32), [64])]
helper = threading.Thread(target=signals)
helper.start()
try:
    f.realize(two)
except KeyboardInterrupt:
    times.set(2)
    again = [np.asarray(b) for b in f.realize([16])]
    assert [a.shape for a in again] == [a.shape for a in first]
    print("good")
helper.join()
""",
    "profiled": """
f = hl.Func("f")
r = hl.RDom([(0, times), (0, times)])
f[x] = 1
f[x] += work(x, r)
times.set(2)
assert f.profile([16]).runs
interrupted(f, run=f.profile)
times.set(2)
assert f.profile([16]).runs
print("good")
""",
    "own_handler": """
class Mine(Exception):
    pass
def handler(number, frame):
    raise Mine(number)
f = hl.Func("f")
r = hl.RDom([(0, times), (0, times)])
f[x] = 1
f[x] += work(x, r)
signal.signal(signal.SIGINT, handler)
signal.signal(signal.SIGUSR1, handler)
first = small(f)
for number in (signal.SIGINT, signal.SIGUSR1):
    assert interrupted(f, Mine, number).args == (number,)
    assert (small(f) == first).all()
signal.signal(signal.SIGINT, signal.default_int_handler)
assert interrupted(f).__traceback__ is not None
print("good")
""",
    # A handler that returns, and none: the run goes on, to its end.
    "goes_on": """
heard = []
def run(n):
    f = hl.Func("f")
    r = hl.RDom([(0, times), (0, times)])
    f[x] = 1
    f[x] += work(x, r)
    f.parallel(x)
    times.set(n)
    first = np.asarray(f.realize([8])).copy()
    begun[:] = 0
    helper = threading.Thread(target=signals)
    helper.start()
    part = begun[:8]
    f.realize(hl.Buffer(part))
    helper.join()
    assert (part == first).all()
signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
run(7000)
assert heard == [signal.SIGINT]
signal.signal(signal.SIGINT, signal.SIG_IGN)
run(7000)
assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
print("good")
""",
    # Runs of other threads are not Python's to interrupt.
    "other_threads": """
f, g = hl.Func("f"), hl.Func("g")
r = hl.RDom([(0, times), (0, times)])
f[x] = 1
f[x] += work(x, r)
n = hl.Param(hl.Int(32), "n", 3000)
q = hl.RDom([(0, n), (0, n)])
g[x] = 1
g[x] += work(x, q)
expected = np.asarray(g.realize([16])).copy()
found = []
def other():
    for _ in range(3):
        found.append(np.asarray(g.realize([16])).copy())
one = threading.Thread(target=other)
one.start()
twice(f)
one.join()
assert len(found) == 3 and all((a == expected).all() for a in found)
""",
    "child": """
f = hl.Func("f")
r = hl.RDom([(0, times), (0, times)])
f[x] = 1
f[x] += work(x, r)
f.parallel(x)
first = small(f)
interrupted(f)
pid = os.fork()
if pid == 0:
    try:
        interrupted(f)
        assert (small(f) == first).all()
    except BaseException as error:
        os.write(2, repr(error).encode())
        os._exit(1)
    os._exit(0)
_, status = os.waitpid(pid, 0)
assert os.waitstatus_to_exitcode(status) == 0
print("good")
""",
}


#: Signals between the steps of Python functions that compiled code calls.
CALLED = (
    HEAD
    + """
from parhelion.lang import extern_stage
from parhelion.runtime import trace

class Mine(Exception):
    pass

def handler(number, frame):
    raise Mine(number)

signal.signal(signal.SIGUSR1, handler)

def at_step(n, file, run):
    '''Runs, with a signal at the nth place in a file's functions where Python would
    run a handler: where they begin, and behind their calls of C. What the handler
    raises comes out of the run. Returns whether there are so many places.'''
    left = [n]
    def step(frame, event, arg):
        if frame.f_code.co_filename == file and event in ("call", "c_return"):
            left[0] -= 1
            if left[0] == 0:
                signal.raise_signal(signal.SIGUSR1)
    sys.setprofile(step)
    try:
        run()
    except Mine as found:
        assert found.args == (signal.SIGUSR1,)
        return True
    finally:
        sys.setprofile(None)
    assert left[0] > 0, "the signal is lost"
    return False
"""
)

CALLS = {
    "memo": """
p, q, f = hl.Func("p"), hl.Func("q"), hl.Func("f")
p[x] = hl.Tuple(x * 3, hl.f32(x))
q[x] = p[x][0] + hl.i32(p[x][1])
f[x] = q[x] + q[x + 1]
p.compute_root().memoize()
q.compute_root().memoize()
first = np.asarray(f.realize([16])).copy()
cache = memo._CACHE
for found in (False, True):
    n = 1
    while True:
        if not found:
            memo.memoization_cache_cleanup()
        if not at_step(n, memo.__file__, lambda: f.realize([16])):
            break
        assert not cache.used, (n, cache.used)
        assert cache.told.bytes == sum(e.bytes for e in cache.entries.values())
        assert (np.asarray(f.realize([16])) == first).all()
        assert not cache.used and len(cache.entries) == 2
        n += 1
    assert n > 20, n
print("good")
""",
    "print": """
f = hl.Func("f")
f[x] = hl.print(x, "is x")
f.compile_jit()
assert at_step(1, threads.__file__, lambda: f.realize([2]))
assert at_step(2, threads.__file__, lambda: f.realize([2]))
print("good")
""",
    "trace": """
f = hl.Func("f")
f[x] = x
f.realize([3])
one = hl.Pipeline(f)
taken = [*one.trace([3])]
n = 1
while at_step(n, trace.__file__, lambda: one.trace([3])):
    n += 1
assert n > 10, n
assert [*one.trace([3])] == taken
print("good")
""",
    "stage": """
def stage(out):
    np.asarray(out)[...] = 3
s, f = hl.Func("s"), hl.Func("f")
s.define_extern(stage, [], hl.Int(32), 1)
f[x] = s[x] + 1
s.compute_root()
f.compile_jit()
n = 1
while at_step(n, extern_stage.__file__, lambda: f.realize([2])):
    n += 1
assert n > 10, n
assert (np.asarray(f.realize([2])) == 4).all()
print("good")
""",
}


def run(program: str, threads: int) -> str:
    """What a program prints. The time limit is the failure of one that hangs."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(hl.__file__).parents[1])},
        # Whatever this process does with the signal.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_signal_ends_a_run_and_leaves_all_usable(name: str, threads: int) -> None:
    told = run(HEAD.replace("THREADS", str(threads)) + PROGRAMS[name], threads)
    assert set(told.split()) == {"good"}


@pytest.mark.parametrize("name", CALLS)
def test_a_signal_within_a_function_of_pythons_is_not_lost(name: str) -> None:
    told = run(CALLED.replace("THREADS", "1") + CALLS[name], 1)
    assert told.split()[-1:] == ["good"]


def test_the_word_is_where_compiled_code_looks() -> None:
    assert Context.stop.offset == polls.STOP_OFFSET == STOP_OFFSET
