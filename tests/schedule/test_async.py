"""`async_` and `ring_buffer`: producers in threads of their own."""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret
from parhelion.ir.expr import Var
from parhelion.ir.reader import read_stmt
from parhelion.ir.symbols import BufferSym
from parhelion.ir.text import symbols_of, text
from parhelion.lower.options import LowerOptions
from parhelion.lower.passes import Trace, lower
from parhelion.schedule.legality import resolve
from parhelion.schedule.rules import ScheduleWarning
from tests.lower.interleaved import RULES, execute_interleaved
from tests.support.spec import spec_of

x, y, xo, yo, xi, yi = (hl.Var(n) for n in ("x", "y", "xo", "yo", "xi", "yi"))


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = hl.set_num_threads(2)
    yield
    hl.set_num_threads(before)


#: One copy is what there is without a ring: the same, with a warning.
pytestmark = pytest.mark.filterwarnings(r"ignore:p\.ring_buffer\(1\) has no effect")


def two(*, updates: bool = False) -> tuple[hl.Func, hl.Func]:
    p, f = hl.Func("p"), hl.Func("f")
    p[x, y] = x * 3 + y * y
    if updates:
        r = hl.RDom([(0, 3)], "r")
        p[x, y] += p[x, y] * r + x
        p[x, y] = p[x, y] ^ 5
    f[x, y] = p[x, y] + p[x + 1, y + 1] - p[x, y + 1]
    return p, f


def same(f: hl.Func, size: tuple[int, int] = (37, 41), runs: int = 20) -> None:
    want = interpret(f._function, [(0, n) for n in size])[0].T
    run = f.compile_to_callable([])
    got = np.zeros(want.shape, want.dtype)
    for threads in (1, 2, 5):
        hl.set_num_threads(threads)
        for _ in range(runs):
            got[:] = 0
            run(got)
            np.testing.assert_array_equal(got, want)


def interleaved(f: hl.Func, size: tuple[int, int], rule: str) -> None:
    """Runs what is lowered for `f` with one of its threads at a time, as a rule says,
    and compares."""
    want = interpret(f._function, [(0, n) for n in size])[0].T
    lowered = lower(spec_of(f), name="f")
    (out,) = [a.symbol for a in lowered.args]
    assert isinstance(out, BufferSym)
    env: dict[Var, int] = {}
    step = 1
    for d, n in zip(out.dims, size, strict=True):
        env |= {d.min: 0, d.extent: n, d.stride: step}
        step *= n
    memory = {out: [None] * step}
    machine = execute_interleaved(lowered.body, memory, env, rule)
    got = np.array(machine.memory[out]).reshape(want.shape)
    np.testing.assert_array_equal(got, want)


PLACES: dict[str, Callable[[hl.Func, hl.Func], object]] = {
    "root": lambda p, f: p.compute_root(),
    "in_a_loop": lambda p, f: p.compute_at(f, y),
    "sliding": lambda p, f: p.store_root().compute_at(f, y),
    "sliding_twice": lambda p, f: p.store_root().compute_at(f, x),
    "folded": lambda p, f: p.store_root().compute_at(f, y).fold_storage(y, 3),
    "hoisted": lambda p, f: p.compute_at(f, y).hoist_storage_root(),
    "ring": lambda p, f: p.compute_at(f, y).hoist_storage_root().ring_buffer(3),
    "ring_of_one": lambda p, f: p.compute_at(f, y).hoist_storage_root().ring_buffer(1),
    "ring_of_rows": lambda p, f: (
        p.compute_at(f, x).store_at(f, y).hoist_storage_root().ring_buffer(2)
    ),
    "ring_in_tiles": lambda p, f: (
        f.tile(x, y, xi, yi, 8, 8),
        p.compute_at(f, x).hoist_storage_root().ring_buffer(4),
    ),
    "ring_in_a_parallel_loop": lambda p, f: (
        f.tile(x, y, xo, yo, xi, yi, 8, 8).parallel(yo),
        p.compute_at(f, xo).hoist_storage(f, yo).ring_buffer(2),
    ),
    "overlapping": lambda p, f: (
        f.tile(x, y, xo, yo, xi, yi, 8, 8),
        p.store_root().compute_at(f, xo),
    ),
    "in_a_parallel_loop": lambda p, f: (f.parallel(y), p.compute_at(f, y)),
    "vectors": lambda p, f: (
        f.vectorize(x, 8),
        p.store_root().compute_at(f, y).vectorize(x, 8),
    ),
    "parallel_in_both": lambda p, f: (f.parallel(y), p.compute_root().parallel(y)),
    "unrolled": lambda p, f: (f.unroll(y, 4), p.store_root().compute_at(f, y)),
}
places = pytest.mark.parametrize("place", PLACES)


