"""A small number of random expressions on each set of features that runs here."""

from __future__ import annotations

import pytest

from parhelion.runtime import jit
from tests.fuzz.idioms import FEATURES, Batch, Loop, fuzz, run, runs
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


def test_what_is_smaller_is_a_batch() -> None:
    for case in smaller(Failing(MASKED, "host")):
        (loop,) = case.batch.loops
        assert loop != MASKED.loops[0]
        assert loop.term.op in OPS
