"""Exact evaluation of one expression at one point, in plain Python.

This is the language's semantics as executable text: wrapping integers, division that
leaves a non-negative remainder, division by zero giving 0, float operations rounded
one by one. Fuzz tests compare the simplifier, the analyses and the code generator
with it; the compiler uses it to fold constants.

Floats are computed as Python floats and rounded to their type after each operation.
For +, -, *, / and sqrt that is exact: double precision has more than twice the digits
of every narrower type, so rounding twice gives what rounding once does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from parhelion.errors import InternalError, PipelineRuntimeError
from parhelion.ir import expr as E
from parhelion.ir.build import floor_div, floor_mod
from parhelion.ir.expr import Expr, Var, float_bits
from parhelion.ir.externs import FUNCTIONS, stage
from parhelion.types import Float, Type, round_float

Value = int | float | bool
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
            return _from_bits(_to_bits(self.go(e.a, lane), old), new)
        if new.width > old.width:
            n = new.width // old.width
            bits = 0
            for k in range(n):
                bits |= _to_bits(self.go(e.a, lane * n + k), old) << (k * old.width)
            return _from_bits(bits, new)
        n = old.width // new.width
        bits = _to_bits(self.go(e.a, lane // n), old) >> (lane % n * new.width)
        return _from_bits(bits & ((1 << new.width) - 1), new)

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
            out = binary(_REDUCTIONS[e.op], e.type, out, other)
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
        if op in ("promise_clamped", "known_clamped", "memoize_tag"):
            return self.go(e.args[0], lane)
        if op == "guarded":
            held = self.go(e.args[1], lane)
            return self.go(e.args[0], lane) if held else cast_value(0, e.type)
        if op == "print_when":
            return self.go(e.args[1], lane)
        if op == "undef":
            return cast_value(0, e.type)
        if op == "require":
            if not self.go(e.args[0], lane):
                raise PipelineRuntimeError("requirement failed")
            return self.go(e.args[1], lane)
        if op == "extern_bound":
            return self.foreign(e, lane)
        scalar = _INTRINSICS.get(op)
        if scalar is not None:
            args = [self.go(a, lane) for a in e.args]
            return scalar(e.type, e.args[0].type, *args)
        expansion = _expansion(e)
        if expansion is not None:
            return self.go(expansion, lane)
        args = [self.go(a, lane) for a in e.args]
        return _library(op, e.type, [float(a) for a in args])

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


def binary(kind: type[Expr], of: Type, a: Value, b: Value) -> Value:
    """One binary node's operation on two values of type `of`."""
    if kind in _COMPARE:
        return bool(_COMPARE[kind](a, b))
    if of.is_float():
        return round_float(_FLOAT[kind](float(a), float(b), of), of)
    out = of.wrap(_INT[kind](int(a), int(b)))
    return bool(out) if of.is_bool() else out


def cast_value(value: Value, to: Type) -> Value:
    """`Cast` of a value (of whatever type) to `to`. Out of range floats saturate."""
    if to.is_float():
        return round_float(value, to)
    if to.is_bool():
        return value != 0
    if isinstance(value, float):
        return saturate(value, to)
    return to.wrap(value)


def saturate(value: Value, to: Type) -> int:
    """A number truncated and clamped to an integer type; NaN gives 0."""
    low, high = int(to.lowest()), int(to.highest())
    if isinstance(value, float):
        if math.isnan(value):
            return 0
        if math.isinf(value):
            return high if value > 0 else low
        value = math.trunc(value)
    return min(max(int(value), low), high)


def _to_bits(value: Value, of: Type) -> int:
    if of.is_float():
        return float_bits(float(value), of)
    return int(value) & ((1 << of.width) - 1)


def _from_bits(bits: int, to: Type) -> Value:
    if not to.is_float():
        return bool(bits) if to.is_bool() else to.wrap(bits)
    return E.FloatImm(to.element_of(), bits).value


def _divide(a: float, b: float, of: Type) -> float:
    if b == 0.0:
        if a == 0.0 or math.isnan(a):
            return math.nan
        return math.copysign(math.inf, math.copysign(1.0, a) * math.copysign(1.0, b))
    return a / b


