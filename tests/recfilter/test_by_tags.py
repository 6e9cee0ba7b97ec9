"""Recursive filters that users schedule by tags give what automatic schedules give."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import parhelion as hl
from parhelion.recfilter import RecFilter, RecFilterDim, RecFilterSchedule

W, H, T = 75, 50, 1100
Array = NDArray[Any]

rng = np.random.default_rng(5)
IMAGES: dict[str, Array] = {
    "u32": rng.integers(0, 1 << 31, (H, W), np.uint32),
    "f32": rng.standard_normal((H, W)).astype(np.float32),
}
SIGNALS: dict[str, Array] = {
    "u32": rng.integers(0, 1 << 31, T, np.uint32),
    "f32": rng.standard_normal(T).astype(np.float32),
}
#: Of second order, whose sums floats round.
COEFFICIENTS: dict[str, list[float]] = {"u32": [1, 2, -1], "f32": [0.3, 1.1, -0.4]}

Schedule = Callable[[RecFilter], object]


def plane(kind: str, *widths: int, border: str = "zero") -> RecFilter:
    """Filters along both dimensions, in tiles of these widths along x and y."""
    x, y = RecFilterDim("x", W), RecFilterDim("y", H)
    f, inp = RecFilter("f", border), hl.Buffer(IMAGES[kind])
    f[x, y] = inp[x, y]
    for direction in (+x, -x, +y):
        f.add_filter(direction, COEFFICIENTS[kind])
    for d, width in zip((x, y), widths, strict=False):
        if width:
            f.split(d, width)
    return f


def line(kind: str, width: int) -> RecFilter:
    t = RecFilterDim("t", T)
    f, inp = RecFilter("f"), hl.Buffer(SIGNALS[kind])
    f[t] = inp[t]
    f.add_filter(+t, COEFFICIENTS[kind])
    f.add_filter(-t, COEFFICIENTS[kind])
    if width:
        f.split(t, width)
    return f


def paper(f: RecFilter) -> None:
    """The paper's heuristics for CPUs, by its own handles."""
    within, between = f.intra_schedule(), f.inter_schedule()
    within.compute_locally().reorder_storage(f.inner(), f.outer())
    within.reorder(f.scan(), f.tail(), f.inner(), f.outer())
    within.vectorize(f.inner(0), 8).unroll(f.scan(), 4).parallel(f.outer())
    between.compute_globally().reorder(f.tail(), f.scan(), f.inner(), f.outer())
    between.unroll(f.tail()).vectorize(f.inner(), 8).parallel(f.outer(0))


def globally(f: RecFilter) -> None:
    f.intra_schedule().compute_globally().vectorize(f.inner()).parallel(f.outer())


def only_between(f: RecFilter) -> None:
    f.inter_schedule().vectorize(f.inner(0), 4).parallel(f.outer(0), 2)


def residuals(f: RecFilter) -> None:
    f.intra_schedule(2).vectorize(f.outer(0), 8).unroll(f.tail(0)).parallel(f.outer(1))


def only_tiles(f: RecFilter) -> None:
    one = f.intra_schedule(1)
    one.fuse(f.outer(0), f.outer(1)).parallel(f.outer()).vectorize(f.inner(0), 8)


def within_within(f: RecFilter) -> None:
    one = f.intra_schedule()
    part = f.inner(0).split_var()
    one.split(f.inner(0), 6).reorder(part, f.scan(), f.tail(), f.inner(), f.outer())
    one.vectorize(part, 4).unroll(part).parallel(f.outer(1), 3)


def stored_otherwise(f: RecFilter) -> None:
    f.intra_schedule().reorder_storage(f.outer(), f.scan())
    between = f.inter_schedule().reorder_storage(f.scan(), f.tail())
    between.reorder(f.inner(), f.tail(), f.scan())


def nothing(f: RecFilter) -> None:
    f.intra_schedule().compute_globally()
    f.inter_schedule().compute_globally()


@functools.cache
def automatic(kind: str, *widths: int, border: str = "zero") -> Array:
    return np.asarray(plane(kind, *widths, border=border).realize())


@pytest.mark.parametrize(
    ("schedule", "kind"),
    [
        (paper, "u32"),
        (paper, "f32"),
        (globally, "f32"),
        (only_between, "u32"),
        (residuals, "f32"),
        (only_tiles, "u32"),
        (only_tiles, "f32"),
        (within_within, "u32"),
        (stored_otherwise, "f32"),
        (nothing, "f32"),
    ],
)
def test_joint_tiles(schedule: Schedule, kind: str) -> None:
    f = plane(kind, 13, 9)
    schedule(f)
    np.testing.assert_array_equal(np.asarray(f.realize()), automatic(kind, 13, 9))


