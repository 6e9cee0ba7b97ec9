"""Which recursive filters may change their order (2015 paper, section 5)."""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.errors import ScheduleError, here
from parhelion.recfilter.dims import RecFilterDim, whole_number
from parhelion.recfilter.filters import Filter


def order_of(groups: Sequence[object], count: int, what: str) -> list[int]:
    """The numbers of filters in the lists that a user gives, one list after the other.

    count: how many filters there are. Raises ScheduleError unless each is in one list,
    and no list is empty.
    """
    lists = [g for g in groups if isinstance(g, Sequence) and len(g)]
    given = [whole_number(k) for g in lists for k in g]
    order = [k for k in given if k is not None]
    all_lists = len(lists) == len(groups) and len(order) == len(given)
    if not all_lists or sorted(order) != list(range(count)):
        told = ", ".join([f"{g!r:.60}" for g in groups]) or "no lists"
        raise ScheduleError(
            f"{what}: each of the filters 0 to {count - 1} must be in one list, and no"
            f" list empty, not {told}"
            if count
            else f"{what}: there are no filters to be put into lists",
            at=here(),
        )
    return order


def check_order(
    filters: Sequence[Filter],
    order: Sequence[int],
    dims: Sequence[RecFilterDim],
    border: str,
    what: str,
) -> None:
    """Raises ScheduleError if filters that do not commute would change their order; on
    an image without end all do. order: the numbers of the filters."""
    if border != "zero":
        return
    for at, k in enumerate(order):
        for later in order[at + 1 :]:
            if later < k:
                _check_commute(filters, later, k, dims, what)


def _check_commute(
    filters: Sequence[Filter],
    first: int,
    second: int,
    dims: Sequence[RecFilterDim],
    what: str,
) -> None:
    a, b = filters[first], filters[second]
    for one, other in ((a, b), (b, a)):
        if one.dim in other.along():
            raise ScheduleError(
                f"{what}: filters {first} and {second} do not commute: the"
                f" coefficients of one vary along {dims[one.dim].name()},"
                " along which the other one runs",
                at=here(),
                hint=f"leave filter {first} before filter {second}",
            )
    if a.dim != b.dim or a.causal == b.causal:
        return
    raise ScheduleError(
        f"{what}: filters {first} and {second} run along"
        f" {dims[a.dim].name()} in opposite directions, and do not commute on"
        " an image that ends",
        at=here(),
        hint=f"leave filter {first} before filter {second}",
    )


def check_dims_whole(
    filters: Sequence[Filter],
    groups: Sequence[Sequence[int]],
    dims: Sequence[RecFilterDim],
    border: str,
    what: str,
) -> None:
    """Raises ScheduleError if filters of a dimension would be in several lists of their
    numbers: a part of them leaves an image that does not go on as it is at its
    edges."""
    if border == "zero":
        return
    for k, d in enumerate(dims):
        having = [g for g in groups if any([filters[i].dim == k for i in g])]
        if len(having) > 1:
            raise ScheduleError(
                f"{what}: with the border {border!r}, the filters along"
                f" {d.name()} must be in one list, not {[list(g) for g in having]}",
                at=here(),
            )


__all__ = ["check_dims_whole", "check_order", "order_of"]
