"""Constant intervals: what an expression's value can lie between, by its node alone.

An interval is a pure function of the node (types, `Var.lo`, `Var.hi`, `Var.value`)
and is cached on it. Two facts are computed together:

- `constant_interval(e)`: inclusive bounds of the value; None where unbounded. Types
  other than int32 and int64 always have finite integer bounds. For a float the
  interval speaks of the values that are not NaN. A cast of a float that may be NaN to
  an integer may be any of its type's.
- `tame(e)`: whether arithmetic can be reasoned about as on unlimited integers. A sum
  or product is tame if its bounds prove that it does not wrap, or if it is index
  arithmetic: int32 or int64, made of tame operands, among them casts of floats that
  are made of parameters alone. A 32-bit pixel value (`Load`,
  `FuncCall`, …) is not tame unless bounded, so arithmetic on it wraps as the language
  says.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from parhelion.analysis.intrinsic_intervals import INTRINSIC_FACTS
from parhelion.analysis.ranges import (
    BOOL_RANGE,
    FULL,
    Fact,
    Get,
    Interval,
    Number,
    add_intervals,
    checked,
    chosen,
    div_intervals,
    fits,
    interval_of,
    is_index_type,
    max_intervals,
    min_intervals,
    mod_interval,
    mul_intervals,
    scale_interval,
    type_fact,
    type_interval,
)
from parhelion.analysis.rank import reads_data
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
from parhelion.ir.intrinsics import FUSED
from parhelion.ir.rewrite import nodes
from parhelion.ir.symbols import ParamSym
from parhelion.types import Type, round_float


def never_nan(e: Expr, depth: int = 8) -> bool:
    """Whether a float expression is certainly not NaN; looks `depth` levels down."""
    kind = type(e)
    if kind is FloatImm:
        value = e.value  # type: ignore[attr-defined]
        return bool(value == value)
    if depth == 0:
        return False
    if kind is Cast:
        return not e.a.type.is_float() or never_nan(e.a, depth - 1)  # type: ignore[attr-defined]
    if kind is Broadcast:
        return never_nan(e.value, depth - 1)  # type: ignore[attr-defined]
    if kind is Min or kind is Max:  # else b is less or more, which NaN never is
        return never_nan(e.a, depth - 1)  # type: ignore[attr-defined]
    if kind is Select:
        return never_nan(e.a, depth - 1) and never_nan(e.b, depth - 1)  # type: ignore[attr-defined]
    if kind is Add or kind is Sub or kind is Mul:
        # Only what is infinite makes NaN of numbers.
        a, b = e.a, e.b  # type: ignore[attr-defined]
        return _finite(a, depth - 1) and _finite(b, depth - 1)
    if kind is Div:
        a, b = e.a, e.b  # type: ignore[attr-defined]
        return type(b) is FloatImm and b.value != 0 and _finite(a, depth - 1)
    if kind is Intrinsic and e.op in FUSED:  # type: ignore[attr-defined]
        return all([_finite(a, depth - 1) for a in e.args])  # type: ignore[attr-defined]
    if kind is Intrinsic and e.op in _NAN_ONLY_OF_NAN:  # type: ignore[attr-defined]
        return never_nan(e.args[0], depth - 1)  # type: ignore[attr-defined]
    return False


_NAN_ONLY_OF_NAN = frozenset(("abs", "floor", "ceil", "round", "trunc", "likely"))


def _finite(e: Expr, depth: int) -> bool:
    """Whether a float expression is certainly a number, neither NaN nor infinite."""
    if not never_nan(e, depth):
        return False
    if type(e) is Cast and not e.a.type.is_float():
        return e.type.width >= 32
    known = constant_interval(e)
    if known.lo is None or known.hi is None:
        return False
    return not (math.isinf(known.lo) or math.isinf(known.hi))


# Handlers: the fact of a node from those of its children.


def _imm(n: Imm, get: Get) -> Fact:
    return interval_of((n.value, n.value)), True


def _float_imm(n: FloatImm, get: Get) -> Fact:
    value = n.value
    return (FULL if value != value else Interval(value, value)), False


def _var(n: Var, get: Get) -> Fact:
    t = n.type
    known, is_tame = type_fact(t)
    if n.value is not None:
        known, is_tame = get(n.value)
    elif is_index_type(t):
        is_tame = True
    if t.is_int_or_uint():
        if n.lo is not None:
            known = known.intersect(interval_of((get(n.lo)[0].lo, None)))
        if n.hi is not None:
            known = known.intersect(interval_of((None, get(n.hi)[0].hi)))
    if known.lo is not None and known.hi is not None:
        if known.lo > known.hi:  # Never in scope: nothing to be said.
            return type_fact(t)[0], is_tame
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


def _add(n: Add, get: Get) -> Fact:
    a, ta = get(n.a)
    b, tb = get(n.b)
    t = n.type
    if t.is_float():
        return _float_arithmetic(t, a, b, float.__add__)
    al, ah = a
    bl, bh = b
    lo = None if al is None or bl is None else al + bl
    hi = None if ah is None or bh is None else ah + bh
    return checked(t, lo, hi, ta and tb)


def _sub(n: Sub, get: Get) -> Fact:
    a, ta = get(n.a)
    b, tb = get(n.b)
    t = n.type
    if t.is_float():
        return _float_arithmetic(t, a, b, float.__sub__)
    al, ah = a
    bl, bh = b
    lo = None if al is None or bh is None else al - bh
    hi = None if ah is None or bl is None else ah - bl
    return checked(t, lo, hi, ta and tb)


def _mul(n: Mul, get: Get) -> Fact:
    a, ta = get(n.a)
    b, tb = get(n.b)
    t = n.type
    if t.is_float():
        return _float_arithmetic(t, a, b, float.__mul__)
    both = mul_intervals(a, b)
    if n.a is n.b and ta:
        both = both.intersect(Interval(0, None))
    return checked(t, both.lo, both.hi, ta and tb)


def _div(n: Div, get: Get) -> Fact:
    a, ta = get(n.a)
    b, tb = get(n.b)
    t = n.type
    if t.is_float():
        if None not in b and not b.contains(0):
            return _float_arithmetic(t, a, b, float.__truediv__)
        return FULL, False
    both = div_intervals(a, b)
    # Only the lowest number divided by -1 leaves the type.
    safe = (ta and tb) or (b.lo is not None and b.lo >= 0)
    made, is_tame = checked(t, both.lo, both.hi, safe)
    return made, is_tame and (ta or made.lo is not None and made.hi is not None)


def _mod(n: Mod, get: Get) -> Fact:
    if n.type.is_float():
        return FULL, False
    a, ta = get(n.a)
    b, tb = get(n.b)
    return chosen(mod_interval(a, b), ta and tb)


def _minimum(n: Min, get: Get) -> Fact:
    a, ta = get(n.a)
    b, tb = get(n.b)
    both = min_intervals(a, b)
    if n.type.is_float():
        if not never_nan(n.b):
            both = Interval(both.lo, a.hi)
        return both, False
    return chosen(both, ta and tb)


def _maximum(n: Max, get: Get) -> Fact:
    a, ta = get(n.a)
    b, tb = get(n.b)
    both = max_intervals(a, b)
    if n.type.is_float():
        if not never_nan(n.b):
            both = Interval(a.lo, both.hi)
        return both, False
    return chosen(both, ta and tb)


def _select(n: Select, get: Get) -> Fact:
    a, ta = get(n.a)
    b, tb = get(n.b)
    cond = get(n.cond)[0].single()
    if cond is not None:
        return (a, ta) if cond else (b, tb)
    both, is_tame = chosen(a.union(b), ta and tb)
    return both, is_tame and n.type.is_int_or_uint()


def _bool_of(value: bool | None) -> Fact:
    if value is None:
        return BOOL_RANGE, True
    return Interval(int(value), int(value)), True


def _compare_lt(n: LT, get: Get) -> Fact:
    a, b = get(n.a)[0], get(n.b)[0]
    if a.lo is not None and b.hi is not None and a.lo >= b.hi:
        return _bool_of(False)
    exact = not n.a.type.is_float() or (never_nan(n.a) and never_nan(n.b))
    if exact and a.hi is not None and b.lo is not None and a.hi < b.lo:
        return _bool_of(True)
    return _bool_of(None)


def _compare_le(n: LE, get: Get) -> Fact:
    a, b = get(n.a)[0], get(n.b)[0]
    if a.lo is not None and b.hi is not None and a.lo > b.hi:
        return _bool_of(False)
    exact = not n.a.type.is_float() or (never_nan(n.a) and never_nan(n.b))
    if exact and a.hi is not None and b.lo is not None and a.hi <= b.lo:
        return _bool_of(True)
    return _bool_of(None)


def _compare_eq(n: EQ, get: Get) -> Fact:
    return _bool_of(_equal(n, get))


def _compare_ne(n: NE, get: Get) -> Fact:
    equal = _equal(n, get)
    return _bool_of(None if equal is None else not equal)


def _equal(n: EQ | NE, get: Get) -> bool | None:
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


def _and(n: And, get: Get) -> Fact:
    return min_intervals(get(n.a)[0], get(n.b)[0]), True


def _or(n: Or, get: Get) -> Fact:
    return max_intervals(get(n.a)[0], get(n.b)[0]), True


def _not(n: Not, get: Get) -> Fact:
    known = get(n.a)[0].single()
    return _bool_of(None if known is None else not known)


def _cast(n: Cast, get: Get) -> Fact:
    a, ta = get(n.a)
    t, f = n.type, n.a.type
    if t.is_float():
        return Interval(_float_round(t, a.lo), _float_round(t, a.hi)), False
    if t.is_bool():
        if not a.contains(0):
            return _bool_of(True)
        return (Interval(0, 0), True) if a.single() == 0 else (BOOL_RANGE, True)
    if not t.is_int_or_uint():
        return FULL, False
    if f.is_float():
        if a.lo is None or a.hi is None or math.isinf(a.lo) or math.isinf(a.hi):
            return _unbounded_cast(n)
        if not never_nan(n.a):
            return _unbounded_cast(n)
        lo, hi = math.trunc(a.lo), math.trunc(a.hi)
        return checked(t, lo, hi, False) if fits(t, lo, hi) else type_fact(t)
    if not f.is_int_or_uint():
        return type_fact(t)
    if t.can_represent(f):
        # A widened int32 is bounded by its old type, known or not.
        return chosen(a, True) if ta else (_widened(f, a), True)
    if a.lo is None or a.hi is None:
        # Narrowing an unbounded index is only an index again at full width.
        return (a, True) if ta and is_index_type(t) else type_fact(t)
    return (a, True) if fits(t, a.lo, a.hi) else type_fact(t)


def _unbounded_cast(n: Cast) -> Fact:
    """A float of which nothing is known, as an integer. If it is made of parameters
    alone, it is an index as an integer parameter is: `lower.overflow` checks the
    regions that come of it."""
    if is_index_type(n.type) and _of_parameters(n.a):
        return type_fact(n.type)[0], True
    return type_fact(n.type)


def _of_parameters(e: Expr) -> bool:
    """Whether `e` is the same throughout a call: constants and parameters."""
    if reads_data(e):
        return False
    return all([isinstance(v.origin, ParamSym) for v in nodes(e) if isinstance(v, Var)])


def _widened(f: Type, a: Interval) -> Interval:
    return a.intersect(Interval(f.lowest(), f.highest()))


def _let(n: Let, get: Get) -> Fact:
    # The Var's own value speaks for it, where it is set.
    return get(n.body)


def _ramp(n: Ramp, get: Get) -> Fact:
    base, tb = get(n.base)
    stride, ts = get(n.stride)
    t = n.type
    if t.is_float():
        return FULL, False
    last = mul_intervals(stride, Interval(n.lanes - 1, n.lanes - 1))
    span = add_intervals(base, last.union(Interval(0, 0)))
    return checked(t, span.lo, span.hi, tb and ts)


def _broadcast(n: Broadcast, get: Get) -> Fact:
    return get(n.value)


def _shuffle(n: Shuffle, get: Get) -> Fact:
    made, is_tame = get(n.vectors[0])
    for v in n.vectors[1:]:
        other, t = get(v)
        made, is_tame = made.union(other), is_tame and t
    return made, is_tame


def _vector_reduce(n: VectorReduce, get: Get) -> Fact:
    a, ta = get(n.value)
    t = n.type
    if n.op in ("min", "max", "and", "or"):
        if t.is_float() or not t.is_int_or_uint():
            return a, False
        return chosen(a, ta)
    if n.op == "add" and t.is_int_or_uint():
        total = scale_interval(a, n.value.type.count // n.lanes)
        return checked(t, total.lo, total.hi, ta)
    return type_fact(t)


def _intrinsic(n: Intrinsic, get: Get) -> Fact:
    handler = INTRINSIC_FACTS.get(n.op)
    if handler is None:
        return type_fact(n.type)
    return handler(n, get)


_HANDLERS: dict[type[Expr], Callable[[Any, Get], Fact]] = {
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
    made = type_fact(e.type) if handler is None else handler(e, fact)
    _set_interval(e, made)
    return made


def compute_fact(e: Expr, get: Get) -> Fact:
    """The fact of `e` from its children's as `get` gives them; not cached."""
    handler = _HANDLERS.get(type(e))
    return type_fact(e.type) if handler is None else handler(e, get)


def constant_interval(e: Expr) -> Interval:
    """What the value of `e` (of each lane) lies between, wherever it is in scope."""
    return fact(e)[0]


def tame(e: Expr) -> bool:
    """Whether `e` can be reasoned about as on unlimited integers (see above)."""
    return fact(e)[1]


__all__ = [
    "FULL",
    "Fact",
    "Get",
    "Interval",
    "Number",
    "add_intervals",
    "compute_fact",
    "constant_interval",
    "fact",
    "fits",
    "interval_of",
    "is_index_type",
    "never_nan",
    "scale_interval",
    "tame",
    "type_interval",
]
