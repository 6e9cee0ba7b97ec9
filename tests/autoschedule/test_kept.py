"""The default scheduler on pipelines that are partly scheduled."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl
from parhelion.autoschedule.machine import machine
from parhelion.interp import interpret_all
from parhelion.ir.target import generic_target
from parhelion.schedule.directives import Place

x, y = hl.Var("x"), hl.Var("y")


def chain() -> list[hl.Func]:
    """Four stages, each too dear to be computed again; the last one is the output."""
    data = hl.Buffer(np.arange(70 * 50, dtype=np.float32).reshape(50, 70) % 17)
    made = [hl.BoundaryConditions.repeat_edge(data)]
    for k in range(4):
        f, g = made[-1], hl.Func(f"stage{k}")
        g[x, y] = hl.floor(hl.sqrt(f[x - 1, y]) + hl.sqrt(f[x + 1, y]) + f[x, y + 1])
        made.append(g)
    return made[1:]


def loops(f: hl.Func) -> list[object]:
    found = f._function.stages()
    return [(list(d.schedule.transforms), list(d.schedule.dims)) for d in found]


def same(out: hl.Func, *size: int) -> None:
    got = np.asarray(out.realize(list(size))).T
    (wanted,) = interpret_all([(out._function, [(0, n) for n in size])])[0]
    np.testing.assert_array_equal(got, wanted)


def test_places_and_loops_stay() -> None:
    a, b, _, out = chain()
    xi = hl.Var("xi")
    b.compute_root().split(x, x, xi, 6).vectorize(xi)
    a.compute_at(b, x)
    before = loops(b)
    result = hl.autoschedule(out, [300, 200])
    assert not result.notes
    assert b._function not in [call.function for call in result.script.calls]
    assert loops(b) == before
    level = a._function.schedule.compute
    assert level.func is b._function and level.var is x._var
    assert "vectorize" in [
        call.method for call in result.script.calls if call.function is out._function
    ]
    for size in ((70, 50), (9, 3), (1, 1)):
        same(out, *size)


@pytest.mark.parametrize("bits", [128, 256, 512])
def test_loops_without_a_place_get_one(
    monkeypatch: pytest.MonkeyPatch, bits: int
) -> None:
    """Nor is anything computed in them, whichever way the search comes there."""
    a, b, _, out = chain()
    b.unroll(y, 2)
    before = loops(b)
    with monkeypatch.context() as patch:
        there = generic_target(bits), machine.processor()[1]
        patch.setattr(machine, "processor", lambda: there)
        result = hl.autoschedule(out, [300, 200])
    assert not result.notes
    assert b._function.schedule.compute.place is not Place.INLINED
    assert loops(b) == before
    assert a._function.schedule.compute.func is not b._function
    for size in ((70, 50), (9, 3)):
        same(out, *size)


def test_a_place_without_loops_gets_them() -> None:
    _, b, _, out = chain()
    b.compute_root()
    result = hl.autoschedule(out, [300, 200])
    calls = [c.method for c in result.script.calls if c.function is b._function]
    assert "vectorize" in calls and "compute_root" not in calls
    assert b._function.schedule.compute.place is Place.ROOT
    same(out, 70, 50)


def test_loops_that_are_named_stay() -> None:
    _, b, _, out = chain()
    b.store_root().compute_at(out, y)
    before = loops(out)
    result = hl.autoschedule(out, [300, 200])
    assert not result.notes
    assert loops(out) == before
    level = b._function.schedule.compute
    assert level.func is out._function and level.var is y._var
    for size in ((70, 50), (9, 3)):
        same(out, *size)


def test_compute_inline_is_a_decision_too() -> None:
    a, _, _, out = chain()
    a.compute_inline()
    hl.autoschedule(out, [300, 200])
    assert a._function.schedule.compute.place is Place.INLINED
    same(out, 70, 50)
