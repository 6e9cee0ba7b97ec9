"""The stages of a checked program: the graph that back ends take.

`forma.check` makes a `Graph`. It is flat: vector functions are inlined, loops unrolled
and names resolved. How it is used:

    graph = forma.check(text)
    for stage in graph.stages:           # each after those that it reads
        match stage:
            case Input(): ...            # an array of the caller's
            case Apply(): ...            # a stencil at every point
            case Crop(): ...             # a part of a domain
            case Compose(): ...          # domains put together
    for output in graph.outputs: ...     # what the program returns

A `Source` is one domain: a stage, and which of its results (stencils may have several,
of one size; all other stages have one). Every domain goes from 0 to its size in each
dimension and has a value at each point; dimension 0 is x, the fastest, so that a NumPy
array has the sizes in the opposite order. Sizes are int expressions (`ir.expr`) of the
Vars of the program's int parameters.

Whoever runs a program verifies `Graph.requirements` before, what could not be decided
without the parameters; `Graph.verify` does it. After that no stage can fail, and every
size is at least 1.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import field

from parhelion.dataclass import dataclass
from parhelion.forma.sizes import Size, value_of
from parhelion.forma.spans import Span
from parhelion.forma.terms import Access, Read, Term
from parhelion.forma.types import Element, Scalar, Struct
from parhelion.ir.expr import Expr, Var


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """What all stages have.

    name: unique in the graph, for eyes: a variable (``gaussian<2>``), or else the
    function that was applied. types: of the elements, one for each result. sizes: of
    all results, dimension 0 first.
    """

    name: str
    span: Span = field(repr=False)
    types: tuple[Element, ...]
    sizes: tuple[Size, ...]

    @property
    def dimensions(self) -> int:
        return len(self.sizes)

    @property
    def sources(self) -> tuple[Source, ...]:
        """The domains that the stage reads."""
        return ()


@dataclass(frozen=True, slots=True)
class Source:
    """A domain: a result of a stage."""

    stage: Stage
    result: int = 0

    @property
    def type(self) -> Element:
        return self.stage.types[self.result]

    @property
    def sizes(self) -> tuple[Size, ...]:
        return self.stage.sizes

    @property
    def dimensions(self) -> int:
        return len(self.stage.sizes)

    @property
    def name(self) -> str:
        """For eyes, and unique like those of stages."""
        stage = self.stage
        return stage.name if len(stage.types) == 1 else f"{stage.name}[{self.result}]"


@dataclass(frozen=True, slots=True, eq=False)
class Input(Stage):
    """A domain that the caller gives, by the stage's name."""


class BoundaryKind(enum.Enum):
    """What is read outside of a domain of n points, in each dimension apart.

    NONE: nothing: only those points are computed that need it not. CONSTANT: a value.
    CLAMPED: the closest point. WRAP: the point n further or back, as often as it takes.
    MIRROR: the point reflected at the edge, which is repeated, -1 -> 0, n -> n - 1; for
    any distance, so with a period of 2 n.
    """

    NONE = ""
    CONSTANT = "constant"
    CLAMPED = "clamped"
    WRAP = "wrap"
    MIRROR = "mirror"


@dataclass(frozen=True, slots=True)
class Boundary:
    """The boundary condition of one argument. value: of CONSTANT, a term of numbers and
    parameters, of the type of the domain's elements."""

    kind: BoundaryKind = BoundaryKind.NONE
    value: Term | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """A local variable of a stencil: `Local` terms after it name it."""

    name: str
    value: Term


@dataclass(frozen=True, slots=True)
class Body:
    """What a stencil computes at a point: its assignments in order, then its results.

    reads: each place of an argument that it reads, once, in order.
    """

    assignments: tuple[Assignment, ...]
    results: tuple[Term, ...]
    reads: tuple[Read, ...]


@dataclass(frozen=True, slots=True)
class Interval:
    """Points from `first` to before `stop`, along one dimension."""

    first: Size
    stop: Size