@places
def test_places(place: str) -> None:
    p, f = two()
    PLACES[place](p, f)
    p.async_()
    same(f)


@places
def test_a_producer_with_updates(place: str) -> None:
    p, f = two(updates=True)
    PLACES[place](p, f)
    p.async_()
    for k in range(2):
        p.update(k).unscheduled()
    same(f, runs=8)


@places
def test_a_ring_alone(place: str) -> None:
    """Without async_, iterations take turns in the copies all the same."""
    if "ring" not in place:
        pytest.skip("no ring")
    p, f = two()
    PLACES[place](p, f)
    same(f, runs=1)


def chain() -> list[hl.Func]:
    a, b, c, d = (hl.Func(n) for n in ("a", "b", "c", "d"))
    a[x, y] = x - y * y
    b[x, y] = a[x, y - 1] + a[x, y + 1]
    c[x, y] = a[x, y] * 3 + b[x + 1, y]
    d[x, y] = b[x, y] + c[x, y - 1] * c[x, y + 1]
    return [a, b, c, d]


Among = Callable[[hl.Func, hl.Func], object]
SEVERAL: dict[str, Among] = {
    "root": lambda p, d: p.compute_root(),
    "in_a_loop": lambda p, d: p.compute_at(d, y),
    "sliding": lambda p, d: p.store_root().compute_at(d, y),
    "ring": lambda p, d: p.compute_at(d, y).hoist_storage_root().ring_buffer(2),
}


@pytest.mark.parametrize("way", SEVERAL)
@pytest.mark.parametrize("which", ["a", "b", "c", "ab", "ac", "bc", "abc"])
def test_several(way: str, which: str) -> None:
    funcs = chain()
    for p in funcs[:3]:
        SEVERAL[way](p, funcs[3])
        if p.name().split("$")[0] in which:
            p.async_()
    try:
        same(funcs[3], (19, 23), 8)
    except hl.ScheduleError as error:
        # Both threads would compute a Func that is stored outside of the loop.
        assert way in ("sliding", "ring")
        assert "both threads would compute it" in str(error)


@pytest.mark.parametrize("seed", range(12))
def test_several_in_different_places(seed: int) -> None:
    rng = np.random.default_rng(seed)
    funcs = chain()
    for p in funcs[:3]:
        SEVERAL[list(SEVERAL)[rng.integers(4)]](p, funcs[3])
        if rng.random() < 0.7:
            p.async_()
    try:
        same(funcs[3], (19, 23), 8)
    except hl.ScheduleError as error:
        refused = "both threads would compute it", "outside the loop y of d"
        assert any(why in str(error) for why in refused)


def line() -> list[hl.Func]:
    p, q, f = (hl.Func(n) for n in ("p", "q", "f"))
    p[x, y] = x + y * y
    q[x, y] = p[x, y - 1] + p[x, y] * 3 + p[x, y + 1]
    f[x, y] = q[x, y] - q[x, y + 1]
    return [p, q, f]


def test_one_inside_what_the_other_reads() -> None:
    """The producer of `q` computes `p`, whose storage is of one iteration; what uses
    `q` in that iteration has nothing to do with `p`."""
    p, q, f = line()
    q.store_root().compute_at(f, y).async_()
    p.compute_at(f, y).async_()
    same(f, (13, 9), 8)


@pytest.mark.parametrize("way", ["sliding", "ring"])
def test_one_inside_the_production_of_the_other(way: str) -> None:
    """`p` is stored outside of the storage of `q` and computed in the loops that
    produce it: its thread runs these loops, but not what they compute."""
    p, q, f = line()
    SEVERAL[way](p, q)
    q.compute_root().async_()
    p.async_()
    same(f, (13, 9), 8)


def test_independent_producers() -> None:
    a, b, f = hl.Func("a"), hl.Func("b"), hl.Func("f")
    a[x, y], b[x, y] = x + y, x * y
    f[x, y] = a[x, y] - b[x, y]
    a.compute_root().async_()
    b.compute_root().async_()
    same(f)
    lowered = text(lower(spec_of(f), name="f").body)
    # Neither waits for the other.
    first = re.search(r"fork a.*? and \{\n(.*)", lowered, re.S)
    assert first is not None
    produced, used = first.group(1).split("} and {")[:2]
    assert "acquire" not in produced and used.count("acquire") == 2


