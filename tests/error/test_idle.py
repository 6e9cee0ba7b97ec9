"""Directives that cannot have an effect where they stand say so, word for word."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import parhelion as hl

x, y, t, xi, yi = hl.vars("x y t xi yi")
Directive = Callable[[hl.Func], object]


def warnings_of(directive: Directive, root: bool = False) -> list[str]:
    """What is said of a directive on f, which another Func reads."""
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = x + y
    g[x, y] = f[x, y]
    if root:
        f.compute_root()
    directive(f)
    with pytest.warns(hl.ScheduleWarning) as caught:
        hl.Pipeline(g).loop_nest()
    for one in caught:
        assert one.filename == __file__
    return [re.sub(r"\$\d+", "", str(one.message)) for one in caught]


ON_AN_INLINED_FUNC: list[tuple[str, Directive]] = [
    ("reorder", lambda f: f.reorder(y, x)),
    ("split", lambda f: f.split(x, x, t, 4)),
    ("split", lambda f: f.tile(x, y, xi, yi, 4, 4)),
    ("fuse", lambda f: f.fuse(x, y, t)),
    ("rename", lambda f: f.rename(x, t)),
    ("partition", lambda f: f.partition(x, hl.Partition.Never)),
    ("never_partition", lambda f: f.never_partition(x)),
    ("always_partition", lambda f: f.always_partition(x)),
    ("never_partition_all", lambda f: f.never_partition_all()),
    ("always_partition_all", lambda f: f.always_partition_all()),
    ("specialize", lambda f: f.specialize(hl.Param(hl.Int(32)) == 1)),
    ("specialize_fail", lambda f: f.specialize_fail("no")),
    ("bound", lambda f: f.bound(x, 0, 8)),
    ("bound_extent", lambda f: f.bound_extent(x, 8)),
    ("align_bounds", lambda f: f.align_bounds(x, 8)),
    ("align_extent", lambda f: f.align_extent(x, 8)),
    ("store_in", lambda f: f.store_in(hl.MemoryType.Heap)),
    ("reorder_storage", lambda f: f.reorder_storage(y, x)),
    ("fold_storage(x, …)", lambda f: f.fold_storage(x, 8)),
    ("align_storage(x, …)", lambda f: f.align_storage(x, 8)),
    ("bound_storage(x, …)", lambda f: f.bound_storage(x, 8)),
    ("async_", lambda f: f.async_()),
    ("ring_buffer", lambda f: f.ring_buffer(2)),
]


@pytest.mark.parametrize(("call", "directive"), ON_AN_INLINED_FUNC)
def test_on_an_inlined_func(call: str, directive: Directive) -> None:
    assert warnings_of(directive) == [f"f is inlined: f.{call} has no effect"]


def test_prefetch_in_an_inlined_func() -> None:
    source = hl.ImageParam(hl.Int(32), 2, "source")
    said = warnings_of(lambda f: f.prefetch(source, y, y, 2))
    assert said == ["f is inlined: f.prefetch has no effect"]


def test_races_where_none_can_be() -> None:
    (said,) = warnings_of(lambda f: f.allow_race_conditions().parallel(y), root=True)
    assert said == (
        "f.allow_race_conditions has no effect: no iterations of its loops depend on"
        " each other"
    )


def test_atomic_where_nothing_meets() -> None:
    (said,) = warnings_of(lambda f: f.atomic().parallel(y), root=True)
    assert said == (
        "f.atomic has no effect: no loop whose iterations depend on each other is"
        " parallel or vectorized"
    )


@pytest.mark.parametrize("kind", ["vectorized", "unrolled"])
@pytest.mark.parametrize("directive", ["never_partition", "always_partition"])
def test_partitions_of_what_is_no_loop(kind: str, directive: str) -> None:
    def give(f: hl.Func) -> None:
        f.bound(x, 0, 8)
        f.vectorize(x) if kind == "vectorized" else f.unroll(x)
        getattr(f, directive)(x)

    said = warnings_of(give, root=True)
    assert said == [f"f.{directive}: x is {kind} and leaves no loop to partition"]


def test_two_places_for_loops_to_be_shared() -> None:
    f, g, h = hl.Func("f"), hl.Func("g"), hl.Func("h")
    for one in (f, g, h):
        one[x, y] = x
    f.compute_with(g, y)
    with pytest.warns(hl.ScheduleWarning) as caught:
        f.compute_with(h, y)
    assert re.sub(r"\$\d+", "", str(caught[0].message)) == (
        "f.compute_with: it was to share the loops of g and now does those of h only"
    )


def test_estimates_are_noted_for_the_automatic_scheduler() -> None:
    """They change no code, and the lowered text shows them."""
    f = hl.Func("noted")
    f[x, y] = x
    before = hl.Pipeline(f).lowered_text()
    f.set_estimate(x, 0, 640).set_estimate(y, 2, 480)
    after = hl.Pipeline(f).lowered_text()
    estimates = [li for li in after.splitlines() if "estimate" in li]
    assert estimates == [
        "  estimate noted.x in [0, 639]",
        "  estimate noted.y in [2, 481]",
    ]
    rest = [li for li in after.splitlines() if li not in estimates]
    assert rest == before.splitlines()


def read_by(f: hl.Func) -> hl.Func:
    """A Func that reads rows of f; the window of f slides along y."""
    g = hl.Func("g")
    g[x, y] = f[x, y] + f[x, y + 1]
    return g


def said_of(*outputs: hl.Func) -> list[str]:
    with pytest.warns(hl.ScheduleWarning) as caught:
        hl.Pipeline(list(outputs)).loop_nest()
    for one in caught:
        assert one.filename == __file__
    return [re.sub(r"\$\d+", "", str(one.message)) for one in caught]


def test_a_ring_of_one() -> None:
    f = hl.Func("f")
    f[x, y] = x + y
    g = read_by(f)
    f.hoist_storage_root().compute_at(g, y).async_().ring_buffer(1)
    assert said_of(g) == [
        "f.ring_buffer(1) has no effect: one copy of its storage is what f has without"
        " it"
    ]


HOISTS: list[tuple[str, Callable[[hl.Func, hl.Func], object]]] = [
    ("hoist_storage(g, y)", lambda f, g: f.compute_at(g, y).hoist_storage(g, y)),
    (
        "hoist_storage(g, y)",
        lambda f, g: f.compute_at(g, x).store_at(g, y).hoist_storage(g, y),
    ),
    ("hoist_storage_root()", lambda f, g: f.compute_root().hoist_storage_root()),
    (
        "hoist_storage_root()",
        lambda f, g: f.compute_at(g, x).store_root().hoist_storage_root(),
    ),
]


@pytest.mark.parametrize(("call", "directive"), HOISTS)
def test_storage_that_is_allocated_where_it_begins(
    call: str, directive: Callable[[hl.Func, hl.Func], object]
) -> None:
    f = hl.Func("f")
    f[x, y] = x + y
    g = read_by(f)
    directive(f, g)
    assert said_of(g) == [
        f"f.{call} has no effect: that is where the storage of f begins"
    ]


def test_branches_of_foreign_code() -> None:
    f = hl.Func("foreign")
    f.define_extern("abs", [], [hl.Int(32)], 2)
    f.compute_root().specialize(hl.Param(hl.Int(32)) == 1)
    assert said_of(read_by(f)) == [
        "foreign.specialize has no effect: foreign code computes foreign, and has no"
        " loops that a branch could schedule"
    ]


def test_an_output_is_not_inlined() -> None:
    f = hl.Func("out")
    f[x, y] = x + y
    f.compute_inline()
    assert said_of(f) == [
        "out is an output of the pipeline and computed at its root:"
        " out.compute_inline() has no effect"
    ]


def test_a_wrapper_of_what_nobody_reads() -> None:
    f = hl.Func("out")
    f[x, y] = x + y
    f.in_().compute_root()
    assert said_of(f) == ["out.in_() has no effect: no Func reads out"]


def test_a_wrapper_that_a_func_reads_is_none_of_these() -> None:
    """An output that another output reads."""
    f = hl.Func("out")
    f[x, y] = x + y
    g = read_by(f)
    f.in_().compute_root()
    hl.Pipeline([f, g]).loop_nest()


@pytest.mark.parametrize("directive", ["never_partition", "always_partition"])
def test_partitions_of_no_loops(directive: str) -> None:
    f = hl.Func("f")
    f[x, y] = x + y
    nothing: tuple[tuple[object, ...], ...] = ((), ([],))
    for given in nothing:
        with pytest.warns(hl.ScheduleWarning) as caught:
            getattr(f, directive)(*given)
        assert [re.sub(r"\$\d+", "", str(w.message)) for w in caught] == [
            f"f.{directive}() has no effect: no loops are given"
        ]
        assert caught[0].filename == __file__


def test_a_tag_without_a_memo_is_no_directive() -> None:
    """It is of the algorithm, which holds under any schedule."""
    f = hl.Func("f")
    f[x, y] = hl.memoize_tag(x + y, hl.Param(hl.Int(32)))
    hl.Pipeline(f).loop_nest()
