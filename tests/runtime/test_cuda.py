"""The device interface for NVIDIA's GPUs, over a driver that is not one."""

from __future__ import annotations

import ctypes
import os
import threading
from pathlib import Path

import numpy as np
import pytest

from parhelion.codegen.structs import READS, WRITES
from parhelion.ir.device_status import Kind, kind_of, status
from parhelion.runtime.cuda_ir import FUNCTIONS, LOST
from parhelion.runtime.cuda_pool_ir import KEPT_SHARE
from tests.support.devices import DEVICE_READS, DEVICE_WRITES, struct_of
from tests.support.fake_driver import Driver, Image, arguments, context

KIB, MIB = 1 << 10, 1 << 20


class Gpu(Driver):
    """A driver, and code with two kernels in it."""

    def __init__(self, folder: Path, environment: pytest.MonkeyPatch) -> None:
        super().__init__(folder, environment)
        self.image = Image(".visible .entry add .visible .entry other")
        self.kernel = self.image.kernel("add")


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gpu:
    monkeypatch.delenv("HL_GPU_DEVICE", raising=False)
    return Gpu(tmp_path, monkeypatch)


def add(driver: Gpu, address: int, blocks: int, n: int, ctx: int = 0) -> int:
    """Runs a kernel that adds `n` to `blocks` times 4 numbers."""
    pointer, number = ctypes.c_uint64(address), ctypes.c_int32(n)
    args = arguments(pointer, number)
    at = ctypes.addressof(args)
    kernel = driver.kernel.address
    return driver.launch(kernel, (blocks, 1, 1), (4, 1, 1), 0, at, ctx=ctx)


def test_a_kernel_runs_on_copies(driver: Gpu) -> None:
    a = np.arange(40, dtype=np.int32)
    b = struct_of(a)
    assert driver.sync(b, DEVICE_READS | WRITES) == 0
    assert add(driver, driver.address(b), 10, 5) == 0
    assert (a == np.arange(40)).all()
    assert driver.leave(b) == 0
    assert (a == np.arange(40) + 5).all()
    assert driver.told() == [
        "cuInit 0",
        "cuDeviceGetCount ",
        "cuDeviceGet 0",
        "cuDevicePrimaryCtxRetain 10",
        "cuMemAlloc 512",
        "cuMemcpyHtoDAsync 160 on (nil)",
        "cuStreamSynchronize (nil)",
        "cuModuleLoadDataEx .visible .entry add ",
        "cuModuleGetFunction add",
        "cuLaunchKernel add (10, 1, 1) of (4, 1, 1), 0 shared on (nil)",
        "cuMemcpyDtoHAsync 160 on (nil)",
        "cuStreamSynchronize (nil)",
    ]
    assert driver.fake.fake_depth() == 0


def test_a_second_run_needs_no_driver_but_for_its_work(driver: Gpu) -> None:
    a = np.arange(40, dtype=np.int32)
    for _ in range(3):
        driver.told()
        b = struct_of(a)
        assert driver.sync(b, DEVICE_READS | WRITES) == 0
        assert add(driver, driver.address(b), 10, 5) == 0
        assert driver.leave(b) == 0
    assert [line.split()[0] for line in driver.told()] == [
        "cuMemcpyHtoDAsync",
        "cuStreamSynchronize",
        "cuLaunchKernel",
        "cuMemcpyDtoHAsync",
        "cuStreamSynchronize",
    ]
    assert (a == np.arange(40) + 15).all()


def test_rows_are_one_copy_each_way(driver: Gpu) -> None:
    whole = np.arange(60, dtype=np.int16).reshape(5, 12)
    a = whole[1:4, 2:9]
    b = struct_of(a)
    assert driver.sync(b, DEVICE_READS | WRITES) == 0
    before = whole.copy()
    a[...] = 0
    assert driver.sync(b, READS) == 0
    assert (whole == before).all()
    rows = [line for line in driver.told() if "2D" in line]
    assert rows == [
        "cuMemcpy2DAsync 14 x 3 from 1 to 2 on (nil)",
        "cuMemcpy2DAsync 14 x 3 from 2 to 1 on (nil)",
    ]
    driver.free(b)


