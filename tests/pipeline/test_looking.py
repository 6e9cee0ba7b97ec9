"""What a Pipeline shows of itself: loop nests, programs, LLVM text, assembly."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import parhelion as hl
from tests.support.realized import single

x, y, xi = hl.vars("x y xi")


def make() -> hl.Func:
    im = hl.ImageParam(hl.UInt(8), 2, "shown")
    f, g = hl.funcs("first second")
    f[x, y] = hl.u16(im[x, y]) + 1
    g[x, y] = f[x, y] + f[x, y + 1]
    f.compute_at(g, y)
    g.vectorize(x, 8).parallel(y)
    return g


def test_print_loop_nest(capsys: pytest.CaptureFixture[str]) -> None:
    make().print_loop_nest()
    shown = capsys.readouterr().out
    assert "produce second" in shown
    assert "parallel y" in shown
    assert "vectorized" in shown


def test_lowered_programs_as_text_and_page(tmp_path: Path) -> None:
    g = make()
    g.compile_to_lowered_stmt(tmp_path / "g.stmt", [])
    text = (tmp_path / "g.stmt").read_text()
    assert text.startswith("func second")
    assert "input buffer of uint8" in text
    assert "parallel (" in text
    g.compile_to_lowered_stmt(tmp_path / "g.html", [], hl.StmtOutputFormat.HTML)
    page = (tmp_path / "g.html").read_text()
    assert page.lower().startswith("<!doctype html>")
    assert "src=" not in page
    assert "second" in page


def test_llvm_text_and_assembly(tmp_path: Path) -> None:
    g = make()
    g.compile_to_llvm_assembly(tmp_path / "g.ll", [], "second")
    assert "_argv" in (tmp_path / "g.ll").read_text()
    g.compile_to_assembly(tmp_path / "g.s", [])
    assert ".text" in (tmp_path / "g.s").read_text()
    assert "<8 x i16>" in g._pipeline().llvm_text()


def test_pipelines_know_their_funcs() -> None:
    g = make()
    p = hl.Pipeline(g)
    assert [f.name() for f in p.outputs()] == [g.name()]
    assert p.get_func(1).name() == g.name()
    assert p.get_func(0).name().startswith("first")
    with pytest.raises(hl.BoundsError):
        p.get_func(2)
    assert g.name() in repr(p)
    with pytest.raises(hl.DefinitionError, match="twice"):
        hl.Pipeline([g, g])


def test_strict_float_is_a_feature_of_the_target() -> None:
    f = hl.Func("f")
    a = hl.Param(hl.Float(32), 1.0000001)
    b = hl.Param(hl.Float(32), -1.0000002)
    f[x] = a * a + b
    strict = hl.get_host_target().with_feature(hl.TargetFeature.StrictFloat)
    out = single(f.realize([1], strict))
    rounded = np.float32(np.float32(a.get()) * np.float32(a.get()))
    assert out[0] == float(rounded + np.float32(b.get()))
    variants = list(f._pipeline()._runner._programs)
    assert [v.strict_float for v in variants] == [True]


def test_targets_read_and_write_their_names() -> None:
    host = hl.get_host_target()
    assert hl.Target(host.to_string()) == host
    assert hl.Target("host") == host
    t = hl.Target("x86-64-linux-avx2-fma")
    assert (t.arch, t.os, t.bits) == (hl.TargetArch.X86, hl.TargetOS.Linux, 64)
    assert t.has_feature(hl.TargetFeature.AVX2)
    assert t.natural_vector_size(hl.UInt(8)) == 32
    assert not t.without_feature(hl.TargetFeature.FMA).has_feature(hl.TargetFeature.FMA)
    assert hl.Target.validate_target_string("arm-64-linux")
    assert not hl.Target.validate_target_string("z80-8-cpm")
    with pytest.raises(hl.HalideError, match="unknown part 'z80'"):
        hl.Target("z80-8-cpm")
    assert hl.get_jit_target_from_environment().has_feature(hl.TargetFeature.JIT)


def test_the_outline_of_the_page_has_threads_hints_and_estimates(
    tmp_path: Path,
) -> None:
    x, y = hl.vars("x y")
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    # Names that the program's text has a meaning for, too.
    ahead, out = hl.Func("fork"), hl.Func("release")
    ahead[x, y] = hl.u16(image[x, y])
    out[x, y] = ahead[x, y] + ahead[x, y + 1]
    ahead.store_root().compute_at(out, y).async_().prefetch(image, y, y, 2)
    out.set_estimate(x, 0, 64)
    out.compile_to_lowered_stmt(tmp_path / "a.html", [], hl.StmtOutputFormat.HTML)
    page = (tmp_path / "a.html").read_text()
    side = re.sub(r"<[^>]*>", "", page.partition("<main>")[0])
    assert f"estimate {out.name()}.x in [0, 63]" in side
    outline = [line.strip() for line in side.splitlines()]
    for head in ("fork ", "and", "acquire 1 of ", "release 1 to ", "prefetch image["):
        assert [line for line in outline if line.startswith(head)], head


def test_deep_expressions() -> None:
    """Programs are shown however deep the user's expressions are."""
    f, value = hl.Func("f"), hl.i32(x)
    for k in range(1500):
        value = value * (x + k) + k
    f[x] = value
    assert "produce f:" in hl.Pipeline(f).lowered_text()
