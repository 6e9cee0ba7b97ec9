"""Atomic updates: where they are needed, and how their iterations share vectors.

A stage with `atomic` whose reduction loops run in parallel, on the blocks or threads of
a GPU, or as vectors, has each of its updates marked by an `Atomic`. Threads are kept
apart in code generation, by the marks that are `shared`. Lanes are dealt with by
`vectorize_loops`: updates of places that surely differ are one vector operation; those
of one place are folded first,

    atomic: f[i] = f[i] + g[ramp(0, 1, 8)]   ->   f[i] = f[i] + reduce_add(g[...])

and all others happen lane by lane, so that lanes which meet add up.
"""

from __future__ import annotations

from parhelion.dataclass import dataclass
from parhelion.ir.build import const_int, imm, select
from parhelion.ir.expr import (
    Add,
    And,
    Expr,
    FuncCall,
    Intrinsic,
    Load,
    Max,
    Min,
    Mul,
    Or,
    Ramp,
    Sub,
)
from parhelion.ir.intrinsics import FUSED, INTRINSICS
from parhelion.ir.rewrite import _N, Rewriter, nodes
from parhelion.ir.rounding import unfused
from parhelion.ir.stmt import Atomic, ForKind, Provide, Stmt, Store
from parhelion.lower.stages import LoopStage
from parhelion.schedule.associativity import OPERATIONS
from parhelion.schedule.directives import DimType
from parhelion.types import Bool


def marked(stage: LoopStage, update: Provide) -> Stmt:
    """The update of a stage at one point, inside an `Atomic` where it needs one."""
    schedule = stage.schedule
    if not schedule.atomic:
        return update
    kinds = {d.kind for d in schedule.dims if d.type is DimType.IMPURE_RVAR}
    shared = any([kind.threaded for kind in kinds])
    if not shared and ForKind.VECTORIZED not in kinds:
        return update
    return Atomic(stage.func, shared, not _is_one_word(update), update)


def _is_one_word(update: Provide) -> bool:
    """Whether a compare-and-exchange of one value does the whole update: it has one,
    reads nothing else of its Func, and may be evaluated again."""
    if len(update.values) != 1 or not update.values[0].type.bytes() <= 8:
        return False
    if update.values[0].type.is_handle():
        return False
    for e in (*update.values, *update.args):
        for n in nodes(e):
            if type(n) is FuncCall and n.func is update.func:
                if n.args != update.args:
                    return False
            elif type(n) is Intrinsic and not INTRINSICS[n.op].pure:
                return False
    return True


@dataclass(frozen=True, slots=True)
class AtomicUpdate:
    """An update ``old op plus - minus``: `plus` and `minus` do not read the buffer
    that `old` is in. `minus` goes with "add" only; one of them may be missing."""

    op: str
    kind: type[Add | Mul | Min | Max | And | Or]
    old: Load
    plus: Expr | None
    minus: Expr | None


def fold_of(s: Store) -> AtomicUpdate | None:
    """The store as a fold of something into the value that is there."""
    if isinstance(s.value, Intrinsic) and s.value.op in FUSED:
        # The order of the sum is free here, and so is where it is rounded.
        s = Store(s.buffer, unfused(s.value), s.index, s.predicate)
    kind = type(s.value)
    op = OPERATIONS.get(kind)
    if op is None:
        return None
    if kind in (Min, Max) and s.value.type.is_float():
        return _fold_of_floats(s)
    old: Load | None = None
    plus: list[Expr] = []
    minus: list[Expr] = []
    stack: list[tuple[Expr, bool]] = [(s.value, True)]
    while stack:
        e, positive = stack.pop()
        if OPERATIONS.get(type(e)) == op:
            a, b = e.children()
            assert isinstance(a, Expr) and isinstance(b, Expr)
            stack += [(b, positive != (type(e) is Sub)), (a, positive)]
        elif type(e) is Load and e.buffer is s.buffer:
            if old is not None or not positive or e.index is not s.index:
                return None
            old = e
        elif any(type(n) is Load and n.buffer is s.buffer for n in nodes(e)):
            return None
        else:
            (plus if positive else minus).append(e)
    if old is None:
        return None
    make = Add if kind is Sub else kind
    assert make in (Add, Mul, Min, Max, And, Or)
    return AtomicUpdate(op, make, old, _folded(make, plus), _folded(make, minus))


def _fold_of_floats(s: Store) -> AtomicUpdate | None:
    """The fold of ``min(min(old, a), b)``, or of maxima, of floats.

    A NaN on the right is passed over by `min` and `max`, one on the left stays. So the
    old value must be at the left end for the order to be free, and lanes that are NaN
    take no part: they are replaced by the neutral value.
    """
    kind = type(s.value)
    assert kind is Min or kind is Max
    t = s.value.type
    neutral = imm(t.highest() if kind is Min else t.lowest(), t)
    leaves: list[Expr] = []
    e = s.value
    while isinstance(e, Min | Max) and type(e) is kind:
        leaves.append(e.b)
        e = e.a
    if type(e) is not Load or e.buffer is not s.buffer or e.index is not s.index:
        return None
    for leaf in leaves:
        if any(type(n) is Load and n.buffer is s.buffer for n in nodes(leaf)):
            return None
    numbers = [
        select(Intrinsic(Bool(t.count), "is_nan", (leaf,)), neutral, leaf)
        for leaf in reversed(leaves)
    ]
    return AtomicUpdate(OPERATIONS[kind], kind, e, _folded(kind, numbers), None)


def _folded(make: type[Expr], leaves: list[Expr]) -> Expr | None:
    total: Expr | None = None
    for e in leaves:
        total = e if total is None else make(total, e)  # type: ignore[call-arg]
    return total


def surely_apart(index: Expr) -> bool:
    """Whether the lanes of an index are different places."""
    return type(index) is Ramp and const_int(index.stride) not in (None, 0)


class _Unmark(Rewriter):
    def go(self, n: _N) -> _N:
        return n if isinstance(n, Expr) else super().go(n)

    def on_atomic(self, n: Atomic) -> Stmt:
        return n if n.shared else self.go(n.body)


def without_private_marks(s: Stmt) -> Stmt:
    """`s` with only the marks that keep threads apart."""
    return _Unmark().go(s)


__all__ = ["AtomicUpdate", "fold_of", "marked", "surely_apart", "without_private_marks"]
