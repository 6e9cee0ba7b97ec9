"""Buffers with a copy on a device: what is copied when, and what is left alone."""

from __future__ import annotations

import ctypes
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.codegen.structs import (
    DEVICE_DIRTY,
    HOST_DIRTY,
    KEEPS,
    ON_DEVICE,
    OWNED,
    READS,
    WRITES,
)
from parhelion.errors import Site
from parhelion.ir.device_status import Kind, explain, kind_of, status
from parhelion.runtime import devices, helpers, loading
from parhelion.runtime.context import RawBuffer, failed
from parhelion.runtime.simulated_ir import ALIGNMENT, GARBAGE
from tests.support.devices import (
    DEVICE_READS,
    DEVICE_WRITES,
    I32,
    I64,
    Array,
    DeviceRuntime,
    P,
    low,
    on_device,
    span,
    start,
    struct_of,
)

DEVICE = DeviceRuntime()
sync, leave, free, address = DEVICE.sync, DEVICE.leave, DEVICE.free, DEVICE.address


@pytest.fixture(autouse=True)
def counts() -> Iterator[None]:
    devices.reset_counts()
    yield
    devices.reset_counts()


def test_a_read_on_the_device_allocates_and_copies_once() -> None:
    a = np.arange(12, dtype=np.int32).reshape(3, 4)
    b = struct_of(a)
    assert sync(b, DEVICE_READS) == 0
    assert b.device == address(b) and b.device % ALIGNMENT == 0
    assert b.device_interface == DEVICE.interface and b.flags == OWNED
    assert np.array_equal(on_device(b, a), a)
    assert sync(b, DEVICE_READS) == 0
    assert devices.counts() == devices.Counts(1, 48, 0, 0, 0, 1)
    free(b)
    assert (b.device, b.device_interface, b.flags) == (0, None, 0)


def test_what_is_written_alone_is_not_copied() -> None:
    a = np.arange(12, dtype=np.int32)
    b = struct_of(a)
    assert sync(b, DEVICE_WRITES) == 0
    assert b.flags == OWNED | DEVICE_DIRTY
    assert (on_device(b, a).view(np.uint8) == GARBAGE).all()
    on_device(b, a)[:] = 7
    assert sync(b, READS) == 0
    assert (a == 7).all() and b.flags == OWNED
    assert sync(b, READS) == 0
    assert devices.counts() == devices.Counts(0, 0, 1, 48, 0, 1)
    free(b)


def test_a_copy_that_nobody_has_read_yet_is_made_when_it_is_read() -> None:
    a = np.arange(12, dtype=np.int16)
    b = struct_of(a)
    assert sync(b, ON_DEVICE) == 0
    assert b.flags == OWNED | HOST_DIRTY
    assert sync(b, DEVICE_READS) == 0
    assert np.array_equal(on_device(b, a), a) and b.flags == OWNED
    free(b)


def test_each_side_that_writes_is_the_newer_one() -> None:
    a = np.zeros(5, np.float32)
    b = struct_of(a)
    for round in range(1, 4):
        assert sync(b, READS | WRITES) == 0
        a += 1
        assert b.flags & HOST_DIRTY
        assert sync(b, DEVICE_READS | WRITES) == 0
        on_device(b, a)[:] += 10
        assert b.flags & (HOST_DIRTY | DEVICE_DIRTY) == DEVICE_DIRTY
        assert sync(b, READS) == 0
        assert (a == 11 * round).all()
    counted = devices.counts()
    assert (counted.to_device, counted.to_host, counted.allocations) == (3, 3, 1)
    free(b)


def test_a_chain_of_kernels_copies_twice() -> None:
    a, c = np.arange(100, dtype=np.uint8), np.zeros(100, np.uint8)
    first, last = struct_of(a), struct_of(c)
    between = [struct_of(np.empty(100, np.uint8)) for _ in range(9)]
    for b in between:
        b.host = None  # storage on the device alone
    chain = [first, *between, last]
    for source, target in zip(chain, chain[1:], strict=False):
        assert sync(source, DEVICE_READS) == 0 and sync(target, DEVICE_WRITES) == 0
        on_device(target, c)[:] = on_device(source, a) + 1
    for b in between:
        free(b)
    assert leave(first) == 0 and leave(last) == 0
    assert np.array_equal(c, a + 10)
    assert devices.counts() == devices.Counts(1, 100, 1, 100, 0, 11)
    assert first.device == last.device == 0


