"""What pixels and floats index, kept inside what bounds inference says of it.

Bounds speak of numbers that are not NaN and of 32-bit sums that do not overflow:
``clamp(v, 0.0, 9.0)`` cast to an integer lies between 0 and 9, and so does
``min(max(v, 0) + 1, 9)``. Of loop variables that is true, or is checked before any
pixel is computed; pixels may hold anything. Where such bounds are found of pixels,
they are made true here, at the price of an integer minimum and maximum: in casts of
floats, wherever they are, and in indices.

Bounds of an index are found for the coordinates at hand; those of what a Func holds for
any (`Regions.value_bounds`). So what is stored is kept inside of the latter alone: the
former, of ``u8(clamp(v, 0, 255))`` say, where ``v`` is mixed of neighbours by
coordinates, may be far more code than the value itself.
"""

from __future__ import annotations

from parhelion.analysis.bounds import Bounds, Scope, SymInterval, Values
from parhelion.analysis.interval import (
    constant_interval,
    is_index_type,
    never_nan,
    tame,
)
from parhelion.analysis.rank import reads_data
from parhelion.analysis.symbolic import number
from parhelion.ir.build import imm
from parhelion.ir.expr import (
    Add,
    Cast,
    Expr,
    FuncCall,
    ImageLoad,
    Imm,
    Intrinsic,
    Max,
    Min,
    Mul,
    Select,
    Sub,
    Var,
)
from parhelion.ir.function import ReductionDomain
from parhelion.ir.rewrite import Rewriter, free_vars, nodes
from parhelion.lower.stages import StagedPipeline
from parhelion.types import INT32, Float, UInt


def pin_casts(program: StagedPipeline, values: Values) -> None:
    """Rewrites the stages of `program`; `values` bounds what its Funcs hold."""
    indices = _Pin(values)
    pixels = _PinPixels(indices, values, _anywhere(program))
    for f in program.order:
        for s in program.stages[f]:
            exprs = (*s.exprs, s.predicate)
            if any([_risky(n) or pixels.is_far(n) for e in exprs for n in nodes(e)]):
                s.args = tuple([indices.index(a) for a in s.args])
                s.values = tuple([pixels.go(v) for v in s.values])
                s.predicate = indices.go(s.predicate)


def _anywhere(program: StagedPipeline) -> dict[Var, SymInterval]:
    """All coordinates in the stages of `program`, unbounded."""
    exprs = [e for f in program.order for s in program.stages[f] for e in s.exprs]
    found = frozenset[Var]().union(*[free_vars(e) for e in exprs])
    return {v: SymInterval(None, None) for v in found if _is_coordinate(v)}


def _is_coordinate(v: Var) -> bool:
    """Whether a Var changes within a call, as Params and sizes of images do not."""
    return v.origin is None or isinstance(v.origin, ReductionDomain)


def _loose(n: object) -> bool:
    """Whether `n` is a cast that may be of NaN to a number."""
    return (
        type(n) is Cast
        and n.a.type.is_float()
        and n.type.is_int_or_uint()
        and not n.type.is_bool()
        and not never_nan(n.a)
    )


def _far(n: object) -> bool:
    """Whether `n` is a cast to an index of a float that is made of coordinates, and may
    be out of the type's range. Its bounds are those at the ends of the coordinates,
    where it must be what it is between them: it saturates."""
    if type(n) is not Cast or not is_index_type(n.type) or not n.a.type.is_float():
        return False
    known = constant_interval(n.a)
    lo, hi = _FLOATS[n.type.width]
    if known.lo is not None and known.hi is not None:
        if lo <= known.lo and known.hi <= hi:
            return False
    return _of_coordinates(n.a)


def _of_coordinates(e: Expr) -> bool:
    """Whether any coordinate decides about `e`, but for those of pixels in it. What is
    the same throughout a call, as Params and sizes of images are, is none."""
    waiting, seen = [e], set[Expr]()
    while waiting:
        n = waiting.pop()
        if n in seen:
            continue
        seen.add(n)
        if isinstance(n, Var):
            if _is_coordinate(n):
                return True
            continue
        if not isinstance(n, FuncCall | ImageLoad):
            waiting += n.children()
    return False


_UINT32 = UInt(32)
#: The least and the greatest float32 that an integer of so many bits can hold.
_FLOATS = {32: (-(2.0**31), 2.0**31 - 128), 64: (-(2.0**63), 2.0**63 - 2.0**39)}


def _saturating(n: Cast, a: Expr) -> Expr:
    """The cast of `a`, with the nearest number of its type for what is out of range.

    NaN stays what it is, as bounds of floats speak of numbers.
    """
    lo, hi = _FLOATS[n.type.width]
    if n.a.type.width < 32:
        a = Cast(Float(32), a)  # whose range is wide enough for the limits
    t = a.type
    return Cast(n.type, Min(Max(a, imm(lo, t)), imm(hi, t)))


def _risky(n: object) -> bool:
    return (
        _far(n) or _loose(n) or isinstance(n, Expr) and n.type is INT32 and _may_wrap(n)
    )


