"""Schedules that no kernel can be made of: what is said, and of which line."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import parhelion as hl

x, y, tx, ty, xi, yi = hl.vars("x y tx ty xi yi")


@pytest.fixture(autouse=True)
def simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_GPU", "simulate")


def pair() -> tuple[hl.Func, hl.Func]:
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = x + y
    g[x, y] = f[x, y] + f[x + 1, y]
    return f, g


BAD: list[tuple[str, Callable[[], hl.Func]]] = []


def bad(message: str) -> Callable[[Callable[[], hl.Func]], Callable[[], hl.Func]]:
    def add(build: Callable[[], hl.Func]) -> Callable[[], hl.Func]:
        BAD.append((message, build))
        return build

    return add


@bad("g: the loop over x is over the threads of a block of a GPU, but is in no loop")
def threads_without_blocks() -> hl.Func:
    _, g = pair()
    return g.gpu_threads(x)


@bad("g: the loop over x is over blocks of 32 x 64 threads")
def too_many_threads() -> hl.Func:
    _, g = pair()
    return g.gpu_tile(x, y, tx, ty, 32, 64).reorder(tx, ty, y, x)


@bad("f: the loop over y is over blocks of a GPU, but is in a kernel")
def blocks_in_a_kernel() -> hl.Func:
    f, g = pair()
    g.gpu_tile(x, y, tx, ty, 8, 8)
    f.compute_at(g, x).gpu_blocks(x, y)
    return g


@bad("g: the loop over x is over blocks of a GPU, but is in a kernel")
def a_serial_loop_between_blocks() -> hl.Func:
    _, g = pair()
    g.tile(x, y, xi, yi, 8, 8).reorder(xi, x, yi, y).gpu_blocks(y, x)
    return g.gpu_threads(xi)


@bad("the storage of f takes 264192 bytes for a block, and the most is 49152")
def too_much_shared_memory() -> hl.Func:
    f, g = pair()
    g.tile(x, y, xi, yi, 256, 256).gpu_blocks(x, y).gpu_threads(xi)
    f.compute_at(g, x).gpu_threads(x)
    f.bound_extent(x, 258)
    return g


@bad("g: the loop over y is over blocks that share 66560 bytes of memory at once")
def too_much_for_all_stages() -> hl.Func:
    e, f, g = hl.Func("e"), hl.Func("f"), hl.Func("g")
    e[x, y] = x + y
    f[x, y] = x - y
    g[x, y] = e[x, y] + f[x + 1, y] * e[x + 1, y] - f[x, y]
    g.tile(x, y, xi, yi, 64, 128).gpu_blocks(x, y).gpu_threads(xi)
    for stage in (e, f):
        stage.compute_at(g, x).gpu_threads(x)
    return g


@bad("the storage of f has no constant size, which memory of a block needs")
def storage_without_a_size() -> hl.Func:
    f, g = pair()
    g.gpu_blocks(y).split(x, x, xi, 8).gpu_threads(xi)
    f.compute_at(g, y).gpu_threads(x)
    return g


@bad("the storage of f is outside of kernels: only the threads of a block share memory")
def shared_memory_at_the_root() -> hl.Func:
    f, g = pair()
    f.compute_root().store_in(hl.MemoryType.GPUShared)
    return g


@bad("the storage of f is that of a thread, but several threads of a block use")
def registers_for_all_threads() -> hl.Func:
    f, g = pair()
    g.gpu_tile(x, y, tx, ty, 8, 8)
    f.compute_at(g, x).store_in(hl.MemoryType.Register).gpu_threads(x, y)
    return g


@bad("the storage of f is inside of a loop over threads, where storage is a thread's")
def shared_memory_of_a_thread() -> hl.Func:
    f, g = pair()
    g.gpu_tile(x, y, tx, ty, 8, 8)
    f.compute_at(g, tx).store_in(hl.MemoryType.GPUShared)
    return g


@bad("g: the loop over x is over the blocks of a kernel, but inside of a parallel loop")
def a_kernel_in_a_parallel_loop() -> hl.Func:
    f, g = pair()
    g.parallel(y)
    return g.split(x, x, xi, 8).gpu_blocks(x).gpu_threads(xi)


@bad("g: the loop over yi is vectorized and has loops over threads of a GPU inside")
def vectors_around_threads() -> hl.Func:
    _, g = pair()
    g.tile(x, y, xi, yi, 8, 4).gpu_blocks(x, y).vectorize(yi)
    return g.gpu_threads(xi)


@bad("f: the loop over y is parallel, but is in a kernel")
def host_threads_in_a_kernel() -> hl.Func:
    f, g = pair()
    g.gpu_tile(x, y, tx, ty, 8, 8)
    f.compute_at(g, x).parallel(y)
    return g


@pytest.mark.parametrize(
    "message, build", BAD, ids=[build.__name__ for _, build in BAD]
)
def test_refusals(message: str, build: Callable[[], hl.Func]) -> None:
    f = build()
    with pytest.raises(hl.ScheduleError) as caught:
        f.realize([300, 300])
    assert message in str(caught.value)
    # At the line of the schedule, in the function that gives it.
    at = caught.value.at
    assert at is not None and at.file == __file__
    first = build.__code__.co_firstlineno
    assert first < at.line <= first + 8


def test_an_error_leaves_later_kernels_working() -> None:
    with pytest.raises(hl.ScheduleError):
        too_many_threads().realize([64, 64])
    _, g = pair()
    g.gpu_tile(x, y, tx, ty, 16, 16)
    g.realize([64, 64])
