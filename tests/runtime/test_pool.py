"""The thread pool, driven by hand-written LLVM text."""

from __future__ import annotations

import ctypes
import io
import os
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from parhelion.runtime import loading, threads
from parhelion.runtime.context import Context

DECLARATIONS = """
declare i32 @ph_par_for(ptr, ptr, i32, i32, ptr)
declare ptr @ph_malloc(ptr, i64)
declare void @ph_free(ptr, ptr)
declare void @ph_print(ptr, ptr)
declare i32 @usleep(i32)
"""

# argv[0]: extent; argv[1]: int32 counters. Each iteration adds one to its counter.
COUNT = """
define internal i32 @body(ptr %ctx, i32 %i, ptr %c) {
  %p = getelementptr i32, ptr %c, i32 %i
  %v = atomicrmw add ptr %p, i32 1 monotonic
  ret i32 0
}
define i32 @count_argv(ptr %ctx, ptr %argv) {
  %pn = load ptr, ptr %argv
  %n = load i32, ptr %pn
  %q = getelementptr ptr, ptr %argv, i32 1
  %data = load ptr, ptr %q
  %r = call i32 @ph_par_for(ptr %ctx, ptr @body, i32 0, i32 %n, ptr %data)
  ret i32 %r
}
"""

# Three nested loops of extent n; the innermost adds one to counters[0].
NEST = """
%closure = type { i32, ptr }
define internal i32 @three(ptr %ctx, i32 %i, ptr %c) {
  %pp = getelementptr %closure, ptr %c, i64 0, i32 1
  %p = load ptr, ptr %pp
  %v = atomicrmw add ptr %p, i32 1 monotonic
  ret i32 0
}
define internal i32 @two(ptr %ctx, i32 %i, ptr %c) {
  %n = load i32, ptr %c
  %r = call i32 @ph_par_for(ptr %ctx, ptr @three, i32 -3, i32 %n, ptr %c)
  ret i32 %r
}
define internal i32 @one(ptr %ctx, i32 %i, ptr %c) {
  %n = load i32, ptr %c
  %r = call i32 @ph_par_for(ptr %ctx, ptr @two, i32 7, i32 %n, ptr %c)
  ret i32 %r
}
define i32 @nest_argv(ptr %ctx, ptr %argv) {
  %c = alloca %closure
  %pn = load ptr, ptr %argv
  %n = load i32, ptr %pn
  store i32 %n, ptr %c
  %q = getelementptr ptr, ptr %argv, i32 1
  %data = load ptr, ptr %q
  %pp = getelementptr %closure, ptr %c, i64 0, i32 1
  store ptr %data, ptr %pp
  %r = call i32 @ph_par_for(ptr %ctx, ptr @one, i32 0, i32 %n, ptr %c)
  ret i32 %r
}
"""

# Iteration 100 fails with code 42; all others count themselves and take their time.
FAIL = """
define internal i32 @body(ptr %ctx, i32 %i, ptr %c) {
  %bad = icmp eq i32 %i, 100
  br i1 %bad, label %fail, label %ok
fail:
  ret i32 42
ok:
  %v = atomicrmw add ptr %c, i32 1 monotonic
  %s = call i32 @usleep(i32 20)
  ret i32 0
}
define i32 @fail_argv(ptr %ctx, ptr %argv) {
  %pn = load ptr, ptr %argv
  %n = load i32, ptr %pn
  %q = getelementptr ptr, ptr %argv, i32 1
  %data = load ptr, ptr %q
  %r = call i32 @ph_par_for(ptr %ctx, ptr @body, i32 0, i32 %n, ptr %data)
  ret i32 %r
}
"""

