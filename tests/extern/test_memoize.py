"""memoize: results are found again; foreign stages count how often they are made."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret
from parhelion.ir.text import text
from parhelion.lower.passes import Trace, lower
from parhelion.runtime import memo
from parhelion.schedule.legality import resolve
from tests.support.spec import spec_of

x, y = hl.Var("x"), hl.Var("y")


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    hl.memoization_cache_cleanup()
    yield
    hl.memoization_cache_set_size(0)
    hl.memoization_cache_cleanup()


class Counted:
    """A Func that counts how often it is computed, and one that copies it, memoized."""

    def __init__(self, key: hl.EvictionKey | None = None) -> None:
        self.calls = 0
        self.gain = hl.Param(hl.Int(32), "gain")
        self.gain.set(3)
        self.other = hl.Param(hl.Int(32), "other")
        self.other.set(1)
        self.slow, self.f, self.o = hl.Func("slow"), hl.Func("f"), hl.Func("o")
        self.slow.define_extern(self.run, [self.gain], hl.Int(32), [x, y])
        self.f[x, y] = self.slow[x, y] + 1
        self.o[x, y] = self.f[x, y] * self.other
        self.f.compute_root().memoize(*(() if key is None else (key,)))
        self.slow.compute_at(self.f, hl.Var.outermost())

    def run(self, gain: int, out: hl.Buffer) -> None:
        self.calls += 1
        w, h = out.dim(0), out.dim(1)
        rows = np.arange(h.min(), h.max() + 1)[:, None]
        np.asarray(out)[...] = (np.arange(w.min(), w.max() + 1) + 100 * rows) * gain

    def check(self, w: int, h: int) -> None:
        made = np.asarray(self.o.realize([w, h]))
        grid = np.arange(w) + 100 * np.arange(h)[:, None]
        gain, other = self.gain.get(), self.other.get()
        assert gain is not None and other is not None
        np.testing.assert_array_equal(made, (grid * gain + 1) * other)


def test_a_second_run_finds_the_first() -> None:
    c = Counted()
    for _ in range(3):
        c.check(8, 5)
    assert c.calls == 1


def test_region_and_parameters_are_the_key() -> None:
    c = Counted()
    c.check(8, 5)
    c.check(9, 5)
    assert c.calls == 2
    c.gain.set(4)
    c.check(8, 5)
    assert c.calls == 3
    c.gain.set(3)
    c.check(8, 5)
    assert c.calls == 3
    c.other.set(7)  # f does not depend on it
    c.check(8, 5)
    assert c.calls == 3


def test_other_programs_have_their_own() -> None:
    one, two = Counted(), Counted()
    one.check(8, 5)
    two.check(8, 5)
    assert (one.calls, two.calls) == (1, 1)


def test_eviction_by_key() -> None:
    c, d = Counted(hl.EvictionKey(5)), Counted(hl.EvictionKey(hl.i32(6)))
    c.check(8, 5)
    d.check(8, 5)
    hl.memoization_cache_evict(5)
    c.check(8, 5)
    d.check(8, 5)
    assert (c.calls, d.calls) == (2, 1)


def test_eviction_by_size_drops_the_longest_unused() -> None:
    c = Counted()
    hl.memoization_cache_set_size(3 * 4096)
    for w in (1000, 1001, 1002):  # one row of int32: about 4096 bytes each
        c.check(w, 1)
    c.check(1000, 1)
    c.check(1003, 1)  # 1001 has to go
    assert c.calls == 4
    told = hl.memoization_cache_statistics()
    assert told.bytes <= 3 * 4096 and told.entries == 3
    c.check(1000, 1)
    assert c.calls == 4
    c.check(1001, 1)
    assert c.calls == 5
    hl.memoization_cache_set_size(4100)
    assert hl.memoization_cache_statistics().entries == 1


def test_larger_than_the_cache() -> None:
    """It is used, and let go of, but not found again."""
    c = Counted()
    hl.memoization_cache_set_size(64)
    c.check(50, 50)
    c.check(50, 50)
    assert c.calls == 2
    assert hl.memoization_cache_statistics().bytes == 0


def test_in_a_loop_and_with_tuples() -> None:
    calls = []

    def run(low: hl.Buffer, high: hl.Buffer) -> None:
        calls.append(low.dim(1).min())
        np.asarray(low)[...] = np.arange(low.dim(0).extent())
        rows = np.arange(low.dim(1).min(), low.dim(1).max() + 1)
        np.asarray(high)[...] = rows[:, None]

    def make(parallel: bool) -> hl.Func:
        e, f, o = hl.Func("e"), hl.Func("f"), hl.Func("o")
        e.define_extern(run, [], [hl.UInt(8), hl.Float(64)], [x, y])
        f[x, y] = (e[x, y][0], e[x, y][1] * 2)
        o[x, y] = f[x, y][0] + f[x, y][1]
        f.compute_at(o, y).memoize()
        e.compute_at(f, hl.Var.outermost())
        if parallel:
            o.parallel(y)
        return o

    for parallel in (False, True):
        calls.clear()
        o = make(parallel)
        wanted = interpret(o._function, [(0, 6), (0, 9)])[0].T
        calls.clear()
        for _ in range(3):
            np.testing.assert_array_equal(np.asarray(o.realize([6, 9])), wanted)
        assert sorted(calls) == list(range(9))


def test_an_error_keeps_nothing() -> None:
    broken = [True]

    def run(out: hl.Buffer) -> None:
        if broken[0]:
            raise OSError("not now")
        np.asarray(out)[...] = 4

    e, f, o = hl.Func("e"), hl.Func("f"), hl.Func("o")
    e.define_extern(run, [], hl.Int(32), [x])
    f[x] = e[x]
    o[x] = f[x] + 1
    f.compute_root().memoize()
    e.compute_at(f, hl.Var.outermost())
    with pytest.raises(OSError, match="not now"):
        o.realize([3])
    assert hl.memoization_cache_statistics().entries == 0
    broken[0] = False
    assert np.asarray(o.realize([3])).tolist() == [5, 5, 5]


def test_tags_stand_for_images() -> None:
    image, version = hl.ImageParam(hl.Int(32), 1, "image"), hl.Param(hl.Int(32), "v")
    f, o = hl.Func("f"), hl.Func("o")
    f[x] = hl.memoize_tag(image[x] * 2, version)
    o[x] = f[x] + 1
    f.compute_root().memoize()
    image.set(np.arange(4, dtype=np.int32))
    version.set(1)
    assert np.asarray(o.realize([4])).tolist() == [1, 3, 5, 7]
    image.set(np.arange(10, 14, dtype=np.int32))
    assert np.asarray(o.realize([4])).tolist() == [1, 3, 5, 7]  # the tag is the same
    version.set(2)
    assert np.asarray(o.realize([4])).tolist() == [21, 23, 25, 27]
    assert interpret(o._function, [(0, 2)])[0].tolist() == [21, 23]


def test_floats_in_the_key() -> None:
    gain = hl.Param(hl.Float(32), "gain")
    f, o = hl.Func("f"), hl.Func("o")
    f[x] = hl.f32(x) * gain
    o[x] = f[x]
    f.compute_root().memoize()
    for value in (0.5, 0.25, -0.5, 0.5):
        gain.set(value)
        assert np.asarray(o.realize([3])).tolist() == [0, value, 2 * value]
    assert hl.memoization_cache_statistics().entries == 3


def test_threads_share_it() -> None:
    c = Counted()
    c.o.compile_jit()
    call = c.o.compile_to_callable([c.gain, c.other])
    wrong: list[int] = []

    def work(k: int) -> None:
        for i in range(30):
            out = np.zeros((5, 8 + (i + k) % 3), np.int32)
            call(3, k, out)
            grid = np.arange(out.shape[1]) + 100 * np.arange(5)[:, None]
            if not (out == (grid * 3 + 1) * k).all():
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    assert 3 <= c.calls <= 12  # several may miss at once


def test_a_dropped_entry_lives_while_it_is_used() -> None:
    """The consumer evicts everything while it reads."""

    def evict(given: hl.Buffer, out: hl.Buffer) -> None:
        hl.memoization_cache_cleanup()
        np.asarray(out)[...] = given

    f, e, o = hl.Func("f"), hl.Func("e"), hl.Func("o")
    f[x] = x * 3
    e.define_extern(evict, [f], hl.Int(32), [x])
    o[x] = e[x] + f[x]
    f.compute_root().memoize()
    e.compute_root()
    for _ in range(2):
        assert np.asarray(o.realize([4])).tolist() == [0, 6, 12, 18]


def test_out_of_memory_names_the_func(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*given: object) -> None:
        raise MemoryError

    monkeypatch.setattr(memo, "_made", none)
    f, o = hl.Func("huge"), hl.Func("o")
    f[x] = hl.Tuple(x, hl.u8(x))
    o[x] = f[x][0] + f[x][1]
    f.compute_root().memoize()
    with pytest.raises(hl.OutOfMemoryError) as error:
        o.realize([10])
    assert error.value.what == (
        f"out of memory: Func {f.name()!r} needs 50 bytes of storage"
    )
    assert not memo._CACHE.used


def test_the_lowered_text_shows_it() -> None:
    f, o = hl.Func("f"), hl.Func("o")
    f[x] = x
    o[x] = f[x]
    f.compute_root().memoize()
    text = hl.Pipeline(o).lowered_text()
    assert "memo_find" in text and "in cache" in text and "memo_store" in text
    with pytest.raises(hl.HalideError, match="memoized"):
        hl.Pipeline(o).c_text()


def refused(o: hl.Func) -> str:
    with pytest.raises(hl.ScheduleError) as error:
        resolve(spec_of(o))
    return error.value.what


def pair() -> tuple[hl.Func, hl.Func]:
    f, o = hl.Func("f"), hl.Func("o")
    f[x, y] = x + y
    o[x, y] = f[x, y] + f[x, y + 1]
    return f, o


def test_where_it_cannot_be() -> None:
    f, o = pair()
    f.memoize()
    assert refused(o) == (
        f"{f.name()}.memoize(): {f.name()} is inlined and has no storage to keep"
    )
    f, o = pair()
    f.store_root().compute_at(o, y).memoize()
    assert refused(o) == (
        f"{f.name()}.memoize(): the storage of {f.name()} is made for more than one"
        " computation of it, and a result is kept as a whole"
    )
    image = hl.ImageParam(hl.Int(32), 2, "pixels")
    f, o = hl.Func("f"), hl.Func("o")
    f[x, y] = image[x, y]
    o[x, y] = f[x, y]
    f.compute_root().memoize()
    assert refused(o) == (
        f"{f.name()}.memoize(): {f.name()} depends on the pixels of the image "
        f"{image.name()}, which no key can hold"
    )
    f, o = pair()
    f.compute_at(o, x).memoize()
    o.bound(x, 0, 4).vectorize(x)
    assert refused(o) == (
        f"{f.name()}.memoize(): {f.name()} is computed inside the vectorized loop x of"
        f" {o.name()}, where it has no storage of its own"
    )
    with pytest.raises(hl.ScheduleError, match="takes an EvictionKey, not 3"):
        f.memoize(3)  # type: ignore[arg-type]
    with pytest.raises(hl.TypeMismatchError, match="depends on x"):
        hl.memoize_tag(x, x + 1)
    with pytest.raises(hl.BoundsError, match="a number of bytes, not -1"):
        hl.memoization_cache_set_size(-1)


def test_an_output_is_not_kept() -> None:
    f = hl.Func("f")
    f[x] = x
    f.memoize()
    with pytest.warns(UserWarning, match="memoize.. has no effect"):
        f.realize([3])


@pytest.mark.parametrize("hits", ["some", "none"])
@pytest.mark.parametrize("stored", ["root", "rows"])
def test_no_window_slides_past_a_hit(stored: str, hits: str) -> None:
    """Iterations whose result is known compute nothing that the next one could use."""
    p, f, o = hl.Func("p"), hl.Func("f"), hl.Func("o")
    p[x, y] = x * 3 + y * y
    f[x, y] = p[x, y] + p[x + 1, y] * 5 + p[x, y + 1] * 7
    o[x, y] = f[x, y] - x
    if stored == "root":
        f.compute_at(o, y).memoize()
        p.store_root().compute_at(f, y)
    else:
        f.compute_at(o, x).memoize()
        p.store_at(o, y).compute_at(f, y)
    run = o.compile_to_callable([])
    for w, h in ((5, 4), (9, 4), (9, 8)):
        if hits == "none":
            hl.memoization_cache_cleanup()
        made = np.zeros((h, w), np.int32)
        run(made)
        (want,) = interpret(o._function, [(0, w), (0, h)])
        np.testing.assert_array_equal(made, want.T)


def test_storage_that_is_rounded_up_to_one_size_holds_different_values() -> None:
    """f is computed from 0 to x, its storage rounded up to 16: the update of what is
    past x is blended away, and a longer piece must not find it."""
    f, o = hl.Func("f"), hl.Func("o")
    f[x] = x
    f[x] += 100
    o[x] = f[0] + f[x]
    f.compute_at(o, x).memoize()
    f.update().vectorize(x, 16, hl.TailStrategy.RoundUpAndBlend)
    (want,) = interpret(o._function, [(0, 12)])
    for _ in range(2):
        np.testing.assert_array_equal(np.asarray(o.realize([12])), want)


def test_a_window_slides_inside_of_what_is_kept() -> None:
    p, f, o = hl.Func("p"), hl.Func("f"), hl.Func("o")
    p[x, y] = x * 3 + y * y
    f[x, y] = p[x, y] + p[x, y + 1]
    o[x, y] = f[x, y] - x
    f.compute_root().memoize()
    p.store_root().compute_at(f, y)
    trace = Trace()
    lower(spec_of(o), name="o", trace=trace)
    (nest,) = [s for name, s, _ in trace if name == "loop_nests"]
    # Each row but the first computes one row of p, the last that it needs.
    assert re.search(r"select\(likely\(\S+ < f\S*\.s0\.y\)", text(nest))


class Signal(Exception):
    """What the handler of a signal raises, in the main thread, at any step."""


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", ["find", "store", "release"])
def test_handlers_of_signals_raise_out_of_the_run(
    step: str, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = Counted()
    counted.f.compute_at(counted.o, y)
    wanted = np.asarray(counted.o.realize([4, 3])).copy()
    hl.memoization_cache_cleanup()
    real = getattr(memo._Cache, step)
    raised: list[str] = []

    def interrupted(*args: object) -> object:
        if raised:
            return real(*args)
        raised.append(step)
        if late:
            real(*args)
        raise Signal

    monkeypatch.setattr(memo._Cache, step, interrupted)
    with pytest.raises(Signal):
        counted.o.realize([4, 3])
    assert not memo._CACHE.used
    np.testing.assert_array_equal(np.asarray(counted.o.realize([4, 3])), wanted)
    assert not memo._CACHE.used
    assert memo._CACHE.told.bytes == sum(e.bytes for e in memo._CACHE.entries.values())
