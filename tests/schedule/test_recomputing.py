"""How often an unscheduled pipeline computes its values again, and the warning of it.

The factors that are found from definitions are compared with counted ones: the Func in
question calls a C function that counts its calls, in code with everything inlined and
in code that computes the Func at the root.
"""

from __future__ import annotations

import ctypes
import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest

import parhelion as hl
from parhelion.errors import here
from parhelion.lang import autoscheduling
from parhelion.schedule.recomputing import recomputed, shown

x, y = hl.vars("x y")
Made = tuple[hl.Func, hl.Func]
Counted = hl.ExternFunction
Make = Callable[[Counted], Made]

BOX = list(itertools.product((-1, 0, 1), (-1, 0, 1)))
CROSS = [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)]
HOLES = [(4 * a, 4 * b) for a, b in BOX]


def _added(values: Sequence[hl.ExprLike]) -> hl.Expr:
    total = hl.i32(0)
    for v in values:
        total += v
    return total


def _stencils(offsets: Sequence[tuple[int, int]], stages: int) -> Make:
    def make(call: Counted) -> Made:
        first = last = hl.Func("first")
        first[x, y] = call(x, y)
        for k in range(stages):
            f = hl.Func(f"stage_{k}")
            f[x, y] = _added([last[x + a, y + b] for a, b in offsets])
            last = f
        return last, first

    return make


def _pyramid(levels: int) -> Make:
    def make(call: Counted) -> Made:
        first = f = hl.Func("first")
        first[x, y] = call(x, y)
        for _ in range(levels):
            a, b = hl.funcs("down_x down_y")
            a[x, y] = _added([f[2 * x + d, y] for d in (-1, 0, 1, 2)])
            b[x, y] = _added([a[x, 2 * y + d] for d in (-1, 0, 1, 2)])
            f = b
        for _ in range(levels):
            a, b = hl.funcs("up_x up_y")
            a[x, y] = f[(x + 1) / 2, y] + f[(x - 1) / 2, y]
            b[x, y] = a[x, (y + 1) / 2] + a[x, (y - 1) / 2]
            f = b
        return f, first

    return make


def _histogram(call: Counted) -> Made:
    r = hl.RDom([(0, 20), (0, 10)])
    hist, out = hl.funcs("hist out")
    hist[x] = 0
    hist[(r.x * r.y) % 16] += call(r.x, r.y)
    out[x, y] = hist[(x + y) % 16]
    return out, hist


def _reduction(call: Counted) -> Made:
    f, out = hl.funcs("f out")
    f[x, y] = call(x, y)
    r = hl.RDom([(0, 5), (0, 4)])
    out[x, y] = hl.sum(r, f[x + r.x, y + r.y])
    return out, f


def _triangle(call: Counted) -> Made:
    f, out = hl.funcs("f out")
    f[x] = call(x, x)
    r = hl.RDom([(0, 64), (0, 64)])
    r.where(r.x < r.y)
    out[x, y] = 0
    out[r.y % 40, 0] += f[r.x]
    return out, f


def _scan(call: Counted) -> Made:
    f, out = hl.funcs("f out")
    r = hl.RDom([(1, 29)])
    f[x, y] = call(x, y)
    f[x, r.x] += f[x, r.x - 1]
    out[x, y] = f[x, y] + f[x + 1, y]
    return out, f


def _table(call: Counted) -> Made:
    f, out = hl.funcs("f out")
    f[x] = call(x, x)
    out[x, y] = f[hl.clamp(x * y % 99, 0, 15)] + f[hl.clamp(x * y % 99 + 7, 0, 15)]
    return out, f


def _columns(call: Counted) -> Made:
    f, out = hl.funcs("f out")
    f[x] = call(x, x)
    out[x, y] = f[x] + y
    return out, f


def _rows(call: Counted) -> Made:
    """The code for a row computes its value once, in front of its loop."""
    f, out = hl.funcs("f out")
    f[y] = call(y, y)
    out[x, y] = f[y] + x
    return out, f


def _apart(call: Counted) -> Made:
    """Several uses, all at the same place."""
    f, g, h, out = hl.funcs("f g h out")
    f[x, y] = call(x, y)
    g[x, y] = f[x, y] * 3 + f[x, y]
    h[x, y] = g[x, y] - f[x, y]
    out[x, y] = g[x, y] + h[x, y] * f[x, y]
    return out, f


def _halves(call: Counted) -> Made:
    """A part of what `compute_root` would compute."""
    f, out = hl.funcs("f out")
    f[x, y] = call(x, y)
    out[x, y] = f[2 * x, 3 * y]
    return out, f


