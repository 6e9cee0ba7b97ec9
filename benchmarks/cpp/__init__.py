"""C++ that stands beside Parhelion in the benchmarks, built by them with gcc."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

FLAGS = ("-O3", "-march=native", "-fopenmp", "-Wall", "-Wextra", "-shared", "-fPIC")


def build(name: str) -> ctypes.CDLL:
    """The library made of ``name.cpp``. Raises RuntimeError without a compiler."""
    compiler = shutil.which("g++")
    if compiler is None:
        raise RuntimeError(f"{name}.cpp needs g++")
    source = Path(__file__).parent / f"{name}.cpp"
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / f"{name}.so"
        subprocess.run([compiler, *FLAGS, str(source), "-o", str(library)], check=True)
        return ctypes.CDLL(str(library))
