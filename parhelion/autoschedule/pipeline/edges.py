"""What code computes in its steady state, and where loops are not in it.

Where a condition or a clamp is marked `likely`, as boundary conditions are, loops are
cut, so that almost all iterations compute the likely side alone (see
`lower.partition`). The others, at the edges of an image, do all of it: their vectors
fetch each lane from a place of its own. What floats or data decide, as where a turned
image is looked up, no loop can be cut for: all of it is computed everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from parhelion.analysis.rank import reads_data
from parhelion.autoschedule.pipeline.evaluators import Lookup, compiled
from parhelion.autoschedule.pipeline.graph import GraphStage, Recoordinate
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr, FuncCall, ImageLoad, Intrinsic, Var
from parhelion.ir.intrinsics import LIKELY
from parhelion.ir.rewrite import free_vars, nodes

#: The marks in these speak of other conditions. A clamp is as likely as what it clamps.
_CLOSED = (E.Select, FuncCall, ImageLoad)
#: No more points of a loop than this are looked at on either side.
_MOST_POINTS = 4096

Load = FuncCall | ImageLoad


class Steady(Recoordinate):
    """Leaves of what is marked the side that is likely, and no mark. clamps: whether
    that of clamps, too; else of choices alone.

    found: the loads that have become another one, by what they have become.
    """

    def __init__(self, clamps: bool) -> None:
        super().__init__()
        self._clamps = clamps
        self._marks: dict[Expr, bool] = {}
        self.found: dict[Load, list[Load]] = {}

    def on_imageload(self, n: ImageLoad) -> Expr:
        return self._load(n, ImageLoad(n.type, n.image, self.coordinates(n.args)))

    def on_funccall(self, n: FuncCall) -> Expr:
        made = FuncCall(n.type, n.func, self.coordinates(n.args), n.index)
        return self._load(n, made)

    def _load(self, n: Load, made: Load) -> Load:
        self.found.setdefault(made, []).append(n)
        return made

    def on_intrinsic(self, n: Intrinsic) -> Expr:
        if n.op in LIKELY and self._clamps:
            return self.go(n.args[0])
        return n.map(self.go)

    def on_select(self, n: E.Select) -> Expr:
        open_ = reads_data(n.cond) or (self._clamps and not cuts_loops(n.cond))
        side = None if open_ else self._likely(n.a, n.b)
        return n.map(self.go) if side is None else self.go(side)

    def on_min(self, n: E.Min) -> Expr:
        return self._clamp(n)

    def on_max(self, n: E.Max) -> Expr:
        return self._clamp(n)

    def _clamp(self, n: E.Min | E.Max) -> Expr:
        side = None
        if self._clamps and cuts_loops(n):
            side = self._likely(n.a, n.b)
        return n.map(self.go) if side is None else self.go(side)

    def _likely(self, a: Expr, b: Expr) -> Expr | None:
        """The one of two sides that is marked."""
        if self._marked(a) == self._marked(b):
            return None
        return a if self._marked(a) else b

    def _marked(self, e: Expr) -> bool:
        found = self._marks.get(e)
        if found is None:
            if isinstance(e, Intrinsic) and e.op in LIKELY:
                found = True
            elif isinstance(e, _CLOSED):
                found = False
            else:
                found = any(self._marked(c) for c in _operands(e))
            self._marks[e] = found
        return found


def cuts_loops(e: Expr) -> bool:
    """Whether loops may be cut by where a coordinate, or a condition, is: neither data
    nor numbers that are rounded from floats decide it."""
    return not reads_data(e) and not any([_rounds(n) for n in nodes(e)])


def _rounds(n: object) -> bool:
    """Whether a node makes an integer of a float that a loop moves."""
    if not isinstance(n, E.Cast) or n.type.is_float() or not n.a.type.is_float():
        return False
    return bool(free_vars(n))


def _operands(e: Expr) -> list[Expr]:
    return [c for c in e.children() if isinstance(c, Expr)]


def steady_choices(exprs: Sequence[Expr]) -> tuple[Expr, ...]:
    """The expressions where choices that are marked go the likely way; clamps stay."""
    steady = Steady(clamps=False)
    return tuple([steady.go(e) for e in exprs])


class Edges:
    """The points of a stage's loops where its loads are not steady.

    loads: by what a load is in the steady state, what it is in the definition, where
    that is something else. lookup: the values of Params and sizes.
    """

    def __init__(
        self, stage: GraphStage, loads: Mapping[Load, Sequence[Load]], lookup: Lookup
    ) -> None:
        self._stage, self._loads, self._lookup = stage, loads, lookup

    def along(self, v: Var, spans: Sequence[tuple[int, int]]) -> tuple[int, int]:
        """How many points at the beginning, and at the end, of a loop need what other
        points do not, where the stage's loops run over these."""
        first = last = 0
        seen = set()
        for steady, raws in self._loads.items():
            for raw in raws:
                for a, b in zip(raw.args, steady.args, strict=True):
                    if (a, b) in seen or a is b or v not in free_vars(a):
                        continue
                    seen.add((a, b))
                    one, two = self._apart(a, b, v, spans)
                    first, last = max(first, one), max(last, two)
        return first, last

    def _apart(
        self, a: Expr, b: Expr, v: Var, spans: Sequence[tuple[int, int]]
    ) -> tuple[int, int]:
        function: Callable[..., tuple[object, ...]]
        function, known = compiled([a, b], self._stage.loops, self._lookup)
        if not all(known):
            return 0, 0
        lo, hi = spans[self._stage.loops.index(v)]
        count = min(hi - lo + 1, 2 * _MOST_POINTS)
        half = count // 2
        places = np.concatenate(
            [np.arange(lo, lo + half), np.arange(hi - (count - half) + 1, hi + 1)]
        )
        apart = np.zeros(places.shape, np.bool_)
        # A sum reaches farthest at the ends of what it runs over.
        for end in (0, 1):
            one, two = function(
                *[
                    places
                    if w is v
                    else span[end]
                    if w in self._stage.rvars
                    else (span[0] + span[1]) // 2
                    for w, span in zip(self._stage.loops, spans, strict=True)
                ]
            )
            apart |= np.not_equal(one, two)
        (there,) = np.nonzero(apart)
        before, after = there[there < half], there[there >= half]
        first = int(before[-1]) + 1 if len(before) else 0
        return first, count - int(after[0]) if len(after) else 0


__all__ = ["Edges", "Load", "Steady", "cuts_loops", "steady_choices"]
