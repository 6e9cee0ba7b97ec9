"""Look-ups in small tables, by permutations of registers."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

import parhelion as hl
from parhelion.codegen.llvm import emit
from parhelion.codegen.target import host_target
from parhelion.ir.target import Target, generic_target
from parhelion.lower.passes import lower
from parhelion.runtime.jit import assembly_text
from tests.support.spec import spec_of

I8, U8, I16, U16, I32 = hl.Int(8), hl.UInt(8), hl.Int(16), hl.UInt(16), hl.Int(32)
F32, U32 = hl.Float(32), hl.UInt(32)
DTYPES = {
    I8: np.int8,
    U8: np.uint8,
    I16: np.int16,
    U16: np.uint16,
    I32: np.int32,
    U32: np.uint32,
    F32: np.float32,
}
PERMUTED = re.compile("vperm[it]2|vperm[bwd]|vpermps")


def _vbmi() -> Target:
    plain = generic_target(512)
    features = tuple(sorted({*plain.features, "avx512vbmi"}))
    return dataclasses.replace(plain, features=features)


def _look_up(
    size: int, lanes: int, of: hl.Type = U8, by: hl.Type = I16, first: int = 0
) -> tuple[hl.Func, hl.ImageParam]:
    """``f[x] = table[clamp(image[x], first, first + size - 1)]``, the table computed
    at root and at most `size` long."""
    x, image = hl.Var("x"), hl.ImageParam(by, 1, "image")
    table, f = hl.Func("table"), hl.Func("f")
    table[x] = hl.cast(of, x * 7 + x / 5)
    at = image[x]
    if by not in (U8, I8) or first:
        at = hl.cast(by, hl.clamp(hl.cast(I32, at), first, first + size - 1))
    elif by is I8:
        at = hl.max(at, 0)
    f[x] = table[hl.cast(I32, at)]
    table.compute_root()
    f.vectorize(x, lanes)
    return f, image


def _expected(
    pixels: np.ndarray[tuple[int], np.dtype[np.int32]], of: hl.Type
) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return (pixels * 7 + pixels // 5).astype(DTYPES[of])


def _assembly(f: hl.Func, target: Target) -> str:
    return assembly_text(emit(lower(spec_of(f), name="t"), target), target)


@pytest.mark.parametrize("of", [U8, U16, F32])
@pytest.mark.parametrize("lanes", [8, 24, 64, 128])
@pytest.mark.parametrize("size", [1, 33, 64, 100, 129, 256, 1000, 1024])
def test_values(size: int, lanes: int, of: hl.Type) -> None:
    f, image = _look_up(size, lanes, of)
    pixels = np.resize(np.arange(-5, size + 5), 1920).astype(np.int16)
    image.set(pixels)
    got = np.asarray(f.realize([1920]))
    clipped = np.clip(pixels.astype(np.int32), 0, size - 1)
    assert np.array_equal(got, _expected(clipped, of))


@pytest.mark.parametrize("of", [I8, U8, I16, U16, I32, U32, F32])
@pytest.mark.parametrize("by", [I8, U8, I16, U16, I32])
def test_types_of_tables_and_indices(of: hl.Type, by: hl.Type) -> None:
    f, image = _look_up(200, 64, of, by)
    pixels = np.resize(np.arange(256), 640).astype(DTYPES[by])
    image.set(pixels)
    highest = 127 if by is I8 else 255 if by is U8 else 199
    clipped = np.clip(pixels.astype(np.int32), 0, highest)
    assert np.array_equal(np.asarray(f.realize([640])), _expected(clipped, of))


def test_a_table_that_begins_elsewhere() -> None:
    f, image = _look_up(150, 64, first=-30)
    pixels = np.arange(-60, 260).astype(np.int16)
    image.set(pixels)
    got = np.asarray(f.realize([320]))
    clipped = np.clip(pixels.astype(np.int32), -30, 119)
    assert np.array_equal(got, _expected(clipped, U8))


def test_host_uses_them_where_it_can() -> None:
    f, _ = _look_up(1024, 64)
    expected = host_target().has("avx512vbmi") and host_target().vector_bits == 512
    asm = _assembly(f, host_target())
    assert ("vpermi2b" in asm or "vpermt2b" in asm) is expected


@pytest.mark.parametrize(
    ("of", "size", "lanes", "permuted"),
    [
        (U8, 1024, 64, True),
        (U8, 1024, 128, True),
        (U8, 1025, 64, False),  # more than the registers
        (U8, 1024, 32, True),
        (U8, 1024, 16, False),  # few lanes for so many
        (U8, 512, 32, True),
        (U8, 64, 4, True),
        (U8, 128, 4, True),
        (U8, 129, 4, False),
        (U16, 512, 32, True),
        (U16, 513, 64, False),
        (U16, 512, 16, True),
        (U16, 512, 8, False),
        (F32, 256, 16, True),
        (I32, 256, 64, True),
        (I32, 257, 64, False),
        (I32, 256, 8, False),
        (I32, 128, 8, True),
    ],
)
def test_instructions(of: hl.Type, size: int, lanes: int, permuted: bool) -> None:
    f, _ = _look_up(size, lanes, of)
    text = emit(lower(spec_of(f), name="t"), _vbmi())
    assert ("llvm.x86.avx512.perm" in text or "vpermi2var" in text) is permuted
    if permuted:
        assert PERMUTED.search(_assembly(f, _vbmi()))
    if of is U8:  # permuting bytes is a feature of its own
        less = emit(lower(spec_of(f), name="t"), generic_target(512))
        assert "vpermi2var" not in less
    assert "vpermi2var" not in emit(lower(spec_of(f), name="t"), generic_target(256))


def test_the_end_of_the_storage_is_not_passed() -> None:
    """The last 36 of 100 bytes are loaded under a mask."""
    f, _ = _look_up(100, 64)
    text = emit(lower(spec_of(f), name="t"), _vbmi())
    assert "llvm.masked.load.v64i8" in text
    whole, _ = _look_up(128, 64)
    assert "masked.load" not in emit(lower(spec_of(whole), name="t"), _vbmi())


def test_not_for_what_may_lie_elsewhere() -> None:
    """Images are of any size, and an index that nothing bounds may be anything."""
    x = hl.Var("x")
    image, table = hl.ImageParam(I16, 1, "image"), hl.ImageParam(U8, 1, "table")
    f = hl.Func("f")
    f[x] = table[hl.cast(I32, hl.clamp(image[x], 0, 255))]
    f.vectorize(x, 64)
    assert "vpermi2b" not in _assembly(f, _vbmi())
    g, own = hl.Func("g"), hl.Func("own")
    own[x] = hl.cast(U8, x)
    g[x] = own[hl.cast(I32, image[x])]
    own.compute_root()
    own.bound(x, -32768, 65536)
    g.vectorize(x, 64)
    assert "vpermi2b" not in _assembly(g, _vbmi())


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("of", [U8, U16, F32])
def test_a_table_for_each_row(of: hl.Type, parallel: bool) -> None:
    """The table's storage lies inside the loop, and in a task of its own; an update
    changes it between two look-ups."""
    x, y = hl.Var("x"), hl.Var("y")
    image = hl.ImageParam(U8, 2, "image")
    table, f = hl.Func("table"), hl.Func("f")
    table[x, y] = hl.cast(of, x * 3 + y)
    r = hl.RDom([(0, 16)])
    table[r.x * 8, y] += hl.cast(of, 5)
    level = hl.cast(I32, image[x, y]) / 2
    f[x, y] = hl.cast(F32, table[level, y])
    f[x, y] += hl.cast(F32, table[127 - level, y])
    table.compute_at(f, y)
    f.vectorize(x, 64)
    f.update().vectorize(x, 64)
    if parallel:
        f.parallel(y)
        f.update().parallel(y)
        table.compute_root()
    pixels = np.random.default_rng(3).integers(0, 256, (9, 200)).astype(np.uint8)
    image.set(pixels)
    got = np.asarray(f.realize([200, 9]))
    i = np.arange(128)
    rows = i * 3 + np.arange(9)[:, None] + 5 * (i % 8 == 0)
    rows = rows.astype(DTYPES[of]).astype(np.float32)
    level_of = pixels.astype(np.int32) // 2
    expected = np.take_along_axis(rows, level_of, 1)
    expected = expected + np.take_along_axis(rows, 127 - level_of, 1)
    assert np.array_equal(got, expected)
