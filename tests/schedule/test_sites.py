"""The order of Funcs, who calls whom, and where a Func may be computed."""

from __future__ import annotations

import pytest

import parhelion as hl
from parhelion.schedule.directives import OUTERMOST
from parhelion.schedule.legality import resolve
from parhelion.schedule.order import callees, realization_order, stage_callees
from parhelion.schedule.placement import AtUses, placement_of
from parhelion.schedule.sites import Nests
from tests.support.spec import spec_of

x, y, u, v, t = (hl.Var(n) for n in ("x", "y", "u", "v", "t"))


def test_callees_in_order_of_appearance() -> None:
    a, b, c, d = (hl.Func(n) for n in "abcd")
    for f in (a, b, c):
        f[x] = x
    r = hl.RDom([(0, 4)], "r")
    r.where(c[r] > 0)
    d[x] = b[a[x]]
    d[r] += 1
    d[a[r] % 4] += b[r]
    function = d._function
    assert [g.name for g in callees(function)] == [g.name() for g in (b, a, c)]
    assert [g.name for g in stage_callees(function, 1)] == [c.name()]
    assert function not in callees(function)


def test_realization_order() -> None:
    p, q, r, s, o = (hl.Func(n) for n in "pqrso")
    p[x] = x
    q[x] = p[x]
    r[x] = x
    s[x] = r[x] + p[x]
    o[x] = s[x] + q[x]
    order = realization_order([o._function])
    assert order == [f._function for f in (p, q, r, s, o)]
    both = realization_order([s._function, q._function])
    assert both == [f._function for f in (p, r, s, q)]


def test_long_chains_need_no_deep_stack() -> None:
    f = hl.Func("f")
    f[x] = x
    for _ in range(3000):
        g = hl.Func("f")
        g[x] = f[x] + 1
        f = g
    assert len(realization_order([f._function])) == 3001
    resolve(spec_of(f))


def test_sites_outermost_first() -> None:
    f = hl.Func("f")
    f[x, y] = x
    f.tile(x, y, u, v, 8, 8)
    (sites,) = Nests([f._function], [f._function]).sites(f._function, 0)
    assert [s.dim.var.name for s in sites[1:]] == list("yxvu")


def test_places_are_found() -> None:
    f, g, h = hl.Func("f"), hl.Func("g"), hl.Func("h")
    f[x, y] = x
    g[x, y] = f[x, y]
    h[x, y] = g[x, y] + g[x, y + 1]
    h.tile(x, y, u, v, 8, 8)
    g.compute_at(h, x)
    f.store_at(h, x).compute_at(g, y)
    spec = spec_of(h)
    nests, funcs = resolve(spec), spec.copies
    (at,) = nests.computed[funcs[f._function]]
    assert [(s.func.name, s.dim.var.name) for s in at] == [
        (h.name(), "__outermost"),
        (h.name(), "y"),
        (h.name(), "x"),
        (g.name(), "__outermost"),
        (g.name(), "y"),
    ]
    (stored,) = nests.stored[funcs[f._function]]
    assert stored == at[:3]
    assert nests.computed[funcs[h._function]] == [()]


def test_inlined_funcs_are_seen_through() -> None:
    f, g, h = hl.Func("f"), hl.Func("g"), hl.Func("h")
    f[x, y] = x
    g[x, y] = f[x, y]
    h[x, y] = g[x, y]
    f.compute_at(h, x)
    spec = spec_of(h)
    nests, funcs = resolve(spec), spec.copies
    assert nests.inlines(funcs[g._function])
    assert [u.func for u in nests.uses[funcs[f._function]]] == [funcs[h._function]]


def test_reductions_left_inline_are_computed_innermost() -> None:
    f, g = hl.Func("f"), hl.Func("g")
    r = hl.RDom([(0, 4)], "r")
    f[x] = 0
    f[x] += r
    g[x, y] = f[x]
    g[x, y] += f[y]
    assert isinstance(placement_of(f._function, [g._function]), AtUses)
    spec = spec_of(g)
    nests, funcs = resolve(spec), spec.copies
    at = nests.computed[funcs[f._function]]
    assert [(s[-1].stage, s[-1].dim.var) for s in at] == [(0, x._var), (1, x._var)]


def test_the_stage_is_the_one_that_uses_it() -> None:
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = x
    g[x, y] = 0
    g[x, y] += f[x, y]
    g[x, y] += 1
    f.compute_at(g, y)
    spec = spec_of(g)
    nests, funcs = resolve(spec), spec.copies
    (at,) = nests.computed[funcs[f._function]]
    assert at[-1].stage == 1


def test_legal_sites() -> None:
    f, g, h = hl.Func("f"), hl.Func("g"), hl.Func("h")
    f[x, y] = x
    g[x, y] = f[x, y]
    h[x, y] = g[x, y] + f[x, y + 1]
    f.compute_root()
    g.compute_at(h, y)
    nests = Nests([h._function], realization_order([h._function]))
    nests.place(h._function, [()], [()])
    (use,) = nests.uses[g._function]
    nests.place(g._function, [use.stack[:2]], [use.stack[:2]])
    sites = nests.legal_sites(f._function)
    assert [s.dim.var for s in sites] == [OUTERMOST, y._var]


def test_outputs_that_other_outputs_use() -> None:
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = x
    g[x, y] = f[x, y]
    spec = spec_of(g, f)
    nests, funcs = resolve(spec), spec.copies
    assert not nests.inlines(funcs[f._function])
    assert nests.computed[funcs[f._function]] == [()]


@pytest.mark.parametrize("at", ["store_root", "store_at"])
def test_storage_inside_the_parallel_loop_is_private(at: str) -> None:
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = x
    g[x, y] = f[x, y] + f[x, y + 1]
    g.split(y, y, v, 8).parallel(y)
    f.compute_at(g, v)
    if at == "store_at":
        f.store_at(g, y)
        resolve(spec_of(g))
    else:
        f.store_root()
        with pytest.raises(hl.ScheduleError, match="parallel loop y"):
            resolve(spec_of(g))
