"""What a program declares: its structs, parameters and functions, by their names."""

from __future__ import annotations

from collections.abc import Iterator

from parhelion.forma import tree as T
from parhelion.forma.sizes import parameter_var
from parhelion.forma.spans import Span
from parhelion.forma.stages import Parameter
from parhelion.forma.terms import MATH
from parhelion.forma.types import Element, Scalar, Struct


class Declared:
    """The declarations of a program, looked up and checked.

    Functions and types have one space of names, as both are called; variables,
    parameters and inputs another. Raises FormaError for names that are there twice.
    """

    def __init__(self, program: T.Program) -> None:
        self.structs: dict[str, Struct] = {}
        self.functions: dict[str, T.Function] = {}
        self.parameters: dict[str, Parameter] = {}
        self.inputs: dict[str, T.Input] = {}
        self._called: dict[str, Span] = {}
        self._variables: dict[str, Span] = {}
        for struct in program.structs:
            self._declare_struct(struct)
        extents = {
            size.name
            for one in program.inputs
            for size in one.sizes
            if isinstance(size, T.Name) and size.index is None
        }
        for parameter in program.parameters:
            self._once(self._variables, parameter.name, parameter.span)
            kind, name = Scalar(parameter.type), parameter.name
            var = parameter_var(name, name in extents) if kind is Scalar.INT else None
            self.parameters[name] = Parameter(name, kind, var, parameter.span)
        for one in program.inputs:
            self._once(self._variables, one.name, one.span)
            self.inputs[one.name] = one
        for function in program.functions:
            self._declare_function(function)
        self._refuse_recursion()

    def element(self, name: str, span: Span) -> Element:
        """The type of that name."""
        struct = self.structs.get(name)
        if struct is not None:
            return struct
        try:
            return Scalar(name)
        except ValueError:
            raise span.error(
                f"there is no type '{name}'",
                legal=("int8", "int16", "int", "float", "double", *self.structs),
                hint=f"declare it: struct {name} {{ int8 r; … }}",
            ) from None

    def _declare_struct(self, struct: T.Struct) -> None:
        self._once(self._called, struct.name, struct.span)
        if not struct.fields:
            raise struct.span.error(
                f"the struct '{struct.name}' has no fields",
                hint="write its fields: struct RGB { int8 r; int8 g; int8 b; }",
            )
        seen: dict[str, Span] = {}
        for one in struct.fields:
            if one.name in seen:
                raise one.span.error(
                    f"the struct '{struct.name}' has two fields '{one.name}'",
                    hint="choose another name for one of them",
                )
            seen[one.name] = one.span
        fields = tuple([(one.name, Scalar(one.type)) for one in struct.fields])
        self.structs[struct.name] = Struct(struct.name, fields)

    def _declare_function(self, function: T.Function) -> None:
        self._once(self._called, function.name, function.at)
        names: set[str] = set()
        for one in function.formals:
            if one.name in names:
                raise one.span.error(
                    f"'{function.name}' has two arguments '{one.name}'",
                    hint="choose another name for one of them",
                )
            names.add(one.name)
            self.element(one.type, one.span)
        self.functions[function.name] = function

    def _once(self, names: dict[str, Span], name: str, span: Span) -> None:
        if names is self._called and name in MATH:
            raise span.error(
                f"'{name}' is a math function, and cannot be declared",
                hint="choose another name",
            )
        before = names.setdefault(name, span)
        if before is not span:
            raise span.error(
                f"'{name}' is declared twice, first in line {before.line}",
                hint="choose another name for one of them",
            )

    def _refuse_recursion(self) -> None:
        """Functions that apply themselves, by way of others even, have no end."""
        done: set[str] = set()
        for start in self.functions:
            # The functions being walked, each with what it still has to apply.
            path = [(start, self._applied(start))]
            inside = {start}
            while path:
                name, calls = path[-1]
                call = next(calls, None)
                if call is None:
                    path.pop()
                    inside.discard(name)
                    done.add(name)
                elif call.function in inside:
                    way = [one for one, _ in path]
                    circle = [*way[way.index(call.function) :], call.function]
                    raise call.span.error(
                        f"the function '{call.function}' applies itself",
                        detail=_way(circle),
                        hint="functions have no recursion: write a loop, for i = 1..3",
                    )
                elif call.function in self.functions and call.function not in done:
                    inside.add(call.function)
                    path.append((call.function, self._applied(call.function)))

    def _applied(self, name: str) -> Iterator[T.Call]:
        """The calls in the body of a vector function. Those in stencils are refused
        anyway."""
        function = self.functions[name]
        if function.kind == "vector":
            yield from calls(function.body)


def _way(circle: list[str]) -> str:
    if len(circle) > 6:
        circle = [*circle[:3], "…", *circle[-2:]]
    return " -> ".join(circle)


def calls(body: tuple[T.Statement, ...]) -> Iterator[T.Call]:
    """All calls in statements, in the order of the program."""
    waiting: list[T.Node] = list(reversed(body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, T.Call):
            yield node
        waiting += reversed(list(_children(node)))


def _children(node: T.Node) -> Iterator[T.Node]:
    for name in node.__dataclass_fields__:
        value = getattr(node, name)
        if isinstance(value, T.Node):
            yield value
        elif isinstance(value, tuple):
            yield from [one for one in value if isinstance(one, T.Node)]


__all__ = ["Declared", "calls"]
