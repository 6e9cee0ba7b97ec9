"""`set_coverage`: what users say of how much is read, and what becomes of it."""

from __future__ import annotations

import pickle
from functools import cache
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.autoschedule.search.on_demand import share_touched
from parhelion.schedule.directives import Coverage
from tests.support.spec import spec_of

x, y, k = hl.vars("x y k")
W, H, SIDE = 1200, 900, 128
IMAGE = np.random.default_rng(4).random((H + 8, W + 8)).astype(np.float32)
CORNERS = np.array([[40, 300, 700], [11, 500, 700]], np.int32)


def windows() -> tuple[hl.Func, hl.Func]:
    """Three windows that show a tenth of a costly stage, and that stage."""
    f, out = hl.funcs("f windows")
    image, corners = hl.Buffer(IMAGE), hl.Buffer(np.ascontiguousarray(CORNERS.T))
    taps = [image[x + i, y + j] for i in range(7) for j in range(7)]
    # Other numbers at each point, so that neighbours have nothing in common.
    f[x, y] = sum([hl.sqrt(t + hl.f32(x)) for t in taps], hl.f32(0))
    left = hl.clamp(corners[0, k], 0, W - SIDE - 2)
    top = hl.clamp(corners[1, k], 0, H - SIDE - 2)
    around = [f[left + x + i, top + y + j] for i in range(3) for j in range(3)]
    out[x, y, k] = sum(around, hl.f32(0))
    return f, out


def demand(result: Any) -> Any:
    """The one decision that is about the estimate."""
    (found,) = [d for d in result.explain() if d.kind == "demand"]
    return found


@pytest.fixture(scope="module")
def expected() -> Any:
    f, out = windows()
    f.compute_root()
    return np.asarray(out.realize([SIDE, SIDE, 3]))


def test_little_is_computed_on_demand(expected: Any) -> None:
    f, out = windows()
    f.set_coverage(0.05, patch=(SIDE, SIDE))
    result = hl.autoschedule(out, [SIDE, SIDE, 3])
    schedule = f._function.schedule
    assert schedule.on_demand and schedule.tile
    found = demand(result)
    assert found.func == f.name() and found.chosen.label.startswith("on demand, tiles")
    assert "set_coverage says that 5% of it is read" in found.reason
    assert {o.label.split(",")[0] for o in found.options} >= {"on demand"}
    np.testing.assert_array_equal(np.asarray(out.realize([SIDE, SIDE, 3])), expected)
    assert not [note for note in result.notes if "compute_lazy" in note]


def test_all_is_computed_as_a_whole(expected: Any) -> None:
    f, out = windows()
    f.set_coverage(1)
    result = hl.autoschedule(out, [SIDE, SIDE, 3])
    assert not f._function.schedule.on_demand
    assert "on demand" not in demand(result).chosen.label
    np.testing.assert_array_equal(np.asarray(out.realize([SIDE, SIDE, 3])), expected)


def test_every_option_computes_the_same(expected: Any) -> None:
    f, out = windows()
    f.set_coverage(0.05)
    result = hl.autoschedule(out, [SIDE, SIDE, 3])
    found = demand(result)
    others = [o for o in found.options if o is not found.chosen]
    assert "on demand, values" in [o.label for o in others] and len(others) == 2
    for option in others:
        result.alternative(found, option).apply()
        got = np.asarray(out.realize([SIDE, SIDE, 3]))
        np.testing.assert_array_equal(got, expected)


def test_the_program_that_is_printed_does_the_same() -> None:
    f, out = windows()
    f.set_coverage(0.05, patch=(SIDE, SIDE))
    result = hl.autoschedule(out, [SIDE, SIDE, 3])
    program = result.to_python()
    assert ".compute_lazy([" in program
    g, other = windows()
    names: dict[str, Any] = {}
    exec(program, names)
    names["schedule"](hl.Pipeline([other]))
    assert g._function.schedule.tile == f._function.schedule.tile


def test_stages_below_are_computed_for_the_tile() -> None:
    """Where that takes less than computing all of them, or computing them anew."""
    image = hl.Buffer(IMAGE)
    f, g, out = hl.funcs("f g windows")
    g[x, y] = sum([hl.exp(image[x + i, y]) for i in range(8)], hl.f32(0))
    f[x, y] = sum([g[x, y + j] for j in range(8)], hl.f32(0))
    corners = hl.Buffer(np.ascontiguousarray(CORNERS.T))
    left = hl.clamp(corners[0, k], 0, W - SIDE)
    top = hl.clamp(corners[1, k], 0, H - SIDE)
    out[x, y, k] = f[left + x, top + y]
    expected = np.asarray(out.realize([SIDE, SIDE, 3]))
    f.set_coverage(0.05)
    hl.autoschedule(out, [SIDE, SIDE, 3])
    assert f._function.schedule.on_demand
    inside = g._function.schedule.compute
    assert inside.func is f._function
    np.testing.assert_array_equal(np.asarray(out.realize([SIDE, SIDE, 3])), expected)