# argv[1]: how many iterations are at it now, the most that were, and how many the
# others wait for; 7 is returned if they do not come. n loops in a loop of n.
MEET = """
%closure = type { i32, ptr }
define internal i32 @inner(ptr %ctx, i32 %i, ptr %c) {
  %pp = getelementptr %closure, ptr %c, i64 0, i32 1
  %data = load ptr, ptr %pp
  %pmost = getelementptr i32, ptr %data, i64 1
  %pall = getelementptr i32, ptr %data, i64 2
  %all = load i32, ptr %pall
  %before = atomicrmw add ptr %data, i32 1 seq_cst
  %now = add i32 %before, 1
  %m = atomicrmw max ptr %pmost, i32 %now seq_cst
  br label %wait
wait:
  %k = phi i32 [ 0, %0 ], [ %k1, %again ]
  %most = load atomic i32, ptr %pmost seq_cst, align 4
  %here = icmp sge i32 %most, %all
  br i1 %here, label %done, label %again
again:
  %s = call i32 @usleep(i32 1000)
  %k1 = add i32 %k, 1
  %late = icmp sgt i32 %k1, 60000
  br i1 %late, label %alone, label %wait
alone:
  ret i32 7
done:
  %s1 = call i32 @usleep(i32 200)
  %left = atomicrmw sub ptr %data, i32 1 seq_cst
  ret i32 0
}
define internal i32 @outer(ptr %ctx, i32 %i, ptr %c) {
  %n = load i32, ptr %c
  %r = call i32 @ph_par_for(ptr %ctx, ptr @inner, i32 0, i32 %n, ptr %c)
  ret i32 %r
}
define i32 @meet_argv(ptr %ctx, ptr %argv) {
  %c = alloca %closure
  %pn = load ptr, ptr %argv
  %n = load i32, ptr %pn
  store i32 %n, ptr %c
  %q = getelementptr ptr, ptr %argv, i32 1
  %data = load ptr, ptr %q
  %pp = getelementptr %closure, ptr %c, i64 0, i32 1
  store ptr %data, ptr %pp
  %r = call i32 @ph_par_for(ptr %ctx, ptr @outer, i32 0, i32 %n, ptr %c)
  ret i32 %r
}
"""

PRINT = """
@text = private constant [8 x i8] c"h\\C3\\A9llo\\0A\\00"
define internal i32 @body(ptr %ctx, i32 %i, ptr %c) {
  call void @ph_print(ptr %ctx, ptr @text)
  ret i32 0
}
define i32 @print_argv(ptr %ctx, ptr %argv) {
  %r = call i32 @ph_par_for(ptr %ctx, ptr @body, i32 0, i32 20, ptr null)
  ret i32 %r
}
"""

# argv[0]: bytes as i64; gives 1 for an aligned block, 2 for none, 3 for unaligned.
MALLOC = """
define i32 @malloc_argv(ptr %ctx, ptr %argv) {
  %pn = load ptr, ptr %argv
  %n = load i64, ptr %pn
  %p = call ptr @ph_malloc(ptr null, i64 %n)
  %null = icmp eq ptr %p, null
  br i1 %null, label %none, label %some
none:
  ret i32 2
some:
  %a = ptrtoint ptr %p to i64
  %low = and i64 %a, 63
  call void @ph_free(ptr null, ptr %p)
  %bad = icmp ne i64 %low, 0
  %r = select i1 %bad, i32 3, i32 1
  ret i32 %r
}
"""


def compiled(name: str, text: str) -> loading.Compiled:
    used = [
        line
        for line in DECLARATIONS.strip().splitlines()
        if line.split("@")[1].split("(")[0] + "(" in text
    ]
    return loading.compile_module("\n".join(used) + text, name)


def call(
    code: loading.Compiled, n: int, data: np.ndarray, context: Context | None = None
) -> int:
    count = ctypes.c_int64(n)
    argv = (ctypes.c_void_p * 2)(ctypes.addressof(count), data.ctypes.data)
    context = context or Context()
    return code.entry(ctypes.addressof(context), ctypes.addressof(argv))


@pytest.fixture(scope="module")
def count() -> loading.Compiled:
    return compiled("count", COUNT)


@pytest.fixture(params=[1, 2, 5])
def num_threads(request: pytest.FixtureRequest) -> Iterator[int]:
    threads.set_num_threads(request.param)
    yield request.param
    threads.set_num_threads(0)


@pytest.mark.parametrize("n", [-1, 0, 1, 2, 3, 100, 10_007])
def test_every_iteration_runs_once(
    count: loading.Compiled, n: int, num_threads: int
) -> None:
    data = np.zeros(max(n, 0) + 8, np.int32)
    assert call(count, n, data) == 0
    assert (data[: max(n, 0)] == 1).all()
    assert (data[max(n, 0) :] == 0).all()


def test_nested_loops_all_run(num_threads: int) -> None:
    code = compiled("nest", NEST)
    data = np.zeros(1, np.int32)
    for n in (1, 2, 9, 20):
        data[:] = 0
        assert call(code, n, data) == 0
        assert data[0] == n**3


