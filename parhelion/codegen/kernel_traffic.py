"""What a kernel reads from the memory of the device and writes there, as the host can
tell before it runs: how many loads and stores of each buffer its threads make.

Caches see the same element more than once; so what a kernel must move at least is, of
each buffer, no more than it asks for and no more than there is. Of two branches the one
that uses more counts, and a branch that is not taken as if it were.
"""

from __future__ import annotations

from dataclasses import field

from parhelion.dataclass import dataclass
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr, Var
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import Stmt
from parhelion.ir.symbols import BufferSym
from parhelion.lower.extents import most_of
from parhelion.lower.launch_sizes import of_the_host, opened
from parhelion.types import INT64

#: How many elements of each buffer are asked for (int64); None: not known before.
Uses = dict[BufferSym, Expr | None]


@dataclass(slots=True)
class Traffic:
    """The elements that a kernel reads, and those that it writes."""

    reads: Uses = field(default_factory=dict)
    writes: Uses = field(default_factory=dict)

    def add(self, other: Traffic) -> None:
        for mine, more in ((self.reads, other.reads), (self.writes, other.writes)):
            for buffer, n in more.items():
                mine[buffer] = _sum(mine[buffer], n) if buffer in mine else n

    def either(self, other: Traffic) -> None:
        """Takes the larger numbers of both."""
        for mine, more in ((self.reads, other.reads), (self.writes, other.writes)):
            for buffer, n in more.items():
                mine[buffer] = _most(mine[buffer], n) if buffer in mine else n

    def times(self, trips: Expr | None) -> None:
        for mine in (self.reads, self.writes):
            for buffer, n in mine.items():
                mine[buffer] = _product(n, trips)


def traffic(kernel: S.For) -> Traffic:
    """The uses of all buffers in a kernel, its own storage among them."""
    return _Walk().go(kernel)


class _Walk:
    """lets: what names in the kernel stand for. inner: what its loops bind."""

    def __init__(self) -> None:
        self.lets: dict[Var, Expr] = {}
        self.inner: set[Var] = set()

    def go(self, s: Stmt) -> Traffic:
        found = Traffic()
        if isinstance(s, S.LetStmt):
            self.lets[s.var] = s.value
        for c in s.children():
            if isinstance(c, Expr):
                self.read(c, found)
        if isinstance(s, S.For):
            self.inner.add(s.var)
            inside = self.go(s.body)
            inside.times(self.trips(s.extent))
            found.add(inside)
        elif isinstance(s, S.If):
            one = self.go(s.then)
            if s.otherwise is not None:
                one.either(self.go(s.otherwise))
            found.add(one)
        else:
            if isinstance(s, S.Store):
                count = build.int64(s.value.type.count)
                found.add(Traffic({}, {s.buffer: count}))
            for c in s.children():
                if isinstance(c, Stmt):
                    found.add(self.go(c))
        return found

    def read(self, e: Expr, found: Traffic) -> None:
        for n in nodes(e):
            if isinstance(n, E.Load):
                found.add(Traffic({n.buffer: build.int64(n.type.count)}, {}))

    def trips(self, extent: Expr) -> Expr | None:
        """How often a loop runs, or at most runs; None if that is not known."""
        whole = opened(extent, self.lets)
        if not of_the_host(whole, self.inner):
            most = most_of(whole)
            return None if most is None else build.int64(max(most, 0))
        return build.maximum(build.cast(INT64, whole), build.int64(0))


def _sum(a: Expr | None, b: Expr | None) -> Expr | None:
    return None if a is None or b is None else build.add(a, b)


def _product(a: Expr | None, b: Expr | None) -> Expr | None:
    return None if a is None or b is None else build.mul(a, b)


def _most(a: Expr | None, b: Expr | None) -> Expr | None:
    if a is None or b is None:
        return None
    return a if a is b else build.maximum(a, b)


__all__ = ["Traffic", "Uses", "traffic"]
