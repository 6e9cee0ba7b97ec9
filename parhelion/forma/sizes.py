"""Sizes of domains: integer expressions of the program's parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from parhelion.analysis.facts import Facts
from parhelion.forma.spans import Span
from parhelion.ir import build
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import Add, Div, Expr, Imm, Max, Min, Mod, Mul, Sub, Var
from parhelion.simplify.simplifier import can_prove, simplify
from parhelion.types import INT32

#: An int expression of the Vars of parameters. Quotients are rounded down.
Size = Expr

#: What no number in a size reaches.
_LIMIT = 1 << 31

#: A polynomial: how often each product of factors is in the sum.
Polynomial = dict[tuple[Expr, ...], int]


class Sizes:
    """Arithmetic on sizes, which are kept simplified, and proofs about them."""

    def __init__(self) -> None:
        self._simple: dict[Expr, Size] = {}
        self._large: dict[Expr, int] = {}
        self._proved: dict[tuple[Expr, tuple[Size, ...], int], bool] = {}

    def constant(self, value: int) -> Size:
        return build.int32(value)

    def add(self, a: Size, b: Size, at: Span) -> Size:
        """``a + b``. Like its neighbours it raises FormaError, `at` a place, where
        numbers in it get too large."""
        self._check(self._of(a) + self._of(b), at)
        return self._simplified(build.add(a, b))

    def sub(self, a: Size, b: Size, at: Span) -> Size:
        self._check(self._of(a) + self._of(b), at)
        return self._simplified(build.sub(a, b))

    def mul(self, a: Size, b: Size, at: Span) -> Size:
        self._check(self._of(a) * self._of(b), at)
        return self._simplified(build.mul(a, b))

    def div(self, a: Size, b: Size) -> Size:
        return self._simplified(build.div(a, b))

    def mod(self, a: Size, b: Size) -> Size:
        return self._simplified(build.mod(a, b))

    def minimum(self, a: Size, b: Size) -> Size:
        if a is b or self.proves(build.le(a, b)):
            return a
        if self.proves(build.le(b, a)):
            return b
        return self._simplified(build.minimum(a, b))

    def maximum(self, a: Size, b: Size) -> Size:
        if a is b or self.proves(build.le(b, a)):
            return a
        if self.proves(build.le(a, b)):
            return b
        return self._simplified(build.maximum(a, b))

    def condition(self, condition: Expr) -> Expr:
        """A condition in the form by which equal ones are known."""
        return self._simplified(condition)

    def proves(self, condition: Expr, *positive: Size, least: int = 1) -> bool:
        """Whether a condition holds for all parameters with which `positive` are at
        least 1, or what `least` says. False means only that no proof was found."""
        if type(condition) is Imm:
            return bool(condition.value)
        key = (condition, positive, least)
        found = self._proved.get(key)
        if found is None:
            facts = Facts.EMPTY
            for size in positive:
                if type(size) is not Imm:
                    facts = facts.assume(build.ge(size, build.int32(least)))
            found = self._proved[key] = can_prove(condition, facts)
        return found

    def _simplified(self, e: Expr) -> Size:
        found = self._simple.get(e)
        if found is None:
            found = self._simple[e] = simplify(e)
        return found

    def _of(self, e: Expr) -> int:
        """How large the numbers in a size are, were each parameter 1 at most."""
        found = self._large.get(e)
        if found is None:
            found = self._large[e] = self._magnitude(e)
        return found

    def _magnitude(self, e: Expr) -> int:
        if isinstance(e, Imm):
            return abs(e.value)
        if isinstance(e, Add | Sub):
            return self._of(e.a) + self._of(e.b)
        if isinstance(e, Mul):
            return self._of(e.a) * self._of(e.b)
        if isinstance(e, Min | Max):
            return max(self._of(e.a), self._of(e.b))
        if isinstance(e, Div) and isinstance(e.b, Imm) and e.b.value > 0:
            return max(self._of(e.a) // e.b.value, 1)
        if isinstance(e, Div | Mod):
            return self._of(e.a)
        return 1

    def _check(self, magnitude: int, at: Span) -> None:
        if magnitude >= _LIMIT:
            raise at.error(
                "a size gets larger than any int",
                hint="check how often domains are padded and extrapolated",
            )


def expanded(e: Size) -> Polynomial:
    """A size as a sum of products of what is neither, each product sorted."""
    if isinstance(e, Imm):
        return {(): e.value} if e.value else {}
    if isinstance(e, Add | Sub):
        total = dict(expanded(e.a))
        _accumulate(total, expanded(e.b), 1 if isinstance(e, Add) else -1)
        return total
    if isinstance(e, Mul):
        return product(expanded(e.a), expanded(e.b))
    return {(e,): 1}


def product(a: Polynomial, b: Polynomial) -> Polynomial:
    """The product of two polynomials."""
    total: Polynomial = {}
    for left, k in a.items():
        for right, n in b.items():
            _accumulate(total, {tuple(sorted(left + right, key=id)): 1}, k * n)
    return total


def added(a: Polynomial, b: Polynomial, times: int) -> Polynomial:
    """``a + times * b``"""
    total = dict(a)
    _accumulate(total, b, times)
    return total


def _accumulate(total: Polynomial, more: Polynomial, times: int) -> None:
    for factors, k in more.items():
        total[factors] = total.get(factors, 0) + k * times
        if not total[factors]:
            del total[factors]


def polynomial_text(p: Polynomial) -> str:
    """A polynomial as messages show it."""
    terms = []
    for factors, k in sorted(p.items(), key=lambda one: -len(one[0])):
        texts = sorted([_text(f, _TIGHT) for f in factors])
        if abs(k) != 1 or not texts:
            texts.insert(0, str(abs(k)))
        terms.append(("-" if k < 0 else "+", "*".join(texts)))
    if not terms:
        return "0"
    first, *rest = terms
    return ("-" if first[0] == "-" else "") + "".join(
        [first[1], *[f"{sign}{text}" for sign, text in rest]]
    )


def value_of(size: Size, given: Mapping[Var, int]) -> int:
    """The size where the parameters' Vars are as given."""
    return int(evaluate(size, given))