def strips(f: RecFilter) -> None:
    """The dimension that is in no tiles becomes strips, and what is in them."""
    within = f.intra_schedule()
    part = f.full(0).split_var()
    within.split(f.full(0), 16)
    within.reorder(part, f.scan(), f.inner(), f.tail(), f.full(0), f.outer())
    within.vectorize(part, 8).parallel(f.outer(0))
    f.inter_schedule().vectorize(f.full(0), 8)
    f.full_schedule().split(f.full(0), 32).vectorize(f.full(0).split_var(), 8)
    f.full_schedule().parallel(f.full(0))


def columns(f: RecFilter) -> None:
    f.intra_schedule().reorder(f.outer(), f.full(), f.scan()).parallel(f.full(0))
    f.full_schedule().reorder(f.scan(), f.full()).compute_globally()


def narrow(f: RecFilter) -> None:
    """Vectors that are wider than what there is."""
    f.intra_schedule().vectorize(f.inner(0), 32)
    f.full_schedule().vectorize(f.full(0), 128)


def lines_stored_across(f: RecFilter) -> None:
    f.full_schedule().reorder_storage(f.full(), f.scan()).unroll(f.scan(), 3)
    f.full_schedule().vectorize(f.full())


@pytest.mark.parametrize("widths", [(16, 0), (0, 13)])
@pytest.mark.parametrize(
    ("schedule", "kind", "border"),
    [
        (strips, "u32", "zero"),
        (strips, "f32", "mirror"),
        (columns, "f32", "zero"),
        (columns, "f32", "clamp"),
        (narrow, "u32", "zero"),
        (lines_stored_across, "f32", "zero"),
        (lines_stored_across, "f32", "clamp"),
    ],
)
def test_tiles_along_one_dimension(
    schedule: Schedule, kind: str, border: str, widths: tuple[int, ...]
) -> None:
    f = plane(kind, *widths, border=border)
    schedule(f)
    wanted = automatic(kind, *widths, border=border)
    np.testing.assert_array_equal(np.asarray(f.realize()), wanted)
    assert f.as_func()._pipeline()._runner.variants() == 1


def many_tiles(f: RecFilter) -> None:
    part = f.outer(0).split_var()
    within = f.intra_schedule().split(f.outer(0), 8)
    within.reorder(part, f.scan(), f.tail(), f.inner(), f.outer())
    within.vectorize(part).parallel(f.outer(0))
    f.inter_schedule().unroll(f.tail())


def tile_by_tile(f: RecFilter) -> None:
    f.intra_schedule().parallel(f.outer(0))


@pytest.mark.parametrize("kind", ["u32", "f32"])
@pytest.mark.parametrize("schedule", [many_tiles, tile_by_tile, nothing])
def test_tiles_of_a_signal(schedule: Schedule, kind: str) -> None:
    wanted = np.asarray(line(kind, 64).realize())
    f = line(kind, 64)
    schedule(f)
    np.testing.assert_array_equal(np.asarray(f.realize()), wanted)


def test_whole_lines() -> None:
    for kind in ("u32", "f32"):
        wanted = np.asarray(plane(kind).realize())
        f = plane(kind)
        lines_stored_across(f)
        np.testing.assert_array_equal(np.asarray(f.realize()), wanted)
        f = line(kind, 0)
        f.full_schedule().compute_locally().unroll(f.scan(), 2)
        wanted = np.asarray(line(kind, 0).realize())
        np.testing.assert_array_equal(np.asarray(f.realize()), wanted)


def test_colours_and_several_values() -> None:
    """Three dimensions, of which one is in no tiles, and a Tuple."""

    def made(directed: bool) -> RecFilter:
        x, y, c = RecFilterDim("x", W), RecFilterDim("y", H), RecFilterDim("c", 3)
        f, inp = RecFilter("f"), hl.Buffer(IMAGES["f32"])
        f[x, y, c] = hl.Tuple(inp[x, y] + hl.f32(c), inp[x, y] * 2)
        for direction in (+x, +y):
            f.add_filter(direction, [0.5, 0.4])
        f.split(x, 16, y, 10)
        if directed:
            paper(f)
            f.full_schedule().vectorize(f.full(0), 8).parallel(f.full())
        return f

    some, others = made(True).realize(), made(False).realize()
    assert isinstance(some, tuple) and isinstance(others, tuple)
    for got, wanted in zip(some, others, strict=True):
        np.testing.assert_array_equal(np.asarray(got), np.asarray(wanted))