def _may_wrap(index: Expr) -> bool:
    """Whether pixels of which nothing is known may make `index` overflow."""
    return reads_data(index) and not tame(index)


def _promised(e: Expr) -> bool:
    """Whether `e` is a pixel that is promised to lie in limits without pixels: into
    these it will be forced."""
    if not isinstance(e, Intrinsic) or e.op != "promise_clamped":
        return False
    pixel, *limits = e.args
    is_pixel = isinstance(pixel, FuncCall | ImageLoad)
    return is_pixel and not any([_may_wrap(n) for n in limits])


class _Pin(Rewriter):
    def __init__(self, values: Values, scope: Scope | None = None) -> None:
        super().__init__()
        self._bounds = Bounds(scope or {}, values)
        #: What has been pinned at both ends.
        self._held: set[Expr] = set()

    def on_cast(self, n: Cast) -> Expr:
        a = self.go(n.a)
        made = _saturating(n, a) if _far(n) else Cast(n.type, a)
        return self._pinned(n, made) if _loose(n) else made

    def on_funccall(self, n: FuncCall) -> Expr:
        return FuncCall(n.type, n.func, tuple([self.index(a) for a in n.args]), n.index)

    def on_imageload(self, n: ImageLoad) -> Expr:
        return ImageLoad(n.type, n.image, tuple([self.index(a) for a in n.args]))

    def index(self, e: Expr) -> Expr:
        """`e` as an index."""
        made = self.go(e)
        if not _may_wrap(e) or self._beside_held(made):
            return made
        return self._pinned(e, made)

    def _beside_held(self, e: Expr) -> bool:
        """Whether `e` is something held, plus or minus a constant: pinned, or limited
        as a promise is.

        It then lies between what is held of it without another pin: regions at the
        ends are checked to be coordinates. Accesses to the neighbours of a pixel of
        data differ by constants this way.
        """
        while type(e) in (Add, Sub) and isinstance(e.b, Imm):  # type: ignore[attr-defined]
            e = e.a  # type: ignore[attr-defined]
        return e in self._held or _promised(e)

    def _pinned(self, old: Expr, made: Expr) -> Expr:
        """`made` within the bounds of `old`, which it is made of."""
        lo, hi = self._bounds.afresh().of(old)
        if lo is hi:  # No more is known than the expression itself.
            return made
        low, high = number(lo), number(hi)
        t = old.type
        # Narrow types are converted by way of 32 bits, which makes NaN zero.
        if t.width < 32 and None not in (low, high) and low <= 0 <= high:  # type: ignore[operator]
            return made
        ends = 0
        if hi is not None and high != t.highest():
            made, ends = Min(made, hi), ends + 1
        if lo is not None and low != t.lowest():
            made, ends = Max(made, lo), ends + 1
        if ends == 2:
            self._held.add(made)
        return made


#: Coordinates and parameters are taken to be no larger where a number is made of them.
_USUAL = (1 << 15) - 1
_MOST = INT32.highest()


class _PinPixels(_Pin):
    """For what is stored. Sums and products of coordinates that go beyond 32 bits in
    images of usual sizes are computed without sign: as pixels they wrap, and only as
    indices may they be taken not to."""

    def __init__(self, indices: _Pin, values: Values, anywhere: Scope) -> None:
        super().__init__(values, anywhere)
        self._indices = indices
        self._reach: dict[Expr, int | float] = {}

    def index(self, e: Expr) -> Expr:
        return self._indices.index(e)

    def is_far(self, n: object) -> bool:
        """Whether `n` is such a sum or product."""
        if not isinstance(n, Add | Sub | Mul) or n.type is not INT32 or not tame(n):
            return False
        return self._of(n) > _MOST

    def _of(self, e: Expr) -> int | float:
        """How far from 0 a number made of coordinates is."""
        if e not in self._reach:
            self._reach[e] = min(self._find(e), _MOST * _MOST)
        return self._reach[e]

    def _find(self, e: Expr) -> int | float:
        if isinstance(e, Add | Sub):
            return self._of(e.a) + self._of(e.b)
        if isinstance(e, Mul):
            return self._of(e.a) * self._of(e.b)
        if isinstance(e, Min | Max | Select):
            return max(self._of(e.a), self._of(e.b))
        known = constant_interval(e)
        if known.lo is None or known.hi is None:
            return _USUAL
        return max(abs(known.lo), abs(known.hi))

    def _without_sign(self, n: Add | Sub | Mul) -> Expr:
        a, b = self.go(n.a), self.go(n.b)
        if not self.is_far(n):
            return type(n)(a, b)
        return Cast(INT32, type(n)(Cast(_UINT32, a), Cast(_UINT32, b)))

    def on_add(self, n: Add) -> Expr:
        return self._without_sign(n)

    def on_sub(self, n: Sub) -> Expr:
        return self._without_sign(n)

    def on_mul(self, n: Mul) -> Expr:
        return self._without_sign(n)
