"""The operations of `ir.intrinsics`, each by the shortest sequence that LLVM knows.

The forms are chosen so that instruction selection finds pavg, psubus, pmulh, pabs,
packus and the like. Shift amounts are defined for every value: a negative amount
shifts the other way, and one of at least the width shifts everything out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from parhelion.codegen import effects
from parhelion.codegen.division import divide, not_negative
from parhelion.codegen.expr import (
    bool_type,
    convert,
    extremum,
    in_float32,
    intrinsic,
)
from parhelion.codegen.types import constant, integers, splat, value_type, zero
from parhelion.codegen.vector import concatenate, extract, fold_in_order
from parhelion.codegen.writer import Function, emits
from parhelion.errors import InternalError
from parhelion.ir import build, mathlib
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr
from parhelion.ir.externs import FUNCTIONS
from parhelion.ir.rewrite import nodes
from parhelion.ir.rounding import expanded, unfused
from parhelion.types import Float, Int, Type, TypeCode

#: Emits one intrinsic.
Emit = Callable[[Function, E.Intrinsic], str]
_TABLE: dict[str, Emit] = {}


def lowers(*names: str) -> Callable[[Emit], Emit]:
    def register(emit: Emit) -> Emit:
        for name in names:
            _TABLE[name] = emit
        return emit

    return register


@emits(E.Intrinsic)
def emit_intrinsic(f: Function, e: E.Intrinsic) -> str:
    found = f.module.tables.emit(e.op, f, e)
    if found is not None:
        return found
    emit = _TABLE.get(e.op)
    if emit is not None:
        return emit(f, e)
    expansion = expanded(e, strict=f.module.strict_float)
    if expansion is not None:
        return f.value(expansion)
    return _library(f, e)


@functools.cache
def _called(op: str, types: tuple[Type, ...], strict: bool) -> str | None:
    if op in _TABLE or op == "random_int":
        return None
    args = tuple([E.Var(f"a{i}", t) for i, t in enumerate(types)])
    made = expanded(E.Intrinsic(types[0], op, args), strict=strict)
    if made is None:
        return op
    inside = [n for n in nodes(made) if isinstance(n, E.Intrinsic)]
    return next((name for n in inside if (name := library_call(n, strict))), None)


def library_call(e: E.Intrinsic, strict: bool) -> str | None:
    """The operation for which `e` needs the C library, if it does."""
    return _called(e.op, tuple([a.type for a in e.args]), strict)


# Marks.
@lowers("likely", "likely_if_innermost", "promise_clamped", "known_clamped")
@lowers("streamed")
def _first(f: Function, e: E.Intrinsic) -> str:
    return f.value(e.args[0])


@lowers("strict_float")
def _strict(f: Function, e: E.Intrinsic) -> str:
    # Operations are rounded as they say. Of functions there are two forms.
    inner = e.args[0]
    if isinstance(inner, E.VectorReduce) and inner.type.is_float():
        return fold_in_order(f, inner)
    expansion = expanded(e)
    return f.value(inner if expansion is None else expansion)


@lowers("undef")
def _undef(f: Function, e: E.Intrinsic) -> str:
    return zero(e.type)


lowers("require")(effects.require)
lowers("print")(effects.print_values)
lowers("print_when")(effects.print_when)
lowers("trace")(effects.trace)


# Bits.
def _bitwise(op: str) -> Emit:
    def emit(f: Function, e: E.Intrinsic) -> str:
        a, b = f.value(e.args[0]), f.value(e.args[1])
        return f.op(f"{op} {value_type(e.type)} {a}, {b}")

    return emit


lowers("bit_and")(_bitwise("and"))
lowers("bit_or")(_bitwise("or"))
lowers("bit_xor")(_bitwise("xor"))


@lowers("bit_not")
def _bit_not(f: Function, e: E.Intrinsic) -> str:
    return f.op(
        f"xor {value_type(e.type)} {f.value(e.args[0])}, {integers(e.type, -1)}"
    )


@lowers("popcount")
def _popcount(f: Function, e: E.Intrinsic) -> str:
    t = e.args[0].type
    return convert(f, intrinsic(f, "ctpop", t, f.value(e.args[0])), t, e.type)


@lowers("clz", "ctz")
def _count_zeros(f: Function, e: E.Intrinsic) -> str:
    t = e.args[0].type
    name = "ctlz" if e.op == "clz" else "cttz"
    text = intrinsic(f, name, t, f.value(e.args[0]), extra=", i1 false")
    return convert(f, text, t, e.type)


# Shifts.
def shift(f: Function, a: str, t: Type, amount: Expr, *, left: bool) -> str:
    """`a` of integer type `t` shifted; `amount` may have any integer type and sign."""
    bt = amount.type
    known = build.const_int(amount)
    if known is not None:
        return _shift_by(f, a, t, known if left else -known)
    b = f.value(amount)
    if bt.width != t.width:
        # Saturate first: a large amount must stay one.
        if bt.width > t.width:
            size = integers(bt, t.width)
            if bt.is_int():
                b = intrinsic(f, "smin", bt, b, size)
                b = intrinsic(f, "smax", bt, b, integers(bt, -t.width))
            else:
                b = intrinsic(f, "umin", bt, b, size)
        same = Type(bt.kind, t.width, t.count)
        b, bt = convert(f, b, bt, same), same
    there = _guarded_shift(f, a, b, t, left)
    if bt.is_uint() or not_negative(amount):
        return there
    vt = value_type(t)
    minus = f.op(f"sub {vt} {integers(t, 0)}, {b}")
    back = _guarded_shift(f, a, minus, t, not left)
    negative = f.op(f"icmp slt {vt} {b}, {integers(t, 0)}")
    return f.op(f"select {bool_type(t)} {negative}, {vt} {back}, {vt} {there}")


def _shift_by(f: Function, a: str, t: Type, left: int) -> str:
    vt = value_type(t)
    if left == 0:
        return a
    if left >= t.width:
        return zero(t)
    if left > 0:
        return f.op(f"shl {vt} {a}, {integers(t, left)}")
    if t.is_int():
        return f.op(f"ashr {vt} {a}, {integers(t, min(-left, t.width - 1))}")
    return zero(t) if -left >= t.width else f.op(f"lshr {vt} {a}, {integers(t, -left)}")


def _guarded_shift(f: Function, a: str, b: str, t: Type, left: bool) -> str:
    """A shift by `b`, taken as unsigned, that is defined for large `b`."""
    vt = value_type(t)
    if not left and t.is_int():
        b = intrinsic(f, "umin", t, b, integers(t, t.width - 1))
        return f.op(f"ashr {vt} {a}, {b}")
    text = f.op(f"{'shl' if left else 'lshr'} {vt} {a}, {b}")
    fits = f.op(f"icmp ult {vt} {b}, {integers(t, t.width)}")
    return f.op(f"select {bool_type(t)} {fits}, {vt} {text}, {vt} {zero(t)}")


@lowers("shift_left", "shift_right")
def _shift(f: Function, e: E.Intrinsic) -> str:
    a, b = e.args
    return shift(f, f.value(a), e.type, b, left=e.op == "shift_left")


@lowers("widening_shift_left", "widening_shift_right")
def _widening_shift(f: Function, e: E.Intrinsic) -> str:
    a, b = e.args
    wide = convert(f, f.value(a), a.type, e.type)
    return shift(f, wide, e.type, b, left=e.op == "widening_shift_left")


# Fixed-point arithmetic.
_SIMPLE = {"add": "add", "sub": "sub", "mul": "mul"}


@lowers("widening_add", "widening_sub", "widening_mul")
def _widening(f: Function, e: E.Intrinsic) -> str:
    # Extends as the operands' types say; a difference of unsigned ones is right
    # modulo the wide type, read as signed.
    op = _SIMPLE[e.op.removeprefix("widening_")]
    if e.type.is_float():
        op = "f" + op
    a, b = [_extended(f, arg, e.type) for arg in e.args]
    return f.op(f"{op} {value_type(e.type)} {a}, {b}")


def _extended(f: Function, a: Expr, wide: Type) -> str:
    return convert(f, f.value(a), a.type, wide)


@lowers("widen_right_add", "widen_right_sub", "widen_right_mul")
def _widen_right(f: Function, e: E.Intrinsic) -> str:
    op = _SIMPLE[e.op.removeprefix("widen_right_")]
    if e.type.is_float():
        op = "f" + op
    a, b = e.args
    return f.op(f"{op} {value_type(e.type)} {f.value(a)}, {_extended(f, b, e.type)}")


@lowers("saturating_add", "saturating_sub")
def _saturating(f: Function, e: E.Intrinsic) -> str:
    t = e.type
    if t.width == 1:
        return _by_expansion(f, e)
    op = e.op.removeprefix("saturating_")
    sign = "s" if t.is_int() else "u"
    return intrinsic(f, f"{sign}{op}.sat", t, f.value(e.args[0]), f.value(e.args[1]))


def _right_one(t: Type) -> str:
    return "ashr" if t.is_int() else "lshr"


@lowers("halving_add", "rounding_halving_add")
def _halving_add(f: Function, e: E.Intrinsic) -> str:
    # (a & b) + ((a ^ b) >> 1) and (a | b) - ((a ^ b) >> 1): no wider type needed,
    # and LLVM knows both as averages (pavgb, pavgw).
    t = e.type
    vt = value_type(t)
    a, b = f.value(e.args[0]), f.value(e.args[1])
    differ = f.op(f"xor {vt} {a}, {b}")
    half = f.op(f"{_right_one(t)} {vt} {differ}, {integers(t, 1)}")
    if e.op == "halving_add":
        return f.op(f"add {vt} {f.op(f'and {vt} {a}, {b}')}, {half}")
    return f.op(f"sub {vt} {f.op(f'or {vt} {a}, {b}')}, {half}")


@lowers("halving_sub")
def _halving_sub(f: Function, e: E.Intrinsic) -> str:
    # a/2 - b/2, less the borrow of the last bits.
    t = e.type
    vt, one = value_type(t), integers(t, 1)
    right = _right_one(t)
    a, b = f.value(e.args[0]), f.value(e.args[1])
    upper = f.op(f"{right} {vt} {a}, {one}")
    lower = f.op(f"{right} {vt} {b}, {one}")
    borrow = f.op(f"xor {vt} {a}, {integers(t, -1)}")
    borrow = f.op(f"and {vt} {borrow}, {b}")
    borrow = f.op(f"and {vt} {borrow}, {one}")
    return f.op(f"sub {vt} {f.op(f'sub {vt} {upper}, {lower}')}, {borrow}")


@lowers("abs")
def _absolute(f: Function, e: E.Intrinsic) -> str:
    a = e.args[0]
    t = a.type
    if t.is_bfloat():
        return f.op(f"and {value_type(t)} {f.value(a)}, {integers(_bits(t), 0x7FFF)}")
    if t.is_float():
        return intrinsic(f, "fabs", t, f.value(a))
    if t.is_uint():
        return f.value(a)
    return intrinsic(f, "abs", t, f.value(a), extra=", i1 false")


def _bits(t: Type) -> Type:
    return Type(TypeCode.UInt, t.width, t.count)


@lowers("absd")
def _distance(f: Function, e: E.Intrinsic) -> str:
    a, b = e.args
    t = a.type
    if t.is_float():
        difference = E.Sub(a, b)
        return f.value(E.Intrinsic(t, "abs", (difference,)))
    x, y = f.value(a), f.value(b)
    if t.width == 1:
        return f.op(f"xor {value_type(t)} {x}, {y}")
    high, low = (extremum(f, name, t, x, y) for name in ("max", "min"))
    return f.op(f"sub {value_type(t)} {high}, {low}")


@lowers("div_round_to_zero", "mod_round_to_zero")
def _truncating(f: Function, e: E.Intrinsic) -> str:
    """C's division, kept total. Unsigned and known-positive operands floor anyway."""
    a, b = e.args
    t = e.type
    whole = e.op == "div_round_to_zero"
    if t.is_uint() or (not_negative(a) and not_negative(b)):
        node = E.Div(a, b) if whole else E.Mod(a, b)
        return f.value(node)
    vt = value_type(t)
    c = build.const_int(b)
    if c is not None and c not in (0, -1):
        return f.op(f"{'sdiv' if whole else 'srem'} {vt} {f.value(a)}, {f.value(b)}")
    # |a| / |b| with the sign put back.
    x, y = f.value(a), f.value(b)
    unsigned = _bits(t)
    key = E.Var("a", unsigned), E.Var("b", unsigned)
    f.bind(key[0], intrinsic(f, "abs", t, x, extra=", i1 false"), f.level(e))
    f.bind(key[1], intrinsic(f, "abs", t, y, extra=", i1 false"), f.level(e))
    if whole:
        size = divide(f, key[0], key[1])
        sign = f.op(f"xor {vt} {x}, {y}")
    else:
        size = f.value(E.Mod(key[0], key[1]))
        sign = x
    negative = f.op(f"icmp slt {vt} {sign}, {integers(t, 0)}")
    minus = f.op(f"sub {vt} {integers(t, 0)}, {size}")
    return f.op(f"select {bool_type(t)} {negative}, {vt} {minus}, {vt} {size}")


