"""Boxes of pixels as numbers: the values of regions once all sizes are known."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from parhelion.ir.build import const_int
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import Expr, Var
from parhelion.ir.pipeline import Region
from parhelion.ir.symbols import BufferSym
from parhelion.lang.given import Number

#: The min and extent of each dimension.
Box = list[tuple[int, int]]


def region_of(regions: Sequence[Region] | None, env: Mapping[Var, Number]) -> Box:
    """Returns the (min, extent) of each dimension of a region."""
    box: Box = []
    for r in regions or ():
        lo, hi = int(evaluate(r.min, env)), int(evaluate(r.max, env))
        box.append((lo, max(hi - lo + 1, 0)))
    return box


def as_promised(sym: BufferSym, asked: Box, grown: Box) -> Box:
    """Returns `grown`, but `asked` in the dimensions whose extent is promised.

    Code reports an error where another extent is asked for than was promised.
    """
    return [
        g if d.known_extent is d.extent else a
        for d, a, g in zip(sym.dims, asked, grown, strict=True)
    ]


def joined(a: Box | None, b: Box) -> Box:
    """Returns the smallest box around both; a box without points adds nothing."""
    if not a:
        return b
    if not b:
        return a
    if any(e == 0 for _, e in b):
        return a
    if any(e == 0 for _, e in a):
        return b
    out: Box = []
    for (alo, ae), (blo, be) in zip(a, b, strict=True):
        lo = min(alo, blo)
        out.append((lo, max(alo + ae, blo + be) - lo))
    return out


def storage_order(promises: Sequence[Expr | None], extents: Sequence[int]) -> list[int]:
    """Returns the dimensions in an order, innermost first, for dense storage.

    The order is one that gives the constant strides that are promised, if there is one.
    """
    known = {
        d: s
        for d, fixed in enumerate(promises)
        if fixed is not None and (s := const_int(fixed)) is not None
    }
    plain = list(range(len(extents)))
    if known in ({}, {0: 1}):
        return plain
    for order in itertools.permutations(plain):
        stride = 1
        for d in order:
            if known.get(d, stride) != stride:
                break
            stride *= extents[d]
        else:
            return list(order)
    return plain


__all__ = ["Box", "as_promised", "joined", "region_of", "storage_order"]
