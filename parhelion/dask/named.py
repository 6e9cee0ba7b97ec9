"""`apply_named`: pipelines on xarray's arrays, whose dimensions have names."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, TypeAlias

import dask.array as da

from parhelion.dask.applying import apply
from parhelion.errors import BoundsError, TypeMismatchError, here

Names: TypeAlias = tuple[str, ...]


def apply_named(
    pipeline: object,
    *arrays: Any,
    dims: Sequence[str] | list[Names],
    out_dims: Sequence[str] | None = None,
    **options: Any,
) -> Any:
    """Returns what a pipeline computes of xarray's DataArrays, as a lazy DataArray, or
    a tuple of them for several outputs: `apply` by names of dimensions, as
    ``xarray.apply_ufunc`` calls functions.

    dims: the names of the dimensions that the pipeline sees, the last one its dimension
    0; a list has one tuple for each array. All others are looped over, as frames of
    time: the pipeline is applied to each of their indices, and arrays without them are
    the same for all. out_dims: those of the result; the first array's by default.
    options: as of `apply`.

    The result has the looped dimensions first, the first array's name, and the
    coordinates along dimensions whose size stays. Raises what `apply` raises,
    TypeMismatchError for what is no DataArray and for dimensions that are not there,
    and BoundsError for looped dimensions of several sizes. It needs the extra
    ``xarray``.
    """
    import xarray

    for array in arrays:
        if not isinstance(array, xarray.DataArray):
            raise TypeMismatchError(
                f"hd.apply_named takes xarray's DataArrays, not {array!r:.60}",
                at=here(),
                hint="hd.apply takes dask arrays",
            )
    core = [tuple(d) for d in dims] if isinstance(dims, list) else []
    core = core or [tuple(dims)] * len(arrays)
    if len(core) != len(arrays):
        raise TypeMismatchError(
            f"dims has names for {len(core)} arrays, and {len(arrays)} are given",
            at=here(),
        )
    looped: dict[str, int] = {}
    for array, own in zip(arrays, core, strict=True):
        missing = [n for n in own if n not in array.dims]
        if missing:
            raise TypeMismatchError(
                f"the array has no dimension {missing[0]!r}",
                at=here(),
                legal=[str(d) for d in array.dims],
            )
        for name in array.dims:
            size = int(array.sizes[name])
            if name not in own and looped.setdefault(str(name), size) != size:
                raise BoundsError(
                    f"the looped dimension {name!r} is of {looped[str(name)]} elements"
                    f" in one array and of {size} in another",
                    at=here(),
                    hint="xarray.align makes them of one size",
                )
    names = tuple(core[0] if out_dims is None else out_dims)
    results: list[tuple[da.Array, ...]] = []
    for at in product(*[range(n) for n in looped.values()]):
        index = dict(zip(looped, at, strict=True))
        parts = []
        for array, own in zip(arrays, core, strict=True):
            some = {n: k for n, k in index.items() if n in array.dims}
            parts.append(array.isel(some).transpose(*own).data)
        made = apply(pipeline, *parts, **options)
        results.append(made if isinstance(made, tuple) else (made,))
    if not results:
        raise BoundsError(
            f"a looped dimension is empty: {looped}", at=here(), hint="give one frame"
        )
    sizes = tuple(looped.values())
    out = []
    for k, one in enumerate(results[0]):
        if one.ndim != len(names):
            raise TypeMismatchError(
                f"the result has {one.ndim} dimensions, and out_dims names {names}",
                at=here(),
                hint="out_dims=(…), the last one the Func's dimension 0",
            )
        whole = da.stack([r[k] for r in results]) if looped else one
        if len(sizes) > 1:
            whole = whole.reshape(*sizes, *one.shape)
        kept = {
            name: arrays[0].coords[name]
            for name, n in zip((*looped, *names), whole.shape, strict=True)
            if name in arrays[0].coords and arrays[0].sizes.get(name) == n
        }
        out.append(
            xarray.DataArray(
                whole, dims=(*looped, *names), coords=kept, name=arrays[0].name
            )
        )
    return out[0] if len(out) == 1 else tuple(out)


__all__ = ["apply_named"]