@lowers("saturating_cast")
def _saturating_cast(f: Function, e: E.Intrinsic) -> str:
    a, new = e.args[0], e.type
    old = a.type
    if new.is_float() or new.width == 1 or old.is_handle():
        return f.value(E.Cast(new, a))
    if old.is_float():
        return _saturate_float(f, a, new)
    text = f.value(a)
    low, high = int(new.lowest()), int(new.highest())
    kind = "s" if old.is_int() else "u"
    if old.lowest() < low:
        text = intrinsic(f, f"{kind}max", old, text, integers(old, low))
    if old.highest() > high:
        text = intrinsic(f, f"{kind}min", old, text, integers(old, high))
    return convert(f, text, old, new)


def _saturate_float(f: Function, a: Expr, new: Type) -> str:
    old = a.type
    if old.is_bfloat() or (old.width == 16 and new.width <= 16):
        single = Float(32, old.count)
        return f.value(E.Intrinsic(new, "saturating_cast", (E.Cast(single, a),)))
    if new.width > 16:
        text = f.value(a)
        sign = "s" if new.is_int() else "u"
        nt, ot = value_type(new), value_type(old)
        from parhelion.codegen.types import suffix

        at = f.module.declare(
            f"llvm.fpto{sign}i.sat.{suffix(new)}.{suffix(old)}", nt, ot
        )
        return f.op(f"call {nt} {at}({ot} {text})")
    return limited(f, a, new, _cut)


