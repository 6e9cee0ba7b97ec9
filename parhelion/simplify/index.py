"""Index arithmetic: sums, quotients and remainders as linear forms.

Each function takes a node whose children are simplified already and returns what it
becomes, or None where it has nothing to say. All of it reasons on unlimited integers,
so the functions apply to tame scalar nodes only (`analysis.interval`).
"""

from __future__ import annotations

from math import gcd

from parhelion.analysis.interval import is_index_type, tame
from parhelion.analysis.linear import Linear, built, difference, form_size, linear
from parhelion.analysis.modulus import alignment
from parhelion.analysis.rank import reads_data, tree_size
from parhelion.ir.expr import Add, Div, Expr, Imm, Max, Min, Mod, Mul, Sub, Var
from parhelion.simplify.engine import Engine, form_interval
from parhelion.types import Type


def is_index(n: Expr) -> bool:
    """Whether `n` is index arithmetic: tame, scalar, 32 or 64 bits, no pixel data.

    Sums of pixels keep the user's association: regrouping them could undo sharing.
    """
    t = n.type
    return t.count == 1 and is_index_type(t) and tame(n) and not reads_data(n)


def sum_form(s: Engine, n: Add | Sub | Mul) -> Expr | None:
    """The canonical sum."""
    made = normal_sum(s, linear(n), n.a.type)
    return None if made is n else made


def normal_sum(s: Engine, form: Linear, t: Type) -> Expr | None:
    """The canonical sum of a form; None if it might wrap."""
    if len(form.terms) > 1 or any(k < 0 for k in form.terms.values()):
        form = improved(s, form, t)
    return built(form, t)


def improved(s: Engine, form: Linear, t: Type) -> Linear:
    """The form with quotients, choices and lets that cancel taken out."""
    while True:
        better = _better(s, form, t)
        if better is None:
            return form
        form = better


def _cost(form: Linear) -> tuple[int, int]:
    return form_size(form), len(form.terms)


def _better(s: Engine, form: Linear, t: Type) -> Linear | None:
    """A form of the same value that is smaller, or as small with fewer terms."""
    made = opened(form)
    if made is not form:
        return made
    special = [a for a in form.terms if type(a) in _SPECIAL]
    if not special:
        return None
    cost: tuple[int, int] | None = None
    for i, atom in enumerate(special):
        k = form.terms[atom]
        kind = type(atom)
        if kind is Div or kind is Mod:
            other = _by_remainder(s, form, atom, k)
        elif kind is Mul:
            other = _factored(s, form, atom, special[i + 1 :], t)
        else:
            for partner in special[i + 1 :]:
                if type(partner) is not Min and type(partner) is not Max:
                    continue
                pair = _cancelled(form, atom, partner)
                if pair is not None:
                    return pair
            other = _distributed(s, form, atom, k, t)
        if other is not None:
            cost = cost or _cost(form)
            if _cost(other) < cost:
                return other
    return None


_SPECIAL = (Div, Mod, Min, Max, Mul)


def _factored(
    s: Engine, form: Linear, atom: Expr, others: list[Expr], t: Type
) -> Linear | None:
    """``x*y - x*z`` as ``x*(y - z)``, for products of which neither is constant."""
    assert isinstance(atom, Mul)
    k = form.terms[atom]
    for other in others:
        if not isinstance(other, Mul) or abs(form.terms[other]) != abs(k):
            continue
        sign = 1 if form.terms[other] == k else -1
        for x, y in ((atom.a, atom.b), (atom.b, atom.a)):
            z = other.b if other.a is x else other.a if other.b is x else None
            if z is None:
                continue
            inner = built(linear(y).plus(linear(z), sign), t)
            if inner is not None:
                product = linear(s.go(Mul(x, inner)))
                return form.without(atom).without(other).plus(product, k)
    return None


