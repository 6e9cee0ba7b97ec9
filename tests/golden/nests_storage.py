"""Pipelines whose Funcs are stored, folded and allocated at levels of their own."""

from __future__ import annotations

from tests.golden.nests import Module, Pipeline, case, stencil, variables


@case
def hoisted_out_of_tiles(hl: Module) -> Pipeline:
    """Where storage is allocated does not show."""
    x, y, xi, yi = variables(hl, "x y xi yi")
    p, o = stencil(hl, 1, 2)
    o.tile(x, y, xi, yi, 8, 8, hl.TailStrategy.RoundUp)
    p.compute_at(o, x).hoist_storage(o, y)
    return o


@case
def stored_in_tiles_hoisted_to_root(hl: Module) -> Pipeline:
    x, y, xi, yi = variables(hl, "x y xi yi")
    p, o = stencil(hl, 1, 2)
    o.tile(x, y, xi, yi, 8, 8, hl.TailStrategy.RoundUp)
    p.store_at(o, x).hoist_storage_root().compute_at(o, yi).fold_storage(y, 4)
    return o


@case
def stored_around_all_loops(hl: Module) -> Pipeline:
    _, y = variables(hl, "x y")
    p, o = stencil(hl, 1, 2)
    p.store_at(o, hl.Var.outermost()).compute_at(o, y)
    return o


@case
def slides_in_two_dimensions(hl: Module) -> Pipeline:
    x, _ = variables(hl, "x y")
    p, o = stencil(hl, 1, 2)
    p.store_root().compute_at(o, x)
    return o


@case
def folded_columns(hl: Module) -> Pipeline:
    x, y = variables(hl, "x y")
    p, o = stencil(hl, 2, 1)
    p.store_at(o, y).compute_at(o, x).fold_storage(x, 4)
    return o
