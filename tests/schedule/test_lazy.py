"""`compute_lazy`: values that are computed where they are first needed, once."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret
from parhelion.ir.reader import read_stmt
from parhelion.ir.text import symbols_of, text
from parhelion.lower.passes import Trace, lower
from tests.support.spec import spec_of

x, y, c, xo, xi = (hl.Var(n) for n in ("x", "y", "c", "xo", "xi"))

#: What of the output the tests ask for.
SIZE = (50, 33)

_RANDOM = np.random.default_rng(23)
#: Where the output looks: inside of 60 x 70 once it is clamped, and also outside.
ROWS, COLUMNS = _RANDOM.integers(-9, 80, (2, *SIZE[::-1])).astype(np.int32)
PIXELS = _RANDOM.random((72, 81)).astype(np.float32)


@pytest.fixture(autouse=True)
def _checked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Programs are verified after each pass; more threads than cores take part."""
    monkeypatch.setenv("PARHELION_VERIFY", "1")
    before = hl.set_num_threads(4)
    yield
    hl.set_num_threads(before)


class Program:
    """``far`` is read wherever the images say, ``near`` by a stencil; `sums` is a
    reduction that `far` reads."""

    def __init__(self) -> None:
        image = hl.BoundaryConditions.repeat_edge(hl.Buffer(PIXELS))
        u, v = hl.Buffer(COLUMNS), hl.Buffer(ROWS)
        r = hl.RDom([(-1, 3), (-1, 3)])
        self.sums, self.far, self.near, self.out = hl.funcs("sums far near out")
        self.sums[x, y] = 0.0
        self.sums[x, y] += image[x + r.x, y + r.y]
        self.far[x, y] = hl.sqrt(self.sums[x, y]) + x - y
        self.near[x, y] = image[x, y] * 3 + y
        at = hl.clamp(u[x, y], 0, 59), hl.clamp(v[x, y], 0, 69)
        beside = [self.near[x + i, y + j] for i in (-1, 0, 1) for j in (0, 1)]
        self.out[x, y] = self.far[at] + self.far[at[1], at[0]] + sum(beside, 0.0)

    def check(self, runs: int = 3) -> None:
        """Compares with the interpreter, and reads the program's text after each
        pass."""
        want = interpret(self.out._function, [(0, n) for n in SIZE])[0].T
        run = self.out.compile_to_callable([])
        got = np.zeros(want.shape, want.dtype)
        for _ in range(runs):
            got[:] = 0
            run(got)
            np.testing.assert_array_equal(got, want)
        trace = Trace()
        lower(spec_of(self.out), name="out", trace=trace)
        for _, body, _ in trace:
            assert read_stmt(text(body), symbols_of(body)) is body


Schedule = Callable[[Program], Any]

