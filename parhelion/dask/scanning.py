"""`scan` and `iir`: recursive filters along axes that are cut into chunks."""

from __future__ import annotations

import operator
from itertools import groupby, product
from typing import Any

import dask.array as da
import numpy as np
from dask.base import tokenize
from dask.graph_manipulation import clone
from dask.highlevelgraph import HighLevelGraph

from parhelion.dask.applying import apply, check_threads
from parhelion.dask.asked import Params, dask_array
from parhelion.dask.tails import (
    LineFilter,
    Lines,
    carried,
    completed,
    states_left,
)
from parhelion.errors import BoundsError, DefinitionError, TypeMismatchError, here
from parhelion.ir.names import wished
from parhelion.lang.checked import boolean
from parhelion.lang.func import Func
from parhelion.recfilter.filters import check_border_name
from parhelion.recfilter.iir import divided
from parhelion.recfilter.recfilter import RecFilter


def scan(
    filters: RecFilter,
    *arrays: Any,
    params: Params = None,
    chunks: Any = None,
    memory: int | str | None = None,
    threads: int | None = 1,
) -> Any:
    """Returns what a RecFilter makes of dask arrays, as a lazy dask array.

    Each chunk is filtered from zeros on, for the few numbers of each line that it
    leaves to the next one; these are carried along the axis by matrices of the
    coefficients; and each chunk is filtered again, with what comes into it. Chunks
    exchange these numbers and no pixels, so that memory is bounded whatever the length
    of the axis. The arrays are read twice for that, and twice as often for each further
    axis; what is expensive to compute is better stored or `persist`-ed first.

    Integers are those of the RecFilter on the whole image, bit for bit. Floats are
    regrouped: they are the same for any number of workers at one chunking, and differ
    from one run by a few units in the last place of the type that is filtered, times
    the sum of the magnitudes of the impulse response.

    filters: over dimensions of the size of the result; tiles (`split`) are not used.
    arrays, params, memory, threads: as in `apply`, of the value that is filtered.
    chunks: of the result, and of the chunks that are filtered.

    Raises what `apply` raises; TypeMismatchError for what is no RecFilter;
    DefinitionError for a border that is not zero, for coefficients that vary, for
    several values, and for a cascade.

    >>> import dask.array as da
    >>> import parhelion.dask as hd
    >>> from parhelion.recfilter import RecFilter, RecFilterDim
    >>> image = hl.ImageParam(hl.UInt(8), 1)
    >>> x = RecFilterDim("x", 8)
    >>> total = RecFilter("total")
    >>> total[x] = hl.i32(image[x])
    >>> total.add_filter(+x, [1, 1])
    >>> hd.scan(total, da.ones(8, dtype=np.uint8, chunks=3)).compute().tolist()
    [1, 2, 3, 4, 5, 6, 7, 8]
    """
    check_threads(threads)
    if not isinstance(filters, RecFilter):
        raise TypeMismatchError(
            f"hd.scan takes a RecFilter, not {filters!r:.60}",
            at=here(),
            hint="hd.iir filters by SciPy's coefficients; hd.apply computes pipelines",
        )
    name = filters.name()
    t = filters._type()
    if len(filters._values) > 1 or filters._source is not None:
        raise DefinitionError(
            f"hd.scan: RecFilter {name!r} is one of a cascade, or filters several"
            " values; it must filter one, all filters in one RecFilter",
            at=here(),
            hint="call it before cascade, once for each value",
        )
    if filters._border != "zero":
        raise DefinitionError(
            f"hd.scan: RecFilter {name!r} has the border {filters._border!r}; across"
            " chunks it must be 'zero'",
            at=here(),
            hint="dask.array.pad(image, n, mode='edge') by as many pixels as the filter"
            " remembers, and cut them off again",
        )
    for f in filters.filters():
        if not f.is_constant:
            raise DefinitionError(
                f"hd.scan: RecFilter {name!r} has coefficients that vary, and lines are"
                " cut where they are constant",
                at=f.site or here(),
                hint="one chunk along that axis: realize, or hd.apply of as_func()",
            )
    dims = filters._dims
    source = Func(f"{name}_source")
    source[dims] = filters._values[0]
    shape = tuple([d.extent for d in reversed(dims)])
    out = apply(
        source,
        *arrays,
        params=params,
        shape=shape,
        chunks=chunks,
        memory=memory,
        threads=threads,
    )
    dtype = str(t.to_numpy())
    for dim, group in groupby(filters.filters(), lambda f: f.dim):
        own = []
        for f in group:
            forward, back = f.constants()
            own.append(LineFilter(tuple(forward), tuple(back), f.causal))
        lines = Lines(tuple(own), len(dims) - 1 - dim, dtype, dtype, threads)
        out = _along(out, lines, wished(name))
    return out