def test_an_error_stops_the_loop_and_is_returned(num_threads: int) -> None:
    code = compiled("fail", FAIL)
    data = np.zeros(1, np.int32)
    assert call(code, 50_000, data) == 42
    assert data[0] < 40_000
    assert call(code, 50, data) == 0


def test_several_python_threads_at_once(count: loading.Compiled) -> None:
    threads.set_num_threads(3)
    nest = compiled("nest", NEST)
    wrong: list[str] = []

    def work() -> None:
        data = np.zeros(500, np.int32)
        total = np.zeros(1, np.int32)
        for k in range(40):
            if call(count, 500, data) or (data != k + 1).any():
                wrong.append("count")
            total[:] = 0
            if call(nest, 6, total) or total[0] != 216:
                wrong.append("nest")

    workers = [threading.Thread(target=work) for _ in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join(60)
    threads.set_num_threads(0)
    assert not any(w.is_alive() for w in workers)
    assert wrong == []


def test_workers_start_lazily_and_leave_when_too_many(count: loading.Compiled) -> None:
    threads.set_num_threads(5)
    call(count, 1000, np.zeros(1000, np.int32))
    assert 1 <= threads.live_workers() <= 4
    threads.set_num_threads(1)
    for _ in range(2000):
        if threads.live_workers() == 0:
            break
        threading.Event().wait(0.005)
    assert threads.live_workers() == 0
    threads.set_num_threads(0)


def test_set_num_threads_gives_back_the_old_number() -> None:
    default = threads.get_num_threads()
    assert threads.set_num_threads(7) == default
    assert threads.get_num_threads() == 7
    assert threads.set_num_threads(0) == 7
    assert threads.get_num_threads() == default
    with pytest.raises(ValueError):
        threads.set_num_threads(-1)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_a_fresh_pool(count: loading.Compiled) -> None:
    threads.set_num_threads(3)
    data = np.zeros(1000, np.int32)
    call(count, 1000, data)
    pid = os.fork()
    if pid == 0:
        good = threads.live_workers() == 0
        data[:] = 0
        good = good and call(count, 1000, data) == 0 and bool((data == 1).all())
        good = good and threads.live_workers() >= 1
        os._exit(0 if good else 1)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert call(count, 1000, data) == 0
    threads.set_num_threads(0)


def test_print_goes_to_sys_stdout(monkeypatch: pytest.MonkeyPatch) -> None:
    code = compiled("print", PRINT)
    threads.set_num_threads(3)
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    context = Context()
    assert call(code, 0, np.zeros(1, np.int32), context) == 0
    threads.set_num_threads(0)
    assert out.getvalue() == "héllo\n" * 20


def test_malloc_is_aligned_and_may_fail() -> None:
    code = compiled("malloc", MALLOC)
    data = np.zeros(1, np.int32)
    assert call(code, 1, data) == 1
    assert call(code, 100_001, data) == 1
    assert call(code, 1 << 60, data) == 2


@pytest.fixture
def six() -> Iterator[None]:
    threads.set_num_threads(6)
    yield
    threads.set_num_threads(0)


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 6, 20])
def test_a_call_has_as_many_threads_as_it_may(limit: int, six: None) -> None:
    meet = compiled("meet", MEET)
    for _ in range(3):
        context = Context(most_threads=limit)
        data = np.array([0, 0, min(limit, 6)], np.int32)
        assert call(meet, 8, data, context) == 0
        assert data.tolist() == [0, min(limit, 6), min(limit, 6)]
        assert context.helpers == 0


def test_limited_calls_share_the_pool(six: None) -> None:
    meet = compiled("meet", MEET)
    data = np.array([0, 0, 6], np.int32)  # three calls, each with two threads
    contexts = [Context(most_threads=2) for _ in range(3)]
    codes: list[int] = []

    def work(context: Context) -> None:
        codes.append(call(meet, 4, data, context))

    callers = [threading.Thread(target=work, args=(c,)) for c in contexts]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(90)
    assert codes == [0, 0, 0] and data[0] == 0 and data[1] == 6
    assert [c.helpers for c in contexts] == [0, 0, 0]


def test_an_error_leaves_no_helper_behind(six: None) -> None:
    fail, context = compiled("fail", FAIL), Context(most_threads=3)
    for _ in range(20):
        assert call(fail, 50_000, np.zeros(1, np.int32), context) == 42
        assert context.helpers == 0
