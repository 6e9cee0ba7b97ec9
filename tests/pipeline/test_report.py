"""`report`: what a schedule does, in numbers, as a run of it does."""

from __future__ import annotations

import contextlib
import io
import itertools
import re
import warnings
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

import parhelion as hl

x, y, xo, yo, xi, yi = (hl.Var(n) for n in ("x", "y", "xo", "yo", "xi", "yi"))

SIZE = [24, 20]


def chain() -> tuple[hl.Func, hl.Func, hl.Func]:
    f, g, h = hl.funcs("f g h")
    f[x, y] = x * 3 + y * y
    g[x, y] = f[x, y] + f[x + 1, y + 2]
    h[x, y] = g[x, y] - g[x, y + 1]
    return f, g, h


Place = Callable[[hl.Func, hl.Func, hl.Func], object]

PLACES: dict[str, Place] = {
    "root": lambda f, g, h: (f.compute_root(), g.compute_root()),
    "lines": lambda f, g, h: (f.compute_at(g, y), g.compute_root()),
    "points": lambda f, g, h: (f.compute_root(), g.compute_at(h, x)),
    "lines_in_points": lambda f, g, h: (f.compute_at(g, y), g.compute_at(h, x)),
    "sliding": lambda f, g, h: (f.compute_root(), g.store_root().compute_at(h, y)),
    "sliding_both": lambda f, g, h: (
        f.store_root().compute_at(h, y),
        g.store_root().compute_at(h, y),
    ),
    "tiles": lambda f, g, h: (
        h.tile(x, y, xo, yo, xi, yi, 8, 5),
        f.compute_at(h, xo),
        g.compute_at(h, xo),
    ),
    "strips": lambda f, g, h: (
        h.split(y, yo, yi, 10),
        f.compute_at(h, yo),
        g.store_at(h, yo).compute_at(h, yi),
    ),
    "parallel": lambda f, g, h: (
        h.parallel(y),
        f.compute_root().parallel(y),
        g.compute_at(h, y),
    ),
}


@pytest.mark.parametrize("place", PLACES)
def test_what_is_recomputed_is_what_is_stored(place: str) -> None:
    """Lines that a run prints, one for each store, over those of `compute_root`."""
    counts: dict[str, Counter[str]] = {}
    reports: dict[str, hl.Report] = {}
    before = hl.set_num_threads(1)
    for one in ("root", place):
        funcs = chain()
        PLACES[one](*funcs)
        for func in funcs:
            func.trace_stores()
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            funcs[-1].realize(SIZE)
        stores = [s for s in text.getvalue().splitlines() if s.startswith("Store ")]
        counts[one] = Counter([re.split(r"[.$]", s.split()[1])[0] for s in stores])
        reports[one] = funcs[-1].report(SIZE)
    hl.set_num_threads(before)
    for name in "fgh":
        factor = counts[place][name] / counts["root"][name]
        assert reports[place][name].recomputed == pytest.approx(factor), name
        assert reports["root"][name].recomputed == 1


@pytest.mark.parametrize("place", PLACES)
def test_productions_are_those_of_a_profile(place: str) -> None:
    f, g, h = chain()
    PLACES[place](f, g, h)
    told, counted = h.report(SIZE), h.profile(SIZE)
    assert {one.name: one.produced for one in told.funcs} == {
        one.name: one.calls for one in counted.funcs
    }


def test_storage_is_that_of_a_profile() -> None:
    f, g, h = chain()
    f.compute_root()
    g.compute_at(h, y)
    told, counted = h.report([3000, 9]), h.profile([3000, 9])
    for name in "fg":
        # There may be padding.
        assert 0 <= counted[name].peak - told[name].bytes < 256, name
    assert told["f"].bytes == 4 * 3001 * 12
    assert told["h"].bytes == 0
    assert told.peak == told["f"].bytes + told["g"].bytes


def test_vectors_and_lanes() -> None:
    f, g, h = hl.funcs("f g h")
    image = hl.Buffer(np.arange(256, dtype=np.int32).reshape(16, 16))
    f[x, y] = x * y
    g[x, y] = f[x, y] + f[x + 1, y]
    h[x, y] = g[f[x, y] % 16, y] + image[g[x, y] % 16, y]
    for func in (f, g):
        func.compute_root().vectorize(x, 8)
    h.split(x, xo, xi, 4).vectorize(xi)
    report = h.report([16, 16])
    assert report["f"].vectors == ("x.v0: 8",)
    assert report["h"].vectors == ("x.xi: 4",)
    assert report["f"].lanes == report["h"].lanes == 0
    assert report["g"].lanes > 0
    assert list(report.images.values()) == [n for n in report.images.values() if n > 0]
    assert len(report.images) == 1


