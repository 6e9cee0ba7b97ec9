"""Accesses at indices that are data: how their addresses are made."""

from __future__ import annotations

import re

import numpy as np

from parhelion.codegen.target import host_target
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.build import int32
from parhelion.ir.expr import Var
from parhelion.ir.pipeline import Lowered
from parhelion.ir.stmt import ForKind
from parhelion.ir.symbols import BufferSym
from parhelion.ir.target import generic_target
from parhelion.types import INT32, Float

from .harness import Compiled, lowered
from .test_instructions import innermost

LANES = 8
F32 = Float(32)


def corners() -> Lowered:
    """``out[i] = a[at[i]] + a[at[i] + 1] + a[at[i] + s] + a[at[i] + s + 1]``, where
    `s` is the extent of ``a``'s second dimension."""
    at, a = BufferSym("at", INT32, 1, "input"), BufferSym("a", F32, 2, "input")
    out = BufferSym("out", F32, 1, "output")
    i = Var("i", INT32)
    place = build.ramp(build.mul(i, int32(LANES)), int32(1), LANES)
    where = E.Load(INT32.with_lanes(LANES), at, place, None)
    step = a.dims[1].extent
    value: E.Expr | None = None
    for moved in (int32(0), int32(1), step, build.add(step, int32(1))):
        index = build.add(where, build.broadcast(moved, LANES))
        corner = E.Load(F32.with_lanes(LANES), a, index, None)
        value = corner if value is None else E.Add(value, corner)
    assert value is not None
    count = E.Div(out.dims[0].extent, int32(LANES))
    body = S.For(i, int32(0), count, ForKind.SERIAL, S.Store(out, value, place, None))
    return lowered(body, [at, a, out])


def test_gathers_around_one_place_share_its_lanes() -> None:
    # Registers of 512 bits are permuted: tests/codegen/test_near.py.
    asm = innermost(Compiled(corners(), generic_target(256), only_text=True).asm)
    # Each lane is taken out of the index once, not once for each of four vectors, and
    # is not made an address before: that would need vectors of twice the width.
    taken = re.findall(r"\tvpextr[dq]\t|\tvmov[dq]\t%xmm\d+, %r|\tmovslq\t", asm)
    assert len(taken) <= 2 * LANES, asm
    assert "vpextrq" not in asm and "vpmovsxdq" not in asm, asm
    assert "%zmm" not in asm, asm


def test_gathers_around_one_place() -> None:
    rng = np.random.default_rng(7)
    at = rng.integers(0, 50, 32, dtype=np.int32)
    a = rng.integers(0, 99, (13, 8)).astype(np.float32)
    out = np.zeros(32, np.float32)
    assert Compiled(corners(), host_target())(at, a, out) == 0
    flat = a.ravel()
    expected = flat[at] + flat[at + 1] + flat[at + 13] + flat[at + 14]
    np.testing.assert_array_equal(out, expected)
