"""Arithmetic, comparisons, conversions and names."""

from __future__ import annotations

from typing import cast

from parhelion.codegen import opaque
from parhelion.codegen.division import divide, remainder
from parhelion.codegen.idioms import narrowed
from parhelion.codegen.types import integers, splat, suffix, value_type, zero
from parhelion.codegen.writer import Function, emits
from parhelion.errors import InternalError
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr
from parhelion.types import Float, Type, TypeCode, UInt


@emits(E.Var)
def variable(f: Function, e: E.Var) -> str:
    text, level = f.vars[e]
    if text is not None:
        return text
    return f.at(level, f"trunc i64 {f.wide[e]} to {value_type(e.type)}")


@emits(E.Let)
def let(f: Function, e: E.Let) -> str:
    text = f.value(e.value)
    f.vars[e.var] = (text, f.vars[e.var][1])
    f.let_values[e.var] = e.value
    opaque.weigh_let(f, e.var, e.value)
    return f.value(e.body)


def in_float32(f: Function, e: Expr, result: Type) -> str:
    """A node over BFloat operands, computed in float32 and rounded to `result`."""

    def widen(a: Expr) -> Expr:
        if a.type.is_bfloat():
            return build.cast(Float(32, a.type.count), a)
        return a

    wide = e.map(widen)
    return f.value(E.Cast(result, wide) if wide.type is not result else wide)


def _arithmetic(op: str, float_op: str) -> None:
    kind: type[E.Add] = getattr(E, op.capitalize())

    def emit(f: Function, e: E.Add) -> str:
        t = e.type
        if t.kind is TypeCode.Float:
            a, b = f.value(e.a), f.value(e.b)
            return f.op(f"{float_op} {value_type(t)} {a}, {b}")
        if t.is_bfloat():
            return in_float32(f, e, t)
        return f.op(f"{op} {value_type(t)} {f.value(e.a)}, {f.value(e.b)}")

    emits(kind)(emit)


_arithmetic("add", "fadd")
_arithmetic("sub", "fsub")
_arithmetic("mul", "fmul")


@emits(E.Div)
def div(f: Function, e: E.Div) -> str:
    t = e.type
    if t.kind is TypeCode.Float:
        return f.op(f"fdiv {value_type(t)} {f.value(e.a)}, {f.value(e.b)}")
    if t.is_bfloat():
        return in_float32(f, e, t)
    return divide(f, e.a, e.b)


@emits(E.Mod)
def mod(f: Function, e: E.Mod) -> str:
    t = e.type
    if t.is_float():
        # a - b * floor(a / b): takes the sign of b.
        quotient = E.Intrinsic(t, "floor", (E.Div(e.a, e.b),))
        return f.value(E.Sub(e.a, E.Mul(e.b, quotient)))
    return remainder(f, e.a, e.b)


def extremum(f: Function, name: str, t: Type, a: str, b: str) -> str:
    """The "min" or "max" of two values of type `t`."""
    vt = value_type(t)
    if t.is_bfloat():
        wide = Float(32, t.count)
        a, b = convert(f, a, t, wide), convert(f, b, t, wide)
        return convert(f, extremum(f, name, wide, a, b), wide, t)
    if t.kind is TypeCode.Float:
        # This order of operands is x86's minps b, a: one instruction.
        test = f.op(f"fcmp {'olt' if name == 'min' else 'ogt'} {vt} {b}, {a}")
        return f.op(f"select {bool_type(t)} {test}, {vt} {b}, {vt} {a}")
    if t.width == 1:
        return f.op(f"{'and' if name == 'min' else 'or'} {vt} {a}, {b}")
    if t.is_int():
        return intrinsic(f, f"s{name}", t, a, b)
    if t.width == 64 and t.count > 1 and f.target.compares_signed:
        return _by_signed(f, name, t, a, b)
    return intrinsic(f, f"u{name}", t, a, b)


