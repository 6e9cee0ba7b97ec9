"""What the host does for kernels on a real device, as far as it shows without one."""

from __future__ import annotations

import pytest

import parhelion as hl
from parhelion.codegen.llvm import emit_with_sites
from parhelion.codegen.module import Emitted
from parhelion.codegen.nvptx.assemble import assemble
from parhelion.codegen.target import host_target
from parhelion.ir.device import Device, device_of
from parhelion.lower import passes
from parhelion.lower.options import LowerOptions
from parhelion.runtime.kernels import ptx_of, text_with_kernels
from parhelion.schedule.spec import PipelineSpec

x, y, tx, ty = hl.vars("x y tx ty")


def two_kernels() -> hl.Func:
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = hl.f32(x) * 0.5 + hl.f32(y)
    g[x, y] = f[x, y] + f[x + 1, y]
    f.compute_root().gpu_tile(x, y, tx, ty, 16, 8)
    g.gpu_tile(x, y, tx, ty, 32, 4)
    return g


def emitted(f: hl.Func, device: Device) -> Emitted:
    spec = PipelineSpec.of([f._function], ())
    options = LowerOptions(target=host_target(), device=device)
    return emit_with_sites(passes.lower(spec, name="f", options=options), host_target())


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_the_module_holds_its_kernels(arch: str) -> None:
    device = device_of(arch)
    made = emitted(two_kernels(), device)
    ptx = ptx_of(made, device)
    assert f".target {arch}" in ptx and ptx.count(".visible .entry") == 2
    assert made.text.count("call i32 @ph_device_launch(") == 2
    assert "@ph_device_cuda" in made.text and "ph_device_simulated" not in made.text
    whole = text_with_kernels(made, device)
    assert whole.count("@parhelion.image = ") == 1
    kernels = assemble(ptx, arch)
    assert len(kernels) == 2


def test_a_computer_without_a_driver_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PARHELION_GPU", "sm_80")
    monkeypatch.setenv("PARHELION_CUDA_DRIVER", "libno-such-driver.so")
    with pytest.raises(hl.PipelineRuntimeError, match="driver of NVIDIA") as caught:
        two_kernels().realize([64, 32])
    assert "PARHELION_GPU=simulate" in str(caught.value)
    monkeypatch.setenv("PARHELION_GPU", "simulate")
    two_kernels().realize([64, 32])


def test_a_name_that_is_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_GPU", "voodoo")
    with pytest.raises(hl.HalideError, match="PARHELION_GPU is 'voodoo'"):
        two_kernels().realize([64, 32])
