"""Small pipelines with schedules, made with either module: ours or Halide's.

Each function takes the module and returns what print_loop_nest is called on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: A module with Halide's names.
Module = Any
Pipeline = Any

CASES: dict[str, Callable[[Module], Pipeline]] = {}


def case(make: Callable[[Module], Pipeline]) -> Callable[[Module], Pipeline]:
    CASES[make.__name__] = make
    return make


def variables(hl: Module, names: str) -> list[Any]:
    return [hl.Var(n) for n in names.split()]


def blur(hl: Module) -> tuple[Any, Any]:
    """The 2012 paper's 3x3 blur."""
    x, y = variables(hl, "x y")
    image = hl.ImageParam(hl.UInt(16), 2, "image")
    bx, by = hl.Func("bx"), hl.Func("by")
    bx[x, y] = (image[x, y] + image[x + 1, y] + image[x + 2, y]) / 3
    by[x, y] = (bx[x, y] + bx[x, y + 1] + bx[x, y + 2]) / 3
    return bx, by


def stencil(hl: Module, dx: int, dy: int) -> tuple[Any, Any]:
    x, y = variables(hl, "x y")
    p, o = hl.Func("p"), hl.Func("o")
    p[x, y] = x + y
    o[x, y] = p[x, y] + p[x + dx, y + dy]
    return p, o


# The schedules of the 2012 paper's Figures 1 and 4 for the blur.


@case
def blur_inline(hl: Module) -> Pipeline:
    return blur(hl)[1]


@case
def blur_root(hl: Module) -> Pipeline:
    bx, by = blur(hl)
    bx.compute_root()
    return by


@case
def blur_tiled(hl: Module) -> Pipeline:
    """Figure 1's: tiles, vectors, and the first stage computed per tile."""
    x, y, xi, yi = variables(hl, "x y xi yi")
    bx, by = blur(hl)
    by.tile(x, y, xi, yi, 256, 32).vectorize(xi, 8).parallel(y)
    bx.compute_at(by, x).vectorize(x, 8)
    return by


@case
def blur_sliding(hl: Module) -> Pipeline:
    y = hl.Var("y")
    bx, by = blur(hl)
    bx.compute_at(by, y).store_root()
    return by


@case
def blur_sliding_in_strips(hl: Module) -> Pipeline:
    x, y, yi = variables(hl, "x y yi")
    bx, by = blur(hl)
    by.split(y, y, yi, 8).parallel(y).vectorize(x, 8)
    bx.store_at(by, y).compute_at(by, yi).vectorize(x, 8)
    return by


@case
def blur_fused_loops(hl: Module) -> Pipeline:
    x, y, xi, yi, t = variables(hl, "x y xi yi t")
    bx, by = blur(hl)
    by.tile(x, y, xi, yi, 8, 8).fuse(x, y, t).parallel(t).vectorize(xi, 4).unroll(yi)
    bx.compute_at(by, t)
    return by


# Splits, fuses and their names.


@case
def zero_dimensions(hl: Module) -> Pipeline:
    f = hl.Func("f")
    f[()] = 3
    return f


@case
def vectorize_twice(hl: Module) -> Pipeline:
    x = hl.Var("x")
    f = hl.Func("f")
    f[x] = x
    f.vectorize(x, 8)
    f.vectorize(x, 4)
    return f


@case
def split_keeping_the_name(hl: Module) -> Pipeline:
    x, y, xi, yi, xo, t = variables(hl, "x y xi yi xo t")
    f = hl.Func("f")
    f[x, y] = x + y
    f.tile(x, y, xi, yi, 8, 8)
    f.split(x, xo, x, 3).split(xo, xo, t, hl.Param(hl.Int(32), "size"))
    return f


@case
def renamed(hl: Module) -> Pipeline:
    x, y, yo, yi, t = variables(hl, "x y yo yi t")
    _, o = stencil(hl, 0, 1)
    o.split(y, yo, yi, 8).rename(yo, t).reorder(yi, x, t).parallel(t)
    return o


@case
def unroll_a_vectorized_loop(hl: Module) -> Pipeline:
    x, y = variables(hl, "x y")
    p, o = stencil(hl, 0, 1)
    p.compute_root().parallel(y, 8).vectorize(x, 4).unroll(x, 2)
    o.unroll(y, 2).vectorize(x, 8)
    return o


@case
def split_by_a_param(hl: Module) -> Pipeline:
    x, xo, xi = variables(hl, "x xo xi")
    p, o = stencil(hl, 1, 0)
    o.split(x, xo, xi, hl.Param(hl.Int(32), "size"))
    p.compute_at(o, xo)
    return o


@case
def tasks_and_bounds(hl: Module) -> Pipeline:
    x, y = variables(hl, "x y")
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = x
    g[x, y] = f[x, y]
    g.parallel(y, 4)
    g.bound(x, 0, 16).unroll(x)
    f.compute_at(g, y).bound(x, 0, 16)
    return g


