"""Rows of shared memory that are longer: how many lanes wait at its banks, counted from
the places that they use."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import parhelion as hl
from parhelion.ir import stmt as S
from parhelion.ir.device import Device, device_of
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import Expr, Load, Var
from parhelion.ir.rewrite import free_vars, nodes, substitute
from parhelion.ir.stmt import MemoryKind, Stmt
from parhelion.ir.symbols import BufferSym
from parhelion.lower.bank_conflicts import lanes_of, waits
from parhelion.lower.kernel_loops import leaves, nest_of
from parhelion.lower.lanes import lane
from parhelion.lower.options import LowerOptions
from parhelion.lower.passes import lower
from tests.gpu.harness import assembled
from tests.gpu.test_pipelines import kernels
from tests.gpu.test_registers import image, places, product, same
from tests.support.spec import spec_of

x, y, xi, yi, tx, ty = hl.vars("x y xi yi tx ty")


@pytest.fixture(autouse=True)
def simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_GPU", "simulate")


@pytest.mark.parametrize(
    "step, size, wanted",
    [
        (4, 4, 0),  # beside each other
        (0, 4, 0),  # one word for all
        (128, 4, 31),  # one bank
        (132, 4, 0),  # rows of 33 words
        (8, 4, 1),  # every second bank
        (1, 1, 0),  # four to a word
        (32, 1, 7),  # bytes down a column of 32
        (8, 8, 0),  # a half of the warp at once
        (16, 16, 0),  # a quarter
        (32, 16, 4),  # vectors of four, every second one: one wait for each quarter
        (256, 8, 30),
    ],
)
def test_waits(step: int, size: int, wanted: int) -> None:
    assert waits([step * k for k in range(32)], size) == wanted


def test_lanes_of_a_block() -> None:
    """Blocks of 4 x 16 threads: a warp is two lines; 12 threads of each take part."""
    assert lanes_of([100, 1], [4, 12], [4, 16]) == [
        *range(12),
        *range(100, 112),
    ]
    assert lanes_of([1], [8], [8]) == list(range(8))


# What kernels do, counted from the values of their indices.


def counted(f: hl.Func) -> dict[str, int]:
    """For each Func in shared memory, the waits of the first warp of a block at all of
    its uses, each by itself."""
    made = lower(spec_of(f), name="f", options=LowerOptions(device=Device("sm_80")))
    found: dict[str, int] = {}
    for kernel in kernels(made.body):
        shared = set(_shared(kernel))
        nests = list(leaves(kernel))
        threads = [
            max([int(evaluate(n[0][d].extent, {})) for n in map(nest_of, nests)])
            for d in range(len(nest_of(nests[0])[0]))
        ]
        for nest in nests:
            loops, body = nest_of(nest)
            lanes = list(_lanes([loop.var for loop in loops], threads))
            for use, env in _uses(body, {}):
                if use.buffer not in shared:
                    continue
                index = substitute(use.index, env)
                count = index.type.count
                index = lane(index, 0)
                size = use.buffer.type.bytes() * count
                at = [
                    use.buffer.type.bytes() * int(evaluate(index, _zeros(index) | one))
                    for one in lanes
                    if all(
                        [
                            one[loop.var] < int(evaluate(loop.extent, {}))
                            for loop in loops
                        ]
                    )
                ]
                name = use.buffer.func.label if use.buffer.func else ""
                found[name] = found.get(name, 0) + waits(at, size)
    return found


def _shared(s: Stmt) -> Iterator[BufferSym]:
    if isinstance(s, S.Allocate) and s.kind is MemoryKind.SHARED:
        yield s.buffer
    for c in s.children():
        if isinstance(c, Stmt):
            yield from _shared(c)


def _lanes(names: list[Var], threads: list[int]) -> Iterator[dict[Var, int]]:
    for k in range(32):
        rest, env = k, {}
        for v, count in zip(reversed(names), reversed(threads), strict=True):
            env[v] = rest % count
            rest //= count
        if not rest:
            yield env


def _uses(
    s: Stmt, env: dict[Var, Expr]
) -> Iterator[tuple[Load | S.Store, dict[Var, Expr]]]:
    if isinstance(s, S.LetStmt):
        env[s.var] = substitute(s.value, env)
    if isinstance(s, S.Store):
        yield s, env
    for c in s.children():
        if isinstance(c, Stmt):
            yield from _uses(c, env)
        elif isinstance(c, Expr):
            for n in nodes(c):
                if isinstance(n, Load):
                    yield n, env


def _zeros(e: Expr) -> dict[Var, int]:
    """What is the same for all lanes does not change which words meet, if rows are
    counted from it."""
    return dict.fromkeys(free_vars(e), 0)


def transpose(kind: hl.Type, tile: int = 32, each: int = 1) -> hl.Func:
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = hl.cast(kind, image(128, 64)[x, y] * 2)
    g[x, y] = f[y, x]
    g.tile(x, y, tx, yi, tile, tile).split(yi, yi, ty, tile // each)
    g.reorder(yi, tx, ty, x, y).unroll(yi).gpu_blocks(x, y).gpu_threads(tx, ty)
    f.compute_at(g, x).split(y, yi, ty, tile // each).reorder(yi, x, ty).unroll(yi)
    f.gpu_threads(x, ty)
    return g


@pytest.mark.parametrize(
    "kind, row",
    [(hl.Float(32), 33), (hl.Int(32), 33), (hl.UInt(8), 36), (hl.Int(16), 34)],
)
def test_a_transpose(kind: hl.Type, row: int) -> None:
    g = transpose(kind, each=4)
    assert places(g)["f"] == (MemoryKind.SHARED, row * 32)
    assert counted(g) == {"f": 0}
    same(g, [64, 128])


def test_blocks_of_sixteen() -> None:
    """A warp is two lines of a block: rows of 18 leave one lane waiting, as
    the memory of the second line begins again at its first bank; rows of 17 two."""
    g = transpose(hl.Float(32), 16)
    assert places(g)["f"] == (MemoryKind.SHARED, 18 * 16)
    assert counted(g) == {"f": 1}
    same(g, [64, 128])


def test_what_needs_none() -> None:
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = image(66, 66)[x, y] * 2
    g[x, y] = f[x, y] + f[x + 1, y + 1]
    g.gpu_tile(x, y, tx, ty, 32, 8)
    f.compute_at(g, x).gpu_threads(x, y)
    assert places(g)["f"] == (MemoryKind.SHARED, 33 * 9)
    assert counted(g)["f"] <= 1


def test_vectors_keep_rows_at_multiples_of_sixteen_bytes() -> None:
    """Four threads store a line of 16 as vectors; threads beside each other read lines
    below each other."""
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = image(64, 128)[x, y] * 2
    g[x, y] = f[y, x]
    g.gpu_tile(x, y, tx, ty, 32, 16)
    f.compute_at(g, x).split(x, x, xi, 4).vectorize(xi).gpu_threads(x, y)
    assert places(g)["f"] == (MemoryKind.SHARED, 20 * 32)
    same(g, [128, 64])
    made = lower(spec_of(g), name="g", options=LowerOptions(device=Device("sm_80")))
    ptx, _ = assembled(*kernels(made.body))
    assert "st.shared.v4" in ptx


def test_the_factor_that_is_stored_by_columns() -> None:
    """Neighbouring scalars that become vectors keep their rows at such multiples."""
    out, _ = product(depth=64, tile=32, each=4)
    found = places(out)
    assert found["left"][1] % 4 == 0
    same(out, [50, 40])


def test_no_more_than_a_block_has() -> None:
    """Tiles of 96 x 128 take all shared memory of the simulator."""
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = hl.f32(x * 3 + y)
    g[x, y] = f[y, x]
    g.tile(x, y, tx, yi, 96, 128).gpu_blocks(x, y).gpu_threads(tx)
    f.compute_at(g, x).gpu_threads(y)
    for device, row in ((Device(), 128), (device_of("sm_80"), 129)):
        made = lower(spec_of(g), name="g", options=LowerOptions(device=device))
        sizes = [a.extents for a in _allocations(made.body) if a.buffer.func]
        assert [evaluate(e, {}) for e in sizes[0]][:2] == [row, 96]
    same(g, [96, 128])


def _allocations(s: Stmt) -> Iterator[S.Allocate]:
    if isinstance(s, S.Allocate):
        yield s
    for c in s.children():
        if isinstance(c, Stmt):
            yield from _allocations(c)


def ring() -> hl.Func:
    """Places whose rows are not known: lines of a storage that is folded."""
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = image(64, 80)[x, y] * 2
    g[x, y] = f[x, y] + f[x, y + 1]
    g.split(x, x, tx, 32).reorder(tx, y, x).gpu_blocks(x).gpu_threads(tx)
    f.store_at(g, x).compute_at(g, y).gpu_threads(x)
    return g


def gathered() -> hl.Func:
    """Places that are data."""
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = image(64, 64)[x, y] * 2
    g[x, y] = f[y, hl.clamp(hl.i32(image(64, 64)[x, y]), 0, 15)]
    g.gpu_tile(x, y, tx, ty, 32, 16)
    f.compute_at(g, x).gpu_threads(x, y)
    return g


@pytest.mark.parametrize("build", [ring, gathered])
def test_places_in_unknown_rows(build: Callable[[], hl.Func]) -> None:
    same(build(), [64, 64])
