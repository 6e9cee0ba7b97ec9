"""Which loops the default scheduler considers for one Func, and for a group's root."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from parhelion.autoschedule.machine.machine import Machine
from parhelion.autoschedule.model.groups import Model, Tiles
from parhelion.autoschedule.model.plan import Loops
from parhelion.autoschedule.model.throughput import (
    apart,
    registers_for_sums,
    registers_of,
    scatters,
    waits,
)
from parhelion.autoschedule.pipeline.sizes import FAR
from parhelion.autoschedule.pipeline.work import Work
from parhelion.ir.expr import Var
from parhelion.ir.function import Function
from parhelion.ir.rewrite import free_vars

#: A dimension of at most so many points is small: a colour, not a coordinate.
SMALL = 4
#: Sizes of tiles that are tried, next to all of a dimension.
_ACROSS = (64, 128, 256, 512)
_DOWN = (4, 8, 16, 32, 64, 128)
#: How many rows a block may have.
_ROWS = (2, 4, 8, 16)
#: No more operations and loads than this for each register in a block of rows: beyond
#: it the registers do not hold what the rows share.
_MOST_WEIGHT = 10
#: No more operations and loads than this in all copies of a body in one block.
_MOST_CODE = 500
#: No more lanes than this that are fetched one by one, for one vector.
_MOST_APART = 256
#: No more vectors than this in one block.
_MOST_BLOCK = 32
#: No more candidates than this for one group.
_MOST_TILES = 160


def lanes_for(f: Function, machine: Machine, extent: int) -> int:
    """How many points to do in one vector: a register of the widest values, at most
    two registers' worth for narrow ones; less where there are fewer points."""
    widest = max(max(8, t.width) for t in f.types)
    lanes = machine.lanes(widest)
    while lanes > 1 and lanes > extent:
        lanes //= 2
    return lanes


def plain_loops(model: Model, f: Function, extents: Sequence[int]) -> Loops:
    """Vectors along the dimension that is cheapest for them, everything else serial."""
    key = model.graph.stages[f], tuple(extents)
    found = model.plain.get(key)
    if found is None:
        found = model.plain[key] = _plain_loops(model, f, extents)
    return found


def _plain_loops(model: Model, f: Function, extents: Sequence[int]) -> Loops:
    rank = len(extents)
    best: tuple[float, Loops] | None = None
    scan = any(s.rvars and model.work(s).recurs for s in model.graph.stages[f])
    for d in vector_dimensions(extents):
        lanes = 1 if d < 0 else lanes_for(f, model.machine, extents[d])
        if d >= 0:
            lanes = _less_apart(model, f, f.args[d], lanes)
        if lanes <= 1:
            d, lanes = -1, 1
        block = [1] * rank
        if d >= 0:
            block[d] = lanes
        order = tuple(
            ([d] if d > 0 else []) + [k for k in range(rank) if k != d or d <= 0]
        )
        plain = Loops(d, lanes, tuple(block), order)
        others = scan_blocks if scan else long_vectors
        for loops in (plain, *others(model, f, plain, extents)):
            cost = float(model.computing(f, loops, list(extents)))
            # Dense memory decides between equals.
            if best is None or cost < best[0] * 0.95:
                best = cost, loops
    assert best is not None
    return best[1]


def _less_apart(model: Model, f: Function, vector: Var, lanes: int) -> int:
    """Fewer lanes, where there would be a lot of code for those that no instruction
    fetches together: it takes as long for each, and leaves the instruction cache."""
    machine = model.machine
    most = max(
        [len(apart(model.work(s), vector, machine)) for s in model.graph.stages[f]]
    )
    while lanes * most > _MOST_APART and lanes > machine.lanes(32):
        lanes //= 2
    return lanes


def scan_blocks(
    model: Model, f: Function, loops: Loops, extents: Sequence[int]
) -> Iterator[Loops]:
    """Blocks of several lines, or of several vectors, for scans: while one line waits
    for its last result, the others go on."""
    most = most_copies(model, f, loops)
    for d, e in enumerate(extents):
        for lines in (2, 4) if d == loops.vector else (2, 4, 8, 12):
            if lines > most or lines * loops.block[d] > e:
                break
            block = list(loops.block)
            block[d] *= lines
            yield Loops(loops.vector, loops.lanes, tuple(block), loops.order)


def long_vectors(
    model: Model, f: Function, loops: Loops, extents: Sequence[int]
) -> Iterator[Loops]:
    """Vectors of several registers, for a Func whose operations are a long chain, as
    those of a function such as ``pow``: while one register waits, the others go on."""
    if loops.vector < 0 or f.updates:
        return
    (stage,) = model.graph.stages[f]
    if not waits(model.work(stage), model.machine, f.args[loops.vector], loops.lanes):
        return
    for lanes in (loops.lanes * 2, loops.lanes * 4):
        if lanes > model.machine.lanes(8) or lanes * 4 > extents[loops.vector]:
            break
        block = list(loops.block)
        block[loops.vector] = lanes
        yield Loops(loops.vector, lanes, tuple(block), loops.order)


