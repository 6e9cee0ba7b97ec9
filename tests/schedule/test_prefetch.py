"""`prefetch`: hints in the right places, which never change or touch anything."""

from __future__ import annotations

import re

import numpy as np
import pytest

import parhelion as hl
from parhelion.ir.reader import read_stmt
from parhelion.ir.text import symbols_of, text
from parhelion.lang.runner import Runner
from parhelion.lower.passes import Trace, lower
from parhelion.runtime.program import Variant
from parhelion.schedule.legality import resolve
from parhelion.schedule.rules import ScheduleWarning
from tests.support.spec import spec_of

x, y, xi, yi = (hl.Var(n) for n in ("x", "y", "xi", "yi"))
STRATEGIES = list(hl.PrefetchBoundStrategy)
strategies = pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: s.name)
PIXELS = np.random.default_rng(3).integers(0, 256, (67, 131)).astype(np.uint8)


def two() -> tuple[hl.ImageParam, hl.Func, hl.Func]:
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    p, o = hl.Func("p"), hl.Func("o")
    p[x, y] = hl.u16(image[x, y]) + image[x + 1, y + 1]
    o[x, y] = p[x, y] + 2 * p[x, y + 1]
    image.set(PIXELS)
    return image, p, o


def result() -> np.ndarray[tuple[int, ...], np.dtype[np.uint16]]:
    a = PIXELS.astype(np.uint16)
    p = a[:-1, :-1] + a[1:, 1:]
    return p[:-1] + 2 * p[1:]


def hints(f: hl.Func) -> list[str]:
    lowered = text(lower(spec_of(f), name="it").body)
    found = re.findall(r"prefetch (.*)", re.sub(r"\$\d+", "", lowered))
    return list(dict.fromkeys(found))


@strategies
@pytest.mark.parametrize("offset", [1, 5, 1000, -3])
def test_an_image(strategy: hl.PrefetchBoundStrategy, offset: int) -> None:
    image, p, o = two()
    p.compute_at(o, y).vectorize(x, 8)
    o.vectorize(x, 8).parallel(y).prefetch(image, y, y, offset, strategy)
    np.testing.assert_array_equal(np.asarray(o.realize([130, 65])), result())


@strategies
def test_a_func_in_tiles(strategy: hl.PrefetchBoundStrategy) -> None:
    _, p, o = two()
    p.compute_root()
    o.tile(x, y, xi, yi, 16, 8).vectorize(xi, 8)
    o.prefetch(p, x, x, 2, strategy).prefetch(p, yi, y, 1, strategy)
    assert any(h.startswith("p[") for h in hints(o))
    np.testing.assert_array_equal(np.asarray(o.realize([130, 65])), result())


@strategies
def test_inside_vectors_and_copies(strategy: hl.PrefetchBoundStrategy) -> None:
    image, _, o = two()
    o.vectorize(x, 4).prefetch(image, x, y, 1, strategy)
    o.unroll(y, 2).prefetch(image, y, y, 1, strategy)
    np.testing.assert_array_equal(np.asarray(o.realize([130, 65])), result())


def test_an_update() -> None:
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    r = hl.RDom([(0, 131), (0, 67)], "r")
    f = hl.Func("sums")
    f[x] = hl.u32(0)
    f[r.x] += hl.u32(image[r.x, r.y])
    f.update().prefetch(image, r.y, r.y, 2)
    image.set(PIXELS)
    assert hints(f)
    want = PIXELS.astype(np.uint32).sum(axis=0)
    np.testing.assert_array_equal(np.asarray(f.realize([131])), want)


def test_values_of_a_tuple_are_all_fetched() -> None:
    p, o = hl.Func("p"), hl.Func("o")
    p[x, y] = hl.Tuple(x, hl.f32(y))
    o[x, y] = p[x, y][0] + hl.i32(p[x, y][1])
    p.compute_root()
    o.prefetch(p, y, y)
    assert {h.split("[")[0] for h in hints(o)} == {"p.0", "p.1"}


# What the program says.


def code(f: hl.Func) -> tuple[str, str]:
    runner = Runner([f._function], "it")
    runner.refresh()
    compiled = runner.program(Variant()).call.compiled
    return compiled.text, compiled.assembly()


