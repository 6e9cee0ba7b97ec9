"""``parhelion doctor``: what this computer offers, and whether all is well."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import sys

import click
import numpy as np

import parhelion as hl
from parhelion.autoschedule.machine.machine import caches, host
from parhelion.codegen.nvptx.assemble import find_ptxas
from parhelion.codegen.target import host_target
from parhelion.runtime import cache
from parhelion.runtime.cuda_driver import driver
from parhelion.runtime.cuda_ir import DEVICE_VARIABLE
from parhelion.version import VERSION

#: Packages that commands and tests use besides, and for what.
_EXTRAS = {
    "imageio": "image files",
    "matplotlib": "plots",
    "halide": "peer in benchmarks",
}


@click.command()
def doctor() -> None:
    """Tell what this computer offers and whether a pipeline runs on it."""
    target = host_target()
    machine = host()
    first, second, last = caches()
    rows = [
        ("parhelion", f"{VERSION} on Python {platform.python_version()}"),
        ("target", str(hl.get_host_target())),
        ("processor", f"{target.cpu}, vectors of {target.vector_bits} bits"),
        (
            "cores",
            f"{len(os.sched_getaffinity(0))}; {machine.threads} threads are used",
        ),
        (
            "caches",
            f"{first >> 10} KB, {second >> 10} KB of each core, {last >> 20} MB of all",
        ),
        *_gpus(),
        ("LLVM", importlib.metadata.version("llvmlite") + " (llvmlite)"),
        ("NumPy", np.__version__),
    ]
    for name, use in _EXTRAS.items():
        there = importlib.util.find_spec(name) is not None
        known = importlib.metadata.version(name) if there else f"missing: no {use}"
        rows.append((name, known))
    told = cache.usage()
    if told.folder is None:
        rows.append(("cache", "off (PARHELION_CACHE)"))
    else:
        size = f"{told.files} files, {told.bytes / (1 << 20):.1f} MB"
        rows.append(("cache", f"{told.folder}: {size}{_writable()}"))
    rows.append(("a pipeline", _trial()))
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        click.echo(f"{name:{width}}  {text}")
    if not rows[-1][1].startswith("runs"):
        sys.exit(1)


def _gpus() -> list[tuple[str, str]]:
    """What the driver tells, and the assembler that shows what kernels take."""
    found = driver()
    rows = []
    if found.version != (0, 0):
        rows.append(("driver", "of CUDA {}.{}".format(*found.version)))
    for n, gpu in enumerate(found.gpus):
        chosen = " (kernels run here)" if gpu is found.chosen() else ""
        rows.append(
            (
                f"GPU {n}",
                f"{gpu.name}, {gpu.arch}, {gpu.memory >> 20} MB, {gpu.processors} "
                f"processors, {gpu.shared_most >> 10} KB shared by a block{chosen}",
            )
        )
    if not found.gpus:
        rows.append(("GPU", found.problem))
    elif found.chosen() is None:
        rows.append(("GPU", f"{DEVICE_VARIABLE} gives the number of none of these"))
    if os.environ.get("PARHELION_GPU"):
        rows.append(("kernels", f"PARHELION_GPU={os.environ['PARHELION_GPU']}"))
    rows.append(("ptxas", find_ptxas() or "missing: only needed to look at kernels"))
    return rows


def _writable() -> str:
    """Whether what is stored can be found again."""
    name = f"doctor-{os.getpid()}"
    cache.store(name, b"well")
    good = cache.load(name) == b"well"
    cache.discard(name)
    return "" if good else "; it cannot be written, so that nothing is kept"


def _trial() -> str:
    """A small parallel and vectorised pipeline, compared with NumPy."""
    x, y = hl.vars("x y")
    f = hl.Func("doctor")
    f[x, y] = hl.sqrt(hl.f32(x * y)) + 1.0
    f.parallel(y).vectorize(x, 8)
    made = np.asarray(f.realize([64, 64]))
    grid = np.arange(64, dtype=np.float32)
    exact = np.sqrt(grid[:, None] * grid[None, :]) + np.float32(1)
    return "runs" if np.allclose(made, exact) else "gives WRONG RESULTS"


__all__ = ["doctor"]
