"""Schedules made in several processes at once, as text: no time depends on that."""

from __future__ import annotations

import ast
import hashlib
import multiprocessing
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache

import parhelion as hl
from benchmarks.auto.estimates import set_estimates
from benchmarks.auto.series import find
from benchmarks.case import Case, Image

#: How many processes make schedules.
JOBS = 2


@dataclass(frozen=True)
class Maker:
    """Where a schedule comes from: the case whose sizes the scheduler is told, the
    scheduler, and its parameters."""

    made_for: str
    scheduler: str
    parameters: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Made:
    """A schedule as Python and the seconds that it took to find; "failed" with the
    reason where there is none."""

    seconds: float = 0.0
    python: str = ""
    failed: str = ""

    @property
    def digest(self) -> str:
        return digest(self.python)


def digest(text: str) -> str:
    """The same for the same schedule, whatever the comments say: the first of them
    names the parameters."""
    code = ast.dump(ast.parse(text))
    return hashlib.sha256(code.encode()).hexdigest()[:16]


#: What a scheduler may raise, or a pipeline when it is compiled or run.
ERRORS = (RuntimeError, ValueError, TypeError, hl.HalideError)


def reason(error: BaseException) -> str:
    """The first line of what an error says, after its kind."""
    said = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {said[0]}"


@cache
def _inputs(case: str) -> tuple[Case, Mapping[str, Image]]:
    found = find(case)
    return found, found.inputs()


def make(maker: Maker) -> Made:
    """One schedule."""
    case, images = _inputs(maker.made_for)
    app = case.algorithm(hl)
    set_estimates(case, app, images)
    params = hl.AutoschedulerParams(maker.scheduler, dict(maker.parameters))
    start = time.perf_counter()
    try:
        pipeline = hl.Pipeline([app.output])
        result = pipeline.apply_autoscheduler(hl.get_host_target(), params)
    except ERRORS as error:
        return Made(failed=reason(error))
    return Made(time.perf_counter() - start, result.to_python())


class Makers:
    """Processes that make schedules; to be closed, as a context."""

    def __init__(self, jobs: int = JOBS) -> None:
        # Not forked: threads of both modules' pools would not come along.
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(jobs, mp_context=context)

    def make(self, makers: Iterable[Maker]) -> dict[Maker, Made]:
        """Each of these once."""
        each = list(dict.fromkeys(makers))
        return dict(zip(each, self._pool.map(make, each), strict=True))

    def __enter__(self) -> Makers:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()


__all__ = ["ERRORS", "JOBS", "Made", "Maker", "Makers", "digest", "make", "reason"]
