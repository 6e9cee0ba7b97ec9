"""Loads whose lanes go up by small steps, by permutations of registers."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import parhelion as hl
from parhelion.codegen.llvm import emit
from parhelion.codegen.target import host_target
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Var
from parhelion.ir.pipeline import Lowered
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.ir.target import Target, generic_target
from parhelion.lower.passes import lower
from parhelion.runtime.jit import assembly_text
from parhelion.types import BOOL, INT32
from tests.support.pages import at_page_end, at_page_start
from tests.support.spec import spec_of

from .harness import Compiled, lowered

U8, I16, U16 = hl.UInt(8), hl.Int(16), hl.UInt(16)
F32, F64 = hl.Float(32), hl.Float(64)
DTYPES = {
    U8: np.uint8,
    I16: np.int16,
    U16: np.uint16,
    F32: np.float32,
    F64: np.float64,
}
_Array = NDArray[Any]
#: Extents of an image, from one that is less than any vector.
EXTENTS = (1, 2, 5, 17, 40, 64, 100, 200)
#: Coordinates lie no further from 0.
FAR = 2**31 - 2**20


def _pixels(extent: int, of: hl.Type) -> _Array:
    source = np.random.default_rng(extent)
    return source.integers(0, 120, (3, extent)).astype(DTYPES[of])


def _summed(pixels: _Array, places: Sequence[NDArray[np.int_]]) -> _Array:
    """The sum of the columns at each of these."""
    columns = [pixels[:, k] for k in places]
    return np.asarray(np.sum(columns, axis=0), dtype=pixels.dtype)


def _vbmi() -> Target:
    plain = generic_target(512)
    features = tuple(sorted({*plain.features, "avx512vbmi"}))
    return dataclasses.replace(plain, features=features)


def _assembly(f: hl.Func, target: Target) -> str:
    return assembly_text(emit(lower(spec_of(f), name="t"), target), target)


def _edges(
    of: hl.Type, lanes: int, step: int, *offsets: int
) -> tuple[hl.Func, hl.ImageParam]:
    """``f[x, y]``: the sum of a row's elements at ``step * x`` and each offset, where
    the row's edges are repeated."""
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(of, 2, "image")
    inside, f = hl.BoundaryConditions.repeat_edge(image), hl.Func("f")
    sums = [inside[step * x + k, y] for k in offsets]
    f[x, y] = sum(sums[1:], sums[0])
    f.vectorize(x, lanes, hl.TailStrategy.RoundUp)
    return f, image


@pytest.mark.parametrize("of", [U8, I16, F32, F64])
@pytest.mark.parametrize("lanes", [8, 48, 128])
@pytest.mark.parametrize("step", [1, 2, 3])
def test_repeated_edges(of: hl.Type, lanes: int, step: int) -> None:
    f, image = _edges(of, lanes, step, -2, 0, 3)
    for extent in EXTENTS:
        pixels = _pixels(extent, of)
        image.set(pixels)
        got = np.asarray(f.realize([384, 3]))
        at = [np.clip(step * np.arange(384) + k, 0, extent - 1) for k in (-2, 0, 3)]
        assert np.array_equal(got, _summed(pixels, at))


@pytest.mark.parametrize("of", [U8, U16, F32])
@pytest.mark.parametrize("first", [-FAR, -70000, -300, -1, 30, FAR - 256])
def test_far_from_the_image(of: hl.Type, first: int) -> None:
    """What lies before and beyond the image is so, however far."""
    f, image = _edges(of, 64, 1, 0, 1)
    pixels = _pixels(77, of)
    image.set(pixels)
    out = hl.Buffer(of, [256, 3])
    out.set_min([first, 0])
    f.realize(out)
    at = [np.clip(first + np.arange(256, dtype=np.int64) + k, 0, 76) for k in (0, 1)]
    assert np.array_equal(np.asarray(out), _summed(pixels, at))


