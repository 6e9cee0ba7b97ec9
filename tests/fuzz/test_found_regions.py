"""What fuzzing found in bounds, storage and code generation, reduced to little."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl
from tests.fuzz.case import Case, Directive, Input, Stage
from tests.fuzz.execute import Outcome, run_case

U8 = Input(type="u8", extents=(1,), mins=(0,), boundary=1, param=True)
U8_2D = Input(type="u8", extents=(1, 2), mins=(0, 0), boundary=1, param=True)


def directive(name: str, stage: int, *numbers: int) -> Directive:
    return Directive(name=name, stage=stage, definition=0, numbers=numbers)


FOUND = {
    # The inside of a fused loop: a remainder by an extent of unknown sign.
    "compute_at_inside_a_fused_and_vectorized_loop": Case(
        inputs=(U8,),
        stages=(
            Stage("coordinates", "i32", 1, (-1,), ()),
            Stage("pointwise", "i32", 2, (0,), ()),
            Stage("stencil", "i32", 1, (1,), (0, 0, 99)),
        ),
        outputs=(2,),
        extents=(1,),
        mins=(0, 0, 0),
        schedule=(
            directive("compute_root", 1),
            directive("fuse", 1),
            directive("vectorize", 1),
            directive("compute_at", 0, 1),
        ),
    ),
    # Its region there exceeded the storage at the root: a write outside of it.
    "stored_at_root_computed_in_part_of_a_fused_loop": Case(
        inputs=(U8,),
        stages=(
            Stage("coordinates", "i32", 1, (-1,), ()),
            Stage("pointwise", "i32", 2, (0,), ()),
            Stage("stencil", "i32", 1, (1,), (0, 0, 36)),
        ),
        outputs=(2,),
        extents=(1,),
        mins=(0, 0, 0),
        schedule=(
            directive("compute_root", 1),
            directive("fuse", 1),
            directive("split", 1, 0, 4, 51),
            directive("store_root", 0),
            directive("compute_at", 0, 1, 0, 83),
        ),
    ),
    # Loop partitioning copies a body whose storage each copy allocates for itself.
    "copies_of_a_body_with_storage": Case(
        inputs=(U8_2D,),
        stages=(
            Stage("inline_argmin", "i32", 2, (-1,), ()),
            Stage("stencil", "i32", 2, (0,), (0, 0, 0, 9, 76, 0, 1)),
        ),
        outputs=(1,),
        extents=(1, 1),
        mins=(0, 0, 0),
        schedule=(),
    ),
    # Its guard is never true: code reads nothing there, the interpreter the whole box.
    "a_read_behind_a_guard_that_is_never_true": Case(
        inputs=(Input("u8", (1,), (0,), 0, True),),
        stages=(
            Stage("guarded", "i32", 2, (-1,), (37, 0, 0, 25)),
            Stage("lookup", "i32", 1, (0, -1), ()),
        ),
        outputs=(1,),
        extents=(1,),
        mins=(0, 0, 0),
        schedule=(),
    ),
    # The output grows by rounding, and with it what the input must cover.
    "input_bounds_of_an_output_that_rounds_up": Case(
        inputs=(Input("u8", (1, 1), (0, 0), 0, True),),
        stages=(Stage("pointwise", "i32", 2, (-1,), ()),),
        outputs=(0,),
        extents=(3, 1),
        mins=(0, 0, 0),
        schedule=(directive("fuse", 0), directive("vectorize", 0, 0, 1, 0, 27)),
    ),
    # A guard on the outer loop of a split, seen from inside that loop.
    "sliding_inside_a_guarded_outer_loop": Case(
        inputs=(
            Input("u16", (15,), (0,), 4, True),
            Input("u8", (40, 7, 2), (-3, 0, 7), 4, True),
        ),
        stages=(
            Stage("tuple_update", "i64", 3, (-2, -1), (63, 99, 50, 27, 72, 90, 84)),
            Stage("accumulate", "u16", 2, (-2,), (0, 95, 13, 41, 44, 31, 26, 7, 29)),
            Stage("choose", "bool", 3, (1, 1), (75, 84, 96, 66, 30, 26, 55, 31, 4)),
        ),
        outputs=(2,),
        extents=(13, 13, 4),
        mins=(0, 0, 0),
        schedule=(
            directive("parallel", 2, 42, 39, 30, 75, 79, 10),
            directive("vectorize", 2, 3, 34, 38, 15, 79, 17),
            directive("unroll", 2, 20, 55, 43, 48, 55, 48),
            directive("store_at", 1, 2, 49, 23),
            directive("compute_at", 1, 2, 93, 8),
        ),
    ),
    # A reduction kept in a register, read again inside strict_float.
    "accumulating_in_strict_float": Case(
        inputs=(U8,),
        stages=(Stage("accumulate", "f32", 1, (-1,), (0, 0, 2)),),
        outputs=(0,),
        extents=(1,),
        mins=(0, 0, 0),
        schedule=(),
    ),
    "tuple_updates_in_strict_float": Case(
        inputs=(Input("u8", (4,), (0,), 1, True),),
        stages=(Stage("tuple_update", "f32", 1, (-1,), (0, 15)),),
        outputs=(0,),
        extents=(1,),
        mins=(0, 0, 0),
        schedule=(),
    ),
}


@pytest.mark.parametrize("name", list(FOUND))
def test_stays_fixed(name: str) -> None:
    report = run_case(FOUND[name])
    right = (Outcome.CLEAN, Outcome.TRIVIAL)  # trivial: there was nothing to schedule
    assert report.outcome in right, report.message


@pytest.mark.parametrize(
    ("directive", "size"), [("align_extent", 64 + 63), ("bound_extent", 48 + 64)]
)
def test_parts_that_go_on_from_where_they_begin(directive: str, size: int) -> None:
    """Each part of `h` has an extent of 64, from where the part begins: the last one
    goes further than the extent of all of them, rounded up. It was read beyond `q`."""
    x, xo, xi = hl.vars("x xo xi")
    image = hl.ImageParam(hl.Int(32), 1)
    f, h, q = [hl.Func(n) for n in "fhq"]
    q[x] = image[x] * 3
    h[x] = q[x] + 1
    f[x] = h[x] * 2
    f.split(x, xo, xi, 24, hl.TailStrategy.GuardWithIf)
    q.compute_root()
    getattr(h.compute_at(f, xo), directive)(x, 64)
    # The parts begin at 0, 24 and 48.
    f.infer_input_bounds([64])
    made = image.get()
    assert made is not None
    assert (made.dim(0).min(), made.dim(0).extent()) == (0, size)
    image.set(hl.Buffer(np.arange(size - 1, dtype=np.int32)))
    with pytest.raises(hl.BoundsError, match=str(size - 1)):
        f.realize([64])
    image.set(hl.Buffer(np.arange(size, dtype=np.int32)))
    np.testing.assert_array_equal(np.asarray(f.realize([64])), np.arange(64) * 6 + 2)


def test_parts_that_are_whole_in_a_dimension() -> None:
    """Where every part begins at the same place, nothing more is asked for."""
    x, y, c = hl.vars("x y c")
    image = hl.ImageParam(hl.UInt(8), 3)
    f, h = hl.Func("f"), hl.Func("h")
    h[x, y, c] = image[x, y, c] + hl.u8(1)
    f[x, y, c] = h[x, y, 2 - c] * hl.u8(2)
    f.bound(c, 0, 3).reorder(c, x, y)
    h.compute_at(f, y).bound_extent(c, 3)
    f.infer_input_bounds([8, 5, 3])
    made = image.get()
    assert made is not None and made.dim(2).extent() == 3


@pytest.mark.parametrize("cached", [False, True])
def test_images_are_inferred_for_the_code_that_runs(cached: bool) -> None:
    """Vectors of 16 in parts of `n`, shifted inwards: for 7, more of `q` is needed than
    is promised of it, so that the run takes code that guards the tail."""
    n = hl.Param(hl.Int(32), "n", 7)
    for _ in range(2 if cached else 1):
        x, xo = hl.vars("x xo")
        image = hl.ImageParam(hl.Int(32), 1)
        f, h, q = [hl.Func(name) for name in "fhq"]
        q[x] = image[x] * 3
        h[x] = q[x] + 1
        f[x] = h[x] * 2
        h.compute_root().vectorize(x, 16).split(x, x, xo, n)
        q.compute_root().bound_extent(x, 96)
        for factor, first in ((7, 0), (2, -16), (6, -80)):
            n.set(factor)
            image.reset()
            out = hl.Buffer(np.zeros(1, np.int32))
            f.infer_input_bounds(out)
            made = image.get()
            assert made is not None
            assert (made.dim(0).min(), made.dim(0).extent()) == (first, 96)
            np.asarray(made)[...] = np.arange(first, first + 96)
            f.realize(out)
            assert np.asarray(out).tolist() == [2]


def test_the_guard_of_a_blended_tail_under_a_fused_loop() -> None:
    """The split's only run begins before its range, whatever the outer loop says, but
    which of its points are new is said in terms of that loop: the guard stands where
    its variable, a part of a fused one, is known."""
    x, y, yo, yi, xi, fused = hl.vars("x y yo yi xi fused")
    f, g = hl.Func("f"), hl.Func("g")
    g[x, y] = x * 10 + y
    # Of g, [0, max(x, 9)]: surely not empty, so that yo is surely not negative.
    f[x, y] = g[hl.clamp(x, 0, 9), y] + g[hl.max(hl.max(x, 0), 9), y]
    f.bound(y, 0, 1)
    g.compute_root().split(y, yo, yi, 2, hl.TailStrategy.ShiftInwardsAndBlend)
    g.split(x, x, xi, 2, hl.TailStrategy.PredicateStores).unroll(yi)
    g.fuse(x, yo, fused).reorder(xi, fused, yi).vectorize(xi)
    g.vectorize(fused, 2, hl.TailStrategy.RoundUp)
    np.testing.assert_array_equal(np.asarray(f.realize([7, 1]))[0], range(90, 160, 10))


def test_code_for_one_size_may_write_more_than_code_for_all() -> None:
    """An output of a vector needs no shifting, so that the loop around, rounded up,
    writes 32 points; code for all sizes shifts each of them into the eight."""
    x, xo, xi, a, b = hl.vars("x xo xi a b")
    tails = hl.TailStrategy
    f = hl.Func("f")
    f[x] = x * 3
    f.split(x, x, xi, 8, tails.ShiftInwardsAndBlend).vectorize(xi)
    f.split(x, xo, x, 4, tails.RoundUp)
    f.split(x, a, b, hl.Param(hl.Int(32), "factor", 16), tails.PredicateStores)
    expected = np.arange(8) * 3
    assert np.array_equal(np.asarray(f.realize([8])), expected)
    given = hl.Buffer(hl.Int(32), [8])
    f.realize(given)
    assert np.array_equal(np.asarray(given), expected)