def test_reversed_rows_lie_within_their_block(driver: Gpu) -> None:
    whole = np.arange(60, dtype=np.int16).reshape(5, 12)
    for a in (whole[::-1], whole[::-1, ::-2], whole[:, 3:1:-1]):
        b, before = struct_of(a), whole.copy()
        assert driver.sync(b, DEVICE_READS) == 0  # the driver checks the range
        assert driver.sync(b, DEVICE_WRITES) == 0
        a[...] = 0
        assert driver.leave(b) == 0
        assert (whole == before).all()


def test_rows_too_far_apart_for_one_copy_are_copied_one_by_one(driver: Gpu) -> None:
    driver.fake.fake_memory(1 << 34)
    size = (1 << 31) + 8
    a = np.lib.stride_tricks.as_strided(
        np.zeros(size + 4, np.uint8), (2, 4), (size, 1), writeable=True
    )
    a[0], a[1] = (1, 2, 3, 4), (5, 6, 7, 8)
    b = struct_of(a[:, :4])
    b.type.bits = 16  # strides of 32 bits count in pixels
    b.kept[0].stride, b.kept[1].extent = size // 2, 2
    assert driver.sync(b, DEVICE_READS | WRITES) == 0
    a[...] = 0
    assert driver.sync(b, READS) == 0
    assert a.tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]
    copies = [line.split()[0] for line in driver.told() if "Memcpy" in line]
    assert copies == ["cuMemcpyHtoDAsync"] * 2 + ["cuMemcpyDtoHAsync"] * 2
    driver.free(b)