def _float_mod(a: float, b: float, of: Type) -> float:
    """``a - b * floor(a / b)``, each operation rounded."""
    q = _whole(math.floor, round_float(_divide(a, b, of), of))
    return a - round_float(b * q, of)


def _whole(f: Callable[[float], int], x: float) -> float:
    """A function to the integers, of any float; keeps the sign of zero."""
    if math.isnan(x) or math.isinf(x):
        return x
    return math.copysign(float(f(x)), x)


def _nan_unless(f: Callable[[float], float], x: float) -> float:
    try:
        return f(x)
    except ValueError:
        return math.nan


_COMPARE: dict[type[Expr], Callable[[Any, Any], bool]] = {
    E.EQ: lambda a, b: a == b,
    E.NE: lambda a, b: a != b,
    E.LT: lambda a, b: a < b,
    E.LE: lambda a, b: a <= b,
    E.And: lambda a, b: a and b,
    E.Or: lambda a, b: a or b,
}
_INT: dict[type[Expr], Callable[[int, int], int]] = {
    E.Add: int.__add__,
    E.Sub: int.__sub__,
    E.Mul: int.__mul__,
    E.Div: floor_div,
    E.Mod: floor_mod,
    E.Min: min,
    E.Max: max,
}
_FLOAT: dict[type[Expr], Callable[[float, float, Type], float]] = {
    E.Add: lambda a, b, of: a + b,
    E.Sub: lambda a, b, of: a - b,
    E.Mul: lambda a, b, of: a * b,
    E.Div: _divide,
    E.Mod: _float_mod,
    E.Min: lambda a, b, of: b if b < a else a,
    E.Max: lambda a, b, of: b if b > a else a,
}
_REDUCTIONS: dict[str, type[Expr]] = {
    "add": E.Add,
    "mul": E.Mul,
    "min": E.Min,
    "max": E.Max,
    "and": E.And,
    "or": E.Or,
}


def _shift_left(a: int, b: int) -> int:
    # Beyond any width all is shifted out; the cap keeps Python's numbers small.
    return a << min(b, 256) if b >= 0 else a >> min(-b, 256)


def _rounding_shift_right(a: int, b: int) -> int:
    return (a + (1 << (b - 1))) >> b if b > 0 else a << -b


def _truncated(a: int, b: int) -> int:
    q = abs(a) // abs(b) if b else 0
    return q if (a < 0) == (b < 0) else -q


def _mod_truncated(a: int, b: int) -> int:
    return a - b * _truncated(a, b) if b else 0


def _wrapping(f: Callable[..., int]) -> Callable[..., Value]:
    return lambda to, of, *args: to.wrap(f(*args))


def _saturating(f: Callable[..., int]) -> Callable[..., Value]:
    return lambda to, of, *args: saturate(f(*args), to)


