"""Products of 16-bit numbers, one of which all lanes share, in 32 bits."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl
from parhelion.codegen.llvm import emit
from parhelion.ir.target import generic_target
from parhelion.lower.passes import lower
from parhelion.runtime.jit import assembly_text
from tests.support.spec import spec_of

I8, U8, I16, U16 = hl.Int(8), hl.UInt(8), hl.Int(16), hl.UInt(16)
VALUES = np.array([-(2**15), -(2**15) + 1, -256, -255, -1, 0, 1, 255, 256, 2**15 - 1])


def scaled(
    t: hl.Type, u: hl.Type, lanes: int
) -> tuple[hl.Func, hl.ImageParam, hl.ImageParam]:
    """``f[x] = image[x] * factors[0] + factors[1] * image[x + 1] - x`` in 32 bits."""
    x = hl.Var("x")
    image, factors = hl.ImageParam(t, 1, "image"), hl.ImageParam(u, 1, "factors")
    f = hl.Func("f")
    f[x] = (
        hl.i32(image[x]) * hl.i32(factors[0])
        + hl.i32(factors[1]) * hl.i32(image[x + 1])
        - x
    )
    f.vectorize(x, lanes)
    return f, image, factors


@pytest.mark.parametrize("bits", [256, 512])
@pytest.mark.parametrize(
    ("t", "u", "short"),
    [
        (I16, I16, True),
        (I8, I16, True),
        (I16, U8, True),
        (U16, I16, False),
        (I16, U16, False),
    ],
)
def test_instruction(t: hl.Type, u: hl.Type, short: bool, bits: int) -> None:
    f, _, _ = scaled(t, u, 16)
    target = generic_target(bits)
    asm = assembly_text(emit(lower(spec_of(f), name="t"), target), target)
    assert ("vpmaddwd" in asm) is short, asm
    assert ("vpmulld" in asm) is not short, asm


@pytest.mark.parametrize("lanes", [2, 4, 6, 8, 16, 24, 64])
@pytest.mark.parametrize(("t", "u"), [(I16, I16), (I8, I16), (I16, U8), (U16, I16)])
def test_values(t: hl.Type, u: hl.Type, lanes: int) -> None:
    f, image, factors = scaled(t, u, lanes)
    kinds = {I8: np.int8, U8: np.uint8, I16: np.int16, U16: np.uint16}
    pixels = np.resize(VALUES, 129).astype(kinds[t])
    image.set(pixels)
    wide = pixels.astype(np.int32)
    for a in VALUES.astype(kinds[u]):
        for b in (VALUES[0], 3):
            pair = np.array([a, b]).astype(kinds[u])
            factors.set(pair)
            x = np.arange(128)
            expected = wide[:-1] * np.int32(pair[0]) + wide[1:] * np.int32(pair[1]) - x
            assert np.array_equal(
                np.asarray(f.realize([128])), expected.astype(np.int32)
            )