def test_three_dimensions_in_tiles() -> None:
    volume = rng.integers(0, 1 << 31, (9, 11, 13), np.uint32)

    def made() -> RecFilter:
        dims = [RecFilterDim("xyz"[k], n) for k, n in enumerate((13, 11, 9))]
        f, inp = RecFilter("f"), hl.Buffer(volume)
        f[tuple(dims)] = inp[tuple(dims)]
        for d in dims:
            f.add_filter(+d, [1, 1])
            f.split(d, 4)
        return f

    wanted = np.asarray(made().realize())
    for schedule in (globally, residuals):
        f = made()
        schedule(f)
        np.testing.assert_array_equal(np.asarray(f.realize()), wanted)


def test_a_cascade_has_schedules_of_its_own() -> None:
    x, y = RecFilterDim("x", W), RecFilterDim("y", H)

    def made() -> tuple[RecFilter, ...]:
        f, inp = RecFilter("f"), hl.Buffer(IMAGES["u32"])
        f[x, y] = inp[x, y]
        for direction in (+x, +y):
            f.add_filter(direction, [1, 1])
        f.split(x, 16, y, 16)
        return f.cascade([0], [1])

    fx, fy = made()
    fx.intra_schedule().parallel(fx.full(0))
    fy.intra_schedule().vectorize(fy.full(0), 8).parallel(fy.outer(0))
    wanted = np.asarray(made()[-1].realize())
    np.testing.assert_array_equal(np.asarray(fy.realize()), wanted)


# What tells of them.


def test_what_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    f = plane("u32", 16, 8)
    within = f.intra_schedule()
    assert repr(within) == "f.intra_schedule()"
    within.vectorize(f.inner(0), 8).parallel(f.outer())
    f.inter_schedule().unroll(f.tail())
    told = "intra_schedule().vectorize(inner(0), 8).parallel(outer())"
    assert repr(within) == f"f.{told}"
    assert f.explain().splitlines()[-2:] == [
        f"scheduled by {told}",
        "scheduled by inter_schedule().unroll(tail())",
    ]
    f.print_loop_nest()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"# f.{told}"
    assert [line.strip() for line in lines].count("unrolled xq in [0, 3]:") == 1


# What is refused.


def check(
    given: Schedule, f: RecFilter, *words: str, kind: type = hl.ScheduleError
) -> hl.HalideError:
    """A schedule raises an error that has these words and this file's line."""
    with pytest.raises(kind) as caught:
        given(f)
        f.as_func()
    error = caught.value
    assert isinstance(error, hl.HalideError)
    assert error.at is not None and error.at.file == __file__
    assert given.__code__.co_firstlineno <= error.at.line
    assert error.at.text() in inspect.getsource(given)
    for word in words:
        assert word in str(error), str(error)
    return error


def test_tags_that_no_stage_has() -> None:
    check(
        lambda f: f.intra_schedule().vectorize(f.inner(3), 8),
        plane("u32", 16, 8),
        "f.intra_schedule().vectorize(inner(3), 8): of 11 stages, none has a dimension"
        " inner(3)",
        "- f.inner(0)\n",
        "f.intra_schedule().vectorize(f.inner(3), 8),\n",
    )
    check(
        lambda f: f.intra_schedule().reorder(f.scan(), f.full(0)),
        plane("u32", 16, 8),
        "none has a dimension full(0)",
        "- f.scan()",
    )
    check(
        lambda f: f.intra_schedule(1).parallel(f.outer(0).split_var()),
        plane("u32", 16, 8),
        "none has a dimension outer(0).split_var()",
    )
    check(
        lambda f: f.full_schedule().reorder_storage(f.tail()),
        plane("u32"),
        "none has a dimension tail()",
    )


def test_classes_of_stages_that_there_are_not() -> None:
    check(
        lambda f: f.intra_schedule().parallel(f.outer(0)),
        plane("u32"),
        "f has no stages of this class, as all filters run along whole lines",
        "- f.full_schedule()",
        "hint: f.split",
    )
    check(
        lambda f: f.full_schedule().parallel(f.full(0)),
        plane("u32", 16, 8),
        "as all filters are computed in tiles",
        "- f.intra_schedule(1)",
    )
    check(
        lambda f: f.intra_schedule(2).parallel(f.outer(0)),
        plane("u32", 16, 0),
        "intra_schedule(2)",
        "no two dimensions are in the same tiles",
    )
    check(lambda f: f.intra_schedule(3), plane("u32", 16, 8), "not 3")


