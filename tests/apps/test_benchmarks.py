"""The benchmarks' own machinery: cases, measuring, and the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import report
from benchmarks.cases import all_cases
from benchmarks.runtime import measure


def test_cases_have_names_and_schedules() -> None:
    cases = all_cases()
    names = [c.name for c in cases]
    assert len(set(names)) == len(names)
    assert names.index("blur") < names.index("lens_blur") < names.index("matmul")
    for case in cases:
        assert case.schedules and case.outputs and case.size


def test_each_contender_runs_and_a_slow_one_takes_no_others_time() -> None:
    ran = {"quick": 0, "slow": 0}

    def quick() -> None:
        ran["quick"] += 1

    def slow() -> None:
        ran["slow"] += 1
        sum(range(300_000))

    times = measure({"quick": quick, "slow": slow}, budget=0.02)
    assert ran["quick"] > ran["slow"] >= 3
    assert times["slow"]["runs"] == ran["slow"]
    assert times["quick"]["min"] <= times["quick"]["median"] < times["slow"]["min"]


def times(ours: float, theirs: float, published: float) -> dict[str, Any]:
    """A case's figures at one number of threads, in seconds."""
    found = {
        "parhelion own": ours,
        "halide own": theirs,
        "parhelion published": 9.0,
        "halide published": published,
    }
    return {
        "times": {n: {"min": t, "median": 1.5 * t} for n, t in found.items()},
        "rivals": {"NumPy": {"min": 8.0, "median": 8.0}},
        "difference": 0.0,
        "differing": 0.0,
        "same": True,
    }


def results() -> dict[str, Any]:
    compiled = {"compile": 0.5, "build": 0.1, "peak_mb": 100.0, "added_mb": 9.0}
    entry = {
        "size": "2 x 2",
        "moved": 10**9,
        "operations": None,
        "run": {"1": times(1.0, 2.0, 0.5), "2": times(4.0, 4.0, 4.0)},
        "compile": {
            "parhelion": [compiled],
            "halide": [{**compiled, "compile": 0.25}],
            "passes": {"seconds": {"lower": 0.2, "idle": 1e-6}, "llvm_lines": 7},
        },
    }
    limits = {"copy past the caches": 4e9, "copy": 2e9, "multiply-adds": 1e9}
    return {
        "machine": {"cores": "2"},
        "limits": {"1": limits, "2": limits},
        "cases": {"first": entry, "second": entry},
        "import": {"min": 0.05, "median": 0.06, "limit": 0.1},
    }


def test_ratios_with_the_same_and_with_the_fastest_schedule() -> None:
    found = report.ratios(times(1.0, 2.0, 0.5))
    assert found == {"same": 0.5, "median": 0.5, "best": 2.0}
    assert report.run_verdict(times(1.0, 2.0, 0.5)) == "MISSED"
    assert report.run_verdict(times(1.0, 2.0, 1.0)) == "ok"
    wrong = {**times(1.0, 2.0, 1.0), "same": False}
    assert report.run_verdict(wrong) == "DIFFERENT RESULTS"
    assert report.geometric_mean([0.5, 2.0]) == pytest.approx(1.0)


def test_summary() -> None:
    text = report.summary(results(), ["second", "first"])
    assert text.index("second") < text.index("first")
    assert "same, 1 thr      0.500" in text and "compile          2.000" in text
    assert "of copy (2.0 GB/s): ours 50%, Halide 100%" in text


def test_page(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    page = tmp_path / "benchmarks.md"
    report.write_page(results(), ["first", "second"], page)
    text = page.read_text()
    assert "| first | 2 x 2 | 1 | 1000.00 | 2000.00 | 0.500 | 0.500 | 2.000 |" in text
    assert "| first | 200 | 7 |" in text and "idle" not in text
    assert page.with_suffix(".svg").read_text().startswith("<?xml")