def _cut(f: Function, text: str, old: Type, wide: Type) -> str:
    return f.op(f"fptosi {value_type(old)} {text} to {value_type(wide)}")


def limited(
    f: Function,
    a: Expr,
    new: Type,
    made_int: Callable[[Function, str, Type, Type], str],
) -> str:
    """A float limited to an integer type of at most 16 bits; NaN gives 0.

    made_int: makes int32 of the limited float, given its text and both types.
    """
    # The limits are exact in float32: clamp there (maxps gives the limit for NaN,
    # which is right where the limit is 0), convert to int32, narrow.
    old, text = a.type, f.value(a)
    ot, bt = value_type(old), bool_type(old)
    low, high = _float(int(new.lowest()), old), _float(int(new.highest()), old)
    above = f.op(f"fcmp ogt {ot} {text}, {low}")
    clamped = f.op(f"select {bt} {above}, {ot} {text}, {ot} {low}")
    below = f.op(f"fcmp olt {ot} {clamped}, {high}")
    clamped = f.op(f"select {bt} {below}, {ot} {clamped}, {ot} {high}")
    wide = Int(32, new.count)
    made = made_int(f, clamped, old, wide)
    if new.is_int():
        nan = f.op(f"fcmp uno {ot} {text}, {text}")
        wt = value_type(wide)
        made = f.op(f"select {bt} {nan}, {wt} {zero(wide)}, {wt} {made}")
    return convert(f, made, wide, new)


