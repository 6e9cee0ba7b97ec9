"""Makes the nodes of the tree while the parser reduces the rules of grammar.lark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from lark import Token

from parhelion.forma import tree as T
from parhelion.forma.spans import Source, Span
from parhelion.forma.words import INSTEAD, LARGEST_FLOAT, LARGEST_INT, RESERVED

Children = list[Any]


class Builder:
    """The callbacks of the parser, each named after its rule.

    children: what the rule consists of: Tokens, and what other callbacks made.
    """

    def __init__(self, source: Source) -> None:
        self.source = source

    def span(self, children: Sequence[Any]) -> Span:
        first, last = children[0], children[-1]
        # The lexer's tokens have positions, though their class does not promise it.
        start = (first.start_pos or 0) if type(first) is Token else first.span.start
        end = (last.end_pos or 0) if type(last) is Token else last.span.end
        return Span(self.source, start, end)

    def identifier(self, token: Token) -> str:
        """The name that a token is. Raises FormaError for words of the language."""
        if token.value in RESERVED:
            raise self.span([token]).error(
                f"'{token}' is a word of the language, and no name",
                hint=INSTEAD.get(token.value, "choose another name"),
            )
        return str(token.value)

    # Declarations

    def start(self, children: Children) -> T.Program:
        """The program; declarations are put together by their kind."""
        structs: list[T.Struct] = []
        parameters: list[T.Parameter] = []
        inputs: list[T.Input] = []
        functions: list[T.Function] = []
        body: list[T.Statement] = []
        for one in children:
            if isinstance(one, T.Struct):
                structs.append(one)
            elif isinstance(one, T.Function):
                functions.append(one)
            elif isinstance(one, T.Statement):
                body.append(one)
            elif isinstance(one[0], T.Parameter):
                parameters += one
            else:
                inputs += one
        return T.Program(
            Span(self.source, 0, len(self.source.text)),
            *(tuple(structs), tuple(parameters), tuple(inputs), tuple(functions)),
            tuple(body),
        )

    def struct(self, children: Children) -> T.Struct:
        fields = [f for one in children if type(one) is list for f in one]
        return T.Struct(
            self.span(children[:2]), self.identifier(children[1]), tuple(fields)
        )

    def fields(self, children: Children) -> list[T.FieldDecl]:
        kind = str(children[0])
        return [
            T.FieldDecl(self.span([one]), kind, self.identifier(one))
            for one in children[1::2]
        ]

    def parameters(self, children: Children) -> list[T.Parameter]:
        typed = children[1].type == "SCALAR"
        kind = str(children[1]) if typed else "int"
        names = children[2::2] if typed else children[1::2]
        return [T.Parameter(self.span([n]), self.identifier(n), kind) for n in names]

    def inputs(self, children: Children) -> list[T.Input]:
        dimensions, kind = self._vector(children)
        return [
            T.Input(span, kind, dimensions, name, sizes)
            for span, name, sizes in children[4::2]
        ]

    def declarator(self, children: Children) -> tuple[Span, str, tuple[T.Expr, ...]]:
        name = self.identifier(children[0])
        return self.span(children), name, tuple(children[2::2])

    def function(self, children: Children) -> T.Function:
        body = children.index("{")
        return T.Function(
            self.span(children),
            str(children[0]),
            self.identifier(children[1]),
            tuple(children[3 : body - 1 : 2]),
            tuple(children[body + 1 : -1]),
            self.span([children[1]]),
        )

    def formal(self, children: Children) -> T.Formal:
        name, span = self.identifier(children[-1]), self.span(children)
        if len(children) == 2:
            return T.Formal(span, str(children[0]), None, name)
        dimensions, kind = self._vector(children)
        return T.Formal(span, kind, dimensions, name)

    def _vector(self, children: Children) -> tuple[int, str]:
        """The number of dimensions and the type in ``vector # INT type``."""
        _, _, count, kind = children[:4]
        dimensions = int(count) if len(count) < 3 else 99
        if not 1 <= dimensions <= 8:
            raise self.span([count]).error(
                f"a domain has from 1 to 8 dimensions, not {count}",
                hint="write vector#2 for an image",
            )
        if kind.type == "NAME":
            self.identifier(kind)
        return dimensions, str(kind)

    # Statements

    def assign(self, children: Children) -> T.Assign:
        targets = [one for one in children if isinstance(one, T.Target)]
        return T.Assign(self.span(children), tuple(targets), children[-2])

    def target(self, children: Children) -> T.Target:
        placement = children[-1] if len(children) in (2, 5) else None
        index = children[2] if len(children) >= 4 else None
        name = self.identifier(children[0])
        return T.Target(self.span(children), name, index, placement)

    def unspaced(self, children: Children) -> T.Target:
        span = self.span(children)
        name = self.identifier(children[0])
        return T.Target(Span(self.source, span.start, span.end - 1), name, children[2])

    def scatter(self, children: Children) -> T.Scatter:
        return T.Scatter(self.span(children), tuple(children[2::2]))

    def padding(self, children: Children) -> T.Padding:
        return T.Padding(self.span(children), tuple(children[1::3]))

    def return_(self, children: Children) -> T.Return:
        return T.Return(self.span(children), tuple(children[1::2]))

    def for_(self, children: Children) -> T.For:
        variable, first, last = children[1], children[3], children[5]
        stepped = type(children[6]) is Token and children[6].type == "BY"
        step = children[7] if stepped else None
        end = len(children) - (2 if children[-1] == ";" else 1)
        return T.For(
            *(self.span(children[:6]), self.identifier(variable), first, last, step),
            tuple(children[8 if stepped else 6 : end]),
        )

    # Expressions

    def conditional(self, children: Children) -> T.Conditional:
        condition, _, yes, _, no = children
        return T.Conditional(self.span(children), condition, yes, no)

    def binary(self, children: Children) -> T.Binary:
        a, op, b = children
        return T.Binary(self.span(children), str(op), a, b)

    def unary(self, children: Children) -> T.Unary:
        return T.Unary(self.span(children), str(children[0]), children[1])

    def at(self, children: Children) -> T.At:
        return T.At(self.span(children), children[0], tuple(children[3::2]))

    def step(self, children: Children) -> T.Step:
        if len(children) == 1:
            return T.Step(self.span(children), children[0])
        return T.Step(self.span(children), children[1], children[3])

    def crop(self, children: Children) -> T.Crop:
        return T.Crop(self.span(children), children[0], tuple(children[2::2]))

    def range(self, children: Children) -> T.Range:
        return T.Range(self.span(children), children[0], children[2])

    def member(self, children: Children) -> T.Member:
        return T.Member(self.span(children), children[0], self.identifier(children[2]))

    def number(self, children: Children) -> T.Number:
        (token,) = children
        span = self.span(children)
        if token.type == "INT":
            if len(token) > 10 or int(token) > LARGEST_INT:
                raise span.error(
                    f"the integer {_short(token)} is larger than any int",
                    hint=f"write at most {LARGEST_INT}, or a double: 1e10d"
                    + (
                        f"; the least int is -{LARGEST_INT} - 1"
                        if token.lstrip("0") == str(LARGEST_INT + 1)
                        else ""
                    ),
                )
            return T.Number(span, int(token), "int")
        kind = "double" if token[-1] in "dD" else "float"
        value = float(token.rstrip("dDfF"))
        if math.isinf(value) or (kind == "float" and value > LARGEST_FLOAT):
            raise span.error(
                f"the number {_short(token)} is larger than any {kind}",
                hint="a double has the suffix d: 1e40d"
                if kind == "float"
                else "write at most 1.79e308d",
            )
        return T.Number(span, value, kind)

    def name(self, children: Children) -> T.Name:
        index = children[2] if len(children) > 1 else None
        return T.Name(self.span(children), self.identifier(children[0]), index)

    def call(self, children: Children) -> T.Call:
        token = children[0]
        name = str(token) if token.type == "SCALAR" else self.identifier(token)
        return T.Call(self.span(children), name, tuple(children[2:-1:2]))

    def argument(self, children: Children) -> T.Argument:
        boundary = children[2] if len(children) == 3 else None
        return T.Argument(self.span(children), children[0], boundary)

    def boundary(self, children: Children) -> T.Boundary:
        value = children[2] if len(children) == 4 else None
        return T.Boundary(self.span(children), str(children[0]), value)

    def nested(self, children: Children) -> T.Expr:
        inside: T.Expr = children[1]
        return inside

    def compose(self, children: Children) -> T.Compose:
        return T.Compose(self.span(children), tuple(children[1:-1]))

    def part(self, children: Children) -> T.Part:
        return T.Part(self.span(children), children[0], children[2])


def _short(number: str) -> str:
    return number if len(number) <= 20 else f"{number[:17]}…"


__all__ = ["Builder"]
