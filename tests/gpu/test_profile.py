"""Profiles of pipelines with kernels: the host's part of them."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl
from parhelion.lower.options import LowerOptions
from parhelion.lower.passes import lower
from parhelion.runtime.cuda_driver import Processor
from tests.gpu.harness import kernels_of
from tests.gpu.test_pipelines import DEVICE, kernels
from tests.gpu.test_simulated import blurred
from tests.support.spec import spec_of

x, y, tx, ty = hl.vars("x y tx ty")


@pytest.fixture
def simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_GPU", "simulate")


def scheduled() -> hl.Func:
    blur_x, blur_y = blurred()
    blur_y.gpu_tile(x, y, tx, ty, 16, 8)
    blur_x.compute_at(blur_y, x).gpu_threads(x, y)
    return blur_y


def test_kernels_have_no_marks() -> None:
    options = LowerOptions(device=DEVICE, profile=True)
    made = lower(spec_of(scheduled()), name="f", options=options)
    module, (kernel,) = kernels_of(*kernels(made.body))
    assert "profile" not in module.text("test")


def test_a_simulated_pipeline_is_profiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_GPU", "simulate")
    report = hl.Pipeline([scheduled()]).profile([70, 45])
    # Once for each block of 16 x 8, of which there are 5 x 6.
    assert report["blur_x"].calls == 30
    assert report["blur_y"].calls == 1


def test_kernels_and_copies_are_counted(simulator: None) -> None:
    profile = hl.Pipeline([scheduled()]).profile([70, 45], repeat=3)
    (kernel,) = profile.kernels
    assert (kernel.name, kernel.func, kernel.launches) == ("blur_y_0", "blur_y", 1)
    # blur_x needs a row more, in the shared memory of each block.
    assert kernel.blocks == 5 * 6
    assert kernel.seconds > 0 and kernel.shared > 0
    assert kernel.written == 2 * 70 * 45
    assert kernel.registers == 0
    assert kernel.occupancy is None and kernel.achieved is None
    lines = str(profile).splitlines()
    assert any(line.split()[:1] == ["blur_y_0"] for line in lines)


def test_each_way_of_copying_is_counted(simulator: None) -> None:
    pixels = np.arange(200, dtype=np.int16).reshape(10, 20)
    f, g, h = hl.funcs("f g h")
    f[x, y] = hl.Buffer(pixels)[x, y] + 1
    g[x, y] = f[x, y] * 2
    h[x, y] = g[x, y] - 1
    f.compute_root().gpu_tile(x, y, tx, ty, 8, 8)
    g.compute_root()
    h.gpu_tile(x, y, tx, ty, 8, 8)
    profile = hl.Pipeline([h]).profile([20, 10], repeat=2)
    assert [k.func for k in profile.kernels] == ["f", "h"]
    down, up = profile.to_device, profile.to_host
    # The image, whose array may change between the runs, and g.
    assert (down.copies, down.bytes) == (2, 2 * 400)
    assert (up.copies, up.bytes) == (1, 400)
    assert "copies to the host: 1, 400 B" in str(profile)


def test_a_kernel_moves_no_more_than_it_uses(simulator: None) -> None:
    """Of a large image that a kernel uses little of, what it asks for; of a small one
    that all threads read, what there is."""
    large = hl.Buffer(np.ones((100, 100), np.int32))
    small = hl.Buffer(np.ones(3, np.int32))
    f = hl.Func("f")
    f[x] = large[x, 0] + small[x % 3]
    f.gpu_tile(x, tx, 16)
    (kernel,) = hl.Pipeline([f]).profile([64]).kernels
    assert (kernel.read, kernel.written) == (64 * 4 + 12, 64 * 4)


def test_a_profile_without_kernels_has_none() -> None:
    f = hl.Func("f")
    f[x] = x
    profile = f.profile([10])
    assert profile.kernels == () and profile.to_device.copies == 0
    assert "kernels" not in str(profile)


def test_what_a_processor_holds() -> None:
    """By NVIDIA's occupancy calculator for compute capability 8.0."""
    a100 = Processor(2048, 32, 65536, 164 << 10, 1024)
    for threads, registers, shared, blocks in (
        (256, 32, 0, 8),
        (256, 40, 0, 6),
        (1024, 64, 0, 1),
        (1024, 65, 0, 0),
        (32, 16, 0, 32),
        (128, 32, 40 << 10, 4),
        (96, 255, 0, 2),
    ):
        assert a100.resident(threads, registers, shared, 32) == blocks