def iir(
    image: Any,
    b: object,
    a: object,
    axis: int = -1,
    reverse: bool = False,
    border: str = "zero",
    *,
    threads: int | None = 1,
) -> Any:
    """Returns a dask array filtered along an axis, as `hl.iir` does an image in memory.

    Chunks exchange what the filter remembers of each line, as in `scan`; the image is
    read twice. Values are computed in float64 and rounded once, so that they differ
    from those of one run by that rounding.

    image: a dask array of real numbers, or what becomes one. b, a, reverse: as in
    `hl.iir`. axis: NumPy's number. border: "zero", the only one across chunks.
    threads: as in `apply`.

    Raises what `hl.iir` raises, TypeMismatchError for what is no array of real numbers,
    BoundsError for chunks of unknown size, and DefinitionError for another border.

    >>> import dask.array as da
    >>> import parhelion.dask as hd
    >>> hd.iir(da.ones(4, chunks=2), [0.5], [1, -0.5]).compute().tolist()
    [0.5, 0.75, 0.875, 0.9375]
    """
    check_threads(threads)
    check_border_name(border, "hd.iir")
    if border != "zero":
        raise DefinitionError(
            f"hd.iir: across chunks the border is 'zero', not {border!r}",
            at=here(),
            hint="dask.array.pad(image, n, mode='edge') by as many pixels as the filter"
            " remembers, and cut them off again",
        )
    causal = not boolean(reverse, "hd.iir: reverse")
    array = dask_array(image, "image")
    if array.dtype.kind not in "biuf":
        raise TypeMismatchError(
            f"hd.iir filters real numbers, and the array is of {array.dtype}",
            at=here(),
            hint="filter array.real and array.imag",
        )
    if not -array.ndim <= axis < array.ndim:
        raise BoundsError(
            f"hd.iir: an array of {array.ndim} axes has no axis {axis!r}",
            at=here(),
            hint=f"axes are {-array.ndim} to {array.ndim - 1}, in NumPy's order",
        )
    forward, back = divided(b, a, "hd.iir")
    result = "float64" if array.dtype == np.float64 else "float32"
    one = LineFilter(tuple(forward), tuple(back), causal)
    lines = Lines((one,), axis % array.ndim, "float64", result, threads)
    return _along(array, lines, "iir")


def _along(array: da.Array, lines: Lines, what: str) -> da.Array:
    """An array filtered along one axis."""
    axis = lines.axis
    token = tokenize(array.name, lines)
    name = f"{what}-{token}"
    widths = array.chunks[axis]
    graph: dict[Any, Any] = {}
    others = [range(len(c)) for k, c in enumerate(array.chunks) if k != axis]
    # What is read for the states is let go, and read again: chunks would wait in memory
    # for what the last of them leaves behind.
    twice = len(widths) > 1 and any([f.order for f in lines.filters])
    again = clone(array, seed="read again") if twice else array
    for place in product(*others):
        keys = [(*place[:axis], k, *place[axis:]) for k in range(len(widths))]
        states: list[Any] = [None] * len(widths)
        if twice:
            left = []
            for key in keys:
                one = (f"tails-{name}", *key)
                graph[one] = (states_left, lines, (array.name, *key))
                left.append(one)
            line = (f"carry-{name}", *place)
            graph[line] = (carried, lines, left, list(widths))
            for k, key in enumerate(keys):
                states[k] = (f"state-{name}", *key)
                graph[states[k]] = (operator.getitem, line, k)
        for state, key in zip(states, keys, strict=True):
            graph[name, *key] = (completed, lines, (again.name, *key), state)
    depends: Any = list({a.name: a for a in (array, again)}.values())
    layer = HighLevelGraph.from_collections(name, graph, dependencies=depends)
    dtype = np.dtype(lines.result)
    meta = np.empty((0,) * array.ndim, dtype)
    return da.Array(layer, name, array.chunks, dtype=dtype, meta=meta)


__all__ = ["iir", "scan"]
