"""`RecFilter`: recursive filters one after the other, and how they are computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from parhelion.errors import (
    DefinitionError,
    ScheduleError,
    TypeMismatchError,
    here,
)
from parhelion.ir.function import Function
from parhelion.ir.names import fresh
from parhelion.lang.buffer import Buffer
from parhelion.lang.checked import word
from parhelion.lang.expr import Expr
from parhelion.lang.func import Func
from parhelion.lang.pipeline import Destination
from parhelion.lang.tuples import Tuple
from parhelion.recfilter.building import Builder
from parhelion.recfilter.by_tags import ByTags, points
from parhelion.recfilter.coefficients import together
from parhelion.recfilter.commuting import check_dims_whole, check_order, order_of
from parhelion.recfilter.defining import dimensions_of, filtered_values
from parhelion.recfilter.dims import Direction, RecFilterDim, whole_number
from parhelion.recfilter.directives import Directive
from parhelion.recfilter.explaining import explanation
from parhelion.recfilter.filters import (
    Coefficient,
    Filter,
    Varying,
    check_border,
    check_border_name,
    check_growth,
    check_order_of,
    check_stable,
    coefficients_of,
    fitting,
    residue,
)
from parhelion.recfilter.orders import (
    check_shaken,
    checked_orders,
    factors,
    matched,
    settled,
)
from parhelion.recfilter.scheduling import Scheduled, below
from parhelion.recfilter.tuned import Tuned
from parhelion.recfilter.values import Source, coefficient, of_func
from parhelion.types import Type


class RecFilter(Scheduled):
    """A series of recursive (IIR) filters over an image of a fixed size.

    ``F[x, y] = value`` says what is filtered, a value or a Tuple of values of one type;
    `add_filter` adds a filter along a dimension. Results are of the type of what is
    filtered: floats, or integers, which wrap and are exact.

    border: what is outside of the image: ``"zero"``; ``"clamp"``, the pixels at its
    edges; ``"repeat"``, the image again; ``"mirror"``, the image mirrored, edge pixels
    twice. But for zero, results are exactly those of an image that goes on for ever,
    which integers and filters with poles on the unit circle, as sums are, do not do.

    `split` has the filters of dimensions computed in tiles, which regroups sums of
    floats; `cascade` makes several series of one. `as_func` gives an ordinary Func,
    scheduled, to be used in other pipelines; `realize` computes the whole image.

    From: Chaurasia, Ragan-Kelley, Paris, Drettakis and Durand, "Compiling High
    Performance Recursive Filters" (2015).

    >>> from parhelion.recfilter import RecFilter, RecFilterDim
    >>> x = RecFilterDim("x", 5)
    >>> total = RecFilter("total")
    >>> total[x] = hl.i32(1)
    >>> total.add_filter(+x, [1, 1])
    >>> np.asarray(total.realize())
    array([1, 2, 3, 4, 5], dtype=int32)
    """

    def __init__(self, name: str = "", border: str = "zero") -> None:
        check_border_name(border, "RecFilter")
        self._name = word(name, "the name of a RecFilter") or fresh("rec")
        self._border = border
        self._dims: tuple[RecFilterDim, ...] = ()
        self._values: tuple[Expr, ...] = ()
        self._source: RecFilter | None = None
        self._filters: list[Filter] = []
        self._widths: dict[int, int] = {}
        #: Whether dimensions that are split are in tiles of their own.
        self._apart = False
        self._directives: list[Directive] = []
        self._made: Func | None = None
        #: What `as_func` may round values to, and not if that were a pass of its own.
        self._result: Type | None = None

    # What is computed.

    def __setitem__(self, dims: object, value: object) -> None:
        self._open("is defined")
        what = f"RecFilter {self._name!r}"
        found = dimensions_of(dims, what)
        if self._dims:
            raise DefinitionError(f"{what} is defined already", at=here())
        self._dims, self._values = found, filtered_values(value, found, what)

    def __copy__(self) -> RecFilter:
        """Returns a RecFilter of its own, with the same filters so far, to which others
        can be added."""
        one = RecFilter(self._name, self._border)
        one._dims, one._values, one._source = self._dims, self._values, self._source
        one._filters, one._widths = list(self._filters), dict(self._widths)
        one._apart, one._directives = self._apart, list(self._directives)
        return one

    def __deepcopy__(self, memo: object) -> RecFilter:
        """The Funcs that are filtered are not copied."""
        return self.__copy__()

    def add_filter(
        self, direction: object, coefficients: object, feedforward: object = (1,)
    ) -> None:
        """Adds y[i] = a0 x[i] + a1 y[i-1] + … + ak y[i-k] along a dimension.

        direction: ``+x`` from point 0 on, ``-x`` from the last point back (where i-1
        stands for i+1). coefficients: [a0, a1, …, ak], real numbers; integers if the
        filter is over integers. x is the result of the filter before. feedforward:
        [b0, b1, …], where b0 x[i] + b1 x[i-1] + … stands for x[i].

        A coefficient may also be an expression of the type that is filtered, in the
        dimensions of the image and in Params: its value at i is that of y[i]. Such
        filters have the border zero, and are not split; whether they are stable is for
        the user to know.

        Raises DefinitionError for a direction that is none of the filter's, and for an
        unstable filter, one with a pole outside of the unit circle; TypeMismatchError
        for coefficients that are not numbers. From: the 2015 paper, section 4.
        """
        what = f"{self._name}.add_filter"
        dim, causal = self._direction(direction, what)
        what = f"{what}({direction})"
        t = self._type()
        gain, *back = coefficients_of(coefficients, what, t, self._dims)
        ahead = coefficients_of(feedforward, f"{what}: feedforward", t, self._dims)
        self._add(dim, causal, self._scaled(gain, ahead, what), back, what)

    def _scaled(
        self, gain: Coefficient, ahead: Sequence[Coefficient], what: str
    ) -> list[Coefficient]:
        """The feedforward coefficients, each times a0."""
        t, made = self._type(), list[Coefficient]()
        for b in ahead:
            if isinstance(gain, Varying) or isinstance(b, Varying):
                both = coefficient(gain, self._dims, t) * coefficient(b, self._dims, t)
                made += coefficients_of([both], what, t, self._dims)
            else:
                made.append(
                    fitting(gain * b, what, t)
                    if t.is_float()
                    else residue(int(gain * b), t)
                )
        return made

    def _add(
        self,
        dim: int,
        causal: bool,
        feedforward: Sequence[Coefficient],
        feedback: Sequence[Coefficient],
        what: str,
    ) -> None:
        self._open("gets a filter")
        while feedback and feedback[-1] == 0:
            feedback = feedback[:-1]
        while len(feedforward) > 1 and feedforward[-1] == 0:
            feedforward = feedforward[:-1]
        check_order_of(feedback, what)
        one = Filter(dim, causal, tuple(feedforward), tuple(feedback), here())
        if one.is_constant:
            check_stable(one.constants()[1], what)
            check_shaken(one, self._type(), what)
        check_border(one, self._border, self._type(), what)
        if dim in self._widths:
            self._check_tiles([*self._filters, one], dim, self._widths[dim], what)
        self._filters.append(one)

    def _direction(self, given: object, what: str) -> tuple[int, bool]:
        if isinstance(given, RecFilterDim):
            given = +given
        if not isinstance(given, Direction):
            raise DefinitionError(
                f"{what}: a direction is +x or -x of a RecFilterDim x, not {given}",
                at=here(),
            )
        return self._position(given.dim, what), given.causal

    def _position(self, dim: RecFilterDim, what: str) -> int:
        for k, d in enumerate(self._dims):
            if d.same_as(dim) and d.extent == dim.extent:
                return k
        names = ", ".join([d.name() for d in self._dims]) or "none yet"
        raise DefinitionError(
            f"{what}: {dim.name()} is no dimension of {self._name}; it has {names}",
            at=here(),
        )

    def _type(self) -> Type:
        if not self._values:
            raise DefinitionError(
                f"RecFilter {self._name!r} is not defined yet",
                at=here(),
                hint=f"{self._name}[x, y] = image[x, y]",
            )
        return self._values[0].type()

    def _open(self, verb: str) -> None:
        if self._made is not None:
            raise DefinitionError(
                f"RecFilter {self._name!r} {verb} after as_func or realize, by which it"
                " was made",
                at=here(),
            )

    def name(self) -> str:
        """Returns the name that was given, or the one that was made up."""
        return self._name

    def filters(self) -> tuple[Filter, ...]:
        """Returns the filters, in the order in which they run."""
        return tuple(self._filters)

    def dimensions(self) -> int:
        """Returns how many dimensions the image has."""
        return len(self._dims)

    def __repr__(self) -> str:
        return f"<parhelion.RecFilter {self._name!r} of {len(self._filters)} filters>"

    # How it is computed.

    def split(self, *given: object) -> None:
        """Computes the filters of a dimension in tiles: ``split(x, 32)``, or of
        several, ``split(x, 32, y, 32)``, all in the same tiles if the border is zero;
        `cascade` puts them in tiles of their own.

        Widths are in points. They need not divide the image; at its size or above,
        whole lines are filtered. Without a split that is so where there are many lines;
        images of few and long ones are computed in tiles of 1024 to 4096 points. Sums
        of floats are regrouped by it, integers stay exact.

        Raises ScheduleError for a dimension without filters, and for tiles that are
        narrower than the order of a filter. Warns where rounding errors grow within a
        tile. From: the 2015 paper, section 6.
        """
        what = f"{self._name}.split"
        self._open("is split")
        if not given or len(given) % 2:
            raise ScheduleError(
                f"{what} takes dimensions and the widths of their tiles in turn",
                at=here(),
            )
        widths: dict[int, int] = {}
        for dim, width in zip(given[::2], given[1::2], strict=True):
            if not isinstance(dim, RecFilterDim):
                raise ScheduleError(
                    f"{what} splits RecFilterDims, not {dim}", at=here()
                )
            position = self._position(dim, what)
            widths[position] = self._checked_width(position, dim, width, what)
        self._widths.update(widths)
        self._apart = False

    def _checked_width(
        self, position: int, dim: RecFilterDim, given: object, what: str
    ) -> int:
        width = whole_number(given)
        if width is None:
            raise ScheduleError(
                f"{what}: the width of a tile must be an integer, not {given!r:.60}",
                at=here(),
            )
        if not any([f.dim == position and f.order for f in self._filters]):
            raise ScheduleError(
                f"{what}: {self._name} has no recursive filter along {dim.name()}",
                at=here(),
                hint="add the filters first, then split",
            )
        self._check_tiles(self._filters, position, width, what)
        return width

    def _check_tiles(
        self, filters: Sequence[Filter], position: int, width: int, what: str
    ) -> None:
        """Raises ScheduleError if filters along a dimension cannot be computed in tiles
        of a width, and warns where values grow in them."""
        dim = self._dims[position]
        mine = [f for f in filters if f.dim == position]
        if width >= dim.extent:
            return
        if not all([f.is_constant for f in mine]):
            raise ScheduleError(
                f"{what}: the coefficients of a filter along {dim.name()} are"
                " expressions; what a tile leaves behind is known only where all are"
                " numbers",
                at=here(),
                hint=f"without the split, whole lines along {dim.name()} are filtered",
            )
        least = max([f.order for f in mine])
        if width < least:
            raise ScheduleError(
                f"{what}: tiles of {width} points along {dim.name()} are narrower than"
                f" {least}, the order of a filter along it",
                at=here(),
            )
        for f in mine:
            alone = Filter(position, f.causal, (1,), f.feedback)
            for one in settled(alone, self._type()):
                check_growth(one, width, dim.extent, self._type(), what)

    def autotune(
        self,
        seconds: float = 60,
        inputs: Mapping[object, object] | None = None,
        progress: bool | None = None,
    ) -> Tuned:
        """Finds the tiles in which this computer is fastest, by trying them, and
        computes the filters in these, as if they had been split so.

        Whole lines are tried, and widths of 64 to 4096 points, dimensions in the same
        tiles and in tiles of their own; tiles in which rounding errors grow are not.
        Pipelines take turns, and the least time of each counts. Sums of floats are
        regrouped by tiles: who asks for this search consents. What is found is kept in
        the cache, for the same filters of the same sizes on this computer with as many
        threads. RecFilters that this one reads are made by it, as by `as_func`.

        seconds: after which no other way is begun. inputs: images and values by
        ImageParam or Param, or by their names; images that are not given are random.
        progress: whether there is a bar, by default where the standard error output is
        a terminal and click, which draws it, is there.

        Returns all ways and their times. Raises ScheduleError without filters whose
        tiles could be chosen, for a budget that is not positive, and if there are
        directives by tags; DefinitionError after `as_func`; TypeMismatchError for
        inputs that are not read, or of other types; BoundsError for images that are too
        small, if it measures.
        """
        # Few programs do so, and it takes the automatic schedulers' modules.
        from parhelion.recfilter.tuning import autotune

        return autotune(self, seconds, inputs, progress)

    def cascade(self, *groups: Sequence[int]) -> tuple[RecFilter, ...]:
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
        made: list[RecFilter] = []
        for n, group in enumerate(groups):
            source = made[-1] if made else self._source
            mine = [self._filters[k] for k in group]
            made.append(self._like(f"{self._name}_{n}", mine, source))
        return tuple(made)

    def overlap(self, *others: RecFilter) -> RecFilter:
        """Returns one RecFilter of all filters of this one and `others`, each of which
        filters what the one before makes: the reverse of `cascade`.

        Raises ScheduleError if one of them filters anything else. From: the 2015 paper,
        section 5.
        """
        what = f"{self._name}.overlap"
        self._check_undirected(what)
        last = self
        for other in others:
            if not isinstance(other, RecFilter) or other._source is not last:
                told = other._name if isinstance(other, RecFilter) else repr(other)
                raise ScheduleError(
                    f"{what}: {told} does not filter what {last._name} makes, as one of"
                    " a cascade does",
                    at=here(),
                )
            other._check_undirected(what)
            last = other
        filters = [f for one in (self, *others) for f in one._filters]
        return self._like(f"{self._name}_overlapped", filters, self._source)

    def overlap_filter_order(self, other: RecFilter) -> RecFilter:
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

    def factor_filter_order(self, *orders: int) -> tuple[RecFilter, ...]:
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
        made: list[RecFilter] = []
        for n in range(count):
            source = made[-1] if made else self._source
            mine = [part[n] for part in parts]
            made.append(self._like(f"{self._name}_{n}", mine, source))
        return tuple(made)

    def _like(
        self, name: str, filters: Sequence[Filter], source: RecFilter | None
    ) -> RecFilter:
        """A RecFilter of the same image, or of what `source` makes, in the same
        tiles."""
        one = RecFilter(name, self._border)
        one._dims, one._values, one._source = self._dims, self._values, source
        one._filters = list(filters)
        for position, width in self._widths.items():
            if any([f.dim == position and f.order for f in filters]):
                one._check_tiles(filters, position, width, f"{name}.split")
                one._widths[position] = width
        one._apart = self._apart
        return one

    def _number(self, one: Filter) -> int:
        return next(k for k, f in enumerate(self._filters) if f is one)

    # Results.

    def as_func(self) -> Func:
        """Returns the Func that computes the filters, over the dimensions of the image,
        scheduled. Nothing can be added to the RecFilter afterwards."""
        if self._made is None:
            self._type()
            self._made = self._build()
        return self._made

    def __getitem__(self, index: Any) -> Any:
        return self.as_func()[index]

    def __iter__(self) -> NoReturn:
        raise TypeMismatchError(
            f"RecFilter {self._name!r} has no elements to iterate over",
            at=here(),
            hint="np.asarray(f.realize()) is the image that it computes",
        )

    def realize(
        self, dst: Destination | Sequence[Destination] | None = None
    ) -> Buffer | tuple[Buffer, ...]:
        """Computes the whole image, into a Buffer or an array that is given (of shape
        (height, width) for dimensions x, y), or into a new Buffer, and returns the
        Buffer. Where several values are filtered there are as many."""
        f = self.as_func()
        if dst is None:
            made = f.realize([d.extent for d in self._dims])
            assert made is not None
            return made
        f.realize(dst)
        many = [dst] if isinstance(dst, Buffer | np.ndarray) else dst
        made = tuple([d if isinstance(d, Buffer) else Buffer(d) for d in many])
        return made[0] if isinstance(dst, Buffer | np.ndarray) else made

    def explain(self) -> str:
        """Returns a text that says which filters there are and how they are computed:
        in whole lines or in tiles, how far values grow in these, and which directives
        by tags there are.

        >>> from parhelion.recfilter import RecFilter, RecFilterDim
        >>> x, y = RecFilterDim("x", 640), RecFilterDim("y", 480)
        >>> f = RecFilter("f")
        >>> f[x, y] = hl.f32(x)
        >>> f.add_filter(+x, [0.5, 0.5])
        >>> print(f.explain())
        f: 1 filter over 640 x 480 points of float32, zero beyond them
        along x, in whole lines:
          +x, order 1, largest pole 0.5
        """
        by_tags = ByTags(self._name, self._directives, self._type())
        builder, _, filters = self._plan(self._name, by_tags)
        told = explanation(builder, filters, len(self._values))
        return "\n".join([told, *[f"scheduled by {line}" for line in self._told()]])

    def _given(self) -> set[Function]:
        values = [e._node for e in self._values]
        for one in [c for f in self._filters for c in (*f.feedforward, *f.feedback)]:
            if isinstance(one, Varying):
                values += one.func._function.stages()[0].values
        found = below(values)
        return found if self._source is None else found | self._source._given()

    def _build(self) -> Func:
        by_tags = ByTags(self._name, self._directives, self._type())
        out = self._built(by_tags)
        by_tags.apply()
        return out

    def _parts(self) -> list[tuple[Filter, ...]]:
        """The filters that are computed together, part by part."""
        by_tags = ByTags(self._name, (), self._type())
        builder, _, filters = self._plan(self._name, by_tags)
        return list(builder.parts(filters))

    def _built(self, by_tags: ByTags) -> Func:
        """The Func of the filters, its stages scheduled or collected."""
        made: list[Func] = []
        for k in range(len(self._values)):
            name = self._name if len(self._values) == 1 else f"{self._name}_v{k}"
            builder, below, filters = self._plan(name, by_tags)
            made.append(builder.build(self._first(below, k), filters))
        if len(made) == 1:
            return made[0]
        out = Func(self._name)
        out[self._dims] = Tuple(*[f[self._dims] for f in made])
        for d in self._dims:
            out.bound(d, 0, d.extent)
        points(out, self._dims, self._type(), by_tags)
        return out.compute_root()

    def _plan(
        self, name: str, by_tags: ByTags
    ) -> tuple[Builder, RecFilter | None, list[Filter]]:
        """What builds the Funcs, the last one of this name, the RecFilter that is read,
        and all filters that are computed."""
        filters, below = self._filters, self._source
        if self._border != "zero":
            # What is left of a filter goes on beyond the edges: the next one along its
            # dimension is computed with it.
            while below is not None and _share(below._filters, filters):
                filters, below = [*below._filters, *filters], below._source
        builder = Builder(
            name,
            self._dims,
            self._type(),
            self._border,
            self._widths,
            by_tags,
            self._apart,
            self._result,
        )
        return builder, below, filters

    def _first(self, below: RecFilter | None, k: int) -> Source:
        """Value `k` of what is filtered, at coordinates: of the image, or of what
        `below` makes."""
        if below is None:
            f = Func(f"{self._name}_in")
            f[self._dims] = self._values[k]
            return of_func(f)
        made = below.as_func()
        if len(self._values) == 1:
            return of_func(made)
        return lambda *coordinates: made[coordinates][k]


def _share(some: Sequence[Filter], others: Sequence[Filter]) -> bool:
    """Whether filters of both run along one dimension."""
    return not {f.dim for f in some}.isdisjoint([f.dim for f in others])


__all__ = ["RecFilter"]