def test_leaving_copies_and_frees_unless_the_owner_keeps_it() -> None:
    a = np.zeros(3, np.int64)
    b = struct_of(a)
    assert sync(b, DEVICE_WRITES) == 0
    on_device(b, a)[:] = 5
    assert leave(b) == 0
    assert (a == 5).all() and (b.device, b.flags) == (0, 0)

    b = struct_of(a, flags=KEEPS)
    assert sync(b, DEVICE_WRITES) == 0
    on_device(b, a)[:] = 6
    assert leave(b) == 0
    assert (a == 5).all() and b.flags == KEEPS | OWNED | DEVICE_DIRTY
    assert sync(b, READS) == 0
    assert (a == 6).all()
    free(b)
    assert (b.device, b.flags) == (0, KEEPS)


def test_a_failed_run_copies_nothing_back_but_frees() -> None:
    a = np.zeros(3, np.int64)
    b = struct_of(a)
    assert sync(b, DEVICE_WRITES) == 0
    on_device(b, a)[:] = 5
    assert leave(b, failed=True) == 0
    assert (a == 0).all() and (b.device, b.flags) == (0, 0)
    assert devices.counts().to_host == 0


def test_leaving_what_was_never_used_does_nothing() -> None:
    b = struct_of(np.zeros(3, np.int64))
    assert leave(b) == 0
    free(b)
    assert devices.counts() == devices.Counts(0, 0, 0, 0, 0, 0)


def test_pixels_that_are_on_the_device_alone() -> None:
    a = np.arange(6, dtype=np.float64)
    whole = struct_of(a)
    assert sync(whole, DEVICE_READS) == 0
    b = struct_of(a, flags=DEVICE_DIRTY)
    b.host, b.device, b.device_interface = None, whole.device, DEVICE.interface
    assert sync(b, DEVICE_READS | WRITES) == 0
    on_device(b, a)[:] *= 2
    assert kind_of(sync(b, READS)) is Kind.NO_HOST
    assert kind_of(sync(b, WRITES)) is Kind.NO_HOST
    assert leave(b) == 0  # they stay where they are
    assert b.device == whole.device and b.flags == DEVICE_DIRTY
    assert np.array_equal(on_device(whole, a), 2 * a)
    free(b)
    assert b.device == 0 and np.array_equal(on_device(whole, a), 2 * a)
    free(whole)
    b = struct_of(a)
    b.host = None
    assert sync(b, DEVICE_WRITES) == 0
    assert kind_of(leave(b)) is Kind.NO_HOST  # the run time's would be lost
    assert b.device == 0


def test_a_caller_s_copy_is_brought_back_but_not_freed() -> None:
    a = np.arange(6, dtype=np.float64)
    whole = struct_of(a.copy())
    assert sync(whole, DEVICE_READS) == 0
    b = struct_of(a, flags=DEVICE_DIRTY)
    b.device, b.device_interface = whole.device, DEVICE.interface
    on_device(b, a)[:] = 3
    assert leave(b) == 0
    assert (a == 3).all() and b.device == whole.device and b.flags == 0
    free(whole)


def test_contradictions_and_other_devices_are_statuses() -> None:
    a = np.arange(6, dtype=np.float64)
    b = struct_of(a)
    assert sync(b, DEVICE_READS) == 0
    b.flags |= HOST_DIRTY | DEVICE_DIRTY
    assert kind_of(sync(b, DEVICE_READS)) is Kind.BOTH_NEWER
    assert kind_of(sync(b, READS)) is Kind.BOTH_NEWER
    assert sync(b, DEVICE_WRITES) == 0  # says that all of it is new
    assert kind_of(sync(b, DEVICE_READS, Recorder().address)) is Kind.OTHER_DEVICE
    # That of another library, which has the run time as well, is of the same device.
    table = (P * FIELDS).from_address(DEVICE.interface)
    twin = (P * FIELDS)(*table)
    assert sync(b, DEVICE_READS, ctypes.addressof(twin)) == 0
    assert b.device_interface == DEVICE.interface
    free(b)


