"""The applications as jobs: by hand, automatic, in Halide, CUDA and libraries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from apps import vgg
from benchmarks import gpu_kernels
from benchmarks.case import Case, Image, Output, rng
from benchmarks.cases import all_cases, case
from benchmarks.cases.vgg import inputs as vgg_inputs
from benchmarks.gpu import halide_cuda, ours
from benchmarks.gpu.contender import Contender, Job
from benchmarks.gpu.rivals import ADDS, CEILINGS, COPY, RIVALS

GROUP = "applications"

#: How much smaller than in the benchmarks cases are for the simulator.
SMALL: Mapping[str, float] = {
    "blur": 1 / 64,
    "unsharp": 1 / 32,
    "harris": 1 / 32,
    "camera": 1 / 10,
    "nl_means": 1 / 2,
    "max_filter": 1 / 32,
    "interpolate": 1 / 16,
    "local_laplacian": 1 / 32,
    "lens_blur": 1 / 16,
    "bilateral_grid": 1 / 32,
    "hist": 1 / 32,
    "conv_layer": 1 / 16,
    "matmul": 1 / 16,
}
#: Of VGG-16, for the simulator.
NETWORK = vgg.Network(16, 2, ((4, 1), (8, 2)), (10,), 7)


def names() -> list[str]:
    """The cases, in the order of the 2016 paper, then that of 2012 alone."""
    return [c.name for c in all_cases() if program_of(c.name) in gpu_kernels.PROGRAMS]


def program_of(name: str) -> str:
    """What `gpu_kernels.PROGRAMS` calls the application of a case."""
    return gpu_kernels.CASES.get(name, name)


def small(name: str) -> Case:
    """A case of a size that the simulator runs in seconds."""
    found = case(name)
    if name == "vgg":
        return replace(
            found,
            algorithm=partial(vgg.algorithm, net=NETWORK),
            inputs=partial(vgg_inputs, NETWORK),
            outputs=(Output(np.float32, (NETWORK.classes, NETWORK.batch)),),
        )
    if name == "level_set":
        return replace(
            found,
            inputs=_small_level_set,
            outputs=(Output(np.float32, (70, 37)),),
        )
    assert found.at is not None
    return found.at(SMALL[name])


def _small_level_set() -> Mapping[str, Image]:
    source = rng()
    shapes = {"phi": (37, 70), "edges": (37, 70), "gradient": (2, 37, 70)}
    return {
        name: Image(source.uniform(-1, 1, shape).astype(np.float32))
        for name, shape in shapes.items()
    }


def job(name: str, *, simulated: bool = False) -> Job:
    """A case as a job. simulated: of a small size, and with what the simulator runs."""
    of = small(name) if simulated else case(name)
    ways = gpu_kernels.PROGRAMS[program_of(name)][1]
    contenders: list[Contender] = [ours.by_hand(of, w, s) for w, s in ways.items()]
    contenders += [ours.automatic(of, s) for s in ours.SCHEDULERS]
    if not simulated:
        contenders += [halide_cuda.contender(of, w, s) for w, s in ways.items()]
        contenders += RIVALS.get(name, [])
        contenders += [CEILINGS[COPY], CEILINGS[ADDS]]
    return Job(
        name,
        GROUP,
        of.size,
        of.inputs,
        tuple(contenders),
        of.tolerance,
        moved=_moved(of) if name in ("blur", "unsharp") else 0,
        operations=of.operations or 0,
    )


def _moved(of: Case) -> int:
    """The bytes of its images and of its output."""
    return sum(
        [
            i.array.nbytes
            for i in (*of.inputs().values(), *[o.new() for o in of.outputs])
        ]
    )


__all__ = ["GROUP", "job", "names", "program_of", "small"]