CASES: dict[str, Make] = {
    **{f"box_{n}": _stencils(BOX, n) for n in (1, 2, 3, 4)},
    **{f"cross_{n}": _stencils(CROSS, n) for n in (2, 3)},
    "holes_2": _stencils(HOLES, 2),
    "pyramid": _pyramid(1),
    "histogram": _histogram,
    "reduction": _reduction,
    "scan": _scan,
    "table": _table,
    "columns": _columns,
    "rows": _rows,
    "apart": _apart,
    "halves": _halves,
}


class _Counter:
    """A C function of two numbers that counts its calls."""

    def __init__(self) -> None:
        self.calls = 0
        prototype = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32, ctypes.c_int32)
        self.code = prototype(self._called)
        t = hl.Int(32)
        self.function = hl.extern_function(self.code, t, [t, t])

    def _called(self, a: int, b: int) -> int:
        self.calls += 1
        return a + b

    def during(self, f: hl.Func, size: Sequence[int]) -> int:
        self.calls = 0
        f.realize(list(size))
        return self.calls


def _factor(out: hl.Func, f: hl.Func, size: Sequence[int]) -> float:
    boxes = {out._function: tuple([(0, n - 1) for n in size])}
    return recomputed([out._function], boxes, {})[f._function]


def _both(make: Make, size: Sequence[int]) -> tuple[float, float]:
    """The factor that is found, and the counted one."""
    counter = _Counter()
    out, f = make(counter.function)
    found = _factor(out, f, size)
    inlined = counter.during(out, size)
    f.compute_root()
    return found, inlined / counter.during(out, size)


@pytest.mark.filterwarnings("ignore::parhelion.RecomputeWarning")
@pytest.mark.parametrize("name", CASES)
def test_the_factor_is_as_counted(name: str) -> None:
    found, counted = _both(CASES[name], (40, 30))
    assert found == pytest.approx(counted)


@pytest.mark.filterwarnings("ignore::parhelion.RecomputeWarning")
def test_conditions_of_reductions_are_sampled() -> None:
    found, counted = _both(_triangle, (40, 1))
    assert counted > 16
    assert found == pytest.approx(counted, rel=0.1)


@pytest.mark.filterwarnings("ignore::parhelion.RecomputeWarning")
def test_what_is_too_much_to_follow_is_not_exaggerated() -> None:
    found, counted = _both(_pyramid(2), (24, 24))
    assert 16 < found <= counted


@pytest.mark.filterwarnings("ignore::parhelion.RecomputeWarning")
def test_foreign_stages_count() -> None:
    computed = 0

    def add(pixels: hl.Buffer, out: hl.Buffer) -> None:
        nonlocal computed
        computed += np.asarray(out).size
        np.asarray(out)[...] = np.asarray(pixels)

    image = hl.Buffer(np.arange(1200, dtype=np.int32).reshape(30, 40))
    e, out = hl.funcs("e out")
    e.define_extern(add, [image], hl.Int(32), [x, y])
    out[x, y] = _added([e[x + a, y + b] for a in range(5) for b in (0, 4)])
    found = _factor(out, e, (30, 20))
    out.realize([30, 20])
    inlined, computed = computed, 0
    e.compute_root()
    out.realize([30, 20])
    assert found == pytest.approx(inlined / computed)
    assert found > 16


# The warning.


def _blurs() -> list[hl.Func]:
    """A product of sines and three blurs of it, one after the other."""
    waves, a, b, out = hl.funcs("waves a b out")
    waves[x, y] = hl.sin(hl.f32(x)) * hl.sin(hl.f32(y))
    for g, f in ((a, waves), (b, a), (out, b)):
        total = hl.f32(0)
        for dx, dy in BOX:
            total += f[x + dx, y + dy]
        g[x, y] = total
    return [waves, a, b, out]


def _caught(run: Callable[[], object]) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run()
    return list(caught)


def test_the_message_names_the_func_the_factor_and_the_call() -> None:
    out = _blurs()[-1]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        line = here()
        out.realize([200, 100])
    (one,) = caught
    assert one.category is hl.RecomputeWarning
    assert line is not None
    assert (one.filename, one.lineno) == (line.file, line.line + 1)
    assert str(one.message) == (
        "out has no schedule, so that everything is computed where it is used: waves"
        " about 45 times for each of its values; one call repairs it:"
        " hl.autoschedule(out, [200, 100])"
    )


def _call(run: Callable[[], object]) -> str:
    """The call that the one warning names."""
    (one,) = _caught(run)
    return str(one.message).split("one call repairs it: ")[1]


