"""The benchmark of recursive filters: cases agree, tables say what was found."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.recursive import __main__ as program
from benchmarks.recursive import (
    counts,
    exact,
    goals,
    images,
    page,
    peers,
    signals,
    variants,
)
from benchmarks.recursive.case import (
    COPY,
    DEFAULT,
    HALIDE,
    OPENCV,
    OURS,
    SCIPY,
    UNTILED,
    Array,
    Case,
    Check,
    Contender,
    Run,
    Setup,
    WrongResult,
    difference,
    verify,
)
from benchmarks.recursive.exact import Scan
from benchmarks.recursive.found import of_threads, points, troubles
from benchmarks.recursive.runtime import all_cases, run, wrong

CASES = all_cases()
#: The makers that a case must have beside our filter.
PEERS = {
    "gaussian3": (HALIDE, SCIPY, OPENCV),
    "gaussian2": (HALIDE, SCIPY),
    "gaussian1": (HALIDE, SCIPY),
    "sat_f32": (HALIDE, SCIPY, OPENCV),
    "sat_i32": (HALIDE, SCIPY, OPENCV),
    "box": (HALIDE, SCIPY, OPENCV),
    "boxes3": (SCIPY, OPENCV),
    "dog": (OPENCV,),
    "spline": (HALIDE, SCIPY),
    "variants": (),
    "orders": (HALIDE, SCIPY),
    "overlapped": (HALIDE, SCIPY),
}


@pytest.mark.parametrize("name", PEERS)
def test_a_case_runs_and_agrees_with_its_peers(name: str) -> None:
    for module in ("halide", "scipy", "cv2"):
        pytest.importorskip(module)
    case = CASES[name]
    # Orders from 3 on have factors as well.
    value = case.values["quick"][-1 if case.kind == "signal" else 0]
    found = run(case, value, "quick", 0.01)
    entries = found["contenders"]
    assert wrong(entries) == []
    assert {OURS, COPY, *PEERS[name]} == {e["by"] for e in entries.values()}
    for label, entry in entries.items():
        assert entry["runs"] >= 1 and entry["min"] <= entry["median"], label
        assert ("difference" in entry) == (entry["by"] != COPY), label


def test_every_case_is_tested() -> None:
    assert set(CASES) == set(PEERS)
    assert {c.kind for c in CASES.values()} == {"image", "signal", "variants"}
    for case in CASES.values():
        assert set(case.values) == {"quick", "usual", "large"}
    assert CASES["gaussian3"].values["large"][-1] == 16384
    assert CASES["orders"].values["usual"] == tuple(range(1, 13))


# Checks.


def test_differences() -> None:
    a = np.zeros((5, 6), np.float32)
    b = a.copy()
    b[0, 0], b[2, 2] = 9, 0.5
    assert difference(a, b, 0) == 9 and difference(a, b, 1) == 0.5
    b[3, 3] = np.nan
    assert np.isnan(difference(a, b, 1))
    with pytest.raises(WrongResult, match="shape"):
        difference(a, b[1:], 0)
    with pytest.raises(WrongResult, match="nothing is left"):
        difference(a, b, 3)


@pytest.mark.parametrize("value", [0.2, np.nan])
def test_a_wrong_result_is_told_and_not_timed(value: float) -> None:
    right = np.ones(8, np.float32)
    other = right.copy()
    other[3] = value

    def contender(name: str, result: Array, check: Check) -> Contender:
        def prepare() -> Run:
            return lambda: result

        return Contender(name, OURS, prepare, check)

    def make(_: int, scale: str) -> Setup:
        every = [
            contender("good", right, Check(0.1)),
            contender("bad", other, Check(0.1)),
            contender("known to be bad", other, Check(0.1, unstable=True)),
        ]
        return Setup(8, every, lambda: right)

    case = Case("c", "a case", "signal", "order", {"quick": (1,)}, make)
    entries = run(case, 1, "quick", 0.01)["contenders"]
    (told,) = wrong(entries)
    assert "Parhelion, bad: the result is" in told
    assert "min" not in entries["Parhelion, bad"]
    assert "min" in entries["Parhelion, good"]
    assert entries["Parhelion, known to be bad"]["unstable"]
    with pytest.raises(WrongResult):
        verify(contender("bad", other, Check(0.1)), other, right)


def by_hand(line: Array, c: tuple[float, ...], causal: bool) -> Array:
    """One filter, point by point."""
    source = line if causal else line[::-1]
    found = np.zeros(len(line))
    for i in range(len(line)):
        found[i] = c[0] * source[i]
        for j in range(1, min(i, len(c) - 1) + 1):
            found[i] += c[j] * found[i - j]
    return found if causal else found[::-1]


def test_exact_results_are_filters_by_hand() -> None:
    pytest.importorskip("scipy")
    image = np.random.default_rng(1).random((9, 7)).astype(np.float32)
    scans = [
        Scan(0, True, (0.5, 0.5)),
        Scan(0, False, (1, 0.2, -0.1)),
        Scan(1, True, (1, 1)),
    ]
    wanted = image.astype(np.float64)
    for scan in scans:
        axis = 1 - scan.dim
        c, causal = scan.coefficients, scan.causal
        wanted = np.apply_along_axis(by_hand, axis, wanted, c, causal)
    np.testing.assert_allclose(exact.filtered(image, scans), wanted, rtol=1e-6)


def test_boxes_by_hand() -> None:
    image = np.random.default_rng(1).random((9, 7)).astype(np.float32)
    padded = np.pad(image, 2)
    wanted = [[padded[i : i + 5, j : j + 5].mean() for j in range(7)] for i in range(9)]
    np.testing.assert_allclose(exact.box(image, 2), wanted, rtol=1e-5)
    table = np.cumsum(np.cumsum(image, 0), 1)
    np.testing.assert_allclose(peers.box_of_table(table, 2), wanted, rtol=1e-4)


def test_filters_of_lines_are_stable_and_keep_constants() -> None:
    for order in range(1, 13):
        c = signals.stable(order)
        assert len(c) == order + 1
        poles = np.roots([1, *[-a for a in c[1:]]])
        assert np.abs(poles).max() < 0.85
        assert c[0] / (1 - sum(c[1:])) == pytest.approx(1)


def test_a_third_of_the_variance() -> None:
    gain, pole = variants.coefficients("1/3")
    assert gain + pole == pytest.approx(1)
    assert 2 * pole / (1 - pole) ** 2 == pytest.approx(25 / 3)


# What is written.


def entry(by: str, name: str, ms: float, **more: Any) -> tuple[str, dict[str, Any]]:
    found = {"by": by, "name": name, "min": ms / 1e3, "median": ms / 1e3, "runs": 3}
    label = name if by == COPY else f"{by}, {name}"
    return label, found | {"difference": 1e-7} | more


def point(points: int, *entries: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"points": points, "contenders": dict(entries)}


def results() -> dict[str, Any]:
    """A Gaussian twice as fast on two threads, and a line."""

    def gaussian(n: int, slower: float) -> dict[str, Any]:
        ms = slower * n * n / 1e6
        return point(
            n * n,
            entry(OURS, DEFAULT, 1.2 * ms),
            entry(OURS, UNTILED, 1.5 * ms),
            entry(OURS, "tiles of 32", ms),
            entry(OURS, "one table", 0.1 * ms, unstable=True),
            entry(HALIDE, "strips", 1.5 * ms),
            entry(SCIPY, "lfilter", 5 * ms),
            entry(OPENCV, "GaussianBlur", 3 * ms),
            entry(COPY, "np.copyto", 0.5 * ms),
        )

    line = point(
        1000,
        entry(OURS, DEFAULT, 4.0),
        entry(OURS, UNTILED, 4.0),
        entry(OURS, "tiles of 64", 1.0),
        entry(OURS, "factors of order 2, cascaded, tiles of 64", 3.0),
        entry(SCIPY, "lfilter", 5.0),
    )
    variant = point(
        4,
        entry(OURS, "3xy, tiles of 32", 2.0),
        entry(OURS, "3xy, tiles of 64", 1.0),
        entry(OURS, "3x_3y, tiles of 64", 3.0),
    )
    table = point(
        4,
        entry(OURS, DEFAULT, 2.0),
        entry(OPENCV, "integral", 2.0),
        entry(COPY, "np.copyto", 1.5),
    )
    return {
        "scale": "usual",
        "machine": {"cores": "2"},
        "cases": {
            "gaussian3": {
                "1": {"2048": gaussian(2048, 2), "4096": gaussian(4096, 3)},
                "2": {"4096": gaussian(4096, 1)},
            },
            "sat_f32": {"1": {"2": table}},
            "variants": {"1": {"2": variant}},
            "orders": {"1": {"3": line}},
        },
    }


def goal(rows: list[list[str]], words: str, threads: str) -> list[str]:
    """The limit, what was found and the verdict of one goal."""
    (row,) = [r for r in rows if words in r[0] and r[1] == threads]
    return row[2:]


def test_goals() -> None:
    rows = list(goals.rows(results(), CASES))
    assert goal(rows, "lfilter's", "1") == ["≥ 3.5", "5.00 (at 2048)", "ok"]
    assert goal(rows, "lfilter's", "2") == ["≥ 6", "5.00 (at 4096)", "MISSED"]
    assert goal(rows, "untiled over", "1") == ["≥ 2", "4.00 (at 3)", "ok"]
    assert goal(rows, "GaussianBlur's", "1") == ["≥ 2", "3.00", "ok"]
    assert goal(rows, "Halide's fastest", "2") == ["≥ 1.2", "1.50", "ok"]
    assert goal(rows, "integral's", "1") == ["≥ 1.5 or ≥ 70%", "1.00, 75%", "ok"]
    found = goal(rows, "sigma 5: default over", "1")
    assert found == ["≤ 1.1", "1.20 (at 2048)", "MISSED"]
    assert goal(rows, "2048 to 4096", "1") == ["≤ 1.25", "1.50", "MISSED"]


def test_results_that_lost_their_digits_are_never_the_fastest() -> None:
    first = next(points(results(), "gaussian3"))
    fastest = first.fastest(OURS)
    assert fastest is not None and fastest["name"] == "tiles of 32"
    assert list(of_threads(results(), "gaussian3")) == ["1", "2"]


def test_page_and_plots(tmp_path: Path) -> None:
    written = page.write(results(), CASES, tmp_path / "filters.md")
    assert [p.name for p in written] == [
        "filters.md",
        "filters-images.svg",
        "filters-signals.svg",
        "filters-variants.svg",
    ]
    assert all([p.stat().st_size > 1000 for p in written])
    text = written[0].read_text()
    assert "| 1 | 4096 | 3.6 | 3 | 4.5 | 15 | 9 | 1.5 |" in text
    assert "| 3xy | 1 | 2 | 1.00 | 64 |" in text
    assert "1.0e-07 (unstable)" in text and "](filters-images.svg)" in text
    for row in [line for line in text.splitlines() if line.startswith("|")]:
        assert row.endswith("|")
    assert "MISSED" in page.summary(results(), CASES)


def test_a_page_of_some_cases_says_by_which_command(tmp_path: Path) -> None:
    given = results()
    given["scale"] = "large"
    given["cases"] = {"orders": {"2": given["cases"]["orders"]["1"]}}
    page_path, plot = page.write(given, CASES, tmp_path / "lines.md")
    text = page_path.read_text()
    command = "benchmarks.recursive --large --case orders --threads 2 --page docs/lines"
    assert f"Large sizes; written by `python -m {command}.md`" in text
    heads = [line for line in text.splitlines() if line.startswith("## ")]
    assert heads == ["## Where it ran", "## What must hold", *LINES]
    assert plot.name == "lines-signals.svg"


LINES = ["## Lines", "## Lines of code"]


def test_lines_are_counted() -> None:
    rows = {row[0]: int(row[1]) for row in counts.rows()}
    assert list(rows) == list(counts.FUNCTIONS)
    assert 8 <= rows["Gaussian"] <= 15
    assert rows["box"] > rows["summed-area table"] > 5


# The command.


def called(
    monkeypatch: pytest.MonkeyPatch, folder: Path, *arguments: str
) -> tuple[int, Mapping[str, Any]]:
    """The exit status, and the figures."""
    path = folder / "figures.json"
    every = ["recursive", "--json", str(path), *arguments]
    monkeypatch.setattr(sys, "argv", every)
    status = program.main()
    found: dict[str, Any] = json.loads(path.read_text())
    return status, found


def test_the_command_measures_in_a_process_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("halide")
    monkeypatch.setitem(images.SIZES, "quick", (256,))
    small = ("--quick", "--case", "sat_i32", "--threads", "1", "--seconds", "0.01")
    target = tmp_path / "page.md"
    status, found = called(monkeypatch, tmp_path, *small, "--page", str(target))
    assert status == 0 and list(troubles(found)) == []
    assert "Parhelion, default" in found["cases"]["sat_i32"]["1"]["256"]["contenders"]
    assert "lines of code:" in capsys.readouterr().out
    assert "Quick sizes; written by" in target.read_text()


def test_what_failed_and_what_was_wrong_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = results()
    of_case = given["cases"]["orders"]["1"]
    of_case["4"] = {"failed": "no memory"}
    of_case["3"]["contenders"]["Parhelion, tiles of 64"] = {
        "by": OURS,
        "name": "tiles of 64",
        "wrong": "it is far away",
    }
    (tmp_path / "figures.json").write_text(json.dumps(given))
    target = tmp_path / "page.md"
    status, _ = called(monkeypatch, tmp_path, "--draw", "--page", str(target))
    assert status == 1
    said = capsys.readouterr().out
    assert "ERROR: orders 3, 1 thread(s): it is far away" in said
    assert "ERROR: orders 4, 1 thread(s): no memory" in said
    assert "- orders 4, 1 thread(s): no memory" in target.read_text()
