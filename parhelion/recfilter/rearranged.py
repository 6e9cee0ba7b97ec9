"""Other series of filters that do what a RecFilter does (2015 paper, section 5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from parhelion.errors import ScheduleError, here
from parhelion.recfilter.coefficients import together
from parhelion.recfilter.commuting import check_dims_whole, check_order, order_of
from parhelion.recfilter.dims import RecFilterDim
from parhelion.recfilter.filters import Filter
from parhelion.recfilter.orders import checked_orders, factors, matched
from parhelion.recfilter.scheduling import Scheduled
from parhelion.types import Type


class Rearranged(Scheduled):
    """Makes several RecFilters of one, and one of several."""

    _border: str
    _dims: tuple[RecFilterDim, ...]
    _filters: list[Filter]
    _source: Self | None

    def _type(self) -> Type:
        raise NotImplementedError

    def _like(self, name: str, filters: Sequence[Filter], source: Self | None) -> Self:
        """A RecFilter of the same image, or of what `source` makes, in the same
        tiles."""
        raise NotImplementedError

    def cascade(self, *groups: Sequence[int]) -> tuple[Self, ...]:
        """Returns a RecFilter for each list of filters, by their numbers; each filters
        what the one before has made.

        Filters may change their order if they commute: those of different dimensions
        do, and those of one dimension in one direction; on an image that ends, causal
        and anticausal ones do not. Raises ScheduleError if others would change their
        order, and if a filter is missing or given twice. From: the 2015 paper,
        section 5.
        """
        what = f"{self._name}.cascade"
        self._open("is cascaded")
        self._check_undirected(what)
        order = order_of(groups, len(self._filters), what)
        check_order(self._filters, order, self._dims, self._border, what)
        check_dims_whole(self._filters, groups, self._dims, self._border, what)
        made: list[Self] = []
        for n, group in enumerate(groups):
            source = made[-1] if made else self._source
            mine = [self._filters[k] for k in group]
            made.append(self._like(f"{self._name}_{n}", mine, source))
        return tuple(made)

    def overlap(self, *others: Self) -> Self:
        """Returns one RecFilter of all filters of this one and `others`, each of which
        filters what the one before makes: the reverse of `cascade`.

        Raises ScheduleError if one of them filters anything else. From: the 2015 paper,
        section 5.
        """
        what = f"{self._name}.overlap"
        self._check_undirected(what)
        last = self
        for other in others:
            if not isinstance(other, Rearranged) or other._source is not last:
                told = other._name if isinstance(other, Rearranged) else repr(other)
                raise ScheduleError(
                    f"{what}: {told} does not filter what {last._name} makes, as one of"
                    " a cascade does",
                    at=here(),
                )
            other._check_undirected(what)
            last = other
        filters = [f for one in (self, *others) for f in one._filters]
        return self._like(f"{self._name}_overlapped", filters, self._source)

    def overlap_filter_order(self, other: Self) -> Self:
        """Returns one RecFilter of filters of higher order: each does what one of this
        and one of `other`, which filters what this one makes, do one after the other.
        They are paired by dimension and direction.

        Raises ScheduleError if they do not come out even, or filters would change their
        order that do not commute. From: the 2015 paper, section 5.
        """
        what = f"{self._name}.overlap_filter_order"
        both = self.overlap(other)
        pairs = matched(self._filters, other._filters, what)
        order = [k for a, b in pairs for k in (both._number(a), both._number(b))]
        check_order(both._filters, order, self._dims, self._border, what)
        made = []
        for a, b in pairs:
            first, second = [(*f, *g) for f, g in (a.constants(), b.constants())]
            c = together(first, second)
            made.append(Filter(a.dim, a.causal, (c[0],), tuple(c[1:]), here()))
        return self._like(f"{self._name}_joined", made, self._source)

    def factor_filter_order(self, *orders: int) -> tuple[Self, ...]:
        """Returns RecFilters of these orders, each of which filters what the one before
        makes, that do what this one does: the reverse of `overlap_filter_order`.

        The poles of each filter are shared out. Raises ScheduleError if the orders do
        not sum up to those of all filters, if complex poles would be parted, and if
        filters would change their order that do not commute. From: the 2015 paper,
        section 5.
        """
        what = f"{self._name}.factor_filter_order"
        self._open("is factored")
        self._check_undirected(what)
        own = checked_orders(orders, what)
        parts = [factors(f, own, what, self._type()) for f in self._filters]
        whole = self._like(self._name, [f for part in parts for f in part], None)
        count = len(orders)
        order = [k * count + n for n in range(count) for k in range(len(self._filters))]
        check_order(whole._filters, order, self._dims, self._border, what)
        made: list[Self] = []
        for n in range(count):
            source = made[-1] if made else self._source
            mine = [part[n] for part in parts]
            made.append(self._like(f"{self._name}_{n}", mine, source))
        return tuple(made)

    def _number(self, one: Filter) -> int:
        return next(k for k, f in enumerate(self._filters) if f is one)


__all__ = ["Rearranged"]
