"""Coordinates become places in storage that is folded, or allocated further out.

    f(x, y) = …         ->    f(x, (y - f.y.min) % 4) = …      folded by 4
    … f(x, y) …         ->    … f(x - f.x.min, y - f.y.min) …  allocated further out

What each coordinate is counted from and folded by, `lower.folding` has decided: names
that are bound where the storage begins, hence around all uses. The `Realize` of such a
Func begins at 0 already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parhelion.ir.build import add, mod, sub
from parhelion.ir.expr import Expr, FuncCall
from parhelion.ir.function import Function
from parhelion.ir.rewrite import Rewriter
from parhelion.ir.stmt import Provide, ProvideExtern, Stmt
from parhelion.lower.folding import Origin

Origins = Mapping[Function, tuple[Origin | None, ...]]


def relocate_storage(s: Stmt, origins: Origins) -> Stmt:
    """`s` with the coordinates of the Funcs of `origins` replaced by their places."""
    return _Relocate(origins).go(s) if origins else s


class _Relocate(Rewriter):
    def __init__(self, origins: Origins) -> None:
        super().__init__()
        self.origins = origins

    def on_funccall(self, n: FuncCall) -> Expr:
        args = self.places(n.func, [self.go(a) for a in n.args])
        return FuncCall(n.type, n.func, args, n.index)

    def on_provide(self, n: Provide) -> Stmt:
        args = self.places(n.func, [self.go(a) for a in n.args])
        values = tuple([self.go(v) for v in n.values])
        predicate = None if n.predicate is None else self.go(n.predicate)
        return Provide(n.func, values, args, predicate)

    def on_provideextern(self, n: ProvideExtern) -> Stmt:
        return ProvideExtern(
            n.func,
            n.bounds,
            self.places(n.func, n.at),
            n.scalars,
            tuple([self.go(e) for e in n.sources]),
            n.boxes,
        )

    def places(self, f: Function, args: Sequence[Expr]) -> tuple[Expr, ...]:
        found = self.origins.get(f)
        if found is None:
            return tuple(args)
        return tuple([_place(a, o) for a, o in zip(args, found, strict=True)])


def _place(at: Expr, origin: Origin | None) -> Expr:
    if origin is None:
        return at
    place = sub(at, origin.min)
    if origin.fold is not None:
        place = mod(place, origin.fold)
    return place if origin.shift is None else add(place, origin.shift)
