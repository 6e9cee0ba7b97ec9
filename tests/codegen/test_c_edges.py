"""C output: what lanes read at places that are clamped to a row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import parhelion as hl
from parhelion.codegen.c.clamped import clamped
from parhelion.ir import build
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr, Load, Select, Var
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import ForKind
from parhelion.ir.symbols import BufferSym
from parhelion.types import INT32
from tests.codegen.c_code import compiled, needs_cc
from tests.codegen.test_c_lanes import lanes
from tests.support.pages import at_page_end, at_page_start

x, y, xi = hl.vars("x y xi")
GUARD = hl.TailStrategy.GuardWithIf
HEIGHT = 3


def at_edges(image: hl.ImageParam, reach: int) -> hl.Func:
    """The neighbours of each pixel, `reach` away, as those of the nearest one."""
    f = hl.Func("c_edges")
    column = [hl.clamp(x + d, 0, image.width() - 1) for d in (-reach, 0, reach)]
    before, here, after = [image[c, y] for c in column]
    f[x, y] = before * 2 + here * 3 - after
    f.split(x, x, xi, 16, GUARD).vectorize(xi)
    return f


def test_lanes_choose_between_the_ends_of_a_row_and_their_own_place() -> None:
    image = hl.ImageParam(hl.Float(32), 2, "c_image")
    f = at_edges(image, 1)
    inside = [line for loop in lanes(hl.Pipeline(f).c_text([image])) for line in loop]
    edges = [line for line in inside if " edge" in line.split("=")[0]]
    assert edges
    for line in edges:
        assert " ? " in line and "int64_t" in line
        assert "min_i32" not in line and "max_i32" not in line


@needs_cc
@pytest.mark.parametrize("reach", [1, 40])
@pytest.mark.parametrize("t", [hl.UInt(8), hl.Int(16), hl.Float(32)])
def test_pixels_beyond_a_row(t: hl.Type, reach: int, tmp_path: Path) -> None:
    """The image begins and ends where memory does, and nothing beside it is read."""
    image = hl.ImageParam(t, 2, "c_image")
    f = at_edges(image, reach)
    call = compiled(f, [image], tmp_path)
    rng, dtype = np.random.default_rng(5), np.asarray(hl.Buffer(t, [1])).dtype.type
    for width in (1, 2, 15, 16, 17, 31, 32, 33, 70):
        pixels = rng.integers(0, 99, (HEIGHT, width)).astype(dtype)
        columns = np.arange(width)
        before, after = [
            pixels[:, np.clip(columns + d, 0, width - 1)] for d in (-reach, reach)
        ]
        expected = before * dtype(2) + pixels * dtype(3) - after
        for place in (at_page_start, at_page_end):
            out = hl.Buffer(t, [width, HEIGHT])
            assert call(hl.Buffer(place(pixels)), out) == 0
            assert np.array_equal(np.asarray(out), expected)


@needs_cc
def test_rows_of_no_pixels_read_nothing(tmp_path: Path) -> None:
    image = hl.ImageParam(hl.Int(32), 2, "c_image")
    call = compiled(at_edges(image, 1), [image], tmp_path)
    out = hl.Buffer(hl.Int(32), [0, HEIGHT])
    pixels = at_page_end(np.zeros((HEIGHT, 1), np.int32))
    assert call(hl.Buffer(pixels), out) == 0


@needs_cc
@pytest.mark.parametrize("first", [-7, 0, 5])
def test_rows_that_begin_anywhere(first: int, tmp_path: Path) -> None:
    image = hl.ImageParam(hl.Int(32), 2, "c_image")
    f = hl.Func("c_around")
    around = hl.BoundaryConditions.repeat_edge(image)
    f[x, y] = around[x - 3, y] * 5 + around[x + 4, y] + around[x + y, y + 1]
    f.split(x, x, xi, 8, GUARD).vectorize(xi)
    call = compiled(f, [image], tmp_path)
    pixels = np.random.default_rng(6).integers(0, 999, (HEIGHT, 21)).astype(np.int32)
    given = hl.Buffer(pixels.copy())
    given.set_min(first, 1)
    image.set(given)
    for width in (4, 8, 30):
        expected, out = (hl.Buffer(hl.Int(32), [width, HEIGHT]) for _ in range(2))
        expected.set_min(first - 6, 0)
        out.set_min(first - 6, 0)
        f.realize(expected)
        assert call(given, out) == 0
        assert np.array_equal(np.asarray(out), np.asarray(expected))


LANE, SIZE, ROW = [Var(n, INT32) for n in ("lane", "size", "row")]
SOURCE, OUT = [BufferSym(n, INT32, 1, "output") for n in ("c_source", "c_out")]


def lanes_of(place: Expr, *before: S.Stmt) -> S.For:
    """A loop of lanes that stores what it reads at some place."""
    value = Load(INT32, SOURCE, place, None)
    body = build.block(*before, S.Store(OUT, value, build.add(LANE, ROW), None))
    return S.For(LANE, build.int32(0), build.int32(16), ForKind.VECTORIZED, body)


def choices(loop: S.For) -> int:
    return len({n for n in nodes(clamped(loop)[1]) if isinstance(n, Select)})


def test_places_between_two_limits() -> None:
    last = build.sub(SIZE, build.int32(1))
    left = build.sub(build.maximum(LANE, build.int32(2)), build.int32(2))
    right = build.minimum(build.add(LANE, build.int32(3)), last)
    both = build.maximum(right, build.int32(0))
    for place, count in ((left, 1), (right, 1), (both, 2)):
        before, loop = clamped(lanes_of(build.add(place, ROW)))
        assert choices(lanes_of(build.add(place, ROW))) == count
        assert len(before) == 1 + count  # the row, and the pixels at its ends
        # A name of a place is the same.
        at = Var("at", INT32)
        assert choices(lanes_of(build.add(at, ROW), S.LetStmt(at, place))) == count


def test_other_places_stay() -> None:
    one, two = build.int32(1), build.int32(2)
    edge = build.maximum(LANE, one)
    read = Var("read", INT32)
    named = S.LetStmt(
        read, Load(INT32, BufferSym("c_at", INT32, 1, "input"), LANE, None)
    )
    others = [
        lanes_of(LANE),
        lanes_of(build.mul(edge, two)),
        lanes_of(build.add(edge, LANE)),
        lanes_of(build.maximum(build.mul(LANE, two), one)),
        lanes_of(build.maximum(LANE, build.mod(LANE, two))),
        lanes_of(build.maximum(LANE, read), named),
        lanes_of(build.minimum(read, one), named),
    ]
    for loop in others:
        before, found = clamped(loop)
        assert not before and found is loop


def test_what_lanes_write_is_read_in_its_place() -> None:
    edge = build.maximum(LANE, build.int32(1))
    value = Load(INT32, OUT, edge, None)
    store = S.Store(OUT, value, edge, None)
    loop = S.For(LANE, build.int32(0), build.int32(16), ForKind.VECTORIZED, store)
    assert clamped(loop) == ((), loop)


def test_what_not_all_lanes_read_stays() -> None:
    """Where no lane may read, the first one may have no place."""
    edge = Load(INT32, SOURCE, build.maximum(LANE, build.int32(1)), None)
    wanted = build.lt(LANE, SIZE)
    chosen = S.Store(OUT, Select(wanted, edge, build.int32(0)), LANE, None)
    for body in (chosen, S.If(wanted, S.Store(OUT, edge, LANE, None), None)):
        loop = S.For(LANE, build.int32(0), build.int32(16), ForKind.VECTORIZED, body)
        assert clamped(loop) == ((), loop)