def opened(form: Linear) -> Linear:
    """Replaces lets by their values where terms then cancel: ``last - first + 1``."""
    terms = form.terms
    values: dict[Expr, Linear] = {}
    for atom in terms:
        if type(atom) is Var and atom.value is not None:
            value = atom.value
            if value.type is atom.type and tame(value) and not reads_data(value):
                values[atom] = linear(value)
    if not values:
        return form
    cost: tuple[int, int] | None = None
    names = list(values)
    for i, p in enumerate(names):
        inner = values[p]
        for q in names[i:]:
            # Something must cancel, or the result would not be smaller.
            others = terms if q is p else values[q].terms
            if inner.terms.keys().isdisjoint(others) and inner.terms:
                continue
            made = form.without(p).plus(inner, terms[p])
            if q is not p:
                made = made.without(q).plus(values[q], terms[q])
            if len(made.terms) > len(terms):
                continue
            cost = cost or _cost(form)
            if _cost(made) < cost:
                return opened(made)
    return form


def _by_remainder(s: Engine, form: Linear, atom: Expr, k: int) -> Linear | None:
    """Uses ``x == x/c*c + x%c`` to trade a quotient for a remainder or back."""
    assert isinstance(atom, Div | Mod)
    c = atom.b
    if type(c) is not Imm or c.value <= 1 or not tame(atom.a):
        return None
    rest = form.without(atom)
    if type(atom) is Mod:
        inner = linear(atom.a)
        quotient = linear(s.go(Div(atom.a, c)))
        return rest.plus(inner, k).plus(quotient, -k * c.value)
    if k < 0 and all(v < 0 for v in linear(atom.a).terms.values()):
        # -((5 - x)/8) is (x + 2)/8.
        ceiling = built(linear(atom.a).scaled(-1).shifted(c.value - 1), c.type)
        if ceiling is not None:
            return rest.plus(linear(s.go(Div(ceiling, c))), -k)
    if k % c.value:
        return None
    # With the constant that `linear` took out of the division put back, if that
    # makes the dividend a sum that occurs here.
    q = k // c.value
    inner = linear(atom.a)
    if inner.terms.keys().isdisjoint(rest.terms):
        return None
    remainder = linear(s.go(Mod(atom.a, c)))
    return rest.plus(inner, q).plus(remainder, -q)


def _cancelled(form: Linear, p: Expr, q: Expr) -> Linear | None:
    """``min(a, b) - min(c, d)`` where a - c equals b - d; ``min + max`` of one pair."""
    assert isinstance(p, Min | Max) and isinstance(q, Min | Max)
    k = form.terms[p]
    if type(p) is type(q):
        if form.terms[q] != -k:
            return None
        for c, d in ((q.a, q.b), (q.b, q.a)):
            first = difference(p.a, c)
            if first.same(difference(p.b, d)):
                return form.without(p).without(q).plus(first, k)
        return None
    if form.terms[q] == k and {p.a, p.b} == {q.a, q.b}:
        total = linear(p.a) + linear(p.b)
        return form.without(p).without(q).plus(total, k)
    return None


def _distributed(s: Engine, form: Linear, atom: Expr, k: int, t: Type) -> Linear | None:
    """``min(x + 3, y) - x`` as ``min(y - x, 3)``: moves in the terms that cancel."""
    assert isinstance(atom, Min | Max)
    if len(form.terms) == 1:
        # `order.extremum` pulls constants out of choices.
        return None
    a, b = linear(atom.a), linear(atom.b)
    moved: dict[Expr, int] = {}
    for other, c in form.terms.items():
        if other is not atom and c % k == 0:
            at = -c // k
            if a.terms.get(other) == at or b.terms.get(other) == at:
                moved[other] = c // k
    const = 0
    if form.const and form.const % k == 0 and -form.const // k in (a.const, b.const):
        const = form.const // k
    if not moved and not const:
        return None
    shift = Linear(const, moved)
    p, q = built(a + shift, t), built(b + shift, t)
    if p is None or q is None:
        return None
    made = s.go(type(atom)(p, q))
    rest = form.without(atom).plus(shift, -k)
    return rest.plus(linear(made), k)


