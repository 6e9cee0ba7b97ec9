"""Faults that were found in kernels, each as small as it could be made."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import parhelion as hl
from parhelion.codegen.llvm import emit_with_sites
from parhelion.codegen.target import host_target
from parhelion.ir.device import device_of
from parhelion.lower import passes
from parhelion.lower.options import LowerOptions
from parhelion.runtime.kernels import ptx_of
from parhelion.schedule.spec import PipelineSpec

x, y, tx, ty = hl.vars("x y tx ty")
LEVELS = np.random.default_rng(2).integers(0, 7, (12, 90)).astype(np.uint8)


@pytest.fixture(autouse=True)
def simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_GPU", "simulate")


def ptx(f: hl.Func) -> str:
    device = device_of("sm_80")
    spec = PipelineSpec.of([f._function], ())
    options = LowerOptions(target=host_target(), device=device)
    made = emit_with_sites(passes.lower(spec, name="f", options=options), host_target())
    return ptx_of(made, device)


def counted() -> tuple[hl.Func, hl.RDom]:
    r = hl.RDom([(0, 90)])
    f = hl.Func("f")
    f[x, y] = 0
    f[hl.Buffer(LEVELS)[r.x, y], y] += 1
    return f, r


def test_atomic_updates_by_threads_are_atomic() -> None:
    """Threads that count the same level lost counts: only updates in parallel loops
    of the host were marked."""
    f, r = counted()
    f.gpu_blocks(y).gpu_threads(x)
    f.update().atomic().gpu_blocks(y).gpu_threads(r.x)
    assert "atom." in ptx(f) or "red." in ptx(f)


def test_atomic_updates_of_shared_memory() -> None:
    f, r = counted()
    g = hl.Func("g")
    g[x, y] = f[x, y] + f[6 - x, y]
    g.bound(x, 0, 7).gpu_blocks(y).gpu_threads(x)
    f.compute_at(g, y).gpu_threads(x)
    f.update().atomic().gpu_threads(r.x)
    counts = np.stack([np.bincount(line, minlength=7) for line in LEVELS])
    assert np.array_equal(np.asarray(g.realize([7, 12])), counts + counts[:, ::-1])


@pytest.mark.parametrize("reach", [3, 9])
def test_storage_whose_bound_the_host_checks(reach: int) -> None:
    """Its size depends on a Param: a check of it in the kernel was refused."""
    n = hl.Param(hl.Int(32), "n", reach)
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = x + 100 * y
    g[x, y] = f[x, y] + f[x + n, y]
    g.gpu_tile(x, y, tx, ty, 16, 4)
    f.compute_at(g, x).bound_storage(x, 20).gpu_threads(x, y)
    if reach == 9:
        with pytest.raises(hl.BoundsError, match="bound in dimension x to 20, but 25"):
            g.realize([40, 10])
        # It is never asked for.
        assert np.asarray(g.realize([0, 10])).size == 0
        return
    one = np.add.outer(100 * np.arange(10), np.arange(40))
    assert np.array_equal(np.asarray(g.realize([40, 10])), 2 * one + 3)


def test_threads_beyond_the_extent_of_an_iteration_do_nothing() -> None:
    """The window of `f` slides: 16 values in the first iteration, one in each of the
    others, for which 24 threads were let in as there was no doubt that the Var of the
    loop stays within the iteration's own bounds."""
    r = hl.RDom([(0, 9)])
    f, g = hl.funcs("f g")
    f[x, y] = x + y
    f[x, y] = f[x, y] * 2 + 1
    g[x, y] = 0
    g[x, y] += f[x + r.x, y]
    g.bound(x, 0, 16).gpu_blocks(y).gpu_threads(x)
    g.update().reorder(x, r.x, y).gpu_blocks(y).gpu_threads(x)
    f.store_at(g, y).compute_at(g, r.x).gpu_threads(x)
    f.update().gpu_threads(x)
    doubled = 2 * np.add.outer(np.arange(3), np.arange(24)) + 1
    sums = sum([doubled[:, k : k + 16] for k in range(9)])
    assert np.array_equal(np.asarray(g.realize([16, 3])), sums)


