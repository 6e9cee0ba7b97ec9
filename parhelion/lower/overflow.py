"""Checks that the regions found by bounds inference fit in 32-bit coordinates.

Inside the compiler, arithmetic on coordinates is taken not to overflow. Whether that
holds is decided by the caller's numbers: where the largest coordinates and parameters
could carry a region past 31 bits, its bounds are computed once more in 64 bits before
any pixel is, and the program fails if they do not fit.

Only regions at the root are looked at: what is needed further in lies inside them. Of
Funcs computed further in they are found here, where indices are made of parameters or
large constants; elsewhere they lie near those of what is computed at the root.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from parhelion.analysis.interval import constant_interval
from parhelion.analysis.linear import Linear, linear
from parhelion.errors import BoundsError
from parhelion.ir.build import (
    add,
    const_int,
    imm,
    int64,
    land,
    le,
    maximum,
    minimum,
    mul,
    select,
    sub,
)
from parhelion.ir.expr import (
    Add,
    Cast,
    Div,
    Expr,
    FuncCall,
    Imm,
    Intrinsic,
    Max,
    Min,
    Mod,
    Mul,
    Select,
    StringImm,
    Sub,
    Var,
)
from parhelion.ir.function import Function
from parhelion.ir.intrinsics import LIKELY
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import Assert, LetStmt, Stmt
from parhelion.ir.symbols import COORDINATE_LIMIT, ParamSym
from parhelion.lower.loops import Range
from parhelion.lower.regions import Regions
from parhelion.lower.stages import StagedPipeline
from parhelion.types import INT32, INT64, Float, Handle, UInt

_LEAST, _MOST = -(1 << 31), (1 << 31) - 1
_SUM_CUT, _FACTOR_CUT = 1 << 61, (1 << 31) + 1
#: Constants up to this are those of stencils, and factors those of resampling.
_NEAR, _SCALE = 1 << 16, 1 << 8
#: Types of integers that 32 bits cannot all hold, and 64 can.
_WIDER = (INT64, UInt(32))
#: A reach that is as good as infinite: products of products have ever more digits.
_FURTHEST = 1 << 200


class OverflowChecks:
    """Makes the checks of one program; lets are to be given before what uses them."""

    def __init__(self) -> None:
        self._reach: dict[Expr, int] = {}
        self._wide: dict[Expr, Expr] = {}
        self._checked: set[Expr] = set()

    def of_lets(self, lets: Iterable[LetStmt], owners: Mapping[Var, str]) -> list[Stmt]:
        """Checks of names that stand for bounds. owners: of what."""
        out: list[Stmt] = []
        for let in lets:
            if let.var.type is INT32:
                name = let.var.name
                out += self.check(owners.get(let.var, name), name, let.value)
        return out

    def of_region(self, name: str, region: Iterable[Range]) -> list[Stmt]:
        """Checks of the region of the buffer or Func called `name`."""
        out: list[Stmt] = []
        for d, r in enumerate(region):
            out += self.check(name, f"{name}.{d}.min", r.lo)
            out += self.check(name, f"{name}.{d}.max", r.hi)
        return out

    def check(self, owner: str, name: str, e: Expr) -> list[Stmt]:
        """Asserts, where it is in doubt, that `e` needs no more than 32 bits. It is
        called `name`, ``f.x.max`` say, and is a bound of `owner`, f."""
        out: list[Stmt] = []
        for part in self._parts(e):
            value = self.wide(part)
            fits = land(le(int64(_LEAST), value), le(value, int64(_MOST)))
            texts = [StringImm(Handle(), t) for t in (owner, name)]
            code = "coordinate_overflow" if part is e else "coordinate_part_overflow"
            out.append(Assert(fits, code, (*texts, value)))
        return out

    def _parts(self, e: Expr) -> list[Expr]:
        """What of `e` must fit in 32 bits for it to be what it is without wrapping, and
        is in doubt: itself, and the operands of all but sums and products, which come
        out right again where their terms have wrapped."""
        found: list[Expr] = []
        waiting = [e]
        while waiting:
            part = waiting.pop()
            if part in self._checked:
                continue
            self._checked.add(part)
            # The least of some numbers fits if all of them do.
            chosen = isinstance(part, Min | Max | Select)
            if part.type is INT32 and not chosen and self.reach(part) > _MOST:
                if self.wide(part) is not Cast(INT64, part):
                    found.append(part)
            terms: list[Expr] = [part]
            while terms:
                n = terms.pop()
                if n.type is INT32 and isinstance(n, Add | Sub | Mul):
                    terms += [n.a, n.b]
                elif not isinstance(n, Var | Imm):
                    waiting += [c for c in n.children() if isinstance(c, Expr)]
        return found

    def reach(self, e: Expr) -> int:
        """How far from 0 the value of `e` may lie, were it not to wrap."""
        found = self._reach.get(e)
        if found is None:
            found = self._reach[e] = min(self._find_reach(e), _FURTHEST)
        return found

    def _find_reach(self, e: Expr) -> int:
        known = constant_interval(e)
        if known.lo is not None and known.hi is not None:
            return int(max(abs(known.lo), abs(known.hi)))
        if e.type is not INT32:
            return -_LEAST
        kind = type(e)
        if kind is Var:
            if isinstance(e.origin, tuple):  # type: ignore[attr-defined]
                return COORDINATE_LIMIT  # the min or extent of a buffer
            value = e.value  # type: ignore[attr-defined]
            return -_LEAST if value is None else min(self.reach(value), _MOST)
        if isinstance(e, Add | Sub | Mul):
            form = linear(e)
            if e not in form.terms:
                return self._of_sum(form)
            return self.reach(e.a) * self.reach(e.b)
        if isinstance(e, Min | Max | Select):
            return max(self.reach(e.a), self.reach(e.b))
        if isinstance(e, Div):
            return self.reach(e.a)
        if isinstance(e, Mod):
            return min(self.reach(e.a), self.reach(e.b))
        if isinstance(e, Intrinsic) and e.op in LIKELY:
            return self.reach(e.args[0])
        return -_LEAST

    def _of_sum(self, form: Linear) -> int:
        total = abs(form.const)
        terms = dict(form.terms)
        for atom, k in form.terms.items():
            if atom not in terms:
                continue
            end = _other_end(atom)
            if end is not None and terms.get(end) == k:
                # min + extent: one past the last coordinate, itself a coordinate.
                del terms[end]
            total += abs(k) * self.reach(atom)
        return total

    def wide(self, e: Expr) -> Expr:
        """`e` in 64 bits, without wrapping."""
        found = self._wide.get(e)
        if found is None:
            found = self._wide[e] = self._find_widened(e)
        return found

    def _find_widened(self, e: Expr) -> Expr:
        if isinstance(e, Imm):
            return int64(int(e.value))
        go = self.wide
        if e.type is not INT32:
            return Cast(INT64, e)
        if isinstance(e, Cast) and e.a.type in _WIDER:
            return Cast(INT64, e.a)
        if isinstance(e, Cast) and e.a.type.is_float():
            # The order of operands turns NaN into what is out of range as well.
            value = Cast(Float(64), e.a) if e.a.type.width < 64 else e.a
            high, low = imm(2.0**40, Float(64)), imm(-(2.0**40), Float(64))
            return Cast(INT64, Max(low, Min(high, value)))
        if isinstance(e, Add | Sub):
            a, b = self._limited(e.a, _SUM_CUT), self._limited(e.b, _SUM_CUT)
            return add(a, b) if isinstance(e, Add) else sub(a, b)
        if isinstance(e, Mul):
            exact = self.reach(e.a) * self.reach(e.b) < 2 * _SUM_CUT
            cut = 2 * _SUM_CUT if exact else _FACTOR_CUT
            return mul(self._limited(e.a, cut), self._limited(e.b, cut))
        if isinstance(e, Min):
            return minimum(go(e.a), go(e.b))
        if isinstance(e, Max):
            return maximum(go(e.a), go(e.b))
        if isinstance(e, Select):
            return select(e.cond, go(e.a), go(e.b))
        if isinstance(e, Div | Mod):
            return type(e)(go(e.a), go(e.b))
        if isinstance(e, Intrinsic) and e.op in LIKELY:
            return go(e.args[0])
        return Cast(INT64, e)

    def _limited(self, e: Expr, cut: int) -> Expr:
        """`e` in 64 bits, cut so that what is made of it is exact in 64 bits. What is
        cut lies far outside of 32 bits, and so does all but its product with 0."""
        wide = self.wide(e)
        if self.reach(e) <= cut:
            return wide
        return maximum(minimum(wide, int64(cut)), int64(-cut))


def regions_further_in(regions: Regions) -> dict[Function, tuple[Range, ...]]:
    """What the whole program needs of each Func that is not computed at the root, if
    any index could carry it far."""
    program, root = regions.program, regions.sites.root
    found: dict[Function, tuple[Range, ...]] = {}
    inner = [f for f in program.order if regions.sites.compute(f) is not root]
    if not inner or not any(map(_is_wild, _indices(program))):
        return found
    for f in inner:
        try:
            found[f] = regions.required(f, root)
        except BoundsError:
            continue  # Bounded only where it is computed, by what is known there.
    return found


def _indices(program: StagedPipeline) -> Iterator[Expr]:
    for f in program.order:
        for s in program.stages[f]:
            for e in s.exprs:
                for n in nodes(e):
                    if isinstance(n, FuncCall):
                        yield from n.args


def _is_wild(index: Expr) -> bool:
    for n in nodes(index):
        if isinstance(n, Var):
            if isinstance(n.origin, ParamSym):
                return True
        elif isinstance(n, Imm):
            if abs(n.value) > _NEAR:
                return True
        elif isinstance(n, Mul):
            known = [k for k in map(const_int, (n.a, n.b)) if k is not None]
            if not known or abs(known[0]) > _SCALE:
                return True
        elif (
            isinstance(n, Cast)
            and (n.a.type.is_float() or n.a.type in _WIDER)
            or isinstance(n, Intrinsic)
            and n.op == "shift_left"
        ):
            return True
    return False


def _other_end(atom: Expr) -> Expr | None:
    """The extent of a buffer's dimension for its min, and the other way round."""
    if not isinstance(atom, Var) or not isinstance(atom.origin, tuple):
        return None
    buffer, what, d = atom.origin
    dim = buffer.dims[d]
    ends: dict[str, Expr] = {"min": dim.extent, "extent": dim.min}
    return ends.get(what)
