"""From what a stencil computes at one point to expressions of the compiler's."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from parhelion.analysis.interval import never_nan
from parhelion.forma.stages import Body
from parhelion.forma.terms import (
    Arithmetic,
    Choose,
    Compare,
    Convert,
    Literal,
    Local,
    Logic,
    Made,
    MathCall,
    Member,
    Negate,
    Not,
    ParameterValue,
    Read,
    Term,
)
from parhelion.forma.types import Scalar, Struct
from parhelion.ir import build
from parhelion.ir.expr import Expr, Intrinsic
from parhelion.types import INT32, Type, UInt

#: The value of a term: that of a number, or those of a struct's fields in their order.
Values = tuple[Expr, ...]

_COMPARISONS: dict[str, Callable[[Expr, Expr], Expr]] = {
    "==": build.eq,
    "!=": build.ne,
    "<": build.lt,
    "<=": build.le,
    ">": build.gt,
    ">=": build.ge,
}
_ARITHMETIC: dict[str, Callable[[Expr, Expr], Expr]] = {
    "+": build.add,
    "-": build.sub,
    "*": build.mul,
}


class Points:
    """Makes expressions of terms.

    parameters: the program's, by their names. read: the value of an argument at a
    place.
    """

    def __init__(
        self, parameters: Mapping[str, Expr], read: Callable[[Read], Values]
    ) -> None:
        self._parameters = parameters
        self._read = read
        self._locals: dict[str, Values] = {}

    def results(self, body: Body) -> list[Values]:
        """What a stencil returns. Its variables are expressions that all of their uses
        share, so that the compiler computes each once."""
        for one in body.assignments:
            self._locals[one.name] = self.values(one.value)
        return [self.values(one) for one in body.results]

    def values(self, term: Term) -> Values:
        """The value of a term."""
        match term:
            case Read():
                return self._read(term)
            case Local():
                return self._locals[term.name]
            case Member():
                assert isinstance(term.of.type, Struct)
                names = [name for name, _ in term.of.type.fields]
                return (self.values(term.of)[names.index(term.name)],)
            case Made():
                return tuple([self._one(value) for value in term.values])
            case Choose():
                condition = self._one(term.condition)
                pairs = zip(self.values(term.yes), self.values(term.no), strict=True)
                return tuple([build.select(condition, yes, no) for yes, no in pairs])
        return (self._number(term),)

    def _one(self, term: Term) -> Expr:
        (value,) = self.values(term)
        return value

    def _number(self, term: Term) -> Expr:
        assert isinstance(term.type, Scalar)
        pixel = term.type.pixel
        match term:
            case Literal():
                return literal(term)
            case ParameterValue():
                return self._parameters[term.name]
            case Convert():
                return converted(self._one(term.of), pixel)
            case Negate():
                # Of a float exact for both zeros, which 0 - x is not.
                zero = build.imm(-0.0 if pixel.is_float() else 0, pixel)
                return build.sub(zero, self._one(term.of))
            case Not():
                return build.lnot(self._one(term.of))
            case Compare():
                return _COMPARISONS[term.op](self._one(term.a), self._one(term.b))
            case Logic():
                join = build.land if term.op == "&&" else build.lor
                return join(self._one(term.a), self._one(term.b))
            case Arithmetic():
                return _arithmetic(term.op, self._one(term.a), self._one(term.b))
            case MathCall():
                args = [self._one(one) for one in term.args]
                return _math(term.function, args, pixel)
        raise AssertionError(f"no expression for {type(term).__name__}")


def literal(term: Literal) -> Expr:
    """A number of a program as a constant of its type."""
    assert isinstance(term.type, Scalar)
    return build.imm(term.value, term.type.pixel)


def converted(a: Expr, to: Type) -> Expr:
    """A number in another type. Floats become narrow integers by way of int: their
    value may be beyond these, and is wrapped then, on every machine."""
    if a.type is to:
        return a
    if to.is_bool():
        return build.ne(a, build.imm(0, a.type))
    if a.type.is_float() and to.is_int() and to.width < INT32.width:
        a = build.cast(INT32, a)
    return build.cast(to, a)


def _arithmetic(op: str, a: Expr, b: Expr) -> Expr:
    if op in _ARITHMETIC:
        return _ARITHMETIC[op](a, b)
    if op == "/" and a.type.is_float():
        return build.div(a, b)
    cut = "div_round_to_zero" if op == "/" else "mod_round_to_zero"
    return Intrinsic(a.type, cut, (a, b))


def _math(function: str, args: list[Expr], pixel: Type) -> Expr:
    a = args[0]
    if function in ("min", "max"):
        b = args[1]
        # What they make of NaN is open: of a number first they make a number.
        if pixel.is_float() and never_nan(b):
            a, b = b, a
        return build.minimum(a, b) if function == "min" else build.maximum(a, b)
    if function == "round":
        return _rounded(a)
    if function == "abs" and pixel.is_int():
        return build.cast(pixel, Intrinsic(UInt(pixel.width), "abs", (a,)))
    return Intrinsic(pixel, function, tuple(args))


def _rounded(a: Expr) -> Expr:
    """The nearest integer, away from zero where it lies between two. What `trunc` cuts
    off is exact, which ``a + 0.5`` would not be."""
    whole = Intrinsic(a.type, "trunc", (a,))
    rest, one = build.sub(a, whole), build.imm(1.0, a.type)
    up = build.le(build.imm(0.5, a.type), rest)
    down = build.le(rest, build.imm(-0.5, a.type))
    not_up = build.select(down, build.sub(whole, one), whole)
    return build.select(up, build.add(whole, one), not_up)


__all__ = ["Points", "Values", "converted", "literal"]
