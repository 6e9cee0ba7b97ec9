"""Funcs stored in textures: compared with the interpreter, on the simulator and through
a driver that is none; and the instructions that read them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import parhelion as hl
from parhelion.codegen.nvptx.assemble import assemble, find_ptxas
from parhelion.codegen.nvptx.kernel import write_kernel
from parhelion.codegen.nvptx.module import Kernels
from parhelion.interp import interpret
from parhelion.ir.deep import run_deep
from parhelion.ir.target import gpu_target
from parhelion.runtime import jit
from tests.fuzz.textures import difference, draw
from tests.gpu.harness import ARCHS
from tests.gpu.test_through_driver import run

x, y, z, c = hl.vars("x y z c")
tx, ty, xi = hl.vars("tx ty xi")
rx, ry = hl.RVar("rx"), hl.RVar("ry")
TEXTURE = hl.MemoryType.GPUTexture

Scheduled = tuple[hl.Func, list[int]]
CASES: list[Callable[[], Scheduled]] = []


def case(build: Callable[[], Scheduled]) -> Callable[[], Scheduled]:
    CASES.append(build)
    return build


def image(shape: tuple[int, ...], dtype: type = np.uint16) -> hl.Buffer:
    rng = np.random.default_rng(len(shape))
    return hl.Buffer(rng.integers(0, 255, shape[::-1]).astype(dtype))


def tiled(*funcs: hl.Func) -> None:
    """Gives Funcs at the root kernels over x and y."""
    for f in funcs:
        if f.dimensions() == 1:
            f.gpu_tile(x, tx, 16)
        else:
            f.gpu_tile(x, y, tx, ty, 16, 8)


@case
def a_stencil() -> Scheduled:
    f, g = hl.funcs("f g")
    source = image((72, 47))
    f[x, y] = source[x, y] + source[x + 1, y]
    g[x, y] = f[x, y] + f[x, y + 1] + f[x + 1, y]
    f.compute_root().store_in(TEXTURE)
    tiled(f, g)
    return g, [70, 45]


@case
def one_dimension() -> Scheduled:
    f, g = hl.funcs("f g")
    f[x] = hl.f32(x) * 0.5
    g[x] = f[x] + f[hl.clamp(x + 3, 2, 40)]
    f.compute_root().store_in(TEXTURE)
    tiled(f, g)
    return g, [100]


def edges(low: int, size: list[int], tail: hl.TailStrategy) -> Scheduled:
    """Clamps that begin at `low`, and an output that is larger or smaller than they."""
    f, g = hl.funcs("f g")
    f[x, y] = hl.f32(x * 7 + y * 1000)
    near = hl.BoundaryConditions.repeat_edge(f, [(low, 60), (low, 40)])
    g[x, y] = (
        near[x - 1, y]
        + near[x + 2, y + 1] * 3
        + f[hl.clamp(x, low, low + 59), hl.min(hl.max(y, low), low + 39)] * 5
    )
    f.compute_root().store_in(TEXTURE).gpu_tile(x, y, tx, ty, 16, 8, tail)
    tiled(g)
    return g, size


@case
def edges_beyond_the_output() -> Scheduled:
    return edges(0, [50, 30], hl.TailStrategy.Auto)


@case
def edges_inside_of_the_output() -> Scheduled:
    return edges(3, [90, 70], hl.TailStrategy.Auto)


@case
def edges_below_zero() -> Scheduled:
    return edges(-7, [90, 20], hl.TailStrategy.Auto)


@case
def edges_of_little() -> Scheduled:
    return edges(0, [5, 3], hl.TailStrategy.Auto)


@case
def edges_of_little_that_shifts() -> Scheduled:
    return edges(0, [5, 3], hl.TailStrategy.ShiftInwards)


@case
def edges_that_are_rounded_up() -> Scheduled:
    return edges(0, [50, 30], hl.TailStrategy.RoundUp)


@case
def borders() -> Scheduled:
    source = image((60, 40), np.float32)
    f, g = hl.funcs("f g")
    f[x, y] = source[x, y] + 1
    around = hl.BoundaryConditions.constant_exterior(f, 0.0, [(0, 60), (0, 40)])
    g[x, y] = around[x - 2, y - 1] + around[x + 2, y + 3] * 3
    f.compute_root().store_in(TEXTURE)
    tiled(f, g)
    return g, [90, 70]


@case
def borders_on_two_sides() -> Scheduled:
    """What lies beyond is 0 along x, and the edge along y."""
    source = image((60, 40), np.int16)
    f, g = hl.funcs("f g")
    f[x, y] = source[x, y] - 100
    near = hl.BoundaryConditions.repeat_edge(f, [(0, 60), (0, 40)])
    wide = hl.BoundaryConditions.constant_exterior(
        near, hl.i16(0), [(0, 60), (None, None)]
    )
    g[x, y] = wide[x - 2, y - 1] + wide[x + 2, y + 3] * 3
    f.compute_root().store_in(TEXTURE)
    tiled(f, g)
    return g, [90, 70]


@case
def a_border_that_is_not_zero() -> Scheduled:
    source = image((60, 40), np.uint8)
    f, g = hl.funcs("f g")
    f[x, y] = source[x, y]
    around = hl.BoundaryConditions.constant_exterior(f, hl.u8(9), [(0, 60), (0, 40)])
    g[x, y] = around[x - 2, y - 1]
    f.compute_root().store_in(TEXTURE)
    tiled(f, g)
    return g, [90, 70]


@case
def negative_zero() -> Scheduled:
    """What lies beyond is -0.0, which the hardware has not."""
    source = image((60, 40), np.float32)
    f, g = hl.funcs("f g")
    f[x, y] = source[x, y]
    around = hl.BoundaryConditions.constant_exterior(f, -0.0, [(0, 60), (0, 40)])
    g[x, y] = hl.reinterpret(hl.UInt(32), around[x - 2, y - 1])
    f.compute_root().store_in(TEXTURE)
    tiled(f, g)
    return g, [90, 70]


@case
def narrower_than_the_border() -> Scheduled:
    """Values are 0 from before the clamp ends."""
    source = image((60, 40), np.int32)
    f, g = hl.funcs("f g")
    f[x, y] = source[x, y]
    inside = f[hl.clamp(x, 0, 59), hl.clamp(y, 0, 39)]
    g[x, y] = hl.select((x < 0) | (x >= 50) | (y < 0) | (y >= 30), 0, hl.likely(inside))
    f.compute_root().store_in(TEXTURE)
    tiled(f, g)
    return g, [90, 70]


@case
def three_dimensions() -> Scheduled:
    source = image((40, 30, 5), np.int32)
    f, g = hl.funcs("f g")
    f[x, y, z] = source[x, y, z] - 100
    near = hl.BoundaryConditions.repeat_edge(f, [(0, 40), (0, 30), (0, 5)])
    zero = hl.BoundaryConditions.constant_exterior(f, 0, [(0, 40), (0, 30), (0, 5)])
    g[x, y, z] = near[x - 1, y + 1, z - 1] + zero[x + 2, y, z + 1] * 3
    f.compute_root().store_in(TEXTURE).gpu_tile(x, y, tx, ty, 16, 8)
    g.gpu_tile(x, y, tx, ty, 8, 8)
    return g, [50, 33, 6]


@case
def another_order() -> Scheduled:
    source = image((40, 30, 3))
    f, g = hl.funcs("f g")
    f[x, y, c] = source[x, y, c] + 1
    g[x, y, c] = f[hl.clamp(x - 1, 0, 39), y, 2 - c] + f[x, y, c]
    f.compute_root().reorder_storage(y, c, x).store_in(TEXTURE)
    f.gpu_tile(x, y, tx, ty, 16, 8)
    g.bound(c, 0, 3).gpu_tile(x, y, tx, ty, 16, 8)
    return g, [40, 30, 3]


@case
def several_values() -> Scheduled:
    f, g = hl.funcs("f g")
    f[x, y] = (hl.u8(x + y), hl.f32(x) - y)
    g[x, y] = hl.f32(f[x + 1, y][0]) + f[x, y + 1][1]
    f.compute_root().store_in(TEXTURE)
    tiled(f, g)
    return g, [70, 45]


@case
def vectors() -> Scheduled:
    f, g = hl.funcs("f g")
    source = image((72, 45))
    f[x, y] = source[x, y] + 3
    g[x, y] = f[hl.clamp(x - 1, 0, 69), y] + f[x, y] * 2
    f.compute_root().store_in(TEXTURE)
    f.split(x, x, xi, 4).vectorize(xi).gpu_tile(x, y, tx, ty, 4, 8)
    g.split(x, x, xi, 4, hl.TailStrategy.GuardWithIf).vectorize(xi)
    g.gpu_tile(x, y, tx, ty, 4, 8)
    return g, [70, 45]


@case
def a_table() -> Scheduled:
    """Looked up at places that pixels say: far beyond the texture, too."""
    source = image((70, 45), np.int32)
    table, g = hl.funcs("table g")
    table[x] = hl.u16(x * x)
    wild = (source[x, y] - 100) * 20_000_000
    g[x, y] = table[hl.clamp(source[x, y], 3, 200)] + table[hl.clamp(wild, 3, 90)]
    table.compute_root().store_in(TEXTURE).gpu_tile(x, tx, 16)
    tiled(g)
    return g, [70, 45]


@case
def updates_read_memory() -> Scheduled:
    """A kernel that stores to a texture reads it as memory."""
    f, g = hl.funcs("f g")
    source = image((70, 45), np.int32)
    r = hl.RDom([(0, 3)])
    f[x, y] = source[x, y]
    f[x, y] += f[x, y] * r
    g[x, y] = f[x, y] * 2
    f.compute_root().store_in(TEXTURE)
    tiled(f, g)
    f.update().gpu_tile(x, y, tx, ty, 16, 8)
    return g, [70, 45]


@case
def a_histogram() -> Scheduled:
    """Atomic updates of a texture, which another kernel reads."""
    source = image((70, 45), np.int32)
    counts, g = hl.funcs("counts g")
    r = hl.RDom([(0, 70), (0, 45)])
    counts[x] = 0
    counts[hl.clamp(source[r.x, r.y], 0, 255)] += 1
    g[x] = counts[x] + counts[255 - x]
    counts.compute_root().store_in(TEXTURE).gpu_tile(x, tx, 16)
    counts.update().atomic().gpu_tile(r.x, r.y, rx, ry, 16, 8)
    g.gpu_tile(x, tx, 16)
    return g, [256]


@case
def stored_by_the_host() -> Scheduled:
    f, g = hl.funcs("f g")
    f[x, y] = hl.f32(x) / (y + 1)
    g[x, y] = f[x, y] + f[x + 1, y]
    f.compute_root().store_in(TEXTURE).vectorize(x, 8)
    tiled(g)
    return g, [70, 45]


@case
def read_by_the_host() -> Scheduled:
    f, g, h = hl.funcs("f g h")
    f[x, y] = x * 3 + y
    g[x, y] = f[x, y] + f[x + 1, y]
    h[x, y] = g[x, y] + f[x, y + 1]
    f.compute_root().store_in(TEXTURE)
    g.compute_root()
    tiled(f, g)
    h.vectorize(x, 8)
    return h, [70, 45]


@case
def one_texture_for_each_row() -> Scheduled:
    """Kernels in a loop of the host's, by a window that slides."""
    f, g = hl.funcs("f g")
    f[x, y] = x * 3 + y
    g[x, y] = f[x, y] + f[x + 1, y + 2]
    g.gpu_tile(x, tx, 16)
    f.store_root().compute_at(g, y).store_in(TEXTURE).gpu_tile(x, tx, 16)
    return g, [70, 20]


