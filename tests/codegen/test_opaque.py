"""Large scalars are stored out of sight of LLVM's formulas, and others as they are."""

from __future__ import annotations

import re

import numpy as np
import pytest

import parhelion as hl
from parhelion.codegen.llvm import emit_with_sites
from parhelion.codegen.target import host_target
from parhelion.lower.passes import lower
from tests.support.checking import check
from tests.support.spec import spec_of

x = hl.Var("x")


def _text(f: hl.Func) -> str:
    return emit_with_sites(lower(spec_of(f), name="f"), host_target()).text


def _levels(t: hl.Type, n: int) -> hl.Func:
    f = hl.Func("f0")
    f[x] = hl.cast(t, hl.ImageParam(hl.UInt(8), 1, name="image")[x])
    for k in range(n):
        g = hl.Func(f"f{k + 1}")
        g[x] = hl.max(hl.min(f[x], f[x + 1]), f[x - 1])
        f = g
    return f


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_a_large_value_is_stored_frozen(bits: int) -> None:
    text = _text(_levels(hl.Int(bits), 12))
    (frozen,) = re.findall(rf"(%v\d+) = freeze i{bits} ", text)
    assert re.search(rf"store i{bits} {frozen}, ptr", text)


@pytest.mark.parametrize("levels", [0, 1, 2])
def test_a_small_value_is_stored_as_it_is(levels: int) -> None:
    assert "freeze" not in _text(_levels(hl.Int(32), levels))


def test_floats_are_no_formulas() -> None:
    assert "freeze" not in _text(_levels(hl.Float(32), 12))


def test_a_large_sum_is_carried_frozen() -> None:
    r = hl.RDom([(0, 10)])
    f, g = _levels(hl.Int(32), 12), hl.Func("g")
    g[x] = 0
    g[x] += f[x + r]
    assert len(re.findall(r"= freeze i32 ", _text(g))) == 1


def test_what_is_read_changed_and_written_is_no_large_value() -> None:
    image = hl.ImageParam(hl.Int(32), 1, name="image")
    r = hl.RDom([(0, 1000)])
    g = hl.Func("g")
    g[x] = 0
    at = image[r]
    for k in range(1, 60):
        at = (at ^ k) * 3
    g[hl.clamp(at, 0, 9)] += 1
    assert "freeze" not in _text(g)


@pytest.mark.filterwarnings("ignore::parhelion.RecomputeWarning")
def test_large_values_are_what_they_were() -> None:
    values = np.arange(64, dtype=np.uint8) * 37 % 101

    def make() -> hl.Func:
        f = hl.Func("f0")
        image = hl.Buffer(values, name="image")
        image.set_min([-20])
        f[x] = hl.i32(image[x])
        for k in range(4):
            g = hl.Func(f"f{k + 1}")
            g[x] = hl.max(hl.min(f[x], f[x + 1] * 3), f[x - 1]) ^ f[x + 2]
            f = g
        r = hl.RDom([(0, 2)])
        total = hl.Func("total")
        total[x] = f[x]
        total[x] += f[x + r]
        return total

    assert "freeze" in _text(make())
    check(make, [16], [lambda f: None, lambda f: f.update().unroll(x, 2)])
