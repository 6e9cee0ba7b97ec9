"""Which loops of C output may carry an OpenMP pragma, and how atomic updates are said.

The schedule has already proven that the iterations of a parallel loop may run at once:
what is stored outside of one and computed inside is refused (`schedule.legality`), and
so it is for Funcs that are `async_`, which C computes where they would be without. What
is left to find out here is what OpenMP cannot say.
"""

from __future__ import annotations

from parhelion.analysis.linear import difference, linear
from parhelion.dataclass import dataclass
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr, Var
from parhelion.ir.intrinsics import INTRINSICS
from parhelion.ir.node import Node
from parhelion.ir.rewrite import free_vars, nodes
from parhelion.ir.stmt import Stmt
from parhelion.ir.symbols import BufferSym
from parhelion.types import INT32, INT64

#: Operations that an OpenMP ``atomic`` does in place, as C's compound assignment.
_IN_PLACE: dict[type[Expr], str] = {E.Add: "+", E.Sub: "-", E.Mul: "*"}
_IN_PLACE_BITS = {"bit_and": "&", "bit_or": "|", "bit_xor": "^"}


def may_fail(n: Node) -> bool:
    """Whether `n` may leave the function with an error code."""
    for m in nodes(n):
        if isinstance(m, S.Allocate):
            return True
        if isinstance(m, S.Assert) and not build.is_true(m.cond):
            return True
        if isinstance(m, E.Intrinsic) and m.op == "require":
            return True
    return False


def holds_by_type(cond: Expr) -> bool:
    """Whether a comparison of a widened 32-bit integer holds for all of them. What is
    known of the integer besides does not count, since that is what is checked."""
    if not isinstance(cond, E.LT | E.LE):
        return False
    a, b = cond.a, cond.b
    if _is_wide(a) and (most := build.const_int(b)) is not None:
        return most >= 1 << 31
    if _is_wide(b) and (least := build.const_int(a)) is not None:
        return least < -(1 << 31)
    return False


def _is_wide(e: Expr) -> bool:
    return isinstance(e, E.Cast) and e.type is INT64 and e.a.type is INT32


def hindrance(loop: S.For) -> str:
    """Why a parallel loop must be one for a single thread in C; empty if it need not.

    A critical section cannot be left in the middle, as a failure would.
    """
    for n in nodes(loop.body):
        if isinstance(n, S.Atomic) and n.shared and may_fail(n.body):
            return f"an atomic update of {n.func.name} may fail"
    return ""


# Atomic updates.


@dataclass(frozen=True, slots=True)
class Update:
    """``buffer[index] symbol= operand``, after the lets."""

    lets: tuple[S.LetStmt, ...]
    store: S.Store
    symbol: str
    operand: Expr


def update_of(s: S.Atomic) -> Update | None:
    """The update as one that OpenMP's ``atomic`` can do; None if it cannot."""
    items = s.body.items if isinstance(s.body, S.Block) else (s.body,)
    *before, last = items
    if s.locked or not isinstance(last, S.Store) or last.predicate is not None:
        return None
    lets = tuple([i for i in before if isinstance(i, S.LetStmt)])
    t = last.value.type
    known = t.is_int_or_uint() and not t.is_bool() or t.is_float() and t.width >= 32
    if len(lets) != len(before) or not known or t.is_bfloat():
        return None
    found = _operands(last.value)
    if found is None:
        return None
    symbol, a, b = found
    if not _is_old(a, last) and symbol != "-":
        a, b = b, a
    others = (b, last.index, *[i.value for i in lets])
    if not _is_old(a, last) or any(_loads(e, last.buffer) for e in others):
        return None
    return Update(lets, last, symbol, b)


def _operands(value: Expr) -> tuple[str, Expr, Expr] | None:
    symbol = _IN_PLACE.get(type(value))
    if symbol is not None:
        a, b = value.children()
    elif isinstance(value, E.Intrinsic) and value.op in _IN_PLACE_BITS:
        symbol = _IN_PLACE_BITS[value.op]
        a, b = value.args
    else:
        return None
    assert isinstance(a, Expr) and isinstance(b, Expr)
    return symbol, a, b


def _is_old(e: Expr, s: S.Store) -> bool:
    return (
        isinstance(e, E.Load)
        and e.buffer is s.buffer
        and e.index is s.index
        and e.predicate is None
    )


