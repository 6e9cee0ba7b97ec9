"""How a case shrinks that fails in memory with edges (see `guarded`).

python -m parhelion.tools.reduce tests.fuzz.guarded_reduction SEED
"""

from __future__ import annotations

from tests.fuzz.case import Case
from tests.fuzz.reduction import as_test, kind_of, load, smaller
from tests.fuzz.worker import run_apart

__all__ = ["as_test", "failure", "load", "smaller"]


def failure(case: Case) -> str | None:
    return kind_of(run_apart(case, guarded=True))
