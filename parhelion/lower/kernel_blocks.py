"""Rewriting what a block of each kernel does, for passes on kernels in normal form."""

from __future__ import annotations

from collections.abc import Callable

from parhelion.ir.expr import Expr
from parhelion.ir.rewrite import _N, Rewriter
from parhelion.ir.stmt import For, ForKind, Stmt
from parhelion.lower.kernel_loops import block_loops

#: From a kernel and what a block of it does, what the block is to do.
Rewrite = Callable[[For, Stmt], Stmt]


def rewrite_blocks(s: Stmt, rewrite: Rewrite) -> Stmt:
    """A program whose kernels have their loops over blocks around what `rewrite`
    returns."""
    return _Kernels(rewrite).go(s)


class _Kernels(Rewriter):
    def __init__(self, rewrite: Rewrite) -> None:
        super().__init__()
        self.rewrite = rewrite

    def go(self, n: _N) -> _N:
        return n if isinstance(n, Expr) else super().go(n)

    def on_for(self, n: For) -> Stmt:
        if n.kind is not ForKind.GPU_BLOCK:
            return n.map(self.go)
        loops, body = block_loops(n)
        made = self.rewrite(n, body)
        if made is body:
            return n
        for loop in reversed(loops):
            made = For(loop.var, loop.min, loop.extent, loop.kind, made)
        return made


__all__ = ["Rewrite", "rewrite_blocks"]
