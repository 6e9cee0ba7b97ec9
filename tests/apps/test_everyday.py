"""The everyday pipelines: right results, groups by the hash of a name, their tables."""

from __future__ import annotations

import warnings
from types import EllipsisType
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from benchmarks.auto.adams import funcs_of
from benchmarks.auto.estimates import set_estimates
from benchmarks.everyday import baselines, drawing, table
from benchmarks.everyday.contenders import BASELINES, HALIDES, OURS
from benchmarks.everyday.pipeline import GROUPS, SEEN, Pipeline, group_of
from benchmarks.everyday.pipelines import all_pipelines, pipeline
from tests.support.checking import Array

pytestmark = pytest.mark.usefixtures("programs_once")

NAMES = [p.name for p in all_pipelines()]


@pytest.fixture(autouse=True)
def known() -> None:
    baselines.register()


def ours(p: Pipeline, scheduler: str, **told: str) -> Array:
    """The small size under a scheduler."""
    case = p.case(p.small)
    app, images = case.algorithm(hl), case.inputs()
    set_estimates(case, app, images)
    case.bind(hl, app, images)
    params = hl.AutoschedulerParams(scheduler, told)
    hl.Pipeline([app.output]).apply_autoscheduler(hl.get_host_target(), params)
    result = case.outputs[0].new()
    app.output.realize(result.buffer(hl))
    return result.array


def theirs(p: Pipeline, halide: Any) -> Array:
    """The small size under Halide, everything at the root."""
    case = p.case(p.small)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of floats that are doubles in Python
        app, images = case.algorithm(halide), case.inputs()
    for f in funcs_of(halide, halide.Pipeline([app.output])):
        f.compute_root()
    case.bind(halide, app, images)
    result = case.outputs[0].new()
    app.output.realize(result.buffer(halide))
    return result.array


@pytest.mark.parametrize("name", NAMES)
def test_results(name: str) -> None:
    p = pipeline(name)
    case = p.case(p.small)
    found = ours(p, baselines.ROWS)
    assert found.min() < found.max(), "a result that is constant shows nothing"
    halide = pytest.importorskip("halide")
    apart = case.difference([found], [theirs(p, halide)])
    assert case.same(apart), apart
    if p.reference is not None:
        expected = p.reference(p.inputs(p.small))
        assert expected.shape == found.shape
        k = p.border
        inner: tuple[EllipsisType | slice, ...]
        inner = (..., *[slice(k, n - k) for n in found.shape[-2:]])
        apart = case.difference([found[inner]], [expected[inner]])
        assert case.same(apart), apart


def test_most_have_a_reference() -> None:
    without = [p.name for p in all_pipelines() if p.reference is None]
    assert len(without) <= len(NAMES) // 5, without


def test_names_are_different() -> None:
    assert len(set(NAMES)) == len(NAMES)


def test_groups_are_balanced() -> None:
    assert set(SEEN) <= set(NAMES)
    assert all(group_of(n) == GROUPS[0] for n in SEEN)
    # What was seen before is in the first group beyond its share.
    drawn = [group_of(n) for n in NAMES if n not in SEEN]
    counts = {g: drawn.count(g) for g in GROUPS}
    assert min(counts.values()) >= len(NAMES) // 5, counts


def test_random_schedules_are_seeded_and_differ() -> None:
    case = pipeline("video_motion").case((64, 48, 6))
    first = drawing.drawn(case)
    assert first == drawing.drawn(case)
    assert len(first) > 20


def test_random_schedules_compute_the_same() -> None:
    p = pipeline("video_motion")
    expected = ours(p, baselines.ROWS)
    for seed in range(4):
        assert np.array_equal(ours(p, baselines.RANDOM, seed=str(seed)), expected)


def test_rows_leave_boundary_conditions_inline() -> None:
    case = pipeline("ssim").case()
    app = case.algorithm(hl)
    set_estimates(case, app, case.inputs())
    result = hl.Pipeline([app.output]).apply_autoscheduler(
        hl.get_host_target(), hl.AutoschedulerParams(baselines.ROWS)
    )
    text = result.to_python()
    assert "repeat_edge" not in text
    assert text.count("compute_root()") == 15
    assert text.count(".vectorize(x, 8)") == text.count(".parallel(y)") == 16


def _entry(seconds: float, **more: Any) -> dict[str, Any]:
    return {"min": seconds, "same": True, "spread": 0.0, **more}


def test_the_last_group_is_told_as_a_whole() -> None:
    name = next(n for n in NAMES if group_of(n) == GROUPS[-1])
    at = {
        "contenders": {
            OURS.label: _entry(1.0, schedule=0.5, compile=1.75),
            HALIDES.label: _entry(2.0),
            BASELINES["rows"].label: _entry(0.5),
        },
        "stability": {"fewer": 0.8, "more": 1.0},
    }
    results = {"cases": {name: {"threads": {"1": at}}}}
    (row,) = table.summary(results, GROUPS[-1])
    assert name not in row
    told = dict(zip(table.SUMMARY_HEAD, row, strict=True))
    assert told["over Halide's Mullapudi2016"] == "0.500 (1)"
    assert told["time over the best baseline ≤ 1.05"] == "2.00 (1)"
    assert told["seconds to schedule ≤ 2.0"] == "0.50 (0)"
    assert told["time with other chances over its own ≤ 1.05"] == "1.25 (1)"
    hidden = [
        f"{m.what} {m.found} {m.verdict}"
        for m in table.limits(results, GROUPS[-1], named=False)
    ]
    assert not any(name in line for line in hidden)
    assert sum("MISSED" in line for line in hidden) == 4
    shown = table.limits(results, GROUPS[-1], named=True)
    assert any(name in m.verdict for m in shown)
