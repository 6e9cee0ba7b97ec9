"""The threads that kernels are run by: that they meet where kernels say so, and that
kernels which do not are found out."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tests.gpu.harness import Emulation

_THREADS = 70

_DECLARED = """
declare i32 @llvm.smax.i32(i32, i32)
declare i32 @llvm.smin.i32(i32, i32)
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)
"""

_MEET = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"


def run(body: str, size: int = _THREADS, blocks: int = 1) -> list[int]:
    """What a kernel leaves in an array of zeros. body: of the function, whose %out is
    the array, %tid the thread and %at its place there."""
    text = f"""{_DECLARED}
define ptx_kernel void @k(ptr %out) {{
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %at = getelementptr i32, ptr %out, i32 %tid
  {body}
}}"""
    out = np.zeros(size, np.int32)
    given = [(ctypes.c_void_p, out.ctypes.data)]
    Emulation(text, 0).launch("k", given, [1, blocks, 1], [_THREADS, 1, 1], 0)
    return [int(n) for n in out]


def handed_on(between: str, step: int) -> list[int]:
    """Each thread writes what it is, and reads what the next in one direction wrote."""
    return run(
        f"""store i32 %tid, ptr %at
  {between}
  %moved = add i32 %tid, {step + _THREADS}
  %next = urem i32 %moved, {_THREADS}
  %there = getelementptr i32, ptr %out, i32 %next
  %value = load i32, ptr %there
  {_MEET}
  store i32 %value, ptr %at
  ret void"""
    )


@pytest.mark.parametrize("step", [1, -1])
def test_threads_meet_at_a_barrier(step: int) -> None:
    right = [(k + step) % _THREADS for k in range(_THREADS)]
    assert handed_on(_MEET, step) == right
    assert handed_on("", step) != right


@pytest.mark.parametrize("step", [1, -1])
def test_what_only_one_order_of_threads_shows_is_found(step: int) -> None:
    """Values of neighbours on one side, without a barrier before they are read: in one
    of two rounds the neighbours come later."""

    def summed(barrier: str) -> list[int]:
        part = f"""
  store i32 7, ptr %at
  {barrier}
  %value_N = load i32, ptr %there
  {_MEET}
  store i32 0, ptr %at
  {_MEET}"""
        return run(
            f"""%moved = add i32 %tid, {step}
  %lower = call i32 @llvm.smax.i32(i32 %moved, i32 0)
  %next = call i32 @llvm.smin.i32(i32 %lower, i32 {_THREADS - 1})
  %there = getelementptr i32, ptr %out, i32 %next
  {part.replace("_N", "_1")}
  {part.replace("_N", "_2")}
  {_MEET}
  {part.replace("_N", "_3")}
  %two = add i32 %value_1, %value_2
  %three = add i32 %two, %value_3
  store i32 %three, ptr %at
  ret void"""
        )

    assert summed(_MEET) == [21] * _THREADS
    assert 0 < sum(summed("")) < 21 * _THREADS


def test_threads_that_have_ended_are_not_waited_for() -> None:
    body = f"""%early = icmp ult i32 %tid, 10
  br i1 %early, label %end, label %more
more:
  {_MEET}
  store i32 1, ptr %at
  br label %end
end:
  ret void"""
    assert run(body) == [0] * 10 + [1] * (_THREADS - 10)


def test_lanes_show_their_values() -> None:
    """Each takes that of the lane before it in fours; 70 threads are two warps and 6
    lanes of a third, of which the last two are of no whole four."""
    body = """%lane = and i32 %tid, 31
  %one = sub i32 %lane, 1
  %value = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %tid, i32 %one, i32 7199)
  store i32 %value, ptr %at
  ret void"""
    # Lane 0 of each four takes lane 3's, which the last two lanes do not have.
    with pytest.raises(AssertionError):
        run(body)
    got = run(body.replace("sub i32 %lane, 1", "xor i32 %lane, 1"))
    assert got == [k ^ 1 for k in range(_THREADS)]


def test_threads_that_wait_for_each_other_elsewhere_are_an_error() -> None:
    body = f"""%first = icmp ult i32 %tid, 7
  br i1 %first, label %a, label %b
a:
  {_MEET}
  br label %end
b:
  %v = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %tid, i32 0, i32 31)
  br label %end
end:
  ret void"""
    with pytest.raises(AssertionError, match="which wait elsewhere"):
        run(body)


def test_threads_that_update_memory_together() -> None:
    body = """%old = atomicrmw add ptr %out, i32 %tid monotonic
  ret void"""
    assert run(body, 1, blocks=5) == [5 * sum(range(_THREADS))]


def test_blocks_know_which_they_are() -> None:
    body = f"""%block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %first = mul i32 %block, {_THREADS}
  %from = add i32 %first, %tid
  %place = getelementptr i32, ptr %out, i32 %from
  store i32 %from, ptr %place
  ret void"""
    assert run(body, 3 * _THREADS, blocks=3) == list(range(3 * _THREADS))
