"""`trace_stores` and `trace_loads`: a printed line for each store or load that runs.

Runs while Funcs still have coordinates, before storage is flattened. The lines are
those that Halide prints: ``Store f.0(3, 4) = 7``, the number after the name being that
of the value in a Tuple. A vectorised loop prints a line for a whole vector, with every
lane in angle brackets. ``Begin pipeline`` and ``End pipeline`` stand around each run.
"""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.ir.build import block, int32
from parhelion.ir.expr import Expr, FuncCall, Intrinsic, StringImm
from parhelion.ir.function import Function
from parhelion.ir.rewrite import Rewriter
from parhelion.ir.stmt import Evaluate, If, Provide, ProvideExtern, Stmt
from parhelion.types import Handle


def is_traced(f: Function) -> bool:
    """Whether the user asked for lines about `f`."""
    return f.schedule.trace_stores or f.schedule.trace_loads


def trace_accesses(s: Stmt, pipeline: str) -> Stmt:
    """`s`, printing where the Funcs in it ask for that, and when it begins and ends."""
    return block(
        _note(f"Begin pipeline {pipeline}.0()"),
        _Tracer().go(s),
        _note(f"End pipeline {pipeline}.0()"),
    )


class _Tracer(Rewriter):
    def on_provide(self, n: Provide) -> Stmt:
        values = tuple([self.go(v) for v in n.values])
        args = tuple([self.go(a) for a in n.args])
        if n.func.schedule.trace_stores:
            values = tuple(
                [_noted(v, "Store", n.func, i, args) for i, v in enumerate(values)]
            )
        if n.predicate is None:
            return Provide(n.func, values, args, None)
        return If(self.go(n.predicate), Provide(n.func, values, args, None), None)

    def on_provideextern(self, n: ProvideExtern) -> Stmt:
        return n  # its sources are places, not loads

    def on_intrinsic(self, n: Intrinsic) -> Expr:
        if n.op != "guarded" or not isinstance(n.args[0], FuncCall):
            return n.map(self.go)
        # The guard stays right around the call; the line shows what it gives.
        call = n.args[0].map(self.go)
        made = Intrinsic(n.type, n.op, (call, self.go(n.args[1])))
        if not call.func.schedule.trace_loads:
            return made
        return _noted(made, "Load", call.func, call.index, call.args)

    def on_funccall(self, n: FuncCall) -> Expr:
        args = tuple([self.go(a) for a in n.args])
        call = FuncCall(n.type, n.func, args, n.index)
        if not n.func.schedule.trace_loads:
            return call
        return _noted(call, "Load", n.func, n.index, args)


def _noted(
    value: Expr, what: str, f: Function, index: int, args: Sequence[Expr]
) -> Expr:
    """`value`, printed with what happens to it and where."""
    if isinstance(value, Intrinsic) and value.op == "undef":
        return value
    at = ", ".join(["%"] * len(args))
    line = StringImm(Handle(), f"{what} {f.label}.{index}({at}) = %")
    return Intrinsic(value.type, "trace", (value, line, *args))


def _note(line: str) -> Stmt:
    """A line without numbers."""
    zero = int32(0)
    return Evaluate(Intrinsic(zero.type, "trace", (zero, StringImm(Handle(), line))))


__all__ = ["is_traced", "trace_accesses"]
