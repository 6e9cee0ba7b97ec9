"""Terms and sizes as text of C++: what a stencil computes at one point."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

from parhelion.errors import InternalError
from parhelion.forma import terms as E
from parhelion.forma.sizes import Size
from parhelion.forma.stages import Assignment
from parhelion.forma.terms import Term
from parhelion.forma.types import Element, Scalar, Struct
from parhelion.ir import expr as I

_SCALARS = {
    Scalar.CONDITION: "bool",
    Scalar.INT8: "signed char",
    Scalar.INT16: "short",
    Scalar.INT: "int",
    Scalar.FLOAT: "float",
    Scalar.DOUBLE: "double",
}

#: How deep expressions are nested before part of them gets a name: compilers of C++
#: count brackets, and some give up at 256.
_DEEPEST = 40


def type_text(kind: Element) -> str:
    return kind.name if isinstance(kind, Struct) else _SCALARS[kind]


class TermWriter:
    """Writes the terms of one function.

    read: the text of a `Read`. parameter: that of a parameter of the program, by its
    name. The lines written so far are `lines`; values may name what they define.
    """

    def __init__(
        self, read: Callable[[E.Read], str], parameter: Callable[[str], str]
    ) -> None:
        self.lines: list[str] = []
        self._read = read
        self._parameter = parameter
        self._names = 0

    def assign(self, one: Assignment) -> None:
        kind = type_text(one.value.type)
        self.lines.append(f"const {kind} {local(one.name)} = {self.value(one.value)};")

    def value(self, term: Term) -> str:
        """The text of a value, with parentheses around it where it needs them."""
        text, depth = self._value(term)
        if depth < _DEEPEST:
            return text
        return self._named(term, text)

    def _value(self, term: Term) -> tuple[str, int]:
        writer = _WRITERS.get(type(term))
        if writer is None:
            raise InternalError(f"internal error: a term {type(term)}")
        operands, depth = [], 0
        for one in term.operands:
            text, deep = self._value(one)
            if deep >= _DEEPEST:
                text, deep = self._named(one, text), 0
            operands.append(text)
            depth = max(depth, deep)
        return writer(self, term, operands), depth + 1

    def _named(self, term: Term, text: str) -> str:
        name = f"t{self._names}"
        self._names += 1
        self.lines.append(f"const {type_text(term.type)} {name} = {text};")
        return name

    # One for each kind of term, of the texts of its operands.

    def literal(self, e: E.Literal, _: list[str]) -> str:
        return number_text(e.value, scalar(e))

    def parameter(self, e: E.ParameterValue, _: list[str]) -> str:
        return self._parameter(e.name)

    def read(self, e: E.Read, _: list[str]) -> str:
        return self._read(e)

    def local(self, e: E.Local, _: list[str]) -> str:
        return local(e.name)

    def convert(self, e: E.Convert, of: list[str]) -> str:
        kind, source = scalar(e), scalar(e.of)
        if kind is Scalar.CONDITION:
            return f"({of[0]} != 0)"
        if source.is_float and not kind.is_float:
            # Of narrow ints the bits beyond are dropped.
            return f"({type_text(kind)})(long long){of[0]}"
        return f"({type_text(kind)}){of[0]}"

    def negate(self, e: E.Negate, of: list[str]) -> str:
        return f"(-{of[0]})"

    def complement(self, e: E.Not, of: list[str]) -> str:
        return f"(!{of[0]})"

    def two(self, e: E.Two, of: list[str]) -> str:
        if e.op in ("/", "%") and not scalar(e).is_float:
            name = "forma_quotient" if e.op == "/" else "forma_remainder"
            return f"{name}({of[0]}, {of[1]})"
        return f"({of[0]} {e.op} {of[1]})"

    def choose(self, e: E.Choose, of: list[str]) -> str:
        return f"({of[0]} ? {of[1]} : {of[2]})"

    def member(self, e: E.Member, of: list[str]) -> str:
        return f"{of[0]}.{e.name}"

    def made(self, e: E.Made, of: list[str]) -> str:
        return f"{type_text(e.type)}{{{', '.join(of)}}}"

    def math(self, e: E.MathCall, of: list[str]) -> str:
        kind = scalar(e)
        if e.function in ("min", "max"):
            return f"forma_{e.function}({of[0]}, {of[1]})"
        if e.function == "abs":
            name = {Scalar.FLOAT: "fabsf", Scalar.DOUBLE: "fabs"}.get(kind, "abs")
        else:
            name = e.function + ("f" if kind is Scalar.FLOAT else "")
        return f"{name}({', '.join(of)})"


_WRITERS: dict[type[Term], Callable[..., str]] = {
    E.Literal: TermWriter.literal,
    E.ParameterValue: TermWriter.parameter,
    E.Read: TermWriter.read,
    E.Local: TermWriter.local,
    E.Convert: TermWriter.convert,
    E.Negate: TermWriter.negate,
    E.Not: TermWriter.complement,
    E.Arithmetic: TermWriter.two,
    E.Compare: TermWriter.two,
    E.Logic: TermWriter.two,
    E.Choose: TermWriter.choose,
    E.Member: TermWriter.member,
    E.Made: TermWriter.made,
    E.MathCall: TermWriter.math,
}


def scalar(term: Term) -> Scalar:
    assert isinstance(term.type, Scalar)
    return term.type


def local(name: str) -> str:
    """What a local variable is called: no word of C++'s."""
    return f"v_{name}"


def number_text(value: int | float, kind: Scalar) -> str:
    """A number of a type; negative ones in parentheses."""
    if not kind.is_float:
        whole = int(value)
        if whole == -(1 << 31):
            return "(-2147483647 - 1)"
        return f"({whole})" if whole < 0 else str(whole)
    number = float(value)
    if kind is Scalar.FLOAT:
        number = _as_float(number)
    if math.isinf(number) or math.isnan(number):
        name = "HUGE_VAL" if math.isinf(number) else "NAN"
        text = f"({type_text(kind)}){'-' if number < 0 else ''}{name}"
        return f"({text})"
    text = repr(number) + ("f" if kind is Scalar.FLOAT else "")
    return f"({text})" if text.startswith("-") else text


def _as_float(value: float) -> float:
    """The closest number of single precision."""
    try:
        rounded: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


_SIZES: dict[type[I.Expr], str] = {
    I.Add: "({0} + {1})",
    I.Sub: "({0} - {1})",
    I.Mul: "({0} * {1})",
    I.Div: "forma_floor({0}, {1})",
    I.Mod: "forma_modulo({0}, {1})",
    I.Min: "forma_min({0}, {1})",
    I.Max: "forma_max({0}, {1})",
    I.EQ: "({0} == {1})",
    I.NE: "({0} != {1})",
    I.LT: "({0} < {1})",
    I.LE: "({0} <= {1})",
    I.And: "({0} && {1})",
    I.Or: "({0} || {1})",
    I.Not: "(!{0})",
}


def size_c(size: Size) -> str:
    """A size, or a condition of sizes, as an expression over the program's parameters
    by their names."""
    if isinstance(size, I.Imm):
        return number_text(int(size.value), Scalar.INT)
    if isinstance(size, I.Var):
        return parameter_name(size.name)
    template = _SIZES.get(type(size))
    if template is None:
        raise InternalError(f"internal error: {type(size)} in a size")
    return template.format(*[size_c(one) for one in size.children()])


def parameter_name(name: str) -> str:
    """What a parameter of the program is called inside of functions."""
    return f"p_{name}"


__all__ = [
    "TermWriter",
    "local",
    "number_text",
    "parameter_name",
    "scalar",
    "size_c",
    "type_text",
]
