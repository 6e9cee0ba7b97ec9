"""Pipelines with kernels on a GPU that is not one: their streams, and their code."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import parhelion as hl
from parhelion.runtime import context, devices
from tests.support.fake_driver import Driver

x, y, tx, ty = hl.vars("x y tx ty")


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    monkeypatch.delenv("HL_GPU_DEVICE", raising=False)
    monkeypatch.setenv("PARHELION_GPU", "sm_90")
    made = Driver(tmp_path, monkeypatch)
    runtime = devices._Runtime(made.library, dict(made.symbols))
    monkeypatch.setattr(devices, "_runtime", runtime)
    yield made
    gc.collect()


def streams(driver: Driver) -> list[tuple[str, str]]:
    """What was done on which stream."""
    lines = [line for line in driver.told() if " on " in line or "StreamSync" in line]
    return [(line.split()[0], line.split()[-1]) for line in lines]


def test_kernels_and_copies_go_to_the_stream(driver: Driver) -> None:
    image = hl.Buffer(np.zeros((16, 16), np.int32))
    f = hl.Func("f")
    f[x, y] = image[x, y] + 1
    f.gpu_tile(x, y, tx, ty, 8, 8)
    f.compile_jit()
    f.realize([16, 16])
    default = "(nil)"
    assert streams(driver) == [
        ("cuMemcpyHtoDAsync", default),
        ("cuStreamSynchronize", default),
        ("cuLaunchKernel", default),
    ]
    with hl.cuda_stream(0xABC):
        assert streams(driver) == [("cuStreamSynchronize", default)]
        r = f.realize([16, 16])
        assert isinstance(r, hl.Buffer)
        assert r.__cuda_array_interface__["stream"] == 0xABC
        assert streams(driver) == [
            ("cuMemcpyHtoDAsync", "0xabc"),
            ("cuStreamSynchronize", "0xabc"),
            ("cuLaunchKernel", "0xabc"),
        ]
        r.copy_to_host()
        assert streams(driver) == [
            ("cuMemcpyDtoHAsync", "0xabc"),
            ("cuStreamSynchronize", "0xabc"),
        ]
        r.device_sync()
        r.__dlpack__(stream=0xABC)
        assert streams(driver) == [("cuStreamSynchronize", "0xabc")]
        r.__dlpack__(stream=1)
        assert streams(driver) == [("cuStreamSynchronize", "0xabc")]
        with hl.cuda_stream(0xDEF):
            assert streams(driver) == [("cuStreamSynchronize", "0xabc")]
        assert streams(driver) == [("cuStreamSynchronize", "0xdef")]
    assert streams(driver) == [("cuStreamSynchronize", "0xabc")]
    f.realize([16, 16])
    assert {stream for _, stream in streams(driver)} == {default}


def test_code_that_the_driver_refuses(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "DRIVER_LOGS", [devices.driver_log])
    f = hl.Func("bright")
    f[x, y] = x + y
    f.gpu_tile(x, y, tx, ty, 8, 8)
    driver.fails("cuModuleLoadDataEx", 218)
    with pytest.raises(hl.PipelineRuntimeError) as caught:
        f.realize([16, 16])
    text = str(caught.value)
    assert "'bright'" in text and "refuses the code of the kernel" in text
    assert "CUDA_ERROR_INVALID_PTX, 218" in text
    assert "line 1: refused" in text  # what the driver says of it
    assert f"{__file__}:" in text
    assert f.realize([16, 16]) is not None


def test_a_failed_launch_leaves_later_ones_working(driver: Driver) -> None:
    f, out = hl.Func("bright"), np.ones((16, 16), np.int32)
    f[x, y] = x + y
    f.gpu_tile(x, y, tx, ty, 8, 8)
    driver.fails("cuLaunchKernel", 701)
    with pytest.raises(hl.PipelineRuntimeError, match="OUT_OF_RESOURCES") as caught:
        f.realize(out)
    assert "'bright'" in str(caught.value) and (out == 1).all()
    in_use = driver.in_use
    assert driver.of_memory("kept_memory") == in_use  # nothing is leaked
    f.realize(out)
    assert driver.of_memory("kept_memory") == driver.in_use == in_use


def test_streams_of_other_libraries(driver: Driver) -> None:
    class Protocol:
        def __cuda_stream__(self) -> tuple[int, int]:
            return 0, 0x40

    given = (
        *(0x40, Protocol(), SimpleNamespace(cuda_stream=0x40)),
        *(SimpleNamespace(ptr=0x40), SimpleNamespace(handle=0x40)),
        SimpleNamespace(handle=ctypes.c_void_p(0x40)),
    )
    for stream in given:
        driver.told()
        with hl.cuda_stream(stream):
            pass
        assert streams(driver)[-1] == ("cuStreamSynchronize", "0x40")
    for wrong in ("0x40", None, -1, 1.5, True, SimpleNamespace(ptr="0x40")):
        with pytest.raises(hl.TypeMismatchError, match="a stream of CUDA's"):
            hl.cuda_stream(wrong)


def test_the_block_ends_though_it_fails(driver: Driver) -> None:
    with pytest.raises(KeyError), hl.cuda_stream(0x40):
        raise KeyError
    assert streams(driver)[-1] == ("cuStreamSynchronize", "0x40")
    with hl.cuda_stream(0x50):
        assert streams(driver) == [("cuStreamSynchronize", "(nil)")]
        driver.fails("cuStreamSynchronize", 719)
        with pytest.raises(hl.PipelineRuntimeError, match="LAUNCH_FAILED"):
            hl.cuda_stream(0x60).__enter__()


def test_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_runtime", None)
    monkeypatch.delenv("PARHELION_GPU", raising=False)
    monkeypatch.setenv("PARHELION_CUDA_DRIVER", "/nowhere/libcuda.so.1")
    with (
        pytest.raises(hl.PipelineRuntimeError, match="libcuda.so.1, is not installed"),
        hl.cuda_stream(0x40),
    ):
        pass


def test_code_is_unloaded_with_the_pipeline(driver: Driver) -> None:
    f = hl.Func("f")
    f[x, y] = x + y
    f.gpu_tile(x, y, tx, ty, 8, 8)
    for _ in range(2):
        f.realize([16, 16])
    told = driver.told()
    assert sum(line.startswith("cuModuleLoad") for line in told) == 1
    assert sum(line.startswith("cuLaunchKernel") for line in told) == 2
    del f
    gc.collect()
    unloaded = [line.split()[0] for line in driver.told()]
    assert unloaded[-2:] == ["cuCtxSynchronize", "cuModuleUnload"]


@pytest.mark.parametrize("kept", [False, True])
def test_code_from_the_cache_is_unloaded_too(
    driver: Driver, kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARHELION_CACHE", str(tmp_path / "kept") if kept else "off")
    for _ in range(2):
        f = hl.Func("f")
        f[x, y] = x * 3 + y
        f.gpu_tile(x, y, tx, ty, 8, 8)
        f.realize([16, 16])
        del f
        gc.collect()
        told = [line.split()[0] for line in driver.told()]
        assert told.count("cuModuleLoadDataEx") == told.count("cuModuleUnload") == 1


def test_kernels_are_measured_by_the_gpu_s_clock(driver: Driver) -> None:
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = x + y
    g[x, y] = f[x, y] * 2
    f.compute_root().gpu_tile(x, y, tx, ty, 8, 8)
    g.gpu_tile(x, y, tx, ty, 16, 16)
    g.realize([32, 16])
    driver.told()
    with devices.time_kernels() as times:
        g.realize([32, 16])
        with hl.cuda_stream(0x70):
            g.realize([16, 16])
        assert times == []
    # The driver's clock goes on by a millisecond for each block.
    names = [t.name.partition("_")[0] for t in times]
    assert names == ["f", "g", "f", "g"]
    assert [t.seconds for t in times] == pytest.approx([8e-3, 2e-3, 4e-3, 1e-3])
    recorded = [line for line in driver.told() if "cuEventRecord" in line]
    assert recorded == ["cuEventRecord (nil)"] * 4 + ["cuEventRecord 0x70"] * 4
    assert driver.fake.fake_events() == 0
    g.realize([32, 16])
    assert not any("Event" in line for line in driver.told())


@pytest.mark.parametrize("function", ["cuEventCreate", "cuEventSynchronize"])
def test_kernels_that_cannot_be_measured_run(driver: Driver, function: str) -> None:
    f = hl.Func("f")
    f[x, y] = x + y
    f.gpu_tile(x, y, tx, ty, 8, 8)
    f.realize([16, 16])
    driver.told()
    with devices.time_kernels() as times:
        driver.fails(function, 2)
        f.realize([16, 16])
        f.realize([16, 16])
    told = [line.split()[0] for line in driver.told()]
    assert told.count("cuLaunchKernel") == 2 and driver.fake.fake_events() == 0
    good = pytest.approx(4e-3)
    if function == "cuEventCreate":
        assert [t.seconds for t in times] == [good]
    else:
        assert [t.seconds for t in times] == [good, None]


def test_simulated_kernels_are_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_GPU", "simulate")
    f = hl.Func("f")
    f[x, y] = x + y
    f.gpu_tile(x, y, tx, ty, 8, 8)
    with devices.time_kernels() as times:
        f.realize([16, 16])
    assert times == []
