"""How the stages of recursive filters are computed by default (2015 paper, section 7).

Scans are innermost, with vectors across another dimension; what is computed within a
tile is kept while the tile is; tiles, and strips of what is not tiled, run in parallel.
The stages are ordinary Funcs, so that all of it is done by directives.
"""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.lang.func import Func
from parhelion.lang.rdom import RDom
from parhelion.lang.target_api import get_host_target
from parhelion.lang.var import Var
from parhelion.recfilter.edges import SummedEdges
from parhelion.recfilter.tiling import Tiles
from parhelion.types import Type

#: Bytes of the image along which a strip is computed at a time: some cache lines.
_STRIP = 256


def lanes(t: Type) -> int:
    """Values of a type in a vector of this computer."""
    return get_host_target().natural_vector_size(t)


def across(dims: Sequence[Var], position: int) -> Var | None:
    """The dimension across which a scan along another one has its vectors; None if
    there is no other."""
    if len(dims) == 1:
        return None
    return dims[1] if position == 0 else dims[0]


def _vectors(tiles: Tiles, dims: Sequence[Var]) -> Var:
    """As `across`; of a line, the dimension of tiles."""
    found = across(dims, tiles.position)
    return tiles.outer if found is None else found


def _strip(position: int, t: Type) -> int:
    """Across how many points a scan along a dimension is computed at a time."""
    return lanes(t) if position == 0 else max(lanes(t), _STRIP // t.bytes())


def schedule_scans(
    stages: Sequence[tuple[Func, Sequence[RDom]]],
    out: Func,
    dims: Sequence[Var],
    position: int,
    t: Type,
) -> None:
    """Schedules filters along one dimension, untiled: strips in parallel.

    stages: Funcs that scan, and the domains of their updates.
    """
    v = across(dims, position)
    if v is None:
        for f, _ in stages:
            f.compute_root()
        return
    n = lanes(t)
    size = _strip(position, t)
    strips, inside = Var(f"{v.name()}s"), Var(f"{v.name()}i")
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
    edges: SummedEdges, dims: Sequence[Var], position: int, t: Type
) -> None:
    """Schedules the sums of pixels that enter at edges: strips in parallel."""
    f, q = edges.func, edges.slots
    f.compute_root().bound(q, 0, edges.count)
    v = across(dims, position)
    if v is None:
        return
    rest = [d for k, d in enumerate(dims) if k != position and d is not v]
    n = lanes(t)
    f.reorder(v, q, *rest).vectorize(v, n)
    for k, r in enumerate(edges.domains):
        strips, inside = Var(f"{v.name()}s"), Var(f"{v.name()}i")
        stage = f.update(k).split(v, strips, inside, _strip(position, t))
        stage.reorder(q, inside, r, strips, *rest).vectorize(inside, n).unroll(q)
        stage.parallel(rest[-1] if rest else strips)


def schedule_tiles(tiles: Tiles, out: Func, dims: Sequence[Var], t: Type) -> None:
    """Schedules filters along one dimension in tiles: see `Tiles`."""
    _first_pass(tiles, dims, t)
    _completion(tiles, dims, t)
    _last_pass(tiles, out, dims, t)


def _within(f: Func, r: RDom, tiles: Tiles, v: Var, n: int) -> None:
    """A stage within tiles: vectors across `v`, in whose direction it is dense."""
    rest = [d for d in (*tiles.others, tiles.outer) if d is not v]
    order = (v, tiles.inner, *rest)
    f.reorder(*order).vectorize(v, n)
    f.update(0).reorder(v, r, *rest).vectorize(v, n)
    if tiles.position == 0:
        f.reorder_storage(*order)


def _first_pass(tiles: Tiles, dims: Sequence[Var], t: Type) -> None:
    """Tails, each tile computed and left again but for them."""
    tails, q, n = tiles.tails, tiles.slots, lanes(t)
    assert tails is not None and q is not None
    count = sum([f.order for f in tiles.filters])
    tails.compute_root().bound(q, 0, count)
    v = _vectors(tiles, dims)
    strips, inside = Var(f"{v.name()}s"), Var(f"{v.name()}i")
    tails.split(v, strips, inside, _strip(tiles.position, t))
    rest = [d for d in (*tiles.others, tiles.outer) if d is not v]
    tails.reorder(inside, q, strips, *rest).vectorize(inside, n).unroll(q)
    tails.parallel(rest[-1] if rest else strips)
    for k, f in enumerate(tiles.intra):
        f.compute_at(tails, strips)
        _within(f, tiles.scans_of_intra[k], tiles, v, n)


def _completion(tiles: Tiles, dims: Sequence[Var], t: Type) -> None:
    f, q, n = tiles.completed, tiles.slots, lanes(t)
    assert f is not None and q is not None
    f.compute_root()
    v = across(dims, tiles.position)
    if v is None:
        return
    rest = [d for d in tiles.others if d is not v]
    f.reorder(v, q, *rest, tiles.outer).vectorize(v, n).parallel(tiles.outer)
    for k, r in enumerate(tiles.scans_of_tails):
        strips, inside = Var(f"{v.name()}s"), Var(f"{v.name()}i")
        stage = f.update(k).split(v, strips, inside, max(n, _STRIP // t.bytes()))
        stage.reorder(inside, r.x, r.y, strips, *rest).vectorize(inside, n)
        stage.parallel(rest[-1] if rest else strips)


def _last_pass(tiles: Tiles, out: Func, dims: Sequence[Var], t: Type) -> None:
    n = lanes(t)
    scanned = dims[tiles.position]
    outer, inner = Var(f"{scanned.name()}o"), Var(f"{scanned.name()}i")
    out.split(scanned, outer, inner, tiles.width)
    v = across(dims, tiles.position)
    rest = [d for d in tiles.others if d is not v]
    if v is None:
        strips, inside = Var("os"), Var("oi")
        out.split(outer, strips, inside, n).reorder(inner, inside, strips)
        out.vectorize(inner, min(n, tiles.width)).parallel(strips)
    else:
        strips, inside = Var(f"{v.name()}s"), Var(f"{v.name()}i")
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
        _within(f, tiles.scans_of_final[k], tiles, _vectors(tiles, dims), n)


__all__ = ["across", "lanes", "schedule_scans", "schedule_tiles"]
