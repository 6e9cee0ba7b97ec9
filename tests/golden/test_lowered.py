"""Lowered programs of small pipelines, whole: what every pass together makes of them.

A change of these texts is a change of the code that users run: review it as such.
"""

from __future__ import annotations

import pytest

import parhelion as hl
from parhelion.ir.text import text
from parhelion.lower.options import LowerOptions
from parhelion.lower.passes import lower
from parhelion.schedule.spec import PipelineSpec
from tests.golden.nests import CASES
from tests.support.golden import Golden

#: Of the small pipelines, those that differ most in how they are lowered.
LOWERED = (
    "at_an_rvar",
    "atomic",
    "atomic_lanes",
    "blur_fused_loops",
    "blur_inline",
    "blur_root",
    "blur_sliding",
    "blur_tiled",
    "diamond_in_a_loop",
    "histogram",
    "inside_a_guarded_loop",
    "one_point_in_a_vector",
    "parallel_rvar",
    "reduction_by_default",
    "reductions_by_default_nested",
    "prefetch",
    "rvars_split",
    "slide_in_bounds",
    "split_by_a_param",
    "store_the_first_of_two",
    "tasks_and_bounds",
    "through_a_consumer",
    "two_outputs",
    "used_in_the_update",
    "zero_dimensions",
)


@pytest.mark.filterwarnings("ignore::parhelion.schedule.rules.ScheduleWarning")
@pytest.mark.parametrize("name", LOWERED)
def test_lowered(name: str, golden: Golden) -> None:
    made = CASES[name](hl)
    outputs = made._functions() if isinstance(made, hl.Pipeline) else [made._function]
    golden.check(
        f"lowered/{name}", text(lower(PipelineSpec.of(list(outputs)), name=name).body)
    )


#: Of these, those whose marks of the profiler differ most.
PROFILED = ("blur_sliding", "blur_tiled", "tasks_and_bounds")


@pytest.mark.filterwarnings("ignore::parhelion.schedule.rules.ScheduleWarning")
@pytest.mark.parametrize("name", PROFILED)
def test_profiled(name: str, golden: Golden) -> None:
    made = CASES[name](hl)
    outputs = made._functions() if isinstance(made, hl.Pipeline) else [made._function]
    lowered = lower(
        PipelineSpec.of(list(outputs)), name=name, options=LowerOptions(profile=True)
    )
    golden.check(f"profiled/{name}", text(lowered.body))
