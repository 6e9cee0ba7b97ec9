"""Answers to bounds queries: what a caller is told to allocate for a buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from parhelion.ir.build import add, const_int, int32, land, le, lor, lt, sub
from parhelion.ir.expr import Expr, Var
from parhelion.ir.pipeline import Region
from parhelion.ir.promises import Assumptions
from parhelion.ir.rewrite import free_vars, nodes, substitute
from parhelion.ir.stmt import Assert
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.simplify.simplifier import simplify


@dataclass(frozen=True, slots=True)
class Side:
    """One dimension of an answer.

    stride: what is promised of it; None where the dimension is dense over those in
        `below`: the largest product of a stride's distance and an extent among them,
        else 1.
    own: the stride that the promise itself mentions: it stands for the dense one.
    fits: whether what is promised holds all that is needed; None where it need not
        be asked.
    """

    min: Expr
    extent: Expr
    stride: Expr | None
    own: Var | None
    below: tuple[int, ...]
    fits: Expr | None

    @property
    def late(self) -> bool:
        """Whether the stride is known after those of others only."""
        return self.stride is None or self.own is not None


def answer(
    b: BufferSym, region: Sequence[Region] | None, assumed: Assumptions
) -> list[Side]:
    """Returns what a query is told of each dimension of `b`, of which `region` is
    needed (None: no pixel). A promise takes precedence, as a call with another buffer
    is refused; the side that it is about stands in it for what would be told without
    it.

    A dimension without a promise is dense over those before it, and over one after it
    that is promised to be 1, as in images whose colours are interleaved.
    """
    sides: list[Side] = []
    promised = [assumed.dims[dim] for dim in b.dims]
    ones = [d for d, one in enumerate(promised) if _is_one(one.stride)]
    for d, (dim, known) in enumerate(zip(b.dims, promised, strict=True)):
        least: Expr = int32(0) if region is None else region[d].min
        low = _promised(known.min, dim.min, least)
        covered: Expr = int32(0)
        if region is not None:
            covered = simplify(add(sub(region[d].max, low), int32(1)))
        extent = _promised(known.extent, dim.extent, covered)
        fits: Expr | None = None
        if region is not None and checked(b, d, assumed):
            # A dimension of which no pixel is needed fits in any.
            most = region[d].max
            wide = land(le(low, least), lt(sub(most, low), extent))
            fits = simplify(lor(lt(most, least), wide))
        stride = known.stride
        own = stride is not None and dim.stride in _variables(stride)
        below = {*range(d), *ones} - {d} if stride is None or own else set[int]()
        mine = dim.stride if own else None
        sides.append(Side(low, extent, stride, mine, tuple(sorted(below)), fits))
    return sides


def checked(b: BufferSym, d: int, assumed: Assumptions) -> bool:
    """Whether promises of dimension `d` may leave out what is needed of it. Of an
    output, what is promised of it is what is needed."""
    known = assumed.dims[b.dims[d]]
    promised = known.min is not None or known.extent is not None
    return promised and b.role != "output"


def _promised(promise: Expr | None, side: Var, otherwise: Expr) -> Expr:
    """What is told of `side`, where without the promise `otherwise` would be."""
    if promise is None:
        return otherwise
    return simplify(substitute(promise, {side: otherwise}))


def passes(buffers: Sequence[BufferSym], assumed: Assumptions) -> tuple[int, set[Var]]:
    """How often answers must be written until those hold that promises have others
    from, as where a stride is promised to be another dimension's extent; and the sides
    of `buffers` that promises mention."""
    own = {v for b in buffers for d in b.dims for v in (d.min, d.extent, d.stride)}
    count, mentioned = 1, set[Var]()
    for b in buffers:
        for dim in b.dims:
            known = assumed.dims[dim]
            for e in (known.min, known.extent, known.stride):
                found = set() if e is None else own & set(_variables(e))
                count += bool(found)
                mentioned |= found
    return count, mentioned


def of_params(demands: Sequence[Assert]) -> list[Assert]:
    """The checks of the schedule's numbers that can be made before it is known how
    large the images are: those of Params alone."""
    return [
        check
        for check in demands
        if all(isinstance(v.origin, ParamSym) for v in free_vars(check.cond))
    ]


def _variables(e: Expr) -> list[Var]:
    return [n for n in nodes(e) if isinstance(n, Var)]


def _is_one(stride: Expr | None) -> bool:
    return stride is not None and const_int(stride) == 1


__all__ = ["Side", "answer", "checked", "of_params", "passes"]
