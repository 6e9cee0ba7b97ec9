"""Expressions over one loop variable, made expressions over all its values at once.

Vectorising a loop of m iterations replaces its variable by ``Ramp(min, 1, m)``. An
expression that depends on it gets m times its lanes: lane ``j * n + i`` is lane i of
iteration j, where n is the number of lanes that it had (more than one inside a nest of
vectorised loops, which are done from the inside out). What does not depend on the
variable keeps its lanes, and is spread only where it meets something that does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parhelion.ir.build import const_int, imm, land
from parhelion.ir.expr import (
    BINARY,
    Add,
    Broadcast,
    Cast,
    Expr,
    Extern,
    Intrinsic,
    Let,
    Load,
    Mul,
    Not,
    Ramp,
    Reinterpret,
    Select,
    Shuffle,
    StringImm,
    Var,
    VectorReduce,
)
from parhelion.ir.intrinsics import INTRINSICS
from parhelion.ir.node import Node
from parhelion.ir.rewrite import free_vars, nodes
from parhelion.ir.symbols import BufferSym
from parhelion.lower.lanes import (
    binary,
    cast_lanes,
    concat,
    is_concat,
    lane,
    pieces,
    repeat,
    slice_lanes,
    to_lanes,
)
from parhelion.types import Type


class CannotVectorize(Exception):
    """Signals that a statement has to run lane by lane."""


def is_pure(n: Node) -> bool:
    """Whether no expression in `n` has an effect that each iteration must have in its
    turn: printing, failing. (`trace` shows all iterations at once.)"""
    return not any(
        type(e) is Intrinsic and not INTRINSICS[e.op].pure and e.op != "trace"
        for e in nodes(n)
    )


class Widener:
    """Rewrites expressions for `times` iterations of a loop.

    env: each varying Var, as a vector over the iterations.
    laned: buffers allocated inside the loop, which have one copy per iteration; the
        copies of one element lie side by side.
    mask: where set, a Bool per iteration; loads are made only where it holds.
    narrowest: the width in bits below which masked loads and stores are not worth it.
    """

    def __init__(self, times: int, narrowest: int) -> None:
        self.times = times
        self.narrowest = narrowest
        self.env: dict[Var, Expr] = {}
        self.laned: frozenset[BufferSym] = frozenset()
        self.mask: Expr | None = None
        self.uniform_loads = False
        self._memo: dict[Expr, Expr] = {}

    def bind(self, var: Var, value: Expr | None) -> None:
        """Says that `var` is `value` from here on (None: that it does not vary)."""
        if var in self.env:
            self._memo.clear()
        if value is not None:
            self.env[var] = value
        else:
            self.env.pop(var, None)

    def set_mask(self, mask: Expr | None) -> None:
        self.mask = mask
        self._memo.clear()

    def go(self, e: Expr) -> Expr:
        """`e` over all iterations; `e` itself if it is the same in all of them."""
        found = self._memo.get(e)
        if found is None:
            if type(e) is Var:
                return self.env.get(e, e)
            plain = self.env.keys().isdisjoint(free_vars(e))
            if plain and not self.laned and self.mask is None:
                return e
            handler = _HANDLERS.get(type(e))
            found = handler(self, e) if handler else e
            self._memo[e] = found
        return found

    def spread(self, old: Expr, new: Expr) -> Expr:
        """`new`, made of `old` by `go`, with a lane per iteration and lane of old."""
        return to_lanes(new, old.type.count * self.times)

    def full(self, e: Expr) -> Expr:
        """`e` with a lane per iteration and lane, whether it varies or not."""
        return self.spread(e, self.go(e))

    def lanes_of(self, mask: Expr, count: int) -> Expr:
        """`mask`, one Bool per iteration, for a vector of `count` lanes."""
        return repeat(mask, count // self.times)

    # The nodes.

    def _binary(self, e: Any) -> Expr:
        a, b = self.go(e.a), self.go(e.b)
        if a is e.a and b is e.b:
            return e  # type: ignore[no-any-return]
        return binary(type(e), self.spread(e.a, a), self.spread(e.b, b))

    def _not(self, e: Not) -> Expr:
        a = self.go(e.a)
        if a is e.a:
            return e
        return Broadcast(Not(a.value), a.lanes) if type(a) is Broadcast else Not(a)

    def _cast(self, e: Cast) -> Expr:
        a = self.go(e.a)
        return e if a is e.a else cast_lanes(e.type.element_of(), a)

    def _reinterpret(self, e: Reinterpret) -> Expr:
        a = self.go(e.a)
        return e if a is e.a else Reinterpret(self._wider(e.type), a)

    def _wider(self, t: Type) -> Type:
        return t.with_lanes(t.count * self.times)

    def _select(self, e: Select) -> Expr:
        cond, a, b = self.go(e.cond), self.go(e.a), self.go(e.b)
        if cond is e.cond and a is e.a and b is e.b:
            return e
        if cond is not e.cond or cond.type.count > 1:
            count = e.type.count * self.times
            if e.cond.type.count == 1:  # one condition for each vector of old lanes
                cond = repeat(to_lanes(cond, self.times), count // self.times)
            else:
                cond = self.spread(e.cond, cond)
        return Select(cond, self.spread(e.a, a), self.spread(e.b, b))

    def _let(self, e: Let) -> Expr:
        value = self.go(e.value)
        if value is e.value:
            self.bind(e.var, None)
            body = self.go(e.body)
            return e if body is e.body else Let(e.var, value, body)
        named, wide = self.name(e.var, value)
        self.bind(e.var, wide)
        body = self.go(e.body)
        return body if named is None else Let(named[0], named[1], body)

    def name(self, var: Var, value: Expr) -> tuple[tuple[Var, Expr] | None, Expr]:
        """How a let of a widened value goes on: the (Var, value) to bind, if any, and
        what stands for `var`. Affine vectors are not hidden behind a name."""
        kinds = {type(v) for v in pieces(value)}
        if kinds <= {Ramp, Broadcast} and is_concat(value):
            return None, value
        if type(value) is Ramp and const_int(value.stride) is not None:
            base = value.base
            if base.children():
                new = Var(var.name, base.type, value=base)
                return (new, base), Ramp(new, value.stride, value.lanes)
            return None, value
        if type(value) is Broadcast:
            new = Var(var.name, value.value.type, value=value.value)
            return (new, value.value), Broadcast(new, value.lanes)
        new = Var(var.name, value.type, value=value)
        return (new, value), new

    def _load(self, e: Load) -> Expr:
        index = self.go(e.index)
        predicate = None if e.predicate is None else self.go(e.predicate)
        laned = e.buffer in self.laned
        if index is e.index and predicate is e.predicate and not laned:
            # The same in all iterations. Under a mask it is safe only where some
            # iteration runs; whoever set the mask sees to that.
            if self.mask is not None:
                self.uniform_loads = True
            return e
        count = e.type.count * self.times
        index = self.index(e.buffer, e.index, index)
        if e.predicate is not None:
            assert predicate is not None
            predicate = self.predicate(e.predicate, predicate, e.type.count)
        predicate = self.masked(predicate, count)
        if predicate is not None:
            self.check_masked(e.type)
        return load_pieces(self._wider(e.type), e.buffer, index, predicate)

    def predicate(self, old: Expr, new: Expr, count: int) -> Expr:
        """The predicate of an access that had `count` lanes, for all iterations."""
        if old.type.count == count:
            return self.spread(old, new)
        return repeat(to_lanes(new, self.times), count)

    def index(self, buffer: BufferSym, old: Expr, new: Expr) -> Expr:
        """An index over all iterations, into the iteration's own copy if laned."""
        index = self.spread(old, new)
        if buffer not in self.laned:
            return index
        t = old.type.element_of()
        own = repeat(Ramp(imm(0, t), imm(1, t), self.times), old.type.count)
        count = index.type.count
        scaled = binary(Mul, index, Broadcast(imm(self.times, t), count))
        return binary(Add, scaled, own)

    def masked(self, predicate: Expr | None, count: int) -> Expr | None:
        """A predicate of `count` lanes and the mask together."""
        if self.mask is None:
            return predicate
        mask = self.lanes_of(self.mask, count)
        return mask if predicate is None else land(mask, predicate)

    def check_masked(self, t: Type) -> None:
        if t.width < self.narrowest:
            raise CannotVectorize

    def _ramp(self, e: Ramp) -> Expr:
        base, stride = self.go(e.base), self.go(e.stride)
        if base is e.base and stride is e.stride:
            return e
        return concat(
            [Ramp(lane(base, j), lane(stride, j), e.lanes) for j in range(self.times)]
        )

    def _broadcast(self, e: Broadcast) -> Expr:
        value = self.go(e.value)
        return e if value is e.value else repeat(value, e.lanes)

    def _shuffle(self, e: Shuffle) -> Expr:
        vectors = [self.go(v) for v in e.vectors]
        if all(new is old for new, old in zip(vectors, e.vectors, strict=True)):
            return e
        wide = [self.spread(o, n) for o, n in zip(e.vectors, vectors, strict=True)]
        if is_concat(e):
            return self._interleaved(e, wide)
        # Where each old lane lies in the concatenation of the wide vectors.
        places: list[tuple[int, int]] = []  # (position in iteration 0, old lanes)
        start = 0
        for old in e.vectors:
            n = old.type.count
            places += [(start + i, n) for i in range(n)]
            start += n * self.times
        indices = [
            places[i][0] + j * places[i][1]
            for j in range(self.times)
            for i in e.indices
        ]
        return Shuffle(tuple(wide), tuple(indices))

    def _interleaved(self, e: Shuffle, wide: list[Expr]) -> Expr:
        """The pieces of each iteration in turn."""
        out = []
        for j in range(self.times):
            for old, new in zip(e.vectors, wide, strict=True):
                n = old.type.count
                out.append(slice_lanes(new, j * n, n))
        return concat(out)

    def _reduce(self, e: VectorReduce) -> Expr:
        value = self.go(e.value)
        if value is e.value:
            return e
        return VectorReduce(e.op, value, e.lanes * self.times)

    def _intrinsic(self, e: Intrinsic) -> Expr:
        if not INTRINSICS[e.op].pure and (e.op != "trace" or self.mask is not None):
            raise CannotVectorize
        args = [self.go(a) for a in e.args]
        if all(new is old for new, old in zip(args, e.args, strict=True)):
            return e
        wide = [
            o if type(o) is StringImm else self.spread(o, n)
            for o, n in zip(e.args, args, strict=True)
        ]
        return Intrinsic(self._wider(e.type), e.op, tuple(wide))

    def _extern(self, e: Extern) -> Expr:
        args = [self.go(a) for a in e.args]
        if all(new is old for new, old in zip(args, e.args, strict=True)):
            return e
        wide = [self.spread(o, n) for o, n in zip(e.args, args, strict=True)]
        return Extern(self._wider(e.type), e.name, tuple(wide))


