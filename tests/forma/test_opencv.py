"""The C++ example that filters a cv::Mat."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from parhelion import forma

APP = Path(__file__).parents[2] / "apps" / "forma"
INCLUDES = Path("/usr/include/opencv4")


@pytest.mark.skipif(
    shutil.which("g++") is None or not (INCLUDES / "opencv2" / "core.hpp").exists(),
    reason="g++ or OpenCV's headers are missing (Debian: g++, libopencv-core-dev)",
)
def test_a_mat_is_embossed(tmp_path: Path) -> None:
    """By the commands that the example names."""
    forma.compile(APP / "emboss.forma").compile_to_c(tmp_path / "emboss.c")
    compiled = ["gcc", "-O3", "-march=native", "-fopenmp", "-c", "emboss.c"]
    subprocess.run(compiled, cwd=tmp_path, check=True)
    linked = ["g++", "-O2", "-Wall", "-Werror", "-I.", f"-isystem{INCLUDES}"]
    linked += [str(APP / "opencv" / "emboss.cpp"), "emboss.o"]
    linked += ["-fopenmp", "-lopencv_core", "-lm", "-o", "emboss"]
    subprocess.run(linked, cwd=tmp_path, check=True)
    run = subprocess.run(["./emboss"], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    assert len(run.stdout.splitlines()) == 2
