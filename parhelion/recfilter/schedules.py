"""How the stages of recursive filters are computed by default (2015 paper, section 7).

Scans are innermost, with vectors across another dimension; what is computed within a
tile is kept while the tile is; tiles, and strips of what is not tiled, run in parallel.
The stages are ordinary Funcs, so that all of it is done by directives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from parhelion.lang.func import Func
from parhelion.lang.rdom import RDom
from parhelion.lang.target_api import get_host_target
from parhelion.lang.var import Var
from parhelion.recfilter.coefficients import growth
from parhelion.recfilter.dims import RecFilterDim, another
from parhelion.recfilter.edges import SummedEdges
from parhelion.recfilter.filters import Filter, most_growth
from parhelion.recfilter.tiling import Tiles
from parhelion.types import Type

#: Bytes of the image along which a strip is computed at a time: some cache lines.
_STRIP = 256
#: Images of fewer lines are computed in tiles, of so many points, if there are so many.
_FEW_LINES, _TILE, _LEAST_TILES = 16, 1024, 16


def lanes(t: Type) -> int:
    """Values of a type in a vector of this computer."""
    return get_host_target().natural_vector_size(t)


def width_of_tiles(
    dims: Sequence[RecFilterDim], filters: Sequence[Filter], t: Type
) -> int | None:
    """The width of the tiles in which filters along one dimension are computed if the
    user gives none; None for whole lines.

    Lines are cut where there are few of them, so that there is something to compute in
    vectors and in parallel. That is decided by the image alone: results are the same
    on all computers.
    """
    position = filters[0].dim
    lines = math.prod([d.extent for k, d in enumerate(dims) if k != position])
    if lines >= _FEW_LINES or dims[position].extent < _LEAST_TILES * _TILE:
        return None
    if not all([f.is_constant for f in filters]):
        return None
    widest = max([growth(f.constants()[1], _TILE) for f in filters])
    return _TILE if widest <= most_growth(t) else None


def across(dims: Sequence[RecFilterDim], position: int, t: Type) -> Var | None:
    """The dimension across which a scan along another one has its vectors; None if
    no other has so many points."""
    others = [d for k, d in enumerate(dims) if k != position]
    return next((d for d in others if d.extent >= lanes(t)), None)


def _strip(position: int, t: Type) -> int:
    """Across how many points a scan along a dimension is computed at a time."""
    return lanes(t) if position == 0 else max(lanes(t), _STRIP // t.bytes())


def strips_of(f: Func, v: Var, *loops: Var) -> tuple[Var, Var]:
    """The Vars for strips of a dimension of a Func, and within a strip. loops: those
    that it has been split into before."""
    among = (*f.args(), *loops)
    return another(among, v, "s"), another(among, v, "i")


def schedule_points(f: Func, dims: Sequence[Var], t: Type) -> None:
    """Schedules a Func whose points do not depend on each other: vectors along the
    innermost dimension, the outermost in parallel."""
    f.vectorize(dims[0], lanes(t))
    if len(dims) > 1:
        f.parallel(dims[-1])


def schedule_scans(
    stages: Sequence[tuple[Func, Sequence[RDom]]],
    out: Func,
    dims: Sequence[RecFilterDim],
    position: int,
    t: Type,
) -> None:
    """Schedules filters along one dimension, untiled: strips in parallel.

    stages: Funcs that scan, and the domains of their updates.
    """
    v = across(dims, position, t)
    if v is None:
        for f, _ in stages:
            f.compute_root()
        return
    n = lanes(t)
    size = _strip(position, t)
    strips, inside = strips_of(out, v)
    out.split(v, strips, inside, size)
    rest = [d for k, d in enumerate(dims) if k != position and d is not v]
    scanned = dims[position]
    if position == 0:
        out.reorder(scanned, inside, strips, *rest).vectorize(scanned, n)
    else:
        out.reorder(inside, scanned, strips, *rest).vectorize(inside, n)
    out.parallel(rest[-1] if rest else strips)
    for f, domains in stages:
        f.compute_at(out, strips)
        if position == 0:
            f.reorder_storage(v, *[d for d in dims if d is not v])
        f.reorder(v, scanned, *rest).vectorize(v, n)
        for k, r in enumerate(domains):
            f.update(k).reorder(v, r, *rest).vectorize(v, n)


def schedule_edges(
    edges: SummedEdges, dims: Sequence[RecFilterDim], position: int, t: Type
) -> None:
    """Schedules the sums of pixels that enter at edges: strips in parallel."""
    f, q = edges.func, edges.slots
    f.compute_root().bound(q, 0, edges.count)
    v = across(dims, position, t)
    if v is None:
        return
    rest = [d for k, d in enumerate(dims) if k != position and d is not v]
    n = lanes(t)
    f.reorder(v, q, *rest).vectorize(v, n)
    for k, r in enumerate(edges.domains):
        strips, inside = strips_of(f, v)
        stage = f.update(k).split(v, strips, inside, _strip(position, t))
        stage.reorder(q, inside, r, strips, *rest).vectorize(inside, n).unroll(q)
        stage.parallel(rest[-1] if rest else strips)


def schedule_tiles(
    tiles: Tiles, out: Func, dims: Sequence[RecFilterDim], t: Type
) -> None:
    """Schedules filters along one dimension in tiles: see `Tiles`."""
    v = across(dims, tiles.position, t)
    _first_pass(tiles, v, t)
    _completion(tiles, v, t)
    _last_pass(tiles, out, dims[tiles.position], v, t)


def _within(f: Func, r: RDom, tiles: Tiles, v: Var, n: int) -> None:
    """A stage within tiles: vectors across `v`, in whose direction it is dense."""
    rest = [d for d in (*tiles.others, tiles.outer) if d is not v]
    order = (v, tiles.inner, *rest)
    f.reorder(*order).vectorize(v, n)
    f.update(0).reorder(v, r, *rest).vectorize(v, n)
    if tiles.position == 0:
        f.reorder_storage(*order)


def _first_pass(tiles: Tiles, v: Var | None, t: Type) -> None:
    """Tails, each tile computed and left again but for them.

    v: the dimension of vectors; None for that of tiles.
    """
    tails, q, n = tiles.tails, tiles.slots, lanes(t)
    assert tails is not None and q is not None
    count = sum([f.order for f in tiles.filters])
    tails.compute_root().bound(q, 0, count)
    if v is None:
        strips, inside = strips_of(tails, tiles.outer)
        tails.split(tiles.outer, strips, inside, n)
        tails.reorder(inside, q, *tiles.others, strips).parallel(strips)
        v = tiles.outer
    else:
        strips, inside = strips_of(tails, v)
        tails.split(v, strips, inside, _strip(tiles.position, t))
        rest = [d for d in tiles.others if d is not v]
        tails.reorder(inside, q, strips, *rest, tiles.outer).parallel(tiles.outer)
    tails.vectorize(inside, n).unroll(q)
    for k, f in enumerate(tiles.intra):
        f.compute_at(tails, strips)
        _within(f, tiles.scans_of_intra[k], tiles, v, n)


def _completion(tiles: Tiles, v: Var | None, t: Type) -> None:
    f, q, n = tiles.completed, tiles.slots, lanes(t)
    assert f is not None and q is not None
    f.compute_root()
    if v is None:
        return
    rest = [d for d in tiles.others if d is not v]
    f.reorder(v, q, *rest, tiles.outer).vectorize(v, n).parallel(tiles.outer)
    for k, r in enumerate(tiles.scans_of_tails):
        strips, inside = strips_of(f, v)
        stage = f.update(k).split(v, strips, inside, max(n, _STRIP // t.bytes()))
        stage.reorder(inside, r.x, r.y, strips, *rest).vectorize(inside, n)
        stage.parallel(rest[-1] if rest else strips)


def _last_pass(tiles: Tiles, out: Func, scanned: Var, v: Var | None, t: Type) -> None:
    n = lanes(t)
    outer, inner = [another(out.args(), scanned, suffix) for suffix in "oi"]
    out.split(scanned, outer, inner, tiles.width)
    if v is None:
        strips, inside = strips_of(out, outer, inner)
        out.split(outer, strips, inside, n)
        out.reorder(inner, inside, *tiles.others, strips).parallel(strips)
        out.vectorize(inner, min(n, tiles.width))
    else:
        rest = [d for d in tiles.others if d is not v]
        strips, inside = strips_of(out, v, outer, inner)
        out.split(v, strips, inside, _strip(tiles.position, t))
        if tiles.position == 0:
            out.reorder(inner, inside, outer, strips, *rest)
            out.vectorize(inner, min(n, tiles.width)).parallel(
                rest[-1] if rest else strips
            )
            strips = outer
        else:
            out.reorder(inside, inner, strips, outer, *rest).vectorize(inside, n)
            out.parallel(rest[-1] if rest else outer)
    for k, f in enumerate(tiles.final):
        f.compute_at(out, strips)
        _within(f, tiles.scans_of_final[k], tiles, tiles.outer if v is None else v, n)


__all__ = [
    "across",
    "lanes",
    "schedule_edges",
    "schedule_points",
    "schedule_scans",
    "schedule_tiles",
    "width_of_tiles",
]
