"""What no GPU launches is an error before anything runs, on the simulator as on GPUs;
what kernels require of their values, and what they cannot do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.codegen.nvptx.assemble import assemble, find_ptxas
from parhelion.ir.device import device_of
from parhelion.runtime import devices
from parhelion.runtime.kernels import ptx_of
from tests.gpu.harness import ARCHS
from tests.gpu.test_launches import emitted
from tests.gpu.through_driver import checked

x, y, z, tx, ty = hl.vars("x y z tx ty")


@pytest.fixture(params=["simulate", "sm_80"])
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The simulator, and a GPU that is not there: what is said of sizes does not need
    it."""
    monkeypatch.setenv("PARHELION_GPU", request.param)
    monkeypatch.setenv("PARHELION_CUDA_DRIVER", "libno-such-driver.so")
    return str(request.param)


@pytest.fixture
def simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_GPU", "simulate")


def sums() -> hl.Func:
    f = hl.Func("sums")
    f[x, y, z] = hl.u8(x + y + z)
    return f


def test_too_many_blocks_along_y(device: str) -> None:
    f = sums().gpu_blocks(x, y)
    with pytest.raises(hl.ScheduleError) as caught:
        f.realize([2, 65536, 1])
    assert "kernel of sums has 65536 blocks along y" in str(caught.value)
    assert "at most 65535" in str(caught.value) and "factor" in str(caught.value)


def test_too_many_blocks_along_z(device: str) -> None:
    f = sums().gpu_blocks(x, y, z)
    with pytest.raises(hl.ScheduleError, match="70000 blocks along z"):
        f.realize([1, 1, 70000])


def test_too_many_threads_along_z(device: str) -> None:
    g = hl.Func("g")
    block = hl.Var("block")
    g[x, y, z, block] = hl.u8(x + y + z + block)
    g.gpu_blocks(block).gpu_threads(x, y, z)
    with pytest.raises(hl.ScheduleError, match="65 threads along z.* at most 64"):
        g.realize([1, 1, 65, 2])


def test_too_many_threads_of_a_block(device: str) -> None:
    f = sums().gpu_blocks(z).gpu_threads(x, y)
    with pytest.raises(hl.ScheduleError, match="blocks of 1056 threads, and 1024 are"):
        f.realize([33, 32, 2])


def test_the_most_that_there_may_be(simulator: None) -> None:
    f = sums().gpu_blocks(x, y)
    got = np.asarray(f.realize([1, 65535, 1]))
    assert np.array_equal(got[0, :, 0], np.arange(65535).astype(np.uint8))
    g = sums().gpu_blocks(z).gpu_threads(x, y)
    assert np.asarray(g.realize([32, 32, 2]))[1, 31, 31] == 63


def test_nothing_runs_before(simulator: None) -> None:
    """The first kernel of two, whose second is too large."""
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = x + y
    g[x, y] = f[x, 0] + f[x, y]
    f.compute_root().gpu_tile(x, y, tx, ty, 8, 8)
    g.gpu_blocks(x, y)
    g.compile_jit()
    devices.reset_counts()
    with pytest.raises(hl.ScheduleError, match="kernel of g"):
        g.realize([1, 66000])
    assert devices.counts().launches == 0


def test_a_branch_that_is_not_taken_is_not_checked(simulator: None) -> None:
    f, wide = hl.Func("f"), hl.Param(hl.Bool(), "wide")
    f[x, y] = x + y
    f.specialize(hl.Expr(wide)).gpu_blocks(x, y)
    f.gpu_tile(x, y, tx, ty, 8, 8)
    wide.set(False)
    got = np.asarray(f.realize([1, 66000]))
    assert np.array_equal(got[:, 0], np.arange(66000))
    wide.set(True)
    with pytest.raises(hl.ScheduleError, match="66000 blocks along y"):
        f.realize([1, 66000])


def test_printing_is_refused(device: str) -> None:
    f = hl.Func("f")
    f[x, y] = hl.print(x + y, "here")
    f.gpu_tile(x, y, tx, ty, 8, 8)
    with pytest.raises(hl.ScheduleError, match="f, which is .* kernel.*print"):
        f.realize([8, 8])


@pytest.mark.parametrize("limit", [100, 20])
def test_kernels_require_values(limit: int, simulator: None) -> None:
    f = checked(limit)
    if limit == 100:
        expected = np.add.outer(20 * np.arange(12), 2 * np.arange(30) + 1)
        assert np.array_equal(np.asarray(f.realize([30, 12])), expected)
        return
    with pytest.raises(hl.PipelineRuntimeError, match="x is 20 at y") as caught:
        f.realize([30, 12])
    assert caught.value.failure == "require"


@pytest.mark.parametrize("arch", ARCHS)
def test_ptx_of_requirements(arch: str) -> None:
    if find_ptxas() is None:
        pytest.skip("no ptxas: pip install nvidia-cuda-nvcc-cu12")
    device = device_of(arch)
    made = emitted(checked(20), device)
    ptx = ptx_of(made, device)
    assert "atom" in ptx and ".cas.b32" in ptx
    (kernel,) = assemble(ptx, arch)
    assert kernel.barriers == 1
    assert [f.code for f in made.failures].count("require") >= 2


def test_a_simulation_is_one_device(simulator: None) -> None:
    f = hl.Func("f")
    f[x, y] = x + y
    f.gpu_tile(x, y, tx, ty, 8, 8)
    with hl.cuda_device(0):
        assert np.asarray(f.realize([9, 9]))[8, 8] == 16
    with pytest.raises(hl.PipelineRuntimeError, match="there is no GPU 1: the simul"):
        hl.cuda_device(1)
    wrongs: list[Any] = [-1, "0", True]
    for wrong in wrongs:
        with pytest.raises(hl.TypeMismatchError, match="number is wanted"):
            hl.cuda_device(wrong)