def fused(a: float, b: float, c: float, of: Type) -> float:
    """``a * b + c``, rounded once to the float type `of`."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c  # however large the product is
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        # A product that is not zero is -c, and no rounding has lost its sign.
        return a * b + c
    try:
        near = exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
    if of.width < 64 and Fraction(near) != exact:
        near = _odd(near, exact)
    return round_float(near, of)


def _odd(near: float, exact: Fraction) -> float:
    """`exact`, which is nearest to `near`, rounded to odd: to that of its neighbours
    with an odd last digit, so that a second rounding sees what was dropped."""
    if abs(Fraction(near)) > abs(exact):
        near = math.nextafter(near, 0.0)
    bits = float_bits(near, Float(64)) | 1
    return E.FloatImm(Float(64), bits).value


def _fused(f: Callable[[float, float, float, Type], float]) -> Callable[..., Value]:
    return lambda to, of, a, b, c: f(float(a), float(b), float(c), to)


def _real(f: Callable[[float], float]) -> Callable[..., Value]:
    return lambda to, of, a: round_float(f(a), to)


def _absolute(to: Type, of: Type, a: Value) -> Value:
    return math.fabs(a) if of.is_float() else to.wrap(abs(int(a)))


def _distance(to: Type, of: Type, a: Value, b: Value) -> Value:
    if of.is_float():
        return math.fabs(round_float(a - b, of))
    return to.wrap(abs(int(a) - int(b)))


def _popcount(to: Type, of: Type, a: int) -> Value:
    return (int(a) & ((1 << of.width) - 1)).bit_count()


def _leading(to: Type, of: Type, a: int) -> Value:
    return of.width - (int(a) & ((1 << of.width) - 1)).bit_length()


def _trailing(to: Type, of: Type, a: int) -> Value:
    bits = int(a) & ((1 << of.width) - 1)
    return (bits & -bits).bit_length() - 1 if bits else of.width


def _saturating_cast(to: Type, of: Type, a: Value) -> Value:
    return cast_value(a, to) if to.is_float() or to.is_bool() else saturate(a, to)


#: By name: what the intrinsic gives for (result type, first argument's type, values).
_INTRINSICS: dict[str, Callable[..., Value]] = {
    "bit_and": _wrapping(lambda a, b: a & b),
    "bit_or": _wrapping(lambda a, b: a | b),
    "bit_xor": _wrapping(lambda a, b: a ^ b),
    "bit_not": _wrapping(lambda a: ~int(a)),
    "shift_left": _wrapping(_shift_left),
    "shift_right": _wrapping(lambda a, b: _shift_left(a, -b)),
    "popcount": _popcount,
    "clz": _leading,
    "ctz": _trailing,
    "abs": _absolute,
    "absd": _distance,
    "div_round_to_zero": _wrapping(_truncated),
    "mod_round_to_zero": _wrapping(_mod_truncated),
    "widening_add": _wrapping(lambda a, b: a + b),
    "widening_sub": _wrapping(lambda a, b: a - b),
    "widening_mul": _wrapping(lambda a, b: a * b),
    "widening_shift_left": _wrapping(_shift_left),
    "widening_shift_right": _wrapping(lambda a, b: _shift_left(a, -b)),
    "widen_right_add": _wrapping(lambda a, b: a + b),
    "widen_right_sub": _wrapping(lambda a, b: a - b),
    "widen_right_mul": _wrapping(lambda a, b: a * b),
    "halving_add": _wrapping(lambda a, b: (a + b) >> 1),
    "halving_sub": _wrapping(lambda a, b: (a - b) >> 1),
    "rounding_halving_add": _wrapping(lambda a, b: (a + b + 1) >> 1),
    "rounding_shift_left": _wrapping(lambda a, b: _rounding_shift_right(a, -b)),
    "rounding_shift_right": _wrapping(_rounding_shift_right),
    "saturating_add": _saturating(lambda a, b: a + b),
    "saturating_sub": _saturating(lambda a, b: a - b),
    "saturating_cast": _saturating_cast,
    "mul_shift_right": _saturating(lambda a, b, c: (a * b) >> c),
    "rounding_mul_shift_right": _saturating(
        lambda a, b, c: _rounding_shift_right(a * b, c)
    ),
    "mul_add": _fused(fused),
    "mul_sub": _fused(lambda a, b, c, of: fused(a, b, -c, of)),
    "sub_mul": _fused(lambda a, b, c, of: fused(-a, b, c, of)),
    "sqrt": _real(lambda x: _nan_unless(math.sqrt, x)),
    "floor": _real(lambda x: _whole(math.floor, x)),
    "ceil": _real(lambda x: _whole(math.ceil, x)),
    "round": _real(lambda x: _whole(round, x)),
    "trunc": _real(lambda x: _whole(math.trunc, x)),
    "is_nan": lambda to, of, a: math.isnan(a),
    "is_inf": lambda to, of, a: math.isinf(a),
    "is_finite": lambda to, of, a: math.isfinite(a),
}


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
        return round_float(_divide(1.0, args[0], to), to)
    if op == "inverse_sqrt":
        root = round_float(_nan_unless(math.sqrt, args[0]), to)
        return round_float(_divide(1.0, root, to), to)
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

__all__ = [
    "Evaluator",
    "Loader",
    "Value",
    "binary",
    "cast_value",
    "evaluate",
    "evaluate_lanes",
]
