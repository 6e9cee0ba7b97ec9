"""Checks the definitions of stencils, and applies them to numbers."""

from __future__ import annotations

from collections.abc import Mapping

from parhelion.dataclass import dataclass
from parhelion.forma import tree as T
from parhelion.forma.declared import Declared
from parhelion.forma.numbers import Numbers, converted, disagreement
from parhelion.forma.spans import Span
from parhelion.forma.stages import Assignment, Body
from parhelion.forma.terms import (
    Access,
    ArgumentValue,
    Local,
    ParameterValue,
    Read,
    Term,
    rewrite,
)
from parhelion.forma.types import Element, Scalar

#: Offsets and scales are less than this, and more than its negative.
_FAR = 1 << 20


@dataclass(frozen=True, slots=True)
class DomainFormal:
    """An argument that is a domain. index: of those of a stencil, which one it is."""

    name: str
    type: Element
    dimensions: int
    index: int


@dataclass(frozen=True, slots=True)
class NumberFormal:
    """An argument that is a number."""

    name: str
    type: Scalar


def formals_of(
    function: T.Function, declared: Declared
) -> tuple[DomainFormal | NumberFormal, ...]:
    """The arguments of a function, in order."""
    found: list[DomainFormal | NumberFormal] = []
    domains = 0
    for one in function.formals:
        kind = declared.element(one.type, one.span)
        if one.dimensions is None:
            assert isinstance(kind, Scalar)
            found.append(NumberFormal(one.name, kind))
        else:
            found.append(DomainFormal(one.name, kind, one.dimensions, domains))
            domains += 1
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Stencil:
    """A stencil as it is defined."""

    name: str
    formals: tuple[DomainFormal | NumberFormal, ...]
    body: Body

    def applied(self, numbers: Mapping[str, Term]) -> Body:
        """The body with the numbers that it is given."""
        if not numbers:
            return self.body

        def change(term: Term) -> Term | None:
            return numbers[term.name] if isinstance(term, ArgumentValue) else None

        return Body(
            tuple(
                [
                    Assignment(one.name, rewrite(one.value, change))
                    for one in self.body.assignments
                ]
            ),
            tuple([rewrite(one, change) for one in self.body.results]),
            self.body.reads,
        )


def check_stencil(function: T.Function, declared: Declared) -> Stencil:
    """The stencil that a function of the tree defines."""
    return _Checker(function, declared).check()


