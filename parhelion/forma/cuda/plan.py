"""Which domains of a program are stored on the device, and the kernels that fill them.

A kernel computes each point of one domain, or of one part of a composed one. What it
reads of domains that are not stored it computes, by functions that are inlined. Each
kernel has two forms (section 3.2.2 of the paper): a clean one for the points whose
reads are all inside of what is read, and another for the rest, which asks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from parhelion.dataclass import dataclass
from parhelion.forma.c_sizes import Names
from parhelion.forma.sizes import Size
from parhelion.forma.stages import (
    Apply,
    BoundaryKind,
    Compose,
    Crop,
    Graph,
    Input,
    Interval,
    Part,
    Source,
    Stage,
)
from parhelion.forma.terms import Convert, Literal, Term
from parhelion.forma.types import Element, Scalar
from parhelion.ir import build
from parhelion.simplify.simplifier import simplify

_ZERO = build.int32(0)

#: What the words for a stage begin with: those of the host for its data, bytes, sizes,
#: steps and width; its arguments, kernel and function.
_WORDS = ("d_", "b_", "n_", "s_", "w_", "a_", "k_", "f_")


@dataclass(frozen=True, slots=True)
class Domain:
    """A stored domain. id: its name in the text, which no other has."""

    id: str
    source: Source

    @property
    def type(self) -> Element:
        return self.source.type

    @property
    def sizes(self) -> tuple[Size, ...]:
        return self.source.sizes


@dataclass(frozen=True, slots=True)
class Kernel:
    """Fills `domains`, one for each result of `stage`, or the place of `part` in one.

    sizes: of the points that it runs over. clean: those whose reads need no question.
    """

    id: str
    stage: Stage
    part: Part | None
    domains: tuple[Domain, ...]
    sizes: tuple[Size, ...]
    clean: tuple[Interval, ...]


class Plan:
    """What is stored of a program, and the kernels in their order.

    stored: stages that the caller has chosen; what the program returns is stored, too.
    names: those that are taken.
    textures: whether reads go through texture units where they can.
    """

    def __init__(
        self, graph: Graph, stored: Collection[Stage], names: Names, *, textures: bool
    ) -> None:
        self.graph = graph
        self.textures = textures
        self.stages = graph.needed()
        #: What stages are called: parts of the words of the text.
        self.ids = {one: names.family(one.name, _WORDS) for one in self.stages}
        returned = {one.source.stage for one in graph.outputs}
        self.domains: dict[Source, Domain] = {}
        for stage in self.stages:
            if stage in stored or stage in returned or isinstance(stage, Input):
                for source in results_of(stage):
                    self.domains[source] = Domain(self.id_of(source), source)
        self._clean: dict[Stage, tuple[Interval, ...]] = {}
        self.kernels = tuple(self._kernels())

    def id_of(self, source: Source) -> str:
        """The name of a domain, stored or not."""
        stage = self.ids[source.stage]
        return stage if len(source.stage.types) == 1 else f"{stage}_{source.result}"

    def is_stored(self, source: Source) -> bool:
        return source in self.domains

    def has_texture(self, source: Source) -> bool:
        """Whether a domain can be read through a texture: a stored one of two
        dimensions of numbers that the hardware knows."""
        known = source.type in (Scalar.INT8, Scalar.INT16, Scalar.INT, Scalar.FLOAT)
        stored = self.is_stored(source)
        return self.textures and stored and source.dimensions == 2 and known

    def by_hardware(self, stage: Apply, argument: int) -> bool:
        """Whether a texture unit sees to the boundary condition of an argument."""
        source, boundary = stage.arguments[argument], stage.boundaries[argument]
        if not self.has_texture(source) or boundary.kind is BoundaryKind.NONE:
            return False
        if boundary.kind is not BoundaryKind.CONSTANT:
            return True
        assert boundary.value is not None
        return source.type is Scalar.FLOAT or _is_zero(boundary.value)

    def inlined(self, kernel: Kernel) -> Iterable[Source]:
        """What a kernel computes beside its own, producers first."""
        wanted: set[Source] = set()
        waiting = list([kernel.part.source] if kernel.part else kernel.stage.sources)
        while waiting:
            one = waiting.pop()
            if one not in wanted and not self.is_stored(one):
                wanted.add(one)
                waiting += one.stage.sources
        return [
            source
            for stage in self.stages
            for source in results_of(stage)
            if source in wanted
        ]

    def clean(self, stage: Stage) -> tuple[Interval, ...]:
        """The points of a stage that are computed without a question: all that they
        read, here and in what is inlined, is inside of what is stored."""
        found = self._clean.get(stage)
        if found is None:
            found = self._clean[stage] = self._find_clean(stage)
        return found

    def _find_clean(self, stage: Stage) -> tuple[Interval, ...]:
        clean = [Interval(_ZERO, size) for size in stage.sizes]
        if isinstance(stage, Apply):
            clean = [_both(a, b) for a, b in zip(clean, stage.interior, strict=True)]
            for read in stage.body.reads:
                source = stage.arguments[read.source]
                kind = stage.boundaries[read.source].kind
                if self.is_stored(source) and (
                    kind is BoundaryKind.NONE or self.by_hardware(stage, read.source)
                ):
                    continue
                inside = self._readable(source)
                for d, a in enumerate(read.at):
                    clean[d] = _both(clean[d], _reading(inside[d], a.offset, a.scale))
        elif isinstance(stage, Crop):
            inside = self._readable(stage.source)
            for d, first in enumerate(stage.first):
                moved = [simplify(build.sub(e, first)) for e in _ends(inside[d])]
                clean[d] = _both(clean[d], Interval(*moved))
        elif isinstance(stage, Compose):
            clean = [Interval(_ZERO, _ZERO)] * len(clean)  # which part is asked first
        return tuple(clean)

    def _readable(self, source: Source) -> tuple[Interval, ...]:
        """Where a domain can be read without a question."""
        if self.is_stored(source):
            return tuple([Interval(_ZERO, size) for size in source.sizes])
        return self.clean(source.stage)

    def _kernels(self) -> Iterable[Kernel]:
        for stage in self.stages:
            domains = tuple([self.domains.get(one) for one in results_of(stage)])
            if isinstance(stage, Input) or None in domains:
                continue
            filled = tuple([one for one in domains if one is not None])
            id = self.ids[stage]
            if not isinstance(stage, Compose):
                clean = self.clean(stage)
                yield Kernel(id, stage, None, filled, stage.sizes, clean)
                continue
            for k, part in enumerate(stage.parts):
                sizes, clean = part.source.sizes, self._readable(part.source)
                yield Kernel(f"{id}_part{k}", stage, part, filled, sizes, clean)


def results_of(stage: Stage) -> list[Source]:
    return [Source(stage, k) for k in range(len(stage.types))]


def _is_zero(value: Term) -> bool:
    while isinstance(value, Convert):
        value = value.of
    return isinstance(value, Literal) and value.value == 0


def _ends(interval: Interval) -> tuple[Size, Size]:
    return interval.first, interval.stop


def _both(a: Interval, b: Interval) -> Interval:
    first = simplify(build.maximum(a.first, b.first))
    return Interval(first, simplify(build.minimum(a.stop, b.stop)))


def _reading(inside: Interval, offset: int, scale: int) -> Interval:
    """The points i for which ``offset + i * scale`` is inside."""
    by, o = build.int32(scale), build.int32(offset)
    up = build.int32(scale - 1)
    # From the first quotient that is rounded up to behind the last rounded down.
    first = build.div(build.add(build.sub(inside.first, o), up), by)
    last = build.div(build.sub(build.sub(inside.stop, build.int32(1)), o), by)
    return Interval(simplify(first), simplify(build.add(last, build.int32(1))))


__all__ = ["Domain", "Kernel", "Plan", "results_of"]
