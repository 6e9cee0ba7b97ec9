"""Constant intervals: what an expression's value can lie between, by its node alone.

An interval is a pure function of the node (types, `Var.lo`, `Var.hi`, `Var.value`)
and is cached on it. Two facts are computed together:

- `constant_interval(e)`: inclusive bounds of the value; None where unbounded. Types
  other than int32 and int64 always have finite integer bounds. For a float the
  interval speaks of the values that are not NaN. A cast of an out-of-range float
  (or NaN) to an integer is unspecified, so the interval may leave it out.
- `tame(e)`: whether arithmetic can be reasoned about as on unlimited integers. A sum
  or product is tame if its bounds prove that it does not wrap, or if it is index
  arithmetic: int32 or int64, made of tame operands. A 32-bit pixel value (`Load`,
  `FuncCall`, …) is not tame unless bounded, so arithmetic on it wraps as the language
  says.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from parhelion.ir.build import floor_div
from parhelion.ir.expr import (
    EQ,
    LE,
    LT,
    NE,
    Add,
    And,
    Broadcast,
    Cast,
    Div,
    Expr,
    FloatImm,
    Imm,
    Intrinsic,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Ramp,
    Select,
    Shuffle,
    Sub,
    Var,
    VectorReduce,
)
from parhelion.types import Type, TypeCode, round_float

Number = int | float


class Interval(NamedTuple):
    """Inclusive bounds; None is unbounded."""

    lo: Number | None
    hi: Number | None

    def contains(self, value: Number) -> bool:
        return (self.lo is None or self.lo <= value) and (
            self.hi is None or value <= self.hi
        )

    def single(self) -> Number | None:
        """The only value, if there is just one."""
        return self.lo if self.lo == self.hi else None

    def intersect(self, other: Interval) -> Interval:
        lo = self.lo if other.lo is None else other.lo
        if self.lo is not None and other.lo is not None:
            lo = max(self.lo, other.lo)
        hi = self.hi if other.hi is None else other.hi
        if self.hi is not None and other.hi is not None:
            hi = min(self.hi, other.hi)
        return Interval(lo, hi)

    def union(self, other: Interval) -> Interval:
        return Interval(
            None if self.lo is None or other.lo is None else min(self.lo, other.lo),
            None if self.hi is None or other.hi is None else max(self.hi, other.hi),
        )


FULL = Interval(None, None)
_BOOL = Interval(0, 1)

#: The interval and the tameness of a node.
Fact = tuple[Interval, bool]
_Get = Callable[[Expr], Fact]

_TYPE_FACTS: dict[Type, Fact] = {}


def is_index_type(t: Type) -> bool:
    """Whether arithmetic of `t` may be assumed not to overflow: int32 and int64."""
    return t.kind is TypeCode.Int and t.width >= 32


def type_interval(t: Type) -> Interval:
    """What any value of the type lies between: unbounded for int32, int64, floats."""
    return _type_fact(t)[0]


def _type_fact(t: Type) -> Fact:
    found = _TYPE_FACTS.get(t)
    if found is None:
        if t.kind is TypeCode.UInt or (t.kind is TypeCode.Int and t.width < 32):
            found = Interval(t.lowest(), t.highest()), True
        else:
            found = FULL, False
        _TYPE_FACTS[t] = found
    return found


def fits(t: Type, lo: Number | None, hi: Number | None) -> bool:
    """Whether no finite bound lies outside the integer type."""
    return (lo is None or lo >= t.lowest()) and (hi is None or hi <= t.highest())


def _result(t: Type, lo: Number | None, hi: Number | None, operands_tame: bool) -> Fact:
    """The fact of an integer operation whose exact result lies in [lo, hi]."""
    if not fits(t, lo, hi):
        known = _type_fact(t)[0]
        return known, False
    if lo is not None and hi is not None:
        return Interval(lo, hi), True
    return (Interval(lo, hi), True) if operands_tame else (FULL, False)


def _chosen(interval: Interval, tame_operands: bool) -> Fact:
    """The fact of an operation that picks one of its operands."""
    finite = interval.lo is not None and interval.hi is not None
    return interval, finite or tame_operands


def add_intervals(a: Interval, b: Interval) -> Interval:
    return Interval(
        None if a.lo is None or b.lo is None else a.lo + b.lo,
        None if a.hi is None or b.hi is None else a.hi + b.hi,
    )


def scale_interval(a: Interval, k: int) -> Interval:
    """k * a, exactly."""
    if k == 0:
        return Interval(0, 0)
    lo = None if a.lo is None else a.lo * k
    hi = None if a.hi is None else a.hi * k
    return Interval(lo, hi) if k > 0 else Interval(hi, lo)


def _mul_intervals(a: Interval, b: Interval) -> Interval:
    ka, kb = a.single(), b.single()
    if kb is not None:
        return scale_interval(a, int(kb))
    if ka is not None:
        return scale_interval(b, int(ka))
    if None not in a and None not in b:
        corners = [p * q for p in a for q in b]  # type: ignore[operator]
        return Interval(min(corners), max(corners))
    # With an unbounded side only the sign can be known.
    if a.lo is not None and b.lo is not None and a.lo >= 0 and b.lo >= 0:
        return Interval(a.lo * b.lo, None)
    if a.hi is not None and b.hi is not None and a.hi <= 0 and b.hi <= 0:
        return Interval(a.hi * b.hi, None)
    for p, q in ((a, b), (b, a)):
        if p.lo is not None and p.lo >= 0 and q.hi is not None and q.hi <= 0:
            return Interval(None, p.lo * q.hi)
    return FULL


def _div_intervals(a: Interval, b: Interval) -> Interval:
    """Division of the language, for any divisor in b; zero gives zero."""
    if b.lo is None or b.hi is None or a.lo is None or a.hi is None:
        if b.lo is not None and b.lo > 0:
            # Dividing by something positive moves the value towards zero (or -1).
            least, most = b.lo, b.hi
            lo = hi = None
            if a.lo is not None:
                lo = min(floor_div(int(a.lo), int(least)), 0 if a.lo >= 0 else -1)
                if a.lo >= 0:
                    lo = 0 if most is None else floor_div(int(a.lo), int(most))
            if a.hi is not None:
                hi = floor_div(int(a.hi), int(least))
                if a.hi < 0:
                    hi = -1 if most is None else floor_div(int(a.hi), int(most))
            return Interval(lo, hi)
        if a.lo is not None and a.hi is not None:
            reach = max(abs(a.lo), abs(a.hi))
            return Interval(-reach, reach)
        if b.single() is not None and b.lo is not None and b.lo < 0:
            positive = _div_intervals(a, Interval(-b.lo, -b.lo))
            return scale_interval(positive, -1)
        return FULL
    divisors = {int(b.lo), int(b.hi)}
    divisors |= {k for k in (-1, 1) if b.lo <= k <= b.hi}
    results = [floor_div(int(n), k) for n in (a.lo, a.hi) for k in divisors if k != 0]
    if b.lo <= 0 <= b.hi:
        results.append(0)
    return Interval(min(results), max(results))


def _mod_interval(a: Interval, b: Interval) -> Interval:
    reach: Number | None = None
    if b.lo is not None and b.hi is not None:
        reach = max(abs(b.lo), abs(b.hi), 1) - 1
    lo: Number = 0
    hi = reach
    if a.lo is not None and a.lo >= 0 and a.hi is not None:
        # A dividend that is already below the divisor is its own remainder.
        if b.lo is not None and a.hi < b.lo:
            lo = a.lo
        if hi is None or a.hi < hi:
            hi = a.hi
    return Interval(lo, hi)


def _min(a: Interval, b: Interval) -> Interval:
    if a.lo is None or b.lo is None:
        lo = None
    else:
        lo = min(a.lo, b.lo)
    his = [h for h in (a.hi, b.hi) if h is not None]
    return Interval(lo, min(his) if his else None)


def _max(a: Interval, b: Interval) -> Interval:
    los = [v for v in (a.lo, b.lo) if v is not None]
    if a.hi is None or b.hi is None:
        hi = None
    else:
        hi = max(a.hi, b.hi)
    return Interval(max(los) if los else None, hi)


def never_nan(e: Expr) -> bool:
    """Whether a float expression is certainly not NaN."""
    kind = type(e)
    if kind is FloatImm:
        value = e.value  # type: ignore[attr-defined]
        return bool(value == value)
    if kind is Cast:
        return not e.a.type.is_float() or never_nan(e.a)  # type: ignore[attr-defined]
    if kind is Broadcast:
        return never_nan(e.value)  # type: ignore[attr-defined]
    if kind is Min or kind is Max:
        return never_nan(e.a) and never_nan(e.b)  # type: ignore[attr-defined]
    return False


# Handlers: the fact of a node from those of its children.


def _imm(n: Imm, get: _Get) -> Fact:
    return Interval(n.value, n.value), True


def _float_imm(n: FloatImm, get: _Get) -> Fact:
    value = n.value
    return (FULL if value != value else Interval(value, value)), False


def _var(n: Var, get: _Get) -> Fact:
    t = n.type
    known, is_tame = _type_fact(t)
    if n.value is not None:
        known, is_tame = get(n.value)
    elif is_index_type(t):
        is_tame = True
    if t.is_int_or_uint():
        if n.lo is not None:
            known = known.intersect(Interval(get(n.lo)[0].lo, None))
        if n.hi is not None:
            known = known.intersect(Interval(None, get(n.hi)[0].hi))
    if known.lo is not None and known.hi is not None:
        if known.lo > known.hi:  # Never in scope: nothing to be said.
            return _type_fact(t)[0], is_tame
        is_tame = t.is_int_or_uint()
    return known, is_tame


def _float_round(t: Type, value: Number | None) -> Number | None:
    if value is None or value != value:
        return None
    try:
        return round_float(float(value), t)
    except OverflowError:
        return None


def _float_arithmetic(
    t: Type, a: Interval, b: Interval, f: Callable[[float, float], float]
) -> Fact:
    """Rounding is monotonic, so the corners bound a monotonic float operation."""
    if None in a or None in b:
        return FULL, False
    corners = []
    for p in a:
        for q in b:
            value = f(float(p), float(q))  # type: ignore[arg-type]
            if value != value or math.isinf(value):
                return FULL, False
            corners.append(value)
    return Interval(_float_round(t, min(corners)), _float_round(t, max(corners))), False


def _add(n: Add, get: _Get) -> Fact:
    a, ta = get(n.a)
    b, tb = get(n.b)
    t = n.type
    if t.is_float():
        return _float_arithmetic(t, a, b, float.__add__)
    both = add_intervals(a, b)
    return _result(t, both.lo, both.hi, ta and tb)


def _sub(n: Sub, get: _Get) -> Fact:
    a, ta = get(n.a)
    b, tb = get(n.b)
    t = n.type
    if t.is_float():
        return _float_arithmetic(t, a, b, float.__sub__)
    both = add_intervals(a, scale_interval(b, -1))
    return _result(t, both.lo, both.hi, ta and tb)


def _mul(n: Mul, get: _Get) -> Fact:
    a, ta = get(n.a)
    b, tb = get(n.b)
    t = n.type
    if t.is_float():
        return _float_arithmetic(t, a, b, float.__mul__)
    both = _mul_intervals(a, b)
    if n.a is n.b and ta:
        both = both.intersect(Interval(0, None))
    return _result(t, both.lo, both.hi, ta and tb)


def _div(n: Div, get: _Get) -> Fact:
    a, ta = get(n.a)
    b, tb = get(n.b)
    t = n.type
    if t.is_float():
        if None not in b and not b.contains(0):
            return _float_arithmetic(t, a, b, float.__truediv__)
        return FULL, False
    both = _div_intervals(a, b)
    # Only the lowest number divided by -1 leaves the type.
    safe = (ta and tb) or (b.lo is not None and b.lo >= 0)
    made, is_tame = _result(t, both.lo, both.hi, safe)
    return made, is_tame and (ta or made.lo is not None and made.hi is not None)


def _mod(n: Mod, get: _Get) -> Fact:
    if n.type.is_float():
        return FULL, False
    a, ta = get(n.a)
    b, tb = get(n.b)
    return _chosen(_mod_interval(a, b), ta and tb)


def _minimum(n: Min, get: _Get) -> Fact:
    a, ta = get(n.a)
    b, tb = get(n.b)
    both = _min(a, b)
    if n.type.is_float():
        if not never_nan(n.b):
            both = Interval(both.lo, a.hi)
        return both, False
    return _chosen(both, ta and tb)


def _maximum(n: Max, get: _Get) -> Fact:
    a, ta = get(n.a)
    b, tb = get(n.b)
    both = _max(a, b)
    if n.type.is_float():
        if not never_nan(n.b):
            both = Interval(a.lo, both.hi)
        return both, False
    return _chosen(both, ta and tb)


def _select(n: Select, get: _Get) -> Fact:
    a, ta = get(n.a)
    b, tb = get(n.b)
    cond = get(n.cond)[0].single()
    if cond is not None:
        return (a, ta) if cond else (b, tb)
    both, is_tame = _chosen(a.union(b), ta and tb)
    return both, is_tame and n.type.is_int_or_uint()


def _bool_of(value: bool | None) -> Fact:
    if value is None:
        return _BOOL, True
    return Interval(int(value), int(value)), True


def _compare_lt(n: LT, get: _Get) -> Fact:
    a, b = get(n.a)[0], get(n.b)[0]
    if a.lo is not None and b.hi is not None and a.lo >= b.hi:
        return _bool_of(False)
    exact = not n.a.type.is_float() or (never_nan(n.a) and never_nan(n.b))
    if exact and a.hi is not None and b.lo is not None and a.hi < b.lo:
        return _bool_of(True)
    return _bool_of(None)


def _compare_le(n: LE, get: _Get) -> Fact:
    a, b = get(n.a)[0], get(n.b)[0]
    if a.lo is not None and b.hi is not None and a.lo > b.hi:
        return _bool_of(False)
    exact = not n.a.type.is_float() or (never_nan(n.a) and never_nan(n.b))
    if exact and a.hi is not None and b.lo is not None and a.hi <= b.lo:
        return _bool_of(True)
    return _bool_of(None)


def _compare_eq(n: EQ, get: _Get) -> Fact:
    return _bool_of(_equal(n, get))


def _compare_ne(n: NE, get: _Get) -> Fact:
    equal = _equal(n, get)
    return _bool_of(None if equal is None else not equal)


def _equal(n: EQ | NE, get: _Get) -> bool | None:
    a, b = get(n.a)[0], get(n.b)[0]
    if a.lo is not None and b.hi is not None and a.lo > b.hi:
        return False
    if a.hi is not None and b.lo is not None and a.hi < b.lo:
        return False
    if n.a.type.is_int_or_uint():
        ka = a.single()
        if ka is not None and ka == b.single():
            return True
    return None


def _and(n: And, get: _Get) -> Fact:
    return _min(get(n.a)[0], get(n.b)[0]), True


def _or(n: Or, get: _Get) -> Fact:
    return _max(get(n.a)[0], get(n.b)[0]), True


def _not(n: Not, get: _Get) -> Fact:
    known = get(n.a)[0].single()
    return _bool_of(None if known is None else not known)


def _cast(n: Cast, get: _Get) -> Fact:
    a, ta = get(n.a)
    t, f = n.type, n.a.type
    if t.is_float():
        return Interval(_float_round(t, a.lo), _float_round(t, a.hi)), False
    if t.is_bool():
        if not a.contains(0):
            return _bool_of(True)
        return (Interval(0, 0), True) if a.single() == 0 else (_BOOL, True)
    if not t.is_int_or_uint():
        return FULL, False
    if f.is_float():
        if a.lo is None or a.hi is None or math.isinf(a.lo) or math.isinf(a.hi):
            return _type_fact(t)
        lo, hi = math.trunc(a.lo), math.trunc(a.hi)
        return _result(t, lo, hi, False) if fits(t, lo, hi) else _type_fact(t)
    if not f.is_int_or_uint():
        return _type_fact(t)
    if t.can_represent(f):
        # A widened int32 is bounded by its old type, known or not.
        return _chosen(a, True) if ta else (_widened(f, a), True)
    if a.lo is None or a.hi is None:
        # Narrowing an unbounded index is only an index again at full width.
        return (a, True) if ta and is_index_type(t) else _type_fact(t)
    return (a, True) if fits(t, a.lo, a.hi) else _type_fact(t)


def _widened(f: Type, a: Interval) -> Interval:
    return a.intersect(Interval(f.lowest(), f.highest()))


def _let(n: Let, get: _Get) -> Fact:
    # The Var's own value speaks for it, where it is set.
    return get(n.body)


def _ramp(n: Ramp, get: _Get) -> Fact:
    base, tb = get(n.base)
    stride, ts = get(n.stride)
    t = n.type
    if t.is_float():
        return FULL, False
    last = _mul_intervals(stride, Interval(n.lanes - 1, n.lanes - 1))
    span = add_intervals(base, last.union(Interval(0, 0)))
    return _result(t, span.lo, span.hi, tb and ts)


def _broadcast(n: Broadcast, get: _Get) -> Fact:
    return get(n.value)


def _shuffle(n: Shuffle, get: _Get) -> Fact:
    made, is_tame = get(n.vectors[0])
    for v in n.vectors[1:]:
        other, t = get(v)
        made, is_tame = made.union(other), is_tame and t
    return made, is_tame


def _vector_reduce(n: VectorReduce, get: _Get) -> Fact:
    a, ta = get(n.value)
    t = n.type
    if n.op in ("min", "max", "and", "or"):
        if t.is_float() or not t.is_int_or_uint():
            return a, False
        return _chosen(a, ta)
    if n.op == "add" and t.is_int_or_uint():
        total = scale_interval(a, n.value.type.count // n.lanes)
        return _result(t, total.lo, total.hi, ta)
    return _type_fact(t)


def _intrinsic(n: Intrinsic, get: _Get) -> Fact:
    handler = _INTRINSICS.get(n.op)
    if handler is None:
        return _type_fact(n.type)
    return handler(n, get)


def _same(n: Intrinsic, get: _Get) -> Fact:
    return get(n.args[0])


def _promise_clamped(n: Intrinsic, get: _Get) -> Fact:
    a, ta = get(n.args[0])
    lo, hi = get(n.args[1])[0].lo, get(n.args[2])[0].hi
    return _chosen(a.intersect(Interval(lo, hi)), ta)


def _abs(n: Intrinsic, get: _Get) -> Fact:
    a, _ = get(n.args[0])
    if n.type.is_float():
        if a.lo is None or a.hi is None:
            return Interval(0.0, None), False
        far = max(abs(a.lo), abs(a.hi))
        return Interval(0.0 if a.contains(0) else min(abs(a.lo), abs(a.hi)), far), False
    if a.lo is None or a.hi is None:
        return _type_fact(n.type)
    near = 0 if a.contains(0) else min(abs(a.lo), abs(a.hi))
    return _result(n.type, near, max(abs(a.lo), abs(a.hi)), False)


def _bit_and(n: Intrinsic, get: _Get) -> Fact:
    # With something not negative, the result lies between 0 and that.
    his = [
        i.hi
        for i in (get(n.args[0])[0], get(n.args[1])[0])
        if i.lo is not None and i.lo >= 0 and i.hi is not None
    ]
    if his:
        return Interval(0, min(his)), True
    return _type_fact(n.type)


def _shift_right(n: Intrinsic, get: _Get) -> Fact:
    a = get(n.args[0])[0]
    k = get(n.args[1])[0].single()
    if k is None or not 0 <= k < n.type.width:
        return _type_fact(n.type)
    lo = None if a.lo is None else int(a.lo) >> int(k)
    hi = None if a.hi is None else int(a.hi) >> int(k)
    return _chosen(Interval(lo, hi), False)


def _shift_left(n: Intrinsic, get: _Get) -> Fact:
    a, ta = get(n.args[0])
    k = get(n.args[1])[0].single()
    if k is None or not 0 <= k < n.type.width:
        return _type_fact(n.type)
    made = scale_interval(a, 1 << int(k))
    return _result(n.type, made.lo, made.hi, ta)


def _absd(n: Intrinsic, get: _Get) -> Fact:
    a, b = get(n.args[0])[0], get(n.args[1])[0]
    if n.type.is_float() or None in a or None in b:
        return _type_fact(n.type)
    d = add_intervals(a, scale_interval(b, -1))
    far = max(abs(d.lo), abs(d.hi))  # type: ignore[arg-type]
    near = 0 if d.contains(0) else min(abs(d.lo), abs(d.hi))  # type: ignore[arg-type]
    return _result(n.type, near, far, False)


def _widening(n: Intrinsic, get: _Get) -> Fact:
    a, b = get(n.args[0])[0], get(n.args[1])[0]
    if n.type.is_float() or None in a or None in b:
        return _type_fact(n.type)
    if n.op == "widening_add":
        d = add_intervals(a, b)
    elif n.op == "widening_sub":
        d = add_intervals(a, scale_interval(b, -1))
    else:
        d = _mul_intervals(a, b)
    return _result(n.type, d.lo, d.hi, False)


def _halving_add(n: Intrinsic, get: _Get) -> Fact:
    a, b = get(n.args[0])[0], get(n.args[1])[0]
    if n.type.is_float() or None in a or None in b:
        return _type_fact(n.type)
    d = add_intervals(a, b)
    up = int(n.op == "rounding_halving_add")
    return Interval((int(d.lo) + up) >> 1, (int(d.hi) + up) >> 1), True  # type: ignore[arg-type]


def _saturate(n: Intrinsic, get: _Get) -> Fact:
    known = _type_fact(n.type)
    if n.op == "saturating_cast":
        a = get(n.args[0])[0]
        if n.args[0].type.is_float():
            return known
        if n.type.is_float():
            return known
    else:
        a, b = get(n.args[0])[0], get(n.args[1])[0]
        if n.type.is_float():
            return known
        a = add_intervals(a, b if n.op == "saturating_add" else scale_interval(b, -1))
    t = n.type
    if a.lo is None or a.hi is None:
        return known
    lo = min(max(a.lo, t.lowest()), t.highest())
    hi = min(max(a.hi, t.lowest()), t.highest())
    return Interval(lo, hi), True


def _bit_count(n: Intrinsic, get: _Get) -> Fact:
    return Interval(0, n.args[0].type.width), True


_INTRINSICS: dict[str, Callable[[Intrinsic, _Get], Fact]] = {
    "likely": _same,
    "likely_if_innermost": _same,
    "strict_float": _same,
    "promise_clamped": _promise_clamped,
    "abs": _abs,
    "absd": _absd,
    "bit_and": _bit_and,
    "shift_right": _shift_right,
    "shift_left": _shift_left,
    "widening_add": _widening,
    "widening_sub": _widening,
    "widening_mul": _widening,
    "halving_add": _halving_add,
    "rounding_halving_add": _halving_add,
    "saturating_add": _saturate,
    "saturating_sub": _saturate,
    "saturating_cast": _saturate,
    "popcount": _bit_count,
    "clz": _bit_count,
    "ctz": _bit_count,
}

_HANDLERS: dict[type[Expr], Callable[[Any, _Get], Fact]] = {
    Imm: _imm,
    FloatImm: _float_imm,
    Var: _var,
    Add: _add,
    Sub: _sub,
    Mul: _mul,
    Div: _div,
    Mod: _mod,
    Min: _minimum,
    Max: _maximum,
    Select: _select,
    LT: _compare_lt,
    LE: _compare_le,
    EQ: _compare_eq,
    NE: _compare_ne,
    And: _and,
    Or: _or,
    Not: _not,
    Cast: _cast,
    Let: _let,
    Ramp: _ramp,
    Broadcast: _broadcast,
    Shuffle: _shuffle,
    VectorReduce: _vector_reduce,
    Intrinsic: _intrinsic,
}

_set_interval = Expr._interval.__set__  # type: ignore[attr-defined]


def fact(e: Expr) -> Fact:
    """The interval and the tameness of a node, cached on it."""
    try:
        return e._interval  # type: ignore[attr-defined,no-any-return]
    except AttributeError:
        pass
    handler = _HANDLERS.get(type(e))
    made = _type_fact(e.type) if handler is None else handler(e, fact)
    _set_interval(e, made)
    return made


def compute_fact(e: Expr, get: _Get) -> Fact:
    """The fact of `e` from its children's as `get` gives them; not cached."""
    handler = _HANDLERS.get(type(e))
    return _type_fact(e.type) if handler is None else handler(e, get)


def constant_interval(e: Expr) -> Interval:
    """What the value of `e` (of each lane) lies between, wherever it is in scope."""
    return fact(e)[0]


def tame(e: Expr) -> bool:
    """Whether `e` can be reasoned about as on unlimited integers (see above)."""
    return fact(e)[1]
