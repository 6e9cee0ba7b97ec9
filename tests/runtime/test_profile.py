"""Profiles of pipelines: the same results, exact counts, and tables that add up."""

from __future__ import annotations

import ctypes
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret_all
from parhelion.lower import profiling
from parhelion.runtime import loading, profile_ir
from parhelion.runtime import profile as profile_module
from parhelion.runtime.context import CONTEXT_BYTES
from parhelion.runtime.profile import Run, collect, profile_of
from tests.fuzz.draw import draw
from tests.fuzz.execute import run_case

x, y, xo, yo, xi, yi = (hl.Var(n) for n in ("x", "y", "xo", "yo", "xi", "yi"))

WIDTH, HEIGHT = 37, 29


@pytest.fixture(autouse=True)
def _threads() -> Any:
    before = hl.set_num_threads(2)
    yield
    hl.set_num_threads(before)


def chain() -> tuple[hl.Func, hl.Func, hl.Func]:
    """Two stages, each read in two places, and the output, which has an update."""
    f, g, h = hl.funcs("f g h")
    f[x, y] = x * 3 + y * y
    g[x, y] = f[x, y] + f[x + 1, y + 2]
    h[x, y] = g[x, y] - g[x, y + 1]
    h[x, 3] += 7
    h.update(0).unscheduled()
    return f, g, h


Place = Callable[[hl.Func, hl.Func, hl.Func], object]

#: A schedule, and how often each Func is produced under it; None: not told here.
PLACES: dict[str, tuple[Place, dict[str, int] | None]] = {
    "root": (
        lambda f, g, h: (f.compute_root(), g.compute_root()),
        {"f": 1, "g": 1, "h": 1},
    ),
    "inlined": (lambda f, g, h: f.compute_root(), {"f": 1, "h": 1}),
    "lines": (
        lambda f, g, h: (f.compute_at(g, y), g.compute_root()),
        {"f": HEIGHT + 1, "g": 1, "h": 1},
    ),
    "points": (
        lambda f, g, h: (f.compute_root(), g.compute_at(h, x)),
        {"f": 1, "g": WIDTH * HEIGHT, "h": 1},
    ),
    "lines_in_points": (
        lambda f, g, h: (f.compute_at(g, y), g.compute_at(h, x)),
        {"f": 2 * WIDTH * HEIGHT, "g": WIDTH * HEIGHT, "h": 1},
    ),
    "sliding": (
        lambda f, g, h: (f.compute_root(), g.store_root().compute_at(h, y)),
        {"f": 1, "g": HEIGHT, "h": 1},
    ),
    "parallel": (
        lambda f, g, h: (
            f.compute_root().parallel(y),
            g.compute_at(h, y),
            h.parallel(y),
        ),
        {"f": 1, "g": HEIGHT, "h": 1},
    ),
    "parallel_in_parallel": (
        lambda f, g, h: (
            f.compute_at(g, y).parallel(x),
            g.compute_at(h, yo).parallel(y),
            h.split(y, yo, yi, 4, hl.TailStrategy.GuardWithIf).parallel(yo),
        ),
        None,
    ),
    "vectors": (
        lambda f, g, h: (
            f.compute_at(g, xo).vectorize(x, 4),
            g.compute_root().split(x, xo, xi, 8).vectorize(xi),
        ),
        None,
    ),
    "in_vectors": (
        lambda f, g, h: (
            f.compute_at(g, xi),
            g.compute_root().split(x, xo, xi, 8),
            g.vectorize(xi),
        ),
        None,
    ),
    "unrolled": (
        lambda f, g, h: (
            f.compute_root(),
            g.compute_at(h, y),
            h.unroll(y, 4, hl.TailStrategy.GuardWithIf),
        ),
        None,
    ),
    "tiles": (
        lambda f, g, h: (
            f.compute_at(h, xo),
            g.compute_at(h, xo).vectorize(x, 8),
            h.tile(x, y, xo, yo, xi, yi, 8, 8, hl.TailStrategy.GuardWithIf).parallel(
                yo
            ),
        ),
        {"f": 5 * 4, "g": 5 * 4, "h": 1},
    ),
    "async": (
        lambda f, g, h: (
            f.compute_root(),
            g.store_root().compute_at(h, y).async_(),
        ),
        {"f": 1, "g": HEIGHT, "h": 1},
    ),
    "memoized": (
        lambda f, g, h: (f.compute_root().memoize(), g.compute_root()),
        None,
    ),
}
places = pytest.mark.parametrize("place", PLACES)


