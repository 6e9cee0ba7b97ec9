"""Whether an update folds with an associative operation, and with which.

An update ``f[i] = U(f[i], e)`` can be computed in parts if ``U(x, e) = x . g(e)`` for
an associative operation: each part is folded by itself, from a neutral value, and the
parts are merged with the operation. `fold_of` finds the operation by structure: chains
of one operation with the old value at one place, choices between such chains, the
greatest or least value with what belongs to it, and products of complex numbers. What
is found is associative by the laws of the operation; the tests check every form on
all small numbers.

A NaN takes part in no comparison. So the least or greatest of floats is a fold only
where a value is taken because a comparison holds: ``max(old, e)`` passes over a NaN,
but ``max(e, old)`` takes it, and what comes next replaces it, so that 5, NaN, 3 are 3
one by one, and 5 if the last two are folded first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from parhelion.dataclass import dataclass
from parhelion.errors import ScheduleError, here
from parhelion.ir.build import (
    TRUE,
    add,
    imm,
    is_true,
    land,
    lnot,
    lor,
    maximum,
    minimum,
    mul,
    select,
    sub,
)
from parhelion.ir.expr import (
    LE,
    LT,
    Add,
    And,
    Cast,
    Expr,
    FuncCall,
    Intrinsic,
    Max,
    Min,
    Mul,
    Not,
    Or,
    Select,
    Sub,
)
from parhelion.ir.function import Definition, Function
from parhelion.ir.rewrite import Rewriter, nodes
from parhelion.ir.text import brief
from parhelion.types import BOOL, Type

Values = tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class AssociativeFold:
    """An associative operation on the values of a Func.

    start: the values that a part begins with. merge: ``x . y``, `x` first in order.
    commutative: whether parts may be merged in any order.
    taken: for operations without a neutral value, what a part holds after its first
        iteration; None if there are none.
    counts: the condition on which an iteration is the first, in this sense.
    """

    start: Values
    merge: Callable[[Values, Values], Values]
    commutative: bool = True
    taken: Values | None = None
    counts: Expr = TRUE


def fold_of(
    function: Function, args: Values, values: Values, *, numbers: bool = False
) -> AssociativeFold | None:
    """The operation by which ``function[args] = values`` folds, if one is found.

    numbers: also one that is associative only among floats that are numbers.
    """
    old = tuple([FuncCall(t, function, args, k) for k, t in enumerate(function.types)])
    for e in args:
        if _calls(function, e):
            return None
    uses = []
    for v in values:
        calls = _calls(function, v)
        if not calls <= set(old):
            return None
        uses.append({old.index(c) for c in calls})
    groups = _components(uses, len(values))
    parts = [_component(old, values, group, numbers) for group in groups]
    found = [p for p in parts if p is not None]
    if len(found) < len(parts):
        return None
    if len(found) > 1 and any(not is_true(p.counts) for p in found):
        return None  # The values would begin at different iterations.
    return _combined(found, values)


def not_associative(function: Function, d: Definition, what: str) -> ScheduleError:
    """The error that says why an update is not folded in parts. what: who asks for
    that, as messages call it."""
    shown = ", ".join([brief(v, 70) for v in d.values])
    detail = f"the update is {function.label}[…] = {shown}"
    if any(
        isinstance(v, Intrinsic) and v.op == "saturating_add" and v.type.is_int()
        for v in d.values
    ):
        detail += (
            "\nsigned sums that saturate are not associative: (100 + 100) + -100 is 27"
            " in 8 bits, 100 + (100 + -100) is 100"
        )
    if fold_of(function, d.args, d.values, numbers=True) is not None:
        detail += (
            "\na NaN would replace the old value, and be replaced by what comes next:"
            " where it stands decides the result"
        )
        return ScheduleError(
            f"{what}: among floats the update is not associative",
            at=here(),
            detail=detail,
            hint=f"max({function.label}[…], e), min({function.label}[…], e) and"
            " select(e < old, e, old) take numbers only",
        )
    return ScheduleError(
        f"{what}: the update is not known to fold with an associative operation",
        at=here(),
        detail=detail,
        hint="each value must be the old one at the same place, folded by +, *, min,"
        " max, &, |, ^ or an unsigned saturating_add with something that does not read"
        f" {function.label}; or several values must be replaced together where one of"
        " them is less or greater; or two must be the product of complex numbers",
    )


def _calls(function: Function, e: Expr) -> set[FuncCall]:
    return {n for n in nodes(e) if isinstance(n, FuncCall) and n.func is function}


def _components(uses: Sequence[set[int]], count: int) -> list[list[int]]:
    """The values in groups, each of those that depend on each other's old ones."""
    group = list(range(count))
    for k, used in enumerate(uses):
        for j in used:
            a, b = group[k], group[j]
            group = [a if g == b else g for g in group]
    return [[k for k in range(count) if group[k] == g] for g in dict.fromkeys(group)]


