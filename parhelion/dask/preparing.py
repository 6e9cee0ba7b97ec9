"""From what `hd.apply` is given to parts whose chunks are known: nothing is run."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from dask.utils import parse_bytes

from parhelion.dask.asked import Asked, Params, asked, check_defined
from parhelion.dask.chunks import (
    DEFAULT_BYTES,
    Chunks,
    Grid,
    chunk_bytes,
    following,
    given_chunks,
    proposed,
    whole_axes,
)
from parhelion.dask.compiled import Compiled
from parhelion.dask.jobs import Part
from parhelion.dask.needs import Needs
from parhelion.dask.sized import Sized, sized
from parhelion.dataclass import dataclass
from parhelion.errors import (
    BoundsError,
    OutOfMemoryError,
    TypeMismatchError,
    here,
)
from parhelion.ir.symbols import COORDINATE_LIMIT, BufferSym, ParamSym
from parhelion.lang.boxes import Box
from parhelion.lang.callable import Argument, Callable
from parhelion.lang.runner import Runner

#: The most elements of a chunk: compiled code counts them with 32 bits.
_MOST_ELEMENTS = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Wishes:
    """The options of `apply`, as they are given."""

    shape: Any = None
    dtype: Any = None
    chunks: Any = None
    rechunk: str | None = None
    origin: Any = None
    memory: int | str | None = None
    workers: int | None = None
    axes: str | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A part, and the code that its chunks are computed by."""

    part: Part
    copy: Sized
    scalars: tuple[int | float | bool, ...]
    constants: tuple[np.ndarray[Any, np.dtype[Any]], ...]
    memory: int | None

    def compiled(self, threads: int | None) -> Compiled:
        """The value for workers."""
        found = self.part.asked
        names = [s.name for s in found.images] + [p.name for p in found.scalars]
        names += [p.name for image in self.copy.sizes for pair in image for p in pair]
        names += [s.name for s in found.constants]
        names += [found.targets[v].name for v in self.part.values]
        arguments = [Argument._of(s) for s in self.copy.listed]
        call = Callable(
            self.copy.funcs, arguments, names=names, requirements=self.copy.requirements
        )
        types = [a.dtype for a in found.arrays]
        types += [found.targets[v].type.to_numpy() for v in self.part.values]
        orders = self.part.orders
        return Compiled(
            call, self.scalars, self.constants, orders, types, threads, here()
        )


def prepare(
    what: object, arrays: Sequence[object], params: Params, wishes: Wishes
) -> tuple[Asked, list[Prepared]]:
    """Returns what is asked for, and its outputs by shape and chunks, in parts. Raises
    what `apply` raises."""
    found = asked(what, arrays, params, wishes.axes)
    check_defined(found)
    return found, prepare_asked(found, wishes)


def prepare_asked(found: Asked, wishes: Wishes) -> list[Prepared]:
    """Returns the outputs by shape and chunks, in parts. Raises what `apply` raises."""
    count = len(found.targets)
    shapes = [_shape(found, k, one) for k, one in enumerate(_each(wishes.shape, count))]
    _check_types(found, _each(wishes.dtype, count))
    origins = [
        _origin(one, shape)
        for one, shape in zip(_each(wishes.origin, count), shapes, strict=True)
    ]
    chunks = _each(wishes.chunks, count)
    if wishes.rechunk not in (None, "auto"):
        raise TypeMismatchError(
            f"rechunk is 'auto' or None, not {wishes.rechunk!r:.60}",
            at=here(),
            hint="chunks= gives the sizes of chunks",
        )
    # Values of one Func are computed together, and Funcs of one shape are.
    groups: dict[object, list[int]] = {}
    for k in range(count):
        order = found.orders[len(found.images) + k]
        same: object = (shapes[k], origins[k], repr(chunks[k]), order)
        groups.setdefault(same, []).append(k)
    for f in found.outputs:
        places = {
            g for g, ks in groups.items() for k in ks if found.targets[k].func is f
        }
        if len(places) > 1:
            raise TypeMismatchError(
                f"the values of Func {f.name!r} have one shape, one origin and the"
                " same chunks",
                at=f.site or here(),
            )
    made = []
    for ks in groups.values():
        made.append(
            _prepared(found, ks, shapes[ks[0]], origins[ks[0]], chunks[ks[0]], wishes)
        )
    return made


def _each(given: Any, count: int) -> list[Any]:
    """What is given for each output: a list has one for each."""
    if not isinstance(given, list):
        return [given] * count
    if len(given) != count:
        raise TypeMismatchError(
            f"the pipeline has {count} output values, and {given!r:.80} is a list of"
            f" {len(given)}",
            at=here(),
            hint="a list has one item for each output value; a tuple is for all",
        )
    return given


