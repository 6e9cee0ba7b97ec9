"""Comparisons, minima and maxima of integers, by the linear form of a difference.

As in `index`, each function takes a node with simplified children and returns what it
becomes, or None. Forms are exact, so all of this serves every integer type; sides are
rearranged for index arithmetic only.
"""

from __future__ import annotations

from math import gcd

from parhelion.analysis.facts import unmarked
from parhelion.analysis.interval import tame
from parhelion.analysis.linear import Linear, built, linear
from parhelion.analysis.modulus import alignment
from parhelion.analysis.rank import reads_data, sort_key, tree_size
from parhelion.ir.build import FALSE, TRUE, imm
from parhelion.ir.expr import (
    EQ,
    LE,
    LT,
    NE,
    And,
    Broadcast,
    Div,
    Expr,
    Imm,
    Intrinsic,
    Max,
    Min,
    Not,
    Or,
    Ramp,
    Select,
)
from parhelion.simplify.engine import Engine, form_interval, known_sign
from parhelion.simplify.index import opened
from parhelion.types import Type


def plain(form: Linear) -> Linear:
    """The form with `likely` marks around atoms dropped."""
    if all(unmarked(a) is a for a in form.terms):
        return form
    total = Linear(form.const, {})
    for atom, k in form.terms.items():
        inner = unmarked(atom)
        part = Linear(0, {atom: 1}) if inner is atom else plain(linear(inner))
        total = total.plus(part, k)
    return total


def _truth(n: Expr, value: bool) -> Expr:
    return imm(value, n.type)


def inequality(s: Engine, n: LT | LE) -> Expr | None:
    """``a < b`` or ``a <= b`` of integer scalars."""
    form = linear(n.b) - linear(n.a)
    if type(n) is LT:
        form = form.shifted(-1)
    t = n.a.type
    if not reads_data(n) and len(form.terms) > 1:
        form = opened(form)
    known = decide(s, plain(form))
    if known is not None:
        return TRUE if known else FALSE
    if not form.terms:
        return None
    bare = plain(form)
    if len(bare.terms) < len(form.terms):
        # likely(x + z) < z + 5 is likely(x < 5).
        mark = next(a for a in form.terms if unmarked(a) is not a)
        made = at_least_zero(bare, t)
        return None if made is None else marked_like(mark, made)
    reduced = _split_choice(s, form, t) or _unscaled(form, t)
    if reduced is None:
        return None
    if isinstance(reduced, Expr):
        return reduced
    made = at_least_zero(reduced, t)
    return _accept(n, made)


def _accept(n: LT | LE | EQ | NE, made: Expr | None) -> Expr | None:
    """`made`, if rearranging `n` into it is right and good."""
    if made is None or made is n:
        return None
    assert isinstance(made, LT | LE | EQ | NE)
    if tree_size(made) > tree_size(n):
        return None
    if reads_data(n) and tree_size(made) == tree_size(n):
        return None
    return made


def decide(s: Engine, form: Linear) -> bool | None:
    """Whether ``form >= 0``, looking through one minimum or maximum."""
    known = known_sign(form, s.facts)
    if known is not None:
        return known
    for atom, k in form.terms.items():
        if type(atom) is not Min and type(atom) is not Max:
            continue
        rest = form.without(atom)
        a = known_sign(rest.plus(plain(linear(atom.a)), k), s.facts)
        b = known_sign(rest.plus(plain(linear(atom.b)), k), s.facts)
        if (type(atom) is Min) is (k > 0):  # both must hold
            if a and b:
                return True
            if a is False or b is False:
                return False
        else:
            if a or b:
                return True
            if a is False and b is False:
                return False
    return None


def _split_choice(s: Engine, form: Linear, t: Type) -> Linear | Expr | None:
    """Drops the branch of a min, max or select that cannot decide ``form >= 0``."""
    for atom, k in form.terms.items():
        kind = type(atom)
        if kind is Min or kind is Max:
            rest = form.without(atom)
            first = rest.plus(linear(atom.a), k)  # type: ignore[attr-defined]
            other = rest.plus(linear(atom.b), k)  # type: ignore[attr-defined]
            both = (kind is Min) is (k > 0)
            for p, q in ((first, other), (other, first)):
                if known_sign(plain(p), s.facts) is both:
                    return q
        elif kind is Select and atom.cond.type.count == 1:  # type: ignore[attr-defined]
            assert isinstance(atom, Select)
            rest = form.without(atom)
            a = known_sign(rest.plus(plain(linear(atom.a)), k), s.facts)
            b = known_sign(rest.plus(plain(linear(atom.b)), k), s.facts)
            if a is not None and b is not None and a is not b:
                return atom.cond if a else Not(atom.cond)
    return None