def test_an_update_as_consumer() -> None:
    p, f = hl.Func("p"), hl.Func("f")
    r = hl.RDom([(0, 7)], "r")
    p[x, y] = x * y + x
    f[x, y] = x
    f[x, y] += p[x, r]
    p.compute_at(f, r).async_()
    same(f, (9, 7))


def test_a_func_inside_the_producer() -> None:
    a, p, f = hl.Func("a"), hl.Func("p"), hl.Func("f")
    a[x, y] = x ^ y
    p[x, y] = a[x, y] + a[x, y + 2]
    f[x, y] = p[x, y] + p[x, y + 1]
    p.store_root().compute_at(f, y).async_()
    a.store_at(f, y).compute_at(p, y)
    same(f)
    a.compute_at(p, y).async_()
    same(f)


def test_specialized_consumers() -> None:
    p, f = two()
    p.store_root().compute_at(f, y).async_()
    f.specialize(f.output_buffer().width() > 40).vectorize(x, 8)
    same(f)
    same(f, (64, 9))


def test_many_python_threads() -> None:
    p, f = two()
    p.store_root().compute_at(f, y).async_()
    want = interpret(f._function, [(0, 30), (0, 30)])[0].T
    run = f.compile_to_callable([])
    wrong: list[Any] = []

    def work() -> None:
        out = np.zeros((30, 30), want.dtype)
        for _ in range(50):
            run(out)
            if not np.array_equal(out, want):
                wrong.append(out.copy())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


# Failures.


@pytest.mark.parametrize("side", ["producer", "consumer"])
@pytest.mark.parametrize("place", PLACES)
def test_a_failure_ends_both(side: str, place: str) -> None:
    p, f = hl.Func("p"), hl.Func("f")
    limit = hl.Param(hl.Int(32), "limit")
    value = hl.require(y < limit, x, "too far down")
    p[x, y] = (value if side == "producer" else x) * 3
    more = value if side == "consumer" else x
    f[x, y] = p[x, y] + p[x, y + 1] + more
    if place == "vectors":
        p.store_root().compute_at(f, y)
    else:
        PLACES[place](p, f)
    p.async_()
    run = f.compile_to_callable([limit])
    out = np.zeros((41, 37), np.int32)
    for threads in (1, 2, 5):
        hl.set_num_threads(threads)
        for _ in range(5):
            with pytest.raises(hl.HalideError, match="too far down"):
                run(20, out)
        run(100, out)
    want = interpret(f._function, [(0, 37), (0, 41)], {limit._sym: 100})[0].T
    np.testing.assert_array_equal(out, want)


# What the program says.


def test_the_program() -> None:
    p, f = two()
    p.store_root().compute_at(f, y).async_()
    trace = Trace()
    lowered = lower(spec_of(f), name="f", trace=trace)
    for _, body, _ in trace:
        assert read_stmt(text(body), symbols_of(body)) is body
    shown = re.sub(r"\$\d+", "", text(lowered.body))
    assert "fork p {" in shown
    produced, used = shown.split("} and {")
    assert "release 1 to p.done" in produced and "produce p" in produced
    assert "acquire 1 of p.done" in used and "produce p" not in used
    # The window slides: every value is computed once, and nobody waits for turns.
    assert "turn" not in shown


@pytest.mark.parametrize("updates", [False, True])
def test_turns_where_iterations_overlap(updates: bool) -> None:
    p, _ = two(updates=updates)
    f = hl.Func("f")
    f[x, y] = p[x, y] - p[x, 10 - y]
    p.store_root().compute_at(f, y).async_()
    shown = text(lower(spec_of(f), name="f").body)
    assert re.search(r"acquire 1 of p(\$\d+)?\.turn", shown)
    same(f)


@pytest.mark.parametrize(("step", "reach", "fold"), [(1, 1, 2), (1, 2, 4), (2, 1, 3)])
@pytest.mark.parametrize("updates", [False, True])
def test_room_in_folded_storage(
    step: int, reach: int, fold: int, updates: bool
) -> None:
    """The producer runs ahead as far as the fold allows; nobody waits for turns."""
    p, _ = two(updates=updates)
    f = hl.Func("f")
    f[x, y] = p[x, step * y] - p[x, step * y + reach]
    p.store_root().compute_at(f, y).fold_storage(y, fold).async_()
    for k in range(2 if updates else 0):
        p.update(k).unscheduled()
    shown = re.sub(r"\$\d+", "", text(lower(spec_of(f), name="f").body))
    assert f"p.room[0] = {fold}" in shown and "turn" not in shown
    assert f"acquire {reach + 1} of p.room" in shown
    assert f"release {step} to p.room" in shown
    same(f)


