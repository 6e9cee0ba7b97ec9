"""Arrays beyond their edges: padding and shifting, by the names of borders.

The names are NumPy's, of `numpy.pad`, and those of `hl.BoundaryConditions`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from parhelion.errors import TypeMismatchError, here
from parhelion.ir import build
from parhelion.ir.build import int32
from parhelion.ir.expr import Expr as Node
from parhelion.lang import boundary
from parhelion.lang.expr import wrap
from parhelion.lang.func import Func
from parhelion.whole.core import Whole, coordinate, define, loop_order, read, tidy
from parhelion.whole.elementwise import convert

#: By each name of a border, the function of `hl.BoundaryConditions`.
BORDERS = {
    "edge": "repeat_edge",
    "wrap": "repeat_image",
    "symmetric": "mirror_image",
    "reflect": "mirror_interior",
    "constant": "constant_exterior",
}
BORDERS |= {name: name for name in BORDERS.values()}


def pad(
    whole: Whole, widths: Mapping[int, tuple[int, int]], border: str, value: Whole
) -> Whole:
    """An array with more elements on both sides. widths: by places in the shape.

    Raises TypeMismatchError for a border that there is not, and negative widths.
    """
    if any([n < 0 for pair in widths.values() for n in pair]):
        raise TypeMismatchError(
            f"an array is padded by widths that are not negative, not {widths}",
            at=here(),
            hint="array[1:-1] makes it smaller",
        )
    widths = {a: pair for a, pair in widths.items() if pair != (0, 0)}
    start = {a: -before for a, (before, _) in widths.items()}
    found = _read(whole, start, border, value)
    shape = list(whole.shape)
    for a, (before, after) in widths.items():
        shape[a] = tidy(build.add(shape[a], int32(before + after)))
    return replace(found, shape=tuple(shape))


def shift(whole: Whole, by: Mapping[int, int], border: str, value: Whole) -> Whole:
    """An array whose elements are moved along some axes, by their places in the shape:
    element ``i`` comes from ``i - by``."""
    return _read(whole, {a: -n for a, n in by.items() if n}, border, value)


def _read(whole: Whole, start: Mapping[int, int], border: str, value: Whole) -> Whole:
    """The array at other coordinates, some of them outside."""
    condition = BORDERS.get(border) if isinstance(border, str) else None
    if condition is None:
        raise TypeMismatchError(
            f"there is no border {border!r}", at=here(), legal=sorted(BORDERS)
        )
    if not start:
        return replace(whole, weak=False)
    axes = sorted([whole.rank - 1 - a for a in start])
    fill = convert(value, whole.type)
    f = bordered(whole, tuple(axes), condition, fill)
    to: dict[int, Node] = {
        whole.rank - 1 - a: build.add(coordinate(whole.rank - 1 - a), int32(n))
        for a, n in start.items()
    }
    return Whole(read(f, whole.shape, to), whole.shape, whole.names, whole.trace)


def bordered(whole: Whole, axes: Sequence[int], condition: str, fill: Node) -> Func:
    """The Func of an array with a border on some axes, made once."""
    key = (tuple(axes), condition, fill if condition == "constant_exterior" else None)
    found = whole.bordered.get(key)
    if found is None:
        if whole.func is None:
            whole.func = define(whole, "image")
            whole.value = read(whole.func, whole.shape)
        bounds = [
            (wrap(int32(0)), wrap(whole.extent(p))) if p in axes else None
            for p in loop_order(whole.shape)
        ]
        if condition == "constant_exterior":
            found = boundary.constant_exterior(whole.func, wrap(fill), bounds)
        else:
            found = getattr(boundary, condition)(whole.func, bounds)
        whole.bordered[key] = found
    assert isinstance(found, Func)
    return found


__all__ = ["BORDERS", "bordered", "pad", "shift"]
