"""What one iteration of a scan hands on to the next stays in a register.

A running sum in vectors (`lower.lane_scans`) begins each of them with the last value
that the one before stored. Read back from memory, that takes a store, a load and a sum
between one vector and the next, in which nothing else of the row can happen. So the
value is kept in all lanes of a register, to which the sum of the whole vector is added:

    for x:                                         c = broadcast(f[first - 1])
      p = sums of prefixes of g[ramp(x, 1, 8)]     for x:
      f[ramp(x, 1, 8)] = p + broadcast(f[x - 1])     p = …
                                              ->     f[ramp(x, 1, 8)] = p + c
                                                     c = c + broadcast(last lane of p)

Values are the same bits: the last lane of what is stored is the sum of the same two.
The register is storage of one vector, which LLVM keeps in one, as its places are known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parhelion.analysis.linear import difference
from parhelion.dataclass import dataclass
from parhelion.ir.build import TRUE, add, block, const_int, int32, lt, sub
from parhelion.ir.expr import Add, Broadcast, Expr, Load, Ramp, Shuffle, Var
from parhelion.ir.rewrite import _N, Rewriter, substitute
from parhelion.ir.stmt import (
    Allocate,
    For,
    ForKind,
    If,
    LetStmt,
    MemoryKind,
    Stmt,
    Store,
)
from parhelion.ir.symbols import BufferSym
from parhelion.lower.prefetch_streams import straight
from parhelion.simplify.simplifier import simplify

_ZERO, _ONE = int32(0), int32(1)


def carry_scans(s: Stmt) -> Stmt:
    """The statement, with what running sums in vectors hand on kept in registers."""
    return _Carry().go(s)


@dataclass(frozen=True, slots=True)
class _Step:
    """A store of `sums` plus what the iteration before has stored last, `before`.
    index: where it stores, and base the first place, in terms of the loop alone."""

    store: Store
    index: Ramp
    base: Expr
    sums: Expr
    before: Load


class _Carry(Rewriter):
    def go(self, n: _N) -> _N:
        return n if isinstance(n, Expr) else super().go(n)

    def on_for(self, n: For) -> Stmt:
        if n.kind is ForKind.GPU_BLOCK:
            return n
        body = straight(n.body)
        plain = all(isinstance(i, LetStmt | Store) for i in body)
        if n.kind is not ForKind.SERIAL or not plain:
            return n.map(self.go)
        env: dict[Var, Expr] = {}
        for item in body:
            if isinstance(item, LetStmt):
                env[item.var] = substitute(item.value, env)
        steps = [
            found
            for item in body
            if isinstance(item, Store)
            and (found := _step(item, n, env)) is not None
            and _is_alone(found, n, body, env)
        ]
        return _carried(n, body, steps, env) if steps else n


def _step(s: Store, loop: For, env: Mapping[Var, Expr]) -> _Step | None:
    """The store as a step of a running sum, if it is one."""
    value, index = s.value, s.index
    if type(value) is not Add or type(index) is not Ramp or s.predicate is not None:
        return None
    stride = const_int(index.stride)
    if stride is None:
        return None
    for sums, before in ((value.a, value.b), (value.b, value.a)):
        if type(before) is not Broadcast or type(before.value) is not Load:
            continue
        load = before.value
        if load.buffer is not s.buffer or load.predicate is not None:
            continue
        base = substitute(index.base, env)
        last = add(_earlier(base, loop), int32((index.type.count - 1) * stride))
        read = substitute(load.index, env)
        if const_int(simplify(sub(read, last))) == 0:
            return _Step(s, index, base, sums, load)
    return None


def _earlier(e: Expr, loop: For) -> Expr:
    """An expression in the iteration before."""
    return substitute(e, {loop.var: sub(loop.var, _ONE)})


def _is_alone(
    step: _Step, loop: For, body: Sequence[Stmt], env: Mapping[Var, Expr]
) -> bool:
    """Whether nothing else in the loop stores where a step reads, since that place was
    stored to."""
    read = substitute(step.before.index, env)
    for item in body:
        if not isinstance(item, Store) or item is step.store:
            continue
        if item.buffer is not step.store.buffer:
            continue
        at = item.index
        if type(at) is not Ramp or (stride := const_int(at.stride)) is None:
            return False
        base = substitute(at.base, env)
        for place in (base, _earlier(base, loop)):
            gap = difference(read, place)
            if gap.terms:
                return False
            ends = sorted((0, (at.type.count - 1) * stride))
            if ends[0] <= gap.const <= ends[1]:
                return False
    return True


def _carried(
    n: For, body: Sequence[Stmt], steps: Sequence[_Step], env: Mapping[Var, Expr]
) -> Stmt:
    """The loop with registers for steps. Lets and stores keep their order: what a step
    hands on is known once it has stored."""
    made: dict[Store, list[Stmt]] = {}
    around: list[Stmt] = []
    first: list[Stmt] = []
    for k, step in enumerate(steps):
        t, count = step.sums.type, step.index.type.count
        register = BufferSym(
            f"{step.store.buffer.name}.carried{k}", t.element_of(), 1, "internal"
        )
        whole = Ramp(_ZERO, _ONE, count)
        kept = Load(t, register, whole, None)
        around.append(Allocate(register, (int32(count),), TRUE, MemoryKind.STACK, 0))
        at = simplify(substitute(substitute(step.before.index, env), {n.var: n.min}))
        begun = Load(step.before.type, step.before.buffer, at, None)
        first.append(Store(register, Broadcast(begun, count), whole, None))
        sums = Var(f"{step.store.buffer.name}.sums{k}", t)
        last = Broadcast(Shuffle((sums,), (count - 1,)), count)
        made[step.store] = [
            LetStmt(sums, step.sums),
            Store(step.store.buffer, Add(sums, kept), step.index, None),
            Store(register, Add(kept, last), whole, None),
        ]
    inside = [
        part
        for item in body
        for part in (made.get(item, [item]) if isinstance(item, Store) else [item])
    ]
    loop = For(n.var, n.min, n.extent, n.kind, block(*inside))
    runs = block(*around, *first, loop)
    if (extent := const_int(n.extent)) is not None and extent > 0:
        return block(runs)
    return If(lt(_ZERO, n.extent), runs, None)


__all__ = ["carry_scans"]