SCHEDULES: dict[str, Schedule] = {
    "points": lambda p: (p.far.compute_lazy(), p.near.compute_lazy()),
    "points, vectors": lambda p: (
        p.far.compute_lazy(),
        p.near.compute_lazy(),
        p.out.vectorize(x, 8),
    ),
    "points, threads": lambda p: (
        p.far.compute_lazy(),
        p.near.compute_lazy(),
        p.out.vectorize(x, 8).parallel(y),
    ),
    "points, unrolled": lambda p: (
        p.far.compute_lazy(),
        p.near.compute_lazy(),
        p.out.unroll(x, 3).vectorize(x, 4),
    ),
    "points, nested vectors": lambda p: (
        p.far.compute_lazy(),
        p.near.compute_lazy(),
        p.out.vectorize(x, 4).vectorize(y, 2),
    ),
    "points, masked tails": lambda p: (
        p.far.compute_lazy(),
        p.near.compute_lazy(),
        p.out.vectorize(x, 8, hl.TailStrategy.Predicate),
    ),
    "tiles": lambda p: (
        p.far.compute_lazy((16, 8)),
        p.near.compute_lazy((7, 3)),
    ),
    "tiles with vectors": lambda p: (
        p.far.compute_lazy((16, 8)).vectorize(x, 8),
        p.near.compute_lazy((7, 3)).vectorize(x, 4),
        p.out.vectorize(x, 8).parallel(y),
    ),
    "tiles with threads": lambda p: (
        p.far.compute_lazy((16, 8)).parallel(y).vectorize(x, 4),
        p.near.compute_lazy((8, 8)).parallel(y),
        p.out.vectorize(x, 8).parallel(y),
    ),
    "tiles of all rows": lambda p: (
        p.far.compute_lazy((4, None)),
        p.near.compute_lazy((None, 2)),
        p.out.parallel(y),
    ),
    "tiles of one dimension": lambda p: (
        p.far.compute_lazy([5]),
        p.near.compute_lazy([1]),
    ),
    "stored in a loop": lambda p: (
        p.far.compute_lazy().store_at(p.out, y),
        p.near.compute_lazy((8, 1)).store_at(p.out, y),
        p.out.parallel(y),
    ),
    "lazy reads lazy": lambda p: (
        p.sums.compute_lazy((8, 4)),
        p.sums.update().vectorize(x, 4),
        p.far.compute_lazy(),
        p.out.vectorize(x, 8).parallel(y),
    ),
    "lazy tiles of lazy tiles, all with threads": lambda p: (
        p.sums.compute_lazy((8, 4)).parallel(y),
        p.sums.update().parallel(y).vectorize(x, 4),
        p.far.compute_lazy((4, 4)).parallel(y),
        p.out.parallel(y).parallel(x),
    ),
    "a Func inside": lambda p: (
        p.sums.compute_at(p.far, y),
        p.far.compute_lazy((16, 16)).vectorize(x, 8),
        p.out.parallel(y),
    ),
    "a Func around": lambda p: (
        p.sums.compute_root(),
        p.far.compute_lazy((16, 16)).vectorize(x, 8).compute_lazy((8, 8)),
    ),
    "specialized": lambda p: (
        p.far.compute_lazy((8, 8)).specialize(
            p.out.output_buffer().dim(0).extent() > 40
        ),
        p.near.compute_lazy((8, 8)),
    ),
    "in reordered storage": lambda p: (
        p.far.compute_lazy((8, 8)).reorder_storage(y, x),
        p.near.compute_lazy().reorder_storage(y, x).align_storage(x, 8),
        p.out.vectorize(x, 8),
    ),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_it_computes_what_the_interpreter_does(name: str) -> None:
    program = Program()
    SCHEDULES[name](program)
    program.check()


def test_tuples_and_more_dimensions() -> None:
    """One demand computes all values; tiles count along several dimensions."""
    f, g = hl.funcs("f g")
    f[x, y, c] = (x + 10 * y + 100 * c, hl.f32(x) / (1 + y + c))
    at = (x * 7 + y) % 20, (x + y * 3) % 13, (x + y) % 5
    g[x, y] = f[at][0] + f[at][1]
    want = interpret(g._function, [(0, 40), (0, 30)])[0].T
    for tile in (None, (8,), (8, 4), (8, 4, 2), (None, 4, 1), (3, None, 2)):
        f.compute_lazy(tile)
        np.testing.assert_array_equal(np.asarray(g.realize([40, 30])), want)


def test_a_func_without_dimensions() -> None:
    f, g = hl.funcs("f g")
    f[()] = 7
    g[x] = hl.select(x > 2, f[()] * x, x)
    f.compute_lazy()
    assert np.asarray(g.realize([5])).tolist() == [0, 1, 2, 21, 28]


def test_what_a_selection_does_not_take_is_not_computed() -> None:
    """A division by what is there would fail, if it were."""
    image = hl.Buffer(np.arange(64, dtype=np.int32))
    f, g = hl.funcs("f g")
    f[x] = hl.require(x < 10, image[x], "f at", x)
    at = hl.clamp(image[x], 0, 63)
    g[x] = hl.select(x < 10, f[at], -1)
    for tile in (None, [2]):
        for vectors in (1, 8):
            f.compute_lazy(tile)
            g = hl.Func("g")
            g[x] = hl.select(x < 10, f[at], -1)
            g.vectorize(x, vectors)
            assert np.asarray(g.realize([40])).tolist() == [*range(10), *[-1] * 30]


def test_a_failure_inside_is_that_of_the_run() -> None:
    f, g = hl.funcs("f g")
    f[x] = hl.require(x != 13, x, "no", x)
    g[x, y] = f[(x * 5 + y) % 40]
    g.parallel(y)
    for tile in (None, [4]):
        f.compute_lazy(tile)
        with pytest.raises(hl.HalideError, match="no 1[23]|no 13"):
            g.realize([40, 40])


def test_indices_that_depend_on_lazy_values() -> None:
    """What an index is computed from is always there, whatever is selected."""
    f, g = hl.funcs("f g")
    f[x] = hl.cast(hl.UInt(8), x * 5 % 17)
    inner = f[hl.cast(hl.Int(32), f[x])]
    g[x] = hl.select(x % 2 == 0, f[hl.cast(hl.Int(32), inner)], hl.u8(3))
    want = interpret(g._function, [(0, 200)])[0]
    for tile in (None, [16]):
        f.compute_lazy(tile)
        np.testing.assert_array_equal(np.asarray(g.realize([200])), want)


@pytest.mark.parametrize("tile", [None, (4, 4)], ids=["points", "tiles"])
def test_what_foreign_functions_are_given(tile: tuple[int, int] | None) -> None:
    """They are called whatever is selected, and must not see what memory happens to
    hold."""
    before, then = hl.funcs("before then")
    before[x, y] = -77777
    before.compute_root()
    then[x, y] = before[x, y]
    then.realize([500, 40])  # memory that the next run gets
    seen: set[int] = set()

    def double(value: int) -> int:
        seen.add(value)
        return value * 2

    given = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(double)
    call = hl.extern_function(given, hl.Int(32), [hl.Int(32)])
    f, g = hl.funcs("f g")
    f[x, y] = 5 + (x + y) % 5
    g[x, y] = hl.select(x % 50 == 0, call(f[x, y]), 0)
    f.compute_lazy(tile)
    got = np.asarray(g.realize([500, 40]))
    assert seen <= {5, 6, 7, 8, 9}
    assert got[3, 50] == 2 * (5 + 53 % 5) and got[3, 51] == 0


def test_the_loop_nest_says_so() -> None:
    f, g = hl.funcs("f g")
    f[x, y] = x + y
    g[x, y] = f[x * y % 9, y]
    f.compute_lazy((8, 4)).vectorize(x, 4)
    nest = hl.Pipeline(g).loop_nest()
    assert "lazy f in tiles of (8, 4):" in nest
    assert "asked" not in nest and nest.count("f(...) = ...") == 1
    f = hl.Func("f")
    f[x, y] = x + y
    f.compute_lazy()
    g = hl.Func("g")
    g[x, y] = f[x * y % 9, y]
    assert "lazy f:" in hl.Pipeline(g).loop_nest()


def _one(schedule: Callable[[Any, Any], Any]) -> None:
    f, g = hl.funcs("f g")
    f[x, y] = x + y
    g[x, y] = f[x * y % 9, y]
    schedule(f, g)
    g.compile_jit()


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        (lambda f, g: f.compute_lazy(7), "extents of the first dimensions"),
        (lambda f, g: f.compute_lazy(()), "extents of the first dimensions"),
        (lambda f, g: f.compute_lazy("ab"), "extents of the first dimensions"),
        (lambda f, g: f.compute_lazy(b"ab"), "extents of the first dimensions"),
        (lambda f, g: f.compute_lazy((1, 2, 3)), "3 dimensions, but f has 2"),
        (lambda f, g: f.compute_lazy((0, 2)), "an integer from 1 to"),
        (lambda f, g: f.compute_lazy((2.5, 2)), "an integer from 1 to"),
        (lambda f, g: f.compute_lazy((True, 2)), "an integer from 1 to"),
        (lambda f, g: f.compute_lazy().vectorize(x, 4), "without loops"),
        (lambda f, g: f.compute_lazy().memoize(), "as a whole"),
        (lambda f, g: f.compute_lazy().async_(), "which values are needed"),
        (lambda f, g: f.compute_lazy().fold_storage(x, 4), "forgets values"),
        (lambda f, g: f.compute_lazy().hoist_storage_root(), "hoist_storage"),
        (
            lambda f, g: f.compute_lazy().ring_buffer(2),
            r"\(ring_buffer\) forget values",
        ),
        (
            lambda f, g: (
                g.split(x, xo, xi, 4).vectorize(xi),
                f.compute_lazy().store_at(g, xi),
            ),
            "no tables of their own",
        ),
        (lambda f, g: f.compute_lazy().compute_with(g, y), "on demand"),
    ],
)
def test_what_is_refused(schedule: Callable[[Any, Any], Any], words: str) -> None:
    with pytest.raises(hl.ScheduleError, match=words):
        _one(schedule)


