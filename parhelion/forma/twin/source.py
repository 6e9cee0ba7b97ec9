"""The files of Python functions: their syntax trees, and places in their text."""

from __future__ import annotations

import ast
import builtins
import linecache
from collections.abc import Mapping
from contextlib import suppress
from inspect import iscoroutinefunction
from types import CellType, FrameType, FunctionType, ModuleType
from typing import Any

from parhelion.errors import FormaError, here
from parhelion.forma.spans import Source, Span
from parhelion.ir.deep import run_deep

#: By file, what has been read of it last.
_FILES: dict[str, File] = {}
#: What stands where a name means nothing.
MISSING = object()


class File:
    """The text of a Python file, or of a cell, and what is defined in it."""

    def __init__(self, name: str, text: str) -> None:
        self.source = Source(text, name)
        self._named: dict[str, list[ast.FunctionDef | ast.ClassDef]] = {}
        for node in ast.walk(run_deep(lambda: ast.parse(text))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                self._named.setdefault(node.name, []).append(node)

    def span(self, node: _Placed) -> Span:
        """The place of a node of its syntax tree."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return Span(
            self.source,
            self._at(node.lineno, node.col_offset),
            self._at(node.end_lineno, node.end_col_offset),
        )

    def name_of(self, node: ast.FunctionDef | ast.ClassDef) -> Span:
        """The place of the name behind ``def`` or ``class``."""
        start = self.span(node).start + len("def")
        at = self.source.text.index(node.name, start)
        return Span(self.source, at, at + len(node.name))

    def function(self, name: str, line: int) -> ast.FunctionDef | None:
        """The function that begins in a line, with its decorators."""
        for node in self._named.get(name, ()):
            if isinstance(node, ast.FunctionDef) and line in (
                _first(node),
                node.lineno,
            ):
                return node
        return None

    def struct(self, name: str, line: int) -> ast.ClassDef | None:
        """The class of which a line is that of a decorator, or the first line."""
        for node in self._named.get(name, ()):
            if isinstance(node, ast.ClassDef) and _first(node) <= line <= node.lineno:
                return node
        return None

    def _at(self, line: int, column: int) -> int:
        """The character in a line, counted from 1, behind so many bytes."""
        start = self.source.start_of(line - 1)
        text = self.source.text[start : start + column]
        if not text.isascii():
            text = text.encode()[:column].decode()
        return start + len(text)


#: Nodes that have a place.
_Placed = ast.expr | ast.stmt | ast.arg | ast.keyword


def _first(node: ast.FunctionDef | ast.ClassDef) -> int:
    return min([node.lineno, *[one.lineno for one in node.decorator_list]])


def file_of(name: str, scope: dict[str, Any]) -> File | None:
    """A file as it is now, None if its text is not there. scope: the globals of its
    code."""
    linecache.checkcache(name)
    text = "".join(linecache.getlines(name, scope))
    if not text:
        return None
    found = _FILES.get(name)
    if found is None or found.source.text != text:
        try:
            found = _FILES[name] = File(name, text)
        except SyntaxError:  # saved since, in the middle of an edit
            return None
    return found


def function_of(function: object, what: str) -> tuple[File, ast.FunctionDef]:
    """The syntax tree of a function. what: the decorator's name."""
    if not isinstance(function, FunctionType):
        raise FormaError(
            f"{what} reads a function, and is given {_described(function)}",
            at=here(),
            hint=f"write {what} above def",
        )
    if function.__name__ == "<lambda>" or iscoroutinefunction(function):
        raise FormaError(
            f"{what} reads a function that is written by def",
            at=here(),
            hint="give it a name: def f(X: forma.Vector2[float]):",
        )
    code = function.__code__
    file = file_of(code.co_filename, function.__globals__)
    if file is not None:
        node = file.function(function.__name__, code.co_firstlineno)
        if node is not None:
            return file, node
    raise _unseen(function.__name__, code.co_filename)


def struct_of(cls: object, frame: FrameType, what: str) -> tuple[File, ast.ClassDef]:
    """The syntax tree of a class, which `frame` decorates just now."""
    if not isinstance(cls, type):
        raise FormaError(
            f"{what} reads a class, and is given {_described(cls)}",
            at=here(),
            hint=f"write {what} above class",
        )
    name = frame.f_code.co_filename
    file = file_of(name, frame.f_globals)
    if file is not None:
        node = file.struct(cls.__name__, frame.f_lineno)
        if node is not None:
            return file, node
    raise _unseen(cls.__name__, name)


def _described(given: object) -> str:
    name = type(given).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _unseen(name: str, file: str) -> FormaError:
    return FormaError(
        f"the source of '{name}' is not where Python says, in {file}",
        at=here(),
        hint="define it in a file or a cell, under its decorator; what has changed is "
        "imported anew",
    )


class Names:
    """What names mean in Python where a function is written, and in front of that
    `known`, what has been read before."""

    def __init__(self, *scopes: Mapping[str, object]) -> None:
        self.known: dict[str, object] = {}
        self._scopes = (*scopes, vars(builtins))

    @classmethod
    def around(cls, function: FunctionType, frame: FrameType) -> Names:
        """frame: what decorates the function, in which it may be written."""
        closure = function.__closure__ or ()
        cells = zip(function.__code__.co_freevars, closure, strict=True)
        scopes: list[Mapping[str, object]] = [_values(dict(cells))]
        if function.__code__ in frame.f_code.co_consts:
            scopes.append(frame.f_locals)
        return cls(*scopes, function.__globals__)

    def find(self, node: ast.expr) -> object:
        """What a name means, or one of a module's. MISSING if nothing."""
        if isinstance(node, ast.Name):
            for scope in (self.known, *self._scopes):
                if node.id in scope:
                    return scope[node.id]
        elif isinstance(node, ast.Attribute):
            module = self.find(node.value)
            if isinstance(module, ModuleType):
                return getattr(module, node.attr, MISSING)
        return MISSING


def _values(cells: Mapping[str, CellType]) -> dict[str, object]:
    """The variables of functions around, of those that have a value already."""
    found = {}
    for name, cell in cells.items():
        with suppress(ValueError):
            found[name] = cell.cell_contents
    return found


__all__ = ["MISSING", "File", "Names", "file_of", "function_of", "struct_of"]
