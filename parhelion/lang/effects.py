"""Marks, effects and random numbers: likely, print, require, undef, random_float, …"""

from __future__ import annotations

import itertools
from typing import NoReturn

from parhelion.errors import HalideError, TypeMismatchError, here
from parhelion.ir import build
from parhelion.ir.build import imm
from parhelion.ir.expr import Expr as Node
from parhelion.ir.expr import Intrinsic, Reinterpret
from parhelion.lang.convert import FLOAT32, TypeLike, check_type, node_of
from parhelion.lang.expr import Expr, ExprLike, is_undefined, wrap
from parhelion.lang.functions import bounds_in_type
from parhelion.lang.requirement import boolean, shown, spaced
from parhelion.types import INT32, UInt

UINT32 = UInt(32)
_RANDOM = itertools.count()


def likely(value: ExprLike) -> Expr:
    """Returns `value`, and says that it is as in the middle of a loop.

    A condition or a bound marked like this is one that holds for most iterations: the
    loop is cut in pieces so that its middle, where the mark holds, runs without the
    test. The value itself does not change.

    >>> f = hl.Func()
    >>> f[x] = hl.select(hl.likely(x > 0), x, 100)
    >>> np.asarray(f.realize([3])).tolist()
    [100, 1, 2]
    """
    return wrap(build.likely(node_of(value)))


def likely_if_innermost(value: ExprLike) -> Expr:
    """Returns `value`, marked as by `likely` for innermost loops only.

    >>> f = hl.Func()
    >>> f[x] = hl.select(hl.likely_if_innermost(x > 0), x, 100)
    >>> np.asarray(f.realize([3])).tolist()
    [100, 1, 2]
    """
    n = node_of(value)
    return wrap(Intrinsic(n.type, "likely_if_innermost", (n,)))


def print(value: ExprLike, *args: ExprLike | str) -> Expr:
    """Returns `value`; the compiled code prints it each time that it is computed.

    The line has the value and then the other arguments, values or text, with spaces
    between them. It goes to ``sys.stdout``. Raises TypeMismatchError if the first
    argument is text.

    >>> f = hl.Func()
    >>> f[x] = hl.print(x * x, "is the square of", x)
    >>> squares = f.realize([2])
    0 is the square of 0
    1 is the square of 1
    """
    if isinstance(value, str):
        raise TypeMismatchError(
            "the first argument of hl.print is the value that it stands for",
            at=here(),
            hint=f"write hl.print(value, {value!r}, …) inside the expression",
        )
    n = node_of(value)
    return wrap(Intrinsic(n.type, "print", (n, *shown(args))))


def print_when(condition: ExprLike, value: ExprLike, *args: ExprLike | str) -> Expr:
    """Returns `value`; prints a line as `print` does where `condition` holds.

    Raises TypeMismatchError if `condition` is not a Bool.

    >>> f = hl.Func()
    >>> f[x] = hl.print_when(x == 2, x * x, "is the square of", x)
    >>> squares = f.realize([4])
    4 is the square of 2
    """
    n = node_of(value)
    c = boolean(condition, "print_when")
    return wrap(Intrinsic(n.type, "print_when", (c, n, *shown(args))))


def require(condition: ExprLike, value: ExprLike, *args: ExprLike | str) -> Expr:
    """Returns `value`, after a check that `condition` holds whenever it is computed.

    Where it does not hold, the pipeline stops, and `realize` raises
    PipelineRuntimeError with the other arguments as its text, with spaces between them.
    Raises TypeMismatchError if `condition` is not a Bool.

    >>> f = hl.Func()
    >>> f[x] = hl.require(x < 3, x, "x is too large:", x)
    >>> np.asarray(f.realize([3])).tolist()
    [0, 1, 2]
    """
    n = node_of(value)
    c = boolean(condition, "require")
    return wrap(Intrinsic(n.type, "require", (c, n, *spaced(args))))


def undef(type: TypeLike) -> Expr:
    """Returns an expression without a value: nothing is stored for it.

    A pure definition by it leaves the storage as it is, and updates then write what is
    needed. Pixels that no update writes have any value. Raises TypeMismatchError if
    `type` is Handle.

    >>> r = hl.RDom([(0, 3)])
    >>> f = hl.Func()
    >>> f[x] = hl.undef(hl.Int(32))
    >>> f[r] = r * r
    >>> np.asarray(f.realize([3])).tolist()
    [0, 1, 4]
    """
    t = check_type(type, "undef has")
    if t.is_handle():
        raise TypeMismatchError(f"undef of type {t}", at=here())
    return wrap(Intrinsic(t, "undef", ()))


def strict_float(value: ExprLike) -> Expr:
    """Returns `value` with each float operation in it rounded by itself.

    The compiler then makes no fused multiply-add of ``a * b + c`` and no multiplication
    of a division. This holds for `value` as it is written here, and not for the
    definitions of the Funcs that it calls: see docs/floats.md.

    >>> hl.evaluate(hl.strict_float(hl.f32(1.0) / 3.0) * 3.0)
    1.0
    """
    n = node_of(value)
    return wrap(Intrinsic(n.type, "strict_float", (n,)))