def test_barrier_between_iterations_that_use_other_elements() -> None:
    """Thread 1 of one iteration and thread 0 of the next touch one element, though
    both are at the thread's number plus the loop's variable."""
    r = hl.RDom([(0, 16), (0, 5)])
    f = hl.Func("f")
    f[x, y] = x
    f[r.x + r.y, y] = f[r.x + r.y, y] * 3 + r.x
    f.gpu_blocks(y).gpu_threads(x)
    update = f.update().allow_race_conditions().reorder(r.x, r.y, y)
    update.gpu_blocks(y).gpu_threads(r.x)
    assert ptx(f).count("bar.sync") == 1


def test_two_threads_may_store_one_value_of_a_pure_definition() -> None:
    """A tile of 33 values in vectors of 4: the last vector was shifted to where the one
    before it ends, which the simulator called a race."""
    f, g = hl.funcs("f g")
    xi, yi = hl.vars("xi yi")
    f[x, y] = hl.f32(x * y) / hl.f32(x)  # not a number at 0
    g[x, y] = f[x, y] + f[x + 1, y]
    g.tile(x, y, xi, yi, 32, 8).vectorize(xi, 4).gpu_blocks(x, y).gpu_threads(xi, yi)
    f.compute_at(g, x).vectorize(x, 4).gpu_threads(x, y)
    h = hl.Func("h")
    h[x, y] = hl.f32(x * y) / hl.f32(x) + hl.f32((x + 1) * y) / hl.f32(x + 1)
    expected, found = [np.asarray(k.realize([70, 20])) for k in (h, g)]
    assert np.array_equal(found, expected, equal_nan=True)


def test_two_threads_store_one_value_in_loops_that_stages_share() -> None:
    f, g, h = hl.funcs("f g h")
    f[x, y] = x * y
    g[x, y] = x - y
    h[x, y] = f[x, y] + f[x + 1, y] + g[x, y] + g[x + 1, y]
    h.gpu_tile(x, y, tx, ty, 16, 8)
    for one in (f, g):
        one.compute_at(h, x).vectorize(x, 4).gpu_threads(x, y)
    g.compute_with(f, x)
    column, row = np.arange(34), np.arange(21)[:, None]
    expected = (2 * column + 1) * (row + 1) - 2 * row
    assert np.array_equal(np.asarray(h.realize([34, 21])), expected)


def test_race_of_an_update_that_stores_one_value_twice() -> None:
    f, g = hl.funcs("f g")
    r = hl.RDom([(0, 16)])
    f[x, y] = 0
    f[r.x / 2, y] = 5
    g[x, y] = f[x, y] + f[7 - x, y]
    g.bound(x, 0, 8).gpu_blocks(y).gpu_threads(x)
    f.compute_at(g, y).gpu_threads(x)
    f.update().allow_race_conditions().gpu_threads(r.x)
    with pytest.raises(hl.PipelineRuntimeError, match="two threads of a block"):
        g.realize([8, 3])


@pytest.mark.parametrize("kernels", ["producer", "consumer", "both"])
def test_memoized_funcs_of_kernels(kernels: str) -> None:
    """What the cache keeps is in main memory: kernels stored to, and read, a copy on
    the device that nobody had filled, or the program had no code."""
    n = hl.Param(hl.Int(32), "n", 3)
    f, g = hl.funcs("f g")
    f[x, y] = (x * n + y, x - n)
    g[x, y] = f[x, y][0] * 2 + f[x + 1, y][1]
    f.compute_root().memoize()
    if kernels != "consumer":
        f.gpu_tile(x, y, tx, ty, 8, 8)
    if kernels != "producer":
        g.gpu_tile(x, y, tx, ty, 8, 8)
    column, row = np.arange(30), np.arange(20)[:, None]
    for k in (3, 4, 3, 4):
        n.set(k)
        expected = 2 * (column * k + row) + column + 1 - k
        assert np.array_equal(np.asarray(g.realize([30, 20])), expected)


def test_memoized_inside_of_a_kernel() -> None:
    f, g = hl.funcs("f g")
    f[x, y] = x + y
    g[x, y] = f[x, y] + f[x + 1, y]
    g.gpu_tile(x, y, tx, ty, 8, 8)
    f.compute_at(g, x).gpu_threads(x, y).memoize()
    with pytest.raises(hl.ScheduleError, match="in a kernel, whose threads cannot ask"):
        g.realize([16, 16])


