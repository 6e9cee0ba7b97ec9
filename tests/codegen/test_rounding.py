"""Floats that are rounded and limited to a narrow type, by conversions that round."""

from __future__ import annotations

import re

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret
from parhelion.ir.target import generic_target
from tests.codegen.test_tables import _assembly, _vbmi

F16, F32, F64 = hl.Float(16), hl.Float(32), hl.Float(64)
TYPES = (hl.UInt(8), hl.Int(8), hl.UInt(16), hl.Int(16))


def _rounded(of: hl.Type, to: hl.Type, lanes: int) -> tuple[hl.Func, hl.ImageParam]:
    x, image, f = hl.Var("x"), hl.ImageParam(of, 1), hl.Func("f")
    f[x] = hl.saturating_cast(to, hl.round(image[x]))
    if lanes > 1:
        f.vectorize(x, lanes)
    return f, image


@pytest.mark.parametrize("to", TYPES, ids=str)
@pytest.mark.parametrize("of", [F16, F32, F64], ids=str)
def test_values(of: hl.Type, to: hl.Type) -> None:
    """Halves, limits, what is beyond them, and what is no number."""
    dtype = of.to_numpy()
    low, high = int(to.lowest()), int(to.highest())
    ends = [low, high, low - 1, high + 1, low - 0.5, high + 0.5, low + 0.5, high - 0.5]
    odd = [np.nan, np.inf, -np.inf, -0.0, 3e9, -3e9, 0.49999997, -0.49999997]
    halves = np.arange(-150, 150) / 2
    with np.errstate(over="ignore"):
        values = np.concatenate([ends, odd, halves, np.nextafter(halves, 9)])
        values = np.resize(values, 640).astype(dtype)
    limits = np.clip(np.rint(np.nan_to_num(values.astype(np.float64))), low, high)
    for lanes in (1, 8, 16, 24):
        f, image = _rounded(of, to, lanes)
        image.set(values)
        got = np.asarray(f.realize([640]))
        np.testing.assert_array_equal(got, limits.astype(to.to_numpy()))
        np.testing.assert_array_equal(interpret(f._function, [(0, 640)])[0], got)


def test_instructions() -> None:
    f, _ = _rounded(F32, hl.UInt(8), 16)
    text = _assembly(f, _vbmi())
    assert re.search(r"vcvtps2dq", text)
    assert not re.search(r"vrndscale|vcvttps2dq", text)
    assert re.search(r"cvtps2dq", _assembly(f, generic_target()))
