"""Loop nests of stages that share loops, for `test_loop_nests`."""

from __future__ import annotations

from typing import Any

from tests.golden.nests import Module, Pipeline, case, variables


def pair(hl: Module) -> tuple[Any, Any, Any]:
    x, y = variables(hl, "x y")
    f, g, o = hl.Func("f"), hl.Func("g"), hl.Func("o")
    f[x, y] = x + y
    g[x, y] = x - y
    o[x, y] = f[x, y] + g[x, y + 1]
    return f, g, o


@case
def fused_at_root(hl: Module) -> Pipeline:
    f, g, o = pair(hl)
    f.compute_root()
    g.compute_root().compute_with(f, hl.Var("y"))
    return o


@case
def fused_in_a_loop(hl: Module) -> Pipeline:
    f, g, o = pair(hl)
    f.compute_at(o, hl.Var("y"))
    g.compute_at(o, hl.Var("y")).compute_with(f, hl.Var("x"))
    return o


@case
def fused_tiles(hl: Module) -> Pipeline:
    x, y, xi, yi = variables(hl, "x y xi yi")
    f, g, o = pair(hl)
    for one in (f, g):
        one.compute_root().tile(x, y, xi, yi, 8, 8)
    g.compute_with(f, xi, hl.LoopAlignStrategy.AlignStart)
    return o


@case
def fused_by_splits_of_two_sizes(hl: Module) -> Pipeline:
    x, y, yi = variables(hl, "x y yi")
    f, g, o = pair(hl)
    f.compute_root().split(y, y, yi, 8)
    g.compute_root().split(y, y, yi, 4).compute_with(f, yi)
    return o


@case
def fused_with_vectors(hl: Module) -> Pipeline:
    f, g, o = pair(hl)
    for one in (f, g):
        one.compute_root().vectorize(hl.Var("x"), 4)
    g.compute_with(f, hl.Var("x"))
    return o


@case
def fused_three(hl: Module) -> Pipeline:
    x, y = variables(hl, "x y")
    f, g, h, o = (hl.Func(n) for n in "fgho")
    f[x, y] = x + y
    g[x, y] = x - y
    h[x, y] = x * y
    o[x, y] = f[x, y] + g[x, y] + h[x, y]
    for one in (f, g, h):
        one.compute_root()
    g.compute_with(f, y)
    h.compute_with(f, x)
    return o


def updated(hl: Module) -> tuple[Any, Any, Any]:
    x, y = variables(hl, "x y")
    f, g, o = hl.Func("f"), hl.Func("g"), hl.Func("o")
    f[x, y] = x + y
    g[x, y] = x - y
    f[x, y] += 1
    g[x, y] += 2
    o[x, y] = f[x, y] + g[x, y + 1]
    f.compute_root()
    g.compute_root()
    return f, g, o


@case
def fused_updates(hl: Module) -> Pipeline:
    f, g, o = updated(hl)
    g.compute_with(f, hl.Var("y"))
    g.update(0).compute_with(f.update(0), hl.Var("y"))
    return o


@case
def fused_with_an_update(hl: Module) -> Pipeline:
    f, g, o = updated(hl)
    g.compute_with(f.update(0), hl.Var("y"))
    g.update(0).unscheduled()
    return o


@case
def fused_over_a_producer(hl: Module) -> Pipeline:
    x, y = variables(hl, "x y")
    p, f, g, o = (hl.Func(n) for n in "pfgo")
    p[x, y] = x * y
    f[x, y] = p[x, y] + p[x, y - 1]
    g[x, y] = p[x, y + 1]
    o[x, y] = f[x, y] + g[x, y]
    f.compute_root()
    g.compute_root()
    p.compute_at(f, y)
    g.compute_with(f, y)
    return o


@case
def fused_beside_a_producer(hl: Module) -> Pipeline:
    x, y = variables(hl, "x y")
    p, f, g, o = (hl.Func(n) for n in "pfgo")
    p[x, y] = x * y
    f[x, y] = x
    g[x, y] = p[x, y + 1]
    o[x, y] = f[x, y] + g[x, y]
    f.compute_root()
    g.compute_root()
    p.compute_at(g, y)
    g.compute_with(f, y)
    return o


@case
def fused_outputs(hl: Module) -> Pipeline:
    f, g, _ = pair(hl)
    g.compute_with(f, hl.Var("y"))
    return hl.Pipeline([f, g])
