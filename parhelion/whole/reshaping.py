"""`numpy.reshape`: the same elements, in the same order, in another shape.

An element's place in the order of all is found of its new coordinates, and its old
coordinates of that. Axes that are the same in both shapes, or split into others, as
the rows of ``a.reshape(h // 2, 2, w // 2, 2)`` are, need no such division.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from parhelion.errors import TypeMismatchError, here
from parhelion.ir import build
from parhelion.ir.build import const_int, int32
from parhelion.ir.expr import Div
from parhelion.ir.expr import Expr as Node
from parhelion.whole.core import Whole, computed, coordinate, moved, tidy
from parhelion.whole.creating import extents_of
from parhelion.whole.operands import operand
from parhelion.whole.trace import SameCount


def reshape(a: object, shape: object) -> Whole:
    """`numpy.reshape`: -1 stands for the extent that is left.

    Raises TypeMismatchError for what is no shape, and BoundsError for one of another
    number of elements.
    """
    whole = computed(operand(a))
    after = _completed(whole.shape, shape)
    check = SameCount(whole.shape, after, here())
    if whole.trace is None:
        check.look({})
    else:
        whole.trace.check(check)
    to: dict[int, Node] = {}
    for old, new in _groups(whole.shape, after):
        flat: Node = int32(0)
        for k in new:
            at = coordinate(len(after) - 1 - k)
            flat = build.add(build.mul(flat, after[k]), at)
        for n, k in enumerate(reversed(old)):
            extent = whole.shape[k]
            place = flat if n == len(old) - 1 else build.mod(flat, extent)
            to[whole.rank - 1 - k] = place
            flat = build.div(flat, extent)
        # What of the new shape has no axis in the old one is 1, and its place is 0.
    names = _kept_names(whole, after)
    return Whole(moved(whole.value, to), after, names, whole.trace)


def ravel(a: object) -> Whole:
    """`numpy.ravel`: all elements in a row."""
    whole = operand(a)
    return whole if whole.rank == 1 else reshape(whole, -1)


def _completed(before: Sequence[Node], shape: object) -> tuple[Node, ...]:
    """A shape with an extent for -1."""
    given = list(shape) if isinstance(shape, tuple | list) else [shape]
    open_ = [k for k, n in enumerate(given) if isinstance(n, int) and n == -1]
    if len(open_) > 1:
        raise TypeMismatchError("a shape has one -1 at most", at=here())
    rest = extents_of([n for k, n in enumerate(given) if k not in open_], "reshape")
    if not open_:
        return rest
    # What both have need not be multiplied and divided: (h, w, 3) to (-1, 3).
    old, new = list(before), list(rest)
    for n in rest:
        at = next((k for k, m in enumerate(old) if m is n), None)
        if at is not None:
            del old[at]
            del new[next(k for k, m in enumerate(new) if m is n)]
    total, known = _product(old), _product(new)
    if const_int(known) == 0:
        raise TypeMismatchError(
            f"-1 beside an extent of 0 means no extent: {given}", at=here()
        )
    left = tidy(build.div(total, known))
    return (*rest[: open_[0]], left, *rest[open_[0] :])


def _product(extents: Sequence[Node]) -> Node:
    found: Node = int32(1)
    for n in extents:
        found = build.mul(found, n)
    return found


def _groups(
    before: Sequence[Node], after: Sequence[Node]
) -> list[tuple[list[int], list[int]]]:
    """Axes of two shapes that have the same elements, each group by itself: from the
    first on, and from the last on, one axis of one and those of the other that it is
    split into; what is between is one group.

    That ``n // 2 * 2`` is `n` is not seen, but follows: no group of the new shape has
    more elements than its axis, and by the check of the counts all together have as
    many. So it is taken for granted where nothing is left between.
    """
    found, is_between = _grouped(before, after, True)
    return _grouped(before, after, False)[0] if is_between else found


def _grouped(
    before: Sequence[Node], after: Sequence[Node], rounded: bool
) -> tuple[list[tuple[list[int], list[int]]], bool]:
    """The groups, and whether there is one that is not understood. rounded: whether
    ``n // 2`` and 2 are taken for parts of `n`."""
    first: list[tuple[list[int], list[int]]] = []
    i, j = 0, 0
    while (n := _matched(before[i:], after[j:], rounded)) is not None:
        first.append((list(range(i, i + n[0])), list(range(j, j + n[1]))))
        i, j = i + n[0], j + n[1]
    last: list[tuple[list[int], list[int]]] = []
    p, q = len(before), len(after)
    while (n := _matched(before[i:p][::-1], after[j:q][::-1], rounded)) is not None:
        last.append((list(range(p - n[0], p)), list(range(q - n[1], q))))
        p, q = p - n[0], q - n[1]
    between = p > i or q > j
    middle = [(list(range(i, p)), list(range(j, q)))] if between else []
    return [*first, *middle, *last], between


def _matched(
    before: Sequence[Node], after: Sequence[Node], rounded: bool
) -> tuple[int, int] | None:
    """How many axes at the beginning of two shapes are one group, if one of them is
    one axis, and the others' product is its extent."""
    if not before or not after:
        return None
    for n in range(1, len(after) + 1):
        if _is_product(before[0], after[:n], rounded):
            return 1, n
    for n in range(2, len(before) + 1):
        if _is_product(after[0], before[:n], False):
            return n, 1
    return None


def _is_product(extent: Node, parts: Sequence[Node], rounded: bool) -> bool:
    """Whether extents multiply to another."""
    if tidy(_product(parts)) is extent:
        return True
    constants = [const_int(n) for n in parts]
    open_ = [n for n, c in zip(parts, constants, strict=True) if c is None]
    factor = math.prod([c for c in constants if c is not None])
    part = open_[0] if rounded and len(open_) == 1 else None
    return isinstance(part, Div) and part.a is extent and const_int(part.b) == factor


def _kept_names(whole: Whole, after: Sequence[Node]) -> tuple[str | None, ...]:
    """The names of axes that are axes of the new shape too."""
    found: list[str | None] = [None] * len(after)
    for old, new in _groups(whole.shape, after):
        if len(old) == len(new) == 1:
            found[new[0]] = whole.names[old[0]]
    return tuple(found)


__all__ = ["ravel", "reshape"]
