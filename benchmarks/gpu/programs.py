"""Programs in Forma as CUDA C, with textures and without (2014 paper, Figure 6)."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from apps.common import Array
from apps.forma.program import Program
from apps.forma.programs import PROGRAMS
from benchmarks.case import Image, Tolerance, zeros
from benchmarks.forma import generated
from benchmarks.forma.contenders import SIZES
from benchmarks.gpu import nvcc
from benchmarks.gpu.contender import CUDA, Contender, Images, Job, Ready
from benchmarks.gpu.device import Device, arch
from parhelion import forma

GROUP = "programs in Forma"
GLOBAL, TEXTURES = "global memory", "textures"
WAYS: Mapping[str, bool] = {GLOBAL: False, TEXTURES: True}


def library(program: Program, textures: bool, folder: Path, architecture: str) -> Path:
    """A program as a library, by nvcc. Raises Absent where there is none."""
    name = f"{program.name}_{'textures' if textures else 'global'}"
    made = forma.compile(program.path)
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / f"{name}.cu"
    made.compile_to_cuda(source, program.name, textures=textures)
    # The header has the function's name.
    copies = str(nvcc.FOLDER / "forma_copies.h")
    return nvcc.compiled(source, folder, architecture, "-include", copies)


def _prepare(program: Program, textures: bool, images: Images) -> Ready:
    device = Device()
    path = library(program, textures, Path("out/cuda/forma"), arch())
    loaded = ctypes.CDLL(str(path.absolute()))
    inputs = {name: np.ascontiguousarray(i.array) for name, i in images.items()}
    out = [zeros(a.shape, a.dtype) for a in program.expected(inputs)]
    made = forma.compile(program.path)
    call = generated.bound(loaded, program, made, inputs, SIZES[program.name], out)
    copies = ctypes.c_int.in_dll(loaded, "forma_bench_copies")

    def run() -> None:
        copies.value = 0
        call()

    def result() -> Array:
        copies.value = 1
        call()
        device.wait()
        # The first output stands for all.
        return out[0]

    return Ready(run, result)


def names() -> list[str]:
    return list(PROGRAMS)


def job(name: str) -> Job:
    program = PROGRAMS[name]

    def inputs() -> Images:
        return {n: Image(a) for n, a in program.inputs(SIZES[name]).items()}

    def of(way: str, textures: bool) -> Contender:
        return Contender(CUDA, way, lambda images: _prepare(program, textures, images))

    return Job(
        name,
        GROUP,
        " x ".join(map(str, SIZES[name])),
        inputs,
        tuple([of(way, textures) for way, textures in WAYS.items()]),
        Tolerance(max(program.bound, 1e-3)),
    )


__all__ = ["GLOBAL", "GROUP", "TEXTURES", "WAYS", "job", "library", "names"]
