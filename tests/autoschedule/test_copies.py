"""Schedulers work on copies: the user's Funcs change when the schedule is given."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.autoschedule.result import AutoSchedulerResults
from parhelion.autoschedule.script import Script
from parhelion.ir.function import Function
from parhelion.schedule.directives import FuncSchedule, Place, StageSchedule
from parhelion.schedule.order import realization_order
from parhelion.schedule.reach import Fingerprint, Reach
from parhelion.schedule.spec import duplicates
from tests.autoschedule.test_script import nest

x, y = hl.Var("x"), hl.Var("y")


def pipeline() -> tuple[hl.ImageParam, hl.Param, hl.Func]:
    """Has a stencil, a sum that is computed in parts, and a wrapper."""
    image = hl.ImageParam(hl.Float(32), 2, "image")
    gain = hl.Param(hl.Float(32), "gain")
    rows, total, out = hl.funcs("rows total out")
    r = hl.RDom([(0, 900), (0, 600)])
    rows[x, y] = hl.sqrt(image[x, y]) + image[x + 1, y]
    total[()] = 0.0
    total[()] += rows[r.x, r.y]
    out[x, y] = (rows[x, y] + rows[x, y + 1]) * gain / total[()]
    image.in_(rows).compute_root()
    return image, gain, out


@contextmanager
def writes(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[int]]:
    """The schedules and Functions, by identity, that are written to until a result is
    applied."""
    found: set[int] = set()

    def watched(kind: type) -> None:
        plain: Any = kind.__setattr__

        def write(self: object, name: str, value: object) -> None:
            found.add(id(self))
            plain(self, name, value)

        monkeypatch.setattr(kind, "__setattr__", write)

    for kind in (FuncSchedule, StageSchedule, Function):
        watched(kind)
    yield found


def state(out: hl.Func) -> Fingerprint:
    return Reach([out._function]).look()


@pytest.mark.parametrize("measure", [0, 3])
@pytest.mark.parametrize("name", ["Parhelion", "Mullapudi2016"])
def test_funcs_are_left_alone_until_the_schedule_is_given(
    name: str, measure: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if measure and name != "Parhelion":
        return
    image, gain, out = pipeline()
    functions = realization_order([out._function])
    theirs = {id(f) for f in functions} | {id(f.schedule) for f in functions}
    theirs |= {id(d.schedule) for f in functions for d in f.stages()}
    before, seen = state(out), []
    apply = AutoSchedulerResults.apply

    with writes(monkeypatch) as written:

        def last(result: AutoSchedulerResults) -> None:
            assert written, "nothing was tried"
            assert theirs.isdisjoint(written)
            assert state(out) == before
            assert not image.get().defined() and gain.get() is None
            seen.append(result)
            apply(result)

        monkeypatch.setattr(AutoSchedulerResults, "apply", last)
        result = hl.autoschedule(
            out, [900, 600], inputs={"gain": 2.0}, scheduler=name, measure=measure
        )
    assert seen == [result] and state(out) != before


def test_looking_at_decisions_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, out = pipeline()
    result = hl.autoschedule(out, [900, 600], inputs={"gain": 2.0})
    scheduled, loops = state(out), nest([out])
    told = str(result.explain())
    others = [
        result.alternative(d, option)
        for d in result.decisions
        for option in d.options
        if option is not d.chosen and option.make is not None
    ]
    assert "total" in told and others
    assert state(out) == scheduled
    for one in others:
        one.apply()
        one.undo()
    result.apply()
    assert nest([out]) == loops


def test_copies_have_the_wrappers_of_the_funcs() -> None:
    _, _, out = pipeline()
    copies = duplicates([out._function])
    made = [copies[f] for f in realization_order([out._function])]
    assert [f.name for f in made] == [f.name for f in copies]
    assert set(made).isdisjoint(copies)
    again = duplicates([copies[out._function]])
    assert [f.name for f in again.values()] == [f.name for f in made]
    # A directive on a copy is the copy's.
    rows = next(f for f in made if f.name.startswith("rows"))
    hl.Func._of(rows).in_().compute_root()
    assert len(realization_order([copies[out._function]])) == len(made) + 1
    assert len(realization_order([out._function])) == len(made)


def test_definitions_that_came_later_are_not_lost() -> None:
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = hl.sqrt(hl.f32(x + y))
    g[x, y] = f[x, y] + f[x + 1, y + 1]
    result = hl.autoschedule(g, [40, 40])
    g[x, 0] = 7.0
    for program in (result.undo, result.apply):
        with pytest.raises(hl.ScheduleError, match="g has been given another defin"):
            program()
    assert g.num_update_definitions() == 1
    g.update(0).unscheduled()
    assert np.asarray(g.realize([4, 2]))[0].tolist() == [7.0] * 4
    again = hl.autoschedule(g, [40, 40])
    again.undo()
    again.apply()


def test_a_schedule_is_given_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A directive of another thread comes before it or after it."""
    a, f = hl.Func("a"), hl.Func("f")
    a[x, y] = hl.sqrt(hl.f32(x + y))
    f[x, y] = a[x, y] + a[x + 1, y + 1]
    begun, threads = threading.Event(), []
    apply = Script.apply

    def slow(script: Script) -> list[object]:
        if a._function not in script.order:
            return apply(script)  # of copies
        threads.append(threading.Thread(target=a.compute_inline))
        threads[0].start()
        begun.wait(0.3)
        assert threads[0].is_alive()  # it waits
        return apply(script)

    monkeypatch.setattr(Script, "apply", slow)
    hl.autoschedule(f, [60, 60])
    threads[0].join(20)
    assert not threads[0].is_alive()
    assert a._function.schedule.compute.place is Place.INLINED


def test_a_level_moves_funcs_after_a_schedule_is_taken_back() -> None:
    a, f = hl.Func("a"), hl.Func("f")
    a[x, y] = hl.sqrt(hl.f32(x + y))
    f[x, y] = a[x, y] + a[x + 1, y + 1]
    level = hl.LoopLevel.inlined()
    a.compute_at(level)
    result = hl.autoschedule(f, [40, 40])
    level.set(hl.LoopLevel(f, y))
    result.undo()
    assert a._function.schedule.compute.place is Place.INLINED
    level.set(hl.LoopLevel(f, y))
    assert a._function.schedule.compute.var is y._var
    a.compute_root()
    level.set(hl.LoopLevel(f, x))
    assert a._function.schedule.compute.var is None
