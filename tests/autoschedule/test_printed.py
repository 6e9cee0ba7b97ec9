"""What the schedulers find for the paper's applications, printed: the same schedule."""

from __future__ import annotations

import pytest

import parhelion as hl
from benchmarks.cases import case
from tests.autoschedule.test_script import exec_on, nest, state

#: The small ones; `make bench-auto --keep` prints them all.
APPS = ("unsharp", "harris", "max_filter", "bilateral_grid", "hist", "matmul")


def made(name: str) -> hl.Func:
    known = case(name)
    app = known.algorithm(hl)
    for param, value in known.values.items():
        app.params[param].set_estimate(value)
    (output,) = known.outputs
    found = app.output
    assert isinstance(found, hl.Func)
    found.set_estimates([(0, extent) for extent in output.size])
    return found


@pytest.mark.parametrize("scheduler", ["Mullapudi2016", "Parhelion"])
@pytest.mark.parametrize("name", APPS)
def test_the_printed_schedule_is_the_one_that_was_found(
    name: str, scheduler: str
) -> None:
    out, again = made(name), made(name)
    params = hl.AutoschedulerParams(scheduler, {"parallelism": 2})
    result = hl.Pipeline(out).apply_autoscheduler(hl.get_host_target(), params)
    text = result.to_python()
    assert max(map(len, text.splitlines())) <= 88
    exec_on(text, [again])
    assert state([again]) == state([out])
    assert nest([again]) == nest([out])
    # The same again, once it has been taken back and explained.
    result.explain()
    result.undo()
    assert state([out]) == state([made(name)])
    result.apply()
    assert state([out]) == state([again]) and result.to_python() == text
