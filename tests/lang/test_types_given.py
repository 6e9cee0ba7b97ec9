"""What a newcomer gives where a type is wanted, and what the error says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import parhelion as hl

x, y = hl.vars("x y")

MADE: dict[str, Callable[[Any], object]] = {
    "hl.cast": lambda t: hl.cast(t, x + 1),
    "hl.saturating_cast": lambda t: hl.saturating_cast(t, x + 1),
    "hl.reinterpret": lambda t: hl.reinterpret(t, x + 1),
    "an ImageParam": lambda t: hl.ImageParam(t, 2),
    "a Param": lambda t: hl.Param(t, "p"),
    "hl.Buffer": lambda t: hl.Buffer(t, [4, 4]),
}
NAMED: list[tuple[Any, hl.Type]] = [
    (np.float32, hl.Float(32)),
    (np.dtype("int8"), hl.Int(8)),
    ("uint16", hl.UInt(16)),
    (bool, hl.Bool()),
    (np.bool_, hl.Bool()),
]
MEANT: list[tuple[Any, str]] = [
    (hl.UInt, "call it with the number of bits: hl.UInt(32)"),
    (int, "an integer type has a number of bits: hl.Int(32), or 'int32'"),
    (float, "a float type has a number of bits: hl.Float(32), or 'float32'"),
]


@pytest.mark.parametrize("given", NAMED, ids=[str(n[0]) for n in NAMED])
def test_types_by_numpys_names(given: tuple[Any, hl.Type]) -> None:
    name, wanted = given
    assert hl.cast(name, x).type() is wanted
    assert hl.saturating_cast(name, x).type() is wanted
    assert hl.ImageParam(name, 2).type() is wanted
    assert hl.Param(name, "p").type() is wanted
    assert hl.Buffer(name, [4, 3]).type() is wanted
    assert hl.Buffer(type=name, sizes=[4, 3]).width() == 4
    assert hl.undef(name).type() is wanted
    bits = hl.cast(hl.UInt(wanted.width), 0)
    assert hl.reinterpret(name, bits).type() is wanted


@pytest.mark.parametrize("what", MADE)
@pytest.mark.parametrize(("given", "hint"), MEANT, ids=[m[1] for m in MEANT])
def test_a_type_of_another_kind(what: str, given: Any, hint: str) -> None:
    with pytest.raises(hl.TypeMismatchError, match="a scalar type such as") as caught:
        MADE[what](given)
    said = str(caught.value)
    assert said.startswith(what)
    assert f"hint: {hint}" in said
    assert __file__ in said


@pytest.mark.parametrize("given", [None, "pixel", 8, x + 1, np.complex64])
def test_no_type_at_all(given: Any) -> None:
    with pytest.raises(hl.TypeMismatchError, match="hl.cast.* takes") as caught:
        hl.cast(given, x)
    assert "hint" not in str(caught.value)


def test_a_value_and_a_type_the_wrong_way_round() -> None:
    value: Any = x + 1
    kind: Any = hl.UInt(8)
    with pytest.raises(hl.TypeMismatchError, match=r"hl\.cast\(type, value\) takes"):
        hl.cast(value, kind)


def test_names_with_commas() -> None:
    assert [v.name() for v in hl.vars("a, b,c d")] == ["a", "b", "c", "d"]
    assert [f.name().split("$")[0] for f in hl.funcs("f, g")] == ["f", "g"]


def test_a_function_of_numpy_on_an_expr_is_the_users_line() -> None:
    value: Any = hl.f32(x)
    with pytest.raises(hl.TypeMismatchError, match="np.median does not take") as caught:
        np.median(value)
    assert caught.value.at is not None
    assert caught.value.at.file == __file__


def test_a_number_that_is_not_whole() -> None:
    p = hl.Param(hl.Int(32), "p")
    with pytest.raises(hl.LiteralError, match="int32 holds the integers from -2147"):
        p.set(1.5)
    with pytest.raises(hl.LiteralError, match="int32 holds -2147"):
        p.set(2**40)


def test_an_update_that_writes_past_its_output() -> None:
    f, r = hl.Func("f"), hl.RDom([(0, 300)])
    f[x] = 0
    f[r] += 1
    with pytest.raises(hl.BoundsError, match="the pipeline writes 0 to 299") as caught:
        f.realize(hl.Buffer(np.zeros(256, np.int32)))
    assert "if an update writes so far, clamp its index" in str(caught.value)