def test_folds_and_why_not() -> None:
    f, g, h = chain()
    f.compute_root()
    g.store_root().compute_at(h, y).vectorize(x, 8)
    report = h.report(SIZE)
    assert report["g"].folds == ("y: 2",)
    assert report["g"].unfolded == ("x: vectors lie along it, and would be gathers",)
    assert report["f"].folds == report["f"].unfolded == ()


@pytest.mark.parametrize(
    ("schedule", "dimension", "why"),
    [
        (
            lambda g, h: (g.store_root().compute_at(h, y), h.reorder(y, x)),
            "x",
            "",
        ),
        (
            lambda g, h: g.store_root().compute_at(h, y),
            "x",
            "no serial loop outside of its computation moves through it",
        ),
        (
            lambda g, h: g.store_root().compute_at(h, y).async_(),
            "y",
            "it is async, and runs ahead of what uses it",
        ),
    ],
)
def test_why_storage_is_not_folded(
    schedule: Callable[[hl.Func, hl.Func], object], dimension: str, why: str
) -> None:
    f, g, h = chain()
    f.compute_root()
    schedule(g, h)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hl.ScheduleWarning)
        told = h.report(SIZE)["g"].unfolded
    reasons = dict([one.split(": ", 1) for one in told])
    assert reasons.get(dimension, "") == why


def test_parallel_loops() -> None:
    f, g, h = chain()
    f.compute_root().parallel(y, 4)
    g.compute_at(h, y).parallel(x)
    h.parallel(y)
    report = h.report(SIZE)
    loops = {(p.func, p.entries, p.iterations) for p in report.loops}
    # f is needed in 20 + 3 lines, four to a task; g in 24 columns of two lines for each
    # of h's lines.
    assert loops == {("f", 1, 6), ("h", 1, 20), ("g", 40, 24)}
    by_func = {p.func: p for p in report.loops}
    # What g does is part of h's tasks.
    assert by_func["h"].work > 24 * by_func["g"].work > 0


def test_a_table() -> None:
    f, g, h = chain()
    f.compute_root().parallel(y)
    g.store_root().compute_at(h, y).vectorize(x, 8)
    assert str(h.report([640, 480])) == (
        "h: storage at most 1.2 MB\n"
        "     recomputed  produced  storage  vectors  by lane  folded\n"
        "  f        1.00         1   1.2 MB\n"
        "  g        1.00       480   5.0 KB  x.v0: 8             y: 2\n"
        "  h        1.00         1\n"
        "  f.y is parallel: 483 tasks of about 1,923 operations\n"
        "  g is not folded along x: vectors lie along it, and would be gathers"
    )


def test_a_func_that_has_no_row() -> None:
    f, g, h = chain()
    f.compute_root()
    with pytest.raises(hl.HalideError, match="the report of 'h' has no Func 'g'"):
        h.report(SIZE)["g"]


def test_many_stages_inside_of_each_other_are_counted_in_time() -> None:
    """Each stage of ten has two loops whose bodies differ from one iteration to the
    next. All walked as those of one stage are, they would take days."""
    funcs = [hl.Func(f"f{k}") for k in range(10)]
    funcs[0][x, y] = x + y
    for a, b in itertools.pairwise(funcs):
        near = [a[hl.clamp(x + d, 0, 29), hl.clamp(y + d, 0, 19)] for d in (-1, 1)]
        b[x, y] = near[0] + near[1]
        a.compute_at(b, x)
    told = funcs[-1].report([30, 20])
    # Of the one before the last: up to 3 by 3 points for each point.
    assert 8 <= told["f8"].recomputed <= 9
    assert told["f8"].produced == 600


@pytest.mark.parametrize(("tile", "parts"), [((8, 4), 3 * 5), (None, 24 * 20)])
def test_of_funcs_on_demand_all_parts_count(
    tile: tuple[int, int] | None, parts: int
) -> None:
    """What is read is what pixels decide; around and inside of them all is as ever."""
    f, g, h = hl.funcs("f g h")
    f[x, y] = x + y
    g[x, y] = f[x, y] * 2
    h[x, y] = g[hl.clamp(x * y, 0, 23), hl.clamp(x + y, 0, 19)]
    f.compute_root()
    g.compute_lazy(tile)
    told = h.report(SIZE)
    assert [(told[n].produced, told[n].recomputed) for n in "fgh"] == [
        (1, 1), (parts, 1), (1, 1),
    ]  # fmt: skip
