"""The kernels of recursive filters (2015 paper, section 8): how many there are, how
often they go over an image, and that the GPU's assembler takes them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import parhelion as hl
from apps.recursive import boxes
from apps.recursive.box import THREE, box_by_tables
from benchmarks import gpu_kernels
from benchmarks.gpu_kernels import CUDA, RECURSIVE
from parhelion.codegen.nvptx.assemble import find_ptxas
from parhelion.ir.build import const_int
from parhelion.ir.expr import Load
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import Allocate, Stmt, Store
from parhelion.runtime import devices

Array = NDArray[Any]
Way = Callable[[Array, tuple[int, int], hl.Target | None], hl.Func]

#: How many kernels each has: of tiles of 32 x 32 points along x and y at once, or along
#: each by itself if the border is not zero.
KERNELS = {
    "summed-area table": 5,
    "box by a table": 6,
    "B-spline": 10,
    "Gaussian of order 1": 10,
    "Gaussian of order 2": 10,
    "Gaussian of order 3": 10,
    "difference of Gaussians, the paper's": 12,
    "difference of Gaussians": 6,
}


@pytest.mark.parametrize("name", RECURSIVE)
def test_the_assembler_takes_the_kernels(name: str) -> None:
    if find_ptxas() is None:
        pytest.skip("no ptxas: pip install nvidia-cuda-nvcc-cu12")
    found = gpu_kernels.kernels(gpu_kernels.recursive(RECURSIVE[name]()))
    assert len(found) == KERNELS[name]
    for k in found:
        assert [a.arch for a in k.on] == list(gpu_kernels.ARCHS)
        assert k.spills() == [0, 0], k
        assert k.frame() == 0, k


@pytest.mark.parametrize(
    ("way", "launches"), [(boxes.by_tables_of_two, 12), (boxes.by_a_table_of_three, 6)]
)
def test_a_difference_of_gaussians(
    way: Way, launches: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both Gaussians are in the same kernels, of which the paper counts 13."""
    monkeypatch.setenv("PARHELION_GPU", "simulate")
    image = np.random.default_rng(1).integers(0, 256, (61, 83)).astype(np.uint8)
    narrow, wide = [box_by_tables(image, r, THREE).astype(float) for r in (2, 4)]
    f = way(image, (2, 4), CUDA)
    f.compile_jit()
    devices.reset_counts()
    got = np.asarray(f.realize([83, 61], CUDA))
    assert (devices.counts().launches, devices.counts().to_host) == (launches, 1)
    np.testing.assert_allclose(got, narrow - wide, atol=1e-4)
    on_cpu = boxes.difference_of_boxes(image, 2, 4, way=way)
    np.testing.assert_allclose(on_cpu, got, atol=1e-4)


@pytest.mark.parametrize(
    ("way", "times"), [(boxes.by_tables_of_two, 11), (boxes.by_a_table_of_three, 5)]
)
def test_how_often_whole_images_are_read_and_written(way: Way, times: int) -> None:
    """The paper counts 10 times, with both Gaussians in the same kernels. The image is
    of uint8, the difference of float32, and all tables of int64."""
    size = 512
    f = way(np.zeros((size, size), np.uint8), (4, 9), CUDA)
    program = gpu_kernels.lowered(gpu_kernels.recursive(f), "sm_80")
    large = {
        s.buffer
        for s in _statements(program.body)
        if isinstance(s, Allocate)
        and math.prod([const_int(e) or 0 for e in s.extents]) >= size * size
    }
    used = {n.buffer for n in nodes(program.body) if isinstance(n, Load | Store)}
    large |= {s for s in used if str(s.type) in ("uint8", "float32")}
    found = 0
    for loop in gpu_kernels.loops_over_blocks(program):
        read = {n.buffer for n in nodes(loop) if isinstance(n, Load)}
        written = {n.buffer for n in nodes(loop) if isinstance(n, Store)}
        found += len(read & large) + len(written & large)
    assert found == times


def _statements(s: Stmt) -> Iterator[Stmt]:
    yield s
    for c in s.children():
        if isinstance(c, Stmt):
            yield from _statements(c)
