"""compute_with: stages that share loops give what they give apart."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret_all
from tests.support.checking import check
from tests.support.realized import several

x, y, xi, yi = (hl.Var(n) for n in ("x", "y", "xi", "yi"))
How = hl.LoopAlignStrategy
ALIGNS = [How.Auto, How.NoAlign, How.AlignStart, How.AlignEnd]

Funcs = tuple[hl.Func, hl.Func, hl.Func]


def pair(dx: int, dy: int) -> Callable[[], Funcs]:
    """Two Funcs that are needed over regions of different mins and extents."""

    def make() -> Funcs:
        f, g, o = hl.Func("f"), hl.Func("g"), hl.Func("o")
        f[x, y] = x * 3 + y * y
        g[x, y] = x * x - y * 7
        o[x, y] = f[x, y] + f[x + 1, y + 2] - g[x + dx, y + dy] * 5 + g[x, y]
        f.compute_root()
        g.compute_root()
        return o, f, g

    return make


@pytest.mark.parametrize("align", ALIGNS)
@pytest.mark.parametrize(("dx", "dy"), [(0, 0), (3, 5), (-4, -6), (9, -8)])
def test_different_regions(align: hl.LoopAlignStrategy, dx: int, dy: int) -> None:
    check(
        pair(dx, dy),
        [7, 5],
        [
            lambda o, f, g: g.compute_with(f, y, align),
            lambda o, f, g: g.compute_with(f, x, align),
            lambda o, f, g: f.compute_with(g, x, [(y, align)]),
            lambda o, f, g: (
                f.parallel(y),
                g.parallel(y),
                g.compute_with(f, y, align),
            ),
            lambda o, f, g: (
                f.vectorize(x, 4),
                g.vectorize(x, 4),
                g.compute_with(f, x, align),
            ),
            lambda o, f, g: (
                f.split(x, x, xi, 4).unroll(xi),
                g.split(x, x, xi, 4).unroll(xi),
                g.compute_with(f, xi, align),
            ),
        ],
        mins=[-2, 3],
    )


@pytest.mark.parametrize("tail", [hl.TailStrategy.Auto, hl.TailStrategy.GuardWithIf])
def test_tiles(tail: hl.TailStrategy) -> None:
    def tiled(o: hl.Func, f: hl.Func, g: hl.Func, to: hl.Var) -> None:
        f.tile(x, y, xi, yi, 4, 3, tail)
        g.tile(x, y, xi, yi, 4, 3, tail)
        g.compute_with(f, to, How.AlignStart)

    check(
        pair(5, -3),
        [11, 9],
        [
            lambda o, f, g: tiled(o, f, g, y),
            lambda o, f, g: tiled(o, f, g, x),
            lambda o, f, g: tiled(o, f, g, yi),
            lambda o, f, g: tiled(o, f, g, xi),
            lambda o, f, g: (
                f.split(y, y, yi, 4, tail),
                g.split(y, y, yi, 3, tail),
                g.compute_with(f, y),
            ),
            lambda o, f, g: (
                f.split(y, y, yi, 4, tail),
                g.split(y, y, yi, 3, tail),
                g.compute_with(f, yi),
            ),
        ],
    )


def test_inside_a_loop() -> None:
    check(
        pair(2, 1),
        [9, 6],
        [
            lambda o, f, g: (
                f.compute_at(o, y),
                g.compute_at(o, y),
                g.compute_with(f, x),
            ),
            lambda o, f, g: (
                o.tile(x, y, xi, yi, 4, 4).parallel(y),
                f.compute_at(o, x),
                g.compute_at(o, x),
                g.compute_with(f, y, How.AlignEnd),
            ),
            lambda o, f, g: (
                f.store_root().compute_at(o, y),
                g.store_root().compute_at(o, y),
                g.compute_with(f, x),
            ),
            lambda o, f, g: (
                f.store_root().compute_at(o, x),
                g.compute_at(o, x),
                g.compute_with(f, y),
            ),
        ],
    )


def with_producer() -> tuple[hl.Func, ...]:
    p, f, g, o = (hl.Func(n) for n in "pfgo")
    p[x, y] = x * y + y
    f[x, y] = p[x, y] + p[x, y - 1]
    g[x, y] = p[x + 2, y + 1] * 3
    o[x, y] = f[x, y] + g[x, y] + g[x + 1, y - 6]
    for one in (p, f, g):
        one.compute_root()
    return o, f, g, p


def test_producers_of_both_at_the_leader() -> None:
    def schedule(*more: Callable[..., object]) -> Callable[..., object]:
        def apply(o: hl.Func, f: hl.Func, g: hl.Func, p: hl.Func) -> None:
            for one in more:
                one(o, f, g, p)

        return apply

    together = [
        lambda o, f, g, p: g.compute_with(f, y),
        lambda o, f, g, p: g.compute_with(f, x, How.AlignEnd),
    ]
    places = [
        lambda o, f, g, p: p.compute_at(f, y),
        lambda o, f, g, p: p.store_root().compute_at(f, y),
        lambda o, f, g, p: p.compute_at(f, y).vectorize(x, 4),
        lambda o, f, g, p: (f.parallel(y), g.parallel(y), p.compute_at(f, y)),
    ]
    check(
        with_producer,
        [9, 8],
        [schedule(t, at) for t in together for at in places],
        mins=[1, -5],
    )


def test_a_producer_of_the_follower_alone() -> None:
    def make() -> tuple[hl.Func, ...]:
        p, f, g, o = (hl.Func(n) for n in "pfgo")
        p[x, y] = x * y + y
        f[x, y] = x + y
        g[x, y] = p[x + 2, y + 1] * 3 + p[x, y]
        o[x, y] = f[x, y] + g[x, y] + g[x + 1, y - 6]
        for one in (p, f, g):
            one.compute_root()
        return o, f, g, p

    check(
        make,
        [9, 8],
        [
            lambda o, f, g, p: (g.compute_with(f, y), p.compute_at(g, y)),
            lambda o, f, g, p: (g.compute_with(f, y), p.compute_at(g, x)),
            lambda o, f, g, p: (g.compute_with(f, y), p.compute_at(f, y)),
            lambda o, f, g, p: (g.compute_with(f, x), p.compute_at(g, x)),
            lambda o, f, g, p: (
                g.compute_with(f, y),
                p.store_root().compute_at(g, y),
            ),
            lambda o, f, g, p: (
                g.compute_with(f, y),
                p.store_at(g, y).compute_at(g, x),
            ),
        ],
    )


def test_updates() -> None:
    r = hl.RDom([(0, 4), (1, 3)])

    def make() -> Funcs:
        f, g, o = hl.Func("f"), hl.Func("g"), hl.Func("o")
        f[x, y] = x
        g[x, y] = y
        f[x, y] += x * r.x + r.y
        g[x, y] += y * r.x - r.y
        g[x, y] = g[x, y] * 2
        o[x, y] = f[x, y] + g[x, y + 3]
        f.compute_root()
        g.compute_root()
        for k in range(2):
            g.update(k).unscheduled()
        f.update(0).unscheduled()
        return o, f, g

    check(
        make,
        [6, 5],
        [
            lambda o, f, g: g.compute_with(f.update(0), y),
            lambda o, f, g: (
                g.compute_with(f, y),
                g.update(0).compute_with(f.update(0), y),
            ),
            lambda o, f, g: g.update(1).compute_with(f, x),
            lambda o, f, g: g.update(0).compute_with(hl.LoopLevel(f, x, 1)),
            lambda o, f, g: f.update(0).compute_with(g.update(1), x, How.AlignEnd),
        ],
    )


def test_reduction_loops() -> None:
    """The RVars of two updates run together, over different domains."""

    def make() -> Funcs:
        f, g, o = hl.Func("f"), hl.Func("g"), hl.Func("o")
        r, s = hl.RDom([(0, 6)], "r"), hl.RDom([(2, 9)], "r")
        f[x] = 1
        g[x] = 2
        f[x] = f[x] * 3 + r.x
        g[x] = g[x] * 5 - s.x
        o[x] = f[x] + g[x]
        for one in (f, g):
            one.compute_root()
            one.update(0).reorder(x, one.rvars(0)[0])
        return o, f, g

    u = hl.RVar("u")

    def share(o: hl.Func, f: hl.Func, g: hl.Func) -> None:
        for one in (f, g):
            one.update(0).rename(one.rvars(0)[0], u)
        g.update(0).compute_with(f.update(0), u)

    check(make, [5], [share])


def test_three() -> None:
    def make() -> tuple[hl.Func, ...]:
        f, g, h, o = (hl.Func(n) for n in "fgho")
        f[x, y] = x
        g[x, y] = y
        h[x, y] = x * y
        o[x, y] = f[x, y] + g[x - 3, y + 4] + h[x + 1, y - 2]
        for one in (f, g, h):
            one.compute_root()
        return o, f, g, h

    check(
        make,
        [7, 6],
        [
            lambda o, f, g, h: (g.compute_with(f, y), h.compute_with(f, x)),
            lambda o, f, g, h: (g.compute_with(f, y), h.compute_with(g, x)),
            lambda o, f, g, h: (g.compute_with(f, x), h.compute_with(g, y)),
            lambda o, f, g, h: (
                g.compute_with(f, y, How.AlignStart),
                h.compute_with(g, x, How.AlignEnd),
            ),
        ],
    )


def test_order_beside_other_producers() -> None:
    """What only one of the two needs is still computed before both."""

    def make() -> tuple[hl.Func, ...]:
        a, b, f, g, c, o = (hl.Func(n) for n in "abfgco")
        a[x] = x
        b[x] = x * 2
        f[x] = a[x] + 1
        c[x] = f[x] * 3
        g[x] = b[x] + a[x + 1]
        o[x] = c[x] + g[x]
        for one in (a, b, f, g, c):
            one.compute_root()
        return o, f, g

    check(make, [8], [lambda o, f, g: g.compute_with(f, x)])


def test_outputs_together() -> None:
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = x + y
    g[x, y] = x * y
    wanted = interpret_all([(one._function, [(0, 6), (0, 4)]) for one in (f, g)])
    g.compute_with(f, y)
    made = several(hl.Pipeline([f, g]).realize([6, 4]))
    for got, (want,) in zip(made, wanted, strict=True):
        np.testing.assert_array_equal(np.asarray(got), want.T)


def test_equal_ranges_need_no_guard() -> None:
    o, f, g = pair(0, 0)()
    f.bound(x, 0, 16).bound(y, 0, 16)
    g.bound(x, 0, 16).bound(y, 0, 16)
    g.compute_with(f, x)
    text = hl.Pipeline(o).lowered_text()
    produce = text[text.index("produce f") : text.index("consume")]
    assert "if (" not in produce and produce.count("for (") == 2


def test_a_warning_for_the_one_before() -> None:
    _, f, g = pair(0, 0)()
    h = hl.Func("h")
    h[x, y] = x
    g.compute_with(f, y)
    with pytest.warns(UserWarning, match="it was to share the loops of f"):
        g.compute_with(h, y)


def test_another_definition_is_specialized() -> None:
    """Only stages that share loops must not be specialized; others of their Funcs
    run the branch whose condition holds, and no other."""
    k = hl.Param(hl.Int(32), "k")

    def make() -> Funcs:
        f, g, o = hl.Func("f"), hl.Func("g"), hl.Func("o")
        f[x, y] = x + y
        f[x, y] += f[x, y] * k
        g[x, y] = x - y
        g[x, y] += 3
        o[x, y] = f[x, y] + g[x, y + 1]
        f.compute_root()
        g.compute_root()
        return o, f, g

    def schedule(o: hl.Func, f: hl.Func, g: hl.Func) -> None:
        f.update(0).specialize(k > 3).vectorize(x, 4)
        f.update(0).specialize(k > 2).unroll(x, 2)
        g.update(0).unscheduled()
        g.compute_with(f, y)

    for value in (2, 3, 4):
        k.set(value)
        check(make, [7, 5], [schedule])
