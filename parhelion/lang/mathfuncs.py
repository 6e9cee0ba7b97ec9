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
    """Returns the square root, correctly rounded; NaN below 0.

    >>> hl.evaluate(hl.sqrt(9.0))
    3.0
    """
    return wrap(ops.float_call("sqrt", x))


def exp(x: ExprLike) -> Expr:
    """Returns e to the power `x`.

    >>> hl.evaluate(hl.exp(0.0))
    1.0
    """
    return wrap(ops.float_call("exp", x))


def log(x: ExprLike) -> Expr:
    """Returns the natural logarithm; minus infinity for 0 and NaN below it.

    >>> hl.evaluate(hl.log(1.0))
    0.0
    """
    return wrap(ops.float_call("log", x))


def sin(x: ExprLike) -> Expr:
    """Returns the sine of an angle in radians.

    >>> hl.evaluate(hl.sin(0.0))
    0.0
    """
    return wrap(ops.float_call("sin", x))


def cos(x: ExprLike) -> Expr:
    """Returns the cosine of an angle in radians.

    >>> hl.evaluate(hl.cos(0.0))
    1.0
    """
    return wrap(ops.float_call("cos", x))


def tan(x: ExprLike) -> Expr:
    """Returns the tangent of an angle in radians.

    >>> hl.evaluate(hl.tan(0.0))
    0.0
    """
    return wrap(ops.float_call("tan", x))


def asin(x: ExprLike) -> Expr:
    """Returns the arc sine in radians, in [-pi/2, pi/2]; NaN outside [-1, 1].

    >>> round(hl.evaluate(hl.asin(1.0)), 5)
    1.5708
    """
    return wrap(ops.float_call("asin", x))


def acos(x: ExprLike) -> Expr:
    """Returns the arc cosine in radians, in [0, pi]; NaN outside [-1, 1].

    >>> round(hl.evaluate(hl.acos(0.0)), 5)
    1.5708
    """
    return wrap(ops.float_call("acos", x))


def atan(x: ExprLike) -> Expr:
    """Returns the arc tangent in radians, in [-pi/2, pi/2].

    >>> round(hl.evaluate(hl.atan(1.0)), 5)
    0.7854
    """
    return wrap(ops.float_call("atan", x))


def atan2(y: ExprLike, x: ExprLike) -> Expr:
    """Returns the angle of the point (x, y) in radians, in [-pi, pi].

    The result has the float type that `y` asks for.

    >>> round(hl.evaluate(hl.atan2(1.0, -1.0)), 5)
    2.35619
    """
    return wrap(ops.float_call2("atan2", y, x))


def sinh(x: ExprLike) -> Expr:
    """Returns the hyperbolic sine.

    >>> hl.evaluate(hl.sinh(0.0))
    0.0
    """
    return wrap(ops.float_call("sinh", x))


def cosh(x: ExprLike) -> Expr:
    """Returns the hyperbolic cosine.

    >>> hl.evaluate(hl.cosh(0.0))
    1.0
    """
    return wrap(ops.float_call("cosh", x))


def tanh(x: ExprLike) -> Expr:
    """Returns the hyperbolic tangent, in [-1, 1].

    >>> hl.evaluate(hl.tanh(0.0))
    0.0
    """
    return wrap(ops.float_call("tanh", x))


def asinh(x: ExprLike) -> Expr:
    """Returns the inverse hyperbolic sine.

    >>> hl.evaluate(hl.asinh(0.0))
    0.0
    """
    return wrap(ops.float_call("asinh", x))


def acosh(x: ExprLike) -> Expr:
    """Returns the inverse hyperbolic cosine; NaN below 1.

    >>> hl.evaluate(hl.acosh(1.0))
    0.0
    """
    return wrap(ops.float_call("acosh", x))


def atanh(x: ExprLike) -> Expr:
    """Returns the inverse hyperbolic tangent; NaN outside [-1, 1].

    >>> hl.evaluate(hl.atanh(0.0))
    0.0
    """
    return wrap(ops.float_call("atanh", x))


def erf(x: ExprLike) -> Expr:
    """Returns the error function of `x`, in [-1, 1].

    >>> hl.evaluate(hl.erf(0.0))
    0.0
    """
    return wrap(ops.float_call("erf", x))


def hypot(x: ExprLike, y: ExprLike) -> Expr:
    """Returns ``sqrt(x * x + y * y)``; the squares have the types of the operands.

    >>> hl.evaluate(hl.hypot(3.0, 4.0))
    5.0
    """
    return wrap(ops.float_call("sqrt", wrap(ops.mul(x, x)) + wrap(ops.mul(y, y))))


def pow(x: ExprLike, y: ExprLike) -> Expr:
    """Returns `x` to the power `y`; ``x ** y`` is the same.

    A constant integer power is repeated multiplication in the type of `x`, which may be
    an integer type. Any other power is computed in the float type that `x` asks for.

    >>> hl.evaluate(hl.pow(hl.i32(3), 4))
    81
    """
    return wrap(ops.power(x, y))


def floor(x: ExprLike) -> Expr:
    """Returns the largest integer that is not above `x`, as a float.

    >>> hl.evaluate(hl.floor(-1.5))
    -2.0
    """
    return wrap(ops.float_call("floor", x))


def ceil(x: ExprLike) -> Expr:
    """Returns the smallest integer that is not below `x`, as a float.

    >>> hl.evaluate(hl.ceil(-1.5))
    -1.0
    """
    return wrap(ops.float_call("ceil", x))


