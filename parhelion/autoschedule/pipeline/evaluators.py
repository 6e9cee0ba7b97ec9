"""Index expressions as Python functions: numbers in, numbers out, on arrays at once.

The schedulers ask for the same bounds thousands of times, for ever other tiles. So the
bounds that `analysis.box` finds once, as expressions, become the source of a Python
function, which works on integers and on NumPy arrays of candidates alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from parhelion.ir import expr as E
from parhelion.ir.expr import Expr, Var
from parhelion.ir.function import ReductionDomain

#: An integer, or one for each candidate.
Number = Any
#: An expression, None for what nobody knows, or a sequence of these.
Nested = Expr | None | Sequence["Nested"]
#: Gives the number that a Var stands for; None if nobody knows.
Lookup = Callable[[Var], int | float | None]


class NotNumeric(Exception):
    """An expression whose value is not known before the pipeline runs."""


def compiled(
    exprs: Sequence[Nested], args: Sequence[Var], lookup: Lookup
) -> tuple[Callable[..., tuple[Any, ...]], tuple[bool, ...]]:
    """A function of `args` that gives the values of the expressions, in tuples where
    there are sequences of them: None for None, and for data that only a run has. And of
    each of `exprs`, whether all of it is known."""
    writer = _Writer(args, lookup)
    answers = [writer.answer(e) for e in exprs]
    names = ", ".join(writer.args.values())
    body = "\n".join(f"    {line}" for line in writer.lines)
    answer = "".join([f"{one}, " for one in answers])
    source = f"def values({names}):\n{body}\n    return ({answer})\n"
    scope: dict[str, Any] = dict(_HELPERS)
    exec(compile(source, "<bounds>", "exec"), scope)
    return scope["values"], tuple(["None" not in one for one in answers])


def value_of(e: Expr, lookup: Lookup) -> int | float | None:
    """The value of an expression without free loops, if it is known."""
    if isinstance(e, E.Imm):
        return e.value
    function, _ = compiled([e], (), lookup)
    found: int | float | None = function()[0]
    return found


def _divide(a: Number, b: Number) -> Number:
    """Rounds as the language does: the remainder is not negative; by zero gives 0."""
    if isinstance(b, int) and b > 0:
        return a // b
    safe = np.where(np.equal(b, 0), 1, b)
    quotient = np.where(np.less(safe, 0), -(a // -safe), a // safe)
    return np.where(np.equal(b, 0), 0, quotient)


def _modulo(a: Number, b: Number) -> Number:
    if isinstance(b, int) and b > 0:
        return a % b
    return np.where(np.equal(b, 0), 0, a - _divide(a, b) * b)


def least(a: Number, b: Number) -> Number:
    """The lesser of two numbers, or of each two."""
    if isinstance(a, int) and isinstance(b, int):
        return a if a < b else b
    return np.minimum(a, b)


def greatest(a: Number, b: Number) -> Number:
    """The greater of two numbers, or of each two."""
    if isinstance(a, int) and isinstance(b, int):
        return a if a > b else b
    return np.maximum(a, b)


def _choose(cond: Number, a: Number, b: Number) -> Number:
    if isinstance(cond, bool):
        return a if cond else b
    return np.where(cond, a, b)


def _truncate(a: Number) -> Number:
    if isinstance(a, float | np.floating):
        return int(a)
    return a if isinstance(a, int) else np.trunc(a).astype(np.int64)


def _ratio(a: Number, b: Number) -> Number:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.float64(a) / b


_HELPERS: Mapping[str, Any] = {
    "divide": _divide,
    "ratio": _ratio,
    "modulo": _modulo,
    "least": least,
    "greatest": greatest,
    "choose": _choose,
    "truncate": _truncate,
    "negate": np.logical_not,
    "both": np.logical_and,
    "either": np.logical_or,
    "floor": np.floor,
    "ceil": np.ceil,
    "root": np.sqrt,
    "abs": abs,
    "float": lambda a: a * 1.0,
}

_INFIX = {
    E.Add: "{} + {}",
    E.Sub: "{} - {}",
    E.Mul: "{} * {}",
    E.EQ: "{} == {}",
    E.NE: "{} != {}",
    E.LT: "{} < {}",
    E.LE: "{} <= {}",
    E.And: "both({}, {})",
    E.Or: "either({}, {})",
    E.Min: "least({}, {})",
    E.Max: "greatest({}, {})",
}
#: Intrinsics by what they are in Python.
_INTRINSICS = {
    "likely": "{0}",
    "likely_if_innermost": "{0}",
    "strict_float": "{0}",
    "memoize_tag": "{0}",
    "promise_clamped": "least(greatest({0}, {1}), {2})",
    "known_clamped": "least(greatest({0}, {1}), {2})",
    "abs": "abs({0})",
    "absd": "abs({0} - {1})",
    "floor": "floor({0})",
    "trunc": "float(truncate({0}))",
    "ceil": "ceil({0})",
    "sqrt": "root({0})",
    "shift_left": "{0} << {1}",
    "shift_right": "{0} >> {1}",
    "bit_and": "{0} & {1}",
    "bit_or": "{0} | {1}",
    "bit_xor": "{0} ^ {1}",
}


class _Writer:
    """The lines of one function; each distinct node is computed once."""

    def __init__(self, args: Sequence[Var], lookup: Lookup) -> None:
        self.args = {v: f"a{k}" for k, v in enumerate(args)}
        self.lookup = lookup
        self.lines: list[str] = []
        self.names: dict[Expr, str] = {}
        self.names.update(self.args.items())
        self.unknown: set[Expr] = set()

    def answer(self, of: Nested) -> str:
        """What the function returns of this."""
        if isinstance(of, Sequence):
            return "(" + "".join([f"{self.answer(one)}, " for one in of]) + ")"
        try:
            return "None" if of is None else self.name_of(of)
        except NotNumeric:
            return "None"

    def name_of(self, e: Expr) -> str:
        found = self.names.get(e)
        if found is None:
            if e in self.unknown:
                raise NotNumeric
            try:
                text = self.text(e)
            except NotNumeric:
                self.unknown.add(e)
                raise
            if isinstance(e, E.Imm | E.FloatImm):
                found = text
            else:
                found = f"t{len(self.lines)}"
                self.lines.append(f"{found} = {text}")
            self.names[e] = found
        return found

    def text(self, e: Expr) -> str:
        kind = type(e)
        if isinstance(e, E.Imm):
            value = bool(e.value) if e.type.is_bool() else e.value
            return f"({value})"
        if isinstance(e, E.FloatImm):
            if not np.isfinite(e.value):
                raise NotNumeric
            return f"({e.value!r})"
        if isinstance(e, Var):
            if e.value is not None:
                return self.name_of(e.value)
            number = self.lookup(e)
            if number is None or isinstance(e.origin, ReductionDomain):
                raise NotNumeric
            return f"({number!r})"
        if kind in _INFIX:
            a, b = [self.name_of(c) for c in e.children()]
            return _INFIX[kind].format(a, b)
        if isinstance(e, E.Div | E.Mod):
            a, b = self.name_of(e.a), self.name_of(e.b)
            if e.type.is_float():
                if kind is E.Mod:
                    raise NotNumeric
                return f"ratio({a}, {b})"
            if isinstance(e.b, E.Imm) and e.b.value > 0:
                return f"{a} // {b}" if kind is E.Div else f"{a} % {b}"
            return f"{'divide' if kind is E.Div else 'modulo'}({a}, {b})"
        if isinstance(e, E.Not):
            return f"negate({self.name_of(e.a)})"
        if isinstance(e, E.Select):
            cond, a, b = (self.name_of(c) for c in (e.cond, e.a, e.b))
            return f"choose({cond}, {a}, {b})"
        if isinstance(e, E.Cast):
            return self.cast(e)
        if isinstance(e, E.Intrinsic) and e.op in _INTRINSICS:
            return _INTRINSICS[e.op].format(*[self.name_of(a) for a in e.args])
        raise NotNumeric

    def cast(self, e: E.Cast) -> str:
        a = self.name_of(e.a)
        if e.type.is_bool():
            return f"{a} != 0"
        if e.type.is_float():
            return f"float({a})"
        if e.a.type.is_float():
            return f"truncate({a})"
        if e.type.width < 32 and e.a.type.width > e.type.width:
            low, high = e.type.lowest(), e.type.highest()
            return f"least(greatest({a}, {low}), {high})"
        return a


__all__ = [
    "Lookup",
    "NotNumeric",
    "Number",
    "compiled",
    "greatest",
    "least",
    "value_of",
]
