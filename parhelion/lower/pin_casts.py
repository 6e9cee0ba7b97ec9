"""What pixels index, kept inside what bounds inference says of it.

Bounds speak of numbers that are not NaN and of 32-bit sums that do not overflow:
``clamp(v, 0.0, 9.0)`` cast to an integer lies between 0 and 9, and so does
``min(max(v, 0) + 1, 9)``. Of loop variables that is true, or is checked before any
pixel is computed; pixels may hold anything. Where such bounds are found of pixels,
they are made true here, at the price of an integer minimum and maximum: in casts of
floats, wherever they are, and in indices.
"""

from __future__ import annotations

from parhelion.analysis.bounds import Bounds, Values
from parhelion.analysis.interval import never_nan, tame
from parhelion.analysis.rank import reads_data
from parhelion.analysis.symbolic import number
from parhelion.ir.expr import Add, Cast, Expr, FuncCall, ImageLoad, Imm, Max, Min, Sub
from parhelion.ir.rewrite import Rewriter, nodes
from parhelion.lower.stages import StagedPipeline
from parhelion.types import INT32


def pin_casts(program: StagedPipeline, values: Values) -> None:
    """Rewrites the stages of `program`; `values` bounds what its Funcs hold."""
    pin = _Pin(values)
    for f in program.order:
        for s in program.stages[f]:
            if any(_risky(n) for e in (*s.exprs, s.predicate) for n in nodes(e)):
                s.args = tuple([pin.index(a) for a in s.args])
                s.values = tuple([pin.go(v) for v in s.values])
                s.predicate = pin.go(s.predicate)


def _loose(n: object) -> bool:
    """Whether `n` is a cast that may be of NaN to a number."""
    return (
        type(n) is Cast
        and n.a.type.is_float()
        and n.type.is_int_or_uint()
        and not n.type.is_bool()
        and not never_nan(n.a)
    )


def _risky(n: object) -> bool:
    return _loose(n) or isinstance(n, Expr) and n.type is INT32 and _may_wrap(n)


def _may_wrap(index: Expr) -> bool:
    """Whether pixels of which nothing is known may make `index` overflow."""
    return reads_data(index) and not tame(index)


class _Pin(Rewriter):
    def __init__(self, values: Values) -> None:
        super().__init__()
        self._bounds = Bounds({}, values)
        #: What has been pinned at both ends.
        self._held: set[Expr] = set()

    def on_cast(self, n: Cast) -> Expr:
        made: Expr = Cast(n.type, self.go(n.a))
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
        """Whether `e` is something held, plus or minus a constant.

        It then lies between what is held of it without another pin: regions at the
        ends are checked to be coordinates. Accesses to the neighbours of a pixel of
        data differ by constants this way.
        """
        while type(e) in (Add, Sub) and isinstance(e.b, Imm):  # type: ignore[attr-defined]
            e = e.a  # type: ignore[attr-defined]
        return e in self._held

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
