"""Adjoints as values at coordinates: what stands for a Func that may not be there.

An adjoint is 0 outside of the region of its Func. One that says so itself, wherever it
is read, is *everywhere*; others are read in the region only.
"""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.adjoint.arithmetic import where, zero
from parhelion.adjoint.regions import Region
from parhelion.dataclass import dataclass
from parhelion.errors import Site, located
from parhelion.ir.build import TRUE, clamp, conjunction, le, likely
from parhelion.ir.expr import Expr, FuncCall, Var
from parhelion.ir.function import Function, ReductionDomain
from parhelion.ir.rewrite import substitute
from parhelion.lang.definition import define
from parhelion.lang.expr import wrap
from parhelion.lang.func import Func
from parhelion.lang.tuples import Tuple
from parhelion.lang.var import of_var
from parhelion.types import Type


@dataclass(frozen=True, slots=True, eq=False)
class Adjoint:
    """The adjoint of one value of a Func, an image or a Param, in its type.

    func, index: which value of which Func it is; None for zero.
    constant: its value everywhere, where there is no Func.
    everywhere: whether it may be read outside of its region.
    """

    type: Type
    func: Function | None = None
    index: int = 0
    constant: Expr | None = None
    everywhere: bool = True

    @property
    def is_zero(self) -> bool:
        return self.func is None and self.constant is None

    def at(self, place: Sequence[Expr]) -> Expr:
        """Its value at coordinates."""
        if self.func is not None:
            return FuncCall(self.type, self.func, tuple(place), self.index)
        return zero(self.type) if self.constant is None else self.constant


def new_func(
    name: str, args: Sequence[Var], values: Sequence[Expr], site: Site | None
) -> Function:
    """A new Func with a pure definition, at the place of what it is the adjoint of."""
    f = Func(name)._function
    update(f, args, values, site)
    return f


def update(
    f: Function,
    args: Sequence[Expr],
    values: Sequence[Expr],
    site: Site | None,
    domain: ReductionDomain | None = None,
) -> None:
    """Gives a Func its pure definition or one more update."""
    given = tuple([_argument(f, a) for a in args])
    made = wrap(values[0]) if len(values) == 1 else Tuple(*map(wrap, values))
    if site is None:
        define(f, given, made, domain=domain)
        return
    with located(site):
        define(f, given, made, domain=domain)


def _argument(f: Function, a: Expr) -> object:
    """An argument as users write it: a Var where it stands for a dimension."""
    if isinstance(a, Var) and a.origin is None and (a in f.args or not f.defined):
        return of_var(a)
    return wrap(a)


def inside(place: Sequence[Expr], region: Region) -> Expr:
    """Whether coordinates lie in a region."""
    ends = [
        c
        for e, (lo, hi) in zip(place, region, strict=True)
        for c in (le(lo, e), le(e, hi))
    ]
    return conjunction(ends)


def guarded(value: Expr, args: Sequence[Var], region: Region) -> Expr:
    """A value in a region, and 0 outside of it, where nothing is read."""
    if not args:
        return value
    to: dict[Var, Expr] = {
        v: clamp(likely(v), lo, hi) for v, (lo, hi) in zip(args, region, strict=True)
    }
    condition = inside(args, region)
    if condition is TRUE:
        return value
    return where(likely(condition), substitute(value, to))


__all__ = ["Adjoint", "guarded", "inside", "new_func", "update"]
