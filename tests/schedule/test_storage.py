"""Directives on storage: what they leave in the lowered program, and the results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret_all
from parhelion.ir.text import text
from parhelion.lower.passes import lower
from parhelion.schedule.rules import ScheduleWarning
from tests.support.spec import spec_of

x, y, xi, yi, yo = hl.vars("x y xi yi yo")


def blur() -> tuple[hl.Func, hl.Func]:
    """A producer, and a consumer that reads three rows and three columns of it."""
    f, g = hl.funcs("f g")
    f[x, y] = hl.u16(x * 3 + y * y * 7)
    g[x, y] = f[x - 1, y - 1] + 2 * f[x, y] + 3 * f[x + 1, y + 1]
    return f, g


def program(g: hl.Func) -> str:
    g.output_buffers() if g.outputs() > 1 else g.output_buffer()
    return text(lower(spec_of(g), name=g.name()).body)


def storage(g: hl.Func, name: str = "f") -> str:
    """The allocation of a Func, as the lowered program has it."""
    found = re.findall(rf"allocate {name}\[(.*?)\] in (\w+)", program(g))
    assert len(set(found)) == 1, found
    size, memory = found[0]
    return f"{size} {memory}"


def check(g: hl.Func, extents: Sequence[int] = (37, 29)) -> None:
    """The result, against the interpreter's."""
    made = g.realize(list(extents))
    values = made if isinstance(made, tuple) else (made,)
    region = [(0, n) for n in extents]
    (wanted,) = interpret_all([(g._function, region)])
    for got, want in zip(values, wanted, strict=True):
        np.testing.assert_array_equal(np.asarray(got).T, want)


# Storage that is folded by itself.


def test_rows_are_folded_to_a_power_of_two() -> None:
    f, g = blur()
    f.store_root().compute_at(g, y)
    assert storage(g) == "uint16 * (g.extent.0 + 2) * 4 heap"
    assert "f[" in program(g) and "% 4" in program(g)
    check(g)


def test_a_constant_footprint_is_a_small_buffer_on_the_stack() -> None:
    f, g = blur()
    g.bound(x, 0, 64)
    f.store_root().compute_at(g, y)
    assert storage(g) == "uint16 * 66 * 4 stack"
    check(g, (64, 29))


def test_tiles_fold_their_rows() -> None:
    f, g = blur()
    g.tile(x, y, xi, yi, 8, 8)
    f.store_at(g, x).compute_at(g, yi)
    assert storage(g) == "uint16 * 10 * 4 stack"
    check(g)


def test_rows_read_at_clamped_places_are_folded() -> None:
    """At the edges an iteration touches fewer rows, by a number that is not known."""
    f, g, h, rows = *hl.funcs("f g h"), hl.Param(hl.Int(32), "rows", 29)
    rows.set_min_value(1)
    f[x, y] = hl.u16(x * 3 + y * y * 7)
    up = hl.clamp(hl.likely(y - 1), 0, rows - 1)
    down = hl.clamp(hl.likely(y + 1), 0, rows - 1)
    g[x, y] = f[x, up] + 2 * f[x, y] + 3 * f[x, down]
    h[x, y] = g[x, up] + g[x, down]
    h.split(y, yo, yi, 8, hl.TailStrategy.GuardWithIf)
    for one in (f, g):
        one.store_at(h, yo).compute_at(h, yi)
    assert storage(h) == "uint16 * h.extent.0 * 8 heap"
    assert storage(h, "g") == "uint16 * h.extent.0 * 4 heap"
    check(h)


def test_pairs_of_rows_slide() -> None:
    """Bounds that are aligned grow with the loop, too: no pair is computed twice."""
    f, g = blur()
    g.split(y, yo, yi, 2).unroll(yi)
    f.store_root().compute_at(g, yo).align_bounds(y, 2)
    found = g.report([32, 64])[f.name()]
    assert found.recomputed < 1.1 and found.folds == ("y: 8",)
    check(g, (32, 64))


def test_both_dimensions_slide_but_only_the_outer_loops_is_folded() -> None:
    """What the rows leave to the rows below them must stay, in all their length."""
    f, g = blur()
    f.store_root().compute_at(g, x)
    assert storage(g) == "uint16 * (g.extent.0 + 2) * 4 heap"
    check(g)


