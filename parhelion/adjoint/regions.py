"""Which region of each Func a pipeline computes for given bounds of its outputs.

The sums that an adjoint consists of run over these regions, so that they are
expressions of Params and of the sizes of images. A region holds what is read of a Func
and what its own updates read and write.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parhelion.adjoint.flows import Walk, plain
from parhelion.analysis.bounds import bounds_of
from parhelion.analysis.box import boxes_touched, narrow
from parhelion.analysis.symbolic import EVERYTHING, SymInterval, join
from parhelion.dataclass import dataclass
from parhelion.errors import BoundsError
from parhelion.ir.build import is_true
from parhelion.ir.expr import Expr, FuncCall, ImageLoad, Var
from parhelion.ir.function import Definition, Function
from parhelion.ir.rewrite import nodes, substitute
from parhelion.ir.symbols import BufferSym
from parhelion.simplify.simplifier import simplify
from parhelion.types import INT32

#: Inclusive bounds of each dimension.
Region = tuple[tuple[Expr, Expr], ...]
_Box = tuple[SymInterval, ...]
#: How often a region is looked at again, as what an update reads of its own Func grows
#: with it, before it is taken to have no end.
_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Instance:
    """A definition with variables of its own in place of those that it shares.

    walks: its variables, the Func's arguments first, then the reduction variables in
    their order.
    """

    definition: Definition
    args: tuple[Expr, ...]
    values: tuple[Expr, ...]
    predicate: Expr
    walks: tuple[Walk, ...]


class Regions:
    """The regions of the Funcs and images of a pipeline."""

    def __init__(
        self, order: Sequence[Function], bounds: Mapping[Function, Region]
    ) -> None:
        """order: all Funcs, each after those that it reads. bounds: of the outputs."""
        self._found: dict[Function | BufferSym, _Box] = {}
        self._values: dict[tuple[Function, int], SymInterval] = {}
        self._done: dict[Function | BufferSym, Region] = {}
        for f, region in bounds.items():
            self._grow(f, tuple([SymInterval(*side) for side in region]))
        for f in reversed(order):
            if f in self._found:
                self._visit(f)

    def of(
        self, source: Function | BufferSym, reader: Function | None = None
    ) -> Region:
        """The region of a Func or image. Raises BoundsError if it has no end, or only
        pixels tell where it ends."""
        found = self._done.get(source)
        if found is None:
            box = self._found[source]
            sides = [_known(source, d, side) for d, side in enumerate(box)]
            found = self._done[source] = tuple(sides)
        return found

    def reached(self, source: Function | BufferSym) -> bool:
        """Whether anything of it is computed."""
        return source in self._found

    def _grow(self, source: Function | BufferSym, box: _Box) -> bool:
        """Adds a box to a region; returns whether that has grown."""
        old = self._found.get(source)
        if old is None:
            self._found[source] = tuple([_simpler(i) for i in box])
            return True
        new = tuple([_simpler(join(a, b)) for a, b in zip(old, box, strict=True)])
        self._found[source] = new
        return new != old

    def _visit(self, f: Function) -> None:
        """Adds what the definitions of a Func read, of others and of itself."""
        for _ in range(_ROUNDS):
            grown = False
            for d in f.as_written()[1:]:
                grown |= self._own(f, d)
            if not grown:
                break
        for d in f.as_written():
            scope = self._scope(f, d)
            for source, box in self._touched(d, scope).items():
                if source is not f:
                    self._grow(source, box)

    def _own(self, f: Function, d: Definition) -> bool:
        """Adds what an update writes, and what it reads of its own Func."""
        scope = self._scope(f, d)
        narrowed = narrow(scope, d.predicate, self._value)
        written = tuple([bounds_of(a, narrowed, self._value) for a in d.args])
        grown = self._grow(f, written)
        own = self._touched(d, scope).get(f)
        return grown | (own is not None and self._grow(f, own))

    def _touched(
        self, d: Definition, scope: Mapping[Var, SymInterval]
    ) -> dict[Function | BufferSym, _Box]:
        narrowed = narrow(scope, d.predicate, self._value)
        found = boxes_touched((*d.values, *d.args), narrowed, self._value)
        if not is_true(d.predicate):
            more = boxes_touched((d.predicate,), scope, self._value)
            for source, box in more.items():
                old = found.get(source, box)
                found[source] = tuple(
                    [join(a, b) for a, b in zip(old, box, strict=True)]
                )
        return found

    def _scope(self, f: Function, d: Definition) -> dict[Var, SymInterval]:
        scope = dict(zip(f.args, self._found[f], strict=True))
        if d.rdom is not None:
            for v in d.rdom.vars:
                scope[v] = SymInterval(v.lo, v.hi)
        return scope

    def _value(self, f: Function, index: int) -> SymInterval:
        """What a value of a Func lies between, wherever it is evaluated."""
        key = (f, index)
        found = self._values.get(key)
        if found is None:
            found = EVERYTHING
            if f.pure is not None and not f.updates and f.extern is None:
                everywhere = dict.fromkeys(f.args, EVERYTHING)
                value = f.as_written()[0].values[index]
                found = bounds_of(value, everywhere, self._value)
            self._values[key] = found
        return found


def _simpler(i: SymInterval) -> SymInterval:
    return SymInterval(
        None if i.lo is None else simplify(i.lo),
        None if i.hi is None else simplify(i.hi),
    )


def _known(
    source: Function | BufferSym, d: int, side: SymInterval
) -> tuple[Expr, Expr]:
    name = source.label if isinstance(source, Function) else source.name
    what = f"dimension {d} of {name!r}"
    for end in side:
        if end is None:
            raise BoundsError(
                f"the gradient sums over all of {what} that is computed, and where"
                " that ends is not known",
                at=source.site,
                hint="clamp the coordinates that it is read and updated at:"
                " hl.clamp(i, 0, n - 1)",
            )
        for n in nodes(end):
            if isinstance(n, FuncCall | ImageLoad):
                raise BoundsError(
                    f"the gradient sums over all of {what} that is computed, and where"
                    " that ends depends on values",
                    at=source.site,
                    hint="clamp the coordinates that it is read and updated at by"
                    " constants, Params or sizes of images",
                )
    assert side.lo is not None and side.hi is not None
    return side.lo, side.hi


def instance(f: Function, d: Definition, region: Region) -> Instance:
    """One definition of a Func over a region, without effects."""
    walks, renamed = [], {}
    own = [v for v, arg in zip(f.args, d.args, strict=True) if arg is v]
    for v, (lo, hi) in zip(f.args, region, strict=True):
        if v in own:
            renamed[v] = Var(v.name, INT32, lo=lo, hi=hi)
            walks.append(Walk(renamed[v], lo, hi, True))
    if d.rdom is not None:
        for v in d.rdom.vars:
            assert v.lo is not None and v.hi is not None
            lo, hi = simplify(v.lo), simplify(v.hi)
            renamed[v] = Var(v.name, INT32, lo=lo, hi=hi)
            walks.append(Walk(renamed[v], lo, hi, False))
    args, values = (
        tuple([substitute(plain(e), renamed) for e in given])
        for given in (d.args, d.values)
    )
    predicate = substitute(plain(d.predicate), renamed)
    return Instance(d, args, values, predicate, tuple(walks))


__all__ = ["Instance", "Region", "Regions", "instance"]
