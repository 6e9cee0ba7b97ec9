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
from parhelion.lang.functions import select
from parhelion.lang.target_api import Target, check_target
from parhelion.lang.tuples import Tuple
from parhelion.lang.var import Var
from parhelion.lang.where import Destination
from parhelion.recfilter.building import Builder
from parhelion.recfilter.by_tags import ByTags, points
from parhelion.recfilter.defining import dimensions_of, filtered_values
from parhelion.recfilter.dims import Direction, RecFilterDim, another, whole_number
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
from parhelion.recfilter.gpu_schedules import OnGpu
from parhelion.recfilter.orders import check_shaken, settled
from parhelion.recfilter.rearranged import Rearranged
from parhelion.recfilter.scheduling import below
from parhelion.recfilter.tuned import Tuned
from parhelion.recfilter.values import Source, coefficient, of_func
from parhelion.types import Type


class RecFilter(Rearranged):
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
        self._made_for: OnGpu | None = None
        self._kernels: OnGpu | None = None
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
        one._kernels = self._kernels
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
        one._apart, one._kernels = self._apart, self._kernels
        return one

    # Results.

    def as_func(self, target: Target | None = None) -> Func:
        """Returns the Func that computes the filters, over the dimensions of the image,
        scheduled. Nothing can be added to the RecFilter afterwards.

        target: what it is scheduled for, by default what HL_JIT_TARGET in the
        environment names, else this computer. If that has the feature CUDA, all stages
        are kernels. Raises DefinitionError if it has been made for the other kind.
        """
        if target is not None:
            check_target(target)
        if self._made is None:
            self._type()
            self._make(self._on_gpu(target))
        elif target is not None and (self._on_gpu(target) is None) != (
            self._made_for is None
        ):
            kinds = ("as loops of a CPU", "as kernels of a GPU")
            made, asked = kinds if self._made_for is None else kinds[::-1]
            raise DefinitionError(
                f"RecFilter {self._name!r} has been made {made}, and is asked for"
                f" {asked}",
                at=here(),
                hint="give the target to as_func, or to realize, when it is first made;"
                " copy.copy makes another one before",
            )
        assert self._made is not None
        return self._made

    def _make(self, on_gpu: OnGpu | None) -> Func:
        """The Func, made now unless it is there."""
        if self._made is None:
            self._made_for = on_gpu
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
        self,
        dst: Destination | Sequence[Destination] | None = None,
        target: Target | None = None,
    ) -> Buffer | tuple[Buffer, ...]:
        """Computes the whole image, into a Buffer or an array that is given (of shape
        (height, width) for dimensions x, y), or into a new Buffer, and returns the
        Buffer. Where several values are filtered there are as many. target: as of
        `as_func`."""
        f = self.as_func(target)
        if dst is None:
            made = f.realize([d.extent for d in self._dims], target)
            assert made is not None
            return made
        f.realize(dst, target)
        many = [dst] if isinstance(dst, Buffer | np.ndarray) else dst
        made = tuple([d if isinstance(d, Buffer) else Buffer(d) for d in many])
        return made[0] if isinstance(dst, Buffer | np.ndarray) else made

    def explain(self, target: Target | None = None) -> str:
        """Returns a text that says which filters there are and how they are computed:
        in whole lines or in tiles, how far values grow in these, whether by kernels of
        a GPU, and which directives by tags there are. target: as of `as_func`, unless
        the Func has been made.

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
        on_gpu = self._on_gpu(target) if self._made is None else self._made_for
        by_tags = ByTags(self._name, self._directives, self._type(), on_gpu)
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
        given = (self._name, self._directives, self._type(), self._made_for)
        by_tags = ByTags(*given)
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
        values = self._in_one(by_tags)
        for k in range(0 if values else len(self._values)):
            name = self._name if len(self._values) == 1 else f"{self._name}_v{k}"
            builder, below, filters = self._plan(name, by_tags)
            source = self._first(below, k, by_tags.on_gpu)
            made = builder.build(source, filters)
            if len(self._values) == 1:
                return made
            values.append(made[self._dims])
        out = Func(self._name)
        out[self._dims] = Tuple(*values)
        for d in self._dims:
            out.bound(d, 0, d.extent)
        points(out, self._dims, self._type(), by_tags)
        return out.compute_root()

    def _in_one(self, by_tags: ByTags) -> list[Any]:
        """What several values become in the same kernels, as a dimension of the image;
        none of a CPU, and where coefficients have the dimensions of the image alone."""
        count = len(self._values)
        if count == 1 or by_tags.on_gpu is None:
            return []
        which = RecFilterDim(another(self._dims, Var("v"), "s").name(), count)
        dims = (*self._dims, which)
        builder, below, filters = self._plan(f"{self._name}_values", by_tags, dims)
        if not all([f.is_constant for f in filters]):
            return []
        f, last = Func(f"{self._name}_in"), count - 1
        every = [self._first(below, k, by_tags.on_gpu) for k in range(count)]
        at = [one(*self._dims) for one in every]
        value = at[last]
        for k in reversed(range(last)):
            value = select(which == k, at[k], value)
        f[dims] = value
        made = builder.build(of_func(f), filters)
        return [made[(*self._dims, k)] for k in range(count)]

    def _plan(
        self,
        name: str,
        by_tags: ByTags,
        dims: tuple[RecFilterDim, ...] | None = None,
    ) -> tuple[Builder, RecFilter | None, list[Filter]]:
        """What builds the Funcs, the last one of this name, the RecFilter that is read,
        and all filters that are computed. dims: those of the RecFilter, or more."""
        filters, below = self._filters, self._source
        if self._border != "zero":
            # What is left of a filter goes on beyond the edges: the next one along its
            # dimension is computed with it.
            while below is not None and _share(below._filters, filters):
                filters, below = [*below._filters, *filters], below._source
        widths, t, on_gpu = self._widths, self._type(), by_tags.on_gpu
        if on_gpu is not None:
            joint = self._border == "zero" and not self._apart
            widths = on_gpu.widths(self._dims, filters, joint, t) | widths
        builder = Builder(
            name,
            dims or self._dims,
            t,
            self._border,
            widths,
            by_tags,
            self._apart,
            self._result,
        )
        return builder, below, filters

    def _first(self, below: RecFilter | None, k: int, on_gpu: OnGpu | None) -> Source:
        """Value `k` of what is filtered, at coordinates: of the image, or of what
        `below` makes, which is computed where this one is."""
        if below is None:
            f = Func(f"{self._name}_in")
            f[self._dims] = self._values[k]
            return of_func(f)
        made = below._make(on_gpu)
        if len(self._values) == 1:
            return of_func(made)
        return lambda *coordinates: made[coordinates][k]


def _share(some: Sequence[Filter], others: Sequence[Filter]) -> bool:
    """Whether filters of both run along one dimension."""
    return not {f.dim for f in some}.isdisjoint([f.dim for f in others])


__all__ = ["RecFilter"]