def compute(place: str) -> tuple[hl.Profile, np.ndarray[Any, Any], hl.Func]:
    f, g, h = chain()
    give, _ = PLACES[place]
    give(f, g, h)
    out = hl.Buffer(hl.Int(32), [WIDTH, HEIGHT])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hl.ScheduleWarning)
        profile = h.profile(out)
    return profile, np.asarray(out), h


@places
def test_results_are_the_same(place: str) -> None:
    _, got, h = compute(place)
    region = [(0, WIDTH), (0, HEIGHT)]
    wanted = interpret_all([(h._function, region)])[0][0].T
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("place", [p for p in PLACES if PLACES[p][1] is not None])
def test_productions_are_counted(place: str) -> None:
    profile, _, _ = compute(place)
    assert {f.name: f.calls for f in profile.funcs} == PLACES[place][1]


@places
def test_counting_outside_of_loops_is_counting(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if place == "memoized":
        hl.memoization_cache_cleanup()
    outside, _, _ = compute(place)
    monkeypatch.setattr(profiling, "_trips", lambda extent: None)
    if place == "memoized":
        hl.memoization_cache_cleanup()
    inside, _, _ = compute(place)
    assert [f.calls for f in outside.funcs] == [f.calls for f in inside.funcs]


#: Twelve, without 10: half a minute goes into its code, and a few seconds into others'.
SEEDS = (*range(10), 11, 12)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_pipelines(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results as those of the interpreter, and counts as those of counting inside."""
    monkeypatch.setenv("HL_JIT_TARGET", "host-profile")
    counted: list[list[tuple[int, ...]]] = []
    for trips in (profiling._trips, lambda extent: None):
        monkeypatch.setattr(profiling, "_trips", trips)
        hl.memoization_cache_cleanup()
        with collect() as runs, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            report = run_case(draw(random.Random(seed)))
        assert not report.outcome.failed, report.message
        calls = slice(profile_ir.CALLS, None, profile_ir.TOTAL_WORDS)
        counted.append([run.totals[calls] for run in runs])
    assert counted[0] == counted[1]


def test_storage_is_counted() -> None:
    f, g, h = chain()
    f.compute_root()
    g.compute_at(h, y)
    h.profile([1000, 4])
    profile = h.profile([1000, 4])
    # f is read at 1001 by 7 points, g at 1000 by 2 in each line.
    assert profile["f"].allocations == 1
    assert 4 * 1001 * 7 <= profile["f"].bytes <= 4 * 1001 * 7 + 256
    assert profile["f"].peak == profile["f"].bytes
    assert profile["h"].allocations == profile["h"].bytes == profile["h"].stack == 0
    assert profile["g"].bytes == profile["g"].peak * profile["g"].allocations
    assert profile.peak == profile["f"].peak + profile["g"].peak


def test_storage_on_the_stack_is_told() -> None:
    f, g, h = chain()
    f.compute_root()
    h.tile(x, y, xi, yi, 8, 8)
    g.compute_at(h, x)
    profile = h.profile([64, 64])
    assert profile["g"].allocations == profile["g"].bytes == profile["g"].peak == 0
    assert profile["g"].stack >= 4 * 8 * 9


def test_storage_that_is_not_wanted_is_not_counted() -> None:
    f, g = hl.funcs("f g")
    p = hl.Param(hl.Bool(), "p")
    f[x] = x * x
    g[x] = hl.select(p, f[x] + f[x + 1], 0)
    f.compute_root()
    p.set(False)
    unwanted = g.profile([10_000])
    p.set(True)
    wanted = g.profile([10_000])
    assert wanted["f"].allocations == 1
    assert unwanted["f"].bytes in (0, wanted["f"].bytes)


def test_names_are_those_of_the_report() -> None:
    """The second pipeline with the same names in a process has the same table."""
    for _ in range(3):
        f, g, h = chain()
        f.compute_root()
        g.compute_root()
        profile, report = h.profile([8, 8]), h.report([8, 8])
        assert {one.name for one in profile.funcs} == {"f", "g", "h"}
        assert {one.name for one in report.funcs} == {"f", "g", "h"}
        assert profile["g"] is profile[g.name()]
        assert profile["g"].func == g.name()
        assert profile.pipeline == "h"
        assert "$" not in str(profile)


def test_names_that_two_share_are_told_in_full() -> None:
    first, second, g = hl.Func("f"), hl.Func("f"), hl.Func("g")
    first[x] = x
    second[x] = first[x] + first[x + 1]
    g[x] = second[x] + second[x + 1]
    first.compute_root()
    second.compute_root()
    profile = g.profile([8])
    assert [one.name for one in profile.funcs] == [first.name(), second.name(), "g"]


def test_a_run_that_fails_has_no_profile() -> None:
    f = hl.Func("f")
    p = hl.Param(hl.Int(32), "p", 3)
    f[x] = hl.require(p > 3, x, "p is", p)
    f.parallel(x)
    with pytest.raises(hl.HalideError, match="p is"):
        f.profile([10])
    p.set(4)
    assert f.profile([10])["f"].calls == 1


def test_the_environment_asks_for_tables(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    f, _, h = chain()
    f.compute_root()
    h.realize([8, 8])
    assert capsys.readouterr().out == ""
    monkeypatch.setenv("HL_JIT_TARGET", "host-profile")
    h.realize([8, 8])
    first, titles, *rows = capsys.readouterr().out.splitlines()
    assert first.startswith("h: ") and "samples" in first
    assert titles.split() == [
        *("time", "share", "threads", "calls"),
        *("allocated", "peak", "stack"),
    ]
    assert {"f", "h"} <= {row.split()[0] for row in rows}
    run = h.compile_to_callable([])
    run(np.zeros((8, 8), np.int32))
    assert capsys.readouterr().out.startswith("h: ")
    h.compile_jit()
    assert capsys.readouterr().out == ""
    h.profile([8, 8])
    assert capsys.readouterr().out == ""


def test_a_target_asks_for_tables(capsys: pytest.CaptureFixture[str]) -> None:
    f, _, h = chain()
    f.compute_root()
    target = hl.get_host_target().with_feature(hl.TargetFeature.Profile)
    h.realize([8, 8], target)
    assert capsys.readouterr().out.startswith("h: ")
    run = h.compile_to_callable([], target)
    run(np.zeros((8, 8), np.int32))
    assert capsys.readouterr().out.startswith("h: ")
    h.realize([8, 8])
    assert capsys.readouterr().out == ""


def test_pipelines_that_foreign_stages_run_print_their_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HL_JIT_TARGET", "host-profile")
    inner = hl.Func("inner")
    inner[x] = x + 1

    def stage(out: hl.Buffer) -> None:
        np.asarray(out)[...] = np.asarray(inner.realize([out.width()]))

    f, g = hl.funcs("f g")
    f.define_extern(stage, [], hl.Int(32), 1)
    g[x] = f[x] * 2
    f.compute_root()
    profile = g.profile([5])
    assert [one.name for one in profile.funcs] == ["f", "g"]
    assert capsys.readouterr().out.startswith("inner: ")


def test_several_outputs_and_values() -> None:
    f, g, h = hl.funcs("f g h")
    f[x] = (x, hl.f32(x))
    g[x] = f[x][0] + 1
    h[x] = f[x][1] + 1
    f.compute_root()
    profile = hl.Pipeline([g, h]).profile([100], repeat=3)
    assert profile.runs == 3
    assert {one.name: one.calls for one in profile.funcs} == {"f": 1, "g": 1, "h": 1}
    assert profile.pipeline == "g"


def watchers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list to which each thread that watches adds its beginning and its end."""
    told: list[str] = []

    class Told(profile_module._Watcher):
        def __init__(self, pipeline: str) -> None:
            super().__init__(pipeline)
            told.append("begin")

        def close(self) -> None:
            super().close()
            told.append("end")

    monkeypatch.setattr(profile_module, "_Watcher", Told)
    return told


def test_one_thread_watches_all_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of each run would miss those that are over before it has started."""
    told = watchers(monkeypatch)
    f, _, h = chain()
    f.compute_root()
    assert h.profile([8, 8], repeat=20).runs == 20
    assert told == ["begin", "end"]
    with collect() as runs:
        h.profile([8, 8])
        assert (runs, told) == ([], ["begin", "end"] * 2)
    assert told == ["begin", "end"] * 2


def test_runs_at_the_same_time_have_threads_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = watchers(monkeypatch)
    compiled = loading.compile_module(
        "define i32 @nothing_argv(ptr %ctx, ptr %argv) {\n  ret i32 0\n}\n", "nothing"
    )
    entry = profile_module.Entry(compiled.address, "nothing", [])
    context = ctypes.create_string_buffer(CONTEXT_BYTES)
    with collect() as runs:
        wanted = profile_module._WANTED.get()
        assert wanted is not None
        with wanted.busy:  # as another thread's run has it
            assert entry(ctypes.addressof(context), 0) == 0
        assert told == ["begin", "end"]
        for _ in range(3):
            assert entry(ctypes.addressof(context), 0) == 0
        assert told == ["begin", "end", "begin"]
    assert told == ["begin", "end"] * 2
    assert len(runs) == 4


def test_nothing_to_compute() -> None:
    f = hl.Func("f")
    f[x] = x
    profile = f.profile([0])
    assert (profile.runs, profile.funcs, profile.seconds) == (0, (), 0)
    assert str(profile).startswith("f: 0 runs")


def run(*totals: tuple[int, ...], looks: int, wall: int = 8_000_000) -> Run:
    """A record of two Funcs, with numbers of (waiting, overhead, f, g)."""
    words = [
        n for one in totals for n in (*one, *[0] * (profile_ir.TOTAL_WORDS - len(one)))
    ]
    return Run("it", (("f", 0), ("g", 2048)), wall, looks, 5 << 20, tuple(words))


UNIT = profile_ir.UNIT


def test_shares_are_parts_of_the_run() -> None:
    """Two looks find two threads at f, one finds f and g, one nobody."""
    one = run(
        (UNIT, 0),
        (0, 0),
        (2 * UNIT + UNIT // 2, 5, 1, 2, 3 << 20, 0, 2 << 20),
        (UNIT // 2, 1, 600),
        looks=4,
    )
    profile = profile_of("it", [one, one])
    f, g = profile["f"], profile["g"]
    assert (profile.runs, profile.looks, profile.seconds) == (2, 8, 0.008)
    assert profile.threads == 1.5
    assert (f.share, f.seconds, f.threads) == (0.625, 0.005, 2.0)
    assert (g.share, g.seconds, g.threads) == (0.125, 0.001, 2.0)
    assert (profile.waiting, profile.overhead) == (0.002, 0.0)
    assert (f.calls, f.allocations, f.bytes, f.peak) == (1, 2, 3 << 20, 2 << 20)
    assert (g.calls, g.stack) == (600, 2048)
    assert str(profile) == (
        "it: 2 runs, each 8.000 ms, 1.50 threads at work, 8 samples,"
        " heap at most 5.0 MB\n"
        "                 time   share  threads  calls  allocated    peak   stack\n"
        "  f          5.000 ms  62.5 %     2.00      1     3.0 MB  2.0 MB\n"
        "  g          1.000 ms  12.5 %     2.00    600                     2.0 KB\n"
        "  (waiting)  2.000 ms  25.0 %\n"
        "  too few samples to tell: shares are known to some 35 %;"
        " profile(…, repeat=13) takes about 100"
    )


@pytest.mark.parametrize(
    ("looks", "told"), [(0, "not known"), (24, "known to some 20 %")]
)
def test_few_samples_are_told(looks: int, told: str) -> None:
    few = profile_of("it", [run((), (), (0, 0, 1), (0, 0, 2), looks=looks)])
    assert str(few).splitlines()[-1] == (
        f"  too few samples to tell: shares are {told};"
        " profile(…, repeat=13) takes about 100"
    )
    enough = profile_of("it", [run((), (), (0, 0, 1), (0, 0, 2), looks=25)])
    assert "too few" not in str(enough)
    short = run((), (), (), (), looks=0, wall=1000)
    assert "repeat=100000" in str(profile_of("it", [short]))


def test_a_run_that_nobody_looked_at() -> None:
    profile = profile_of("it", [run((), (), (0, 0, 1), (0, 0, 2), looks=0)])
    assert (profile["g"].calls, profile["g"].seconds) == (2, 0)
    assert profile.threads == 0
    assert "0 samples" in str(profile)


def test_a_func_that_has_no_row() -> None:
    profile = profile_of("it", [run((), (), (), (), looks=0)])
    with pytest.raises(hl.HalideError, match="the profile of 'it' has no Func 'h'"):
        profile["h"]
