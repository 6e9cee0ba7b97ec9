"""Checks in kernels that the host can make before, so that no kernel has to.

A check of the size of storage that a kernel has says the same in all blocks, where the
size depends on what the host knows alone. It becomes one of the host's, which holds as
well where the kernel would not come to it. Any other stays in the kernel, whose threads
end where it fails and report that (`codegen.nvptx.reports`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache, partial

from parhelion.analysis.rank import reads_data, tree_size
from parhelion.ir.build import block, conjunction, imm, lnot, lor, lt
from parhelion.ir.expr import EQ, LE, LT, NE, Add, Expr, Max, Min, Sub, Var
from parhelion.ir.rewrite import _N, Rewriter, free_vars, substitute
from parhelion.ir.stmt import NOP, Assert, Block, For, If, Stmt

#: Expressions with more nodes are not worth a proof.
_LARGEST = 400


def slope(e: Expr, v: Var) -> int | None:
    """The k for which an expression is k times a variable and what does not depend on
    it; None if it is none, or not seen to be."""
    return _slope(e, v, {v: 1})


def _slope(e: Expr, v: Var, found: dict[Expr, int | None]) -> int | None:
    """As `slope`. found: of what is inside, which a tree may have many times."""
    if e in found:
        return found[e]
    made = found[e] = _slope_of(e, v, found) if v in free_vars(e) else 0
    return made


def _slope_of(e: Expr, v: Var, found: dict[Expr, int | None]) -> int | None:
    parts = [_slope(c, v, found) for c in e.children() if isinstance(c, Expr)]
    known = [k for k in parts if k is not None]
    if len(known) < len(parts):
        return None
    if isinstance(e, Add):
        return known[0] + known[1]
    if isinstance(e, Sub):
        return known[0] - known[1]
    alike = all([k == known[0] for k in known])
    if isinstance(e, Min | Max):
        return known[0] if alike else None
    if isinstance(e, LT | LE | EQ | NE):
        return 0 if alike else None
    return None if any(known) else 0


def _made_of(u: Var) -> set[Var]:
    """All that a let stands for is made of, directly or by way of others."""
    found: set[Var] = set()
    left = [u]
    while left:
        value = left.pop().value
        more = set() if value is None else free_vars(value) - found
        found |= more
        left += more
    return found


def known_to_host(e: Expr, inside: Collection[Var]) -> Expr | None:
    """An expression in a kernel in terms of what the host knows; None if it depends on
    more. inside: what all loops of the kernel bind."""
    while tree_size(e) <= _LARGEST:
        # Where a tile begins cancels out of how large it is: its own let goes before
        # what it stands for appears, which hides that.
        for v in free_vars(e):
            if slope(e, v) == 0:
                e = substitute(e, {v: imm(0, v.type)})
        lets = {v: v.value for v in free_vars(e) if v.value is not None}
        if not lets:
            break
        inner = set().union(*[_made_of(v) for v in lets])
        e = substitute(e, {v: value for v, value in lets.items() if v not in inner})
    used = free_vars(e)
    if any([v in inside or v.value is not None for v in used]):
        return None
    return None if reads_data(e) else e


#: A condition that the host knows, or None.
Condition = Callable[[], Expr | None]


def _denied(cond: Condition) -> Expr | None:
    known = cond()
    return None if known is None else lnot(known)


class LiftedChecks(Rewriter):
    """checks: those of the host. body: what is left. around: under which conditions a
    statement runs, each found when a check first asks for it, as most kernels have
    none; it is None if the host does not know it."""

    def __init__(self, inside: frozenset[Var]) -> None:
        super().__init__()
        self.inside = inside
        self.checks: list[Assert] = []
        self.body: Stmt = NOP
        self.around: list[Condition] = []

    def runs(self, loop: For) -> Expr | None:
        """Whether a loop has an iteration."""
        extent = known_to_host(loop.extent, self.inside)
        return None if extent is None else lt(imm(0, extent.type), extent)

    def go(self, n: _N) -> _N:
        return n if isinstance(n, Expr) else super().go(n)

    def within(self, cond: Condition, s: Stmt) -> Stmt:
        self.around.append(cond)
        made = self.go(s)
        self.around.pop()
        return made

    def on_for(self, n: For) -> Stmt:
        body = self.within(cache(partial(self.runs, n)), n.body)
        return For(n.var, n.min, n.extent, n.kind, body)

    def on_block(self, n: Block) -> Stmt:
        return block(*[self.go(item) for item in n.items])

    def on_if(self, n: If) -> Stmt:
        cond = cache(partial(known_to_host, n.cond, self.inside))
        then = self.within(cond, n.then)
        if n.otherwise is None:
            return If(n.cond, then, None)
        denied = cache(partial(_denied, cond))
        return If(n.cond, then, self.within(denied, n.otherwise))

    def on_assert(self, n: Assert) -> Stmt:
        cond = known_to_host(n.cond, self.inside)
        if cond is None:
            return n
        args = [known_to_host(a, self.inside) for a in n.args]
        known = [a for a in args if a is not None]
        if len(known) < len(args):
            return n
        around = [e for find in self.around if (e := find()) is not None]
        if len(around) < len(self.around):
            return n
        if around:
            cond = lor(lnot(conjunction(around)), cond)
        self.checks.append(Assert(cond, n.code, tuple(known)))
        return NOP


def lift_checks(
    body: Stmt, loops: Sequence[For], inside: Iterable[Var]
) -> LiftedChecks:
    """Takes the checks that the host can make out of what a block does. loops: those
    over blocks. inside: what all loops of the kernel bind."""
    found = LiftedChecks(frozenset(inside))
    found.around = [cache(partial(found.runs, loop)) for loop in loops]
    found.body = found.go(body)
    return found


__all__ = ["LiftedChecks", "known_to_host", "lift_checks"]
