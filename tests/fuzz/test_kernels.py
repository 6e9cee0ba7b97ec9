"""Random schedules for a GPU, a seeded tenth of what a long run has."""

from __future__ import annotations

import random

import pytest

from tests.fuzz.kernels import GIVEN, difference, draw


@pytest.mark.parametrize("part", range(10))
def test_kernels(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_GPU", "simulate")
    before = GIVEN["clean"]
    for number in range(part * 20, part * 20 + 20):
        drawn = draw(random.Random(number))
        assert not difference(drawn), f"seed {number}: {drawn}"
    # Most schedules are to be taken, or nothing is tested.
    assert GIVEN["clean"] - before >= 5


def test_draws() -> None:
    """There are automatic schedules, other devices and broken requirements, and a
    requirement that is broken is found to be."""
    many = [draw(random.Random(number)) for number in range(200)]
    assert {d.scheduler for d in many} == {"", "Parhelion", "Mullapudi2016"}
    assert {d.switched for d in many} == {(-1,), (0,), (-1, 0), (0, -1)}
    broken = [d for d in many if d.broken]
    assert len(broken) >= 30
    before = GIVEN["requirements broken"]
    for drawn in broken[:8]:
        assert not difference(drawn), drawn
    assert GIVEN["requirements broken"] > before
