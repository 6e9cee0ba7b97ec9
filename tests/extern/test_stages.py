"""Whole stages computed by Python callables."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret
from tests.support.checking import check

x, y, c, xi, yi = hl.vars("x y c xi yi")
Box = Sequence[tuple[int, int]]


def around(region: Box) -> list[list[tuple[int, int]]]:
    """One pixel more on each side."""
    return [[(low - 1, extent + 2) for low, extent in region]]


def cross(given: hl.Buffer, out: hl.Buffer) -> None:
    """Sums four neighbours and twice the pixel."""
    a = np.asarray(given)
    np.asarray(out)[...] = (
        a[1:-1, :-2] + a[1:-1, 2:] + a[:-2, 1:-1] + a[2:, 1:-1] + 2 * a[1:-1, 1:-1]
    )


def chain() -> tuple[hl.Func, hl.Func, hl.Func]:
    """A producer, a foreign stage, a consumer of two of its pixels."""
    g, e, o = hl.Func("g"), hl.Func("e"), hl.Func("o")
    g[x, y] = x * x + 10 * y
    e.define_extern(cross, [g], hl.Int(32), [x, y], bounds=around)
    o[x, y] = e[x, y] + e[x + 1, y - 2]
    g.compute_root()
    return o, e, g


def _tiles(o: hl.Func, e: hl.Func, g: hl.Func) -> None:
    o.tile(x, y, xi, yi, 4, 3).parallel(y).vectorize(xi, 4)
    e.compute_at(o, x)
    g.compute_at(o, x)


SCHEDULES: list[Callable[[hl.Func, hl.Func, hl.Func], object]] = [
    lambda o, e, g: e.compute_root(),
    lambda o, e, g: e.compute_at(o, y),
    lambda o, e, g: (e.compute_at(o, y), g.compute_at(o, y)),
    lambda o, e, g: (e.store_root().compute_at(o, y), g.store_root().compute_at(o, y)),
    lambda o, e, g: (e.store_root().compute_at(o, x), o.unroll(x, 2)),
    lambda o, e, g: (e.compute_at(o, y), o.parallel(y).vectorize(x, 4)),
    lambda o, e, g: (e.compute_root().reorder_storage(y, x), g.reorder_storage(y, x)),
    lambda o, e, g: (
        e.compute_at(o, y).hoist_storage_root(),
        # What the foreign stage will ask for is only known when it is asked.
        g.compute_at(o, y).hoist_storage_root().bound_storage(x, 14),
        g.bound_storage(y, 5),
    ),
    _tiles,
]


def test_at_every_loop() -> None:
    check(chain, [11, 7], SCHEDULES, mins=[-3, 2])


def test_hoisted_storage_of_what_is_only_known_when_asked() -> None:
    """It needs `bound_storage`, whose promise is checked where the region is known."""
    o, e, g = chain()
    e.compute_at(o, y)
    g.compute_at(o, y).hoist_storage_root()
    with pytest.raises(hl.ScheduleError, match="extent of x has no bound at that lev"):
        o.realize([11, 7])
    g.bound_storage(x, 13).bound_storage(y, 5)
    with pytest.raises(hl.BoundsError, match="in dimension x to 13, but 14 coord"):
        o.realize([11, 7])


def test_hoisted_storage_is_asked_for_once() -> None:
    """Its extents do not depend on the loops inside; each address mentions them."""
    asked: list[Box] = []

    def counted(region: Box) -> list[list[tuple[int, int]]]:
        asked.append(region)
        return around(region)

    def make() -> tuple[hl.Func, hl.Func, hl.Func]:
        g, e, o = hl.Func("g"), hl.Func("e"), hl.Func("o")
        g[x, y] = x * x + 10 * y
        e.define_extern(cross, [g], hl.Int(32), [x, y], bounds=counted)
        o[x, y, c] = e[x, y] * c
        g.compute_root()
        return o, e, g

    def hoisted(o: hl.Func, e: hl.Func, g: hl.Func) -> None:
        e.compute_at(o, c)
        g.compute_at(o, c).hoist_storage_root().ring_buffer(2)

    check(make, [20, 20, 3], [hoisted])
    o, e, g = make()
    hoisted(o, e, g)
    asked.clear()
    o.realize([20, 20, 3])
    assert len(asked) < 20


def test_as_an_output() -> None:
    def make() -> tuple[hl.Func, hl.Func]:
        g, e = hl.Func("g"), hl.Func("e")
        g[x, y] = x * x + 10 * y
        e.define_extern(cross, [g], hl.Int(32), 2, bounds=around)
        g.compute_root()
        return e, g

    check(make, [5, 4])


def test_clones() -> None:
    """A clone is computed by the same code, at a place of its own."""

    def cloned(o: hl.Func, e: hl.Func, g: hl.Func) -> None:
        g.compute_root()
        e.compute_root()
        e.clone_in(o).compute_at(o, y)
        g.clone_in(e).compute_root()

    check(chain, [11, 7], [cloned], mins=[-3, 2])


def test_a_window_slides() -> None:
    """Only new rows are computed, and asked for."""
    rows: list[tuple[int, int]] = []

    def copy(given: hl.Buffer, out: hl.Buffer) -> None:
        rows.append((out.dim(1).min(), out.dim(1).extent()))
        np.asarray(out)[...] = given

    g, e, o = hl.Func("g"), hl.Func("e"), hl.Func("o")
    g[x, y] = x + 10 * y
    e.define_extern(copy, [g], hl.Int(32), [x, y])
    o[x, y] = e[x, y] + e[x, y + 1] + e[x, y + 2]
    g.compute_root()
    e.store_root().compute_at(o, y)
    o.realize([4, 5])
    assert rows == [(0, 3), (3, 1), (4, 1), (5, 1), (6, 1)]


def test_tuples_numbers_and_images() -> None:
    """Funcs, an image, a Param and a number in; two values out."""
    image = hl.Buffer(np.arange(60, dtype=np.uint16).reshape(6, 10), name="image")
    gain = hl.Param(hl.Float(32), "gain")
    gain.set(1.5)
    seen: list[tuple[float, bool]] = []

    def work(
        a: hl.Buffer, gain: float, b: hl.Buffer, im: hl.Buffer, flag: bool,
        low: hl.Buffer, high: hl.Buffer,
    ) -> None:  # fmt: skip
        seen.append((gain, flag))
        np.asarray(low)[...] = np.asarray(a) + np.asarray(im)
        np.asarray(high)[...] = np.asarray(b) * np.float32(gain)

    g, e, o = hl.Func("g"), hl.Func("e"), hl.Func("o")
    g[x, y] = hl.i32(x * y)
    h = hl.Func("h")
    h[x, y] = hl.f32(x + y)
    params = [g, hl.ExternFuncArgument(gain), h, image, hl.cast(hl.Bool(), 1)]
    e.define_extern(work, params, [hl.Int(32), hl.Float(32)], [x, y])
    o[x, y] = hl.f32(e[x, y][0]) + e[x, y][1]
    for f in (g, h, e):
        f.compute_root()
    wanted = interpret(o._function, [(0, 10), (0, 6)])[0].T
    np.testing.assert_array_equal(np.asarray(o.realize([10, 6])), wanted)
    assert set(seen) == {(1.5, True)}


def test_a_func_of_several_values_is_several_buffers() -> None:
    def add(a: hl.Buffer, b: hl.Buffer, out: hl.Buffer) -> None:
        np.asarray(out)[...] = np.asarray(a) + np.asarray(b)

    g, e = hl.Func("g"), hl.Func("e")
    g[x, y] = (x, y * 100)
    e.define_extern(add, [g], hl.Int(32), [x, y])
    g.compute_root()
    got = np.asarray(e.realize([3, 2]))
    np.testing.assert_array_equal(got, [[0, 1, 2], [100, 101, 102]])


def test_input_bounds_are_asked() -> None:
    image = hl.ImageParam(hl.Int(32), 2, "image")
    e = hl.Func("e")
    e.define_extern(cross, [image], hl.Int(32), [x, y], bounds=around)
    o = hl.Func("o")
    o[x, y] = e[x * 2, y]
    e.compute_root()
    o.infer_input_bounds([4, 3])
    got = image.get()
    assert (got.dim(0).min(), got.dim(0).extent()) == (-1, 9)
    assert (got.dim(1).min(), got.dim(1).extent()) == (-1, 5)
    image.set(np.zeros((5, 8), np.int32))
    with pytest.raises(
        hl.BoundsError, match="the pipeline reads -1 to 7, but the image"
    ):
        o.realize([4, 3])


def test_inputs_are_read_only_and_regions_are_views() -> None:
    def spoil(a: hl.Buffer, out: hl.Buffer) -> None:
        np.asarray(a)[...] = 1

    g, e = hl.Func("g"), hl.Func("e")
    g[x] = x
    e.define_extern(spoil, [g], hl.Int(32), [x])
    g.compute_root()
    with pytest.raises(ValueError, match="read-only"):
        e.realize([4])


def fails(a: hl.Buffer, out: hl.Buffer) -> None:
    raise KeyError("no such colour")


@pytest.mark.parametrize("parallel", [False, True])
def test_exceptions_come_through(parallel: bool) -> None:
    g, e, o = hl.Func("g"), hl.Func("e"), hl.Func("o")
    g[x, y] = x
    e.define_extern(fails, [g], hl.Int(32), [x, y])
    o[x, y] = e[x, y]
    g.compute_root()
    e.compute_at(o, y)
    if parallel:
        o.parallel(y)
    with pytest.raises(KeyError, match="no such colour") as error:
        o.realize([4, 40])
    names = [frame.name for frame in traceback.extract_tb(error.value.__traceback__)]
    assert names[-1] == "fails" and "realize" in names
    call = o.compile_to_callable([])
    with pytest.raises(KeyError):
        call(np.zeros((40, 4), np.int32))
    with pytest.raises(KeyError):
        interpret(o._function, [(0, 4), (0, 4)])


def test_an_exception_of_the_bounds_function_comes_through() -> None:
    def lost(region: Box) -> Any:
        raise LookupError("where?")

    g, e = hl.Func("g"), hl.Func("e")
    g[x] = x
    e.define_extern(fails, [g], hl.Int(32), [x], bounds=lost)
    g.compute_root()
    with pytest.raises(LookupError, match="where"):
        e.realize([4])


def test_a_bounds_error_of_the_users_is_his() -> None:
    calls = []

    def out_of(a: hl.Buffer, out: hl.Buffer) -> None:
        calls.append(1)
        raise hl.BoundsError("mine")

    g, e = hl.Func("g"), hl.Func("e")
    g[x] = x
    e.define_extern(out_of, [g], hl.Int(32), [x])
    g.compute_root()
    call = e.compile_to_callable([])
    with pytest.raises(hl.BoundsError, match="mine"):
        call(np.zeros(4, np.int32))
    assert len(calls) == 1


def test_a_pipeline_may_run_inside() -> None:
    inner = hl.Func("inner")
    image = hl.ImageParam(hl.Int(32), 2, "seen")
    inner[x, y] = image[x, y] * 2
    inner.parallel(y)

    def run(a: hl.Buffer, out: hl.Buffer) -> None:
        call(a, out)

    call = inner.compile_to_callable([image])
    g, e, o = hl.Func("g"), hl.Func("e"), hl.Func("o")
    g[x, y] = x + y
    e.define_extern(run, [g], hl.Int(32), [x, y])
    o[x, y] = e[x, y] + 1
    g.compute_root()
    e.compute_at(o, y)
    o.parallel(y)
    got = np.asarray(o.realize([9, 30]))
    grid = np.add.outer(np.arange(30), np.arange(9))
    np.testing.assert_array_equal(got, grid * 2 + 1)


def test_part_asks_for_more_than_the_whole() -> None:
    """The storage is for what the whole needs; a part may not go beyond it."""

    def greedy(region: Box) -> list[list[tuple[int, int]]]:
        ((low, extent),) = region
        return [[(low, extent if extent > 1 else 50)]]

    g, e, o = hl.Func("g"), hl.Func("e"), hl.Func("o")
    g[x] = x
    e.define_extern(fails, [g], hl.Int(32), [x], bounds=greedy)
    o[x] = e[x]
    g.compute_root()
    e.compute_at(o, x)
    with pytest.raises(hl.BoundsError) as error:
        o.realize([4])
    assert error.value.what == (
        f"the foreign code that computes Func {e.name()!r} asks for 0 to 49 in "
        "dimension 0 of its input 0, of which 0 to 3 is there"
    )


def test_a_part_that_needs_nothing_may_ask_for_nothing_anywhere() -> None:
    """Where no pixel of a tile needs the stage, its region is empty and lies outside of
    what is there."""

    def triple(given: hl.Buffer, out: hl.Buffer) -> None:
        np.asarray(out)[...] = 3 * np.asarray(given)

    def needs(region: Box) -> list[list[tuple[int, int]]]:
        return [[(low, max(extent, 0)) for low, extent in region]]

    g, e, o = hl.Func("g"), hl.Func("e"), hl.Func("o")
    g[x] = x + 1
    e.define_extern(triple, [g], hl.Int(32), [x], bounds=needs)
    o[x] = hl.select(x < 3, e[x], -x)
    g.compute_root()
    e.compute_at(o, x)
    o.split(x, x, xi, 4)
    assert np.asarray(o.realize([12])).tolist() == [3, 6, 9, *range(-3, -12, -1)]


@pytest.mark.parametrize("place", ["an RVar", "the root"])
def test_an_index_that_was_computed_of_numbers_alone(place: str) -> None:
    """Its bounds are those of what the index is clamped to, not the value itself."""

    def steps_left(count: int, out: hl.Buffer) -> None:
        low = out.dim(0).min()
        at = np.arange(low, low + out.dim(0).extent())
        np.asarray(out)[...] = count - at

    n = hl.Param(hl.Int(32), "n")
    e, t, histogram, o = hl.funcs("e t histogram o")
    r = hl.RDom([(0, n)], "r")
    e.define_extern(steps_left, [n], hl.Int(32), [x])
    t[x] = x * x
    histogram[x] = 0
    histogram[hl.clamp(e[r], 0, 5)] += t[hl.clamp(e[r], 1, 3)]
    o[x] = histogram[x]
    t.compute_root()
    histogram.compute_root()
    if place == "the root":
        e.compute_root()
    else:
        e.compute_at(histogram, r)
    n.set(5)
    assert np.asarray(o.realize([7])).tolist() == [0, 1, 4, 9, 9, 9, 0]
    n.set(2)
    assert np.asarray(o.realize([7])).tolist() == [0, 1, 4, 0, 0, 0, 0]


def test_what_it_is() -> None:
    e = hl.Func("e")
    e.define_extern(fails, [], [hl.Int(32), hl.UInt(8)], 3)
    assert e.is_extern() and e.defined() and e.dimensions() == 3
    assert e.extern_function_name() == "fails"
    assert e.types() == [hl.Int(32), hl.UInt(8)]
    assert not hl.Func("f").is_extern()


def test_bad_definitions() -> None:
    g, e = hl.Func("g"), hl.Func("e")
    g[x, y] = x
    with pytest.raises(hl.TypeMismatchError, match="has 1 dimensions and one of the"):
        e.define_extern(fails, [g], hl.Int(32), [x])
    with pytest.raises(hl.TypeMismatchError, match="bounds is for Python functions"):
        e.define_extern("cbrt", [g], hl.Int(32), [x], bounds=around)
    with pytest.raises(hl.TypeMismatchError, match="or a Python callable, not 3.5"):
        e.define_extern(3.5, [g], hl.Int(32), [x])
    with pytest.raises(hl.TypeMismatchError, match="may depend on Params, not on Vars"):
        e.define_extern(fails, [g, x + 1], hl.Int(32), [x, y])
    with pytest.raises(hl.TypeMismatchError, match="different Vars"):
        e.define_extern(fails, [g], hl.Int(32), [x, x])
    with pytest.raises(hl.TypeMismatchError, match="which C functions are not given"):
        e.define_extern(fails, [g, hl.cast(hl.Float(16), 1)], hl.Int(32), [x, y])
    e.define_extern(fails, [g], hl.Int(32), [x, y])
    with pytest.raises(hl.DefinitionError, match="is defined already"):
        e.define_extern(fails, [g], hl.Int(32), [x, y])
    with pytest.raises(hl.DefinitionError, match="takes no further definition"):
        e[x, y] += 1
    with pytest.raises(hl.DefinitionError, match="takes no further definition"):
        g[x, y] += 1


def test_an_answer_of_the_wrong_shape() -> None:
    g, e = hl.Func("g"), hl.Func("e")
    g[x] = x
    e.define_extern(fails, [g], hl.Int(32), [x], bounds=lambda region: region)
    g.compute_root()
    with pytest.raises(hl.TypeMismatchError) as error:
        e.realize([4])
    assert error.value.what == (
        f"the bounds function of Func {e.name()!r} must return a region for each "
        "buffer, [[(min, extent)]], not [(0, 4)]"
    )


@pytest.mark.parametrize(
    "answer", [(0, -5), (0, 2**40), (2**32 + 1, 3), (-(2**31) - 1, 2), (2**31 - 2, 4)]
)
def test_an_answer_that_is_no_region(answer: tuple[int, int]) -> None:
    """It was cut to 32 bits."""
    g, e = hl.Func("g"), hl.Func("e")
    g[x] = x
    e.define_extern(fails, [g], hl.Int(32), [x], bounds=lambda region: [[answer]])
    g.compute_root()
    low, extent = answer
    with pytest.raises(
        hl.BoundsError, match=f"a min of {low} and an extent of {extent}"
    ):
        e.realize([4])


@pytest.mark.parametrize("wrong", [(0.5, 2.0), ("0", "4")])
def test_an_answer_of_no_integers(wrong: Any) -> None:
    g, e = hl.Func("g"), hl.Func("e")
    g[x] = x
    e.define_extern(fails, [g], hl.Int(32), [x], bounds=lambda region: [[wrong]])
    g.compute_root()
    with pytest.raises(hl.TypeMismatchError, match="must return a region for each"):
        e.realize([4])


def test_a_result_that_is_returned() -> None:
    g, e = hl.Func("g"), hl.Func("e")
    g[x] = x
    e.define_extern(lambda a, out: 7, [g], hl.Int(32), [x])
    g.compute_root()
    with pytest.raises(hl.PipelineRuntimeError, match="returned 7: it writes into its"):
        e.realize([4])


def test_c_text_says_that_it_cannot() -> None:
    o, e, _ = chain()
    e.compute_root()
    with pytest.raises(hl.HalideError, match="foreign code"):
        hl.Pipeline(o).c_text()
