"""Random recursive filters, a seeded tenth of what a long run has."""

from __future__ import annotations

import random

import pytest

from tests.fuzz.recursive import difference, draw


@pytest.mark.parametrize("part", range(10))
def test_recursive_filters(part: int) -> None:
    for number in range(part * 10, part * 10 + 10):
        case = draw(random.Random(number))
        assert not difference(case), f"seed {number}: {case}"
