"""One bad directive on the region, storage or place of a Func: one message each."""

from __future__ import annotations

import pytest

import parhelion as hl
from parhelion.schedule.rules import ScheduleWarning
from tests.support.refusals import (
    Bad,
    Refusals,
    check_refusal,
    lower,
    name_of,
    one,
    pair,
    scan,
    u,
    v,
    x,
    y,
    z,
)

REFUSALS = Refusals()
bad = REFUSALS.bad


# Regions and storage.


@bad("""
    one.bound: z is not a dimension of one
    legal here:
      - x
      - y
""")
def bound_what_is_no_dimension() -> None:
    one().bound(z, 0, 10)


@bad("one.bound_extent: the extent of x must not be negative, but is -3")
def bound_to_a_negative_extent() -> None:
    one().bound_extent(x, -3)


@bad("one.align_bounds: the modulus must be a positive constant")
def align_by_nothing() -> None:
    one().align_bounds(x, 0)


@bad("""
    one.set_estimates: one has 2 dimensions, but 1 estimates are given
""")
def too_few_estimates() -> None:
    one().set_estimates([(0, 100)])


@bad("""
    one.reorder_storage takes two or more different dimensions
    legal here:
      - x
      - y
""")
def reorder_one_dimension_of_storage() -> None:
    one().reorder_storage(y)


@bad("one.store_in takes a MemoryType, not 'stack'")
def a_name_in_place_of_a_memory_type() -> None:
    one().store_in("stack")  # type: ignore[arg-type]


@bad("""
    one.store_in: nothing here has a memory MemoryType.VTCM
    legal here:
      - MemoryType.Auto
      - MemoryType.Heap
      - MemoryType.Stack
      - MemoryType.Register
      - MemoryType.GPUShared
      - MemoryType.GPUTexture
""")
def memory_of_a_device() -> None:
    one().store_in(hl.MemoryType.VTCM)


@bad("the directive hexagon is not available yet")
def a_directive_to_come() -> None:
    one().hexagon()


@bad("nothing cannot be scheduled before it is defined")
def schedule_an_undefined_func() -> None:
    hl.Func("nothing").vectorize(x, 8)


@bad("scan.update(0).unscheduled: the stage has directives already")
def unscheduled_after_a_directive() -> None:
    f, _ = scan()
    s = f.update(0).unroll(x, 2)
    s.unscheduled()


# Places.


@bad("one.compute_at: one cannot be computed inside its own loop over x")
def compute_inside_itself() -> None:
    f = one()
    f.compute_at(f, x)


@bad("made.compute_at takes a Func and a Var or RVar, or a LoopLevel")
def compute_at_nowhere() -> None:
    f, _ = pair()
    f.compute_at()  # type: ignore[call-overload]


@bad("made.compute_at takes a Func, not 3 (an int)")
def compute_at_a_number() -> None:
    f, _ = pair()
    f.compute_at(3, x)  # type: ignore[call-overload]


@bad("""
    made.compute_at(used, z): used has no loop z
    the loop nest without made:
      produce used:
        for y:
          for x:
            used(...) = ...  <- uses made
    legal here:
      - made.compute_root()
      - made.compute_at(used, y)
      - made.compute_at(used, x)
""")
def compute_at_an_unknown_loop() -> None:
    f, g = pair()
    f.compute_at(g, z)
    lower(g)


@bad("""
    made.compute_at(used, x): other uses made outside the loop x of used
    the loop nest without made:
      produce used:
        for y:
          for x:
            used(...) = ...  <- uses made
      consume used:
        produce other:
          for y:
            for x:
              other(...) = ...  <- uses made
    legal here:
      - made.compute_root()
""")
def compute_where_not_every_use_is() -> None:
    f, g = pair()
    h = hl.Func("other")
    h[x, y] = g[x, y] + f[x, y]
    g.compute_root()
    f.compute_at(g, x)
    lower(h)


@bad("""
    made.compute_at(used, y): used is inlined and has no loops
    the loop nest without made:
      produce other:
        for y:
          for x:
            other(...) = ...  <- uses made
    legal here:
      - made.compute_root()
      - made.compute_at(other, y)
      - made.compute_at(other, x)
""")
def compute_at_an_inlined_func() -> None:
    f, g = pair()
    h = hl.Func("other")
    h[x, y] = g[x, y]
    f.compute_at(g, y)
    lower(h)


