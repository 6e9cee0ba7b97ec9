"""Filters of higher order as several of lower ones, and the other way round."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from parhelion.errors import ScheduleError, here
from parhelion.recfilter.coefficients import Number, shaken, together
from parhelion.recfilter.dims import whole_number
from parhelion.recfilter.filters import Filter
from parhelion.recfilter.warning import warn
from parhelion.types import Type

#: Two poles that lie so near to each other's conjugates are a pair.
_NEAR = 1e-9
#: The share by which a response may change by rounded coefficients before a filter is
#: computed as its factors, and before it is warned of.
_SHAKEN, _MOST_SHAKEN = 2e-4, 1e-2


def checked_orders(given: Sequence[object], what: str) -> list[int]:
    """Orders of filters that a user gives, as ints. Raises ScheduleError for what are
    no positive integers."""
    found = [whole_number(n) for n in given]
    orders = [n for n in found if n is not None and n > 0]
    if not found or len(orders) != len(found):
        raise ScheduleError(
            f"{what}: orders are positive integers, not"
            f" {', '.join([f'{n!r:.60}' for n in given]) or 'none'}",
            at=here(),
            hint="factor_filter_order(2, 1) makes filters of orders 2 and 1 of one of"
            " order 3",
        )
    return orders


def factors(one: Filter, orders: Sequence[int], what: str, t: Type) -> list[Filter]:
    """Filters of these orders which, one after the other, do what `one` does.

    Its poles are shared out, largest first; pairs of complex ones stay together. Each
    factor but the last keeps constants what they are, as far as it can. Raises
    ScheduleError where the orders do not sum up, or need a real pole that is not there,
    or a filter of integers has no such factors of integers.
    """
    check_single(one, what)
    if sum(orders) != one.order:
        raise ScheduleError(
            f"{what}: filters of orders {list(orders)} do not make one of order"
            f" {one.order}, as their sum is {sum(orders)}",
            at=here(),
        )
    (first, *_), feedback = one.constants()
    poles = np.roots([1.0, *[-float(a) for a in feedback]])
    # A real pole of multiplicity k may be found as complex ones, that far off.
    blurred = 10 * np.finfo(float).eps ** (1 / one.order)
    shared = _shared_out(poles, orders, _NEAR) or _shared_out(poles, orders, blurred)
    if shared is None:
        raise ScheduleError(
            f"{what}: a filter of order {one.order} with the poles"
            f" {[complex(np.round(p, 6)) for p in poles]} has no factors of orders"
            f" {list(orders)}: complex poles go in pairs",
            at=here(),
        )
    backs: list[list[Number]]
    backs = [[-float(a) for a in np.real(np.poly(own))[1:]] for own in shared]
    whole_backs = _of_integers(backs, feedback)
    if whole_backs is not None:
        # Of floats, too: poles on the unit circle are found near to it alone.
        backs = whole_backs
    elif not t.is_float():
        raise ScheduleError(
            f"{what}: the filter of integers with the feedback {list(feedback)} has no"
            f" factors of orders {list(orders)} with integer coefficients",
            at=here(),
            hint="filter floats: hl.f32(value)",
        )
    found: list[Filter] = []
    for n, back in enumerate(backs):
        gain: Number = 1 - sum(back) if t.is_float() else 1
        if abs(gain) < _NEAR:
            gain = 1
        if n == len(backs) - 1:
            gain = first
        else:
            first = first / gain if gain != 1 else first
        found.append(Filter(one.dim, one.causal, (gain,), tuple(back), one.site))
    return found


def _shared_out(
    poles: Iterable[complex], orders: Sequence[int], near: float
) -> list[list[complex]] | None:
    """The poles of each factor; None if they cannot be shared out so. near: how far
    from the real axis, as a share of its magnitude, a pole may be that is real."""
    pairs = sorted([p for p in poles if p.imag > near * abs(p)], key=abs)
    real = sorted([p.real for p in poles if abs(p.imag) <= near * abs(p)], key=abs)
    found: list[list[complex]] = []
    for order in orders:
        taken: list[complex] = []
        # Pairs first, as long as those that are left fit into what is to come.
        while order - len(taken) >= 2 and pairs:
            pair = pairs.pop()
            taken += [pair, pair.conjugate()]
        while len(taken) < order and real:
            taken.append(real.pop())
        if len(taken) < order:
            return None
        found.append(taken)
    return found


def _of_integers(
    backs: Sequence[Sequence[Number]], feedback: Sequence[Number]
) -> list[list[Number]] | None:
    """Feedback coefficients as integers; None if those together do not make `feedback`
    again."""
    found: list[list[Number]] = [[round(a) for a in back] for back in backs]
    product: list[Number] = [1]
    for back in found:
        product = together(product, [1, *back])
    return found if product[1:] == list(feedback) else None


def settled(one: Filter, t: Type) -> list[Filter]:
    """A filter as it is computed: as factors of orders 1 and 2, if its coefficients,
    rounded to the type, would make too much of another filter."""
    if not (t.is_float() and one.is_constant):
        return [one]
    if one.order < 2 or shaken_by(one, t) < _SHAKEN:
        return [one]
    orders = [2] * (one.order // 2) + [1] * (one.order % 2)
    alone = one.without_feedforward()
    try:
        first, *rest = factors(alone, orders if one.order > 2 else [1, 1], "", t)
    except ScheduleError:  # two complex poles stay together
        return [one]
    (gain,), (ahead, _) = first.constants()[0], one.constants()
    found = [replace(first, feedforward=tuple([gain * b for b in ahead])), *rest]
    return found if sum([shaken_by(f, t) for f in found]) < shaken_by(one, t) else [one]


def shaken_by(one: Filter, t: Type) -> float:
    """See `coefficients.shaken`."""
    return shaken(one.constants()[1], t)


def check_shaken(one: Filter, t: Type, what: str) -> None:
    """Warns of a filter that is another one when its coefficients are rounded."""
    if not (t.is_float() and one.is_constant and one.order):
        return
    share = sum([shaken_by(f, t) for f in settled(one, t)])
    if share > _MOST_SHAKEN:
        told = f"by {share:.2g} of itself" if np.isfinite(share) else "without end"
        warn(
            f"{what}: with coefficients rounded to {t}, the filter's response changes"
            f" {told}, as its poles are near to the unit circle; filter values of"
            " float64"
        )


def check_single(one: Filter, what: str) -> None:
    """Raises ScheduleError for a filter with more than one feedforward coefficient, or
    with coefficients that are no numbers."""
    if not one.is_constant:
        raise ScheduleError(
            f"{what}: the coefficients of a filter are expressions; its order changes"
            " only where all are numbers",
            at=here(),
        )
    if len(one.feedforward) > 1:
        raise ScheduleError(
            f"{what}: a filter has {len(one.feedforward)} feedforward coefficients;"
            " orders are of filters with one",
            at=here(),
        )


def matched(
    ours: Sequence[Filter], theirs: Sequence[Filter], what: str
) -> list[tuple[Filter, Filter]]:
    """Pairs of filters of one dimension and direction, in our order. Raises
    ScheduleError if they do not come out even."""
    for one in (*ours, *theirs):
        check_single(one, what)
    left = list(theirs)
    pairs: list[tuple[Filter, Filter]] = []
    for a in ours:
        other = next((b for b in left if (b.dim, b.causal) == (a.dim, a.causal)), None)
        if other is None:
            break
        left.remove(other)
        pairs.append((a, other))
    if left or len(pairs) != len(ours):
        raise ScheduleError(
            f"{what}: the filters of both do not match by dimension and direction:"
            f" {len(ours)} and {len(theirs)} of them, {len(pairs)} pairs",
            at=here(),
        )
    return pairs


__all__ = ["check_shaken", "checked_orders", "factors", "matched", "settled"]
