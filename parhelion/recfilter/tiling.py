"""Filters in tiles: the stages that compute them in parallel.

The 2015 paper's section 6. All filters run within each tile (*intra*), what each leaves
behind is kept (*tails*), tails are completed from tile to tile (*completed*), and the
tiles are computed again from complete tails on (*final*). Filters of several dimensions
may run in the same tiles, one dimension after the other: the tails of a later one then
also get what comes into each tile along an earlier one (*residual*). The matrices
between tails are those of `coefficients`. Nothing that the user holds is changed: these
are new Funcs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from parhelion.dataclass import dataclass
from parhelion.lang.effects import likely, undef
from parhelion.lang.expr import Expr
from parhelion.lang.func import Func
from parhelion.lang.functions import clamp, select
from parhelion.lang.functions import max as max_
from parhelion.lang.functions import min as min_
from parhelion.lang.rdom import RDom
from parhelion.lang.var import Var
from parhelion.recfilter.chains import LEAST, Chain, Link, Value
from parhelion.recfilter.coefficients import Matrix, Number, contributions, crossings
from parhelion.recfilter.dims import Dim, another
from parhelion.recfilter.edges import Edges, parts_of
from parhelion.recfilter.filters import Filter
from parhelion.recfilter.values import Source, Table, constant
from parhelion.recfilter.walks import Line, Walk, walk
from parhelion.types import Type

#: Other coordinates than a stage's own Vars, by the positions of dimensions.
_Places = Mapping[int, Any]
_HERE: _Places = {}


@dataclass(frozen=True)
class Axis:
    """A dimension in tiles, and the filters along it.

    position: of the dimension. extent: points that are filtered. width, count: of
    tiles. valid: points of the last tile. inner, outer: the coordinates within a tile,
    and of tiles. slots: the number of a value among the tails of all filters. starts:
    the first slot of each filter, and behind them how many there are.
    """

    position: int
    filters: tuple[Filter, ...]
    extent: int | Expr
    width: int
    count: int | Expr
    valid: int
    inner: Var
    outer: Var
    slots: Var
    starts: tuple[int, ...]

    @property
    def last(self) -> int | Expr:
        """The last point that is filtered."""
        return self.extent - 1

    @property
    def ends_within(self) -> bool:
        """Whether what is filtered ends within the last tile."""
        return self.valid < self.width

    def begins_beyond(self, n: int) -> bool:
        """Whether filter `n` must be given zeros beyond the end of what is filtered: it
        runs back from there, and finds what the filter before it has made, or pixels.
        One that runs forwards has nothing behind it that could read what it makes
        there, and one that runs back makes zeros of zeros."""
        if not self.ends_within or self.filters[n].causal:
            return False
        return n == 0 or self.filters[n - 1].causal


@dataclass
class Run:
    """The filters along an axis, run within each tile, and what they leave behind.

    stages: a Func for each filter. walks: the updates of each.
    """

    axis: Axis
    stages: list[Func] = field(default_factory=list)
    walks: list[list[Walk]] = field(default_factory=list)
    tails: Func | None = None


@dataclass
class Residual:
    """What comes into tiles along an axis, followed along the later ones.

    first: the axis. start: what comes in. runs: along each later axis in turn.
    """

    first: Axis
    start: Func
    runs: list[Run]


@dataclass
class Tiles:
    """The stages of filters in tiles, of the axes in turn.

    others: the Vars of the dimensions that are in no tiles. loaded: what is filtered,
    by tiles, for the first and for the last pass of a GPU. domains: those of the
    updates of `completed`, for each axis. links: what completes the tails of a line in
    groups; then `completed` has no updates, and is inlined.
    """

    axes: tuple[Axis, ...]
    others: tuple[Var, ...]
    loaded: list[Func] = field(default_factory=list)
    intra: list[Run] = field(default_factory=list)
    residuals: list[Residual] = field(default_factory=list)
    completed: list[Func] = field(default_factory=list)
    domains: list[list[RDom]] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    final: list[Run] = field(default_factory=list)

    def funcs(self) -> list[Func]:
        """The Funcs of all stages."""
        entering = [run for one in self.residuals for run in one.runs]
        runs = [*self.intra, *entering, *self.final]
        made = [f for run in runs for f in run.stages]
        made += [run.tails for run in runs if run.tails is not None]
        made += [one.start for one in self.residuals]
        made += [link.func for link in self.links]
        return [*self.loaded, *made, *self.completed]


class _Tiler:
    """Builds the stages."""

    def __init__(
        self,
        name: str,
        source: Source,
        dims: Sequence[Dim],
        groups: Sequence[Sequence[Filter]],
        widths: Mapping[int, int],
        t: Type,
        edges: Edges | None,
        on_gpu: bool,
        in_groups: bool,
    ) -> None:
        self.name, self.source, self.type = name, source, t
        self.dims, self.edges, self.on_gpu = tuple(dims), edges, on_gpu
        self.in_groups = in_groups and edges is None and len(dims) == 1
        self.vars: list[Var] = list(dims)
        self.axes = tuple([self._axis(group, widths) for group in groups])
        tiled = {a.position for a in self.axes}
        others = tuple([d for k, d in enumerate(dims) if k not in tiled])
        self.stages = Tiles(self.axes, others)

    def _axis(self, filters: Sequence[Filter], widths: Mapping[int, int]) -> Axis:
        position = filters[0].dim
        d, width = self.dims[position], widths[position]
        extent = d.extent
        assert extent is not None, "lines are cut whose length is known"
        count: int | Expr
        if isinstance(extent, int):
            count = -(-extent // width)
        else:
            assert self.edges is not None, "the last tile's matrix would not be known"
            count = (extent + (width - 1)) / width
        # Tiles are whole where the image goes on.
        valid = width
        if self.edges is not None:
            extent = count * width
        elif isinstance(extent, int) and extent % width:
            valid = extent % width
        for suffix in "ioq":
            self.vars.append(another(self.vars, d, suffix))
        inner, outer, slots = self.vars[-3:]
        starts = np.cumsum([0, *[f.order for f in filters]]).tolist()
        return Axis(
            position,
            tuple(filters),
            extent,
            width,
            count,
            valid,
            inner,
            outer,
            slots,
            tuple(starts),
        )

    # Coordinates.

    def args(self, inner: _Places = _HERE, outer: _Places = _HERE) -> tuple[Any, ...]:
        """The coordinates of a stage: within tiles, then those of the tiles."""
        made: list[Any] = list(self.dims)
        for a in self.axes:
            made[a.position] = a.inner
        for k, place in inner.items():
            made[k] = place
        return (*made, *[outer.get(a.position, a.outer) for a in self.axes])

    def input(self, inner: _Places = _HERE) -> Any:
        """The input of the first filter, at points outside of what is filtered too:
        zero where a filter begins there, or else any pixel."""
        at: list[Any] = list(self.dims)
        inside: Any = None
        for a in self.axes:
            x = a.outer * a.width + inner.get(a.position, a.inner)
            if a.begins_beyond(0):
                own = x < a.extent
                inside = own if inside is None else inside & own
            # Vectors of tiles may go beyond the last one, where nothing is used.
            at[a.position] = clamp(likely(x), 0, a.last)
        value = self.source(*at)
        if inside is None:
            return value
        return select(likely(inside), value, self.number(0))

    def masked(self, value: Any, a: Axis, inner: Any) -> Any:
        """A value of a stage; zero outside of what is filtered along an axis."""
        inside = likely(a.outer * a.width + inner < a.extent)
        return select(inside, value, self.number(0))

    def number(self, a: Number) -> Expr:
        return constant(a, self.type)

    # Stages.

    def build(self) -> Tiles:
        stages = self.stages
        stages.intra = self._runs("intra", self.axes, self._loaded("intra"), _HERE)
        for g, a in enumerate(self.axes):
            completed = self._completed(g)
            stages.completed.append(completed)
            if g + 1 < len(self.axes):
                stages.residuals.append(self._residual(a, completed, g))
        self._final()
        return stages

    def _loaded(self, label: str) -> Callable[[_Places], Any]:
        """What the first filter of a pass filters. On a GPU it is a stage of its own:
        all threads of a block read neighbouring pixels at once, and there are fewer
        that scan, in whichever direction."""
        if not self.on_gpu:
            return self.input
        f = Func(f"{self.name}_{label}_tile")
        f[self.args()] = self.input()
        self.stages.loaded.append(f)
        return lambda places: f[self.args(places)]

    def _runs(
        self,
        label: str,
        axes: Sequence[Axis],
        source: Callable[[_Places], Any],
        at: _Places,
    ) -> list[Run]:
        """Filters along axes in turn, within each tile, from zeros on.

        source: what the first one filters. at: coordinates in place of those within
        tiles.
        """
        made: list[Run] = []
        for a in axes:
            run = Run(a)
            for _ in a.filters:
                source = self._stage(label, run, source, self._nothing, at)
            self._tails(run, label, at)
            made.append(run)
        return made

    def _stage(
        self,
        label: str,
        run: Run,
        source: Callable[[_Places], Any],
        before: Callable[[int, Any], Any],
        at: _Places,
    ) -> Callable[[_Places], Any]:
        """Adds the next filter of an axis, within each tile, and returns its values.

        source: what it filters. before: given the filter's number, its values before
        its first point, by their numbers, the nearest first.
        """
        a, n = run.axis, len(run.stages)
        one, last = a.filters[n], a.width - 1
        f = Func(f"{self.name}_{label}{self.dims[a.position].name()}{n}")
        f[self.args(at)] = undef(self.type)

        def point(i: Any) -> tuple[Any, ...]:
            return self.args({**at, a.position: i if one.causal else last - i})

        def value(i: Any) -> Any:
            inner = i if one.causal else last - i
            found = source({**at, a.position: inner})
            return self.masked(found, a, inner) if n and a.begins_beyond(n) else found

        line = Line(point, a.width, a.inner.name())
        walks = walk(f, line, one, self.type, value, lambda q: before(n, q))
        run.stages.append(f)
        run.walks.append(walks)
        return lambda places: f[self.args(places)]

    def _nothing(self, n: int, q: Any) -> Any:
        return self.number(0)

    def _tails(self, run: Run, label: str, at: _Places) -> None:
        """Tail q of all filters, one filter after the other, the nearest value
        first."""
        a = run.axis

        def tail(n: int, one: Filter, m: Any) -> Any:
            inner = a.width - 1 - m if one.causal else m
            value = run.stages[n][self.args({**at, a.position: inner})]
            if one.causal or not a.ends_within:
                return value
            return self.masked(value, a, inner)

        f = Func(f"{self.name}_{label}{self.dims[a.position].name()}_tails")
        f[self.args({**at, a.position: a.slots})] = self._by_slot(a, tail)
        run.tails = f

    def _by_slot(self, a: Axis, of: Callable[[int, Filter, Any], Any]) -> Any:
        """A value for each slot of an axis. of: given a filter, by its number, and the
        number of the value among its own."""
        choices: list[Any] = []
        for n, one in enumerate(a.filters):
            m = clamp(a.slots - a.starts[n], 0, one.order - 1)
            choices += [a.slots < a.starts[n + 1], of(n, one, m)]
        if len(choices) == 2:
            return choices[-1]
        return select(*choices[:-2], choices[-1])

    def _completed(self, g: int) -> Func:
        """The tails of axis `g`, completed from tile to tile."""
        a, tails = self.axes[g], self.stages.intra[g].tails
        assert tails is not None

        def total(slot: Any, o: Any) -> Any:
            value: Any = tails[self.args({a.position: slot}, {a.position: o})]
            for residual in self.stages.residuals:
                value = value + self._residue(residual, g, slot, o)
            return value

        f = Func(f"{self.name}_completed{self.dims[a.position].name()}")
        if self.in_groups and a.count >= LEAST:
            self._complete_in_groups(f, a, total)
            return f
        own = self.args({a.position: a.slots})
        # A pass over all tails is a kernel more of a GPU: scans take them in there.
        f[own] = undef(self.type) if self.on_gpu else total(a.slots, a.outer)
        table, domains = self._crossings(a), list[RDom]()
        for n, one in enumerate(a.filters):
            r = RDom([(0, one.order), (0, a.count)], f"r{f.name()}{n}")
            domains.append(r)
            last = a.count - 1
            o = r.y if one.causal else last - r.y
            slot = a.starts[n] + r.x
            at = self.args({a.position: slot}, {a.position: o})
            value: Any = total(slot, o) if self.on_gpu else f[at]
            kind = select(o == last, 1, 0)
            for e, earlier in enumerate(a.filters[: n + 1]):
                other = o - 1 if earlier.causal else o + 1
                inside = other >= 0 if earlier.causal else other <= last
                near = {a.position: clamp(other, 0, last)}
                for m in range(a.starts[e], a.starts[e + 1]):
                    first = self._entering(a, e, m - a.starts[e], f)
                    come = select(
                        likely(inside), f[self.args({a.position: m}, near)], first
                    )
                    value = value + table[m, slot, kind] * come
            f[at] = value
        self.stages.domains.append(domains)
        return f

    def _complete_in_groups(self, f: Func, a: Axis, total: Value) -> None:
        """The same for a line without others beside it: a filter after the other, in
        groups of tiles. total: what a tail is but for what comes into its tile."""
        assert isinstance(a.count, int)
        chain, last = Chain(f.name(), self.type), a.count - 1
        table = self._crossings(a)
        whole = crossings(
            parts_of(a.filters), a.width, a.width, not self.type.is_float()
        )
        done: list[Value] = []

        def step(n: int, o: Any) -> Any:
            return o if a.filters[n].causal else last - o

        for n in range(len(a.filters)):

            def given(q: Any, s: Any, n: int = n) -> Any:
                o, slot = step(n, s), a.starts[n] + q
                value: Any = total(slot, o)
                kind = select(o == last, 1, 0)
                for e, earlier in enumerate(a.filters[:n]):
                    other = o - 1 if earlier.causal else o + 1
                    inside = other >= 0 if earlier.causal else other <= last
                    for m in range(earlier.order):
                        come = done[e](m, step(e, clamp(other, 0, last)))
                        come = select(likely(inside), come, self.number(0))
                        value = value + table[a.starts[e] + m, slot, kind] * come
                return value

            own = slice(a.starts[n], a.starts[n + 1])
            # No step follows the one of the last tile, which may be narrower.
            done.append(chain.follow(str(n), a.count, whole[own, own], given))

        def tail(n: int, one: Filter, m: Any) -> Any:
            return done[n](m, step(n, a.outer))

        f[self.args({a.position: a.slots})] = self._by_slot(a, tail)
        self.stages.links += chain.links
        self.stages.domains.append([])

    def _residual(self, a: Axis, completed: Func, g: int) -> Residual:
        """What comes into tiles along axis `g`, and later filters make of it."""

        def entering(n: int, one: Filter, m: Any) -> Any:
            return self._come_in(a, one, a.starts[n] + m, completed, self.number(0))

        at = {a.position: a.slots}
        label = self.dims[a.position].name()
        start = Func(f"{self.name}_entering{label}")
        start[self.args(at)] = self._by_slot(a, entering)
        runs = self._runs(
            f"{label}_", self.axes[g + 1 :], lambda places: start[self.args(places)], at
        )
        return Residual(a, start, runs)

    def _come_in(
        self, a: Axis, one: Filter, slot: Any, completed: Func, outside: Any
    ) -> Any:
        """A tail that comes into a tile, `outside` of the image that."""
        if one.causal:
            there, other = a.outer > 0, max_(a.outer - 1, 0)
        else:
            last = a.count - 1
            there, other = a.outer < last, min_(a.outer + 1, last)
        value = completed[self.args({a.position: slot}, {a.position: other})]
        return select(there, value, outside)

    def _residue(self, residual: Residual, g: int, slot: Any, o: Any) -> Any:
        """What a residual adds to a tail of axis `g` in tile `o` along it: it is spread
        over the tile again along its own axis."""
        e, a = residual.first, self.axes[g]
        run = next(run for run in residual.runs if run.axis is a)
        assert run.tails is not None
        table = self._contributions(e)
        kind = select(e.outer == e.count - 1, 1, 0)
        total: Any = None
        for s in range(e.starts[-1]):
            near = {e.position: s, a.position: slot}
            value = run.tails[self.args(near, {a.position: o})]
            term = table[e.inner, s, kind] * value
            total = term if total is None else total + term
        return total

    def _crossings(self, a: Axis) -> Table:
        return self._table(a, crossings, "crossings")

    def _contributions(self, a: Axis) -> Table:
        def spread(parts: Any, width: int, valid: int, whole: bool) -> Matrix:
            return np.ascontiguousarray(contributions(parts, width, valid, whole).T)

        return self._table(a, spread, "contributions")

    def _table(self, a: Axis, of: Callable[..., Matrix], label: str) -> Table:
        """The matrices of an axis: of whole tiles, and of the last one."""
        whole = not self.type.is_float()
        sizes = (a.width, a.valid)
        made = [of(parts_of(a.filters), a.width, n, whole) for n in sizes]
        name = f"{self.name}_{label}{self.dims[a.position].name()}"
        return Table(np.stack(made), self.type, name)

    def _entering(self, a: Axis, n: int, q: Any, completed: Func) -> Any:
        """Value `q` of filter `n` before its first point, the nearest first."""
        if self.edges is None:
            return self.number(0)
        edge = {a.position: 0 if a.filters[n].causal else a.count - 1}

        def tail(m: int, i: int) -> Any:
            return completed[self.args({a.position: a.starts[m] + i}, edge)]

        return self.edges.entering(n, q, tail)

    def _final(self) -> None:
        source = self._loaded("final")
        for axis, completed in zip(self.axes, self.stages.completed, strict=True):

            def before(
                n: int, q: Any, a: Axis = axis, completed: Func = completed
            ) -> Any:
                outside = self._entering(a, n, q, completed)
                slot = a.starts[n] + q
                return self._come_in(a, a.filters[n], slot, completed, outside)

            run = Run(axis)
            for _ in axis.filters:
                source = self._stage("final", run, source, before, _HERE)
            self.stages.final.append(run)


def tiled(
    name: str,
    source: Source,
    dims: Sequence[Dim],
    groups: Sequence[Sequence[Filter]],
    widths: Mapping[int, int],
    t: Type,
    edges: Edges | None,
    on_gpu: bool = False,
    in_groups: bool = False,
) -> Tiles:
    """The stages of filters in tiles.

    source: what the first one filters. groups: the filters along each dimension, one
    dimension after the other. widths: of tiles, by the positions of dimensions. edges:
    what filters of the one dimension that there is then find before their first points,
    of which those of not causal ones come after the last tile; None for zeros. Without
    edges the source is asked for points of the image alone; with them, a dimension in
    tiles may have an expression as its extent. on_gpu: whether these are the stages of
    kernels, of which there are as few as can be. in_groups: whether tails of a long
    line, with zeros outside and no other beside it, are completed in groups.
    """
    given = (name, source, dims, groups, widths, t, edges, on_gpu, in_groups)
    return _Tiler(*given).build()


__all__ = ["Axis", "Residual", "Run", "Tiles", "tiled"]
