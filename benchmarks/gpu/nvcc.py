"""Files of CUDA C++ compiled into libraries, by nvcc; no device is needed."""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from benchmarks.gpu.contender import Absent
from benchmarks.gpu.device import arch

#: The files of our own, and where libraries are kept.
FOLDER, KEPT = Path(__file__).parents[1] / "cuda", Path("out/cuda")
OPTIONS = ("-O3", "-std=c++17", "-shared", "-Xcompiler", "-fPIC", "-cudart", "static")


def sources() -> list[Path]:
    """The files of our own."""
    return sorted(FOLDER.glob("*.cu"))


def compiled(source: Path, into: Path, architecture: str, *more: str) -> Path:
    """The library of a file, made anew unless it is kept. more: options. Raises Absent
    where there is no nvcc, RuntimeError if that refuses the file."""
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        raise Absent("nvcc is not installed")
    texts = [p.read_bytes() for p in (source, *sorted(source.parent.glob("*.h")))]
    digest = hashlib.sha256(b"".join([*texts, repr((architecture, more)).encode()]))
    made = into / f"{source.stem}-{architecture}-{digest.hexdigest()[:12]}.so"
    if not made.exists():
        into.mkdir(parents=True, exist_ok=True)
        command = [nvcc, *OPTIONS, f"-arch={architecture}", *more, str(source)]
        run([*command, "-o", str(made)])
    return made


def run(command: Sequence[str]) -> None:
    """Runs a compiler. Raises RuntimeError with what it says."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")


def library(name: str) -> ctypes.CDLL:
    """A file of our own as a library for the GPU at hand. Raises Absent."""
    return ctypes.CDLL(str(compiled(FOLDER / f"{name}.cu", KEPT, arch()).absolute()))


def checked(status: int) -> None:
    """Raises RuntimeError for an error of CUDA's."""
    if status:
        raise RuntimeError(f"CUDA's error {status}")


__all__ = ["FOLDER", "checked", "compiled", "library", "run", "sources"]
