"""A measured search for tiles: what it tries, takes, tells, keeps and refuses."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import parhelion as hl
from parhelion.recfilter import RecFilter, RecFilterDim, Tuned
from parhelion.recfilter.measuring import Bench
from parhelion.recfilter.tuned import Way
from parhelion.recfilter.tuning import _Search
from parhelion.runtime import cache

W, H = 300, 200
rng = np.random.default_rng(8)
IMAGE: NDArray[np.uint32] = rng.integers(0, 1 << 31, (H, W), np.uint32)


def summed(source: Any = None, border: str = "zero") -> RecFilter:
    x, y = RecFilterDim("x", W), RecFilterDim("y", H)
    inp = hl.Buffer(IMAGE) if source is None else source
    f = RecFilter("f", border)
    f[x, y] = inp[x, y] if border == "zero" else hl.f32(inp[x, y])
    for direction in (+x, +y):
        f.add_filter(direction, [1, 1] if border == "zero" else [0.5, 0.5])
    return f


WANTED = IMAGE.cumsum(axis=0, dtype=np.uint32).cumsum(axis=1, dtype=np.uint32)


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of a cache that is on."""
    monkeypatch.setenv("PARHELION_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept"


def pretended(
    monkeypatch: pytest.MonkeyPatch, took: Callable[[Way], float | str | None]
) -> list[str]:
    """Has the search go by made-up times. Returns the ways that it asks for."""
    asked: list[str] = []

    def times(
        _: Bench, ways: Sequence[Any], step: Callable[[], None]
    ) -> list[float | str | None]:
        asked.extend([str(way) for way in ways])
        return [took(way) for way in ways]

    monkeypatch.setattr(_Search, "_making", lambda _, way: way)
    monkeypatch.setattr(Bench, "times", times)
    return asked


def test_what_is_found_is_taken() -> None:
    f = summed()
    found = f.autotune(seconds=20)
    assert isinstance(found, Tuned)
    assert list(found.seconds) == sorted(found.seconds) and not found.refused
    assert {str(w) for w in found.ways} >= {
        "whole lines",
        "x by 64, y by 64",
        "x by 64, y by 64, each in tiles of its own",
        "x by 128, y by 128",
    }
    np.testing.assert_array_equal(np.asarray(f.realize()), WANTED)


def test_each_way_gives_the_same_integers() -> None:
    ways = [Way({"x": None, "y": None}), Way({"x": 64, "y": 128})]
    ways += [Way({"x": 64, "y": 64}, True), Way({"x": 256, "y": None})]
    for way in ways:
        f = summed()
        _Search(f, 1.0, {}, "f.autotune").take(f, way)
        apart = not way.widths["x"] or not way.widths["y"] or way.apart
        told = [line for line in f.explain().splitlines() if line.startswith("along")]
        assert len(told) == (2 if apart else 1)
        np.testing.assert_array_equal(np.asarray(f.realize()), WANTED)


def test_a_split_afterwards_is_as_ever() -> None:
    f = summed()
    _Search(f, 1.0, {}, "f.autotune").take(f, Way({"x": 64, "y": 64}, True))
    x, y = f._dims
    f.split(x, 32, y, 32)
    assert f.explain().splitlines()[1].startswith("along x and y, in 70 tiles")


def test_the_search_goes_on_from_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    """Widths are tried one dimension at a time then."""

    def took(way: Way) -> float:
        wanted = {"x": 256, "y": 64}
        far = [abs(math.log2((way.widths[d] or 1) / w)) for d, w in wanted.items()]
        return 1.0 + way.apart + sum(far)

    asked = pretended(monkeypatch, took)
    found = summed().autotune()
    assert str(found.best) == "x by 256, y by 64"
    assert asked[:3] == [
        "whole lines",
        "x by 64, y by 64",
        "x by 64, y by 64, each in tiles of its own",
    ]
    assert "x by 256, y by 64" not in asked[:6] and "x by 256, y by 64" in asked
    assert len(found.ways) == len({str(way) for way in found.ways})


def test_ways_that_do_not_apply(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = pretended(monkeypatch, lambda way: 1.0)
    summed(border="mirror").autotune()
    assert asked and not [one for one in asked if "own" in one]
    asked.clear()
    t = RecFilterDim("t", 20_000)
    line = RecFilter("line")
    line[t] = hl.f32(t)
    line.add_filter(+t, [1, 2, -1])
    line.autotune()
    # Rounding errors of what any tile leaves behind grow up to the end of the line.
    assert asked == ["whole lines"]
    asked.clear()
    wide = RecFilter("wide")
    wide[t] = hl.f64(t)
    wide.add_filter(+t, [1, 2, -1])
    wide.autotune()
    # They have more digits to spare, in narrow tiles.
    assert asked == ["whole lines", *[f"t by {w}" for w in (64, 128, 256, 512, 1024)]]
    asked.clear()
    x, y = RecFilterDim("x", W), RecFilterDim("y", H)
    f, varying = RecFilter("f"), hl.f32(y) / H / 2
    f[x, y] = hl.f32(x)
    f.add_filter(+x, [1, varying])
    f.add_filter(+y, [0.5, 0.5])
    f.autotune()
    assert asked == ["whole lines", "y by 64", "y by 128"]


def test_what_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    times: dict[str, float | str | None] = {
        "whole lines": 0.004,
        "x by 64, y by 64": 0.0012345,
        "x by 64, y by 64, each in tiles of its own": "there is no memory",
    }
    pretended(monkeypatch, lambda way: times.get(str(way)))
    hl.set_num_threads(2)
    try:
        found = summed().autotune(7)
    finally:
        hl.set_num_threads(0)
    assert repr(found) == (
        "<parhelion.Tuned 'f': x by 64, y by 64, 1.23 ms, the fastest of 2 ways>"
    )
    lines = found.explain().splitlines()
    assert lines[:3] == [
        "f: 2 ways, on 2 threads",
        "  1.23 ms  x by 64, y by 64",
        "     4 ms  whole lines",
    ]
    assert lines[3].startswith("  not measured in 7 s: ")
    assert lines[4] == "  could not run: there is no memory"


def test_what_is_kept(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = pretended(monkeypatch, lambda way: 1.0 + bool(way.widths["x"]))
    first = summed().autotune()
    names = [p.name for p in kept.iterdir()]
    assert asked and [name for name in names if name.startswith("recfilter-")]
    asked.clear()
    f = summed()
    again = f.autotune()
    assert not asked and again == first and again.kept
    assert "kept from an earlier search" in again.explain()
    assert f._widths == {0: W, 1: H}
    # Other filters, sizes and numbers of threads are others.
    other = summed()
    other.add_filter(-other._dims[0], [1, 1])
    other.autotune()
    assert asked
    asked.clear()
    hl.set_num_threads(1)
    try:
        summed().autotune()
    finally:
        hl.set_num_threads(0)
    assert asked


def test_a_search_that_was_cut_off_goes_on(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = pretended(monkeypatch, lambda w: None if w.widths["x"] else 1.0)
    assert summed().autotune(5).left
    asked.clear()
    assert summed().autotune(5).kept and not asked
    assert not summed().autotune(50).kept and asked


def test_what_is_kept_is_not_believed_blindly(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = pretended(monkeypatch, lambda way: 1.0)
    summed().autotune()
    name = next(kept.glob("recfilter-*")).stem
    for wrong in (b"no json", b"{}", b'{"ways": [], "seconds": []}', b"\xff", b"7"):
        cache.store(name, wrong)
        asked.clear()
        assert not summed().autotune().kept and asked


def test_little_time() -> None:
    """One way is measured whatever the budget."""
    f = summed()
    found = f.autotune(1e-6)
    assert [str(w) for w in found.ways] == ["whole lines"]
    assert found.left == 5
    np.testing.assert_array_equal(np.asarray(f.realize()), WANTED)


def test_inputs() -> None:
    """Images are given, by ImageParams or by names, or random."""
    for given in (True, "inp", False):
        inp = hl.ImageParam(hl.UInt(32), 2, "inp")
        inputs: dict[object, object] = {}
        if given:
            inputs = {inp if given is True else given: IMAGE}
        f = summed(inp)
        f.autotune(1e-6, inputs)
        inp.set(hl.Buffer(IMAGE))
        np.testing.assert_array_equal(np.asarray(f.realize()), WANTED)
    with pytest.raises(hl.TypeMismatchError, match=r"f.autotune is given a value for"):
        summed().autotune(1, {"another": IMAGE})


@pytest.mark.parametrize(
    ("inputs", "why"),
    [
        ({"another": IMAGE}, "is given a value for 'another'"),
        ({"inp": IMAGE.astype(np.uint8)}, "is of type uint32; the buffer given is uin"),
        ({"inp": IMAGE[0]}, "has 2 dimensions; the buffer given has 1"),
        ([IMAGE], "inputs is a dict"),
    ],
)
def test_inputs_are_checked_where_nothing_is_measured(
    kept: Path, inputs: Any, why: str
) -> None:
    inp = hl.ImageParam(hl.UInt(32), 2, "inp")
    again: dict[object, object] = {"inp": IMAGE}
    summed(inp).autotune(1e-6, again)
    assert summed(inp).autotune(1e-6, again).kept
    with pytest.raises(hl.TypeMismatchError, match=why) as info:
        summed(inp).autotune(1e-6, inputs)
    assert info.value.at is not None and info.value.at.file == __file__


def test_what_is_told_of_one_way() -> None:
    x = RecFilterDim("x", 30)
    f = RecFilter("f")
    f[x] = hl.u32(x)
    f.add_filter(+x, [1, 1])
    found = f.autotune(np.float32(5))  # type: ignore[arg-type]
    assert found.explain().startswith("f: 1 way, on ")
    assert repr(found).endswith("the only way>")


def test_a_part_of_a_cascade_and_several_values() -> None:
    fx, fy = summed().cascade([0], [1])
    fx.autotune(1e-6)
    fy.autotune(1e-6)
    np.testing.assert_array_equal(np.asarray(fy.realize()), WANTED)
    x, inp = RecFilterDim("x", W * H), hl.Buffer(IMAGE.ravel())
    f = RecFilter("pair")
    f[x] = hl.Tuple(inp[x], inp[x] * 2)
    f.add_filter(+x, [1, 1])
    f.autotune(2)
    made = f.realize()
    assert isinstance(made, tuple)
    sums = IMAGE.ravel().cumsum(dtype=np.uint32)
    np.testing.assert_array_equal(np.asarray(made[0]), sums)
    np.testing.assert_array_equal(np.asarray(made[1]), sums * 2)


def test_a_progress_bar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    summed().autotune(1e-6, progress=True)
    assert "f: 6 ways" in capsys.readouterr().err
    summed().autotune(1e-6)
    assert not capsys.readouterr().err
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    summed().autotune(1e-6)
    with pytest.raises(hl.HalideError, match="drawn by click, which is not installed"):
        summed().autotune(1e-6, progress=True)


def test_a_bar_is_there_or_not() -> None:
    with pytest.raises(hl.TypeMismatchError, match="progress is True or False, not 3"):
        summed().autotune(1e-6, progress=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("budget", [0, -1, float("nan"), float("inf"), "5", True, None])
def test_no_budget(budget: Any) -> None:
    with pytest.raises(hl.ScheduleError, match="a positive number of seconds") as info:
        summed().autotune(budget)
    assert info.value.at is not None and info.value.at.file == __file__


def test_a_budget_that_is_never_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = pretended(monkeypatch, lambda way: 1.0)
    summed().autotune(10**400)
    assert asked


def test_what_is_refused() -> None:
    x, y = RecFilterDim("x", W), RecFilterDim("y", H)
    f = RecFilter("f")
    with pytest.raises(hl.DefinitionError, match="is not defined yet"):
        f.autotune()
    f[x, y] = hl.f32(x)
    with pytest.raises(hl.ScheduleError, match="has no recursive filter of constant"):
        f.autotune()
    f.add_filter(+x, [1, hl.f32(y) / 1000])
    with pytest.raises(hl.ScheduleError, match="no tiles to choose"):
        f.autotune()
    f.add_filter(+y, [0.5, 0.5])
    f.full_schedule().parallel(f.full())
    with pytest.raises(hl.ScheduleError, match="which are for its own stages"):
        f.autotune()
    f.realize()
    with pytest.raises(hl.DefinitionError, match="is tuned after as_func"):
        f.autotune()