def _unscaled(form: Linear, t: Type) -> Linear:
    """An equivalent of ``form >= 0``: common factors and divisions taken out."""
    g = gcd(*form.terms.values())
    if g > 1:
        form = Linear(form.const // g, {a: c // g for a, c in form.terms.items()})
    best, size = form, -1
    for atom, k in form.terms.items():
        if type(atom) is not Div or abs(k) != 1:
            continue
        d = atom.b
        if type(d) is not Imm or d.value <= 1 or not tame(atom.a):
            continue
        rest = form.without(atom).scaled(d.value)
        inner = linear(atom.a)
        # x/d >= -rest is x >= -rest*d;  x/d <= rest is x <= rest*d + d - 1.
        made = rest + inner if k > 0 else (rest - inner).shifted(d.value - 1)
        if size < 0:
            old = at_least_zero(form, t)
            size = tree_size(old) if old is not None else 1 << 30
        new = at_least_zero(made, t)
        if new is not None and tree_size(new) <= size:
            best, size = made, tree_size(new)
    return best if best is form else _unscaled(best, t)


def at_least_zero(form: Linear, t: Type) -> Expr | None:
    """The canonical comparison for ``form >= 0``; None if a side might wrap.

    One-sided: ``x < 8``, ``8 <= x``. Otherwise the constant is on the right, and of
    < and <= the one with the smaller constant.
    """
    if not form.terms:
        return TRUE if form.const >= 0 else FALSE
    more = {a: k for a, k in form.terms.items() if k > 0}
    less = {a: -k for a, k in form.terms.items() if k < 0}
    c = form.const
    if not less:
        return _sides(LE, Linear(-c, {}), Linear(0, more), t)
    if not more:
        return _sides(LT, Linear(0, less), Linear(c + 1, {}), t)
    if c >= 0:
        return _sides(LE, Linear(0, less), Linear(c, more), t)
    if t.is_uint():
        return _sides(LT, Linear(-c - 1, less), Linear(0, more), t)
    return _sides(LT, Linear(0, less), Linear(c + 1, more), t)


_Comparison = type[LT] | type[LE] | type[EQ] | type[NE]


def _sides(kind: _Comparison, a: Linear, b: Linear, t: Type) -> Expr | None:
    left, right = built(a, t), built(b, t)
    return None if left is None or right is None else kind(left, right)


def equality(s: Engine, n: EQ | NE) -> Expr | None:
    """``a == b`` or ``a != b`` of integer scalars."""
    is_eq = type(n) is EQ
    form = linear(n.b) - linear(n.a)
    t = n.a.type
    if not reads_data(n) and len(form.terms) > 1:
        form = opened(form)
    bare = plain(form)
    lo, hi = form_interval(bare, s.facts)
    if lo == 0 and hi == 0:
        return _truth(n, is_eq)
    if (lo is not None and lo > 0) or (hi is not None and hi < 0):
        return _truth(n, not is_eq)
    m, r = 0, bare.const
    for atom, k in bare.terms.items():
        am, ar = alignment(atom)
        m, r = gcd(m, am * k), r + ar * k
    if m > 1 and r % m:
        return _truth(n, not is_eq)
    if known_sign(bare.shifted(-1), s.facts) is True:
        return _truth(n, not is_eq)
    if known_sign(bare, s.facts) is False:
        return _truth(n, not is_eq)
    if not form.terms:
        return None
    g = gcd(*form.terms.values())
    if form.const % g:
        return _truth(n, not is_eq)
    if g > 1:
        form = Linear(form.const // g, {a: k // g for a, k in form.terms.items()})
    first = min(form.terms, key=sort_key)
    if form.terms[first] < 0:
        form = form.scaled(-1)
    left = {a: k for a, k in form.terms.items() if k > 0}
    right = {a: -k for a, k in form.terms.items() if k < 0}
    if t.is_uint() and form.const > 0:
        made = _sides(type(n), Linear(form.const, left), Linear(0, right), t)
    else:
        made = _sides(type(n), Linear(0, left), Linear(-form.const, right), t)
    return _accept(n, made)


def extremum(s: Engine, n: Min | Max) -> Expr | None:
    """A minimum or maximum of integer scalars."""
    kind = type(n)
    first, second = _flat(kind, n.a), _flat(kind, n.b)
    kept = _undominated(s, kind, first, second)
    if len(kept) == 1:
        return unmarked(kept[0])
    if len(first) + len(second) == 2:
        return _pulled(s, n)
    made = s.chain(kind, sorted(kept, key=sort_key))
    return None if made is n else made


def _flat(kind: type[Expr], n: Expr) -> list[Expr]:
    """The operands of a chain of one operation, each once, from left to right."""
    found: dict[Expr, None] = {}
    seen: set[Expr] = set()
    stack = [n]
    while stack:
        e = stack.pop()
        if type(e) is not kind:
            found[e] = None
        elif e not in seen:
            seen.add(e)
            stack += (e.b, e.a)  # type: ignore[attr-defined]
    return list(found)


def _folded(kind: type[And | Or], items: list[Expr]) -> Expr:
    made = items[0]
    for e in items[1:]:
        made = kind(made, e)
    return made


class _Operand:
    """An operand of a minimum or maximum: its form, and what it lies between.

    pixels: the pixel data that `decide` would look at; None if there is anything else
    in it, of which more may be known than constant bounds.
    """

    __slots__ = ("form", "interval", "pixels")

    def __init__(self, s: Engine, e: Expr) -> None:
        self.form = plain(linear(e))
        self.interval = form_interval(self.form, s.facts)
        self.pixels: set[Expr] | None = set(self.form.terms)
        for atom in self.form.terms:
            if type(atom) is Min or type(atom) is Max:
                for side in (atom.a, atom.b):
                    self.pixels |= plain(linear(side)).terms.keys()
        if not all(map(reads_data, self.pixels)):
            self.pixels = None

    def exceeds(self, s: Engine, other: _Operand) -> bool | None:
        """Whether it is certainly at least the other."""
        if self.pixels is not None and other.pixels is not None:
            if self.pixels.isdisjoint(other.pixels):
                lo, hi = self.interval.lo, other.interval.hi
                return lo is not None and hi is not None and lo >= hi
        return decide(s, opened(self.form - other.form))


def _undominated(
    s: Engine, kind: type[Expr], first: list[Expr], second: list[Expr]
) -> list[Expr]:
    """The operands that can be the result.

    first, second: those of the two sides. Within a side none makes another needless,
    for it is simplified: only pairs across are compared.
    """
    if len(first) < len(second):
        first, second = second, first
    rivals = {e: _Operand(s, e) for e in first}
    added: list[Expr] = []
    for e in second:
        if e in rivals:
            continue
        one = _Operand(s, e)
        for other, rival in list(rivals.items()):
            low, high = (rival, one) if kind is Min else (one, rival)
            if high.exceeds(s, low):
                break  # the other is always at least as good
            if low.exceeds(s, high):
                del rivals[other]
        else:
            added.append(e)
    return [*rivals, *added]


def _pulled(s: Engine, n: Min | Max) -> Expr | None:
    """``min(x + z, y + z)`` as ``min(x, y) + z``; common factors likewise.

    A `likely` mark stays on its operand: what both sides share says nothing about
    which of them is taken.
    """
    inner_a, inner_b = unmarked(n.a), unmarked(n.b)
    if not (tame(inner_a) and tame(inner_b)):
        return None
    a, b = linear(inner_a), linear(inner_b)
    made: Expr | None
    common = {x: k for x, k in a.terms.items() if b.terms.get(x) == k}
    const = a.const if a.const and b.const else 0
    if const and b.terms and (not a.terms or abs(b.const) < abs(a.const)):
        const = b.const
    if not a.terms or not b.terms:
        # min(x + 3, 10) is min(x, 7) + 3.
        const = a.const if a.terms else b.const
    if common or const:
        shift = Linear(const, common)
        made = _rebuilt(s, n, type(n), a - shift, b - shift, 1, shift)
        if made is not None and tree_size(made) <= tree_size(n):
            return made
    if not a.terms or not b.terms:
        return None
    g = gcd(a.const, b.const, *a.terms.values(), *b.terms.values())
    negative = all(k < 0 for k in (*a.terms.values(), *b.terms.values()))
    if g > 1 or negative:
        kind: type[Min] | type[Max] = type(n)
        if negative:
            g = -g
            kind = Max if kind is Min else Min
        nothing = Linear(0, {})
        made = _rebuilt(s, n, kind, _divided(a, g), _divided(b, g), g, nothing)
        if made is not None and tree_size(made) < tree_size(n):
            return made
    return None


def _rebuilt(
    s: Engine,
    n: Min | Max,
    kind: type[Min] | type[Max],
    a: Linear,
    b: Linear,
    factor: int,
    shift: Linear,
) -> Expr | None:
    """``kind(a, b)*factor + shift`` with the marks of `n`, if no part might wrap."""
    t = n.a.type
    p, q = built(a, t), built(b, t)
    if p is None or q is None:
        return None
    choice = kind(marked_like(n.a, p), marked_like(n.b, q))
    return built(linear(s.go(choice)).scaled(factor) + shift, t)


def marked_like(old: Expr, new: Expr) -> Expr:
    """`new` with the `likely` marks that are around `old`."""
    if type(old) is Intrinsic and unmarked(old) is not old:
        return Intrinsic(new.type, old.op, (marked_like(old.args[0], new),))
    return new


def _divided(form: Linear, g: int) -> Linear:
    return Linear(form.const // g, {a: k // g for a, k in form.terms.items()})


def lane_difference(n: LT | LE | Min | Max) -> tuple[Linear, Linear] | None:
    """``b - a`` in the first and last lane, if it is linear in the lanes between."""
    first, step = Linear(0, {}), 0
    for e, sign in ((n.b, 1), (n.a, -1)):
        if type(e) is Ramp and type(e.stride) is Imm:
            if not tame(e):
                return None
            first = first.plus(linear(e.base), sign)
            step += sign * e.stride.value
        elif type(e) is Broadcast and e.value.type.count == 1:
            first = first.plus(linear(e.value), sign)
        else:
            return None
    return first, first.shifted(step * (n.a.type.count - 1))


def lanes_inequality(s: Engine, n: LT | LE) -> Expr | None:
    """A comparison of ramps and broadcasts that is the same in all lanes."""
    ends = lane_difference(n)
    if ends is None:
        return None
    if type(n) is LT:
        ends = ends[0].shifted(-1), ends[1].shifted(-1)
    first = decide(s, opened(plain(ends[0])))
    if first is None or decide(s, opened(plain(ends[1]))) is not first:
        return None
    return imm(first, n.type)


def lanes_extremum(s: Engine, n: Min | Max) -> Expr | None:
    """A minimum or maximum of ramps and broadcasts that is one of them throughout."""
    ends = lane_difference(n)
    if ends is None:
        return None
    p, q = (opened(plain(end)) for end in ends)
    low, high = (n.a, n.b) if type(n) is Min else (n.b, n.a)
    if decide(s, p) and decide(s, q):
        return unmarked(low)
    if decide(s, p.scaled(-1)) and decide(s, q.scaled(-1)):
        return unmarked(high)
    return None


def conjunction(s: Engine, n: And) -> Expr | None:
    """``a and b``: conditions that others of the chain imply or contradict."""
    return _junction(s, n, And)


def disjunction(s: Engine, n: Or) -> Expr | None:
    """``a or b``, dually."""
    return _junction(s, n, Or)


def _junction(s: Engine, n: And | Or, kind: type[And] | type[Or]) -> Expr | None:
    """Among inequalities of one linear form only the tightest (loosest) counts.

    Each side is simplified, so only pairs across are compared.
    """
    first, second = _flat(kind, n.a), _flat(kind, n.b)
    rivals = {e: _inequality_form(e) for e in first}
    added: list[Expr] = []
    for e in second:
        if e in rivals:
            continue
        form = _inequality_form(e)
        drop = False
        for other, rival in list(rivals.items()):
            if form is None or rival is None:
                continue
            gap = form - rival
            if not gap.terms:
                # e implies the other where it is the smaller form.
                if (gap.const >= 0) is (kind is And):
                    drop = True
                    break
                del rivals[other]
                continue
            total = form + rival
            if not total.terms:
                if kind is And and total.const < 0:
                    return FALSE
                if kind is Or and total.const >= -1:
                    return TRUE
        if not drop:
            added.append(e)
    if len(rivals) + len(added) == len(first) + len(second):
        return None
    return _folded(kind, [*rivals, *added])


def _inequality_form(e: Expr) -> Linear | None:
    """`form` for a comparison that says ``form >= 0``."""
    e = unmarked(e)
    if type(e) is not LT and type(e) is not LE:
        return None
    t = e.a.type
    if t.count > 1 or not t.is_int_or_uint():
        return None
    form = plain(linear(e.b) - linear(e.a))
    return form.shifted(-1) if type(e) is LT else form