def _shape(found: Asked, k: int, given: Any) -> tuple[int, ...]:
    """The shape of an output value, in NumPy's order."""
    target, known = found.targets[k], found.shapes[k]
    rank = len(target.dims)
    if given is None:
        if known is not None:
            return known
        if not rank:
            return ()
        for array in found.arrays:
            if array.ndim == rank:
                return tuple([int(n) for n in array.shape])
        raise BoundsError(
            f"the output {target.name!r} has {rank} dimensions, and no array given has"
            " as many, so that its shape is not known",
            at=here(),
            hint="shape=(…), in NumPy's order of axes",
        )
    try:
        shape = tuple([int(n.__index__()) for n in given])
    except (AttributeError, TypeError):
        raise TypeMismatchError(
            f"a shape is a tuple of integers, not {given!r:.60}", at=here()
        ) from None
    if len(shape) != rank:
        raise BoundsError(
            f"the output {target.name!r} has {rank} dimensions, and the shape {shape}"
            f" has {len(shape)}",
            at=here(),
        )
    for n in shape:
        if not 0 <= n <= COORDINATE_LIMIT:
            raise BoundsError(
                f"the shape {shape} of {target.name!r}: an axis has 0 to"
                f" {COORDINATE_LIMIT} elements",
                at=here(),
            )
    if known is not None and shape != known:
        raise BoundsError(
            f"{found.name} returns the shape {known} for these arrays, and shape= is"
            f" {shape}",
            at=here(),
            hint="leave shape= out",
        )
    return shape


def _check_types(found: Asked, dtypes: Sequence[Any]) -> None:
    for target, given in zip(found.targets, dtypes, strict=True):
        own = target.type.to_numpy()
        if given is not None and np.dtype(given) != own:
            raise TypeMismatchError(
                f"the output {target.name!r} is of type {own}, and dtype= is"
                f" {np.dtype(given)}",
                at=here(),
                hint="cast in the pipeline (hl.cast), or the result with astype",
            )