def _float(value: int, t: Type) -> str:
    text = constant(build.imm(value, t.element_of()))
    assert text is not None
    return splat(text, t) if t.count > 1 else text


@lowers("mul_shift_right", "rounding_mul_shift_right")
def _mul_shift(f: Function, e: E.Intrinsic) -> str:
    t = e.type
    c = build.const_int(e.args[2])
    if e.op == "mul_shift_right" and c is not None and t.width <= c < 2 * t.width:
        # The high half cannot overflow: pmulhw, pmulhuw.
        wide = t.with_bits(2 * t.width) if t.width < 64 else None
        if wide is not None:
            wt = value_type(wide)
            a, b = [_extended(f, arg, wide) for arg in e.args[:2]]
            product = f.op(f"mul {wt} {a}, {b}")
            return convert(f, _shift_by(f, product, wide, -c), wide, t)
    if t.width == 64:
        return _mul_shift_128(f, e)
    return _by_expansion(f, e)


def _mul_shift_128(f: Function, e: E.Intrinsic) -> str:
    """64-bit operands: the product, its shift and its limits in ``i128``."""
    t = e.type
    vt, bt = value_type(t), bool_type(t)

    def wide(value: int) -> str:
        return str(value) if t.count == 1 else f"splat (i128 {value})"

    wt = "i128" if t.count == 1 else f"<{t.count} x i128>"
    extend, right, sign = ("sext", "ashr", "s") if t.is_int() else ("zext", "lshr", "u")
    a, b, c = [f.value(arg) for arg in e.args]
    x, y = f.op(f"{extend} {vt} {a} to {wt}"), f.op(f"{extend} {vt} {b} to {wt}")
    product = f.op(f"mul {wt} {x}, {y}")
    # All that a shift by 127 leaves is the sign, or nothing of an unsigned product
    # but its top bit, which the product of two 64-bit numbers may have.
    amount = f.op(f"zext {vt} {c} to {wt}")
    most = f.op(f"icmp ugt {wt} {amount}, {wide(127)}")
    amount = f.op(f"select {bt} {most}, {wt} {wide(127)}, {wt} {amount}")
    shifted = f.op(f"{right} {wt} {product}, {amount}")
    if e.op == "rounding_mul_shift_right":
        none = f.op(f"icmp eq {wt} {amount}, {wide(0)}")
        before = f.op(f"sub {wt} {amount}, {wide(1)}")
        before = f.op(f"select {bt} {none}, {wt} {wide(0)}, {wt} {before}")
        last = f.op(f"and {wt} {f.op(f'{right} {wt} {product}, {before}')}, {wide(1)}")
        last = f.op(f"select {bt} {none}, {wt} {wide(0)}, {wt} {last}")
        shifted = f.op(f"add {wt} {shifted}, {last}")
    low, high = int(t.lowest()), int(t.highest())
    if t.is_int():
        small = f.op(f"icmp slt {wt} {shifted}, {wide(low)}")
        shifted = f.op(f"select {bt} {small}, {wt} {wide(low)}, {wt} {shifted}")
    else:
        # Shifted by 128 or more nothing is left, whatever the cap above kept.
        shifted = f.op(f"select {bt} {most}, {wt} {wide(0)}, {wt} {shifted}")
    large = f.op(f"icmp {sign}gt {wt} {shifted}, {wide(high)}")
    shifted = f.op(f"select {bt} {large}, {wt} {wide(high)}, {wt} {shifted}")
    return f.op(f"trunc {wt} {shifted} to {vt}")


