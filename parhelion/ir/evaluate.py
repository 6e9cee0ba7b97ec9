"""Exact evaluation of one expression at one point, in plain Python.

This is the language's semantics as executable text: wrapping integers, division that
leaves a non-negative remainder, division by zero giving 0, float operations rounded
one by one. Fuzz tests compare the simplifier, the analyses and the code generator
with it; the compiler uses it to fold constants. What an operation makes of numbers is
in `ir.scalars`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from parhelion.errors import InternalError, here
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr, Var
from parhelion.ir.externs import FUNCTIONS, stage
from parhelion.ir.failures import FAILURES
from parhelion.ir.scalars import (
    INTRINSICS,
    REDUCTIONS,
    Value,
    binary,
    cast_value,
    divide,
    from_bits,
    nan_unless,
    to_bits,
)
from parhelion.types import Type, round_float

#: Answers what a Load, ImageLoad or FuncCall finds at integer coordinates.
Loader = Callable[[Expr, tuple[int, ...]], Value]


def evaluate(e: Expr, env: Mapping[Var, Value], load: Loader | None = None) -> Value:
    """The value of a scalar expression where the Vars are as `env` says.

    A Var that `env` lacks is looked up through its let value. Raises InternalError
    for a Var without either, a vector, or a load without `load`.
    """
    if e.type.count != 1:
        raise InternalError(f"internal error: evaluate() of a {e.type} expression")
    return Evaluator(env, load).go(e, 0)


def evaluate_lanes(
    e: Expr, env: Mapping[Var, Value], load: Loader | None = None
) -> tuple[Value, ...]:
    """The values of all lanes of an expression (one for a scalar)."""
    at = Evaluator(env, load)
    return tuple([at.go(e, i) for i in range(e.type.count)])


class Evaluator:
    """Evaluates expressions of one place of a program: `go(e, lane)` gives one lane.

    Results are memoised, so that each load happens once: an Evaluator is of use as
    long as `env` and what `load` finds stay as they are.
    """

    def __init__(self, env: Mapping[Var, Value], load: Loader | None) -> None:
        self.env = dict(env)
        self.load = load
        self.memo: dict[tuple[Expr, int], Value] = {}
        self.lets: dict[Var, Expr] = {}
        self.answers: dict[Expr, list[int]] = {}

    def go(self, e: Expr, lane: int) -> Value:
        key = (e, lane)
        found = self.memo.get(key)
        if found is None:
            handler = _TABLE.get(type(e))
            if handler is None:
                raise InternalError(f"internal error: cannot evaluate {e!r}")
            found = self.memo[key] = handler(self, e, lane)
        return found

    def imm(self, e: E.Imm, lane: int) -> Value:
        return bool(e.value) if e.type.is_bool() else e.value

    def float_imm(self, e: E.FloatImm, lane: int) -> Value:
        return e.value

    def var(self, e: Var, lane: int) -> Value:
        found = self.env.get(e)
        if found is not None:
            return found
        if e.value is None:
            raise InternalError(f"internal error: no value for {e!r}")
        return self.go(e.value, lane)

    def let(self, e: E.Let, lane: int) -> Value:
        value = self.go(e.value, lane)
        if self.lets.setdefault(e.var, e.value) is not e.value:
            # One Var bound to two values in one expression: keep the memos apart.
            inner = Evaluator(self.env | {e.var: value}, self.load)
            return inner.go(e.body, lane)
        self.env[e.var] = value
        return self.go(e.body, lane)

    def binary(self, e: E.Add, lane: int) -> Value:
        return binary(type(e), e.a.type, self.go(e.a, lane), self.go(e.b, lane))

    def logical_not(self, e: E.Not, lane: int) -> Value:
        return not self.go(e.a, lane)

    def select(self, e: E.Select, lane: int) -> Value:
        cond = self.go(e.cond, lane if e.cond.type.count > 1 else 0)
        return self.go(e.a if cond else e.b, lane)

    def cast(self, e: E.Cast, lane: int) -> Value:
        return cast_value(self.go(e.a, lane), e.type)

    def reinterpret(self, e: E.Reinterpret, lane: int) -> Value:
        old, new = e.a.type, e.type
        if old.width == new.width:
            return from_bits(to_bits(self.go(e.a, lane), old), new)
        if new.width > old.width:
            n = new.width // old.width
            bits = 0
            for k in range(n):
                bits |= to_bits(self.go(e.a, lane * n + k), old) << (k * old.width)
            return from_bits(bits, new)
        n = old.width // new.width
        bits = to_bits(self.go(e.a, lane // n), old) >> (lane % n * new.width)
        return from_bits(bits & ((1 << new.width) - 1), new)

    def broadcast(self, e: E.Broadcast, lane: int) -> Value:
        return self.go(e.value, lane % e.value.type.count)

    def ramp(self, e: E.Ramp, lane: int) -> Value:
        base, stride = self.go(e.base, 0), self.go(e.stride, 0)
        step = binary(E.Mul, e.base.type, cast_value(lane, e.base.type), stride)
        return binary(E.Add, e.base.type, base, step)

    def shuffle(self, e: E.Shuffle, lane: int) -> Value:
        at = e.indices[lane]
        for v in e.vectors:
            if at < v.type.count:
                return self.go(v, at)
            at -= v.type.count
        raise InternalError(f"internal error: Shuffle index {e.indices[lane]}")

    def vector_reduce(self, e: E.VectorReduce, lane: int) -> Value:
        n = e.value.type.count // e.lanes
        out = self.go(e.value, lane * n)
        for k in range(1, n):
            other = self.go(e.value, lane * n + k)
            out = binary(REDUCTIONS[e.op], e.type, out, other)
        return out

    def flat_load(self, e: E.Load, lane: int) -> Value:
        if e.predicate is not None and not self.go(e.predicate, lane):
            return cast_value(0, e.type)
        return self._loaded(e, (e.index,), lane)

    def image_load(self, e: E.ImageLoad, lane: int) -> Value:
        return self._loaded(e, e.args, lane)

    def _loaded(self, e: Expr, args: tuple[Expr, ...], lane: int) -> Value:
        if self.load is None:
            raise InternalError(f"internal error: evaluate() without load meets {e!r}")
        at = tuple([int(self.go(a, lane if a.type.count > 1 else 0)) for a in args])
        return self.load(e, at)

    def intrinsic(self, e: E.Intrinsic, lane: int) -> Value:
        op = e.op
        if op in ("print", "trace", "likely", "likely_if_innermost"):
            return self.go(e.args[0], lane)
        if op == "strict_float":
            return self.go(_expansion(e) or _all_strict(e.args[0]), lane)
        if op in ("promise_clamped", "known_clamped", "memoize_tag", "texel"):
            return self.go(e.args[0], lane)
        if op == "guarded":
            held = self.go(e.args[1], lane)
            return self.go(e.args[0], lane) if held else cast_value(0, e.type)
        if op == "print_when":
            return self.go(e.args[1], lane)
        if op == "undef":
            return cast_value(0, e.type)
        if op == "require":
            return self.required(e, lane)
        if op == "extern_bound":
            return self.foreign(e, lane)
        scalar = INTRINSICS.get(op)
        if scalar is not None:
            args = [self.go(a, lane) for a in e.args]
            return scalar(e.type, e.args[0].type, *args)
        expansion = _expansion(e)
        if expansion is not None:
            return self.go(expansion, lane)
        args = [self.go(a, lane) for a in e.args]
        return _library(op, e.type, [float(a) for a in args])

    def required(self, e: E.Intrinsic, lane: int) -> Value:
        """What is only there under a condition. Raises PipelineRuntimeError, with its
        words, where that does not hold."""
        if not self.go(e.args[0], lane):
            parts = [
                a.value if type(a) is E.StringImm else str(self.go(a, lane))
                for a in e.args[2:]
            ]
            failure = FAILURES["require"]
            error = failure.error(failure.template.format("".join(parts)), at=here())
            error.failure = "require"
            raise error
        return self.go(e.args[1], lane)

    def foreign(self, e: E.Intrinsic, lane: int) -> int:
        """A number of the answer of a foreign stage, which is asked once."""
        asked = e.args[0]
        while type(asked) is Var and asked.value is not None:
            asked = asked.value
        if type(asked) is not E.Intrinsic or type(asked.args[0]) is not E.StringImm:
            raise InternalError(f"internal error: cannot evaluate {e!r}")
        known = self.answers.get(asked)
        if known is None:
            code = stage(asked.args[0].value)
            given = [self.go(a, lane) for a in asked.args[1:]]
            count = sum([not p.is_buffer for p in code.params])
            box = [int(v) for v in given[count:]]
            read = code.query(
                given[:count], list(zip(box[::2], box[1::2], strict=True))
            )
            known = [n for part in read for pair in part for n in pair]
            self.answers[asked] = known
        return known[int(self.go(e.args[1], lane))]

    def c_function(self, e: E.Extern, lane: int) -> Value:
        known = FUNCTIONS.get(e.name)
        if known is None:
            raise InternalError(f"internal error: cannot evaluate {e!r}")
        made: Value = known.call(*[self.go(a, lane) for a in e.args])
        return cast_value(made, e.type)


def _expansion(e: E.Intrinsic) -> Expr | None:
    """The definition of an intrinsic in basic nodes, where `ir.mathlib` has one."""
    # Imported here: few expressions need it, and every start of the compiler would pay.
    from parhelion.ir.rounding import expanded

    return expanded(e)


def _all_strict(e: Expr) -> Expr:
    """`e` with the mark of `strict_float` around each function in it."""
    from parhelion.ir.rounding import Decision

    return Decision(strict=True).go(e)


def _library(op: str, to: Type, args: list[float]) -> Value:
    """What has no definition of ours comes from NumPy, in the result's precision."""
    import numpy as np

    name = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "pow": "power"}
    name |= {"atan2": "arctan2", "asinh": "arcsinh", "acosh": "arccosh"}
    name |= {"atanh": "arctanh"}
    dtype = np.float64 if to.width == 64 else np.float32
    op = op.removeprefix("fast_")
    if op == "erf":
        return round_float(math.erf(args[0]), to)
    if op == "inverse":
        return round_float(divide(1.0, args[0], to), to)
    if op == "inverse_sqrt":
        root = round_float(nan_unless(math.sqrt, args[0]), to)
        return round_float(divide(1.0, root, to), to)
    f = getattr(np, name.get(op, op), None)
    if f is None or not to.is_float():
        raise InternalError(f"internal error: cannot evaluate the intrinsic {op!r}")
    with np.errstate(all="ignore"):
        return round_float(float(f(*[dtype(a) for a in args])), to)


_TABLE: dict[type[Expr], Callable[[Evaluator, Any, int], Value]] = {
    E.Imm: Evaluator.imm,
    E.FloatImm: Evaluator.float_imm,
    Var: Evaluator.var,
    E.Let: Evaluator.let,
    E.Not: Evaluator.logical_not,
    E.Select: Evaluator.select,
    E.Cast: Evaluator.cast,
    E.Reinterpret: Evaluator.reinterpret,
    E.Broadcast: Evaluator.broadcast,
    E.Ramp: Evaluator.ramp,
    E.Shuffle: Evaluator.shuffle,
    E.VectorReduce: Evaluator.vector_reduce,
    E.Load: Evaluator.flat_load,
    E.ImageLoad: Evaluator.image_load,
    E.FuncCall: Evaluator.image_load,
    E.Intrinsic: Evaluator.intrinsic,
    E.Extern: Evaluator.c_function,
    **dict.fromkeys(E.BINARY, Evaluator.binary),
}

__all__ = ["Evaluator", "Loader", "Value", "evaluate", "evaluate_lanes"]
