"""rfactor: the same result, in parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret, interpret_all
from parhelion.ir.text import text
from parhelion.lower.passes import lower
from parhelion.schedule.rules import ScheduleWarning
from tests.schedule.test_associativity import FORMS, step_of
from tests.support.checking import check
from tests.support.spec import spec_of

x, y, u, v, xo, xi = hl.vars("x y u v xo xi")
ro, ri, so, si, t = [hl.RVar(n) for n in ("ro", "ri", "so", "si", "t")]


def image(t: hl.Type) -> hl.Buffer:
    rng = np.random.default_rng(1)
    return hl.Buffer(rng.integers(0, 100, (23, 37)).astype(t.to_numpy()))


def histogram() -> tuple[hl.Func, hl.RDom]:
    pixels, f = image(hl.UInt(8)), hl.Func("f")
    r = hl.RDom([(0, 37), (0, 23)], "r")
    f[x] = x
    f[hl.i32(pixels[r.x, r.y])] += 1
    return f, r


def parts(f: hl.Func) -> hl.Stage:
    return f.compute_root().update()


def rows(f: hl.Func, r: hl.RDom) -> None:
    parts(f.update().rfactor(r.y, u)).parallel(u)


def columns(f: hl.Func, r: hl.RDom) -> None:
    parts(f.update().rfactor(r.x, u)).vectorize(u, 8)


def tiles(f: hl.Func, r: hl.RDom) -> None:
    f.update().tile(r.x, r.y, ro, so, ri, si, 4, 8)
    part = f.update().rfactor([(ro, u), (so, v)])
    parts(part).parallel(u).reorder(ri, si, u, v)
    part.vectorize(x, 4)


def lanes(f: hl.Func, r: hl.RDom) -> None:
    f.update().split(r.x, ro, ri, 8)
    part = f.update().rfactor(ri, u)
    parts(part).reorder(u, ro, r.y).vectorize(u)
    f.update().reorder(ri, x).unroll(ri)


def fused(f: hl.Func, r: hl.RDom) -> None:
    f.update().fuse(r.x, r.y, t).split(t, ro, ri, 50)
    parts(f.update().rfactor(ro, u)).parallel(u)


def both(f: hl.Func, r: hl.RDom) -> None:
    parts(f.update().rfactor([(r.x, u), (r.y, v)])).vectorize(u, 4).parallel(v)


def nothing_kept(f: hl.Func, r: hl.RDom) -> None:
    f.update().rfactor([]).compute_root()


def twice(f: hl.Func, r: hl.RDom) -> None:
    part = f.update().rfactor(r.y, u).compute_root()
    part.update().split(r.x, ro, ri, 8)
    inner = part.update().rfactor(ri, v).compute_at(part, u)
    inner.update().vectorize(v)
    f.update().split(r.y, so, si, 4)
    f.update().rfactor(so, v).compute_root()


SCHEDULES = (rows, columns, tiles, lanes, fused, both, nothing_kept, twice)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_histogram(schedule: Callable[..., None]) -> None:
    check(histogram, (100,), (schedule,))


def test_a_predicate_goes_along() -> None:
    pixels = image(hl.Int(32))

    def make() -> tuple[hl.Func, hl.RDom]:
        f = hl.Func("f")
        r = hl.RDom([(0, 37), (0, 23)], "r")
        r.where(r.x * 2 > r.y + x)
        r.where(pixels[r.x, r.y] % 3 != 0)
        f[x] = 7
        f[x] += pixels[r.x, r.y] * x
        return f, r

    check(make, (20,), (tiles, lanes, fused, both))


def test_a_domain_that_a_param_bounds() -> None:
    n = hl.Param(hl.Int(32), "n", 0)
    pixels = image(hl.Int(32))

    def make() -> tuple[hl.Func, hl.RDom]:
        f = hl.Func("f")
        r = hl.RDom([(3, n), (1, n / 2)], "r")
        f[x] = x
        f[x] = hl.max(f[x], pixels[r.x, r.y] - x)
        return f, r

    for count in (0, 1, 17):
        n.set(count)
        check(make, (9,), (tiles, fused, twice))


OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda f, e: f + e,
    "difference": lambda f, e: f - e,
    "product": lambda f, e: f * (2 * e + 1),
    "minimum": lambda f, e: hl.min(f, e),
    "maximum": lambda f, e: hl.max(f, e),
    "and": lambda f, e: f & (e | 8),
    "or": lambda f, e: f | e,
    "exclusive or": lambda f, e: f ^ e,
    "saturating": lambda f, e: hl.saturating_add(f, e),
    "chosen": lambda f, e: hl.select(e % 2 == 0, f + e, f),
}


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("type", [hl.UInt(8), hl.Int(16)])
def test_operations(name: str, type: hl.Type) -> None:
    if name == "saturating" and type.is_int():
        pytest.skip("not associative")
    pixels = image(type)

    def make() -> tuple[hl.Func, hl.RDom]:
        f = hl.Func("f")
        r = hl.RDom([(0, 37), (0, 23)], "r")
        f[x] = hl.cast(type, 5 * x)
        f[x] = OPERATIONS[name](f[x], pixels[r.x, (r.y + x) % 23])
        return f, r

    check(make, (6,), (rows, lanes))


def test_floats_are_close() -> None:
    pixels = image(hl.Float(32))
    f = hl.Func("f")
    r = hl.RDom([(0, 37), (0, 23)], "r")
    f[x] = 0.0
    f[x] += pixels[r.x, r.y] / 7.0 + hl.f32(x)
    lanes(f, r)
    got = np.asarray(f.realize([4]))
    assert np.allclose(got, interpret(f._function, [(0, 4)]), rtol=1e-5)


def least(strict: bool) -> tuple[hl.Func, hl.RDom]:
    pixels, f = image(hl.Int(32)), hl.Func("f")
    r = hl.RDom([(0, 37), (0, 23)], "r")
    # Many equal values: the order decides.
    e = pixels[r.x, r.y] % 3 + x
    f[x] = hl.Tuple(2**31 - 1 if strict else 1000, -1, -1)
    old = f[x]
    c = e < old[0] if strict else e <= old[0]
    f[x] = hl.Tuple(
        hl.select(c, e, old[0]), hl.select(c, r.x, old[1]), hl.select(c, r.y, old[2])
    )
    return f, r


@pytest.mark.parametrize("strict", [True, False])
def test_where_the_least_value_is(strict: bool) -> None:
    def outer(f: hl.Func, r: hl.RDom) -> None:
        parts(f.update().rfactor(r.y, u)).parallel(u)

    def strips(f: hl.Func, r: hl.RDom) -> None:
        f.update().split(r.y, so, si, 4)
        part = f.update().rfactor(so, u)
        parts(part).vectorize(x, 4)

    check(lambda: least(strict), (5,), (outer, strips, nothing_kept))


#: Half of the forms, all of each kind: what they fold to is tested of every one.
HALF = [form for n, form in enumerate(FORMS) if (n // 6 + n % 6) % 2 == form[1]]


@pytest.mark.parametrize("form", HALF, ids=lambda form: form[0])
def test_every_form_of_the_greatest_and_the_least(
    form: tuple[str, bool, str, str],
) -> None:
    """Where many are equal; with two numbers that belong to it, as each form has it."""
    _, least, value, index = form
    step = step_of(value, index, least=least)

    def make() -> tuple[hl.Func, hl.RDom]:
        pixels, f = image(hl.Int(32)), hl.Func("f")
        r = hl.RDom([(0, 13), (0, 9)], "r")
        e = pixels[r.x, r.y] % 3 + x
        f[x] = hl.Tuple(2**30 if least else -(2**30), -1, -1)
        old = f[x]
        best, at = step((old[0], old[1]), e, r.x)
        f[x] = hl.Tuple(best, at, step((old[0], old[2]), e, r.y)[1])
        return f, r

    def outer(f: hl.Func, r: hl.RDom) -> None:
        parts(f.update().rfactor(r.y, u)).parallel(u)

    def strips(f: hl.Func, r: hl.RDom) -> None:
        f.update().split(r.y, so, si, 4)
        parts(f.update().rfactor(so, u)).vectorize(x, 4)

    check(make, (5,), (outer, strips))


@pytest.mark.parametrize(
    "forms",
    [
        ("hl.max(f[0], e)", "hl.select(f[0] <= e, g, f[1])"),
        ("hl.select(f[0] <= e, e, f[0])", "hl.select(e > f[0], g, f[1])"),
        ("hl.max(f[0], e)", "hl.select(~(f[0] < e), f[1], g)"),
    ],
)
def test_the_greatest_of_floats_in_parts(forms: tuple[str, str]) -> None:
    """NaNs are passed over; of zeros with either sign, each value keeps its own."""
    rng = np.random.default_rng(3)
    drawn = rng.choice([-1.0, -0.0, 0.0, np.nan, -np.inf], (9, 13))
    pixels, step = hl.Buffer(drawn.astype(np.float32)), step_of(*forms)

    def make() -> tuple[hl.Func, hl.RDom]:
        f, r = hl.Func("f"), hl.RDom([(0, 13), (0, 9)], "r")
        f[x] = hl.Tuple(hl.f32(-np.inf), -1)
        e = hl.select(r.x > x, pixels[r.x, r.y], -np.inf)
        f[x] = hl.Tuple(*step(f[x], e, r.x + 13 * r.y))
        return f, r

    def outer(f: hl.Func, r: hl.RDom) -> None:
        parts(f.update().rfactor(r.y, u)).parallel(u)

    check(make, (13,), (outer,))


def test_a_part_that_folds_nothing_leaves_the_old_values() -> None:
    def make() -> tuple[hl.Func, hl.RDom]:
        f = hl.Func("f")
        r = hl.RDom([(0, 8), (0, 6)], "r")
        r.where((r.y != 2) & (r.y != 5))
        top = 2**31 - 1
        f[x] = hl.Tuple(top, 42)
        c = hl.Expr(top) <= f[x][0]
        f[x] = hl.Tuple(hl.select(c, top, f[x][0]), hl.select(c, r.y + x, f[x][1]))
        return f, r

    def outer(f: hl.Func, r: hl.RDom) -> None:
        parts(f.update().rfactor(r.y, u))

    check(make, (3,), (outer,))


def test_inline_argmin() -> None:
    pixels, f, where = image(hl.UInt(8)), hl.Func("f"), hl.Func("where")
    r = hl.RDom([(0, 37), (0, 23)], "r")
    f[x] = hl.argmin(r, pixels[r.x, r.y] % 5, where)[1] + x
    where.compute_root().update().rfactor(r.y, u).compute_root().update().parallel(u)
    assert (np.asarray(f.realize([3])) == interpret(f._function, [(0, 3)])).all()


def test_complex_products() -> None:
    def make() -> tuple[hl.Func, hl.RDom]:
        f = hl.Func("f")
        r = hl.RDom([(0, 9), (0, 4)], "r")
        f[x] = hl.Tuple(1, x)
        a, b = f[x]
        c, d = r.x + 1, r.y * x
        f[x] = hl.Tuple(a * c - b * d, a * d + b * c)
        return f, r

    check(make, (5,), (rows, columns, tiles))


def test_beside_pure_loops() -> None:
    pixels = image(hl.Int(32))

    def make() -> tuple[hl.Func, hl.RDom]:
        f = hl.Func("f")
        r = hl.RDom([(0, 20), (0, 9)], "r")
        f[x, y] = x
        f[x, y] += pixels[r.x + x, r.y + y]
        return f, r

    def around(f: hl.Func, r: hl.RDom) -> None:
        f.update().split(x, xo, xi, 8).reorder(xi, r.x, xo, y, r.y)
        f.update().vectorize(xi).parallel(y)
        part = f.update().rfactor(r.x, u).compute_at(f, y)
        part.update().reorder(u, xi).unroll(u, 4)

    check(make, (17, 6), (around, rows, lanes))


def test_merging_keeps_the_names_of_the_loops() -> None:
    f, r = histogram()
    f.update().split(r.y, so, si, 4)
    part = f.update().rfactor(so, u).compute_root()
    f.update().reorder(x, so).vectorize(x, 4)
    part.update().reorder(r.x, si, u).unroll(r.x, 2)
    wanted = interpret_all([(f._function, [(0, 100)])])[0][0]
    assert (np.asarray(f.realize([100])) == wanted).all()
    assert part.name() in text(lower(spec_of(f), name="test").body)


def test_the_interpreter_runs_what_was_written() -> None:
    f, r = histogram()
    before = f._function.updates[0]
    f.update().rfactor(r.y, u)
    f.update().rfactor(r.y, v)
    assert f._function.updates[0] is not before
    assert f._function.as_written()[1] is before


def test_the_two_are_scheduled_apart() -> None:
    f, r = histogram()
    part = f.update().rfactor(r.y, u).compute_root()
    b = hl.Param(hl.Bool(), "b", True)
    f.update().specialize(b).vectorize(x, 4)
    assert not part._function.updates[0].schedule.specializations
    wanted = interpret(f._function, [(0, 100)])
    assert (np.asarray(f.realize([100])) == wanted).all()


def test_a_prefetch_before_is_lost() -> None:
    f, r = histogram()
    g = hl.Func("g")
    g[x] = x
    f[x] += g[x + r.x]
    g.compute_root()
    f.update(1).prefetch(g, r.x, r.x, 2)
    with pytest.warns(ScheduleWarning, match=r"rfactor: the prefetch of g\S* is lost"):
        f.update(1).rfactor(r.y, u)


def test_lanes_of_a_guarded_split_load_densely() -> None:
    """The guard keeps the coordinates in range: nothing clamps them once more."""
    pixels = hl.ImageParam(hl.UInt(8), 2, "pixels")
    f = hl.Func("f")
    r = hl.RDom([(0, pixels.width()), (0, pixels.height())], "r")
    f[()] = 0
    f[()] += hl.i32(pixels[r.x, r.y])
    f.update().split(r.x, ro, ri, 8)
    part = parts(f.update().rfactor(ri, u))
    part.reorder(u, ro, r.y).vectorize(u, 8)
    made = text(lower(spec_of(f), name="test").body)
    loads = [line.partition("pixels[")[2] for line in made.splitlines()]
    steady = [load for load in loads if load]
    assert steady[0].startswith("ramp(")
    assert not any("max(" in load for load in steady)
    for width in (64, 37, 5):
        given = np.random.default_rng(1).integers(0, 255, (9, width)).astype(np.uint8)
        pixels.set(hl.Buffer(given))
        assert int(np.asarray(f.realize())) == given.sum()
