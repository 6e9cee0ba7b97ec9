"""Linear forms: an integer expression as a constant plus multiples of atoms.

`linear(e)` sees through sums, differences, multiples and divisions whose dividend has
multiples of the divisor; whatever else it meets is an atom. It is exact arithmetic on
unlimited integers: an operation that might wrap (see `interval.tame`) is an atom too.

`build` makes the canonical expression of a form: positive terms first, each group in
the order of `rank`, terms of one coefficient gathered (`(x + y)*8`), the constant last.
"""

from __future__ import annotations

from collections.abc import Iterable

from parhelion.analysis.interval import (
    FULL,
    Get,
    Interval,
    Number,
    fact,
    interval_of,
    is_index_type,
    tame,
)
from parhelion.analysis.rank import sort_key, tree_size
from parhelion.ir.expr import Add, Div, Expr, Imm, Mul, Sub
from parhelion.types import Type


class Linear:
    """``const + sum(coefficient * atom)``. `terms` has no zero coefficients.

    Treat it as immutable: forms are cached and shared.
    """

    __slots__ = ("const", "terms")

    def __init__(self, const: int, terms: dict[Expr, int]) -> None:
        self.const = const
        self.terms = terms

    def __add__(self, other: Linear) -> Linear:
        return self.plus(other, 1)

    def __sub__(self, other: Linear) -> Linear:
        return self.plus(other, -1)

    def plus(self, other: Linear, k: int = 1) -> Linear:
        """self + k * other"""
        terms = dict(self.terms)
        for atom, c in other.terms.items():
            total = terms.get(atom, 0) + k * c
            if total:
                terms[atom] = total
            else:
                terms.pop(atom, None)
        return Linear(self.const + k * other.const, terms)

    def scaled(self, k: int) -> Linear:
        if k == 0:
            return Linear(0, {})
        return Linear(self.const * k, {a: c * k for a, c in self.terms.items()})

    def shifted(self, k: int) -> Linear:
        """self + k"""
        return Linear(self.const + k, self.terms)

    def without(self, atom: Expr) -> Linear:
        """This form less the terms of one atom."""
        return Linear(
            self.const, {a: c for a, c in self.terms.items() if a is not atom}
        )

    def is_const(self) -> bool:
        return not self.terms

    def same(self, other: Linear) -> bool:
        return self.const == other.const and self.terms == other.terms

    def interval(self) -> Interval:
        """Constant bounds, each atom taken by itself."""
        return sum_interval(self, fact)

    def __repr__(self) -> str:
        return f"Linear({self.const}, {self.terms})"


def sum_interval(form: Linear, get: Get) -> Interval:
    """Constant bounds of a form, each atom taken by itself as `get` tells of it."""
    lo: Number | None = form.const
    hi: Number | None = form.const
    for atom, k in form.terms.items():
        least, most = get(atom)[0]
        if k < 0:
            least, most = most, least
        lo = None if lo is None or least is None else lo + least * k
        hi = None if hi is None or most is None else hi + most * k
        if lo is None and hi is None:
            return FULL
    return interval_of((lo, hi))


def least_of_sum(
    form: Linear, k: int, other: Linear, times: int, get: Get
) -> Number | None:
    """The least that k * form + times * other can be, as `sum_interval` tells, None if
    that is unbounded; the sum is not made for it."""
    found: Number = k * form.const + times * other.const
    mine, theirs = form.terms, other.terms
    for atom, c in mine.items():
        total = k * c + times * theirs.get(atom, 0)
        if total:
            bound = get(atom)[0][total < 0]
            if bound is None:
                return None
            found += bound * total
    for atom, c in theirs.items():
        if atom not in mine:
            total = times * c
            bound = get(atom)[0][total < 0]
            if bound is None:
                return None
            found += bound * total
    return found


_set_linear = Expr._linear.__set__  # type: ignore[attr-defined]


#: In place of the form of a node that was found to be an atom.
_ATOM = Linear(0, {})


