"""Which frames one frame of a Func reads, in numbers.

Coordinates in time are evaluated as intervals, with the number of frames of the video
itself an interval while its end is not known: ``min(t + 1, frames - 1)`` is ``t + 1``
if more than so many frames have come. What is not decided by then depends on the end
of the video, and is `open`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from parhelion.ir import expr as E
from parhelion.ir.expr import Expr, FuncCall, ImageLoad, Var
from parhelion.ir.function import Definition, Function, ReductionDomain
from parhelion.ir.intrinsics import LIKELY
from parhelion.ir.symbols import BufferSym
from parhelion.types import INT32, Type

#: More frames than a video has, and how far a coordinate is that is not known.
MANY = 1 << 28
FAR = 1 << 40


class Span(NamedTuple):
    """The integers from lo to hi, both included, and `times` the number of frames more.

    open: whether the value may depend on where the video ends besides.
    """

    lo: int
    hi: int
    open: bool = False
    times: int = 0

    def hull(self, other: Span) -> Span:
        """The smallest span of both, which have the same `times`."""
        lo, hi = min(self.lo, other.lo), max(self.hi, other.hi)
        return Span(lo, hi, self.open or other.open, self.times)

    @property
    def known(self) -> bool:
        """Whether both ends are numbers that were found."""
        return self.lo > -FAR and self.hi < FAR


UNKNOWN = Span(-FAR, FAR)
#: Intrinsics whose value is that of their first argument.
SAME = LIKELY | {"known_clamped"}
#: The number of frames itself.
FRAMES = Span(0, 0, False, 1)
_ZERO, _ONE = Span(0, 0), Span(1, 1)

#: What is called with a Func or the image, and the span of a coordinate in time.
Read = Callable[["Function | BufferSym", Span], None]


class Walk:
    """The reads of one definition.

    scope: spans of Vars. frames: between what the number of frames lies. dims: by each
    Func and image that has frames, its dimension of time. read: called for each of
    their reads. spoiled: whether something that is computed depends on where the video
    ends.
    """

    def __init__(
        self,
        scope: Mapping[Var, Span],
        frames: Span,
        dims: Mapping[Function | BufferSym, int],
        read: Read,
    ) -> None:
        self.scope = dict(scope)
        self.frames, self.dims, self.read = frames, dims, read
        self.spoiled = False
        self._memo: dict[Expr, Span] = {}
        self._binary: dict[type[Expr], Callable[[Span, Span], Span]] = {
            E.Add: self._add,
            E.Sub: self._sub,
            E.Mul: self._mul,
            E.Div: self._div,
            E.Mod: self._mod,
            E.Min: self._min,
            E.Max: self._max,
            E.LT: self._lt,
            E.LE: self._le,
            E.EQ: self._eq,
            E.NE: self._ne,
            E.And: self._and,
            E.Or: self._or,
        }

    def definition(self, d: Definition) -> None:
        """Visits all that a definition computes."""
        if d.rdom is not None:
            for v in d.rdom.vars:
                self.go(v)
        for e in (*d.values, *d.args, *d.guard):
            self.spoiled |= self.flat(self.go(e)).open

    def go(self, e: Expr) -> Span:
        """The span of a value; only what can be evaluated for it is visited."""
        found = self._memo.get(e)
        if found is None:
            found = self._memo[e] = _clipped(self._span(e))
        return found

    def flat(self, s: Span) -> Span:
        """A span in numbers alone."""
        if s.times == 0:
            return s
        ends = [s.times * self.frames.lo, s.times * self.frames.hi]
        opened = s.open or ends[0] != ends[1]
        return _clipped(Span(s.lo + min(ends), s.hi + max(ends), opened))

    def _span(self, e: Expr) -> Span:
        if isinstance(e, Var):
            return self._var(e)
        if isinstance(e, E.Imm):
            return Span(e.value, e.value)
        if isinstance(e, E.Select):
            return self._select(e)
        if isinstance(e, FuncCall | ImageLoad):
            return self._load(e)
        if isinstance(e, E.Let):
            self.scope[e.var] = self.go(e.value)
            return self.go(e.body)
        if isinstance(e, E.Intrinsic) and e.op in SAME:
            return self.go(e.args[0])
        if isinstance(e, E.Intrinsic) and e.op == "abs" and _is_whole(e.args[0]):
            return self._abs(self.go(e.args[0]))
        if isinstance(e, E.Cast):
            return self._cast(e)
        if isinstance(e, E.BINARY):
            a, b = self.go(e.a), self.go(e.b)
            if not _is_whole(e.a):
                return self._opened(a, b)
            found = self._binary[type(e)](a, b)
            # Integers wrap; only those of coordinates may be assumed not to.
            return found if self._fits(found, e.type) else self._opened(a, b)
        if isinstance(e, E.Not):
            a = self.go(e.a)
            return Span(1 - a.hi, 1 - a.lo, a.open) if _is_truth(a) else self._truth(a)
        return self._opened(*[self.go(c) for c in e.children() if isinstance(c, Expr)])

    def _opened(self, *given: Span) -> Span:
        """A value made of others that is not known."""
        return Span(-FAR, FAR, any([self.flat(s).open for s in given]))

    def _truth(self, *given: Span) -> Span:
        """A condition that is not decided."""
        return Span(0, 1, any([self.flat(s).open for s in given]))

    def _fits(self, s: Span, t: Type) -> bool:
        flat = self.flat(s)
        if t is INT32 or t.is_bool():
            return True
        return t.can_represent(flat.lo) and t.can_represent(flat.hi)

    def _cast(self, e: E.Cast) -> Span:
        inner = self.go(e.a)
        flat = self.flat(inner)
        whole = e.type.is_int_or_uint() and e.a.type.is_int_or_uint()
        if whole and e.type.can_represent(flat.lo) and e.type.can_represent(flat.hi):
            return inner
        return self._opened(inner)

    def _var(self, v: Var) -> Span:
        found = self.scope.get(v)
        if found is not None:
            return found
        if isinstance(v.origin, ReductionDomain) and v.lo is not None:
            assert v.hi is not None
            lo, hi = self.flat(self.go(v.lo)), self.flat(self.go(v.hi))
            return Span(lo.lo, hi.hi, lo.open or hi.open)
        return UNKNOWN

    def _select(self, e: E.Select) -> Span:
        condition = self.go(e.cond)
        if condition == _ONE:
            return self.go(e.a)
        if condition == _ZERO:
            return self.go(e.b)
        found = self._either(self.go(e.a), self.go(e.b))
        return found._replace(open=found.open or condition.open)

    def _either(self, a: Span, b: Span) -> Span:
        """One of two values, it is not known which."""
        if a.times != b.times:
            a, b = self.flat(a), self.flat(b)
        return a.hull(b)

    def _load(self, e: FuncCall | ImageLoad) -> Span:
        of = e.func if isinstance(e, FuncCall) else e.image
        spans = [self.flat(self.go(a)) for a in e.args]
        d = self.dims.get(of)
        if d is not None:
            self.read(of, spans[d])
        return self._opened(*spans)

    # Arithmetic.

    def _add(self, a: Span, b: Span) -> Span:
        if not (a.known and b.known):
            return self._opened(a, b)
        return Span(a.lo + b.lo, a.hi + b.hi, a.open or b.open, a.times + b.times)

    def _sub(self, a: Span, b: Span) -> Span:
        if not (a.known and b.known):
            return self._opened(a, b)
        return Span(a.lo - b.hi, a.hi - b.lo, a.open or b.open, a.times - b.times)

    def _mul(self, a: Span, b: Span) -> Span:
        if not (a.known and b.known):
            return self._opened(a, b)
        if b.times and not a.times:
            a, b = b, a
        if a.times and (b.times or b.lo != b.hi):
            a, b = self.flat(a), self.flat(b)
        ends = [p * q for p in a[:2] for q in b[:2]]
        return Span(min(ends), max(ends), a.open or b.open, a.times * b.lo)

    def _div(self, a: Span, b: Span) -> Span:
        a, b = self.flat(a), self.flat(b)
        if a.known and b.known and b.lo > 0:
            ends = [p // q for p in a[:2] for q in b[:2]]
            return Span(min(ends), max(ends), a.open or b.open)
        return self._opened(a, b)

    def _mod(self, a: Span, b: Span) -> Span:
        # What a frame reads because of its number modulo another one, all are taken to
        # read, so that windows move on by one from frame to frame.
        for turns in (0, 1, -1) if b.times else ():
            moved = self._add(a, self._mul(b, Span(turns, turns)))
            if self._lt(moved, b) == _ONE and self._le(_ZERO, moved) == _ONE:
                return moved
        a, b = self.flat(a), self.flat(b)
        if b.known and b.lo > 0:
            return Span(0, b.hi - 1, a.open or b.open)
        return self._opened(a, b)

    def _abs(self, a: Span) -> Span:
        flat = self.flat(a)
        if flat.lo >= 0:
            return a
        if flat.hi <= 0:
            return Span(-a.hi, -a.lo, a.open, -a.times)
        return Span(0, max(-flat.lo, flat.hi), flat.open)

    def _min(self, a: Span, b: Span) -> Span:
        if self._le(a, b) == _ONE:
            return a
        if self._le(b, a) == _ONE:
            return b
        if a.times != b.times:
            a, b = self.flat(a), self.flat(b)
        both = a.open or b.open
        return Span(min(a.lo, b.lo), min(a.hi, b.hi), both, a.times)

    def _max(self, a: Span, b: Span) -> Span:
        if self._le(b, a) == _ONE:
            return a
        if self._le(a, b) == _ONE:
            return b
        if a.times != b.times:
            a, b = self.flat(a), self.flat(b)
        both = a.open or b.open
        return Span(max(a.lo, b.lo), max(a.hi, b.hi), both, a.times)

    # Conditions.

    def _between(self, a: Span, b: Span) -> Span:
        """By how much one value exceeds another; whether it depends on the video's end
        counts only where a condition is not decided."""
        if a.times == b.times:
            return Span(a.lo - b.hi, a.hi - b.lo)
        return self.flat(self._sub(a, b))

    def _lt(self, a: Span, b: Span) -> Span:
        more = self._between(a, b)
        if more.hi < 0:
            return _ONE
        return _ZERO if more.lo >= 0 else self._truth(a, b)

    def _le(self, a: Span, b: Span) -> Span:
        more = self._between(a, b)
        if more.hi <= 0:
            return _ONE
        return _ZERO if more.lo > 0 else self._truth(a, b)

    def _eq(self, a: Span, b: Span) -> Span:
        more = self._between(a, b)
        if more.hi < 0 or more.lo > 0:
            return _ZERO
        return _ONE if more.lo == more.hi == 0 else self._truth(a, b)

    def _ne(self, a: Span, b: Span) -> Span:
        same = self._eq(a, b)
        return Span(1 - same.hi, 1 - same.lo, same.open)

    def _and(self, a: Span, b: Span) -> Span:
        if _ZERO in (a, b):
            return _ZERO
        return _ONE if a == b == _ONE else self._truth(a, b)

    def _or(self, a: Span, b: Span) -> Span:
        if _ONE in (a, b):
            return _ONE
        return _ZERO if a == b == _ZERO else self._truth(a, b)


def _clipped(s: Span) -> Span:
    if s.lo >= -FAR and s.hi <= FAR:
        return s
    return Span(max(s.lo, -FAR), min(s.hi, FAR), s.open, s.times)


def _is_whole(e: Expr) -> bool:
    return e.type.is_int_or_uint() or e.type.is_bool()


def _is_truth(s: Span) -> bool:
    return s.lo >= 0 and s.hi <= 1 and s.times == 0


__all__ = ["FAR", "FRAMES", "MANY", "SAME", "UNKNOWN", "Span", "Walk"]
