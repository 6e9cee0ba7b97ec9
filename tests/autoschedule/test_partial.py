"""The paper's scheduler on pipelines that are partly scheduled, and its comparisons."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

import parhelion as hl
from parhelion.autoschedule.calls import Call
from parhelion.autoschedule.pipeline.freedom import Freedom
from parhelion.interp import interpret
from parhelion.ir.function import Function
from parhelion.schedule.directives import Place
from parhelion.schedule.legality import resolve
from tests.support.spec import spec_of

x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
SCHEDULERS = ("Mullapudi2016", "Baseline", "PolyMage")


def chain() -> tuple[hl.Func, hl.Func, hl.Func, hl.Func]:
    """Four stages, each too dear to be computed again."""
    data = hl.Buffer(np.arange(70 * 50, dtype=np.float32).reshape(50, 70) % 17)
    first = hl.BoundaryConditions.repeat_edge(data)
    made = [first]
    for k in range(4):
        f, g = made[-1], hl.Func(f"stage{k}")
        g[x, y] = hl.floor(hl.sqrt(f[x - 1, y]) + hl.sqrt(f[x + 1, y]) + f[x, y + 1])
        made.append(g)
    return made[1], made[2], made[3], made[4]


def same(out: hl.Func, *size: int) -> None:
    got = np.asarray(out.realize(list(size))).transpose()
    (wanted,) = interpret(out._function, [(0, n) for n in size])
    np.testing.assert_array_equal(got, wanted)


def directives(f: hl.Func) -> list[str]:
    return [str(t) for d in f._function.stages() for t in d.schedule.transforms]


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_what_is_scheduled_stays(scheduler: str) -> None:
    a, b, last, out = chain()
    xi = hl.Var("xi")
    b.compute_root().split(x, x, xi, 6).vectorize(xi)
    a.compute_at(b, x)
    before = directives(b), b._function.stages()[0].schedule.dims[:]
    result = hl.autoschedule(out, [70, 50], scheduler=scheduler)
    assert not [call for call in result.script.calls if call.function is b._function]
    assert (directives(b), b._function.stages()[0].schedule.dims) == before
    level = a._function.schedule.compute
    assert level.func is b._function and level.var is x._var
    # The rest is filled in.
    assert last._function.schedule.compute.place is not Place.INLINED
    assert directives(out)
    for size in ((70, 50), (9, 3), (1, 1)):
        same(out, *size)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_named_loops_stay(scheduler: str) -> None:
    a, b, _, out = chain()
    # A window: it slides down, so that the loop y must stay serial.
    b.store_root().compute_at(out, y)
    result = hl.autoschedule(out, [70, 50], scheduler=scheduler)
    calls = [c for c in result.script.calls if c.function is out._function]
    assert [c.method for c in calls] == ["vectorize"]
    assert a._function.schedule.compute.place is not Place.LOOP or (
        a._function.schedule.compute.func is not out._function
    )
    for size in ((70, 50), (9, 3)):
        same(out, *size)


def test_a_definition_with_directives_keeps_them_and_the_others_get_some() -> None:
    f, out, r = hl.Func("f"), hl.Func("out"), hl.RDom([(0, 5)], "r")
    f[x, y] = hl.i32(0)
    f[x, y] += x * r.x
    f[x, y] += y * r.x
    out[x, y] = f[x, y] + f[x, y + 1]
    f.update(0).unroll(r.x)
    result = hl.autoschedule(out, [64, 64], scheduler="Mullapudi2016")
    touched = {c.stage for c in result.script.calls if c.function is f._function}
    assert touched >= {0, 2} and 1 not in touched
    # Its place is nobody's yet.
    assert f._function.schedule.compute.place is Place.ROOT
    same(out, 64, 64)
    same(out, 3, 2)


def test_compute_inline_is_a_decision_too() -> None:
    a, _, _, out = chain()
    a.compute_inline()
    hl.autoschedule(out, [70, 50], scheduler="Mullapudi2016")
    assert a._function.schedule.compute.place is Place.INLINED
    same(out, 70, 50)


def test_what_nobody_knows_is_inlined_and_noted() -> None:
    index = hl.Buffer(np.arange(64, dtype=np.int32)[::-1].copy())
    f, out = hl.Func("f"), hl.Func("out")
    f[x] = (x * x + 5) % 1000
    out[x] = f[index[x]] + f[x]
    result = hl.autoschedule(out, [64], scheduler="Mullapudi2016")
    (note,) = result.notes
    assert note.startswith("the automatic scheduler cannot tell what region of f")
    assert note.endswith("it is read where only a run knows, so it is inlined")
    same(out, 64)


# The comparisons.


def test_the_baseline_neither_tiles_nor_groups() -> None:
    a, b, last, out = chain()
    hl.autoschedule(out, [70, 50], scheduler="Baseline")
    for f in (a, b, last):
        assert f._function.schedule.compute.place is Place.ROOT
    dims = out._function.stages()[0].schedule.dims
    assert [d.kind.value for d in dims] == ["vectorized", "for", "parallel"]
    same(out, 70, 50)


def test_polymage_has_one_tile_size_in_two_dimensions() -> None:
    out, data = hl.Func("out"), hl.ImageParam(hl.Float(32), 3)
    wide, far = hl.Func("wide"), hl.Func("far")
    wide[x, y, c] = hl.sqrt(data[x - 1, y, c]) + hl.sqrt(data[x + 1, y, c])
    far[x, y, c] = hl.sqrt(wide[x, y - 1, c]) + hl.sqrt(wide[x, y + 1, c])
    out[x, y, c] = far[x, y - 1, c] + far[x, y + 1, c]
    params = {"TILE_X": 64, "TILE_Y": 16, "machine": "xeon"}
    result = hl.autoschedule(out, [1024, 1024, 3], scheduler="PolyMage", **params)  # type: ignore[arg-type]
    splits = [call for call in result.script.calls if call.method == "split"]
    of_out = [s.args[3] for s in splits if s.function is out._function]
    assert of_out[:2] == [64, 16]
    level = wide._function.schedule.compute
    assert level.place is Place.LOOP and level.func is out._function


def test_polymage_leaves_reductions_to_the_baseline() -> None:
    data = hl.Buffer((np.arange(64 * 64) % 251).astype(np.uint8).reshape(64, 64))
    count, out, r = hl.Func("count"), hl.Func("out"), hl.RDom([(0, 64), (0, 64)], "r")
    count[x] = hl.i32(0)
    count[hl.i32(data[r.x, r.y])] += 1
    out[x, y] = count[hl.i32(hl.clamp(data[x, y], 0, 255))]
    hl.autoschedule(out, [64, 64], scheduler="PolyMage")
    assert count._function.schedule.compute.place is Place.ROOT
    same(out, 64, 64)


# Decisions.


def test_every_option_can_be_applied() -> None:
    _, _, _, out = chain()
    result = hl.autoschedule(out, [70, 50], scheduler="Mullapudi2016", machine="xeon")
    kinds = {d.kind for d in result.decisions}
    assert {"inline", "group", "tile"} <= kinds
    scripts = set()
    for d in result.decisions:
        assert d.chosen.cost == result.cost
        for option in d.options:
            other = result.alternative(d, option)
            other.apply()
            scripts.add(other.to_python())
            resolve(spec_of(out))
    assert len(scripts) > 3
    same(out, 70, 50)


def test_the_runner_up_of_an_inlining_is_not_inlined() -> None:
    source, scaled, out = hl.ImageParam(hl.Float(32), 2), hl.Func("s"), hl.Func("out")
    scaled[x, y] = source[x, y] * 2.0
    out[x, y] = hl.exp(scaled[x, y]) + hl.exp(scaled[x, y + 1])
    result = hl.autoschedule(out, [512, 512], scheduler="Mullapudi2016")
    (decision,) = [d for d in result.decisions if d.kind == "inline"]
    assert decision.chosen.label == "inlined"
    assert decision.gain is not None and decision.gain > 0
    result.alternative(decision).apply()
    assert scaled._function.schedule.compute.place is not Place.INLINED


def test_what_an_unread_value_mentions_stays_at_root() -> None:
    data = hl.Buffer(np.arange(140 * 140, dtype=np.float32).reshape(140, 140) % 31)
    edge = hl.BoundaryConditions.repeat_edge(data)
    dear, several, g, out = (hl.Func(n) for n in ("dear", "several", "g", "out"))
    dear[x, y] = hl.floor(hl.exp(edge[x, y]) + hl.exp(edge[x, y + 1]))
    several[x, y] = (edge[x, y] * 2.0, dear[x, y])
    g[x, y] = dear[x, y - 1] + dear[x, y] + dear[x, y + 1]
    # Reads one of the two values: dear is not used, but mentioned.
    out[x, y] = several[x, y][0] + g[x, y]
    hl.autoschedule([out, g], [128, 128], scheduler="Mullapudi2016")
    assert dear._function.schedule.compute.place is Place.ROOT
    made = hl.Pipeline([out, g]).realize([128, 128])
    assert isinstance(made, tuple)
    first, second = made
    for f, got in ((out, first), (g, second)):
        (wanted,) = interpret(f._function, [(0, 128), (0, 128)])
        np.testing.assert_array_equal(np.asarray(got).transpose(), wanted)


# Directives that are refused only when the pipeline is lowered.


@pytest.mark.filterwarnings("ignore:.*has no effect")
@pytest.mark.parametrize("count", [1, 2])
def test_what_is_refused_where_it_is_placed_stays_as_it_is(count: int) -> None:
    """Inlined, it has no loop that could not be partitioned. No boundary condition
    and no tail of a split is there to do that by, wherever it is computed."""
    first, *given, out = hl.funcs("first b c out")
    first[x, y] = hl.floor(hl.sqrt(hl.f32(x * y)))
    made = [first, *given, out]
    for f, g in itertools.pairwise(made):
        g[x, y] = hl.floor(hl.sqrt(f[x, y]) + hl.sqrt(f[x, y + 1]))
    given = given[:count]
    for f in given:
        f.always_partition(y)
    result = hl.autoschedule(out, [70, 50])
    names = ", ".join([f.name() for f in given])
    (note,) = result.notes
    start = "the schedule that was found is refused beside the directives that are"
    assert note.startswith(f"{start} there before, so that what it has for {names} is ")
    assert note.endswith("no likely condition that it could be partitioned by)")
    assert result.cost is None and not result.decisions
    for f in given:
        assert f._function.schedule.compute.place is Place.INLINED
    # The rest is scheduled.
    assert "vectorize" in {c.method for c in result.script.calls}
    same(out, 70, 50)
    same(out, 9, 3)


@pytest.mark.parametrize("scheduler", ["Parhelion", "Mullapudi2016"])
def test_directives_that_are_refused_with_whatever_is_added(scheduler: str) -> None:
    _, b, _, out = chain()
    b.vectorize(x)
    with pytest.raises(hl.ScheduleError, match="is inlined and has no loop that could"):
        hl.autoschedule(out, [70, 50], scheduler=scheduler)
    assert b._function.schedule.compute.place is Place.INLINED
    assert not directives(out)
    # With a place that makes the extent known it goes.
    b.bound(x, 0, 70).compute_root()
    hl.autoschedule(out, [70, 50], scheduler=scheduler)
    assert directives(out)


# Options that are other schedules.


def named(call: Call) -> list[str]:
    return [str(getattr(a, "name", a)) for a in call.args]


@pytest.mark.parametrize("scheduler", ["Mullapudi2016", "PolyMage"])
def test_every_other_order_has_the_loop_that_it_names_next(scheduler: str) -> None:
    w = hl.Var("w")
    a, b = hl.funcs("a b")
    a[x, y, c, w] = hl.sqrt(hl.f32(x * y + c + w))
    b[x, y, c, w] = a[x, y - 1, c, w] + a[x, y, c, w] + a[x, y + 1, c, w]
    a.compute_root()
    result = hl.autoschedule(b, [64, 30, 30, 30], scheduler=scheduler)
    orders = [d for d in result.decisions if d.kind == "order"]
    assert len(orders) == 2
    for d in orders:
        others = [o for o in d.options if o is not d.chosen]
        assert d.chosen.label == "y next"
        assert {o.label for o in others} == {"c next", "w next"}
        for option in others:
            other = result.alternative(d, option).script
            assert other.calls != result.script.calls
            (order,) = [
                named(call)
                for call in other.calls
                if call.method == "reorder"
                and getattr(call.function, "name", "") == d.func
            ]
            # The vectors, what is left of the innermost loop, and then that one.
            assert order[2] == option.label.removesuffix(" next")


def test_no_option_is_the_schedule_that_was_chosen() -> None:
    """An update that is not tiled runs as one in a single tile does."""
    a, b, out, r = *hl.funcs("a b out"), hl.RDom([(0, 64)])
    a[x, y] = hl.sqrt(hl.f32(x + y))
    b[x, y] = hl.sqrt(hl.f32(x * y))
    out[x, y] = hl.f32(0)
    out[x, y] += a[r.x, y] * b[x, r.x]
    params = {"machine": "xeon", "PARALLELISM_THRESHOLD": 1}
    result = hl.autoschedule(out, [1000, 2], scheduler="Mullapudi2016", **params)  # type: ignore[arg-type]
    tiles = [d for d in result.decisions if d.kind == "tile"]
    assert tiles
    for d in tiles:
        for option in d.options:
            if option is not d.chosen:
                other = result.alternative(d, option)
                assert other.script.calls != result.script.calls


# Storage directives of Funcs that have no place.


def three() -> tuple[hl.Func, hl.Func, hl.Func]:
    f, g, h = hl.funcs("f g h")
    f[x, y] = hl.floor(hl.sqrt(hl.f32(x * x + y)))
    roots = [hl.sqrt(f[x, y] + k) for k in range(5)]
    g[x, y] = hl.floor(sum(roots[1:], roots[0])) + f[x, y + 1]
    h[x, y] = g[x, y] * g[x + 1, y] + g[x, y + 1]
    return f, g, h


KEPT: dict[str, Callable[[hl.Func], hl.Func]] = {
    "fold": lambda f: f.fold_storage(y, 4),
    "bound": lambda f: f.bound_storage(y, 8),
    "ring": lambda f: f.ring_buffer(2),
}


@pytest.mark.filterwarnings("ignore:.*no effect")
@pytest.mark.parametrize("scheduler", ["Parhelion", *SCHEDULERS])
@pytest.mark.parametrize("which", KEPT)
def test_storage_for_some_places_leaves_a_func_where_it_is(
    scheduler: str, which: str
) -> None:
    f, g, h = three()
    KEPT[which](f)
    result = hl.autoschedule(h, [700, 500], scheduler=scheduler)
    assert not result.notes
    assert f._function.schedule.compute.place is Place.INLINED
    methods = {(c.function, c.method) for c in result.script.calls}
    assert {(g._function, "vectorize"), (h._function, "vectorize")} <= methods
    assert f._function not in {of for of, _ in methods}
    same(h, 70, 50)


@pytest.mark.parametrize("scheduler", ["Parhelion", *SCHEDULERS])
def test_what_runs_beside_others_is_at_the_root(scheduler: str) -> None:
    f, g, h = three()
    f.async_()
    result = hl.autoschedule(h, [700, 500], scheduler=scheduler)
    assert not result.notes
    assert f._function.schedule.compute.place is Place.ROOT
    vectors = {c.function for c in result.script.calls if c.method == "vectorize"}
    assert vectors == {o._function for o in (f, g, h)}
    for size in ((70, 50), (3, 2)):
        same(h, *size)


@pytest.mark.filterwarnings("ignore:.*no effect")
def test_what_is_refused_for_one_func_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As if the ring of copies had not been known to be impossible there."""
    f, g, h = three()
    f.ring_buffer(2)
    inner = f._function

    def place(freedom: Freedom, function: Function) -> None:
        if function.name == inner.name:
            freedom.placed.add(function)

    monkeypatch.setattr(Freedom, "_store", place)
    result = hl.autoschedule(h, [700, 500])
    (note,) = result.notes
    assert f"so that what it has for {f.name()} is left out" in note
    vectors = {c.function for c in result.script.calls if c.method == "vectorize"}
    assert vectors == {g._function, h._function}
    same(h, 70, 50)