def test_without_the_library_there_is_a_status(
    driver: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARHELION_CUDA_DRIVER", "/nowhere/libcuda.so.1")
    b = struct_of(np.zeros(4, np.int32))
    for _ in range(2):
        assert driver.sync(b, DEVICE_READS) == status(Kind.NO_DRIVER)
    assert driver.finish() == status(Kind.NO_DRIVER)
    assert driver.of_memory("release_memory") == 0
    assert (b.device, b.flags) == (0, 0)
    # It may have been installed meanwhile.
    monkeypatch.setenv("PARHELION_CUDA_DRIVER", str(driver.file))
    assert driver.sync(b, DEVICE_READS) == 0
    driver.free(b)


def test_a_driver_that_lacks_a_function_is_too_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = Driver(tmp_path, monkeypatch, lacks=True)
    assert old.start() == status(Kind.OLD_DRIVER)


@pytest.mark.parametrize("function", ["cuInit", "cuDevicePrimaryCtxRetain"])
@pytest.mark.parametrize("code", [100, 46, 803])
def test_no_device(driver: Gpu, function: str, code: int) -> None:
    driver.fails(function, code)
    assert driver.start() == status(Kind.NO_DEVICE, code)
    assert driver.start() == 0


def test_no_devices(driver: Gpu) -> None:
    driver.fake.fake_devices(0)
    assert driver.start() == status(Kind.NO_DEVICE, 100)


@pytest.mark.parametrize(
    ("said", "device"),
    [
        ("0", 10),
        ("1", 11),
        ("2", 0),
        ("-1", 0),
        ("none", 0),
        ("1x", 0),
        ("99999999999999", 0),
    ],
)
def test_the_environment_chooses_the_device(
    driver: Gpu, monkeypatch: pytest.MonkeyPatch, said: str, device: int
) -> None:
    monkeypatch.setenv("HL_GPU_DEVICE", said)
    assert driver.start() == (0 if device else status(Kind.NO_DEVICE, 101))
    chosen = [line for line in driver.told() if "Retain" in line]
    assert chosen == ([f"cuDevicePrimaryCtxRetain {device}"] if device else [])


def test_blocks_are_kept_and_given_out_again(driver: Gpu) -> None:
    a = np.zeros(MIB, np.uint8)
    addresses = set()
    for _ in range(4):
        b = struct_of(a)
        assert driver.sync(b, DEVICE_WRITES) == 0
        addresses.add(b.device)
        driver.free(b)
    assert len(addresses) == 1
    assert driver.of_memory("kept_memory") == driver.in_use == MIB
    b = struct_of(a[: MIB // 2])  # half as much is served by it, too
    assert driver.sync(b, DEVICE_WRITES) == 0 and b.device in addresses
    assert driver.of_memory("kept_memory") == 0
    c = struct_of(a[: MIB // 2])
    assert driver.sync(c, DEVICE_WRITES) == 0 and c.device not in addresses
    driver.free(b)
    d = struct_of(a[: MIB // 4])
    assert driver.sync(d, DEVICE_WRITES) == 0 and d.device not in addresses
    for one in (c, d):
        driver.free(one)
    assert driver.of_memory("release_memory") == MIB + MIB // 2 + MIB // 4
    assert driver.in_use == driver.of_memory("kept_memory") == 0


def test_what_is_kept_is_bounded(driver: Gpu) -> None:
    driver.fake.fake_memory(64 * MIB)
    buffers = [struct_of(np.zeros(4 * MIB, np.uint8)) for _ in range(10)]
    for b in buffers:
        assert driver.sync(b, DEVICE_WRITES) == 0
    assert driver.in_use == 40 * MIB
    for b in buffers:
        driver.free(b)
    assert driver.of_memory("kept_memory") == driver.in_use == 64 * MIB // KEPT_SHARE
    assert driver.of_memory("set_kept_memory", 0) == 64 * MIB // KEPT_SHARE
    assert driver.in_use == driver.of_memory("kept_memory") == 0
    b = struct_of(np.zeros(MIB, np.uint8))
    assert driver.sync(b, DEVICE_WRITES) == 0
    driver.free(b)
    assert driver.in_use == 0


def test_a_full_device_gets_back_what_is_kept_before_it_fails(driver: Gpu) -> None:
    driver.fake.fake_memory(16 * MIB)
    small = [struct_of(np.zeros(MIB, np.uint8)) for _ in range(4)]
    for b in small:
        assert driver.sync(b, DEVICE_WRITES) == 0
    for b in small:
        driver.free(b)
    assert driver.in_use == 4 * MIB
    # 13 MiB would be rounded up to 14, which is there no more.
    vast = struct_of(np.zeros(16 * MIB - 5, np.uint8))
    assert driver.sync(vast, DEVICE_WRITES) == 0
    assert driver.in_use == 16 * MIB - 5
    more = struct_of(np.zeros(KIB, np.uint8))
    assert driver.sync(more, DEVICE_WRITES) == status(Kind.NO_MEMORY, 2)
    assert (more.device, more.device_interface, more.flags) == (0, None, 0)
    driver.free(vast)
    assert driver.in_use == 0  # a block of no class is not kept
    assert driver.sync(more, DEVICE_WRITES) == 0
    driver.free(more)


def test_a_block_of_another_stream_is_waited_for(driver: Gpu) -> None:
    first, second = context(0x111), context(0x222)
    a = np.zeros(MIB, np.uint8)
    for ctx, waits in ((first, 0), (first, 0), (second, 1), (second, 0)):
        b, at = struct_of(a), ctypes.addressof(ctx)
        assert driver.sync(b, DEVICE_WRITES, ctx=at) == 0
        driver.free(b, ctx=at)
        assert driver.told().count("cuCtxSynchronize ") == waits


def test_work_goes_to_the_stream_of_the_call(driver: Gpu) -> None:
    own = context(0xABC0)
    ctx = ctypes.addressof(own)
    b = struct_of(np.zeros((8, 8), np.int32)[:, 1:5])
    assert driver.sync(b, DEVICE_READS | WRITES, ctx=ctx) == 0
    assert add(driver, driver.address(b), 1, 1, ctx) == 0
    assert driver.sync(b, READS, ctx=ctx) == 0
    assert driver.finish(ctx) == 0
    streams = [s.split(" on ")[1] for s in driver.told() if " on " in s]
    assert streams == ["0xabc0"] * 3
    driver.free(b, ctx)


def test_code_that_is_refused(driver: Gpu) -> None:
    broken = Image("broken").kernel("add")
    for _ in range(2):
        refused = driver.launch(broken.address, (1, 1, 1), (1, 1, 1))
        assert refused == status(Kind.CODE_REFUSED, 218)
    log = driver.call("ph_cuda_log", ctypes.c_char_p)
    assert log == b"line 1: refused"
    missing = driver.image.kernel("subtract")
    refused = driver.launch(missing.address, (1, 1, 1), (1, 1, 1))
    assert refused == status(Kind.CODE_REFUSED, 500)
    driver.fails("cuModuleLoadDataEx", 2)
    full = Image(".visible .entry add").kernel("add")
    refused = driver.launch(full.address, (1, 1, 1), (1, 1, 1))
    assert refused == status(Kind.NO_MEMORY, 2)


def test_an_image_is_loaded_once_and_unloaded(driver: Gpu) -> None:
    other = driver.image.kernel("other")
    for kernel in (other, driver.kernel, other, driver.kernel):
        args = arguments(ctypes.c_uint64(0), ctypes.c_int32(0))
        if kernel is driver.kernel:
            b = struct_of(np.zeros(4, np.int32))
            assert driver.sync(b, DEVICE_READS) == 0
            args = arguments(ctypes.c_uint64(b.device), ctypes.c_int32(1))
        at = ctypes.addressof(args)
        assert driver.launch(kernel.address, (1, 1, 1), (4, 1, 1), 0, at) == 0
    told = driver.told()
    assert [line for line in told if "Module" in line] == [
        "cuModuleLoadDataEx .visible .entry add ",
        "cuModuleGetFunction other",
        "cuModuleGetFunction add",
    ]
    assert sum("cuLaunchKernel" in line for line in told) == 4
    for _ in range(2):
        driver.call("ph_cuda_unload", None, (ctypes.c_void_p, driver.image.address))
    assert driver.told() == ["cuCtxSynchronize ", "cuModuleUnload .visible .entry add "]
    assert not any(driver.image.slots)


def test_more_shared_memory_than_usual_is_asked_for(driver: Gpu) -> None:
    for most, asks in ((48 * KIB, 0), (48 * KIB + 1, 1), (200 * KIB, 1)):
        kernel = driver.image.kernel("other", most)
        for _ in range(2):
            assert driver.launch(kernel.address, (1, 1, 1), (1, 1, 1), most) == 0
        told = driver.told()
        asked = [line for line in told if "Attribute" in line]
        assert asked == [f"cuFuncSetAttribute other 8 = {most}"] * asks
        assert sum(f" {most} shared" in line for line in told) == 2
    vast = driver.image.kernel("other", 300 * KIB)
    for _ in range(2):
        failed = driver.launch(vast.address, (1, 1, 1), (1, 1, 1), 300 * KIB)
        assert failed == status(Kind.LAUNCH_FAILED, 1)


def test_a_failed_launch_leaves_later_ones_working(driver: Gpu) -> None:
    a = np.zeros(8, np.int32)
    b = struct_of(a)
    assert driver.sync(b, DEVICE_READS | WRITES) == 0
    too_many = driver.launch(driver.kernel.address, (1, 1, 1), (1025, 1, 1))
    assert too_many == status(Kind.LAUNCH_FAILED, 1)
    too_high = driver.launch(driver.kernel.address, (1, 65536, 1), (1, 1, 1))
    assert too_high == status(Kind.LAUNCH_FAILED, 1)
    driver.fails("cuLaunchKernel", 701)
    assert add(driver, b.device, 2, 3) == status(Kind.LAUNCH_FAILED, 701)
    assert driver.fake.fake_depth() == 0
    assert add(driver, b.device, 2, 3) == 0
    assert driver.leave(b) == 0
    assert (a == 3).all()


@pytest.mark.parametrize("code", LOST)
def test_a_lost_device_is_told_by_whatever_finds_it(driver: Gpu, code: int) -> None:
    a = np.zeros(8, np.int32)
    b = struct_of(a)
    assert driver.sync(b, DEVICE_READS | WRITES) == 0
    lost = status(Kind.DEVICE_LOST, code)
    driver.fails("cuLaunchKernel", code)
    assert add(driver, b.device, 2, 3) == lost
    driver.fails("cuStreamSynchronize", code)
    assert driver.finish() == lost
    driver.fails("cuMemcpyDtoHAsync", code)
    assert driver.sync(b, READS) == lost
    driver.fails("cuMemAlloc", code)
    assert driver.sync(struct_of(a), DEVICE_READS) == lost
    driver.free(b)
    assert driver.fake.fake_depth() == 0


def test_copies_that_fail(driver: Gpu) -> None:
    a = np.zeros((4, 6), np.int32)
    for view, function in ((a, "cuMemcpyHtoDAsync"), (a[:, 1:3], "cuMemcpy2DAsync")):
        b = struct_of(view)
        driver.fails(function, 1)
        assert driver.sync(b, DEVICE_READS) == status(Kind.COPY_FAILED, 1)
        assert driver.sync(b, DEVICE_READS) == 0
        assert driver.leave(b) == 0
    # A block that was freed meanwhile.
    b = struct_of(a)
    assert driver.sync(b, DEVICE_WRITES) == 0
    twin = struct_of(a)
    twin.device, twin.device_interface = b.device, b.device_interface
    twin.flags = b.flags
    driver.free(b)
    driver.of_memory("release_memory")
    assert driver.sync(twin, READS) == status(Kind.COPY_FAILED, 1)
    driver.told()
    driver.free(twin)  # freed once
    assert driver.told() == []


def test_a_forked_child_is_told_that_it_cannot_use_the_device(driver: Gpu) -> None:
    assert driver.start() == 0
    child = os.fork()
    if child == 0:
        b = struct_of(np.zeros(4, np.int32))
        told = driver.sync(b, DEVICE_READS)
        os._exit(0 if told == status(Kind.NO_DEVICE, 3) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_many_threads(driver: Gpu) -> None:
    """All of them at once: the first use, kernels, copies, and the pool."""
    wrong: list[object] = []
    ready = threading.Barrier(8)

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        ready.wait()
        for _ in range(50):
            n = 4 * int(rng.integers(1, 2000))
            a = rng.integers(0, 1000, n).astype(np.int32)
            expected, b = a + seed, struct_of(a)
            done = [
                driver.sync(b, DEVICE_READS | WRITES),
                add(driver, b.device, n // 4, seed),
                driver.leave(b),
            ]
            if any(done) or not np.array_equal(a, expected):
                wrong.append((seed, done))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []
    told = driver.told()
    for once in ("cuInit", "cuDevicePrimaryCtxRetain", "cuModuleLoadDataEx"):
        assert sum(line.startswith(once) for line in told) == 1
    assert driver.of_memory("release_memory") > 0 and driver.in_use == 0


def test_every_status_of_the_driver_has_a_kind(driver: Gpu) -> None:
    """Whatever function of the driver fails, in whatever way."""
    kinds = {
        "cuMemAlloc": Kind.NO_MEMORY,
        "cuMemcpyHtoDAsync": Kind.COPY_FAILED,
        "cuStreamSynchronize": Kind.LAUNCH_FAILED,
    }
    assert {f"{name}_v2" for name in ("cuMemAlloc", "cuMemcpyHtoDAsync")} <= set(
        FUNCTIONS
    )
    for function, kind in kinds.items():
        for code in (1, 201, 400, 999):
            b = struct_of(np.zeros(4, np.int32))
            driver.fails(function, code)
            told = driver.sync(b, DEVICE_READS)
            assert kind_of(told) is kind and told >> 8 == code
            driver.free(b)
