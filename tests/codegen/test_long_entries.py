"""Long code without loops that is run once for an image is left as it is by LLVM."""

from __future__ import annotations

import pytest

import parhelion as hl
from parhelion.codegen import writer
from parhelion.codegen.llvm import emit
from parhelion.codegen.target import host_target
from parhelion.lower.passes import lower
from tests.support.checking import check
from tests.support.spec import spec_of

x, y = hl.Var("x"), hl.Var("y")


def _stages() -> hl.Func:
    f = hl.Func("f0")
    f[x, y] = x + 3 * y
    for k in range(1, 4):
        g = hl.Func(f"f{k}")
        g[x, y] = f[x - 1, y] * k + f[x, y + 1]
        f = g
    return f


def _parallel(f: hl.Func) -> None:
    f.parallel(y)


def _is_kept(f: hl.Func) -> bool:
    text = emit(lower(spec_of(f), name="f"), host_target())
    return "optnone {" in text


def test_an_entry_of_the_usual_length_is_improved() -> None:
    assert not _is_kept(_stages().parallel(y))


def test_a_long_entry_without_loops_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writer, "LONG", 30)
    assert _is_kept(_stages().parallel(y))
    check(_stages, [23, 9], [_parallel])


def test_a_long_entry_with_loops_is_improved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "LONG", 30)
    assert not _is_kept(_stages())
