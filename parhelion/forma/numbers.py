"""Checks expressions of numbers, and writes their conversions out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from parhelion.forma import tree as T
from parhelion.forma.declared import Declared
from parhelion.forma.spans import Span
from parhelion.forma.terms import (
    MATH,
    Arithmetic,
    Choose,
    Compare,
    Convert,
    Literal,
    Logic,
    Made,
    MathCall,
    Member,
    Negate,
    Not,
    Term,
)
from parhelion.forma.types import Element, Scalar, Struct, article, promoted
from parhelion.forma.words import LARGEST_INT
from parhelion.types import round_float

_N = TypeVar("_N", bound=T.Expr)

_LOGIC = ("&&", "||")
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
#: The conversions, by their names.
_CONVERSIONS = {one.value: one for one in Scalar if one is not Scalar.CONDITION}


class Numbers:
    """Makes terms of expressions. What names stand for, subclasses know."""

    def __init__(self, declared: Declared) -> None:
        self.declared = declared
        self._by_kind: dict[type[T.Expr], Callable[..., Term]] = {
            T.Number: self._number,
            T.Name: self.named,
            T.At: self.at,
            T.Unary: self._unary,
            T.Binary: self._binary,
            T.Conditional: self._conditional,
            T.Member: self._member,
            T.Call: self._call,
            T.Crop: self._no_number,
            T.Compose: self._no_number,
        }

    def term(self, e: T.Expr) -> Term:
        """The term of an expression. Raises FormaError for what has no value."""
        return self._by_kind[type(e)](e)

    # What subclasses define

    def named(self, e: T.Name) -> Term:
        """What a name stands for."""
        raise NotImplementedError

    def at(self, e: T.At) -> Term:
        """What the offset operator reads."""
        raise NotImplementedError

    def applied(self, e: T.Call) -> Term:
        """The call of a function of the program's, which is refused."""
        raise NotImplementedError

    # Values

    def number(self, e: T.Expr) -> Term:
        """The term of what has to be a number."""
        return self._is_number(self.term(e))

    def _is_number(self, term: Term, what: str = "") -> Term:
        if isinstance(term.type, Struct):
            fields = ", ".join([f".{name}" for name, _ in term.type.fields])
            what = what or "a number is needed here, and this"
            raise term.span.error(
                f"{what} is {article(term.type)}",
                hint=f"name a field of it: {fields}",
            )
        return term

    def condition(self, e: T.Expr) -> Term:
        """The term of what is true or false: numbers other than zero are true."""
        return converted(self.number(e), Scalar.CONDITION)

    def whole(self, e: T.Expr, what: str) -> int:
        """The value of what has to be known here; `what` it is."""
        term = self.term(e)
        if not isinstance(term, Literal) or term.type is not Scalar.INT:
            raise e.span.error(
                f"{what} is an integer that is known when the program is compiled",
                hint="write a number",
            )
        return int(term.value)

    def assigned(self, term: Term, to: Element, what: str) -> Term:
        """The term in the type of what it is given to. Nothing is lost: numbers become
        wider alone, other conversions have to be written."""
        if term.type is to:
            return term
        if isinstance(to, Struct) or isinstance(term.type, Struct):
            raise term.span.error(
                f"{what} is {article(to)}, not {article(term.type)}",
                hint=f"make one: {to}({', '.join([name for name, _ in to.fields])})"
                if isinstance(to, Struct)
                else "name a field of it",
            )
        if isinstance(term, Literal) and isinstance(term.value, int):
            if not to.holds(term.value):
                raise term.span.error(
                    f"{what} is {article(to)}, which cannot be {term.value}",
                    hint=f"it lies between {_lowest(to)} and {-_lowest(to) - 1}",
                )
            return converted(term, to)
        if term.type.rank > to.rank:
            raise term.span.error(
                f"{what} is {article(to)}, and {article(term.type)} is wider",
                hint=f"convert it: {to}(…)",
            )
        return converted(term, to)

    def _number(self, e: T.Number) -> Term:
        return literal(Scalar(e.type), e.span, e.value)

    def _unary(self, e: T.Unary) -> Term:
        if e.op == "!":
            return Not(Scalar.CONDITION, e.span, self.condition(e.of))
        of = self._is_number(self.term(e.of), f"'{e.op}' computes with numbers; this")
        of = converted(of, promoted(_scalar(of)))
        if e.op == "+":
            return of
        if isinstance(of, Literal) and of.value != -LARGEST_INT - 1:
            return Literal(of.type, e.span, -of.value)
        return Negate(of.type, e.span, of)

    def _binary(self, e: T.Binary) -> Term:
        if e.op in _LOGIC:
            a, b = self.condition(e.a), self.condition(e.b)
            return Logic(Scalar.CONDITION, e.span, e.op, a, b)
        what = f"'{e.op}' computes with numbers; this"
        # The left operands of a sum of many terms, without a level of calls for each.
        waiting, left = [e], e.a
        while isinstance(left, T.Binary) and left.op not in _LOGIC:
            waiting.append(left)
            left = left.a
        a = self.term(left)
        for one in reversed(waiting):
            what = f"'{one.op}' computes with numbers; this"
            a = self._is_number(a, what)
            b = self._is_number(self.term(one.b), what)
            a = self._computed(one, a, b)
        return a

    def _computed(self, e: T.Binary, a: Term, b: Term) -> Term:
        kind = promoted(_scalar(a), _scalar(b))
        if e.op == "%" and kind.is_float:
            raise e.span.error(
                f"'%' is for integers, not for {article(kind)}",
                hint="convert to an int first: int(…) % int(…)",
            )
        if e.op in ("/", "%") and not kind.is_float:
            if isinstance(b, Literal) and b.value == 0:
                raise e.span.error("this divides by zero", hint="write another divisor")
        if e.op in _COMPARISONS[2:] and Scalar.CONDITION in (a.type, b.type):
            raise e.span.error(
                f"'{e.op}' compares numbers, and one side is a condition",
                hint="comparisons do not chain: write a < b && b < c",
            )
        a, b = converted(a, kind), converted(b, kind)
        if e.op in _COMPARISONS:
            return Compare(Scalar.CONDITION, e.span, e.op, a, b)
        if isinstance(a, Literal) and isinstance(b, Literal) and kind is Scalar.INT:
            return Literal(kind, e.span, _folded(e, int(a.value), int(b.value)))
        return Arithmetic(kind, e.span, e.op, a, b)

    def _conditional(self, e: T.Conditional) -> Term:
        condition = self.condition(e.condition)
        yes, no = self.term(e.yes), self.term(e.no)
        if yes.type is not no.type:
            if isinstance(yes.type, Struct) or isinstance(no.type, Struct):
                raise e.span.error(
                    f"one choice is {article(yes.type)}, the other {article(no.type)}",
                    hint="both are of one type",
                )
            kind = promoted(yes.type, no.type)
            yes, no = converted(yes, kind), converted(no, kind)
        return Choose(yes.type, e.span, condition, yes, no)

    def _member(self, e: T.Member) -> Term:
        of = self.term(e.of)
        if not isinstance(of.type, Struct):
            hint = f"leave .{e.name} out"
            if isinstance(e.of, T.Name):
                two = f"'{e.of.name}' and '{e.name}'"
                hint = f"if {two} are two names, separate them by a comma"
            raise e.span.error(
                f"'.{e.name}' is asked of {article(of.type)}, which has no fields",
                hint=hint,
            )
        kind = of.type.type_of(e.name)
        if kind is None:
            raise e.span.error(
                f"{article(of.type)} has no field '{e.name}'",
                legal=tuple([name for name, _ in of.type.fields]),
            )
        return Member(kind, e.span, of, e.name)

    def _no_number(self, e: T.Crop | T.Compose) -> Term:
        what = "a crop" if isinstance(e, T.Crop) else "a compose"
        raise e.span.error(
            f"{what} is a domain, and a number is needed here",
            hint="domains are arguments of functions: stencils compute with points",
        )

    # Calls

    def _call(self, e: T.Call) -> Term:
        if e.function in _CONVERSIONS:
            (value,) = self._arguments(e, ("number",))
            what = f"'{e.function}' converts numbers; this"
            value = self._is_number(value, what)
            return converted(value, _CONVERSIONS[e.function], e.span)
        if e.function in MATH:
            return self._math(e)
        struct = self.declared.structs.get(e.function)
        if struct is not None:
            return self._made(e, struct)
        if e.function in self.declared.functions:
            return self.applied(e)
        raise self.unknown(e)

    def unknown(self, e: T.Call) -> Exception:
        """The error of a function that there is not."""
        known = (*self.declared.functions, *self.declared.structs, *MATH)
        near = _nearest(e.function, known)
        return e.span.error(
            f"there is no function '{e.function}'",
            hint=f"do you mean '{near}'?" if near else "declare it: stencil or vector",
        )

    def _arguments(self, e: T.Call, names: tuple[str, ...]) -> list[Term]:
        """The terms of arguments that have no boundary conditions."""
        if len(e.args) != len(names):
            raise e.span.error(
                f"'{e.function}' takes {counted(len(names), 'argument')}, not "
                f"{len(e.args)}",
                hint=f"write {e.function}({', '.join(names)})",
            )
        for one in e.args:
            if one.boundary is not None:
                raise one.boundary.span.error(
                    f"'{e.function}' has no boundary conditions",
                    hint="they stand where a stencil is applied to a domain",
                )
        return [self.term(one.value) for one in e.args]

    def _math(self, e: T.Call) -> Term:
        function = MATH[e.function]
        what = f"'{e.function}' computes with numbers; this"
        args = [
            self._is_number(one, what)
            for one in self._arguments(e, ("a", "b")[: function.arguments])
        ]
        kind = promoted(*[_scalar(one) for one in args])
        if not kind.is_float and not function.of_ints:
            kind = Scalar.FLOAT
        given = tuple([converted(one, kind) for one in args])
        return MathCall(kind, e.span, e.function, given)

    def _made(self, e: T.Call, struct: Struct) -> Term:
        values = self._arguments(e, tuple([name for name, _ in struct.fields]))
        given = [
            self.assigned(value, kind, f"the field '{name}' of {struct}")
            for value, (name, kind) in zip(values, struct.fields, strict=True)
        ]
        return Made(struct, e.span, tuple(given))


