"""The decorators of functions and structs, and parameters outside of programs."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from types import FrameType, FunctionType
from typing import Any, TypeVar, cast, dataclass_transform, overload

from parhelion.forma import tree as T
from parhelion.forma.twin.defined import Definition
from parhelion.forma.twin.expressions import Expressions
from parhelion.forma.twin.source import Names, function_of, struct_of
from parhelion.forma.twin.statements import Statements
from parhelion.forma.twin.words import Vector
from parhelion.ir.deep import run_deep

_C = TypeVar("_C", bound=type)


class FunctionDecorator:
    """Reads the Python function under it as a function of Forma.

    A stencil says what a point of its result is, a vector function is a sequence of
    statements on domains. name: in Forma, where that is not the function's.

    >>> from parhelion import forma
    >>> @forma.stencil
    ... def blur_x(X: forma.Vector2[float]) -> object:
    ...     return (X[-1, 0] + X + X[1, 0]) / 3
    >>> blur_x
    <stencil blur_x of Forma>
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind

    @overload
    def __call__(self, function: Callable[..., object], /) -> Definition: ...
    @overload
    def __call__(
        self, /, *, name: str
    ) -> Callable[[Callable[..., object]], Definition]: ...
    def __call__(
        self, function: Callable[..., object] | None = None, /, *, name: str = ""
    ) -> Any:
        if function is None:
            return lambda given: self._read(given, name, sys._getframe(1))
        return self._read(function, name, sys._getframe(1))

    def _read(self, function: object, name: str, frame: FrameType) -> Definition:
        file, node = function_of(function, repr(self))
        names = Names.around(cast(FunctionType, function), frame)
        reader = Statements(file, names, self.kind == "stencil")
        made = run_deep(lambda: read_function(self.kind, reader, node, name))
        return Definition(self.kind, made, tuple(reader.uses.values()))

    def __repr__(self) -> str:
        return f"@forma.{self.kind}"


stencil = FunctionDecorator("stencil")
vector = FunctionDecorator("vector")


def read_function(
    kind: str, reader: Statements, node: ast.FunctionDef, name: str
) -> T.Function:
    """The function in Forma. reader: one for it alone. name: that in Forma, if it is
    another one."""
    at = reader.file.name_of(node)
    called = reader.identifier(name or node.name, at)
    arguments = _arguments(reader, node.args)
    formals = tuple([_formal(reader, one) for one in arguments])
    reader.variables |= {one.arg for one in arguments}
    body = reader.body(node.body)
    return T.Function(reader.span(node), kind, called, formals, body, at)


def _arguments(reader: Expressions, written: ast.arguments) -> list[ast.arg]:
    starred = [one for one in (written.vararg, written.kwarg) if one is not None]
    for one in [*starred, *written.kwonlyargs]:
        raise reader.span(one).error(
            "arguments are given by their position", hint="write each by itself"
        )
    for default in written.defaults:
        raise reader.span(default).error(
            "an argument has no default", hint="give it where the function is applied"
        )
    return [*written.posonlyargs, *written.args]


def _formal(reader: Expressions, node: ast.arg) -> T.Formal:
    span, type = reader.span(node), node.annotation
    name = reader.identifier(node.arg, span)
    if type is None:
        raise span.error(
            f"the argument '{name}' has no type",
            hint=f"write {name}: Vector2[float], or {name}: float",
        )
    if isinstance(type, ast.Subscript):
        dimensions = vector_of(reader, type)
        if dimensions is not None:
            return T.Formal(span, reader.type_of(type.slice), dimensions, name)
    return T.Formal(span, reader.scalar_of(type), None, name)


def vector_of(reader: Expressions, node: ast.Subscript) -> int | None:
    """The number of dimensions of ``Vector2[…]``, None for anything else."""
    found = reader.names.find(node.value)
    is_vector = isinstance(found, type) and issubclass(found, Vector)
    return getattr(found, "dimensions", None) if is_vector else None


@dataclass_transform()
def struct(cls: _C, /) -> _C:
    """Reads the class under it as a struct: its annotations are the fields.

    >>> from parhelion import forma
    >>> @forma.struct
    ... class RGB:
    ...     r: float
    ...     g: float
    ...     b: float
    >>> RGB
    <struct RGB of Forma>
    """
    frame = sys._getframe(1)
    file, node = struct_of(cls, frame, "@forma.struct")
    reader = Expressions(file, Names(frame.f_locals, frame.f_globals), False)
    # For tools that check types, it stays the class: a type, and what makes values.
    return cast(_C, Definition("struct", read_struct(reader, node)))


def read_struct(reader: Expressions, node: ast.ClassDef) -> T.Struct:
    """The struct in Forma."""
    at = reader.file.name_of(node)
    if node.bases or node.keywords:
        raise at.error("a struct has no bases", hint="write all of its fields into it")
    fields = []
    for one in node.body:
        text = one.value if isinstance(one, ast.Expr) else None
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            continue
        is_field = isinstance(one, ast.AnnAssign) and one.value is None
        if not isinstance(one, ast.AnnAssign) or not is_field:
            raise reader.span(one).error(
                "a struct has fields alone", hint="write r: forma.int8"
            )
        span = reader.span(one.target)
        name = reader.identifier(span.text(), span)
        fields.append(T.FieldDecl(span, reader.scalar_of(one.annotation), name))
    return T.Struct(at, reader.identifier(node.name, at), tuple(fields))


__all__ = [
    "FunctionDecorator",
    "read_function",
    "read_struct",
    "stencil",
    "struct",
    "vector",
    "vector_of",
]
