"""`reduce`: reductions over whole images, folded chunk by chunk and merged as trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import dask.array as da
from dask.base import tokenize
from dask.graph_manipulation import bind
from dask.highlevelgraph import HighLevelGraph

from parhelion.dask.applying import (
    Blocks,
    Numbers,
    arrays_of,
    check_threads,
    values_of,
)
from parhelion.dask.asked import Asked, Params, asked, check_defined
from parhelion.dask.chunks import DEFAULT_BYTES
from parhelion.dask.compiled import Array, Compiled, Job, Piece, compute
from parhelion.dask.domains import Cuts, Domain, domain_of
from parhelion.dask.folding import (
    as_output,
    copied,
    fold_box,
    fold_result,
    fold_two,
    free,
)
from parhelion.dask.jobs import Cutter
from parhelion.dask.preparing import (
    Prepared,
    Wishes,
    byte_count,
    prepare_asked,
)
from parhelion.dataclass import dataclass
from parhelion.errors import ScheduleError, here
from parhelion.ir.expr import Expr, FuncCall
from parhelion.ir.function import Function
from parhelion.ir.names import wished
from parhelion.ir.rewrite import nodes
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.lang.boxes import Box
from parhelion.lang.callable import Argument, Callable
from parhelion.lang.handles import func_of
from parhelion.schedule.associativity import (
    AssociativeFold,
    fold_of,
    not_associative,
)
from parhelion.schedule.order import realization_order

#: Domains that are no longer than this along any axis are windows, which stay with
#: the chunks that look through them, unless the result itself is folded over them.
_WINDOW = 64


def reduce(
    pipeline: object,
    *arrays: Any,
    params: Params = None,
    shape: Numbers = None,
    dtype: Any = None,
    chunks: Any = None,
    rechunk: str | None = None,
    origin: Numbers = None,
    axes: str | None = None,
    memory: int | str | None = None,
    workers: int | None = None,
    threads: int | None = 1,
    split_every: int = 4,
) -> Any:
    """Returns what a pipeline computes of dask arrays, as `apply` does, where
    reductions over whole images are folded chunk by chunk.

    A reduction is an update over an RDom whose points need most of an axis of an image:
    a histogram, a sum, the place of the greatest pixel. Each chunk of the image is
    folded by itself, by the user's own update over that part of the RDom, and the
    results are merged as a tree, by the associative operation that the compiler proves,
    as `rfactor` does. What depends on the merged result, as pixels that are equalised
    by a histogram, comes in a second pass. That reads the image again, so that it is
    never in memory as a whole; what is expensive to compute is better stored or
    `persist`-ed first.

    Integers are the same as of one run on the whole arrays, whatever the chunks are;
    of the places of equal extremes the first is taken, as there. Sums and products of
    floats are regrouped: they are the same for any number of workers, and within
    ``(n + d) * eps * sum(abs(terms))`` of the exact sum, for chunks of n points and
    merges d deep.

    pipeline, arrays, params, shape, dtype, chunks, rechunk, origin, axes, workers and
    threads: as in `apply`; the chunks are those of the result. `shape` is () for a Func
    without dimensions.
    memory: the most bytes that the fold of a part may read and write; parts are made
    smaller until they fit. Also that of the chunks of the second pass.
    split_every: how many results one task merges, 2 or more.

    Raises what `apply` raises, and ScheduleError where a reduction is not known to be
    associative, as `rfactor` says it, or the result is no reduction.

    >>> import dask.array as da
    >>> import parhelion.dask as hd
    >>> image, histogram = hl.ImageParam(hl.UInt(8), 2), hl.Func()
    >>> r = hl.RDom([(0, image.width()), (0, image.height())])
    >>> histogram[x] = 0
    >>> histogram[hl.i32(image[r.x, r.y])] += 1
    >>> pixels = np.arange(64, dtype=np.uint8).reshape(8, 8) // 16
    >>> counts = hd.reduce(histogram, da.from_array(pixels, chunks=3), shape=(256,))
    >>> counts.compute()[:6].tolist()
    [16, 16, 16, 16, 0, 0]
    """
    check_threads(threads)
    if not isinstance(split_every, int) or split_every < 2:
        raise ScheduleError(
            f"split_every is how many results are merged at once, 2 or more, not"
            f" {split_every!r:.60}",
            at=here(),
        )
    wishes = Wishes(shape, dtype, chunks, rechunk, origin, memory, workers, axes)
    found = asked(pipeline, arrays, params, axes)
    check_defined(found)
    found = copied(found, found.outputs)
    images, folded = len(found.images), 0
    for function in realization_order(found.outputs):
        update = _folding(found, function, images)
        if update is not None:
            found = _taken_out(found, function, update, wishes, threads, split_every)
            # What has been folded is let go, and read again when the result is there:
            # all of the image would wait for it in memory.
            result = found.arrays[images:]
            again = [bind(a, result, seed=folded) for a in found.arrays[:images]]
            found = replace(found, arrays=(*again, *found.arrays[images:]))
            folded += 1
    if not folded:
        names = ", ".join([repr(f.label) for f in found.outputs])
        raise ScheduleError(
            f"hd.reduce: no update of {names}, or of what it needs, folds an image over"
            " an RDom",
            at=here(),
            hint="hd.apply computes what needs parts of its images",
        )
    out: dict[int, da.Array] = {}
    for part in prepare_asked(found, wishes):
        out |= arrays_of(part, threads)
    several = tuple([out[k] for k in range(len(found.targets))])
    return several[0] if len(several) == 1 else several


@dataclass(frozen=True, slots=True)
class _Update:
    """An update that folds whole images: which one of the Func's it is, its domain and
    its operation."""

    stage: int
    domain: Domain
    fold: AssociativeFold


def _folding(found: Asked, function: Function, images: int) -> _Update | None:
    """The update of a Func that is folded chunk by chunk; None if there is none.

    images: how many of the images are the user's; the others are results. Raises
    ScheduleError for one that is not associative.
    """
    asked_for = function in found.outputs
    domains = {k: domain_of(found, d) for k, d in enumerate(function.updates)}
    long = {
        k: d
        for k, d in domains.items()
        if d is not None and (asked_for or max(d.extents, default=0) > _WINDOW)
    }
    if not long or not _reads_most(found, function, images, asked_for):
        return None
    stage = next(iter(long))
    d = function.updates[stage]
    if len(long) > 1:
        raise ScheduleError(
            f"hd.reduce: {function.label!r} has {len(long)} updates over RDoms, and one"
            " of a Func is folded chunk by chunk",
            at=d.site or here(),
            hint="make a Func of each",
        )
    fold = fold_of(function, d.args, d.values)
    if fold is None or _reads_itself(function, d.guard):
        label = f"{function.label}.update({stage})"
        error = not_associative(function, d, f"hd.reduce: {label}")
        error.at = d.site or error.at
        raise error
    return _Update(stage, long[stage], fold)


def _reads_itself(function: Function, guard: Sequence[Expr]) -> bool:
    return any([isinstance(n, FuncCall) and n.func is function for n in nodes(*guard)])


def _reads_most(found: Asked, function: Function, images: int, asked_for: bool) -> bool:
    """Whether one point of a Func needs more than half of an axis of an image."""
    if asked_for:
        return True
    alone = _alone(found, function)
    (prepared,) = prepare_asked(alone, Wishes(shape=(1,) * len(function.args)))
    part = prepared.part
    box = part.grid.box([0] * len(function.args), part.grid.shape)
    regions = part.needs.needed(box)[:images]
    for region, array, order in zip(regions, found.arrays, found.orders, strict=False):
        for (_, n), axis in zip(region, order, strict=True):
            if n > _WINDOW and 2 * n > array.shape[axis]:
                return True
    return False


def _alone(found: Asked, function: Function) -> Asked:
    """A copy of what one Func needs, of which it is the output."""
    made = copied(replace(found, requirements=()), [function])
    as_output(made.outputs[0])
    return _with_outputs(replace(made, name=function.label))


def _with_outputs(found: Asked) -> Asked:
    """Its outputs' axes as they come, the last one the first dimension."""
    orders = found.orders[: len(found.images)]
    own = [tuple(reversed(range(len(b.dims)))) for b in found.targets]
    return replace(found, orders=(*orders, *own), shapes=(None,) * len(own))


