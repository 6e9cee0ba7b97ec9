"""Funcs and expressions that run: evaluate, output buffers, user-defined sequences."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl
from tests.support.realized import several

x, y = hl.vars("x y")


def test_evaluate() -> None:
    assert hl.evaluate(hl.Expr(3) + 4) == 7
    assert hl.evaluate(hl.f64(0.1)) == 0.1
    assert hl.evaluate((hl.u8(3), hl.Expr(2.5))) == (3, 2.5)
    assert hl.evaluate(hl.sum(hl.RDom([(1, 10)]).x)) == 55
    gain = hl.Param(hl.Int(32), 6)
    assert hl.evaluate(gain * 7) == 42


def test_realize() -> None:
    f = hl.Func()
    f[x, y] = x + 10 * y
    want = np.arange(4)[None, :] + 10 * np.arange(3)[:, None]
    np.testing.assert_array_equal(np.asarray(f.realize([4, 3])), want)


def test_a_pipeline_of_all_kinds_of_definition() -> None:
    f, g = hl.funcs("run_f run_g")
    f[x] = hl.u8(x)
    r = hl.RDom([(0, 4)])
    r.where(r.x % 2 == 1)
    f[r] += 100
    g[hl._] = f + hl.Func(f * 2)
    assert np.asarray(g.realize([4])).tolist() == [0, 47, 6, 53]


def test_output_buffers() -> None:
    f = hl.Func("out_f")
    f[x, y] = (x, hl.u8(y))
    assert [b.type() for b in f.output_buffers()] == [hl.Int(32), hl.UInt(8)]
    with pytest.raises(hl.TypeMismatchError, match="has 2 values"):
        f.output_buffer()
    g = hl.Func("out_g")
    g[x] = x
    assert g.output_buffer().name() == "out_g"
    with pytest.raises(hl.DefinitionError, match="not defined"):
        hl.Func().output_buffers()


class Complex:
    """A user's own pair of values, with nothing of a Tuple but indexing."""

    def __init__(self, real: object, imaginary: object) -> None:
        self.parts = (real, imaginary)

    def __len__(self) -> int:
        return 2

    def __getitem__(self, i: int) -> object:
        return self.parts[i]


def test_a_users_sequence_is_a_tuple() -> None:
    f = hl.Func()
    f[x] = Complex(hl.f32(x), 1.0)
    f[0] = Complex(*f[1])
    assert f.types() == [hl.Float(32), hl.Float(32)]
    a, b = several(f.realize([3]))
    assert np.asarray(a).tolist() == [1, 1, 2]
    assert np.asarray(b).tolist() == [1, 1, 1]


def test_what_is_not_available_yet_says_so() -> None:
    f = hl.Func()
    f[x] = x
    with pytest.raises(hl.HalideError, match="debug_to_file is not available"):
        f.debug_to_file("f")
