"""Boxes of pixels in numbers: what regions come to where all sizes are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import Var
from parhelion.ir.pipeline import Region
from parhelion.ir.symbols import BufferSym
from parhelion.lang.given import Number

#: The min and extent of each dimension.
Box = list[tuple[int, int]]


def region_of(regions: Sequence[Region] | None, env: Mapping[Var, Number]) -> Box:
    """(min, extent) of each dimension."""
    box: Box = []
    for r in regions or ():
        lo, hi = int(evaluate(r.min, env)), int(evaluate(r.max, env))
        box.append((lo, max(hi - lo + 1, 0)))
    return box


def as_promised(sym: BufferSym, asked: Box, grown: Box) -> Box:
    """What is written, but as asked where a size was promised: to ask for another is an
    error, which the code reports."""
    return [
        g if d.known_extent is d.extent else a
        for d, a, g in zip(sym.dims, asked, grown, strict=True)
    ]


def joined(a: Box | None, b: Box) -> Box:
    """The smallest box around both; one without points adds nothing."""
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


__all__ = ["Box", "as_promised", "joined", "region_of"]