def test_too_much_memory_is_a_status_and_leaves_the_buffer_as_it_was() -> None:
    a = np.lib.stride_tricks.as_strided(
        np.zeros(1, np.uint8), (1 << 30, 1 << 30, 1), (1 << 30, 1, 1)
    )
    b = struct_of(a)
    b.host = None
    assert kind_of(sync(b, DEVICE_WRITES)) is Kind.NO_MEMORY
    assert (b.device, b.device_interface, b.flags) == (0, None, 0)
    assert devices.counts().allocations == 0


def _views(rng: random.Random) -> Iterator[Array]:
    """Arrays of 0 to 5 dimensions: crops, reversed, broadcast, transposed, empty."""
    for _ in range(400):
        n = rng.randint(0, 5)
        dtype = rng.choice((np.uint8, np.bool_, np.int16, np.float32, np.int64))
        shape = [rng.choice((1, 2, 3, 5)) for _ in range(n)]
        a = np.frombuffer(rng.randbytes(8 * int(np.prod(shape))), np.uint8)
        a = a[: int(np.prod(shape)) * np.dtype(dtype).itemsize].copy()
        view = a.view(dtype).reshape(shape).transpose(rng.sample(range(n), n))
        for d in range(n):
            kind, size = rng.random(), view.shape[d]
            cut = [slice(None)] * n
            if kind < 0.3:
                low = rng.randint(0, size - 1)
                cut[d] = slice(low, rng.randint(low, size))
            elif kind < 0.5:
                cut[d] = slice(None, None, rng.choice((-1, -2, 2)))
            elif kind < 0.6:
                cut[d] = slice(0, 1)
            view = view[tuple(cut)]
            if kind > 0.9 and view.shape[d] == 1:
                wide = [3 if i == d else e for i, e in enumerate(view.shape)]
                view = np.broadcast_to(view, wide)
        yield view


def test_only_pixels_are_copied_whatever_the_strides() -> None:
    seen = 0
    for view in _views(random.Random(7)):
        whole = view
        while isinstance(whole.base, np.ndarray):
            whole = whole.base
        before = whole.tobytes()
        b = struct_of(view)
        assert sync(b, DEVICE_READS) == 0
        if view.size == 0:
            assert devices.counts().to_device == 0 and leave(b) == 0
            continue
        seen += 1
        there = on_device(b, view)
        assert there.tobytes() == view.tobytes()
        # What is between the pixels is as it was made.
        pixel = np.zeros(span(view), np.bool_)
        _bytes_of(pixel, view)[...] = True
        at = start(there) - low(view)
        raw = np.ctypeslib.as_array((ctypes.c_uint8 * span(view)).from_address(at))
        assert (raw[~pixel] == GARBAGE).all()
        assert whole.tobytes() == before
        # On the way back, too.
        raw[...] = 0x3C
        assert sync(b, DEVICE_WRITES) == 0 and leave(b) == 0
        assert (np.frombuffer(view.tobytes(), np.uint8) == 0x3C).all()
        first = start(view) - low(view) - start(whole)
        expected = np.frombuffer(before, np.uint8).copy()
        expected[first : first + len(pixel)][pixel] = 0x3C
        assert whole.tobytes() == expected.tobytes()
        devices.reset_counts()
    assert seen > 200


def _bytes_of(flat: Array, a: Array) -> Array:
    """The bytes of the pixels of `a`, in an array that spans them."""
    at = flat[low(a) :]
    return np.lib.stride_tricks.as_strided(at, (*a.shape, a.itemsize), (*a.strides, 1))


#: Of an interface: those of Halide's struct, a name, and functions.
FIELDS = 16 + 1 + 10


