"""What `realize` and its kin are told to compute: extents, Buffers or arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from parhelion.errors import TypeMismatchError, here
from parhelion.ir.build import const_int
from parhelion.ir.symbols import BufferSym
from parhelion.lang import arrays
from parhelion.lang.boxes import Box
from parhelion.lang.buffer import Buffer
from parhelion.lang.named_sizes import Sizes, in_order
from parhelion.lang.target_api import Target

Destination = Buffer | np.ndarray


def check_target(where: object, target: object, method: str) -> None:
    """Raises TypeMismatchError for what is no Target, as a second extent."""
    if target is not None and not isinstance(target, Target):
        raise TypeMismatchError(
            f"{method} takes a list of extents and a Target, not {target!r:.60}",
            at=here(),
            hint=f"write {method}([{where}, {target}])"
            if isinstance(where, int) and isinstance(target, int)
            else "",
        )


def destinations(
    where: object, method: str, axes: str | None = None
) -> list[Buffer] | None:
    """The Buffers to compute into; None if `where` is a list of sizes. method: what is
    called, for messages. axes: those of arrays."""
    if isinstance(where, Buffer):
        return [where]
    if isinstance(where, np.ndarray):
        return [Buffer(where, axes=axes)]
    if hasattr(type(where), "__index__"):
        raise TypeMismatchError(
            f"{method} takes a list of extents, not {where!r}",
            at=here(),
            hint=f"write {method}([{where!r}])",
        )
    if not isinstance(where, Iterable):
        raise TypeMismatchError(
            f"{method} takes extents, a Buffer or Buffers, not {where!r:.60}", at=here()
        )
    items = list(where)
    if not items or not any(isinstance(i, Buffer | np.ndarray) for i in items):
        return None
    return [i if isinstance(i, Buffer) else Buffer(i, axes=axes) for i in items]


def boxes_of(
    targets: Sequence[BufferSym],
    sizes: Sizes,
    method: str = "realize",
    axes: str | None = None,
) -> list[Box]:
    """The region to compute of each output: from the promised min (else 0) on. axes:
    those of the array whose shape the sizes are; by default they are extents, dimension
    0 first."""
    boxes: list[Box] = []
    sizes = in_dimensions(sizes, axes)
    for sym in targets:
        name = f"the output of Func {sym.name!r}"
        extents = arrays.check_sizes(in_order(sym.func, sizes, method), name)
        if len(extents) != len(sym.dims):
            wanted = ", ".join([f"extent of {v.name}" for v in sym.func.args])
            raise TypeMismatchError(
                f"Func {sym.name!r} has {len(sym.dims)} dimensions; {method} is given "
                f"{len(extents)} extents",
                at=here(),
                hint=f"give one for each of its Vars: {method}([{wanted}])",
            )
        mins = [
            0 if d.fixed_min is None else const_int(d.fixed_min) or 0 for d in sym.dims
        ]
        boxes.append(list(zip(mins, extents, strict=True)))
    return boxes


def in_dimensions(sizes: Sizes, axes: str | None) -> Sizes:
    """Returns extents, dimension 0 first, where sizes are the shape of an array with
    named axes. Raises TypeMismatchError for axes that do not name its dimensions."""
    if axes is None:
        return sizes
    # Named sizes are in no order, but the axes are to be those of all dimensions.
    named = isinstance(sizes, Mapping)
    shape = tuple(sizes.values() if isinstance(sizes, Mapping) else sizes)
    places = arrays.places_of(axes, shape)
    return sizes if named else [shape[k] for k in np.argsort(places)]


def memory_order(axes: str | None) -> list[int] | None:
    """The dimensions of an array with these axes that is dense, innermost first."""
    if axes is None:
        return None
    return arrays.places_of(axes, (1,) * len(axes))[::-1]


def box_of(buffer: Buffer) -> Box:
    """The region of a Buffer."""
    layout = buffer._layout()
    return list(zip(layout.mins, layout.extents, strict=True))


def cut(buffer: Buffer, box: Box) -> Buffer:
    """`buffer`, cropped to `box` if it is larger."""
    return buffer if box_of(buffer) == box else buffer.cropped(box)


__all__ = [
    "Destination",
    "box_of",
    "boxes_of",
    "check_target",
    "cut",
    "destinations",
    "in_dimensions",
    "memory_order",
]