@pytest.mark.parametrize("of", [U8, I16, F32])
def test_channels_side_by_side(of: hl.Type) -> None:
    """Products of what is clamped: three numbers a pixel."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    image = hl.ImageParam(of, 3, "image")
    image.dim(0).set_stride(3)
    image.dim(2).set_stride(1).set_bounds(0, 3)
    inside, f = hl.BoundaryConditions.repeat_edge(image), hl.Func("f")
    f[x, y, c] = inside[x - 1, y, c] + inside[x + 2, y, c]
    f.vectorize(x, 32, hl.TailStrategy.RoundUp).bound(c, 0, 3).unroll(c)
    for extent in EXTENTS:
        held = np.ascontiguousarray(_pixels(9 * extent, of).reshape(3, 3 * extent, 3))
        pixels = held[:, :extent]
        image.set(np.ascontiguousarray(pixels).transpose(2, 0, 1))
        got = np.asarray(f.realize([128, 3, 3]))
        at = [np.clip(np.arange(128) + k, 0, extent - 1) for k in (-1, 2)]
        assert np.array_equal(got, _summed(pixels, at).transpose(2, 0, 1))


@pytest.mark.parametrize("of", [U8, U16, F32])
def test_other_bounds(of: hl.Type) -> None:
    """Minima and maxima in any order and number, and of two ramps."""
    x, image = hl.Var("x"), hl.ImageParam(of, 1, "image")
    f = hl.Func("f")
    at = hl.max(hl.min(x - 5, hl.min(2 * x, 90) + 1), hl.min(x, 7))
    f[x] = image[hl.clamp(at, 0, 99)]
    f.vectorize(x, 64)
    pixels = _pixels(100, of)[0]
    image.set(pixels)
    n = np.arange(256)
    wanted = np.maximum(np.minimum(n - 5, np.minimum(2 * n, 90) + 1), np.minimum(n, 7))
    assert np.array_equal(np.asarray(f.realize([256])), pixels[np.clip(wanted, 0, 99)])


def test_nothing_beyond_is_read() -> None:
    """The image begins, or ends, where a page does beside which nothing can be read."""
    f, image = _edges(U8, 64, 1, -1, 0, 1)
    for extent in (1, 3, 63, 64, 65, 300):
        pixels = _pixels(extent, U8)
        at = [np.clip(np.arange(384) + k, 0, extent - 1) for k in (-1, 0, 1)]
        wanted = _summed(pixels[:1], at)
        for held in (at_page_end(pixels[:1]), at_page_start(pixels[:1])):
            image.set(held)
            assert np.array_equal(np.asarray(f.realize([384, 1])), wanted)


PERMUTED = {
    U8: "vpermb|vperm[it]2b",
    U16: "vpermw|vperm[it]2w",
    F32: "vperm(ps|d|[it]2)",
}


@pytest.mark.parametrize("of", PERMUTED)
@pytest.mark.parametrize("step", [1, 2])
def test_lanes_are_not_taken_apart(of: hl.Type, step: int) -> None:
    f, _ = _edges(of, 64, step, 0)
    text = _assembly(f, _vbmi())
    assert re.search(PERMUTED[of], text)
    assert not re.search("vpinsr|vinsertps|vpextr", text)


def _some(of: hl.Type, lanes: int) -> Lowered:
    """``out[i] = image[min(max(i + first, low), high) + row]`` where ``mask[i]``, and 0
    elsewhere, for eight vectors of so many lanes."""
    mask = BufferSym("mask", BOOL, 1, "input")
    image, out = BufferSym("image", of, 1, "input"), BufferSym("out", of, 1, "output")
    first, low, high, row = [
        ParamSym(name, INT32) for name in ("first", "low", "high", "row")
    ]
    i = Var("i", INT32)
    place = build.ramp(build.mul(i, build.int32(lanes)), build.int32(1), lanes)

    def all_(p: ParamSym) -> E.Expr:
        return build.broadcast(p.var, lanes)

    at = build.minimum(
        build.maximum(build.add(place, all_(first)), all_(low)), all_(high)
    )
    chosen = E.Load(BOOL.with_lanes(lanes), mask, place, None)
    index = build.add(at, all_(row))
    value = E.Load(of.with_lanes(lanes), image, index, chosen)
    store = S.Store(out, value, place, None)
    body = S.For(i, build.int32(0), build.int32(8), S.ForKind.SERIAL, store)
    return lowered(body, [mask, image, first, low, high, row, out])


@pytest.mark.parametrize("of", [U8, I16, U16])
@pytest.mark.parametrize("lanes", [8, 12, 16, 48, 64])
def test_only_lanes_of_a_mask_are_loaded(of: hl.Type, lanes: int) -> None:
    """What lies beside the lanes of any mask is not read: memory ends there."""
    run = Compiled(_some(of, lanes), host_target())
    source = np.random.default_rng(lanes)
    count = 8 * lanes
    masks = [
        np.zeros(count, bool),
        np.ones(count, bool),
        np.arange(count) % lanes == lanes - 1,
        np.arange(count) % lanes == 0,
        *(source.random((6, count)) < source.random((6, 1))),
    ]
    for mask in masks:
        first, low = source.integers(-count, count, 2)
        high = low + source.integers(0, count)
        at = np.clip(np.arange(count) + first, low, high)
        touched = at[mask]
        if not touched.size:
            touched = np.array([0])
        # The image begins with the first element that a lane asks for.
        row = -touched.min()
        pixels = source.integers(1, 120, touched.max() + row + 1).astype(DTYPES[of])
        clipped = np.clip(at + row, 0, len(pixels) - 1)
        wanted = np.where(mask, pixels[clipped], 0)
        for held in (at_page_end(pixels), at_page_start(pixels)):
            out = np.full(count, 77, pixels.dtype)
            assert run(mask, held, first, low, high, row, out) == 0
            assert np.array_equal(out, wanted)


@pytest.mark.parametrize("of", [U8, U16])
def test_lanes_of_a_mask_are_not_taken_apart(of: hl.Type) -> None:
    text = Compiled(_some(of, 32), _vbmi(), only_text=True).asm
    assert re.search(PERMUTED[of], text)
    assert not re.search("vpinsr|vpextr", text)


def test_of_half_a_register() -> None:
    f, _ = _edges(F32, 8, 1, -1, 1)
    text = _assembly(f, generic_target(256))
    assert re.search("vperm(ps|d)", text) and "maskmov" in text


def test_other_machines_take_lanes_one_by_one() -> None:
    f, _ = _edges(U8, 32, 1, 0)
    assert "vpermb" not in _assembly(f, generic_target(256))
