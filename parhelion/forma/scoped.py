"""Numbers and sizes in terms of the variables around: of a program or a function."""

from __future__ import annotations

from parhelion.forma import tree as T
from parhelion.forma.declared import Declared
from parhelion.forma.drafts import Draft
from parhelion.forma.numbers import Numbers
from parhelion.forma.scope import Scope, Value
from parhelion.forma.sizes import BY_OPERATOR, Size
from parhelion.forma.stages import Source
from parhelion.forma.terms import (
    ArgumentValue,
    Arithmetic,
    Literal,
    MathCall,
    Negate,
    ParameterValue,
    Term,
)
from parhelion.forma.types import Scalar, article


class Unknown(Exception):
    """A function that nothing applies needs the value of an argument to go on."""


class Scoped(Numbers):
    """Looks names up in a scope.

    is_function: whether it is that of a vector function, which sees no inputs.
    """

    def __init__(
        self, declared: Declared, draft: Draft, scope: Scope, is_function: bool
    ) -> None:
        super().__init__(declared)
        self.draft = draft
        self.scope = scope
        self.is_function = is_function

    def whole(self, e: T.Expr, what: str) -> int:
        if isinstance(self.term(e), ArgumentValue):
            raise Unknown
        return super().whole(e, what)

    def variable(self, e: T.Name) -> Value:
        scope = self.scope
        if e.index is not None:
            return self._qualified(e, e.index)
        if e.name in scope.plain:
            return scope.plain[e.name][0]
        if e.name in scope.loops:
            value = scope.loops[e.name]
            return Literal(value.type, e.span, value.value)
        if e.name in scope.qualified:
            raise e.span.error(
                f"'{e.name}' is a qualified variable, and stands for several domains",
                hint=f"say which: {e.name}<0>",
            )
        parameter = self.declared.parameters.get(e.name)
        if parameter is not None:
            return ParameterValue(parameter.type, e.span, e.name)
        if self.is_function and e.name in self.declared.inputs:
            raise e.span.error(
                f"'{e.name}' is an input of the program, which functions do not see",
                hint="pass it as an argument",
            )
        names = tuple(scope.names())
        raise e.span.error(
            f"there is no variable '{e.name}'",
            legal=names if len(names) <= 12 else (),
            hint="assign it before it is used",
        )

    def _qualified(self, e: T.Name, index_of: T.Expr) -> Value:
        family = self.scope.qualified.get(e.name)
        index = self.whole(index_of, "an index")
        if family is None:
            what = "is not qualified" if e.name in self.scope.plain else "has no value"
            raise e.span.error(
                f"'{e.name}<{index}>' is used, and '{e.name}' {what}",
                hint=f"assign it before: {e.name}<{index}> = …;",
            )
        if index not in family:
            has = ", ".join([f"<{one}>" for one in list(family)[:8]])
            raise e.span.error(
                f"'{e.name}<{index}>' is used before it is assigned",
                detail=f"of '{e.name}' there is {has}",
                hint="assign it before, outside of the loop if it is the first",
            )
        return family[index][0]

    # Numbers among them

    def named(self, e: T.Name) -> Term:
        value = self.variable(e)
        if isinstance(value, Source):
            raise e.span.error(
                f"'{e.name}' is a domain, and a number is needed here",
                hint="stencils compute with the points of domains: apply one",
            )
        return value

    def at(self, e: T.At) -> Term:
        raise e.span.error(
            "the offset operator reads in stencils alone",
            hint="write a stencil, and apply it to the domain",
        )

    def applied(self, e: T.Call) -> Term:
        raise e.span.error(
            f"'{e.function}' makes a domain, and a number is needed here",
            hint="stencils compute with the points of domains: apply one to it",
        )

    def size(self, e: T.Expr) -> Size:
        """A size, or a place in a domain."""
        return self._size_of(self.term(e))

    def _size_of(self, term: Term) -> Size:
        sizes = self.draft.sizes
        if term.type is Scalar.INT:
            if isinstance(term, Literal):
                return sizes.constant(int(term.value))
            if isinstance(term, ParameterValue):
                var = self.declared.parameters[term.name].var
                assert var is not None
                return var
            if isinstance(term, ArgumentValue):
                return self.draft.unknown(term.name)
            if isinstance(term, Negate):
                return sizes.sub(sizes.constant(0), self._size_of(term.of), term.span)
            operation = None
            if isinstance(term, Arithmetic):
                operation = BY_OPERATOR.get(term.op)
            elif isinstance(term, MathCall):
                operation = BY_OPERATOR.get(term.function)
            if operation is not None:
                a, b = [self._size_of(one) for one in term.operands]
                return operation(sizes, a, b, term.span)
        what = "other ints" if term.type is Scalar.INT else article(term.type)
        raise term.span.error(
            f"a size is made of integers and int parameters, not of {what}",
            hint="they are put together by + - * / % min and max",
        )


__all__ = ["Scoped", "Unknown"]
