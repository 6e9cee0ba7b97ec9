"""What the benchmarks ran on: the processor, its features and the versions."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path

from benchmarks.halide_host import target_of


def machine() -> dict[str, str]:
    """Facts to print beside the figures."""
    import halide

    from parhelion.codegen.target import host_target

    target = host_target()
    return {
        "processor": _model(),
        "cores": str(os.cpu_count()),
        "code for": f"{target.cpu}, {target.vector_bits}-bit vectors",
        "features": " ".join(_features()),
        "Halide's target": str(target_of(halide)),
        "versions": ", ".join(
            [f"Python {platform.python_version()}"]
            + [f"{p} {importlib.metadata.version(p)}" for p in _PACKAGES]
        ),
    }


_PACKAGES = ("parhelion", "halide", "llvmlite", "numpy", "scipy")


def _cpuinfo(key: str) -> str:
    path = Path("/proc/cpuinfo")
    if not path.exists():
        return ""
    for line in path.read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return ""


def _model() -> str:
    return _cpuinfo("model name") or platform.processor()


def _features() -> list[str]:
    """The vector features of the processor."""
    flags = _cpuinfo("flags").split()
    return [f for f in flags if f.startswith(("sse4", "avx", "fma", "amx"))]
