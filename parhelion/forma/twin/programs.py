"""The decorator `forma.program`: whole programs, each a Python function."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from types import FunctionType
from typing import cast

from parhelion.forma import tree as T
from parhelion.forma.spans import Span
from parhelion.forma.twin.defined import Definition, Nested, Twin, collected, parameter
from parhelion.forma.twin.functions import (
    FunctionDecorator,
    read_function,
    read_struct,
    struct,
    vector_of,
)
from parhelion.forma.twin.source import File, Names, function_of
from parhelion.forma.twin.statements import Statements
from parhelion.ir.deep import run_deep


def program(function: Callable[..., object], /) -> Twin:
    """Reads the function under it as a whole program.

    Its statements declare parameters and inputs, and compute with them; structs and
    functions of Forma are defined inside of it, or before. `forma.compile` takes what
    it becomes.

    >>> from parhelion import forma
    >>> @forma.stencil
    ... def blur_x(X: forma.Vector2[float]) -> object:
    ...     return X[-1, 0] + X + X[1, 0]
    >>> @forma.program
    ... def blur() -> object:
    ...     M, N = forma.parameter()
    ...     photo = forma.Vector2[float](M, N)
    ...     return blur_x(forma.mirror(photo))
    >>> forma.compile(blur)(np.array([[1, 2, 6]], np.float32)).tolist()
    [[4.0, 9.0, 14.0]]
    """
    file, node = function_of(function, "@forma.program")
    names = Names.around(cast(FunctionType, function), sys._getframe(1))
    reader = _Program(file, names)
    tree = run_deep(lambda: reader.program(node))
    return Twin(reader.identifier(node.name, file.name_of(node)), tree, function)


class _Program(Statements):
    """Reads the body of a program, with what is declared in it."""

    def __init__(self, file: File, names: Names) -> None:
        super().__init__(file, names, False)
        self.structs: list[T.Struct] = []
        self.parameters: list[T.Parameter] = []
        self.inputs: list[T.Input] = []
        self.functions: list[T.Function] = []

    def program(self, node: ast.FunctionDef) -> T.Program:
        """The whole program."""
        given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        for one in [*given, node.args.vararg, node.args.kwarg]:
            if one is not None:
                raise self.span(one).error(
                    "a program takes no arguments in Python",
                    hint="declare them in it: M, N = parameter(), "
                    "photo = Vector2[float](M, N)",
                )
        for inner in node.body:
            if isinstance(inner, ast.FunctionDef | ast.ClassDef):
                self._announce(inner)
        body = self.body(node.body)
        self._take_over(self.file.name_of(node))
        return T.Program(
            self.span(node),
            *(tuple(self.structs), tuple(self.parameters), tuple(self.inputs)),
            tuple(self.functions),
            body,
        )

    def statement(self, node: ast.stmt) -> T.Statement | None:
        """Also declarations, of which nothing is left among the statements."""
        if isinstance(node, ast.FunctionDef) and not self._in_loop:
            self._define(node)
        elif isinstance(node, ast.ClassDef) and not self._in_loop:
            self.structs.append(read_struct(self, node))
        elif not isinstance(node, ast.Assign) or not self._declares(node):
            return super().statement(node)
        return None

    # Definitions

    def _announce(self, node: ast.FunctionDef | ast.ClassDef) -> None:
        """Makes a name known, also to what stands before."""
        span = self.file.name_of(node)
        kind, name = self._decorated(node)
        self.names.known[node.name] = Nested(kind, self.identifier(name, span))

    def _decorated(self, node: ast.FunctionDef | ast.ClassDef) -> tuple[str, str]:
        """What a decorator makes of a function or class, and the name in Forma."""
        name = node.name
        found: object = None
        if len(node.decorator_list) == 1:
            (decorator,) = node.decorator_list
            if isinstance(decorator, ast.Call):
                name = self._renamed(decorator)
                decorator = decorator.func
            found = self.names.find(decorator)
        if isinstance(node, ast.FunctionDef) and isinstance(found, FunctionDecorator):
            return found.kind, name
        if isinstance(node, ast.ClassDef) and found is struct:
            return "struct", name
        raise self.file.name_of(node).error(
            f"'{node.name}' is no function and no struct of Forma's",
            hint="write one decorator above it: @forma.stencil, @forma.vector or "
            "@forma.struct",
        )

    def _renamed(self, node: ast.Call) -> str:
        """The name in ``@stencil(name="blur")``."""
        if not node.args and len(node.keywords) == 1:
            value = node.keywords[0].value
            if node.keywords[0].arg == "name" and isinstance(value, ast.Constant):
                if isinstance(value.value, str):
                    return value.value
        raise self.span(node).error(
            "a decorator takes a name", hint='write @forma.stencil(name="blur")'
        )

    def _define(self, node: ast.FunctionDef) -> None:
        kind, name = self._decorated(node)
        reader = Statements(self.file, self.names, kind == "stencil")
        # Of the variables around, functions of Forma see the parameters alone.
        reader.variables = set(self.variables)
        reader.uses = self.uses
        self.functions.append(read_function(kind, reader, node, name))

    def _take_over(self, at: Span) -> None:
        """Puts in front what the program uses of what is defined outside of it."""
        structs: list[T.Struct] = []
        parameters: list[T.Parameter] = []
        functions: list[T.Function] = []
        names: dict[str, Definition] = {}
        for one in collected(tuple(self.uses.values())):
            before = names.setdefault(one.name, one)
            if before is not one and (before.kind == "parameter") == (
                one.kind == "parameter"
            ):
                raise at.error(
                    f"the program uses a {before.kind} and a {one.kind} '{one.name}'",
                    detail=f"they are at {before.node.span.site()} and "
                    f"{one.node.span.site()}",
                    hint='give one another name: @forma.stencil(name="…")',
                )
            if isinstance(one.node, T.Struct):
                structs.append(one.node)
            elif isinstance(one.node, T.Parameter):
                parameters.append(one.node)
            else:
                functions.append(one.node)
        self.structs[:0] = structs
        self.parameters[:0] = parameters
        self.functions[:0] = functions

    # Parameters and inputs

    def _declares(self, node: ast.Assign) -> bool:
        """Reads ``M, N = parameter()`` and ``photo = Vector2[float](M, N)``."""
        call = node.value
        if not isinstance(call, ast.Call) or self._in_loop:
            return False
        if self.names.find(call.func) is parameter:
            self._plain_arguments(call)
            type = self.scalar_of(call.args[0]) if call.args else "int"
            for target in self._declared(node):
                self.parameters.append(T.Parameter(target.span, target.name, type))
            return True
        if not isinstance(call.func, ast.Subscript):
            return False
        dimensions = vector_of(self, call.func)
        if dimensions is None:
            return False
        self._plain_arguments(call)
        type = self.type_of(call.func.slice)
        for target in self._declared(node):
            sizes = tuple([self.expression(one) for one in call.args])
            self.inputs.append(
                T.Input(target.span, type, dimensions, target.name, sizes)
            )
        return True

    def _declared(self, node: ast.Assign) -> tuple[T.Target, ...]:
        targets = self._targets(node.targets[0])
        for target in targets:
            if len(node.targets) > 1 or target.index is not None:
                raise self.span(node).error(
                    "parameters and inputs are declared by plain variables",
                    hint="write M, N = parameter()",
                )
        return targets


__all__ = ["program"]