class Recorder:
    """A device interface that writes down what it is asked to do, and may fail."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.fails: dict[str, int] = {}
        self.sizes: list[int] = []
        i32, p, i64 = I32, P, I64
        self._functions = [
            ctypes.CFUNCTYPE(i32, p, i64, p)(self.allocate),
            ctypes.CFUNCTYPE(i32, p, i64)(self.free),
            ctypes.CFUNCTYPE(i32, p, i64, p, i64, i64, i64)(self.to_device),
            ctypes.CFUNCTYPE(i32, p, p, i64, i64, i64, i64)(self.to_host),
            ctypes.CFUNCTYPE(i32, p, p, p, p, i32, p)(self.launch),
            ctypes.CFUNCTYPE(i32, p)(self.finish),
            ctypes.CFUNCTYPE(None, p, p)(lambda ctx, place: None),
            ctypes.CFUNCTYPE(i64, i64, i64)(lambda began, ended: -1),
            ctypes.CFUNCTYPE(i32, p, p)(lambda ctx, kernel: 0),
            ctypes.CFUNCTYPE(i32, p, i64)(lambda ctx, address: 1),
        ]
        at = [ctypes.cast(f, P).value for f in self._functions]
        self._name = ctypes.create_string_buffer(b"recorder")
        self.table = (P * FIELDS)(*[None] * 16, ctypes.addressof(self._name), *at)
        self.address = ctypes.addressof(self.table)

    def allocate(self, ctx: int, size: int, out: int) -> int:
        self.calls.append(("allocate", size))
        I64.from_address(out).value = 1 << 40
        return self.fails.get("allocate", 0)

    def free(self, ctx: int, block: int) -> int:
        self.calls.append(("free", block - (1 << 40)))
        return self.fails.get("free", 0)

    def to_device(self, ctx: int, to: int, host: int, *rows: int) -> int:
        self.calls.append(("to_device", to - (1 << 40), host, *rows))
        return self.fails.get("to_device", 0)

    def to_host(self, ctx: int, host: int, to: int, *rows: int) -> int:
        self.calls.append(("to_host", to - (1 << 40), host, *rows))
        return self.fails.get("to_host", 0)

    def launch(self, *args: Any) -> int:
        self.calls.append(("launch", *args))
        self.sizes = [n for at in args[2:4] for n in (I32 * 3).from_address(at)]
        return self.fails.get("launch", 0)

    def finish(self, ctx: int) -> int:
        self.calls.append(("finish",))
        return self.fails.get("finish", 0)


def _copies(a: Array) -> list[tuple[Any, ...]]:
    """How an array is copied: from where, width, height and pitch."""
    recorder = Recorder()
    b = struct_of(a)
    assert sync(b, DEVICE_READS, recorder.address) == 0
    allocated, *copies, finished = recorder.calls
    assert allocated == ("allocate", span(a)) and finished == ("finish",)
    first = start(a) - low(a)
    assert all(c[:3] == ("to_device", c[2] - first, c[2]) for c in copies)
    return [(c[2] - first, *c[3:]) for c in copies]


def test_a_dense_array_is_one_copy_in_any_order() -> None:
    a = np.zeros((4, 5, 6), np.int16)
    for view in (a, a.T, a.transpose(1, 2, 0), a[::-1], a[:, ::-1, ::-1], a[1:3]):
        assert _copies(view) == [(0, 2 * view.size, 1, 2 * view.size)]
    assert _copies(np.zeros((), np.float64)) == [(0, 8, 1, 8)]
    assert _copies(np.broadcast_to(a[0], (9, 5, 6))) == [(0, 60, 1, 60)]


def test_pixels_that_windows_share_are_one_copy() -> None:
    windows = np.lib.stride_tricks.sliding_window_view(np.zeros(20, np.int32), 5)
    assert _copies(windows) == [(0, 80, 1, 80)]


def test_the_rows_of_a_crop_are_one_call() -> None:
    a = np.zeros((4, 5, 6), np.int16)
    assert _copies(a[0, :, 1:4]) == [(0, 6, 5, 12)]
    # All rows of all planes are equally far from each other.
    assert _copies(a[:, :, 1:4]) == [(0, 6, 20, 12)]
    assert _copies(a[:, 1:3, 1:4]) == [(60 * i, 6, 2, 12) for i in range(4)]
    assert _copies(a[:, 1:3]) == [(0, 24, 4, 60)]
    assert _copies(a[:, :, 2]) == [(0, 2, 20, 12)]


def test_rows_in_four_dimensions_are_all_found() -> None:
    a = np.zeros((3, 4, 5, 6), np.uint8)
    view = a[:2, 1:3, 1:4, 2:5]
    places = [120 * i + 30 * j for i in range(2) for j in range(2)]
    assert _copies(view) == [(p, 3, 3, 6) for p in places]
    assert _copies(view[::-1, :, ::-1]) == [(p, 3, 3, 6) for p in places]


@pytest.mark.parametrize("step", ["allocate", "to_device", "finish"])
def test_a_failure_on_the_way_to_the_device_is_told(step: str) -> None:
    recorder = Recorder()
    recorder.fails[step] = status(Kind.COPY_FAILED, 700)
    a = np.zeros((4, 5), np.int16)[:, 1:3]
    b = struct_of(a)
    assert sync(b, DEVICE_READS, recorder.address) == recorder.fails[step]
    # The next attempt finds it as it should be.
    recorder.fails.clear()
    assert sync(b, DEVICE_READS, recorder.address) == 0
    assert [c[0] for c in recorder.calls].count("allocate") == 1 + (step == "allocate")
    assert leave(b) == 0 and b.device == 0


def test_a_failure_on_the_way_back_is_told_and_nothing_is_leaked() -> None:
    recorder = Recorder()
    b = struct_of(np.zeros(4, np.int16))
    assert sync(b, DEVICE_WRITES, recorder.address) == 0
    recorder.fails["to_host"] = status(Kind.DEVICE_LOST, 719)
    assert sync(b, READS) == recorder.fails["to_host"]
    assert b.flags & DEVICE_DIRTY  # it is still the newer one
    assert leave(b) == recorder.fails["to_host"]
    assert recorder.calls[-1] == ("free", 0) and b.device == 0


def test_blocks_begin_at_the_lowest_address() -> None:
    recorder = Recorder()
    a = np.zeros((4, 5), np.int16)[::-1, ::-1]
    b = struct_of(a)
    assert sync(b, DEVICE_WRITES, recorder.address) == 0
    assert b.device == (1 << 40) + 38
    free(b)
    assert recorder.calls == [("allocate", 40), ("free", 0)]


def test_launches_go_to_the_interface_and_are_counted() -> None:
    recorder = Recorder()
    at = recorder.address
    assert DEVICE.launch(1, (4, 1, 1), (8, 1, 1), 4, 5, at) == 0
    ((name, ctx, kernel, grid, block, shared, arguments),) = recorder.calls
    assert (name, ctx, kernel, shared, arguments) == ("launch", None, 1, 4, 5)
    assert recorder.sizes == [4, 1, 1, 8, 1, 1]
    recorder.fails["launch"] = wrong = status(Kind.LAUNCH_FAILED, 1)
    assert DEVICE.launch(1, (4, 1, 1), (8, 1, 1), 4, 5, at) == wrong
    assert devices.counts().launches == 1
    assert kind_of(DEVICE.launch(1, (4, 1, 1), (8, 1, 1))) is Kind.NO_LAUNCH


@pytest.mark.parametrize("none", [(0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 1, -1)])
def test_a_kernel_without_blocks_is_not_launched(none: tuple[int, ...]) -> None:
    recorder = Recorder()
    for grid, block in (((1, 1, 1), none), (none, (1, 1, 1))):
        assert DEVICE.launch(1, grid, block, interface=recorder.address) == 0
    assert recorder.calls == [] and devices.counts().launches == 0


def test_many_threads_that_need_a_buffer_make_one_copy() -> None:
    for _ in range(20):
        a = np.arange(1000)
        b = struct_of(a)
        ready = threading.Barrier(8)

        def use(b: RawBuffer = b, ready: threading.Barrier = ready) -> None:
            ready.wait()
            assert sync(b, DEVICE_READS) == 0

        threads = [threading.Thread(target=use) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert np.array_equal(on_device(b, a), a)
        assert leave(b) == 0
    assert devices.counts().allocations == devices.counts().to_device == 20


def test_a_forked_child_finds_no_lock_held() -> None:
    """Its parent's other threads may hold some at that moment."""
    recorder = Recorder()
    held, go = threading.Event(), threading.Event()

    def slow(ctx: int) -> int:
        held.set()
        go.wait()
        return 0

    finish = ctypes.CFUNCTYPE(I32, P)(slow)
    recorder.table[16 + 6] = ctypes.cast(finish, P).value
    b = struct_of(np.zeros(4))
    worker = threading.Thread(target=sync, args=(b, DEVICE_READS, recorder.address))
    worker.start()
    held.wait()
    child = os.fork()
    if child == 0:
        # Another buffer that the same lock is for: the same struct.
        b.device, b.flags = 0, 0
        os._exit(0 if sync(b, DEVICE_READS) == 0 else 1)
    go.set()
    worker.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    free(b)


