"""Storage orders: a Func that is read along another dimension lies in memory so."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import parhelion as hl
from parhelion.autoschedule.calls import VarArg
from parhelion.autoschedule.search import layout, variants
from parhelion.interp import interpret

x, y, c = hl.vars("x y c")
#: An output, the Func whose storage it is about, and the extents to compute.
Sized = tuple[hl.Func, hl.Func, list[int]]


def source(*more: int) -> hl.Buffer:
    rng = np.random.default_rng(6)
    return hl.Buffer(rng.integers(0, 99, (*more, 40, 64)).astype(np.int32))


def colours_first() -> Sized:
    """Colours side by side, as the author wrote it; vectors go along x."""
    image, f, out, r = source(3), hl.Func("f"), hl.Func("out"), hl.RDom([(1, 4)])
    f[c, x, y] = 0
    f[c, x, y] += image[x, y, c] / r.x
    across, down = hl.clamp(x, 1, 62), hl.clamp(y, 1, 38)
    total = hl.i32(0)
    for k in range(3):
        for d in (-1, 0, 1):
            total += f[k, across + d, down + d] * (k + 1)
    out[x, y] = total
    return out, f, [64, 40]


def turned() -> Sized:
    """A scan along x of what is stored with y side by side."""
    image, f, out, r = source(), hl.Func("f"), hl.Func("out"), hl.RDom([(1, 63)])
    f[y, x] = image[x, y]
    f[y, r.x] = (f[y, r.x] + f[y, r.x - 1] * 3) / 4
    out[x, y] = f[y, x] * 2
    return out, f, [64, 40]


def name_of(a: object) -> str:
    assert isinstance(a, VarArg)
    return a.name


def order_of(result: hl.AutoSchedulerResults, f: hl.Func) -> list[str]:
    found = [
        [name_of(a) for a in call.args]
        for call in result.script.calls
        if call.function is f._function and call.method == "reorder_storage"
    ]
    return found[0] if found else []


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("make", [colours_first, turned])
def test_another_order_gives_the_same_result(
    make: Callable[[], Sized], threads: int
) -> None:
    out, f, size = make()
    (wanted,) = interpret(out._function, [(0, e) for e in size])
    result = hl.autoschedule(out, sizes=size, parallelism=threads)
    if threads == 1:
        assert order_of(result, f)[0] == "x"
    for given in (size, [17, 9]):
        got = np.asarray(out.realize(given))
        assert np.array_equal(got, wanted[: given[0], : given[1]].T)


def test_the_gain_is_told_and_the_other_order_can_be_applied() -> None:
    out, _, size = colours_first()
    (wanted,) = interpret(out._function, [(0, e) for e in size])
    result = hl.autoschedule(out, sizes=size, parallelism=1)
    (decision,) = [d for d in result.explain() if d.kind == "storage"]
    assert decision.chosen.label == "x, c, y" and (decision.gain or 0.0) > 0.0
    other = result.alternative(decision)
    other.apply()
    assert other.cost == pytest.approx(decision.options[1].cost)
    assert np.array_equal(np.asarray(out.realize(size)), wanted.T)


def test_the_printed_program_has_the_order_too() -> None:
    out, _, size = turned()
    text = hl.autoschedule(out, sizes=size, parallelism=1).to_python()
    assert ".reorder_storage(x, y)" in text
    other, _, _ = turned()
    (wanted,) = interpret(other._function, [(0, e) for e in size])
    scope: dict[str, Callable[[hl.Pipeline], None]] = {}
    exec(text, scope)
    scope["schedule"](hl.Pipeline([other]))
    assert np.array_equal(np.asarray(other.realize(size)), wanted.T)


def test_the_order_of_the_user_stays() -> None:
    out, f, size = colours_first()
    f.reorder_storage(y, c, x)
    (wanted,) = interpret(out._function, [(0, e) for e in size])
    result = hl.autoschedule(out, sizes=size, parallelism=1)
    assert not order_of(result, f)
    assert list(f._function.schedule.storage_order) == [2, 0, 1]
    assert np.array_equal(np.asarray(out.realize(size)), wanted.T)


def test_what_is_read_as_it_lies_keeps_its_order() -> None:
    image, f, out = source(), hl.Func("f"), hl.Func("out")
    r = hl.RDom([(1, 39)])
    f[x, y] = image[x, y]
    f[x, r.x] += f[x, r.x - 1]
    out[x, y] = f[x, y] * 2
    result = hl.autoschedule(out, sizes=[64, 40], parallelism=1)
    assert not order_of(result, f)
    assert not [d for d in result.explain() if d.kind == "storage"]


def test_parts_of_reductions_keep_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are made anew for each trial, so that no trial can speak of another's."""
    monkeypatch.setattr(layout, "_LEAST_SHARE", -1e9)
    monkeypatch.setattr(variants, "_WORTH", 1e9)
    rng = np.random.default_rng(6)
    image = hl.Buffer(rng.integers(0, 255, (180, 200)).astype(np.uint8))
    f, r = hl.Func("f"), hl.RDom([(0, 200), (0, 180)])
    f[x] = 0
    f[hl.i32(image[r.x, r.y])] += 1
    (wanted,) = interpret(f._function, [(0, 256)])
    result = hl.autoschedule(f, sizes=[256], parallelism=4)
    assert not result.notes
    assert "rfactor" in [call.method for call in result.script.calls]
    assert np.array_equal(np.asarray(f.realize([256])), wanted)
