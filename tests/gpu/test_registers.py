"""Storage of a block that becomes registers of its threads: what is proved, what is
computed, and what is said where it cannot be."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret
from parhelion.ir import stmt as S
from parhelion.ir.build import const_int
from parhelion.ir.device import Device
from parhelion.ir.stmt import MemoryKind, Stmt
from parhelion.lower.options import LowerOptions
from parhelion.lower.passes import lower
from tests.gpu.harness import assembled
from tests.gpu.test_pipelines import computed, kernels
from tests.support.spec import spec_of

x, y, tx, ty, xi, yi = hl.vars("x y tx ty xi yi")
ko, ki = hl.RVar("ko"), hl.RVar("ki")


@pytest.fixture(autouse=True)
def simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_GPU", "simulate")


def image(width: int, height: int, seed: int = 0) -> hl.Buffer:
    """Small whole numbers, whose sums are exact in any order."""
    rng = np.random.default_rng(seed)
    return hl.Buffer(rng.integers(-8, 8, (height, width)).astype(np.float32))


def product(depth: int = 20, tile: int = 16, each: int = 4) -> tuple[hl.Func, hl.Func]:
    """A staged matrix product: tiles of both factors in shared memory, sums of
    `each` x `each` elements in registers."""
    a, b = image(depth, 40), image(50, depth, 1)
    out, prod = hl.funcs("out prod")
    k = hl.RDom([(0, depth)], "k")
    left, right = hl.Func("left"), hl.Func("right")
    left[x, y] = a[x, y]
    right[x, y] = b[x, y]
    prod[x, y] = 0.0
    prod[x, y] += left[k.x, y] * right[x, k.x]
    out[x, y] = prod[x, y]
    out.tile(x, y, xi, yi, tile, tile).split(xi, tx, xi, each).split(yi, ty, yi, each)
    out.reorder(xi, yi, tx, ty, x, y).vectorize(xi).unroll(yi)
    out.gpu_blocks(x, y).gpu_threads(tx, ty)
    prod.compute_at(out, x)
    update = prod.update(0).split(k.x, ko, ki, 8)
    for stage, inner, outer in ((prod, [], []), (update, [ki], [ko])):
        stage.split(x, tx, xi, each).split(y, ty, yi, each)
        stage.reorder(xi, yi, *inner, tx, ty, *outer).vectorize(xi).unroll(yi)
        stage.gpu_threads(tx, ty)
    left.compute_at(prod, ko).split(y, ty, yi, each).reorder(yi, x, ty).unroll(yi)
    left.gpu_threads(x, ty)
    right.compute_at(prod, ko).split(x, tx, xi, each).vectorize(xi).gpu_threads(tx, y)
    return out, prod


def places(f: hl.Func) -> dict[str, tuple[MemoryKind, int]]:
    """Where each Func in the kernels of a pipeline is stored, and how many elements it
    has there, of a thread or of a block."""
    device = Device("sm_80")
    made = lower(spec_of(f), name="f", options=LowerOptions(device=device))
    found: dict[str, tuple[MemoryKind, int]] = {}
    stack: list[Stmt] = list(kernels(made.body))
    while stack:
        s = stack.pop()
        if isinstance(s, S.Allocate):
            sizes = [const_int(e) or 0 for e in s.extents]
            name = s.buffer.name if s.buffer.func is None else s.buffer.func.label
            found[name.split("$")[0]] = (s.kind, int(np.prod(sizes)))
        stack += [c for c in s.children() if isinstance(c, Stmt)]
    return found


def same(f: hl.Func, size: list[int]) -> None:
    """Asserts that the simulator and threads of the CPU compute what the interpreter
    does, and that nothing of a thread is in memory."""
    wanted = interpret(f._function, [(0, n) for n in size])[0].T
    results, loops = computed(f, size)
    np.testing.assert_array_equal(results[0], wanted)
    np.testing.assert_array_equal(np.asarray(f.realize(size)), wanted)
    _, told = assembled(*loops)
    assert [k.frame for k in told] == [0] * len(told)


@pytest.mark.parametrize("each", [2, 4])
def test_a_staged_matrix_product(each: int) -> None:
    out, _ = product(each=each)
    found = places(out)
    assert found["prod"] == (MemoryKind.REGISTER, each * each)
    assert found["left"][0] is found["right"][0] is MemoryKind.SHARED
    same(out, [50, 40])


def test_its_loop_has_sums_in_registers_and_loads_of_vectors() -> None:
    out, _ = product(depth=64, tile=64, each=8)
    made = lower(spec_of(out), name="f", options=LowerOptions(device=Device("sm_80")))
    ptx, told = assembled(*kernels(made.body))
    assert {(k.frame, k.spill_loads, k.spill_stores) for k in told} == {(0, 0, 0)}
    assert ".local" not in ptx
    assert "ld.shared.v4" in ptx
    # Eight steps of k in a serial loop, 64 sums of a thread.
    assert ptx.count("fma.rn.f32") % 64 == 0 and ptx.count("fma.rn.f32") >= 64
    # None of the sums is stored but to the output.
    last = ptx.index("fma.rn.f32")
    assert "st.global" not in ptx[:last]


def pointwise(stage: hl.Func | None = None) -> tuple[hl.Func, hl.Func]:
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = image(64, 48)[x, y] * 2
    g[x, y] = f[x, y] + 1
    g.gpu_tile(x, y, tx, ty, 16, 8)
    f.compute_at(g, x).gpu_threads(x, y)
    return g, f


def test_a_stage_for_the_same_threads() -> None:
    """No shared memory and no barrier: each thread reads what it has stored."""
    g, _ = pointwise()
    assert places(g)["f"] == (MemoryKind.REGISTER, 1)
    same(g, [64, 48])
    _, loops = computed(g, [64, 48])
    ptx, _ = assembled(*loops)
    assert "bar.sync" not in ptx and "shared" not in ptx


def test_by_wish_of_the_schedule() -> None:
    g, f = pointwise()
    f.store_in(hl.MemoryType.GPUShared)
    assert places(g)["f"] == (MemoryKind.SHARED, 16 * 8)
    same(g, [64, 48])
    for memory in (hl.MemoryType.Register, hl.MemoryType.Stack):
        g, f = pointwise()
        f.store_in(memory)
        assert places(g)["f"] == (MemoryKind.REGISTER, 1)
        same(g, [64, 48])


def test_what_neighbours_read_is_shared() -> None:
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = image(65, 48)[x, y] * 2
    g[x, y] = f[x, y] + f[x + 1, y]
    g.gpu_tile(x, y, tx, ty, 16, 8)
    f.compute_at(g, x).gpu_threads(x, y)
    assert places(g)["f"] == (MemoryKind.SHARED, 17 * 8)
    same(g, [64, 48])


def test_threads_that_meet_at_constants_apart() -> None:
    """Each thread has the places 2*tx and 2*tx + 2: neighbours meet at the second."""
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = hl.f32(x) * 3
    g[x] = f[2 * x] + f[2 * x + 2]
    g.gpu_tile(x, tx, 16)
    f.compute_at(g, x).split(x, x, xi, 2).unroll(xi).gpu_threads(x)
    assert places(g)["f"][0] is MemoryKind.SHARED
    same(g, [64])


def test_threads_whose_numbers_cancel() -> None:
    """A transpose uses each element in two threads, in places of the same factors."""
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = image(48, 64)[x, y] * 2
    g[x, y] = f[y, x]
    g.gpu_tile(x, y, tx, ty, 8, 8)
    f.compute_at(g, x).gpu_threads(x, y)
    assert places(g)["f"] == (MemoryKind.SHARED, 64)
    same(g, [64, 48])


def test_vectors_of_a_thread_that_step_over_others() -> None:
    """A thread has every 16th element of a line, as a vector and one by one."""
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = image(128, 16)[x, y] * 2
    g[x, y] = f[x, y] + 1
    g.tile(x, y, xi, yi, 64, 4).split(xi, xi, tx, 16).reorder(xi, tx, yi, x, y)
    g.unroll(xi).gpu_blocks(x, y).gpu_threads(tx, yi)
    f.compute_at(g, x).split(x, x, tx, 16).reorder(x, tx, y).vectorize(x)
    f.gpu_threads(tx, y)
    assert places(g)["f"] == (MemoryKind.REGISTER, 4)
    same(g, [128, 16])


def test_fewer_threads_along_a_dimension() -> None:
    """The first line of a block is stored again by threads that have no number along
    y."""
    f, g = hl.Func("f"), hl.Func("g")
    r = hl.RDom([(0, 4)])
    f[x, y] = hl.f32(x + y)
    f[x, y] = f[x, y] * 2 + r
    g[x, y] = f[x, y]
    g.gpu_tile(x, y, tx, ty, 16, 1)
    f.compute_at(g, x).gpu_threads(x)
    f.update(0).gpu_threads(x, y)
    assert places(g)["f"] == (MemoryKind.REGISTER, 1)
    same(g, [32, 6])


def test_a_block_with_a_number_of_threads_that_the_host_knows() -> None:
    """Rows of simulated storage are those of the threads that use it, of which there
    are constants; another stage has as many threads as a Param says."""
    e, f, g, n = hl.Func("e"), hl.Func("f"), hl.Func("g"), hl.Param(hl.Int(32), "n")
    n.set(24)
    r = hl.RDom([(0, n)])
    e[x, y] = image(64, 64)[x, y] * 3
    f[x, y] = image(64, 64)[x, y] * 2
    g[x, y] = f[x, y] + hl.sum(e[hl.clamp(r, 0, 63), y])
    g.gpu_tile(x, y, tx, ty, 16, 8)
    f.compute_at(g, x).gpu_threads(x, y)
    e.compute_at(g, x).bound_storage(x, 64).gpu_threads(x, y)
    assert places(g)["f"] == (MemoryKind.REGISTER, 1)
    wanted = interpret(g._function, [(0, 32), (0, 16)])[0].T
    np.testing.assert_array_equal(np.asarray(g.realize([32, 16])), wanted)


def test_edges_of_an_image_that_no_tile_divides() -> None:
    g, f = pointwise()
    f.store_in(hl.MemoryType.Register)
    same(g, [61, 45])


def test_many_elements_stay_in_shared_memory() -> None:
    def build(wish: bool) -> hl.Func:
        f, g = hl.Func("f"), hl.Func("g")
        f[x] = hl.f32(x) * 3
        g[x] = f[x]
        g.split(x, x, xi, 1024).split(xi, tx, xi, 256)
        g.reorder(xi, tx, x).gpu_blocks(x).gpu_threads(tx).unroll(xi)
        f.compute_at(g, x).split(x, tx, xi, 256).gpu_threads(tx).unroll(xi)
        if wish:
            f.store_in(hl.MemoryType.Register)
        return g

    assert places(build(False))["f"] == (MemoryKind.SHARED, 1024)
    assert places(build(True))["f"] == (MemoryKind.REGISTER, 256)


def test_more_than_shared_memory_has_fits_into_registers() -> None:
    """128 x 128 sums are 64 KiB, more than any block of the simulator may share."""
    out, _ = product(depth=20, tile=128, each=8)
    assert places(out)["prod"] == (MemoryKind.REGISTER, 64)
    simulated = lower(spec_of(out), name="f", options=LowerOptions(device=Device()))
    assert kernels(simulated.body)


BAD: list[tuple[str, str, Callable[[], hl.Func]]] = []


Build = Callable[[], hl.Func]


def bad(message: str, hint: str) -> Callable[[Build], Build]:
    def add(build: Callable[[], hl.Func]) -> Callable[[], hl.Func]:
        BAD.append((message, hint, build))
        return build

    return add


@bad("several threads of a block use an element of it", "the same loops over threads")
def what_neighbours_read() -> hl.Func:
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = x
    g[x] = f[x] + f[x + 1]
    g.gpu_tile(x, tx, 16)
    f.compute_at(g, x).store_in(hl.MemoryType.Register).gpu_threads(x)
    return g


@bad("a thread uses it at places that are not constant", "unroll or vectorize")
def a_serial_loop_of_a_thread() -> hl.Func:
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = x
    g[x] = f[x]
    g.split(x, x, xi, 64).split(xi, tx, xi, 4).gpu_blocks(x).gpu_threads(tx)
    f.compute_at(g, x).store_in(hl.MemoryType.Stack)
    f.split(x, tx, xi, 4).gpu_threads(tx)
    return g


@bad("how many threads use it is not constant", "")
def threads_that_the_host_counts() -> hl.Func:
    f, g, n = hl.Func("f"), hl.Func("g"), hl.Param(hl.Int(32), "n")
    n.set(8)
    f[x, y] = x + y
    g[x, y] = f[x, y]
    g.split(x, x, tx, n).gpu_blocks(y).gpu_threads(tx)
    f.compute_at(g, x).bound_storage(x, 64).store_in(hl.MemoryType.Register)
    f.gpu_threads(x)
    return g


@bad("it is updated atomically", "")
def atomic_updates() -> hl.Func:
    f, g, r = hl.Func("f"), hl.Func("g"), hl.RDom([(0, 16)])
    f[x, y] = 0
    f[hl.i32(image(16, 4)[r, y]) & 15, y] += 1
    g[x, y] = f[x, y]
    g.bound(x, 0, 16).gpu_blocks(y).gpu_threads(x)
    f.compute_at(g, y).store_in(hl.MemoryType.Register).gpu_threads(x)
    f.update(0).atomic().gpu_threads(r)
    return g


@pytest.mark.parametrize(
    "message, hint, build", BAD, ids=[build.__name__ for *_, build in BAD]
)
def test_refusals(message: str, hint: str, build: Callable[[], hl.Func]) -> None:
    f = build()
    with pytest.raises(hl.ScheduleError) as caught:
        f.realize([16, 4] if f.dimensions() == 2 else [64])
    assert f"is that of a thread, but {message}" in str(caught.value)
    assert hint in str(caught.value)
    at = caught.value.at
    assert at is not None and at.file == __file__
    first = build.__code__.co_firstlineno
    assert first < at.line <= first + 10
