"""What a bounds query tells a caller to allocate: the region, as what is promised wants
it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from parhelion.ir.build import add, const_int, int32, sub
from parhelion.ir.expr import Expr, Var
from parhelion.ir.pipeline import Region
from parhelion.ir.rewrite import nodes
from parhelion.ir.symbols import BufferSym
from parhelion.simplify.driver import simplify


@dataclass(frozen=True, slots=True)
class Side:
    """One dimension of an answer.

    stride: what is promised of it; None where the dimension is dense over those in
    `below`: the largest product of a stride and an extent among them, else 1.
    """

    min: Expr
    extent: Expr
    stride: Expr | None
    below: tuple[int, ...]


def answer(b: BufferSym, region: Sequence[Region] | None) -> list[Side]:
    """What a query is told of each dimension of `b`, of which `region` is needed (None:
    no pixel). A promise takes precedence, as a call with another buffer is refused.

    A dimension without a promise is dense over those before it, and over one after it
    that is promised to be 1, as in images whose colours are interleaved.
    """
    sides: list[Side] = []
    ones = [d for d, dim in enumerate(b.dims) if _is_one(dim.fixed_stride)]
    for d, dim in enumerate(b.dims):
        if region is None:
            low, extent = dim.fixed_min or int32(0), dim.fixed_extent or int32(0)
        else:
            low = region[d].min if dim.fixed_min is None else dim.fixed_min
            covered = simplify(add(sub(region[d].max, low), int32(1)))
            extent = covered if dim.fixed_extent is None else dim.fixed_extent
        below = sorted({*range(d), *ones}) if dim.fixed_stride is None else []
        sides.append(Side(low, extent, dim.fixed_stride, tuple(below)))
    return sides


def passes(buffers: Sequence[BufferSym]) -> tuple[int, set[Var]]:
    """How often answers must be written until those hold that promises have others
    from, as where a stride is promised to be another dimension's extent; and the sides
    of `buffers` that promises mention."""
    own = {v for b in buffers for d in b.dims for v in (d.min, d.extent, d.stride)}
    count, mentioned = 1, set[Var]()
    for b in buffers:
        for dim in b.dims:
            for e in (dim.fixed_min, dim.fixed_extent, dim.fixed_stride):
                found = set() if e is None else own & set(_variables(e))
                count += bool(found)
                mentioned |= found
    return count, mentioned


def _variables(e: Expr) -> list[Var]:
    return [n for n in nodes(e) if isinstance(n, Var)]


def _is_one(stride: Expr | None) -> bool:
    return stride is not None and const_int(stride) == 1


__all__ = ["Side", "answer", "passes"]
