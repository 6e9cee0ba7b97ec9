"""Copies between the host and the device: only what is read on the other side."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl
from parhelion.runtime import devices

x, y, tx, ty = hl.vars("x y tx ty")


@pytest.fixture(autouse=True)
def simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_GPU", "simulate")


def chain(kernels: int, on_host: int | None = None) -> list[hl.Func]:
    """Stages that each add one to the one before, the first to an image."""
    image = hl.Buffer(np.arange(600, dtype=np.int32).reshape(20, 30))
    funcs: list[hl.Func] = []
    for k in range(kernels):
        f = hl.Func(f"f{k}")
        f[x, y] = (funcs[-1] if funcs else image)[x, y] + 1
        f.compute_root()
        if k != on_host:
            f.gpu_tile(x, y, tx, ty, 8, 8)
        funcs.append(f)
    return funcs


def run(f: hl.Func, kernels: int) -> devices.Counts:
    f.compile_jit()
    devices.reset_counts()
    got = np.asarray(f.realize([30, 20]))
    assert np.array_equal(got, np.arange(600).reshape(20, 30) + kernels)
    return devices.counts()


def test_ten_kernels_on_one_image_copy_twice() -> None:
    counts = run(chain(10)[-1], 10)
    assert (counts.to_device, counts.to_host) == (1, 1)
    assert counts.launches == 10
    assert counts.bytes_to_device == counts.bytes_to_host == 2400


def test_a_stage_on_the_host_takes_two_more() -> None:
    counts = run(chain(10, on_host=4)[-1], 10)
    assert (counts.to_device, counts.to_host) == (2, 2)


def test_the_host_alone_copies_nothing() -> None:
    counts = run(chain(1, on_host=0)[-1], 1)
    assert (counts.to_device, counts.to_host, counts.allocations) == (0, 0, 0)


def test_the_pixels_of_a_crop_alone_are_copied() -> None:
    whole = np.zeros((40, 50), np.int32)
    f = hl.Func("f")
    f[x, y] = x + 100 * y
    f.gpu_tile(x, y, tx, ty, 8, 8)
    f.realize(whole[10:30, 5:35])
    expected = np.zeros_like(whole)
    expected[10:30, 5:35] = np.add.outer(100 * np.arange(20), np.arange(30))
    assert np.array_equal(whole, expected)


def test_colours_that_are_interleaved() -> None:
    c = hl.Var("c")
    photo = np.random.default_rng(1).integers(0, 255, (21, 33, 3)).astype(np.uint8)
    image = hl.ImageParam(hl.UInt(8), 3, name="image")
    f = hl.Func("f")
    f[x, y, c] = 255 - image[x, y, c]
    f.output_buffer().dim(0).set_stride(3)
    image.dim(0).set_stride(3)
    f.gpu_tile(x, y, tx, ty, 8, 8)
    image.set(hl.Buffer(photo, axes="yxc"))
    out = np.empty_like(photo)
    f.realize(hl.Buffer(out, axes="yxc"))
    assert np.array_equal(out, 255 - photo)