CODE = """
@ph_device_simulated = external global i8
declare i32 @ph_device_sync(ptr, ptr, ptr, i32)
declare i32 @ph_device_leave(ptr, ptr, i32)
define i32 @use_argv(ptr %ctx, ptr %argv) {
  %b = load ptr, ptr %argv
  %r = call i32 @ph_device_sync(ptr %ctx, ptr @ph_device_simulated, ptr %b, i32 3)
  %bad = icmp ne i32 %r, 0
  %f = zext i1 %bad to i32
  %s = call i32 @ph_device_leave(ptr %ctx, ptr %b, i32 %f)
  %all = or i32 %r, %s
  ret i32 %all
}
"""


def test_compiled_code_finds_the_functions_and_the_interface() -> None:
    compiled = loading.compile_module(CODE, "use")
    assert compiled.helpers == {
        "ph_device_simulated",
        "ph_device_sync",
        "ph_device_leave",
    }
    assert helpers.is_known("ph_device_launch")
    b = struct_of(np.zeros(7, np.int32))
    argv = (P * 1)(ctypes.addressof(b))
    assert compiled.entry(0, ctypes.addressof(argv)) == 0
    assert devices.counts() == devices.Counts(1, 28, 0, 0, 0, 1)


def test_every_status_is_a_sentence_with_a_remedy() -> None:
    told = {explain(status(kind)) for kind in Kind}
    assert len(told) == len(Kind) and all(what and remedy for what, remedy in told)
    what, _ = explain(status(Kind.NO_MEMORY, 2))
    assert what == "the device is out of memory (CUDA_ERROR_OUT_OF_MEMORY, 2)"
    assert explain(status(Kind.LAUNCH_FAILED, 4321))[0].endswith("(CUDA error 4321)")
    assert "700" in explain(status(Kind.DEVICE_LOST, 700))[0]
    assert explain(200)[0] == "the device failed with the status 200"


