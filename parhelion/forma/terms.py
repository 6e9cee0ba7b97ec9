"""Typed expressions: what a stencil computes at one point, and numbers of the program.

Every conversion is written: the operands of an `Arithmetic` or a `Compare` have one
type. Integers are those of C: quotients are cut towards zero and remainders have the
sign of the dividend; a division by zero gives zero. An int that overflows has no
defined value. Depth is the user's: walk terms on a big stack (`ir.deep`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace

from parhelion.dataclass import dataclass
from parhelion.forma.spans import Span
from parhelion.forma.types import Element


@dataclass(frozen=True, slots=True)
class Term:
    """What all have: the type of the value, and the place in the program."""

    type: Element
    span: Span = field(compare=False, repr=False)

    @property
    def operands(self) -> tuple[Term, ...]:
        """The terms that it is made of, in their order."""
        return ()

    def with_operands(self, operands: tuple[Term, ...]) -> Term:
        """The same of other operands, of the same types."""
        return self


@dataclass(frozen=True, slots=True)
class Literal(Term):
    """A number. Its type is a Scalar, not a condition."""

    value: int | float


@dataclass(frozen=True, slots=True)
class ParameterValue(Term):
    """A parameter of the program, by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class ArgumentValue(Term):
    """A number that a stencil is given. Only in definitions: applications have what it
    stands for in its place."""

    name: str


@dataclass(frozen=True, slots=True)
class Access:
    """Where along one dimension a domain is read: ``offset + i * scale`` at point i."""

    offset: int
    scale: int = 1


@dataclass(frozen=True, slots=True)
class Read(Term):
    """A point of an argument. source: which of the application's, counted from 0.

    at: one `Access` for each dimension. The type is that of the domain's elements.
    """

    source: int
    at: tuple[Access, ...]


@dataclass(frozen=True, slots=True)
class Local(Term):
    """What has been assigned before in the same stencil, by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class Convert(Term):
    """A number in another type: of fewer bits wrapped, from floats cut towards zero.

    Conditions become 0 or 1; a number becomes a condition by not being zero.
    """

    of: Term

    @property
    def operands(self) -> tuple[Term, ...]:
        return (self.of,)

    def with_operands(self, operands: tuple[Term, ...]) -> Term:
        return replace(self, of=operands[0])


@dataclass(frozen=True, slots=True)
class Negate(Term):
    """``-of``, of an int, a float or a double."""

    of: Term

    @property
    def operands(self) -> tuple[Term, ...]:
        return (self.of,)

    def with_operands(self, operands: tuple[Term, ...]) -> Term:
        return replace(self, of=operands[0])


@dataclass(frozen=True, slots=True)
class Not(Term):
    """``!of``, of a condition."""

    of: Term

    @property
    def operands(self) -> tuple[Term, ...]:
        return (self.of,)

    def with_operands(self, operands: tuple[Term, ...]) -> Term:
        return replace(self, of=operands[0])


@dataclass(frozen=True, slots=True)
class Two(Term):
    """Two operands of one type. op: as the program writes it."""

    op: str
    a: Term
    b: Term

    @property
    def operands(self) -> tuple[Term, ...]:
        return (self.a, self.b)

    def with_operands(self, operands: tuple[Term, ...]) -> Term:
        return replace(self, a=operands[0], b=operands[1])


@dataclass(frozen=True, slots=True)
class Arithmetic(Two):
    """``+ - * / %``, of ints, floats or doubles; the remainder of ints alone."""


@dataclass(frozen=True, slots=True)
class Compare(Two):
    """``== != < <= > >=``, of ints, floats or doubles. It is a condition."""


@dataclass(frozen=True, slots=True)
class Logic(Two):
    """``&& ||``, of conditions. Both operands may be computed."""


@dataclass(frozen=True, slots=True)
class Choose(Term):
    """``condition ? yes : no``, of one type, which may be a struct. All operands may be
    computed."""

    condition: Term
    yes: Term
    no: Term

    @property
    def operands(self) -> tuple[Term, ...]:
        return (self.condition, self.yes, self.no)

    def with_operands(self, operands: tuple[Term, ...]) -> Term:
        condition, yes, no = operands
        return replace(self, condition=condition, yes=yes, no=no)


@dataclass(frozen=True, slots=True)
class Member(Term):
    """A field of a struct."""

    of: Term
    name: str

    @property
    def operands(self) -> tuple[Term, ...]:
        return (self.of,)

    def with_operands(self, operands: tuple[Term, ...]) -> Term:
        return replace(self, of=operands[0])


@dataclass(frozen=True, slots=True)
class Made(Term):
    """A struct of the values of its fields, in their order. The type is the Struct."""

    values: tuple[Term, ...]

    @property
    def operands(self) -> tuple[Term, ...]:
        return self.values

    def with_operands(self, operands: tuple[Term, ...]) -> Term:
        return replace(self, values=operands)


@dataclass(frozen=True, slots=True)
class MathCall(Term):
    """A math function, by its name in `MATH`, of arguments of the type it returns."""

    function: str
    args: tuple[Term, ...]

    @property
    def operands(self) -> tuple[Term, ...]:
        return self.args

    def with_operands(self, operands: tuple[Term, ...]) -> Term:
        return replace(self, args=operands)


@dataclass(frozen=True, slots=True)
class MathFunction:
    """What is known of a math function. of_ints: whether it is also one of ints; others
    compute in float, or in double if an argument is one."""

    arguments: int
    of_ints: bool = False


#: The math functions. As in C: `round` is away from zero where it lies between two.
MATH: dict[str, MathFunction] = {
    **dict.fromkeys(("abs",), MathFunction(1, of_ints=True)),
    **dict.fromkeys(("min", "max"), MathFunction(2, of_ints=True)),
    **dict.fromkeys(("pow", "atan2"), MathFunction(2)),
    **dict.fromkeys(
        (
            *("sqrt", "exp", "log", "floor", "ceil", "round", "trunc"),
            *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"),
        ),
        MathFunction(1),
    ),
}


def rewrite(term: Term, change: Callable[[Term], Term | None]) -> Term:
    """The term with what `change` returns in the place of the terms that it is given,
    outermost first; where that is None, the operands are rewritten."""
    changed = change(term)
    if changed is not None:
        return changed
    before = term.operands
    after = tuple([rewrite(one, change) for one in before])
    if all([a is b for a, b in zip(before, after, strict=True)]):
        return term
    return term.with_operands(after)


__all__ = [
    "MATH",
    "Access",
    "ArgumentValue",
    "Arithmetic",
    "Choose",
    "Compare",
    "Convert",
    "Literal",
    "Local",
    "Logic",
    "Made",
    "MathCall",
    "MathFunction",
    "Member",
    "Negate",
    "Not",
    "ParameterValue",
    "Read",
    "Term",
    "Two",
    "rewrite",
]