@dataclass(frozen=True, slots=True, eq=False)
class Apply(Stage):
    """A stencil at every point of a domain.

    stencil: the name of the function. arguments: the domains, which `Read.source`
    counts, with a boundary condition each. interior: where, in each dimension, all
    reads of arguments without boundary condition are inside of them; the results are
    zero elsewhere, in all fields. It may be empty (first >= stop).
    """

    stencil: str
    body: Body
    arguments: tuple[Source, ...]
    boundaries: tuple[Boundary, ...]
    interior: tuple[Interval, ...]

    @property
    def sources(self) -> tuple[Source, ...]:
        return self.arguments

    @property
    def is_pointwise(self) -> bool:
        """Whether every read is of the point itself: then the stage may be fused into
        the one that it reads from (section 3.1 of the paper)."""
        return all([a == Access(0) for read in self.body.reads for a in read.at])


@dataclass(frozen=True, slots=True, eq=False)
class Crop(Stage):
    """A part of a domain: point i is the point ``first + i`` of it."""

    source: Source
    first: tuple[Size, ...]

    @property
    def sources(self) -> tuple[Source, ...]:
        return (self.source,)


@dataclass(frozen=True, slots=True)
class Place:
    """Where along one dimension a part is put: point i goes to ``offset + i * scale``.

    A scale other than 1 comes with an offset that is a number.
    """

    offset: Size
    scale: int = 1


@dataclass(frozen=True, slots=True)
class Part:
    """A domain, and where it is put. A part may have fewer dimensions than `place`: it
    is one point thick in the last ones."""

    source: Source
    place: tuple[Place, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Compose(Stage):
    """Domains put together. No two parts overlap.

    covers: whether the parts are all of it; other points are zero, in all fields.
    """

    parts: tuple[Part, ...]
    covers: bool

    @property
    def sources(self) -> tuple[Source, ...]:
        return tuple([part.source for part in self.parts])


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number that the caller gives. var: of an int, what sizes mention."""

    name: str
    type: Scalar
    var: Var | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Output:
    """A domain that the program returns. name: unique among the outputs."""

    name: str
    source: Source
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Requirement:
    """What parameters have to fulfil. condition: a Bool expression of their Vars.

    what: the sentence for who gives others; sizes that it concerns are in `sizes`.
    """

    condition: Expr
    what: str
    sizes: tuple[Size, ...]
    span: Span = field(compare=False, repr=False)


def verified(
    parameters: Sequence[Parameter],
    requirements: Sequence[Requirement],
    given: Mapping[str, int | float],
) -> dict[Var, int]:
    """What the Vars of sizes stand for: see `Graph.verify`."""
    values = {
        one.var: int(given[one.name]) for one in parameters if one.var is not None
    }
    for one in requirements:
        if not value_of(one.condition, values):
            told = ", ".join([f"{v.name} = {value}" for v, value in values.items()])
            raise one.span.error(
                one.what,
                detail=f"this is so where {told}",
                hint="give a larger image, or other parameters",
            )
    return values


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """A checked program. variables: the domains that it names, in order; the names of
    qualified ones are like ``gaussian<2>``."""

    file: str
    structs: tuple[Struct, ...]
    parameters: tuple[Parameter, ...]
    inputs: tuple[Input, ...]
    stages: tuple[Stage, ...]
    outputs: tuple[Output, ...]
    variables: tuple[tuple[str, Source], ...]
    requirements: tuple[Requirement, ...]

    def verify(self, given: Mapping[str, int | float]) -> dict[Var, int]:
        """Return what the Vars of sizes stand for, where the parameters are as given.

        Raises FormaError for a requirement that they do not fulfil, at its place.
        """
        return verified(self.parameters, self.requirements, given)

    def needed(self) -> tuple[Stage, ...]:
        """The stages that the outputs depend on, in order."""
        wanted = {output.source.stage for output in self.outputs}
        for stage in reversed(self.stages):
            if stage in wanted:
                wanted.update([source.stage for source in stage.sources])
        return tuple([stage for stage in self.stages if stage in wanted])


__all__ = [
    "Apply",
    "Assignment",
    "Body",
    "Boundary",
    "BoundaryKind",
    "Compose",
    "Crop",
    "Graph",
    "Input",
    "Interval",
    "Output",
    "Parameter",
    "Part",
    "Place",
    "Requirement",
    "Source",
    "Stage",
    "verified",
]
