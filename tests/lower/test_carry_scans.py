"""What running sums in vectors hand on from one to the next."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.ir.build import block, int32
from parhelion.ir.expr import Add, Broadcast, Expr, Load, Mul, Ramp, Var
from parhelion.ir.stmt import Allocate, For, ForKind, If, Stmt, Store
from parhelion.ir.symbols import BufferSym
from parhelion.ir.target import generic_target
from parhelion.ir.text import text
from parhelion.lower.carry_scans import carry_scans
from parhelion.lower.passes import for_processor, lower
from parhelion.types import INT32, Float
from tests.support.spec import spec_of

x, y = hl.vars("x y")
LANES = 8


def rows(image: Any, lines: int = 1) -> hl.Func:
    """Running sums along rows, some lines at a time."""
    inp, f = hl.Buffer(image), hl.Func("f")
    height, width = image.shape
    r = hl.RDom([(1, width - 1)], "r")
    f[x, y] = inp[x, y]
    f[r, y] += f[r - 1, y]
    ro, ri, yo, yi = hl.RVar("ro"), hl.RVar("ri"), hl.Var("yo"), hl.Var("yi")
    u = f.update().atomic().split(r, ro, ri, LANES).split(y, yo, yi, lines)
    u.reorder(ri, yi, ro, yo).unroll(yi).vectorize(ri)
    for k, n in enumerate((width, height)):
        f.output_buffer().dim(k).set_bounds(0, n)
        f.output_buffer().dim(k).set_stride(1 if k == 0 else width)
    return f


def in_lanes(image: Any) -> Any:
    """The sums in the order in which vectors add them up, each rounded."""
    out = image.copy()
    for line in out:
        for begin in range(1, len(line), LANES):
            p = line[begin : begin + LANES]
            step = 1
            while step < LANES:
                p[step:] = p[step:] + p[:-step].copy()
                step *= 2
            p += line[begin - 1]
    return out


@pytest.mark.parametrize("lines", [1, 3])
def test_floats_are_the_same_bits(lines: int) -> None:
    image = np.random.default_rng(1).random((3, 1 + 6 * LANES), np.float32) - 0.5
    f = rows(image, lines)
    got = np.asarray(f.realize([image.shape[1], 3]))
    assert np.array_equal(got, in_lanes(image))


@pytest.mark.parametrize("lines", [1, 3])
def test_a_register_for_each_line(lines: int) -> None:
    image = np.zeros((3, 1 + 6 * LANES), np.float32)
    lowered = lower(spec_of(rows(image, lines)), name="f")
    shown = text(for_processor(lowered, generic_target(256)))
    assert shown.count("allocate f.carried") == lines


def scan(extent: Expr, *others: Store, behind: int = 1) -> Stmt:
    """A loop that adds to each vector what lies some places before it."""
    at = Mul(LOOP, int32(LANES))
    before = Load(T, F, Add(at, int32(-behind)), None)
    first = Ramp(at, int32(1), LANES)
    new = Load(T.with_lanes(LANES), G, first, None)
    step = Store(F, Add(new, Broadcast(before, LANES)), first, None)
    return For(LOOP, int32(1), extent, ForKind.SERIAL, block(step, *others))


T = Float(32)
LOOP, COUNT = Var("i", INT32), Var("n", INT32)
F, G = BufferSym("f", T, 1, "internal"), BufferSym("g", T, 1, "internal")


def other(offset: int) -> Store:
    """A store of another vector of the same storage."""
    at = Ramp(Add(Mul(LOOP, int32(LANES)), int32(offset)), int32(1), LANES)
    return Store(F, Load(T.with_lanes(LANES), G, at, None), at, None)


def kept(s: Stmt) -> bool:
    made = carry_scans(s)
    return made is not s and "carried" in text(made)


def test_a_loop_that_may_be_empty_reads_nothing() -> None:
    """What is before the first vector is there only if there is one."""
    assert isinstance(carry_scans(scan(COUNT)), If)
    assert any(
        isinstance(item, Allocate)
        for item in getattr(carry_scans(scan(int32(4))), "items", ())
    )


def test_what_the_vector_before_has_not_stored_last_is_read() -> None:
    assert kept(scan(int32(4)))
    assert not kept(scan(int32(4), behind=2))
    assert not kept(scan(int32(4), behind=1 + LANES))


@pytest.mark.parametrize("offset", [-1, -LANES, 0, LANES - 1, 4])
def test_other_stores_at_the_place_that_is_read(offset: int) -> None:
    assert not kept(scan(int32(4), other(offset)))


@pytest.mark.parametrize("offset", [1000, -1000, LANES, -LANES - 1])
def test_other_stores_elsewhere(offset: int) -> None:
    assert kept(scan(int32(4), other(offset)))