def unsafe_promise_clamped(
    value: ExprLike, min: ExprLike | None = None, max: ExprLike | None = None
) -> Expr:
    """Returns `value`, with the promise that it lies in [min, max].

    The compiler believes the promise where it works out how large images must be, and
    no run checks it. None or ``hl.Expr()`` leaves an end open. Where the promise is
    broken, the value is some number in [min, max]: unlike in Halide, the pipeline
    cannot read out of bounds. Raises TypeMismatchError for a bound that the type of
    `value` cannot hold.

    >>> table, index = hl.Buffer(np.arange(256)), hl.Buffer(np.array([5, 200]))
    >>> f = hl.Func()
    >>> f[x] = table[hl.i32(hl.unsafe_promise_clamped(index[x], 0, 255))]
    >>> np.asarray(f.realize([2])).tolist()
    [5, 200]
    """
    n = node_of(value)
    lo, hi = bounds_in_type(
        n.type,
        "unsafe_promise_clamped",
        wrap(imm(n.type.lowest(), n.type)) if is_undefined(min) else min,
        wrap(imm(n.type.highest(), n.type)) if is_undefined(max) else max,
    )
    return wrap(Intrinsic(n.type, "promise_clamped", (n, lo, hi)))


def _random(seed: ExprLike | None, what: str, unsigned_seed: bool = True) -> Node:
    """32 random bits. The definition that it stands in adds itself and its Vars."""
    number = imm(next(_RANDOM), UINT32)
    if seed is None:
        return Intrinsic(UINT32, "random_int", (number,))
    n = node_of(seed)
    if n.type is not INT32 and not (unsigned_seed and n.type is UINT32):
        raise TypeMismatchError(
            f"the seed of {what} is an Int(32), not a value of type {n.type}",
            at=here(),
        )
    return Intrinsic(UINT32, "random_int", (build.cast(UINT32, n), number))


def random_float(seed: ExprLike | None = None) -> Expr:
    """Returns a Float(32) that is uniformly distributed in [0, 1).

    Each point has a number of its own, which does not depend on the schedule and is the
    same in each run: it is a hash of this call, the Func and definition that it stands
    in, the values of that definition's Vars, and the optional integer `seed`. Two calls
    give independent numbers; one call that is used twice through a Python name is one
    number. Raises TypeMismatchError if `seed` is not an Int(32).

    >>> f = hl.Func()
    >>> f[x] = hl.random_float()
    >>> numbers = np.asarray(f.realize([1000]))
    >>> bool(numbers.min() >= 0), bool(numbers.max() < 1)
    (True, True)
    """
    bits = _random(seed, "random_float", unsigned_seed=False)
    # 23 random bits as the fraction of a number in [1, 2).
    low = Intrinsic(UINT32, "shift_right", (bits, imm(9, UINT32)))
    one = imm(0x3F800000, UINT32)
    number = Reinterpret(FLOAT32, Intrinsic(UINT32, "bit_or", (low, one)))
    return wrap(build.sub(number, imm(1.0, FLOAT32)))


def random_uint(seed: ExprLike | None = None) -> Expr:
    """Returns a UInt(32) that is uniformly distributed over all its values.

    Otherwise it is as `random_float`; the seed may be a UInt(32), too.

    >>> hl.random_uint().type()
    <parhelion.Type uint32>
    """
    return wrap(_random(seed, "random_uint"))


def random_int(seed: ExprLike | None = None) -> Expr:
    """Returns an Int(32) that is uniformly distributed over all its values.

    Otherwise it is as `random_float`; the seed may be a UInt(32), too.

    >>> hl.random_int().type()
    <parhelion.Type int32>
    """
    return wrap(build.cast(INT32, _random(seed, "random_int")))


def memoize_tag(result: ExprLike, *args: ExprLike) -> Expr:
    """Returns `result`, and says what the key of a memoized Func has in its place.

    A memoized Func is looked up by the values of what it depends on. In that key `args`
    stand for everything that `result` depends on, such as the pixels of an image. They
    must have one value in each run, as Params have. In a Func that is not memoized, the
    tag does nothing.

    Raises TypeMismatchError for `args` that depend on Vars, RVars, Funcs or pixels.

    >>> image, version = hl.ImageParam(hl.UInt(8), 1), hl.Param(hl.Int(32), 1)
    >>> f = hl.Func()
    >>> f[x] = hl.memoize_tag(image[x], version) + 1
    >>> f = f.compute_root().memoize()
    """
    from parhelion.schedule.dependencies import untaggable

    value, tags = node_of(result), [node_of(a) for a in args]
    for tag in tags:
        varies = untaggable(tag)
        if varies:
            raise TypeMismatchError(
                f"a tag of memoize_tag must have one value in a run, but depends on "
                f"{varies}",
                at=here(),
                hint="use a Param that says which data it is",
            )
    return wrap(Intrinsic(value.type, "memoize_tag", (value, *tags)))


def gather(values: object) -> NoReturn:
    """Raises HalideError: updates that read several places first are not available
    yet."""
    _not_yet("gather")


def scatter(values: object) -> NoReturn:
    """Raises HalideError: updates that write several places are not available yet."""
    _not_yet("scatter")


def _not_yet(name: str) -> NoReturn:
    raise HalideError(f"hl.{name} is not available yet", at=here())
