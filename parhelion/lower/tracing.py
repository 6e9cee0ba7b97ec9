"""`trace_stores` and `trace_loads`: a printed line for each store or load that runs.

Runs while Funcs still have coordinates, before storage is flattened. A line is the
value, what happens to it, the Func and the coordinates.
"""

from __future__ import annotations

from parhelion.ir.expr import Expr, FuncCall, Intrinsic, StringImm
from parhelion.ir.function import Function
from parhelion.ir.rewrite import Rewriter
from parhelion.ir.stmt import Provide, Stmt
from parhelion.types import Handle


def trace_accesses(s: Stmt) -> Stmt:
    """`s`, printing where the Funcs in it ask for that."""
    return _Tracer().go(s)


class _Tracer(Rewriter):
    def on_provide(self, n: Provide) -> Stmt:
        values = tuple([self.go(v) for v in n.values])
        args = tuple([self.go(a) for a in n.args])
        where = None if n.predicate is None else self.go(n.predicate)
        if n.func.schedule.trace_stores:
            values = tuple(
                [
                    _noted(v, where, f"stored in {_place(n.func, i)}", args)
                    for i, v in enumerate(values)
                ]
            )
        return Provide(n.func, values, args, where)

    def on_funccall(self, n: FuncCall) -> Expr:
        args = tuple([self.go(a) for a in n.args])
        call = FuncCall(n.type, n.func, args, n.index)
        if not n.func.schedule.trace_loads:
            return call
        return _noted(call, None, f"loaded from {_place(n.func, n.index)}", args)


def _place(f: Function, index: int) -> str:
    return f"{f.name}.{index} at" if len(f.types) > 1 else f"{f.name} at"


def _noted(value: Expr, where: Expr | None, what: str, args: tuple[Expr, ...]) -> Expr:
    """`value`, printed with `what` and the coordinates."""
    if isinstance(value, Intrinsic) and value.op == "undef":
        return value
    shown = (value, StringImm(Handle(), what), *args)
    if where is None:
        return Intrinsic(value.type, "print", shown)
    return Intrinsic(value.type, "print_when", (where, *shown))
