"""Filters along rows and one along columns in a single pass over the image.

Rows are filtered some at a time, and the filter along columns takes them in while they
are in the caches. It is a pass of one thread, for filters that wait for memory and not
for arithmetic. Results are the same bits. Running sums along rows, as of summed-area
tables, are `row_sums`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parhelion.lang.effects import likely
from parhelion.lang.func import Func
from parhelion.lang.functions import clamp
from parhelion.recfilter.dims import RecFilterDim
from parhelion.recfilter.filters import Filter
from parhelion.recfilter.row_sums import summed_rows, sums_up
from parhelion.recfilter.schedules import (
    LINE,
    in_blocks,
    keep_rows_apart,
    lanes,
    tail_of,
)
from parhelion.recfilter.untiled import scan_within, scans
from parhelion.recfilter.values import Source, of_func
from parhelion.recfilter.walks import AT_A_TIME, schedule_walk
from parhelion.runtime.threads import get_num_threads
from parhelion.types import Type

#: Terms of all filters with which one thread still waits for memory; and threads that
#: take about as long for two passes, whose memory traffic is two thirds more.
_TERMS, _THREADS = 4, 2


def flows(
    dims: Sequence[RecFilterDim],
    rows: Sequence[Filter],
    columns: Sequence[Filter],
    t: Type,
) -> bool:
    """Whether filters along rows, and those that come after them, of whole lines and
    with the border zero, are best computed in a single pass."""
    both = [*rows, *columns]
    if len(dims) != 2 or len(columns) != 1 or columns[0].dim != 1:
        return False
    if any([f.dim != 0 for f in rows]) or any([len(f.feedforward) > 1 for f in both]):
        return False
    terms = sum([f.order + 1 for f in both])
    if not all([f.order for f in both]) or terms > _TERMS:
        return False
    if any([d.extent < AT_A_TIME for d in dims]):
        return False
    if sums_up(rows):
        return dims[0].extent >= LINE // t.bytes()
    return get_num_threads() <= _THREADS


def flowing(
    name: str,
    out_name: str,
    source: Source,
    dims: Sequence[RecFilterDim],
    rows: Sequence[Filter],
    columns: Sequence[Filter],
    t: Type,
) -> Func:
    """The Func of filters that `flows` is true of, scheduled.

    source: what the first one filters; it is asked for points of the image alone.
    """
    if sums_up(rows):
        in_turn = get_num_threads() <= _THREADS
        return summed_rows(name, out_name, source, dims, columns, t, in_turn)
    x, y = dims
    extents = [d.extent for d in dims]
    left = y.extent % AT_A_TIME

    def around(i: Any, j: Any) -> Any:
        # The last rows that are computed together may go beyond the image.
        return source(i, clamp(likely(j), 0, y.extent - 1))

    across, walks = scans(name, around if left else source, dims, extents, rows, t)
    block = Func(f"{name}_rows")
    block[dims] = across[dims]
    out, (only,) = scan_within(
        out_name, of_func(block), dims, extents, columns, t, None
    )

    _, along = schedule_walk(out, only, x, [], 2 * lanes(t))
    block.compute_at(out, along)
    block.align_bounds(y, AT_A_TIME, 0 if columns[0].causal else left)
    keep_rows_apart(block, dims, t)
    n = min(lanes(t), AT_A_TIME)
    order = in_blocks(block, x, y, n, tail_of(n, x.extent))
    block.reorder(*order)
    across.compute_at(block, order[-1]).reorder_storage(y, x)
    for one in walks:
        schedule_walk(across, one, y, [], n)
    return out


__all__ = ["flowing", "flows"]
