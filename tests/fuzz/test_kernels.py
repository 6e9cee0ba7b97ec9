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
