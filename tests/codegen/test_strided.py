"""Strided loads that share dense ones: right, shared, and never out of bounds."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from parhelion.codegen.backends import llvm_backend
from parhelion.codegen.target import host_target
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.build import int32
from parhelion.ir.expr import Expr, Var
from parhelion.ir.stmt import ForKind, Stmt
from parhelion.ir.symbols import BufferSym
from parhelion.ir.target import Target, generic_target, make_target
from parhelion.types import INT32, Float, Type, UInt
from tests.support.pages import at_page_end

from .harness import Compiled, lowered
from .runner import Runner
from .test_instructions import innermost

LANES = 8
#: What a Zen 4 and an Ice Lake have for vectors.
ZEN4 = (
    *("avx", "avx2", "fma", "f16c", "bmi2", "sse4.1", "avx512f", "avx512bw"),
    *("avx512dq", "avx512vl", "avx512cd", "avx512vbmi"),
)
X = Var("x", INT32)


def longest_step(target: Target, bits: int) -> int:
    return llvm_backend(target.arch).longest_step(target, bits)


def load(b: BufferSym, step: int, offset: int, lanes: int = LANES) -> Expr:
    base = build.add(build.mul(X, int32(step * lanes)), int32(offset))
    return E.Load(b.type.with_lanes(lanes), b, E.Ramp(base, int32(step), lanes), None)


def put(b: BufferSym, value: Expr, place: int) -> Stmt:
    at = build.add(build.mul(X, int32(64)), int32(place * LANES))
    return S.Store(b, value, E.Ramp(at, int32(1), value.type.count), None)


def beside(step: int, first: bool) -> Stmt:
    """Two loads of a loop over channels, one of which is the same for all of them and
    moves out of the loop."""
    c = Var("c", INT32)
    start = int32(0 if step > 0 else 200)
    shared = build.add(build.mul(X, int32(step * LANES)), start)
    same, own = [
        E.Load(T.with_lanes(LANES), IN, E.Ramp(base, int32(step), LANES), None)
        for base in (shared, build.add(shared, build.mul(c, int32(20))))
    ]
    at = build.add(build.mul(c, int32(64)), build.mul(X, int32(LANES)))
    value = E.Mul(same, own) if first else E.Mul(own, same)
    store = S.Store(OUT, value, E.Ramp(at, int32(1), LANES), None)
    return loop(S.For(c, int32(0), int32(3), ForKind.SERIAL, store))


def loop(*items: Stmt, extent: int = 3) -> Stmt:
    body = items[0] if len(items) == 1 else S.Block(items)
    return S.For(X, int32(0), int32(extent), ForKind.SERIAL, body)


def add(*terms: Expr) -> Expr:
    total = terms[0]
    for t in terms[1:]:
        total = E.Add(total, t)
    return total


T = UInt(16)
IN, OUT = BufferSym("a", T, 1, "input"), BufferSym("out", T, 1, "output")
LET = Var("let", T.with_lanes(LANES))


def cases() -> dict[str, Stmt]:
    found: dict[str, Stmt] = {}
    for step in (2, 3, 4):
        for n in range(1, 5):
            for offsets in itertools.islice(itertools.permutations(range(5), n), 7):
                value = add(*[load(IN, step, o) for o in offsets])
                found[f"{step} {offsets}"] = loop(put(OUT, value, 0))
    found["lets"] = loop(
        S.LetStmt(LET, load(IN, 3, 2)),
        put(OUT, load(IN, 3, 0), 0),
        put(OUT, E.Mul(LET, load(IN, 3, 1)), 1),
    )
    found["stores between"] = loop(
        put(OUT, load(OUT, 2, 0), 0),
        put(OUT, load(OUT, 2, 1), 1),
        put(OUT, add(load(OUT, 2, 0), load(OUT, 2, 1)), 2),
    )
    found["backwards"] = loop(
        put(OUT, add(load(IN, -2, 200), load(IN, -2, 201), load(IN, 2, 0)), 0)
    )
    # More than four apart: dense where registers can be put into any order.
    for step in (5, 6, 9, 16, -6):
        start = 0 if step > 0 else 500
        for offsets in ((0,), (1, 0), (2, 7, 4), (0, 15, 5, 9)):
            value = add(*[load(IN, step, start + o) for o in offsets])
            found[f"{step} {offsets}"] = loop(put(OUT, value, 0))
        wide = add(*[load(IN, step, start + o, 40) for o in (0, 3)])
        found[f"{step} forty lanes"] = loop(put(OUT, wide, 0), extent=1)
    for step in (2, 3, 4, -2, 7):
        for first in (False, True):
            found[f"beside what moves out {step} {first}"] = beside(step, first)
    return found


CASES = cases()


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    body = CASES[name]
    rng = np.random.default_rng(1)
    a = rng.integers(0, 1000, 1024).astype(np.uint16)
    out = rng.integers(0, 1000, 256).astype(np.uint16)
    flat = {IN: a.tolist(), OUT: out.tolist()}
    compiled = Compiled(lowered(body, [IN, OUT]))
    assert compiled(a, out) == 0
    Runner(flat, {}).run(body)
    assert out.tolist() == flat[OUT], compiled.emitted.text


@pytest.mark.parametrize("step", [1, 2, 3, 4, 6, 11, -1, -2, -3, -7])
@pytest.mark.parametrize("lanes", [2, 4, 7, 16, 17, 33, 40, 65])
@pytest.mark.parametrize("t", [UInt(8), UInt(16), Float(32), Float(64)], ids=str)
def test_nothing_beyond_is_read(step: int, lanes: int, t: Type) -> None:
    source, out = BufferSym("a", t, 1, "input"), BufferSym("b", t, 1, "output")
    span = abs(step) * (lanes - 1) + 1
    values = np.arange(span).astype(t.to_numpy())
    first = 0 if step > 0 else span - 1
    index = E.Ramp(int32(first), int32(step), lanes)
    body = S.Store(
        out,
        E.Load(t.with_lanes(lanes), source, index, None),
        E.Ramp(int32(0), int32(1), lanes),
        None,
    )
    compiled = Compiled(lowered(body, [source, out]))
    result = np.zeros(lanes, t.to_numpy())
    assert compiled(at_page_end(values), result) == 0
    assert result.tolist() == values[::step].tolist()
    # And before its beginning: the array's start is not the page's, so only a look
    # at the offsets tells; a load from the first element is the lowest there is.
    # (One lane after another, addresses step backwards.)
    if abs(step) <= longest_step(host_target(), t.width):
        assert "i64 -" not in compiled.emitted.text


@pytest.mark.parametrize(
    ("t", "lanes", "step", "most"),
    [(UInt(8), 32, 2, 2), (UInt(8), 32, 3, 3), (UInt(16), 16, 4, 4)],
    ids=str,
)
def test_loads_are_shared(t: Type, lanes: int, step: int, most: int) -> None:
    source, out = BufferSym("a", t, 1, "input"), BufferSym("b", t, 1, "output")
    value = add(*[load(source, step, o, lanes) for o in range(step)])
    at = E.Ramp(build.mul(X, int32(lanes)), int32(1), lanes)
    body = S.For(
        X, int32(0), out.dims[0].extent, ForKind.SERIAL, S.Store(out, value, at, None)
    )
    compiled = Compiled(
        lowered(body, [source, out]), generic_target(256), only_text=True
    )
    # The loop has a second version, for outputs that are written past the caches.
    versions = 2
    loads = compiled.emitted.text.count(f"load <{lanes} x i{t.width}>")
    assert loads == versions * most
    assert "pinsr" not in innermost(compiled.asm)


@pytest.mark.parametrize(
    ("t", "lanes", "step"),
    [
        (UInt(8), 64, 6),
        (UInt(8), 8, 9),
        (UInt(16), 32, 16),
        (Float(32), 16, 8),
        (Float(32), 32, 5),
    ],
    ids=str,
)
def test_long_steps_are_permutations(t: Type, lanes: int, step: int) -> None:
    """Where one instruction puts the lanes of two registers into any order."""
    source, out = BufferSym("a", t, 1, "input"), BufferSym("b", t, 1, "output")
    at = E.Ramp(build.mul(X, int32(lanes)), int32(1), lanes)
    store = S.Store(out, load(source, step, 0, lanes), at, None)
    body = S.For(X, int32(0), out.dims[0].extent, ForKind.SERIAL, store)
    target = make_target(generic_target(512).triple, "znver4", ZEN4)
    asm = innermost(Compiled(lowered(body, [source, out]), target, only_text=True).asm)
    assert not re.search("pinsr|insertps|gather", asm), asm
    assert len(re.findall("vperm", asm)) <= step * max(1, lanes * t.bytes() // 64), asm


def test_long_steps_without_such_instructions() -> None:
    assert longest_step(generic_target(256), 8) == 4
    # There, two registers of bytes are put together by many instructions.
    assert longest_step(generic_target(512), 8) == 4
    assert [longest_step(generic_target(512), b) for b in (16, 32, 64)] == [16, 8, 4]
