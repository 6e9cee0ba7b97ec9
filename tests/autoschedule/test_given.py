"""What a user gives with `autoschedule`, right and wrong, to all schedulers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.autoschedule.machine.machine import host

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


def test_a_list_of_arrays_is_what_is_written_to() -> None:
    a, b = hl.funcs("a b")
    a[x, y] = x + y
    b[x, y] = hl.f32(x - y)
    first, second = np.zeros((7, 9), np.int32), np.zeros((5, 4), np.float32)
    result = hl.autoschedule([a, b], [first, second])
    assert result.sizes is not None
    wanted = {a._function: ((0, 8), (0, 6)), b._function: ((0, 3), (0, 4))}
    assert dict(result.sizes.outputs) == wanted
    hl.Pipeline([a, b]).realize([first, second])
    assert first[6, 8] == 14 and second[4, 3] == -1


def test_a_name_means_just_that_param_before_one_that_wished_for_it() -> None:
    one, two = hl.Param(hl.Int(32), "amount"), hl.Param(hl.Int(32), "amount")
    assert one.name() == "amount" and two.name() != "amount"
    f = hl.Func("f")
    # The one of the other name is mentioned first.
    f[x] = x * two + one
    result = hl.autoschedule(f, [30], inputs={"amount": 5, two.name(): 7})
    assert result.sizes is not None
    assert dict(result.sizes.params) == {one._sym: 5, two._sym: 7}
    result.undo()
    # Without the other, the plain name will do.
    f = hl.Func("f")
    f[x] = x * two
    result = hl.autoschedule(f, [30], inputs={"amount": 5})
    assert result.sizes is not None and dict(result.sizes.params) == {two._sym: 5}


def test_a_parameter_in_small_letters_and_in_capitals() -> None:
    with pytest.raises(hl.ScheduleError) as caught:
        hl.autoschedule(
            plain(),
            [640, 480],
            scheduler="Mullapudi2016",
            VECTOR_WIDTH=8,
            vector_width=16,
        )
    assert caught.value.what == (
        "the parameter VECTOR_WIDTH of Mullapudi2016 is given twice, as '8' and as '16'"
    )
    assert caught.value.at is not None and caught.value.at.file == __file__


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_notes_are_a_tuple(scheduler: str) -> None:
    assert hl.autoschedule(plain(), [640, 480], scheduler=scheduler).notes == ()


def test_what_is_printed_says_what_it_is_to_be_added_to() -> None:
    f, g = plain(), hl.Func("g")
    g[x, y] = f[x, y] + f[x, y + 1]
    result = hl.autoschedule(g, [640, 480])
    assert "`pipeline`, which have no schedule yet." in result.to_python()
    result.undo()
    f.compute_root()
    result = hl.autoschedule(g, [640, 480])
    told = "`pipeline`, which have the directives that they had."
    for one in (result, result.alternative(result.decisions[0])):
        assert told in one.to_python()
    result.undo()
    assert told in result.to_python()


@pytest.mark.parametrize("threads", ["²", "٣", "-1", "", "0"])
def test_what_is_no_number_of_threads(
    monkeypatch: pytest.MonkeyPatch, threads: str
) -> None:
    monkeypatch.delenv("HL_NUM_THREADS", raising=False)
    usual = host().threads
    monkeypatch.setenv("HL_NUM_THREADS", threads)
    assert host().threads == usual
