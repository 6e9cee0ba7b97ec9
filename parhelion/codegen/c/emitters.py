"""Expressions as C: operators where C has them, small functions where it has not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parhelion.analysis.interval import constant_interval
from parhelion.codegen.backend import Emitter, Key
from parhelion.codegen.c.foreign import foreign_name
from parhelion.codegen.c.intrinsics import INTRINSICS, emit_intrinsic
from parhelion.codegen.c.names import DECLARED
from parhelion.codegen.c.text import (
    AND,
    ATOM,
    BIT,
    CHOICE,
    EQUAL,
    OR,
    ORDER,
    PLUS,
    SHIFT,
    TIMES,
    UNARY,
    Text,
    Value,
    c_type,
)
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr, Var
from parhelion.ir.externs import FUNCTIONS

_OPERATORS: dict[type[Expr], tuple[str, int]] = {
    E.Add: ("+", PLUS),
    E.Sub: ("-", PLUS),
    E.Mul: ("*", TIMES),
    E.EQ: ("==", EQUAL),
    E.NE: ("!=", EQUAL),
    E.LT: ("<", ORDER),
    E.LE: ("<=", ORDER),
    E.And: ("&&", AND),
    E.Or: ("||", OR),
}
_INT32_MIN, _INT64_MIN = -(2**31), -(2**63)


def _variable(f: Text, e: Var) -> Value:
    return f.names[e], ATOM


def _integer(f: Text, e: E.Imm) -> Value:
    t, v = e.type, e.value
    if t.is_bool():
        return ("true" if v else "false"), ATOM
    if v == _INT32_MIN and t.width == 32:
        return "INT32_MIN", ATOM
    if v == _INT64_MIN:
        return "INT64_MIN", ATOM
    text = str(v)
    if t.width == 64:
        text = f"{'' if t.is_int() else 'U'}INT64_C({v})"
    elif t.width == 32 and t.is_uint():
        text += "u"
    return text, (ATOM if v >= 0 else UNARY)


def _real(f: Text, e: E.FloatImm) -> Value:
    v, suffix = e.value, "f" if e.type.width == 32 else ""
    if v != v:
        return "NAN", ATOM
    if v in (float("inf"), float("-inf")):
        return ("INFINITY", ATOM) if v > 0 else ("-INFINITY", UNARY)
    text = repr(v)
    for digits in range(1, 10):
        short = f"{v:.{digits}g}"
        if e.type.width < 64 and E.float_bits(float(short), e.type) == e.bits:
            text = repr(float(short)) if 1e-4 <= abs(v) < 1e9 else short
            break
    if not any(c in text for c in ".e"):
        text += ".0"
    if e.type.width == 16:
        return f"(_Float16){text}", UNARY
    return text + suffix, (UNARY if text.startswith("-") else ATOM)


def _binary(f: Text, e: Any) -> Value:
    symbol, strength = _OPERATORS[type(e)]
    known = build.const_int(e.b)
    if symbol == "+" and known is not None and e.type.lowest() < known < 0:
        text = f"{f.text(e.a, strength)} - {f.text(build.imm(-known, e.type))}"
        return f.narrowed(text, e.type, strength)
    # The right operand of an operator that is not associative is put in
    # parentheses, and floats keep the order of their operations. So are
    # comparisons of comparisons, and "and" within "or", of which compilers warn.
    left, right = strength, strength + 1
    if strength in (ORDER, EQUAL):
        left = right = SHIFT
    elif symbol == "||":
        left, right = (OR if type(e.a) is E.Or else AND + 1), AND + 1
    a, b = f.text(e.a, left), f.text(e.b, right)
    return f.narrowed(f"{a} {symbol} {b}", e.type, strength)


def _division(f: Text, e: E.Div) -> Value:
    if e.type.is_float():
        text = f"{f.text(e.a, TIMES)} / {f.text(e.b, TIMES + 1)}"
        return f.narrowed(text, e.type, TIMES)
    known = build.const_int(e.b)
    if known and known > 0:
        if e.type.is_uint():
            text = f"{f.text(e.a, TIMES)} / {f.text(e.b, ATOM)}"
            return f.narrowed(text, e.type, TIMES)
        if known & (known - 1) == 0:
            bits = known.bit_length() - 1
            text = f"{f.text(e.a, TIMES)} >> {bits}"
            return f.narrowed(text, e.type, SHIFT)
    return _call(f, "div", e)


def _remainder(f: Text, e: E.Mod) -> Value:
    known = None if e.type.is_float() else build.const_int(e.b)
    if known and known > 0 and known & (known - 1) == 0:
        # Compilers warn of a + b & c, though it is (a + b) & c.
        text = f"{f.text(e.a, UNARY)} & {known - 1}"
        return f.narrowed(text, e.type, BIT)
    return _call(f, "mod", e)


def _call(f: Text, kind: str, e: Any) -> Value:
    name = f.need(kind, e.type)
    return f"{name}({f.text(e.a)}, {f.text(e.b)})", ATOM


def _minimum(f: Text, e: E.Min) -> Value:
    return _call(f, "min", e)


def _maximum(f: Text, e: E.Max) -> Value:
    return _call(f, "max", e)


def _negation(f: Text, e: E.Not) -> Value:
    return f"!{f.text(e.a, UNARY)}", UNARY


def _choice(f: Text, e: E.Select) -> Value:
    c, a = f.text(e.cond, CHOICE + 1), f.text(e.a, CHOICE + 1)
    return f"{c} ? {a} : {f.text(e.b, CHOICE)}", CHOICE


def _cast(f: Text, e: E.Cast) -> Value:
    if e.type.is_bool():
        return f"{f.text(e.a, SHIFT)} != 0", EQUAL
    of = e.a
    if isinstance(of, E.Cast) and not f.is_shared(of) and _fits(of):
        # A vector would be narrowed and widened again.
        of = of.a
        if of.type is e.type:
            return f.text(of), f.memo[of][1]
    return f"({c_type(e.type)}){f.text(of, UNARY)}", UNARY


def _fits(e: E.Cast) -> bool:
    """Whether a cast of integers changes no value."""
    if not (e.type.is_int_or_uint() and e.a.type.is_int_or_uint()):
        return False
    ends = constant_interval(e.a)
    return all([end is not None and e.type.can_represent(end) for end in ends])


def _reinterpret(f: Text, e: E.Reinterpret) -> Value:
    if e.type.is_int_or_uint() and e.a.type.is_int_or_uint():
        return f"({c_type(e.type)}){f.text(e.a, UNARY)}", UNARY
    return f"{f.need('bits', e.a.type, e.type)}({f.text(e.a)})", ATOM


def _named(f: Text, e: E.Let) -> Value:
    f.define(e.var, f.text(e.value))
    return f.text(e.body), f.memo[e.body][1]


def _load(f: Text, e: E.Load) -> Value:
    pixel = f"{f.names[e.buffer]}[{f.text(e.index)}]"
    if e.predicate is None:
        return pixel, ATOM
    return f"{f.text(e.predicate, CHOICE + 1)} ? {pixel} : 0", CHOICE


def _extern(f: Text, e: E.Extern) -> Value:
    known = FUNCTIONS.get(e.name)
    name = foreign_name(f, e)
    # The headers have their own types for what they declare.
    if known is not None and name not in f.helpers and name not in DECLARED:
        params = ", ".join(map(c_type, known.params))
        f.helpers[name] = f"extern {c_type(known.result)} {name}({params});"
    return f"{name}({', '.join([f.text(a) for a in e.args])})", ATOM


EMITTERS: Mapping[Key, tuple[Emitter[Text, Value], ...]] = {
    **dict.fromkeys(_OPERATORS, (_binary,)),
    Var: (_variable,),
    E.Imm: (_integer,),
    E.FloatImm: (_real,),
    E.Div: (_division,),
    E.Mod: (_remainder,),
    E.Min: (_minimum,),
    E.Max: (_maximum,),
    E.Not: (_negation,),
    E.Select: (_choice,),
    E.Cast: (_cast,),
    E.Reinterpret: (_reinterpret,),
    E.Let: (_named,),
    E.Load: (_load,),
    E.Intrinsic: (emit_intrinsic,),
    E.Extern: (_extern,),
    **{op: (emit,) for op, emit in INTRINSICS.items()},
}

__all__ = ["EMITTERS"]
