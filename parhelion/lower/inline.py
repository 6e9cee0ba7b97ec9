"""Inlining: definitions in place of calls to Funcs that have no loops of their own.

A definition that is put in place of a call keeps its coordinates in one form, sums
added up: ``f(x + 1 - 1)`` is ``f(x)``. Else what a chain of stencils reads at one place
by many ways would be as many expressions, exponentially many in the chain's length.

Where they are as many all the same, as in a chain of ``g(x) = f(2*x) + f(2*x + 1)``,
inlining multiplies the code itself: a definition that comes to `MOST_NODES` more than
are written in all definitions is an error, which names a Func whose own loops would
help.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from parhelion.analysis.linear import built, linear
from parhelion.analysis.symbolic import is_index
from parhelion.errors import DefinitionError, ScheduleError
from parhelion.ir.expr import Expr, FuncCall, ImageLoad, Intrinsic
from parhelion.ir.function import Definition, Function
from parhelion.ir.rewrite import Rewriter, nodes, substitute
from parhelion.ir.rounding import Decision
from parhelion.lower.guards import guard_branches, hides
from parhelion.schedule.placement import Placement
from parhelion.schedule.wrappers import Body, body

#: Nodes that inlining may add to what is written. Measured on chains of
#: ``f(2*x) + f(2*x + 1)``: 4,096 nodes compile in 0.6 s, 16,384 in 3 s and 65,536 in
#: 29 s, of which LLVM takes 24.
MOST_NODES = 50_000
#: How many times as many may be copied, most of which come out the same.
_COPIES = 20


class Recoordinate(Rewriter):
    """Coordinates in one form, after a substitution."""

    def __init__(self) -> None:
        super().__init__()
        self._forms: dict[Expr, Expr] = {}

    def coordinates(self, args: Sequence[Expr]) -> tuple[Expr, ...]:
        made = []
        for a in args:
            e = self.go(a)
            found = self._forms.get(e)
            if found is None:
                found = self._forms[e] = _canonical(e)
            made.append(found)
        return tuple(made)

    def on_imageload(self, n: ImageLoad) -> Expr:
        return ImageLoad(n.type, n.image, self.coordinates(n.args))

    def on_funccall(self, n: FuncCall) -> Expr:
        return FuncCall(n.type, n.func, self.coordinates(n.args), n.index)


def _canonical(e: Expr) -> Expr:
    """The same number in the form that all sums of the same parts get."""
    if not is_index(e.type) or e.type.count != 1:
        return e
    made = built(linear(e), e.type)
    return e if made is None else made


class Inline(Rewriter):
    """Replaces calls of inlined Funcs; their own bodies are inlined first, once."""

    def __init__(self, placements: Mapping[Function, Placement], strict: bool) -> None:
        super().__init__()
        self.placements = placements
        self.rounding = None if strict else Decision()
        self.bodies: dict[Function, tuple[Expr, ...]] = {}
        self._guarded: dict[tuple[Function, int], Expr] = {}
        self._after = Recoordinate()
        #: The Func whose definition is at hand, and how many nodes were copied for it;
        #: how many those that were inlined have.
        self._func: Function | None = None
        self._copied = 0
        #: Nodes of all definitions so far, as they are written.
        self._written = 0
        self._sizes: dict[Function, int] = {}

    def body(self, f: Function) -> tuple[Expr, ...]:
        found = self.bodies.get(f)
        if found is None:
            assert f.pure is not None
            found = self.inlined(f, self.decided(f, f.pure).values)
            self.bodies[f] = found
            self._sizes[f] = _size(found)
        return found

    def decided(self, f: Function, d: Definition) -> Body:
        """A definition, with what is rounded once in it: before anything is inlined,
        so that no schedule has a say in that."""
        it = body(f, d)
        if self.rounding is None:
            return it
        go = self.rounding.go
        args, values = tuple(map(go, it.args)), tuple(map(go, it.values))
        return Body(args, values, go(it.predicate))

    def inlined(self, f: Function, exprs: Sequence[Expr]) -> tuple[Expr, ...]:
        """Expressions of one definition of `f`, all inlining done."""
        around, copied = self._func, self._copied
        self._func, self._copied = f, 0
        self._written += _size(exprs)
        made = tuple([self.go(e) for e in exprs])
        size, most = _size(made), MOST_NODES + self._written
        if size > most:
            raise self._too_large(f"comes to {size:,}", most, size)
        self._func, self._copied = around, copied
        return made

    def _too_large(self, comes: str, limit: int, size: int) -> ScheduleError:
        """What is said of the definition at hand if inlining makes too much of it."""
        # What has half the depth has the square root of the size.
        middle = math.log(size) / 2
        known = self._sizes.items()
        best, own = min(known, key=lambda known: abs(math.log(known[1]) - middle))
        assert self._func is not None
        return ScheduleError(
            f"the definition of {self._func.name!r} {comes} operations and loads when "
            f"all that it reads is inlined, more than {limit:,}",
            hint="give a Func in between loops of its own: "
            f"{best.name}.compute_root(), whose definition comes to {own:,}",
            at=self._func.site,
        )

    def guarded(self, f: Function, index: int) -> Expr:
        """A value of `f`, in which reads that only one branch needs are conditional."""
        found = self._guarded.get((f, index))
        if found is None:
            (found,) = guard_branches((self.body(f)[index],))
            self._guarded[f, index] = found
        return found

    def on_intrinsic(self, n: Intrinsic) -> Expr:
        # Tags serve the schedule alone (`schedule.memoize`).
        return self.go(n.args[0]) if n.op == "memoize_tag" else n.map(self.go)

    def on_funccall(self, n: FuncCall) -> Expr:
        args = tuple([self.go(a) for a in n.args])
        f = n.func
        if not f.defined:
            raise DefinitionError(
                f"Func {f.name!r} is called but was never defined", at=f.site
            )
        if not self.placements[f].substituted:
            return FuncCall(n.type, f, args, n.index)
        env = {v: a for v, a in zip(f.args, args, strict=True) if a is not v}
        it = self.guarded(f, n.index) if hides(args) else self.body(f)[n.index]
        self._copied += self._sizes[f]
        most = _COPIES * (MOST_NODES + self._written)
        if self._copied > most:
            raise self._too_large(f"copies {self._copied:,}", most, self._copied)
        return self._after.go(substitute(it, env))


def _size(exprs: Sequence[Expr]) -> int:
    """How many distinct nodes there are."""
    return len({n for e in exprs for n in nodes(e)})
