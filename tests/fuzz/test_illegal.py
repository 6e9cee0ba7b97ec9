"""Directives that make no sense, on random Funcs: always a ScheduleError."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import parhelion as hl
from parhelion.interp.machine import consumers_first
from tests.fuzz.build import build
from tests.fuzz.draw import draw_case

x, y, u, v = hl.Var("x"), hl.Var("y"), hl.Var("u"), hl.Var("v")
elsewhere = hl.Var("elsewhere")

#: Each gets a Func and one of its own loops. None of them has a meaning.
NONSENSE: dict[str, Callable[[Any, Any], object]] = {
    "split of a loop that is not there": lambda f, i: f.split(elsewhere, u, v, 4),
    "split into loops of one name": lambda f, i: f.split(i, u, u, 4),
    "split by zero": lambda f, i: f.split(i, u, v, 0),
    "split by less": lambda f, i: f.split(i, u, v, -3),
    "vectorize a loop that is not there": lambda f, i: f.vectorize(elsewhere, 4),
    "vectorize by zero": lambda f, i: f.vectorize(i, 0),
    "unroll a loop that is not there": lambda f, i: f.unroll(elsewhere),
    "unroll by less than one": lambda f, i: f.unroll(i, -1),
    "parallel of a loop that is not there": lambda f, i: f.parallel(elsewhere),
    "reorder with a loop twice": lambda f, i: f.reorder(i, i),
    "reorder with a loop that is not there": lambda f, i: f.reorder(i, elsewhere),
    "fuse a loop with itself": lambda f, i: f.fuse(i, i, u),
    "fuse with a loop that is not there": lambda f, i: f.fuse(i, elsewhere, u),
    "tile of one loop": lambda f, i: f.tile(i, i, u, v, 4, 4),
    "rename of a loop that is not there": lambda f, i: f.rename(elsewhere, u),
    "computed at itself": lambda f, i: f.compute_at(f, i),
    "a bound of no dimension": lambda f, i: f.bound(elsewhere, 0, 4),
    "a negative bound": lambda f, i: f.bound(i, 0, -4),
    "a loop used up": lambda f, i: f.split(i, u, v, 4).vectorize(i),
    "a loop split twice": lambda f, i: f.split(i, u, v, 4).split(i, u, v, 4),
    "storage in an order of one twice": lambda f, i: f.reorder_storage(i, i),
}


@pytest.mark.filterwarnings("ignore::parhelion.schedule.rules.ScheduleWarning")
@pytest.mark.parametrize("what", NONSENSE)
def test_is_refused(what: str) -> None:
    for seed in range(12):
        program = build(draw_case(random.Random(seed), 3, 5))
        func = program.outputs()[0].compute_root()
        with pytest.raises(hl.ScheduleError):
            NONSENSE[what](func, func.args()[0])
            # What a directive cannot know alone is found when it is lowered.
            hl.Pipeline(program.outputs()).compile_jit()


@pytest.mark.parametrize("seed", range(8))
def test_a_loop_of_a_func_that_is_no_consumer(seed: int) -> None:
    program = build(draw_case(random.Random(seed), 3, 5))
    outputs = program.outputs()
    needed = consumers_first([f._function for f in outputs])
    stranger = hl.Func("stranger")
    stranger[x, y] = x + y
    for built in program.stages:
        func = built.func
        if func._function in needed and func.name() not in [f.name() for f in outputs]:
            func.compute_at(stranger, x)
            break
    else:
        return  # this pipeline is one Func
    with pytest.raises(hl.ScheduleError, match="not part of the pipeline"):
        hl.Pipeline(outputs).compile_jit()
