"""Threads that compile, schedule and run at the same time, a few rounds of them."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from tests.fuzz import threads
from tests.fuzz.threads import Made, Shared, Threads

pytestmark = [
    pytest.mark.filterwarnings("ignore::parhelion.schedule.rules.ScheduleWarning"),
    pytest.mark.filterwarnings(
        "ignore::parhelion.schedule.recomputing.RecomputeWarning"
    ),
]


def test_pipelines_that_share_images_are_used_by_several_threads() -> None:
    run = Threads(rounds=120, seed=3)
    run.run(8)
    assert not run.failures, run.failures[0]
    assert run.done.total() == 120
    assert {"run", "hand", "spec", "shared"} <= set(run.done)
    assert {"search", "paper"} & set(run.done)


def test_a_wrong_pixel_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(shared: Shared, rng: random.Random) -> Made:
        made = threads.stencil(shared, rng)
        return replace(made, expected=lambda value: made.expected(value) + np.int32(1))

    monkeypatch.setattr(threads, "MAKERS", (wrong,))
    run = Threads(rounds=3, seed=1)
    run.run(1)
    assert len(run.failures) == 3 and "Mismatched elements" in run.failures[0]