@dataclass(frozen=True, slots=True)
class _Part:
    """A fold of some of the values: their positions, and the parts of the fold."""

    at: list[int]
    start: Values
    merge: Callable[[Values, Values], Values]
    commutative: bool = True
    taken: Values | None = None
    counts: Expr = TRUE


def _combined(parts: Sequence[_Part], values: Values) -> AssociativeFold:
    start: list[Expr] = list(values)
    taken: list[Expr] = list(values)
    for p in parts:
        for i, k in enumerate(p.at):
            start[k] = p.start[i]
            if p.taken is not None:
                taken[k] = p.taken[i]

    def merge(x: Values, y: Values) -> Values:
        out = list(values)
        for p in parts:
            made = p.merge(tuple([x[k] for k in p.at]), tuple([y[k] for k in p.at]))
            for k, e in zip(p.at, made, strict=True):
                out[k] = e
        return tuple(out)

    needs = any(p.taken is not None for p in parts)
    return AssociativeFold(
        tuple(start),
        merge,
        all(p.commutative for p in parts),
        tuple(taken) if needs else None,
        parts[0].counts if len(parts) == 1 else TRUE,
    )


def _component(
    old: Values, values: Values, at: list[int], numbers: bool
) -> _Part | None:
    mine = tuple([old[k] for k in at])
    new = tuple([values[k] for k in at])
    if len(at) == 1:
        op = _operation(mine[0], new[0])
        if op in _SWAPPED and numbers:
            op = _SWAPPED[op]
        if op is None or op in _SWAPPED:
            return None
        law = _LAWS[op]
        t = new[0].type
        return _Part(at, (law.start(t),), lambda x, y: (law.merge(x[0], y[0]),))
    return _extreme(at, mine, new, numbers) or _complex(at, mine, new)


# One value.


@dataclass(frozen=True, slots=True)
class _Law:
    """An associative and commutative operation: its neutral value, and itself."""

    start: Callable[[Type], Expr]
    merge: Callable[[Expr, Expr], Expr]


def _constant(value: int) -> Callable[[Type], Expr]:
    return lambda t: imm(value, t)


def _bitwise(op: str) -> Callable[[Expr, Expr], Expr]:
    return lambda a, b: Intrinsic(a.type, op, (a, b))


def _all_bits(t: Type) -> Expr:
    return imm(-1 if t.is_int() else t.highest(), t)


_LAWS = {
    "add": _Law(_constant(0), add),
    "mul": _Law(_constant(1), mul),
    "min": _Law(lambda t: imm(t.highest(), t), minimum),
    "max": _Law(lambda t: imm(t.lowest(), t), maximum),
    "and": _Law(_constant(1), land),
    "or": _Law(_constant(0), lor),
    "bit_and": _Law(_all_bits, _bitwise("bit_and")),
    "bit_or": _Law(_constant(0), _bitwise("bit_or")),
    "bit_xor": _Law(_constant(0), _bitwise("bit_xor")),
    "saturating_add": _Law(_constant(0), _bitwise("saturating_add")),
}

#: The least or greatest of floats where a NaN is taken, and if there were none.
_SWAPPED = {"min_swapped": "min", "max_swapped": "max"}

#: Operations that agree with their narrower selves in the low bits.
_MODULAR = frozenset(("add", "mul", "bit_and", "bit_or", "bit_xor"))

#: The operation that each node folds with.
OPERATIONS: dict[type[Expr], str] = {
    Add: "add",
    Sub: "add",
    Mul: "mul",
    Min: "min",
    Max: "max",
    And: "and",
    Or: "or",
}


def _operation(old: Expr, value: Expr) -> str | None:
    """The operation by which `value` folds something into `old`."""
    if isinstance(value, Cast):
        return _narrowed(old, value)
    if isinstance(value, Select):
        return _choice(old, value)
    op = _root(value)
    if op is None:
        return None
    leaves: list[Expr] = []
    opened: set[Expr] = set()
    stack = [(value, True)]
    while stack:
        e, positive = stack.pop()
        if _root(e) == op and e is not old:
            if e in opened:
                if _mentions(e, old):
                    return None  # more than once
                continue
            opened.add(e)
            a, b = e.args if isinstance(e, Intrinsic) else e.children()
            stack += [(b, positive and not isinstance(e, Sub)), (a, positive)]
        elif not positive and _mentions(e, old):
            return None
        else:
            leaves.append(e)
    having = [k for k, e in enumerate(leaves) if _mentions(e, old)]
    if len(having) != 1:
        return None
    place = leaves[having[0]]
    if place is not old and _operation(old, place) != op:
        return None
    if op in ("min", "max") and having[0] > 0 and value.type.is_float():
        return f"{op}_swapped"
    return op


