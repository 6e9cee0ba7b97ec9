"""Reads of textures: coordinates, without the clamps that the hardware does.

The hardware takes any coordinates. Beyond the texture it reads the texel at the edge,
or 0. So where the argument of a call is clamped, and the texture ends where the clamp
does, the clamp is left out; and so is a select of 0 where a coordinate is out of
bounds. Let S be the places of the storage along a dimension, [first, last], and let c
be ``clamp(e, lo, hi)``, which lies in S as all that is read does. If lo <= first, c is
e clamped to [first, min(last, hi)]: below lo, c is lo, so that lo is first; above hi,
it is hi, so that hi is at most last. How wide the texture is may differ from read to
read, and is known when the kernel is launched; that lo <= first must be proven. That
what is beyond other limits is 0 is left to the hardware where these are no wider than
the clamp, and begin no later than the storage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from parhelion.analysis.linear import linear
from parhelion.analysis.rank import reads_data
from parhelion.dataclass import dataclass
from parhelion.errors import internal_assert
from parhelion.ir.build import (
    add,
    const_int,
    imm,
    int32,
    is_const,
    le,
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
    Broadcast,
    Expr,
    FloatImm,
    Imm,
    Intrinsic,
    Load,
    Max,
    Min,
    Or,
    Var,
)
from parhelion.ir.intrinsics import LIKELY
from parhelion.ir.rewrite import Rewriter, free_vars
from parhelion.ir.stmt import LetStmt, Stmt
from parhelion.lower.textures import Texture
from parhelion.simplify.simplifier import can_prove, simplify
from parhelion.types import INT32, Type

#: What the hardware does beyond the texture: nothing that is asked for, the texel at
#: the edge, or 0.
INSIDE, EDGE, BORDER = range(3)

_ZERO: Expr = int32(0)

#: How many names and limits a proof looks through.
_DEPTH = 8


@dataclass(frozen=True, slots=True)
class _Place:
    """A coordinate: ``at + shift``, which the hardware clamps to `last` at the most.

    opened: whether a clamp was left out; bare: whether both of its sides were, and low
    and high: the limits that it had.
    """

    at: Expr
    shift: int
    last: Expr
    bare: bool = False
    opened: bool = False
    low: Expr | None = None
    high: Expr | None = None


class Reads:
    """Reads of one kernel, which has the Vars `inside`. lets: names for what textures
    are large, which stand before it."""

    def __init__(self, inside: frozenset[Var]) -> None:
        self.inside = inside
        self.lets: list[Stmt] = []
        self._named: dict[Expr, Var] = {}

    def texel(self, texture: Texture, args: Sequence[Expr], load: Load) -> Expr:
        """A read at a point, with clamps that the hardware does left out."""
        whole = len(texture.order) <= 2
        places = [
            self._opened(texture, d, args[d], k == 0 or whole)
            for k, d in enumerate(texture.order)
        ]
        mode = EDGE if any([p.opened for p in places]) else INSIDE
        return self._made(texture, places, load, mode)

    def border(
        self, texture: Texture, args: Sequence[Expr], load: Load, cond: Expr
    ) -> Expr | None:
        """A read at a point where `cond` does not hold, else 0: what the hardware makes
        of it, None if nothing."""
        whole = len(texture.order) <= 2
        left = _alternatives(cond)
        found = False
        places: list[_Place] = []
        for k, d in enumerate(texture.order):
            plain = self._plain(texture, d, args[d])
            place = self._opened(texture, d, args[d], k == 0 or whole)
            beyond = self._beyond(texture, d, place, left) if place.bare else None
            if beyond is None:
                places.append(plain)
                continue
            last, used = beyond
            left = [one for one in left if one not in used]
            found = True
            places.append(replace(place, last=last))
        if not found:
            return None
        made = self._made(texture, places, load, BORDER)
        if not left:
            return made
        rest = left[0]
        for one in left[1:]:
            rest = lor(rest, one)
        return select(rest, _zero(load.type), made)

    def _fixed(self, e: Expr) -> bool:
        """Whether a value is known before the kernel runs."""
        return self.inside.isdisjoint(free_vars(e)) and not reads_data(e)

    def _plain(self, texture: Texture, d: int, arg: Expr) -> _Place:
        return _Place(arg, 0, _last(texture, d))

    def _opened(self, texture: Texture, d: int, arg: Expr, mine: bool) -> _Place:
        """A coordinate without its clamp. mine: whether the hardware clamps it."""
        plain = self._plain(texture, d, arg)
        if not mine or self._fixed(arg):
            return plain
        e, shift = _shifted(arg)
        low: Expr | None = None
        high: Expr | None = None
        end: Expr | None = None
        for _ in range(2):
            if isinstance(e, Max) and low is None:
                limit, e2 = self._limit(e)
                if limit is None:
                    break
                low, e = add(limit, int32(shift)), e2
            elif isinstance(e, Min) and high is None:
                limit, e2 = self._limit(e)
                if limit is None:
                    break
                high, e = add(limit, int32(shift)), e2
                end = high if low is None else maximum(high, low)
            else:
                break
        if low is None and high is None:
            return plain
        first = texture.mins[d]
        last = plain.last if end is None else minimum(plain.last, end)
        if low is None:
            return _Place(e, shift, last, opened=True)
        if at_most(low, first):
            bare = high is not None
            return _Place(e, shift, last, bare, True, low, high)
        if high is None:
            return plain
        kept = maximum(e, sub(low, int32(shift)))
        return _Place(kept, shift, last, opened=True)

    def _limit(self, e: Min | Max) -> tuple[Expr | None, Expr]:
        """The limit of a minimum or maximum, and what is limited."""
        for limit, rest in ((e.a, e.b), (e.b, e.a)):
            if self._fixed(limit) and not self._fixed(rest):
                while isinstance(rest, Intrinsic) and rest.op in LIKELY:
                    rest = rest.args[0]
                return limit, rest
        return None, e

    def _beyond(
        self, texture: Texture, d: int, place: _Place, conditions: Sequence[Expr]
    ) -> tuple[Expr, list[Expr]] | None:
        """Where the texture ends along a dimension if what lies beyond it is 0, and the
        conditions that say so of both sides; None if there are none."""
        under: list[Expr] = []
        over: list[Expr] = []
        last, low, high = place.last, place.low, place.high
        assert low is not None and high is not None
        for cond in conditions:
            if not isinstance(cond, LT | LE) or cond.a.type is not INT32:
                continue
            equal = int(isinstance(cond, LE))
            for mine, other, below in ((cond.a, cond.b, True), (cond.b, cond.a, False)):
                apart = _apart(mine, place)
                if apart is None or not self._fixed(other):
                    continue
                limit = sub(other, int32(apart))
                if below:
                    # Where it does not hold, the clamp must not have done anything.
                    least = add(limit, int32(equal))
                    if at_most(low, least) and at_most(least, texture.mins[d]):
                        under.append(cond)
                else:
                    most = sub(limit, int32(equal))
                    if at_most(most, high):
                        last = minimum(last, most)
                        over.append(cond)
                break
        return (last, [*under, *over]) if under and over else None

    def _made(
        self, texture: Texture, places: Sequence[_Place], load: Load, mode: int
    ) -> Expr:
        at = [
            _relative(p, texture.mins[d])
            for p, d in zip(places, texture.order, strict=True)
        ]
        counts = [
            sub(add(p.last, int32(1)), texture.mins[d])
            for p, d in zip(places, texture.order, strict=True)
        ]
        x, y, rows = at[0], _ZERO, texture.rows
        if len(at) == 2:
            y, rows = at[1], counts[1]
        elif len(at) > 2:
            for one, step in zip(at[1:], texture.steps, strict=True):
                y = add(y, mul(one, step))
        sizes = [self._outside(e) for e in (counts[0], rows, texture.pitch)]
        # Loops are not to be divided for a clamp that is not there.
        plain = _Unlikely().go(load)
        args = (plain, x, y, *sizes, int32(mode))
        return Intrinsic(load.type, "texel", args)

    def _outside(self, e: Expr) -> Expr:
        """A name for what is known before the kernel."""
        value = simplify(e)
        if isinstance(value, Imm | Var):
            return value
        named = self._named.get(value)
        if named is None:
            named = self._named[value] = Var("texture.size", INT32, value=value)
            self.lets.append(LetStmt(named, value))
        return named


class _Unlikely(Rewriter):
    """Leaves out what says which case of a clamp is likely."""

    def on_intrinsic(self, n: Intrinsic) -> Expr:
        return self.go(n.args[0]) if n.op in LIKELY else n.map(self.go)


def _last(texture: Texture, d: int) -> Expr:
    return simplify(sub(add(texture.mins[d], texture.extents[d]), int32(1)))


def _relative(place: _Place, first: Expr) -> Expr:
    """A coordinate from where the texture begins. What may lie far beyond it does not
    wrap round."""
    start = simplify(sub(first, int32(place.shift)))
    if not place.opened or is_const(start, 0):
        return sub(place.at, start)
    return Intrinsic(INT32, "saturating_sub", (place.at, start))


def _shifted(e: Expr) -> tuple[Expr, int]:
    """`e` as a minimum or maximum and a constant that is added, where it is one."""
    shift = 0
    while True:
        if isinstance(e, Intrinsic) and e.op in LIKELY:
            e = e.args[0]
            continue
        more = const_int(e.b) if isinstance(e, Add) else None
        if not isinstance(e, Add) or more is None:
            return e, shift
        shift, e = shift + more, e.a


def _apart(e: Expr, place: _Place) -> int | None:
    """The constant by which `e` is more than a coordinate."""
    while isinstance(e, Intrinsic) and e.op in LIKELY:
        e = e.args[0]
    form = linear(sub(e, place.at))
    return None if form.terms else form.const - place.shift


def _alternatives(cond: Expr) -> list[Expr]:
    while isinstance(cond, Intrinsic) and cond.op in LIKELY:
        cond = cond.args[0]
    if isinstance(cond, Or):
        return [*_alternatives(cond.a), *_alternatives(cond.b)]
    return [cond]


def _zero(t: Type) -> Expr:
    return imm(0, t)


def one_of(e: Expr) -> Expr:
    """What all lanes of a texel's argument have alike."""
    return e.value if isinstance(e, Broadcast) else e


