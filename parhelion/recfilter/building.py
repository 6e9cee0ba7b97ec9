"""The Funcs that compute a series of recursive filters, scheduled."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from parhelion.lang.func import Func
from parhelion.lang.functions import cast
from parhelion.lang.ref import FuncRef
from parhelion.lang.var import Var
from parhelion.recfilter.by_tags import ByTags
from parhelion.recfilter.dims import RecFilterDim
from parhelion.recfilter.directives import FULL, INTER
from parhelion.recfilter.edges import ClampEdges, Edges, SummedEdges
from parhelion.recfilter.filters import Filter
from parhelion.recfilter.flowing import flowing, flows
from parhelion.recfilter.orders import settled
from parhelion.recfilter.schedules import (
    is_dense_across,
    keep_rows_apart,
    schedule_edges,
    schedule_scan_within,
    schedule_scans,
    width_of_tiles,
)
from parhelion.recfilter.stages import sums_at_edges, whole_lines
from parhelion.recfilter.sums import summed, taps_of
from parhelion.recfilter.tile_schedules import schedule_tiles
from parhelion.recfilter.tiling import tiled
from parhelion.recfilter.untiled import scan_within, scans, scans_apart
from parhelion.recfilter.values import Source, beyond, of_func
from parhelion.types import Type

#: Values that filters in the same tiles along one dimension leave behind at most. Of
#: ten million points in tiles of 1,024, 16 biquads take as long in one run as in any
#: number, and 40 are 3 % faster in three runs than in one; what a run takes to compile
#: grows with the square of them.
_SLOTS = 32
#: Points of a line, side by side with others, up to which a filter is rounded strip by
#: strip and not in a pass of its own. From float64 to float32, order 1, this takes 0.86
#: of the time on 512 x 512 points, 0.75 on 4096 x 4096, and on one thread 1.2 of it on
#: 256 x 20000, where a strip no longer fits into the caches.
_ROUNDED = 4096


class Builder:
    """Builds the Funcs of filters over an image.

    name: of the last Func; others are called after it. dims: of the image. t: the type
    that is filtered in. border: what is outside. widths: of tiles, by the positions of
    dimensions that are split by the user. by_tags: what the user's directives are for.
    apart: whether the filters of each dimension are in tiles of their own. result: what
    the last Func may round its values to, where it reads another one that filters.
    """

    def __init__(
        self,
        name: str,
        dims: Sequence[RecFilterDim],
        t: Type,
        border: str,
        widths: Mapping[int, int],
        by_tags: ByTags,
        apart: bool = False,
        result: Type | None = None,
    ) -> None:
        self.apart, self.result = apart, t if result is None else result
        self.name, self.dims, self.type = name, tuple(dims), t
        self.border, self.widths, self.by_tags = border, widths, by_tags

    def build(self, source: Source, filters: Sequence[Filter]) -> Func:
        """Returns the Func of all filters over the image. source: what the first one
        filters, which has values within the image alone."""
        out: Func | None = None
        parts, n = list(self.parts(filters)), 0
        while n < len(parts):
            if out is not None and self.by_tags.on_gpu is None:
                keep_rows_apart(self._whole(out), self.dims, self.type)
            count = 2 if n + 1 < len(parts) and self._flow(*parts[n : n + 2]) else 1
            name = f"{self.name}_{n}"
            out_name = self.name if n + count == len(parts) else f"{name}_out"
            given = (name, out_name, source)
            if count == 1:
                out = self._part(*given, parts[n])
            else:
                out = flowing(*given, self.dims, parts[n], parts[n + 1], self.type)
            source, n = of_func(out), n + count
        if out is None:
            out = Func(self.name)
            out[self.dims] = source(*self.dims)
        return self._whole(out)

    def _whole(self, out: Func) -> Func:
        """Has a Func computed from point 0 on, as tiles are counted from there, also if
        what reads it has no use for the first points."""
        for d in self.dims:
            out.bound(d, 0, d.extent)
        return out.compute_root()

    def _flow(self, part: Sequence[Filter], following: Sequence[Filter]) -> bool:
        """Whether filters are computed together with those that come after them."""
        if self.border != "zero" or self.widths_of([part, following]):
            return False
        found = flows(self.dims, part, following, self.type)
        return found and not self.by_tags.takes(FULL)

    def parts(self, filters: Sequence[Filter]) -> Iterator[tuple[Filter, ...]]:
        """Filters that are computed together: neighbours along one dimension.

        On an image that ends, one with several feedforward coefficients comes first, as
        they read the whole input. On one that goes on, filters commute, and those of a
        dimension must be computed together: what is left of the first of them goes on
        beyond the edges.
        """
        if self.border != "zero":
            yield from map(self._settled, by_dimension(filters))
            return
        part: list[Filter] = []
        for f in filters:
            if part and not self._joins(f, part):
                yield from self._runs(part)
                part = []
            part.append(f)
        if part:
            yield from self._runs(part)

    def _runs(self, part: Sequence[Filter]) -> Iterator[tuple[Filter, ...]]:
        """Filters that could be computed together, in several runs if there are many
        along one dimension, in tiles."""
        settled = self._settled(part)
        total = sum([f.order for f in settled])
        alone = len({f.dim for f in settled}) == 1
        if total <= _SLOTS or not alone or not self.widths_of([settled]):
            yield settled
            return
        count, met = -(-total // _SLOTS), 0
        runs: list[list[Filter]] = [[] for _ in range(count)]
        for f in settled:
            # The run that its middle is in, if all are equally long.
            runs[int((met + f.order / 2) * count / total)].append(f)
            met += f.order
        yield from [tuple(run) for run in runs if run]

    def _settled(self, filters: Sequence[Filter]) -> tuple[Filter, ...]:
        return tuple([g for f in filters for g in settled(f, self.type)])

    def _joins(self, f: Filter, part: Sequence[Filter]) -> bool:
        """Whether a filter is computed together with those before it: along the same
        dimension, or in the same tiles."""
        if not f.order or not part[0].order or (f.reach and not self._chains(f, part)):
            return False
        if all([one.dim == f.dim for one in part]):
            return True
        if self.apart:
            return False
        return all([self._is_split(one.dim) for one in (*part, f)])

    def _chains(self, f: Filter, part: Sequence[Filter]) -> bool:
        """Whether the filter before it, along the same lines, keeps what the
        feedforward coefficients of a filter read, as second-order sections do."""
        last = part[-1]
        return (
            f.is_constant
            and (f.dim, f.causal) == (last.dim, last.causal)
            and f.reach <= min(max(last.order, 2), self.widths.get(f.dim, f.reach))
        )

    def _is_split(self, position: int) -> bool:
        return self.widths.get(position, math.inf) < self.dims[position].extent

    def _part(
        self, name: str, out_name: str, source: Source, part: Sequence[Filter]
    ) -> Func:
        """The Func of filters that are computed together."""
        # On an image that ends, what filters read of those before them is at hand.
        ahead = part[:1] if self.border == "zero" else part
        summing = [f for f in ahead if f.reach or not f.order]
        if not summing:
            return self._recursive(name, out_name, source, part, None)
        rest = self._settled(
            [f.without_feedforward() if f in summing else f for f in part if f.order]
        )
        given = (source, self.dims, summing, self.border, self.type)
        if not rest:
            return summed(out_name, *given, self.by_tags, is_last=True)
        sums = summed(f"{name}_sums", *given, self.by_tags, is_last=False)
        if self.border == "zero":
            return self._recursive(name, out_name, of_func(sums), rest, None)
        return self._recursive(name, out_name, source, rest, (sums, summing))

    def _beyond(self, source: Source, position: int) -> Source:
        extent = self.dims[position].extent
        return beyond(source, self.dims, position, extent, self.border)

    def _recursive(
        self,
        name: str,
        out_name: str,
        source: Source,
        part: Sequence[Filter],
        sums: tuple[Func, Sequence[Filter]] | None,
    ) -> Func:
        """The Func of filters that have feedback. On an image that goes on, each has
        one feedforward coefficient; on one that ends, the first has one.

        source: the image. sums: what feedforward coefficients have made of it, which
        is filtered, and the filters that had them.
        """
        part = _kept_longer(part)
        groups, filtered = by_dimension(part), source
        if sums is not None:
            filtered = of_func(sums[0])
        widths = self.widths_of(groups)
        if len(groups) > 1:
            return self._tiled(name, out_name, filtered, groups, None, widths)
        position = part[0].dim
        extent = self.dims[position].extent
        if not widths:
            edges = self._edges(name, source, part, sums, extent)
            return self._untiled(name, out_name, filtered, part, edges)
        width = widths[position]
        end = -(-extent // width) * width
        edges = self._edges(name, source, part, sums, end)
        if sums is None and edges is not None and end != extent:
            filtered = self._beyond(source, position)
        return self._tiled(name, out_name, filtered, groups, edges, widths)

    def widths_of(self, groups: Sequence[Sequence[Filter]]) -> dict[int, int]:
        """The widths of the tiles in which filters of dimensions are computed, by the
        positions of these; empty for whole lines."""
        found: dict[int, int] = {}
        for group in groups:
            position = group[0].dim
            width = self.widths.get(position)
            if width is None:
                alone = self._settled([f.without_feedforward() for f in group])
                width = width_of_tiles(self.dims, alone, self.type)
            if width is not None and width < self.dims[position].extent:
                found[position] = width
        return found

    def _edges(
        self,
        name: str,
        source: Source,
        part: Sequence[Filter],
        sums: tuple[Func, Sequence[Filter]] | None,
        end: int,
    ) -> Edges | None:
        """What filters find at the edges, those that are not causal at `end`."""
        if self.border == "zero":
            return None
        position, t = part[0].dim, self.type
        extent = self.dims[position].extent
        if self.border == "clamp" and sums is None:
            return ClampEdges(name, source, self.dims, extent, part, t)
        taps = {0: 1} if sums is None else taps_of(sums[1])
        edges = SummedEdges(
            name,
            source,
            self.dims,
            extent,
            part,
            taps,
            end,
            t,
            self.border,
            self.by_tags.on_gpu is not None,
        )
        if edges.read is edges.func:
            schedule_edges(edges, self.dims, position, t)
        else:
            self.by_tags.takes(FULL)
            given = (edges.read, self.dims, position, edges)
            self.by_tags.add(sums_at_edges(*given))
        return edges

    def _untiled(
        self,
        name: str,
        out_name: str,
        source: Source,
        part: Sequence[Filter],
        edges: Edges | None,
    ) -> Func:
        dims, t, position = self.dims, self.type, part[0].dim
        given = (name, source, dims, self._extents(), part, t)
        by_tags = self.by_tags.takes(FULL)
        alone = len(part) == 1 and is_dense_across(dims, position, t) and not by_tags
        in_strips = self._rounds(out_name) and dims[position].extent <= _ROUNDED
        if alone and not in_strips:
            scan = scan_within(out_name, *given[1:], edges)
            schedule_scan_within(scan, dims, position, t)
            return scan[0]
        if edges is None and not any([f.reach for f in part]):
            stages = [scans(*given)]
        else:
            stages = scans_apart(*given, edges)
        out = self._reading(out_name, stages[-1][0][dims])
        if by_tags:
            self.by_tags.add(whole_lines(stages, out, dims, position))
        else:
            schedule_scans(stages, out, dims, position, t)
        return out

    def _tiled(
        self,
        name: str,
        out_name: str,
        source: Source,
        groups: Sequence[Sequence[Filter]],
        edges: Edges | None,
        widths: Mapping[int, int],
    ) -> Func:
        dims, t = self.dims, self.type
        on_gpu = self.by_tags.on_gpu is not None
        in_groups = on_gpu and not self.by_tags.is_told(INTER)
        given = (name, source, dims, groups, widths, t, edges, on_gpu, in_groups)
        tiles = tiled(*given)
        at: list[Any] = list(dims)
        outers: list[Any] = []
        for a in tiles.axes:
            x: Var = dims[a.position]
            at[a.position] = x % a.width
            outers.append(x / a.width)
        out = self._reading(out_name, tiles.final[-1].stages[-1][(*at, *outers)])
        schedule_tiles(tiles, out, dims, t, self.by_tags)
        return out

    def _reading(self, name: str, value: FuncRef) -> Func:
        """The Func of what the last stage of some filters makes; the last Func of all
        rounds it."""
        out = Func(name)
        out[self.dims] = cast(self.result, value) if self._rounds(name) else value
        return out

    def _rounds(self, name: str) -> bool:
        return name == self.name and self.result is not self.type

    def _extents(self) -> list[int]:
        return [d.extent for d in self.dims]


def by_dimension(filters: Sequence[Filter]) -> list[tuple[Filter, ...]]:
    """The filters along each dimension: those of different ones commute."""
    met = [f.dim for f in filters]
    ordered = sorted(filters, key=lambda f: met.index(f.dim))
    groups = itertools.groupby(ordered, key=lambda f: f.dim)
    return [tuple(group) for _, group in groups]


def _kept_longer(filters: Sequence[Filter]) -> list[Filter]:
    """Filters that each keep as many of their values as the one after them reads: those
    that keep fewer get feedback coefficients of zero."""
    made = list(filters)
    for k, (one, following) in enumerate(itertools.pairwise(filters)):
        more = following.reach - one.order
        if more > 0:
            made[k] = replace(one, feedback=(*one.feedback, *(0,) * more))
    return made


__all__ = ["Builder", "by_dimension"]
