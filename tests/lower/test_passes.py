"""The order of lowering: every step has a name, and what it has found can be shown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import parhelion as hl
from parhelion.codegen.llvm import emit
from parhelion.codegen.target import host_target
from parhelion.errors import InternalError
from parhelion.ir.build import block
from parhelion.ir.stmt import LetStmt
from parhelion.ir.target import Target, generic_target, plainest
from parhelion.ir.text import text
from parhelion.lower import passes as order
from parhelion.lower.options import LowerOptions
from parhelion.lower.passes import (
    PASSES,
    PROCESSOR_PASSES,
    STEPS,
    Pass,
    Trace,
    for_processor,
    lower,
)
from tests.support.spec import spec_of

NAMES = [
    *[step.name for step in STEPS],
    *[one.name for one in PASSES],
    *[one.name for one in PROCESSOR_PASSES],
]
x, y, xi, yi = (hl.Var(n) for n in ("x", "y", "xi", "yi"))


def sliding() -> hl.Func:
    """A stencil whose producer slides over rows, in folded storage."""
    image = hl.ImageParam(hl.UInt(16), 2, "image")
    p, f = hl.Func("p"), hl.Func("f")
    p[x, y] = image[x, y] + hl.u16(1)
    f[x, y] = p[x, y] + p[x, y + 1] + p[x, y + 2]
    f.vectorize(x, 8)
    p.store_root().compute_at(f, y).vectorize(x, 8)
    return f


def tiled() -> hl.Func:
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    p, f = hl.Func("p"), hl.Func("f")
    p[x, y] = image[x, y] / 3
    f[x, y] = p[x, y] + p[x + 1, y + 1]
    f.tile(x, y, xi, yi, 256, 32).vectorize(xi, 32).parallel(y)
    p.compute_at(f, x).vectorize(x, 32)
    return f


def brighter() -> hl.Func:
    image, f = hl.ImageParam(hl.UInt(16), 2, "image"), hl.Func("f")
    f[x, y] = image[x, y] + hl.u16(1)
    return f


def test_names_are_unique() -> None:
    assert len(NAMES) == len(set(NAMES))


@pytest.mark.parametrize("make", [sliding, tiled])
def test_every_step_is_shown(make: object) -> None:
    assert callable(make)
    trace = Trace()
    lower(spec_of(make()), name="f", trace=trace)
    assert [name for name, _, _ in trace.front] == [s.name for s in STEPS]
    assert all(shown for _, shown, _ in trace.front)
    assert [name for name, _, _ in trace] == ["loop_nests", *[p.name for p in PASSES]]


def test_what_steps_have_found() -> None:
    trace = Trace()
    lower(spec_of(sliding()), name="f", trace=trace)
    front = {name: shown for name, shown, _ in trace.front}
    assert "p.s0(x, y) = " in front["inline"]
    assert "p at f.s0 inside 1 loop: " in front["infer_bounds"]
    assert "  stored at root: " in front["infer_bounds"]
    assert "  its window slides over f.s0.y" in front["infer_bounds"]
    assert "p allocated at root: " in front["fold_storage"]
    assert " modulo 4" in front["fold_storage"]
    assert front["build_nests"].startswith("realize p")


@pytest.mark.parametrize("make", [sliding, tiled])
def test_a_trace_changes_nothing(make: object) -> None:
    """To show what a step has found asks for nothing that was not found before."""
    assert callable(make)
    target = host_target()
    plain = emit(lower(spec_of(make()), name="f"), target)
    traced = emit(lower(spec_of(make()), name="f", trace=Trace()), target)
    assert traced == plain


@pytest.mark.parametrize("triple", ["riscv64-unknown-linux-gnu", "wasm32-wasi"])
def test_what_is_tuned_is_left_out_where_nothing_is_known(triple: str) -> None:
    """Neither hints nor a second loop for machines that have instructions for none."""
    unknown, known = plainest(triple), generic_target(256)
    assert unknown.tuning is None

    def body(f: hl.Func, target: Target) -> str:
        lowered = lower(spec_of(f), name="f", options=LowerOptions(target=target))
        return text(for_processor(lowered, target))

    def tiles() -> hl.Func:
        f = brighter()
        return f.tile(x, y, xi, yi, 256, 32).vectorize(xi, 16)

    def rows() -> hl.Func:
        return brighter().vectorize(x, 32)

    assert "prefetch" in body(tiles(), known) and "streamed" in body(rows(), known)
    for make in (tiles, rows):
        shown = body(make(), unknown)
        assert "prefetch" not in shown and "streamed" not in shown


def test_steps_are_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARHELION_DUMP", "infer_bounds,stream_stores")
    emit(lower(spec_of(brighter().vectorize(x, 32)), name="f"), generic_target(512))
    told = capsys.readouterr().err
    headings = [line.split()[1] for line in told.splitlines() if line[:3] == "==="]
    assert headings == ["infer_bounds", "stream_stores"]
    assert "streamed(" in told


def test_the_guide_names_every_pass() -> None:
    """docs/architecture.md has a row for each, in the order in which they run."""
    guide = Path(__file__).parents[2] / "docs" / "architecture.md"
    rows = [
        r.split("|")[1].strip() for r in guide.read_text().splitlines() if r[:1] == "|"
    ]
    wanted = [n for n in NAMES if not n.startswith("simplify")]
    assert [r for r in rows if r in wanted] == wanted


@pytest.mark.parametrize("name", ["unroll_loops", "sum_by_lanes"])
def test_a_pass_that_breaks_the_program_is_named(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a Var that nothing binds, in the lowered program or what becomes of it."""
    loose = LetStmt(hl.Var("seen")._node, hl.Var("loose")._node)

    def broken(passes: tuple[Pass[Any], ...]) -> tuple[Pass[Any], ...]:
        return tuple(
            [
                replace(p, run=lambda s, c: block(loose, s)) if p.name == name else p
                for p in passes
            ]
        )

    monkeypatch.setattr(order, "PASSES", broken(PASSES))
    monkeypatch.setattr(order, "PROCESSOR_PASSES", broken(PROCESSOR_PASSES))
    monkeypatch.setenv("PARHELION_VERIFY", "1")
    with pytest.raises(InternalError, match=f"malformed IR after {name}: .*loose"):
        emit(lower(spec_of(brighter()), name="f"), generic_target(256))
