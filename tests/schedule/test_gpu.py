"""Loops over the blocks, threads and lanes of a GPU are part of a schedule, and are
printed and interpreted. What kernels compute, `tests/gpu` has."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret

x, y, z, c, tx, ty, bx, by = hl.vars("x y z c tx ty bx by")
r = hl.RDom([(0, 8)], "r")


def image() -> hl.Func:
    f = hl.Func("f")
    f[x, y] = x + 10 * y
    return f


def nest(f: hl.Func) -> str:
    return re.sub(r"\$\d+", "", hl.Pipeline(f).loop_nest())


def tiled(given: Callable[[hl.Func], object]) -> str:
    f = image()
    given(f)
    return nest(f)


def test_the_forms_of_gpu_tile_agree() -> None:
    whole = tiled(lambda f: f.gpu_tile(x, y, bx, by, tx, ty, 8, 4))
    named = tiled(
        lambda f: f.gpu_tile(
            x=x,
            y=y,
            bx=bx,
            by=by,
            tx=tx,
            ty=ty,
            x_size=8,
            y_size=4,
            tail=hl.TailStrategy.Auto,
            device_api=hl.DeviceAPI.Default_GPU,
        )
    )
    by_hand = tiled(
        lambda f: (
            f.tile(x, y, bx, by, tx, ty, 8, 4).gpu_blocks(bx, by).gpu_threads(tx, ty)
        )
    )
    assert whole == named == by_hand
    at_once = tiled(lambda f: f.tile(x, y, bx, by, tx, ty, 8, 4).gpu(bx, by, tx, ty))
    assert at_once == whole
    assert "gpu_thread x.tx in [0, 7]<Default_GPU>" in whole


def test_the_interpreter_runs_them() -> None:
    f = image()
    f.gpu_tile(x, y, tx, ty, 4, 4)
    (got,) = interpret(f._function, [(0, 8), (0, 8)])
    (plain,) = interpret(image()._function, [(0, 8), (0, 8)])
    assert np.array_equal(got, plain)


def test_compiling_says_that_there_is_no_device(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PARHELION_GPU", raising=False)
    f = image()
    f.gpu_tile(x, y, tx, ty, 4, 4)
    with pytest.raises(hl.ScheduleError) as caught:
        f.compile_jit()
    assert caught.value.at is not None and caught.value.at.file == __file__
    assert "f: the loop over y is over the blocks of a GPU, and there is" in str(
        caught.value
    )


def test_a_specialised_branch_for_a_gpu_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PARHELION_GPU", raising=False)
    n = hl.Param(hl.Int(32))
    f = image()
    f.specialize(n > 3).gpu_tile(x, y, tx, ty, 4, 4)
    with pytest.raises(hl.ScheduleError, match="the blocks of a GPU"):
        f.compile_jit()


def test_a_target_with_a_gpu_is_not_supported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where there is none, and none is simulated."""
    monkeypatch.setenv("PARHELION_CUDA_DRIVER", "/nowhere/libcuda.so.1")
    monkeypatch.delenv("PARHELION_GPU", raising=False)
    host = hl.get_host_target()
    assert hl.host_supports_target_device(host) and not host.has_gpu_feature()
    for feature in ("CUDA", "OpenCL", "Metal", "Vulkan", "WebGPU", "D3D12Compute"):
        target = host.with_feature(hl.TargetFeature[feature])
        assert target.has_gpu_feature()
        assert not hl.host_supports_target_device(target)
        assert hl.Target(str(target)) == target


def refused(given: Callable[[], object]) -> str:
    with pytest.raises(hl.ScheduleError) as caught:
        given()
    text = re.sub(r"\$\d+", "", str(caught.value)).split("\n")
    return "\n".join(t for t in text if not t.startswith(("  --> ", "   |  ")))


def test_more_loops_than_a_kernel_has() -> None:
    f = hl.Func("f")
    f[x, y, z, c] = x
    f.gpu_blocks(x, y, z)
    assert refused(lambda: f.gpu_blocks(c)) == (
        "f.gpu_blocks: a kernel has at most 3 loops over blocks, but 4 are given"
    )
    assert nest(f).count("gpu_block ") == 3  # nothing has changed


def test_iterations_that_depend_on_each_other() -> None:
    f = image()
    f[x, y] += f[x, y] * r.x
    assert refused(lambda: f.update().gpu_threads(r.x)) == (
        "f.update(0).gpu_threads: r.x cannot be gpu_thread: its iterations depend on"
        " each other\n"
        "iterations may read and write the same f[x, y]\n"
        "legal here:\n  - x\n  - y\n"
        "hint: allow_race_conditions() takes the responsibility"
    )


def test_arguments_that_fit_no_form() -> None:
    f = image()
    assert refused(lambda: f.gpu_tile(x, 8)).startswith(
        "f.gpu_tile: the arguments fit none of its forms\nlegal here:\n"
        "  - gpu_tile(x, bx, tx, x_size, tail=Auto, device_api=Default_GPU)\n"
        "  - gpu_tile(x, tx, x_size, tail=Auto, device_api=Default_GPU)\n"
    )
    assert refused(lambda: f.gpu_blocks()) == (
        "f.gpu_blocks: the arguments fit none of its forms\nlegal here:\n"
        "  - gpu_blocks(block_x, device_api)\n"
        "  - gpu_blocks(block_x, block_y, device_api)\n"
        "  - gpu_blocks(block_x, block_y, block_z, device_api)"
    )
    assert refused(lambda: f.gpu(x, y, tx)) == (
        "f.gpu: the arguments fit none of its forms\nlegal here:\n"
        "  - gpu(block_x, thread_x, device_api)\n"
        "  - gpu(block_x, block_y, thread_x, thread_y, device_api)\n"
        "  - gpu(block_x, block_y, block_z, thread_x, thread_y, thread_z, device_api)"
    )


def test_another_device() -> None:
    f = image()
    for given in (
        lambda: f.gpu_blocks(x, hl.DeviceAPI.Host),
        lambda: f.gpu_lanes(x, device_api=hl.DeviceAPI.Host),
        lambda: f.gpu_tile(x, tx, 8, device_api=hl.DeviceAPI.Host),
    ):
        assert refused(given).endswith(
            ": there are no kernels for DeviceAPI.Host\nlegal here:\n"
            "  - DeviceAPI.Default_GPU\n  - DeviceAPI.CUDA"
        )


def test_blocks_do_not_share_storage_that_they_fill() -> None:
    f, g = image(), hl.Func("g")
    g[x, y] = f[x, y] + f[x, y + 1]
    f.store_root().compute_at(g, y)
    g.gpu_blocks(y)
    text = refused(lambda: nest(g))
    assert "f is stored outside the gpu_block loop y of g" in text
    # The threads of one block do share.
    f, g = image(), hl.Func("g")
    g[x, y] = f[x, y] + f[x, y + 1]
    f.store_root().compute_at(g, y)
    g.gpu_threads(y)
    assert "gpu_thread y" in nest(g)
