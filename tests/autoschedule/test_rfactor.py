"""Large reductions in parts: right results, and the directives that make them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret

x, y, c, i = hl.vars("x y c i")
W, H = 200, 180


def pixels(t: hl.Type, *more: int) -> hl.Buffer:
    rng = np.random.default_rng(4)
    return hl.Buffer(rng.integers(0, 200, (*more, H, W)).astype(t.to_numpy()))


def total() -> tuple[hl.Func, list[int]]:
    f, r, image = hl.Func("f"), hl.RDom([(0, W), (0, H)]), pixels(hl.UInt(8))
    f[()] = 0
    f[()] += hl.i32(image[r.x, r.y])
    return f, []


def largest() -> tuple[hl.Func, list[int]]:
    f, r, image = hl.Func("f"), hl.RDom([(0, W), (0, H)]), pixels(hl.UInt(16))
    f[()] = hl.u16(0)
    f[()] = hl.max(f[()], image[r.x, r.y])
    return f, []


def histogram() -> tuple[hl.Func, list[int]]:
    f, r, image = hl.Func("f"), hl.RDom([(0, W), (0, H)]), pixels(hl.UInt(8))
    f[i] = 0
    f[hl.i32(image[r.x, r.y])] += 1
    return f, [256]


def normalised() -> tuple[hl.Func, list[int]]:
    """By mean and variance, in integers."""
    r, image = hl.RDom([(0, W), (0, H)]), pixels(hl.Int(32))
    mean, variance, out = hl.funcs("mean variance out")
    mean[()] = hl.sum(image[r.x, r.y]) / (W * H)
    d = image[r.x, r.y] - mean[()]
    variance[()] = hl.sum(d * d) / (W * H)
    out[x, y] = (image[x, y] - mean[()]) * 100 / (variance[()] + 1)
    return out, [W, H]


def least() -> tuple[hl.Func, np.ndarray]:
    """Where the least value is: the first of several, so that the order counts."""
    values = np.random.default_rng(4).integers(3, 200, (500, W)).astype(np.uint8)
    f, r, image = hl.Func("f"), hl.RDom([(0, W), (0, 500)]), hl.Buffer(values)
    f[()] = hl.Tuple([hl.u8(255), -1, -1])
    better = image[r.x, r.y] < f[()][0]
    f[()] = hl.Tuple(
        [
            hl.select(better, image[r.x, r.y], f[()][0]),
            hl.select(better, r.x, f[()][1]),
            hl.select(better, r.y, f[()][2]),
        ]
    )
    return f, values


def lines() -> tuple[hl.Func, list[int]]:
    """A sum for each row: tasks enough, but no vectors."""
    f, r, image = hl.Func("f"), hl.RDom([(0, W)]), pixels(hl.Int(32))
    f[y] = 0
    f[y] += image[r.x, y]
    return f, [H]


def channels() -> tuple[hl.Func, list[int]]:
    f, r = hl.Func("f"), hl.RDom([(0, W), (0, H)])
    image = pixels(hl.Int(32), 3)
    f[c] = 0
    f[c] += image[r.x, r.y, c]
    return f, [3]


def along() -> tuple[hl.Func, list[int]]:
    """Strips and lanes of one and the same loop."""
    rng = np.random.default_rng(4)
    a = hl.Buffer(rng.integers(0, 9, 40001).astype(np.int32))
    f, r = hl.Func("f"), hl.RDom([(0, 40001)])
    f[()] = 1
    f[()] += a[r.x] * a[40000 - r.x]
    return f, []


def some() -> tuple[hl.Func, list[int]]:
    """Only what a condition lets through."""
    f, r, image = hl.Func("f"), hl.RDom([(0, W), (0, H)]), pixels(hl.UInt(8))
    r.where(r.x + r.y < 300)
    f[()] = 0
    f[()] += hl.select(image[r.x, r.y] > 50, hl.i32(image[r.x, r.y]), 0)
    return f, []


def interpreted(f: hl.Func, size: Sequence[int]) -> list[np.ndarray]:
    return [v.T for v in interpret(f._function, [(0, e) for e in size])]


def computed(f: hl.Func, size: Sequence[int]) -> list[np.ndarray]:
    made = f.realize(list(size))
    return [np.asarray(b) for b in (made if isinstance(made, tuple) else (made,))]


CASES = [
    *[(make, 4) for make in (largest, histogram, normalised, channels, some)],
    *[(make, 4) for make in (total, lines, along)],
    # Lanes are worth while on one thread too; strips are not.
    *[(make, 1) for make in (total, histogram, lines)],
]


@pytest.mark.parametrize(("make", "threads"), CASES)
def test_parts_give_the_same_result(
    make: Callable[[], tuple[hl.Func, list[int]]], threads: int
) -> None:
    f, size = make()
    wanted = interpreted(f, size)
    result = hl.autoschedule(f, sizes=size, parallelism=threads)
    methods = [call.method for call in result.script.calls]
    assert ("rfactor" in methods) == (threads > 1 or make is not histogram)
    for got, want in zip(computed(f, size), wanted, strict=True):
        assert np.array_equal(got, want)


def test_the_first_of_several_is_still_the_first() -> None:
    """Parts are merged in order. (The interpreter takes minutes for it.)"""
    f, values = least()
    at = int(np.argmin(values))
    result = hl.autoschedule(f, sizes=[], parallelism=4)
    assert "rfactor" in [call.method for call in result.script.calls]
    (decision,) = [d for d in result.explain() if d.kind == "parts"]
    assert not any("lanes" in option.label for option in decision.options)
    assert [int(v) for v in computed(f, [])] == [3, at % W, at // W]


@pytest.mark.parametrize("make", [total, normalised])
def test_the_printed_program_makes_the_parts_too(
    make: Callable[[], tuple[hl.Func, list[int]]],
) -> None:
    f, size = make()
    text = hl.autoschedule(f, sizes=size, parallelism=2).to_python()
    other, _ = make()
    wanted = interpreted(other, size)
    scope: dict[str, Callable[[hl.Pipeline], None]] = {}
    exec(text, scope)
    scope["schedule"](hl.Pipeline([other]))
    got = computed(other, size)
    assert all(np.array_equal(a, b) for a, b in zip(got, wanted, strict=True))
    calls = hl.autoschedule(make()[0], sizes=size, parallelism=2).script.calls
    assert text.count(".rfactor(") == [c.method for c in calls].count("rfactor")


def test_each_way_is_told_and_can_be_applied() -> None:
    f, size = total()
    (wanted,) = interpreted(f, size)
    result = hl.autoschedule(f, sizes=size, parallelism=2)
    (decision,) = [d for d in result.explain() if d.kind == "parts"]
    labels = [o.label for o in decision.options]
    assert "whole" in labels and len(labels) == 4
    assert decision.chosen.cost == min(o.cost for o in decision.options)
    for option in decision.options:
        if option is not decision.chosen:
            other = result.alternative(decision, option)
            other.apply()
            assert other.cost == pytest.approx(option.cost)
            assert np.array_equal(np.asarray(f.realize()), wanted)
    result.undo()
    assert len(f._function.updates) == 1
    assert f._function.updates[0].rdom is not None
    assert len(f._function.updates[0].rdom.vars) == 2


def test_sums_of_floats_stay_whole_if_the_user_says_so() -> None:
    image = pixels(hl.Float(32))
    r = hl.RDom([(0, W), (0, H)])
    for told, parts in (("true", True), ("false", False)):
        f = hl.Func("f")
        f[()] = 0.0
        f[()] += image[r.x, r.y] * image[r.x, r.y]
        (wanted,) = interpreted(f, [])
        result = hl.autoschedule(f, sizes=[], reassociate=told)
        assert ("rfactor" in [c.method for c in result.script.calls]) == parts
        got = np.asarray(f.realize())
        np.testing.assert_allclose(got, wanted, rtol=1e-3 if parts else 1e-7)


def test_strict_sums_stay_whole() -> None:
    f, r, image = hl.Func("f"), hl.RDom([(0, W), (0, H)]), pixels(hl.Float(32))
    f[()] = 0.0
    f[()] = hl.strict_float(f[()] + image[r.x, r.y])
    result = hl.autoschedule(f, sizes=[])
    assert "rfactor" not in [c.method for c in result.script.calls]


def test_what_is_no_fold_stays_whole() -> None:
    f, r, image = hl.Func("f"), hl.RDom([(0, W), (0, H)]), pixels(hl.Int(32))
    f[()] = 0
    f[()] = (f[()] * 3 + image[r.x, r.y]) % 1000
    wanted = 0
    for value in np.asarray(image).ravel().tolist():
        wanted = (wanted * 3 + value) % 1000
    result = hl.autoschedule(f, sizes=[], parallelism=4)
    assert "rfactor" not in [c.method for c in result.script.calls]
    assert int(np.asarray(f.realize())) == wanted


def test_loops_of_the_user_stay() -> None:
    f, size = total()
    ro, ri = hl.RVar("ro"), hl.RVar("ri")
    f.update().split(f.rvars()[0], ro, ri, 8).unroll(ri)
    (wanted,) = interpreted(f, size)
    result = hl.autoschedule(f, sizes=size, parallelism=4)
    assert "rfactor" not in [c.method for c in result.script.calls]
    assert np.array_equal(np.asarray(f.realize()), wanted)


def test_sizes_far_from_those_it_was_made_for() -> None:
    image = hl.ImageParam(hl.UInt(8), 2)
    f, r = hl.Func("f"), hl.RDom([(0, image.width()), (0, image.height())])
    f[()] = 0
    f[()] += hl.i32(image[r.x, r.y])
    rng = np.random.default_rng(3)
    image.set(hl.Buffer(rng.integers(0, 255, (300, 400)).astype(np.uint8)))
    result = hl.autoschedule(f, sizes=[], parallelism=4)
    assert "rfactor" in [c.method for c in result.script.calls]
    for shape in ((300, 400), (1, 1), (7, 63), (64, 65), (1, 3000), (999, 2)):
        given = rng.integers(0, 255, shape).astype(np.uint8)
        image.set(hl.Buffer(given))
        assert int(np.asarray(f.realize())) == int(given.sum())
