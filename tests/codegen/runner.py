"""Executes lowered statements in plain Python: the oracle for the code generator."""

from __future__ import annotations

from typing import Any

from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.evaluate import evaluate_lanes
from parhelion.ir.expr import Expr, Var
from parhelion.ir.rewrite import substitute
from parhelion.ir.stmt import Stmt
from parhelion.ir.symbols import BufferSym


class Failed(Exception):
    """An assertion failed: its code and arguments."""


class Runner:
    """Buffers are flat Python lists; `env` holds the values of Vars."""

    def __init__(
        self, buffers: dict[BufferSym, list[Any]], env: dict[Var, Any]
    ) -> None:
        self.buffers = buffers
        self.env = env
        #: Vector lets, which `evaluate` does not know, are put in where they are used:
        #: right as long as what they load stays.
        self.vectors: dict[Var, Expr] = {}

    def lanes(self, e: Expr) -> tuple[Any, ...]:
        def load(node: Expr, at: tuple[int, ...]) -> Any:
            assert isinstance(node, E.Load)
            return self.buffers[node.buffer][at[0]]

        return evaluate_lanes(substitute(e, self.vectors), self.env, load)

    def one(self, e: Expr) -> Any:
        return self.lanes(e)[0]

    def run(self, s: Stmt) -> None:
        match s:
            case S.Block(items):
                for item in items:
                    self.run(item)
            case S.LetStmt(var, value):
                if var.type.count > 1:
                    self.vectors[var] = value
                else:
                    self.env[var] = self.one(value)
            case S.Allocate(buffer, extents):
                size = 1
                for extent in extents:
                    size *= self.one(extent)
                self.buffers[buffer] = [0] * (size + s.padding)
            case S.Free() | S.Barrier():
                pass
            case S.Atomic():
                self.run(s.body)
            case S.For(var, low, extent, _, body):
                start = self.one(low)
                for i in range(start, start + self.one(extent)):
                    self.env[var] = i
                    self.run(body)
            case S.If(cond, then, otherwise):
                if self.one(cond):
                    self.run(then)
                elif otherwise is not None:
                    self.run(otherwise)
            case S.Store(buffer, value, index, predicate):
                values, at = self.lanes(value), self.lanes(index)
                mask = self.lanes(predicate) if predicate is not None else None
                for k, (v, i) in enumerate(zip(values, at, strict=True)):
                    if mask is None or mask[k]:
                        self.buffers[buffer][i] = v
            case S.Assert(cond, code, args):
                if not self.one(cond):
                    raise Failed(
                        code,
                        *[
                            a.value if isinstance(a, E.StringImm) else self.one(a)
                            for a in args
                        ],
                    )
            case S.Evaluate(value):
                self.one(value)
            case _:
                raise AssertionError(f"the runner met {type(s).__name__}")


__all__ = ["Failed", "Runner"]
