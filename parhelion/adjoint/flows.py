"""Reverse mode through one definition: what its reads get of its values' adjoints.

The values form one graph, in which what is used twice is there once. It is walked from
the values down: an operation's adjoint is the sum of what all its users give it, before
it hands anything on to its operands (Linnainmaa's reverse accumulation, the method of
Li et al., "Differentiable programming for image processing and deep learning in
Halide", ACM Transactions on Graphics 37 (4), 2018, section 4).
"""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.adjoint.arithmetic import add, is_zero
from parhelion.adjoint.partials import operands
from parhelion.dataclass import dataclass
from parhelion.errors import Site
from parhelion.ir import expr as E
from parhelion.ir.build import TRUE
from parhelion.ir.expr import Expr, FuncCall, ImageLoad, Let, Var
from parhelion.ir.function import Function
from parhelion.ir.rewrite import Rewriter, substitute
from parhelion.ir.symbols import BufferSym, ParamSym

Source = Function | BufferSym | ParamSym


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """A variable that a sum runs over, from `lo` to `hi` inclusive.

    pure: whether it is an argument of the Func, not a reduction variable.
    """

    var: Var
    lo: Expr
    hi: Expr
    pure: bool


@dataclass(frozen=True, slots=True, eq=False)
class Flow:
    """What goes to a place of a source: the sum, over all points of the walks where the
    condition holds, of `amount` to `place`.

    index: which of the values of a Func.
    """

    source: Source
    index: int
    place: tuple[Expr, ...]
    amount: Expr
    walks: tuple[Walk, ...]
    condition: Expr = TRUE
    site: Site | None = None


def leaf(n: Expr) -> tuple[Source, int, tuple[Expr, ...]] | None:
    """What a node reads that may get an adjoint: the source, which of its values, and
    where; None if it is no such read."""
    if not n.type.is_float():
        return None
    if isinstance(n, FuncCall):
        return n.func, n.index, n.args
    if isinstance(n, ImageLoad):
        return n.image, 0, n.args
    if isinstance(n, Var) and isinstance(n.origin, ParamSym):
        return n.origin, 0, ()
    return None


class _Plain(Rewriter):
    """Takes out what only prints or checks, and puts names in place."""

    def on_intrinsic(self, n: E.Intrinsic) -> Expr:
        if n.op == "print":
            return self.go(n.args[0])
        if n.op in ("print_when", "require"):
            return self.go(n.args[1])
        return n.map(self.go)

    def on_let(self, n: Let) -> Expr:
        return self.go(substitute(n.body, {n.var: n.value}))


def plain(e: Expr) -> Expr:
    """An expression without effects, of the same value."""
    return _Plain().go(e)


def reads(
    values: Sequence[tuple[Expr, Expr]], site: Site | None
) -> list[tuple[Expr, Expr]]:
    """The reads that the values depend on, each with its adjoint.

    values: plain expressions, each with its adjoint. Raises DefinitionError for an
    operation on the way that has no derivative.
    """
    order = _active([v for v, _ in values])
    adjoints: dict[Expr, Expr] = {}
    for v, d in values:
        if v in order:
            adjoints[v] = add(adjoints[v], d) if v in adjoints else d
    found = []
    for n in reversed(order):
        if n not in adjoints or is_zero(adjoints[n]):
            continue
        d = adjoints.pop(n)
        if leaf(n) is not None:
            found.append((n, d))
            continue
        for operand, more in operands(n, d, site):
            if operand in order:
                old = adjoints.get(operand)
                adjoints[operand] = more if old is None else add(old, more)
    return found


def _active(roots: Sequence[Expr]) -> dict[Expr, None]:
    """The float nodes that depend on reads which may get an adjoint, operands first."""
    order: dict[Expr, None] = {}
    seen: set[Expr] = set()
    stack = [(n, False) for n in roots]
    while stack:
        n, known = stack.pop()
        if known:
            if any([c in order for c in n.children()]):
                order[n] = None
            continue
        if n in seen or not n.type.is_float():
            continue
        seen.add(n)
        if leaf(n) is not None:
            order[n] = None
            continue
        stack.append((n, True))
        stack += [(c, False) for c in n.children() if isinstance(c, Expr)]
    return order


__all__ = ["Flow", "Source", "Walk", "leaf", "plain", "reads"]
