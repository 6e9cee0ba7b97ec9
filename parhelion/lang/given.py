"""Checks of what a call is given: images, outputs and numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parhelion.errors import InvalidBufferError, TypeMismatchError, here
from parhelion.ir.bindings import Bindings
from parhelion.ir.names import shown_names
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.lang.buffer import Buffer
from parhelion.runtime.layout import Array, Layout, overlap
from parhelion.types import round_float

Number = int | float | bool


def check_image(sym: BufferSym, buffer: Buffer, name: str = "") -> Layout:
    """The layout of an input image; raises if it does not fit its symbol. name: what
    the image is called instead."""
    layout, name = buffer._layout(), name or sym.name
    if layout.type is not sym.type:
        raise TypeMismatchError(
            f"image {name!r} is of type {sym.type}; the buffer given is {layout.type}",
            at=here(),
        )
    if len(layout.extents) != len(sym.dims):
        raise TypeMismatchError(
            f"image {name!r} has {len(sym.dims)} dimensions; the buffer given has "
            f"{len(layout.extents)}",
            at=here(),
        )
    check_alignment(sym, layout, name)
    return layout


def check_output(sym: BufferSym, buffer: Buffer, name: str = "") -> Layout:
    """The layout of a destination; raises if the Func cannot be computed into it. name:
    what the output is called instead."""
    layout, name = buffer._layout(), name or sym.name
    what = f"the buffer for the output of Func {name!r}"
    if layout.type is not sym.type:
        raise TypeMismatchError(
            f"{what} is of type {layout.type}; its values are {sym.type}",
            at=here(),
            hint="make it of that type: np.empty(shape, "
            f"np.{sym.type.to_numpy().name})",
        )
    if len(layout.extents) != len(sym.dims):
        raise TypeMismatchError(
            f"{what} has {len(layout.extents)} dimensions; the Func has "
            f"{len(sym.dims)}",
            at=here(),
        )
    if not layout.writeable:
        raise InvalidBufferError(f"{what} shares a read-only array", at=here())
    for d, (e, s) in enumerate(zip(layout.extents, layout.strides, strict=True)):
        if s == 0 and e > 1 and 0 not in layout.extents:
            raise InvalidBufferError(
                f"{what} is broadcast in dimension {d} (its stride is 0): several "
                "pixels would share one place",
                at=here(),
            )
    if not layout.pixels_apart():
        raise InvalidBufferError(
            f"{what} overlaps itself: with the strides {layout.strides} and the extents"
            f" {layout.extents} several pixels share one place",
            at=here(),
            hint="compute into an array of its own, and copy what is wanted of it",
        )
    check_alignment(sym, layout, name)
    return layout


def check_empty(syms: Sequence[BufferSym], layouts: Sequence[Layout]) -> None:
    """Raises InvalidBufferError if some of the destinations have pixels and others have
    none: what a schedule rounds up, or shifts inwards, has no place in the latter."""
    empty = [s for s, one in zip(syms, layouts, strict=True) if 0 in one.extents]
    full = [s for s in syms if s not in empty]
    if empty and full:
        raise InvalidBufferError(
            f"the buffer for {empty[0].name!r} has no pixels, that for"
            f" {full[0].name!r} has: outputs of one pipeline are computed together",
            at=here(),
            hint="realize the Funcs whose buffers have pixels by themselves",
        )


def check_apart(
    syms: Sequence[BufferSym], given: Sequence[Buffer], layouts: Sequence[Layout]
) -> None:
    """Raises InvalidBufferError if two of the destinations share a pixel. Those that
    lie in one another's gaps, as the channels of a photograph do, share none."""
    for k, one in enumerate(layouts):
        for j, other in enumerate(layouts[:k]):
            if overlap(one, other) and _share(given[j]._grid(), given[k]._grid()):
                names = shown_names([syms[j].name, syms[k].name])
                first, second = [names[syms[n].name] for n in (j, k)]
                raise InvalidBufferError(
                    f"the buffers for {first!r} and {second!r} share pixels: what is"
                    " computed for one would be written over",
                    at=here(),
                    hint="give each output an array of its own",
                )


def _share(one: Array, other: Array) -> bool:
    """Returns whether two arrays share memory, as far as that is found quickly."""
    try:
        # The types know of no number other than 0 and -1; NumPy's manual does.
        return bool(np.shares_memory(one, other, max_work=_MOST_WORK))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return False


#: Candidates that NumPy tries to find a byte which two arrays share.
_MOST_WORK = 1 << 16


def check_alignment(sym: BufferSym, layout: Layout, name: str = "") -> None:
    """Raises InvalidBufferError if a promise of `set_host_alignment` does not hold."""
    if sym.host_alignment and layout.host % sym.host_alignment:
        raise InvalidBufferError(
            f"the first pixel of {name or sym.name!r} must lie on a multiple of "
            f"{sym.host_alignment} bytes; it lies at {layout.host:#x}",
            at=here(),
        )


def exact(sym: ParamSym, value: Number) -> Number:
    """Returns the value that compiled code has for a Param: rounded to its type."""
    return round_float(value, sym.type) if sym.type.is_float() else value


def value_of(sym: BufferSym | ParamSym, bindings: Bindings) -> object:
    """Returns what regions can depend on: a Param's value, or an image's mins and
    extents.

    It is None for what is not set.
    """
    if isinstance(sym, ParamSym):
        return bindings.of(sym)
    given = bindings.of(sym)
    if not isinstance(given, Buffer) or not given.defined():
        return None
    dims = [given.dim(d) for d in range(given.dimensions())]
    return tuple([(d.min(), d.extent()) for d in dims])


__all__ = [
    "Number",
    "check_alignment",
    "check_apart",
    "check_empty",
    "check_image",
    "check_output",
    "exact",
    "value_of",
]
