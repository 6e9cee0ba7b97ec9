"""From the stages of a program to Funcs, one for each stage that computes something.

A domain is a Func over all coordinates that are asked for, be they outside of it: what
is read of other domains is inside of them always, whatever a schedule rounds up to.
Structs are Tuples of their fields, as are the results of stencils that have several.
Crops are no Funcs: who reads them reads what they are cut from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parhelion.analysis.interval import Interval, constant_interval, type_interval
from parhelion.dataclass import dataclass
from parhelion.errors import InternalError, located
from parhelion.forma.accesses import (
    EVERYWHERE,
    Reach,
    clamped,
    coordinate,
    distance_of,
    place,
    reach_of,
    unless,
)
from parhelion.forma.composing import choice, chosen, lines_of, periods
from parhelion.forma.images import (
    InputImage,
    has_channels,
    input_image,
    lay_out,
    parameters_of,
    pixels_of,
)
from parhelion.forma.narrow import Narrower, between, type_for
from parhelion.forma.points import Points, Values
from parhelion.forma.results import computed_in_place
from parhelion.forma.sizes import Size, Sizes
from parhelion.forma.stages import (
    Apply,
    BoundaryKind,
    Compose,
    Crop,
    Graph,
    Input,
    Output,
    Part,
    Source,
    Stage,
)
from parhelion.forma.terms import Access, Read
from parhelion.ir import build
from parhelion.ir.deep import run_deep
from parhelion.ir.expr import Expr, FuncCall, Intrinsic
from parhelion.ir.rewrite import substitute
from parhelion.lang.expr import wrap
from parhelion.lang.func import Func
from parhelion.lang.functions import mux
from parhelion.lang.param import Param
from parhelion.lang.rdom import RDom, RVar
from parhelion.lang.tuples import Tuple
from parhelion.lang.var import Var

_ZERO = build.int32(0)
_NAMES = ("x", "y", "z", "w")
#: The dimension of the fields of structs, in outputs.
CHANNEL = Var("c")


def coordinates(count: int) -> list[Var]:
    """The Vars of a domain, dimension 0 first."""
    return [Var(_NAMES[d] if d < len(_NAMES) else f"x{d}") for d in range(count)]


@dataclass(frozen=True, slots=True)
class Result:
    """The Func of what a program returns. is_stage: whether it is the stage's, which
    others may read; else it takes the values of that."""

    output: Output
    func: Func
    is_stage: bool


#: The loops of a definition, innermost first, and their extents.
Loops = tuple[tuple[Var | RVar, Expr], ...]


@dataclass(frozen=True, slots=True)
class Funcs:
    """A program as the compiler has it.

    images, parameters: what it takes. stages: the Funcs of stages that have one, in
    order. parts: the loops of each update, of domains that are put together part after
    part. results: what it returns. sizes: of the stages, for the compiler.
    """

    graph: Graph
    images: tuple[InputImage, ...]
    parameters: Mapping[str, Param]
    stages: Mapping[Stage, Func]
    parts: Mapping[Stage, tuple[Loops, ...]]
    results: tuple[Result, ...]
    sizes: Mapping[Size, Expr]


def funcs_of(graph: Graph) -> Funcs:
    """Makes the Funcs of a program, without schedules."""
    return run_deep(lambda: _Builder(graph).build())


class _Sizes(dict[Size, Expr]):
    """Sizes for the compiler: of its Params in the place of parameters."""

    def __init__(self, graph: Graph, params: Mapping[str, Param]) -> None:
        super().__init__()
        self._env = {
            one.var: params[one.name]._node
            for one in graph.parameters
            if one.var is not None
        }

    def __missing__(self, size: Size) -> Expr:
        found = self[size] = substitute(size, self._env)
        return found


class _Builder:
    """Makes the Funcs of one program."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.params = parameters_of(graph)
        self.sizes = _Sizes(graph, self.params)
        self.proofs = Sizes()
        self.in_place = computed_in_place(graph)
        #: Stages that are the caller's arrays, of the types that these have.
        self.given = {one.source.stage for one in self.in_place}
        self.images: dict[Stage, InputImage] = {}
        self.funcs: dict[Stage, Func] = {}
        self.parts: dict[Stage, tuple[Loops, ...]] = {}
        #: What the values of stages lie between.
        self.between: dict[Stage, Sequence[Interval]] = {}
        self.narrower = Narrower()

    def build(self) -> Funcs:
        needed = self.graph.needed()
        for one in self.graph.inputs:
            self.images[one] = input_image(one, self._extents(one))
        for stage in needed:
            if isinstance(stage, Apply | Compose):
                with located(stage.span.site()):
                    self.funcs[stage] = f = Func(stage.name)
                    if isinstance(stage, Apply):
                        self._apply(f, stage)
                    else:
                        self._compose(f, stage)
        results = []
        for output in self.graph.outputs:
            with located(output.span.site()):
                results.append(self._result(output))
        return Funcs(
            self.graph,
            tuple(self.images.values()),
            self.params,
            self.funcs,
            self.parts,
            tuple(results),
            self.sizes,
        )

    def _extents(self, stage: Stage) -> list[Expr]:
        return [self.sizes[size] for size in stage.sizes]

    def at(self, source: Source, at: tuple[Expr, ...]) -> Values:
        """The values of a domain at a place. Of integers is said what they lie between,
        for `Narrower`, which takes that away again."""
        while isinstance(source.stage, Crop):
            firsts = [self.sizes[one] for one in source.stage.first]
            at = tuple([build.add(a, b) for a, b in zip(at, firsts, strict=True)])
            source = source.stage.source
        stage = source.stage
        if isinstance(stage, Input):
            return self.images[stage].at(at)
        f = self.funcs[stage]._function
        counts = [len(pixels_of(kind)) for kind in stage.types]
        first = sum(counts[: source.result])
        found = []
        for k, pixel in enumerate(pixels_of(source.type), first):
            value = build.cast(pixel, FuncCall(f.types[k], f, at, k))
            found.append(between(value, self.between[stage][k]))
        return tuple(found)

    def _stored(
        self, stage: Stage, values: Sequence[Expr], zero: bool = False
    ) -> list[Expr]:
        """The values of a stage as it stores them: integers of as few bits as hold
        them, if it is no array of the caller's. zero: whether some points have none."""
        known = [constant_interval(one) for one in values]
        if zero:
            known = [one.union(Interval(0, 0)) for one in known]
        self.between[stage] = known
        if stage in self.given:
            return [self.narrower.same(one) for one in values]
        return [self.narrower.of(one, type_for(one)) for one in values]

    # Stencils

    def _apply(self, f: Func, stage: Apply) -> None:
        xs = coordinates(stage.dimensions)
        at = [x._node for x in xs]
        tests = []
        for d, interval in enumerate(stage.interior):
            if interval.first is not _ZERO:
                tests.append(build.lt(at[d], self.sizes[interval.first]))
            if interval.stop is not stage.sizes[d]:
                tests.append(build.ge(at[d], self.sizes[interval.stop]))
        found: dict[tuple[int, tuple[Access, ...]], Values] = {}

        def read(e: Read) -> Values:
            key = (e.source, e.at)
            if key not in found:
                found[key] = self._read(stage, e, at, points, bool(tests))
            return found[key]

        points = Points({n: p._node for n, p in self.params.items()}, read)
        values = [one for result in points.results(stage.body) for one in result]
        values = self._stored(stage, values, zero=bool(tests))
        zeros = [build.imm(0, one.type) for one in values]
        _define(f, xs, unless(tests, values, zeros))

    def _read(
        self,
        stage: Apply,
        e: Read,
        at: Sequence[Expr],
        points: Points,
        in_choice: bool,
    ) -> Values:
        """What a stencil reads at the point `at`. in_choice: whether it is used in a
        part of the domain alone."""
        source, boundary = stage.arguments[e.source], stage.boundaries[e.source]
        always = in_choice or _is_given(source)
        found = []
        for d, access in enumerate(e.at):
            reach = self._reach(access, stage.sizes[d], source, d)
            n = self.sizes[source.sizes[d]]
            p = place(access, at[d])
            distance = self._distance(access, stage.sizes[d], source, d, boundary.kind)
            found.append(coordinate(p, n, reach, boundary.kind, always, distance))
        values = self.at(source, tuple([one.at for one in found]))
        if boundary.kind is not BoundaryKind.CONSTANT:
            return values
        assert boundary.value is not None
        others = points.values(boundary.value)
        tests = [test for one in found for test in one.outside]
        return unless(tests, values, others)

    def _reach(self, access: Access, own: Size, source: Source, d: int) -> Reach:
        return reach_of(access, own, source.sizes[d], self.proofs)

    def _distance(
        self, access: Access, own: Size, source: Source, d: int, kind: BoundaryKind
    ) -> int | None:
        """How far an access goes beyond a domain, for the boundaries that ask."""
        if kind is not BoundaryKind.MIRROR:
            return None
        return distance_of(access, own, source.sizes[d], self.proofs)

    # Composes

    def _compose(self, f: Func, stage: Compose) -> None:
        xs = coordinates(stage.dimensions)
        if periods(stage) is None:
            self._put_in(f, stage, xs)
            return
        found = chosen(stage, [x._node for x in xs], self.proofs, self.sizes)
        values = []
        for part in stage.parts:
            given, at = _is_given(part.source), []
            for d in range(part.source.dimensions):
                reach = EVERYWHERE if given else found.reaches[d]
                at.append(clamped(found.at[d], found.counts[d], reach))
            values.append(self.at(part.source, tuple(at)))
        _define(f, xs, self._stored(stage, choice(stage, found, values)))

    def _put_in(self, f: Func, stage: Compose, xs: Sequence[Var]) -> None:
        types = pixels_of(stage.types[0])
        self.between[stage] = [type_interval(t) for t in types]
        if stage.covers:
            _define(f, xs, [Intrinsic(t, "undef", ()) for t in types])
        else:
            _define(f, xs, [build.imm(0, t) for t in types])
        loops = []
        for part in stage.parts:
            with located(part.span.site()):
                loops.append(self._put(f, stage, part, xs))
        self.parts[stage] = tuple(loops)

    def _put(self, f: Func, stage: Compose, part: Part, xs: Sequence[Var]) -> Loops:
        """Puts a part in by an update: over all of the dimensions that it fills, and
        over a domain of its own along the others."""
        lines = lines_of(part)[: part.source.dimensions]
        fills = [one.is_all_of(n) for one, n in zip(lines, stage.sizes, strict=False)]
        extents = [self.sizes[one.count] for one in lines]
        ranges = [
            (0, wrap(n)) for n, all_ in zip(extents, fills, strict=True) if not all_
        ]
        domain = iter(RDom(ranges) if ranges else ())
        vars: list[Var | RVar] = [
            x if all_ else next(domain) for x, all_ in zip(xs, fills, strict=False)
        ]
        at: list[Expr] = [v._node for v in vars]
        put = []
        for d, place_ in enumerate(part.place):
            point = at[d] if d < len(at) else _ZERO
            scaled = build.mul(point, build.int32(place_.scale))
            put.append(wrap(build.add(scaled, self.sizes[place_.offset])))
        loops = tuple(zip(vars, extents, strict=True))
        if _is_given(part.source):
            at = [clamped(c, n, EVERYWHERE) for c, n in zip(at, extents, strict=True)]
        values = [self.narrower.same(e) for e in self.at(part.source, tuple(at))]
        f[tuple(put)] = _value(values)
        return loops

    # Outputs

    def _result(self, output: Output) -> Result:
        source = output.source
        stage, kind = source.stage, source.type
        sizes = self._extents(stage)
        if output in self.in_place:
            own = self.funcs[stage]
            for image in own.output_buffers():
                lay_out(image, sizes, 0)
            return Result(output, own, True)
        f, xs = Func(output.name), coordinates(stage.dimensions)
        at: list[Expr] = [x._node for x in xs]
        if _is_given(source):
            at = [clamped(x, n, EVERYWHERE) for x, n in zip(at, sizes, strict=True)]
        values = [self.narrower.same(e) for e in self.at(source, tuple(at))]
        if not has_channels(kind):
            _define(f, xs, values)
            for image in f.output_buffers():
                lay_out(image, sizes, 0)
            return Result(output, f, False)
        f[(*xs, CHANNEL)] = mux(CHANNEL, [wrap(one) for one in values])
        f.bound(CHANNEL, 0, len(values))
        lay_out(f.output_buffer(), sizes, len(values))
        return Result(output, f, False)


def _is_given(source: Source) -> bool:
    """Whether a domain is an image of the caller's, or a part of one."""
    while isinstance(source.stage, Crop):
        source = source.stage.source
    return isinstance(source.stage, Input)


def _define(f: Func, xs: Sequence[Var], values: Sequence[Expr]) -> None:
    f[tuple(xs)] = _value(values)


def _value(values: Sequence[Expr]) -> object:
    if not values:
        raise InternalError("internal error: a stage without values")
    made = [wrap(one) for one in values]
    return made[0] if len(made) == 1 else Tuple(*made)


__all__ = ["CHANNEL", "Funcs", "Result", "coordinates", "funcs_of"]
