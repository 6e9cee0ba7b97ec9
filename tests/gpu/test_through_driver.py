"""Pipelines on a GPU that is not there: the host's code, the run time for CUDA and the
kernels as they are emitted, together (see `through_driver`)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.gpu.test_simulated import CASES
from tests.support.fake_driver import library

#: Processes that run a part of the cases each, so that none takes long.
PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_pipelines(part: int, tmp_path: Path) -> None:
    names = [*[build.__name__ for build in CASES], "numbers"][part::PARTS]
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
    told = dict(line.split() for line in done.stdout.splitlines())
    assert sorted(told) == sorted(names)
    assert all(int(count) > 0 for count in told.values()), told
