"""Schedules that foreign stages cannot have: one bad program, one message."""

from __future__ import annotations

import pytest

import parhelion as hl
from parhelion.schedule.legality import resolve
from tests.support.spec import spec_of

x, y = hl.Var("x"), hl.Var("y")


def chain() -> tuple[hl.Func, hl.Func, hl.Func]:
    g, e, o = hl.Func("g"), hl.Func("e"), hl.Func("o")
    g[x, y] = x + y
    e.define_extern("abs", [g], hl.Int(32), [x, y])
    o[x, y] = e[x, y]
    return g, e, o


def message(o: hl.Func) -> str:
    with pytest.raises(hl.ScheduleError) as error:
        resolve(spec_of(o))
    return error.value.what


def test_an_inlined_input() -> None:
    g, e, o = chain()
    e.compute_root()
    assert message(o) == (
        f"{g.name()} is inlined, but {e.name()}, which foreign code computes, needs "
        "its pixels in memory"
    )


def test_inside_a_vectorized_loop() -> None:
    g, e, o = chain()
    g.compute_root()
    e.compute_at(o, x)
    o.bound(x, 0, 4).vectorize(x)
    assert message(o) == (
        f"{e.name()}, which foreign code computes, is computed inside the vectorized "
        f"loop x of {o.name()}: it computes one region at a time"
    )


def test_folded_storage() -> None:
    g, e, o = chain()
    g.compute_root().fold_storage(y, 4)
    e.store_root().compute_at(o, y)
    g.store_root().compute_at(o, y)
    with pytest.raises(hl.ScheduleError) as error:
        o.realize([4, 4])
    assert error.value.what == (
        f"{g.name()}.fold_storage(y, …): foreign code ({e.name()}) needs the storage "
        f"of {g.name()} in one piece"
    )


def test_it_has_no_loops() -> None:
    _, e, _ = chain()
    with pytest.raises(hl.ScheduleError) as error:
        e.vectorize(x, 4)
    assert error.value.what == f"{e.name()}.vectorize: {e.name()} has no loop x"
    assert error.value.legal == ("(it has no loops)",)
