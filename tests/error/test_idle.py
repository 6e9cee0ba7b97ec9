"""Directives that cannot have an effect where they stand say so, word for word."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import parhelion as hl

x, y, t = hl.vars("x y t")
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
    ("split", lambda f: f.tile(x, y, *hl.vars("xi yi"), 4, 4)),
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