def test_columns_are_folded_where_nothing_is_left_to_the_next_row() -> None:
    f, g = blur()
    f.store_at(g, y).compute_at(g, x)
    assert storage(g) == "uint16 * 4 * 3 stack"
    check(g)


def test_backwards() -> None:
    """A window that moves to lower coordinates as the loop advances."""
    f, g = hl.funcs("f g")
    f[x, y] = hl.u16(x * 3 + y * y * 7)
    g[x, y] = f[x, 50 - y] + f[x, 51 - y]
    f.store_root().compute_at(g, y)
    assert storage(g) == "uint16 * g.extent.0 * 2 heap"
    check(g)


def test_steps_of_two() -> None:
    f, g = hl.funcs("f g")
    f[x, y] = hl.u16(x * 3 + y * y * 7)
    g[x, y] = f[x, 2 * y] + f[x, 2 * y + 3]
    f.store_root().compute_at(g, y)
    assert storage(g) == "uint16 * g.extent.0 * 4 heap"
    check(g)


def test_a_chain_of_windows() -> None:
    a, b, c = hl.funcs("a b c")
    a[x, y] = hl.u16(x * 3 + y * y * 7)
    b[x, y] = a[x, y - 1] + a[x, y + 1]
    c[x, y] = b[x, y - 1] + b[x, y + 1] * a[x, y]
    a.store_root().compute_at(c, y)
    b.store_root().compute_at(c, y)
    assert storage(c, "a") == "uint16 * c.extent.0 * 8 heap"
    assert storage(c, "b") == "uint16 * c.extent.0 * 4 heap"
    check(c)


def test_no_fold_where_the_loop_may_turn_back() -> None:
    f, g = hl.funcs("f g")
    f[x, y] = hl.u16(x * 3 + y * y * 7)
    g[x, y] = f[x, (y * 5) % 7]
    f.store_root().compute_at(g, y)
    assert storage(g) == "uint16 * g.extent.0 * 7 heap"
    check(g)


def test_a_symbolic_factor() -> None:
    """Strips of a height that is a Param."""
    f, g = blur()
    rows = hl.Param(hl.Int(32), "rows", 5)
    g.split(y, yo, yi, hl.max(rows, 1), hl.TailStrategy.GuardWithIf)
    f.store_root().compute_at(g, yo)
    assert storage(g) == (
        "uint16 * (g.extent.0 + 2) * (min(g.extent.1, max(rows, 1)) + 2) heap"
    )
    check(g)


def test_vectors_are_not_folded_across() -> None:
    f, g = blur()
    f.store_at(g, y).compute_at(g, x)
    g.vectorize(x, 8)
    f.vectorize(x, 8)
    check(g)
    assert " % " not in program(g).split("produce")[1]


@pytest.mark.parametrize("tail", ["RoundUp", "ShiftInwards", "GuardWithIf"])
@pytest.mark.parametrize("factor", [2, 4, 8])
def test_a_window_of_a_consumer_that_is_rounded_up(tail: str, factor: int) -> None:
    """The rows that b computes beyond what c needs are not the same ones at every
    step, since b's own window slides."""
    a, b, c = hl.funcs("a b c")
    a[x, y] = hl.u16(x * 3 + y * y * 7)
    b[x, y] = a[x, y - 2] + 3 * a[x, y + 1]
    c[x, y] = b[x, 2 * y - 7] + 5 * b[x, 2 * y + 1]
    b.split(y, yo, yi, factor, hl.TailStrategy[tail])
    b.store_root().compute_at(c, y)
    a.store_root().compute_at(c, y)
    check(c)


@pytest.mark.parametrize("tail", ["RoundUp", "ShiftInwards", "GuardWithIf"])
def test_updates_under_a_window(tail: str) -> None:
    """Values that an update has finished are not started anew."""
    f, g = hl.funcs("f g")
    f[x, y] = hl.u16(x * 3 + y * y * 7)
    f[x, y] += hl.u16(y)
    f[x, y] *= hl.u16(3)
    g[x, y] = f[x, y - 1] + f[x, y] + f[x, y + 1]
    f.split(y, yo, yi, 4, hl.TailStrategy[tail])
    f.store_root().compute_at(g, y)
    f.update(0).unscheduled()
    f.update(1).unscheduled()
    check(g)


# Windows over the loops of a split.