def _origin(given: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    if given is None:
        return (0,) * len(shape)
    origin = tuple([int(n) for n in given])
    if len(origin) != len(shape):
        raise BoundsError(
            f"origin={origin} has {len(origin)} coordinates, and the output's shape is"
            f" {shape}",
            at=here(),
        )
    return origin


def _prepared(
    found: Asked,
    values: Sequence[int],
    shape: tuple[int, ...],
    origin: tuple[int, ...],
    chunks: Any,
    wishes: Wishes,
) -> Prepared:
    targets = [found.targets[v] for v in values]
    outputs = list(dict.fromkeys([t.func for t in targets]))
    copy = sized(
        outputs,
        found.requirements,
        found.images,
        list(found.scalars),
        list(found.constants),
    )
    scalars: list[int | float | bool] = list(found.scalars.values())
    orders = [*found.orders[: len(found.images)]]
    for array, order in zip(found.arrays, orders, strict=True):
        for axis in order:
            scalars += [0, int(array.shape[axis])]
    orders += [found.orders[len(found.images) + v] for v in values]
    symbols = [s for s in copy.listed if isinstance(s, ParamSym)]
    known: dict[BufferSym | ParamSym, Any] = dict(zip(symbols, scalars, strict=True))
    known |= dict(zip(copy.constants, found.constants.values(), strict=True))
    functions = [f._function for f in copy.funcs]
    needs = Needs(copy, Runner(functions, found.name, copy.requirements), known)
    order = orders[len(found.images)]
    itemsize = sum([t.type.to_numpy().itemsize for t in targets])
    grid = Grid(
        tuple([shape[a] for a in order]), tuple([origin[a] for a in order]), itemsize
    )
    most = None if wishes.memory is None else byte_count(wishes.memory)
    workers = wishes.workers or os.cpu_count() or 1
    images = [
        (_turned(array.chunks, own), array.dtype.itemsize)
        for array, own in zip(found.arrays, orders, strict=False)
    ]
    _check_promises(found, copy, orders)
    if chunks is not None:
        dtype = targets[0].type.to_numpy()
        own = given_chunks(chunks, shape, dtype, targets[0].name)
        made = _turned(own, order)
        _check_whole(needs, grid, made, targets[0].name, order)
    elif wishes.rechunk == "auto":
        made = proposed(needs, grid, images, most or DEFAULT_BYTES, workers)
    else:
        made = following(needs, grid, [c for c, _ in images])
    part = Part(found, tuple(values), needs, grid, made, tuple(orders))
    prepared = Prepared(
        part,
        copy,
        tuple(scalars),
        tuple([np.asarray(b) for b in found.constants.values()]),
        most,
    )
    _check_sizes(prepared, [i for _, i in images])
    return prepared


def _turned(chunks: Chunks, order: Sequence[int]) -> Chunks:
    return tuple([chunks[a] for a in order])


def byte_count(given: int | str) -> int:
    """The bytes of a memory limit. Raises TypeMismatchError for what is none."""
    try:
        return int(parse_bytes(given))
    except ValueError:
        raise TypeMismatchError(
            f"memory is a number of bytes or a text as '4GB', not {given!r:.60}",
            at=here(),
        ) from None


def _check_promises(found: Asked, copy: Sized, orders: Sequence[Sequence[int]]) -> None:
    """Raises BoundsError where an image has not the region that is promised of it and
    kept. What is not kept is looked at in the user's ImageParam."""
    from parhelion.ir.build import const_int

    for image, array, order in zip(found.images, found.arrays, orders, strict=False):
        for d, dim in enumerate(image.dims):
            for what, promise, own in (
                ("min", dim.fixed_min, 0),
                ("extent", dim.fixed_extent, int(array.shape[order[d]])),
            ):
                number = None if promise is None else const_int(promise)
                if number is not None and number != own:
                    raise BoundsError(
                        f"the {what} of dimension {d} of {image.name!r} is promised to"
                        f" be {number}, and that of the array given is {own}",
                        at=image.site or here(),
                    )


def _check_whole(
    needs: Needs, grid: Grid, chunks: Chunks, name: str, order: Sequence[int]
) -> None:
    for d, (keep, sizes) in enumerate(
        zip(whole_axes(needs, grid), chunks, strict=True)
    ):
        if keep and len(sizes) > 1:
            raise BoundsError(
                f"axis {order[d]} of {name!r} has {len(sizes)} chunks, {sizes}, and the"
                f" schedule counts on all {grid.shape[d]} elements of it",
                at=here(),
                hint="give that axis one chunk, or take the promise (bound, set_bounds)"
                " back",
            )


def _check_sizes(prepared: Prepared, itemsizes: Sequence[int]) -> None:
    """Raises for chunks that are too large for indices, or for the memory limit."""
    part = prepared.part
    name = part.asked.targets[part.values[0]].name
    largest = [max(c, default=0) for c in part.chunks]
    count = math.prod(largest)
    order = part.orders[len(part.asked.arrays)]
    shown = tuple([largest[order.index(a)] for a in range(len(order))])
    if count > _MOST_ELEMENTS:
        raise BoundsError(
            f"the largest chunk of {name!r} is {shown}, which is {count} elements; code"
            f" counts at most {_MOST_ELEMENTS} of them in a chunk",
            at=here(),
            hint="give smaller chunks=, or rechunk='auto'",
        )
    if prepared.memory is None or not count:
        return
    read, written, box = largest_chunk(part, itemsizes)
    if read + written <= prepared.memory:
        return
    whole = [
        f"axis {part.orders[k][d]} of {image.name}"
        for k, image in enumerate(part.asked.images)
        for d in range(len(image.dims))
        if needs_all(part, k, d, box) and part.needs.copy.whole[k][d] is None
    ]
    detail = ""
    if whole:
        detail = f"each chunk needs all of {', '.join(whole)}, however small it is"
    raise OutOfMemoryError(
        f"a chunk {shown} of {name!r} reads {read} bytes, with its halo, and writes"
        f" {written}: {read + written} bytes are more than memory={prepared.memory}",
        at=here(),
        detail=detail,
        hint="give smaller chunks=, or rechunk='auto', which found none that is"
        " smaller if it was given; or more memory=",
    )


def needs_all(part: Part, image: int, d: int, box: Box) -> bool:
    """Whether one element of the output needs all of a dimension of an image, as what
    reads at places that pixels tell, or all pixels. box: a chunk, the first element of
    which is asked for."""
    axis = part.orders[image][d]
    extent = int(part.asked.arrays[image].shape[axis])
    found = part.needs.needed([(lo, 1) for lo, _ in box])[image][d]
    return extent > 1 and found == (0, extent)


def largest_chunk(part: Part, itemsizes: Sequence[int]) -> tuple[int, int, Box]:
    """The bytes that a largest chunk reads and writes, and its region. It is one away
    from the edges, if there is one, where halos are cut off."""
    first, size = [], []
    for sizes in part.chunks:
        most = max(sizes)
        found = [k for k, s in enumerate(sizes) if s == most]
        k = found[len(found) // 2]
        first.append(sum(sizes[:k]))
        size.append(most)
    box = part.grid.box(first, size)
    read, written = chunk_bytes(part.needs, part.grid, itemsizes, box)
    return read, written, box


__all__ = [
    "Prepared",
    "Wishes",
    "byte_count",
    "largest_chunk",
    "needs_all",
    "prepare",
    "prepare_asked",
]
