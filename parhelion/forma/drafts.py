"""The graph of a program while it grows: stages with their sizes, and requirements."""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.forma.places import Composed
from parhelion.forma.sizes import Size, Sizes, parameter_var, size_text
from parhelion.forma.spans import Span
from parhelion.forma.stages import (
    Apply,
    Body,
    Boundary,
    BoundaryKind,
    Compose,
    Crop,
    Input,
    Interval,
    Part,
    Requirement,
    Source,
    Stage,
)
from parhelion.forma.terms import Access, Read
from parhelion.forma.types import Element
from parhelion.ir import build
from parhelion.ir.expr import Expr, Var

#: The most stages of a program, when loops are unrolled and functions inlined.
MOST_STAGES = 20_000


class Draft:
    """Makes stages, names them, and keeps them in order."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self.stages: list[Stage] = []
        #: By their conditions: several stages may need the same.
        self.requirements: dict[Expr, Requirement] = {}
        self._names: dict[str, int] = {}
        self._unknown: dict[str, Var] = {}

    def named(self, name: str) -> str:
        """The name, with a number behind it if there is a stage of that name."""
        count = self._names.get(name, 0)
        self._names[name] = count + 1
        if not count:
            return name
        return self.named(f"{name}#{count + 1}")

    def unknown(self, name: str) -> Size:
        """The value of an int that a function is given, where nothing applies it."""
        return self._unknown.setdefault(name, parameter_var(name, False))

    def require(self, requirement: Requirement) -> None:
        self.requirements.setdefault(requirement.condition, requirement)

    def input(
        self, name: str, type: Element, sizes: tuple[Size, ...], span: Span
    ) -> Source:
        return self._added(Input(self.named(name), span, (type,), sizes))

    def apply(
        self,
        stencil: str,
        body: Body,
        arguments: tuple[Source, ...],
        boundaries: tuple[Boundary, ...],
        name: str,
        span: Span,
    ) -> Stage:
        """A stencil at every point that its arguments have points for."""
        size = self._applied_size(body, arguments)
        inner = [
            read
            for read in body.reads
            if boundaries[read.source].kind is BoundaryKind.NONE
        ]
        interior = tuple(
            [
                self._interior(d, size[d], inner, arguments, span)
                for d in range(len(size))
            ]
        )
        types = tuple([one.type for one in body.results])
        stage = Apply(
            name=self.named(name),
            span=span,
            types=types,
            sizes=size,
            stencil=stencil,
            body=body,
            arguments=arguments,
            boundaries=boundaries,
            interior=interior,
        )
        self._added(stage)
        return stage

    def _applied_size(
        self, body: Body, arguments: tuple[Source, ...]
    ) -> tuple[Size, ...]:
        """In each dimension the least size of an argument by a scale that it is read
        with. Where nothing is read, the size of the arguments."""
        sizes = self.sizes
        pairs = {
            (d, arguments[read.source].sizes[d], a.scale): None
            for read in body.reads
            for d, a in enumerate(read.at)
        } or {
            (d, size, 1): None for one in arguments for d, size in enumerate(one.sizes)
        }
        found: list[Size | None] = [None] * arguments[0].dimensions
        for d, size, scale in pairs:
            if scale != 1:
                size = sizes.div(size, sizes.constant(scale))
            before = found[d]
            found[d] = size if before is None else sizes.minimum(before, size)
        return tuple([size for size in found if size is not None])

    def _interior(
        self,
        d: int,
        size: Size,
        reads: Sequence[Read],
        arguments: tuple[Source, ...],
        span: Span,
    ) -> Interval:
        sizes = self.sizes
        first, stop = 0, size
        for a, extent in {
            (read.at[d], arguments[read.source].sizes[d]): None for read in reads
        }:
            # The least i with offset + i * scale >= 0, the largest with it < extent.
            first = max(first, -(a.offset // a.scale))
            if a == Access(0):
                stop = sizes.minimum(stop, extent)
                continue
            scale = sizes.constant(a.scale)
            room = sizes.sub(extent, sizes.constant(a.offset + 1), span)
            last = sizes.div(room, scale)
            stop = sizes.minimum(stop, sizes.add(last, sizes.constant(1), span))
        return Interval(sizes.constant(first), stop)

    def crop(
        self,
        source: Source,
        ranges: Sequence[tuple[Size, Size, Span]],
        name: str,
        span: Span,
    ) -> Source:
        """Points `first` to `last` of a domain. Raises FormaError where they are
        outside of it, and adds a requirement where the parameters decide."""
        sizes, one, zero = self.sizes, self.sizes.constant(1), self.sizes.constant(0)
        extents = []
        for (first, last, at), size in zip(ranges, source.sizes, strict=True):
            shown = f"[{size_text(first)}..{size_text(last)}]"
            where = f"outside of '{source.name}', which has the size {size_text(size)}"
            self._demand(
                build.le(zero, first),
                f"the crop {shown} begins {where}",
                *((first,), at, "points are counted from 0", size),
            )
            self._demand(
                build.lt(last, size),
                f"the crop {shown} ends {where}",
                *((last, size), at, "the last point is the size minus 1", size),
            )
            self._demand(
                build.le(first, last),
                f"the crop {shown} is empty",
                *((first, last), at, "both ends are included: [0..0] is one", size),
            )
            extents.append(sizes.add(sizes.sub(last, first, at), one, at))
        firsts = tuple([first for first, _, _ in ranges])
        stage = Crop(
            *(self.named(name), span, (source.type,), tuple(extents)),
            *(source, firsts),
        )
        return self._added(stage)

    def compose(
        self, parts: tuple[Part, ...], whole: bool, name: str, span: Span
    ) -> Source:
        """Parts put together. whole: they have to be all of the domain, as they are
        where a compose is written; else the rest is zero."""
        for part in parts:
            for place in part.place:
                self._demand(
                    build.le(self.sizes.constant(0), place.offset),
                    f"the padding {size_text(place.offset)} is negative",
                    *((place.offset,), part.span, "crop to leave points out"),
                )
        composed = Composed(parts, self.sizes, span)
        composed.check_overlaps()
        covers = composed.covers(whole)
        for requirement in composed.requirements:
            self.require(requirement)
        type = parts[0].source.type
        stage = Compose(
            *(self.named(name), span, (type,), composed.size, parts, covers)
        )
        return self._added(stage)

    def _demand(
        self,
        condition: Expr,
        what: str,
        sizes: tuple[Size, ...],
        span: Span,
        hint: str,
        *positive: Size,
    ) -> None:
        """An error, a requirement or nothing: whatever can be proved."""
        if self.sizes.proves(condition, *positive):
            return
        if self.sizes.proves(build.lnot(condition), *positive):
            raise span.error(what, hint=hint)
        condition = self.sizes.condition(condition)
        self.require(Requirement(condition, what, sizes, span))

    def _added(self, stage: Stage) -> Source:
        if len(self.stages) >= MOST_STAGES:
            raise stage.span.error(
                f"the program has more than {MOST_STAGES} stages, with its loops "
                "unrolled and its functions inlined",
                hint="shorten its loops",
            )
        before = {size: None for source in stage.sources for size in source.sizes}
        for size in stage.sizes:
            self._demand(
                build.le(self.sizes.constant(1), size),
                f"the domain '{stage.name}' has a size of {size_text(size)}, and needs "
                "a point at least",
                *((size,), stage.span, "make it larger"),
                *list(before)[:16],
            )
        self.stages.append(stage)
        return Source(stage)


__all__ = ["MOST_STAGES", "Draft"]