@pytest.mark.parametrize("tail", ["RoundUp", "ShiftInwards", "GuardWithIf"])
@pytest.mark.parametrize("factor", [1, 3, 8])
def test_over_the_loops_of_a_split(tail: str, factor: int) -> None:
    f, g = blur()
    g.split(y, yo, yi, factor, hl.TailStrategy[tail])
    f.store_root().compute_at(g, yi)
    check(g)
    check(g, (5, 31))


def test_rows_of_strips_are_computed_once() -> None:
    """And four rows are all that is kept."""
    f, g = blur()
    g.split(y, yo, yi, 8, hl.TailStrategy.GuardWithIf)
    f.store_root().compute_at(g, yi)
    assert storage(g) == "uint16 * (g.extent.0 + 2) * 4 heap"
    # In the middle, the only row of f that is computed is that of g plus one.
    assert "let f.y.min = g.s0.y.base + g.s0.yi + 1\n" in program(g)
    check(g)


def test_the_shifted_last_strip_keeps_what_it_goes_back_to() -> None:
    f, g = blur()
    g.split(y, yo, yi, 8, hl.TailStrategy.ShiftInwards)
    f.store_root().compute_at(g, yi)
    assert storage(g) == "uint16 * (g.extent.0 + 2) * 16 heap"
    check(g, (9, 21))


def test_split_twice_and_around_another_loop() -> None:
    for inner in ("ShiftInwards", "GuardWithIf"):
        for outer in ("RoundUp", "ShiftInwards", "GuardWithIf"):
            f, g = blur()
            u, v = hl.vars("u v")
            g.split(y, yo, yi, 6, hl.TailStrategy[outer])
            g.split(yi, u, v, 4, hl.TailStrategy[inner])
            g.reorder(v, x, u, yo)
            f.store_root().compute_at(g, v)
            check(g, (7, 21))


def test_values_go_from_step_to_step_in_registers(tmp_path: Path) -> None:
    f, g = hl.funcs("f g")
    xo = hl.Var("xo")
    f[x, y] = hl.u16(x * 3 + y * y * 7)
    g[x, y] = f[x - 1, y] + 2 * f[x, y] + 3 * f[x + 1, y]
    g.split(x, xo, xi, 4, hl.TailStrategy.RoundUp).unroll(xi)
    f.store_at(g, y).compute_at(g, xi).store_in(hl.MemoryType.Register)
    assert storage(g) == "uint16 * 4 * 1 stack"
    steady = program(g).split("for (g.s0.xo#2")[1]
    # Each step computes one column, and all places are constant.
    assert re.findall(r"^ *f\[(.*?)\] = ", steady, re.M) == ["2", "3", "0", "1"]
    # The two values that the next iteration reads are Phis of the machine's code.
    file = tmp_path / "g.ll"
    g.compile_to_llvm_assembly(str(file), [], "g")
    assert len(re.findall(r"= phi i16 ", file.read_text())) == 2
    check(g, (36, 9))


# fold_storage.


@pytest.mark.parametrize("factor", [3, 4, 5])
def test_an_explicit_fold(factor: int) -> None:
    f, g = blur()
    f.store_root().compute_at(g, y).fold_storage(y, factor)
    assert storage(g) == f"uint16 * (g.extent.0 + 2) * {factor} heap"
    check(g)


def test_a_fold_that_is_too_small() -> None:
    f, g = blur()
    f.store_root().compute_at(g, y).fold_storage(y, 2)
    with pytest.raises(hl.BoundsError) as caught:
        g.realize([8, 8])
    assert caught.value.what == (
        "Func 'f' is folded in dimension y by 2, but an iteration of the loop g.y uses"
        " 3 coordinates of it"
    )


def test_a_fold_backwards() -> None:
    f, g = hl.funcs("f g")
    f[x, y] = hl.u16(x * 3 + y * y * 7)
    g[x, y] = f[x, 50 - y] + f[x, 52 - y]
    f.store_root().compute_at(g, y).fold_storage(y, 3, False)
    assert storage(g) == "uint16 * g.extent.0 * 3 heap"
    check(g)


def test_a_fold_by_a_param() -> None:
    f, g = blur()
    keep = hl.Param(hl.Int(32), "keep", 3)
    f.store_root().compute_at(g, y).fold_storage(y, keep)
    check(g)
    keep.set(2)
    with pytest.raises(hl.BoundsError, match="folded in dimension y by 2"):
        g.realize([8, 8])


