"""Random kernels with stages of a block, a small part of what a long run has."""

from __future__ import annotations

import random

import pytest

from tests.fuzz.staged import GIVEN, difference, draw


@pytest.mark.parametrize("part", range(4))
def test_staged_kernels(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_GPU", "simulate")
    before = GIVEN["clean"]
    for number in range(part * 10, part * 10 + 10):
        drawn = draw(random.Random(number))
        assert not difference(drawn), f"seed {number}: {drawn}"
    # Most schedules are to be taken, or nothing is tested.
    assert GIVEN["clean"] - before >= 4
