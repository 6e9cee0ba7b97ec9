"""Animations show the order of the compiled program, and its values."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
import pytest

import parhelion as hl
from parhelion.views.animation import Animation
from parhelion.views.execute import End, Touch
from parhelion.views.listing import shown

x, y, xo, yo, xi, yi = hl.vars("x y xo yo xi yi")
Shift = hl.TailStrategy.ShiftInwards

#: What is stored at once, and what was loaded for it since the store before.
Group = tuple[str, list[tuple[int, ...]], set[tuple[str, tuple[int, ...]]]]


def stages() -> tuple[hl.Func, hl.Func]:
    """A blur in two stages, over a ramp."""
    f, g = hl.funcs("f g")
    f[x, y] = x * x + 3 * y
    g[x, y] = f[x, y] + f[x, y + 1] + f[x + 1, y]
    return f, g


def root(f: hl.Func, g: hl.Func) -> None:
    f.compute_root()


def rows(f: hl.Func, g: hl.Func) -> None:
    f.compute_at(g, y)


def sliding(f: hl.Func, g: hl.Func) -> None:
    f.store_root().compute_at(g, y)


def tiles(f: hl.Func, g: hl.Func) -> None:
    g.tile(x, y, xo, yo, xi, yi, 4, 3)
    f.compute_at(g, xo)


def columns(f: hl.Func, g: hl.Func) -> None:
    g.reorder(y, x)
    f.compute_root().reorder(y, x)


def vectors(f: hl.Func, g: hl.Func) -> None:
    f.compute_at(g, y).vectorize(x, 4, Shift)
    g.vectorize(x, 4, Shift).unroll(y, 2, Shift)


def sliding_columns(f: hl.Func, g: hl.Func) -> None:
    f.store_at(g, y).compute_at(g, x)


def lazy_tiles(f: hl.Func, g: hl.Func) -> None:
    g.tile(x, y, xo, yo, xi, yi, 4, 3)
    f.compute_lazy((3, 2)).vectorize(x, 2, hl.TailStrategy.GuardWithIf)


SCHEDULES = [
    root, rows, sliding, tiles, columns, vectors, sliding_columns, lazy_tiles,
]  # fmt: skip
Schedule = Callable[[hl.Func, hl.Func], None]


def told(animation: Animation, traced: Sequence[str]) -> list[Group]:
    """What the animation's stores are, with the loads of Funcs."""
    groups: list[Group] = []
    for step in animation.steps:
        for one in step:
            if isinstance(one, Touch):
                loads = {(s.name, p) for s, p in one.loads if s.name in traced}
                groups.append((shown(one.storage.func), list(one.points), loads))
    return groups