def test_room_at_the_end_of_an_image() -> None:
    p, _ = two()
    f = hl.Func("f")
    f[x, y] = p[x, y] - p[x, hl.clamp(y + 2, 0, 20)]
    p.store_root().compute_at(f, y).fold_storage(y, 32).async_()
    same(f)


def test_turns_where_production_goes_beyond_its_region() -> None:
    p, f = two()
    p.store_root().compute_at(f, y).fold_storage(y, 16).async_()
    p.split(y, yo, yi, 4, hl.TailStrategy.RoundUp)
    shown = text(lower(spec_of(f), name="f").body)
    assert "turn" in shown and "room" not in shown
    same(f)


def test_slots() -> None:
    p, f = two()
    PLACES["ring"](p, f)
    p.async_()
    shown = re.sub(r"\$\d+", "", text(lower(spec_of(f), name="f").body))
    assert "p.slot[0] = 3" in shown
    assert re.search(r"allocate p\[int32 \* \(f.extent.0 \+ 1\) \* 6\]", shown)


def left_out(f: hl.Func, tail: hl.TailStrategy) -> hl.Func:
    """Loops of four rows, the last of them cut short by a tail, for each column."""
    return f.split(y, yo, yi, 4, tail).reorder(yi, yo, x)


Tail = hl.TailStrategy
GUARD = Tail.GuardWithIf

#: Loops in which iterations are left out, and where the producer is computed.
CUT: dict[str, Callable[[hl.Func, hl.Func], object]] = {
    "guarded": lambda p, f: (left_out(f, Tail.GuardWithIf), p.compute_at(f, yi)),
    "predicated": lambda p, f: (left_out(f, Tail.Predicate), p.compute_at(f, yi)),
    "tiles": lambda p, f: (
        f.tile(x, y, xi, yi, 3, 4, Tail.GuardWithIf),
        p.compute_at(f, yi),
    ),
    "windows": lambda p, f: (
        f.tile(x, y, xo, yo, xi, yi, 3, 4, Tail.GuardWithIf),
        p.store_at(f, yi).compute_at(f, xi),
    ),
    "a_branch": lambda p, f: (
        f.split(y, yo, yi, 2).reorder(yi, yo, x),
        f.specialize(f.output_buffer().width() > 2).split(yi, y, xi, 3, GUARD),
        p.compute_at(f, yo),
    ),
}


@pytest.mark.parametrize("cut", CUT)
@pytest.mark.parametrize("copies", [1, 2, 3, 4])
@pytest.mark.parametrize("rule", RULES)
def test_rings_where_iterations_are_left_out(cut: str, copies: int, rule: str) -> None:
    """The copies are taken in turn by the iterations that are there: a producer that is
    as far ahead as it may be writes over nothing that is still read."""
    p, f = two()
    CUT[cut](p, f)
    p.hoist_storage_root().ring_buffer(copies).async_()
    for size in ((5, 9), (4, 10), (7, 6)):
        interleaved(f, size, rule)


@places
@pytest.mark.parametrize("rule", RULES)
def test_places_whoever_is_first(place: str, rule: str) -> None:
    p, f = two()
    PLACES[place](p, f)
    p.async_()
    interleaved(f, (17, 18), rule)


def test_tiles_in_a_ring() -> None:
    p, f = two()
    f.tile(x, y, xi, yi, 16, 4, GUARD)
    p.compute_at(f, yi).hoist_storage_root().ring_buffer(2).async_()
    same(f, (640, 9), 4)


# What is refused, and what has no effect.


def plain(error: hl.HalideError) -> str:
    lines = str(error).split("\n")
    kept = [s for s in lines if not s.startswith(("  --> ", "   |  "))]
    return re.sub(r"\b([A-Za-z]\w*)\$\d+\b", r"\1", "\n".join(kept))


def test_both_threads_need_a_func() -> None:
    a, p, f = hl.Func("a"), hl.Func("p"), hl.Func("f")
    a[x, y] = x ^ y
    p[x, y] = a[x, y] + 1
    f[x, y] = p[x, y] + a[x, y + 1]
    a.store_root().compute_at(f, y)
    p.store_root().compute_at(f, y).async_()
    with pytest.raises(hl.ScheduleError) as caught:
        lower(spec_of(f), name="f")
    assert plain(caught.value) == (
        "p.async_: a is computed inside the loops that p is stored outside of, and used"
        " by p and by what uses p: both threads would compute it, in one storage\n"
        "hint: compute a further out, or store it further in"
    )