def test_where_all_can_be_scheduled_that_is_the_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(autoscheduling._SCHEDULERS, "Parhelion", "some:where")
    out = _blurs()[-1]
    assert _call(lambda: out.realize([200, 100])) == "hl.autoschedule(out, [200, 100])"
    waves, _, _, last = _blurs()
    both = _call(lambda: hl.Pipeline([last, waves]).realize([30, 20]))
    assert both == "hl.autoschedule([out, waves], [30, 20])"
    monkeypatch.delitem(autoscheduling._SCHEDULERS, "Parhelion")
    last = _blurs()[-1]
    assert _call(lambda: last.realize([200, 100])) == "waves.compute_root()"


def test_the_call_repairs_it() -> None:
    """Whichever it is: where it is made before the first run, there is no warning."""
    waves, _, _, out = _blurs()
    call = _call(lambda: out.realize([40, 30]))
    waves, _, _, out = _blurs()
    eval(call, {"hl": hl, "out": out, "waves": waves})
    assert not _caught(lambda: out.realize([40, 30]))


def test_one_warning_for_a_pipeline() -> None:
    waves, _, _, out = _blurs()
    assert len(_caught(lambda: out.realize([20, 20]))) == 1
    assert not _caught(lambda: out.realize([200, 100]))
    assert not _caught(lambda: out.realize(hl.Buffer(hl.Float(32), [64, 64])))
    assert not _caught(lambda: hl.Pipeline([out]).realize([20, 20]))
    assert not _caught(lambda: hl.Pipeline([out, waves]).realize([20, 20]))


def test_new_code_is_looked_at_anew() -> None:
    """What had few pixels per value gets many by another definition."""
    f, out = hl.funcs("f out")
    r = hl.RDom([(0, 40)])
    f[x] = hl.sin(hl.f32(x)) * 2
    out[x] = f[x]
    assert not _caught(lambda: out.realize([50]))
    out[x] += f[x + r.x]
    (one,) = _caught(lambda: out.realize([50]))
    assert "f about 23 times" in str(one.message)


def test_the_other_ways_to_run() -> None:
    out = _blurs()[-1]
    assert len(_caught(lambda: out.realize(hl.Buffer(hl.Float(32), [30, 20])))) == 1

    other = _blurs()[-1]
    # Sizes are known when it runs.
    assert not _caught(other.compile_jit)
    assert len(_caught(lambda: other.realize([30, 20]))) == 1

    image, gain = hl.ImageParam(hl.Float(32), 2), hl.Param(hl.Int(32))
    f, last = hl.funcs("f last")
    f[x, y] = hl.sin(image[x, y] * gain)
    r = hl.RDom([(0, gain), (0, gain)])
    last[x, y] = hl.sum(r, f[x + r.x, y + r.y])
    call = last.compile_to_callable([image, gain])
    pixels, result = np.ones((40, 40), np.float32), np.zeros((20, 30), np.float32)
    (one,) = _caught(lambda: call(pixels, 6, result))
    assert "f about 25 times for each of its values" in str(one.message)
    assert not _caught(lambda: call(pixels, 6, result))


DIRECTIVES: dict[str, Callable[[list[hl.Func]], object]] = {
    "compute_root": lambda fs: fs[1].compute_root(),
    "compute_inline": lambda fs: fs[0].compute_inline(),
    "compute_root of the output": lambda fs: fs[3].compute_root(),
    "parallel": lambda fs: fs[3].parallel(y),
    "unscheduled": lambda fs: fs[3].unscheduled(),
    "reorder_storage": lambda fs: fs[3].reorder_storage(y, x),
    "bound": lambda fs: fs[3].bound(x, 0, 40),
    "memoize": lambda fs: fs[2].compute_root().memoize(),
    "specialize": lambda fs: fs[3].specialize(fs[3].output_buffer().width() > 3),
    "in_": lambda fs: fs[1].in_().compute_root(),
}


@pytest.mark.filterwarnings("ignore::parhelion.ScheduleWarning")
@pytest.mark.parametrize("name", DIRECTIVES)
def test_any_directive_is_a_schedule(name: str) -> None:
    funcs = _blurs()
    DIRECTIVES[name](funcs)
    found = _caught(lambda: funcs[3].realize([40, 40]))
    assert not [w for w in found if w.category is hl.RecomputeWarning]


def test_estimates_and_tracing_are_no_schedule(
    capfd: pytest.CaptureFixture[str],
) -> None:
    waves, _, _, out = _blurs()
    out.set_estimates([(0, 40), (0, 40)])
    waves.trace_stores()
    assert len(_caught(lambda: out.realize([40, 40]))) == 1


def _window(f: hl.Func, n: int) -> hl.Func:
    out = hl.Func("out")
    total = hl.f32(0)
    for k in range(n):
        total += f[x + k, y]
    out[x, y] = total
    return out