# Regions that are constant.


@case
def tiles_in_tiles(hl: Module) -> Pipeline:
    x, y, xi, yi = variables(hl, "x y xi yi")
    p, o = stencil(hl, 2, 0)
    o.tile(x, y, xi, yi, 16, 8)
    p.compute_at(o, x).tile(x, y, xi, yi, 4, 4)
    return o


@case
def inside_a_guarded_loop(hl: Module) -> Pipeline:
    x, xo, xi = variables(hl, "x xo xi")
    p, o = stencil(hl, 2, 0)
    o.split(x, xo, xi, 8, hl.TailStrategy.GuardWithIf)
    p.compute_at(o, xi).vectorize(x, 2)
    return o


@case
def one_point(hl: Module) -> Pipeline:
    x = hl.Var("x")
    p, o = stencil(hl, 0, 1)
    p.compute_at(o, x)
    return o


@case
def one_point_in_a_vector(hl: Module) -> Pipeline:
    x, y = variables(hl, "x y")
    p, o = hl.Func("p"), hl.Func("o")
    p[x, y] = x + y
    o[x, y] = p[x, y]
    p.compute_at(o, x).vectorize(x, 4)
    return o


@case
def slide_in_bounds(hl: Module) -> Pipeline:
    x, y = variables(hl, "x y")
    p, o = stencil(hl, 2, 0)
    o.reorder(y, x).bound(x, 0, 8).bound(y, 0, 4)
    p.store_at(o, x).compute_at(o, y)
    return o


# Updates.


@case
def reduction_by_default(hl: Module) -> Pipeline:
    x, y = variables(hl, "x y")
    f, g = hl.Func("f"), hl.Func("g")
    r = hl.RDom([(0, 10), (0, 5)], "r")
    f[x] = 0
    f[x] += r.x * r.y
    g[x, y] = f[x] + f[y]
    return g


@case
def reduction_by_default_in_two_stages(hl: Module) -> Pipeline:
    x, y = variables(hl, "x y")
    p, o = hl.Func("p"), hl.Func("o")
    r = hl.RDom([(0, 4)], "r")
    p[x] = 0
    p[x] += r
    o[x, y] = p[x]
    o[x, y] += p[y]
    return o


@case
def reductions_by_default_nested(hl: Module) -> Pipeline:
    x = hl.Var("x")
    p, q, o = hl.Func("p"), hl.Func("q"), hl.Func("o")
    r = hl.RDom([(0, 4)], "r")
    p[x] = 0
    p[x] += r
    q[x] = 0
    q[x] += p[x + r]
    o[x] = q[x]
    return o


@case
def rvars_split(hl: Module) -> Pipeline:
    x, y = variables(hl, "x y")
    ro, ri = hl.RVar("ro"), hl.RVar("ri")
    f, g = hl.Func("f"), hl.Func("g")
    r = hl.RDom([(0, 10), (0, 5)], "r")
    f[x] = 0
    f[x] += r.x * r.y
    g[x, y] = f[x] + f[y]
    f.compute_at(g, y)
    s = f.update(0).split(r.x, ro, ri, 4)
    s.vectorize(x, 8, hl.TailStrategy.GuardWithIf)
    s.unroll(ri).reorder(ri, x, ro, r.y)
    return g


@case
def parallel_rvar(hl: Module) -> Pipeline:
    x, y = variables(hl, "x y")
    f = hl.Func("f")
    r = hl.RDom([(0, 10), (0, 5)], "r")
    f[x, y] = 0
    f[r.x, y] += 1
    f.update(0).vectorize(y, 4, hl.TailStrategy.GuardWithIf).parallel(r.x)
    return f


@case
def histogram(hl: Module) -> Pipeline:
    x = hl.Var("x")
    p, o = hl.Func("p"), hl.Func("o")
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    r = hl.RDom([(0, 256), (0, 256)], "r")
    p[x] = 0
    p[hl.i32(image[r.x, r.y])] += 1
    o[x] = p[x] * 2
    p.compute_root()
    p.vectorize(x, 4)
    p.update().reorder(r.y, r.x)
    return o


@case
def atomic(hl: Module) -> Pipeline:
    x = hl.Var("x")
    p, o = hl.Func("p"), hl.Func("o")
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    r = hl.RDom([(0, 256), (0, 256)], "r")
    p[x] = 0
    p[hl.i32(image[r.x, r.y])] += 1
    o[x] = p[x] * 2
    p.compute_root()
    p.update().atomic().parallel(r.y).vectorize(r.x, 8)
    return o


@case
def prefetch(hl: Module) -> Pipeline:
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    x, y = variables(hl, "x y")
    p, o = hl.Func("p"), hl.Func("o")
    p[x, y] = image[x, y] + image[x + 1, y]
    o[x, y] = p[x, y] + p[x, y + 1]
    p.compute_at(o, y)
    o.prefetch(image, y, y, 2)
    return o