def test_callable_with_kernels() -> None:
    """It was compiled for no device."""
    image = hl.ImageParam(hl.UInt(8), 2)
    f, g = hl.funcs("f g")
    f[x, y] = hl.i32(image[x, y]) * 3
    g[x, y] = f[x, y] + 1
    f.compute_root().gpu_tile(x, y, tx, ty, 8, 4)
    g.gpu_tile(x, y, tx, ty, 8, 4)
    call = g.compile_to_callable([image])
    result = np.zeros(LEVELS.shape, np.int32)
    call(LEVELS, result)
    assert np.array_equal(result, LEVELS.astype(np.int32) * 3 + 1)


@pytest.mark.parametrize(
    ("directive", "said"),
    [
        (hl.Func.async_, "which is async, would have to run in a kernel"),
        (hl.Func.compute_lazy, "which is computed on demand, would have to run"),
    ],
)
def test_host_code_in_kernels_is_named(
    directive: Callable[[hl.Func], hl.Func], said: str
) -> None:
    f, g = hl.funcs("f g")
    f[x, y] = x + y
    g[x, y] = f[x, y] + f[x + 1, y]
    g.gpu_tile(x, y, tx, ty, 8, 8)
    f.compute_at(g, x)
    directive(f)
    with pytest.raises(hl.ScheduleError, match=said):
        g.realize([16, 16])


def test_host_updates_what_kernels_compute_row_by_row() -> None:
    """Each kernel was taken to write all of `f`, so that the rows that the host had
    updated before were lost."""
    f, g = hl.funcs("f g")
    f[x, y] = x + y * y
    f[x, y] = f[x, y] * 3 + 1
    g[x, y] = f[x, y] * 2 + f[x + 1, y + 2]
    f.store_root().compute_at(g, y).gpu_tile(x, tx, 8)
    f.update().unscheduled()
    column, row = np.arange(31), np.arange(22)[:, None]
    values = 3 * (column + row * row) + 1
    expected = 2 * values[:20, :30] + values[2:, 1:]
    assert np.array_equal(np.asarray(g.realize([30, 20])), expected)


@pytest.mark.parametrize("inlined", [False, True])
def test_undefined_values_of_kernels_leave_what_was_there(inlined: bool) -> None:
    f = hl.Func("f")
    f[x, y] = hl.select(x > y, x * y, hl.undef(hl.Int(32)))
    g = hl.Func("g")
    g[x, y] = f[x, y]
    last = g if inlined else f
    last.gpu_tile(x, y, tx, ty, 8, 8)
    found = np.full((20, 30), -7, np.int32)
    last.realize(found)
    column, row = np.arange(30), np.arange(20)[:, None]
    assert np.array_equal(found, np.where(column > row, column * row, -7))


def test_barrier_between_atomic_updates() -> None:
    """A thread took the maximum in the second update while others still added in the
    first one."""
    r = hl.RDom([(0, 64)])
    f, g = hl.funcs("f g")
    f[x, y] = 0
    f[r.x * 7 % 16, y] += r.x
    f[r.x * 5 % 16, y] = hl.max(f[r.x * 5 % 16, y], r.x + 200)
    g[x, y] = f[x, y]
    g.bound(x, 0, 16).gpu_blocks(y).gpu_threads(x)
    f.compute_at(g, y).gpu_threads(x)
    for update in (f.update(0), f.update(1)):
        update.atomic().gpu_threads(r.x)
    steps = [
        line.split()[0]
        for line in ptx(g).split("\n")
        if "atom" in line or "bar." in line
    ]
    assert [step.split(".")[0] for step in steps] == [
        "bar",
        "atom",
        "bar",
        "atom",
        "bar",
    ]


def test_cuda_is_a_device() -> None:
    f, g = hl.funcs("f g")
    f[x, y] = x + y
    g[x, y] = f[x, y] + f[x + 1, y]
    api = hl.DeviceAPI.CUDA
    g.gpu_tile(x, y, tx, ty, 8, 8, device_api=api)
    f.compute_at(g, x).gpu_threads(x, y, api)
    image = hl.Buffer(hl.Int(32), [16, 9])
    g.realize(image)
    assert image.copy_to_device(api) == 0
    expected = np.add.outer(2 * np.arange(9), 2 * np.arange(16) + 1)
    assert np.array_equal(np.asarray(image), expected)
    with pytest.raises(hl.ScheduleError, match="no kernels for DeviceAPI.Host"):
        f.gpu_threads(x, y, hl.DeviceAPI.Host)
