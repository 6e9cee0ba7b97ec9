"""CUDA C++ of the benchmarks as libraries for the processor: `cuda_runtime.h`."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
#: A kernel, and what stands between the brackets of a launch.
_LAUNCH = re.compile(r"(\w+(?:<\w+(?:, \w+)*>)?)<<<(.*?)>>>\((\))?", re.DOTALL)


def plain(text: str) -> str:
    """The text with launches as calls."""
    return _LAUNCH.sub(lambda m: f"cuda_launch({m[2]}, {m[1]}" + (m[3] or ", "), text)


def library(source: Path, folder: Path) -> ctypes.CDLL:
    """A file of CUDA C++, compiled for the processor. Skips the test without g++."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("g++ is missing")
    copy = folder / f"{source.stem}.cpp"
    copy.write_text(plain(source.read_text()))
    made = copy.with_suffix(".so")
    command = [compiler, "-std=c++17", "-O1", "-shared", "-fPIC", "-pthread", "-w"]
    command += [f"-I{HERE}", f"-I{source.parent}", str(copy), "-o", str(made)]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(made))


__all__ = ["library", "plain"]