# What the default scheduler says of loops that are not its own.


def twice(pixels: hl.Buffer, to: hl.Buffer) -> None:
    np.asarray(to)[...] = 2 * np.asarray(pixels)


def test_loops_that_are_not_the_schedulers_are_no_decisions() -> None:
    f, g, h = three()
    out, last = hl.funcs("out last")
    out.define_extern(twice, [h], hl.Float(32), [x, y])
    last[x, y] = out[x, y] + 1
    g.compute_root().vectorize(x, 8)
    f.compute_at(g, y)
    result = hl.autoschedule(last, [640, 480])
    theirs = {o.name() for o in (f, g, out)}
    tiles = {d.func for d in result.decisions if d.kind == "tile"}
    assert tiles == {h.name(), last.name()}
    assert result.cost is not None and result.predicted_seconds is None
    assert not result.notes
    (told,) = [s for s in str(result.explain()).split("\n") if "no time" in s]
    start, _, rest = told.partition(" the loops of ")
    names, _, end = rest.partition(" are ")
    assert start == "no time is predicted:"
    assert set(names.split(", ")) == theirs
    assert end == "not the scheduler's; the cost is as if they were"


def test_no_two_options_have_the_same_name() -> None:
    """Found of a reduction, which may be in other loops with the same tiles."""
    f, g, h, out = hl.funcs("f g h out")
    r = hl.RDom([(0, 5)], "r")
    f[x, y] = hl.sqrt(hl.f32(x * x + y))
    g[x, y] = f[x, y] + f[x, y + 1]
    h[x, y] = hl.f32(0)
    h[x, y] += g[x + r.x, y]
    out[x, y] = h[x, y] + h[x + 1, y] + f[x, y]
    h.compute_root()
    for d in hl.autoschedule(out, [700, 500]).decisions:
        labels = [o.label for o in d.options]
        assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("scheduler", ["Mullapudi2016", "PolyMage"])
