"""Reads of lanes whose places are clamped to a row, in C.

Where a row begins and ends, the neighbours of its pixels are read at places such as
``max(x, 1) - 1``, of which C compilers make gathers, or no vectors. All lanes on one
side of a clamp read the same pixel: that of the first lane, or that of the last one. So
these two are read before the loop, and a lane chooses between them and its own place,
which moves by one from lane to lane: compilers read that under a mask. Places are
counted in 64 bits: what lanes add up under a condition may wrap, for gcc, and where it
is made wider after that, it is no place of a row.
"""

from __future__ import annotations

from collections.abc import Iterator

from parhelion.analysis.linear import Linear, built, linear
from parhelion.codegen.c.joined import sum_of
from parhelion.dataclass import dataclass
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr, Var
from parhelion.ir.rewrite import Rewriter, free_vars, nodes, substitute
from parhelion.simplify.simplifier import simplify
from parhelion.types import INT32, INT64


def clamped(loop: S.For) -> tuple[tuple[S.LetStmt, ...], S.For]:
    """The names to be given before a loop of lanes (`loops.is_simd`), and the loop with
    choices for what its lanes read at clamped places.

    ``for x in [0, n): f(p[max(x, 1) - 1])`` becomes ``first = p[0]`` and
    ``for x in [0, n): f(x < 1 ? first : p[x - 1])``. Only what each lane reads is
    changed, of memory to which no lane writes.
    """
    items = loop.body.items if isinstance(loop.body, S.Block) else (loop.body,)
    if loop.var.type is not INT32:
        return (), loop
    stored = {n.buffer for n in nodes(loop.body) if isinstance(n, S.Store)}
    edges = _Edges(loop)
    found: dict[Expr, Expr] = {}
    kept: list[S.Stmt] = []
    for item in items:
        if isinstance(item, S.LetStmt | S.Store):
            for load in _reads(item):
                if load in found or load.buffer in stored:
                    continue
                choice = edges.choice(load)
                if choice is not None:
                    named = Var("edge", load.type)
                    kept.append(S.LetStmt(named, choice))
                    found[load] = named
            if found:
                item = item.map(_Named(found).go)
        if isinstance(item, S.LetStmt):
            edges.name(item)
        kept.append(item)
    if not found:
        return (), loop
    body = build.block(*kept)
    return tuple(edges.before), S.For(loop.var, loop.min, loop.extent, loop.kind, body)


class _Named(Rewriter):
    """Replaces loads by their names."""

    def __init__(self, names: dict[Expr, Expr]) -> None:
        super().__init__()
        self._names = names

    def on_load(self, n: E.Load) -> Expr:
        return self._names.get(n) or n.map(self.go)


def _reads(item: S.LetStmt | S.Store) -> Iterator[E.Load]:
    """What a statement reads whatever its conditions are."""
    stack: list[Expr] = [item.value]
    if isinstance(item, S.Store):
        if item.predicate is not None:
            return
        stack.append(item.index)
    seen: set[Expr] = set()
    while stack:
        e = stack.pop()
        if e in seen or isinstance(e, E.Let):
            continue
        seen.add(e)
        if isinstance(e, E.Select):
            stack.append(e.cond)
        elif isinstance(e, E.And | E.Or):
            stack.append(e.a)
        elif not isinstance(e, E.Intrinsic) or e.op != "guarded":
            stack += [c for c in e.children() if isinstance(c, Expr)]
        if isinstance(e, E.Load) and e.predicate is None:
            yield e


@dataclass(frozen=True, slots=True)
class _Clamp:
    """A place that is ``plain`` between two limits: a sum of a lane and of what is the
    same for all lanes. low, high: whether there is a limit on this side."""

    plain: Linear
    low: bool = False
    high: bool = False


