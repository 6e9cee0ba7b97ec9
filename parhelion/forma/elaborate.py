"""Runs the statements of a program once, on domains of symbolic size: its stages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from parhelion.dataclass import dataclass
from parhelion.errors import FormaError
from parhelion.forma import tree as T
from parhelion.forma.declared import Declared
from parhelion.forma.drafts import Draft
from parhelion.forma.numbers import counted, disagreement
from parhelion.forma.places import MOST_PARTS
from parhelion.forma.scope import Scope, Value
from parhelion.forma.scoped import Scoped
from parhelion.forma.spans import Span
from parhelion.forma.stages import Boundary, BoundaryKind, Part, Place, Source
from parhelion.forma.stencils import (
    DomainFormal,
    NumberFormal,
    Stencil,
    access,
    formals_of,
)
from parhelion.forma.terms import Literal, Made, Term
from parhelion.forma.types import Element, Scalar, Struct, article

#: The most statements that are run, those in loops each time.
MOST_STEPS = 100_000
#: How many applications around an error are named.
_TOLD = 4


@dataclass(slots=True)
class Common:
    """What all parts of one program share.

    steps: the statements run so far. applied: the vector functions applied so far.
    """

    declared: Declared
    draft: Draft
    stencils: dict[str, Stencil]
    applied: set[str]
    steps: int = 0


class Elaborator(Scoped):
    """Runs statements: of the program, or of one application of a vector function."""

    def __init__(self, common: Common, scope: Scope, prefix: str = "") -> None:
        super().__init__(common.declared, common.draft, scope, bool(prefix))
        self.common = common
        #: What the names of stages begin with.
        self.prefix = prefix
        self.in_loop = False

    def run(
        self, body: Sequence[T.Statement], wanted: str | None, where: Span, what: str
    ) -> tuple[tuple[Value, ...], T.Return]:
        """Runs a body to its return, the values of which are returned.

        wanted: the name of the stage that is returned; where, what: the body's.
        """
        for k, statement in enumerate(body):
            if isinstance(statement, T.Return):
                if k + 1 < len(body):
                    raise body[k + 1].span.error(
                        f"{what} has returned before",
                        hint="return stands last, and once: return a, b;",
                    )
                many = len(statement.values) > 1
                return (
                    tuple(
                        [
                            self.one(e, f"{wanted}[{n}]" if wanted and many else wanted)
                            for n, e in enumerate(statement.values)
                        ]
                    ),
                    statement,
                )
            self.statement(statement)
        raise where.error(f"{what} returns nothing", hint="end it by return e;")

    # Statements

    def statement(self, statement: T.Statement) -> None:
        self.common.steps += 1
        if self.common.steps > MOST_STEPS:
            raise statement.span.error(
                f"the program runs more than {MOST_STEPS} statements",
                hint="shorten its loops",
            )
        if isinstance(statement, T.Assign):
            self._assign(statement)
        elif isinstance(statement, T.For):
            self._for(statement)
        else:
            raise statement.span.error(
                "a loop returns nothing", hint="return stands last, behind all loops"
            )

    def _assign(self, statement: T.Assign) -> None:
        targets = [(one, self._target(one)) for one in statement.targets]
        if len(targets) > 1:
            self._assign_many(statement, targets)
            return
        target, index = targets[0]
        name = target.name if index is None else f"{target.name}<{index}>"
        if target.placement is None:
            value = self.one(statement.value, self.prefix + name)
        else:
            source = self.domain(statement.value, None)
            part = self._part(target.placement, source, target.span)
            value = self.draft.compose((part,), False, self.prefix + name, target.span)
        self.scope.assign(target.name, index, value, target.span)

    def _assign_many(
        self, statement: T.Assign, targets: list[tuple[T.Target, int | None]]
    ) -> None:
        for target, _ in targets:
            if target.placement is not None:
                raise target.span.error(
                    "several results are assigned to variables as they are",
                    hint="place them in statements of their own",
                )
        first, index = targets[0]
        name = first.name if index is None else f"{first.name}<{index}>"
        values = self.values(statement.value, self.prefix + name)
        if len(values) != len(targets):
            raise statement.span.error(
                f"{len(targets)} variables are assigned, and the value has "
                f"{len(values)}",
                hint="assign as many as the function returns",
            )
        for (target, index), value in zip(targets, values, strict=True):
            self.scope.assign(target.name, index, value, target.span)

    def _target(self, target: T.Target) -> int | None:
        """The index of a target, which is checked before its value is computed."""
        if not self.is_function and self.scope.span_of(target.name) is None:
            parameter = self.declared.parameters.get(target.name)
            if parameter is not None:
                raise target.span.error(
                    f"'{target.name}' is a parameter since line {parameter.span.line}, "
                    "and cannot be assigned",
                    hint="choose another name",
                )
        if target.index is not None:
            return self.whole(target.index, "an index")
        if self.in_loop:
            raise target.span.error(
                f"a loop assigns '{target.name}' each time that it runs",
                hint=f"qualify it by the variable of the loop: {target.name}"
                f"<{next(iter(self.scope.loops))}>",
            )
        return None

    def _for(self, loop: T.For) -> None:
        first = self.whole(loop.first, "the bound of a loop")
        last = self.whole(loop.last, "the bound of a loop")
        step = 1 if loop.step is None else self.whole(loop.step, "a step")
        if step not in (1, -1):
            assert loop.step is not None
            raise loop.step.span.error(
                f"a loop goes up or down by 1, not by {step}", hint="write by -1"
            )
        if (last - first) * step < 0:
            way = "by -1" if step == 1 else "by 1"
            raise loop.span.error(
                f"the loop from {first} to {last} by {step} never runs",
                hint=f"exchange the bounds, or write {first}..{last} {way}",
            )
        before = self.scope.span_of(loop.variable)
        if before is not None or loop.variable in self.scope.loops:
            raise loop.span.error(
                f"the variable of the loop, '{loop.variable}', has a value already",
                hint="choose another name",
            )
        was_in_loop, self.in_loop = self.in_loop, True
        for value in range(first, last + step, step):
            self.scope.loops[loop.variable] = Literal(Scalar.INT, loop.span, value)
            self.common.steps += 1
            if self.common.steps > MOST_STEPS:
                raise loop.span.error(
                    f"the program runs more than {MOST_STEPS} statements",
                    hint="shorten its loops",
                )
            for statement in loop.body:
                self.statement(statement)
        del self.scope.loops[loop.variable]
        self.in_loop = was_in_loop

    # Values

    def values(self, e: T.Expr, wanted: str | None) -> tuple[Value, ...]:
        """What an expression has for values: functions may return several. wanted: the
        name of the stage that it makes; None for that of the function."""
        if isinstance(e, T.Call) and e.function in self.declared.functions:
            return self._apply(e, self.declared.functions[e.function], wanted)
        if isinstance(e, T.Crop):
            return (self._crop(e, wanted),)
        if isinstance(e, T.Compose):
            return (self._compose(e, wanted),)
        if isinstance(e, T.Name):
            return (self.variable(e),)
        return (self.term(e),)

    def one(self, e: T.Expr, wanted: str | None) -> Value:
        """The value of an expression that has one."""
        values = self.values(e, wanted)
        if len(values) != 1:
            raise e.span.error(
                f"the function returns {len(values)} values, and one is needed",
                hint="assign them first: a, b = f(x);",
            )
        return values[0]

    def domain(self, e: T.Expr, wanted: str | None) -> Source:
        """The value of an expression that is a domain."""
        value = self.one(e, wanted)
        if not isinstance(value, Source):
            raise e.span.error(
                f"a domain is needed here, and this is a number, {value.type}",
                hint="a domain is an input, or what functions make of others",
            )
        return value

    # Domains

    def _crop(self, e: T.Crop, wanted: str | None) -> Source:
        source = self.domain(e.of, None)
        self._agree(e.span, len(e.ranges), source, "range")
        ranges = [
            (self.size(one.first), self.size(one.last), one.span) for one in e.ranges
        ]
        name = wanted or f"{self.prefix}crop"
        return self.draft.crop(source, ranges, name, e.span)

    def _compose(self, e: T.Compose, wanted: str | None) -> Source:
        if len(e.parts) > MOST_PARTS:
            raise e.span.error(
                f"the compose has {len(e.parts)} parts, and at most {MOST_PARTS} are "
                "put together",
                hint="compose in several steps",
            )
        parts = tuple(
            [
                self._part(one.placement, self.domain(one.value, None), one.span)
                for one in e.parts
            ]
        )
        first = parts[0]
        for part in parts[1:]:
            if part.source.type is not first.source.type:
                raise part.span.error(
                    f"the parts of a compose are of one type: this is "
                    f"{article(part.source.type)}, the first one "
                    f"{article(first.source.type)}",
                    hint="convert it in a stencil",
                )
            if len(part.place) != len(first.place):
                raise part.span.error(
                    "the parts of a compose have one number of dimensions: this has "
                    f"{len(part.place)}, the first one {len(first.place)}",
                    hint="say for each dimension where the part is put",
                )
        return self.draft.compose(
            parts, True, wanted or f"{self.prefix}compose", e.span
        )

    def _part(self, placement: T.Placement, source: Source, span: Span) -> Part:
        if isinstance(placement, T.Scatter):
            self._agree(placement.span, len(placement.steps), source, "offset")
            place = []
            for step in placement.steps:
                one = access(self, step)
                if one.offset < 0:
                    raise step.span.error(
                        f"an offset on the left is at least 0, not {one.offset}",
                        hint="point i is put at offset + i * scale",
                    )
                offset = self.draft.sizes.constant(one.offset)
                place.append(Place(offset, one.scale))
            return Part(source, tuple(place), span)
        if len(placement.amounts) < source.dimensions:
            self._agree(placement.span, len(placement.amounts), source, "padding")
        if len(placement.amounts) > 8:
            raise placement.span.error(
                f"a domain has from 1 to 8 dimensions, not {len(placement.amounts)}",
                hint="stack fewer",
            )
        amounts = [Place(self.size(one)) for one in placement.amounts]
        return Part(source, tuple(amounts), span)

    def _agree(self, span: Span, count: int, source: Source, what: str) -> None:
        if count != source.dimensions:
            raise span.error(
                disagreement(source.name, source.dimensions, count, what),
                hint="give one for each dimension",
            )

    # Functions

    def _apply(
        self, e: T.Call, function: T.Function, wanted: str | None
    ) -> tuple[Value, ...]:
        if function.kind == "stencil":
            stencil = self.common.stencils[function.name]
            return self._apply_stencil(e, stencil, wanted)
        return self._inline(e, function, wanted)

    def _given(
        self, e: T.Call, formals: Sequence[DomainFormal | NumberFormal]
    ) -> Iterator[tuple[T.Argument, DomainFormal | NumberFormal, Value]]:
        if len(e.args) != len(formals):
            takes = counted(len(formals), "argument")
            names = ", ".join([one.name for one in formals])
            raise e.span.error(
                f"'{e.function}' takes {takes}, not {len(e.args)}",
                hint=f"write {e.function}({names})",
            )
        for given, formal in zip(e.args, formals, strict=True):
            yield given, formal, self._argument(e, given.value, formal)

    def _argument(
        self, e: T.Call, given: T.Expr, formal: DomainFormal | NumberFormal
    ) -> Value:
        value = self.one(given, None)
        what = f"the argument '{formal.name}' of '{e.function}'"
        if isinstance(formal, NumberFormal):
            if isinstance(value, Source):
                raise given.span.error(
                    f"{what} is a number, {formal.type}, not a domain",
                    hint="pass a number or a parameter",
                )
            return self.assigned(value, formal.type, what)
        if not isinstance(value, Source):
            raise given.span.error(
                f"{what} is a domain, not a number", hint="pass a domain"
            )
        needs = f"vector#{formal.dimensions} {formal.type}"
        has = f"vector#{value.dimensions} {value.type}"
        if value.dimensions == formal.dimensions and value.type == formal.type:
            return value
        hint = "a function is written for one type and one number of dimensions"
        if value.dimensions == formal.dimensions and isinstance(formal.type, Scalar):
            hint = f"convert it in a stencil: return {formal.type}(X);"
            if isinstance(value.type, Struct):
                hint = "make it of a field in a stencil: return X.r;"
        raise given.span.error(f"{what} is a {needs}, and this is a {has}", hint=hint)

    def _apply_stencil(
        self, e: T.Call, stencil: Stencil, wanted: str | None
    ) -> tuple[Value, ...]:
        domains: list[Source] = []
        boundaries: list[Boundary] = []
        numbers: dict[str, Term] = {}
        for given, formal, value in self._given(e, stencil.formals):
            if isinstance(value, Source):
                domains.append(value)
                boundaries.append(self._boundary(given.boundary, value.type))
                continue
            if given.boundary is not None:
                raise given.boundary.span.error(
                    f"'{formal.name}' is a number, and has no boundary",
                    hint="boundary conditions stand behind domains",
                )
            numbers[formal.name] = value
        stage = self.draft.apply(
            *(stencil.name, stencil.applied(numbers), tuple(domains)),
            *(tuple(boundaries), wanted or self.prefix + stencil.name, e.span),
        )
        return tuple([Source(stage, k) for k in range(len(stage.types))])

    def _boundary(self, boundary: T.Boundary | None, type: Element) -> Boundary:
        if boundary is None:
            return Boundary()
        try:
            kind = BoundaryKind(boundary.kind)
        except ValueError:
            raise boundary.span.error(
                f"there is no boundary condition '{boundary.kind}'",
                legal=("constant(value)", "clamped", "wrap", "mirror"),
            ) from None
        if kind is not BoundaryKind.CONSTANT:
            if boundary.value is not None:
                raise boundary.span.error(
                    f"'{boundary.kind}' takes no value", hint=f"write {boundary.kind}"
                )
            return Boundary(kind)
        if boundary.value is None:
            raise boundary.span.error(
                "'constant' takes the value outside of the domain",
                hint="write constant(0)",
            )
        value = self.term(boundary.value)
        what = "the value outside of the domain"
        if isinstance(type, Struct) and not isinstance(value.type, Struct):
            fields = [self.assigned(value, field, what) for _, field in type.fields]
            return Boundary(kind, Made(type, value.span, tuple(fields)))
        return Boundary(kind, self.assigned(value, type, what))

    def _inline(
        self, e: T.Call, function: T.Function, wanted: str | None
    ) -> tuple[Value, ...]:
        formals = formals_of(function, self.declared)
        scope = Scope()
        spans = {one.name: one.span for one in function.formals}
        for given, formal, value in self._given(e, formals):
            if given.boundary is not None:
                raise given.boundary.span.error(
                    f"'{function.name}' is a vector function, which has no boundary "
                    "conditions",
                    hint="they stand where a stencil is applied, inside of it",
                )
            scope.assign(formal.name, None, value, spans[formal.name])
        name = wanted or self.prefix + function.name
        with _applied_at(function.name, e.span):
            return inlined(self.common, function, scope, name)


def inlined(
    common: Common, function: T.Function, scope: Scope, name: str
) -> tuple[Value, ...]:
    """What a vector function returns, of arguments that are in its scope. name: of what
    it returns, and the beginning of its stages' names."""
    common.applied.add(function.name)
    inside = Elaborator(common, scope, f"{name}.")
    what = f"the function '{function.name}'"
    values, _ = inside.run(function.body, name, function.at, what)
    return values


@contextmanager
def _applied_at(name: str, at: Span) -> Iterator[None]:
    """Errors inside say where the function is applied."""
    try:
        yield
    except FormaError as error:
        lines = [line for line in error.detail.splitlines() if line]
        told = sum([line.startswith("applied as ") for line in lines])
        if told >= _TOLD:
            raise
        lines.append(f"applied as '{name}' at {at.site()}")
        raise FormaError(
            error.what,
            at=error.at,
            legal=error.legal,
            hint=error.hint,
            detail="\n".join(lines),
        ) from None


__all__ = ["MOST_STEPS", "Common", "Elaborator", "inlined"]
