"""`trace_stores`, `trace_loads`, `trace_realizations`: a line for each of what happens.

Runs while Funcs still have coordinates, before storage is flattened. The lines are
those that Halide prints: ``Store f.0(3, 4) = 7``, the number after the name being that
of the value in a Tuple. A vectorised loop prints a line for a whole vector, with every
lane in angle brackets. ``Begin pipeline`` and ``End pipeline`` stand around each run.

A line is an intrinsic with a text, in which each ``%`` stands for a number. Code
generation prints it, or hands it on as a record (`runtime.trace`).
"""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.ir.build import block, int32
from parhelion.ir.expr import Expr, FuncCall, Intrinsic, StringImm
from parhelion.ir.function import Function
from parhelion.ir.rewrite import _N, Rewriter, nodes
from parhelion.ir.stmt import (
    Evaluate,
    If,
    Produce,
    Provide,
    ProvideExtern,
    Realize,
    Stmt,
)
from parhelion.types import Handle


def is_traced(f: Function) -> bool:
    """Whether the user asked for lines about `f`."""
    return f.schedule.traced


def trace_accesses(
    s: Stmt, pipeline: str, tagged: Sequence[Function] = (), everything: bool = False
) -> Stmt:
    """`s`, printing where the Funcs in it ask for that, and when it begins and ends.

    tagged: Funcs whose tags are printed, if they are traced. everything: whether all
    Funcs are traced, whatever they ask for.
    """
    tags = [
        _note(f'Tag {f.label}.0() tag = "{_escaped(tag)}"')
        for f in tagged
        if everything or is_traced(f)
        for tag in f.schedule.trace_tags
    ]
    return block(
        _note(f"Begin pipeline {pipeline}.0()"),
        *tags,
        _Tracer(everything).go(s),
        _note(f"End pipeline {pipeline}.0()"),
    )


def trace_realizations(s: Stmt, everything: bool = False) -> Stmt:
    """`s`, printing where storage of the Funcs in it begins and ends, and where they
    are produced and used. It comes after forks of async Funcs, which know no lines."""
    return _Realizations(everything).go(s)


class _Tracer(Rewriter):
    def __init__(self, everything: bool) -> None:
        super().__init__()
        self.everything = everything

    def _asked(self, f: Function, asked: bool) -> bool:
        """Whether lines are wanted. Tables that lowering makes are no user's Funcs."""
        return f.defined and (self.everything or asked)

    def on_provide(self, n: Provide) -> Stmt:
        values = tuple([self.go(v) for v in n.values])
        args = tuple([self.go(a) for a in n.args])
        if self._asked(n.func, n.func.schedule.trace_stores):
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
        if not self._asked(call.func, call.func.schedule.trace_loads):
            return made
        return _noted(made, "Load", call.func, call.index, call.args)

    def on_funccall(self, n: FuncCall) -> Expr:
        args = tuple([self.go(a) for a in n.args])
        call = FuncCall(n.type, n.func, args, n.index)
        if not self._asked(n.func, n.func.schedule.trace_loads):
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


class _Realizations(Rewriter):
    def __init__(self, everything: bool) -> None:
        super().__init__()
        self.everything = everything
        #: Min and extent of each dimension of what there is of Funcs.
        self.regions: dict[Function, tuple[Expr, ...]] = {}

    def go(self, n: _N) -> _N:
        return n if isinstance(n, Expr) else super().go(n)

    def asked(self, f: Function) -> bool:
        return f.defined and (self.everything or f.schedule.trace_realizations)

    def on_realize(self, n: Realize) -> Stmt:
        before = self.regions.get(n.func)
        self.regions[n.func] = tuple([e for pair in n.bounds for e in pair])
        body = self.go(n.body)
        if self.asked(n.func):
            body = self._around(n.func, "Begin realization", "End realization", body)
        if before is None:
            del self.regions[n.func]
        else:
            self.regions[n.func] = before
        return Realize(n.func, n.bounds, n.condition, body)

    def on_produce(self, n: Produce) -> Stmt:
        body = self.go(n.body)
        # The thread of an async Func has the loops of those that use it.
        if self.asked(n.func) and (not n.producing or _provides(n.body, n.func)):
            what = "Produce" if n.producing else "Consume"
            body = self._around(n.func, what, f"End {what.lower()}", body)
        return Produce(n.func, n.producing, body)

    def _around(self, f: Function, begin: str, end: str, body: Stmt) -> Stmt:
        region = self.regions.get(f)
        if region is None:
            dims = f.buffers[0].dims
            region = tuple([e for d in dims for e in (d.min, d.extent)])
        at = ", ".join(["%"] * len(region))
        lines = [_note(f"{what} {f.label}.0({at})", region) for what in (begin, end)]
        return block(lines[0], body, lines[1])


def _provides(s: Stmt, f: Function) -> bool:
    return any(isinstance(n, Provide | ProvideExtern) and n.func is f for n in nodes(s))


def _escaped(text: str) -> str:
    """A text as it stands in a line, where one % would be a number."""
    return text.replace("%", "%%")


def _note(line: str, numbers: Sequence[Expr] = ()) -> Stmt:
    """A line with some numbers."""
    zero = int32(0)
    said = StringImm(Handle(), line)
    return Evaluate(Intrinsic(zero.type, "trace", (zero, said, *numbers)))


__all__ = ["is_traced", "trace_accesses", "trace_realizations"]
