"""Object files with kernels: for the GPU that a target names."""

from __future__ import annotations

from pathlib import Path

import pytest

import parhelion as hl

x, y, tx, ty = hl.vars("x y tx ty")
F = hl.TargetFeature


def kernel() -> hl.Func:
    f = hl.Func("f")
    f[x, y] = x + y
    f.gpu_tile(x, y, tx, ty, 16, 8)
    return f


@pytest.mark.parametrize(
    "features, arch",
    [([F.CUDA], "sm_75"), ([F.CUDA, F.CUDACapability75, F.CUDACapability86], "sm_86")],
    ids=["any", "newest"],
)
def test_the_gpu_of_a_target(
    features: list[hl.TargetFeature],
    arch: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PARHELION_GPU", raising=False)
    target = hl.get_host_target()
    for feature in features:
        target = target.with_feature(feature)
    path = tmp_path / "f.o"
    kernel().compile_to_object(path, [], "f", target)
    assert f".target {arch}".encode() in path.read_bytes()


def test_a_target_without_a_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PARHELION_GPU", raising=False)
    with pytest.raises(hl.ScheduleError, match="blocks of a GPU"):
        kernel().compile_to_object(tmp_path / "f.o", [], "f", hl.get_host_target())


def test_a_gpu_that_is_too_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PARHELION_GPU", raising=False)
    target = hl.get_host_target().with_feature(F.CUDA).with_feature(F.CUDACapability50)
    with pytest.raises(hl.HalideError, match="sm_50"):
        kernel().compile_to_object(tmp_path / "f.o", [], "f", target)
