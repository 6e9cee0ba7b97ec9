"""A fixed number of random cases; `make fuzz` runs 2,000.

A failure prints the command that shrinks it.
"""

from __future__ import annotations

import random

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.fuzz.draw import draw
from tests.fuzz.execute import Outcome
from tests.fuzz.run import Summary, fuzz
from tests.fuzz.worker import run_apart


def told(summary: Summary, kind: str = "") -> str:
    lines = [summary.text()]
    for seed, report in summary.failures:
        lines += [
            f"{report.outcome.value}: {report.message.strip()}",
            f"  python -m parhelion.tools.reduce tests.fuzz.reduction {kind}{seed}",
        ]
    return "\n".join(lines)


def test_random_pipelines_under_legal_schedules() -> None:
    summary = fuzz(70, seed=11)
    assert not summary.failures, told(summary)
    assert summary.outcomes[Outcome.CLEAN] >= 70
    # Every directive takes part, and most draws are legal.
    for name in ("split", "vectorize", "compute_at", "store_at", "parallel", "fuse"):
        assert summary.accepted[name] > 0, told(summary)
    assert summary.outcomes[Outcome.REFUSED] <= 2 * summary.outcomes[Outcome.CLEAN]


def test_random_pipelines_under_any_schedules() -> None:
    """A schedule drawn without regard to legality is right, or a ScheduleError."""
    summary = fuzz(60, seed=12, wild=True)
    assert not summary.failures, told(summary, "wild-")


@settings(
    max_examples=20,
    deadline=None,
    # `parhelion.tools.reduce` shrinks by parts of the pipeline, Hypothesis by numbers.
    phases=[Phase.generate],
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(st.randoms(use_true_random=False))
def test_any_pipeline_equals_the_interpreter(rng: random.Random) -> None:
    case = draw(rng)
    report = run_apart(case)
    assert not report.outcome.failed, f"{report.message}\n{case!r}"
