"""Loop partitioning: the interior of a guarded or clamped loop runs without guards.

Conditions marked `likely` (by boundary conditions, splits and sliding windows) are
solved for the loop variable (`lower.solve`). Where all of them hold is the steady
state, whose body has them replaced by true, and each clamp by its likely side:

    for x in a..b: f[x] = g[max(min(likely(x), n), 0)]

    for x in a..p: f[x] = g[max(min(x, n), 0)]         p = clamp(0, a, b)
    for x in p..e: f[x] = g[x]                         e = max(min(n + 1, b), p)
    for x in e..b: f[x] = g[max(min(x, n), 0)]

Loops are taken from the outside in, and only the steady state is partitioned again:
code grows by a constant for each level, not by a factor. (In the rest, innermost loops
still are, since that is where the time goes; and loops by the clamps of vectors with
which no loop inside moves. They are loaded lane by lane where they may be clamped, and
what moves with a short loop and a long one inside of it, ``x + dx``, may have no steady
state in the short one at all.) A loop that contains others, or runs in parallel, keeps
one piece and branches inside, so that it has two bodies, not three.

The user may have said of a loop that it is never partitioned, or always: then also in
the rest, and it is an error if there is nothing to partition it by.

Of a loop that contains others, a second body is made only for conditions that cost
something: those evaluated in each iteration of a loop inside, or in a small body. The
clamp of a row's coordinate, say, is evaluated before the loop along the row: with or
without it, that loop takes the same time, and LLVM a second one for each copy.

The loops over blocks of a kernel have a steady state together, and blocks branch.

In innermost loops, a clamp in an index counts as likely to do nothing, and an `if`
around the whole body as likely to hold if it just makes the loop shorter.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import field, replace

from parhelion.analysis.linear import difference
from parhelion.dataclass import dataclass
from parhelion.errors import ScheduleError
from parhelion.ir.build import (
    add,
    block,
    conjunction,
    imm,
    int32,
    is_false,
    is_true,
    le,
    maximum,
    minimum,
    select,
    sub,
)
from parhelion.ir.expr import EQ, LE, LT, NE, Expr, Var
from parhelion.ir.function import var_label
from parhelion.ir.loop_id import LoopId, Partition
from parhelion.ir.rewrite import _N, Rewriter, free_vars, nodes
from parhelion.ir.stmt import (
    NOP,
    Allocate,
    Block,
    For,
    ForKind,
    If,
    LetStmt,
    Produce,
    Stmt,
)
from parhelion.lower.instantiate import instantiate
from parhelion.lower.kernel_loops import block_loops
from parhelion.lower.likely import Candidate, Rate, find_candidates, runs_loops
from parhelion.lower.remove_marks import remove_marks
from parhelion.lower.solve import Bound
from parhelion.simplify.simplifier import can_prove, simplify

#: Different bounds on one side of a steady state, and guards, at most. Conditions that
#: would add more stay conditions: in unrolled code with hundreds of clamps, a state in
#: which none of them does anything is one that hardly ever comes, and to find it out
#: costs more than it saves. (Of the applications, none has more than 6 and 7.)
_MOST_BOUNDS, _MOST_GUARDS = 16, 32

#: Nodes of a body whose copy may pay for a condition that each run of it asks once.
_SMALL = 128

#: Nodes of what a block of a GPU does that may be there twice.
_LARGEST_KERNEL = 4000


def partition_loops(s: Stmt) -> Stmt:
    """Splits loops at the bounds where their likely conditions hold.

    Raises ScheduleError where a loop that is always to be partitioned is there, but
    in no copy of it is anything to partition it by.
    """
    said = _Said()
    out = _Partition(said, slow=False).go(s)
    said.check()
    return out


class _Said:
    """What the user said of loops, and what became of those always to be split."""

    def __init__(self) -> None:
        self.met: dict[LoopId, bool] = {}

    def policy(self, n: For) -> Partition:
        loop: LoopId | None = n.var.loop
        if loop is None or loop.partition is None:
            return Partition.Auto
        return loop.partition.policy

    def note(self, n: For, split: bool) -> None:
        if self.policy(n) is Partition.Always:
            loop: LoopId = n.var.loop
            self.met[loop] = split or self.met.get(loop, False)

    def check(self) -> None:
        for loop, split in self.met.items():
            choice = loop.partition
            if choice is not None and not split:
                raise ScheduleError(
                    f"{choice.label}.{choice.directive}: the loop"
                    f" {var_label(loop.var)} decides no"
                    " likely condition that it could be partitioned by",
                    at=choice.site,
                    hint="tails of splits that do not round up, boundary conditions"
                    " and hl.likely make such conditions",
                )


@dataclass(slots=True)
class _Plan:
    """Where a loop's steady state is.

    lows, highs: inclusive bounds of it, besides the loop's own; guards: what must
    hold besides, or there is none.
    steady, before, after: what replaces each condition in, below and above it.
    """

    steady: dict[Expr, Expr] = field(default_factory=dict)
    before: dict[Expr, Expr] = field(default_factory=dict)
    after: dict[Expr, Expr] = field(default_factory=dict)
    lows: list[Expr] = field(default_factory=list)
    highs: list[Expr] = field(default_factory=list)
    guards: list[Expr] = field(default_factory=list)


class _Partition(Rewriter):
    """`slow` marks code beside a steady state: loops that contain others are split only
    by what is asked of vectors."""

    def __init__(self, said: _Said, slow: bool) -> None:
        super().__init__()
        self.said = said
        self.slow = slow

    def go(self, n: _N) -> _N:
        return n if isinstance(n, Expr) else super().go(n)

    def on_for(self, n: For) -> Stmt:
        if n.kind is ForKind.GPU_BLOCK:
            return self.kernel(n)
        innermost = not runs_loops(n.body)
        runs = n.kind in (ForKind.SERIAL, ForKind.PARALLEL) or _is_column(n)
        policy = self.said.policy(n)
        if runs and policy is not Partition.Never:
            candidates = find_candidates(n, innermost)
            if not (innermost or policy is Partition.Always):
                if self.slow:
                    # With the others the code would grow by a factor at each level.
                    candidates = _of_vectors_alone(n, candidates)
                if not _pays(n, candidates):
                    candidates = []
            plan = _plan(n, candidates, policy is Partition.Always)
            cuts = plan is not None and bool(plan.lows or plan.highs or plan.guards)
            self.said.note(n, cuts)
            if plan is not None:
                return self.split(n, plan, innermost)
        return For(n.var, n.min, n.extent, n.kind, self.go(n.body))

    def kernel(self, n: For) -> Stmt:
        """A kernel whose blocks ask whether they are in the steady state of all loops
        over blocks: all threads of one take the same way."""
        loops, body = block_loops(n)
        steady, tests, lets = body, list[Expr](), list[Stmt]()
        for loop in loops:
            over = For(loop.var, loop.min, loop.extent, loop.kind, steady)
            if self.said.policy(loop) is Partition.Never or not _fits_twice(body):
                continue
            candidates = find_candidates(over, innermost=False)
            always = self.said.policy(loop) is Partition.Always
            plan = _plan(over, candidates, always)
            cuts = plan is not None and bool(plan.lows or plan.highs or plan.guards)
            self.said.note(loop, cuts)
            if plan is None:
                continue
            tests += plan.guards
            if plan.lows:
                first = _named(loop, "steady", _fold(maximum, plan.lows), lets)
                tests.append(le(first, loop.var))
            if plan.highs:
                last = _named(loop, "last", _fold(minimum, plan.highs), lets)
                tests.append(le(loop.var, last))
            steady = instantiate(steady, {}, plan.steady)
        made = self.go(steady)
        if tests:
            rest = self.beside(instantiate(body, {}, {}, renew=True))
            made = If(conjunction(tests), made, None if _is_nop(rest) else rest)
        made = block(*lets, made)
        for loop in reversed(loops):
            made = For(loop.var, loop.min, loop.extent, loop.kind, made)
        return made

    def beside(self, s: Stmt) -> Stmt:
        """Code that runs where the steady state does not."""
        if runs_loops(s):
            return _Partition(self.said, slow=True).go(s)
        return remove_marks(s)  # nothing is likely here

    def split(self, n: For, plan: _Plan, innermost: bool) -> Stmt:
        if not (plan.lows or plan.highs or plan.guards):
            body = self.go(instantiate(n.body, {}, plan.steady))
            return For(n.var, n.min, n.extent, n.kind, body)
        one_sided = not plan.guards and not (plan.lows and plan.highs)
        if n.kind is ForKind.SERIAL and (innermost or one_sided):
            return self.in_pieces(n, plan)
        return self.by_branch(n, plan)

    def by_branch(self, n: For, plan: _Plan) -> Stmt:
        """One loop, which asks in each iteration whether it is in the steady state."""
        lets: list[Stmt] = []
        tests = list(plan.guards)
        if plan.lows:
            first = _named(n, "steady", _fold(maximum, plan.lows), lets)
            tests.append(le(first, n.var))
        if plan.highs:
            last = _named(n, "last", _fold(minimum, plan.highs), lets)
            tests.append(le(n.var, last))
        steady = self.go(instantiate(n.body, {}, plan.steady))
        other = plan.before if not plan.highs else plan.after if not plan.lows else {}
        rest = self.beside(instantiate(n.body, {}, other, renew=True))
        choice = If(conjunction(tests), steady, None if _is_nop(rest) else rest)
        if n.kind is ForKind.ON_DEMAND:
            # Nothing runs before it that could find these out.
            return For(n.var, n.min, n.extent, n.kind, block(*lets, choice))
        return block(*lets, For(n.var, n.min, n.extent, n.kind, choice))

    def in_pieces(self, n: For, plan: _Plan) -> Stmt:
        """Three loops (or two): prologue, steady state, epilogue."""
        lets: list[Stmt] = []
        end = add(n.min, n.extent)
        start: Expr = n.min
        stop: Expr = end
        guard = conjunction(plan.guards)
        if plan.lows:
            start = minimum(maximum(_fold(maximum, plan.lows), n.min), end)
            start = _named(n, "steady", select(guard, start, end), lets, n.min, end)
        if plan.highs:
            last = minimum(_fold(minimum, plan.highs), sub(end, int32(1)))
            stop = maximum(add(last, int32(1)), start)
            if not plan.lows:
                stop = select(guard, stop, start)
            stop = _named(n, "epilogue", stop, lets, start, end)
        pieces: list[Stmt] = []
        if plan.lows:
            body = instantiate(n.body, {}, plan.before, renew=True)
            pieces.append(self.piece(n, self.beside(body), n.min, start))
        body = instantiate(n.body, {}, plan.steady)
        pieces.append(self.piece(n, self.go(body), start, stop))
        if plan.highs:
            body = instantiate(n.body, {}, plan.after, renew=True)
            pieces.append(self.piece(n, self.beside(body), stop, end))
        return block(*lets, *pieces)

    def piece(self, n: For, body: Stmt, start: Expr, stop: Expr) -> Stmt:
        """The loop from `start` until before `stop`."""
        if _is_nop(body):
            return NOP
        last = simplify(sub(stop, int32(1)))
        old = n.var
        var = Var(
            old.name, old.type, lo=start, hi=last, origin=old.origin, loop=old.loop
        )
        body = instantiate(body, {n.var: var})
        return For(var, start, simplify(sub(stop, start)), n.kind, body)


class _Side:
    """The bounds of the steady state on one side: the tightest of each family."""

    def __init__(self) -> None:
        self.bounds: dict[object, Bound] = {}
        self.exact: dict[Bound, list[Candidate]] = {}

    def has_room(self, more: Sequence[Bound]) -> bool:
        """Whether the steady state may keep these bounds besides."""
        return len(self.bounds.keys() | {b.kind for b in more}) <= _MOST_BOUNDS

    def add(self, b: Bound, c: Candidate) -> None:
        old = self.bounds.get(b.kind)
        if old is None or b.slack < old.slack:
            self.bounds[b.kind] = replace(b, exact=True)
        if b.exact:
            self.exact.setdefault(b, []).append(c)

    def all(self) -> list[Expr]:
        return [b.at for b in self.bounds.values()]

    def beyond(self) -> dict[Expr, Expr]:
        """What is known beyond the bound, if there is just one: the conditions that
        it comes from are false."""
        if len(self.bounds) != 1:
            return {}
        (only,) = self.bounds.values()
        found: dict[Expr, Expr] = {}
        for c in self.exact.get(only, ()):
            found |= _settled(c.node, c.other)
        return found


def _settled(node: Expr, value: Expr) -> dict[Expr, Expr]:
    """What a condition or a clamp that is settled replaces: itself, and of a comparison
    the opposite one, by which loads are guarded that are in the other branch of a
    Select (``select(x < 2, 0, g[x] if 2 <= x)``)."""
    found = {node: value}
    opposite: Expr | None = None
    if isinstance(node, LT | LE | EQ | NE) and not node.a.type.is_float():
        if isinstance(node, LT | LE):
            opposite = (LE if type(node) is LT else LT)(node.b, node.a)
        else:
            opposite = (NE if type(node) is EQ else EQ)(node.a, node.b)
    if opposite is not None and (is_true(value) or is_false(value)):
        found[opposite] = imm(is_false(value), value.type)
    return found


def _is_column(n: For) -> bool:
    """Whether it is the loop over the columns of what is computed on demand."""
    inner = type(n.body) is For and n.body.kind is ForKind.ON_DEMAND
    return n.kind is ForKind.ON_DEMAND and not inner


def _of_vectors_alone(n: For, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The conditions that are asked of vectors, and that no loop inside moves."""
    asked = [c for c in candidates if c.node.type.count > 1]
    if not asked:
        return []
    inside = {s.var for s in nodes(n.body) if isinstance(s, For)}
    return [c for c in asked if not _mentions(c.node, inside)]


