"""Running sums along rows, in vectors along them, and a filter along columns.

A vector of a row is summed up in registers, in as many steps as it has halvings, and
no row need be turned for it. On few threads a vector of each of some rows is summed up
just before the filter along columns takes it in (`lower.scan_windows`): the image is
read once, and written once, in one loop. It is a pass of one thread, which waits for
memory. More threads sum up all rows first.

Vectors have one size on all computers, a line of the caches, as it decides how sums of
floats are rounded; how many threads there are does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parhelion.lang.effects import likely, undef
from parhelion.lang.func import Func
from parhelion.lang.functions import clamp
from parhelion.lang.rdom import RDom, RVar
from parhelion.recfilter.dims import RecFilterDim, another
from parhelion.recfilter.filters import Filter
from parhelion.recfilter.schedules import (
    LINE,
    RIVALS,
    schedule_scan_within,
)
from parhelion.recfilter.untiled import scan_within
from parhelion.recfilter.values import Source, constant, of_func
from parhelion.types import Type

#: Rows that are summed up at a time: what the filter along columns has made of the row
#: before them is read again from memory.
_ROWS = 8


def sums_up(rows: Sequence[Filter]) -> bool:
    """Whether filters along rows are running sums from the first point on."""
    if len(rows) != 1 or not rows[0].is_constant or not rows[0].causal:
        return False
    forward, feedback = rows[0].constants()
    return tuple(forward) == (1,) and tuple(feedback) == (1,)


def summed_rows(
    name: str,
    out_name: str,
    source: Source,
    dims: Sequence[RecFilterDim],
    columns: Sequence[Filter],
    t: Type,
    one_pass: bool,
) -> Func:
    """The Func of running sums along rows and one filter along columns, scheduled.

    source: what is summed up; it is asked for points of the image alone. one_pass:
    whether both are computed in one pass over the image.
    """
    x, y = dims
    n, extents = LINE // t.bytes(), [d.extent for d in dims]
    left = y.extent % _ROWS if one_pass else 0

    def around(i: Any, j: Any) -> Any:
        # The last rows that are computed together may go beyond the image.
        return source(i, clamp(likely(j), 0, y.extent - 1) if left else j)

    across = Func(name)
    across[dims] = undef(t)
    # Before the first point there is a vector, so that all of them begin a line.
    b, r = RDom([(0, n)], f"b{x.name()}"), RDom([(0, x.extent)], f"r{x.name()}")
    across[-1 - b, y] = constant(0, t)
    across[r, y] = across[r - 1, y] + around(r, y)
    across.update(0).vectorize(b, n)
    outer, inner = RVar(f"{x.name()}_ro"), RVar(f"{x.name()}_ri")
    sums = across.update(1).atomic().split(r, outer, inner, n).vectorize(inner)
    size = (-(-x.extent // n) + 1) * n
    across.bound_storage(x, size + (0 if size * t.bytes() % RIVALS else n))

    given = (out_name, of_func(across), dims, extents, columns, t, None)
    out, walks = scan_within(*given)
    if not one_pass:
        schedule_scan_within((out, walks), dims, 1, t)
        across.compute_root()
        for k in range(2):
            across.update(k).parallel(y)
        return out
    stage, domain = out.update(walks[0].update), walks[0].domain
    strips, inside = another(dims, x, "s"), another(dims, x, "i")
    blocks, row = RVar(f"{y.name()}_ro"), RVar(f"{y.name()}_ri")
    stage.split(x, strips, inside, n).split(domain, blocks, row, _ROWS)
    stage.reorder(row, inside, strips, blocks).unroll(row)
    stage.vectorize(inside)
    across.store_at(out, blocks).compute_at(out, strips)
    across.bound_extent(y, _ROWS)
    across.update(0).unroll(y)
    sums.reorder(inner, y, outer).unroll(y)
    return out


__all__ = ["summed_rows", "sums_up"]
