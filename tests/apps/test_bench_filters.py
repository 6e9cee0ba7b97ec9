"""The benchmark of filters compares, measures and writes its page."""

from __future__ import annotations

import json
import time
from pathlib import Path

import cv2
import pytest

import parhelion as hl
from benchmarks.filters import __main__ as bench
from benchmarks.filters.case import Case


def test_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, kept = tmp_path / "page.md", tmp_path / "figures.json"
    threads, theirs = hl.get_num_threads(), cv2.getNumThreads()
    try:
        command = ["--megapixels", "0.005", "--rounds", "2", "--threads", "1"]
        command += ["--names", "box 3", "edge", "sobel", "tone"]
        assert bench.main([*command, "--page", str(page), "--json", str(kept)]) == 0
    finally:
        hl.set_num_threads(threads)
        cv2.setNumThreads(theirs)
    entries = json.loads(kept.read_text())
    # Grey and colours, of both types, and chains of uint8.
    assert len(entries) == 2 * (2 * 2 + 2)
    assert all(e["ours"] > 0 and e["theirs"] > 0 for e in entries)
    assert "| box 3 | 0.005 MP, 3 × float32 |" in page.read_text()
    assert "geometric mean" in capsys.readouterr().out


def test_types_channels_and_the_time_of_processors(tmp_path: Path) -> None:
    kept = tmp_path / "figures.json"
    threads, theirs = hl.get_num_threads(), cv2.getNumThreads()
    try:
        command = ["--megapixels", "0.005", "--rounds", "2", "--threads", "2"]
        command += ["--clock", "processor", "--types", "uint16", "--channels", "3"]
        command += ["--names", "turn", "bgr2rgb", "resize nearest, reduced"]
        assert bench.main([*command, "--json", str(kept)]) == 0
    finally:
        hl.set_num_threads(threads)
        cv2.setNumThreads(theirs)
    told = [(e["name"], e["image"]) for e in json.loads(kept.read_text())]
    wanted = ["resize nearest, reduced 0.5", "turn 1", "turn 2", "bgr2rgb"]
    assert told == [(name, "0.005 MP, 3 × uint16") for name in wanted]


def test_each_filter_has_its_limit() -> None:
    slow = {"name": "slow", "image": "1 MP", "chain": False, "theirs": 1.0}
    entries = [
        {**slow, "ours": 1.9, "limit": 1.3},
        {**slow, "name": "far", "ours": 1.9, "limit": 2},
    ]
    assert bench.summary(entries)[-1] == "- above their limits: slow 1.90 (1 MP)"


def test_wrong_results_are_seen() -> None:
    case = Case("wrong", lambda a: hl.filters.box(a, 3), lambda a: cv2.blur(a, (5, 5)))
    with pytest.raises(AssertionError, match="wrong: .* apart"):
        bench.measure(case, bench.photo(0.002, 1, "uint8"), 1, time.process_time)


def test_the_mean_of_ratios() -> None:
    assert bench.mean([0.5, 2.0]) == pytest.approx(1.0)
    assert bench.mean([]) == 0