_HANDLERS: dict[type[Expr], Callable[[Widener, Any], Expr]] = {
    **dict.fromkeys(BINARY, Widener._binary),
    Not: Widener._not,
    Cast: Widener._cast,
    Reinterpret: Widener._reinterpret,
    Select: Widener._select,
    Let: Widener._let,
    Load: Widener._load,
    Ramp: Widener._ramp,
    Broadcast: Widener._broadcast,
    Shuffle: Widener._shuffle,
    VectorReduce: Widener._reduce,
    Intrinsic: Widener._intrinsic,
    Extern: Widener._extern,
}


def load_pieces(
    t: Type, buffer: BufferSym, index: Expr, predicate: Expr | None
) -> Expr:
    """A load of `index`; where that is a concatenation of ramps and broadcasts, the
    concatenation of their loads, each of which is dense, strided or one element."""
    parts = pieces(index)
    if len(parts) == 1 or not all(type(p) in (Ramp, Broadcast) for p in parts):
        if type(index) is Broadcast and predicate is None:
            element = Load(t.element_of(), buffer, index.value, None)
            return Broadcast(element, t.count)
        return Load(t, buffer, index, predicate)
    loads: list[Expr] = []
    at = 0
    for part in parts:
        n = part.type.count
        sub = None if predicate is None else slice_lanes(predicate, at, n)
        loads.append(load_pieces(t.with_lanes(n), buffer, part, sub))
        at += n
    return concat(loads)
