"""Loops over blocks of which there is one become that block.

Where a Func is computed inside a block of its consumer, what is needed of it is no more
than a block, but less at the end of the image: ``min(last, i + 31) - i + 1`` points.
Splitting those by 32 leaves a loop of ``(min(last, i + 31) - i)/32 + 1`` iterations,
which is always one. While that loop is there the guards of the tail depend on two
loops, and `partition_loops` finds no clean middle for the outer one.
"""

from __future__ import annotations

from parhelion.ir.build import const_int, int32, le, lt
from parhelion.ir.expr import Div, Expr
from parhelion.ir.rewrite import _N, Rewriter, nodes
from parhelion.ir.stmt import For, ForKind, Stmt
from parhelion.simplify.simplifier import can_prove

_PLAIN = (ForKind.SERIAL, ForKind.PARALLEL)


def drop_single_blocks(s: Stmt) -> Stmt:
    """Gives loops of which it can prove that they have one iteration the extent 1."""
    return _Single().go(s)


class _Single(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self._inside = False

    def go(self, n: _N) -> _N:
        return n if isinstance(n, Expr) else super().go(n)

    def on_for(self, n: For) -> Stmt:
        one = self._inside and n.kind in _PLAIN and _is_one(n.extent)
        around, self._inside = self._inside, True
        body = self.go(n.body)
        self._inside = around
        return For(n.var, n.min, int32(1) if one else n.extent, n.kind, body)


def _is_one(extent: Expr) -> bool:
    """Whether it can be proved that an extent which is not constant is 1."""
    if const_int(extent) is not None:
        return False
    if not any([isinstance(e, Div) for e in nodes(extent)]):
        return False  # no loop over blocks, and proofs take time
    return can_prove(le(extent, int32(1))) and can_prove(lt(int32(0), extent))


__all__ = ["drop_single_blocks"]
