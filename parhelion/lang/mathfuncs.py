"""The floating-point functions: roots, exponentials, trigonometry, rounding.

Float(16) and Float(64) arguments keep their type; integers, Bool and BFloat(16) are
converted to Float(32). Angles are in radians. Outside a function's domain the result
is NaN, as in C.
"""

from __future__ import annotations

from parhelion.errors import TypeMismatchError, here
from parhelion.ir import build
from parhelion.ir.expr import Expr as Node
from parhelion.ir.expr import Intrinsic
from parhelion.lang import ops
from parhelion.lang.convert import FLOAT32, matched, node_of
from parhelion.lang.expr import Expr, ExprLike, wrap
from parhelion.types import BOOL


def sqrt(x: ExprLike) -> Expr:
    """The square root, correctly rounded."""
    return wrap(ops.float_call("sqrt", x))


def exp(x: ExprLike) -> Expr:
    """``e ** x``"""
    return wrap(ops.float_call("exp", x))


def log(x: ExprLike) -> Expr:
    """The natural logarithm."""
    return wrap(ops.float_call("log", x))


def sin(x: ExprLike) -> Expr:
    """The sine."""
    return wrap(ops.float_call("sin", x))


def cos(x: ExprLike) -> Expr:
    """The cosine."""
    return wrap(ops.float_call("cos", x))


def tan(x: ExprLike) -> Expr:
    """The tangent."""
    return wrap(ops.float_call("tan", x))


def asin(x: ExprLike) -> Expr:
    """The arc sine, in [-pi/2, pi/2]."""
    return wrap(ops.float_call("asin", x))


def acos(x: ExprLike) -> Expr:
    """The arc cosine, in [0, pi]."""
    return wrap(ops.float_call("acos", x))


def atan(x: ExprLike) -> Expr:
    """The arc tangent, in [-pi/2, pi/2]."""
    return wrap(ops.float_call("atan", x))


def atan2(y: ExprLike, x: ExprLike) -> Expr:
    """The angle of the point (x, y), in [-pi, pi], of the type that `y` asks for."""
    return wrap(ops.float_call2("atan2", y, x))


def sinh(x: ExprLike) -> Expr:
    """The hyperbolic sine."""
    return wrap(ops.float_call("sinh", x))


def cosh(x: ExprLike) -> Expr:
    """The hyperbolic cosine."""
    return wrap(ops.float_call("cosh", x))


def tanh(x: ExprLike) -> Expr:
    """The hyperbolic tangent."""
    return wrap(ops.float_call("tanh", x))


def asinh(x: ExprLike) -> Expr:
    """The inverse hyperbolic sine."""
    return wrap(ops.float_call("asinh", x))


def acosh(x: ExprLike) -> Expr:
    """The inverse hyperbolic cosine."""
    return wrap(ops.float_call("acosh", x))


def atanh(x: ExprLike) -> Expr:
    """The inverse hyperbolic tangent."""
    return wrap(ops.float_call("atanh", x))


def erf(x: ExprLike) -> Expr:
    """The error function."""
    return wrap(ops.float_call("erf", x))


def hypot(x: ExprLike, y: ExprLike) -> Expr:
    """``sqrt(x * x + y * y)``, the squares in the operands' own types."""
    return wrap(ops.float_call("sqrt", wrap(ops.mul(x, x)) + wrap(ops.mul(y, y))))


def pow(x: ExprLike, y: ExprLike) -> Expr:
    """`x` to the power `y`, as ``x ** y``.

    A constant integer power is repeated multiplication in `x`'s own type, integers
    included; any other is computed in the float type that `x` asks for.
    """
    return wrap(ops.power(x, y))


def floor(x: ExprLike) -> Expr:
    """The largest integer not above `x`, as a float."""
    return wrap(ops.float_call("floor", x))


def ceil(x: ExprLike) -> Expr:
    """The smallest integer not below `x`, as a float."""
    return wrap(ops.float_call("ceil", x))


def round(x: ExprLike) -> Expr:
    """The nearest integer, ties to even, as a float."""
    n = node_of(x)
    rounded = ops.float_call("round", x)
    return wrap(build.cast(n.type, rounded) if n.type.is_bfloat() else rounded)


def trunc(x: ExprLike) -> Expr:
    """The integer part, as a float."""
    return wrap(ops.float_call("trunc", x))


