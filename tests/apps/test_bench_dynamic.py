"""The benchmark of computing on demand: contenders agree, tables say what was found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.dynamic import contenders as of
from benchmarks.dynamic import figures, page
from benchmarks.dynamic.choices import BY_HAND, CHOSEN, chosen, lines_of
from benchmarks.dynamic.goals import goals

SIDE = 150
IMAGE = figures.picture(SIDE)
SHAPE = SIDE - 2, SIDE - 2


def _consumers() -> dict[str, tuple[of.Consumer, tuple[int, ...]]]:
    corners = of.corners_of(SHAPE, (60, 40))
    columns, rows = np.mgrid[:SIDE, :SIDE].astype(np.int16)
    maps = [m.astype(np.float32) * 0.7 for m in (columns, rows)]
    mask = of.patches(SHAPE, 0.3, (30, 20))
    return {
        "whole": (of.whole, SHAPE),
        "masked": (of.masked(mask), SHAPE),
        "windows": (of.windows(corners, SHAPE, (60, 40)), (len(corners), 40, 60)),
        "repeated": (of.repeated, (2, SIDE, SIDE)),
        "looked up": (of.looked_up(columns, rows), (2, SIDE, SIDE)),
        "remapped": (of.remapped(maps[0], maps[1], (SIDE, SIDE)), IMAGE.shape),
    }


@pytest.mark.parametrize("name", _consumers())
def test_contenders_agree(name: str) -> None:
    consumer, shape = _consumers()[name]
    kinds = (of.ROOT, of.VALUES, of.TILES)
    made = {s: of.contender(IMAGE, consumer, s, shape) for s in kinds}
    of.agree(made, name)
    assert np.ptp(made[of.ROOT].result) > 0.1


def test_what_differs_is_told() -> None:
    def fill(value: float) -> of.Contender:
        return of.Contender(lambda a: a.fill(value), np.zeros(3, np.float32))

    with pytest.raises(of.WrongResult, match="b is apart by 1"):
        of.agree({"a": fill(1), "b": fill(2)}, "numbers")


@pytest.mark.parametrize("size", [(30, 20), (1, 1)])
def test_masks_cover_a_part(size: tuple[int, int]) -> None:
    for part in (0.1, 0.5, 1.0):
        mask = of.patches((400, 500), part, size)
        assert mask.shape == (400, 500)
        assert abs(mask.mean() - part) < 0.05


def _figures() -> dict[str, Any]:
    times = {name: {"min": 0.02, "median": 0.03, "runs": 3} for name in figures.ALL}
    rows: dict[str, dict[str, Any]] = {}
    for part in figures.COVERAGES:
        tiles = {"min": 0.04 * part, "median": 0.05 * part, "runs": 3}
        mask = {"covered": part}
        rows[str(part)] = {**times, of.TILES: tiles, "mask": mask}
    return {
        "side": 64,
        "threads": 2,
        "again": 8,
        "full": times,
        "covered": dict.fromkeys(("windows", "patches", "pixels"), rows),
        "hits": {"in order": {of.ROOT: 1.0, of.VALUES: 3.0, of.TILES: 0.5}},
        "dewarp": {**times, "part": {"tiles": 0.31, "values": 0.29}},
        "choices": [
            {
                "case": "windows",
                "part": 0.1,
                "label": "root",
                "times": {**dict.fromkeys(BY_HAND, 0.02), CHOSEN: 0.021},
            }
        ],
    }


def test_what_is_chosen_agrees() -> None:
    consumer, shape = _consumers()["windows"]
    made = {
        of.ROOT: of.contender(IMAGE, consumer, of.ROOT, shape),
        CHOSEN: chosen(IMAGE, consumer, shape, 0.3, (60, 40))[0],
    }
    of.agree(made, "windows")
    (line,) = lines_of(_figures()["choices"])
    assert line[:2] == ["windows", "10%"] and line[-2:] == ["root", "1.05"]


def test_the_page(tmp_path: Path) -> None:
    found = _figures()
    said = {g.what: g.met for g in goals(found)}
    assert said["a tenth of it, in windows: tiles over root"]
    assert not said["reading a value again, in order: values less root"]
    assert said["reading a value again, in order: tiles less root"]
    assert not said["dewarp: tiles over the better of root and inline"]
    text, plot = page.write(found, tmp_path / "page.md")
    assert "tiles are faster than root and inline up to 50%" in text.read_text()
    assert plot.stat().st_size > 10_000
    assert "MISSED" in page.summary(found)


def test_the_crossover_is_between_points() -> None:
    rows = _figures()["covered"]["windows"]
    assert page.crossover(rows, of.TILES) == pytest.approx(0.5)
    assert page.crossover(rows, of.VALUES) == 1.0
    for times in rows.values():
        times[of.TILES] = {"min": 1.0}
    assert page.crossover(rows, of.TILES) is None
