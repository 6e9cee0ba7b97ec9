"""Fixed-point arithmetic written by hand becomes its instruction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.codegen.llvm import emit
from parhelion.ir.target import generic_target
from parhelion.lower.passes import lower
from parhelion.runtime.jit import assembly_text
from tests.support.spec import spec_of

U8, U16, I16, I32 = hl.UInt(8), hl.UInt(16), hl.Int(16), hl.Int(32)
Make = Callable[[hl.Expr, hl.Expr], hl.Expr]


def product(a: hl.Expr, b: hl.Expr) -> hl.Expr:
    return hl.cast(I32, a) * hl.cast(I32, b) + (1 << 14)


#: name: (operand type, what is written, the instruction)
IDIOMS: dict[str, tuple[hl.Type, Make, str]] = {
    "u8 add": (U8, lambda a, b: U8_(hl.min(U16_(a) + U16_(b), 255)), "vpaddusb"),
    "u8 add in i32": (
        U8,
        lambda a, b: U8_(hl.clamp(hl.cast(I32, a) + hl.cast(I32, b), 0, 255)),
        "vpaddusb",
    ),
    "u8 sub": (U8, lambda a, b: U8_(hl.max(I16_(a) - I16_(b), 0)), "vpsubusb"),
    "u8 sub in i32": (
        U8,
        lambda a, b: U8_(hl.clamp(hl.cast(I32, a) - hl.cast(I32, b), 0, 255)),
        "vpsubusb",
    ),
    "u16 sub": (
        U16,
        lambda a, b: U16_(hl.max(hl.cast(I32, a) - hl.cast(I32, b), 0)),
        "vpsubusw",
    ),
    "q15 by a constant": (
        I16,
        lambda a, b: I16_(
            hl.clamp((hl.cast(I32, a) * -12345 + (1 << 14)) >> 15, -32768, 32767)
        ),
        "vpmulhrsw",
    ),
    "q15": (
        I16,
        lambda a, b: I16_(hl.clamp(product(a, b) >> 15, -32768, 32767)),
        "vpmulhrsw",
    ),
    "q15 divided": (
        I16,
        lambda a, b: I16_(hl.clamp(product(a, b) / (1 << 15), -32768, 32767)),
        "vpmulhrsw",
    ),
}
#: Near misses: the same but for a limit, a type or a constant.
OTHERS: dict[str, tuple[hl.Type, Make, str]] = {
    "u8 add to 254": (U8, lambda a, b: U8_(hl.min(U16_(a) + U16_(b), 254)), "vpaddusb"),
    "u8 add from 1": (
        U8,
        lambda a, b: U8_(hl.clamp(U16_(a) + U16_(b), 1, 255)),
        "vpaddusb",
    ),
    "u8 sub above 1": (U8, lambda a, b: U8_(hl.max(I16_(a) - I16_(b), 1)), "vpsubusb"),
    "u8 sub to 200": (
        U8,
        lambda a, b: U8_(hl.clamp(I16_(a) - I16_(b), 0, 200)),
        "vpsubusb",
    ),
    "u8 sub unsigned": (U8, lambda a, b: U8_(hl.max(U16_(a) - U16_(b), 0)), "vpsubusb"),
    "q14": (I16, lambda a, b: I16_(hl.clamp(product(a, b) >> 14, -9, 9)), "vpmulhrsw"),
    "q15 that wraps": (I16, lambda a, b: I16_(product(a, b) >> 15), "?"),
}


def U8_(e: hl.Expr) -> hl.Expr:
    return hl.cast(U8, e)


def U16_(e: hl.Expr) -> hl.Expr:
    return hl.cast(U16, e)


def I16_(e: hl.Expr) -> hl.Expr:
    return hl.cast(I16, e)


def operands(t: hl.Type) -> tuple[Any, Any]:
    """All pairs of bytes; corners of and random pairs of 16-bit numbers."""
    if t == U8:
        a, b = np.meshgrid(np.arange(256), np.arange(256))
        return a.ravel().astype(np.uint8), b.ravel().astype(np.uint8)
    rng = np.random.default_rng(4)
    low, dtype = (0, np.uint16) if t == U16 else (-32768, np.int16)
    corners = [low, low + 1, low + 65535, low + 65534, 0, 1, 16384, 181]
    a, b = np.meshgrid(corners, corners)
    a = np.concatenate([a.ravel(), rng.integers(low, low + 65536, 4032)])
    b = np.concatenate([b.ravel(), rng.integers(low, low + 65536, 4032)])
    return a.astype(dtype), b.astype(dtype)


def pipeline(t: hl.Type, make: Make) -> tuple[hl.ImageParam, hl.ImageParam, hl.Func]:
    x = hl.Var("x")
    a, b, f = hl.ImageParam(t, 1, "a"), hl.ImageParam(t, 1, "b"), hl.Func("f")
    f[x] = make(a[x], b[x])
    return a, b, f


@pytest.mark.parametrize("name", [*IDIOMS, *OTHERS])
def test_values(name: str) -> None:
    """Vectors, which use the instruction, and scalars, which do not, agree."""
    t, make, _ = (IDIOMS | OTHERS)[name]
    left, right = operands(t)
    results = []
    for lanes in (1, 8, 32):
        a, b, f = pipeline(t, make)
        if lanes > 1:
            f.vectorize(f.args()[0], lanes)
        a.set(hl.Buffer(left))
        b.set(hl.Buffer(right))
        results.append(np.asarray(f.realize([len(left)])))
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])


def assembly(t: hl.Type, make: Make) -> str:
    target = generic_target(256)
    _, _, f = pipeline(t, make)
    f.vectorize(f.args()[0], 256 // t.bits())
    return assembly_text(emit(lower(spec_of(f), name="t"), target), target)


@pytest.mark.parametrize("name", IDIOMS)
def test_instruction(name: str) -> None:
    t, make, want = IDIOMS[name]
    asm = assembly(t, make)
    assert f"\t{want}\t" in asm
    assert "vpmovzx" not in asm and "vpmovsx" not in asm


@pytest.mark.parametrize("name", OTHERS)
def test_near_misses(name: str) -> None:
    t, make, other = OTHERS[name]
    assert f"\t{other}\t" not in assembly(t, make)