def test_updates_need_tiles_of_their_own() -> None:
    f, g = hl.funcs("f g")
    f[x] = x
    f[x] += 2 * x
    g[x] = f[x * x % 19]
    f.compute_lazy()
    with pytest.raises(hl.ScheduleError, match="updates run over regions"):
        g.compile_jit()
    f.compute_lazy([4])
    assert np.asarray(g.realize([5])).tolist() == [0, 3, 12, 27, 48]
    r = hl.RDom([(1, 8)])
    h, k = hl.funcs("h k")
    h[x] = x
    h[r] += h[r - 1]
    k[x] = h[x * x % 9]
    h.compute_lazy([4])
    with pytest.raises(hl.ScheduleError, match="outside of that tile"):
        k.compile_jit()


def test_a_wrapper_for_updates_that_reach_further() -> None:
    """The remedy that the error names."""
    r = hl.RDom([(1, 8)])
    h, k = hl.funcs("h k")
    h[x, y] = x + y
    h[r, y] += h[r - 1, y]
    k[x, y] = h[x * x % 9, y * 3 % 10]
    want = interpret(k._function, [(0, 12), (0, 11)])[0].T
    w = h.in_()
    w.compute_lazy((4, 4))
    h.compute_at(w, hl.Var.outermost())
    k.parallel(y)
    np.testing.assert_array_equal(np.asarray(k.realize([12, 11])), want)


