"""The benchmarks' own machinery: cases, measuring, and the report."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import gains, limits, near, report
from benchmarks.__main__ import measure_part
from benchmarks.cases import all_cases
from benchmarks.process import child
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
        time.sleep(0.02)

    times = measure({"quick": quick, "slow": slow}, budget=0.2)
    assert ran["quick"] > ran["slow"] >= 3
    assert times["slow"]["runs"] == ran["slow"]
    assert times["quick"]["min"] <= times["quick"]["median"] < times["slow"]["min"]


def test_a_contender_slower_than_the_budget_runs_once() -> None:
    ran = []

    def slow() -> None:
        ran.append(1)
        time.sleep(0.02)

    measure({"slow": slow}, budget=0.01)
    assert len(ran) == 1


def test_outputs_begin_a_cache_line() -> None:
    for case in all_cases():
        made = [o.new().array for o in case.outputs if np.prod(o.size) < 1 << 24]
        assert all(a.ctypes.data % 64 == 0 and not a.any() for a in made)


def test_a_part_that_fails_is_noted_and_replaced_when_it_goes_well() -> None:
    def fails() -> dict[str, Any]:
        child("-c", "raise SystemExit('no such thing')")
        return {}

    entry: dict[str, Any] = {"run": {"old": 1}}
    assert not measure_part(entry, "run", fails)
    assert "run" not in entry and entry["failed"]["run"].endswith("no such thing")
    found = list(report.failures({"cases": {"first": entry}}, ["first"]))
    assert found[0][:2] == ("first", "run") and "no such thing" in found[0][2]
    assert measure_part(entry, "run", lambda: {"new": 1})
    assert entry["run"] == {"new": 1} and entry["failed"] == {}
    assert entry["took"]["run"] >= 0


def test_limits_are_measured_rates() -> None:
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    copies = limits.copies(np.arange(1000))
    assert copies["copy"].amount == 2 * 8000
    for limit in (*copies.values(), *limits.multiply_adds(1).values()):
        limit.run()
    lanes = limits.multiply_adds(1)["multiply-adds"].amount / (32 * limits.ROUNDS)
    assert lanes in (8, 16)


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
        "fastest": {
            "parhelion": {
                "min": min(ours, 9.0),
                "median": 9.0,
                "name": "parhelion own",
            },
            "halide": {"min": published, "median": 9.0, "name": "halide published"},
        },
        "limits": {
            "copy": {"min": 2.0, "median": 2.0, "amount": 4e9, "unit": "GB/s"},
        },
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
        "shares": {"copy": 0.6},
        "ahead_of": ["NumPy"],
        "run": {"1": times(1.0, 2.0, 0.5), "2": times(4.0, 4.0, 4.0)},
        "compile": {
            "parhelion": [compiled],
            "halide": [{**compiled, "compile": 0.25}],
            "passes": {"seconds": {"lower": 0.2, "idle": 1e-6}, "llvm_lines": 7},
        },
    }
    return {
        "machine": {"cores": "2"},
        "cases": {"first": entry, "second": entry},
        "import": {"min": 0.05, "median": 0.06, "limit": 0.1},
        "overhead": {"call": {"min": 12.0, "median": 13.0}},
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
    shares = "of copy (2.0 GB/s): ours 50% (parhelion own), Halide 100% (halide publ"
    assert shares in text


def test_what_must_hold() -> None:
    found = {row[0]: row[1:] for row in near.goals(results(), ["first", "second"])}
    what = "run time over Halide's, same schedule, 1 thread(s)"
    assert found[f"{what}: mean of 2"] == ["≤ 1", "0.5", "ok"]
    what = "run time over Halide's, fastest schedules, 1 thread(s)"
    assert found[f"{what}: largest"] == ["≤ 1.1", "2 (first)", "MISSED"]
    assert found["first, 1 thread(s), of copy"] == ["≥ 60%", "50%", "MISSED"]
    assert found["first, 1 thread(s), time over NumPy's"] == ["≤ 1", "0.125", "ok"]
    assert found["cold compile over Halide's: largest"][-1] == "MISSED"
    assert found["memory of a compile, MB"] == ["≤ 500", "100 (first)", "ok"]
    assert found["import beyond NumPy, s"][-1] == "ok"
    assert found["call, µs"] == ["≤ 10", "12", "MISSED"]


def test_page(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    report.write_page(results(), ["first", "second"], page)
    text = page.read_text()
    assert "| first | 2 x 2 | 1 | 1000.00 | 2000.00 | 0.500 | 0.500 | 2.000 |" in text
    assert "| first | 200 | 7 |" in text and "idle" not in text
    assert page.with_suffix(".svg").read_text().startswith("<?xml")


def test_gains_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them, at a small size."""
    monkeypatch.setattr(gains, "ROWS", 8)
    monkeypatch.setattr(gains, "WIDTHS", (33,))
    runs = gains.tails(33)
    assert len(runs) == 8
    for run in runs.values():
        run()
    monkeypatch.setattr(gains, "WAIT", 0.0)
    for run in gains.waiting().values():
        run()
