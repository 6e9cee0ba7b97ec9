"""The fuzzer is tested, too: it finds each of a number of bugs within a few cases."""

from __future__ import annotations

import inspect
import random
import textwrap

import pytest

from parhelion.tools.reduce import reduce
from tests.fuzz.bugs import BUGS, edited
from tests.fuzz.case import Case
from tests.fuzz.draw import draw
from tests.fuzz.execute import Outcome, run_case
from tests.fuzz.reduction import as_test, kind_of, parse, smaller
from tests.fuzz.worker import Worker, run_apart

#: Found within so many cases, drawn one after the other.
CASES = 80
#: Bugs of what few cases draw together, found after 150 cases or more, and of threads,
#: which are found or not by chance.
RARE = {
    *("blend_dropped", "parts_from_one", "remembered_by_size", "mask_not_inverted"),
    *("consumer_does_not_wait", "atomic_forgotten", "written_too_early"),
}
#: Which case finds a bug, to be tried first, where that is not the first of all. When
#: what is drawn has changed, others may: the test is slower then, until this is mended.
FOUND_BY = {
    "any_number_will_do": 31,
    "branches_swapped": 22,
    "folded_too_tightly": 22,
    "fuse_loses_the_min": 63,
    "guard_off_by_one": 5,
    "joined_over_the_leader": 9,
    "one_consumer_forgotten": 17,
    "one_copy_too_few": 10,
    "steady_state_too_long": 7,
    "values_stored_in_turn": 9,
    "window_slides_too_far": 22,
    "wrong_stride": 5,
}
#: Bugs that may have no consequence where memory has no edges.
OUTSIDE = {"storage_too_short"}
QUICK = [name for name in BUGS if name not in RARE | OUTSIDE]


@pytest.mark.parametrize("name", BUGS)
def test_is_an_edit_of_what_the_compiler_says_today(name: str) -> None:
    """Else a process with the bug would not start, and seem to have found it."""
    function, source = edited(BUGS[name])
    assert source != textwrap.dedent(inspect.getsource(function))


def first_found(worker: Worker, name: str) -> Case | None:
    """A case that fails because of the worker's bug: the one that is known, or else the
    first."""
    for number in (FOUND_BY.get(name, 0), *range(CASES)):
        case = draw(random.Random(7_000_000 + number))
        if worker.run(case).outcome.failed and not run_apart(case).outcome.failed:
            return case
    return None


@pytest.mark.parametrize("name", QUICK)
def test_finds(name: str) -> None:
    with Worker(name) as worker:
        assert first_found(worker, name) is not None, f"{BUGS[name].what}: not found"


@pytest.mark.parametrize("name", sorted(OUTSIDE))
def test_finds_in_memory_with_edges(name: str) -> None:
    with Worker(name, guarded=True) as worker:
        case = first_found(worker, "guard_off_by_one")
        assert case is not None, f"{BUGS[name].what}: not found"
        assert worker.run(case).outcome is Outcome.CRASH
    assert not run_apart(case, guarded=True).outcome.failed


def test_ten_bugs_or_more() -> None:
    assert len(QUICK) >= 10


def test_reduces_to_a_case_of_a_few_lines() -> None:
    with Worker("guard_off_by_one") as worker:
        case = first_found(worker, "guard_off_by_one")
        assert case is not None
        failure = kind_of(worker.run(case))
        assert failure is not None
        small = reduce(case, lambda c: kind_of(worker.run(c)) == failure, smaller)
        assert kind_of(worker.run(small)) == failure
    assert len(small.stages) == 1 and len(small.schedule) == 1
    assert parse(repr(small)) == small
    # Without the bug, the test that is printed passes.
    scope: dict[str, object] = {}
    exec(as_test(small, failure), scope)
    (found,) = [f for n, f in scope.items() if n.startswith("test_")]
    assert callable(found)
    found()
    assert not run_case(small).outcome.failed
