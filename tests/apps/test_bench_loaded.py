"""The benchmark of code that comes from the cache."""

from __future__ import annotations

import pytest

from benchmarks import loaded, report
from benchmarks.everyday.pipelines import all_pipelines
from benchmarks.process import Failed


def test_what_is_found_and_how_it_is_shown() -> None:
    name = min(p.name for p in all_pipelines() if p.group == "fit")
    found = loaded.measured("everyday", name, 0.1)
    assert set(found) == set(loaded.KINDS)
    # How fast it is, is not a test's to say.
    assert found["loaded"]["faults"] == 0
    results = {
        "cases": {"blur": {"loaded": found}},
        "everyday": {name: {"loaded": found}},
    }
    text = report.summary(results, ["blur"])
    assert "blur               compiled" in text
    assert f"{name} (automatic)" in text
    shown = report._loaded_table(results, ["blur"])
    assert len(shown.splitlines()) == 4


@pytest.mark.parametrize(
    ("ratio", "faults", "good"), [(1.03, 0, True), (1.04, 0, False), (1.0, 1, False)]
)
def test_what_must_hold(ratio: float, faults: float, good: bool) -> None:
    found = {
        "compiled": {"min": 1.0, "faults": 0.0},
        "loaded": {"min": ratio, "faults": faults},
    }
    assert loaded.good(found) is good


def test_a_case_that_ends_is_told_of() -> None:
    with pytest.raises(Failed, match="it ended"):
        loaded.measured("everyday", "nothing of this name", 0.1)


def test_only_pipelines_that_may_be_looked_at_are_taken() -> None:
    groups = {p.name: p.group for p in all_pipelines()}
    names = loaded.everyday_names()
    assert len(names) == loaded.EVERYDAY
    assert not [n for n in names if groups[n] == "final"]