def printed(lines: str) -> list[Group]:
    """The same from the lines that the compiled program prints."""
    groups: list[Group] = []
    loads: set[tuple[str, tuple[int, ...]]] = set()
    for what, name, inside in re.findall(r"(Load|Store) (\w+)\.0\((.*?)\) =", lines):
        lanes = [
            [int(n) for n in part.strip("<>").split(", ")]
            for part in re.findall(r"<[^>]*>|-?\d+", inside)
        ]
        count = max(map(len, lanes))
        full = [lane * (count // len(lane)) for lane in lanes]
        points = list(zip(*full, strict=True))
        if what == "Load":
            loads |= {(name, p) for p in points}
        else:
            groups.append((name, points, loads))
            loads = set()
    return groups


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_order_is_that_of_the_compiled_program(
    schedule: Schedule, capsys: pytest.CaptureFixture[str]
) -> None:
    f, g = stages()
    schedule(f, g)
    found = told(g.animate([8, 6]), ["f"])
    f.trace_stores().trace_loads()
    g.trace_stores()
    capsys.readouterr()
    g.realize([8, 6])
    expected = printed(capsys.readouterr().out)
    assert len(found) > 10
    assert found == expected


def test_an_update_runs_in_the_order_of_its_domain(
    capsys: pytest.CaptureFixture[str],
) -> None:
    h = hl.Func("h")
    r = hl.RDom([(0, 3), (0, 2)], "r")
    h[x] = 0
    h[(r.x * 2 + r.y) % 4] += r.x
    found = told(h.animate([4]), ["h"])
    h.trace_stores().trace_loads()
    capsys.readouterr()
    h.realize([4])
    assert found == printed(capsys.readouterr().out)
    assert [p for _, points, _ in found[4:] for p in points] == [
        (0,), (2,), (0,), (1,), (3,), (1,),
    ]  # fmt: skip


def parallel(f: hl.Func, g: hl.Func) -> None:
    g.parallel(y)
    f.compute_at(g, y)


def parallel_tiles(f: hl.Func, g: hl.Func) -> None:
    g.tile(x, y, xo, yo, xi, yi, 4, 3).parallel(yo).vectorize(xi)
    f.compute_at(g, xo).vectorize(x)


def within_lanes(f: hl.Func, g: hl.Func) -> None:
    f.compute_at(g, xi)
    g.split(x, xo, xi, 4).vectorize(xi)


def folded(f: hl.Func, g: hl.Func) -> None:
    f.store_root().compute_at(g, y).fold_storage(y, 2)


def hoisted(f: hl.Func, g: hl.Func) -> None:
    f.compute_at(g, y).hoist_storage_root()


def lazy_points(f: hl.Func, g: hl.Func) -> None:
    g.parallel(y).vectorize(x, 4)
    f.compute_lazy()


def lazy_tiles_of_threads(f: hl.Func, g: hl.Func) -> None:
    g.parallel(y)
    f.compute_lazy((4, None)).parallel(y)


def lazy_lines(f: hl.Func, g: hl.Func) -> None:
    g.parallel(y)
    f.compute_lazy((5,)).store_at(g, y)


LAZY = [lazy_points, lazy_tiles_of_threads, lazy_lines]


@pytest.mark.parametrize(
    "schedule",
    [*SCHEDULES, *LAZY, parallel, parallel_tiles, within_lanes, folded, hoisted],
)
def test_the_values_are_those_of_the_compiled_program(schedule: Schedule) -> None:
    f, g = stages()
    schedule(f, g)
    animation = g.animate([8, 6])
    expected = np.asarray(g.realize([8, 6]))
    output = animation.storages[0]
    assert shown(output.func) == "g"
    made = np.array([[output.values[i, j][0] for i in range(8)] for j in range(6)])
    assert (made == expected).all()


@pytest.mark.parametrize("schedule", LAZY)
def test_values_on_demand_are_computed_before_they_are_read(schedule: Schedule) -> None:
    """And once in each storage; tables of what is computed do not show."""
    f, g = stages()
    schedule(f, g)
    animation = g.animate([8, 6], threads=3)
    assert {shown(s.func) for s in animation.storages} == {"f", "g"}
    lines = "\n".join(line.text for line in animation.lines)
    assert "on demand f" in lines and "made" not in lines and "asked" not in lines
    stored: set[tuple[int, tuple[int, ...]]] = set()
    known: set[tuple[int, ...]] = set()
    for step in animation.steps:
        for one in step:
            if isinstance(one, Touch) and shown(one.storage.func) == "f":
                new = {(one.storage.number, p) for p in one.points}
                assert new.isdisjoint(stored)
                stored |= new
                known |= set(one.points)
            elif isinstance(one, Touch):
                assert known >= {p for s, p in one.loads if s.name.startswith("f")}


def test_updates_with_data_and_conditions_have_the_right_values() -> None:
    image = hl.Buffer(np.array([[3, 1, 2, 9], [3, 3, 0, 0]], np.uint8), "image")
    h = hl.Func("h")
    r = hl.RDom([(0, 4), (0, 2)], "r")
    r.where(image[r.x, r.y] < 9)
    h[x] = hl.i32(0)
    bin = hl.clamp(hl.i32(image[r.x, r.y]), 0, 9)
    h[bin] += hl.select(r.x > 1, 1, hl.i32(image[r.y, 0]))
    animation = h.animate([10])
    expected = np.asarray(h.realize([10]))
    output = animation.storages[0]
    assert [output.values[i,][0] for i in range(10)] == expected.tolist()
    loaded = {p for step in animation.steps for t in step if isinstance(t, Touch)
              for s, p in t.loads if s.name == "image"}  # fmt: skip
    assert loaded == {(i, j) for i in range(4) for j in range(2)}


def test_all_threads_step_at_once_and_take_iterations_in_turn() -> None:
    f, g = stages()
    parallel(f, g)
    steps = g.animate([4, 5], threads=3).steps
    first = [t for t in steps[0] if isinstance(t, Touch)]
    assert [(t.thread, t.points) for t in first] == [
        (0, [(0, 0)]), (1, [(0, 1)]), (2, [(0, 2)]),
    ]  # fmt: skip
    # Five rows on three threads: the last two are computed by the first two threads.
    rows = {(t.thread, p[1]) for step in steps for t in step if isinstance(t, Touch)
            and shown(t.storage.func) == "g" for p in t.points}  # fmt: skip
    assert rows == {(0, 0), (1, 1), (2, 2), (0, 3), (1, 4)}
    alone = g.animate([4, 5], threads=1).steps
    assert len(steps) < len(alone)
    assert all(len([t for t in s if isinstance(t, Touch)]) == 1 for s in alone[:-1])


def test_lanes_are_one_step() -> None:
    f, g = stages()
    vectors(f, g)
    steps = g.animate([8, 6]).steps
    touches = [t for step in steps for t in step if isinstance(t, Touch)]
    assert {len(t.points) for t in touches} == {4}
    assert touches[0].points == [(0, 0), (1, 0), (2, 0), (3, 0)]
    assert touches[0].loops[-1] == (0, 3)


def test_storage_lives_where_the_schedule_says() -> None:
    def lives(schedule: Schedule) -> tuple[int, int]:
        """How many storages of `f` there are, and how many pixels go to others'
        places."""
        f, g = stages()
        schedule(f, g)
        animation = g.animate([8, 6])
        of_f = [s for s in animation.storages if shown(s.func) == "f"]
        ended = [e for step in animation.steps for e in step if isinstance(e, End)]
        assert {e.storage.number for e in ended} == {s.number for s in of_f}
        lost = [p for step in animation.steps for t in step if isinstance(t, Touch)
                for p in t.lost]  # fmt: skip
        return len(of_f), len(lost)

    assert lives(root) == (1, 0)
    assert lives(rows) == (6, 0)
    assert lives(tiles) == (4, 0)
    # Rows 0 to 6 of nine pixels, of which two are kept.
    assert lives(folded) == (1, 5 * 9)


def test_unset_images_and_params() -> None:
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    gain = hl.Param(hl.Int(32), "gain")
    f = hl.Func("scaled")
    f[x, y] = hl.i32(image[x - 1, y]) * gain
    with pytest.raises(hl.UnsetParamError, match="Param 'gain' has no value"):
        f.animate([3, 2])
    gain.set(2)
    animation = f.animate([3, 2])
    grids = {g.name: (g.kind, g.mins, g.extents) for g in animation.grids}
    assert grids == {
        "image": ("input", (-1, 0), (3, 2)),
        "scaled": ("output", (0, 0), (3, 2)),
    }


def test_what_is_too_much_to_watch_is_refused() -> None:
    f, g = stages()
    root(f, g)
    with pytest.raises(hl.BoundsError) as caught:
        g.animate([200, 200])
    assert caught.value.what == (
        "this takes more than 50000 loads and stores, too many to watch"
    )
    assert caught.value.at is not None
    assert caught.value.at.text() == "g.animate([200, 200])"
    assert caught.value.hint == (
        "give a smaller size: a few tiles of the schedule show its order"
    )
    with pytest.raises(hl.BoundsError, match="no pixels are asked for"):
        g.animate([0, 4])
    with pytest.raises(hl.TypeMismatchError, match="1 or more, not 0"):
        g.animate([4, 4], threads=0)
    with pytest.raises(hl.TypeMismatchError, match="2 dimensions"):
        g.animate([4])


def test_foreign_code_has_no_order_to_show() -> None:
    def fill(out: hl.Buffer) -> int:
        return 0

    f, g = hl.funcs("foreign g")
    f.define_extern(fill, [], [hl.Int(32)], 1)
    g[x] = f[x]
    f.compute_root()
    with pytest.raises(hl.HalideError, match="foreign code computes 'foreign'"):
        g.animate([4])


def test_failures_are_those_of_the_compiled_program() -> None:
    image = hl.ImageParam(hl.UInt(8), 1, "image")
    image.set(np.zeros(4, np.uint8))
    f = hl.Func("f")
    f[x] = image[x + 1]
    with pytest.raises(hl.BoundsError) as compiled:
        f.realize([4])
    with pytest.raises(hl.BoundsError) as animated:
        f.animate([4])
    assert animated.value.what == compiled.value.what


def test_the_size_alone_may_be_too_much_to_watch() -> None:
    """Without lowering it, which takes long for many stages."""
    f, g = stages()
    root(f, g)
    pipeline = hl.Pipeline([g])
    before = pipeline._runner.variants()
    with pytest.raises(hl.BoundsError, match="more than 50000 loads and stores"):
        pipeline.animate([300, 300])
    assert pipeline._runner.variants() == before


def test_views_take_what_realize_takes() -> None:
    f, g = stages()
    root(f, g)
    shifted = hl.Buffer(hl.Int(32), [6, 4])
    shifted.set_min(10, 20)
    out = g.animate(shifted).grids[-1]
    assert (out.name, out.mins, out.extents) == ("g", (10, 20), (6, 4))
    for method in ("realize", "profile", "report", "trace", "animate"):
        call = getattr(g, method)
        with pytest.raises(hl.TypeMismatchError) as caught:
            call(64)
        assert caught.value.what == f"{method} takes a list of extents, not 64"
        assert caught.value.hint == f"write {method}([64])"
        with pytest.raises(hl.TypeMismatchError) as caught:
            call(8, 9)
        assert caught.value.what.startswith(f"{method} takes a list of extents and ")
        assert caught.value.hint == f"write {method}([8, 9])"
        with pytest.raises(hl.TypeMismatchError) as caught:
            call([8])
        assert caught.value.what == (
            f"Func {g.name()!r} has 2 dimensions; {method} is given 1 extents"
        )


def test_the_listing_names_loops_and_funcs_as_definitions_do() -> None:
    r, q = hl.RDom([(0, 3), (0, 2)], "r"), hl.RDom([(0, 4)], "q")
    first, second = hl.Func("same"), hl.Func("same")
    first[x] = 0
    first[x] += r.x + r.y
    second[x] = first[x]
    second[x] += q
    first.compute_root()
    shown = second.animate([4])
    text = [line.text for line in shown.lines]
    assert text == [
        "store same",
        "produce same",
        "for x",
        "same(…) = …",
        "for x",
        "for r.y",
        "for r.x",
        "same(…) = …",
        "produce same (2)",
        "for x",
        "same (2)(…) = …",
        "for x",
        "for q",
        "same (2)(…) = …",
    ]
    assert [grid.name for grid in shown.grids] == ["same", "same (2)"]
    page = hl.Pipeline([second])._repr_html_()
    assert 'data-name="same"' in page and 'data-name="same (2)"' in page
