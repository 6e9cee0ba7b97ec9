"""Large scalars are stored out of sight of LLVM's formulas, and others as they are; so
are the pointers that the addresses of a loop begin with."""

from __future__ import annotations

import re

import numpy as np
import pytest

import parhelion as hl
from parhelion.codegen import opaque
from parhelion.codegen.llvm import emit_with_sites
from parhelion.codegen.nvptx.module import Kernels
from parhelion.codegen.target import host_target
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.rewrite import nodes
from parhelion.ir.target import gpu_target
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


def _frozen_values(text: str) -> list[str]:
    """The types of what is frozen besides pointers."""
    return [t for t in re.findall(r"= freeze (\S+) ", text) if t != "ptr"]


def _rows(n: int) -> hl.Func:
    """A sum of one pixel of each of `n` rows of an image, whose rows are at any
    distance."""
    y, image = hl.Var("y"), hl.ImageParam(hl.UInt(16), 2, name="image")
    f = hl.Func("f")
    total: hl.Expr = image[x, y]
    for k in range(1, n):
        total = total + image[x, y + k] * (k + 1)
    f[x, y] = total
    return f.vectorize(x, 16)


def _pointers_of_loop(text: str) -> tuple[set[str], set[str]]:
    """The pointers from outside of the innermost loops that these count from: those
    that are frozen, and others."""
    frozen = set(re.findall(r"(%v\d+) = freeze ptr ", text))
    found: set[str] = set()
    for body in re.findall(r"(?ms)^(loop\d+:.*?label %loop\d+)", text):
        label = body[: body.index(":")]
        if not body.endswith(f"label %{label}") or re.search(r"\n\w+:\n", body):
            continue
        made = set(re.findall(r"(%v\d+) = ", body))
        step = r"getelementptr \w+, ptr (%\w+), i64 %"
        found |= set(re.findall(step, body)) - made
    return found & frozen, found - frozen


def test_the_pointers_of_a_loop_with_many_loads_are_frozen() -> None:
    frozen, others = _pointers_of_loop(_text(_rows(5)))
    assert len(frozen) >= 6  # five rows and the output
    assert not others


def test_a_loop_that_copies_counts_with_a_pointer() -> None:
    frozen, others = _pointers_of_loop(_text(_rows(1)))
    assert not frozen
    assert others


def test_kernels_show_what_their_pointers_are_computed_from() -> None:
    found = list(nodes(lower(spec_of(_rows(5)), name="f").body))
    loop = [n for n in found if isinstance(n, S.For)][-1]
    assert sum(isinstance(n, E.Load) for n in nodes(loop)) > opaque.FEW
    kernels = Kernels(gpu_target("sm_80"), strict_float=False)
    assert not opaque.hides_addresses(kernels, loop)


def test_rows_of_many_loads_are_what_they_were() -> None:
    def make() -> hl.Func:
        y, f = hl.Var("y"), hl.Func("f")
        pixels = np.arange(40 * 30, dtype=np.uint16).reshape(30, 40) * 77
        image = hl.BoundaryConditions.repeat_edge(hl.Buffer(pixels, name="image"))
        f[x, y] = sum([image[x - k, y + k] * (k + 1) for k in range(6)], hl.u16(0))
        return f

    def tiled(f: hl.Func) -> None:
        y, xi, yi = hl.Var("y"), hl.Var("xi"), hl.Var("yi")
        f.tile(x, y, xi, yi, 16, 4).vectorize(xi, 8)

    check(make, [37, 29], [lambda f: None, lambda f: f.vectorize(x, 16), tiled])


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_a_large_value_is_stored_frozen(bits: int) -> None:
    text = _text(_levels(hl.Int(bits), 12))
    (frozen,) = re.findall(rf"(%v\d+) = freeze i{bits} ", text)
    assert re.search(rf"store i{bits} {frozen}, ptr", text)


@pytest.mark.parametrize("levels", [0, 1, 2])
def test_a_small_value_is_stored_as_it_is(levels: int) -> None:
    assert not _frozen_values(_text(_levels(hl.Int(32), levels)))


def test_floats_are_no_formulas() -> None:
    assert not _frozen_values(_text(_levels(hl.Float(32), 12)))


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
    assert not _frozen_values(_text(g))


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

    assert _frozen_values(_text(make()))
    check(make, [16], [lambda f: None, lambda f: f.update().unroll(x, 2)])
