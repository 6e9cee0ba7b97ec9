"""Random programs, compiled, against the reference; `tests.forma.compare` runs more."""

from __future__ import annotations

import pytest

from tests.forma.compare import difference
from tests.forma.draw import draw


@pytest.mark.parametrize("first", range(1, 31, 10))
def test_random_programs(first: int) -> None:
    for seed in range(first, first + 10):
        drawn = draw(seed, math=seed % 3 == 0)
        told = difference(drawn, "Forma", math=seed % 3 == 0)
        assert not told, f"{told}\n{drawn.text}"


@pytest.mark.parametrize("scheduler, seed", [(None, 41), (None, 42), ("Parhelion", 43)])
def test_other_schedulers(scheduler: str | None, seed: int) -> None:
    drawn = draw(seed)
    assert difference(drawn, scheduler) == ""
