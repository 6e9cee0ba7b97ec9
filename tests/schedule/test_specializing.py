"""Specialised definitions: the result stays, and each branch knows its condition."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import Assert, For, If, Stmt
from parhelion.ir.text import text
from parhelion.lower.passes import lower
from parhelion.schedule.rules import ScheduleWarning
from tests.support.spec import spec_of

x, y, xi, yi, u = hl.vars("x y xi yi u")


def body(f: hl.Func) -> Stmt:
    return lower(spec_of(f), name="test").body


def branches(f: hl.Func) -> list[str]:
    """The text of each branch of the one condition in the lowered program."""
    (found,) = [n for n in nodes(body(f)) if isinstance(n, If)]
    assert found.otherwise is not None
    return [text(found.then), text(found.otherwise)]


def run(f: hl.Func, w: int, h: int) -> None:
    got = np.asarray(f.realize([w, h])).transpose()
    assert (got == interpret(f._function, [(0, w), (0, h)])).all()


def test_every_branch_gives_the_same() -> None:
    p, b = hl.Param(hl.Int(32), "p", 0), hl.Param(hl.Bool(), "b", False)
    g, f = hl.Func("g"), hl.Func("f")
    r = hl.RDom([(0, 3)], "r")
    g[x, y] = x + y * p
    g[x, y] += hl.select(b, r.x, 2 * r.x)
    f[x, y] = g[x, y] + g[x + 1, y]
    f[x, r.x] += f[x, r.x]
    width = f.output_buffer().width()
    g.compute_at(f, y)
    g.specialize(b).vectorize(x, 4)
    g.update().specialize(width > 20).reorder(x, r.x, y).vectorize(x, 8)
    first = f.specialize(p == 2)
    first.vectorize(x, 8)
    first.specialize(b).parallel(y)
    f.specialize(width % 4 == 0).vectorize(x, 4)
    f.update().specialize(b & (p > 0)).vectorize(x, 4)
    for value, flag, w in itertools.product((0, 2, 3), (False, True), (3, 20, 33)):
        p.set(value)
        b.set(flag)
        run(f, w, 7)


def test_a_constant_takes_the_place_of_the_param() -> None:
    p, f = hl.Param(hl.Int(32), "p"), hl.Func("f")
    f[x] = x * p + p / 3
    f.specialize(p == 6)
    for_six, otherwise = branches(f)
    assert "p" not in for_six.replace("produce", "") and "*6 + 2" in for_six
    assert "*p" in otherwise


def test_a_float_constant_and_a_flag() -> None:
    p, b = hl.Param(hl.Float(32), "gain"), hl.Param(hl.Bool(), "flag")
    f = hl.Func("f")
    f[x] = hl.select(b, hl.f32(x) * p, 0.0)
    f.specialize((p == 1.0) & b)
    special, _ = branches(f)
    assert "gain" not in special and "flag" not in special and "select" not in special


def test_only_the_branch_that_needs_a_func_computes_it() -> None:
    b, f = hl.Param(hl.Bool(), "b"), hl.Func("f")
    costly, cheap = hl.Func("costly"), hl.Func("cheap")
    costly[x], cheap[x] = x * x, x
    f[x] = hl.select(b, costly[x], cheap[x])
    costly.compute_at(f, x)
    f.specialize(~b)
    special, otherwise = branches(f)
    assert "costly" not in special and "costly" in otherwise


def test_a_multiple_of_the_factor_has_no_tail() -> None:
    f = hl.Func("f")
    f[x] = x * 3
    f.specialize(f.output_buffer().width() % 16 == 0).vectorize(
        x, 16, hl.TailStrategy.GuardWithIf
    )
    special, _ = branches(f)
    assert special.count("for ") == 1 and "if " not in special and "mask" not in special


def test_a_large_image_has_no_case_for_small_ones() -> None:
    f = hl.Func("f")
    f[x] = x * 3
    f.specialize(f.output_buffer().width() >= 16).vectorize(x, 16)
    for w in (5, 16, 17, 40):
        assert (np.asarray(f.realize([w])) == 3 * np.arange(w)).all()
    # A buffer of just that size will do: nothing is rounded up for small ones.
    buffer = hl.Buffer(hl.Int(32), [5])
    f.realize(buffer)
    assert list(np.asarray(buffer)) == [0, 3, 6, 9, 12]


def test_rounding_up_where_there_is_nothing_to_round() -> None:
    image, f = hl.ImageParam(hl.Int(32), 1, "image"), hl.Func("f")
    f[x] = image[x] + 1
    f.specialize(f.output_buffer().width() % 8 == 0).vectorize(
        x, 8, hl.TailStrategy.RoundUp
    )
    for w in (8, 11):
        image.set(np.arange(w, dtype=np.int32))
        buffer = hl.Buffer(hl.Int(32), [w])
        f.realize(buffer)
        assert (np.asarray(buffer) == np.arange(w) + 1).all()


def test_a_stride_of_one_makes_loads_dense() -> None:
    image, f = hl.ImageParam(hl.UInt(8), 1, "image"), hl.Func("f")
    image.dim(0).set_stride(hl.Expr())
    f[x] = image[x]
    f.vectorize(x, 8)
    f.specialize(image.dim(0).stride() == 1)
    special, otherwise = branches(f)
    assert "stride" not in special and "stride" in otherwise
    pixels = np.arange(64, dtype=np.uint8)
    for view in (pixels[:20], pixels[::3]):
        image.set(view)
        assert (np.asarray(f.realize([20])) == view[:20]).all()


def test_conditions_of_producers_and_consumers_meet() -> None:
    p, f, g = hl.Param(hl.Int(32), "p", 4), hl.Func("f"), hl.Func("g")
    g[x, y] = x * p + y
    f[x, y] = g[x, y] + g[x + 1, y]
    g.compute_at(f, xi).store_at(f, y)
    f.split(x, x, xi, 8)
    f.specialize(p == 4).parallel(y)
    g.specialize(p == 4).vectorize(x, 4)
    made = body(f)
    kinds = [n.kind.value for n in nodes(made) if isinstance(n, For)]
    assert "parallel" in kinds
    for value in (4, 5):
        p.set(value)
        run(f, 23, 5)


def test_specialize_fail() -> None:
    p, f = hl.Param(hl.Int(32), "p", 2), hl.Func("f")
    f[x, y] = x + y * p
    f.specialize(p == 2).vectorize(x, 4)
    f.specialize_fail("only twos")
    run(f, 9, 2)
    p.set(3)
    with pytest.raises(hl.PipelineRuntimeError, match="f.*: only twos"):
        f.realize([9, 2])
    (failure,) = [
        n
        for n in nodes(body(f))
        if isinstance(n, Assert) and n.code == "specialize_fail"
    ]
    assert failure is not None


def test_nothing_but_failure() -> None:
    f = hl.Func("f")
    f[x] = x
    f.specialize_fail("never")
    with pytest.raises(hl.PipelineRuntimeError, match="never"):
        f.realize([3])


def test_conditions_that_are_constants() -> None:
    f = hl.Func("f")
    f[x, y] = x + y
    with pytest.warns(ScheduleWarning, match="the condition never holds"):
        f.specialize(hl.Expr(1) > 2).parallel(y)
    f.specialize(True).vectorize(x, 4)
    with pytest.warns(ScheduleWarning, match=r"has no effect: .* always holds"):
        f.specialize(f.output_buffer().width() > 9).unroll(x, 2)
    assert not [n for n in nodes(body(f)) if isinstance(n, If)]
    run(f, 10, 3)


def test_the_same_condition_again() -> None:
    p, f = hl.Param(hl.Int(32), "p"), hl.Func("f")
    f[x, y] = x
    f.specialize(p == 2).split(x, x, xi, 8)
    f.specialize(p == 2).vectorize(xi)
    (one,) = f._function.stages()[0].schedule.specializations
    assert one.schedule is not None
    assert [d.kind.value for d in one.schedule.dims] == ["vectorized", "for", "for"]


def test_directives_after_specializing_are_for_the_rest() -> None:
    b, f = hl.Param(hl.Bool(), "b"), hl.Func("f")
    f[x, y] = x
    f.split(x, x, xi, 8)
    special = f.specialize(b)
    f.unroll(xi)
    special.vectorize(xi)
    then, otherwise = branches(f)
    assert "ramp" in then.lower() and "ramp" not in otherwise.lower()


def test_a_param_only_in_a_condition_is_an_argument() -> None:
    p, f = hl.Param(hl.Int(32), "only", 7), hl.Func("f")
    f[x] = x
    f.specialize(p == 7).vectorize(x, 4)
    assert [a.name for a in f.infer_arguments()] == [p.name()]
    for value in (7, 8):
        p.set(value)
        assert list(np.asarray(f.realize([3]))) == [0, 1, 2]


def test_a_clone_keeps_the_branches() -> None:
    b, f, g = hl.Param(hl.Bool(), "b", True), hl.Func("f"), hl.Func("g")
    f[x, y] = x + y
    g[x, y] = f[x, y] * 2
    f.specialize(b).vectorize(x, 4)
    clone = f.clone_in(g).compute_root()
    clone.specialize(b).unroll(y, 2)
    assert len(f._function.stages()[0].schedule.specializations) == 1
    (one,) = f._function.stages()[0].schedule.specializations
    assert one.schedule is not None and len(one.schedule.dims) == 3
    run(g, 9, 3)


def test_an_inlined_func_is_not_specialized() -> None:
    b, f, g = hl.Param(hl.Bool(), "b"), hl.Func("f"), hl.Func("g")
    f[x] = x
    g[x] = f[x]
    f.specialize(b)
    f.specialize_fail("no")
    with pytest.warns(ScheduleWarning) as shown:
        body(g)
    said: list[Any] = [str(w.message) for w in shown]
    assert any("specialize has no effect" in s for s in said)
    assert any("specialize_fail has no effect" in s for s in said)


def test_a_branch_reads_no_further_than_the_rest() -> None:
    """Its values keep the clamps of boundary conditions, which bounds rely on."""
    k, f = hl.Param(hl.Int(32), "k", 5), hl.Func("f")
    image = hl.ImageParam(hl.UInt(8), 1, "image")
    image.set(hl.Buffer(np.array([7], np.uint8)))
    mirrored = hl.BoundaryConditions.mirror_image(image)
    r = hl.RDom([(0, 3)], "r")
    f[x] = 0
    f[x] += hl.i32(mirrored[x + r.x - 1]) * hl.i32(mirrored[x])
    f.update().specialize(k > 3)
    for value in (5, 1):
        k.set(value)
        assert list(np.asarray(f.realize([3]))) == [3 * 49] * 3


def test_conditions_settle_choices() -> None:
    """Selections, minima and maxima that the condition decides, and no others."""
    k, f = hl.Param(hl.Int(32), "k"), hl.Func("f")
    f[x] = hl.select((k > 2) & (x > 1), hl.min(k, 2) + hl.max(3, k), hl.min(x, k))
    f.specialize(k > 4)
    then, otherwise = branches(f)
    assert "min(" not in then and "max(" not in then and "&&" not in then
    assert "min(" in otherwise and "&&" in otherwise
    for value in (-1, 2, 3, 4, 5, 9):
        k.set(value)
        assert (np.asarray(f.realize([9])) == interpret(f._function, [(0, 9)])[0]).all()