def test_a_group_that_is_named_is_the_one_that_is_joined(scheduler: str) -> None:
    made = [hl.Func("stage0")]
    made[0][x, y] = hl.sqrt(hl.f32(x * y))
    for k in range(1, 7):
        f, g = made[-1], hl.Func(f"stage{k}")
        if k % 2:
            g[x, y] = hl.sqrt(f[x - 1, y]) + hl.sqrt(f[x + 1, y]) + hl.exp(f[x, y + 1])
        else:
            g[x, y] = f[x, y - 1] + f[x, y + 1] * f[x + 1, y + 1]
        made.append(g)
    at = {f.name(): f._function.schedule for f in made}
    result = hl.autoschedule(made[-1], [800, 600], scheduler=scheduler, machine="xeon")
    start, seen = "in tiles of ", 0
    for d in result.decisions:
        for option in d.options:
            if option is d.chosen or not option.label.startswith(start):
                continue
            seen += 1
            result.alternative(d, option).apply()
            level = at[d.func].compute
            assert level.func is not None
            assert level.func.name == option.label.removeprefix(start)
    assert seen


# Storage further out than what is computed in it.


KEPT_OUTSIDE: dict[str, Callable[[hl.Func, hl.Func], hl.Func]] = {
    "hoisted": lambda f, k: f.compute_at(k, y).hoist_storage_root(),
    "ring": lambda f, k: f.compute_at(k, y).hoist_storage_root().ring_buffer(2),
    "stored": lambda f, k: f.compute_at(k, y).store_root(),
}


