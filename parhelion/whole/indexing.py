"""``array[1:-1, ::2]``: numbers, slices with steps, None and … as NumPy takes them."""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.analysis.rank import reads_data
from parhelion.dataclass import dataclass
from parhelion.errors import TypeMismatchError, here
from parhelion.ir import build
from parhelion.ir.build import const_int, int32
from parhelion.ir.expr import Expr as Node
from parhelion.ir.rewrite import free_vars
from parhelion.ir.text import text
from parhelion.lang.checked import a_kind, integer
from parhelion.lang.expr import Arithmetic
from parhelion.types import INT32
from parhelion.whole.core import Whole, computed, coordinate, moved, tidy
from parhelion.whole.trace import Inside, shape_of


@dataclass(frozen=True, slots=True)
class _Taken:
    """One axis of the result. source: the axis of the array, by its place in the shape;
    None for a new one. start, step: of its coordinate."""

    source: int | None
    start: Node
    step: int
    extent: Node


def take(whole: Whole, key: object) -> Whole:
    """The part of an array that an index means.

    Raises TypeMismatchError for what is no index of an array in a function that is
    traced, and BoundsError for a number outside of an axis of known extent.
    """
    items = listed(key, whole)
    fixed: dict[int, Node] = {}
    taken: list[_Taken] = []
    source = 0
    for item in items:
        if item is None:
            taken.append(_Taken(None, int32(0), 1, int32(1)))
            continue
        extent = whole.shape[source]
        if isinstance(item, slice):
            taken.append(_Taken(source, *_sliced(item, extent)))
        else:
            fixed[source] = _place(extents(item, "an index"), extent, whole)
        source += 1
    if fixed or any([t.step != 1 or const_int(t.start) != 0 for t in taken]):
        whole = computed(whole)
    to: dict[int, Node] = {whole.rank - 1 - s: at for s, at in fixed.items()}
    for k, t in enumerate(taken):
        if t.source is not None:
            here_ = coordinate(len(taken) - 1 - k)
            at = build.add(build.mul(here_, int32(t.step)), t.start)
            to[whole.rank - 1 - t.source] = at
    names = [None if t.source is None else whole.names[t.source] for t in taken]
    shape = tuple([t.extent for t in taken])
    return Whole(moved(whole.value, to), shape, tuple(names), whole.trace)


def listed(key: object, whole: Whole) -> list[object]:
    """One item for each axis, and None for each new one."""
    given = list(key) if isinstance(key, tuple) else [key]
    for item in given:
        if not (item is None or item is ... or isinstance(item, slice | Arithmetic)):
            _check_number(item)
    dots = sum([item is ... for item in given])
    axes = sum([item is not None and item is not ... for item in given])
    if dots > 1 or axes > whole.rank:
        shape = shape_of(whole.shape, {})
        raise TypeMismatchError(
            f"{axes} indices are given for an array of {whole.rank} axes, {shape}"
            if dots < 2
            else "an index has one '...' at most",
            at=here(),
        )
    rest: list[object] = [slice(None)] * (whole.rank - axes)
    at = given.index(...) if dots else len(given)
    return [*given[:at], *rest, *given[at + dots :]]


def _check_number(item: object) -> None:
    if isinstance(item, bool) or not hasattr(type(item), "__index__"):
        raise TypeMismatchError(
            f"{a_kind(item)} is no index of an array: indices are integers, slices,"
            " None and ...",
            at=here(),
            hint="hl.where(condition, a, b) chooses by a condition; arrays of integers"
            " are coordinates",
        )


def _place(index: Node, extent: Node, whole: Whole) -> Node:
    check = Inside(index, extent, here())
    if whole.trace is None:
        check.look({})
    else:
        whole.trace.check(check)
    return tidy(_from_start(index, extent))


def _from_start(at: Node, extent: Node) -> Node:
    """A position from the first element on; one below 0 counts from behind the last."""
    is_negative = tidy(build.lt(at, int32(0)))
    return build.select(is_negative, build.add(extent, at), at)


def _sliced(item: slice, extent: Node) -> tuple[Node, int, Node]:
    """The start, the step and the extent of a slice."""
    start, stop = [
        None if p is None else extents(p, "an end of a slice")
        for p in (item.start, item.stop)
    ]
    step = 1 if item.step is None else integer(item.step, "the step of a slice")
    if step == 0:
        raise TypeMismatchError("the step of a slice cannot be 0", at=here())
    last = build.sub(extent, int32(1))
    if step > 0:
        ends: tuple[Node, ...] = (int32(0), extent, int32(0), extent)
    else:
        ends = (int32(-1), last, last, int32(-1))
    low, high, first, end = ends
    begin = first if start is None else _limited(start, extent, low, high)
    finish = end if stop is None else _limited(stop, extent, low, high)
    if step > 0:
        span = build.sub(finish, begin)
    else:
        span = build.sub(begin, finish)
    rounded = build.div(build.add(span, int32(abs(step) - 1)), int32(abs(step)))
    count = build.maximum(rounded, int32(0))
    return tidy(begin), step, tidy(count)


def _limited(at: Node, extent: Node, low: Node, high: Node) -> Node:
    """An end within the axis."""
    return build.maximum(build.minimum(_from_start(at, extent), high), low)


def extents(given: object, what: str) -> Node:
    """An integer, or what is made of extents. what: what it is for, for the message.

    Raises TypeMismatchError for all else.
    """
    if not isinstance(given, Arithmetic):
        return int32(integer(given, what))
    node = given._node
    of_sizes = all([isinstance(v.origin, tuple) for v in free_vars(node)])
    if node.type != INT32 or not of_sizes or reads_data(node):
        raise TypeMismatchError(
            f"{what} is an integer, or made of extents as a.shape[0] // 2 is, not"
            f" {text(node)}, of type {node.type}",
            at=here(),
            hint="pixels and arguments of a call decide no shape and no part that is"
            " taken: a shape must be known before a pixel is",
        )
    return node


def transposed(whole: Whole, order: Sequence[int]) -> Whole:
    """The array with its axes in another order, by their places in the shape."""
    n = whole.rank
    to: dict[int, Node] = {
        n - 1 - a: coordinate(n - 1 - k) for k, a in enumerate(order)
    }
    shape = tuple([whole.shape[a] for a in order])
    names = tuple([whole.names[a] for a in order])
    return Whole(moved(whole.value, to), shape, names, whole.trace)


__all__ = ["extents", "listed", "take", "transposed"]