def _fits_twice(body: Stmt) -> bool:
    """Whether a kernel may have two copies of what its blocks do."""
    return sum(1 for _ in nodes(body)) <= _LARGEST_KERNEL


def _mentions(e: Expr, wanted: set[Var]) -> bool:
    """Whether an expression has one of these Vars in it, or names a value that has."""
    waiting, seen = list(free_vars(e)), set[Var]()
    while waiting:
        v = waiting.pop()
        if v in wanted:
            return True
        if v not in seen and v.value is not None:
            waiting += free_vars(v.value)
        seen.add(v)
    return False


def _pays(n: For, candidates: Sequence[Candidate]) -> bool:
    """Whether a second copy of a body with loops in it could run faster.

    What is evaluated before a long loop begins takes no time worth mentioning; neither
    does what is evaluated once in a large body.
    """
    rates = {c.rate for c in candidates}
    if rates == {Rate.ONCE}:
        return sum(1 for _ in nodes(n.body)) <= _SMALL
    return Rate.EACH in rates


def _plan(n: For, candidates: Sequence[Candidate], always: bool) -> _Plan | None:
    """The steady state of all candidates that have one; None if there are none.
    always: however few iterations are in it."""
    plan = _Plan()
    last = sub(add(n.min, n.extent), int32(1))
    lows, highs = _Side(), _Side()
    guards: dict[Expr, None] = {}
    for c in candidates:
        found = c.solution
        low = [b for b in found.lows if not _surely_le(b.at, n.min)]
        high = [b for b in found.highs if not _surely_le(last, b.at)]
        if any(_surely_less(last, b.at) for b in low) or any(
            _surely_less(b.at, n.min) for b in high
        ):
            continue  # nowhere in this loop
        if not always and _at_an_end(n, last, low, high):
            continue  # nearly nowhere: the rest would be what runs
        guard = [g for g in found.guards if not can_prove(g)]
        if guard and not (low or high):
            continue  # a choice between two loops, not a partition of one
        if (
            not lows.has_room(low)
            or not highs.has_room(high)
            or len(guards.keys() | set(guard)) > _MOST_GUARDS
        ):
            continue
        plan.steady |= _settled(c.node, c.steady)
        for b in low:
            lows.add(b, c)
        for b in high:
            highs.add(b, c)
        guards.update(dict.fromkeys(guard))
    if not plan.steady:
        return None
    plan.lows, plan.highs, plan.guards = lows.all(), highs.all(), list(guards)
    if not guards:
        plan.before, plan.after = lows.beyond(), highs.beyond()
    return plan