def _loads(e: Expr, buffer: BufferSym) -> bool:
    return any(isinstance(n, E.Load) and n.buffer is buffer for n in nodes(e))


def simple_buffers(loop: S.For) -> frozenset[BufferSym]:
    """Returns the buffers that every atomic update in `loop` can change by OpenMP's
    ``atomic``.

    If one update of a buffer needs a lock, all of them have to hold it.
    """
    simple: set[BufferSym] = set()
    others: set[BufferSym] = set()
    for n in nodes(loop.body):
        if isinstance(n, S.Atomic) and n.shared:
            stored = {m.buffer for m in nodes(n.body) if isinstance(m, S.Store)}
            (simple if update_of(n) is not None else others).update(stored)
    return frozenset(simple - others)


# Vectors.


def is_simd(loop: S.For) -> bool:
    """Whether the iterations of a vectorised loop can run as the lanes of a vector
    though C has them one after the other.

    The body must be plain: names, stores and branches. No iteration may read what
    another one stores: a buffer that is read is stored at one place, and read nowhere
    else. Each place moves by a constant from one iteration to the next. (That one
    store's lanes are not another's is for the schedule to see to: machine code has one
    after the other, each of all lanes.)
    """
    body = _Body()
    if not body.gather(loop.body):
        return False
    places: dict[BufferSym, set[Expr]] = {}
    for store in body.stores:
        places.setdefault(store.buffer, set()).add(store.index)
        if not body.step(store.index, loop.var):
            return False
    for load in body.loads:
        for place in places.get(load.buffer, ()):
            if place is not load.index:
                gap = difference(place, load.index)
                if gap.terms or gap.const:
                    return False
    return bool(body.stores)


class _Body:
    """The inside of a loop: its names, and what it stores and loads."""

    def __init__(self) -> None:
        self.lets: dict[Var, Expr] = {}
        self.stores: list[S.Store] = []
        self.loads: list[E.Load] = []

    def gather(self, s: Stmt) -> bool:
        """Looks at all of a statement; false if it is not plain."""
        if isinstance(s, S.Block):
            return all([self.gather(item) for item in s.items])
        if isinstance(s, S.Produce):
            return self.gather(s.body)
        if isinstance(s, S.Atomic):
            return not s.shared and self.gather(s.body)
        if isinstance(s, S.LetStmt):
            self.lets[s.var] = s.value
            return self._plain(s.value)
        if isinstance(s, S.If):
            rest = s.otherwise is None or self.gather(s.otherwise)
            return rest and self.gather(s.then) and self._plain(s.cond)
        if isinstance(s, S.Store):
            self.stores.append(s)
            return self._plain(s.index) and self._plain(s.value)
        return False

    def _plain(self, e: Expr) -> bool:
        for n in nodes(e):
            if isinstance(n, E.Load):
                self.loads.append(n)
            elif isinstance(n, E.Extern) or (
                isinstance(n, E.Intrinsic) and not INTRINSICS[n.op].pure
            ):
                return False
        return True

    def step(self, e: Expr, v: Var) -> int | None:
        """By how much `e` grows with `v`; None where that is not a known constant."""
        total = 0
        for atom, times in linear(e).terms.items():
            if atom is v:
                total += times
                continue
            inner: Expr | None = None
            if isinstance(atom, Var):
                inner = self.lets.get(atom)
            elif isinstance(atom, E.Cast) and atom.type.is_int():
                inner = atom.a if atom.type.width >= atom.a.type.width else None
            if inner is not None and inner.type.is_int():
                known = self.step(inner, v)
                if known is None:
                    return None
                total += times * known
            elif isinstance(atom, Var):
                if atom in self.lets:
                    return None
            elif self._moves(atom, v):
                return None
        return total

    def _moves(self, e: Expr, v: Var) -> bool:
        """Whether the value of `e` may differ between iterations."""
        if any(isinstance(n, E.Load) for n in nodes(e)):
            return True
        for u in free_vars(e):
            if u is v or u in self.lets and self._moves(self.lets[u], v):
                return True
        return False


__all__ = [
    "Update",
    "hindrance",
    "holds_by_type",
    "is_simd",
    "may_fail",
    "simple_buffers",
    "update_of",
]
