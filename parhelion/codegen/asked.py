"""Answers to bounds queries: the size and layout that a caller must allocate."""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.dataclass import dataclass
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
    """One dimension of the answer to a bounds query.

    stride: the promised stride. None where nothing is promised: the stride is then the
        largest product of stride and extent among the dimensions in `below`, or 1.
    own: the stride's own Var, if the promise mentions it; it then stands for the stride
        that would hold without the promise.
    fits: whether the promised region contains the needed one; None where this need not
        be checked.
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
    """Returns what a bounds query answers for each dimension of `b`.

    `region` is what is needed of `b`; None if no pixel is. Promises take precedence,
    because a call with a buffer that breaks one is refused. If a promise mentions the
    quantity that it is about, that quantity stands for the answer without the promise.

    A dimension without a promise is dense over those before it, and over a later one
    whose stride is promised to be 1, as in images with interleaved colours.
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
    """Returns whether the promises of dimension `d` may exclude pixels that are needed.

    They cannot for an output: what is promised of it is what is needed.
    """
    known = assumed.dims[b.dims[d]]
    promised = known.min is not None or known.extent is not None
    return promised and b.role != "output"


def _promised(promise: Expr | None, side: Var, otherwise: Expr) -> Expr:
    """Returns the promised value of `side`, or `otherwise` if nothing is promised.

    In the promise, `side` itself stands for `otherwise`.
    """
    if promise is None:
        return otherwise
    return simplify(substitute(promise, {side: otherwise}))


def passes(buffers: Sequence[BufferSym], assumed: Assumptions) -> tuple[int, set[Var]]:
    """Returns how many times answers must be computed until they agree, and the sizes
    that promises mention.

    Answers depend on each other where a promise mentions the size of another dimension,
    as when a stride is promised to be an extent.
    """
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
    """Returns the checks of the schedule's numbers that depend on Params alone.

    They can be made before the sizes of the images are known.
    """
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