def test_a_fold_whose_direction_each_run_checks() -> None:
    f, g = hl.funcs("f g")
    step = hl.Param(hl.Int(32), "step", 1)
    f[x, y] = hl.u16(x * 3 + y * y * 7)
    g[x, y] = f[x, y * step] + f[x, y * step + 1]
    f.store_root().compute_at(g, y).fold_storage(y, 2)
    check(g)
    step.set(-1)
    with pytest.raises(hl.BoundsError) as caught:
        g.realize([8, 8])
    assert caught.value.what == (
        "Func 'f' is folded in dimension y, but the loop g.y turns back in it: from"
        " 0 to -1"
    )


def test_a_fold_without_a_loop_says_so() -> None:
    f, g = blur()
    f.compute_root().fold_storage(y, 4)
    with pytest.warns(ScheduleWarning, match="has no effect: no loop is between"):
        check(g)


# hoist_storage.


def test_hoisted_out_of_tiles() -> None:
    f, g = blur()
    g.split(y, yo, yi, 8, hl.TailStrategy.GuardWithIf)
    f.compute_at(g, yo).hoist_storage_root()
    made = program(g)
    assert made.index("allocate f[") < made.index("for (g.s0.yo")
    assert storage(g) == "uint16 * (g.extent.0 + 2) * (min(g.extent.1, 8) + 2) heap"
    check(g)


def test_hoisted_to_a_loop_and_folded() -> None:
    f, g = blur()
    g.tile(x, y, xi, yi, 8, 8)
    f.compute_at(g, yi).store_at(g, x).hoist_storage(g, y)
    f.store_in(hl.MemoryType.Heap)
    assert storage(g) == "uint16 * 10 * 4 heap"
    check(g)


def test_hoisted_by_the_largest_iteration() -> None:
    """Rows of a triangle: the storage is for the longest one."""
    f, g = hl.funcs("f g")
    r = hl.RDom([(0, 20), (0, 20)])
    r.where(r.x <= r.y)
    f[x, y] = hl.u16(x * 3 + y * y * 7)
    g[x, y] = hl.u16(0)
    g[x, y] += f[r.x, r.y]
    f.compute_at(g, r.y).hoist_storage_root()
    g.update(0).reorder(r.x, r.y, x, y)
    check(g, (5, 4))


def test_hoisted_where_each_part_is_rounded_up() -> None:
    """Found by fuzzing: parts that are bound or aligned need more than what the whole
    is rounded up to has for them."""
    f, g = hl.funcs("f g")
    f[x, y] = hl.u16(x * 3 + y * y * 7)
    f[x, -1] = hl.u16(5)
    f[9, y] += hl.u16(1)
    g[x, y] = f[x, y] + f[x + 1, y + 2]
    f.compute_at(g, x).hoist_storage_root().bound_extent(y, 64).align_extent(x, 8)
    # Rows from -1 to the last y, and 63 more.
    assert "* (max(g.extent.1 + g.min.1, -63) - min(g.min.1, -1) + 63) h" in storage(g)
    check(g, (5, 26))
    check(g, (30, 3))


# store_in, align_storage, bound_storage, reorder_storage.


@pytest.mark.parametrize(
    ("memory", "where"), [("Auto", "stack"), ("Heap", "heap"), ("Stack", "stack")]
)
def test_memory(memory: str, where: str) -> None:
    f, g = blur()
    f.compute_at(g, x).store_in(hl.MemoryType[memory])
    assert storage(g) == f"uint16 * 3 * 3 {where}"
    check(g)


def test_registers() -> None:
    f, g = blur()
    f.store_at(g, y).compute_at(g, x).store_in(hl.MemoryType.Register)
    g.bound(x, 0, 16).unroll(x)
    assert storage(g) == "uint16 * 4 * 3 stack"
    check(g, (16, 9))


def test_a_stack_of_no_constant_size_says_so() -> None:
    f, g = blur()
    f.compute_root().store_in(hl.MemoryType.Stack)
    with pytest.warns(ScheduleWarning, match="f.store_in.*is not a constant, so that"):
        assert storage(g).endswith("heap")


def test_aligned_rows() -> None:
    f, g = blur()
    f.compute_root().align_storage(x, 32)
    assert storage(g) == "uint16 * ((g.extent.0 + 33)/32*32) * (g.extent.1 + 2) heap"
    check(g)


