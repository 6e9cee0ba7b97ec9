"""Sums over the pixels of a window, of what is computed of each and of its place."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from parhelion.ir.build import imm, int32
from parhelion.ir.expr import Expr as Node
from parhelion.lang.expr import Expr, wrap
from parhelion.lang.func import Func
from parhelion.lang.functions import clamp
from parhelion.lang.rdom import RDom
from parhelion.lang.tuples import Tuple
from parhelion.lang.var import Var
from parhelion.whole.array import Array
from parhelion.whole.core import Whole, letters, loop_order, moved, read_all

#: Windows of more pixels are a loop in the code, and not written out.
_MOST_WRITTEN_OUT = 24

#: A place of a window: rows below, columns to the right, and a number of it.
Place = tuple[int, int, float]
#: What is added up for a place.
Terms = Callable[[Node, Node, Node], Sequence[Expr]]


def window_sums(
    places: Sequence[Place], terms: Terms, first: Sequence[Expr], like: Whole
) -> list[Expr]:
    """The sums of the terms of all places, and of the first values.

    first: two or more, of one float type. like: an array whose axes the values have.
    """
    to = first[0]._node.type
    if len(places) <= _MOST_WRITTEN_OUT:
        sums = list(first)
        for dy, dx, given in places:
            more = terms(int32(dy), int32(dx), imm(given, to))
            sums = [a + b for a, b in zip(sums, more, strict=True)]
        return sums
    r = RDom([(0, len(places))])
    down, across = [np.array([p[k] for p in places], np.int32) for k in (0, 1)]
    at = [
        # The limits say how far around a pixel is read.
        clamp(Array(line)[r.x], int(line.min()), int(line.max()))._node
        for line in (down, across)
    ]
    number = Array(np.array([p[2] for p in places], to.to_numpy()))[r.x]
    named = [Var(c) for c in letters(like.names)]
    to_named = {p: v._node for p, v in enumerate(named)}
    args = tuple([named[p] for p in loop_order(like.shape)])

    def there(values: Sequence[Expr]) -> list[Expr]:
        return [wrap(moved(v._node, to_named)) for v in values]

    f = Func("sums")
    f[args] = Tuple(*there(first))
    more = there(terms(at[0], at[1], number._node))
    f[args] = Tuple(*[f[args][i] + m for i, m in enumerate(more)])
    return [wrap(node) for node in read_all(f, like.shape)]


__all__ = ["window_sums"]