def _root(e: Expr) -> str | None:
    """The operation at the root of `e`."""
    if isinstance(e, Intrinsic):
        if e.op in ("bit_and", "bit_or", "bit_xor"):
            return e.op
        # Signed sums that saturate depend on their order: (100 + 100) - 100.
        return e.op if e.op == "saturating_add" and e.type.is_uint() else None
    return OPERATIONS.get(type(e))


def _mentions(e: Expr, old: Expr) -> bool:
    return any(n is old for n in nodes(e))


def _narrowed(old: Expr, value: Cast) -> str | None:
    """``u8(u16(old) + e)`` is a sum of 8 bits, whatever is above them."""
    t, inner = value.type, value.a
    if not (t.is_int_or_uint() and not t.is_bool() and inner.type.is_int_or_uint()):
        return None
    if inner.type.width < t.width:
        return None
    wide = Cast(inner.type, old) if inner.type is not t else old
    op = _operation(wide, inner)
    return op if op in _MODULAR and not _mentions_outside(inner, old, wide) else None


def _mentions_outside(e: Expr, old: Expr, wide: Expr) -> bool:
    """Whether `e` mentions `old` but for where it mentions `wide`, a cast of it."""
    stack, seen = [e], set()
    while stack:
        n = stack.pop()
        if n is wide or n in seen:
            continue
        if n is old:
            return True
        seen.add(n)
        stack += [c for c in n.children() if isinstance(c, Expr)]
    return False


def _choice(old: Expr, value: Select) -> str | None:
    """A choice between folding something, something else, or nothing; or the lesser
    or greater of two values, written as a choice."""
    if _mentions(value.cond, old):
        return _compared(old, value)
    found = [None if e is old else _operation(old, e) for e in (value.a, value.b)]
    ops = {op for e, op in zip((value.a, value.b), found, strict=True) if e is not old}
    return ops.pop() if len(ops) == 1 else None


def _compared(old: Expr, value: Select) -> str | None:
    found = _Test.of(value.cond, old)
    if found is None or {value.a, value.b} != {old, found.new}:
        return None
    takes = value.a is found.new
    op = "min" if found.less == takes else "max"
    return op if found.passes_over_nan(takes) else f"{op}_swapped"


# The least or greatest value, and what belongs to it.


@dataclass(frozen=True, slots=True)
class _Test:
    """A comparison of an old value with a new one. less: it holds where the new one
    is less. strict: it does not hold where they are equal. negated: it is a Not."""

    new: Expr
    less: bool
    strict: bool
    negated: bool = False

    @staticmethod
    def of(cond: Expr, old: Expr) -> _Test | None:
        if isinstance(cond, Not):
            inner = _Test.of(cond.a, old)
            if inner is None:
                return None
            return _Test(inner.new, not inner.less, not inner.strict, not inner.negated)
        if not isinstance(cond, LT | LE):
            return None
        strict = isinstance(cond, LT)
        if cond.b is old and not _mentions(cond.a, old):
            return _Test(cond.a, True, strict)
        if cond.a is old and not _mentions(cond.b, old):
            return _Test(cond.b, False, strict)
        return None

    def passes_over_nan(self, takes: bool) -> bool:
        """Whether the new value, which is taken where the test holds (if `takes`) or
        where it does not, is taken only where a comparison holds."""
        return self.negated != takes or not self.new.type.is_float()


def _as_choice(e: Expr) -> Expr:
    """A minimum or maximum as the choice that it is."""
    if isinstance(e, Min):
        return Select(LT(e.b, e.a), e.b, e.a)
    if isinstance(e, Max):
        return Select(LT(e.a, e.b), e.b, e.a)
    return e


@dataclass(frozen=True, slots=True)
class _Choice:
    """A value that is replaced by a new one where `cond` holds, if `takes`, or where it
    does not."""

    cond: Expr
    new: Expr
    takes: bool

    @staticmethod
    def of(value: Expr, old: Expr) -> _Choice | None:
        choice = _as_choice(value)
        if not isinstance(choice, Select):
            return None
        if choice.b is old:
            return _Choice(choice.cond, choice.a, True)
        return _Choice(choice.cond, choice.b, False) if choice.a is old else None

    def merged(self, x: Expr, y: Expr, to: dict[Expr, Expr]) -> Expr:
        """What is left of an earlier value and a later one, of which `to` says what
        is compared."""
        c = _Replace(to).go(self.cond)
        return select(c, y, x) if self.takes else select(c, x, y)