@strategies
def test_the_region(strategy: hl.PrefetchBoundStrategy) -> None:
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    o = hl.Func("o")
    o[x, y] = image[x, y] + image[x, y + 1]
    o.bound(x, 0, 64).prefetch(image, y, y, 3, strategy)
    trace = Trace()
    lower(spec_of(o), name="it", trace=trace)
    nests = text(next(s for name, s, _ in trace if name == "loop_nests"))
    (line,) = re.findall(r"prefetch_region .*", re.sub(r"\$\d+", "", nests))
    want = {
        "Clamp": "prefetch_region image([max(image.min.0, 0), min(image.extent.0 +"
        " image.min.0, 64) - max(image.min.0, 0)], [max(image.min.1, o.s0.y + 3),"
        " min(o.s0.y + 5, image.extent.1 + image.min.1) - max(image.min.1, o.s0.y"
        " + 3)])",
        "GuardWithIf": "prefetch_region image([0, 64], [o.s0.y + 3, 2])",
        "NonFaulting": "prefetch_region image([0, 64], [o.s0.y + 3, 2])",
    }
    assert line == want[strategy.name]
    guarded = re.search(r"if \(.*\) \{\n *prefetch_region", nests) is not None
    assert guarded == (strategy is hl.PrefetchBoundStrategy.GuardWithIf)


def test_the_text_is_read_back() -> None:
    image, p, o = two()
    p.compute_root()
    o.prefetch(p, y, y).prefetch(image, y, y)
    trace = Trace()
    with pytest.warns(ScheduleWarning, match="image has no effect"):
        lower(spec_of(o), name="it", trace=trace)
    for _, body, _ in trace:
        assert read_stmt(text(body), symbols_of(body)) is body


def test_the_instruction() -> None:
    image, _, o = two()
    o.prefetch(image, y, y, 2)
    llvm, assembly = code(o)
    assert "call void @llvm.prefetch.p0" in llvm
    assert re.search(r"prefetch(t|nta)", assembly)


# What is refused, and what has no effect.


def plain(error: hl.HalideError) -> str:
    lines = str(error).split("\n")
    kept = [s for s in lines if not s.startswith(("  --> ", "   |  "))]
    return re.sub(r"\b([A-Za-z]\w*)\$\d+\b", r"\1", "\n".join(kept))


def test_a_loop_that_is_not_there() -> None:
    image, _, o = two()
    with pytest.raises(hl.ScheduleError) as caught:
        o.prefetch(image, xi, y)
    assert plain(caught.value) == (
        "o.prefetch: o has no loop xi\nlegal here:\n  - x\n  - y"
    )


def test_looking_ahead_along_an_inner_loop() -> None:
    image, _, o = two()
    o.prefetch(image, y, x)
    with pytest.raises(hl.ScheduleError) as caught:
        resolve(spec_of(o))
    assert plain(caught.value) == (
        "o.prefetch of image: the loop x, to look ahead along, is inside the loop y,"
        " where the hint stands\nloops, innermost first: x, y"
    )


def test_a_loop_that_was_split_afterwards() -> None:
    image, _, o = two()
    o.prefetch(image, x, x).split(x, hl.Var("xo"), xi, 8)
    with pytest.raises(hl.ScheduleError) as caught:
        resolve(spec_of(o))
    assert plain(caught.value) == (
        "o.prefetch of image: o has no loop x any more\n"
        "loops, innermost first: xi, xo, y"
    )


def test_what_cannot_be_fetched() -> None:
    _, _, o = two()
    with pytest.raises(hl.ScheduleError) as caught:
        o.prefetch(o, y, y)
    assert plain(caught.value) == (
        "o.prefetch: o cannot foresee what it makes itself\n"
        "hint: prefetch takes a Func or ImageParam that the stage reads"
    )
    with pytest.raises(hl.ScheduleError, match="takes a Func or an ImageParam, not 3"):
        o.prefetch(3, y, y)  # type: ignore[arg-type]
    with pytest.raises(hl.ScheduleError, match="must be a PrefetchBoundStrategy"):
        o.prefetch(o, y, y, 1, "clamp")  # type: ignore[arg-type]


@pytest.mark.parametrize("place", ["inline", "inside", "elsewhere"])
def test_no_effect(place: str) -> None:
    image, p, o = two()
    what: hl.Func | hl.ImageParam = p
    why = "nothing inside the loop y reads it"
    if place == "inside":
        p.compute_at(o, y)
        why = "its storage lives inside the loop"
    elif place == "elsewhere":
        p.compute_root()
        what = image
    o.prefetch(what, y, y)
    with pytest.warns(ScheduleWarning, match=f"prefetch of .* has no effect: {why}"):
        lower(spec_of(o), name="it")


def test_the_loops_of_a_hint_are_there_in_each_branch() -> None:
    """A split in a branch takes the loop away that its hint looks ahead along."""
    x, y, outer, inner = hl.vars("x y outer inner")
    image, c = hl.ImageParam(hl.Int(32), 2, "image"), hl.Param(hl.Int(32), "c", 1)
    f = hl.Func("f")
    f[x, y] = image[x, y]
    f.prefetch(image, x, y, 2)
    f.specialize(c == 1).split(y, outer, inner, 4)
    with pytest.raises(hl.ScheduleError, match="f has no loop y any more"):
        hl.Pipeline(f).lowered_text()