def _with_results(
    found: Asked,
    symbols: Sequence[BufferSym],
    arrays: Sequence[da.Array],
    first: dict[ParamSym, int],
) -> Asked:
    """The pipeline with results among its images."""
    count = len(found.images)
    own = [tuple(reversed(range(a.ndim))) for a in arrays]
    return replace(
        found,
        images=(*found.images, *symbols),
        arrays=(*found.arrays, *arrays),
        scalars={**found.scalars, **first},
        orders=(*found.orders[:count], *own, *found.orders[count:]),
    )


def _taken_out(
    found: Asked,
    function: Function,
    update: _Update,
    wishes: Wishes,
    threads: int | None,
    split_every: int,
) -> Asked:
    """The pipeline in which arrays give the result of an update that folds whole
    images."""
    plain = _alone(found, function)
    boxed = fold_box(plain.outputs[0], update.stage)
    numbers = (*update.domain.mins, *update.domain.extents)
    scalars = dict(zip(boxed.params, numbers, strict=True))
    part = _with_outputs(replace(plain, scalars={**scalars, **plain.scalars}))
    symbols, first = fold_result(function, update.stage, update.fold)
    free(found, function)
    region = _region(found, symbols, first, wishes)
    shape = tuple([n for _, n in reversed(region)])
    origin = tuple([lo for lo, _ in reversed(region)])
    (prepared,) = prepare_asked(part, Wishes(shape=shape, origin=origin))
    limit = None if wishes.memory is None else byte_count(wishes.memory)
    arrays = _folded(prepared, function, update, limit, threads, split_every)
    known = {p: lo for p, (lo, _) in zip(first, region, strict=True)}
    return _with_results(found, symbols, arrays, known)


