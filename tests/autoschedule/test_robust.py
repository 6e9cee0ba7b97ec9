"""The default scheduler on whatever the language has, at other sizes too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.autoschedule.search import variants
from parhelion.autoschedule.search.descent import Search
from parhelion.autoschedule.search.state import State
from parhelion.interp import interpret_all
from parhelion.schedule.directives import Place

x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")


def check(outputs: hl.Func | Sequence[hl.Func], *sizes: Sequence[int]) -> None:
    """Schedules for the first size, and compares with the interpreter at all."""
    made = [outputs] if isinstance(outputs, hl.Func) else list(outputs)
    result = hl.autoschedule(made, sizes=list(sizes[0]))
    assert not result.notes
    for size in sizes:
        got = hl.Pipeline(made).realize(list(size))
        arrays = [np.asarray(b).T for b in (got if isinstance(got, tuple) else (got,))]
        region = [(0, e) for e in size]
        wanted = interpret_all([(f._function, region) for f in made])
        for a, b in zip(arrays, [a for one in wanted for a in one], strict=True):
            np.testing.assert_array_equal(a, b)


def place(f: hl.Func) -> Place:
    return f._function.schedule.compute.place


def image(w: int, h: int) -> hl.Buffer:
    pixels = np.arange(w * h, dtype=np.int64).reshape(h, w) * 7919 % 251
    return hl.Buffer(pixels.astype(np.int32))


def test_foreign_code_has_no_loops_and_its_inputs_are_in_memory() -> None:
    f, g, out = hl.funcs("f g out")

    def double(pixels: hl.Buffer, to: hl.Buffer) -> None:
        np.asarray(to)[...] = 2 * np.asarray(pixels)

    f[x, y] = x + 3 * y
    g.define_extern(double, [f], hl.Int(32), [x, y])
    out[x, y] = g[x, y] + g[x, y + 1]
    hl.autoschedule(out, [64, 40])
    assert place(f) is Place.ROOT and place(g) is Place.ROOT
    for w, h in ((64, 40), (5, 3)):
        got = np.asarray(out.realize([w, h])).T
        xs, ys = np.meshgrid(np.arange(w), np.arange(h), indexing="ij")
        assert np.array_equal(got, 2 * (2 * xs + 6 * ys + 3))


@pytest.mark.parametrize("scheduler", ["Parhelion", "Mullapudi2016"])
def test_foreign_code_that_nobody_needs(scheduler: str) -> None:
    """It says where another Func is read, which is the same everywhere."""
    f, g, rows, out = hl.funcs("f g rows out")

    def double(pixels: hl.Buffer, to: hl.Buffer) -> None:
        np.asarray(to)[...] = 2 * np.asarray(pixels)

    f[x, y] = x + 3 * y
    g.define_extern(double, [f], hl.Int(32), [x, y])
    rows[x, y] = 5 * y
    out[x, y] = rows[hl.clamp(g[x, y], 0, 9), y]
    result = hl.autoschedule(out, sizes=[64, 40], scheduler=scheduler)
    assert not result.notes
    got = np.asarray(out.realize([64, 40]))
    assert np.array_equal(got, np.broadcast_to(5 * np.arange(40)[:, None], (40, 64)))


def test_what_an_update_without_the_loop_reads() -> None:
    """f is read by an update that runs over one dimension only."""
    f, g, r = hl.Func("f"), hl.Func("g"), hl.RDom([(0, 20)])
    f[x, y] = hl.cast(hl.Int(32), hl.sqrt(hl.f32(x * x + y * y)))
    g[x, y] = f[x, y] + f[x, y + 1]
    g[x, 3] += f[x, r.x] * 2
    g[5, y] += f[r.x, y] * 3
    check(g, (100, 80), (9, 7), (1, 1), (33, 27))


def test_growth_reads_no_more_of_an_image_that_is_clamped_by_a_constant() -> None:
    """The clamp holds at the size of the estimate, and not for a smaller image."""
    picture = hl.ImageParam(hl.Int(32), 2, "picture")
    f, out = hl.funcs("f out")
    f[x, y] = picture[hl.min(x, 199), y] * 3
    out[x, y] = f[x, y] * f[x, y + 1] + f[x, y]
    f.compute_root()
    hl.autoschedule(out, [200, 100], inputs={picture: image(200, 101)})
    for w, h in ((200, 100), (37, 11), (3, 1)):
        picture.set(image(w, h + 1))
        got = np.asarray(out.realize([w, h])).T
        p = np.asarray(picture.get()).T * 3
        assert np.array_equal(got, p[:, :h] * p[:, 1:] + p[:, :h])


@pytest.mark.parametrize("low", [-5, 0, 7])
def test_images_of_just_the_size_that_is_needed(low: int) -> None:
    """Three stages, one of them downsampling, of an image without a boundary."""
    picture = hl.ImageParam(hl.Int(32), 2, "picture")
    a, b, down, out = hl.funcs("a b down out")
    a[x, y] = picture[x - 1, y] + picture[x, y] * picture[x + 1, y]
    b[x, y] = a[x, y - 1] + a[x, y] * a[x, y + 1]
    down[x, y] = b[2 * x, 2 * y] + b[2 * x + 1, 2 * y + 1]
    out[x, y] = down[x - 1, y] + down[x + 1, y + 2] * down[x, y]
    picture.set(image(40, 40))
    hl.autoschedule(out, [120, 70], inputs={picture: image(600, 400)})
    for w, h in ((120, 70), (37, 11), (3, 1)):
        target = hl.Buffer(hl.Int(32), [w, h])
        target.set_min([low, 2 * low])
        plain = (2 * (low - 1) - 1, 2 * 2 * low - 1)
        source = image(2 * (w + 1) + 4, 2 * (h + 1) + 4)
        source.set_min(list(plain))
        picture.set(source)
        out.realize(target)
        (wanted,) = interpret_all([(out._function, [(low, w), (2 * low, h)])])[0]
        assert np.array_equal(np.asarray(target).T, wanted)


def test_no_dimensions_one_dimension_and_tuples() -> None:
    total, pair, out, r = hl.Func("t"), hl.Func("p"), hl.Func("out"), hl.RDom([(0, 99)])
    source = image(99, 3)
    total[()] = 0
    total[()] += source[r.x, 1]
    pair[x] = (x * total[()], hl.cast(hl.Int(32), hl.sqrt(hl.f32(x + 9))))
    out[x] = pair[x][0] + pair[x + 3][1] * pair[x - 1][1]
    check(out, (1000,), (7,), (1,))
    check(total, ())


def test_several_outputs_one_of_which_reads_the_other() -> None:
    a, b, d = hl.funcs("a b d")
    a[x, y] = x * 3 + y
    b[x, y] = a[x, y] * a[x, y] + 1
    d[x, y] = b[x, y] * b[x, y] + a[x, y]
    check([b, d], (300, 200), (5, 3))


def test_scans_scatters_and_conditions() -> None:
    scan, bins, out = hl.funcs("scan bins out")
    r, q = hl.RDom([(1, 63)]), hl.RDom([(0, 64), (0, 48)])
    q.where(q.x + q.y < 70)
    source = image(64, 48)
    scan[x, y] = hl.BoundaryConditions.repeat_edge(source)[x, y]
    scan[r.x, y] += scan[r.x - 1, y]
    bins[x] = 0
    bins[hl.clamp(scan[q.x, q.y] % 50, 0, 49)] += 1
    out[x, y] = bins[hl.clamp(x, 0, 49)] + scan[hl.clamp(x, 0, 63), y]
    check(out, (128, 48), (17, 5), (1, 1))


def test_what_nobody_knows_is_noted_and_the_rest_scheduled() -> None:
    index = hl.Buffer(np.arange(64, dtype=np.int32)[::-1].copy())
    f, g, out = hl.funcs("f g out")
    f[x] = (x * x + 5) % 1000
    g[x] = hl.cast(hl.Int(32), hl.sqrt(hl.f32(f[index[x]] + f[x])))
    out[x] = g[x] + g[hl.min(x + 1, 63)]
    result = hl.autoschedule(out, [64])
    (note,) = result.notes
    assert note.endswith("it is read where only a run knows, so it is inlined")
    assert "vectorize" in [call.method for call in result.script.calls]
    got = np.asarray(out.realize([64]))
    assert np.array_equal(got, interpret_all([(out._function, [(0, 64)])])[0][0])


def test_the_last_resort_is_legal_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError("f")

    monkeypatch.setattr(Search, "run", fail)
    f, g, out = hl.funcs("f g out")
    f[x, y] = x + y
    g[x, y] = f[x, y] + f[x, y + 1]
    g[x, 3] += 1
    out[x, y] = g[x, y] * 2
    result = hl.autoschedule(out, [64, 64])
    assert result.notes == (
        "the search came to no legal schedule, so that everything is computed at the"
        " root, in simple loops (KeyError('f'))",
    )
    assert place(f) is Place.ROOT and place(g) is Place.ROOT
    got = np.asarray(out.realize([30, 20])).T
    assert np.array_equal(
        got, interpret_all([(out._function, [(0, 30), (0, 20)])])[0][0]
    )


def test_what_fails_after_the_search_leaves_what_it_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    f, g, out = hl.funcs("f g out")
    f[x, y] = hl.cast(hl.Int(32), hl.sqrt(hl.f32(x + y)))
    g[x, y] = f[x, y] + f[x, y + 1]
    out[x, y] = g[x, y] * g[x, y + 1]
    wanted = hl.autoschedule(out, [64, 64])
    wanted.undo()

    def fail(*_: object) -> None:
        raise KeyError("f")

    monkeypatch.setattr(variants, "reductions", fail)
    result = hl.autoschedule(out, [64, 64])
    assert result.script.calls == wanted.script.calls
    assert result.notes == (
        "reductions in parts and other storage orders are left out, as the search for"
        " them fails (KeyError('f'))",
    )
    assert result.cost == wanted.cost and result.decisions


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("first", [5, 200, 1000])
def test_what_is_read_where_no_point_is(first: int) -> None:
    """f is needed in few rows, in rows beyond the image, and where no row can be."""
    f, out, r = hl.Func("f"), hl.Func("out"), hl.RDom([(0, 5)])
    f[x, y] = 0
    f[x, y] += x * r.x + y
    rows = y > first if first < 1000 else (y > 2) & (y < 1)
    out[x, y] = hl.select(rows, f[x, y], x)
    check(out, (64, 64), (7, 9))


@pytest.mark.parametrize("scheduler", ["Parhelion", "Mullapudi2016"])
def test_expressions_as_deep_as_the_compiler_takes_them(scheduler: str) -> None:
    """A long expression, and the same as many Funcs that are all inlined."""
    deep, chain = hl.Func("deep"), hl.Func("chain")
    e = hl.u32(x + y)
    chain[x, y] = e
    for k in range(150):
        e = e * 3 + k
        longer = hl.Func("chain")
        longer[x, y] = chain[x, y] * 3 + k
        chain = longer
    deep[x, y] = e
    for out in (deep, chain):
        result = hl.autoschedule(out, [64, 40], scheduler=scheduler)
        assert not result.notes
        assert "vectorize" in [call.method for call in result.script.calls]
        assert str(result.explain())
        wanted = np.add.outer(np.arange(64), np.arange(40)).astype(np.uint32)
        for k in range(150):
            wanted = wanted * np.uint32(3) + np.uint32(k)
        assert np.array_equal(np.asarray(out.realize([64, 40])).T, wanted)


def test_what_a_block_needs_nothing_of_costs_nothing() -> None:
    """Most rows read nothing of f, which is a box that ends before it begins."""
    f, g, h, out = hl.funcs("f g h out")
    f[x, y] = hl.floor(hl.sqrt(hl.f32(x * x + y)))
    g[x, y] = hl.floor(hl.sqrt(f[x, y] + f[x + 1, y]))
    h[x, y] = hl.floor(hl.sqrt(g[x, y] + g[x + 2, y]))
    out[x, y] = hl.select((y > 0) & (y < 4), h[x, y] + h[x + 1, y], hl.f32(x))
    result = hl.autoschedule(out, [64, 64])
    assert result.cost is not None and result.cost > 0
    for decision in result.decisions:
        assert all(option.cost > 0 for option in decision.options)


@pytest.mark.parametrize("cost", [-10.0, 0.0, 10.0])
def test_no_state_gains_on_one_of_the_same_cost(cost: float) -> None:
    nothing: Any = None  # the search and the model are not asked

    def at(told: float) -> State:
        class At(State):
            @property
            def cost(self) -> float:
                return told

        return At(nothing, nothing, {})

    one, same, less = at(cost), at(cost), at(cost - 1)
    assert not one.gains(same) and not one.gains(less) and less.gains(one)


def test_what_reads_an_output_asks_for_no_more_than_the_caller_has() -> None:
    x, y = hl.Var("x"), hl.Var("y")
    shown, counted, out = hl.Func("shown"), hl.Func("counted"), hl.Func("out")
    shown[x, y] = x * 3 + y
    r = hl.RDom([(0, 5)])
    counted[x] = shown[x, 0] + 1
    counted[r.x * 7] += shown[r.x, 1]
    out[x, y] = counted[x] + y
    pipeline = hl.Pipeline([out, shown])
    hl.autoschedule([out, shown], sizes=[41, 26])
    buffers = [hl.Buffer(hl.Int(32), [41, 26]) for _ in range(2)]
    pipeline.realize(buffers)
    xs, ys = np.meshgrid(np.arange(41), np.arange(26))
    wanted = xs * 3 + 1
    wanted[:, [0, 7, 14, 21, 28]] += np.arange(5) * 3 + 1
    assert np.array_equal(np.asarray(buffers[0]), wanted + ys)
    assert np.array_equal(np.asarray(buffers[1]), xs * 3 + ys)


def test_what_only_an_unread_value_of_a_tuple_needs() -> None:
    x = hl.Var("x")
    lost, pair, out = hl.Func("lost"), hl.Func("pair"), hl.Func("out")
    lost[x] = x * 5
    pair[x] = (lost[x], x + 1)
    out[x] = pair[x][1] * 2
    result = hl.autoschedule(out, sizes=[100])
    assert result.notes == ()
    assert np.array_equal(np.asarray(out.realize([100])), np.arange(1, 101) * 2)


@pytest.mark.parametrize("scheduler", ["Parhelion", "Mullapudi2016"])
def test_what_is_inlined_needs_no_more_of_an_image(scheduler: str) -> None:
    """g reads pixels where a condition holds, and is looked up at coordinates that are
    data. The image has just those pixels, at the size that it was scheduled for and at
    others."""
    g, out = hl.funcs("g out")
    pixels = hl.Buffer(np.arange(7, dtype=np.int32), name="pixels")
    pixels.set_min([5])
    places = hl.Buffer(np.arange(20, dtype=np.uint8) * 5 % 23, name="places")
    g[x, y] = hl.select((x >= 3) & (x < 10), pixels[x + 2], y)
    out[x, y] = g[hl.clamp(hl.i32(places[x]) + y, 0, 200), y]
    result = hl.autoschedule(out, sizes=[20, 40], scheduler=scheduler)
    assert not result.notes and place(g) is Place.INLINED
    for w, h in ((20, 40), (9, 3), (1, 1)):
        ((wanted,),) = interpret_all([(out._function, [(0, w), (0, h)])])
        np.testing.assert_array_equal(np.asarray(out.realize([w, h])).T, wanted)
