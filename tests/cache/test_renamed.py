"""Programs that find the code of one with other names: messages have their own."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.ir import names
from parhelion.ir.failures import FAILURES
from parhelion.runtime import program

Guard = hl.TailStrategy.GuardWithIf


class Parts:
    """What the programs below are made of, by the names that a scheme gives."""

    def __init__(self, called: Callable[[str], str]) -> None:
        self.x, self.y = hl.Var(called("x")), hl.Var(called("y"))
        self.xi, self.yi = hl.Var(called("xi")), hl.Var(called("yi"))
        self.f, self.g = hl.Func(called("f")), hl.Func(called("g"))
        self.image = hl.ImageParam(hl.Int(32), 2, called("im"))
        self.p = hl.Param(hl.Int(32), called("p"), 4)
        self.r = hl.RDom([(0, 3), (0, 2)], called("r"))
        self.image.set(np.ones((8, 8), np.int32))

    def plain(self) -> None:
        x, y = self.x, self.y
        self.f[x, y] = self.image[x, y] * 2
        self.g[x, y] = self.f[x, y] + self.f[x, y + 1]


def input_too_small(o: Parts) -> Any:
    o.plain()
    return lambda: o.g.realize([9, 9])


def output_too_small(o: Parts) -> Any:
    o.f[o.x] = o.x + o.p
    o.f.vectorize(o.x, 8, hl.TailStrategy.RoundUp)
    return lambda: o.f.realize(hl.Buffer(hl.Int(32), [9]))


def of_a_value_of_a_tuple(o: Parts) -> Any:
    o.f[o.x] = (o.x + o.p, o.x)
    o.f.vectorize(o.x, 8, hl.TailStrategy.RoundUp)
    return lambda: o.f.realize([hl.Buffer(hl.Int(32), [n]) for n in (16, 9)])


def constraint(o: Parts) -> Any:
    o.plain()
    o.image.dim(1).set_stride(16)
    return lambda: o.g.realize([4, 4])


def of_an_output(o: Parts) -> Any:
    o.plain()
    o.g.output_buffer().dim(0).set_extent(o.p)
    return lambda: o.g.realize([5, 5])


def param_below(o: Parts) -> Any:
    o.f[o.x] = o.x + o.p
    o.p.set_range(5, 7)
    return lambda: o.f.realize([4])


def param_above(o: Parts) -> Any:
    o.f[o.x] = o.x + o.p
    o.p.set_range(1, 3)
    return lambda: o.f.realize([4])


def bound_too_small(o: Parts) -> Any:
    o.plain()
    o.g.bound(o.y, 0, o.p)
    return lambda: o.g.realize([5, 5])


def storage_bound_too_small(o: Parts) -> Any:
    o.plain()
    o.f.compute_root().bound_storage(o.y, o.p)
    return lambda: o.g.realize([5, 5])


def fold_too_small(o: Parts) -> Any:
    x, y = o.x, o.y
    o.f[x, y] = x + y
    o.g[x, y] = o.f[x, y] + o.f[x, y + o.p]
    o.f.store_root().compute_at(o.g, y).fold_storage(y, 4)
    o.p.set_range(0, 9)
    return lambda: o.g.realize([5, 5])


def fold_direction(o: Parts) -> Any:
    x, y = o.x, o.y
    o.f[x, y] = x + y
    o.g[x, y] = o.f[x, y * o.p]
    o.f.store_root().compute_at(o.g, y).fold_storage(y, 64)
    o.p.set(-1)
    return lambda: o.g.realize([5, 5])


def number_not_positive(o: Parts) -> Any:
    o.plain()
    o.g.split(o.x, o.x, o.xi, o.p, Guard)
    o.p.set(0)
    return lambda: o.g.realize([5, 5])


def of_long_text(o: Parts) -> Any:
    """Longer than messages show it."""
    o.plain()
    p = o.p
    factor = (p * 31 + p * p * 37) * (p + 41) + (p * 43 + p * p * 47) * (p + 53)
    o.g.split(o.x, o.x, o.xi, factor, Guard)
    o.p.set(0)
    return lambda: o.g.realize([5, 5])


def of_an_update(o: Parts) -> Any:
    o.f[o.x] = 0
    o.f[o.x] += o.r.x + o.r.y
    o.f.update(0).split(o.r.x, hl.RVar("ro"), hl.RVar("ri"), o.p, Guard)
    o.p.set(0)
    return lambda: o.f.realize([5])


def coordinate_overflow(o: Parts) -> Any:
    x, y = o.x, o.y
    o.f[x, y] = x + y
    o.g[x, y] = o.f[x * o.p, y]
    o.f.compute_root()
    o.p.set(1 << 30)
    return lambda: o.g.realize([5, 5])


def specialize_fail(o: Parts) -> Any:
    o.f[o.x] = o.x + o.p
    o.f.specialize(o.p == 1)
    o.f.specialize_fail("f wants p, x or im to be 1")
    return lambda: o.f.realize([5])


def require(o: Parts) -> Any:
    o.f[o.x] = hl.require(o.p == 1, o.x, "p, x and f:", o.p)
    return lambda: o.f.realize([5])


def two_errors_of_two_stages(o: Parts) -> Any:
    o.plain()
    o.f.compute_at(o.g, o.y).vectorize(o.x, 8, Guard)
    o.g.tile(o.x, o.y, o.xi, o.yi, 4, 4, Guard).parallel(o.y)
    return lambda: o.g.realize(hl.Buffer(np.zeros((9, 3), np.int32)))


CASES = [
    input_too_small,
    output_too_small,
    of_a_value_of_a_tuple,
    constraint,
    of_an_output,
    param_below,
    param_above,
    bound_too_small,
    storage_bound_too_small,
    fold_too_small,
    fold_direction,
    number_not_positive,
    of_long_text,
    of_an_update,
    coordinate_overflow,
    specialize_fail,
    require,
    two_errors_of_two_stages,
]

SWAPPED = {"x": "y", "y": "x", "f": "g", "g": "f", "im": "p", "p": "im", "r": "q"}
SCHEMES: dict[str, Callable[[str], str]] = {
    "longer": lambda name: f"other_{name}",
    "numbers": lambda name: f"{name}$7",
    "swapped": lambda name: SWAPPED.get(name, name),
}


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what is compiled, rather than found."""
    found: list[str] = []
    compile_ = program._compiled

    def counted(outputs: Any, name: str, *rest: Any) -> Any:
        found.append(name)
        return compile_(outputs, name, *rest)

    monkeypatch.setattr(program, "_compiled", counted)
    return found


