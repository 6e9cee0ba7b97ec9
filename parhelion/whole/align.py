"""Which axes of arrays that stand together are one: NumPy's broadcasting, with names.

Where all axes of both have names, axes of one name are one, wherever they stand, and
an axis that only one of them has is an axis of the result. Else axes are counted from
the last, as NumPy counts them; an axis without a name is what the other's is, and two
that have names have the same one. Along each axis the extents are the same, or one of
them is 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from parhelion.errors import TypeMismatchError, here
from parhelion.ir.build import const_int, int32
from parhelion.ir.expr import Expr as Node
from parhelion.whole.core import Whole, common_trace, coordinate, moved
from parhelion.whole.trace import SameExtent, Trace, shape_of

Names = tuple[str | None, ...]


def together(wholes: Sequence[Whole]) -> list[Whole]:
    """The arrays with all axes of the result each, and its shape.

    Raises TypeMismatchError for axes that do not fit, BoundsError for extents.
    """
    trace = common_trace(wholes)
    if all([w.rank == 0 for w in wholes]):
        return [w if w.trace is trace else replace(w, trace=trace) for w in wholes]
    names: Names = ()
    for w in wholes:
        names = _joined(names, w.names)
    by_name = [_by_name(w.names, names) for w in wholes]
    shape = _shape(wholes, by_name, len(names), trace)
    return [
        _spread(w, p, names, shape, trace) for w, p in zip(wholes, by_name, strict=True)
    ]


def shown(names: Names) -> str:
    """Names of axes for messages: ``'y', 'x', unnamed``."""
    return ", ".join(["unnamed" if n is None else repr(n) for n in names]) or "none"


def _joined(one: Names, other: Names) -> Names:
    """The axes of two arrays together."""
    if not one or not other:
        return one or other
    if None not in one and None not in other:
        if set(one) <= set(other):
            return other
        return (*one, *[n for n in other if n not in one])
    long, short = (one, other) if len(one) >= len(other) else (other, one)
    found = list(long)
    for k, n in enumerate(reversed(short), 1):
        if n is None:
            continue
        if found[-k] is None:
            found[-k] = n
        elif found[-k] != n:
            raise TypeMismatchError(
                f"arrays with the axes {shown(one)} and {shown(other)} do not fit"
                f" together: counted from the last, {n!r} would be {found[-k]!r}",
                at=here(),
                hint="transpose one of them, or name all axes of both",
            )
    named = [n for n in found if n is not None]
    return tuple([None if n is None or named.count(n) > 1 else n for n in found])


def _by_name(own: Names, names: Names) -> list[int]:
    """The axis of the result that each axis of an array is, both counted from the
    last and listed from axis 0 on."""
    if own and None not in own and None not in names:
        return [len(names) - 1 - names.index(n) for n in reversed(own)]
    return list(range(len(own)))


def _shape(
    wholes: Sequence[Whole], places: list[list[int]], rank: int, trace: Trace | None
) -> list[Node]:
    """The extents of the result, counted from the last axis."""
    found: list[tuple[Whole, int] | None] = [None] * rank
    for w, where in zip(wholes, places, strict=True):
        for p, q in enumerate(where):
            extent = w.extent(p)
            before = found[q]
            if before is None or const_int(before[0].extent(before[1])) == 1:
                found[q] = (w, p)
                continue
            other = before[0].extent(before[1])
            if const_int(extent) == 1 or extent is other:
                continue
            axes = (before[0].rank - 1 - before[1], w.rank - 1 - p)
            check = SameExtent(before[0].shape, w.shape, axes, here())
            if trace is None:
                check.look({})
            else:
                trace.check(check)
            if const_int(extent) is not None:
                found[q] = (w, p)
    return [int32(1) if one is None else one[0].extent(one[1]) for one in found]


def _spread(
    w: Whole, where: list[int], names: Names, shape: list[Node], trace: Trace | None
) -> Whole:
    """An array with all axes of the result."""
    to: dict[int, Node] = {}
    for p, q in enumerate(where):
        if const_int(w.extent(p)) == 1 and const_int(shape[q]) != 1:
            to[p] = int32(0)
        elif p != q:
            to[p] = coordinate(q)
    if not to and w.rank == len(names) and w.trace is trace and w.names == names:
        return w
    value = moved(w.value, to) if to else w.value
    return Whole(value, tuple(reversed(shape)), names, trace, w.weak)


def broadcast(w: Whole, names: Names, shape: Sequence[Node]) -> Whole:
    """An array spread over the axes of another one."""
    whole_shape = Whole(int32(0), tuple(shape), names, w.trace)
    found = together([w, whole_shape])[0]
    if found.rank != len(shape):
        raise TypeMismatchError(
            f"an array of the shape {shape_of(w.shape, {})} does not fit one of"
            f" {shape_of(tuple(shape), {})}",
            at=here(),
        )
    return found


__all__ = ["Names", "broadcast", "shown", "together"]