def _by_signed(f: Function, name: str, t: Type, a: str, b: str) -> str:
    """The "min" or "max" of unsigned numbers, as of signed ones with the other sign.

    It is what LLVM 22 makes of them too, where there are no instructions for unsigned
    ones; but of the greater less the lesser it makes the distance of signed numbers
    where it knows that the highest bit of one is set, and of the other clear.
    """
    vt, sign = value_type(t), integers(t, 1 << 63)
    flipped = [f.op(f"xor {vt} {v}, {sign}") for v in (a, b)]
    return f.op(f"xor {vt} {intrinsic(f, f's{name}', t, *flipped)}, {sign}")


@emits(E.Min)
def minimum(f: Function, e: E.Min) -> str:
    return extremum(f, "min", e.type, f.value(e.a), f.value(e.b))


@emits(E.Max)
def maximum(f: Function, e: E.Max) -> str:
    return extremum(f, "max", e.type, f.value(e.a), f.value(e.b))


def bool_type(t: Type) -> str:
    """The LLVM type of a Bool per lane of `t`."""
    return "i1" if t.count == 1 else f"<{t.count} x i1>"


def intrinsic(f: Function, name: str, t: Type, *args: str, extra: str = "") -> str:
    """Calls ``llvm.NAME`` overloaded on `t` alone, all of its arguments of type `t`."""
    vt = value_type(t)
    params = ", ".join([vt] * len(args)) + (", i1" if extra else "")
    at = f.module.declare(f"llvm.{name}.{suffix(t)}", vt, params)
    given = ", ".join([f"{vt} {a}" for a in args]) + extra
    return f.op(f"call {vt} {at}({given})")


def _comparison(kind: type[E.EQ], of_int: str, of_float: str) -> None:
    def emit(f: Function, e: E.EQ) -> str:
        t = e.a.type
        if t.is_bfloat():
            return in_float32(f, e, e.type)
        a, b = f.value(e.a), f.value(e.b)
        if t.kind is TypeCode.Float:
            return f.op(f"fcmp {of_float} {value_type(t)} {a}, {b}")
        sign = "s" if t.is_int() else "u"
        test = of_int if of_int in ("eq", "ne") else sign + of_int
        return f.op(f"icmp {test} {value_type(t)} {a}, {b}")

    emits(kind)(emit)


_comparison(E.EQ, "eq", "oeq")
_comparison(cast("type[E.EQ]", E.NE), "ne", "une")
_comparison(cast("type[E.EQ]", E.LT), "lt", "olt")
_comparison(cast("type[E.EQ]", E.LE), "le", "ole")


@emits(E.And)
def both(f: Function, e: E.And) -> str:
    return f.op(f"and {value_type(e.type)} {f.value(e.a)}, {f.value(e.b)}")


@emits(E.Or)
def either(f: Function, e: E.Or) -> str:
    return f.op(f"or {value_type(e.type)} {f.value(e.a)}, {f.value(e.b)}")


@emits(E.Not)
def invert(f: Function, e: E.Not) -> str:
    t = e.type
    ones = "true" if t.count == 1 else "splat (i1 true)"
    return f.op(f"xor {value_type(t)} {f.value(e.a)}, {ones}")


@emits(E.Select)
def select(f: Function, e: E.Select) -> str:
    vt = value_type(e.type)
    cond, a, b = e.cond, e.a, e.b
    # A vector condition of equal lanes is a scalar one, which LLVM turns to a blend
    # of whole registers.
    if isinstance(cond, E.Broadcast):
        cond = cond.value
    c = f.value(cond)
    arms = [_kept_loaded(f, arm) for arm in (a, b)]
    return f.op(f"select {value_type(cond.type)} {c}, {vt} {arms[0]}, {vt} {arms[1]}")


def _kept_loaded(f: Function, arm: Expr) -> str:
    """An arm of a selection, which is not loaded again.

    LLVM 22 makes a selection from a masked load, under the same mask, a load where the
    selection stands: behind what was stored in between, where the load was named
    before (its issue 215453). It does not look through a freeze.
    """
    text = f.value(arm)
    if text in f.masked:
        text = f.op(f"freeze {value_type(arm.type)} {text}")
    return text


# Conversions.
@emits(E.Cast)
def conversion(f: Function, e: E.Cast) -> str:
    idiom = narrowed(e)
    if idiom is not None:
        return f.value(idiom)
    return convert(f, f.value(e.a), e.a.type, e.type)


