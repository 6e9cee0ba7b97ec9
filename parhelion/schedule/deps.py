"""Which iterations of an update definition depend on each other.

An update runs over its reduction domain in lexicographic order. Two iterations
conflict if one writes a place of the Func that the other writes or reads. The test
here is the classical one on affine subscripts (GCD and extreme values, after
Banerjee), for the two directions of each reduction variable; what is not affine
conflicts unless its range excludes it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from parhelion.analysis.linear import Linear, linear
from parhelion.dataclass import dataclass
from parhelion.ir.build import const_int
from parhelion.ir.expr import (
    Add,
    And,
    Expr,
    FuncCall,
    Intrinsic,
    Max,
    Min,
    Mul,
    Or,
    Select,
    Sub,
    Var,
)
from parhelion.ir.function import Definition, Function, ReductionDomain
from parhelion.ir.rewrite import free_vars, nodes

_INF = math.inf


@dataclass(frozen=True, slots=True)
class Conflict:
    """Why iterations of a reduction variable may not change their order.

    write: the coordinates that the update writes. other: those that another
    iteration writes (`reads` False) or reads.
    """

    var: Var
    write: tuple[Expr, ...]
    other: tuple[Expr, ...]
    reads: bool


def self_calls(function: Function, exprs: Sequence[Expr]) -> list[FuncCall]:
    """The distinct calls of `function` within `exprs`, in order of appearance."""
    found: dict[FuncCall, None] = {}
    for e in exprs:
        for n in nodes(e):
            if isinstance(n, FuncCall) and n.func is function:
                found[n] = None
    return list(found)


def conflicts(
    function: Function,
    args: tuple[Expr, ...],
    values: tuple[Expr, ...],
    rdom: ReductionDomain | None,
) -> dict[Var, Conflict | None]:
    """For each reduction variable, a conflict between two of its iterations.

    None means that any two iterations that differ in the variable, whatever the
    others are, touch different places: its loop may run in any order, and at once.
    """
    if rdom is None:
        return {}
    domain = _Domain(rdom, function)
    sources = (*args, *values, rdom.predicate)
    pairs = [(call.args, True) for call in self_calls(function, sources)]
    pairs.append((args, False))
    found: dict[Var, Conflict | None] = {}
    for r in rdom.vars:
        found[r] = None
        for other, reads in pairs:
            if not _distinct(args, other, r, domain):
                found[r] = Conflict(r, args, other, reads)
                break
    return found


def order_free(
    function: Function, definition: Definition, *, exact: bool = True
) -> bool:
    """Whether any order of the whole update's iterations gives the same bits.

    True where every value is a constant of the domain, or folds an operand into the
    old value at the same place with an exactly associative and commutative integer
    operation. Float sums are not: their bits depend on the order; unless `exact`, they
    count nevertheless. So do minima and maxima of floats, if the old value is on the
    left, where a NaN on the right is passed over: ``max(e, old)`` would take it.
    """
    args, values = definition.args, definition.values
    guard = [] if definition.rdom is None else [definition.predicate]
    if self_calls(function, [*args, *guard]):
        return False
    if not self_calls(function, values):
        # What an iteration stores follows from where it stores it.
        fixed = {a for a in args if isinstance(a, Var)}
        return all(
            free_vars(v) <= fixed | _run_time_vars(v) and not _has_effect(v)
            for v in values
        )
    return all(
        _folds(FuncCall(v.type, function, args, k), v, function, exact)
        for k, v in enumerate(values)
    )


def _run_time_vars(e: Expr) -> frozenset[Var]:
    """The free Vars of `e` that one run never changes: Params, sizes of images."""
    return frozenset(
        v
        for v in free_vars(e)
        if v.origin is not None and not isinstance(v.origin, ReductionDomain)
    )


def _has_effect(e: Expr) -> bool:
    """Whether the order in which `e` is evaluated can be seen."""
    return any(
        isinstance(n, Intrinsic) and n.op in ("print", "print_when") for n in nodes(e)
    )


_EXACT = (Add, Mul, Min, Max, And, Or)
_EXACT_INTRINSICS = ("bit_and", "bit_or", "bit_xor")


def _folds(old: FuncCall, value: Expr, function: Function, exact: bool) -> bool:
    """Whether `value` is ``old op operand``, `op` exact in any order."""
    if value is old:
        return True
    if exact and value.type.is_float() or value.type.is_handle():
        return False
    if isinstance(value, Select) and not self_calls(function, [value.cond]):
        # select(c, old op e, old) and its mirror image.
        if value.b is old:
            return _folds(old, value.a, function, exact)
        if value.a is old:
            return _folds(old, value.b, function, exact)
        return False
    op = _operation(value)
    if op is None:
        return False
    leaves: list[Expr] = []
    opened: set[Expr] = set()
    stack: list[tuple[Expr, bool]] = [(value, True)]
    while stack:
        e, positive = stack.pop()
        if _operation(e) == op:
            if e in opened:
                if any(n is old for n in nodes(e)):
                    return False  # more than once
                continue
            opened.add(e)
            a, b = e.args if isinstance(e, Intrinsic) else e.children()
            stack += [(b, positive and not isinstance(e, Sub)), (a, positive)]
        elif e is old and not positive:
            return False
        else:
            leaves.append(e)
    if op in ("Min", "Max") and value.type.is_float() and leaves[0] is not old:
        return False
    others = [e for e in leaves if e is not old]
    return len(others) == len(leaves) - 1 and not self_calls(function, others)


def _operation(e: Expr) -> str | None:
    """The exact, order-free operation at the root of `e`, by name."""
    if isinstance(e, _EXACT):
        return type(e).__name__
    if isinstance(e, Sub):
        return "Add"
    if isinstance(e, Intrinsic):
        if e.op in _EXACT_INTRINSICS:
            return e.op
        if e.op == "saturating_add" and e.type.is_uint():
            return e.op
    return None


# The dependence test.


class _Domain:
    """The reduction variables, with their bounds as far as they are constant."""

    def __init__(self, rdom: ReductionDomain, function: Function) -> None:
        self.function = function
        self.vars = frozenset(rdom.vars)
        self.extent: dict[Expr, float] = {}
        self.range: dict[Expr, tuple[float, float]] = {}
        for v, lo, extent in zip(rdom.vars, rdom.mins, rdom.extents, strict=True):
            low, size = const_int(lo), const_int(extent)
            self.extent[v] = _INF if size is None else max(size, 1)
            self.range[v] = (
                -_INF if low is None else low,
                _INF if low is None or size is None else low + size - 1,
            )


def _times(k: int, lo: float, hi: float) -> tuple[float, float]:
    if k == 0:
        return (0, 0)
    return (k * lo, k * hi) if k > 0 else (k * hi, k * lo)


def _distinct(
    write: tuple[Expr, ...], other: tuple[Expr, ...], r: Var, domain: _Domain
) -> bool:
    """Whether `write` in one iteration never equals `other` in one with another r."""
    forms = [(linear(a), linear(b)) for a, b in zip(write, other, strict=True)]
    return domain.extent[r] <= 1 or all(
        any(_never_zero(a, b, r, sign, domain) for a, b in forms) for sign in (1, -1)
    )


def _never_zero(a: Linear, b: Linear, r: Var, sign: int, domain: _Domain) -> bool:
    """Whether ``a(i) - b(i')`` cannot be 0 where ``r' - r`` has the sign given.

    Pure Vars and run-time values are the same in i and i'; reduction variables and
    what depends on them are not.
    """
    const = a.const - b.const
    parts = [
        _part(atom, a.terms.get(atom, 0), b.terms.get(atom, 0), r, sign, domain)
        for atom in dict.fromkeys((*a.terms, *b.terms, r))
    ]
    if _excludes_multiples(const, parts, None):
        return True
    # What is a multiple of m drops out: the rest must then be one, too.
    moduli = {p.divisor for p in parts if p.divisor > 1}
    moduli.add(math.gcd(*[p.divisor for p in parts]))
    return any(
        _excludes_multiples(const, [p for p in parts if p.divisor % m], m)
        for m in moduli
        if m > 1
    )


class _Part(NamedTuple):
    """One atom's share of a difference: its range, and a divisor (0 of zero)."""

    lo: float
    hi: float
    divisor: int


def _excludes_multiples(const: int, parts: Sequence[_Part], m: int | None) -> bool:
    """Whether the range of a sum holds no multiple of `m` (None: holds no zero)."""
    lo = const + sum([p.lo for p in parts])
    hi = const + sum([p.hi for p in parts])
    if m is None:
        return lo > 0 or hi < 0
    return lo > -_INF and hi < _INF and math.ceil(lo / m) * m > hi


def _part(atom: Expr, ka: int, kb: int, r: Var, sign: int, domain: _Domain) -> _Part:
    """The share ``ka * atom(i) - kb * atom(i')``."""
    both = math.gcd(ka, kb)
    if atom is r:
        # r' is r + sign * gap.
        lo, hi = _times(-kb * sign, 1, domain.extent[r] - 1)
        if ka != kb:
            more = _times(ka - kb, *domain.range[r])
            lo, hi = lo + more[0], hi + more[1]
        return _Part(lo, hi, both)
    if atom in domain.vars:
        if ka == kb:
            gap = abs(ka) * (domain.extent[atom] - 1)
            return _Part(-gap, gap, both)
        low, high = domain.range[atom]
    elif _varies(atom, domain):
        from parhelion.analysis.interval import constant_interval

        found = constant_interval(atom)
        low = -_INF if found.lo is None else found.lo
        high = _INF if found.hi is None else found.hi
    else:
        return _Part(*_times(ka - kb, -_INF, _INF), abs(ka - kb))
    one, two = _times(ka, low, high), _times(-kb, low, high)
    return _Part(one[0] + two[0], one[1] + two[1], both)


def _varies(atom: Expr, domain: _Domain) -> bool:
    """Whether an opaque subscript may differ between iterations of the update."""
    return not domain.vars.isdisjoint(free_vars(atom)) or any(
        (isinstance(n, FuncCall) and n.func is domain.function)
        or (isinstance(n, Intrinsic) and n.op == "undef")
        for n in nodes(atom)
    )
