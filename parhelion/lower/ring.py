"""Ring buffers: which of several copies of its storage an iteration of a Func uses.

Iterations of the loops between the allocation of a Func and the beginning of its
storage take the copies in turn. Where one thread does everything, any rule will do, and
the copy follows from the iteration's number. Where a Func has a thread of its own, a
semaphore says only *how many* copies are free, so that the next one has to be the one
that has been in use longest. Iterations that are left out, as those beyond a masked
tail are, take none: each thread counts the iterations that it runs.
"""

from __future__ import annotations

from parhelion.dataclass import dataclass
from parhelion.ir.build import add, eq, int32, is_const, mod, mul, select, sub
from parhelion.ir.expr import Expr, Load, Var
from parhelion.ir.function import Function
from parhelion.ir.stmt import LetStmt, Stmt, Store
from parhelion.ir.symbols import BufferSym
from parhelion.lower.regions import Regions
from parhelion.simplify.simplifier import simplify
from parhelion.types import INT32

_ZERO, _ONE = int32(0), int32(1)


@dataclass(frozen=True, slots=True)
class Turns:
    """Whose turn it is, in each of two threads: `cell` holds the number of the copy,
    which `slot` names within an iteration."""

    cell: BufferSym
    slot: Var
    copies: Expr

    def begin(self) -> Stmt:
        """The first copy, before any iteration."""
        return Store(self.cell, _ZERO, _ZERO, None)

    def step(self) -> Stmt:
        """The next copy, after an iteration."""
        last = eq(add(self.slot, _ONE), self.copies)
        following = select(last, _ZERO, add(self.slot, _ONE))
        return Store(self.cell, following, _ZERO, None)


def take_turns(regions: Regions, f: Function, copies: Expr) -> Turns | None:
    """Names the copy that an iteration uses where `f` has a thread of its own; None
    where there is one copy."""
    if is_const(copies, 1):
        return None
    cell = BufferSym(f"{f.name}.turns", INT32, 1, "internal")
    most = simplify(sub(copies, _ONE))
    slot = Var(f"{f.name}.slot", INT32, lo=_ZERO, hi=most)
    let = LetStmt(slot, Load(INT32, cell, _ZERO, None))
    regions.sites.store(f).lets.append(let)
    return Turns(cell, slot, copies)


def numbered_slot(regions: Regions, f: Function, copies: Expr) -> Expr:
    """Which copy an iteration uses where one thread does everything: a name at the
    beginning of the storage."""
    hoist, store = regions.sites.hoist(f), regions.sites.store(f)
    count: Expr = _ZERO
    stride: Expr = _ONE
    for site in store.outwards():
        if site is hoist:
            break
        if site.stage is not None and site.depth:
            loop = regions.loops(site.stage).loops[site.depth - 1]
            count = add(count, mul(sub(loop.var, loop.min), stride))
            stride = mul(stride, loop.extent)
    value = simplify(mod(count, copies))
    slot = Var(f"{f.name}.slot", INT32, value=value)
    store.lets.append(LetStmt(slot, value))
    return slot


__all__ = ["Turns", "numbered_slot", "take_turns"]
