"""Marks, effects and random numbers: likely, print, require, undef, random_float, …"""

from __future__ import annotations

import itertools
from typing import NoReturn

from parhelion.errors import HalideError, TypeMismatchError, here
from parhelion.ir import build
from parhelion.ir.build import imm
from parhelion.ir.expr import Expr as Node
from parhelion.ir.expr import Intrinsic, Reinterpret
from parhelion.lang.convert import FLOAT32, check_type, node_of
from parhelion.lang.expr import Expr, ExprLike, is_undefined, wrap
from parhelion.lang.functions import bounds_in_type
from parhelion.lang.requirement import boolean, shown, spaced
from parhelion.types import INT32, Type, UInt

UINT32 = UInt(32)
_RANDOM = itertools.count()


def likely(value: ExprLike) -> Expr:
    """`value`, with the hint that the branches and bounds it decides are as in the
    interior of a loop: the loop is cut so that its steady state runs without them."""
    return wrap(build.likely(node_of(value)))


def likely_if_innermost(value: ExprLike) -> Expr:
    """`likely`, for innermost loops only."""
    n = node_of(value)
    return wrap(Intrinsic(n.type, "likely_if_innermost", (n,)))


def print(value: ExprLike, *args: ExprLike | str) -> Expr:
    """`value`; prints it and the other arguments, with spaces between, whenever it is
    computed."""
    if isinstance(value, str):
        raise TypeMismatchError(
            "the first argument of hl.print is the value that it stands for",
            at=here(),
            hint=f"write hl.print(value, {value!r}, …) inside the expression",
        )
    n = node_of(value)
    return wrap(Intrinsic(n.type, "print", (n, *shown(args))))


def print_when(condition: ExprLike, value: ExprLike, *args: ExprLike | str) -> Expr:
    """`value`; prints as `print` does where `condition` holds."""
    n = node_of(value)
    c = boolean(condition, "print_when")
    return wrap(Intrinsic(n.type, "print_when", (c, n, *shown(args))))


def require(condition: ExprLike, value: ExprLike, *args: ExprLike | str) -> Expr:
    """`value`, if `condition` holds; else the pipeline stops with a
    PipelineRuntimeError that shows the other arguments, with spaces between."""
    n = node_of(value)
    c = boolean(condition, "require")
    return wrap(Intrinsic(n.type, "require", (c, n, *spaced(args))))


def undef(type: Type) -> Expr:
    """No value in particular: a pure definition with it leaves the storage as it is,
    to be written by updates."""
    t = check_type(type, "undef has")
    if t.is_handle():
        raise TypeMismatchError(f"undef of type {t}", at=here())
    return wrap(Intrinsic(t, "undef", ()))


def strict_float(value: ExprLike) -> Expr:
    """`value`, every float operation in it rounded by itself: no fused multiply-add, no
    division turned into multiplication. It concerns `value` as it is written here, not
    the definitions of Funcs that it calls (docs/floats.md)."""
    n = node_of(value)
    return wrap(Intrinsic(n.type, "strict_float", (n,)))


def unsafe_promise_clamped(
    value: ExprLike, min: ExprLike | None = None, max: ExprLike | None = None
) -> Expr:
    """`value`, with the promise that it lies in [min, max], which bounds inference
    trusts and nobody reports. None (or ``hl.Expr()``) is an open end.

    Where the promise is broken the value is some number in [min, max]: unlike
    Halide's, a false promise cannot make a pipeline read out of bounds.
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
    """A Float(32) uniformly distributed in [0, 1).

    It is a hash of the call, the optional integer seed, the Func and the definition
    that it stands in, and that definition's Vars: the same at every evaluation of a
    point, whatever the schedule. Two calls are independent; a Python name for one
    call is one variable.
    """
    bits = _random(seed, "random_float", unsigned_seed=False)
    # 23 random bits as the fraction of a number in [1, 2).
    low = Intrinsic(UINT32, "shift_right", (bits, imm(9, UINT32)))
    one = imm(0x3F800000, UINT32)
    number = Reinterpret(FLOAT32, Intrinsic(UINT32, "bit_or", (low, one)))
    return wrap(build.sub(number, imm(1.0, FLOAT32)))


def random_uint(seed: ExprLike | None = None) -> Expr:
    """A UInt(32) uniformly distributed over the type; see `random_float`."""
    return wrap(_random(seed, "random_uint"))


def random_int(seed: ExprLike | None = None) -> Expr:
    """An Int(32) uniformly distributed over the type; see `random_float`."""
    return wrap(build.cast(INT32, _random(seed, "random_int")))


def memoize_tag(result: ExprLike, *args: ExprLike) -> Expr:
    """`result`; in the key of a memoized Func that uses it, `args` stand for all that
    it depends on: ``hl.memoize_tag(image[x, y], version)``.

    The args must not vary within a run: Params, and what is made of them. A tag is of
    the algorithm, and holds whether or not the schedule memoizes a Func that uses it:
    where none is, it is just `result`, and no warning says so.
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
    """Not available yet: an update that reads several places before it writes."""
    _not_yet("gather")


def scatter(values: object) -> NoReturn:
    """Not available yet: an update that writes several places at once."""
    _not_yet("scatter")


def _not_yet(name: str) -> NoReturn:
    raise HalideError(f"hl.{name} is not available yet", at=here())