class _Edges:
    """What the lanes of a loop read at clamped places.

    before: the names that this needs before the loop.
    """

    def __init__(self, loop: S.For) -> None:
        self.before: list[S.LetStmt] = []
        self._lane = loop.var
        self._first = loop.min
        self._last = sum_of(build.sub(build.add(loop.min, loop.extent), build.int32(1)))
        self._any = simplify(build.lt(build.int32(0), loop.extent))
        #: Names of places, and those that differ from lane to lane, or may.
        self._places: dict[Var, Expr] = {}
        self._moving: set[Var] = {loop.var}
        self._known: dict[Expr, Var] = {}

    def name(self, item: S.LetStmt) -> None:
        """Takes note of a name in the loop."""
        value = item.value
        plain = not any([isinstance(n, E.Load | E.Let) for n in nodes(value)])
        if value.type is INT32 and plain:
            self._places[item.var] = substitute(value, self._places)
        else:
            self._moving.add(item.var)

    def choice(self, load: E.Load) -> Expr | None:
        """The value of a load by a choice; None if its place is another one."""
        place = substitute(load.index, self._places)
        form = linear(place)
        atom = self._one(form)
        clamp = None if atom is None else self._clamp(atom)
        if atom is None or clamp is None or not (clamp.low or clamp.high):
            return None
        plain = built(clamp.plain, INT32)
        if plain is None:
            return None
        offset = clamp.plain.plus(Linear(0, {self._lane: 1}), -1)
        row = self._named("row", _wide(form.without(atom).plus(offset)))
        here = build.add(build.cast(INT64, self._lane), row)
        value: Expr = E.Load(load.type, load.buffer, here, None)
        if clamp.high:
            last = self._read("last", load, place, self._last)
            value = E.Select(simplify(build.lt(atom, plain)), last, value)
        if clamp.low:
            first = self._read("first", load, place, self._first)
            value = E.Select(simplify(build.lt(plain, atom)), first, value)
        return value

    def _read(self, name: str, load: E.Load, place: Expr, lane: Expr) -> Var:
        """What some lane reads, if there is one."""
        at = simplify(substitute(place, {self._lane: lane}))
        value: Expr = E.Load(load.type, load.buffer, at, None)
        if not build.is_true(self._any):
            value = E.Select(self._any, value, build.imm(0, load.type))
        return self._named(name, value)

    def _named(self, name: str, value: Expr) -> Var:
        found = self._known.get(value)
        if found is None:
            found = self._known[value] = Var(name, value.type)
            self.before.append(S.LetStmt(found, value))
        return found

    def _one(self, form: Linear) -> Expr | None:
        """The atom of a sum that differs from lane to lane, if it is added once and all
        others are the same for all of them."""
        found: Expr | None = None
        for atom, times in form.terms.items():
            if self._moving.isdisjoint(free_vars(atom)):
                if any([isinstance(n, E.Load) for n in nodes(atom)]):
                    return None
            elif found is not None or times != 1:
                return None
            else:
                found = atom
        return found

    def _clamp(self, e: Expr) -> _Clamp | None:
        """An atom as a lane between limits."""
        if e is self._lane:
            return _Clamp(Linear(0, {e: 1}))
        if not isinstance(e, E.Min | E.Max):
            return None
        for inner, limit in ((e.a, e.b), (e.b, e.a)):
            if not self._stands(limit):
                continue
            form = linear(inner)
            atom = self._one(form)
            found = None if atom is None else self._clamp(atom)
            if atom is None or found is None:
                return None
            low = found.low or isinstance(e, E.Max)
            high = found.high or isinstance(e, E.Min)
            return _Clamp(form.without(atom).plus(found.plain), low, high)
        return None

    def _stands(self, e: Expr) -> bool:
        if any([isinstance(n, E.Load) for n in nodes(e)]):
            return False
        return self._moving.isdisjoint(free_vars(e))


def _wide(form: Linear) -> Expr:
    """A sum in 64 bits."""
    total: Expr = build.int64(0)
    for atom, times in form.terms.items():
        wide = build.mul(build.cast(INT64, atom), build.int64(abs(times)))
        total = build.add(total, wide) if times > 0 else build.sub(total, wide)
    return build.add(total, build.int64(form.const))


__all__ = ["clamped"]
