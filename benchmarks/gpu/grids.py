"""The bilateral grid's reduction alone: a block for each cell with atomic additions,
and a thread for each cell (2012 paper, section 6.3: 40 ms beside 11 ms for all)."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from apps import bilateral_grid
from apps.bilateral_grid import CELL, SETTINGS
from benchmarks.case import Tolerance
from benchmarks.cases import case
from benchmarks.gpu import nvcc, ours
from benchmarks.gpu.contender import Contender, Images, Job, Ready
from benchmarks.gpu.device import Device
from benchmarks.gpu.rivals import own

GROUP = "bilateral grid"
CELLS, ATOMICS = "a thread for each cell", "a block for each cell, atomics"
#: Planes of the volume: of an `r_sigma` of 0.1, from 0 to 10.
PLANES = 11


def _reduction(function: str, name: str) -> Contender:
    def make(library: Any, device: Device, images: Images) -> Ready:
        array = images["input"].array
        height, width = array.shape
        columns, rows = width // CELL + 2, height // CELL + 2
        given, shape = device.copy_of(array), (2, PLANES, rows, columns)
        grid = device.room(4 * int(np.prod(shape)))
        scale = ctypes.c_float(1 / SETTINGS["r_sigma"])
        call = getattr(library, function)

        def run() -> None:
            sizes = (width, height, columns, rows, PLANES)
            nvcc.checked(call(grid.pointer, given.pointer, *sizes, scale))

        return Ready(run, lambda: grid.read(shape, np.float32))

    return own("bilateral", name, make)


def names() -> list[str]:
    return ["whole", "reduction"]


def job(name: str, *, simulated: bool = False) -> Job:
    """The application under both schedules, or the reduction in CUDA."""
    of = case("bilateral_grid")
    if name == "whole":
        ways = bilateral_grid.GPU_SCHEDULES
        made = [
            ours.by_hand(of, CELLS, ways["gpu, cells"]),
            ours.by_hand(of, ATOMICS, ways["gpu, atomics"]),
        ]
    else:
        made = [
            _reduction("grid_by_cells", CELLS),
            _reduction("grid_by_atomics", ATOMICS),
        ]
    return Job(name, GROUP, of.size, of.inputs, tuple(made), Tolerance(1e-4))


__all__ = ["ATOMICS", "CELLS", "GROUP", "job", "names"]