def test_a_failed_device_is_an_exception_with_the_line_of_its_func() -> None:
    site = Site("blur.py", 7)
    args = ("the kernel of Func 'blur'", status(Kind.LAUNCH_FAILED, 701))
    error = failed("device_failed", args, {"blur": site}, None)
    assert isinstance(error, hl.PipelineRuntimeError)
    text = str(error)
    assert "the kernel of Func 'blur': the kernel cannot be launched" in text
    assert "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701" in text and "blur.py:7" in text
    assert "registers" in text


def test_the_run_time_of_devices_is_loaded_when_one_is_used() -> None:
    """Computing on the CPU, and giving arrays away, is no use of one."""
    code = (
        "import sys\n"
        "import numpy as np\n"
        "import parhelion as hl\n"
        "def of_devices():\n"
        "    parts = ('devices', 'cuda', 'device_ir', 'simulated')\n"
        "    mine = [m for m in sys.modules if m.startswith('parhelion.runtime')]\n"
        "    return [m for m in mine if any(p in m for p in parts)]\n"
        "x, f = hl.Var('x'), hl.Func('f')\n"
        "f[x] = x + hl.Buffer(np.arange(8, dtype=np.int32))[x]\n"
        "made = f.realize([8])\n"
        "assert np.from_dlpack(made).tolist() == list(range(0, 16, 2))\n"
        "assert not made.host_dirty() and made.device_sync() == 0\n"
        "assert of_devices() == [], of_devices()\n"
        "made.copy_to_device()\n"
        "assert made.has_device_allocation()\n"
        "assert 'parhelion.runtime.devices' in of_devices()\n"
    )
    env = {**os.environ, "PARHELION_GPU": "simulate"}
    subprocess.run([sys.executable, "-c", code], check=True, env=env)