class _Checker(Numbers):
    """One definition while it is checked."""

    def __init__(self, function: T.Function, declared: Declared) -> None:
        super().__init__(declared)
        self.function = function
        self.formals = formals_of(function, declared)
        self.by_name = {one.name: one for one in self.formals}
        self.locals: dict[str, tuple[Term, Span]] = {}
        self.reads: dict[tuple[int, tuple[Access, ...]], Read] = {}

    def check(self) -> Stencil:
        name = self.function.name
        domains = [one for one in self.formals if isinstance(one, DomainFormal)]
        if not domains:
            raise self.function.at.error(
                f"the stencil '{name}' has no domain among its arguments",
                hint="write one: vector#2 float X",
            )
        counts = {one.dimensions for one in domains}
        if len(counts) > 1:
            other = next(
                one
                for one in self.function.formals
                if one.dimensions not in (None, domains[0].dimensions)
            )
            raise other.span.error(
                f"the domains of a stencil have one number of dimensions;"
                f" '{domains[0].name}' has {domains[0].dimensions}, '{other.name}' "
                f"{other.dimensions}",
                hint="stack or crop domains so that they agree",
            )
        results: tuple[Term, ...] | None = None
        for statement in self.function.body:
            if results is not None:
                raise statement.span.error(
                    f"the stencil '{name}' has returned before",
                    hint="return stands last, and once: return a, b;",
                )
            if isinstance(statement, T.Return):
                results = tuple([self._result(one) for one in statement.values])
            elif isinstance(statement, T.Assign):
                self._assign(statement)
            else:
                raise statement.span.error(
                    "a stencil has no loops",
                    hint="apply a stencil in a loop of the program, or write its "
                    "statements out",
                )
        if results is None:
            raise self.function.at.error(
                f"the stencil '{name}' returns nothing", hint="end it by return e;"
            )
        assignments = tuple(
            [Assignment(one, term) for one, (term, _) in self.locals.items()]
        )
        body = Body(assignments, results, tuple(self.reads.values()))
        return Stencil(name, self.formals, body)

    def _result(self, e: T.Expr) -> Term:
        term = self.term(e)
        return converted(term, Scalar.INT) if term.type is Scalar.CONDITION else term

    def _assign(self, statement: T.Assign) -> None:
        target = statement.targets[0]
        if len(statement.targets) > 1:
            raise statement.targets[1].span.error(
                "one variable is assigned at a time in a stencil",
                hint="write a statement for each",
            )
        if target.index is not None or target.placement is not None:
            raise target.span.error(
                "a stencil assigns to plain variables",
                hint="qualified variables, @[…] and [n..] on the left are for domains",
            )
        before = self.locals.get(target.name)
        if before is not None:
            raise target.span.error(
                f"'{target.name}' is assigned twice, first in line {before[1].line}",
                hint="each variable is assigned once: choose another name",
            )
        if target.name in self.by_name:
            raise target.span.error(
                f"'{target.name}' is an argument, and cannot be assigned",
                hint="choose another name",
            )
        self.locals[target.name] = self.term(statement.value), target.span

    # What names stand for

    def named(self, e: T.Name) -> Term:
        if e.index is not None:
            raise e.span.error(
                "qualified variables are for domains, not for stencils",
                hint="pass the domain as an argument",
            )
        local = self.locals.get(e.name)
        if local is not None:
            return Local(local[0].type, e.span, e.name)
        formal = self.by_name.get(e.name)
        if isinstance(formal, DomainFormal):
            return self._read(formal, (Access(0),) * formal.dimensions, e.span)
        if formal is not None:
            return ArgumentValue(formal.type, e.span, e.name)
        parameter = self.declared.parameters.get(e.name)
        if parameter is not None:
            return ParameterValue(parameter.type, e.span, e.name)
        if e.name in self.declared.inputs:
            raise e.span.error(
                f"'{e.name}' is an input of the program, which stencils do not see",
                hint="pass it as an argument",
            )
        raise e.span.error(
            f"there is no variable '{e.name}' here",
            legal=(*self.by_name, *self.locals),
            hint="assign it before, or make it an argument",
        )

    def at(self, e: T.At) -> Term:
        formal = None
        if isinstance(e.of, T.Name) and e.of.name not in self.locals:
            formal = self.by_name.get(e.of.name) if e.of.index is None else None
        if not isinstance(formal, DomainFormal):
            raise e.of.span.error(
                "the offset operator reads an argument that is a domain",
                legal=tuple(
                    [o.name for o in self.formals if isinstance(o, DomainFormal)]
                ),
                hint="to look around a computed value, make it a stage of its own",
            )
        if len(e.steps) != formal.dimensions:
            raise e.span.error(
                disagreement(formal.name, formal.dimensions, len(e.steps), "offset"),
                hint="give one for each dimension",
            )
        return self._read(formal, tuple([access(self, s) for s in e.steps]), e.span)

    def _read(self, formal: DomainFormal, at: tuple[Access, ...], span: Span) -> Term:
        read = Read(formal.type, span, formal.index, at)
        self.reads.setdefault((formal.index, at), read)
        return read

    def applied(self, e: T.Call) -> Term:
        raise e.span.error(
            f"a stencil cannot apply '{e.function}'",
            hint=f"apply '{e.function}' to the domain before, and pass the result",
        )


def access(numbers: Numbers, step: T.Step) -> Access:
    """An offset, or an offset and a scale, with the numbers that they are."""
    offset = numbers.whole(step.offset, "an offset")
    scale = 1 if step.scale is None else numbers.whole(step.scale, "a scale")
    if scale < 1:
        assert step.scale is not None
        raise step.scale.span.error(
            f"a scale is at least 1, not {scale}",
            hint="(a, b) stands for the point a + i * b",
        )
    if scale >= _FAR or abs(offset) >= _FAR:
        raise step.span.error(
            f"offsets and scales are less than {_FAR}", hint="write smaller ones"
        )
    return Access(offset, scale)


__all__ = [
    "DomainFormal",
    "NumberFormal",
    "Stencil",
    "access",
    "check_stencil",
    "formals_of",
]