def _quiet() -> Iterator[tuple[str, hl.Func]]:
    f = hl.Func("f")
    f[x, y] = hl.sin(hl.f32(x)) * y
    yield "16 times", _window(f, 16)
    image = hl.Buffer(np.ones((40, 4000), np.uint8))
    edge = hl.BoundaryConditions.constant_exterior(image, hl.u8(3))
    copy = hl.Func("copy")
    copy[x, y] = hl.f32(edge[x, y])
    yield "no dearer than loads", _window(copy, 40)
    plain = hl.Func("plain")
    plain[x, y] = hl.f32(x + y)
    yield "one addition", _window(plain, 40)
    yield "a single Func", f


@pytest.mark.parametrize("name", [name for name, _ in _quiet()])
def test_little_is_not_warned_of(name: str) -> None:
    out = dict(_quiet())[name]
    out.realize([3000, 30])


def test_seventeen_times_is_much() -> None:
    f = hl.Func("f")
    f[x, y] = hl.sin(hl.f32(x)) * y
    (one,) = _caught(lambda: _window(f, 17).realize([3000, 30]))
    assert "f about 17 times" in str(one.message)


def _integral(n: int) -> hl.Func:
    """Mean values by an integral image, nothing of which has a schedule."""
    image = hl.Buffer(np.ones((n + 5, n + 5), np.float32))
    r = hl.RDom([(1, n + 4)])
    rows, both, mean = hl.funcs("rows integral mean")
    rows[x, y] = image[x, y]
    rows[r, y] += rows[r - 1, y]
    both[x, y] = rows[x, y]
    both[x, r] += both[x, r - 1]
    mean[x, y] = both[x + 5, y + 5] - both[x, y + 5] - both[x + 5, y] + both[x, y]
    return mean


@pytest.fixture
def limit() -> Iterator[None]:
    yield
    hl.set_recompute_limit(None)


def test_what_would_take_for_ever_is_refused() -> None:
    mean = _integral(4000)
    with pytest.raises(hl.ScheduleError) as caught:
        mean.realize([4000, 4000])
    said = str(caught.value)
    assert "mean has no schedule" in said and "the limit is 100,000,000,000" in said
    assert "rows about" in said or "integral about" in said
    assert "mean.realize([4000, 4000])" in said  # the user's line
    assert "one call repairs it: hl.autoschedule(mean, [4000, 4000])" in said
    # Again, as the pipeline is the same; less of it is no more than a warning.
    with pytest.raises(hl.ScheduleError, match="the limit is"):
        mean.realize([4000, 4000])
    with pytest.raises(hl.ScheduleError, match="the limit is"):
        mean.compile_to_callable([])(np.zeros((4000, 4000), np.float32))


def test_the_call_that_repairs_it_does(limit: None) -> None:
    hl.set_recompute_limit(100_000)
    mean = _integral(40)
    with pytest.raises(hl.ScheduleError, match="one call repairs it") as caught:
        mean.realize([40, 40])
    call = caught.value.hint.partition("repairs it: ")[2].partition(";")[0]
    assert call == "hl.autoschedule(mean, [40, 40])"
    hl.autoschedule(mean, [40, 40])
    made = mean.realize([40, 40])
    assert isinstance(made, hl.Buffer)
    assert np.array_equal(np.asarray(made), np.full((40, 40), 25, np.float32))


def test_the_limit_can_be_raised(limit: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_RECOMPUTE_LIMIT", "100000")
    assert hl.get_recompute_limit() == 100_000
    with pytest.raises(hl.ScheduleError, match="the limit is 100,000") as caught:
        _integral(40).realize([40, 40])
    assert "hl.set_recompute_limit(10 ** " in caught.value.hint
    power = int(caught.value.hint.partition("10 ** ")[2].rstrip(")"))
    assert hl.set_recompute_limit(10**power) == 100_000
    (one,) = _caught(lambda: _integral(40).realize([40, 40]))
    assert one.category is hl.RecomputeWarning


def test_work_that_is_needed_is_not_limited(limit: None) -> None:
    """A Func that is read once is not computed again, however large it is."""
    hl.set_recompute_limit(0)
    f, g = hl.funcs("f g")
    f[x, y] = hl.sin(hl.f32(x * y))
    g[x, y] = f[x, y] * 2
    g.realize([1000, 100])


def test_the_limit_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in (-1, 1.5, True, 10**19, "3"):
        with pytest.raises(hl.ScheduleError, match="a number of them up to"):
            hl.set_recompute_limit(wrong)  # type: ignore[arg-type]
    monkeypatch.setenv("PARHELION_RECOMPUTE_LIMIT", "many")
    with pytest.warns(UserWarning, match="'many' is no whole number of values"):
        assert hl.get_recompute_limit() == 10**11


def test_factors_have_two_digits() -> None:
    assert [shown(n) for n in (16.6, 99.6, 123, 4096, 1234567)] == [
        "17",
        "100",
        "120",
        "4,100",
        "1,200,000",
    ]
