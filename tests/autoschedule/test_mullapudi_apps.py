"""The paper's applications under its scheduler: right at other sizes than estimated."""

from __future__ import annotations

import pytest

import parhelion as hl
from benchmarks.auto.estimates import set_estimates
from benchmarks.cases import case

#: Applications, and how much smaller than in the benchmarks they are run.
APPS = {
    "blur": 1 / 64,
    "unsharp": 1 / 32,
    "harris": 1 / 32,
    "max_filter": 1 / 32,
    "bilateral_grid": 1 / 16,
    "hist": 1 / 16,
    "conv_layer": 1 / 16,
    "matmul": 1 / 32,
}


COMPARED = ("blur", "harris", "hist")
ALL = [
    *[(name, "Mullapudi2016") for name in APPS],
    *[(name, other) for name in COMPARED for other in ("Baseline", "PolyMage")],
]


@pytest.mark.parametrize(("name", "scheduler"), ALL)
def test_a_schedule_for_large_images_is_right_for_small_ones(
    name: str, scheduler: str
) -> None:
    large = case(name)
    assert large.at is not None
    small = large.at(APPS[name])
    images = small.inputs()
    (output,) = small.outputs
    app = small.algorithm(hl)
    # It is told of the images of four times the size.
    set_estimates(large.at(4 * APPS[name]), app, large.at(4 * APPS[name]).inputs())
    hl.Pipeline([app.output]).apply_autoscheduler(
        hl.get_host_target(),
        hl.AutoschedulerParams(scheduler, {"machine": "xeon", "cache_size": 65536}),
    )
    small.bind(hl, app, images)
    got = output.new()
    app.output.realize(got.buffer(hl))
    expert = small.build(hl, next(iter(small.schedules)))
    small.bind(hl, expert, images)
    wanted = output.new()
    expert.output.realize(wanted.buffer(hl))
    difference = small.difference([got.array], [wanted.array])
    assert small.same(difference), difference
