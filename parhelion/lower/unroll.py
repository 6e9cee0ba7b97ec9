"""Unrolled loops become their iterations, one after the other."""

from __future__ import annotations

from parhelion.analysis.interval import constant_interval
from parhelion.errors import ScheduleError
from parhelion.ir.build import add, block, const_int, int32, lt
from parhelion.ir.expr import Expr, Intrinsic
from parhelion.ir.function import var_label
from parhelion.ir.loop_id import LoopId
from parhelion.ir.rewrite import _N, Rewriter
from parhelion.ir.stmt import NOP, For, ForKind, If, Stmt
from parhelion.lower.instantiate import instantiate
from parhelion.schedule.rules import stage_label
from parhelion.simplify.simplifier import simplify

#: The longest loop of non-constant extent that is unrolled behind guards.
_MOST_GUARDED = 64
#: The most copies of one statement that nested unrolled loops make.
_MOST_COPIES = 1 << 14


def unroll_loops(s: Stmt) -> Stmt:
    """Replaces every UNROLLED loop by copies of its body.

    An extent that is not constant but has a small constant upper bound is unrolled
    up to that bound, each copy behind ``i < extent``. Raises ScheduleError where
    there is no such bound, or where the copies would fill the memory.
    """
    return _Unroll().go(s)


def unroll_in_vectors(s: Stmt) -> Stmt:
    """As `unroll_loops`, of loops inside of VECTORIZED ones alone: C without vectors,
    whose compiler vectorises no loop that has another in it."""
    return _UnrollInVectors().go(s)


def constant_extent(loop: For) -> int | None:
    """The number of iterations, if it is known now."""
    value = const_int(loop.extent)
    return const_int(simplify(loop.extent)) if value is None else value


def refused(loop: For, why: str, hint: str) -> ScheduleError:
    """The error of a loop that cannot run as its schedule says, at the line that says
    so. why: ``is unrolled, but...``."""
    which: LoopId | None = loop.var.loop
    if which is None:
        return ScheduleError(f"the loop over {loop.var.name} {why}", hint=hint)
    label, of = stage_label(which.func, which.stage), var_label(which.var)
    return ScheduleError(f"{label}: the loop over {of} {why}", at=which.site, hint=hint)


class _Unroll(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self._copies = 1

    def go(self, n: _N) -> _N:
        return n if isinstance(n, Expr) else super().go(n)

    def on_for(self, n: For) -> Stmt:
        if n.kind is not ForKind.UNROLLED:
            return For(n.var, n.min, n.extent, n.kind, self.go(n.body))
        extent = constant_extent(n)
        around = self._copies
        self._copies *= max(extent or 1, 1)
        if self._copies > _MOST_COPIES:
            raise refused(
                n,
                f"is unrolled to {self._copies} copies, more than {_MOST_COPIES}",
                "split it and unroll the inner loop",
            )
        body = self.go(n.body)
        self._copies = around
        if extent is not None:
            copies = [
                instantiate(body, {n.var: add(n.min, int32(i))}, renew=i > 0)
                for i in range(extent)
            ]
            return block(*copies) if copies else NOP
        most = constant_interval(n.extent).hi
        if most is None or most > _MOST_GUARDED:
            raise refused(
                n,
                "is unrolled, but its extent is not constant",
                "split it by a constant factor and unroll the inner loop, or bound it",
            )
        guarded = []
        for i in range(int(most)):
            inside = lt(int32(i), n.extent)
            mark = Intrinsic(inside.type, "likely_if_innermost", (inside,))
            one = instantiate(body, {n.var: add(n.min, int32(i))}, renew=i > 0)
            guarded.append(If(mark, one, None))
        return block(*guarded) if guarded else NOP


class _UnrollInVectors(_Unroll):
    def __init__(self) -> None:
        super().__init__()
        self._in_vectors = False

    def on_for(self, n: For) -> Stmt:
        if n.kind is ForKind.UNROLLED and self._in_vectors:
            return super().on_for(n)
        around = self._in_vectors
        self._in_vectors = around or n.kind is ForKind.VECTORIZED
        body = self.go(n.body)
        self._in_vectors = around
        return For(n.var, n.min, n.extent, n.kind, body)
