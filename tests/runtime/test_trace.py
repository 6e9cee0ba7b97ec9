"""`trace`: records of what a run does, which are what the interpreter computes."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret
from parhelion.runtime.trace import TraceEvent

x, y, xi, yi = (hl.Var(n) for n in ("x", "y", "xi", "yi"))

WIDTH, HEIGHT = 9, 6


def chain() -> tuple[hl.Func, hl.Func]:
    f, g = hl.funcs("f g")
    f[x, y] = hl.f32(x) / 4 + y
    g[x, y] = f[x, y] + f[x + 1, y + 1]
    return f, g


PLACES: dict[str, Callable[[hl.Func, hl.Func], object]] = {
    "root": lambda f, g: f.compute_root(),
    "lines": lambda f, g: f.compute_at(g, y),
    "sliding": lambda f, g: f.store_root().compute_at(g, y),
    "vectors": lambda f, g: (f.compute_root().vectorize(x, 4), g.vectorize(x, 8)),
    "guarded": lambda f, g: (
        f.compute_root().vectorize(x, 4, hl.TailStrategy.GuardWithIf),
        g.split(x, x, xi, 4, hl.TailStrategy.Predicate).vectorize(xi),
    ),
    "in_vectors": lambda f, g: (f.compute_at(g, x), g.split(x, x, xi, 4).vectorize(xi)),
    "parallel": lambda f, g: (f.compute_root().parallel(y), g.parallel(y)),
    "async": lambda f, g: f.store_root().compute_at(g, y).async_(),
}
places = pytest.mark.parametrize("place", PLACES)


def traced(place: str) -> tuple[list[TraceEvent], hl.Func, hl.Func]:
    f, g = chain()
    PLACES[place](f, g)
    out = hl.Buffer(hl.Float(32), [WIDTH, HEIGHT])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hl.ScheduleWarning)
        events = list(g.trace(out))
    want = interpret(g._function, [(0, WIDTH), (0, HEIGHT)])[0].T
    np.testing.assert_array_equal(np.asarray(out), want)
    return events, f, g


@places
def test_what_is_stored_and_loaded_are_the_values(place: str) -> None:
    events, f, g = traced(place)
    region = {"f": [(0, WIDTH + 4), (0, HEIGHT + 1)], "g": [(0, WIDTH), (0, HEIGHT)]}
    values = {
        func.name(): interpret(func._function, region[func.name()])[0]
        for func in (f, g)
    }
    stored: dict[str, set[tuple[int, ...]]] = {"f": set(), "g": set()}
    for e in events:
        if e.kind in ("store", "load"):
            assert e.value == values[e.func][e.coordinates]
        if e.kind == "store":
            stored[e.func].add(e.coordinates)
        if e.kind == "load":
            assert e.func == "f" and e.coordinates in stored["f"]
    assert stored["g"] == {(i, j) for i in range(WIDTH) for j in range(HEIGHT)}
    needed = {(i, j) for i in range(WIDTH + 1) for j in range(HEIGHT + 1)}
    needed -= {(WIDTH, 0), (0, HEIGHT)}
    assert needed <= stored["f"]


@places
def test_beginnings_have_ends(place: str) -> None:
    events, _, _ = traced(place)
    assert events[0] == TraceEvent("begin_pipeline", "g")
    assert events[-1] == TraceEvent("end_pipeline", "g")
    kinds = [(e.kind, e.func, e.lane) for e in events]
    for begin, end in (
        ("begin_realization", "end_realization"),
        ("produce", "end_produce"),
        ("consume", "end_consume"),
    ):
        for name in "fg":
            found = kinds.count((begin, name, 0))
            assert found == kinds.count((end, name, 0))
            wanted = 0 if name == "g" and begin != "produce" else 1
            assert found >= wanted and (wanted or not found)


def test_names_are_plain_where_that_tells_them_apart() -> None:
    for _ in range(2):
        events, f, g = traced("in_vectors")
        assert {e.func for e in events} == {"f", "g"}
    h, other = hl.Func("h"), hl.Func("h")
    other[x] = x
    h[x] = other[x]
    other.compute_root()
    assert {e.func for e in h.trace([3])} == {h.name(), other.name()}


def test_lanes_and_order() -> None:
    f = hl.Func("f")
    f[x] = hl.i8(x * 3 - 5)
    f.vectorize(x, 4)
    assert list(f.trace([4])) == [
        TraceEvent("begin_pipeline", "f"),
        TraceEvent("produce", "f", (0, 4)),
        *[TraceEvent("store", "f", (i,), i * 3 - 5, 0, i) for i in range(4)],
        TraceEvent("end_produce", "f", (0, 4)),
        TraceEvent("end_pipeline", "f"),
    ]


def test_types_and_values_of_tuples() -> None:
    f = hl.Func("f")
    truth = hl.cast(hl.Bool(), 1)
    f[()] = (hl.u64(2**64 - 1), hl.f64(0.1), hl.f16(0.5), hl.i64(-3), truth)
    stores = [e for e in f.trace([]) if e.kind == "store"]
    assert [e.value for e in stores] == [2**64 - 1, 0.1, 0.5, -3, True]
    assert [e.index for e in stores] == [0, 1, 2, 3, 4]
    assert all(e.coordinates == () for e in stores)


def test_tags() -> None:
    f = hl.Func("f")
    f[x] = x
    f.add_trace_tag('a "100 %" tag').add_trace_tag("")
    tags = [e.value for e in f.trace([1]) if e.kind == "tag"]
    assert tags == ['a "100 %" tag', ""]


def test_nothing_is_printed_and_nothing_stays() -> None:
    f, g = chain()
    f.compute_root().trace_stores()
    text = io.StringIO()
    with redirect_stdout(text):
        assert len(list(g.trace([3, 3]))) > 9
    assert text.getvalue() == ""
    with redirect_stdout(text):
        g.realize([3, 3])
    assert text.getvalue().startswith("Begin pipeline g")


def test_a_run_that_fails() -> None:
    f = hl.Func("f")
    p = hl.Param(hl.Int(32), "p", 3)
    f[x] = hl.require(p > 3, x, "p is", p)
    with pytest.raises(hl.HalideError, match="p is"):
        f.trace([10])
    p.set(4)
    assert [e.value for e in f.trace([2]) if e.kind == "store"] == [0, 1]


def test_a_tag_is_a_text() -> None:
    with pytest.raises(
        hl.TypeMismatchError, match="f.add_trace_tag takes a text, not 3"
    ):
        hl.Func("f").add_trace_tag(3)  # type: ignore[arg-type]