def round(x: ExprLike) -> Expr:
    """Returns the integer nearest to `x`, as a float; ties go to the even one.

    >>> hl.evaluate(hl.round(2.5))
    2.0
    """
    n = node_of(x)
    rounded = ops.float_call("round", x)
    return wrap(build.cast(n.type, rounded) if n.type.is_bfloat() else rounded)


def trunc(x: ExprLike) -> Expr:
    """Returns the integer part of `x`, as a float: it rounds toward zero.

    >>> hl.evaluate(hl.trunc(-1.5))
    -1.0
    """
    return wrap(ops.float_call("trunc", x))


def fract(x: ExprLike) -> Expr:
    """Returns ``x - trunc(x)``, which has the sign of `x`.

    >>> hl.evaluate(hl.fract(-1.25))
    -0.25
    """
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
    """Returns a Bool: whether a float is not a number.

    The test looks at the bits of `x`, with or without strict_float. Raises
    TypeMismatchError if `x` is not a float.

    >>> hl.evaluate(hl.is_nan(hl.f32(0.0) / hl.f32(0.0)))
    True
    """
    return _classify("is_nan", x)


def is_inf(x: ExprLike) -> Expr:
    """Returns a Bool: whether a float is infinite.

    Raises TypeMismatchError if `x` is not a float.

    >>> hl.evaluate(hl.is_inf(hl.f32(1e30) * 1e30))
    True
    """
    return _classify("is_inf", x)


def is_finite(x: ExprLike) -> Expr:
    """Returns a Bool: whether a float is neither infinite nor NaN.

    Raises TypeMismatchError if `x` is not a float.

    >>> hl.evaluate(hl.is_finite(hl.f32(1.5)))
    True
    """
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
    """Returns about e to the power `x`, in Float(32), by a short polynomial.

    The relative error is below 1e-5 where the result is a normal number; beyond, the
    result is not exactly infinity or 0. Raises TypeMismatchError for floats of another
    type than Float(32).

    >>> round(hl.evaluate(hl.fast_exp(1.0)), 4)
    2.7183
    """
    n = _single("fast_exp", x)
    return wrap(Intrinsic(n.type, "fast_exp", (n,)))


def fast_log(x: ExprLike) -> Expr:
    """Returns about the natural logarithm, in Float(32), by a short polynomial.

    `x` must be positive and a normal number. The absolute error is below 1e-5 of
    ``max(1, |log(x)|)``. Raises TypeMismatchError for floats of another type than
    Float(32).

    >>> round(hl.evaluate(hl.fast_log(10.0)), 4)
    2.3026
    """
    n = _single("fast_log", x)
    return wrap(Intrinsic(n.type, "fast_log", (n,)))


def fast_pow(x: ExprLike, y: ExprLike) -> Expr:
    """Returns about `x` to the power `y`, in Float(32), for `x` not below 0.

    It is ``fast_exp(fast_log(x) * y)``, and 0 where `x` is 0. A constant integer power
    is repeated multiplication, as in `pow`. The relative error is below 1e-4 for
    results in [1e-6, 1e6].

    >>> round(hl.evaluate(hl.fast_pow(2.0, 0.5)), 4)
    1.4142
    """
    n = ops.const_integer(y)
    if n is not None:
        return wrap(ops.power(x, y))
    a, b = (build.cast(FLOAT32, e) for e in matched(x, y))
    return wrap(Intrinsic(FLOAT32, "fast_pow", (a, b)))


def fast_sin(x: ExprLike) -> Expr:
    """Returns about the sine of an angle in radians, by a short polynomial.

    The absolute error is below 1e-5 where |x| < 1000. Float(16) is computed in
    Float(32).

    >>> round(hl.evaluate(hl.fast_sin(0.5)), 4)
    0.4794
    """
    return _fast_circular("fast_sin", x)


def fast_cos(x: ExprLike) -> Expr:
    """Returns about the cosine of an angle in radians, by a short polynomial.

    The absolute error is below 1e-5 where |x| < 1000. Float(16) is computed in
    Float(32).

    >>> round(hl.evaluate(hl.fast_cos(0.5)), 4)
    0.8776
    """
    return _fast_circular("fast_cos", x)


def _fast_circular(op: str, x: ExprLike) -> Expr:
    n = node_of(x)
    t = n.type if n.type.is_float() and n.type.width == 64 else FLOAT32
    return wrap(Intrinsic(t, op, (build.cast(t, n),)))


def fast_inverse(x: ExprLike) -> Expr:
    """Returns about ``1 / x``, in Float(32) or Float(16).

    The relative error is below 2**-11; it is that of a division where the processor has
    nothing faster. Raises TypeMismatchError for other float types.

    >>> round(hl.evaluate(hl.fast_inverse(4.0)), 2)
    0.25
    """
    n = _single("fast_inverse", x, half=True)
    return wrap(Intrinsic(n.type, "fast_inverse", (n,)))


def fast_inverse_sqrt(x: ExprLike) -> Expr:
    """Returns about ``1 / sqrt(x)``, in Float(32) or Float(16).

    The error is that of `fast_inverse`. Raises TypeMismatchError for other float types.

    >>> round(hl.evaluate(hl.fast_inverse_sqrt(4.0)), 2)
    0.5
    """
    n = _single("fast_inverse_sqrt", x, half=True)
    return wrap(Intrinsic(n.type, "fast_inverse_sqrt", (n,)))
