"""How whole lines are filtered by default (2015 paper, section 7).

Scans are innermost, with vectors across another dimension; strips of lines run in
parallel. The stages are ordinary Funcs, so that all of it is done by directives. Those
of tiles are in `tile_schedules`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

from parhelion.lang.expr import Expr
from parhelion.lang.func import Func, Stage
from parhelion.lang.rdom import RVar
from parhelion.lang.target_api import get_host_target
from parhelion.lang.var import Var
from parhelion.recfilter.coefficients import Number, amplified
from parhelion.recfilter.dims import Dim, RecFilterDim, another
from parhelion.recfilter.edges import SummedEdges
from parhelion.recfilter.filters import Filter, most_growth
from parhelion.recfilter.walks import Walk, schedule_walk
from parhelion.runtime.threads import get_num_threads
from parhelion.schedule.directives import TailStrategy
from parhelion.types import Type

#: A dimension of one of the kinds that there are.
AnyDim = TypeVar("AnyDim", bound=Dim)

#: Bytes of the image along which a strip is computed at a time: some cache lines. And
#: registers of a strip, if these are more: of 64 bytes on a Zen 4, eight take 0.75 to
#: 1.02 of the time of four, on 640 x 480 to 16384 x 4096 points of four types.
_STRIP, _REGISTERS = 256, 8
#: What share of the points wide strips may compute twice.
_TWICE = 1 / 8
#: Bytes of a strip at most, of a scan that keeps nothing but its image.
_WIDE = 2048
#: Bytes of a line of the caches; and by which pixels lie apart that are rivals in them.
LINE, RIVALS = 64, 1024
#: Bytes of the lines that a scan along the innermost dimension has at hand at a time.
_NEAR = 64 << 10
#: Images of fewer lines are computed in tiles, of so many points, if there are so many.
_FEW_LINES, _TILE, _LEAST_TILES = 16, 1024, 16
#: Wider tiles, and how many bytes a line has at least for each point of one: tiles for
#: 32 vectors of 32 bytes, so that many cores have something to compute. On 262,144 to
#: 4,194,304 points, two cores and filters of orders 1 to 8, tiles of 1,024 take 0.99 to
#: 1.21 times as long as those of 4,096, which are within 1.02 of the fastest of all.
_WIDER, _MANY_TILES = (4096, 2048), 1024
#: Points in a vector at least.
_FEWEST_LANES = 4
#: By how much more rounding errors may grow in wider tiles.
_NO_MORE = 1.1


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
    if not all([f.is_constant for f in filters]):
        return None
    feedback = [f.constants()[1] for f in filters]
    return width_of_lines(lines, dims[position].extent, feedback, t)


def width_of_lines(
    lines: int, points: int, feedback: Sequence[Sequence[Number]], t: Type
) -> int | None:
    """As `width_of_tiles`, for so many lines of so many points, and filters of these
    coefficients. Integers may grow as they like."""
    if lines >= _FEW_LINES or points < _LEAST_TILES * _TILE:
        return None
    wider = [w for w in _WIDER if points * t.bytes() >= _MANY_TILES * w]
    if not t.is_float():
        return next(iter(wider), _TILE)

    def grows(width: int) -> float:
        return max([amplified(one, width, points) for one in feedback])

    least = grows(_TILE)
    if least > most_growth(t):
        return None
    return next((w for w in wider if grows(w) <= _NO_MORE * least), _TILE)


def tail_of(step: int, extent: int | Expr | None) -> TailStrategy:
    """How the end of a loop is computed that goes over `extent` points in steps: no
    point beyond them, as an image would have to be larger."""
    if not isinstance(extent, int) or extent < step:
        return TailStrategy.GuardWithIf
    return TailStrategy.ShiftInwards


def across(
    dims: Sequence[AnyDim], position: int, t: Type, n: int | None = None
) -> AnyDim | None:
    """The dimension across which a scan along another one has its vectors, of `n`
    points or as many as a register holds; None if no other has so many points.

    Of dimensions whose size is not known, those further in than the one that is scanned
    are taken to have them: there vectors are dense.
    """

    def suits(k: int, d: AnyDim) -> bool:
        if isinstance(d.extent, int):
            return d.extent >= (n or lanes(t))
        return k < position

    others = [(k, d) for k, d in enumerate(dims) if k != position]
    return next((d for k, d in others if suits(k, d)), None)


def across_few(
    dims: Sequence[AnyDim], position: int, t: Type
) -> tuple[AnyDim, int] | None:
    """As `across`, and how many points a vector has: if no dimension has as many as a
    register holds, half of them, and so on."""
    n = lanes(t)
    while n >= _FEWEST_LANES:
        v = across(dims, position, t, n)
        if v is not None:
            return v, n
        n //= 2
    return None


def is_dense(dims: Sequence[Dim], v: Var, position: int) -> bool:
    """Whether points lie side by side along `v`, or some few points apart, seen from
    the dimension that is scanned."""
    return any([d is v for d in dims[:position]])


def strip_of(
    dense: bool, length: int, t: Type, extent: int | Expr | None = None
) -> int:
    """Across how many points a scan of so many points is computed at a time.

    dense: see `is_dense`, of the dimension across the scan. extent: of that one, if the
    last strip begins further in where it would end beyond. A scan waits for what it has
    just computed: two vectors do not wait for each other, as long as their lines stay
    in the caches.
    """
    n = lanes(t)
    if dense:
        least = max(n, _STRIP // t.bytes())
        size = max(_REGISTERS * n, least)
        while isinstance(extent, int) and size > n:
            twice = -(-extent // size) * size - extent
            if extent >= size and (size <= least or twice <= extent * _TWICE):
                break
            size //= 2
        return size
    return 2 * n if 2 * n * length * t.bytes() <= _NEAR else n


def strips_of(f: Func, v: Var, *loops: Var) -> tuple[Var, Var]:
    """The Vars for strips of a dimension of a Func, and within a strip. loops: those
    that it has been split into before."""
    among = (*f.args(), *loops)
    return another(among, v, "s"), another(among, v, "i")


def in_parallel(
    f: Func | Stage, strips: Var | RVar, rest: Sequence[Var | RVar]
) -> None:
    """Has strips run in parallel, and the outermost of the loops around them: there may
    be few of either, as of the channels of an image."""
    f.parallel(strips)
    if rest:
        f.parallel(rest[-1])


def in_blocks(
    out: Func, scanned: Var, line: Var, n: int, tail: TailStrategy
) -> list[Var]:
    """Has a Func written in vectors along lines that were scanned in vectors across
    them, so many lines at a time, which are turned in registers. Returns the loops that
    it has in place of the two.

    scanned: the loop along lines. line: that of so many lines, or a multiple of that.
    tail: how lines end.
    """
    made: list[Var] = []
    for v in (scanned, line):
        for suffix in "vb":
            made.append(another((*out.args(), scanned, line, *made), v, suffix))
    vector, vectors, one, blocks = made
    out.split(scanned, vectors, vector, n, tail).split(line, blocks, one, n)
    out.vectorize(vector).unroll(one)
    return [vector, one, vectors, blocks]


def keep_rows_apart(f: Func, dims: Sequence[RecFilterDim], t: Type) -> None:
    """Lengthens the rows of a Func's storage where pixels of neighbouring rows would
    be rivals for the same places in the caches, which hold few whose addresses differ
    by a power of two."""
    row = dims[0].extent
    if len(dims) > 1 and row * t.bytes() % RIVALS == 0:
        f.bound_storage(dims[0], row + LINE // t.bytes())


def schedule_points(f: Func, dims: Sequence[RecFilterDim], t: Type) -> None:
    """Schedules a Func whose points do not depend on each other: vectors along the
    innermost dimension, the outermost in parallel."""
    f.vectorize(dims[0], lanes(t), tail_of(lanes(t), dims[0].extent))
    if len(dims) > 1:
        f.parallel(dims[-1])


def schedule_scans(
    stages: Sequence[tuple[Func, Sequence[Walk]]],
    out: Func,
    dims: Sequence[RecFilterDim],
    position: int,
    t: Type,
) -> None:
    """Schedules filters along one dimension, untiled: strips in parallel.

    stages: Funcs that scan, and their updates.
    """
    found = across_few(dims, position, t)
    if found is None:
        for f, _ in stages:
            f.compute_root()
        return
    v, n = found
    dense = is_dense(dims, v, position)
    size = n
    if n == lanes(t):
        size = strip_of(dense, dims[position].extent, t, v.extent)
    wide = min(size, 2 * n)
    strips, inside = strips_of(out, v)
    out.split(v, strips, inside, size, tail_of(size, v.extent))
    rest = [d for k, d in enumerate(dims) if k != position and d is not v]
    scanned = dims[position]
    if dense:
        out.reorder(inside, scanned, strips, *rest).vectorize(inside, wide)
    else:
        order = in_blocks(out, scanned, inside, n, tail_of(n, scanned.extent))
        out.reorder(*order, strips, *rest)
    in_parallel(out, strips, rest)
    for f, walks in stages:
        f.compute_at(out, strips)
        if not dense:
            f.reorder_storage(v, *[d for d in dims if d is not v])
        for one in walks:
            schedule_walk(f, one, v, rest, wide)


def is_dense_across(dims: Sequence[RecFilterDim], position: int, t: Type) -> bool:
    """Whether scans along a dimension have their vectors where points lie side by
    side."""
    found = across_few(dims, position, t)
    return found is not None and is_dense(dims, found[0], position)


def schedule_scan_within(
    scan: tuple[Func, Sequence[Walk]],
    dims: Sequence[RecFilterDim],
    position: int,
    t: Type,
) -> None:
    """Schedules a filter that goes over its image once, with vectors where points lie
    side by side: strips in parallel."""
    out, (only,) = scan
    found = across_few(dims, position, t)
    assert found is not None
    v, n = found
    rest = [d for k, d in enumerate(dims) if k != position and d is not v]
    strips, inside = strips_of(out, v)
    size, wide = strips_alike(v.extent, t, n)
    stage = out.update(only.update).split(v, strips, inside, size)
    schedule_walk(out, only, inside, [strips, *rest], wide)
    in_parallel(stage, strips, rest)


def strips_alike(extent: int, t: Type, n: int) -> tuple[int, int]:
    """How wide the strips are in which a scan goes over so many lines, side by side,
    and its vectors, of registers that hold `n` points.

    Strips have about the same width, as the vectors of one are computed even where it
    goes beyond the image, and each thread has one if there are lines enough. Vectors
    are those of two registers if that leaves none half empty: what has been stored
    under a mask is long in coming back.
    """
    size = extent * t.bytes()
    wide = n if extent % (2 * n) else 2 * n
    count = max(-(-size // _WIDE), min(get_num_threads(), size // _STRIP), 1)
    return -(-extent // (count * wide)) * wide, wide


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
    size = strip_of(is_dense(dims, v, position), 1, t)
    for k, r in enumerate(edges.domains):
        strips, inside = strips_of(f, v)
        stage = f.update(k).split(v, strips, inside, size)
        stage.reorder(q, inside, r, strips, *rest).vectorize(inside, n).unroll(q)
        in_parallel(stage, strips, rest)


__all__ = [
    "LINE",
    "RIVALS",
    "across",
    "in_blocks",
    "in_parallel",
    "is_dense_across",
    "is_dense",
    "lanes",
    "schedule_scan_within",
    "schedule_edges",
    "schedule_points",
    "schedule_scans",
    "strip_of",
    "strips_alike",
    "strips_of",
    "tail_of",
    "width_of_lines",
    "width_of_tiles",
]