#: How tightly operators bind.
_LOOSE, _PRODUCT, _TIGHT = 0, 1, 2

_OPERATORS: dict[type[Expr], tuple[str, int]] = {
    Add: ("+", _LOOSE),
    Sub: ("-", _LOOSE),
    Mul: ("*", _PRODUCT),
    Div: ("/", _PRODUCT),
    Mod: ("%", _PRODUCT),
}
_FUNCTIONS: dict[type[Expr], str] = {Min: "min", Max: "max"}


def size_text(size: Size) -> str:
    """A size as a Forma program writes it: ``2*(M/2)``, ``min(M, N+3)``."""
    return _text(size, _LOOSE)


def _text(e: Expr, around: int) -> str:
    if isinstance(e, Imm):
        return f"({e.value})" if e.value < 0 and around else str(e.value)
    if isinstance(e, Var):
        return e.name
    kind = type(e)
    if kind in _FUNCTIONS:
        a, b = _operands(e)
        return f"{_FUNCTIONS[kind]}({_text(a, _LOOSE)}, {_text(b, _LOOSE)})"
    op, binds = _OPERATORS[kind]
    a, b = _operands(e)
    if kind is Mul and isinstance(b, Imm):
        a, b = b, a
    if kind is Add and isinstance(b, Imm) and b.value < 0:
        op, b = "-", build.int32(-b.value)
    # A product of a quotient is no quotient of a product: 2*(M/2).
    text = f"{_text(a, binds)}{op}{_text(b, _TIGHT if kind is not Add else binds)}"
    return f"({text})" if binds < around else text


def _operands(e: Expr) -> tuple[Expr, Expr]:
    two = cast(Add, e)
    return two.a, two.b


def parameter_var(name: str, is_extent: bool) -> Var:
    """The Var of an int parameter; is_extent: an input has that size, so it is at
    least 1."""
    return Var(name, INT32, lo=build.int32(1) if is_extent else None)


#: The operations of `Sizes` that Forma's expressions of sizes are made of.
BY_OPERATOR: dict[str, Callable[[Sizes, Size, Size, Span], Size]] = {
    "+": Sizes.add,
    "-": Sizes.sub,
    "*": Sizes.mul,
    "/": lambda sizes, a, b, at: sizes.div(a, b),
    "%": lambda sizes, a, b, at: sizes.mod(a, b),
    "min": lambda sizes, a, b, at: sizes.minimum(a, b),
    "max": lambda sizes, a, b, at: sizes.maximum(a, b),
}

__all__ = [
    "BY_OPERATOR",
    "Polynomial",
    "Size",
    "Sizes",
    "added",
    "expanded",
    "parameter_var",
    "polynomial_text",
    "product",
    "size_text",
    "value_of",
]