def test_bounded_storage() -> None:
    f, g = blur()
    f.compute_root().bound_storage(x, 40).bound_storage(y, 32)
    assert storage(g) == "uint16 * 40 * 32 stack"
    check(g)
    with pytest.raises(hl.BoundsError) as caught:
        g.realize([39, 29])
    assert caught.value.what == (
        "the storage of Func 'f' is bound in dimension x to 40, but 41 coordinates are"
        " needed"
    )


def test_columns_first() -> None:
    f, g = blur()
    f.compute_root().reorder_storage(y, x)
    assert storage(g) == "uint16 * (g.extent.1 + 2) * (g.extent.0 + 2) heap"
    check(g)


# Regions.


def test_align_extent_leaves_the_min() -> None:
    f, g = blur()
    f.compute_root().align_extent(x, 16)
    assert "for (f.s0.x, g.min.0 + -1, " in program(g)
    assert "(14 - g.extent.0) % 16" in program(g)
    check(g)


def test_align_bounds_moves_the_min() -> None:
    f, g = hl.funcs("f g")
    f[x] = hl.u16(x * 3)
    g[x] = f[x] + f[x + 5]
    f.compute_root().align_bounds(x, 4, 1)
    g.bound(x, 3, 10)
    # 3..17 grows to 1..20.
    assert "for (f.s0.x, 1, 20)" in program(g)


# Levels.


def test_around_all_loops() -> None:
    f, g = blur()
    f.compute_at(g, hl.Var.outermost())
    made = program(g)
    assert made.index("produce g") < made.index("produce f") < made.index("for (g.")
    check(g)


def test_at_the_loop_of_an_update() -> None:
    f, g = hl.funcs("f g")
    r = hl.RDom([(0, 9)])
    f[x, y] = hl.u16(x * 3 + y * y * 7)
    g[x, y] = hl.u16(1)
    g[x, y] += f[x, r.x] + f[x, r.x + 1]
    g.update(0).reorder(x, r.x, y)
    f.store_at(hl.LoopLevel(g, y, 1)).compute_at(hl.LoopLevel(g, r.x, 1))
    assert storage(g) == "uint16 * g.extent.0 * 2 heap"
    check(g)


def test_a_level_that_says_nothing() -> None:
    f, g = blur()
    f.compute_at(g, y)
    f.store_at(hl.LoopLevel.inlined()).hoist_storage(hl.LoopLevel.inlined())
    assert storage(g) == "uint16 * (g.extent.0 + 2) * 3 heap"
    check(g)


def test_a_level_that_is_set_later() -> None:
    f, g = blur()
    g.split(y, yo, yi, 8, hl.TailStrategy.GuardWithIf)
    level = hl.LoopLevel.inlined()
    f.compute_at(g, yi).hoist_storage(level)
    level.set(hl.LoopLevel.root())
    made = program(g)
    assert made.index("allocate f[") < made.index("for (g.s0.yo")
    check(g)


@pytest.mark.parametrize("bound", [False, True], ids=["any size", "a known size"])
def test_splits_cannot_make_storage_huge(bound: bool) -> None:
    """Sixteen pixels are needed."""

    def tiled(*tail: hl.TailStrategy) -> tuple[hl.Func, hl.Func]:
        f, o = hl.Func("f"), hl.Func("o")
        f[x, y] = hl.Tuple(hl.u8(x + y), x * y)
        o[x, y] = f[x, y][1] + f[x, y][0]
        if bound:
            o.bound(x, 0, 4).bound(y, 0, 4)
        f.compute_root().tile(x, y, xi, yi, 1 << 16, 1 << 16, *tail)
        return f, o

    f, o = tiled()
    with pytest.raises(hl.ScheduleError) as error:
        o.realize([4, 4])
    assert error.value.what == (
        f"the storage of {f.name()} would take {5 << 32} bytes, however little of it is"
        " needed: its loops are split (x by 65536, y by 65536) and run whole factors"
    )
    assert "GuardWithIf" in error.value.hint
    assert error.value.at is not None and ".tile(" in error.value.at.text()
    _, o = tiled(hl.TailStrategy.GuardWithIf)
    assert np.asarray(o.realize([4, 4]))[3].tolist() == [3, 7, 11, 15]
