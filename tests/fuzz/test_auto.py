"""Random pipelines under automatic schedules, compared with the interpreter."""

from __future__ import annotations

import pytest

from tests.fuzz.auto import fuzz


@pytest.mark.parametrize("seed", range(4))
def test_mullapudi2016(seed: int) -> None:
    summary = fuzz(10, 700 + seed, "Mullapudi2016")
    assert summary.count == 10 and not summary.failures, summary.failures
    assert summary.directives["vectorize"] and summary.directives["compute_at"]