def _at_an_end(n: For, last: Expr, low: Sequence[Bound], high: Sequence[Bound]) -> bool:
    """Whether a steady state would hold two iterations at most of a loop of many.

    So it is with the guard of a loop inside that runs over the blocks of what is
    needed: only of the last iteration less than that is needed, and only then do the
    bounds say that the guard holds. The loop inside has a better steady state.
    """
    one = int32(1)
    found = any([_surely_le(sub(last, one), b.at) for b in low]) or any(
        [_surely_le(b.at, add(n.min, one)) for b in high]
    )
    return found and not _surely_le(n.extent, int32(4))


def _surely_le(a: Expr, b: Expr) -> bool:
    known = difference(b, a).interval()
    if known.lo is not None and known.lo >= 0:
        return True
    if known.hi is not None and known.hi < 0:
        return False
    return can_prove(le(a, b))


def _surely_less(a: Expr, b: Expr) -> bool:
    """Whether ``a < b`` shows in the terms alone."""
    known = difference(b, a).interval()
    return known.lo is not None and known.lo > 0


def _fold(op: Callable[[Expr, Expr], Expr], bounds: Sequence[Expr]) -> Expr:
    return functools.reduce(op, bounds)


def _named(
    n: For,
    what: str,
    value: Expr,
    lets: list[Stmt],
    lo: Expr | None = None,
    hi: Expr | None = None,
) -> Expr:
    """A name for a bound of the steady state, unless it is simple."""
    value = simplify(value)
    if not value.children():
        return value
    var = Var(f"{n.var.name}.{what}", n.var.type, value=value, lo=lo, hi=hi)
    lets.append(LetStmt(var, value))
    return var


def _is_nop(s: Stmt) -> bool:
    """Whether `s` does nothing: it names values at most."""
    if type(s) is Block:
        return all(map(_is_nop, s.items))
    if isinstance(s, (For, Produce)):
        return _is_nop(s.body)
    return type(s) is LetStmt or type(s) is Allocate


__all__ = ["partition_loops"]
