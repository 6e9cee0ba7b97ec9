"""One bad directive on the loops of a stage: one message each, at its line."""

from __future__ import annotations

import pytest

import parhelion as hl
from tests.support.refusals import (
    Bad,
    Refusals,
    check_refusal,
    name_of,
    one,
    ri,
    ro,
    scan,
    u,
    v,
    w,
    x,
    y,
    z,
)

REFUSALS = Refusals()
bad = REFUSALS.bad


# Loops that are not there.


@bad("""
    one.vectorize: one has no loop z
    legal here:
      - x
      - y
""")
def vectorize_an_unknown_loop() -> None:
    one().vectorize(z, 8)


@bad("""
    one.parallel: one has no loop x
    legal here:
      - v
      - u
      - y
    hint: x was split into u and v at SITE
""")
def parallel_over_a_loop_that_was_split() -> None:
    f = one().split(x, u, v, 8)
    f.parallel(x)


@bad("""
    one.unroll: one has no loop y
    legal here:
      - u
    hint: y was fused into u at SITE
""")
def unroll_a_loop_that_was_fused() -> None:
    f = one().fuse(x, y, u)
    f.unroll(y)


@bad("""
    one.serial: one has no loop x
    legal here:
      - u
      - y
    hint: x was renamed to u at SITE
""")
def serial_over_a_loop_that_was_renamed() -> None:
    f = one().rename(x, u)
    f.serial(x)


@bad("""
    one.reorder: one has no loop x
    legal here:
      - x
      - y
    hint: the loop x is a Var; an RVar was given
""")
def an_rvar_of_the_same_name() -> None:
    one().reorder(hl.RVar("x"), y)


@bad("""
    scan.update(0).unroll: scan.update(0) has no loop y
    legal here:
      - r.x
      - r.y
      - x
""")
def a_dimension_that_the_update_does_not_loop_over() -> None:
    f, _ = scan()
    f.update(0).unroll(y, 2)


@bad("""
    one.reorder takes a Var or RVar, not 'y' (a str)
    hint: give the Var that the Func is defined with, or hl.Var('y')
""")
def a_name_in_place_of_a_var() -> None:
    one().reorder(x, "y")  # type: ignore[arg-type]


# Names.


@bad("""
    one.split: both loops made of x are called u
""")
def split_into_one_name() -> None:
    one().split(x, u, u, 8)


@bad("""
    one.tile: x is already a loop of one
    loops, innermost first: u, x, y
    hint: give the new loop a name of its own
""")
def tile_with_a_name_in_use() -> None:
    one().tile(x, y, u, x, 8, 8)


@bad("""
    one.reorder: x is given twice
""")
def reorder_with_a_loop_twice() -> None:
    one().reorder(x, y, x)


@bad("""
    one.fuse: x cannot be fused with itself
""")
def fuse_a_loop_with_itself() -> None:
    one().fuse(x, x, u)


@bad("""
    scan.update(0).split: the RVar r.x cannot become the Var u
    hint: make it with hl.RVar('u')
""")
def split_an_rvar_into_vars() -> None:
    f, r = scan()
    f.update(0).split(r.x, u, v, 4)


@bad("""
    one.split: the Var x cannot become the RVar ro
    hint: make it with hl.Var('ro')
""")
def split_a_var_into_rvars() -> None:
    one().split(x, ro, ri, 4)


@bad("""
    scan.update(0).fuse: the RVar r.x cannot become part of the Var u
    hint: make it with hl.RVar('u')
""")
def fuse_an_rvar_into_a_var() -> None:
    f, r = scan()
    f.update(0).fuse(r.x, x, u)


# Factors.


@bad("one.split: the factor must be positive, not 0")
def split_by_nothing() -> None:
    one().split(x, u, v, 0)


@bad("one.vectorize: the factor must be positive, not -8")
def a_negative_number_of_lanes() -> None:
    one().vectorize(x, -8)


@bad("one.vectorize: the factor must be a constant")
def lanes_known_only_at_run_time() -> None:
    one().vectorize(x, hl.Param(hl.Int(32), "lanes"))


