"""Terms as text of C++: what a stencil computes at one point."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

from parhelion.errors import InternalError
from parhelion.forma import terms as E
from parhelion.forma.c_interface import Interface
from parhelion.forma.stages import Assignment
from parhelion.forma.terms import Term
from parhelion.forma.types import Element, Scalar, Struct

#: How deep expressions are nested before part of them gets a name: compilers of C++
#: count brackets, and some give up at 256.
_DEEPEST = 40


class TermWriter:
    """Writes the terms of one function.

    words: what the program's names are in C. read: the text of a `Read`. parameter:
    that of a parameter of the program, by its name. The lines written so far are
    `lines`; values may name what they define.
    """

    def __init__(
        self,
        words: Interface,
        read: Callable[[E.Read], str],
        parameter: Callable[[str], str],
    ) -> None:
        self._words = words
        self.lines: list[str] = []
        self._read = read
        self._parameter = parameter
        self._names = 0

    def assign(self, one: Assignment) -> None:
        kind = self._type(one.value.type)
        self.lines.append(f"const {kind} {local(one.name)} = {self.value(one.value)};")

    def value(self, term: Term) -> str:
        """The text of a value, with parentheses around it where it needs them."""
        text, depth = self._value(term)
        if depth < _DEEPEST:
            return text
        return self._named(term, text)

    def _type(self, kind: Element) -> str:
        return "bool" if kind is Scalar.CONDITION else self._words.element(kind)

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
        self.lines.append(f"const {self._type(term.type)} {name} = {text};")
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
            return f"({self._type(kind)})(long long){of[0]}"
        return f"({self._type(kind)}){of[0]}"

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
        kind = e.of.type
        assert isinstance(kind, Struct)
        at = [name for name, _ in kind.fields].index(e.name)
        return f"{of[0]}.{self._words.fields[kind][at]}"

    def made(self, e: E.Made, of: list[str]) -> str:
        assert isinstance(e.type, Struct)
        return f"forma_made_{self._words.structs[e.type]}({', '.join(of)})"

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
        text = f"({kind}){'-' if number < 0 else ''}{name}"
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


__all__ = ["TermWriter", "local", "number_text", "scalar"]