@case
def into_shared_memory() -> Scheduled:
    """Tiles of a texture are read into the memory of a block."""
    f, g, h = hl.funcs("f g h")
    f[x, y] = hl.u8(x * 3 + y)
    g[x, y] = hl.u16(f[hl.clamp(x, 0, 60), hl.clamp(y, 0, 40)])
    h[x, y] = g[x, y] + g[x + 1, y + 1]
    f.compute_root().store_in(TEXTURE)
    tiled(f, h)
    g.compute_at(h, x).gpu_threads(x, y)
    return h, [70, 45]


@case
def zero_inside_of_the_edge() -> Scheduled:
    """The clamp begins where values are not 0 yet."""
    f, g = hl.funcs("f g")
    f[x] = hl.i32(x) + 100
    g[x] = hl.select((x < 31) | (x > 60), 0, hl.likely(f[hl.clamp(x, 32, 70)]))
    f.compute_root().store_in(TEXTURE)
    tiled(f, g)
    return g, [90]


KINDS: list[type] = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32]
KINDS += [np.float16, np.float32]


def of_type(dtype: type) -> Scheduled:
    """All bits of a type, among them those of NaNs and subnormal numbers."""
    rng = np.random.default_rng(1)
    bits = np.dtype(dtype).itemsize * 8
    words = rng.integers(0, 1 << 32, (16, 64), np.uint32).astype(f"u{bits // 8}")
    source = hl.Buffer(words.view(dtype))
    f, g = hl.funcs("f g")
    f[x, y] = source[x, y]
    at = f[hl.clamp(x, 1, 62), hl.clamp(y, 0, 15)]
    g[x, y] = hl.reinterpret(hl.UInt(bits), at)
    f.compute_root().store_in(TEXTURE)
    tiled(f, g)
    return g, [64, 16]


