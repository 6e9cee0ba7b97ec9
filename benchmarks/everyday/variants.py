"""The default scheduler with chances that should not matter: a little more or less
time to search, and another order of choices that cost the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np

import parhelion as hl
from benchmarks.auto.estimates import set_estimates
from benchmarks.case import Case
from parhelion.autoschedule.model.groups import Costs, Model
from parhelion.autoschedule.search.base import evaluations_for
from parhelion.autoschedule.search.scheduler import NAME
from parhelion.schedule.order import realization_order

#: By what the search's evaluations are multiplied.
BUDGETS = {"fewer": 0.8, "more": 1.2}
#: Costs of candidates that are equal get to differ by such a share, at random.
_PARTS = 1e-9


def texts(case: Case, threads: int) -> dict[str, str]:
    """The schedules, as Python, of the scheduler as it is ("plain"), with fewer and
    more evaluations, and with equal choices in two other orders."""
    found = {"plain": _text(case, threads, {})}
    for name, share in BUDGETS.items():
        count = round(share * _evaluations(case))
        found[name] = _text(case, threads, {"budget": str(count)})
    for seed in (1, 2):
        with mock.patch.object(Model, "group", _shuffled(seed)):
            found[f"order {seed}"] = _text(case, threads, {})
    return found


def _text(case: Case, threads: int, told: dict[str, str]) -> str:
    app = case.algorithm(hl)
    set_estimates(case, app, case.inputs())
    params = hl.AutoschedulerParams(NAME, {"parallelism": str(threads), **told})
    pipeline = hl.Pipeline([app.output])
    result = pipeline.apply_autoscheduler(hl.get_host_target(), params)
    return str(result.to_python())


def _evaluations(case: Case) -> int:
    """How many groups are evaluated at most where nothing is said."""
    outputs: Sequence[Any] = hl.Pipeline([case.algorithm(hl).output])._functions()
    return evaluations_for(len(realization_order(tuple(outputs))))


def _shuffled(seed: int) -> Any:
    """`Model.group`, with costs changed by so little that only the order of equal ones
    does."""
    rng = np.random.default_rng(seed)
    plain = Model.group

    def group(self: Model, *given: Any, **named: Any) -> Costs:
        found = plain(self, *given, **named)
        shape = np.shape(found.total)
        return replace(found, total=found.total * (1 + _PARTS * rng.random(shape)))

    return group


__all__ = ["texts"]