def convert(f: Function, a: str, old: Type, new: Type) -> str:
    """`a` converted from type `old` to type `new`, lanes unchanged."""
    if old is new:
        return a
    if old.is_float():
        return _from_float(f, a, old, new)
    if old.is_handle() or new.is_handle():
        return _handle(f, a, old, new)
    source, to = value_type(old), value_type(new)
    if new.is_float():
        return _to_float(f, a, old, new)
    if new.width == 1:
        return f.op(f"icmp ne {source} {a}, {zero(old)}")
    if new.width == old.width:
        return a
    if new.width < old.width:
        return f.op(f"trunc {source} {a} to {to}")
    extend = "sext" if old.is_int() else "zext"
    return f.op(f"{extend} {source} {a} to {to}")


def _handle(f: Function, a: str, old: Type, new: Type) -> str:
    source, to = value_type(old), value_type(new)
    if old.is_handle():
        bits = UInt(64, old.count)
        if new.is_int_or_uint():
            text = f.op(f"ptrtoint {source} {a} to {value_type(bits)}")
            return convert(f, text, bits, new)
    elif old.is_int_or_uint():
        wide = convert(f, a, old, UInt(64, old.count))
        return f.op(f"inttoptr {value_type(UInt(64, old.count))} {wide} to {to}")
    raise InternalError(f"no conversion of {old} to {new}")


def _to_float(f: Function, a: str, old: Type, new: Type) -> str:
    """Integers to floats, rounded to nearest."""
    lanes = new.count
    if new.is_bfloat():
        # Through a float32 rounded to odd, so that the second rounding is right.
        if old.width <= 16:
            return _to_bfloat(f, _to_float(f, a, old, Float(32, lanes)), lanes)
        exact = a if old.width <= 32 else _exact_as_double(f, a, old)
        wide = _to_float(f, exact, old, Float(64, lanes))
        return _to_bfloat(f, round_to_odd(f, wide, lanes), lanes)
    op = "sitofp" if old.is_int() else "uitofp"
    if new.width == 16 and old.width > 16:
        # Values that float32 cannot hold exactly are infinite as float16.
        single = Float(32, lanes)
        text = f.op(f"{op} {value_type(old)} {a} to {value_type(single)}")
        return f.op(f"fptrunc {value_type(single)} {text} to {value_type(new)}")
    return f.op(f"{op} {value_type(old)} {a} to {value_type(new)}")


def _exact_as_double(f: Function, a: str, t: Type) -> str:
    """64-bit integers that float64 holds exactly, and that round to the same bfloat16.

    Beyond 2**53, where float64 does not hold all integers, each becomes a multiple of
    2048: an odd one if anything was dropped, as in `round_to_odd`.
    """
    vt, bt = value_type(t), bool_type(t)
    low = f.op(f"and {vt} {a}, {integers(t, 2047)}")
    some = f.op(f"icmp ne {vt} {low}, {zero(t)}")
    sticky = f.op(f"select {bt} {some}, {vt} {integers(t, 2048)}, {vt} {zero(t)}")
    high = f.op(f"and {vt} {a}, {integers(t, -2048)}")
    odd = f.op(f"or {vt} {high}, {sticky}")
    # From -2**53 to 2**53; unsigned ones up to there.
    least = 1 << 53 if t.is_int() else 0
    moved = f.op(f"add {vt} {a}, {integers(t, least)}")
    exact = f.op(f"icmp ule {vt} {moved}, {integers(t, least + (1 << 53))}")
    return f.op(f"select {bt} {exact}, {vt} {a}, {vt} {odd}")


