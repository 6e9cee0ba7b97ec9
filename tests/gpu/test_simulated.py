"""Kernels compute what the algorithm says, whatever their schedule: on the simulator,
whose device has memory of its own, and compared with the interpreter."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret

x, y, z, c = hl.vars("x y z c")
tx, ty, tz, bx, by, xi, yi = hl.vars("tx ty tz bx by xi yi")
TAILS = [
    hl.TailStrategy.Auto,
    hl.TailStrategy.ShiftInwards,
    hl.TailStrategy.GuardWithIf,
    hl.TailStrategy.Predicate,
]

Scheduled = tuple[hl.Func, list[int]]
CASES: list[Callable[[], Scheduled]] = []


def case(build: Callable[[], Scheduled]) -> Callable[[], Scheduled]:
    CASES.append(build)
    return build


@pytest.fixture(autouse=True)
def simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_GPU", "simulate")


def image(shape: tuple[int, ...], dtype: type = np.uint16) -> hl.Buffer:
    rng = np.random.default_rng(len(shape))
    return hl.Buffer(rng.integers(0, 255, shape[::-1]).astype(dtype))


def blurred(w: int = 70, h: int = 45) -> tuple[hl.Func, hl.Func]:
    source = hl.BoundaryConditions.repeat_edge(image((w, h)))
    blur_x, blur_y = hl.Func("blur_x"), hl.Func("blur_y")
    blur_x[x, y] = (source[x - 1, y] + source[x, y] + source[x + 1, y]) // 3
    blur_y[x, y] = (blur_x[x, y - 1] + blur_x[x, y] + blur_x[x, y + 1]) // 3
    return blur_x, blur_y


def check(f: hl.Func, size: list[int]) -> None:
    got = f.realize(size)
    wanted = interpret(f._function, [(0, n) for n in size])
    parts = got if isinstance(got, list | tuple) else [got]
    for one, other in zip(parts, wanted, strict=True):
        assert np.array_equal(np.asarray(one).T, other)


@case
def one_dimension() -> Scheduled:
    f = hl.Func("f")
    f[x] = x * x
    f.gpu_tile(x, tx, 16)
    return f, [100]


@case
def three_dimensions() -> Scheduled:
    f = hl.Func("f")
    f[x, y, z] = x + 10 * y + 100 * z
    f.gpu_tile(x, y, z, tx, ty, tz, 8, 4, 2)
    return f, [19, 9, 5]


@case
def blocks_alone() -> Scheduled:
    f = hl.Func("f")
    f[x, y] = x + 10 * y
    f.gpu_blocks(x, y)
    return f, [9, 5]


@case
def threads_and_serial_loops() -> Scheduled:
    f = hl.Func("f")
    f[x, y, c] = x + 10 * y + c
    f.gpu_tile(x, y, tx, ty, 8, 4).reorder(c, tx, ty, x, y)
    return f, [19, 9, 3]


@case
def shared_memory() -> Scheduled:
    blur_x, blur_y = blurred()
    blur_y.gpu_tile(x, y, tx, ty, 16, 8)
    blur_x.compute_at(blur_y, x).gpu_threads(x, y)
    return blur_y, [70, 45]


@case
def shared_memory_by_its_name() -> Scheduled:
    blur_x, blur_y = blurred()
    blur_y.gpu_tile(x, y, tx, ty, 16, 8)
    blur_x.compute_at(blur_y, x).store_in(hl.MemoryType.GPUShared).gpu_threads(x)
    return blur_y, [70, 45]


@case
def memory_of_the_device_for_each_block() -> Scheduled:
    blur_x, blur_y = blurred()
    blur_y.gpu_tile(x, y, tx, ty, 16, 8)
    blur_x.compute_at(blur_y, x).store_in(hl.MemoryType.Heap).gpu_threads(x, y)
    return blur_y, [70, 45]


@case
def too_much_to_share() -> Scheduled:
    source = hl.BoundaryConditions.repeat_edge(image((200, 130)))
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = hl.f32(source[x, y]) * 3 + hl.f32(source[x, y + 1])
    g[x, y] = f[x, y] + f[x + 1, y]
    g.tile(x, y, xi, yi, 128, 128).gpu_blocks(x, y).gpu_threads(xi)
    f.compute_at(g, x).store_in(hl.MemoryType.Heap).gpu_threads(x)
    return g, [200, 130]


@case
def one_thread_computes_for_all() -> Scheduled:
    blur_x, blur_y = blurred()
    blur_y.gpu_tile(x, y, tx, ty, 8, 8)
    blur_x.compute_at(blur_y, x)
    return blur_y, [70, 45]


@case
def registers() -> Scheduled:
    blur_x, blur_y = blurred()
    blur_y.gpu_tile(x, y, tx, ty, 16, 8)
    blur_x.compute_at(blur_y, tx).unroll(y)
    return blur_y, [70, 45]


@case
def tiles_of_a_thread() -> Scheduled:
    blur_x, blur_y = blurred()
    blur_y.tile(x, y, xi, yi, 32, 16).tile(xi, yi, tx, ty, 2, 2)
    blur_y.unroll(tx).unroll(ty).gpu_blocks(x, y).gpu_threads(xi, yi)
    blur_x.compute_at(blur_y, x).split(x, x, xi, 2).unroll(xi).gpu_threads(x, y)
    return blur_y, [70, 45]


@case
def vectors_of_a_thread() -> Scheduled:
    blur_x, blur_y = blurred(128, 32)
    blur_y.split(x, x, xi, 4).vectorize(xi).gpu_tile(x, y, tx, ty, 8, 8)
    blur_x.compute_at(blur_y, x).vectorize(x, 4).gpu_threads(x, y)
    return blur_y, [128, 32]


@case
def threads_inside_a_loop_over_threads() -> Scheduled:
    blur_x, blur_y = blurred()
    blur_y.tile(x, y, tx, ty, 16, 8).gpu_blocks(x, y).gpu_threads(ty)
    blur_x.compute_at(blur_y, ty).gpu_threads(x)
    blur_y.gpu_threads(tx)
    return blur_y, [70, 45]


@case
def a_serial_loop_between_blocks_and_threads() -> Scheduled:
    blur_x, blur_y = blurred()
    blur_y.tile(x, y, xi, yi, 32, 8).split(yi, yi, ty, 2)
    blur_y.reorder(xi, ty, yi, x, y).gpu_blocks(x, y).gpu_threads(xi, ty)
    blur_x.compute_at(blur_y, yi).gpu_threads(x, y)
    return blur_y, [70, 45]


@case
def a_window_that_slides_in_a_block() -> Scheduled:
    blur_x, blur_y = blurred()
    blur_y.tile(x, y, xi, yi, 32, 8).gpu_blocks(x, y).gpu_threads(xi)
    blur_x.store_at(blur_y, x).compute_at(blur_y, yi).gpu_threads(x)
    return blur_y, [70, 45]


@case
def several_kernels() -> Scheduled:
    blur_x, blur_y = blurred()
    blur_y.gpu_tile(x, y, tx, ty, 16, 8)
    blur_x.compute_root().gpu_tile(x, y, tx, ty, 32, 4)
    return blur_y, [70, 45]


@case
def the_producer_on_the_host() -> Scheduled:
    blur_x, blur_y = blurred()
    blur_y.gpu_tile(x, y, tx, ty, 16, 8)
    blur_x.compute_root().vectorize(x, 8).parallel(y)
    return blur_y, [70, 45]


@case
def the_consumer_on_the_host() -> Scheduled:
    blur_x, blur_y = blurred()
    blur_y.vectorize(x, 8).parallel(y)
    blur_x.compute_root().gpu_tile(x, y, tx, ty, 16, 8)
    return blur_y, [70, 45]


@case
def a_kernel_in_a_serial_loop_of_the_host() -> Scheduled:
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y, c] = x + 10 * y + 7 * c
    g[x, y, c] = f[x, y, c] + f[x + 1, y, c]
    g.gpu_tile(x, y, tx, ty, 8, 8)
    f.compute_at(g, c).gpu_tile(x, y, tx, ty, 8, 4)
    return g, [19, 9, 3]


@case
def a_chain_in_shared_memory() -> Scheduled:
    source = hl.BoundaryConditions.mirror_image(image((50, 40)))
    stages = [hl.Func(f"stage{k}") for k in range(4)]
    before: hl.Func = source
    for s in stages:
        s[x, y] = before[x - 1, y] + 2 * before[x, y + 1] + before[x + 1, y]
        before = s
    stages[-1].gpu_tile(x, y, tx, ty, 16, 4)
    for s in stages[:-1]:
        s.compute_at(stages[-1], x).gpu_threads(x, y)
    return stages[-1], [50, 40]


@case
def an_update_of_each_point() -> Scheduled:
    r = hl.RDom([(0, 5), (0, 5)])
    source = hl.BoundaryConditions.repeat_edge(image((40, 30), np.int32))
    f = hl.Func("f")
    f[x, y] = 1
    f[x, y] += source[x + r.x - 2, y + r.y - 2]
    f.gpu_tile(x, y, tx, ty, 8, 8)
    f.update().gpu_tile(x, y, tx, ty, 16, 4)
    return f, [40, 30]


@case
def an_update_in_shared_memory() -> Scheduled:
    r = hl.RDom([(0, 7)])
    source = hl.BoundaryConditions.repeat_edge(image((40, 30), np.int32))
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = 0
    f[x, y] += source[x + r - 3, y]
    g[x, y] = f[x, y - 1] + f[x, y + 1]
    g.gpu_tile(x, y, tx, ty, 8, 8)
    f.compute_at(g, x).gpu_threads(x, y)
    f.update().gpu_threads(x, y)
    return g, [40, 30]


@case
def an_update_that_moves_between_threads() -> Scheduled:
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = x * 3
    f[x] = f[x] + f[x] % 7
    g[x] = f[x] + f[x + 5] + f[x - 3]
    g.gpu_tile(x, tx, 16)
    f.compute_at(g, x).gpu_threads(x)
    f.update().gpu_threads(x)
    return g, [100]


@case
def a_sum_by_parts() -> Scheduled:
    source = image((1000,), np.int32)
    r = hl.RDom([(0, 1000)])
    f = hl.Func("f")
    f[()] = 0
    f[()] += source[r.x]
    ro, ri, u = hl.RVar("ro"), hl.RVar("ri"), hl.Var("u")
    parts = f.update().split(r.x, ro, ri, 50).rfactor(ro, u)
    parts.compute_root().gpu_tile(u, tx, 4)
    parts.update().gpu_tile(u, tx, 4)
    return f, []


@case
def a_histogram_by_atomics() -> Scheduled:
    source = image((60, 50), np.uint8)
    r = hl.RDom([(0, 60), (0, 50)])
    f = hl.Func("f")
    f[x] = 0
    f[source[r.x, r.y]] += 1
    f.gpu_tile(x, tx, 32)
    rx, ry = hl.RVar("rx"), hl.RVar("ry")
    f.update().atomic().gpu_tile(r.x, r.y, rx, ry, 16, 8)
    return f, [256]


@case
def a_single_thread() -> Scheduled:
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = x * x
    f[x] += 1
    g[x] = f[x] + f[x + 2]
    g.gpu_single_thread()
    f.compute_root().gpu_single_thread()
    f.update().gpu_single_thread()
    return g, [30]


@case
def tuples() -> Scheduled:
    source = hl.BoundaryConditions.repeat_edge(image((40, 30)))
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = hl.Tuple(source[x, y] + 1, hl.f32(source[x, y]) * 0.5)
    g[x, y] = hl.Tuple(f[x + 1, y][0], f[x, y + 1][1] + 1.0)
    g.gpu_tile(x, y, tx, ty, 8, 8)
    f.compute_at(g, x).gpu_threads(x, y)
    return g, [40, 30]


@case
def a_specialised_kernel() -> Scheduled:
    f = hl.Func("f")
    f[x, y] = x + 10 * y
    width = f.output_buffer().dim(0).extent()
    f.specialize(width > 50).gpu_tile(x, y, tx, ty, 32, 2)
    f.gpu_tile(x, y, tx, ty, 4, 4)
    return f, [41, 9]


@case
def look_up_by_data() -> Scheduled:
    source, table = image((40, 30), np.uint8), hl.Func("table")
    f = hl.Func("f")
    table[x] = hl.u8(hl.sqrt(hl.f32(x) * 255.0))
    f[x, y] = table[hl.i32(source[x, y])]
    f.gpu_tile(x, y, tx, ty, 8, 8)
    table.compute_root().gpu_tile(x, tx, 32)
    return f, [40, 30]


@case
def a_table_in_each_block() -> Scheduled:
    source, table = image((40, 30), np.uint8), hl.Func("table")
    f = hl.Func("f")
    table[x] = hl.u8(hl.sqrt(hl.f32(x) * 255.0))
    f[x, y] = table[hl.i32(source[x, y])]
    f.gpu_tile(x, y, tx, ty, 8, 8)
    table.compute_at(f, x).bound_extent(x, 256).split(x, x, tx, 8).gpu_threads(x, tx)
    return f, [40, 30]


@case
def lanes() -> Scheduled:
    blur_x, blur_y = blurred(64, 32)
    blur_y.tile(x, y, tx, ty, 32, 4).gpu_blocks(x, y).gpu_threads(ty).gpu_lanes(tx)
    blur_x.compute_at(blur_y, ty).gpu_lanes(x, hl.DeviceAPI.Default_GPU)
    return blur_y, [64, 32]


@pytest.mark.parametrize("build", CASES, ids=lambda f: f.__name__)
def test_kernels_compute_the_algorithm(build: Callable[[], Scheduled]) -> None:
    check(*build())


@pytest.mark.parametrize("tail", TAILS, ids=lambda t: t.name)
@pytest.mark.parametrize("size", [(70, 45), (64, 48), (16, 8)], ids=str)
def test_tails(tail: hl.TailStrategy, size: tuple[int, int]) -> None:
    blur_x, blur_y = blurred(*size)
    blur_y.gpu_tile(x, y, bx, by, tx, ty, 16, 8, tail)
    blur_x.compute_at(blur_y, bx).gpu_threads(x, y)
    check(blur_y, list(size))
