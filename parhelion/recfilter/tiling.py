"""Filters along one dimension in tiles: the stages that compute them in parallel.

The 2015 paper's section 6: all filters run within each tile (*intra*), what each leaves
behind is kept (*tails*), tails are completed from tile to tile (*completed*), and the
tiles are computed again from complete tails on (*final*). The matrices between tails
are those of `coefficients.crossings`. Nothing that the user holds is changed: these are
new Funcs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from parhelion.lang.buffer import Buffer
from parhelion.lang.effects import likely
from parhelion.lang.expr import Expr
from parhelion.lang.func import Func
from parhelion.lang.functions import clamp, select
from parhelion.lang.functions import max as max_
from parhelion.lang.functions import min as min_
from parhelion.lang.rdom import RDom
from parhelion.lang.var import Var
from parhelion.recfilter.coefficients import Number, crossings
from parhelion.recfilter.dims import another
from parhelion.recfilter.edges import Edges, parts_of
from parhelion.recfilter.filters import Filter
from parhelion.recfilter.values import Source, as_type, constant, scan
from parhelion.types import Type


@dataclass
class Tiles:
    """The stages of filters along one dimension, in tiles.

    position: of that dimension. width, count: of tiles. inner, outer: the coordinates
    within a tile, and of tiles. others: the Vars of the other dimensions. slots: the
    number of a value among the tails of all filters. scans_of_…: the domains of the
    updates of these stages, in the order of the filters.
    """

    filters: tuple[Filter, ...]
    position: int
    width: int
    count: int
    inner: Var
    outer: Var
    others: tuple[Var, ...]
    intra: list[Func] = field(default_factory=list)
    tails: Func | None = None
    completed: Func | None = None
    final: list[Func] = field(default_factory=list)
    slots: Var | None = None
    scans_of_intra: list[RDom] = field(default_factory=list)
    scans_of_tails: list[RDom] = field(default_factory=list)
    scans_of_final: list[RDom] = field(default_factory=list)


class _Tiler:
    """Builds the stages of one group of filters."""

    def __init__(
        self,
        name: str,
        source: Source,
        dims: Sequence[Var],
        filters: Sequence[Filter],
        extent: int,
        width: int,
        t: Type,
        edges: Edges | None,
    ) -> None:
        self.name, self.source, self.type = name, source, t
        self.filters, self.width = filters, width
        self.position = filters[0].dim
        self.count = -(-extent // width)
        #: Points that are filtered: tiles are whole where the image goes on.
        self.extent = extent if edges is None else self.count * width
        self.edges = edges
        x = dims[self.position]
        self.xi, self.xo, self.q = [another(dims, x, suffix) for suffix in "ioq"]
        self.others = tuple([v for k, v in enumerate(dims) if k != self.position])
        starts = np.concatenate([[0], np.cumsum([f.order for f in filters])])
        self.starts = [int(s) for s in starts]
        self.stages = Tiles(
            tuple(filters),
            self.position,
            width,
            self.count,
            self.xi,
            self.xo,
            self.others,
        )

    # Coordinates.

    def args(self, inner: Any, outer: Any) -> tuple[Any, ...]:
        """The coordinates of a stage: the tile's last."""
        made: list[Any] = list(self.others)
        made.insert(self.position, inner)
        return (*made, outer)

    def pixel(self, x: Any) -> Any:
        """The input of the first filter."""
        at: list[Any] = list(self.others)
        at.insert(self.position, x)
        return self.source(*at)

    def input(self, inner: Any, outer: Any) -> Any:
        """The input of the first filter; zero outside of what is filtered."""
        x = outer * self.width + inner
        if self.extent % self.width == 0:
            return self.pixel(x)
        value = self.pixel(min_(x, self.extent - 1))
        return select(likely(x < self.extent), value, self.number(0))

    def entering(self, n: int, q: Any, completed: Func) -> Any:
        """Value `q` of filter `n` before its first point, the nearest first."""
        if self.edges is None:
            return self.number(0)
        edge = 0 if self.filters[n].causal else self.count - 1

        def tail(m: int, i: int) -> Any:
            return completed[self.args(self.starts[m] + i, edge)]

        return self.edges.entering(n, q, tail)

    def masked(self, value: Any, inner: Any, outer: Any) -> Any:
        """A value of a stage; zero outside of the image."""
        if self.extent % self.width == 0:
            return value
        inside = likely(outer * self.width + inner < self.extent)
        return select(inside, value, self.number(0))

    def number(self, a: Number) -> Expr:
        return constant(a, self.type)

    # Stages.

    def build(self) -> Tiles:
        self._intra()
        self._tails()
        self._completed()
        self._final()
        return self.stages

    def _intra(self) -> None:
        before: Func | None = None
        for n, one in enumerate(self.filters):
            f = Func(f"{self.name}_intra{n}")
            if before is None:
                value = self.input(self.xi, self.xo)
            else:
                value = self.masked(
                    before[self.args(self.xi, self.xo)], self.xi, self.xo
                )
            f[self.args(self.xi, self.xo)] = value
            self._scan(f, one, alone=True)
            self.stages.intra.append(f)
            before = f

    def _scan(self, f: Func, one: Filter, *, alone: bool) -> None:
        """The filter within each tile; `alone`, from zeros on."""
        r = RDom([(0, self.width)], f"r{self.name}")
        scans = self.stages.scans_of_intra if alone else self.stages.scans_of_final
        scans.append(r)
        last = self.width - 1

        def at(i: Any) -> tuple[Any, ...]:
            return self.args(i if one.causal else last - i, self.xo)

        scan(f, at, one, r, self.type, alone=alone)

    def _tails(self) -> None:
        """Tail q of all filters, one filter after the other, the nearest value
        first."""
        choices: list[Any] = []
        for n, one in enumerate(self.filters):
            m = self.q - self.starts[n]
            m = clamp(m, 0, one.order - 1)
            inner = self.width - 1 - m if one.causal else m
            value: Any = self.stages.intra[n][self.args(inner, self.xo)]
            if not one.causal:
                value = self.masked(value, inner, self.xo)
            choices += [self.q < self.starts[n + 1], value]
        f = Func(f"{self.name}_tails")
        value = choices[-1] if len(choices) == 2 else select(*choices[:-2], choices[-1])
        f[self.args(self.q, self.xo)] = value
        self.stages.tails, self.stages.slots = f, self.q

    def _completed(self) -> None:
        assert self.stages.tails is not None
        f = Func(f"{self.name}_completed")
        f[self.args(self.q, self.xo)] = self.stages.tails[self.args(self.q, self.xo)]
        table = self._table()
        for n, one in enumerate(self.filters):
            r = RDom([(0, one.order), (0, self.count)], f"rt{self.name}{n}")
            self.stages.scans_of_tails.append(r)
            last = self.count - 1
            o = r.y if one.causal else last - r.y
            slot = self.starts[n] + r.x
            total: Any = f[self.args(slot, o)]
            kind = select(o == last, 1, 0)
            for e, earlier in enumerate(self.filters[: n + 1]):
                other = o - 1 if earlier.causal else o + 1
                inside = other >= 0 if earlier.causal else other <= last
                near = clamp(other, 0, last)
                for m in range(self.starts[e], self.starts[e + 1]):
                    first = self.entering(e, m - self.starts[e], f)
                    value = select(likely(inside), f[self.args(m, near)], first)
                    total = total + table[m, slot, kind] * value
            f[self.args(slot, o)] = total
        self.stages.completed = f

    def _table(self) -> Buffer:
        """The matrices from tails to tails: of whole tiles, and of the last one."""
        whole = not self.type.is_float()
        parts = parts_of(self.filters)
        valid = self.extent - (self.count - 1) * self.width
        of_all = [crossings(parts, self.width, n, whole) for n in (self.width, valid)]
        values = [as_type(m, self.type) for m in of_all]
        return Buffer(np.ascontiguousarray(np.stack(values)), f"{self.name}_matrices")

    def _final(self) -> None:
        before: Func | None = None
        completed = self.stages.completed
        assert completed is not None
        last = self.count - 1
        for n, one in enumerate(self.filters):
            f = Func(f"{self.name}_final{n}")
            near = clamp(self.xi, 0, self.width - 1)
            if before is None:
                value = self.input(near, self.xo)
            else:
                value = self.masked(before[self.args(near, self.xo)], near, self.xo)
            if one.causal:
                own, m = self.xi >= 0, -1 - self.xi
                there, other = self.xo > 0, max_(self.xo - 1, 0)
            else:
                own, m = self.xi < self.width, self.xi - self.width
                there, other = self.xo < last, min_(self.xo + 1, last)
            q = clamp(m, 0, one.order - 1)
            left: Any = completed[self.args(self.starts[n] + q, other)]
            left = select(there, left, self.entering(n, q, completed))
            f[self.args(self.xi, self.xo)] = select(likely(own), value, left)
            self._scan(f, one, alone=False)
            self.stages.final.append(f)
            before = f


def tiled(
    name: str,
    source: Source,
    dims: Sequence[Var],
    filters: Sequence[Filter],
    extent: int,
    width: int,
    t: Type,
    edges: Edges | None,
) -> Tiles:
    """The stages of `filters`, all of one dimension of `extent` points, in tiles of
    `width`.

    source: what the first one filters. edges: what filters find before their first
    points, of which those of not causal ones come after the last tile; None for zeros.
    Without edges the source is asked for points of the image alone.
    """
    return _Tiler(name, source, dims, filters, extent, width, t, edges).build()


__all__ = ["Tiles", "tiled"]