def test_lanes_have_no_threads() -> None:
    p, f = two()
    p.compute_at(f, x).async_()
    f.bound(x, 0, 8).vectorize(x)
    with pytest.raises(hl.ScheduleError) as caught:
        lower(spec_of(f), name="f")
    assert plain(caught.value) == (
        "p.async_: p is stored inside a vectorized loop, whose lanes cannot have"
        " threads of their own\nhint: store p outside of that loop"
    )


def test_a_ring_needs_storage_further_out() -> None:
    p, f = two()
    p.compute_at(f, y).ring_buffer(2)
    with pytest.raises(hl.ScheduleError) as caught:
        resolve(spec_of(f))
    assert plain(caught.value) == (
        "p.ring_buffer: the storage of p is allocated where it begins, so that no"
        " iterations could take turns in copies of it\n"
        "hint: p.hoist_storage(…) at a loop outside of the storage"
    )


def test_a_ring_of_none() -> None:
    p, _ = two()
    with pytest.raises(hl.ScheduleError, match="must be positive, not 0"):
        p.ring_buffer(0)
    with pytest.raises(hl.ScheduleError, match="must be an integer|takes|int"):
        p.ring_buffer("many")  # type: ignore[arg-type]


@pytest.mark.parametrize("where", ["output", "inlined"])
def test_no_effect(where: str) -> None:
    p, f = two()
    (f if where == "output" else p).async_()
    with pytest.warns(ScheduleWarning, match=r"async_ has no effect"):
        resolve(spec_of(f))


def test_c_output_has_no_threads() -> None:
    p, f = two()
    PLACES["ring"](p, f)
    p.async_()
    written = text(
        lower(
            spec_of(f),
            name="f",
            options=LowerOptions(vectors=False),
        ).body
    )
    assert "fork" not in written and "acquire" not in written


def test_shared_loops() -> None:
    """Funcs that share loops are computed by the thread that needs one of them."""
    a, b, p, f = (hl.Func(n) for n in ("a", "b", "p", "f"))
    a[x, y], b[x, y] = x + y, x - y
    p[x, y] = a[x, y] * 3 + a[x, y + 1]
    f[x, y] = p[x, y] + b[x, y]
    for g in (a, b):
        g.compute_at(f, y)
    b.compute_with(a, y)
    p.store_root().compute_at(f, y).async_()
    same(f)
    for g in (a, b):
        g.async_()
        with pytest.raises(hl.ScheduleError, match="is async: a thread of its own"):
            lower(spec_of(f), name="f")
        g._function.schedule.async_ = False


@pytest.mark.parametrize("stored", ["root", "hoisted"])
def test_around_a_memoized_func(stored: str) -> None:
    """On a hit the loops of `g` do not run: a producer that is stored outside of them
    would wait for ever. So it is computed without a thread."""
    n = hl.Param(hl.Int(32), "n", 1)
    p, g, f = (hl.Func(n) for n in ("p", "g", "f"))
    p[x, y] = x * 3 + y * y * n
    g[x, y] = p[x, y] + p[x, y + 1]
    f[x, y] = g[x, y] - x
    g.compute_root().memoize()
    p.compute_at(g, x).async_()
    if stored == "root":
        p.store_root()
    else:
        p.hoist_storage_root().ring_buffer(2)
    with pytest.warns(ScheduleWarning) as caught:
        made = text(lower(spec_of(f), name="f").body)
    assert "fork" not in made
    assert [re.sub(r"\$\d+", "", str(w.message)) for w in caught] == [
        "p.async_ has no effect: p is computed inside the loops of g, which is"
        " memoized, and stored outside of them; where the result of g is known these"
        " loops do not run, and a thread of its own would wait for them"
    ]
    for value in (1, 1, 2, 1):
        n.set(value)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ScheduleWarning)
            got = np.asarray(f.realize([9, 7]))
        want = interpret(f._function, [(0, 9), (0, 7)], {n._sym: value})[0].T
        np.testing.assert_array_equal(got, want)


def test_inside_a_memoized_func() -> None:
    p, g, f = (hl.Func(n) for n in ("p", "g", "f"))
    p[x, y] = x * 3 + y * y
    g[x, y] = p[x, y] + p[x + 1, y]
    f[x, y] = g[x, y] - x
    g.compute_root().memoize()
    p.store_at(g, y).compute_at(g, x).async_()
    same(f)