def test_what_directives_take() -> None:
    f = plane("u32", 16, 8)
    check(
        lambda f: f.intra_schedule().vectorize(f.inner(0), 0),
        f,
        "f.intra_schedule().vectorize: the factor must be a positive integer",
        "not 0",
    )
    for wrong in (-3, 2.5, True, "8", 1 << 40):
        check(
            lambda f, w=wrong: f.inter_schedule().split(f.inner(0), w),  # type: ignore[misc]
            f,
            f"not {wrong!r}",
        )
        check(
            lambda f, w=wrong: f.inter_schedule().parallel(f.inner(0), w),  # type: ignore[misc]
            f,
            f"not {wrong!r}",
        )
    x: Any = hl.Var("x")
    check(lambda f: f.inter_schedule().reorder(x), f, "takes tags, not x")
    check(lambda f: f.inter_schedule().unroll(f.tail(-1)), f, "0 or more, not -1")
    check(lambda f: f.inter_schedule().unroll(f.tail(x)), f, "0 or more, not")
    check(lambda f: f.intra_schedule().parallel(f.scan()), f, "needs the one before")
    check(lambda f: f.intra_schedule().vectorize(f.scan(), 8), f, "- f.inner()")
    check(lambda f: f.inter_schedule().compute_locally(), f, "read by all tiles")


def test_too_late() -> None:
    f = plane("u32", 16, 8)
    one: RecFilterSchedule = f.intra_schedule()
    f.realize()
    check(
        lambda f: one.parallel(f.outer()), f, "after as_func", kind=hl.DefinitionError
    )
    assert repr(one) == "f.intra_schedule()"


def test_orders_that_would_change_results() -> None:
    check(
        lambda f: f.inter_schedule().reorder(f.scan(), f.tail()),
        plane("u32", 16, 8),
        "f.inter_schedule().reorder(scan(), tail()): one of the stages refuses it:"
        " f_0_completedx.update(0).reorder",
        "hint: f.print_loop_nest() shows the loops",
    )


@pytest.mark.parametrize("given", ["full", "scan"])
def test_loops_fused_with_a_scan(given: str) -> None:
    """Either way round: lines one after the other, or points of all lines."""
    f = plane("u32")
    tags = [f.full(), f.scan()]
    f.full_schedule().fuse(*(tags if given == "full" else tags[::-1]))
    assert (np.asarray(f.realize()) == automatic("u32")).all()
    g = plane("u32", 16, 8)
    tags = [g.inner(), g.scan()]
    for one in (g.intra_schedule(), g.inter_schedule()):
        one.fuse(*(tags if given == "full" else tags[::-1]))
    assert (np.asarray(g.realize()) == automatic("u32")).all()


def test_a_loop_fused_with_a_scan_keeps_its_order() -> None:
    check(
        lambda f: f.full_schedule().fuse(f.full(), f.scan()).vectorize(f.full(), 8),
        plane("u32"),
        "f.full_schedule().vectorize(full(), 8): one of the stages refuses it:",
        "its iterations depend on each other",
    )


def test_tails_that_cannot_share_loops() -> None:
    check(
        lambda f: f.intra_schedule().reorder(f.outer(), f.inner()),
        plane("u32", 16, 8),
        "f: filters within tiles are computed locally for the tails of several",
        "whose loops around them must be the same",
        "compute_globally()",
    )


def test_tails_whose_loops_are_fused_with_those_of_tiles() -> None:
    f = plane("u32", 16, 8)
    f.intra_schedule().fuse(f.outer(0), f.tail())
    with pytest.raises(hl.ScheduleError, match="f: filters within tiles are") as info:
        f.as_func()
    assert "intrax" not in str(info.value)


def test_directives_are_not_handed_on() -> None:
    f = plane("u32", 16, 8)
    f.intra_schedule().parallel(f.outer())
    check(lambda f: f.cascade([0, 1], [2]), f, "which are for its own stages")
    check(lambda f: f.factor_filter_order(1, 1), f, "which are for its own stages")
    first, second = plane("u32", 16, 8).cascade([0, 1], [2])
    second.intra_schedule().parallel(second.outer())
    check(lambda f: first.overlap(second), f, "f_1 has been given directives")
