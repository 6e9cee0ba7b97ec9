"""What a Func reads in place of what its definition mentions: wrappers and clones.

``f.in_(g)`` and ``f.clone_in(g)`` leave the algorithm as it is. They note, in the
schedule of `g` (or, for ``f.in_()``, in that of `f`), that `g` is to read another
Function that has the same values. Everything that looks at a pipeline in order to
compile it sees definitions through `body` and `called`; the interpreter does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from parhelion.dataclass import dataclass
from parhelion.ir.expr import Expr, FuncCall, ImageLoad
from parhelion.ir.function import Definition, Function
from parhelion.ir.rewrite import Rewriter
from parhelion.ir.symbols import BufferSym
from parhelion.schedule.directives import Instead

#: What a definition can read.
Source = Function | BufferSym


@dataclass(frozen=True, slots=True)
class Body:
    """A definition as it is compiled: every wrapper and clone in its place."""

    args: tuple[Expr, ...]
    values: tuple[Expr, ...]
    predicate: Expr


def _replacements(source: Source, reader: Function) -> Iterator[Source]:
    """`source`, what `reader` has in its place, what it has in place of that, …"""
    if reader.copy_of is not None:  # its definitions have all in its place already
        yield source
        return
    while True:
        yield source
        special = reader.schedule.instead.get(source)
        found: Function | None
        if special is not None:
            found = special.func
        elif reader is source or reader.schedule.wraps is source:
            return
        elif isinstance(source, Function):
            found = source.schedule.wrapper
        else:
            found = source.wrapper
        if found is None:
            return
        if found is reader:
            if special is not None:  # a clone reads itself
                yield reader
            return
        source = found


def read_instead(source: Source, reader: Function) -> Source:
    """What `reader` reads where its definition mentions `source`.

    A wrapper made for the reader goes before one that is meant for all; wrappers may
    be wrapped in turn. A wrapper itself reads what it wraps.
    """
    for last in _replacements(source, reader):
        found = last
    return found


def changes(reader: Function, d: Definition) -> dict[Source, Source]:
    """Of all that the definition mentions, what is replaced, and by what."""
    found = {s: read_instead(s, reader) for s in d.mentions()}
    return {s: other for s, other in found.items() if other is not s}


def called(reader: Function, d: Definition) -> list[Function]:
    """The other Funcs that a definition of `reader` calls when it is compiled, in
    order of first appearance."""
    found = dict.fromkeys([read_instead(s, reader) for s in d.mentions()])
    return [f for f in found if isinstance(f, Function) and f is not reader]


def body(reader: Function, d: Definition) -> Body:
    """A definition of `reader` as it is compiled."""
    found = changes(reader, d)
    if not found:
        return Body(d.args, d.values, d.predicate)
    into = Redirect(found)
    return Body(
        tuple([into.go(a) for a in d.args]),
        tuple([into.go(v) for v in d.values]),
        into.go(d.predicate),
    )


class Redirect(Rewriter):
    """Points calls and image loads at other Functions of the same values."""

    def __init__(self, to: Mapping[Source, Source]) -> None:
        super().__init__()
        self.to = to

    def on_funccall(self, n: FuncCall) -> Expr:
        args = tuple([self.go(a) for a in n.args])
        other = self.to.get(n.func, n.func)
        assert isinstance(other, Function)
        return FuncCall(n.type, other, args, n.index)

    def on_imageload(self, n: ImageLoad) -> Expr:
        args = tuple([self.go(a) for a in n.args])
        other = self.to.get(n.image, n.image)
        if isinstance(other, Function):
            return FuncCall(n.type, other, args, 0)
        return ImageLoad(n.type, other, args)


def unread(reader: Function) -> list[tuple[Source, Instead]]:
    """The wrappers and clones made for `reader` that none of its definitions reads,
    with what they stand for."""
    met: set[Source] = set()
    for d in reader.stages():
        for source in d.mentions():
            met.update(_replacements(source, reader))
    given = list(reader.schedule.instead.items())
    return [(s, other) for s, other in given if s not in met]


__all__ = [
    "Body",
    "Redirect",
    "Source",
    "body",
    "called",
    "changes",
    "read_instead",
    "unread",
]
