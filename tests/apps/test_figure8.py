"""The schedules of Figure 8 agree, and the scripts around them run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import parhelion as hl
from apps import local_laplacian
from benchmarks import figure8, lines
from tests.apps.support import apart, noise, run


@pytest.mark.parametrize("at", [0, 4, 8])
def test_schedules_agree(at: int) -> None:
    image = (noise((3, 130, 140)) * 65535).astype(np.uint16)
    size = (140, 130, 3)
    step = figure8.STEPS[at]
    got = run(hl, local_laplacian.algorithm, step.schedule, {"input": image}, size)
    far = apart(got, local_laplacian.with_numpy(image))
    assert far.max() <= 600 and np.mean(far > 1) <= 0.002


def test_the_captions_steps_are_there() -> None:
    assert len(figure8.STEPS) >= 10
    assert [s.letter for s in figure8.STEPS if s.letter] == ["a", "b", "c", "d"]


def test_table_and_plot(tmp_path: Path) -> None:
    rows = [
        {"letter": "a", "name": "one", "parhelion": {"min": 0.2}},
        {"letter": "", "name": "two", "parhelion": {"min": 0.1}},
    ]
    assert figure8.table(rows, ["parhelion"]).splitlines()[2] == "| a | one | 200 |"
    figure8.draw(rows, ["parhelion"], tmp_path / "plot.svg")
    assert (tmp_path / "plot.svg").stat().st_size > 1000


def test_page() -> None:
    text = figure8.PAGE.format(size="2 x 2", threads="2", plot="a.svg", table="T")
    assert "(a)" in text and "![Times of the schedules](a.svg)" in text


def test_lines_are_counted() -> None:
    algorithm, schedule = lines.count("bilateral_grid")
    assert 30 <= algorithm <= 60 and 5 <= schedule <= 20
    assert lines.count("blur") == (7, 4)