def quotient(s: Engine, n: Div) -> Expr | None:
    """Division of a tame dividend by a constant above 1."""
    d = n.b
    if type(d) is not Imm or d.value <= 1 or not tame(n.a):
        return None
    t = n.a.type
    form = linear(n)
    if not (len(form.terms) == 1 and form.const == 0 and form.terms.get(n) == 1):
        made = built(form, t)
        if made is not None and made is not n and tree_size(made) <= tree_size(n):
            return made
    inner, k = linear(n.a), d.value
    # x/3/4 is x/12; (x/3 + 2)/4 is (x + 6)/12.
    if len(inner.terms) == 1:
        (atom, c), *_ = inner.terms.items()
        if c == 1 and type(atom) is Div and type(atom.b) is Imm and tame(atom.a):
            e = atom.b.value
            if e > 1 and t.can_represent(e * k):
                total = built(linear(atom.a).shifted(inner.const * e), t)
                if total is not None:
                    return Div(total, Imm(t, e * k))
    parts = _split(s, inner, k)
    if parts is None:
        return None
    g, whole, _ = parts
    dividend = built(whole, t)
    if g == k or dividend is None:
        return dividend
    made = Div(dividend, Imm(t, k // g))
    return made if tree_size(made) < tree_size(n) else None


def _split(s: Engine, inner: Linear, d: int) -> tuple[int, Linear, Linear] | None:
    """`inner` as ``g*whole + rest`` with 0 <= rest < g, for the largest g that
    divides d. None if there is none above 1."""
    for g in sorted({gcd(c, d) for c in inner.terms.values()} | {d}, reverse=True):
        if g <= 1:
            return None
        rest = Linear(inner.const, {a: c for a, c in inner.terms.items() if c % g})
        lo, hi = form_interval(rest, s.facts)
        if lo is None or hi is None or lo // g != hi // g:
            continue
        q = int(lo // g)
        whole = Linear(q, {a: c // g for a, c in inner.terms.items() if c % g == 0})
        return g, whole, rest.shifted(-q * g)
    return None


def remainder(s: Engine, n: Mod) -> Expr | None:
    """Remainder of a tame dividend by a constant above 1."""
    d = n.b
    if type(d) is not Imm or d.value <= 1 or not tame(n.a):
        return None
    t, k = n.a.type, d.value
    inner = linear(n.a)
    reduced = Linear(inner.const % k, {})
    for atom, c in inner.terms.items():
        c = c if -k < c < k else c % k
        if not c:
            continue
        if type(atom) is Mod and type(atom.b) is Imm and atom.b.value % k == 0:
            # (x % 16 + y) % 8 is (x + y) % 8.
            if atom.b.value > 0 and tame(atom.a):
                reduced = reduced.plus(linear(atom.a), c)
                continue
        reduced = reduced.plus(Linear(0, {atom: c}))
    reduced = Linear(reduced.const % k, reduced.terms)
    m, r = 0, reduced.const
    for atom, c in reduced.terms.items():
        am, ar = alignment(atom)
        m, r = gcd(m, am * c), r + ar * c
    if m % k == 0:
        return Imm(t, r % k)
    parts = _split(s, reduced, k)
    if parts is not None:
        g, whole, rest = parts
        if g == k:
            return built(rest, t)
        dividend = built(whole, t)
        if dividend is not None:
            high = s.go(Mod(dividend, Imm(t, k // g)))
            made = built(linear(high).scaled(g) + rest, t)
            if made is not None and tree_size(made) <= tree_size(n):
                return made
    if not reduced.same(inner):
        dividend = built(reduced, t)
        if dividend is not None and tree_size(dividend) <= tree_size(n.a):
            return Mod(dividend, d) if dividend is not n.a else None
    return None
