"""A small number of random expressions on each set of features that runs here."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret_all
from parhelion.runtime import jit
from tests.fuzz.idioms import (
    FEATURES,
    Batch,
    Loop,
    compiling_for,
    fuzz,
    run,
    runs,
)
from tests.fuzz.idioms_reduction import Failing, smaller
from tests.fuzz.terms import OPS, Term


@pytest.mark.parametrize("features", FEATURES)
def test_random_expressions(features: str) -> None:
    if not runs(features):
        pytest.skip(f"this computer cannot run code for {features}")
    summary = fuzz(24, features, seed=21)
    assert not summary.failures, summary.text(features)
    assert summary.clean >= 24


_LOAD = Term("load", "i32", (), (0,))
_OTHER = Term("load", "i32", (), (1,))
_JOINED = Term("blend", "i32", (_LOAD, _OTHER), (0, 3))
_WHERE = Term("flag", "bool")
#: What LLVM 22 gets wrong on AVX-512.
MASKED = Batch((Loop(Term("select", "i32", (_WHERE, _JOINED, _LOAD)), 2),))


@pytest.mark.usefixtures("llvm_each_time")
@pytest.mark.skipif(
    not runs("avx512") or jit._ternary_mended(),
    reason="the fault is one of AVX-512, and of LLVM 22",
)
def test_a_planted_bug_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without what `runtime.faults` does, a masked operation on bits is wrong."""
    assert run(MASKED, "avx512") == []
    monkeypatch.setattr(jit, "_ternary_mended", lambda: True)
    assert run(MASKED, "avx512") == [0]
    assert run(MASKED, "avx2") == []


@pytest.mark.skipif(not runs("avx512"), reason="the fault is one of AVX-512")
def test_selections_by_constants() -> None:
    """LLVM writes them as shuffles, and makes masked operations on bits of these, too:
    case 1000300 of avx512, which was refused with an internal error."""
    lane = Term("lane", "bool", (), (363, 0))
    load, other = (Term("load", "i32", (), (0, 0, n)) for n in (0, 709))
    inner = Term("blend", "i32", (load, other), (0, 4))
    chosen = Term("select", "i32", (lane, inner, Term("const", "i32", (), (4,))))
    loop = Loop(Term("blend", "i32", (load, chosen, load), (0, 0)), 16, "RoundUp")
    assert run(Batch((loop,), images=13, known=True), "avx512") == []


def test_what_is_smaller_is_a_batch() -> None:
    for case in smaller(Failing(MASKED, "host")):
        (loop,) = case.batch.loops
        assert loop != MASKED.loops[0]
        assert loop.term.op in OPS


@pytest.mark.parametrize("features", ["sse41", "avx2", "host"])
@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
def test_distances_of_unsigned_numbers(features: str, lanes: int) -> None:
    """LLVM 22 made those of signed ones of them, where it knew the highest bit of one
    to be set and that of the other to be clear (2026112310000781 of sse41)."""
    if not runs(features):
        pytest.skip(f"this computer cannot run code for {features}")
    x, high = hl.Var("x"), hl.u64(hl.Expr(1)) << 63
    numbers = np.random.default_rng(1).integers(0, 2**63, (2, 64), np.uint64)
    a, b = (hl.Buffer(row) for row in numbers)
    given = hl.Expr(a[x])
    low, more = given & 7, hl.Expr(b[x]) | high
    f, bits = hl.Func("f"), hl.popcount(given)
    f[x] = (
        hl.absd(low, more),
        hl.absd(more, low),
        hl.max(low, more) - hl.min(low, more),
        hl.absd(bits, ~bits),
        hl.absd(given, more),
    )
    f.vectorize(x, lanes)
    with compiling_for(features):
        found = f.realize([64])
    (wanted,) = interpret_all([(f._function, [(0, 64)])])
    assert isinstance(found, tuple)
    for got, want in zip(found, wanted, strict=True):
        assert np.array_equal(np.asarray(got), want)