def test_prints_and_foreign_code_are_refused() -> None:
    f, g = hl.funcs("f g")
    f[x] = hl.print(x, "computed")
    g[x] = f[x * x % 5]
    f.compute_lazy()
    with pytest.raises(hl.ScheduleError, match=r"an effect \(print\)"):
        g.compile_jit()


def test_a_thread_of_its_own_elsewhere_is_refused() -> None:
    f, g, h = hl.funcs("f g h")
    f[x, y] = x + y
    h[x, y] = x * y
    g[x, y] = f[x * y % 9, y] + h[x, y]
    f.compute_lazy()
    h.compute_root().async_()
    with pytest.raises(hl.ScheduleError, match="h is async"):
        g.compile_jit()


def test_storage_of_what_is_computed_inside_stays_inside() -> None:
    f, g, h = hl.funcs("f g h")
    h[x, y] = x * y
    f[x, y] = h[x, y] + h[x + 1, y]
    g[x, y] = f[x * y % 9, y]
    f.compute_lazy((4, 4))
    h.compute_at(f, y).store_root()
    with pytest.raises(hl.ScheduleError, match="stored outside of it"):
        g.compile_jit()


def test_an_index_without_bounds_needs_a_clamp() -> None:
    image = hl.Buffer(COLUMNS)
    f, g = hl.funcs("f g")
    f[x] = x
    g[x, y] = f[image[x, y]]
    f.compute_lazy()
    with pytest.raises(hl.BoundsError) as caught:
        g.compile_jit()
    assert "hl.clamp(index, low, high)" in str(caught.value)


def test_an_output_is_computed_as_a_whole() -> None:
    f = hl.Func("f")
    f[x] = x
    f.compute_lazy()
    with pytest.warns(match=r"f.compute_lazy\(\) has no effect"):
        assert np.asarray(f.realize([3])).tolist() == [0, 1, 2]


def test_c_text_is_refused(tmp_path: Any) -> None:
    f, g = hl.funcs("f g")
    f[x] = x
    g[x] = f[x * x % 5]
    f.compute_lazy()
    with pytest.raises(hl.HalideError, match="no form in C text"):
        g.compile_to_c(str(tmp_path / "g.c"), [])


def test_what_is_used_in_many_ways() -> None:
    """A search whose steps each depend on all those before, twice over."""
    image = hl.Buffer(np.arange(200, dtype=np.int32) * 37 % 99)
    f, g = hl.funcs("f g")
    f[x] = image[x] * 3
    best: Any = hl.i32(0)
    cost: Any = hl.i32(1000)
    for k in range(9):
        at = hl.clamp(best + k if k else image[x], 0, 199)
        best, cost = (
            hl.select(f[at] < cost, at, best),
            hl.select(f[at] < cost, f[at], cost),
        )
    g[x] = best + cost
    want = interpret(g._function, [(0, 150)])[0]
    for tile in (None, [8]):
        f.compute_lazy(tile)
        np.testing.assert_array_equal(np.asarray(g.realize([150])), want)


def test_prefetching_it_has_no_effect() -> None:
    f, g = hl.funcs("f g")
    f[x, y] = x + y
    g[x, y] = f[x, y] + f[x, y + 1]
    f.compute_lazy((8, 8))
    g.prefetch(f, y, y, 2)
    with pytest.warns(match="has no effect: it is computed on demand"):
        assert np.asarray(g.realize([8, 8]))[2, 1] == 7


def test_before_the_definition() -> None:
    with pytest.raises(hl.ScheduleError, match="defin"):
        hl.Func("f").compute_lazy((4,))