def mode_of(texel: Intrinsic) -> int:
    """What the hardware does beyond the texture."""
    mode = const_int(one_of(texel.args[6]))
    internal_assert(mode in (INSIDE, EDGE, BORDER), "a texel says what lies beyond")
    assert mode is not None
    return mode


def is_zero(e: Expr) -> bool:
    """Whether a constant has the bits that the hardware's border has."""
    if isinstance(e, FloatImm):
        return e.value == 0 and str(e.value)[0] != "-"
    return is_const(e, 0)


def at_most(a: Expr, b: Expr, depth: int = _DEPTH) -> bool:
    """Whether a <= b certainly holds, as the parts of minima and maxima and the values
    of names tell."""
    if can_prove(le(a, b)):
        return True
    if not depth:
        return False
    depth -= 1
    if isinstance(a, Max):
        return at_most(a.a, b, depth) and at_most(a.b, b, depth)
    if isinstance(b, Min):
        return at_most(a, b.a, depth) and at_most(a, b.b, depth)
    if isinstance(a, Min) and (at_most(a.a, b, depth) or at_most(a.b, b, depth)):
        return True
    if isinstance(b, Max) and (at_most(a, b.a, depth) or at_most(a, b.b, depth)):
        return True
    if isinstance(b, Var) and b.value is not None:
        return at_most(a, b.value, depth)
    if isinstance(a, Var) and a.value is not None:
        return at_most(a.value, b, depth)
    for e, other, first in ((b, a, False), (a, b, True)):
        inner, shift = _shifted(e)
        if shift and isinstance(inner, Min | Max | Var):
            moved = simplify(sub(other, int32(shift)))
            low, high = (inner, moved) if first else (moved, inner)
            return at_most(low, high, depth)
    return False


__all__ = [
    "BORDER",
    "EDGE",
    "INSIDE",
    "Reads",
    "at_most",
    "is_zero",
    "mode_of",
    "one_of",
]
