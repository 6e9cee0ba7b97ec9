"""What decorators leave in the place of Python functions and classes that were read."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from parhelion.errors import FormaError, here
from parhelion.forma import tree as T
from parhelion.forma.spans import Span
from parhelion.forma.twin.words import TypeWord, Word, unread

#: Counts definitions: trees have them in this order.
_ORDER = itertools.count()


class Definition:
    """A struct, a parameter or a function outside of a program, which may use others.

    name: in Forma. kind: what messages call it. node: what it is in trees.
    """

    def __init__(
        self,
        kind: str,
        node: T.Struct | T.Parameter | T.Function,
        uses: tuple[Definition, ...] = (),
        order: int | None = None,
    ) -> None:
        self.kind = kind
        self.name = node.name
        self.node = node
        self.uses = uses
        self.order = next(_ORDER) if order is None else order

    def __call__(self, *args: object, **named: object) -> Any:
        raise unread(f"the {self.kind} '{self.name}'")

    def __mro_entries__(self, bases: object) -> tuple[type, ...]:
        raise FormaError(
            "a struct has no bases", at=here(), hint="write all of its fields into it"
        )

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name} of Forma>"


class Nested(Word):
    """A struct or a function in the program that is being read. kind: as above."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(name)
        self.kind = kind


def collected(uses: tuple[Definition, ...]) -> list[Definition]:
    """These, and what they use in turn, each once, in the order of definition."""
    found: dict[int, Definition] = {}
    waiting = list(uses)
    while waiting:
        one = waiting.pop()
        if one.order not in found:
            found[one.order] = one
            waiting += one.uses
    return [found[order] for order in sorted(found)]


class Unnamed:
    """A parameter outside of a program, whose name the functions know that use it.

    type: the name of its type.
    """

    def __init__(self, type: str) -> None:
        self.type = type
        self._order = next(_ORDER)
        self._named: Definition | None = None

    def named(self, name: str, span: Span) -> Definition:
        """The parameter, as it is called at `span`."""
        if self._named is None:
            node = T.Parameter(span, name, self.type)
            self._named = Definition("parameter", node, order=self._order)
        elif self._named.name != name:
            raise span.error(
                f"the parameter '{name}' is called '{self._named.name}' elsewhere",
                hint="give it one name",
            )
        return self._named

    def __iter__(self) -> Iterator[Any]:
        raise FormaError(
            "outside of a program, parameters are declared one by one",
            at=here(),
            hint="write M = forma.parameter(), and N = forma.parameter()",
        )


def parameter(type: object = int, /) -> Any:
    """A parameter: a number that is given when a program runs.

    In a program, ``M, N = parameter()`` and ``gain = parameter(float)`` declare them by
    the names of the variables. Outside of one, each is declared by itself, and belongs
    to the programs whose functions use it.
    """
    if type is int or type is float:
        return Unnamed("int" if type is int else "float")
    if isinstance(type, TypeWord):
        return Unnamed(type.name)
    raise FormaError(
        f"a parameter is a number, and {type!r} is no type of numbers",
        at=here(),
        legal=("forma.int8", "forma.int16", "int", "float", "forma.double"),
        hint="write gain = forma.parameter(float)",
    )


class Twin:
    """A whole program that was written in Python: what `forma.program` makes.

    name: of the function. tree: the program, as `forma.parse` makes it of a text.
    """

    def __init__(self, name: str, tree: T.Program, function: Callable[..., object]):
        self.name = name
        self.tree = tree
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    def __call__(self, *args: object, **named: object) -> Any:
        error = unread(f"the program '{self.name}'")
        error.advise(f"compile it before: {self.name}_ = forma.compile({self.name})")
        raise error

    def __repr__(self) -> str:
        return f"<program {self.name} of Forma>"


__all__ = ["Definition", "Nested", "Twin", "Unnamed", "collected", "parameter"]