def _by_expansion(f: Function, e: E.Intrinsic) -> str:
    basic = mathlib.lower_intrinsic(e.op, e.args, e.type)
    if basic is None:
        raise InternalError(f"code generation has no {e.op} of {e.type}")
    return f.value(basic)


@lowers("rounding_shift_left", "rounding_shift_right")
def _rounding_shift(f: Function, e: E.Intrinsic) -> str:
    return _by_expansion(f, e)


# Floats.
@lowers("mul_add", "mul_sub", "sub_mul")
def _fused(f: Function, e: E.Intrinsic) -> str:
    if not f.target.fuses:
        return f.value(unfused(e))
    t = e.type
    a, b, c = [f.value(arg) for arg in e.args]
    if e.op == "mul_sub":
        c = f.op(f"fneg {value_type(t)} {c}")
    elif e.op == "sub_mul":
        a = f.op(f"fneg {value_type(t)} {a}")
    return intrinsic(f, "fma", t, a, b, c)


_ROUNDING = {
    "sqrt": "sqrt",
    "floor": "floor",
    "ceil": "ceil",
    "round": "roundeven",
    "trunc": "trunc",
}


@lowers(*_ROUNDING)
def _rounding(f: Function, e: E.Intrinsic) -> str:
    t = e.type
    if t.is_bfloat():
        return in_float32(f, E.Intrinsic(Float(32, t.count), e.op, e.args), t)
    if t.is_int_or_uint():
        return f.value(e.args[0])
    return intrinsic(f, _ROUNDING[e.op], t, f.value(e.args[0]))


