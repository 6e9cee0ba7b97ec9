"""Which architecture pipelines are compiled for where a process uses several GPUs."""

from __future__ import annotations

from pathlib import Path

import pytest

import parhelion as hl
from parhelion.runtime.program import device_for
from tests.support.fake_driver import library

x, tx = hl.vars("x tx")


def test_code_is_for_the_gpu_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stand-in's devices are of different architectures."""
    path = tmp_path / "libtwo.so"
    path.write_bytes(library())
    monkeypatch.setenv("PARHELION_CUDA_DRIVER", str(path))
    monkeypatch.delenv("PARHELION_GPU", raising=False)
    monkeypatch.delenv("HL_GPU_DEVICE", raising=False)
    f = hl.Func("f")
    f[x] = x
    f.gpu_tile(x, tx, 8)
    runner = hl.Pipeline([f])._runner

    def arch() -> str:
        runner.refresh()
        device = runner.variant({}).device
        assert device is not None
        return device.arch

    assert arch() == "sm_90"
    with hl.cuda_device(1):
        assert arch() == "sm_91"
        device = device_for([f._function])
        assert device is not None and device.arch == "sm_91"
        with hl.cuda_device(0):
            assert arch() == "sm_90"
    assert arch() == "sm_90"
    with pytest.raises(hl.PipelineRuntimeError, match="there is no GPU 5: there are 2"):
        hl.cuda_device(5)
