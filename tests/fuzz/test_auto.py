"""Random pipelines under automatic schedules, compared with the interpreter."""

from __future__ import annotations

import pytest

from parhelion.autoschedule.search.descent import Search
from tests.fuzz.auto import fuzz, needs, run_auto
from tests.fuzz.case import Case, Input, Stage
from tests.fuzz.process import NoAnswer, Process


@pytest.mark.parametrize("seed", range(4))
def test_mullapudi2016(seed: int) -> None:
    summary = fuzz(10, 700 + seed, "Mullapudi2016")
    assert summary.count == 10 and not summary.failures, summary.failures
    assert summary.directives["vectorize"] and summary.directives["compute_at"]


@pytest.mark.parametrize("seed", range(2))
def test_parhelion(seed: int) -> None:
    summary = fuzz(6, 711 + seed * 4, "Parhelion")
    assert summary.count == 6 and not summary.failures, summary.failures
    assert not summary.notes
    assert summary.directives["vectorize"]


def test_processes_of_their_own_find_the_same() -> None:
    """Progress is told case by case, and so are failures."""
    heard: list[int] = []
    summary = fuzz(2, 700, "Baseline", jobs=1, told=lambda *a: heard.append(a[1]))
    assert heard == [700_000_000, 700_000_001] and not summary.failures
    assert summary.directives == fuzz(2, 700, "Baseline").directives
    lost = fuzz(1, 700, "Nobody", jobs=1)
    (failure,) = lost.failures
    assert "there is no autoscheduler" in failure[1]


def test_a_last_resort_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError("f")

    monkeypatch.setattr(Search, "run", fail)
    (failure,) = fuzz(1, 711, "Parhelion").failures
    assert failure[1].endswith("(KeyError('f'))")


def test_a_process_that_dies_is_no_answer() -> None:
    with (
        Process("tests.fuzz.auto", "--no-such-option") as process,
        pytest.raises(NoAnswer, match="the process died: 2"),
    ):
        process.ask("1", 60.0)


@pytest.mark.parametrize("scheduler", ["Mullapudi2016", "Parhelion"])
def test_what_is_inlined_before_a_foreign_stage_may_need_more(scheduler: str) -> None:
    """A sum over x + r.x + r.y of what is read where 0 <= x <= 1 needs one pixel more
    if that is inlined: a foreign stage does not change it (seed 1031000008)."""
    sums = (5, 0, 49, 0, 1)
    case = Case(
        inputs=(Input(type="u8", extents=(1,), mins=(0,), boundary=0, param=True),),
        stages=(
            Stage(op="guarded", type="i32", dims=1, sources=(-1,), numbers=()),
            Stage(op="accumulate", type="i32", dims=1, sources=(0,), numbers=sums),
            Stage(op="foreign", type="i32", dims=1, sources=(1,), numbers=()),
        ),
        outputs=(2,),
        extents=(1,),
        mins=(0, 0, 0),
        schedule=(),
    )
    assert needs([case]) == [{0: [(0, 2)]}]
    assert run_auto(case, scheduler).failure == ""
