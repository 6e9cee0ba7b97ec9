"""Tile loops fetch the rows of the next tile, and only where that is of use."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import parhelion as hl
from parhelion.codegen.llvm import emit
from parhelion.ir.target import generic_target
from parhelion.ir.text import text
from parhelion.lower.passes import lower
from parhelion.runtime.jit import assembly_text
from tests.support.spec import spec_of

x, y, c, xi, yi = (hl.Var(n) for n in ("x", "y", "c", "xi", "yi"))


def blurred(inp: hl.ImageParam) -> tuple[hl.Func, hl.Func]:
    rows, out = hl.Func("rows"), hl.Func("out")
    rows[x, y] = (inp[x, y] + inp[x + 1, y] + inp[x + 2, y]) // 3
    out[x, y] = (rows[x, y] + rows[x, y + 1] + rows[x, y + 2]) // 3
    return rows, out


def tiled(width: int, height: int = 32) -> hl.Func:
    rows, out = blurred(hl.ImageParam(hl.UInt(16), 2, "inp"))
    out.tile(x, y, xi, yi, width, height).vectorize(xi, 16).parallel(y)
    rows.compute_at(out, x).vectorize(x, 16)
    return out


def hints(out: hl.Func) -> list[tuple[str, ...]]:
    """What is prefetched, as the lowered text says it, less the start."""
    body = text(lower(spec_of(out), name="test").body)
    return re.findall(r"prefetch (\w+)\[.*( \+ \d+)\] (for \d+.*)", body)


def test_the_rows_of_the_next_tile_are_fetched() -> None:
    assert hints(tiled(256)) == [
        ("inp", " + 256", "for 258"),
        ("out", " + 256", "for 256 to write"),
    ]


def test_each_line_is_hinted_once_in_the_assembly() -> None:
    target = generic_target(512)
    code = emit(lower(spec_of(tiled(256)), name="test"), target)
    asm = assembly_text(code, target)
    # 516 bytes to read are 9 lines, 512 to write are 8.
    assert len(re.findall(r"prefetcht1\b", asm)) == 9
    assert len(re.findall(r"prefetch(?:w|t0)\b", asm)) == 8


def test_a_condition_spares_small_images() -> None:
    body = text(lower(spec_of(tiled(256)), name="test").body)
    limit = (1 << 20) // 2 + 1
    sizes = [rf"int64\(inp\.extent\.{d}\)" for d in (0, 1)]
    product = rf"({sizes[0]}\*{sizes[1]}|{sizes[1]}\*{sizes[0]})"
    assert re.search(rf"if \(i64\({limit}\) <= {product}\) {{\s+prefetch inp", body)


def untiled() -> hl.Func:
    rows, out = blurred(hl.ImageParam(hl.UInt(16), 2, "inp"))
    out.vectorize(x, 16).parallel(y)
    rows.compute_at(out, y).vectorize(x, 16)
    return out


def long_of_floats() -> hl.Func:
    inp = hl.ImageParam(hl.Float(32), 2, "inp")
    out = hl.Func("out")
    out[x, y] = inp[x, y] + inp[x, y + 1]
    return out.tile(x, y, xi, yi, 1024, 8).vectorize(xi, 8)


def heavy() -> hl.Func:
    inp = hl.ImageParam(hl.Float(32), 2, "inp")
    out = hl.Func("out")
    value = hl.f32(0)
    for dx in range(5):
        for dy in range(5):
            value = value + inp[x + dx, y + dy] * float(dx * 5 + dy + 1)
    out[x, y] = value
    return out.tile(x, y, xi, yi, 128, 8).vectorize(xi, 8)


def of_unknown_rows() -> hl.Func:
    inp = hl.ImageParam(hl.UInt(16), 2, "inp")
    out = hl.Func("out")
    out[x, y] = inp[x, y] + inp[x, y + 1]
    return out.split(x, x, xi, 256).reorder(xi, y, x).vectorize(xi, 16)


def in_parallel_tiles() -> hl.Func:
    inp = hl.ImageParam(hl.UInt(16), 2, "inp")
    out = hl.Func("out")
    out[x, y] = inp[x, y] + inp[x, y + 1]
    return out.tile(x, y, xi, yi, 256, 32).vectorize(xi, 16).parallel(x)


def of_data() -> hl.Func:
    inp, at = hl.ImageParam(hl.UInt(16), 2, "inp"), hl.ImageParam(hl.Int(32), 1, "at")
    out = hl.Func("out")
    out[x, y] = inp[x, hl.clamp(at[y], 0, 99)]
    out.tile(x, y, xi, yi, 256, 32).vectorize(xi, 16)
    return out


@pytest.mark.parametrize(
    "make", [untiled, long_of_floats, heavy, of_unknown_rows, in_parallel_tiles]
)
def test_no_hints(make: Callable[[], hl.Func]) -> None:
    assert hints(make()) == []


def test_rows_that_data_choose_are_not_guessed() -> None:
    assert hints(of_data()) == [("out", " + 256", "for 256 to write")]


def test_rows_shared_with_later_iterations_are_fetched_once() -> None:
    inp = hl.ImageParam(hl.UInt(8), 2, "inp")
    out = hl.Func("out")
    out[x, y] = inp[x, y] + inp[x, y + 1] + inp[x + 1, y + 2]
    out.tile(x, y, xi, yi, 256, 16).vectorize(xi, 32)
    found = hints(out)
    assert [h[0] for h in found] == ["out", "inp"]
    body = text(lower(spec_of(out), name="test").body)
    line = next(s for s in body.splitlines() if "prefetch inp" in s)
    assert "inp.stride.1*(out.s0.y.base + out.s0.yi + 2)" in line


def test_a_large_image_with_hints_is_right() -> None:
    inp = hl.ImageParam(hl.UInt(16), 2, "inp")
    rows, out = blurred(inp)
    out.tile(x, y, xi, yi, 128, 8).vectorize(xi, 16).parallel(y)
    rows.compute_at(out, x).vectorize(x, 16)
    image = np.random.default_rng(3).integers(0, 9000, (802, 1003)).astype(np.uint16)
    inp.set(hl.Buffer(image))
    made = np.asarray(out.realize([1001, 800]))
    wide = image.astype(np.uint32)
    row = (wide[:, :-2] + wide[:, 1:-1] + wide[:, 2:]) // 3
    assert np.array_equal(made, (row[:-2] + row[1:-1] + row[2:]) // 3)
