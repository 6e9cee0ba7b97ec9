"""Random pipelines under automatic schedules, compared with the interpreter."""

from __future__ import annotations

import pytest

from tests.fuzz.auto import fuzz


@pytest.mark.parametrize("seed", range(4))
def test_mullapudi2016(seed: int) -> None:
    summary = fuzz(10, 700 + seed, "Mullapudi2016")
    assert summary.count == 10 and not summary.failures, summary.failures
    assert summary.directives["vectorize"] and summary.directives["compute_at"]


@pytest.mark.parametrize("seed", range(2))
def test_parhelion(seed: int) -> None:
    summary = fuzz(6, 711 + seed * 4, "Parhelion")
    assert summary.count == 6 and not summary.failures, summary.failures
    # Its last resort would hide what goes wrong.
    assert not summary.notes
    assert summary.directives["vectorize"]
