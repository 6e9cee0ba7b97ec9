"""What a user gives with `autoschedule`, right and wrong, to all schedulers."""

from __future__ import annotations

from typing import Any

import pytest

import parhelion as hl

x, y = hl.vars("x y")
SCHEDULERS = ("Parhelion", "Mullapudi2016", "Baseline", "PolyMage")


def plain() -> hl.Func:
    f = hl.Func("f")
    f[x, y] = x + y
    return f


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("params", [{"parallelism": 0}, {"paralelism": 4}])
def test_a_wrong_parameter_shows_the_line_of_the_user(
    scheduler: str, params: dict[str, Any]
) -> None:
    with pytest.raises(hl.ScheduleError) as caught:
        hl.autoschedule(plain(), [640, 480], scheduler=scheduler, **params)
    at = caught.value.at
    assert at is not None and at.file == __file__
    assert at.text().startswith("hl.autoschedule(plain(), [640, 480]")
    assert str(at) in str(caught.value)