@lowers("is_nan", "is_inf", "is_finite")
def _classify(f: Function, e: E.Intrinsic) -> str:
    a = e.args[0]
    t = a.type
    if not t.is_float():
        return integers(e.type, 1 if e.op == "is_finite" else 0)
    if t.is_bfloat():
        wide = E.Cast(Float(32, t.count), a)
        return f.value(E.Intrinsic(e.type, e.op, (wide,)))
    text, vt = f.value(a), value_type(t)
    if e.op == "is_nan":
        return f.op(f"fcmp uno {vt} {text}, {text}")
    size = intrinsic(f, "fabs", t, text)
    infinity = constant(build.imm(float("inf"), t.element_of())) or ""
    limit = splat(infinity, t) if t.count > 1 else infinity
    test = "oeq" if e.op == "is_inf" else "one"
    return f.op(f"fcmp {test} {vt} {size}, {limit}")


def _library(f: Function, e: E.Intrinsic) -> str:
    """An operation without an expansion: the C library, lane by lane."""
    t = e.type
    name = e.op.removeprefix("fast_")
    if not t.is_float():
        raise InternalError(f"code generation has no {e.op} of {t}")
    if t.width == 16:
        single = Float(32, t.count)
        args = tuple([E.Cast(single, a) for a in e.args])
        return f.value(E.Cast(t, E.Intrinsic(single, e.op, args)))
    symbol = name + "f" if t.width == 32 else name
    return call_lanes(f, symbol, t, e.args)


@emits(E.Extern)
def extern(f: Function, e: E.Extern) -> str:
    known = FUNCTIONS.get(e.name)
    if known is not None:
        f.module.imports[known.name] = known.address
    return call_lanes(f, e.name, e.type, e.args)


def call_lanes(f: Function, name: str, t: Type, args: tuple[Expr, ...]) -> str:
    """Calls a C function of scalars for every lane.

    It is no built-in function to LLVM, which would make x * x of ``pow(x, 2)`` and
    compute ``sin(0.3)`` itself, with other bits, where a schedule makes constants.
    """
    one = t.element_of()
    result = value_type(one)
    kinds = [a.type.element_of() for a in args]
    params = [c_parameter(k) for k in kinds]
    attributes = _result_attribute(one)
    at = f.module.declare(
        name,
        (attributes + result).strip(),
        ", ".join(params),
        "nobuiltin nounwind willreturn memory(none)",
    )
    texts = [f.value(a) for a in args]
    outs = []
    for lane in range(t.count):
        given = ", ".join(
            f"{p} {extract(f, text, a.type, lane)}"
            for p, text, a in zip(params, texts, args, strict=True)
        )
        outs.append((f.op(f"call {attributes}{result} {at}({given})"), one))
    return concatenate(f, outs)[0]


def c_parameter(t: Type) -> str:
    """A C parameter: narrow integers are extended by the caller."""
    if t.is_int_or_uint() and t.width < 32:
        return f"{value_type(t)} {'signext' if t.is_int() else 'zeroext'}"
    return value_type(t)


def _result_attribute(t: Type) -> str:
    if t.is_int_or_uint() and t.width < 32:
        return "signext " if t.is_int() else "zeroext "
    return ""
