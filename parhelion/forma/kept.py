"""Trees of programs that have been read before, kept beside the compiled code.

To load the parser's package and its tables, and to read a program, takes longer than
all else that a program needs whose code is in the cache. A tree is kept as one flat
list of integers and atoms, its nodes behind what they are made of, under the digest of
the program's text and of all that decides how it is read.
"""

from __future__ import annotations

import dataclasses
import functools
import marshal
import sys
from pathlib import Path
from typing import Any

from parhelion.errors import InternalError
from parhelion.forma import tree as T
from parhelion.forma.spans import Source, Span
from parhelion.ir.deep import run_deep
from parhelion.ir.digest import digest
from parhelion.runtime import cache
from parhelion.runtime.folders import distrust
from parhelion.version import VERSION

#: What a list says of the values that follow: one value that is no node, how many
#: values are a tuple, where a span is. Other numbers are those of `_CLASSES`.
_ATOM, _TUPLE, _SPAN = -1, -2, -3
_CLASSES: tuple[type[T.Node], ...] = tuple(
    [getattr(T, name) for name in T.__all__ if name not in ("Node", "Placement")]
)
_NUMBERS = {kind: number for number, kind in enumerate(_CLASSES)}
#: The names of their fields behind the span.
_FIELDS = [
    tuple([one.name for one in dataclasses.fields(kind)][1:]) for kind in _CLASSES
]
#: What decides how programs are read.
_FILES = ("grammar.lark", "build_tree.py", "lalr.py", "tree.py", "kept.py")


def find(source: Source) -> T.Program | None:
    """The tree of a program that has been read before; None if there is none."""
    told = cache.load(_name(source.text)) if is_kept() else None
    return None if told is None else _read(marshal.loads(told), source)


def keep(program: T.Program) -> None:
    """Keeps the tree of a program for other processes, if anything is kept."""
    if not is_kept():
        return
    told: list[Any] = []
    run_deep(lambda: _tell(program, told))
    cache.store(_name(program.span.source.text), marshal.dumps(told, 4))


def is_kept() -> bool:
    """Whether anything is kept. Of a folder that is not to be trusted is warned where
    code would be kept."""
    where = cache.folder()
    return where is not None and not distrust(where)


def _name(text: str) -> str:
    return digest(f"{_reader()}\n{text}".encode(errors="surrogatepass")).hex()


@functools.cache
def _reader() -> str:
    """The version of what reads programs."""
    stamps = [f"a tree of Forma {VERSION} {sys.hexversion}"]
    for name in _FILES:
        told = Path(__file__).with_name(name).stat()
        stamps.append(f"{told.st_size} {told.st_mtime_ns}")
    return "\n".join(stamps)


def _tell(value: object, told: list[Any]) -> None:
    """Appends a value to a list: see the module."""
    if isinstance(value, T.Node):
        number = _NUMBERS[type(value)]
        for name in _FIELDS[number]:
            _tell(getattr(value, name), told)
        told += (number, value.span.start, value.span.end)
    elif isinstance(value, Span):
        told += (_SPAN, value.start, value.end)
    elif isinstance(value, tuple):
        for one in value:
            _tell(one, told)
        told += (_TUPLE, len(value))
    else:
        told += (_ATOM, value)


def _read(told: list[Any], source: Source) -> T.Program:
    """The tree that a list tells of. Raises InternalError if it tells of none."""
    values: list[Any] = []
    items = iter(told)
    for kind in items:
        if kind == _ATOM:
            values.append(next(items))
        elif kind == _TUPLE:
            first = len(values) - next(items)
            values[first:] = [tuple(values[first:])]
        elif kind == _SPAN:
            values.append(Span(source, next(items), next(items)))
        else:
            first = len(values) - len(_FIELDS[kind])
            span = Span(source, next(items), next(items))
            values[first:] = [_CLASSES[kind](span, *values[first:])]
    (program,) = values
    if not isinstance(program, T.Program):
        raise InternalError("internal error: what is kept of a program is no tree")
    return program


__all__ = ["find", "is_kept", "keep"]
