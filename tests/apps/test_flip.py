"""The experiment of the 2013 paper: counts, and the page that shows them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks import flip
from parhelion.interp import interpret

WHOLE = flip.WIDTH * flip.HEIGHT
PAGE = Path(__file__).parent.parent.parent / "docs" / "dynamic-counts.md"


def test_counts_of_the_schedules() -> None:
    image = flip.images()["coins"]
    make = flip.PROGRAMS["flip, dark pixels"]
    found = {
        name: flip.count(make, image, schedule)
        for name, schedule in flip.SCHEDULES.items()
    }
    assert found["root"] == WHOLE
    assert found["in each row"] == WHOLE * flip.HEIGHT
    assert found["in each pixel"] == WHOLE * WHOLE
    u, v = flip.field()
    touched = {
        (
            min(max(u[at] + i, 0), flip.WIDTH - 1),
            min(max(v[at] + j, 0), flip.HEIGHT - 1),
        )
        for at in zip(*np.nonzero(image < flip.DARK), strict=True)
        for i in (-1, 0, 1)
        for j in (-1, 0, 1)
    }
    assert found["on demand, values"] == len(touched) < WHOLE
    assert len(touched) < found["on demand, tiles of 8 x 8"] <= WHOLE


def test_programs_on_demand_are_the_interpreters() -> None:
    image = flip.images()["portrait"]
    for make in flip.PROGRAMS.values():
        p = make(image)
        p.producer.compute_lazy((8, 8))
        want = interpret(p.output._function, [(40, 30), (30, 20)])[0].T
        got = np.asarray(p.output.realize([flip.WIDTH, flip.HEIGHT]))
        np.testing.assert_array_equal(got[30:50, 40:70], want)


def test_the_page_shows_what_the_command_counts() -> None:
    text = PAGE.read_text()
    rows = {"root": {"coins": WHOLE}, "on demand": {"coins": 8781}}
    assert flip.table(rows).splitlines()[2:] == [
        "| root | 13,068 |",
        "| on demand | 8,781 |",
    ]
    assert "| on demand, values | 7,357 | 8,781 | 5,742 |" in text


def test_the_plot(tmp_path: Path) -> None:
    row = {name: {"coins": 10, "rings": 20, "portrait": 30} for name in ("a", "b")}
    flip.draw({"one": row, "two": row}, tmp_path / "plot.svg")
    assert (tmp_path / "plot.svg").stat().st_size > 1000
