"""Values that an iteration stores and reads back, kept in registers in the meantime.

A scan along columns, some rows at a time, reads the rows that it has just written. LLVM
takes a value that was stored last from its register; one that was stored before another
row it reads again, as it cannot know that rows do not overlap:

    f[ramp(x, 1, 16)] = a                        let v = a
    f[ramp(x + s, 1, 16)] = b                    f[ramp(x, 1, 16)] = v
    f[ramp(x + 2*s, 1, 16)] = f[ramp(x, 1, 16)]  f[ramp(x + s, 1, 16)] = b
                                             ->  f[ramp(x + 2*s, 1, 16)] = v

What is stored past the caches comes back from memory, ten times as slowly as it was
computed. So the version of a loop that does so (`lower.stream_stores`) keeps the values
itself, under the condition that rows are as far apart as they are wide: here, that s is
at least 16, or at most -16.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from parhelion.analysis.linear import difference
from parhelion.analysis.rank import loads, reads_data
from parhelion.dataclass import dataclass
from parhelion.ir.build import imm, le, lor, sub
from parhelion.ir.expr import Expr, Load, Ramp, Var
from parhelion.ir.rewrite import free_vars, substitute
from parhelion.ir.stmt import LetStmt, Stmt, Store
from parhelion.ir.symbols import BufferSym
from parhelion.lower.instantiate import instantiate
from parhelion.simplify.simplifier import simplify


@dataclass(frozen=True, slots=True)
class Kept:
    """Loads of values that the same iteration has stored before, and the conditions on
    which nothing has been stored there since."""

    loads: Set[Load]
    conditions: Sequence[Expr]


def kept_values(loop: Var, body: Iterable[Stmt]) -> Kept:
    """What an iteration of a loop of lets and stores alone reads of what it has stored
    itself. loop: its variable. body: its items, one after the other."""
    env: dict[Var, Expr] = {}
    stores: list[Store] = []
    early: set[Load] = set()
    kept: dict[Load, dict[Expr, None]] = {}
    for item in body:
        assert isinstance(item, LetStmt | Store)
        for load in loads(item.value):
            conditions = _since(load, stores, loop, env)
            if conditions is None:
                early.add(load)
            else:
                kept.setdefault(load, {}).update(dict.fromkeys(conditions))
        if isinstance(item, LetStmt):
            env[item.var] = substitute(item.value, env)
        else:
            stores.append(item)
    found = {e for e in kept if e not in early}
    return Kept(found, tuple(dict.fromkeys([c for e in found for c in kept[e]])))


def _since(
    load: Load, stores: Sequence[Store], loop: Var, env: dict[Var, Expr]
) -> list[Expr] | None:
    """On what conditions a load finds what a store has put there; None if none has, or
    if that cannot be told outside of the loop."""
    found: list[Expr] = []
    if load.predicate is not None:
        return None
    for s in reversed(stores):
        if s.buffer is not load.buffer:
            continue
        if s.index is load.index:
            return found if s.predicate is None else None
        apart = _apart(load.index, s.index, loop, env)
        if apart is None:
            return None
        found += apart
    return None


def _apart(a: Expr, b: Expr, loop: Var, env: dict[Var, Expr]) -> list[Expr] | None:
    """On what conditions two dense vectors have no element in common, in all iterations
    alike: none if they never have; None if that is not known."""
    if type(a) is not Ramp or type(b) is not Ramp or a.stride is not b.stride:
        return None
    one = imm(1, a.stride.type)
    if a.stride is not one or a.type.count != b.type.count:
        return None
    first, other = substitute(a.base, env), substitute(b.base, env)
    gap, count = difference(first, other), a.type.count
    if gap.is_const():
        return [] if abs(gap.const) >= count else None
    distance = simplify(sub(first, other))
    if loop in free_vars(distance) or reads_data(distance):
        return None
    t = distance.type
    return [lor(le(imm(count, t), distance), le(distance, imm(-count, t)))]


def hold(body: Iterable[Stmt], kept: Kept, buffers: Set[BufferSym]) -> list[Stmt]:
    """The items of a loop, with a name for each value that is stored to one of the
    buffers and read again, in place of the loads."""
    made: list[Stmt] = []
    values: dict[Expr, Expr] = {}
    renamed: dict[Var, Expr] = {}
    for item in body:
        new = instantiate(item, renamed, values)
        if isinstance(item, LetStmt):
            assert isinstance(new, LetStmt)
            if new.var is not item.var:
                renamed[item.var] = new.var
        elif isinstance(item, Store) and item.buffer in buffers:
            assert isinstance(new, Store)
            again = Load(item.value.type, item.buffer, item.index, None)
            if again in kept.loads:
                value = Var(f"{item.buffer.name}.kept{len(values)}", new.value.type)
                made.append(LetStmt(value, new.value))
                new = Store(new.buffer, value, new.index, new.predicate)
                values[again] = value
        made.append(new)
    return made


__all__ = ["Kept", "hold", "kept_values"]