def four() -> tuple[hl.Func, hl.Func, hl.Func, hl.Func]:
    p, f, k, out = hl.funcs("p f k out")
    p[x, y] = hl.floor(hl.sqrt(hl.f32(x * x + y)))
    f[x, y] = hl.floor(hl.sqrt(p[x, y]) + hl.sqrt(p[x + 1, y]))
    k[x, y] = f[x, y] + f[x, y + 1]
    out[x, y] = hl.floor(hl.sqrt(k[x, y]) + hl.sqrt(k[x, y + 1]))
    return p, f, k, out


def parallel(result: hl.AutoSchedulerResults) -> set[object]:
    return {c.function for c in result.script.calls if c.method == "parallel"}


@pytest.mark.parametrize("scheduler", ["Parhelion", *SCHEDULERS])
@pytest.mark.parametrize("which", KEPT_OUTSIDE)
@pytest.mark.parametrize("inside", [False, True])
def test_loops_around_what_is_kept_further_out_are_serial(
    scheduler: str, which: str, inside: bool
) -> None:
    _, f, k, out = four()
    KEPT_OUTSIDE[which](f, k)
    if inside:
        k.compute_at(out, y)
    else:
        k.compute_root()
    result = hl.autoschedule(out, [700, 500], scheduler=scheduler)
    assert not [note for note in result.notes if "refused" in note]
    assert k._function not in parallel(result)
    assert (out._function in parallel(result)) is not inside
    for size in ((70, 50), (3, 2)):
        same(out, *size)


def test_what_is_refused_in_loops_that_hold_others_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As if it had not been known that the loop must be serial. The Func that it is of
    has no directives itself."""
    monkeypatch.setattr(Freedom, "_keep_serial", lambda *_: None)
    _, f, k, out = four()
    KEPT_OUTSIDE["hoisted"](f, k)
    result = hl.autoschedule([k, out], [700, 500], scheduler="Baseline")
    (note,) = result.notes
    assert f"so that what it has for {k.name()} is left out" in note
    assert out._function in parallel(result)
