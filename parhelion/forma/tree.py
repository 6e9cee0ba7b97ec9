"""The tree of a Forma program, as it is written.

Trees are equal that say the same, wherever it was written: spans do not count. Their
depth is the user's, so what walks or compares trees runs on a big stack (`ir.deep`).
"""

from __future__ import annotations

from dataclasses import field

from parhelion.dataclass import dataclass
from parhelion.forma.spans import Span


@dataclass(frozen=True, slots=True)
class Node:
    """What all nodes have: their place."""

    span: Span = field(compare=False, repr=False)


class Expr(Node):
    """What has a value: a domain, a number, or a struct."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Number(Expr):
    """A literal. type: ``int``, ``float`` or ``double``."""

    value: int | float
    type: str


@dataclass(frozen=True, slots=True)
class Name(Expr):
    """A variable, an argument or a parameter; qualified, ``g<i - 1>``, by `index`."""

    name: str
    index: Expr | None = None


@dataclass(frozen=True, slots=True)
class Unary(Expr):
    """op: ``-``, ``+`` or ``!``."""

    op: str
    of: Expr


@dataclass(frozen=True, slots=True)
class Binary(Expr):
    """op: as C writes it."""

    op: str
    a: Expr
    b: Expr


@dataclass(frozen=True, slots=True)
class Conditional(Expr):
    """``condition ? yes : no``"""

    condition: Expr
    yes: Expr
    no: Expr


@dataclass(frozen=True, slots=True)
class Member(Expr):
    """A field of a struct: ``of.name``"""

    of: Expr
    name: str


@dataclass(frozen=True, slots=True)
class Step(Node):
    """What `At` and `Scatter` have for each dimension: ``offset``, or ``(offset,
    scale)``."""

    offset: Expr
    scale: Expr | None = None


@dataclass(frozen=True, slots=True)
class At(Expr):
    """The offset operator: ``of@[steps]``"""

    of: Expr
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Range(Node):
    """``first..last``, both included."""

    first: Expr
    last: Expr


@dataclass(frozen=True, slots=True)
class Crop(Expr):
    """``of[ranges]``"""

    of: Expr
    ranges: tuple[Range, ...]


@dataclass(frozen=True, slots=True)
class Boundary(Node):
    """``constant(value)``, ``clamped``, ``wrap`` or ``mirror``, by its kind."""

    kind: str
    value: Expr | None = None


@dataclass(frozen=True, slots=True)
class Argument(Node):
    """One argument of a call, with its boundary condition behind ``:``."""

    value: Expr
    boundary: Boundary | None = None


@dataclass(frozen=True, slots=True)
class Call(Expr):
    """A function applied; also math functions, conversions and structs made."""

    function: str
    args: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Scatter(Node):
    """``@[steps]`` on the left: points i go to offset + i * scale."""

    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Padding(Node):
    """``[a.., b..]`` on the left: points are moved by so much."""

    amounts: tuple[Expr, ...]


Placement = Scatter | Padding


@dataclass(frozen=True, slots=True)
class Part(Node):
    """One statement of a compose: ``placement = value;``"""

    placement: Placement
    value: Expr


@dataclass(frozen=True, slots=True)
class Compose(Expr):
    """``( part part … )``"""

    parts: tuple[Part, ...]


class Statement(Node):
    """What stands in the bodies of programs, functions and loops."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Target(Node):
    """What is assigned: a variable, qualified by `index`, with a placement."""

    name: str
    index: Expr | None = None
    placement: Placement | None = None


@dataclass(frozen=True, slots=True)
class Assign(Statement):
    """``targets = value;``"""

    targets: tuple[Target, ...]
    value: Expr


@dataclass(frozen=True, slots=True)
class Return(Statement):
    """``return values;``"""

    values: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class For(Statement):
    """``for variable = first..last by step body endfor``"""

    variable: str
    first: Expr
    last: Expr
    step: Expr | None
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class FieldDecl(Node):
    """A field of a struct; type: the name of a scalar type."""

    type: str
    name: str


@dataclass(frozen=True, slots=True)
class Struct(Node):
    """``struct name { fields }``"""

    name: str
    fields: tuple[FieldDecl, ...]


@dataclass(frozen=True, slots=True)
class Parameter(Node):
    """A number given when the program runs; type: the name of a scalar type."""

    name: str
    type: str = "int"


@dataclass(frozen=True, slots=True)
class Input(Node):
    """``vector#dimensions type name[sizes]``"""

    type: str
    dimensions: int
    name: str
    sizes: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Formal(Node):
    """An argument of a function, as it is declared. dimensions: None for a number."""

    type: str
    dimensions: int | None
    name: str


@dataclass(frozen=True, slots=True)
class Function(Node):
    """kind: ``stencil`` or ``vector``. at: where its name stands."""

    kind: str
    name: str
    formals: tuple[Formal, ...]
    body: tuple[Statement, ...]
    at: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Program(Node):
    """A whole program: its declarations by their kind, and its statements."""

    structs: tuple[Struct, ...]
    parameters: tuple[Parameter, ...]
    inputs: tuple[Input, ...]
    functions: tuple[Function, ...]
    body: tuple[Statement, ...]


__all__ = [
    "Argument",
    "Assign",
    "At",
    "Binary",
    "Boundary",
    "Call",
    "Compose",
    "Conditional",
    "Crop",
    "Expr",
    "FieldDecl",
    "For",
    "Formal",
    "Function",
    "Input",
    "Member",
    "Name",
    "Node",
    "Number",
    "Padding",
    "Parameter",
    "Part",
    "Placement",
    "Program",
    "Range",
    "Return",
    "Scatter",
    "Statement",
    "Step",
    "Struct",
    "Target",
    "Unary",
]