def fract(x: ExprLike) -> Expr:
    """``x - trunc(x)``, of `x`'s sign."""
    n = node_of(x)
    t = ops.float_type(n.type)
    n = build.cast(t, n)
    return wrap(build.sub(n, Intrinsic(t, "trunc", (n,))))


def _classify(op: str, x: ExprLike) -> Expr:
    n = node_of(x)
    if not n.type.is_float():
        raise TypeMismatchError(
            f"{op} takes a float, not a value of type {n.type}", at=here()
        )
    return wrap(Intrinsic(BOOL, op, (build.cast(ops.float_type(n.type), n),)))


def is_nan(x: ExprLike) -> Expr:
    """Whether a float is not a number, as a Bool. True to the bits of `x`, whatever
    the float mode."""
    return _classify("is_nan", x)


def is_inf(x: ExprLike) -> Expr:
    """Whether a float is an infinity, as a Bool."""
    return _classify("is_inf", x)


def is_finite(x: ExprLike) -> Expr:
    """Whether a float is neither infinite nor NaN, as a Bool."""
    return _classify("is_finite", x)


def _single(op: str, x: ExprLike, *, half: bool = False) -> Node:
    """`x` as a Float(32) argument of an approximation (or Float(16), with `half`)."""
    n = node_of(x)
    t = n.type
    if t is FLOAT32 or t.is_int_or_uint() or (half and t.is_float() and t.width == 16):
        return build.cast(ops.float_type(t), n)
    raise TypeMismatchError(
        f"{op} works in Float(32), not on a value of type {t}",
        at=here(),
        hint=f"cast the argument with hl.f32, or use hl.{op.removeprefix('fast_')}",
    )


def fast_exp(x: ExprLike) -> Expr:
    """`exp` by a short polynomial, in Float(32). The relative error is below 1e-5 for
    results that are normal numbers; above and below, infinity and 0 are not exact."""
    n = _single("fast_exp", x)
    return wrap(Intrinsic(n.type, "fast_exp", (n,)))


def fast_log(x: ExprLike) -> Expr:
    """`log` by a short polynomial, in Float(32), for positive normal `x`. The absolute
    error is below 1e-5 of ``max(1, |log(x)|)``."""
    n = _single("fast_log", x)
    return wrap(Intrinsic(n.type, "fast_log", (n,)))


def fast_pow(x: ExprLike, y: ExprLike) -> Expr:
    """``fast_exp(fast_log(x) * y)`` in Float(32), 0 for `x` 0. A constant integer power
    is repeated multiplication, as in `pow`. The relative error is below 1e-4 for
    results in [1e-6, 1e6]."""
    n = ops.const_integer(y)
    if n is not None:
        return wrap(ops.power(x, y))
    a, b = (build.cast(FLOAT32, e) for e in matched(x, y))
    return wrap(Intrinsic(FLOAT32, "fast_pow", (a, b)))


def fast_sin(x: ExprLike) -> Expr:
    """`sin` by a short polynomial. The absolute error is below 1e-5 for |x| < 1000;
    Float(16) is computed in Float(32)."""
    return _fast_circular("fast_sin", x)


def fast_cos(x: ExprLike) -> Expr:
    """`cos` by a short polynomial. The absolute error is below 1e-5 for |x| < 1000;
    Float(16) is computed in Float(32)."""
    return _fast_circular("fast_cos", x)


def _fast_circular(op: str, x: ExprLike) -> Expr:
    n = node_of(x)
    t = n.type if n.type.is_float() and n.type.width == 64 else FLOAT32
    return wrap(Intrinsic(t, op, (build.cast(t, n),)))


def fast_inverse(x: ExprLike) -> Expr:
    """About ``1 / x``, in Float(32) or Float(16): the relative error is below 2**-11,
    or none where the machine has no faster way than the division."""
    n = _single("fast_inverse", x, half=True)
    return wrap(Intrinsic(n.type, "fast_inverse", (n,)))


def fast_inverse_sqrt(x: ExprLike) -> Expr:
    """About ``1 / sqrt(x)``, in Float(32) or Float(16), with the error of
    `fast_inverse`."""
    n = _single("fast_inverse_sqrt", x, half=True)
    return wrap(Intrinsic(n.type, "fast_inverse_sqrt", (n,)))