for _kind in KINDS:

    def _build(kind: type = _kind) -> Scheduled:
        return of_type(kind)

    _build.__name__ = f"of_{np.dtype(_kind)}"
    CASES.append(_build)


@pytest.fixture
def simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_GPU", "simulate")


@pytest.mark.parametrize("build", CASES, ids=lambda f: f.__name__)
def test_textures_hold_what_was_stored(
    build: Callable[[], Scheduled], simulator: None
) -> None:
    f, size = build()
    got = np.asarray(f.realize(size))
    (wanted,) = interpret(f._function, [(0, n) for n in size])
    np.testing.assert_array_equal(got.T, wanted)


@pytest.mark.parametrize("part", range(4))
def test_random_reads(part: int, simulator: None) -> None:
    for seed in (1017, 1141, *range(100 * part, 100 * part + 8)):
        wrong = difference(draw(random.Random(seed)))
        assert not wrong, f"seed {seed}: {wrong}"


@pytest.mark.parametrize("part", range(2))
def test_through_the_driver(part: int, tmp_path: Path) -> None:
    names = [build.__name__ for build in CASES][part::2]
    assert all(run(names, tmp_path).values())


def test_random_reads_through_the_driver(tmp_path: Path) -> None:
    launched = run([f"texture-{n}" for n in range(30)], tmp_path)
    assert sum(map(bool, launched.values())) >= 25, launched


