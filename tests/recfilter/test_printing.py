"""The schedule that a RecFilter prints is the schedule that it has."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl
from parhelion.recfilter import RecFilter, RecFilterDim
from parhelion.schedule.directives import FuncSchedule
from parhelion.schedule.order import realization_order
from parhelion.schedule.stage import initial_stage_schedule
from tests.recfilter import test_by_tags as by_tags
from tests.recfilter.test_by_tags import Schedule, line, plane


def unschedule(out: hl.Func) -> None:
    """Takes all directives back."""
    for f in realization_order((out._function,)):
        f.schedule = FuncSchedule(storage_order=tuple(range(f.dimensions)))
        for d in f.stages():
            d.schedule = initial_stage_schedule(
                d.args, f.args, d.rdom, function=f, values=d.values
            )


def nest(out: hl.Func) -> str:
    return str(hl.Pipeline(out).loop_nest())


def check(f: RecFilter, capsys: pytest.CaptureFixture[str]) -> str:
    """The program that a RecFilter prints gives its stages the loops they have.

    Returns the program.
    """
    out = f.as_func()
    before = nest(out)
    capsys.readouterr()
    f.print_schedule()
    program = capsys.readouterr().out
    unschedule(out)
    scope: dict[str, object] = {}
    exec(program, scope)  # noqa: S102
    schedule = scope["schedule"]
    assert callable(schedule)
    schedule(hl.Pipeline([out]))
    assert nest(out) == before
    return program


@pytest.mark.parametrize("widths", [(), (16, 8), (13, 0), (0, 9)])
@pytest.mark.parametrize("border", ["zero", "clamp", "mirror"])
def test_automatic_schedules(
    widths: tuple[int, ...], border: str, capsys: pytest.CaptureFixture[str]
) -> None:
    check(plane("f32", *widths, border=border), capsys)


def test_signals_and_colours(capsys: pytest.CaptureFixture[str]) -> None:
    check(line("f32", 0), capsys)
    check(line("f32", 64), capsys)
    x, y, c = RecFilterDim("x", 40), RecFilterDim("y", 30), RecFilterDim("c", 3)
    f = RecFilter("f")
    f[x, y, c] = hl.Tuple(hl.f32(x + y * c), hl.f32(x))
    f.add_filter(+x, [0.5, 0.5], feedforward=[1, 2])
    f.add_filter(+y, [0.5, 0.5])
    check(f, capsys)


def fused(f: RecFilter) -> None:
    one = f.intra_schedule(1).fuse(f.outer(0), f.outer(1)).parallel(f.outer())
    one.vectorize(f.inner(0), 8).unroll(f.scan(), 2)


@pytest.mark.parametrize(
    "schedule",
    [fused, by_tags.globally, by_tags.residuals, by_tags.stored_otherwise],
)
def test_schedules_by_tags(
    schedule: Schedule, capsys: pytest.CaptureFixture[str]
) -> None:
    f = plane("u32", 13, 9)
    schedule(f)
    first = check(f, capsys).partition("\n")[0]
    assert first.startswith("# f.intra_schedule(")


def test_loops_that_go_apart(capsys: pytest.CaptureFixture[str]) -> None:
    """What `vectorize` splits off has no name of the user's: it gets one."""
    f = plane("u32", 16, 0)
    f.intra_schedule().vectorize(f.full(0), 8).reorder(f.full(), f.outer())
    check(f, capsys)
    f = plane("u32", 16, 0)
    f.intra_schedule().vectorize(f.full(0), 8).split(f.full(0), 2)
    f.print_schedule()
    assert ".split(y, y, yvv, 8" in capsys.readouterr().out


def test_funcs_of_the_user_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    x, y = RecFilterDim("x", 40), RecFilterDim("y", 30)
    bright, guide = hl.Func("bright"), hl.Func("guide")
    bright[x, y] = hl.f32(x + y)
    guide[x, y] = hl.f32(x) / 80
    bright.compute_root().vectorize(x, 8)
    guide.compute_root()
    f = RecFilter("f")
    f[x, y] = bright[x, y] + 1
    f.add_filter(+x, [1, guide[x, y]])
    f.add_filter(+y, [0.5, 0.5])
    f.print_schedule()
    printed = capsys.readouterr().out
    assert "bright" not in printed and "guide" not in printed
    assert "which have the directives that they had" in printed
    assert np.asarray(f.realize()).shape == (30, 40)