def counted(count: int, what: str) -> str:
    """``1 offset``, ``2 offsets``"""
    return f"{count} {what}{'' if count == 1 else 's'}"


def disagreement(name: str, dimensions: int, count: int, what: str) -> str:
    """The sentence where a domain has another number of dimensions than is said."""
    given = f"{'is' if count == 1 else 'are'} {counted(count, what)}"
    return f"'{name}' has {counted(dimensions, 'dimension')}, and here {given}"


def converted(term: Term, to: Scalar, span: Span | None = None) -> Term:
    """A number in another type."""
    if term.type is to:
        return term
    if isinstance(term, Literal) and to is not Scalar.CONDITION:
        exact = isinstance(term.value, int) and to.holds(term.value)
        if exact or (to.is_float and to.rank > _scalar(term).rank):
            return literal(to, span or term.span, term.value)
    return Convert(to, span or term.span, term)


def literal(kind: Scalar, span: Span, value: int | float) -> Literal:
    """A number, rounded if its type rounds it."""
    if kind.is_float:
        return Literal(kind, span, round_float(float(value), kind.pixel))
    return Literal(kind, span, value)


def _scalar(term: Term) -> Scalar:
    assert isinstance(term.type, Scalar)
    return term.type


def _lowest(kind: Scalar) -> int:
    return -(1 << (kind.pixel.width - 1))


def _folded(e: T.Binary, a: int, b: int) -> int:
    """What an operation makes of two ints."""
    if e.op in ("/", "%"):
        quotient = abs(a) // abs(b)
        quotient = quotient if (a < 0) == (b < 0) else -quotient
        value = quotient if e.op == "/" else a - b * quotient
    else:
        value = {"+": a + b, "-": a - b, "*": a * b}[e.op]
    if not Scalar.INT.holds(value):
        raise e.span.error(
            f"the value {value} is no int",
            hint="compute in double: write a number with the suffix d",
        )
    return value


def _nearest(name: str, known: tuple[str, ...]) -> str | None:
    """The known name that is most like one, if it is like it at all."""
    import difflib  # not needed before something goes wrong

    return next(iter(difflib.get_close_matches(name, known[:2000], n=1)), None)


__all__ = ["Numbers", "converted", "counted", "disagreement", "literal"]