def test_more_objects_than_are_kept(tmp_path: Path) -> None:
    """One launch needs several of a block that has as many as are kept."""
    names = [f"texture-{n}" for n in range(300, 351)]
    assert sum(run(names, tmp_path).values()) > 100


def test_objects_are_made_once(tmp_path: Path) -> None:
    assert run(["textures"], tmp_path) == {"textures": 63}


# Instructions.


def ptx_of(f: hl.Func, arch: str = "sm_80") -> str:
    """The PTX of a pipeline, which ptxas takes."""
    from benchmarks.gpu_kernels import loops_over_blocks, lowered, recursive

    def made() -> str:
        program = lowered(recursive(f), arch)
        module = Kernels(gpu_target(arch), strict_float=False)
        for loop in loops_over_blocks(program):
            write_kernel(module, loop)
        return jit.assembly_text(module.text("test"), module.target)

    text: str = run_deep(made)
    if find_ptxas() is not None:
        assemble(text, arch)
    return text


def reads(ptx: str) -> list[str]:
    """The instructions that read textures."""
    return re.findall(r"\btex\.[\w.]+", ptx)


@pytest.mark.parametrize(
    "number", range(len(CASES)), ids=[build.__name__ for build in CASES]
)
def test_ptxas_takes_them(number: int) -> None:
    """For one architecture after the other."""
    assert reads(ptx_of(CASES[number]()[0], ARCHS[number % len(ARCHS)]))


def test_coordinates_inside_are_integers() -> None:
    assert reads(ptx_of(a_stencil()[0])) == ["tex.2d.v4.u32.s32"] * 3


@pytest.mark.parametrize(
    "build", [edges_beyond_the_output, edges_below_zero, edges_that_are_rounded_up]
)
def test_the_hardware_clamps(build: Callable[[], Scheduled]) -> None:
    """The kernel that reads has neither minima nor maxima but those of its blocks,
    which are shifted inwards."""
    text = ptx_of(build()[0])
    assert reads(text) == ["tex.2d.v4.u32.f32"] * 3
    _, reader = text.split(".visible .entry g_")
    assert "max." not in reader and reader.count("min.") == 2, reader


def test_the_hardware_has_a_border() -> None:
    text = ptx_of(borders()[0])
    _, reader = text.split(".visible .entry g_")
    assert reads(reader) == ["tex.2d.v4.u32.f32"] * 2
    assert "setp" not in reader and "selp" not in reader, reader


def test_a_clamp_that_may_end_elsewhere_stays() -> None:
    """Shifted to the left, the first tile may begin before the clamp does."""
    text = ptx_of(edges_of_little_that_shifts()[0])
    assert reads(text) == ["tex.2d.v4.u32.f32"] * 3
    assert "max." in text.split(".visible .entry g_")[1]
