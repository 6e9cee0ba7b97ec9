"""Sums over the lanes of vectors: a loop keeps them apart, and folds them at its end.

A sum vectorised over its own loop folds each vector to a number, which takes as many
steps as the vector has halvings, and the next iteration waits for it:

    for i:                                    acc[ramp(0, 1, 16)] = 0
      f[0] = f[0] + reduce_add(v(i), 1)   ->  for i:
                                                acc[..] = acc[..] + reduce_add(v(i), 16)
                                              f[0] = f[0] + reduce_add(acc[..], 1)

`acc` is a register in the end (see `accumulate`), and what is left inside is the dot
product of the machine, if it has one. Integers only, with operations whose result is
the same to the bit in any order.
"""

from __future__ import annotations

from parhelion.dataclass import dataclass
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.build import block, const_int, int32, is_true
from parhelion.ir.expr import Expr, Load, Ramp, Var, VectorReduce
from parhelion.ir.rewrite import _N, Rewriter, free_vars, nodes
from parhelion.ir.stmt import ForKind, MemoryKind, Stmt
from parhelion.ir.symbols import BufferSym
from parhelion.ir.target import Target
from parhelion.lower.prefetch_streams import straight
from parhelion.types import Int, Type, UInt

#: Loops known to run less often than this keep one number.
LEAST_TRIPS = 3

_OPERATIONS: dict[str, type[E.Add | E.Min | E.Max]] = {
    "add": E.Add,
    "min": E.Min,
    "max": E.Max,
}


def sum_by_lanes(s: Stmt, target: Target) -> Stmt:
    """`s` with the sums of its innermost loops kept in lanes."""
    return _Sums(target).go(s)


def bytes_of(e: Expr) -> tuple[Expr, Expr] | None:
    """The unsigned and the signed bytes whose exact products `e` is."""
    if isinstance(e, E.Mul) and e.type.width == 32:
        one, other = _before_cast(e.a), _before_cast(e.b)
        if one is None or other is None:
            return None
        a, b = one, other
    elif isinstance(e, E.Cast) and isinstance(e.a, E.Intrinsic):
        if e.a.op != "widening_mul" or e.type.width != 32:
            return None
        a, b = e.a.args
    else:
        return None
    unsigned, signed = UInt(8, e.type.count), Int(8, e.type.count)
    if a.type is unsigned and b.type is signed:
        return a, b
    return (b, a) if b.type is unsigned and a.type is signed else None


def _before_cast(e: Expr) -> Expr | None:
    """What a vector was made of that was converted; also one whose lanes were repeated,
    or put into another order, since."""
    if isinstance(e, E.Cast):
        return e.a
    if isinstance(e, E.Shuffle) and len(e.vectors) == 1:
        inner = _before_cast(e.vectors[0])
        return None if inner is None else E.Shuffle((inner,), e.indices)
    if isinstance(e, E.Broadcast):
        inner = _before_cast(e.value)
        return None if inner is None else E.Broadcast(inner, e.lanes)
    return None


@dataclass(frozen=True, slots=True)
class _Sum:
    """A store that folds the lanes of `value` into one number. old: its old value."""

    store: S.Store
    op: str
    old: Load
    value: Expr
    lanes: int


