"""Integer division and modulo of the language: floor-like, total, without traps.

The remainder is in ``[0, abs(b))``; dividing by zero gives 0 for both; the least
integer divided by -1 wraps. Constant divisors become shifts or multiplications by a
reciprocal (made by LLVM from unsigned divisions); variable divisors are guarded with
selects. Vectors of up to 32 bits divide in floating point, whose quotient is exact
enough: for a and b of n bits, ``a / b`` is at least ``2**-n`` of itself away from the
next integer, which n + 1 bits of significand tell apart.
"""

from __future__ import annotations

from parhelion.analysis.interval import constant_interval
from parhelion.codegen.types import integers, suffix, value_type
from parhelion.codegen.writer import Function
from parhelion.ir.build import const_int
from parhelion.ir.expr import Expr
from parhelion.types import Float, Int, Type, UInt


def _bools(t: Type) -> str:
    return "i1" if t.count == 1 else f"<{t.count} x i1>"


def not_negative(e: Expr) -> bool:
    """Whether an integer expression is certainly at least zero."""
    if e.type.is_uint():
        return True
    found = constant_interval(e)
    # An interval that leaves the type's range assumes that nothing wraps: arithmetic
    # of the user's may.
    return (
        found.lo is not None
        and found.lo >= 0
        and found.hi is not None
        and found.hi <= e.type.highest()
    )


def divide(f: Function, a: Expr, b: Expr) -> str:
    """The quotient of integers `a` and `b`."""
    c = const_int(b)
    if c is not None:
        return _by_constant(f, a, c)
    return _divmod(f, a, b)[0]


def remainder(f: Function, a: Expr, b: Expr) -> str:
    """The remainder of integers `a` and `b`."""
    t = a.type
    vt = value_type(t)
    c = const_int(b)
    if c is None:
        return _divmod(f, a, b)[1]
    size = abs(c)
    if size <= 1:
        return integers(t, 0)
    if size & (size - 1) == 0:
        return f.op(f"and {vt} {f.value(a)}, {integers(t, size - 1)}")
    quotient = _by_constant(f, a, size)
    back = f.op(f"mul {vt} {quotient}, {integers(t, size)}")
    return f.op(f"sub {vt} {f.value(a)}, {back}")


def _by_constant(f: Function, a: Expr, c: int) -> str:
    t = a.type
    vt = value_type(t)
    if c == 0:
        return integers(t, 0)
    text = f.value(a)
    if c == 1:
        return text
    if t.is_uint():
        if c & (c - 1) == 0:
            return f.op(f"lshr {vt} {text}, {integers(t, c.bit_length() - 1)}")
        return f.op(f"udiv {vt} {text}, {integers(t, c)}")
    size = abs(c)
    if size == 1:
        quotient = text
    elif size & (size - 1) == 0:
        quotient = f.op(f"ashr {vt} {text}, {integers(t, size.bit_length() - 1)}")
    elif not_negative(a):
        quotient = f.op(f"udiv {vt} {text}, {integers(t, size)}")
    else:
        # ~(~a / c) for negative a: the same as flooring, and unsigned.
        sign = f.op(f"ashr {vt} {text}, {integers(t, t.width - 1)}")
        folded = f.op(f"xor {vt} {text}, {sign}")
        quotient = f.op(f"udiv {vt} {folded}, {integers(t, size)}")
        quotient = f.op(f"xor {vt} {quotient}, {sign}")
    if c < 0:
        return f.op(f"sub {vt} {integers(t, 0)}, {quotient}")
    return quotient


def _divmod(f: Function, a: Expr, b: Expr) -> tuple[str, str]:
    """Quotient and remainder by a variable divisor, emitted together."""
    t = a.type
    key = ("divmod", a, b)
    found = f.memo.get(key)
    if found is not None:
        quotient, rest = found.split("|")
        return quotient, rest
    if t.count > 1 and 8 <= t.width <= 32:
        pair = _in_floats(f, a, b)
    elif t.is_uint():
        pair = _unsigned(f, f.value(a), f.value(b), t)
    else:
        pair = _signed(f, a, b)
    f.remember(key, "|".join(pair), max(f.level(a), f.level(b)), a, b)
    return pair


def _unsigned(f: Function, a: str, b: str, t: Type) -> tuple[str, str]:
    vt, bt = value_type(t), _bools(t)
    # Memory that nobody has written may be read into lanes that nobody uses;
    # dividing by it must not be undefined.
    b = f.op(f"freeze {vt} {b}")
    zero = f.op(f"icmp eq {vt} {b}, {integers(t, 0)}")
    safe = f.op(f"select {bt} {zero}, {vt} {integers(t, 1)}, {vt} {b}")
    quotient = f.op(f"udiv {vt} {a}, {safe}")
    rest = f.op(f"urem {vt} {a}, {safe}")
    quotient = f.op(f"select {bt} {zero}, {vt} {integers(t, 0)}, {vt} {quotient}")
    return quotient, rest


