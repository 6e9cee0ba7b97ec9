"""What fuzzing found in where storage lives and how much there is, reduced."""

from __future__ import annotations

import pytest

from tests.fuzz.case import Case, Directive, Input, Stage
from tests.fuzz.execute import Outcome, run_case

FOUND = {
    # Each part is bound to more than its share of the whole; what was allocated for
    # all of them was what the whole needs: a write outside of it.
    "hoisted_and_bound": Case(
        inputs=(Input("u8", (9, 9), (0, 0), 1, True),),
        stages=(
            Stage("updates", "u8", 2, (-1, -1), (10, 72, 99, 4, 39, 81, 41, 82, 29, 6)),
            Stage("stencil", "f32", 2, (0, 0), (13, 78, 65, 94, 60, 65, 53, 89, 12)),
        ),
        outputs=(1,),
        extents=(3, 26),
        mins=(0, 0, 0),
        schedule=(
            Directive("compute_at", 0, 0, (1, 2, 16)),
            Directive("hoist_storage_root", 0),
            Directive("vectorize", 0, 0, (41, 65, 64, 76, 93, 32)),
            Directive("reorder", 0, 0, (20, 53, 3, 24, 55, 58)),
            Directive("bound_extent", 0, 0, (86, 38, 32, 16)),
        ),
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_found(name: str) -> None:
    report = run_case(FOUND[name])
    assert report.outcome is Outcome.CLEAN, report.message
