"""`numpy.median`, `numpy.percentile` and `numpy.quantile`.

Of all elements of an array they are found by radix: the eight highest bits of those
that have a place in the order of all are found of a histogram of these bits, then the
next eight of those whose highest are the same, and so on (D. Knuth, The Art of Computer
Programming 3, section 5.2.5). Along an axis of known extent, elements are sorted by a
network.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from parhelion.errors import BoundsError, TypeMismatchError, here
from parhelion.ir import build
from parhelion.ir.build import const_int, imm, int32
from parhelion.ir.expr import Expr as Node
from parhelion.ir.expr import Intrinsic, Reinterpret
from parhelion.lang.convert import is_literal
from parhelion.types import INT32, Type, UInt
from parhelion.whole import indexing, networks, reductions
from parhelion.whole.assembling import stack
from parhelion.whole.core import Whole, computed
from parhelion.whole.elementwise import apply, cast, where
from parhelion.whole.operands import operand
from parhelion.whole.promotion import FLOAT64, INT64, float_for
from parhelion.whole.reductions import Axes, places
from parhelion.whole.tables import accumulated, counted
from parhelion.whole.trace import Filled

#: The most elements along an axis that are sorted: networks grow faster than these.
MOST = 49
_BITS = 8


def quantile(
    a: object, q: object, axis: Axes = None, *, keepdims: bool = False, **odd: object
) -> Whole:
    """`numpy.quantile`, between two elements by a line: the share `q` of the elements
    lies below it.

    q: in [0, 1], or a list of such, along whose axis, the first, the results lie; a
    number that is given at each call is limited to this. axis: all axes, or one of a
    known extent of at most 49, as that of ``np.stack``. Raises TypeMismatchError for
    other axes and methods, BoundsError for other shares.
    """
    return _quantile("quantile", a, q, 1.0, axis, keepdims, odd)


def percentile(
    a: object, q: object, axis: Axes = None, *, keepdims: bool = False, **odd: object
) -> Whole:
    """`numpy.percentile`: as `quantile`, with shares in [0, 100]."""
    return _quantile("percentile", a, q, 100.0, axis, keepdims, odd)


def median(a: object, axis: Axes = None, *, keepdims: bool = False) -> Whole:
    """`numpy.median`: as `quantile` of a half."""
    return _quantile("median", a, 0.5, 1.0, axis, keepdims, {})


def _quantile(
    what: str,
    a: object,
    q: object,
    all_: float,
    axis: Axes,
    keepdims: bool,
    odd: dict[str, object],
) -> Whole:
    for name, value in odd.items():
        if (name, value) != ("method", "linear"):
            raise TypeMismatchError(f"{what} of an Array takes no {name}=", at=here())
    whole = operand(a)
    over = places(whole, axis, what)
    listed = isinstance(q, list | tuple) or (isinstance(q, np.ndarray) and q.ndim > 0)
    shares = [_share(what, one, all_) for one in (q if listed else [q])]  # type: ignore[attr-defined]
    if whole.trace is not None:
        whole.trace.check(Filled(what, whole.shape, tuple(over), here()))
    if len(over) == whole.rank and not _is_short(whole, over):
        found = _of_all(whole, shares)
        if keepdims:
            found = [indexing.take(f, (None,) * whole.rank) for f in found]
    elif _is_short(whole, over):
        found = _of_axis(whole, over[0], shares)
        if keepdims:
            index = (*[slice(None)] * over[0], None)
            found = [indexing.take(f, index) for f in found]
    else:
        raise TypeMismatchError(
            f"{what} is of all elements, or along one axis whose extent is known while"
            f" the function is traced and at most {MOST}",
            at=here(),
            hint="np.stack([a, b, c]) has a known extent along its new axis;"
            " hl.filters.median is that of the pixels around each",
        )
    return stack(list(found)) if listed else found[0]


def _is_short(whole: Whole, over: Sequence[int]) -> bool:
    known = const_int(whole.shape[over[0]]) if len(over) == 1 else None
    return known is not None and known <= MOST


def _share(what: str, given: object, all_: float) -> Node | float:
    """A share in [0, 1]: a float where it is known now."""
    if is_literal(given) or isinstance(given, np.generic):
        share = float(given) / all_  # type: ignore[arg-type]
        if not 0 <= share <= 1:
            raise BoundsError(
                f"{what} takes shares in [0, {all_:g}], not {given}", at=here()
            )
        return share
    one = operand(given)
    if one.rank:
        raise TypeMismatchError(
            f"the shares of {what} are a number, or a list of numbers", at=here()
        )
    wide = build.div(build.cast(FLOAT64, one.value), imm(all_, FLOAT64))
    return build.clamp(wide, imm(0.0, FLOAT64), imm(1.0, FLOAT64))


def _between(low: Whole, high: Whole, part: Whole, t: Type) -> Whole:
    """What lies between two elements, by a line."""
    a, b = cast(low, FLOAT64), cast(high, FLOAT64)
    step = apply("multiply", apply("subtract", b, a), part)
    # Two infinities are no step from each other.
    found = where(apply("equal", a, b), a, apply("add", a, step))
    return cast(found, float_for(t))


def _scalar(value: Node, like: Whole) -> Whole:
    return Whole(value, (), (), like.trace)


def _nan_if(bad: Whole, found: Whole) -> Whole:
    return where(bad, _scalar(imm(float("nan"), found.type), found), found)


def _virtual(share: Node | float, last: Node) -> tuple[Node, Node]:
    """Where a share is in the order of all: the number of the element before it, an
    int64, and how far it is from that. last: the number of the last element."""
    known = const_int(last)
    if isinstance(share, float) and known is not None:
        low = int(share * known)
        return imm(low, INT64), imm(share * known - low, FLOAT64)
    factor = imm(share, FLOAT64) if isinstance(share, float) else share
    place = build.mul(factor, build.cast(FLOAT64, last))
    low_ = Intrinsic(FLOAT64, "floor", (place,))
    return build.cast(INT64, low_), build.sub(place, low_)


# Along an axis.


def _of_axis(whole: Whole, axis: int, shares: Sequence[Node | float]) -> list[Whole]:
    base = computed(whole)
    count = const_int(base.shape[axis])
    assert count is not None
    parts = [indexing.take(base, (*[slice(None)] * axis, k)) for k in range(count)]
    ordered = networks.sort([one.value for one in parts])
    last = imm(count - 1, INT64)
    found = []
    for share in shares:
        low, part = _virtual(share, last)
        high = build.minimum(build.add(low, imm(1, INT64)), last)
        ends = [
            Whole(_chosen(ordered, at), parts[0].shape, parts[0].names, base.trace)
            for at in (low, high)
        ]
        one = _between(ends[0], ends[1], _scalar(part, base), base.type)
        for element in parts if base.type.is_float() else []:
            one = _nan_if(apply("isnan", element), one)
        found.append(one)
    return found


def _chosen(ordered: Sequence[Node], at: Node) -> Node:
    """The value at a place, which may be known at a call alone."""
    known = const_int(at)
    if known is not None:
        return ordered[known]
    value = ordered[-1]
    for k in reversed(range(len(ordered) - 1)):
        value = build.select(build.eq(at, imm(k, INT64)), ordered[k], value)
    return value


# Of all elements.


def _of_all(whole: Whole, shares: Sequence[Node | float]) -> list[Whole]:
    base = computed(whole)
    if not base.rank:
        base = indexing.take(base, (None,))
    keys = _keys(base)
    count = imm(1, INT64)
    for n in base.shape:
        count = build.mul(count, build.cast(INT64, n))
    last = build.sub(count, imm(1, INT64))
    first = _bins(keys, None, 0)
    found = []
    for share in shares:
        low, part = _virtual(share, last)
        high = build.minimum(build.add(low, imm(1, INT64)), last)
        ends = [_selected(keys, first, at, base.type) for at in (low, high)]
        part_ = _scalar(part, base)
        found.append(_between(ends[0], ends[1], part_, base.type))
    if base.type.is_float():
        axes = list(range(base.rank))
        bad = reductions.reduce("any", apply("isnan", base), axes, False)
        found = [_nan_if(bad, one) for one in found]
    return found


def _keys(whole: Whole) -> Whole:
    """Unsigned integers in the order of the elements."""
    t, value = whole.type, whole.value
    if t.is_bool():
        return cast(whole, UInt(8))
    wide = UInt(t.width)
    sign = imm(1 << (t.width - 1), wide)
    if t.is_float():
        bits = Reinterpret(wide, value)
        # Floats are a sign and a size: those below 0 are turned around.
        key = build.select(
            build.lt(bits, sign),
            Intrinsic(wide, "bit_or", (bits, sign)),
            Intrinsic(wide, "bit_not", (bits,)),
        )
    else:
        key = build.cast(wide, value)
        if t.is_int():
            key = Intrinsic(wide, "bit_xor", (key, sign))
    return Whole(key, whole.shape, whole.names, whole.trace)


def _element(key: Whole, t: Type) -> Whole:
    """The element of a key."""
    if t.is_bool():
        return key
    wide, value = key.type, key.value
    sign = imm(1 << (t.width - 1), wide)
    if t.is_float():
        bits = build.select(
            build.lt(value, sign),
            Intrinsic(wide, "bit_not", (value,)),
            Intrinsic(wide, "bit_xor", (value, sign)),
        )
        value = Reinterpret(t, bits)
    elif t.is_int():
        value = build.cast(t, Intrinsic(wide, "bit_xor", (value, sign)))
    return Whole(value, key.shape, key.names, key.trace)


def _bins(keys: Whole, known: Whole | None, bits: int) -> Whole:
    """How often each value of the next eight bits occurs, of the keys whose highest
    bits are those of `known`, a scalar."""
    t, width = keys.type, keys.type.width
    rest = keys.value
    if bits + _BITS < width:
        rest = Intrinsic(t, "shift_right", (rest, imm(width - bits - _BITS, t)))
    index = build.cast(UInt(_BITS), rest)
    if known is not None:
        upper = Intrinsic(t, "shift_right", (rest, imm(_BITS, t)))
        same = build.eq(upper, known.value)
        # Others are counted nowhere.
        index = build.select(same, build.cast(INT32, index), int32(1 << _BITS))
    whole = Whole(index, keys.shape, keys.names, keys.trace)
    return counted(whole, 1 << _BITS, list(range(keys.rank)))


def _selected(keys: Whole, table: Whole, place: Node, t: Type) -> Whole:
    """The element at a place in the order of all. table: the bins of the highest
    bits."""
    left = _scalar(place, keys)
    found, bits = None, 0
    while True:
        sums = accumulated(table, 0, INT64)
        is_before = apply("less_equal", sums, left)
        bin_ = reductions.reduce("sum", is_before, 0, False)
        skipped = where(is_before, sums, _scalar(imm(0, INT64), keys))
        most = reductions.reduce("max", skipped, 0, False)
        left = computed(apply("subtract", left, most))
        low = build.cast(keys.type, bin_.value)
        if found is not None:
            high = Intrinsic(
                keys.type, "shift_left", (found.value, imm(_BITS, keys.type))
            )
            low = Intrinsic(keys.type, "bit_or", (high, low))
        found = computed(_scalar(low, keys))
        bits += _BITS
        if bits == keys.type.width:
            return _element(found, t)
        table = _bins(keys, found, bits)


#: By NumPy's functions.
FUNCTIONS: dict[Any, Callable[..., Whole]] = {
    np.median: median,
    np.percentile: percentile,
    np.quantile: quantile,
}

__all__ = ["FUNCTIONS", "MOST", "median", "percentile", "quantile"]