@bad("""
    made.compute_at(other, y): other does not use made
    the loop nest without made:
      produce used:
        for y:
          for x:
            used(...) = ...  <- uses made
    legal here:
      - made.compute_root()
      - made.compute_at(used, y)
      - made.compute_at(used, x)
""")
def compute_at_a_func_that_does_not_use_it() -> None:
    f, g = pair()
    h = hl.Func("other")
    h[x, y] = x
    f.compute_at(h, y)
    lower(g, h)


@bad("""
    made.compute_at(other, y): other is not part of the pipeline
    the loop nest without made:
      produce used:
        for y:
          for x:
            used(...) = ...  <- uses made
    legal here:
      - made.compute_root()
      - made.compute_at(used, y)
      - made.compute_at(used, x)
""")
def compute_at_a_func_outside_the_pipeline() -> None:
    f, g = pair()
    h = hl.Func("other")
    h[x, y] = x
    f.compute_at(h, y)
    lower(g)


@bad("""
    made.compute_at(LoopLevel(used, y, 2)): used has no stage 2
    the loop nest without made:
      produce used:
        for y:
          for x:
            used(...) = ...  <- uses made
    legal here:
      - made.compute_root()
      - made.compute_at(used, y)
      - made.compute_at(used, x)
""")
def compute_at_a_stage_that_is_not_there() -> None:
    f, g = pair()
    f.compute_at(hl.LoopLevel(g, y, 2))
    lower(g)


@bad("""
    made.store_at(used, x): the storage of made must enclose made.compute_at(used, y)
    the loop nest without made:
      produce used:
        for y:
          for x:
            used(...) = ...  <- uses made
    legal here:
      - made.store_root()
      - made.store_at(used, y)
""")
def store_inside_the_computation() -> None:
    f, g = pair()
    f.compute_at(g, y)
    f.store_at(g, x)
    lower(g)


@bad("""
    made.store_at(used, y): made is inlined and needs no storage
    hint: store_at goes together with compute_at
""")
def store_what_is_inlined() -> None:
    f, g = pair()
    f.store_at(g, y)
    lower(g)


@bad("""
    made is stored outside the parallel loop y of used but computed inside it: its \
iterations would overwrite each other's values
    the loop nest without made:
      produce used:
        parallel y:
          for x:
            used(...) = ...  <- uses made
    legal here:
      - made.compute_root()
    hint: or store made inside that loop
""")
def share_storage_between_threads() -> None:
    f, g = pair()
    g.parallel(y)
    f.store_root()
    f.compute_at(g, x)
    lower(g)


@bad("""
    made is inlined and has no loop that could be vectorized
    hint: compute it at a place of its own: made.compute_root(), or compute_at
""")
def vectorize_what_is_inlined() -> None:
    f, g = pair()
    f.vectorize(x, 8)
    lower(g)


@pytest.mark.parametrize("program, message", REFUSALS.cases, ids=name_of)
def test_message(program: Bad, message: str) -> None:
    check_refusal(program, message)


# Directives without effect.


def test_an_output_is_computed_at_root() -> None:
    f, g = pair()
    f.compute_at(g, y)
    with pytest.warns(ScheduleWarning, match="is an output of the pipeline"):
        lower(f)


def test_loops_of_an_inlined_func() -> None:
    f, g = pair()
    f.split(x, u, v, 8)
    with pytest.warns(ScheduleWarning, match="is inlined: .*split has no effect"):
        lower(g)


def test_partitioning_of_an_inlined_func() -> None:
    f, g = pair()
    f.never_partition_all()
    with pytest.warns(ScheduleWarning, match="never_partition_all has no effect"):
        lower(g)


def test_partitioning_of_a_loop_that_becomes_a_vector() -> None:
    f = one().split(x, u, v, 8).vectorize(v).never_partition(v)
    with pytest.warns(ScheduleWarning, match="v is vectorized and leaves no loop to"):
        lower(f)


def test_a_forgotten_update() -> None:
    f, _ = scan()
    f.vectorize(x, 4)
    with pytest.warns(ScheduleWarning, match=r"update\(0\) has no directives"):
        lower(f)
    f.update(0).unscheduled()
    lower(f)


def test_a_loop_that_changes_its_kind() -> None:
    with pytest.warns(ScheduleWarning, match="was parallel and now is unrolled"):
        one().bound(x, 0, 4).parallel(x).unroll(x)


def test_fusing_a_parallel_loop_away() -> None:
    with pytest.warns(ScheduleWarning, match="that y was parallel is lost"):
        one().parallel(y).fuse(x, y, u)
