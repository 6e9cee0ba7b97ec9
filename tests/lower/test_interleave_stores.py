"""Strided stores that fill a dense run become one, and nothing else changes."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.codegen.llvm import emit
from parhelion.ir.build import add, block, imm, int32
from parhelion.ir.expr import LT, Expr, Load, Ramp, Var
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import If, LetStmt, Stmt, Store
from parhelion.ir.symbols import BufferSym
from parhelion.ir.target import Target, generic_target
from parhelion.lower.interleave_stores import interleave_stores
from parhelion.lower.passes import lower
from parhelion.runtime.jit import assembly_text
from parhelion.types import INT32, UInt
from tests.lower.execute import execute
from tests.support.spec import spec_of

x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
AVX2, AVX512 = generic_target(256), generic_target(512)


def interleaved(t: hl.Type, lanes: int, channels: int) -> tuple[hl.ImageParam, hl.Func]:
    inp, f = hl.ImageParam(t, 3, "inp"), hl.Func("f")
    f[x, y, c] = inp[x, y, channels - 1 - c] + hl.cast(t, 1)
    out = f.output_buffer()
    out.dim(0).set_stride(channels)
    out.dim(2).set_stride(1)
    out.dim(2).set_bounds(0, channels)
    f.reorder(c, x, y).bound(c, 0, channels).unroll(c).vectorize(x, lanes)
    return inp, f


def stores(s: Stmt) -> list[Store]:
    return [n for n in nodes(s) if isinstance(n, Store)]


DTYPES = {hl.UInt(8): np.uint8, hl.UInt(16): np.uint16, hl.Float(32): np.float32}


@pytest.mark.parametrize("channels", [2, 3, 4])
@pytest.mark.parametrize("t", DTYPES, ids=str)
@pytest.mark.parametrize("lanes", [8, 32])
def test_values(t: hl.Type, lanes: int, channels: int) -> None:
    inp, f = interleaved(t, lanes, channels)
    body = lower(spec_of(f), name="test").body
    assert {s.value.type.count for s in stores(body)} == {lanes * channels}
    shape = (channels, 5, 71)
    image = np.random.default_rng(1).integers(0, 99, shape).astype(DTYPES[t])
    inp.set(hl.Buffer(image))
    made = np.zeros((5, 71, channels), image.dtype)
    f.realize(hl.Buffer(made.transpose(2, 0, 1)))
    assert np.array_equal(made, image[::-1].transpose(1, 2, 0) + image.dtype.type(1))


@pytest.mark.parametrize("target", [AVX2, AVX512], ids=["avx2", "avx512"])
@pytest.mark.parametrize("channels", [2, 3, 4])
@pytest.mark.parametrize("t", DTYPES, ids=str)
def test_assembly(t: hl.Type, channels: int, target: Target) -> None:
    lanes = 256 // t.bits()
    _, f = interleaved(t, lanes, channels)
    asm = assembly_text(emit(lower(spec_of(f), name="test"), target), target)
    assert not re.search(r"v?pextr|extractps", asm)
    assert re.search(r"vperm|vpunpck|vunpck|vpshuf", asm)


out, other = (
    BufferSym("out", UInt(8), 1, "output"),
    BufferSym("b", UInt(8), 1, "output"),
)


def at(start: int, step: int = 3, lanes: int = 4) -> Ramp:
    return Ramp(int32(start), int32(step), lanes)


def value(n: int, lanes: int = 4) -> Expr:
    return Ramp(imm(n, UInt(8)), imm(1, UInt(8)), lanes)


def load(b: BufferSym, index: Ramp) -> Expr:
    return Load(UInt(8, index.lanes), b, index, None)


def put(b: BufferSym, index: Ramp, v: Expr) -> Stmt:
    return Store(b, v, index, None)


def count_after(*items: Stmt) -> int:
    return len(stores(interleave_stores(block(*items))))


def test_in_any_order_with_others_between() -> None:
    first, second, third = (put(out, at(i), value(i * 10)) for i in (2, 0, 1))
    let = LetStmt(Var("t", INT32), int32(1))
    assert count_after(first, second, third) == 1
    assert count_after(first, let, second, put(other, at(0), value(3)), third) == 2


def test_stores_that_stay() -> None:
    a, b, d = (put(out, at(i), value(i * 10)) for i in (0, 1, 2))
    # One is missing; one has another stride; one starts elsewhere.
    assert count_after(a, b) == 2
    assert count_after(a, b, put(out, at(2, 4), value(3))) == 3
    assert count_after(a, b, put(out, at(5), value(3))) == 3
    # Something between reads the buffer, or writes what a value reads.
    read = put(other, at(0), load(out, at(0)))
    assert count_after(a, read, b, d) == 4
    copy = put(out, at(0), load(other, at(0)))
    assert count_after(copy, b, put(other, at(0), value(9)), d) == 4
    # The same place is written twice, in this order.
    assert count_after(a, put(out, at(0), value(7)), b, d) == 2


def random_run(rng: random.Random) -> Stmt:
    """Stores, loads and lets, of which a third can be joined somewhere."""
    buffers = [out, other]
    items: list[Stmt] = []
    for n in range(rng.randint(3, 12)):
        if n == 0 or rng.random() < 0.15:
            step, lanes, start = rng.choice([2, 3, 4]), rng.choice([2, 4]), 0
        elif rng.random() < 0.1:
            start = rng.choice([0, 1, 12])
        index = at(start + rng.randrange(step), step, lanes)
        v = value(rng.randrange(200), lanes)
        if rng.random() < 0.2:
            v = add(v, load(rng.choice(buffers), at(rng.randrange(9), 1, lanes)))
        if rng.random() < 0.2:
            t = Var(f"t{n}", v.type)
            items.append(LetStmt(t, v))
            v = t
        items.append(put(rng.choice([out, *buffers]), index, v))
    return block(*items)


def test_random_runs() -> None:
    """Memory is the same afterwards."""
    changed = 0
    for seed in range(300):
        s = random_run(random.Random(seed))
        joined = interleave_stores(s)
        changed += joined is not s
        before: dict[BufferSym, Any]
        before = {b: np.arange(64, dtype=np.uint8) for b in (out, other)}
        after: dict[BufferSym, Any]
        after = {b: np.arange(64, dtype=np.uint8) for b in (out, other)}
        execute(s, before)
        execute(joined, after)
        assert all(np.array_equal(before[b], after[b]) for b in before), seed
    assert changed > 60


def test_deeply_nested_blocks_are_visited_once() -> None:
    lone = Store(out, imm(1, UInt(8)), int32(0), None)
    s: Stmt = lone
    for n in range(60):
        s = If(LT(Var(f"v{n}", INT32), int32(0)), block(lone, s), None)
    assert interleave_stores(s) is s  # and within a lifetime: not after 2 ** 60 steps


def test_every_second_pixel_with_tails_of_their_own() -> None:
    """Where the splits leave what is left over to the last iterations, the coordinates
    of the steady state had a name, which hid that they have a stride: each lane was
    loaded and stored by itself, slower than without any schedule."""
    pixels = np.random.default_rng(2).integers(0, 256, (5, 97)).astype(np.uint8)
    xi = hl.Var("xi")

    def made() -> hl.Func:
        image = hl.BoundaryConditions.repeat_edge(hl.Buffer(pixels))
        f = hl.Func("f")
        between = (hl.u16(image[x - 1, y]) + image[x + 1, y]) / 2
        f[x, y] = hl.select(x % 2 == 0, image[x, y], hl.u8(between))
        return f

    f = made()
    f.split(x, x, xi, 2).unroll(xi).vectorize(x, 16)
    counts = [s.value.type.count for s in stores(lower(spec_of(f), name="test").body)]
    assert 32 in counts
    plain = np.asarray(made().realize([97, 5]))
    assert np.array_equal(np.asarray(f.realize([97, 5])), plain)
