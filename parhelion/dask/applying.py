"""`apply`: a pipeline as a lazy dask array."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, TypeAlias

import dask.array as da
import numpy as np
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph

from parhelion.dask.asked import Asked, Params
from parhelion.dask.chunks import Chunks
from parhelion.dask.compiled import compute, cut
from parhelion.dask.jobs import Cut, Cutter
from parhelion.dask.preparing import Prepared, Wishes, prepare
from parhelion.errors import ScheduleError, here
from parhelion.ir.names import wished
from parhelion.ir.symbols import BufferSym

#: A shape or an origin; a list has one for each output value.
Numbers: TypeAlias = "tuple[int, ...] | list[tuple[int, ...]] | None"


def apply(
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
) -> Any:
    """Returns what a pipeline computes of dask arrays, as a lazy dask array, or a tuple
    of them for several outputs.

    Each chunk of the result is one task, which is given the pixels that it needs. The
    compiler's bounds inference says which, so that halos and changes of size need not
    be told. Border conditions hold at the edges of the images. The result is that of
    one run on the whole arrays, whatever the chunks are.

    pipeline: a Func, a Pipeline, or a function under `hl.jit`.
    arrays: one for each ImageParam that is not set, in the order in which definitions
        mention them, or one dictionary by their names or the ImageParams; of a
        function, its arguments. ImageParams that are set are read whole by each chunk.
    params: the values of Params by their names (or the Params), and of a function's
        arguments; by default what was set.
    shape: of the result, in NumPy's order of axes; by default that of the first array
        of as many axes, or what the function says. A list has one for each output
        value; so it may for dtype, chunks and origin.
    dtype: the type that the result is to have; another one is an error.
    chunks: of the result, as ``dask.array.from_array`` takes them.
    rechunk: None for chunks that follow from those of the arrays; "auto" for those
        that a model of costs proposes: bytes read and written against the number of
        tasks, within `memory`, for `workers`.
    origin: the coordinates of the result's first element, 0 by default.
    axes: letters of the axes of arrays with that many, outermost first, as of
        `hl.Buffer`; by default the last axis is dimension 0.
    memory: the most bytes that a chunk may read and write, or a text as "4GB".
    workers: for how many "auto" proposes; by default the number of processors.
    threads: the most threads that the run of one chunk uses; None for all.

    Raises TypeMismatchError, BoundsError and UnsetParamError for arguments that do not
    fit, BoundsError for chunks of unknown size, or of more elements than 32-bit indices
    count, and for results that need pixels which an image does not have,
    OutOfMemoryError for chunks beyond `memory`, and ScheduleError for `threads` that
    are no number of threads.

    >>> import dask.array as da
    >>> import parhelion.dask as hd
    >>> image = hl.ImageParam(hl.UInt(8), 1)
    >>> edge, sums = hl.BoundaryConditions.repeat_edge(image), hl.Func()
    >>> sums[x] = edge[x - 1] + edge[x + 1]
    >>> out = hd.apply(sums, da.from_array(np.arange(6, dtype=np.uint8), chunks=2))
    >>> out.chunks, out.compute().tolist()
    (((2, 2, 2),), [1, 2, 4, 6, 8, 9])
    """
    check_threads(threads)
    wishes = Wishes(shape, dtype, chunks, rechunk, origin, memory, workers, axes)
    found, parts = prepare(pipeline, arrays, params, wishes)
    made: dict[int, da.Array] = {}
    for part in parts:
        made |= arrays_of(part, threads)
    out = tuple([made[k] for k in range(len(found.targets))])
    return out[0] if len(out) == 1 else out


def check_threads(threads: object) -> None:
    """Raises ScheduleError for what is no number of threads."""
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise ScheduleError(
            f"threads is the most threads of one chunk, 1 or more, or None for all, not"
            f" {threads!r:.60}",
            at=here(),
        )


def arrays_of(prepared: Prepared, threads: int | None) -> dict[int, da.Array]:
    """The outputs of one part, by their places among all."""
    part = prepared.part
    found = part.asked
    value = prepared.compiled(threads)
    token = tokenize(
        value.told(),
        [a.name for a in found.arrays],
        part.chunks,
        part.grid.shape,
        part.grid.origin,
    )
    # Without the number that makes it unique in this process: a later run is to know
    # its own results again.
    name = f"{wished(found.name)}-{token}"
    code, small = f"compiled-{name}", f"halo-{name}"
    graph: dict[Any, Any] = {code: value}
    cutter = Cutter(part)
    blocks = Blocks(found, small, graph)
    for place, box in part.boxes():
        job, cuts = cutter.job(place, box)
        task = (compute, code, job, blocks.of(cuts))
        graph[name, *part.in_array(place)] = task
    order = part.orders[len(found.arrays)]
    chunks = tuple([part.chunks[order.index(a)] for a in range(len(order))])
    depends: Any = list({a.name: a for a in found.arrays}.values())
    layer = HighLevelGraph.from_collections(name, graph, dependencies=depends)
    targets = [found.targets[v] for v in part.values]
    return dict(zip(part.values, values_of(layer, name, chunks, targets), strict=True))


def values_of(
    layer: HighLevelGraph, name: str, chunks: Chunks, targets: Sequence[BufferSym]
) -> list[da.Array]:
    """The arrays of the values that the tasks of a layer compute: of several, each task
    has a tuple."""
    types = [t.type.to_numpy() for t in targets]
    if len(targets) == 1:
        return [_array(layer, name, chunks, types[0])]
    out: list[da.Array] = []
    layers: Mapping[str, Any] = dict(layer.layers)
    for k, (target, dtype) in enumerate(zip(targets, types, strict=True)):
        own_name = f"{wished(target.func.label)}.{k}-{name}"
        places = product(*[range(len(sizes)) for sizes in chunks])
        taken: dict[Any, Any] = {
            (own_name, *place): (operator.getitem, (name, *place), k)
            for place in places
        }
        several = HighLevelGraph(
            {**layers, own_name: taken}, {**layer.dependencies, own_name: {name}}
        )
        out.append(_array(several, own_name, chunks, dtype))
    return out


class Blocks:
    """The keys of what chunks read. Small parts of blocks are tasks of their own, which
    chunks share.

    small: the name of these tasks. graph: where they are written.
    """

    def __init__(self, found: Asked, small: str, graph: dict[Any, Any]) -> None:
        self._found, self._small, self._graph = found, small, graph
        self._known: dict[Any, Any] = {}

    def of(self, cuts: Sequence[Sequence[Cut]]) -> list[list[Any]]:
        """The keys of the parts of each image."""
        return [[self._key(one) for one in own] for own in cuts]

    def _key(self, one: Cut) -> Any:
        block = (self._found.arrays[one.image].name, *one.block)
        if not one.small:
            return block
        same = block, tuple([(s.start, s.stop) for s in one.piece.taken])
        key = self._known.get(same)
        if key is None:
            key = self._known[same] = (self._small, len(self._known))
            self._graph[key] = (cut, block, one.piece)
        return key


def _array(graph: Any, name: str, chunks: Any, dtype: np.dtype[Any]) -> da.Array:
    meta = np.empty((0,) * len(chunks), dtype)
    return da.Array(graph, name, chunks, dtype=dtype, meta=meta)


__all__ = ["Blocks", "Numbers", "apply", "arrays_of", "check_threads", "values_of"]