def linear(e: Expr) -> Linear:
    """The linear form of an integer expression (cached on it)."""
    try:
        known: Linear = e._linear  # type: ignore[attr-defined]
    except AttributeError:
        known = _find_linear(e)
        _set_linear(e, known)
    return known if known is not _ATOM else Linear(0, {e: 1})


def add_linear(terms: dict[Expr, int], e: Expr, k: int) -> int:
    """Adds the terms of `k` times an integer expression to `terms`, where some may come
    to zero; returns its constant."""
    try:
        form: Linear = e._linear  # type: ignore[attr-defined]
    except AttributeError:
        form = _find_linear(e)
        _set_linear(e, form)
    if form is _ATOM:
        terms[e] = terms.get(e, 0) + k
        return 0
    for atom, c in form.terms.items():
        terms[atom] = terms.get(atom, 0) + k * c
    return k * form.const


def _find_linear(e: Expr) -> Linear:
    """The form of an expression; `_ATOM` in place of one that would hold the node
    itself."""
    kind = type(e)
    if kind is Imm:
        return Linear(e.value, {})  # type: ignore[attr-defined]
    if kind is Add or kind is Sub:
        if e.type.count == 1 and e.type.is_int_or_uint() and tame(e):
            p, q = e.a, e.b  # type: ignore[attr-defined]
            if type(q) is Imm:
                return linear(p).shifted(q.value if kind is Add else -q.value)
            return linear(p).plus(linear(q), 1 if kind is Add else -1)
    elif kind is Mul:
        if e.type.count == 1 and e.type.is_int_or_uint() and tame(e):
            a, b = linear(e.a), linear(e.b)  # type: ignore[attr-defined]
            if not b.terms:
                return a.scaled(b.const)
            if not a.terms:
                return b.scaled(a.const)
    elif kind is Div:
        return _split_div(e) or _ATOM  # type: ignore[arg-type]
    return _ATOM


