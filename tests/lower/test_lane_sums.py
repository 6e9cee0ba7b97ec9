"""Sums over lanes stay vectors inside their loop, and dot products are instructions."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.codegen.llvm import emit
from parhelion.ir.target import Target, generic_target, make_target
from parhelion.lower.passes import lower
from parhelion.runtime.jit import assembly_text
from tests.support.realized import several
from tests.support.spec import spec_of

U8, I8, U16, I16 = hl.UInt(8), hl.Int(8), hl.UInt(16), hl.Int(16)
I32, U32, I64 = hl.Int(32), hl.UInt(32), hl.Int(64)
DTYPES: dict[hl.Type, type[np.integer[Any]]] = {
    U8: np.uint8,
    I8: np.int8,
    U16: np.uint16,
    I16: np.int16,
    I32: np.int32,
}
AVX2, AVX512 = generic_target(256), generic_target(512)
EXTRA = ("avx512bw", "avx512dq", "avx512vl", "avx512vnni")
VNNI = make_target(AVX512.triple, AVX512.cpu, (*AVX512.features, *EXTRA))


def random_values(t: hl.Type, count: int, seed: int) -> Any:
    info = np.iinfo(DTYPES[t])
    out = np.random.default_rng(seed).integers(
        info.min, info.max, count, dtype=DTYPES[t], endpoint=True
    )
    out[:4] = info.min
    return out


def dot_product(
    ta: hl.Type, tb: hl.Type, result: hl.Type, lanes: int, size: Any
) -> tuple[hl.ImageParam, hl.ImageParam, hl.Func]:
    a, b, f = hl.ImageParam(ta, 1, "a"), hl.ImageParam(tb, 1, "b"), hl.Func("f")
    r = hl.RDom([(0, size)], "r")
    f[()] = hl.cast(result, 7)
    f[()] += hl.cast(result, a[r.x]) * hl.cast(result, b[r.x])
    f.update().atomic().vectorize(r.x, lanes)
    return a, b, f


PAIRS = [(U8, I8, I32), (I8, U8, U32), (I16, I16, I32), (U8, U8, I32), (U16, I16, I64)]


@pytest.mark.parametrize("ta, tb, result", PAIRS, ids=str)
@pytest.mark.parametrize("lanes", [8, 64, 128])
def test_dot_products(ta: hl.Type, tb: hl.Type, result: hl.Type, lanes: int) -> None:
    """Whole vectors, a tail, and nothing at all; the sums wrap."""
    size = hl.Param(I32, "size")
    a, b, f = dot_product(ta, tb, result, lanes, size)
    left, right = random_values(ta, 70000, 1), random_values(tb, 70000, 2)
    a.set(hl.Buffer(left))
    b.set(hl.Buffer(right))
    for count in (0, 5, lanes, 7 * lanes, 70000):
        size.set(count)
        total = 7 + int(left[:count].astype(np.int64) @ right[:count].astype(np.int64))
        made = int(np.asarray(f.realize([])).astype(np.int64))
        assert (made - total) % (1 << result.bits()) == 0


@pytest.mark.parametrize("op", ["min", "max", "add"])
@pytest.mark.parametrize("t", DTYPES, ids=str)
def test_folds(op: str, t: hl.Type) -> None:
    a, f, r = hl.ImageParam(t, 1, "a"), hl.Func("f"), hl.RDom([(0, 4096)], "r")
    f[()] = a[17]
    old, new = f[()], a[r.x]
    choose = {"min": hl.min, "max": hl.max, "add": lambda x, y: x + y}
    f[()] = choose[op](old, new)
    f.update().atomic().vectorize(r.x, 32)
    values = random_values(t, 4096, 3)
    a.set(hl.Buffer(values))
    made = np.asarray(f.realize([]))
    if op == "add":
        want = (values.astype(np.int64).sum() + int(values[17])).astype(DTYPES[t])
    else:
        want = values.min() if op == "min" else values.max()
    assert made == want


def test_two_sums_of_one_loop() -> None:
    a, f, r = hl.ImageParam(U8, 1, "a"), hl.Func("f"), hl.RDom([(0, 1024)], "r")
    value = hl.cast(I32, a[r.x])
    f[()] = (hl.i32(0), hl.i32(0))
    f[()] = (f[()][0] + value, f[()][1] + value * value)
    f.update().atomic().vectorize(r.x, 64)
    values = random_values(U8, 1024, 3)
    a.set(hl.Buffer(values))
    first, second = several(f.realize([]))
    wide = values.astype(np.int64)
    assert (int(np.asarray(first)), int(np.asarray(second))) == (
        wide.sum(),
        wide @ wide,
    )


def innermost(f: hl.Func, target: Target) -> str:
    """The instructions of the loop of the update."""
    text = emit(lower(spec_of(f), name="t"), target)
    asm = assembly_text(text, target)
    loops = re.findall(r"^(\.LBB\d+_\d+):((?:\n\t.*)*?)\n\tjn?e\t\1$", asm, flags=re.M)
    assert loops, asm
    return str(loops[-1][1])


DOTS = [
    (U8, I8, 64, VNNI, "vpdpbusd", 1),
    (U8, I8, 128, VNNI, "vpdpbusd", 2),
    (I8, U8, 64, VNNI, "vpdpbusd", 1),
    (I16, I16, 32, VNNI, "vpdpwssd", 1),
    (I16, I16, 32, AVX512, "vpmaddwd", 1),
    (I16, I16, 16, AVX2, "vpmaddwd", 1),
]


@pytest.mark.parametrize("ta, tb, lanes, target, want, times", DOTS)
def test_one_instruction_in_the_loop(
    ta: hl.Type, tb: hl.Type, lanes: int, target: Target, want: str, times: int
) -> None:
    _, _, f = dot_product(ta, tb, I32, lanes, 1024)
    body = innermost(f, target)
    assert body.count(f"\t{want}\t") == times
    assert not re.search("vextract|vpshuf|vphadd|vpmovsx|vpmovzx|vmovd\t", body)


def repeated(lanes: int) -> tuple[hl.Func, hl.ImageParam, hl.ImageParam]:
    """Sums of each four bytes times the same four others, ten times."""
    a, b = hl.ImageParam(I8, 3, "a"), hl.ImageParam(U8, 2, "b")
    x, f, r = hl.Var("x"), hl.Func("f"), hl.RDom([(0, 4), (0, 10)], "r")
    f[x] = hl.i32(0)
    f[x] += hl.cast(I32, b[r.x, r.y]) * hl.cast(I32, a[r.x, x, r.y])
    a.dim(0).set_bounds(0, 4)
    a.dim(1).set_stride(4)
    f.bound(x, 0, lanes)
    f.update().reorder(r.x, x, r.y).atomic().vectorize(r.x).vectorize(x)
    return f, a, b


@pytest.mark.parametrize("lanes", [16, 64])
def test_one_instruction_of_repeated_bytes(lanes: int) -> None:
    """They are converted before they are repeated."""
    body = innermost(repeated(lanes)[0], VNNI)
    assert body.count("vpdpbusd") == lanes // 16
    assert not re.search("vphadd|vpmovsx|vpmovzx|vpmulld", body)


@pytest.mark.parametrize("lanes", [16, 64])
def test_values_of_repeated_bytes(lanes: int) -> None:
    f, a, b = repeated(lanes)
    random = np.random.default_rng(0)
    pixels = random.integers(-128, 128, (10, lanes, 4)).astype(np.int8)
    small = random.integers(0, 256, (10, 4)).astype(np.uint8)
    pixels[:, :3], small[:5] = -128, 255
    a.set(pixels)
    b.set(small)
    wanted = (pixels.astype(np.int64) * small[:, None]).sum((0, 2))
    np.testing.assert_array_equal(np.asarray(f.realize([lanes])), wanted)


def test_a_plain_sum_is_one_addition() -> None:
    a, f, r = hl.ImageParam(I32, 1, "a"), hl.Func("f"), hl.RDom([(0, 1024)], "r")
    f[()] = 0
    f[()] += a[r.x]
    f.update().atomic().vectorize(r.x, 8)
    vectors = re.findall(r"\t(v\w+)\t", innermost(f, AVX2))
    assert vectors == ["vpaddd"]


def test_floats_keep_their_order() -> None:
    a, f, r = hl.ImageParam(hl.Float(32), 1, "a"), hl.Func("f"), hl.RDom([(0, 64)], "r")
    f[()] = hl.f32(0)
    f[()] += a[r.x]
    f.update().atomic().vectorize(r.x, 8)
    assert "vextract" in innermost(f, AVX2) or "vhadd" in innermost(f, AVX2)