def test_what_the_user_has_placed_stays() -> None:
    f, out = windows()
    f.set_coverage(0.05).compute_root()
    hl.autoschedule(out, [SIDE, SIDE, 3])
    assert not f._function.schedule.on_demand


def test_where_it_is_refused_the_rest_is_found() -> None:
    """A definition that prints may not be computed on demand."""
    f, out = hl.funcs("f out")
    f[x] = hl.print_when(x == 900, x * 2)
    out[x] = f[hl.clamp(x * x % 1000, 0, 999)]
    f.set_coverage(0.01)
    result = hl.autoschedule(out, [20])
    assert not f._function.schedule.on_demand
    assert not [n for n in result.notes if "fails" in n or "no legal schedule" in n]
    assert np.asarray(out.realize([20]))[7] == 98


def test_the_estimate_is_copied_and_pickled() -> None:
    f, out = windows()
    f.set_coverage(0.25, patch=[64, None])
    spec = spec_of(out)
    again = pickle.loads(pickle.dumps(spec))
    (kept,) = [g for g in again.order if g.label == f.name()]
    coverage = kept.schedule.coverage
    assert coverage is not None
    assert (coverage.fraction, coverage.patch) == (0.25, (64, None))


@pytest.mark.parametrize("fraction", [0, -0.1, 1.01, float("nan"), "0.1", True, None])
def test_what_is_no_fraction(fraction: Any) -> None:
    f, _ = windows()
    with pytest.raises(hl.ScheduleError, match="a number above 0, and at most 1") as e:
        f.set_coverage(fraction)
    assert "a tenth is 0.1" in str(e.value) and __file__ in str(e.value)


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        (64, "a patch is the extents of the first dimensions"),
        ((), "a patch is the extents of the first dimensions"),
        ((1, 2, 3), "a patch of 3 dimensions, but f has 2"),
        ((0, 4), "each extent of a patch is an integer from 1"),
        ((2.5,), "each extent of a patch is an integer from 1"),
    ],
)
def test_what_is_no_patch(patch: Any, said: str) -> None:
    f, _ = windows()
    with pytest.raises(hl.ScheduleError, match=said):
        f.set_coverage(0.1, patch)


def test_an_undefined_func() -> None:
    with pytest.raises(hl.HalideError, match="f"):
        hl.Func("f").set_coverage(0.1)


TILES = [(1, 1), (16, 4), (64, 16)]


@cache
def touched(piece: tuple[int, int]) -> tuple[dict[tuple[int, int], float], float]:
    """Which share of tiles of each size patches at random places touch, and which share
    of an image they cover, in the mean."""
    random = np.random.default_rng(3)
    shape, c = (1024, 1024), 0.15
    shares: dict[tuple[int, int], list[float]] = {size: [] for size in TILES}
    covered = []
    for _ in range(12 if piece[0] < 100 else 60):
        mask = np.zeros(shape, bool)
        count = round(-np.log(1 - c) * mask.size / (piece[0] * piece[1]))
        # They may begin before the image, and be cut off.
        lefts = random.integers(1 - piece[0], shape[1], 2 * count)
        tops = random.integers(1 - piece[1], shape[0], 2 * count)
        area = (shape[1] + piece[0]) * (shape[0] + piece[1]) / mask.size
        for i, j in zip(lefts[: round(count * area)], tops, strict=False):
            mask[max(j, 0) : j + piece[1], max(i, 0) : i + piece[0]] = True
        for size, found in shares.items():
            tiles = mask.reshape(1024 // size[1], size[1], 1024 // size[0], size[0])
            found.append(tiles.any(axis=(1, 3)).mean())
        covered.append(mask.mean())
    means = {size: float(np.mean(found)) for size, found in shares.items()}
    return means, float(np.mean(covered))


@pytest.mark.parametrize("size", TILES)
@pytest.mark.parametrize("piece", [(1, 1), (7, 30), (256, 64)])
def test_tiles_that_patches_touch(
    size: tuple[int, int], piece: tuple[int, int]
) -> None:
    """As many as patches at random places do."""
    shares, covered = touched(piece)
    told = share_touched(Coverage(covered, piece), size, (1024, 1024))
    assert shares[size] == pytest.approx(told, rel=0.12)