@case
def atomic_lanes(hl: Module) -> Pipeline:
    p = hl.Func("p")
    image = hl.ImageParam(hl.UInt(8), 1, "image")
    r = hl.RDom([(0, 256)], "r")
    p[()] = 0
    p[()] += hl.i32(image[r])
    p.update().atomic().vectorize(r, 8)
    return p


@case
def at_an_rvar(hl: Module) -> Pipeline:
    x, y = variables(hl, "x y")
    p, o = hl.Func("p"), hl.Func("o")
    r = hl.RDom([(0, 4)], "r")
    p[x] = x
    o[x, y] = 0
    o[x, y] += p[x + r]
    p.compute_at(o, r)
    return o


@case
def used_in_the_update(hl: Module) -> Pipeline:
    x, y = variables(hl, "x y")
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = x + y
    g[x, y] = 0
    g[x, y] += f[x, y]
    f.compute_at(g, y)
    return g


@case
def used_in_the_pure_definition(hl: Module) -> Pipeline:
    x, y = variables(hl, "x y")
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = x + y
    g[x, y] = f[x, y]
    g[x, y] += 1
    f.compute_at(g, y)
    return g


@case
def used_in_both_definitions(hl: Module) -> Pipeline:
    x, y = variables(hl, "x y")
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = x + y
    g[x, y] = f[x, y]
    g[x, y] += f[x, y]
    f.compute_at(g, y)
    return g


# Several Funcs.


@case
def two_outputs(hl: Module) -> Pipeline:
    x, y = variables(hl, "x y")
    f, g, h = hl.Func("f"), hl.Func("g"), hl.Func("h")
    f[x, y] = x
    g[x, y] = f[x, y]
    h[x, y] = f[x, y]
    f.compute_root()
    return hl.Pipeline([g, h])


@case
def order_by_name(hl: Module) -> Pipeline:
    x = hl.Var("x")
    zz, aa, out = hl.Func("zz"), hl.Func("aa"), hl.Func("out")
    zz[x] = x
    aa[x] = x + 1
    out[x] = zz[x] + aa[x]
    zz.compute_root()
    aa.compute_root()
    return out


@case
def order_through_inlined_funcs(hl: Module) -> Pipeline:
    x = hl.Var("x")
    a, z, m, o = (hl.Func(n) for n in ("a", "z", "m", "o"))
    z[x] = x
    a[x] = z[x]
    m[x] = x
    o[x] = a[x] + m[x]
    z.compute_root()
    m.compute_root()
    return o


def diamond(hl: Module) -> list[Any]:
    x = hl.Var("x")
    p, q, r, s, o = (hl.Func(n) for n in ("p", "q", "r", "s", "o"))
    p[x] = x
    q[x] = p[x]
    r[x] = x
    s[x] = r[x] + p[x]
    o[x] = s[x] + q[x]
    return [p, q, r, s, o]


@case
def diamond_at_root(hl: Module) -> Pipeline:
    *funcs, o = diamond(hl)
    for f in funcs:
        f.compute_root()
    return o


@case
def diamond_in_a_loop(hl: Module) -> Pipeline:
    *funcs, o = diamond(hl)
    for f in funcs:
        f.compute_at(o, hl.Var("x"))
    return o


@case
def through_a_consumer(hl: Module) -> Pipeline:
    x, y = variables(hl, "x y")
    f, g, h = hl.Func("f"), hl.Func("g"), hl.Func("h")
    f[x, y] = x + y
    g[x, y] = f[x, y] + f[x, y + 1]
    h[x, y] = g[x, y]
    f.compute_at(h, y)
    g.compute_at(h, x)
    return h


def chain(hl: Module) -> tuple[Any, Any, Any]:
    x = hl.Var("x")
    p, q, o = hl.Func("p"), hl.Func("q"), hl.Func("o")
    p[x] = x
    q[x] = p[x] + p[x + 1]
    o[x] = q[x] + q[x + 1]
    return p, q, o


@case
def store_the_first_of_two(hl: Module) -> Pipeline:
    p, q, o = chain(hl)
    p.store_root().compute_at(o, hl.Var("x"))
    q.compute_at(o, hl.Var("x"))
    return o


@case
def store_the_second_of_two(hl: Module) -> Pipeline:
    p, q, o = chain(hl)
    p.compute_at(o, hl.Var("x"))
    q.store_root().compute_at(o, hl.Var("x"))
    return o


@case
def at_the_outermost(hl: Module) -> Pipeline:
    x = hl.Var("x")
    p, o = stencil(hl, 2, 0)
    o.vectorize(x, 4)
    p.compute_at(o, hl.Var.outermost())
    return o
