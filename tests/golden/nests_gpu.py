"""Loop nests over the blocks and threads of a GPU, for `test_loop_nests`."""

from __future__ import annotations

from typing import Any

from tests.golden.nests import Module, Pipeline, case, variables


def two(hl: Module) -> tuple[Any, Any]:
    x, y = variables(hl, "x y")
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = x + y
    g[x, y] = f[x, y] + f[x + 1, y]
    return f, g


@case
def gpu_tile_with_its_producer_in_the_block(hl: Module) -> Pipeline:
    x, y, bx, by, tx, ty = variables(hl, "x y bx by tx ty")
    f, g = two(hl)
    g.gpu_tile(x, y, bx, by, tx, ty, 8, 8)
    f.compute_at(g, bx).gpu_threads(x, y)
    return g


@case
def gpu_tile_of_one_loop(hl: Module) -> Pipeline:
    x, y, t = variables(hl, "x y t")
    _, g = two(hl)
    g.gpu_tile(y, t, 16)
    return g


@case
def gpu_loops_of_cuda_and_others(hl: Module) -> Pipeline:
    """The loops that a directive marks have the name of the device that it is given."""
    x, y, bx, by, tx, ty = variables(hl, "x y bx by tx ty")
    f, g = two(hl)
    cuda = hl.DeviceAPI.CUDA
    g.gpu_tile(x, y, bx, by, tx, ty, 8, 4, hl.TailStrategy.Auto, cuda)
    f.compute_at(g, bx).gpu_threads(x, cuda).gpu_threads(y)
    return g


@case
def gpu_tile_keeping_the_names(hl: Module) -> Pipeline:
    x, y, tx, ty = variables(hl, "x y tx ty")
    f, g = two(hl)
    f.compute_root().gpu_tile(x, y, tx, ty, 32, 4, hl.TailStrategy.GuardWithIf)
    g.gpu_blocks(y).gpu_threads(x)
    return g


@case
def gpu_lanes_inside_threads(hl: Module) -> Pipeline:
    x, y, xo, xi = variables(hl, "x y xo xi")
    f, g = two(hl)
    f.compute_at(g, xo)
    g.split(x, xo, xi, 32).gpu_blocks(y).gpu_threads(xo).gpu_lanes(xi)
    return g


@case
def gpu_over_all_loops(hl: Module) -> Pipeline:
    x, y, xi, yi = variables(hl, "x y xi yi")
    _, g = two(hl)
    g.tile(x, y, xi, yi, 16, 8).gpu(x, y, xi, yi)
    return g