def vector_dimensions(extents: Sequence[int]) -> list[int]:
    """The dimensions that vectors might run along, the innermost first."""
    found = [d for d, e in enumerate(extents) if e > SMALL][:2]
    if not found:
        found = [d for d, e in enumerate(extents) if e > 1][:1]
    return found or [-1]


def row_dimension(loops: Loops, extents: Sequence[int]) -> int:
    """The dimension whose steps are rows: the first long one beside the vectors'."""
    for d, e in enumerate(extents):
        if d != loops.vector and e > SMALL:
            return d
    return -1


@lru_cache(maxsize=512)
def tile_choices(
    loops: Loops,
    extents: tuple[int, ...],
    turned: bool = False,
    apart: tuple[int, ...] = (),
) -> Sequence[Tiles]:
    """The tiles of a group's root, as few arrays as possible: the same objects for the
    same loops. turned: also with the loop over tiles along the vectors outside of the
    others. apart: the dimensions in which a tile is no more than a block."""
    rank = len(extents)
    if rank == 0:
        return [Tiles((), (), -1)]
    row = row_dimension(loops, extents)
    sizes: list[list[int]] = []
    for d, e in enumerate(extents):
        block = loops.block[d]
        if d in apart:
            sizes.append([block])
        elif d == loops.vector:
            near = [s for s in _ACROSS if s % block == 0 and s * 2 <= e]
            if block not in near and block * 2 <= e:
                near.insert(0, block)
            sizes.append([e, *near])
        elif d == row:
            near = sorted({-(-s // block) * block for s in (1, *_DOWN)})
            sizes.append([e, *[s for s in near if s < e]])
        elif block >= e:
            sizes.append([e])
        else:
            sizes.append([e, block] if e > block else [e])
    every = list(itertools.islice(itertools.product(*sizes), _MOST_TILES * 8))
    if len(every) > _MOST_TILES:
        every = every[:: -(-len(every) // _MOST_TILES)]
    arrays = tuple(
        np.array([one[d] for one in every], dtype=np.int64) for d in range(rank)
    )
    natural = tuple(range(rank))
    found = [Tiles(arrays, natural, row)]
    if turned and loops.vector >= 0:
        # What depends on the vectors' dimension alone stays in a cache meanwhile.
        last = (*[d for d in natural if d != loops.vector], loops.vector)
        if last != natural:
            found.append(Tiles(arrays, last, row))
    return found


def block_choices(model: Model, f: Function, loops: Loops) -> Iterator[Loops]:
    """The same loops with other blocks of registers: all of the small dimensions."""
    small = small_dimensions(model, f, loops)
    yield loops
    if small:
        extents = model.extents(f)
        block = list(loops.block)
        for d in small:
            block[d] = extents[d]
        order = (*small, *[d for d in loops.order if d not in small])
        yield Loops(loops.vector, loops.lanes, tuple(block), order)


def small_dimensions(model: Model, f: Function, loops: Loops) -> list[int]:
    """Those of few points that vectors do not run along."""
    extents = model.extents(f)
    return [d for d, e in enumerate(extents) if 1 < e <= SMALL and d != loops.vector]


def apart_dimensions(model: Model, f: Function, loops: Loops) -> tuple[int, ...]:
    """The small dimensions whose points may be done in tiles of their own."""
    extents = model.extents(f)
    small = small_dimensions(model, f, loops)
    return tuple([d for d in small if loops.block[d] < extents[d]])


def small_in_rows(model: Model, f: Function, loops: Loops) -> Iterator[Loops]:
    """The same loops with those of the small dimensions inside the one over rows, so
    that what is computed for each row serves all of them."""
    if row_dimension(loops, model.extents(f)) < 0:
        return
    first = [d for d in loops.order if d in (loops.vector, *loops.order[:1])]
    small = [d for d in small_dimensions(model, f, loops) if d not in first]
    order = (*first, *small, *[d for d in loops.order if d not in (*first, *small)])
    if order != loops.order:
        yield Loops(loops.vector, loops.lanes, loops.block, order)


def row_blocks(
    model: Model, f: Function, loops: Loops, most: int = _ROWS[-1]
) -> Iterator[Loops]:
    """Blocks of several rows, at most so many, where rows share what is inlined or
    loaded."""
    (first, *_) = model.graph.stages[f]
    extents = model.extents(f)
    row = row_dimension(loops, extents)
    if row < 0 or loops.vector < 0 or f.updates or most < 2:
        return
    weight = model.work(first).arithmetic + len(model.work(first).loads)
    others = [(d, n) for d, n in enumerate(loops.block) if n > 1 and d != loops.vector]
    weight *= math.prod([n for _, n in others])
    alone = model.shared(first, tuple(others))
    for rows in _ROWS:
        if rows * 4 > extents[row] or rows > most:
            break
        both = model.shared(first, tuple(sorted([*others, (row, rows)])))
        if rows * weight * max(both) > _MOST_WEIGHT * model.machine.registers:
            break  # more rows only have more to compute
        if any(b > 0.8 * a for a, b in zip(alone, both, strict=True)):
            continue
        block = list(loops.block)
        block[row] = rows
        yield Loops(loops.vector, loops.lanes, tuple(block), loops.order)


def most_copies(model: Model, f: Function, loops: Loops) -> int:
    """How many vectors of a Func one block may have: unrolled code costs the time to
    compile it, and large bodies gain nothing."""
    vector = f.args[loops.vector] if loops.vector >= 0 else None
    weight = max(
        [
            _length(model.work(s), vector, loops.lanes, model.machine)
            for s in model.graph.stages[f]
        ]
    )
    return max(1, min(_MOST_BLOCK, int(_MOST_CODE / max(1.0, weight))))


def _length(work: Work, vector: Var | None, lanes: int, machine: Machine) -> float:
    """The operations and loads of one vector, which has code for each lane of those
    that no instruction fetches together, and of those that are stored apart."""
    if vector is None or vector not in work.stage.loops:
        return work.arithmetic + len(work.loads)
    each = len(apart(work, vector, machine)) * (lanes - 1)
    length = work.arithmetic + len(work.loads) + each
    # A block may have what lies between the lanes.
    filled = dict.fromkeys(work.stage.func.args, FAR)
    apart_too = scatters(work.stage, vector, filled)
    return length + (lanes * work.stores if apart_too else 0)


def register_blocks(
    model: Model, f: Function, loops: Loops, reduces: Sequence[Function]
) -> Iterator[Loops]:
    """Blocks of several vectors and several lines of `f`, for what reductions reuse:
    those that are computed for each block."""
    extents = model.extents(f)
    guards = frozenset[Var]().union(
        *[free_vars(s.predicate) for s in model.graph.stages[f]]
    )
    # What a condition asks for each line is asked in each copy of unrolled lines.
    others = [
        d
        for d in loops.order
        if d != loops.vector and extents[d] > 1 and f.args[d] not in guards
    ][:2]
    most = most_copies(model, f, loops)
    wide = [1]
    if loops.vector >= 0:
        room = extents[loops.vector] // loops.lanes
        wide = [n for n in (1, 2, 4) if n <= min(most, room)] or [1]
    for vectors in wide:
        block = list(loops.block)
        if loops.vector >= 0:
            block[loops.vector] = loops.lanes * vectors
        lines = math.prod([b for k, b in enumerate(block) if k != loops.vector])
        if vectors > 1 and vectors * lines > most:
            break
        yield Loops(loops.vector, loops.lanes, tuple(block), loops.order)
        for d in others:
            # A scan's lines are blocked already.
            room = most // (vectors * lines // block[d])
            points = loops.lanes * vectors
            for count in _lines(model, reduces, points, extents[d], room):
                made = list(block)
                made[d] = count
                order = (
                    *[k for k in loops.order if k == loops.vector],
                    d,
                    *[k for k in loops.order if k not in (d, loops.vector)],
                )
                yield Loops(loops.vector, loops.lanes, tuple(made), order)


def _lines(
    model: Model, reduces: Sequence[Function], points: int, extent: int, room: int
) -> list[int]:
    """How many lines of so many points a block might have, at most `room`. Of sums of
    products also as many as there are registers for, and the most of these that leave
    none over."""
    limit = min(extent, room)
    found = {2, 3, 4, 6, 8, 12}
    for f in reduces:
        # The sums may be wider than what is made of them.
        each = sum([registers_of(points, t.width, model.machine) for t in f.types])
        for work in [model.work(s) for s in model.graph.stages[f] if s.rvars]:
            if work.adds_products:
                most = min(registers_for_sums(work, model.machine, each) // each, limit)
                full = [n for n in range(2, most + 1) if n == most or extent % n == 0]
                found.update(full[-2:])
    return sorted([n for n in found if n <= limit])


__all__ = [
    "apart_dimensions",
    "most_copies",
    "small_in_rows",
    "register_blocks",
    "row_blocks",
    "SMALL",
    "block_choices",
    "lanes_for",
    "plain_loops",
    "row_dimension",
    "scan_blocks",
    "tile_choices",
]