def _from_float(f: Function, a: str, old: Type, new: Type) -> str:
    source, to, lanes = value_type(old), value_type(new), new.count
    if old.is_bfloat():
        bits, single = UInt(32, lanes), Float(32, lanes)
        wide = f.op(f"zext {source} {a} to {value_type(bits)}")
        wide = f.op(f"shl {value_type(bits)} {wide}, {integers(bits, 16)}")
        text = f.op(f"bitcast {value_type(bits)} {wide} to {value_type(single)}")
        return convert(f, text, single, new)
    if new.is_bfloat():
        if old.width == 64:
            return _to_bfloat(f, round_to_odd(f, a, lanes), lanes)
        single = Float(32, lanes)
        return _to_bfloat(f, convert(f, a, old, single), lanes)
    if new.is_float():
        if new.width > old.width:
            return f.op(f"fpext {source} {a} to {to}")
        if old.width == 64 and new.width == 16:
            single = Float(32, lanes)
            odd = round_to_odd(f, a, lanes)
            return f.op(f"fptrunc {value_type(single)} {odd} to {to}")
        return f.op(f"fptrunc {source} {a} to {to}")
    if new.width == 1:
        return f.op(f"fcmp une {source} {a}, {zero(old)}")
    # A value out of range gives poison; frozen it is some number. Narrow types go
    # through int32, so that scalar and vector code wrap alike.
    through = new if new.width >= 32 else Type(TypeCode.Int, 32, lanes)
    op = "fptosi" if through.is_int() else "fptoui"
    text = f.op(f"{op} {source} {a} to {value_type(through)}")
    text = f.op(f"freeze {value_type(through)} {text}")
    return convert(f, text, through, new)


def _to_bfloat(f: Function, a: str, lanes: int) -> str:
    """A float32 rounded to the nearest bfloat16, ties to even; NaN stays NaN."""
    single, bits, half = Float(32, lanes), UInt(32, lanes), UInt(16, lanes)
    vt, bt = value_type(bits), bool_type(bits)
    raw = f.op(f"bitcast {value_type(single)} {a} to {vt}")
    high = f.op(f"lshr {vt} {raw}, {integers(bits, 16)}")
    odd = f.op(f"and {vt} {high}, {integers(bits, 1)}")
    bias = f.op(f"add {vt} {odd}, {integers(bits, 0x7FFF)}")
    rounded = f.op(f"lshr {vt} {f.op(f'add {vt} {raw}, {bias}')}, {integers(bits, 16)}")
    quiet = f.op(f"or {vt} {high}, {integers(bits, 0x40)}")
    nan = f.op(f"fcmp uno {value_type(single)} {a}, {a}")
    text = f.op(f"select {bt} {nan}, {vt} {quiet}, {vt} {rounded}")
    return f.op(f"trunc {vt} {text} to {value_type(half)}")


def round_to_odd(f: Function, a: str, lanes: int) -> str:
    """A float64 as the float32 that, where inexact, has an odd last bit.

    Rounding that again to fewer than 23 bits gives the nearest value (S. Boldo and
    G. Melquiond, "When double rounding is odd").
    """
    double, single, bits = Float(64, lanes), Float(32, lanes), UInt(32, lanes)
    dt, st, vt, bt = (
        value_type(double),
        value_type(single),
        value_type(bits),
        bool_type(bits),
    )
    near = f.op(f"fptrunc {dt} {a} to {st}")
    back = f.op(f"fpext {st} {near} to {dt}")
    inexact = f.op(f"fcmp one {dt} {back}, {a}")
    size = intrinsic(f, "fabs", double, a)
    above = f.op(f"fcmp ogt {dt} {intrinsic(f, 'fabs', double, back)}, {size}")
    raw = f.op(f"bitcast {st} {near} to {vt}")
    less = f.op(f"sub {vt} {raw}, {f.op(f'zext {bt} {above} to {vt}')}")
    odd = f.op(f"or {vt} {less}, {f.op(f'zext {bt} {inexact} to {vt}')}")
    return f.op(f"bitcast {vt} {odd} to {st}")


@emits(E.Reinterpret)
def reinterpret(f: Function, e: E.Reinterpret) -> str:
    old, new = e.a.type, e.type
    source, to = value_type(old), value_type(new)
    a = f.value(e.a)
    if source == to:
        return a
    if old.is_handle() or new.is_handle():
        return _handle(f, a, old, new)
    return f.op(f"bitcast {source} {a} to {to}")


def broadcast(f: Function, a: str, t: Type) -> str:
    """A scalar in every lane of the vector type `t`."""
    if not a.startswith("%"):
        return splat(a, t)
    vt, st = value_type(t), value_type(t.element_of())
    one = f.op(f"insertelement {vt} poison, {st} {a}, i64 0")
    return f.op(
        f"shufflevector {vt} {one}, {vt} poison, <{t.count} x i32> zeroinitializer"
    )
