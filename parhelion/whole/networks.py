"""Sorting by exchanges of two values, so that all pixels take the same steps."""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.ir.expr import Expr as Node
from parhelion.lang.expr import wrap
from parhelion.lang.functions import max as max_of
from parhelion.lang.functions import min as min_of


def exchange(values: list[Node], i: int, j: int) -> None:
    """Puts the lesser of two values first."""
    a, b = wrap(values[i]), wrap(values[j])
    values[i], values[j] = min_of(a, b)._node, max_of(a, b)._node


def sort(values: Sequence[Node]) -> list[Node]:
    """The values in order, by Batcher's odd-even merge sort.

    Source: K. Batcher, Sorting networks and their applications, 1968, for any number of
    values as in D. Knuth, The Art of Computer Programming 3, algorithm 5.2.2M.
    """
    found = list(values)
    n = len(found)
    top = 1 << max((n - 1).bit_length() - 1, 0)
    p = top
    while p > 0:
        q, r, d = top, 0, p
        while True:
            for i in range(n - d):
                if i & p == r:
                    exchange(found, i, i + d)
            if q == p:
                break
            d, q, r = q - p, q // 2, p
        p //= 2
    return found


def middle(values: Sequence[Node]) -> Node:
    """The median of an odd number of values.

    Of half of them and two, the least and the greatest are not the median: they are
    dropped, and the next value takes their place, until none is left. Source: D. Knuth,
    ibid., section 5.3.3.
    """
    waiting = list(values)
    keep = len(waiting) // 2 + 2
    held, waiting = waiting[:keep], waiting[keep:]
    while len(held) > 2:
        _ends(held)
        held = held[1:-1]
        if waiting:
            held.append(waiting.pop(0))
    return held[0]


def _ends(values: list[Node]) -> None:
    """Puts the least value first and the greatest one last, by some 3/2 exchanges for
    each value."""
    n = len(values)
    for i in range(n // 2):
        exchange(values, i, n - 1 - i)
    half = (n + 1) // 2
    for i in range(1, half):
        exchange(values, 0, i)
    for i in range(n // 2, n - 1):
        exchange(values, i, n - 1)


__all__ = ["exchange", "middle", "sort"]
