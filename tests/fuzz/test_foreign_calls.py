"""Cases that would call foreign code for minutes are told from those that hang."""

from __future__ import annotations

import pytest

from tests.fuzz import foreign
from tests.fuzz.case import Case, Directive, Input, Stage
from tests.fuzz.execute import Outcome, run_case

CASE = Case(
    inputs=(Input("u8", (8, 8), (0, 0), 1, True),),
    stages=(Stage("foreign", "i32", 2, (-1,), ()), Stage("pointwise", "i32", 2, (0,))),
    outputs=(1,),
    extents=(8, 8),
    mins=(0, 0, 0),
    schedule=(Directive("compute_root", 0, 0, ()),),
)


@pytest.mark.parametrize(
    "most, outcome", [(10_000, Outcome.CLEAN), (0, Outcome.REFUSED)]
)
def test_calls_are_counted(
    most: int, outcome: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign, "MOST_CALLS", most)
    report = run_case(CASE)
    assert report.outcome is outcome, report.message
    assert ("calls of foreign code" in report.message) is (most == 0)