def outcome(
    case: Callable[[Parts], Any],
    called: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[type[BaseException], str]:
    monkeypatch.setattr(names, "_TAKEN", {})
    with warnings.catch_warnings(), pytest.raises(hl.HalideError) as caught:
        warnings.simplefilter("ignore", hl.ScheduleWarning)
        case(Parts(called))()
    return type(caught.value), str(caught.value)


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.__name__)
def test_messages_have_the_names_of_their_program(
    case: Callable[[Parts], Any],
    scheme: Callable[[str], str],
    compiled: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PARHELION_CACHE", "off")
    exact = outcome(case, scheme, monkeypatch)
    monkeypatch.setenv("PARHELION_CACHE", str(tmp_path / "kept"))
    other = outcome(case, lambda name: name, monkeypatch)
    assert other[1] != exact[1] or case is require
    compiled.clear()
    assert outcome(case, scheme, monkeypatch) == exact
    assert compiled == []


def test_most_failures_are_tried() -> None:
    tried = {c.__name__ for c in CASES}
    assert len(tried & set(FAILURES)) >= 13


def test_profiles_have_the_names_of_their_program(
    compiled: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARHELION_CACHE", str(tmp_path / "kept"))
    schemes: list[Callable[[str], str]] = [str, *SCHEMES.values()]
    for scheme in schemes:
        monkeypatch.setattr(names, "_TAKEN", {})
        o = Parts(scheme)
        o.plain()
        o.f.compute_root()
        told = o.g.profile([4, 4])
        assert told.pipeline == names.plain_name(o.g.name())
        assert [f.name for f in told.funcs] == [
            names.plain_name(f.name()) for f in (o.f, o.g)
        ]
    assert len(compiled) == 1


def test_the_same_pipeline_twice_in_a_process(
    compiled: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARHELION_CACHE", str(tmp_path / "kept"))
    made = []
    for _ in range(3):
        o = Parts(str)
        o.plain()
        o.f.compute_at(o.g, o.y)
        made.append(np.asarray(o.g.realize([5, 5])))
    assert len(compiled) == 1
    np.testing.assert_array_equal(made[0], made[2])