def _extreme(at: list[int], old: Values, values: Values, numbers: bool) -> _Part | None:
    """The least or greatest of what one value is compared with, and others that belong
    to it: each is replaced by comparisons of that one, which go the same way.

    They may differ in which of equals they keep, the first or the last. That is sound:
    what is compared is ordered but for equals, of parts each keeps the first or the
    last itself, and so does what merges them in order.
    """
    made = [_Choice.of(v, o) for v, o in zip(values, old, strict=True)]
    choices = [c for c in made if c is not None]
    if len(choices) < len(made):
        return None
    new = tuple([c.new for c in choices])
    if any(_mentions(n, o) for n in new for o in old):
        return None
    found = [_tests(choices, k, old) for k in range(len(old))]
    k = next((k for k, tests in enumerate(found) if tests is not None), None)
    if k is None:
        return None
    tests = found[k]
    assert tests is not None
    pairs = list(zip(tests, choices, strict=True))
    if not numbers and not all(t.passes_over_nan(c.takes) for t, c in pairs):
        return None
    o, t = old[k], old[k].type
    start = [imm(0, v.type) for v in values]
    less = tests[k].less is choices[k].takes
    start[k] = imm(t.highest() if less else t.lowest(), t)

    def merge(x: Values, y: Values) -> Values:
        to = {o: x[k], new[k]: y[k]}
        return tuple(
            [c.merged(a, b, to) for c, a, b in zip(choices, x, y, strict=True)]
        )

    if all(t.strict is c.takes for t, c in pairs):
        # What is as extreme as the start is not taken, neither here nor there.
        return _Part(at, tuple(start), merge, False)
    counts: Expr = TRUE
    if t.is_float():
        counts = lnot(Intrinsic(BOOL, "is_nan", (new[k],)))
    return _Part(at, tuple(start), merge, False, new, counts)


def _tests(choices: Sequence[_Choice], k: int, old: Values) -> list[_Test] | None:
    """The comparisons by which all values are chosen, if each is one of value `k` with
    its new one, and all take the lesser or all the greater."""
    found: list[_Test] = []
    for c in choices:
        test = _Test.of(c.cond, old[k])
        if test is None or test.new is not choices[k].new:
            return None
        if any(_mentions(c.cond, o) for o in old if o is not old[k]):
            return None
        found.append(test)
    ways = {t.less is c.takes for t, c in zip(found, choices, strict=True)}
    return found if len(ways) == 1 else None


class _Replace(Rewriter):
    """Replaces whole nodes."""

    def __init__(self, to: dict[Expr, Expr]) -> None:
        super().__init__()
        self.memo.update(to)


# Products of complex numbers.


def _complex(at: list[int], old: Values, values: Values) -> _Part | None:
    """``(a, b) = (a * c - b * d, a * d + b * c)``, in any order."""
    if len(at) != 2 or values[0].type is not values[1].type:
        return None
    for i, j in ((0, 1), (1, 0)):
        factors = _real(values[i], old[i], old[j])
        if factors is not None and _is_imaginary(values[j], old[i], old[j], *factors):
            one, nil = imm(1, values[0].type), imm(0, values[0].type)

            def merge(x: Values, y: Values, i: int = i, j: int = j) -> Values:
                real = sub(mul(x[i], y[i]), mul(x[j], y[j]))
                imaginary = add(mul(x[i], y[j]), mul(x[j], y[i]))
                return (real, imaginary) if i == 0 else (imaginary, real)

            return _Part(at, (one, nil) if i == 0 else (nil, one), merge)
    return None


def _factor(e: Expr, old: Expr) -> Expr | None:
    """What `old` is multiplied with."""
    if not isinstance(e, Mul):
        return None
    if e.a is old:
        return e.b
    return e.a if e.b is old else None


def _real(e: Expr, a: Expr, b: Expr) -> tuple[Expr, Expr] | None:
    """c and d of ``a * c - b * d``."""
    if not isinstance(e, Sub):
        return None
    c, d = _factor(e.a, a), _factor(e.b, b)
    if c is None or d is None or any(_mentions(n, o) for n in (c, d) for o in (a, b)):
        return None
    return c, d


def _is_imaginary(e: Expr, a: Expr, b: Expr, c: Expr, d: Expr) -> bool:
    """Whether `e` is ``a * d + b * c``."""
    if not isinstance(e, Add):
        return False
    return any(
        _factor(p, a) is d and _factor(q, b) is c for p, q in ((e.a, e.b), (e.b, e.a))
    )


__all__ = ["OPERATIONS", "AssociativeFold", "fold_of", "not_associative"]