def _split_div(e: Div) -> Linear | None:
    """``(8*x + y + 13)/4`` as ``2*x + (y + 1)/4 + 3``; None if nothing comes out."""
    d = e.b
    if type(d) is not Imm or d.value <= 1 or e.a.type.count > 1 or not tame(e.a):
        return None
    k = d.value
    inner = linear(e.a)
    out = {a: c // k for a, c in inner.terms.items() if c % k == 0}
    quotient = inner.const // k
    if not out and not quotient:
        return None
    rest = Linear(
        inner.const - quotient * k, {a: c for a, c in inner.terms.items() if c % k}
    )
    if not rest.terms:
        return Linear(quotient, out)
    dividend = built(rest, e.a.type)
    if dividend is None:
        return None
    atom = Div(dividend, d)
    total = out.get(atom, 0) + 1
    if total:
        out[atom] = total
    else:
        del out[atom]
    return Linear(quotient, out)


def linear_sum(parts: Iterable[tuple[Expr, int]]) -> Linear:
    """The form of a sum of multiples of expressions."""
    total = Linear(0, {})
    for e, k in parts:
        total = total.plus(linear(e), k)
    return total


def difference(a: Expr, b: Expr) -> Linear:
    """The form of ``a - b``."""
    return linear(a) - linear(b)


def form_size(form: Linear) -> int:
    """Nodes of the expression that `build` makes (not less; without making it)."""
    total = -1
    sizes: set[int] = set()
    positive = False
    for atom, k in form.terms.items():
        total += 1 + tree_size(atom)
        positive = positive or k > 0
        sizes.add(k if k > 0 else -k)
    if form.const:
        total += 2
    elif not positive:
        total += 2 if sizes == {1} else 0
    # One multiplication for all terms of a coefficient.
    return total + 2 * (len(sizes) - (1 in sizes))


def build(form: Linear, t: Type) -> Expr:
    """The canonical expression of a form, of scalar integer type `t`.

    Constants are wrapped to the type, which a form of tame expressions never needs.
    """
    absorbed = _absorb(form, t)
    terms, const = absorbed if absorbed is not None else (form.terms, form.const)
    if not terms:
        return Imm(t, t.wrap(const))
    if len(terms) == 1:
        ((atom, c),) = terms.items()
        if c > 0 and (const >= 0 or t.is_int()):
            only = atom if c == 1 else Mul(atom, Imm(t, t.wrap(c)))
            return only if const == 0 else Add(only, Imm(t, t.wrap(const)))
    groups: dict[int, list[Expr]] = {}
    for atom, c in terms.items():
        groups.setdefault(abs(c), []).append(atom)
    plus: list[tuple[Expr, Expr]] = []
    minus: list[tuple[Expr, Expr]] = []
    for k, atoms in groups.items():
        if len(atoms) > 1:
            atoms.sort(key=sort_key)
        if k == 1 or len(atoms) == 1:
            for atom in atoms:
                made = atom if k == 1 else Mul(atom, Imm(t, t.wrap(k)))
                (plus if terms[atom] > 0 else minus).append((atom, made))
        else:
            signs = {a: terms[a] // k for a in atoms}
            first = next((a for a in atoms if signs[a] > 0), atoms[0])
            flip = signs[first] < 0
            inner = _chain(
                [a for a in atoms if (signs[a] > 0) is not flip],
                [a for a in atoms if (signs[a] > 0) is flip],
            )
            made = Mul(inner, Imm(t, t.wrap(k)))
            (minus if flip else plus).append((first, made))
    plus.sort(key=_by_atom)
    minus.sort(key=_by_atom)
    adds = [e for _, e in plus]
    subs = [e for _, e in minus]
    if not adds:
        # 5 - x - y; or x*-3 - y, which saves the zero.
        lead = next((e for e in subs if type(e) is Mul and type(e.b) is Imm), None)
        if const == 0 and lead is not None and t.is_int():
            assert type(lead) is Mul and type(lead.b) is Imm
            subs.remove(lead)
            return _chain([Mul(lead.a, Imm(t, t.wrap(-lead.b.value)))], subs)
        return _chain([Imm(t, t.wrap(const))], subs)
    made = _chain(adds, subs)
    if const == 0:
        return made
    if const < 0 and t.is_uint():
        return Sub(made, Imm(t, t.wrap(-const)))
    return Add(made, Imm(t, t.wrap(const)))


def built(form: Linear, t: Type) -> Expr | None:
    """`build`, or None where a sum in the result might wrap, so that the expression
    would not stand for the form: constants that do not fit, differences of unsigned
    atoms, sums of 32-bit pixels."""
    made = build(form, t)
    if form.const == 0 and form.terms.get(made) == 1 and len(form.terms) == 1:
        return made
    if not is_index_type(t):
        return made if linear(made).same(form) else None
    # Index arithmetic is tame as a whole or not at all.
    if not tame(made) or not t.can_represent(form.const):
        return None
    if type(made) is not Imm:
        _set_linear(made, form)
    return made


def _by_atom(pair: tuple[Expr, Expr]) -> tuple[int, str, int]:
    return sort_key(pair[0])


def _chain(adds: list[Expr], subs: list[Expr]) -> Expr:
    made = adds[0]
    for e in adds[1:]:
        made = Add(made, e)
    for e in subs:
        made = Sub(made, e)
    return made


def _absorb(form: Linear, t: Type) -> tuple[dict[Expr, int], int] | None:
    """Moves the constant into a division that has one: ``(x + 1)/4 + 3`` is
    ``(x + 13)/4``, two nodes less. None where there is none."""
    if form.const == 0:
        return None
    best: Div | None = None
    for atom, c in form.terms.items():
        if (
            type(atom) is Div
            and form.const % c == 0
            and type(atom.b) is Imm
            and atom.b.value > 1
            and tame(atom.a)
            and linear(atom.a).const != 0
            and (best is None or sort_key(atom) < sort_key(best))
        ):
            best = atom
    if best is None:
        return None
    divisor = best.b
    assert type(divisor) is Imm
    inner = linear(best.a)
    shift = form.const // form.terms[best] * divisor.value
    if not t.can_represent(inner.const + shift):
        return None
    wider = Div(build(inner.shifted(shift), t), divisor)
    return {wider if a is best else a: c for a, c in form.terms.items()}, 0
