"""Filters of higher order as several of lower ones, and the other way round."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parhelion.errors import ScheduleError, here
from parhelion.recfilter.filters import Filter

#: Two poles that lie so near to each other's conjugates are a pair.
_NEAR = 1e-9


def factors(one: Filter, orders: Sequence[int], what: str) -> list[Filter]:
    """Filters of these orders which, one after the other, do what `one` does.

    Its poles are shared out, largest first; pairs of complex ones stay together. Each
    factor but the last keeps constants what they are, as far as it can. Raises
    ScheduleError where the orders do not sum up, or need a real pole that is not there.
    """
    check_single(one, what)
    if sum(orders) != one.order or min(orders, default=0) < 1:
        raise ScheduleError(
            f"{what}: filters of orders {list(orders)} do not make one of order"
            f" {one.order}",
            at=here(),
        )
    (first, *_), feedback = one.constants()
    poles = np.roots([1.0, *[-float(a) for a in feedback]])
    pairs = sorted([p for p in poles if p.imag > _NEAR * abs(p)], key=abs)
    real = sorted([p.real for p in poles if abs(p.imag) <= _NEAR * abs(p)], key=abs)
    found: list[Filter] = []
    left = float(first)
    for n, order in enumerate(orders):
        taken: list[complex] = []
        # Pairs first, as long as those that are left fit into what is to come.
        while order - len(taken) >= 2 and pairs:
            pair = pairs.pop()
            taken += [pair, pair.conjugate()]
        while len(taken) < order and real:
            taken.append(real.pop())
        if len(taken) < order:
            raise ScheduleError(
                f"{what}: a filter of order {one.order} with the poles"
                f" {[complex(np.round(p, 6)) for p in poles]} has no factors of orders"
                f" {list(orders)}: complex poles go in pairs",
                at=here(),
            )
        back = [-float(a) for a in np.real(np.poly(taken))[1:]]
        gain = 1 - sum(back)
        if n == len(orders) - 1 or abs(gain) < _NEAR:
            gain = left if n == len(orders) - 1 else 1.0
        left /= gain
        found.append(Filter(one.dim, one.causal, (gain,), tuple(back), one.site))
    return found


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


__all__ = ["factors", "matched"]