def _signed(f: Function, x: Expr, y: Expr) -> tuple[str, str]:
    t = x.type
    vt, bt = value_type(t), _bools(t)
    a = f.value(x)
    b = f.op(f"freeze {vt} {f.value(y)}")
    none, one = integers(t, 0), integers(t, 1)
    least = integers(t, -(1 << (t.width - 1)))
    zero = f.op(f"icmp eq {vt} {b}, {none}")
    if not_negative(x) and not_negative(y):
        return _unsigned(f, a, b, t)
    minus = f.op(f"icmp eq {vt} {b}, {integers(t, -1)}")
    lowest = f.op(f"icmp eq {vt} {a}, {least}")
    overflow = f.op(f"and {bt} {minus}, {lowest}")
    unsafe = f.op(f"or {bt} {zero}, {overflow}")
    safe = f.op(f"select {bt} {unsafe}, {vt} {one}, {vt} {b}")
    quotient = f.op(f"sdiv {vt} {a}, {safe}")
    rest = f.op(f"srem {vt} {a}, {safe}")
    # Truncation to floor: a negative remainder takes one more |b|.
    below = f.op(f"icmp slt {vt} {rest}, {none}")
    sign = f.op(f"ashr {vt} {safe}, {integers(t, t.width - 1)}")
    step = f.op(f"or {vt} {sign}, {one}")
    step = f.op(f"select {bt} {below}, {vt} {step}, {vt} {none}")
    quotient = f.op(f"sub {vt} {quotient}, {step}")
    quotient = f.op(f"select {bt} {zero}, {vt} {none}, {vt} {quotient}")
    rest = f.op(f"add {vt} {rest}, {f.op(f'mul {vt} {step}, {safe}')}")
    return quotient, rest


def _in_floats(f: Function, x: Expr, y: Expr) -> tuple[str, str]:
    """Vectors of up to 32 bits: a float division, exact as the module says."""
    t = x.type
    lanes = t.count
    vt, bt = value_type(t), _bools(t)
    real = Float(32 if t.width <= 16 else 64, lanes)
    rt = value_type(real)
    signed = t.is_int()
    none = integers(t, 0)
    a = f.value(x)
    b = f.op(f"freeze {vt} {f.value(y)}")
    zero = f.op(f"icmp eq {vt} {b}, {none}")
    to = "sitofp" if signed else "uitofp"
    top = f.op(f"{to} {vt} {a} to {rt}")
    safe = f.op(f"select {bt} {zero}, {vt} {integers(t, 1)}, {vt} {b}")
    bottom = f.op(f"{to} {vt} {safe} to {rt}")
    ratio = f.op(f"fdiv {rt} {top}, {bottom}")
    if signed and not (not_negative(x) and not_negative(y)):
        # Floor for positive divisors, ceiling for negative ones.
        down = f.module.declare(f"llvm.floor.{suffix(real)}", rt, rt)
        up = f.module.declare(f"llvm.ceil.{suffix(real)}", rt, rt)
        low = f.op(f"call {rt} {down}({rt} {ratio})")
        if not_negative(y):
            ratio = low
        else:
            high = f.op(f"call {rt} {up}({rt} {ratio})")
            negative = f.op(f"icmp slt {vt} {safe}, {none}")
            ratio = f.op(f"select {bt} {negative}, {rt} {high}, {rt} {low}")
    # One bit more than the operands have, so that the least integer by -1 wraps.
    # For 32 bits that costs a 64-bit conversion, fast only with AVX-512; elsewhere
    # the one quotient out of range is put right by hand.
    quotient = _to_integer(f, ratio, real, t)
    quotient = f.op(f"select {bt} {zero}, {vt} {none}, {vt} {quotient}")
    back = f.op(f"mul {vt} {quotient}, {safe}")
    rest = f.op(f"sub {vt} {a}, {back}")
    rest = f.op(f"select {bt} {zero}, {vt} {none}, {vt} {rest}")
    return quotient, rest


def _to_integer(f: Function, a: str, real: Type, t: Type) -> str:
    rt, vt, lanes = value_type(real), value_type(t), t.count
    if t.width < 32:
        wide = Int(32, lanes)
        text = f.op(f"fptosi {rt} {a} to {value_type(wide)}")
        return f.op(f"trunc {value_type(wide)} {text} to {vt}")
    if t.is_uint():
        return f.op(f"fptoui {rt} {a} to {value_type(UInt(32, lanes))}")
    most = "splat (double 0x41E0000000000000)"  # 2**31
    over = f.op(f"fcmp oge {rt} {a}, {most}")
    text = f.op(f"freeze {vt} {f.op(f'fptosi {rt} {a} to {vt}')}")
    least = integers(t, -(1 << 31))
    return f.op(f"select {_bools(t)} {over}, {vt} {least}, {vt} {text}")
