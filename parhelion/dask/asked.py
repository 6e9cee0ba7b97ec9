"""What `hd.apply` is given, sorted: the pipeline, its images and numbers, shapes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import dask.array as da
import numpy as np
from numpy.lib.stride_tricks import as_strided

from parhelion.dataclass import dataclass
from parhelion.errors import (
    BoundsError,
    DefinitionError,
    TypeMismatchError,
    UnsetParamError,
    here,
)
from parhelion.ir.bindings import SET
from parhelion.ir.function import Function
from parhelion.ir.names import by_call
from parhelion.ir.pipeline import Requirement
from parhelion.ir.symbols import COORDINATE_LIMIT, BufferSym, ParamSym
from parhelion.lang.arrays import places_of
from parhelion.lang.buffer import Buffer
from parhelion.lang.func import Func
from parhelion.lang.imageparam import ImageParam
from parhelion.lang.param import Param, checked_value
from parhelion.lang.pipeline import Pipeline, image_params
from parhelion.whole import schedules
from parhelion.whole.core import loop_order
from parhelion.whole.jitted import Jitted
from parhelion.whole.program import Program, places

Params: TypeAlias = "Mapping[Any, Any] | None"


@dataclass(frozen=True, slots=True)
class Asked:
    """A pipeline and what it is applied to.

    name: of the tasks. outputs: the Funcs. images, arrays: the ImageParams and what
    they are. constants: the images that were set, with their Buffers.
    orders: of each image, then of each output value, the axis of the array that each
    dimension is. shapes: of the output values, in NumPy's order; None where it is not
    known yet.
    """

    name: str
    outputs: tuple[Function, ...]
    requirements: tuple[Requirement, ...]
    images: tuple[BufferSym, ...]
    arrays: tuple[da.Array, ...]
    constants: Mapping[BufferSym, Buffer]
    scalars: Mapping[ParamSym, int | float | bool]
    orders: tuple[tuple[int, ...], ...]
    shapes: tuple[tuple[int, ...] | None, ...]

    @property
    def targets(self) -> list[BufferSym]:
        """The output values."""
        return [b for f in self.outputs for b in f.buffers]


def asked(
    what: object, arrays: Sequence[object], params: Params, axes: str | None
) -> Asked:
    """Sorts the arguments of `apply`. Raises TypeMismatchError, BoundsError,
    DefinitionError and UnsetParamError for those that do not fit."""
    if isinstance(what, Jitted):
        return _of_function(what, arrays, params)
    if isinstance(what, Func):
        what = Pipeline([what])
    if not isinstance(what, Pipeline):
        raise TypeMismatchError(
            f"hd.apply takes a Pipeline, a Func or a function under hl.jit, not"
            f" {what!r:.60}",
            at=here(),
        )
    return _of_pipeline(what, arrays, params, axes)


def _of_pipeline(
    pipeline: Pipeline, arrays: Sequence[object], params: Params, axes: str | None
) -> Asked:
    runner = pipeline._ready()
    symbols = image_params(runner.outputs)
    given = _by_image(symbols, arrays)
    constants = {s: SET.of(s) for s in symbols if s not in given}
    known = [*runner.reach.params]
    known += [s for s in runner.reach.others if isinstance(s, ParamSym)]
    scalars = _scalars(known, params)
    images = tuple(given)
    found = tuple(given.values())
    for image, array in given.items():
        _check_type(image, array)
    ranks = [a.ndim for a in found]
    ranks += [len(b.dims) for b in runner.targets]
    orders = [_order(rank, axes) for rank in ranks]
    return Asked(
        runner.name,
        runner.outputs,
        runner.reach.requirements,
        images,
        found,
        constants,
        scalars,
        tuple(orders),
        (None,) * len(runner.targets),
    )


def _order(rank: int, axes: str | None) -> tuple[int, ...]:
    """The axis of the array that each dimension is."""
    if axes is None or len(axes) != rank:
        return tuple(reversed(range(rank)))
    dims = places_of(axes, (0,) * rank)
    return tuple([dims.index(d) for d in range(rank)])


def _by_image(
    symbols: Sequence[BufferSym], arrays: Sequence[object]
) -> dict[BufferSym, da.Array]:
    if len(arrays) == 1 and isinstance(arrays[0], Mapping):
        found: dict[BufferSym, da.Array] = {}
        own = {s.name: s for s in symbols}
        called = {call: own[name] for call, name in by_call(own).items()}
        for key, array in arrays[0].items():
            sym = key._sym if isinstance(key, ImageParam) else called.get(key)
            if sym not in symbols or sym is None:
                raise TypeMismatchError(
                    f"{key!r:.60} is no ImageParam of the pipeline",
                    at=here(),
                    legal=[s.name for s in symbols],
                )
            found[sym] = dask_array(array, sym.name)
        wanted = [s for s in symbols if s not in found]
        missing = [s for s in wanted if SET.of(s) is None]
        if missing:
            raise UnsetParamError(
                f"ImageParam {missing[0].name!r} has no array",
                at=missing[0].site or here(),
                hint="give it one, or set() it to a Buffer that each chunk reads whole",
            )
        return {s: found[s] for s in symbols if s in found}
    free = [s for s in symbols if SET.of(s) is None]
    for taken in (symbols, free):
        if len(taken) == len(arrays):
            return {
                s: dask_array(a, s.name) for s, a in zip(taken, arrays, strict=True)
            }
    names_of = ", ".join([s.name for s in symbols]) or "none"
    raise TypeMismatchError(
        f"the pipeline has {len(symbols)} ImageParams ({names_of}), of which"
        f" {len(free)} are not set; {len(arrays)} arrays are given",
        at=here(),
        hint="give one array for each, in this order, or a dictionary by their names",
    )


def dask_array(given: object, name: str) -> da.Array:
    """A dask array of whatever is one. Raises BoundsError for unknown chunks."""
    array: Any = np.asarray(given) if isinstance(given, Buffer) else given
    if not isinstance(array, da.Array):
        if not (hasattr(array, "shape") and hasattr(array, "dtype")):
            raise TypeMismatchError(
                f"the image {name!r} is a dask array, not {array!r:.60}",
                at=here(),
                hint="dask.array.from_array or from_zarr makes one",
            )
        array = da.from_array(array)
    unknown = [a for a, n in enumerate(array.shape) if math.isnan(n)]
    if unknown:
        sizes = ", ".join([str(len(array.chunks[a])) for a in unknown])
        raise BoundsError(
            f"the sizes of the chunks of {name!r} are not known: axis"
            f" {', '.join(map(str, unknown))} has {sizes} chunks of nan elements",
            at=here(),
            hint="call compute_chunk_sizes() of the array first",
        )
    for a, n in enumerate(array.shape):
        if n > COORDINATE_LIMIT:
            raise BoundsError(
                f"axis {a} of {name!r} has {n} elements, and coordinates are less than"
                f" {COORDINATE_LIMIT}",
                at=here(),
                hint="apply the pipeline to parts of the array",
            )
    found: da.Array = array
    return found


def _check_type(image: BufferSym, array: da.Array) -> None:
    if array.ndim != len(image.dims):
        raise TypeMismatchError(
            f"the image {image.name!r} has {len(image.dims)} dimensions; the array"
            f" given has {array.ndim}, its shape is {array.shape}",
            at=here(),
            hint="index or stack the array, or define the ImageParam with that many; a"
            " dictionary by names says which array is which",
        )
    wanted = image.type.to_numpy()
    if array.dtype != wanted:
        raise TypeMismatchError(
            f"the image {image.name!r} is of type {wanted}; the array given is"
            f" {array.dtype}",
            at=here(),
            hint=f"array.astype({str(wanted)!r}), where no value is lost by it",
        )


def _scalars(
    known: Sequence[ParamSym], params: Params
) -> dict[ParamSym, int | float | bool]:
    given: dict[ParamSym, Any] = {}
    own = {p.name: p for p in known}
    called = {call: own[name] for call, name in by_call(own).items()}
    for key, value in (params or {}).items():
        found = key._sym if isinstance(key, Param) else called.get(key)
        if found is None or found not in known:
            raise TypeMismatchError(
                f"{key!r:.60} is no Param of the pipeline", at=here(), legal=[*own]
            )
        given[found] = checked_value(value, found.type, found.name)
    for p in known:
        if p not in given:
            value = SET.of(p)
            if value is None:
                raise UnsetParamError(
                    f"Param {p.name!r} has no value",
                    at=p.site or here(),
                    hint=f"params={{{p.name!r}: value}}",
                )
            given[p] = value
    return given


# Functions under hl.jit.


def _of_function(
    function: Jitted[Any], arrays: Sequence[object], params: Params
) -> Asked:
    named = dict(params or {})
    if not all([isinstance(name, str) for name in named]):
        raise TypeMismatchError(
            "params of a function under hl.jit are by its arguments' names", at=here()
        )
    stood: dict[int, da.Array] = {}
    values: list[object] = []
    for k, one in enumerate(arrays):
        if isinstance(one, int | float | bool | np.generic):
            values.append(one)
            continue
        array = dask_array(one, f"argument {k}")
        whole = _stand_in(array.shape, array.dtype)
        stood[id(whole)] = array
        values.append(whole)
    program, bound, _, shapes = function._fresh(tuple(values), named)
    _schedule(function, program, bound, stood, shapes)
    pairs = zip(program.inputs, program.orders, bound, strict=True)
    images, found, orders, scalars = [], [], [], {}
    for one, order, value in pairs:
        if isinstance(one, ImageParam):
            stood_for = stood.get(id(value))
            if stood_for is None:
                raise TypeMismatchError(
                    f"the argument {one.name()!r} is an array; give it by its place"
                    " among the arrays and not among params",
                    at=here(),
                )
            images.append(one._sym)
            found.append(stood_for)
            orders.append(tuple(places(order)))
        elif isinstance(one, Param):
            scalars[one._sym] = checked_value(value, one.type(), one.name())
    for check in program.trace.fits:
        check.look({p.var: v for p, v in scalars.items()})
    runner = program.pipeline._ready()
    orders += [tuple(places(loop_order(w.shape))) for w in program.results]
    return Asked(
        getattr(function, "__name__", runner.name).strip("<>"),
        runner.outputs,
        runner.reach.requirements,
        tuple(images),
        tuple(found),
        {},
        scalars,
        tuple(orders),
        tuple(shapes),
    )


def _schedule(
    function: Jitted[Any],
    program: Program,
    bound: Sequence[object],
    stood: Mapping[int, da.Array],
    shapes: Sequence[tuple[int, ...]],
) -> None:
    """Schedules a program for the size of its chunks."""
    arrays = [v for v in bound if isinstance(v, np.ndarray)]
    small = [
        _stand_in([max(c, default=0) for c in stood[id(v)].chunks], v.dtype)
        if id(v) in stood
        else v
        for v in arrays
    ]
    try:
        of_chunk = program.shapes(program.sizes(small))
    except BoundsError:  # arrays that do not fit together chunk by chunk
        small, of_chunk = arrays, list(shapes)
    of_class = 0 if function._schedule else schedules.size_class(small, of_chunk)
    function._give_schedule(program, of_class, small, of_chunk)


def _stand_in(shape: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An array of a shape, dense as far as its strides tell, without the memory: for
    who asks for its layout alone."""
    strides, step = [], dtype.itemsize
    for n in reversed(shape):
        strides.append(step)
        step *= max(int(n), 1)
    one = np.zeros(1, dtype)
    sizes = [int(n) for n in shape]
    return as_strided(one, sizes, list(reversed(strides)), writeable=False)


def check_defined(found: Asked) -> None:
    """Raises DefinitionError for a pipeline that reads no array."""
    if not found.arrays:
        raise DefinitionError(
            f"{found.name!r} reads no image, so there is nothing to apply it to",
            at=here(),
            hint="realize computes it; dask.array.map_blocks takes it in parts",
        )


__all__ = ["Asked", "Params", "asked", "check_defined", "dask_array"]