@bad("""
    one.unroll: v has the length of the split that made it, which is not a constant
    x was split at SITE
""")
def unroll_a_loop_of_unknown_length() -> None:
    f = one().split(x, u, v, hl.Param(hl.Int(32), "size"))
    f.unroll(v)


@bad("one.split: the factor must be an integer, not 4.5 (a float)")
def split_by_a_fraction() -> None:
    one().split(x, u, v, 4.5)  # type: ignore[arg-type]


@bad("""
    one.split: the factor may depend on Params and on the sizes of images, not on y
""")
def split_by_a_coordinate() -> None:
    one().split(x, u, v, y + 1)


@bad("one.split: 4294967296 does not fit 32 bits")
def a_huge_factor() -> None:
    one().split(x, u, v, 1 << 32)


@bad("one.split: the tail must be a TailStrategy, not 'RoundUp'")
def a_name_in_place_of_a_tail() -> None:
    one().split(x, u, v, 8, "RoundUp")  # type: ignore[arg-type]


@bad("""
    one.tile: the arguments fit none of its forms
    legal here:
      - tile(x, y, xo, yo, xi, yi, xfactor, yfactor, tail=Auto)
      - tile(x, y, xi, yi, xfactor, yfactor, tail=Auto)
      - tile(previous, outers, inners, factors, tail=Auto)
      - tile(previous, inners, factors, tail=Auto)
""")
def tile_without_factors() -> None:
    one().tile(x, y, u, v)  # type: ignore[call-overload]


@bad("one.tile: the lists must have the same length, not 2, 2, 2 and 1")
def tile_with_lists_of_different_lengths() -> None:
    one().tile([x, y], [u, v], [8])


# Tails that would change the result.


@bad("""
    scan.update(0).unroll: TailStrategy.RoundUp would run iterations outside the \
domain of the RVar r.x
    legal here:
      - Auto
      - GuardWithIf
      - Predicate
""")
def round_up_a_reduction() -> None:
    f, r = scan()
    f.update(0).unroll(r.x, 4, hl.TailStrategy.RoundUp)


@bad("""
    scan.update(0).vectorize: TailStrategy.ShiftInwards would update some places twice
    legal here:
      - Auto
      - RoundUp
      - GuardWithIf
      - Predicate
      - PredicateLoads
      - PredicateStores
      - ShiftInwardsAndBlend
      - RoundUpAndBlend
""")
def shift_an_update_inwards() -> None:
    f, _ = scan()
    f.update(0).vectorize(x, 4, hl.TailStrategy.ShiftInwards)


@bad("""
    scan.update(0).split: TailStrategy.RoundUp of v, which is the inner loop of \
another split, would update some places twice
    legal here:
      - Auto
      - GuardWithIf
      - Predicate
      - PredicateStores
      - ShiftInwardsAndBlend
      - RoundUpAndBlend
""")
def round_up_inside_another_split_of_an_update() -> None:
    f, _ = scan()
    s = f.update(0).split(x, u, v, 8)
    s.split(v, v, w, 3, hl.TailStrategy.RoundUp)


@bad("""
    one.split: TailStrategy.PredicateLoads of v, which is the inner loop of another \
split, would overwrite values with what was not loaded
    legal here:
      - Auto
      - RoundUp
      - GuardWithIf
      - Predicate
      - PredicateStores
      - ShiftInwards
      - ShiftInwardsAndBlend
      - RoundUpAndBlend
""")
def predicate_loads_inside_another_split() -> None:
    f = one().split(x, u, v, 8)
    f.split(v, v, w, 3, hl.TailStrategy.PredicateLoads)


@bad("""
    scan.update(0).vectorize: TailStrategy.RoundUpAndBlend reads and writes back \
values that another task of the parallel loop u may be writing
    legal here:
      - Auto
      - GuardWithIf
      - Predicate
      - PredicateStores
""")
def blend_in_parallel() -> None:
    f, _ = scan()
    s = f.update(0).split(x, u, v, 64).parallel(u)
    s.vectorize(v, 8, hl.TailStrategy.RoundUpAndBlend)