class _Sums(Rewriter):
    def __init__(self, target: Target) -> None:
        super().__init__()
        self.target = target

    def go(self, n: _N) -> _N:
        return n if isinstance(n, Expr) else super().go(n)

    def on_for(self, n: S.For) -> Stmt:
        if n.kind is S.ForKind.GPU_BLOCK:
            return n
        sums = self._sums(n)
        if not sums:
            body = self.go(n.body)
            if body is n.body:
                return n
            return S.For(n.var, n.min, n.extent, n.kind, body)
        before: list[Stmt] = []
        after: list[Stmt] = []
        inside: dict[Stmt, Stmt] = {}
        for number in sums:
            t = number.value.type.with_lanes(number.lanes)
            one = t.element_of()
            acc = BufferSym("acc", one, 1, "internal")
            at = Ramp(int32(0), int32(1), number.lanes)
            kept = Load(t, acc, at, None)
            make = _OPERATIONS[number.op]
            before.append(
                S.Allocate(acc, (int32(number.lanes),), build.TRUE, MemoryKind.STACK, 0)
            )
            start = build.broadcast(build.imm(_identity(number.op, one), one), t.count)
            before.append(S.Store(acc, start, at, None))
            part = number.value
            if part.type.count > number.lanes:
                part = VectorReduce(number.op, part, number.lanes)
            inside[number.store] = S.Store(acc, make(kept, part), at, None)
            total = make(number.old, VectorReduce(number.op, kept, 1))
            s = number.store
            after.append(S.Store(s.buffer, total, s.index, None))
        body = block(*[inside.get(item, item) for item in straight(n.body)])
        made = S.Block((*before, S.For(n.var, n.min, n.extent, n.kind, body), *after))
        if const_int(n.extent) is not None:
            return made
        return S.If(build.lt(build.imm(0, n.extent.type), n.extent), made, None)

    def _sums(self, n: S.For) -> list[_Sum]:
        """The sums of a loop, if it has nothing else to do with their buffers."""
        trips = const_int(n.extent)
        if n.kind is not ForKind.SERIAL or (trips is not None and trips < LEAST_TRIPS):
            return []
        items = straight(n.body)
        if not all(isinstance(i, S.LetStmt | S.Store) for i in items):
            return []
        found = [x for i in items if isinstance(i, S.Store) and (x := self._sum(i))]
        if not found or len({x.store for x in found}) < len(found):
            return []
        inner: set[Var] = {n.var, *[i.var for i in items if isinstance(i, S.LetStmt)]}
        stored = {i.buffer for i in items if isinstance(i, S.Store)}
        loads = [e for i in items for c in i.children() for e in nodes(c)]
        out: list[_Sum] = []
        for x in found:
            b = x.store.buffer
            places = [s for s in items if isinstance(s, S.Store) and s.buffer is b]
            reads = [e for e in loads if isinstance(e, Load) and e.buffer is b]
            alone = len(places) == 1 and all(e is x.old for e in reads)
            still = inner.isdisjoint(free_vars(x.store.index)) and not any(
                isinstance(e, Load) and e.buffer in stored for e in nodes(x.store.index)
            )
            if alone and still:
                out.append(x)
        return out

    def _sum(self, s: S.Store) -> _Sum | None:
        t = s.value.type
        if t.count != 1 or not t.is_int_or_uint() or t.is_bool():
            return None
        if s.predicate is not None and not is_true(s.predicate):
            return None
        old = Load(t, s.buffer, s.index, None)
        for op, kind in _OPERATIONS.items():
            if type(s.value) is not kind:
                continue
            assert isinstance(s.value, E.Add | E.Min | E.Max)
            for a, b in ((s.value.a, s.value.b), (s.value.b, s.value.a)):
                if a is old and isinstance(b, VectorReduce) and b.op == op:
                    lanes = _lanes(b.value, self.target)
                    if b.lanes == 1 and lanes > 1:
                        return _Sum(s, op, old, b.value, lanes)
        return None


def _lanes(e: Expr, target: Target) -> int:
    """How many lanes to keep: all, but products of narrow numbers are summed by the
    instruction that computes them, as many as make up one wide number."""
    count, terms = e.type.count, 1
    if target.dots_bytes and bytes_of(e) is not None:
        terms = 4
    elif isinstance(e, E.Mul) and e.type.width == 32:
        narrow = [x.a.type for x in (e.a, e.b) if isinstance(x, E.Cast)]
        if len(narrow) == 2 and all(_fits_in_int16(t) for t in narrow):
            terms = 2
    return count // terms if count % terms == 0 else count


def _fits_in_int16(t: Type) -> bool:
    return t.is_int_or_uint() and (t.width <= 8 or t.element_of() is Int(16))


def _identity(op: str, t: Type) -> int:
    """What leaves every value of an integer type as it is."""
    if op == "add":
        return 0
    signed = t.is_int()
    if op == "min":
        return (1 << t.width - signed) - 1
    return -(1 << t.width - 1) if signed else 0
