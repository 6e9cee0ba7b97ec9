"""Indices and values that leave 32 bits on the way: refused, or right, never garbage.

What is read through a clamp is inside of it; but bounds inference must not take the
clamp's argument for what it is not: a number that has wrapped, a float beyond 32 bits,
or a 64-bit number that was narrowed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret

x, y, u, v = hl.vars("x y u v")

PLACES: dict[str, Callable[[hl.Func, hl.Func], object]] = {
    "root": lambda f, o: f.compute_root(),
    "at y": lambda f, o: f.compute_at(o, y),
    "tiled": lambda f, o: (o.tile(x, y, u, v, 8, 4), f.compute_at(o, x)),
    "window": lambda f, o: f.store_root().compute_at(o, y),
}

labels = hl.Buffer(np.arange(8, dtype=np.uint32) * 9, "labels")
wide = hl.Buffer(np.arange(8, dtype=np.int64) * 9, "wide")
x64 = hl.i64(x)

#: Nothing overflows; what is known of it before does not fit in 32 bits.
RIGHT: dict[str, Callable[[], Any]] = {
    "unsigned pixels": lambda: hl.i32(hl.i64(labels[x % 8]) + hl.i64(y)),
    "64-bit pixels": lambda: hl.i32(wide[x % 8] + hl.i64(y)),
    "unsigned": lambda: hl.i32(hl.i64(hl.u32(x)) + hl.i64(y)),
    "products": lambda: hl.i32(x64 * hl.i64(hl.u32(y))),
    "fixed point": lambda: hl.i32((x64 * hl.i64(2500000000)) >> hl.i64(31)),
    "quotients": lambda: hl.i32(x64 * hl.i64(98304) / hl.i64(65536)),
    "of float64": lambda: hl.i32(hl.f64(hl.u32(x)) * 0.9),
}
#: What goes beyond 32 bits.
FAR: dict[str, Callable[[], Any]] = {
    "exponential": lambda: hl.i32(hl.exp(hl.f32(x * 10))),
    "rounded": lambda: hl.i32(hl.round(hl.f32(x) * 1e9)),
    "infinite": lambda: hl.i32(hl.f16(x) * 30000),
    "shifted": lambda: hl.i32(x64 << hl.i64(30)),
    "panorama": lambda: (x * 100_000_000) >> 16,
    "quotient": lambda: (x * 100_000_000) / 7,
    "largest": lambda: hl.max(x * 100_000_000, y),
    "magnitude": lambda: hl.i32(hl.abs(x * 100_000_000)),
    "plain": lambda: x * 100_000_000,
    "choice": lambda: hl.select(x * 100_000_000 > 0, x, y),
}


def read(index: Any) -> tuple[hl.Func, hl.Func]:
    f, o = hl.Func("f"), hl.Func("o")
    f[x] = x + 1000
    o[x, y] = f[hl.clamp(index, 0, 100)]
    return f, o


def checked(o: hl.Func, *, refused: bool) -> None:
    wanted = interpret(o._function, [(0, 40), (0, 11)])[0]
    try:
        got = np.asarray(o.realize([40, 11])).T
    except hl.BoundsError as error:
        assert refused and "overflows 32-bit" in str(error)
        return
    if (
        refused
    ):  # a float out of range is an unspecified integer, but one that is clamped
        assert got.min() >= 1000 and got.max() <= 1100
    else:
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("form", RIGHT)
def test_wide_numbers_that_fit(form: str, place: str) -> None:
    f, o = read(RIGHT[form]())
    PLACES[place](f, o)
    checked(o, refused=False)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("form", FAR)
def test_numbers_that_do_not_fit(form: str, place: str) -> None:
    f, o = read(FAR[form]())
    PLACES[place](f, o)
    checked(o, refused=True)


def test_automatic_schedules_refuse_them_too() -> None:
    f, o = read((x * 100_000_000) >> 16)
    hl.autoschedule(o, [40, 11])
    checked(o, refused=True)


def test_images_are_not_read_beyond_their_end() -> None:
    table = hl.ImageParam(hl.Int(32), 1, "table")
    table.set(np.arange(16, dtype=np.int32))
    for index in (RIGHT["unsigned pixels"](), FAR["exponential"](), FAR["plain"]()):
        o = hl.Func("o")
        o[x, y] = table[hl.clamp(index, 0, 1_000_000)]
        with pytest.raises(hl.BoundsError):
            o.realize([40, 11])


def test_scattered_stores_stay_in_the_output() -> None:
    n = hl.Param(hl.Int(32), "n", 40)
    r = hl.RDom([(0, n)], "r")
    o = hl.Func("o")
    o[x] = 0
    o[hl.clamp(r * 100_000_000, 0, 40)] = 1
    with pytest.raises(hl.BoundsError, match="overflows 32-bit"):
        o.realize([33])


def test_a_parameter_near_the_end() -> None:
    p = hl.Param(hl.Int(32), "p", 2**31 - 1)
    f, o = read(x + p)
    f.compute_root()
    with pytest.raises(hl.BoundsError, match="overflows 32-bit") as error:
        o.realize([33, 2])
    assert "hl.i64" in str(error.value)
    p.set(3)
    assert int(np.asarray(o.realize([33, 2])).max()) == 1035


VALUES: dict[str, Callable[[], Any]] = {
    "narrowed": lambda: hl.i32(hl.i64(x * 100_000_000) >> hl.i64(3)),
    "maximum": lambda: hl.max(x * 100_000_000, 5) - x * 100_000_000,
    "compared": lambda: hl.select(hl.i32(2147483647) + x > 5, 1, 2),
    "quotient": lambda: (x * 100_000_000) / 100_000_000,
    "remainder": lambda: (x * 100_000_000) % 100_000_000,
    "product": lambda: (x * 100_000_000 * 4) / 4,
    "powers": lambda: (x * x * x * x * x * x * x) >> 5,
    "hashed": lambda: ((x * 73856093) ^ (y * 19349663)) >> 3,
    "converted": lambda: hl.i32(hl.f32(x * 100_000_000) > 0),
    "shifted": lambda: (x << 28) >> 28,
    "magnitude": lambda: hl.i32(hl.abs(x * 100_000_000)),
    "differences": lambda: hl.clamp(hl.i32(2147483647) - x * -7, 0, 299),
}


@pytest.mark.parametrize("form", VALUES)
def test_values_wrap_under_every_schedule(form: str) -> None:
    schedules: list[Callable[[hl.Func], object]] = [
        lambda o: None,
        lambda o: o.vectorize(x, 8),
        lambda o: o.unroll(x, 4),
        lambda o: o.tile(x, y, u, v, 8, 4).vectorize(u),
        lambda o: o.bound(x, 0, 40).bound(y, 0, 11).vectorize(x, 8),
    ]
    for give in schedules:
        o = hl.Func("o")
        o[x, y] = VALUES[form]()
        give(o)
        wanted = interpret(o._function, [(0, 40), (0, 11)])[0]
        np.testing.assert_array_equal(np.asarray(o.realize([40, 11])).T, wanted)