def _region(
    found: Asked,
    symbols: Sequence[BufferSym],
    first: Sequence[ParamSym],
    wishes: Wishes,
) -> Box:
    """The region of a result that the outputs need."""
    rank = len(symbols[0].dims)
    some = [da.zeros((1,) * rank, i.type.to_numpy()) for i in symbols]
    stood = _with_results(found, symbols, some, dict.fromkeys(first, 0))
    regions: list[Box] = []
    for prepared in prepare_asked(stood, replace(wishes, memory=None)):
        grid = prepared.part.grid
        if all(grid.shape):
            box = grid.box([0] * len(grid.shape), grid.shape)
            needed = prepared.part.needs.needed(box)[len(found.images) :]
            regions += [own for own in needed if all([n for _, n in own])]
    if not regions:
        return [(0, 0)] * rank
    least = [min([r[d][0] for r in regions]) for d in range(rank)]
    ends = [max([sum(r[d]) for r in regions]) for d in range(rank)]
    return [(lo, end - lo) for lo, end in zip(least, ends, strict=True)]


def _folded(
    prepared: Prepared,
    function: Function,
    update: _Update,
    limit: int | None,
    threads: int | None,
    split_every: int,
) -> list[da.Array]:
    """What is kept of the whole domain, as arrays."""
    part = prepared.part
    cuts = Cuts(prepared, update.domain, not update.fold.commutative)
    tiles = cuts.tiles(limit or DEFAULT_BYTES, limit)
    needs = [cuts.needs(tile) for tile in tiles]
    value = prepared.compiled(threads)
    merger = _merger(function, update.fold, threads)
    found = part.asked
    token = tokenize(
        value.told(),
        merger.told(),
        [a.name for a in found.arrays],
        part.chunks,
        part.grid.shape,
        part.grid.origin,
        tiles,
        split_every,
    )
    name = f"{wished(found.name)}-{token}"
    code, merge, one, some = [
        f"{what}-{name}" for what in ("compiled", "merger", "fold", "merge")
    ]
    graph: dict[Any, Any] = {code: value, merge: merger}
    blocks = Blocks(found, f"halo-{name}", graph)
    cutters = [Cutter(replace(part, needs=own)) for own in needs]
    for place, box in part.boxes():
        at = part.in_array(place)
        keys: list[Any] = []
        for k, (tile, cutter) in enumerate(zip(tiles, cutters, strict=True)):
            job, pieces = cutter.job(place, box)
            job.numbers = [*[lo for lo, _ in tile], *[n for _, n in tile]]
            shown = ", ".join([f"{lo}:{lo + n}" for lo, n in tile])
            job.label += f", of the points [{shown}] of its RDom"
            key = (name, *at) if len(tiles) == 1 else (one, *at, k)
            graph[key] = (compute, code, job, blocks.of(pieces))
            keys.append(key)
        job = _of_merge(box, len(part.values))
        level = 0
        while len(keys) > 1:
            groups = [
                keys[k : k + split_every] for k in range(0, len(keys), split_every)
            ]
            keys = []
            for k, group in enumerate(groups):
                key = (some, *at, level, k) if len(groups) > 1 else (name, *at)
                graph[key] = (merged, merge, job, group)
                keys.append(key)
            level += 1
    order = part.orders[len(found.arrays)]
    chunks = tuple([part.chunks[order.index(a)] for a in range(len(order))])
    depends: Any = list({a.name: a for a in found.arrays}.values())
    layer = HighLevelGraph.from_collections(name, graph, dependencies=depends)
    return values_of(layer, name, chunks, found.targets)


def _merger(function: Function, fold: AssociativeFold, threads: int | None) -> Compiled:
    """The code that merges two results."""
    made, images = fold_two(function, fold)
    call = Callable([func_of(made)], [Argument._of(i) for i in images])
    own = tuple(reversed(range(len(made.args))))
    types = [t.to_numpy() for t in (*[i.type for i in images], *made.types)]
    return Compiled(call, [], [], [own] * len(types), types, threads, here())


def _of_merge(box: Box, count: int) -> Job:
    """The work of merging two results."""
    whole = tuple([slice(0, n) for _, n in reversed(box)])
    pieces = [[Piece(whole, whole)]] * (2 * count)
    label = "the merge of partial results"
    return Job(label, box, [box] * count, [box] * (2 * count), pieces)


def merged(code: Compiled, job: Job, parts: Sequence[Any]) -> Any:
    """The task that merges results, the first of them with the second, and so on."""
    out = parts[0]
    for part in parts[1:]:
        both: list[Array] = [*_values(out), *_values(part)]
        out = code.run(job, [[a] for a in both])
    return out


def _values(result: Any) -> tuple[Array, ...]:
    return result if isinstance(result, tuple) else (result,)


__all__ = ["merged", "reduce"]
