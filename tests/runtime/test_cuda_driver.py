"""What GPUs there are, asked of a driver that is not one, and told by ``doctor``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

import parhelion as hl
from parhelion.cli.doctor import doctor
from parhelion.ir.device import Device
from parhelion.ir.device_status import Kind, status
from parhelion.runtime.cuda_driver import driver
from tests.support.fake_driver import Driver

CUDA = hl.get_host_target().with_feature(hl.TargetFeature.CUDA)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HL_GPU_DEVICE", raising=False)
    monkeypatch.delenv("PARHELION_GPU", raising=False)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Driver:
    return Driver(tmp_path, monkeypatch)


def told() -> str:
    done = CliRunner().invoke(doctor)
    assert done.exit_code == 0, done.output
    return done.output


def test_gpus_are_described(fake: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    found = driver()
    assert found.status == 0 and found.problem == "" and found.version == (12, 8)
    assert [g.arch for g in found.gpus] == ["sm_90", "sm_91"]
    first = found.gpus[0]
    assert first.name == "Fake GPU 0" and first.memory == 1 << 32
    assert first.shared == 48 << 10
    assert first.device() == Device("sm_90", 1024, 227 << 10, 32)
    assert found.chosen() is first
    # No context is made for it.
    assert not any("Retain" in line for line in fake.told())
    assert driver() is found
    monkeypatch.setenv("HL_GPU_DEVICE", "1")
    assert found.chosen() is found.gpus[1]
    for wrong in ("2", "-1", "first", "²"):
        monkeypatch.setenv("HL_GPU_DEVICE", wrong)
        assert found.chosen() is None


def test_doctor_shows_the_driver_and_the_gpus(
    fake: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = dict(line.split("  ", 1) for line in told().splitlines())
    assert rows["driver"].strip() == "of CUDA 12.8"
    assert rows["GPU 0"].strip() == (
        "Fake GPU 0, sm_90, 4096 MB, 132 processors, 227 KB shared by a block "
        "(kernels run here)"
    )
    assert "kernels" not in rows["GPU 1"] and "ptxas" in rows
    monkeypatch.setenv("HL_GPU_DEVICE", "7")
    assert "HL_GPU_DEVICE gives the number of none of these" in told()


def test_targets_with_a_gpu_are_supported_where_there_is_one(
    fake: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hl.host_supports_target_device(CUDA)
    vulkan = CUDA.with_feature(hl.TargetFeature.Vulkan)
    assert not hl.host_supports_target_device(vulkan)
    monkeypatch.setenv("HL_GPU_DEVICE", "7")
    assert not hl.host_supports_target_device(CUDA)
    monkeypatch.setenv("PARHELION_GPU", "simulate")
    assert hl.host_supports_target_device(CUDA)


def test_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_CUDA_DRIVER", "/nowhere/libcuda.so.1")
    found = driver()
    assert found.status == status(Kind.NO_DRIVER) and found.gpus == ()
    assert "libcuda.so.1, is not installed: install NVIDIA's driver" in found.problem
    assert found.problem in told()
    assert not hl.host_supports_target_device(CUDA)


def test_a_library_that_is_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_CUDA_DRIVER", "libm.so.6")
    assert driver().status == status(Kind.OLD_DRIVER)
    assert "lacks a function" in told()


def test_no_gpu(fake: Driver) -> None:
    fake.fake.fake_devices(0)
    found = driver()
    assert found.status == status(Kind.NO_DEVICE, 100) and found.version == (12, 8)
    assert "there is no GPU that can be used (CUDA_ERROR_NO_DEVICE, 100)" in told()
    fake.fake.fake_devices(1)  # what failed is asked again
    assert len(driver().gpus) == 1


def test_a_forked_child_asks_again(fake: Driver) -> None:
    assert driver().status == 0
    fake.fails("cuInit", 3)
    child = os.fork()
    if child == 0:
        os._exit(0 if driver().status == status(Kind.NO_DEVICE, 3) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert driver().status == 0
