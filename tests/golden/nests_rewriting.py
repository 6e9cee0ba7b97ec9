"""Small pipelines under directives that rewrite them: wrappers and clones."""

from __future__ import annotations

from typing import Any

from tests.golden.nests import Module, Pipeline, case, variables


def _chain(hl: Module, tag: str) -> tuple[Any, Any, Any]:
    """Two consumers of one producer. The tag keeps names unique: Halide makes the
    names of wrappers of the Funcs' own, numbers and all."""
    x, y = variables(hl, "x y")
    p, q, o = [hl.Func(f"{name}{tag}") for name in "pqo"]
    p[x, y] = x + y
    q[x, y] = p[x, y] * 2 + p[x + 1, y]
    o[x, y] = q[x, y] + p[x, y + 1]
    return p, q, o


@case
def wrapper_for_one(hl: Module) -> Pipeline:
    x, y = variables(hl, "x y")
    p, q, o = _chain(hl, "_w1")
    p.compute_root()
    q.compute_at(o, y)
    p.in_(q).compute_at(q, x).vectorize(x, 4)
    return o


@case
def wrapper_for_several(hl: Module) -> Pipeline:
    y = hl.Var("y")
    p, q, o = _chain(hl, "_w2")
    p.compute_root()
    q.compute_at(o, y)
    p.in_([q, o]).compute_at(o, y)
    return o


@case
def wrapper_for_all(hl: Module) -> Pipeline:
    x, y = variables(hl, "x y")
    p, q, o = _chain(hl, "_w3")
    p.compute_at(p.in_(), y)
    q.compute_root()
    p.in_().compute_root().parallel(y)
    return o


@case
def wrapper_of_a_wrapper(hl: Module) -> Pipeline:
    x, y = variables(hl, "x y")
    p, q, o = _chain(hl, "_w4")
    p.compute_root()
    q.compute_root()
    first = p.in_(q).compute_at(q, y)
    first.in_(q).compute_at(q, x)
    return o


@case
def wrapper_of_an_image(hl: Module) -> Pipeline:
    x, y = variables(hl, "x y")
    image, o = hl.ImageParam(hl.UInt(8), 2, "image_w"), hl.Func("o_w")
    o[x, y] = image[x, y] + image[x + 1, y]
    image.in_(o).compute_at(o, y)
    return o


@case
def clone_for_one(hl: Module) -> Pipeline:
    x, y = variables(hl, "x y")
    p, q, o = _chain(hl, "_w5")
    p.compute_root().vectorize(x, 4)
    q.compute_root()
    p.clone_in(q)
    return o


@case
def clone_of_updates(hl: Module) -> Pipeline:
    x, y = variables(hl, "x y")
    p, q, o = hl.Func("p_u"), hl.Func("q_u"), hl.Func("o_u")
    p[x, y] = x + y
    p[x, 0] += 1
    q[x, y] = p[x, y] * 2
    o[x, y] = q[x, y] + p[x, y + 1]
    p.compute_root().vectorize(x, 4)
    p.update().parallel(x)
    q.compute_root()
    p.clone_in(q).compute_at(q, y)
    return o


@case
def specialized_twice(hl: Module) -> Pipeline:
    x, y = variables(hl, "x y")
    p, b = hl.Param(hl.Int(32), "p"), hl.Param(hl.Bool(), "b")
    g, f = hl.Func("g_s"), hl.Func("f_s")
    g[x, y] = x + y * p
    f[x, y] = g[x, y] + g[x + 1, y]
    g.compute_at(f, y)
    first = f.specialize(p == 2)
    first.vectorize(x, 8)
    first.specialize(b).parallel(y)
    f.specialize(f.output_buffer().width() > 100).vectorize(x, 4)
    return f


@case
def specialized_or_else(hl: Module) -> Pipeline:
    x, y = variables(hl, "x y")
    p, f = hl.Param(hl.Int(32), "p"), hl.Func("f_e")
    f[x, y] = x + y * p
    f.specialize(p == 2).unroll(x, 2)
    f.specialize_fail("p must be 2")
    return f


@case
def specialized_update(hl: Module) -> Pipeline:
    x, y = variables(hl, "x y")
    b, f = hl.Param(hl.Bool(), "b"), hl.Func("f_r")
    r = hl.RDom([(0, 10)], "r")
    f[x, y] = x + y
    f[x, y] += r.x
    f.update().specialize(b).reorder(x, r.x, y).vectorize(x, 4)
    return f


def _histogram(hl: Module, tag: str) -> tuple[Any, Any]:
    x = hl.Var("x")
    image, f = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Func(f"f{tag}")
    r = hl.RDom([(0, 100), (0, 50)], "r")
    f[x] = 0
    f[image[r.x, r.y]] += 1
    return f, r


@case
def factored_rows(hl: Module) -> Pipeline:
    u = hl.Var("u")
    f, r = _histogram(hl, "_h1")
    f.update().rfactor(r.y, u).compute_root().update().parallel(u)
    return f


@case
def factored_tiles(hl: Module) -> Pipeline:
    x, u, v = variables(hl, "x u v")
    f, r = _histogram(hl, "_h2")
    rxo, rxi, ryo, ryi = [hl.RVar(n) for n in ("rxo", "rxi", "ryo", "ryi")]
    f.update().tile(r.x, r.y, rxo, ryo, rxi, ryi, 4, 2)
    part = f.update().rfactor([(rxo, u), (ryo, v)]).compute_root().vectorize(x, 8)
    part.update().parallel(v)
    f.update().reorder(ryo, rxo).vectorize(x, 8)
    return f


@case
def factored_among_pure_loops(hl: Module) -> Pipeline:
    x, y, xo, xi, u = variables(hl, "x y xo xi u")
    image, f = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Func("f_p")
    r = hl.RDom([(0, 100), (0, 50)], "r")
    f[x, y] = 0
    f[x, y] += hl.i32(image[r.x + x, r.y + y])
    f.update().split(x, xo, xi, 8).reorder(xi, r.x, xo, y, r.y)
    f.update().vectorize(xi).parallel(y)
    f.update().rfactor(r.x, u).compute_root()
    return f


@case
def factored_in_place(hl: Module) -> Pipeline:
    x, y, u = variables(hl, "x y u")
    image, f = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Func("f_a")
    r = hl.RDom([(0, 64)], "r")
    ro, ri = hl.RVar("ro"), hl.RVar("ri")
    f[x, y] = 0
    f[x, y] += hl.i32(image[x + r, y])
    f.update().split(r.x, ro, ri, 8)
    part = f.update().rfactor(ri, u).compute_at(f, x).vectorize(u, 8)
    part.update().reorder(u, ro).vectorize(u, 8)
    return f
