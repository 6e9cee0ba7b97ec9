"""Pipelines on a GPU that is not there: the host's code, the run time for CUDA and the
kernels as they are emitted, together (see `through_driver`)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.gpu import in_kernels
from tests.gpu.test_simulated import CASES
from tests.gpu.through_driver import PLACES
from tests.support.fake_driver import library

#: Processes that run a part of the cases each, so that none takes long.
PARTS = 4


def run(names: list[str], tmp_path: Path) -> dict[str, int]:
    """Runs cases; returns how many kernels each has launched."""
    driver = tmp_path / "libfake.so"
    driver.write_bytes(library())
    done = subprocess.run(
        [sys.executable, "-m", "tests.gpu.through_driver", str(driver), *names],
        capture_output=True,
        text=True,
        timeout=230,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    told = [line.split() for line in done.stdout.splitlines()]
    assert [name for name, _ in told] == names
    return {name: int(count) for name, count in told}


@pytest.mark.parametrize("part", range(PARTS))
def test_pipelines(part: int, tmp_path: Path) -> None:
    names = [*[build.__name__ for build in CASES], "numbers"]
    launched = run(names[part::PARTS], tmp_path)
    assert all(launched.values()), launched


def test_profiles(tmp_path: Path) -> None:
    assert run(["profile"], tmp_path)["profile"] == 4


def test_benchmarks(tmp_path: Path) -> None:
    assert run(["bench"], tmp_path)["bench"] >= 5


def test_requirements(tmp_path: Path) -> None:
    assert run(["require"], tmp_path)["require"] == 5


def test_checks(tmp_path: Path) -> None:
    """Kernels that check what only they know, three times each."""
    assert run(["checks"], tmp_path)["checks"] == 3 * len(in_kernels.CASES)


def test_two_devices(tmp_path: Path) -> None:
    assert run(["devices"], tmp_path)["devices"] == 8


@pytest.mark.parametrize("part", range(2))
def test_random_schedules(part: int, tmp_path: Path) -> None:
    """A few of those that the simulator is tested with."""
    launched = run([str(seed) for seed in range(part * 20, part * 20 + 20)], tmp_path)
    # Most schedules are to be taken, or nothing is tested.
    assert sum(map(bool, launched.values())) >= 4, launched


@pytest.mark.parametrize("part", range(2))
def test_random_stages_of_blocks(part: int, tmp_path: Path) -> None:
    launched = run([f"staged-{n}" for n in range(part * 15, part * 15 + 15)], tmp_path)
    assert sum(map(bool, launched.values())) >= 6, launched


@pytest.mark.parametrize(
    "names",
    [
        ["camera_pipe/0", "hist/0", "blur/0", "blur/1", "matmul/0", "conv_layer/0"],
        ["bilateral_grid/1", "bilateral_grid/2", "level_set/0", "harris/0"],
        ["max_filter/0", "vgg/0", "unsharp/0", "level_set/1"],
    ],
    ids=lambda names: names[0],
)
def test_applications(names: list[str], tmp_path: Path) -> None:
    """Those whose kernels an emulation runs in seconds, with atomic additions to
    memory of the device and of the block, and without."""
    assert all(run(names, tmp_path).values())


@pytest.mark.parametrize("name", ["wide", "wide-unrolled"])
def test_versions_of_a_kernel(name: str, tmp_path: Path) -> None:
    """Wide vectors where images lie at multiples of 16 bytes, and nowhere else."""
    assert run([name], tmp_path) == {name: len(PLACES)}
