"""The language's meaning in its slowest form: one point at a time, in plain Python.

An oracle for the interpreter: it walks updates exactly in their order and evaluates
each value with `ir.evaluate`. Funcs are tabulated over boxes that the caller gives.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from parhelion.ir import expr as E
from parhelion.ir.evaluate import Value, evaluate
from parhelion.ir.expr import Expr, Var
from parhelion.ir.function import Function

Table = dict[tuple[int, ...], list[Value]]


class Pointwise:
    """Values of Funcs over `boxes` of (min, extent) pairs, made on first use."""

    def __init__(self, boxes: Mapping[Function, list[tuple[int, int]]]) -> None:
        self.boxes = boxes
        self.tables: dict[Function, Table] = {}

    def table(self, func: Function) -> Table:
        if func not in self.tables:
            self.tables[func] = {}
            self._fill(func, self.tables[func])
        return self.tables[func]

    def _load(self, e: Expr, at: tuple[int, ...]) -> Value:
        assert isinstance(e, E.FuncCall)
        return self.table(e.func)[at][e.index]

    def _fill(self, func: Function, table: Table) -> None:
        box = [range(low, low + n) for low, n in self.boxes[func]]
        assert func.pure is not None
        for point in itertools.product(*box):
            env: dict[Var, Value] = dict(zip(func.args, point, strict=True))
            table[point] = [evaluate(v, env, self._load) for v in func.pure.values]
        for update in func.updates:
            spans: list[tuple[Var, range]] = []
            if update.rdom is not None:
                for v, low, n in zip(
                    update.rdom.vars, update.rdom.mins, update.rdom.extents, strict=True
                ):
                    first, count = int(evaluate(low, {})), int(evaluate(n, {}))
                    spans.append((v, range(first, first + count)))
            spans.reverse()
            pure = [
                (v, span)
                for v, arg, span in zip(func.args, update.args, box, strict=True)
                if arg is v
            ]
            every = spans + pure
            for point in itertools.product(*[span for _, span in every]):
                env = {v: p for (v, _), p in zip(every, point, strict=True)}
                if update.rdom is not None and not evaluate(
                    update.rdom.predicate, env, self._load
                ):
                    continue
                at = tuple([int(evaluate(a, env, self._load)) for a in update.args])
                made = [evaluate(v, env, self._load) for v in update.values]
                if at in table:
                    table[at] = made
