"""The stages of a pipeline as a graph: who reads whom, and how far around a point."""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.analysis.linear import linear
from parhelion.dataclass import dataclass
from parhelion.ir.build import const_int
from parhelion.ir.expr import Expr, FuncCall, ImageLoad, Intrinsic, Max, Min, Var
from parhelion.ir.function import Function, ReductionDomain
from parhelion.ir.intrinsics import LIKELY
from parhelion.ir.names import plain_name
from parhelion.ir.rewrite import free_vars, nodes
from parhelion.ir.symbols import BufferSym
from parhelion.schedule.order import realization_order
from parhelion.schedule.placement import placement_of
from parhelion.schedule.wrappers import Source, body
from parhelion.views.listing import names_of
from parhelion.views.wording import definitions, formula, place

#: Letters of a coordinate that stands in a label as it is.
_LONGEST = 12


@dataclass(frozen=True, slots=True)
class Node:
    """kind: ``input``, ``inlined``, ``stage`` or ``output``. note: a few words below
    the name. title: more, for those who ask."""

    name: str
    kind: str
    note: str
    title: str


@dataclass(frozen=True, slots=True)
class Edge:
    """`target` reads `source`; label: at which coordinates, if not just at its own."""

    source: int
    target: int
    label: str


@dataclass(frozen=True, slots=True)
class Graph:
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


def stage_graph(outputs: Sequence[Function]) -> Graph:
    """All Funcs that the outputs need, and the images that those read."""
    order = realization_order(outputs)
    reads: dict[tuple[Source, Function], list[_Read]] = {}
    for f in order:
        for source, read in reads_of(f):
            if source is not f:
                reads.setdefault((source, f), []).append(read)
    images = dict.fromkeys([s for s, _ in reads if isinstance(s, BufferSym)])
    sources: list[Source] = [*images, *order]
    number = {s: i for i, s in enumerate(sources)}
    edges = [
        Edge(number[source], number[f], _growth(calls))
        for (source, f), calls in reads.items()
    ]
    made = [_image(s) for s in images] + [
        _node(f, outputs, name) for f, name in names_of(order).items()
    ]
    return Graph(tuple(made), tuple(edges))


def inlined_most(outputs: Sequence[Function]) -> tuple[Function, int] | None:
    """The Func that is inlined most often, and into how many places, counting each way
    to it through other inlined ones; None if none is inlined."""
    order = realization_order(outputs)
    places = {f: 0 for f in order if placement_of(f, outputs).substituted}
    for f in reversed(order):
        for source, _ in reads_of(f):
            if source in places and isinstance(source, Function):
                places[source] += places.get(f, 1)
    if not places:
        return None
    return max(places.items(), key=lambda found: found[1])


def _node(f: Function, outputs: Sequence[Function], name: str) -> Node:
    types = ", ".join([str(t) for t in f.types])
    placement = placement_of(f, outputs)
    note = f"{types} · {place(placement)}"
    return Node(name, placement.kind, note, "\n".join(definitions(f)))


def _image(s: BufferSym) -> Node:
    note = f"{s.type} · input"
    return Node(plain_name(s.name), "input", note, f"{len(s.dims)} dimensions")


@dataclass(frozen=True, slots=True)
class _Read:
    """Coordinates that are read, for the point that is defined."""

    at: tuple[Expr, ...]
    point: tuple[Expr, ...]

    @property
    def is_plain(self) -> bool:
        """Whether it is the same point that is read."""
        return self.at == self.point[: len(self.at)]


def reads_of(f: Function) -> list[tuple[Source, _Read]]:
    """What the definitions read, wrappers in their place."""
    out: list[tuple[Source, _Read]] = []
    for d in f.stages():
        made = body(f, d)
        found: dict[FuncCall | ImageLoad, None] = {}
        for e in (*made.values, *made.args, made.predicate):
            for n in nodes(e):
                if isinstance(n, FuncCall | ImageLoad):
                    found[n] = None
        for n in found:
            source = n.func if isinstance(n, FuncCall) else n.image
            out.append((source, _Read(n.args, made.args)))
    return out


def _growth(reads: Sequence[_Read]) -> str:
    """Where a consumer reads for a point, dimension by dimension: ``x−1…x+1, y``;
    nothing if it reads just that point."""
    if all([r.is_plain for r in reads]):
        return ""
    dimensions = zip(*[r.at for r in reads], strict=True)
    return ", ".join([_reach(list(dict.fromkeys(d))) for d in dimensions])


def _reach(coordinates: Sequence[Expr]) -> str:
    """One dimension's part of a label."""
    known = _interval(coordinates)
    if known:
        return known
    if len(coordinates) == 1:
        text = formula(coordinates[0])
        return text if len(text) <= _LONGEST else "…"
    return "…"


def _interval(coordinates: Sequence[Expr]) -> str:
    """The coordinates from the least to the greatest, if they are a multiple of one Var
    and a constant each; else nothing."""
    ends: list[tuple[int, int]] = []
    slopes = set()
    for e in coordinates:
        form = linear(_unclamped(e))
        low = high = form.const
        slope: tuple[Expr, int] | None = None
        for atom, k in form.terms.items():
            if isinstance(atom, Var) and isinstance(atom.origin, ReductionDomain):
                a, b = _constant(atom.lo), _constant(atom.hi)
                if a is None or b is None:
                    return ""
                low, high = low + min(k * a, k * b), high + max(k * a, k * b)
            elif isinstance(atom, Var) and slope is None:
                slope = (atom, k)
            else:
                return ""
        slopes.add(slope)
        ends.append((low, high))
    if len(slopes) != 1:
        return ""
    (slope,) = slopes
    low, high = min([a for a, _ in ends]), max([b for _, b in ends])
    if slope is None:
        return str(low) if low == high else f"{low}…{high}"
    var, k = slope
    assert isinstance(var, Var)
    name = plain_name(var.name)
    base = name if k == 1 else f"−{name}" if k == -1 else f"{k}{name}"
    first, last = _offset(base, low), _offset(base, high)
    return first if low == high else f"{first}…{last}"


def _offset(base: str, k: int) -> str:
    if k == 0:
        return base
    return f"{base}+{k}" if k > 0 else f"{base}−{-k}"


def _constant(e: Expr | None) -> int | None:
    return None if e is None else const_int(e)


def _unclamped(e: Expr) -> Expr:
    """A coordinate without what keeps it inside of an image."""
    while True:
        if isinstance(e, Intrinsic) and e.op in LIKELY:
            e = e.args[0]
            continue
        if not isinstance(e, Min | Max):
            return e
        walked = [
            c for c in (e.a, e.b) if any([v.origin is None for v in free_vars(c)])
        ]
        if len(walked) != 1:
            return e
        (e,) = walked


__all__ = ["Edge", "Graph", "Node", "inlined_most", "stage_graph"]
