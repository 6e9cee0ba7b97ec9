"""Random scans in ordinary updates, a seeded tenth of what a long run has."""

from __future__ import annotations

import random

import pytest

from tests.fuzz.scans import difference, draw


@pytest.mark.parametrize("part", range(10))
def test_scans(part: int) -> None:
    for number in range(part * 10, part * 10 + 10):
        case = draw(random.Random(number))
        assert not difference(case), f"seed {number}: {case}"