@bad("""
    scan.update(0).parallel: u cannot be parallel: x was split with \
TailStrategy.ShiftInwardsAndBlend, which reads and writes back values that another \
task may be writing
    x was split at SITE
""")
def parallel_over_a_blended_loop() -> None:
    f, _ = scan()
    s = f.update(0).split(x, u, v, 64, hl.TailStrategy.ShiftInwardsAndBlend)
    s.parallel(u)


# Partitioning.


@bad("""
    one.partition takes a Partition, not True
    legal here:
      - Auto
      - Never
      - Always
""")
def partition_by_a_truth_value() -> None:
    one().partition(x, True)  # type: ignore[arg-type]


@bad("""
    one.never_partition: one has no loop z
    legal here:
      - x
      - y
""")
def partition_an_unknown_loop() -> None:
    one().never_partition(x, z)


@bad("""
    one.always_partition: the loop y decides no likely condition that it could be \
partitioned by
    hint: tails of splits that do not round up, boundary conditions and hl.likely make \
such conditions
""")
def always_partition_a_loop_without_conditions() -> None:
    f = one()
    f.always_partition(y)
    f.realize([4, 4])


# The order of reductions.


@bad("""
    scan.update(0).reorder: r.y cannot move inside r.x: the order of their \
iterations decides the result
    one iteration writes scan[x, r.x], another may read it as scan[x, r.x - 1]
    hint: RVars may be reordered where their iterations touch different places, or \
where the update folds integers with +, *, min, max, &, | or ^; \
allow_race_conditions() takes the responsibility
""")
def reorder_a_scan() -> None:
    f, r = scan()
    f.update(0).reorder(r.y, r.x)


@bad("""
    total.update(0).reorder: r.y cannot move inside r.x: the order of their \
iterations decides the result
    iterations may read and write the same total[]
    hint: RVars may be reordered where their iterations touch different places, or \
where the update folds integers with +, *, min, max, &, | or ^; \
allow_race_conditions() takes the responsibility
""")
def reorder_a_float_sum() -> None:
    f = hl.Func("total")
    r = hl.RDom([(0, 4), (0, 4)], "r")
    f[()] = 0.0
    f[()] += hl.f32(r.x) / (r.y + 1)
    f.update(0).reorder(r.y, r.x)


@bad("""
    scan.update(0).fuse: r.y cannot move inside r.x: the order of their iterations \
decides the result
    one iteration writes scan[x, r.x], another may read it as scan[x, r.x - 1]
    hint: RVars may be reordered where their iterations touch different places, or \
where the update folds integers with +, *, min, max, &, | or ^; \
allow_race_conditions() takes the responsibility
""")
def fuse_a_scan_inside_out() -> None:
    f, r = scan()
    f.update(0).fuse(r.y, r.x, ro)


@bad("""
    scan.update(0).parallel: r.x cannot be parallel: its iterations depend on each other
    one iteration writes scan[x, r.x], another may read it as scan[x, r.x - 1]
    legal here:
      - x
    hint: allow_race_conditions() takes the responsibility
""")
def run_a_scan_in_parallel() -> None:
    f, r = scan()
    f.update(0).parallel(r.x)


@bad("""
    bins.update(0).vectorize: r.x cannot be vectorized: its iterations depend on \
each other
    iterations may read and write the same bins[int32(image(r.x))]
    hint: atomic(), given before, makes each update happen as a whole
""")
def vectorize_a_histogram() -> None:
    image = hl.ImageParam(hl.UInt(8), 1, "image")
    f = hl.Func("bins")
    r = hl.RDom([(0, 100)], "r")
    f[x] = 0
    f[hl.i32(image[r.x])] += 1
    f.update(0).vectorize(r.x, 8)


@bad("""
    scan.update(0).fuse: ro cannot be vectorized: its iterations depend on each other
    one iteration writes scan[x, r.x], another may read it as scan[x, r.x - 1]
    legal here:
      - x
    hint: allow_race_conditions() takes the responsibility
""")
def fuse_a_vectorized_loop_with_a_scan() -> None:
    f, r = scan()
    s = f.update(0).reorder(x, r.x, r.y).vectorize(x)
    s.fuse(x, r.x, ro)


@pytest.mark.parametrize("program, message", REFUSALS.cases, ids=name_of)
def test_message(program: Bad, message: str) -> None:
    check_refusal(program, message)
